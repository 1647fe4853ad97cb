//! An experiment that only its declaration describes: section, chart and row of the command.

use super::{Run, assert_has, executor, small};
use crate::place::Place;
use touchstone_record::{Line, Place as At, Point, Sample, Samples, Status};

const DECLARATION: &str = r#"
title = "Toys"
command = "toy"
help = "Counts."
records = "toy.jsonl"
made_by = "make toys"
page = "details"
text = "Toys of {colour} (`make toys`, commit {commit})."

[[dimensions]]
name = "colour"
words = [["red", "bright red"], ["green", "green"], ["blue", "blue"]]

[[dimensions]]
name = "size"

[metrics]
time = { unit = "ns", sampled = true }
made = { unit = "count" }

[[tables]]
largest = "size"
columns = [
    { heading = "colour", value = "colour", shown = "words" },
    { heading = "time of each", value = "time / size" },
]

[[tables]]
title = "Growth"
beside = ["size"]
columns = [
    { heading = "smallest", value = "first.size", shown = "count" },
    { heading = "time", value = "first.time" },
    { heading = "largest", value = "last.size", shown = "count" },
    { heading = "time of each", value = "last.time / last.size" },
    { heading = "of 3", value = "3.time" },
]

[failed]
title = "Too large"
text = "These failed."
columns = [{ heading = "tried", value = "size" }, { heading = "made", value = "made" }]

[chart]
title = "A toy"
axis = "Time"
largest = "size"
panels = [{ heading = "", value = "time" }]
rows = [
    { label = "reuse", executor = "alpha_instance_reuse", where = { colour = "red" } },
    { label = "reuse, green", executor = "alpha_instance_reuse", where = { colour = "green" } },
    { label = "reuse, blue", executor = "alpha_instance_reuse", where = { colour = "blue" } },
]
sentences = [
    "{executor|code} takes {time|short} at {size|count}.",
    "{2:colour} at {2:size|count}, {3:colour}, {last:colour}, {rows} rows.",
    "Never {4:time|time}.",
]
"#;

fn at(colour: &str, size: u64) -> At {
    At::of(&executor("alpha", "instance_reuse")).with("colour", colour).with("size", size)
}

#[test]
fn a_declaration_is_enough_for_section_chart_and_failures() {
    let place = Place::with(&small());
    std::fs::write(place.options.experiments.join("toy.toml"), DECLARATION).unwrap();
    assert_has(&place.page(), "There are no records of this; `make toys` makes them.");
    assert!(!place.image("toy.svg").exists());
    let point = |colour: &str, size: u64| {
        let time = Samples(vec![Sample::single(100.0 * size as f64); 6]);
        Point::new("toy", at(colour, size), 0).samples("time", time)
    };
    let failed = Point::new("toy", at("red", 20_000), 0).value("made", 16_003.0);
    let failed = failed.refused(Status::Failed, "out of | memory".to_owned());
    // One process of three was refused.
    let refused = Point::new("toy", at("blue", 3), 1).value("time", 9e9);
    let refused = refused.refused(Status::Failed, "ended".to_owned());
    let points =
        [point("red", 10), point("red", 2), point("green", 2), point("blue", 3), refused, failed];
    Run::of(points.map(|point| Line::Point(Box::new(point)))).append(&place.beside("toy.jsonl"));
    let page = place.page();
    for part in [
        "## Toys\n\nToys of `red` (`make toys`",
        "| Executor | colour | time of each |",
        "| `alpha_instance_reuse` | bright red | 100.0 ns† |",
        "| `alpha_instance_reuse` | green | 100.0 ns† |",
        "| `alpha_instance_reuse` | blue | 100.0 ns† |",
        "| `alpha_instance_reuse` | 2 | 200.0 ns† | 10 | 100.0 ns† | – |",
        "| `alpha_instance_reuse` | 3 | 300.0 ns† | 3 | 100.0 ns† | 300.0 ns† |",
        "### Too large\n\nThese failed.",
        "| `alpha_instance_reuse` | 20,000 | 16,003 | out of \\| memory |",
        "| `alpha_instance_reuse` | 3 | – | ended |",
        "`alpha_instance_reuse` takes 1.0 µs† at 10. green at 2, blue, blue, 3 rows.\n",
    ] {
        assert_has(&page, part);
    }
    assert!(!page.contains("Never") && place.image("toy.svg").exists());
}

#[test]
fn metrics_of_the_same_rounds_are_compared_engine_by_engine() {
    let place = Place::with(&small());
    let declared = touchstone_record::experiments_folder().join("swap.toml");
    std::fs::copy(declared, place.options.experiments.join("swap.toml")).unwrap();
    let swap = |engine: &str, method: &str, against: &str, ratio: f64| {
        let at = At::of(&executor(engine, "recreate_instance"));
        let at = at.with("method", method).with("against", against);
        let samples = |factor: f64| {
            let sample = |n: i32| Sample::single(1000.0 * factor * (1.0 + f64::from(n) / 1000.0));
            Samples((0..6).map(sample).collect())
        };
        (0..3).map(move |process| {
            let point = Point::new("swap", at.clone(), process).samples("message", samples(ratio));
            Line::Point(Box::new(point.samples("baseline", samples(1.0))))
        })
    };
    let points = swap("omega", "recompile", "sorted", 99.0)
        .chain(swap("alpha", "load_artifact", "sorted", 3.0))
        .chain(swap("alpha", "load_artifact", "recompile", 0.1))
        .chain(swap("alpha", "recompile", "sorted", 30.0));
    Run::of(points).append(&place.beside("swap.jsonl"));
    let page = place.page();
    let row = |text: &str| page.find(text).unwrap_or_else(|| panic!("'{text}' is not in:\n{page}"));
    let rows = [
        row(
            "| `alpha` | `recompile` | `recreate_instance` | 30.07 µs | 1.002 µs | 30.00 × [30.00 – 30.00] | – |",
        ),
        row("| `alpha` | `load_artifact` | `recreate_instance` | 3.007 µs | 1.002 µs | 3.000 × "),
        row("| `omega` | `recompile` |"),
    ];
    assert!(rows.is_sorted(), "engine by engine, the slowest method first");
    assert_has(&page, "| 0.100 × [0.100 – 0.100], faster |");
}
