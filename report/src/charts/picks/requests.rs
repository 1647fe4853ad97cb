//! A host over HTTP under load: quantiles of the time to the answer.

use super::super::Form;
use super::super::axis::Spread;
use super::super::bars::{Bars, Group, Row};
use super::super::frame::{Frame, Value};
use super::super::theme::Fill;
use super::short;
use crate::matrix::Matrix;
use crate::sections::systems::requests::rate;
use crate::tables::charts::{Charts, RequestRow, Requests};
use crate::units::{self, MARK};
use touchstone_record::escape::code;
use touchstone_record::{Estimate, InstanceState, Load, Rounds};

/// The name of a quantile, and its value in a loop, ns.
type Quantile = (&'static str, fn(&Load) -> f64);

/// Quantiles, a panel each.
const QUANTILES: [Quantile; 3] = [("p50", Load::p50), ("p99", Load::p99), ("p99.9", Load::p999)];

/// The sentence and the chart; `None` where there are no records of it.
pub(super) fn pick(
    matrix: &Matrix<'_>,
    charts: &Charts,
    chart: &Requests,
) -> Option<(String, Form)> {
    let all = Rounds::all(matrix.records.systems.as_ref()?);
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
        let value = |(_, value): Quantile| {
            let (median, marked) = own.quantile(Load::COMPARED, value)?;
            Some(Value { median, marked })
        };
        let panels = QUANTILES.map(|quantile| vec![(fill, value(quantile))]).into();
        Some(Row { label: row.label.clone(), panels })
    };
    let rows: Vec<Row> = chart.rows.iter().filter_map(bar).collect();
    if rows.is_empty() {
        return None;
    }
    let form = Form::Bars(Bars {
        frame: Frame {
            title: chart.title.clone(),
            axis: format!(
                "At {} % of the own capacity; median over the loops; logarithmic axis",
                Load::COMPARED
            ),
            legend: Vec::new(),
            note: format!("{MARK}, hollow: the quartiles of the loops differ more than twofold."),
        },
        spread: Spread::Logarithmic,
        panels: QUANTILES.map(|(name, _)| name.to_owned()).into(),
        groups: vec![Group { heading: String::new(), rows }],
    });
    Some((finding(chart, &find)?, form))
}

/// The first row against the second; what the first does if there is no second.
fn finding<'a>(
    chart: &Requests,
    find: &impl Fn(&RequestRow) -> Option<&'a Rounds<'a>>,
) -> Option<String> {
    let mut shown = chart.rows.iter().filter_map(find);
    let (first, second) = (shown.next()?, shown.next());
    let time = |own: &Rounds<'_>, quantile| {
        let (ns, differs) = own.quantile(Load::COMPARED, quantile)?;
        Some(units::marked(units::time_short(ns), differs))
    };
    let own = format!(
        "At {} % of its capacity, {} answers {} on a {} instance, half of them within {} \
         and 99.9 % within {}.",
        Load::COMPARED,
        code(first.executor),
        rate(first.at(Load::COMPARED, |load| load.completed)?),
        first.state,
        time(first, Load::p50)?,
        time(first, Load::p999)?
    );
    let Some(second) = second else { return Some(own) };
    let completed: fn(&Load) -> f64 = |load| load.completed;
    let beside = |value| first.over(second, |round| &round.beside, value);
    let differs = [first, second]
        .iter()
        .any(|own| own.quantile(Load::COMPARED, Load::p999).is_some_and(|(_, differs)| differs));
    let beside = match (beside(completed), beside(Load::p999)) {
        (Some(answered), Some(tail)) => format!(
            " Under that load, the {} instance answers {} times as many; its p99.9 over that of the \
             {} one is {}.",
            first.state,
            units::factor(answered.median),
            second.state,
            units::ratio_with_interval(&Estimate { marked: tail.marked || differs, ..tail }),
        ),
        _ => String::new(),
    };
    Some(format!(
        "{own} On {}, {} instance, the host answers {} times as many, half of them within {} and \
         99.9 % within {}.{beside}",
        code(second.executor),
        second.state,
        short(second.over(first, |round| &round.loads, completed)?.median),
        time(second, Load::p50)?,
        time(second, Load::p999)?
    ))
}
