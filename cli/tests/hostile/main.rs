//! Every text of every kind of record through every output: a payload stays text.

#[path = "../../../tests/fixtures/records.rs"]
mod fixtures;
mod outputs;
#[path = "../../../tests/fixtures/place.rs"]
mod place;

use fixtures::{Run, cell, comparison, contender, executor, null, refusal};
use place::{CHARTS, DIRTY, EMPTY, Place};
use rayon::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use strum::IntoEnumIterator;
use touchstone_executor::guest::text::line;
use touchstone_record::{
    BENCH, CHECKS, COUNTS, Check, Count, End, Experiment, Finding, Footprint, InitFacts, Line,
    Means, Metric, Outcome, PEERS, Place as At, Point, Purpose, Sample, Samples, Status, Tail,
    experiments_folder,
};
use touchstone_report as report;
use touchstone_report::pages::Part;

/// Texts that an output could take for markup. Addresses are of one host, which no output may link
/// to.
const PAYLOADS: [&str; 25] = [
    "\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{7f}",
    "\u{202e}\u{2066}\u{61c}\u{feff}\u{200b}\u{ad}\u{2028}\u{2029}\u{e0041}\u{ffff}",
    "`",
    "``` x",
    "![x](https://evil.example/i.png)",
    "[c](javascript:alert(1))",
    "[x]: https://evil.example",
    "[^1]: x",
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "</code></td></summary></details></title></style>",
    "]]>",
    "<!-- END --> <!--",
    "=cmd|' /C calc'!A0",
    "a | b |",
    "\n\n# x\n\n- y\n\n---\n",
    "# x",
    "- x",
    "1. x",
    "> x",
    "*x* __y__ ~~z~~ $a$ \\",
    "https://evil.example www.evil.example @evil a@evil.example",
    "&lt;img src=x&gt; &#60; &colon;",
    "\" onload=alert(1) x='",
    "{{data}} {subject}",
];

/// Cells, comparisons and refusals of three engines.
fn cells() -> Vec<Line> {
    let call = |engine, strategy, case, threads, ns| cell(engine, strategy, case, threads, ns);
    let mut reuse = call("alpha", "instance_reuse", EMPTY, 1, 130.0).with(Metric::WarmCall, 50.0);
    for (metric, value) in [
        (Metric::Compile, 1e6),
        (Metric::Load, 1e5),
        (Metric::FirstCall, 1e4),
        (Metric::Prepare, 30.0),
        (Metric::Invoke, 70.0),
        (Metric::Finish, 30.0),
        (Metric::SystemCalls, 2.0),
        (Metric::ArtifactBytes, 5000.0),
    ] {
        reuse = reuse.with(metric, value);
    }
    reuse.emulated = Some("how".to_owned());
    reuse.effective.insert("setting".to_owned(), Some("value".to_owned()));
    let mut other = call("alpha", "pooling", EMPTY, 1, 900.0);
    other.effective.insert("setting".to_owned(), Some("another".to_owned()));
    let run = Run::of_cells([
        reuse,
        other,
        call("alpha", "instance_reuse", EMPTY, 2, 140.0),
        call("alpha", "instance_reuse", DIRTY, 1, 10_800.0),
        call("beta", "interpreted", EMPTY, 1, 62_000.0),
        call("native", "instance_reuse", EMPTY, 1, 20.0),
    ]);
    let by = |means| contender(("alpha", "instance_reuse"), means);
    let after = Means::After { case: "heavy".to_owned(), skip: 1, burst: 2 };
    let ratios = [1.03, 1.04, 1.05];
    let both = |purpose, a, b| comparison(purpose, EMPTY, by(a), by(b), ratios);
    run.and([
        refusal(("alpha", "pooling"), None, Status::Unsupported, "no pool (at offset 0x1f)"),
        refusal(("alpha", "recreate_instance"), Some(DIRTY), Status::Wrong, "output differs"),
        refusal(("beta", "interpreted"), Some(DIRTY), Status::Failed, "out of memory"),
    ])
    .and(null(EMPTY, ("alpha", "instance_reuse"), [0.98, 1.0, 1.015]))
    .and(both(Purpose::Overhead, Means::Contract, Means::Raw))
    .and(both(Purpose::Deadline, Means::Limited, Means::Contract))
    .and(both(Purpose::Against, Means::Contract, Means::Build("label".to_owned())))
    .and(both(Purpose::Peers, after, Means::Bursts { skip: 1, burst: 2 }))
    .lines
}

const TAIL: Tail = Tail { calls: 9, p50_ns: 100, p99_ns: 200, p999_ns: 300, max_ns: 400 };

/// Everything but cells and checks.
fn others() -> Vec<Line> {
    let at = At::of(&executor("alpha", "instance_reuse"));
    let name = |text: &str| text.to_owned();
    let line = |point: Point| Line::Point(Box::new(point));
    let soak = [1000_u64, 10_000].map(|swaps| {
        let place = at.clone().with("method", "pool").with("swaps", swaps);
        line(Point::new("swap_memory", place, 0).value("rss_kib", 9000.0))
    });
    let swap = ["sorted", "recompile"].map(|against| {
        let place = at.clone().with("method", "pool").with("against", against);
        let samples = |ns| Samples(vec![Sample::single(ns); 6]);
        let point = Point::new("swap", place, 0).samples("message", samples(103.0));
        line(point.samples("baseline", samples(100.0)))
    });
    let place = at.clone().with("method", "pool").with("threads", 2_u64);
    let load = Point::new("swap_load", place, 0)
        .values([("replacements", 9), ("instances_taken", 9), ("failed", 0), ("wrong", 0)])
        .tail("swapping", TAIL)
        .tail("still", TAIL);
    let live = Footprint { rss_kib: 1000, pss_kib: 900, page_tables_kib: 8, mappings: 20 };
    let density = |instances: u64| {
        let place = at.clone().with("case", EMPTY).with("guest", "test_runtime");
        Point::new("density", place.with("instances", instances), 0)
    };
    let lives = ["before", "idle", "used"];
    let density_of = lives.into_iter().fold(density(100), |point, own| point.footprint(own, live));
    let tails = ["making", "first_calls", "calls"];
    let density_of = tails.into_iter().fold(density_of, |point, own| point.tail(own, TAIL));
    let out = density(20_000).value("made", 16_003.0);
    let out = out.refused(Status::Failed, name("out of memory"));
    let reset = |strategy, pages: u64| {
        let call = Samples(vec![Sample::single(100.0 * pages as f64); 6]);
        let place = fixtures::writing(strategy, "same", pages);
        line(Point::new("resets", place, 0).samples("call", call))
    };
    let requests = |state: &str| {
        let place = at.clone().with("case", EMPTY).with("guest", "test_runtime");
        let place = place.with("state", state);
        let load = |of: &str| {
            let place = place.clone().with("of", of).with("share", 80_u64);
            let values = [("offered", 100), ("completed", 99), ("unanswered", 0), ("wrong", 0)];
            let point = Point::new("requests", place, 0).values(values);
            line(point.values([("cpu_ns", 50), ("rss_kib", 900)]).tail("latency", TAIL))
        };
        let capacity = Point::new("requests", place.clone(), 0).value("capacity", 1000.0);
        [line(capacity), load("own"), load("used")]
    };
    let node = Point::new("node", at.clone(), 0).tail("queries", TAIL).values([
        ("accounts", 9),
        ("transfers", 8),
        ("blocks", 7),
        ("total_ns", 7_000_000),
        ("calls_ns", 3_000_000),
        ("storage_ns", 1_000_000),
        ("commit_ns", 100_000),
        ("storage_calls", 99),
    ]);
    let fan_out = |way: &str, ns: u64| {
        let place = at.clone().with("shape", "fan_out").with("way", way);
        let place = place.with("bytes", 65_536_u64).with("reads", 8_u64);
        let values = [("rounds", 9), ("round_ns", ns), ("memory_kib", 9)];
        line(Point::new("fan_out", place, 0).values(values))
    };
    let pipeline = |place: At| {
        let place = place.with("messages", 1024_u64).with("length", "whole").with("outage", "none");
        let zeros = ["tampered", "restarts", "lost", "doubled", "misordered", "altered"];
        let point = Point::new("pipeline", place, 0).values(zeros.map(|name| (name, 0)));
        let times = [("total_ns", 9_000_000), ("swaps", 500), ("longest_gap_ns", 1000)];
        let tails = ["swapping", "still", "latency"];
        line(tails.into_iter().fold(point.values(times), |point, own| point.tail(own, TAIL)))
    };
    let count = Line::Count(Count {
        case: name(EMPTY),
        guest: name("test_runtime"),
        guest_sha256: name("test_runtime-digest"),
        metrics: BTreeMap::from([(Metric::Operators, 7), (Metric::WarmOperators, 6)]),
        counted_by: vec![name("alpha")],
    });
    let one = vec![
        line(load),
        line(density_of),
        line(out),
        reset("instance_reuse_tracked", 1),
        reset("instance_reuse_tracked", 16),
        reset("pooling_cow_resident", 1),
        reset("pooling_cow_resident", 16),
        line(node),
        fan_out("copied", 9000),
        fan_out("mapped", 900),
        pipeline(At::default().with("verifier", "nobody")),
        pipeline(At::default().with("verifier", "host")),
        pipeline(at.clone().with("verifier", "guest").with("method", "pool")),
        count,
    ];
    let requests = ["used", "clean"].into_iter().flat_map(requests);
    one.into_iter().chain(soak).chain(swap).chain(requests).collect()
}

/// A finding of each check with each outcome, with and without a known cause.
fn findings() -> Vec<Line> {
    let outcomes = [
        Outcome::Held,
        Outcome::HeldByEnding,
        Outcome::Failed,
        Outcome::Unproven,
        Outcome::Refused,
        Outcome::NotDriven,
        Outcome::Exempt,
    ];
    let finding = |check, outcome, cause: Option<&str>| {
        Line::Finding(Box::new(Finding {
            check,
            name: "kind".to_owned(),
            engine: "alpha".to_owned(),
            strategy: Some("instance_reuse".parse().unwrap()),
            counts: BTreeMap::from([(outcome, 2)]),
            cause: cause.map(str::to_owned),
            evidence: vec!["evidence".to_owned(), "more".to_owned()],
        }))
    };
    let of = |check| {
        let both = outcomes.into_iter().flat_map(|of| [(of, Some("cause")), (of, None)]);
        both.map(move |(outcome, cause)| finding(check, outcome, cause))
    };
    // Leaking executors are no candidates for a pick.
    Check::iter().flat_map(of).collect()
}

/// A header and lines of every kind: a new kind has to be added here.
fn run() -> Vec<Value> {
    let mut run = Run::of(cells());
    for work in &mut run.header.works {
        let init = InitFacts { export: "init".to_owned(), sha256: "initialised".to_owned() };
        (work.title, work.init) = (Some("title".to_owned()), Some(init));
    }
    for facts in run.header.engines.values_mut() {
        facts.executes_like = Some("gamma".to_owned());
    }
    run.lines.extend(others().into_iter().chain(findings()));
    let mut kinds = BTreeSet::new();
    let head = Line::Run(Box::new(run.header));
    // It fits no lines, and the message about it quotes it.
    let end = Line::End(End { run: "run-1".to_owned(), ..End::default() });
    let all: Vec<Line> = std::iter::once(head).chain(run.lines).chain([end]).collect();
    for line in &all {
        kinds.insert(match line {
            Line::Run(_) => 0,
            Line::Setup(_) => 1,
            Line::Observations(_) => 2,
            Line::Refusal(_) => 3,
            Line::Comparison(_) => 4,
            Line::Count(_) => 5,
            Line::Finding(_) => 6,
            Line::Point(_) => 7,
            Line::End(_) => 8,
        });
    }
    assert_eq!(kinds.len(), 9, "kinds of lines without one: {kinds:?}");
    all.iter().map(|line| serde_json::to_value(line).unwrap()).collect()
}

/// The ways to the texts of a value, those of names in a map included.
fn ways(value: &Value, way: &str, found: &mut Vec<(String, bool)>) {
    match value {
        Value::String(_) => found.push((way.to_owned(), false)),
        Value::Array(all) => {
            all.iter().enumerate().for_each(|(at, one)| ways(one, &format!("{way}/{at}"), found));
        }
        Value::Object(all) => {
            for (name, one) in all {
                let way = format!("{way}/{name}");
                ways(one, &way, found);
                found.push((way, true));
            }
        }
        _ => {}
    }
}

/// A value in which the text, or the name, at a place is another one.
fn changed(value: &Value, (way, is_name): &(String, bool), by: &dyn Fn(&str) -> String) -> Value {
    let mut value = value.clone();
    let (above, name) = way.rsplit_once('/').unwrap();
    if let (true, Some(all)) = (is_name, value.pointer_mut(above).and_then(Value::as_object_mut)) {
        let own = all.remove(name).unwrap();
        all.insert(by(name), own);
    } else if let Some(Value::String(text)) = value.pointer_mut(way) {
        *text = by(text);
    }
    value
}

/// The line with each text changed that may be any, and the lines in which one is changed that
/// may not, such as the name of a strategy.
fn changed_where_free(
    value: &Value,
    by: &dyn Fn(&str) -> String,
    count: &mut usize,
) -> (Value, Vec<Value>) {
    let mut places = Vec::new();
    ways(value, "", &mut places);
    // Names last, and the deepest first: they are part of ways.
    places.sort_by_key(|(way, is_name)| (*is_name, std::cmp::Reverse(way.len())));
    let (mut whole, mut refused) = (value.clone(), Vec::new());
    for place in &places {
        let one = changed(&whole, place, by);
        let is_kept = |line: &Line| serde_json::to_value(line).unwrap() == one;
        match serde_json::from_value::<Line>(one.clone()) {
            Ok(line) if is_kept(&line) => {
                *count += 1;
                whole = one;
            }
            Ok(_) => {}
            Err(_) => refused.push(one),
        }
    }
    (whole, refused)
}

/// The experiments of the project.
fn experiments() -> impl Iterator<Item = Experiment> {
    Experiment::all(experiments_folder()).unwrap().into_iter()
}

/// Settings of the report that name what the records name.
fn settings(by: &dyn Fn(&str) -> String) -> [String; 2] {
    let call = format!("call = {{ case = \"{EMPTY}\", guest = \"test_runtime\" }}");
    let parts = Part::iter().map(|part| format!("{part:?}").to_lowercase());
    let parts = parts.chain(Check::iter().map(|check| check.to_string()));
    let parts: Vec<String> = parts.chain(experiments().map(|own| own.name)).collect();
    let division = format!(
        "ladder = [\"alpha\"]\nthreads = [\"alpha_instance_reuse\"]\n\
         payload = {{ case = \"{DIRTY}\", guest = \"test_runtime\" }}\n\
         [[work]]\ntitle = \"Real\"\npage = \"all\"\nengines = [\"alpha\"]\n\
         rows = [{{ label = \"a write\", case = \"{DIRTY}\", guest = \"test_runtime\" }}]\n\
         [[needs]]\nneed = \"Any\"\n{call}\nadopt = \"so\"\navoid = \"never\"\n\
         [[pages]]\nfile = \"all\"\ntitle = \"All\"\nanswers = \"What?\"\nparts = {parts:?}\n"
    );
    // What the reader makes of a name, in the quotes of TOML.
    let quoted = |name: &str| serde_json::json!(line(&by(name))).to_string();
    let inner = |name: &str| quoted(name).trim_matches('"').to_owned();
    [division, CHARTS.to_owned()].map(|text| {
        let text = text.replace("alpha    = \"blue\"", &format!("{} = \"blue\"", quoted("alpha")));
        let names = ["alpha", "beta", EMPTY, DIRTY, "test_runtime"];
        names.iter().fold(text, |text, name| {
            let text = text.replace(&format!("\"{name}\""), &quoted(name));
            text.replace(&format!("\"{name}_"), &format!("\"{}_", inner(name)))
        })
    })
}

/// A folder with the records in the files of all measurements.
fn place(records: &[Value], by: &dyn Fn(&str) -> String) -> Place {
    let place = Place::empty();
    let [division, charts] = settings(by);
    place.divide(&division);
    std::fs::write(&place.options.charts, charts).unwrap();
    let alpha = serde_json::json!(line(&by("alpha"))).to_string();
    let alpha = format!("\"{}_", alpha.trim_matches('"'));
    place.declare(&|text| text.replace("\"wasmtime_", &alpha));
    let text: String = records.iter().map(|line| format!("{line}\n")).collect();
    let files = [BENCH, PEERS, COUNTS, CHECKS].into_iter().map(str::to_owned);
    for name in files.chain(experiments().map(|own| own.records)) {
        std::fs::write(place.beside(&name), &text).unwrap();
    }
    place
}

/// The report, and everything that the command prints of the records.
fn outputs_of(place: &Place) -> BTreeMap<String, String> {
    let written = report::write(&place.options).unwrap();
    let again = report::check(&place.options).unwrap();
    assert_eq!(again.files, Vec::<std::path::PathBuf>::new(), "the page's markers are found again");
    let read = |path: &std::path::PathBuf| {
        let name = path.strip_prefix(place.options.page.parent().unwrap()).unwrap();
        (name.display().to_string(), std::fs::read_to_string(path).unwrap())
    };
    let mut outputs: BTreeMap<String, String> = written.files.iter().map(read).collect();
    outputs.extend(outputs::printed(&place.options.records));
    outputs
}

#[test]
fn every_text_of_every_record_stays_text_in_every_output() {
    let run = run();
    let made = |by: &dyn Fn(&str) -> String, with_refused: bool| {
        let (mut lines, mut refused, mut count) = (Vec::new(), Vec::new(), 0);
        for value in &run {
            let (line, others) = changed_where_free(value, by, &mut count);
            lines.push(line);
            refused.extend(others);
        }
        assert!(count > 500, "{count} texts of records were changed");
        lines.extend(refused.into_iter().filter(|_| with_refused));
        outputs_of(&place(&lines, by))
    };
    let whole = PAYLOADS.concat();
    let behind = made(&|text| format!("{text} zz"), true);
    outputs::assert_alike(&behind, &made(&|text| format!("{text} {whole}"), true), "all of them");
    let before = made(&|text| format!("zz {text}"), false);
    PAYLOADS.par_iter().for_each(|payload| {
        let hostile = made(&|text| format!("{payload} {text}"), false);
        outputs::assert_alike(&before, &hostile, payload);
    });
}

#[test]
fn a_damaged_line_cannot_speak_for_the_program() {
    let place = place(&run()[..1], &str::to_owned);
    let path: &Path = &place.options.records;
    let mut text = std::fs::read_to_string(path).unwrap();
    text += "{\"kind\":\"\\u001b[2J\u{202e}\"}\n{\"kind\":\"refusal\",\"\u{9b}31m\u{feff}\n";
    std::fs::write(path, text).unwrap();
    for (name, text) in outputs::printed(path) {
        outputs::assert_harmless(&name, &text);
    }
}
