//! The check of a file of another machine before it is believed.

use crate::compare::{Judged, MARGIN, judge};
use crate::packed;
use crate::store::read;
use crate::{Book, Header, Line, Machine, Match, Purpose, SCHEMA, State};
use serde_json::Value;
use std::collections::BTreeSet;
use touchstone_executor::guest::text::{abridged, is_hostile, line};

/// Largest file of a machine, bytes.
pub const MOST_PACKED: usize = 300 << 10;
/// Most processors of a machine.
const MOST_CORES: usize = 1 << 16;
/// One of this many null comparisons may have an interval beside 1: it has 95 % confidence.
const NULLS_PER_MISS: usize = 10;
/// Two runs of one machine agree if their intervals overlap, or their ratios differ by less.
const AGREE: f64 = 1.25;
/// Longest quotation in a message, characters.
const QUOTED: usize = 60;

/// The reason for refusing a file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Fault {
    #[error("it has {0} bytes; the most are {MOST_PACKED}")]
    Size(usize),
    #[error("it cannot be unpacked: {0}")]
    Packing(String),
    #[error("line {line}: {reason}")]
    Line { line: usize, reason: String },
    #[error("line {line} has characters that are not allowed in '{key}': '{text}'")]
    Text { line: usize, key: String, text: String },
    #[error("it holds {0} runs; a file has one")]
    Runs(usize),
    #[error("it has no end line that fits: it was cut off, changed, or the run was interrupted")]
    Unfinished,
    #[error("the header has an impossible value of '{0}'")]
    Header(&'static str),
    #[error("the machine's id is '{given}', and its other facts give '{computed}'")]
    Identity { given: String, computed: String },
    #[error("it lies at '{given}' and belongs to '{computed}'")]
    Place { given: String, computed: String },
    #[error("the guest '{guest}' has the digest {digest}, which no guest of the project has")]
    Guest { guest: String, digest: String },
    #[error("the commit '{0}' is none of this project")]
    Commit(String),
    #[error("there is no {0}")]
    Missing(&'static str),
    #[error("the output of '{0}' was wrong, or its guest trapped")]
    Output(String),
    #[error("'{0}' has a time, and its guest is not in the header")]
    Unlisted(String),
    #[error(
        "{marked} of {all} comparisons of an executor with itself are marked, more than half: the \
         machine had no steady state"
    )]
    Marked { marked: usize, all: usize },
    #[error("{misses} of {all} executors differ from themselves, such as '{worst}': {ratio:.3}")]
    Null { misses: usize, all: usize, worst: String, ratio: f64 },
    #[error("'{of}': {one:.2} in one run of the machine, {other:.2} in another")]
    Disagree { of: String, one: f64, other: f64 },
}

/// Knowledge about the project that a file is checked against.
pub trait Project {
    /// `true` if a guest of the project has this digest, now or at a commit.
    fn has_guest(&self, sha256: &str, commit: &str) -> bool;

    /// `true` if the project has the commit, or nobody can tell.
    fn has_commit(&self, commit: &str) -> bool;
}

/// Checks the content of a file. `place` is the folder and the name, as `<machine>/<date>`, of a
/// file among those of other machines.
///
/// # Errors
///
/// The first reason not to believe it.
pub fn verify(content: &[u8], place: Option<&str>, project: &dyn Project) -> Result<Book, Fault> {
    if content.len() > MOST_PACKED {
        return Err(Fault::Size(content.len()));
    }
    let content =
        packed::unpacked(content.to_vec()).map_err(|error| Fault::Packing(format!("{error:#}")))?;
    texts(&content)?;
    let mut loaded = read(&content);
    if let Some(skipped) = loaded.skipped.first() {
        return Err(Fault::Line { line: skipped.line, reason: skipped.reason.clone() });
    }
    if loaded.runs.len() != 1 {
        return Err(Fault::Runs(loaded.runs.len()));
    }
    if !loaded.is_whole(0) {
        return Err(Fault::Unfinished);
    }
    let (header, lines) = loaded.runs.pop().ok_or(Fault::Runs(0))?;
    self::header(&header, place, project)?;
    outputs(&header, &lines)?;
    let book = Book::of(header, lines);
    // A run of `touchstone peers` examines no machine.
    if book.header.state.is_none() && has_overview(&book) {
        return Err(Fault::Missing("state of the machine"));
    }
    nulls(&book)?;
    headlines(&book).next().map(|_| ()).ok_or(Fault::Missing("comparison of the headlines"))?;
    Ok(book)
}

/// Checks that two runs of one machine have the same ratios.
///
/// # Errors
///
/// The first comparison that differs.
pub fn agree(one: &Book, other: &Book) -> Result<(), Fault> {
    for (of, judged) in headlines(one) {
        let is_same = |own: &Match| Match { purpose: of.purpose, ..own.clone() } == *of;
        let Some((_, second)) = headlines(other).find(|(own, _)| is_same(own)) else { continue };
        let (a, b) = (judged.ratio, second.ratio);
        let (first, then) = (a.ends(), b.ends());
        let is_apart = first.1 < then.0 || then.1 < first.0;
        if is_apart && (a.median / b.median).max(b.median / a.median) > AGREE {
            return Err(Fault::Disagree { of: of.name(), one: a.median, other: b.median });
        }
    }
    Ok(())
}

/// The comparisons of the overview with their ratios; those of a run of `touchstone peers`, which
/// has some of them among others.
pub fn headlines(book: &Book) -> impl Iterator<Item = (&Match, Judged)> {
    let purpose = if has_overview(book) { Purpose::Overview } else { Purpose::Peers };
    let own = book.comparisons.iter().filter(move |(of, _)| of.purpose == purpose && !is_null(of));
    own.filter_map(|(of, pairs)| Some((of, judge(pairs, MARGIN)?)))
}

fn has_overview(book: &Book) -> bool {
    book.comparisons.keys().any(|of| of.purpose == Purpose::Overview)
}

/// `true` for an executor against itself.
fn is_null(of: &Match) -> bool {
    of.subject == of.baseline
}

/// Checks the texts as they stand in the file, before any of them is replaced.
fn texts(content: &[u8]) -> Result<(), Fault> {
    for (index, bytes) in content.split(|byte| *byte == b'\n').enumerate() {
        let line = index + 1;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|error| Fault::Line { line, reason: error.to_string() })?;
        check_text(&value, "a line", line)?;
    }
    Ok(())
}

/// Keys of sentences, which may quote anything that can be printed.
const SENTENCES: [&str; 4] = ["reason", "effective", "emulated", "title"];

fn check_text(value: &Value, key: &str, at: usize) -> Result<(), Fault> {
    let is_sentence = SENTENCES.contains(&key);
    let check = |text: &str| {
        let is_plain = |c: char| {
            c.is_ascii_alphanumeric()
                || (is_sentence && !is_hostile(c))
                || " _-.:/()@+,#%*~=".contains(c)
        };
        let is_right = text.chars().all(is_plain);
        let (key, text) = (line(&abridged(key, QUOTED)), line(&abridged(text, QUOTED)));
        if is_right { Ok(()) } else { Err(Fault::Text { line: at, key, text }) }
    };
    match value {
        Value::String(text) => check(text),
        Value::Array(all) => all.iter().try_for_each(|own| check_text(own, key, at)),
        Value::Object(all) => all.iter().try_for_each(|(name, own)| {
            check(name)?;
            check_text(own, if is_sentence { key } else { name }, at)
        }),
        _ => Ok(()),
    }
}

fn header(own: &Header, place: Option<&str>, project: &dyn Project) -> Result<(), Fault> {
    let Header { schema, machine, tools, state, .. } = own;
    let is_date = |date: &str| {
        let parts: Vec<&str> = date.split('-').collect();
        let digits = |part: &&str| part.bytes().all(|b| b.is_ascii_digit());
        parts.iter().map(|part| part.len()).eq([4, 2, 2]) && parts.iter().all(digits)
    };
    let is_percent = |own: f64| (0.0..=100.0).contains(&own);
    let of_state = |check: &dyn Fn(State) -> bool| state.is_none_or(check);
    for (name, is_right) in [
        ("schema", *schema == SCHEMA),
        ("started_at", is_date(own.date())),
        ("cpu", !machine.cpu.is_empty()),
        ("architecture", !machine.architecture.is_empty()),
        ("cores", (1..=MOST_CORES).contains(&machine.cores)),
        ("memory_kib", machine.memory_kib > 0),
        ("clean", of_state(&|own| is_percent(own.clean))),
        ("prevailing", of_state(&|own| is_percent(own.prevailing))),
        ("slowdown", of_state(&|own| (1.0..1000.0).contains(&own.slowdown))),
        ("steal", of_state(&|own| own.steal.is_none_or(is_percent))),
        ("load", of_state(&|own| own.load.is_none_or(|load| (0.0..1e6).contains(&load)))),
    ] {
        if !is_right {
            return Err(Fault::Header(name));
        }
    }
    let Machine { id, .. } = machine;
    let computed = machine.identity();
    if *id != computed {
        return Err(Fault::Identity { given: id.clone(), computed });
    }
    let computed = format!("{}/{}", machine.slug(), own.date());
    if let Some(given) = place.filter(|given| *given != computed) {
        return Err(Fault::Place { given: line(given), computed });
    }
    let is_commit = tools.commit.len() >= 7 && tools.commit.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_commit || !project.has_commit(&tools.commit) {
        return Err(Fault::Commit(tools.commit.clone()));
    }
    for work in &own.works {
        if !project.has_guest(&work.guest_sha256, &tools.commit) {
            let (guest, digest) = (work.guest.clone(), work.guest_sha256.clone());
            return Err(Fault::Guest { guest, digest });
        }
    }
    Ok(())
}

/// An output that was compared has a guest in the header, and none was wrong.
fn outputs(header: &Header, lines: &[Line]) -> Result<(), Fault> {
    let works: BTreeSet<(&str, &str)> =
        header.works.iter().map(|work| (work.case.as_str(), work.guest.as_str())).collect();
    for own in lines {
        let (case, guest) = match own {
            Line::Observations(seen) => (&seen.cell.case, &seen.cell.guest),
            Line::Comparison(own) => (&own.of.case, &own.of.guest),
            Line::Refusal(refusal) if refusal.status.is_wrong() => {
                return Err(Fault::Output(refusal.engine.clone()));
            }
            _ => continue,
        };
        if !works.contains(&(case.as_str(), guest.as_str())) {
            return Err(Fault::Unlisted(format!("{case}_from_{guest}")));
        }
    }
    Ok(())
}

/// Executors against themselves: most intervals include 1, or lie within the margin of it.
fn nulls(book: &Book) -> Result<(), Fault> {
    let own = book.comparisons.iter().filter(|(of, _)| is_null(of));
    let all: Vec<(&Match, Judged)> =
        own.filter_map(|(of, processes)| Some((of, judge(processes, MARGIN)?))).collect();
    if all.is_empty() {
        return Err(Fault::Missing("comparison of an executor with itself"));
    }
    // One process has one layout, which may favour a side: a marked comparison shows no bias.
    let (marked, all): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(_, judged)| judged.ratio.marked);
    if marked.len() > all.len() {
        return Err(Fault::Marked { marked: marked.len(), all: marked.len() + all.len() });
    }
    let is_missed = |(_, judged): &&(&Match, Judged)| {
        let (low, high) = judged.ratio.ends();
        low > 1.0 + MARGIN || high < 1.0 / (1.0 + MARGIN)
    };
    let missed: Vec<&(&Match, Judged)> = all.iter().filter(is_missed).collect();
    let far = |judged: &Judged| judged.ratio.median.ln().abs();
    let worst = missed.iter().max_by(|a, b| far(&a.1).total_cmp(&far(&b.1)));
    match worst {
        Some((of, judged)) if missed.len() > all.len().div_ceil(NULLS_PER_MISS) => {
            Err(Fault::Null {
                misses: missed.len(),
                all: all.len(),
                worst: of.name(),
                ratio: judged.ratio.median,
            })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Comparison, Contender, Executor, RecordFile, Refusal, Sink, Status, Sweep, WorkFacts,
    };

    const DIGEST: &str = "27cb8f89e6604955df736517ad84c6b209ef7190c43894aa9d1ee48e15df155b";

    struct Known;

    impl Project for Known {
        fn has_guest(&self, sha256: &str, _: &str) -> bool {
            sha256 == DIGEST
        }

        fn has_commit(&self, commit: &str) -> bool {
            commit == "0123456789ab"
        }
    }

    fn head() -> Header {
        let mut header = Header {
            schema: SCHEMA,
            run: "2026-11-28T05:00:00Z-1".to_owned(),
            started_at: "2026-11-28T05:00:00Z".to_owned(),
            state: Some(State {
                clean: 14.0,
                prevailing: 83.0,
                slowdown: 1.3,
                steal: Some(2.0),
                load: None,
            }),
            ..Header::default()
        };
        header.tools.commit = "0123456789ab".to_owned();
        header.machine = Machine {
            cpu: "Some CPU (family 1, model 2)".to_owned(),
            architecture: "x86_64".to_owned(),
            cores: 2,
            memory_kib: 24 << 20,
            ..Machine::default()
        };
        header.machine.id = header.machine.identity();
        header.works = vec![WorkFacts {
            case: "call_empty_function".to_owned(),
            guest: "test_runtime".to_owned(),
            guest_sha256: DIGEST.to_owned(),
            init: None,
            title: None,
            role: None,
            sweep: Sweep::All,
            place: 0,
        }];
        header
    }

    /// Twelve pairs of processes with this ratio and a spread of 1 %.
    fn pairs(purpose: Purpose, engine: &str, ratio: f64) -> Vec<Line> {
        let side = |engine: &str| {
            let name = format!("{engine}_instance_reuse").parse::<Executor>().unwrap();
            Contender::new(name, 1)
        };
        let baseline = side(if purpose == Purpose::Null { engine } else { "other" });
        let (case, guest) = ("call_empty_function".to_owned(), "test_runtime".to_owned());
        let of = Match { purpose, case, guest, subject: side(engine), baseline };
        let round = |n: u32| (100.0 * ratio * (1.0 + f64::from(n % 5) / 400.0), 100.0);
        let pair = |process| Comparison {
            of: of.clone(),
            process,
            rounds: (0..9).map(|n| round(n + process)).collect(),
            noisy: Vec::new(),
        };
        (0..12).map(|process| Line::Comparison(Box::new(pair(process)))).collect()
    }

    fn lines() -> Vec<Line> {
        let nulls = (0..20).flat_map(|n| pairs(Purpose::Null, &format!("engine{n}"), 1.0));
        nulls.chain(pairs(Purpose::Overview, "own", 0.02)).collect()
    }

    fn written(header: &Header, lines: &[Line]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("machine.jsonl");
        let mut file = RecordFile::append_to(&path).unwrap();
        file.append(&Line::Run(Box::new(header.clone()))).unwrap();
        file.append_all(lines).unwrap();
        file.end().unwrap();
        std::fs::read_to_string(path).unwrap()
    }

    fn check(content: &str) -> Result<Book, Fault> {
        verify(&packed::packed(content.as_bytes()), None, &Known)
    }

    fn fault(content: &str) -> String {
        check(content).unwrap_err().to_string()
    }

    #[test]
    fn a_whole_file_is_accepted_packed_or_not_at_its_place() {
        let (header, text) = (head(), written(&head(), &lines()));
        assert_eq!(headlines(&check(&text).unwrap()).count(), 1);
        let place = format!("{}/2026-11-28", header.machine.slug());
        verify(text.as_bytes(), Some(&place), &Known).unwrap();
        let other = verify(text.as_bytes(), Some("some-cpu/2026-11-28"), &Known).unwrap_err();
        assert!(matches!(other, Fault::Place { .. }), "{other}");
    }

    #[test]
    fn a_changed_digit_a_lost_line_and_a_foreign_line_are_seen() {
        let text = written(&head(), &lines());
        let at = text.rfind("100.25").unwrap_or_else(|| text.rfind("2.005").unwrap());
        let mut changed = text.clone();
        changed.replace_range(at..=at, "3");
        assert!(fault(&changed).contains("a line of the run was changed"), "{}", fault(&changed));
        let all: Vec<&str> = text.lines().collect();
        let cut = all[..all.len() - 1].join("\n");
        assert_eq!(check(&cut).unwrap_err(), Fault::Unfinished);
        assert!(fault(&text[..text.len() / 2]).starts_with("line "));
        let without = [&all[..5], &all[6..]].concat().join("\n");
        assert!(fault(&without).contains("and there are"), "{}", fault(&without));
        let doubled = [&all[..], &all[3..4]].concat().join("\n");
        assert_eq!(check(&doubled).unwrap_err(), Fault::Unfinished);
        assert_eq!(check(&format!("{text}{text}")).unwrap_err(), Fault::Runs(2));
        assert_eq!(check("").unwrap_err(), Fault::Runs(0));
        let frame = packed::packed(text.as_bytes());
        let half = verify(&frame[..frame.len() / 2], None, &Known).unwrap_err();
        assert!(matches!(half, Fault::Packing(_)), "{half}");
    }

    #[test]
    fn hostile_contents_have_a_reason() {
        let header = serde_json::to_string(&Line::Run(Box::new(head()))).unwrap();
        let deep = format!("{header}\n{}\n", "[".repeat(100_000));
        assert!(fault(&deep).contains("recursion limit"), "{}", fault(&deep));
        let number = header.replace("\"cores\":2", "\"cores\":1e999");
        assert!(fault(&number).contains("number out of range"), "{}", fault(&number));
        let bomb = packed::packed(&vec![b'\n'; packed::MOST_UNPACKED + 1]);
        assert!(matches!(verify(&bomb, None, &Known).unwrap_err(), Fault::Packing(_)));
        let large = vec![b' '; MOST_PACKED + 1];
        assert_eq!(verify(&large, None, &Known).unwrap_err(), Fault::Size(large.len()));
        for name in ["<script>alert(1)</script>", "\u{1b}[31mred", "a`b|c", "../\u{202e}x", "a\"b"]
        {
            let mut changed = head();
            changed.machine.cpu = name.to_owned();
            changed.machine.id = changed.machine.identity();
            let found = check(&written(&changed, &lines())).unwrap_err();
            assert!(matches!(&found, Fault::Text { line: 1, .. }), "{name}: {found}");
            let said = found.to_string();
            assert!(!said.chars().any(is_hostile), "{said:?}");
            let lines = pairs(Purpose::Overview, name, 1.0);
            let found = check(&written(&head(), &lines)).unwrap_err();
            assert!(matches!(found, Fault::Text { line: 2, .. }), "{name}: {found}");
        }
    }

    #[test]
    fn facts_that_contradict_the_project_are_refused() {
        let change = |change: &dyn Fn(&mut Header)| {
            let mut header = head();
            change(&mut header);
            fault(&written(&header, &lines()))
        };
        for (said, expected) in [
            (change(&|own| own.tools.commit = "fedcba987654".to_owned()), "the commit"),
            (change(&|own| own.tools.commit += "-dirty"), "the commit"),
            (change(&|own| own.machine.cores = 3), "the machine's id"),
            (change(&|own| own.machine.cores = 0), "impossible value of 'cores'"),
            (change(&|own| own.state = None), "there is no state"),
            (change(&|own| own.state.as_mut().unwrap().clean = 101.0), "of 'clean'"),
            (change(&|own| own.started_at = "../../etc".to_owned()), "of 'started_at'"),
            (change(&|own| own.works[0].guest_sha256 = "0".repeat(64)), "the digest 000"),
            (change(&|own| own.works.clear()), "its guest is not in the header"),
        ] {
            assert!(said.contains(expected), "{said}: {expected}");
        }
    }

    #[test]
    fn numbers_that_contradict_each_other_are_refused() {
        let with = |more: Vec<Line>| check(&written(&head(), &[lines(), more].concat()));
        // Two of twenty-two may miss by chance.
        assert!(with(pairs(Purpose::Null, "one", 1.2)).is_ok());
        let biased = (0..4).flat_map(|n| pairs(Purpose::Null, &format!("biased{n}"), 1.2));
        let found = with(biased.collect()).unwrap_err();
        assert!(matches!(found, Fault::Null { misses: 4, all: 24, .. }), "{found}");
        let one_process = |n| pairs(Purpose::Null, &format!("short{n}"), 1.0).swap_remove(0);
        let found = with((0..21).map(one_process).collect()).unwrap_err();
        assert_eq!(found, Fault::Marked { marked: 21, all: 41 });
        let wrong = Refusal {
            engine: "own".to_owned(),
            strategy: None,
            guest: None,
            case: None,
            threads: None,
            status: Status::Wrong,
            reason: "the output is [2]".to_owned(),
        };
        assert_eq!(with(vec![Line::Refusal(wrong)]).unwrap_err(), Fault::Output("own".to_owned()));
        let without = |purpose: Purpose| {
            let mut rest = lines();
            rest.retain(|line| !matches!(line, Line::Comparison(own) if own.of.purpose == purpose));
            fault(&written(&head(), &rest))
        };
        assert!(without(Purpose::Overview).contains("no comparison of the headlines"));
        assert!(without(Purpose::Null).contains("no comparison of an executor with itself"));
    }

    #[test]
    fn a_run_of_peers_is_a_machine_that_nobody_examined() {
        let of_peers =
            |lines: Vec<Line>| check(&written(&Header { state: None, ..head() }, &lines));
        let nulls = || (0..4).flat_map(|n| pairs(Purpose::Null, &format!("engine{n}"), 1.0));
        let peers = || pairs(Purpose::Peers, "own", 0.02);
        let book = of_peers(nulls().chain(peers()).collect()).unwrap();
        assert_eq!(headlines(&book).count(), 1);
        // An executor against itself is no headline, whatever the purpose.
        let mut itself = pairs(Purpose::Null, "engine", 1.0);
        for line in &mut itself {
            let Line::Comparison(own) = line else { unreachable!() };
            own.of.purpose = Purpose::Peers;
        }
        assert_eq!(
            of_peers(itself.clone()).unwrap_err(),
            Fault::Missing("comparison of the headlines")
        );
        assert!(of_peers(itself.into_iter().chain(peers()).collect()).is_ok());
        assert!(of_peers(peers()).unwrap_err().to_string().contains("with itself"));
    }

    #[test]
    fn two_runs_of_a_machine_have_to_agree() {
        let run = |ratio| {
            check(&written(&head(), &[lines(), pairs(Purpose::Overview, "own", ratio)].concat()))
        };
        let (one, like, other) = (run(0.02).unwrap(), run(0.0215).unwrap(), run(0.03).unwrap());
        assert_eq!(agree(&one, &like), Ok(()));
        assert!(matches!(agree(&one, &other), Err(Fault::Disagree { .. })));
        // Whatever made them.
        let nulls = (0..4).flat_map(|n| pairs(Purpose::Null, &format!("engine{n}"), 1.0));
        let of_peers = |ratio| {
            let lines = nulls.clone().chain(pairs(Purpose::Peers, "own", ratio));
            check(&written(&head(), &lines.collect::<Vec<_>>())).unwrap()
        };
        assert_eq!(agree(&of_peers(0.0215), &one), Ok(()));
        assert!(matches!(agree(&of_peers(0.03), &one), Err(Fault::Disagree { .. })));
    }
}
