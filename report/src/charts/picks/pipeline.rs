//! The total time of a pipeline's messages by each swap method, beside the published one.

use super::super::Form;
use super::super::axis::Spread;
use super::super::bars::{Bars, Group, Row};
use super::super::frame::{Frame, Value};
use super::super::theme::Fill;
use crate::matrix::Matrix;
use crate::tables::charts::{Charts, Hue, Titled};
use crate::units;
use touchstone_record::escape::code;
use touchstone_record::system::plan::plan;
use touchstone_record::{Pipeline, SystemFound, Verifier};

/// The sentence and the chart; `None` where there are no records of it.
pub(super) fn pick(matrix: &Matrix<'_>, charts: &Charts, chart: &Titled) -> Option<(String, Form)> {
    let plan = plan().ok()?;
    let book = matrix.records.systems.as_ref()?;
    let own = book.systems.iter().filter_map(|system| match &system.found {
        SystemFound::Pipeline(run) => Some((&system.executor.engine, run)),
        _ => None,
    });
    let whole = own.filter(|(_, run)| run.messages == plan.messages && run.restarts == 0);
    let (mut methods, mut floors) = (Vec::new(), Vec::new());
    for (engine, run) in whole {
        match &run.verifier {
            Verifier::Method(method) if *engine == plan.engine => {
                methods.push((method.as_str(), total(run)));
            }
            Verifier::Method(_) => {}
            Verifier::Host => floors.push(("verified by the host", total(run))),
            Verifier::Nobody => floors.push(("not verified", total(run))),
        }
    }
    if methods.is_empty() {
        return None;
    }
    let row = |fill: Fill| {
        move |(label, value): &(&str, Value)| Row {
            label: (*label).to_owned(),
            panels: vec![vec![(fill, Some(*value))]],
        }
    };
    let published = Value { median: plan.published.total_s * 1e9, marked: false };
    let (hue, other) = (charts.hue(&plan.engine), Hue::Grey);
    let group = |heading: String, rows: Vec<Row>| Group { heading, rows };
    let then = row(Fill::half(hue))(&("total", published));
    let by_method = methods.iter().map(row(Fill::full(hue))).collect();
    let without = floors.iter().map(row(Fill::full(other))).collect();
    let bars = Bars {
        frame: Frame {
            title: chart.title.clone(),
            axis: "From sending the first message to the last verdict; logarithmic axis".to_owned(),
            legend: Vec::new(),
            note: "The published total is of another machine and version.".to_owned(),
        },
        spread: Spread::Logarithmic,
        panels: vec![String::new()],
        groups: vec![
            group(format!("{}, published: {}", plan.engine, plan.published.machine), vec![then]),
            group(format!("{}, by swap method", plan.engine), by_method),
            group("Without guests".to_owned(), without),
        ],
    };
    let texts: Vec<String> = methods
        .iter()
        .map(|(method, value)| format!("{} with {}", value.time(), code(method)))
        .collect();
    let finding = format!(
        "{} messages take {}. The published time is {}, on another machine.",
        plan.messages,
        units::prose_list(&texts),
        published.time()
    );
    Some((finding, Form::Bars(bars)))
}

fn total(run: &Pipeline) -> Value {
    Value { median: run.total_ns as f64, marked: false }
}
