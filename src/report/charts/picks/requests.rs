//! A host over HTTP under load: the tail at each share of the capacity.

use super::super::Form;
use super::super::axis::Spread;
use super::super::bars::{Bars, Group, Row};
use super::super::frame::{Frame, Value};
use super::super::theme::Fill;
use super::short;
use crate::record::InstanceState;
use crate::report::matrix::Matrix;
use crate::report::sections::systems::requests::{Own, SHARE, load, p999, rate};
use crate::report::units;
use crate::tables::charts::{Charts, RequestRow, Requests};

/// Shares of the capacity, a panel each, percent.
const SHARES: [u32; 3] = [50, 80, 95];

/// The sentence and the chart; `None` where there are no records of it.
pub(super) fn pick(
    matrix: &Matrix<'_>,
    charts: &Charts,
    chart: &Requests,
) -> Option<(String, Form)> {
    let all = Own::all(matrix.records.systems.as_ref()?);
    let find = |row: &RequestRow| {
        all.iter().find(|own| *own.executor == row.executor && own.state == row.state)
    };
    let bar = |row: &RequestRow| {
        let own = find(row)?;
        let hue = charts.hue(&row.executor.engine);
        let fill = match row.state {
            InstanceState::Clean => Fill::full(hue),
            InstanceState::Used => Fill::half(hue),
        };
        let value = |share| Some(Value { median: own.at(share, p999)?, marked: false });
        let panels = SHARES.map(|share| vec![(fill, value(share))]).into();
        Some(Row { label: row.label.clone(), panels })
    };
    let rows: Vec<Row> = chart.rows.iter().filter_map(bar).collect();
    if rows.is_empty() {
        return None;
    }
    let form = Form::Bars(Bars {
        frame: Frame {
            title: chart.title.clone(),
            axis: "Median over the rounds; logarithmic axis".to_owned(),
            legend: Vec::new(),
            note: String::new(),
        },
        spread: Spread::Logarithmic,
        panels: SHARES.map(|share| format!("{share} % of capacity")).into(),
        groups: vec![Group { heading: String::new(), rows }],
    });
    Some((finding(chart, &find)?, form))
}

/// The first row against the second; what the first does if there is no second.
fn finding<'a>(
    chart: &Requests,
    find: &impl Fn(&RequestRow) -> Option<&'a Own<'a>>,
) -> Option<String> {
    let mut shown = chart.rows.iter().filter_map(find);
    let (first, second) = (shown.next()?, shown.next());
    let own = format!(
        "At {SHARE} % of its capacity, `{}` answers {} on a {} instance, with a 99.9th percentile \
         of {}.",
        first.executor,
        rate(first.at(SHARE, |load| load.completed)?),
        first.state,
        units::time_short(first.at(SHARE, p999)?)
    );
    let Some(second) = second else { return Some(own) };
    let answered = |round: &_| load(round, SHARE).map(|load| load.completed);
    let tail = |round: &_| load(round, SHARE).map(p999);
    Some(format!(
        "{own} On `{}`, {} instance, the host answers {} times as many, with a 99.9th percentile \
         {} times as long.",
        second.executor,
        second.state,
        short(second.ratio(first, answered)?),
        short(second.ratio(first, tail)?)
    ))
}
