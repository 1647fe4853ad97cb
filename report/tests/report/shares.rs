//! The parts of calls, and rows of calls on used instances.

use super::fixtures::Cell;
use super::{Metric, Place, Run, Status, assert_has, cell, refusal};

const LAYOUT: &str = r#"
[shares]
title = "What calls are made of"
text = "From four calls."
executors = ["alpha_pooling", "beta_interpreted", "gamma_pooling", "delta_pooling"]
[[shares.panels]]
heading = "Small | input"
guest = "test_runtime"
case = "decode"
noop = "noop"
[[shares.panels]]
heading = "Never timed"
guest = "test_runtime"
case = "decode_more"
noop = "noop"
"#;

const TABLE: &str = r#"
[table]
title = "Decoding"
text = "Beside each other."
relative = true
columns = [
    { heading = "alpha", executor = "alpha_pooling" },
    { heading = "delta", executor = "delta_pooling" },
    { heading = "epsilon", executor = "epsilon_pooling" },
]
rows = [
    { case = "decode", guest = "test_runtime", threads = 1 },
    { case = "decode", guest = "test_runtime", threads = 1, warm = true, heading = "decode, warm" },
]
"#;

/// A call's time on a clean instance, and on used ones for it and for taking the input.
fn timed(
    (engine, strategy): (&str, &str),
    case: &str,
    fresh: f64,
    warm: Option<f64>,
    take: Option<f64>,
) -> Cell {
    let mut cell = cell(engine, strategy, case, 1, fresh);
    cell.metrics.extend(warm.map(|ns| (Metric::WarmCall, ns)));
    cell.metrics.extend(take.map(|ns| (Metric::WarmTake, ns)));
    cell
}

fn all() -> Run {
    let alpha = ("alpha", "pooling");
    let beta = ("beta", "interpreted");
    Run::of_cells([
        timed(alpha, "noop", 4_000.0, Some(50.0), None),
        timed(alpha, "decode", 20_000.0, Some(400.0), Some(150.0)),
        // A call that does nothing took longer than one that does something.
        timed(beta, "noop", 5_000.0, Some(500.0), None),
        timed(beta, "decode", 10_000.0, Some(6_000.0), Some(400.0)).noisy(),
        // Gamma decodes nothing, of delta no used instance was timed.
        timed(("gamma", "pooling"), "noop", 4_000.0, Some(50.0), None),
        timed(("delta", "pooling"), "noop", 4_000.0, None, None),
        timed(("delta", "pooling"), "decode", 30_000.0, None, None),
    ])
    .and([refusal(("epsilon", "pooling"), Some("decode"), Status::Wrong, "output differs")])
}

fn with(layouts: &[&str]) -> Place {
    let place = Place::with(&all());
    for text in layouts {
        place.table(text);
    }
    place
}

#[test]
fn calls_are_taken_apart_where_all_of_it_was_timed() {
    let place = with(&[LAYOUT]);
    let page = place.page();
    let start = page.find("## What calls are made of").unwrap();
    insta::assert_snapshot!(&page[start..]);
}

#[test]
fn without_a_call_on_a_used_instance_there_is_no_table() {
    let place = Place::with(&Run::of_cells([cell("alpha", "pooling", "decode", 1, 20_000.0)]));
    place.table(LAYOUT);
    let page = place.page();
    assert!(!page.contains("| clean instance |"), "{page}");
}

#[test]
fn tables_have_rows_of_used_instances() {
    let page = with(&[TABLE]).page();
    let fresh = "20.00 µs [19.80 – 20.20]";
    // 400 ns and 20 µs; of delta no used instance was timed.
    let used = "**0.0200 ×**<br>400.0 ns [396.0 – 404.0]";
    let first = "| decode_from_test_runtime_on_1_threads |";
    assert_has(
        &page,
        &format!("{first} {fresh} | 30.00 µs [29.70 – 30.30] | wrong<sup>1</sup> |\n"),
    );
    assert_has(&page, &format!("| decode, warm | {used} | –<sup>2</sup> | wrong<sup>1</sup> |\n"));
    assert_has(&page, "</sup> no call on a used instance was timed");
}

#[test]
fn a_layout_that_is_both_or_neither_is_refused() {
    for text in [format!("{LAYOUT}{}", TABLE.replace('\n', "\n ")), String::new()] {
        let place = with(&[&text]);
        let error = format!("{:#}", touchstone_report::write(&place.options).unwrap_err());
        assert!(error.contains("must contain either [table] or [shares]"), "{error}");
    }
    let place = with(&[&LAYOUT.replacen("noop = ", "nop = ", 1)]);
    let error = format!("{:#}", touchstone_report::write(&place.options).unwrap_err());
    assert!(error.contains("1.toml is invalid") && error.contains("`nop`"), "{error}");
}
