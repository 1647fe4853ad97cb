//! Findings of checks, beside the times.

use super::{EMPTY, Place, Run, assert_has, cell};
use std::collections::BTreeMap;
use touchstone_record::{CHECKS, Check, Finding, Line, Outcome};

fn finding(
    check: Check,
    name: &str,
    (engine, strategy): (&str, Option<&str>),
    counts: &[(Outcome, u64)],
    (cause, evidence): (Option<&str>, &[&str]),
) -> Line {
    Line::Finding(Box::new(Finding {
        check,
        name: name.to_owned(),
        engine: engine.to_owned(),
        strategy: strategy.map(|strategy| strategy.parse().unwrap()),
        counts: BTreeMap::from_iter(counts.iter().copied()),
        cause: cause.map(str::to_owned),
        evidence: evidence.iter().map(|&text| text.to_owned()).collect(),
    }))
}

const HELD: &[(Outcome, u64)] = &[(Outcome::Held, 1)];
const NOTHING: (Option<&str>, &[&str]) = (None, &[]);

/// Two engines, of which one strategy leaks.
fn isolation() -> Vec<Line> {
    let refused = (None, &["it drops | segments"] as &[&str]);
    let leak = (None, &["sees 1 of <8> bytes"] as &[&str]);
    let [reuse, recreate] =
        ["instance_reuse", "recreate_instance"].map(|name| ("alpha", Some(name)));
    let isolation =
        |name, executor, counts, why| finding(Check::Isolation, name, executor, counts, why);
    vec![
        isolation("memory_low", reuse, HELD, NOTHING),
        isolation("memory_low", recreate, HELD, NOTHING),
        isolation("memory_low", ("beta", Some("pooling")), HELD, NOTHING),
        isolation("memory_high", reuse, &[(Outcome::Failed, 1)], leak),
        isolation("memory_high", recreate, HELD, NOTHING),
        isolation("segment", reuse, &[(Outcome::Refused, 1)], refused),
    ]
}

fn page(lines: Vec<Line>) -> String {
    let place = Place::with(&Run::of_cells([
        cell("alpha", "instance_reuse", EMPTY, 1, 100.0),
        cell("alpha", "recreate_instance", EMPTY, 1, 9000.0),
        cell("gamma", "pooling", EMPTY, 1, 700.0),
    ]));
    if !lines.is_empty() {
        Run::of(lines).append(&place.beside(CHECKS));
    }
    place.page()
}

#[test]
fn each_run_of_checks_is_named_with_its_commit() {
    let place = Place::with(&Run::of_cells([cell("alpha", "instance_reuse", EMPTY, 1, 100.0)]));
    place.divide(
        "[[pages]]\nfile = \"isolation\"\ntitle = \"I\"\nanswers = \"Which?\"\n\
         parts = [\"isolation\"]\nnotes = [\"A note.\"]\n",
    );
    let mut run = Run::of(isolation());
    run.header.run = "other".to_owned();
    run.header.started_at = "2031-02-03T04:05:06Z".to_owned();
    run.header.tools.commit = "def".to_owned();
    run.header.machine.kernel = "9.9".to_owned();
    run.append(&place.beside(CHECKS));
    let page = place.page();
    assert_has(&page, "- `checks.jsonl` (isolation) is of commit def on another machine: ");
    // The page shows nothing but this run.
    assert_has(&page, "Which? Run 2031-02-03, commit `def`, on another machine: ");
    assert_has(&page, "Linux 9.9. † marks interference, ‡ two");
    assert_has(&page, "\n\nA note.\n");
}

#[test]
fn the_worst_outcome_over_the_strategies_stands_in_the_table() {
    let page = page(isolation());
    assert_has(&page, "**1 leak in 5 checks** of 3 executors");
    assert_has(&page, "| Kind of state | `alpha` | `beta` |");
    assert_has(&page, "| `memory_low` | ✓ | ✓ |");
    assert_has(&page, "| `memory_high` | ✗ |   |");
    assert_has(&page, "| `segment` | – |   |");
    assert_has(&page, "✗ failed; ✓ held; – refused by the executor (the worst");
    assert_has(&page, "`segment` on `alpha`: it drops \\| segments");
}

#[test]
fn a_leak_stands_beside_the_name_and_is_never_advised() {
    let page = page(isolation());
    assert_has(
        &page,
        "- **failed**: `memory_high` on `alpha` (`instance_reuse`): sees 1 of &lt;8&gt; bytes",
    );
    assert_has(
        &page,
        "**Do not use**, because a call sees state of the call before it: `alpha_instance_reuse` \
         (memory_high).",
    );
}

#[test]
fn without_findings_nothing_is_said() {
    let page = page(Vec::new());
    for heading in ["## Isolation", "## Conformance", "## Features", "## Hostile", "## Survival"] {
        assert!(!page.contains(heading), "{heading}");
    }
    assert!(!page.contains("Do not use"), "{page}");
}

#[test]
fn features_are_a_table_by_engine() {
    let features =
        |name, engine, counts, why| finding(Check::Features, name, (engine, None), counts, why);
    let refused = (None, &["it uses tail calls"] as &[&str]);
    let page = page(vec![
        features("tail calls", "alpha", &[(Outcome::Held, 9)], NOTHING),
        features("tail calls", "beta", &[(Outcome::Refused, 1)], refused),
    ]);
    assert_has(&page, "## Features");
    assert_has(&page, "| Feature | `alpha` | `beta` |");
    assert_has(&page, "| `tail calls` | ✓ | – |");
    assert_has(&page, "`tail calls` on `beta`: it uses tail calls");
}

#[test]
fn conformance_counts_by_script_and_engine_with_causes() {
    let conformance =
        |name, engine, counts, why| finding(Check::Conformance, name, (engine, None), counts, why);
    let cause = (Some("a NaN is quiet"), &["simd/x:7: got 1"] as &[&str]);
    let missing = (Some("no threads"), &[] as &[&str]);
    let page = page(vec![
        conformance("simd", "alpha", &[(Outcome::Held, 90), (Outcome::NotDriven, 5)], NOTHING),
        conformance("simd", "alpha", &[(Outcome::Failed, 2)], cause),
        conformance("simd", "beta", &[(Outcome::Held, 92)], NOTHING),
        conformance("threads", "alpha", &[(Outcome::Refused, 243)], missing),
    ]);
    assert_has(&page, "| simd | **90**/92 | 92/92 |");
    assert_has(&page, "| threads | –<br>243 refused | – |");
    assert_has(&page, "| a NaN is quiet | `alpha` 2 | simd/x:7: got 1 |");
    assert_has(&page, "| no threads | `alpha` 243 |  |");
}

#[test]
fn hostile_guests_and_survival_have_their_exceptions_on_top() {
    let hostile = |engine, outcome, how: &'static str| {
        let executor = (engine, Some("pooling"));
        finding(Check::Hostile, "endless_loop", executor, &[(outcome, 1)], (None, &[how]))
    };
    let told = (None, &["exit code 130"] as &[&str]);
    let counts = [(Outcome::Held, 99), (Outcome::Failed, 1)];
    let page = page(vec![
        hostile("alpha", Outcome::Held, "trap: deadline exceeded"),
        hostile("beta", Outcome::HeldByEnding, "ended after 2 s"),
        hostile("gamma", Outcome::Failed, "does not end"),
        finding(Check::Survival, "SIGTERM", ("", None), &counts, told),
    ]);
    for part in [
        "1 attack on an engine's strategy held, 1 only by ending the process that they ran \
         in, 1 failed",
        "| `endless_loop` | ✓ | ◐ | ✗ |",
        "- **failed**: `endless_loop` on `gamma`: does not end",
        "- **held by ending the process**: `endless_loop` on `beta`: ended after 2 s",
        "- **held**: `endless_loop` on `alpha`: trap: deadline exceeded",
        "| SIGTERM | 99 | **1** | exit code 130 |",
    ] {
        assert_has(&page, part);
    }
}

/// Checks can be run one by one: each is shown from the newest run that made it.
#[test]
fn every_engine_is_said_only_where_all_have_the_same_findings() {
    let hostile = |name, engine, how: &'static str| {
        let executor = (engine, Some("pooling"));
        finding(Check::Hostile, name, executor, &[(Outcome::Held, 1)], (None, &[how]))
    };
    let alike = page(vec![
        hostile("endless_loop", "alpha", "a trap"),
        hostile("endless_loop", "beta", "a trap"),
    ]);
    assert_has(&alike, "- **held**: `endless_loop` on every engine: a trap");
    let others = page(vec![
        hostile("endless_loop", "alpha", "a trap"),
        hostile("table_bomb", "beta", "a trap"),
    ]);
    assert_has(&others, "- **held**: `endless_loop`, `table_bomb` on `alpha`, `beta`: a trap");
}

#[test]
fn each_check_comes_from_its_newest_run() {
    let hostile = |how: &'static str| {
        let held = [(Outcome::Held, 1)];
        let executor = ("alpha", Some("pooling"));
        finding(Check::Hostile, "endless_loop", executor, &held, (None, &[how]))
    };
    let place = Place::with(&Run::of_cells([cell("alpha", "pooling", EMPTY, 1, 100.0)]));
    let checks = place.beside(CHECKS);
    Run::of(isolation().into_iter().chain([hostile("an older way")])).append(&checks);
    Run::of([hostile("a newer way")]).append(&checks);
    let page = place.page();
    assert_has(&page, "## Isolation");
    assert_has(&page, "a newer way");
    assert!(!page.contains("an older way"));
}
