//! Bounds of the lines that are read: numbers that are possible, and as many names as a run has.

use super::sample::check_noisy;
use super::{Coordinate, Line, Metric, Place, SCHEMA, Samples};
use anyhow::{Error, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Most bytes of a text in a line.
const LONGEST_TEXT: usize = 64 << 10;
/// Largest number below a header: doubles are exact up to here.
const LARGEST: f64 = 9_007_199_254_740_992.0;
/// Shortest time of a call, ns. Rates of shorter ones have too many digits to be real.
const SHORTEST_CALL: f64 = 1e-6;
/// Most calls of a sample, so that sums of samples stay far below the largest integer.
const MOST_CALLS: u64 = 1 << 40;
const MOST_THREADS: u64 = 1 << 16;
pub const MOST_PROCESSES: u32 = 1 << 10;
/// Most engines of a run. Tables have a column for each.
const MOST_ENGINES: usize = 64;
/// Most cases of a run, each counted once per guest.
pub const MOST_WORKS: usize = 4096;
/// Most places of an experiment in a run. Tables have a row or a cell for each.
const MOST_PLACES: usize = 4096;
/// Metrics of experiments that are times of calls or runs. Others may be below the clock's step.
const WHOLE_TIMES: [&str; 3] = ["call", "round_ns", "total_ns"];

/// The names that the lines of a run have had so far.
#[derive(Debug, Default)]
pub(super) struct Names {
    engines: BTreeSet<String>,
    works: BTreeSet<(String, String)>,
    places: BTreeMap<String, BTreeSet<Place>>,
}

impl Names {
    /// Reads a line. Fails with its fault if it cannot be used. A header of another version is
    /// reported as such, even if it has other fields.
    pub(super) fn read(&mut self, value: &Value) -> Result<Line> {
        if let Some(version) = value["schema"].as_u64().filter(|own| *own != u64::from(SCHEMA)) {
            bail!("layout version {version} where this build reads {SCHEMA}");
        }
        let line = Line::deserialize(value)?;
        let is_header = matches!(line, Line::Run(_));
        if is_header {
            *self = Self::default();
        }
        check_value(value, is_header)?;
        check_line(&line)?;
        self.add_engines_and_works(value)?;
        if let Line::Point(own) = &line {
            let places = self.places.entry(own.experiment.clone()).or_default();
            let has_room = add(places, &own.place, MOST_PLACES);
            ensure!(has_room, "'{}' has more than {MOST_PLACES} places", own.experiment);
        }
        Ok(line)
    }

    fn add_engines_and_works(&mut self, value: &Value) -> Result<()> {
        let sides = [value, &value["subject"], &value["baseline"], &value["where"]];
        let engines = sides.iter().filter_map(|side| side["engine"].as_str());
        let listed = value["engines"].as_object().into_iter().flatten();
        for engine in engines.chain(listed.map(|(engine, _)| engine.as_str())) {
            let has_room = add(&mut self.engines, &engine.to_owned(), MOST_ENGINES);
            ensure!(has_room, "the run has more than {MOST_ENGINES} engines");
        }
        // Refusals may name cases that have no line of their own.
        let own = Some(value).filter(|value| value["kind"] != "refusal");
        for work in own.into_iter().chain(value["works"].as_array().into_iter().flatten()) {
            let (Some(case), Some(guest)) = (work["case"].as_str(), work["guest"].as_str()) else {
                continue;
            };
            let work = (case.to_owned(), guest.to_owned());
            let has_room = add(&mut self.works, &work, MOST_WORKS);
            ensure!(has_room, "the run has more than {MOST_WORKS} cases on guests");
        }
        Ok(())
    }
}

/// Adds a name to those before it. `false` if there are `most` others.
fn add<T: Ord + Clone>(known: &mut BTreeSet<T>, new: &T, most: usize) -> bool {
    let has_room = known.len() < most || known.contains(new);
    if has_room && !known.contains(new) {
        known.insert(new.clone());
    }
    has_room
}

/// Checks the length of each text, and below a header each number.
fn check_value(value: &Value, is_header: bool) -> Result<()> {
    let check_text = |text: &str| {
        let bytes = text.len();
        ensure!(bytes <= LONGEST_TEXT, "a text of {bytes} bytes; the most are {LONGEST_TEXT}");
        Ok(())
    };
    match value {
        Value::String(text) => check_text(text),
        Value::Number(number) if !is_header => {
            let fits = number.as_f64().is_some_and(|own| (0.0..=LARGEST).contains(&own));
            ensure!(fits, "the number {number}; numbers are from 0 to {LARGEST:e}");
            Ok(())
        }
        Value::Array(all) => all.iter().try_for_each(|value| check_value(value, is_header)),
        Value::Object(all) => all.iter().try_for_each(|(name, value)| {
            check_text(name)?;
            check_value(value, is_header)
        }),
        _ => Ok(()),
    }
}

fn check_line(line: &Line) -> Result<()> {
    match line {
        Line::Observations(own) => {
            check_threads(own.cell.threads as u64)?;
            check_process(own.process)?;
            own.metrics.iter().try_for_each(|(metric, samples)| {
                let is_call = matches!(metric, Metric::Call | Metric::WarmCall | Metric::WarmTake);
                check_samples(metric.name(), samples, is_call)
            })
        }
        Line::Comparison(own) => {
            check_noisy(own.rounds.len(), &own.noisy).map_err(Error::msg)?;
            // A round without time is left out of the estimate.
            let is_short = |ns: f64| ns > 0.0 && ns < SHORTEST_CALL;
            for (place, (a, b)) in own.rounds.iter().enumerate() {
                let is_wrong = is_short(*a) || is_short(*b);
                ensure!(!is_wrong, "round {} is shorter than possible", place + 1);
            }
            check_threads(own.of.subject.threads as u64)?;
            check_threads(own.of.baseline.threads as u64)?;
            check_process(own.process)
        }
        Line::Point(own) => {
            for (name, value) in own.place.iter() {
                let Coordinate::Number(number) = value else { continue };
                ensure!(*number > 0, "the number 0 of '{name}'");
                if name == "threads" {
                    check_threads(*number)?;
                }
            }
            check_process(own.process)?;
            let check = |(name, own): (&String, &Samples)| {
                check_samples(name, own, WHOLE_TIMES.contains(&&**name))
            };
            own.values.iter().try_for_each(check)
        }
        _ => Ok(()),
    }
}

fn check_threads(threads: u64) -> Result<()> {
    let is_right = (1..=MOST_THREADS).contains(&threads);
    ensure!(is_right, "{threads} threads; their number is from 1 to {MOST_THREADS}");
    Ok(())
}

fn check_process(process: u32) -> Result<()> {
    let is_right = process < MOST_PROCESSES;
    ensure!(is_right, "the process {process}; their numbers are below {MOST_PROCESSES}");
    Ok(())
}

fn check_samples(metric: &str, samples: &Samples, is_call: bool) -> Result<()> {
    ensure!(!samples.0.is_empty(), "no sample of '{metric}'");
    for (place, sample) in samples.0.iter().enumerate() {
        let fault = match sample {
            _ if !(1..=MOST_CALLS).contains(&sample.calls) => "calls",
            // With interference, a thread may have made none.
            _ if !(u64::from(sample.clean)..=sample.calls).contains(&sample.slowest) => {
                "calls of the slowest thread"
            }
            // Signals may be none, and a step may be shorter than the clock's; a call takes time.
            _ if is_call && sample.per_call() < SHORTEST_CALL => "time per call",
            _ => continue,
        };
        bail!("sample {} of '{metric}' has an impossible number: {fault}", place + 1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{Loaded, load};

    /// The result of reading a header and a line.
    fn read(lines: &[&str]) -> Loaded {
        let header = serde_json::to_string(&crate::Line::Run(Box::default())).unwrap();
        let header = header.replace(r#""schema":0"#, r#""schema":2"#);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.jsonl");
        std::fs::write(&path, format!("{header}\n{}\n", lines.join("\n"))).unwrap();
        load(&path).unwrap()
    }

    fn reason(line: &str) -> String {
        let mut loaded = read(&[line]);
        assert!(loaded.runs[0].1.is_empty(), "{line}");
        let skipped = loaded.skipped.remove(0);
        assert_eq!(skipped.line, 2);
        skipped.reason
    }

    fn observed(metrics: &str) -> String {
        format!(
            r#"{{"kind":"observations","case":"c","guest":"g","engine":"e","strategy":"interpreted","process":0,"metrics":{{{metrics}}}}}"#
        )
    }

    #[test]
    fn samples_that_nothing_measures_are_refused_with_the_line_and_the_reason() {
        for (metrics, expected) in [
            (r#""call":0"#, "sample 1 of 'call' has an impossible number: time per call"),
            (r#""call":1e-300"#, "time per call"),
            (r#""call":-5"#, "the number -5"),
            (r#""call":1e300"#, "the number 1e+300"),
            (r#""call":1e999"#, "number out of range"),
            (r#""call":null"#, "expected a number, or samples"),
            (r#""call":{"total":[]}"#, "no sample of 'call'"),
            (r#""call":{"total":[5,0]}"#, "sample 2 of 'call'"),
            (r#""call":{"calls":0,"total":[5]}"#, "has an impossible number: calls"),
            (r#""call":{"calls":-1,"total":[5]}"#, "expected a number, or samples"),
            (r#""call":{"calls":18446744073709551615,"total":[5]}"#, "the number 18446744073709"),
            (r#""call":{"calls":9000000000000000,"total":[5]}"#, "impossible number: calls"),
            (r#""call":{"calls":[1,2],"total":[5]}"#, "'calls' has 2 numbers for 1 samples"),
            (r#""call":{"calls":[1],"total":[5,6]}"#, "'calls' has 1 numbers for 2 samples"),
            (r#""call":{"calls":4,"total":[5],"slowest":0}"#, "of the slowest thread"),
            (r#""call":{"calls":4,"total":[5],"slowest":5}"#, "of the slowest thread"),
            (r#""call":{"calls":4,"total":[5],"slowest":[]}"#, "'slowest' has 0 numbers"),
            (r#""call":{"total":[5],"noisy":[1]}"#, "'noisy' is not an ascending list"),
            (r#""call":{"total":[5,6],"noisy":[1,0]}"#, "'noisy' is not an ascending list"),
            (r#""call":{"total":[5,6],"noisy":[0,0]}"#, "'noisy' is not an ascending list"),
            (r#""call":{"total":[5],"noisy":[-1]}"#, "expected a number, or samples"),
        ] {
            let reason = reason(&observed(metrics));
            assert!(reason.contains(expected), "{metrics}: {reason}");
        }
        let good = r#""call":5,"signals":0,"artifact_bytes":0,"prepare":{"total":[0]},"page_faults":{"total":[0,1]}"#;
        assert_eq!(read(&[&observed(good)]).skipped, []);
    }

    #[test]
    fn other_lines_and_names_have_bounds_too() {
        let side = r#"{"engine":"e","strategy":"interpreted"}"#;
        let comparison = |rest: &str| {
            format!(
                r#"{{"kind":"comparison","purpose":"null","case":"c","guest":"g","subject":{side},"baseline":{side},"process":0,{rest}}}"#
            )
        };
        let many = observed(r#""call":5"#).replace(r#""process":0"#, r#""process":4000000000"#);
        let threads = observed(r#""call":5"#).replace(r#""process""#, r#""threads":0,"process""#);
        let long =
            observed(r#""call":5"#).replace(r#""g""#, &format!("\"{}\"", "g".repeat(70_000)));
        for (line, expected) in [
            (comparison(r#""rounds":[[1,1]],"noisy":[1]"#), "'noisy' is not an ascending list"),
            (comparison(r#""rounds":[[1,-1]]"#), "the number -1"),
            (comparison(r#""rounds":[[1,1],[1e-200,1]]"#), "round 2 is shorter than possible"),
            (many, "the process 4000000000"),
            (threads, "0 threads"),
            (long, "a text of 70000 bytes"),
        ] {
            let reason = reason(&line);
            assert!(reason.contains(expected), "{reason}");
        }
        assert_eq!(read(&[&comparison(r#""rounds":[[1,1],[0,1]],"noisy":[1]"#)]).skipped, []);
        let engines: Vec<String> = (0..70)
            .map(|n| observed(r#""call":5"#).replace(r#""e""#, &format!("\"e{n}\"")))
            .collect();
        let loaded = read(&engines.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((loaded.runs[0].1.len(), loaded.skipped.len()), (64, 6));
        assert_eq!(loaded.skipped[0].reason, "the run has more than 64 engines");
    }

    fn point(pages: usize, values: &str) -> String {
        format!(
            r#"{{"kind":"point","experiment":"toy","where":{{"pages":{pages}}},"process":0,"values":{{{values}}}}}"#
        )
    }

    #[test]
    fn points_take_time_and_have_a_largest_number_of_places() {
        for name in ["call", "round_ns", "total_ns"] {
            let reason = reason(&point(1, &format!(r#""{name}":0"#)));
            assert!(reason.contains("impossible number: time per call"), "{name}: {reason}");
        }
        assert_eq!(read(&[&point(1, r#""call":5,"storage_ns":0,"failed":0"#)]).skipped, []);
        let all: Vec<String> = (1..=4100).map(|pages| point(pages, "")).collect();
        // Another process of a known place is read.
        let again = point(7, "").replace(r#""process":0"#, r#""process":1"#);
        let lines: Vec<&str> = all.iter().chain([&again]).map(String::as_str).collect();
        let loaded = read(&lines);
        assert_eq!((loaded.runs[0].1.len(), loaded.skipped.len()), (4097, 4));
        assert_eq!(loaded.skipped[0].reason, "'toy' has more than 4096 places");
    }
}
