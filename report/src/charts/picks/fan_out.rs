//! The time of reading a state that is copied or mapped.

use super::super::Form;
use super::super::axis::Spread;
use super::super::bars::{Bars, Group, Row};
use super::super::frame::{Frame, Value};
use super::super::theme::Fill;
use crate::matrix::Matrix;
use crate::sections::systems::fan_out::{Pair, finding, pairs};
use crate::tables::charts::{Charts, Hue, Named, Rows};
use crate::units;
use std::collections::BTreeSet;
use touchstone_record::{FanOut, Shape};

/// The sentence and the chart; `None` where there are no records of it.
pub(super) fn pick(matrix: &Matrix<'_>, charts: &Charts, chart: &Rows) -> Option<(String, Form)> {
    let pairs = pairs(matrix.records.systems.as_ref()?);
    let fan_out = || pairs.iter().filter(|pair| pair.copied.shape == Shape::FanOut);
    let readers = fan_out().map(|pair| pair.copied.reads).max()?;
    let value = |found: &FanOut| Some(Value { median: found.read_ns(), marked: false });
    let row = |bytes: u64, named: &Named| {
        let is_meant = |pair: &&Pair<'_>| {
            *pair.executor == named.executor
                && (pair.copied.bytes, pair.copied.reads) == (bytes, readers)
        };
        let pair = fan_out().find(is_meant)?;
        let hue = charts.hue(&named.executor.engine);
        let bars =
            vec![(Fill::full(hue), value(pair.mapped)), (Fill::half(hue), value(pair.copied))];
        Some(Row { label: named.label.clone(), panels: vec![bars] })
    };
    let sizes: BTreeSet<u64> = fan_out().map(|pair| pair.copied.bytes).collect();
    let group = |bytes: &u64| Group {
        heading: format!("state of {}", units::bytes(*bytes)),
        rows: chart.rows.iter().filter_map(|named| row(*bytes, named)).collect(),
    };
    let bars = Bars {
        frame: Frame {
            title: chart.title.clone(),
            axis: format!("Time per read, {readers} readers; logarithmic axis"),
            legend: vec![
                (Fill::full(Hue::Grey), "one region, mapped read-only".to_owned()),
                (Fill::half(Hue::Grey), "a copy for each reader".to_owned()),
            ],
            note: String::new(),
        },
        spread: Spread::Logarithmic,
        panels: vec![String::new()],
        groups: sizes.iter().map(group).filter(|group| !group.rows.is_empty()).collect(),
    };
    let finding = finding(&pairs)?;
    (bars.rows() > 0).then_some((finding, Form::Bars(bars)))
}
