//! The time of a node's call in the executor and in the host.

use super::super::Form;
use super::super::axis::Spread;
use super::super::bars::{Bars, Group, Row};
use super::super::frame::{Frame, Value};
use super::super::theme::Fill;
use crate::matrix::Matrix;
use crate::sections::systems::node::{finding, nodes};
use crate::tables::charts::{Charts, Hue, Rows};
use touchstone_record::{Executor, Node};

/// The sentence and the chart; `None` where there are no records of it.
pub(super) fn pick(matrix: &Matrix<'_>, charts: &Charts, chart: &Rows) -> Option<(String, Form)> {
    let book = matrix.records.systems.as_ref()?;
    let value = |ns| Some(Value { median: ns, marked: false });
    let nodes = nodes(book);
    let row = |(executor, node): &(&Executor, &Node)| {
        let named = chart.rows.iter().find(|named| named.executor == **executor)?;
        let hue = charts.hue(&executor.engine);
        let bars = vec![
            (Fill::full(hue), value(node.executor_ns())),
            (Fill::half(hue), value(node.host_ns())),
        ];
        Some(Row { label: named.label.clone(), panels: vec![bars] })
    };
    let rows = nodes.iter().filter_map(row);
    let bars = Bars {
        frame: Frame {
            title: chart.title.clone(),
            axis: "Mean time per call of a block; logarithmic axis".to_owned(),
            legend: vec![
                (Fill::full(Hue::Grey), "in the executor".to_owned()),
                (Fill::half(Hue::Grey), "in the host: storage, commit".to_owned()),
            ],
            note: String::new(),
        },
        spread: Spread::Logarithmic,
        panels: vec![String::new()],
        groups: vec![Group { heading: String::new(), rows: rows.collect() }],
    };
    let finding = finding(book)?;
    (bars.rows() > 0).then_some((finding, Form::Bars(bars)))
}
