//! Joins the records of all shards of a run.

use super::{Header, Line, Loaded, Observations, Refusals, Setups, Shard};
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

/// The reason why shards are not merged, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error(
        "there is no record file (*.jsonl) here: name the folder that the shards were written to"
    )]
    NoFile,
    #[error("{0} holds no run that this build can read ({1}): measure the shard with this build")]
    Unreadable(String, String),
    #[error(
        "{0} is not complete: its end line is missing or does not fit; repeat `touchstone bench \
         --shard` with the same arguments"
    )]
    Unfinished(String),
    #[error("{0} is no shard of a run: remove it, or measure with `touchstone bench --shard I/N`")]
    NoShard(String),
    #[error("{file} is of {is}, {first} of {expected}: {}", property.advice())]
    Differs { property: Property, file: String, is: String, first: String, expected: String },
    #[error("of {of} shards, {} missing: measure them", named(missing))]
    Missing { missing: Vec<u32>, of: u32 },
    #[error("{0} and {1} are both shard {2}: remove one of them")]
    Double(String, String, Shard),
    #[error("{file} is shard {shard}, but {name} belongs to another one: measure the shard again")]
    Foreign { file: String, shard: Shard, name: String },
}

/// A property that all shards of a run have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    Layout,
    Commit,
    Binary,
    /// Versions of the engines, of which some are shared libraries.
    Engines,
    /// Options and names of cells.
    Selection,
    Sampling,
    Guests,
    Processor,
    Kernel,
    /// Number of processors and memory settings.
    Machine,
    /// Number of shards.
    Division,
}

impl Property {
    fn advice(self) -> &'static str {
        match self {
            Self::Layout | Self::Commit | Self::Binary => {
                "copy one program to all machines and measure the odd shard again"
            }
            Self::Engines => "copy the libraries of the engines to all machines, too",
            Self::Selection | Self::Division => "give all shards the same arguments but I",
            Self::Sampling => "give all shards the same sampling options",
            Self::Guests => "copy the same cases and guests to all machines",
            Self::Processor | Self::Kernel | Self::Machine => {
                "a ratio never spans two kinds of machines; measure all shards on one kind, and \
                 another kind as a run of its own"
            }
        }
    }
}

fn named(missing: &[u32]) -> String {
    let numbers: Vec<String> = missing.iter().map(u32::to_string).collect();
    match missing {
        [_] => format!("{} is", numbers[0]),
        _ => format!("{} are", numbers.join(", ")),
    }
}

/// The newest run of a record file, which is a shard.
struct Part {
    file: String,
    shard: Shard,
    header: Header,
    lines: Vec<Line>,
}

impl Part {
    fn of(path: PathBuf, mut loaded: Loaded) -> Result<Self, MergeError> {
        let file = path.display().to_string();
        let Some(last) = loaded.runs.len().checked_sub(1) else {
            let reason = loaded.skipped.first().map(|skipped| skipped.reason.clone());
            return match reason {
                Some(reason) => Err(MergeError::Unreadable(file, reason)),
                None => Err(MergeError::Unfinished(file)),
            };
        };
        let is_whole = loaded.is_whole(last);
        let (header, lines) = loaded.runs.swap_remove(last);
        let Some(shard) = header.shard.filter(|shard| shard.is_possible()) else {
            return Err(MergeError::NoShard(file));
        };
        // A line of another layout may hide behind an end line that fits.
        if !is_whole {
            return Err(MergeError::Unfinished(file));
        }
        Ok(Self { file, shard, header, lines })
    }

    /// The properties that must be the same in all parts, as they are printed.
    fn properties(&self) -> Vec<(Property, String)> {
        let Header { schema, machine, tools, sampling, engines, works, questions, .. } =
            &self.header;
        let digests: Vec<String> = works.iter().map(work).collect();
        let quoted = |what: &str, text: &str| format!("{what} '{text}'");
        vec![
            (Property::Layout, format!("layout {schema}")),
            (Property::Commit, quoted("commit", &tools.commit)),
            (Property::Binary, quoted("the binary", &tools.binary)),
            (Property::Engines, engines.iter().map(engine).collect::<Vec<_>>().join(" ")),
            (Property::Division, format!("{} shards", self.shard.of)),
            (
                Property::Sampling,
                format!(
                    "sampling '{}' ({} processes, {} samples of {} µs{})",
                    sampling.name,
                    sampling.processes,
                    sampling.samples,
                    sampling.sample_us,
                    if sampling.in_process { ", in one process" } else { "" }
                ),
            ),
            (Property::Guests, digests.join(" ")),
            (Property::Selection, quoted("the selection", questions)),
            (Property::Processor, quoted("the processor", &machine.cpu)),
            (Property::Kernel, quoted("kernel", &machine.kernel)),
            (
                Property::Machine,
                format!(
                    "{} processors (siblings {}), huge pages '{}', PAGEMAP_SCAN {}, protection keys \
                     {}",
                    machine.cores,
                    machine.siblings.join(" "),
                    machine.huge_pages,
                    machine.pagemap_scan,
                    machine.protection_keys
                ),
            ),
        ]
    }

    /// Fails if the part is of another run than the first one.
    fn check_like(&self, first: &Self) -> Result<(), MergeError> {
        for ((property, is), (_, expected)) in self.properties().into_iter().zip(first.properties())
        {
            if is == expected {
                continue;
            }
            let (is, expected) = match property {
                Property::Guests => first_difference("guest", &is, &expected),
                Property::Engines => first_difference("engine", &is, &expected),
                _ => (is, expected),
            };
            let (file, first) = (self.file.clone(), first.file.clone());
            return Err(MergeError::Differs { property, file, is, first, expected });
        }
        Ok(())
    }

    /// Fails if a line is of another shard.
    fn check_line(&self, line: &Line) -> Result<(), MergeError> {
        let has = |case: &str, guest: &str| self.shard.has(case, guest);
        let name = match line {
            Line::Observations(Observations { cell, .. }) if !has(&cell.case, &cell.guest) => {
                cell.name(None)
            }
            Line::Comparison(own) if !has(&own.of.case, &own.of.guest) => own.of.name(),
            _ => return Ok(()),
        };
        Err(MergeError::Foreign { file: self.file.clone(), shard: self.shard, name })
    }
}

/// A case on a guest with its digests, one word.
fn work(work: &super::WorkFacts) -> String {
    let init = work.init.as_ref().map_or("", |init| init.sha256.get(..16).unwrap_or(&init.sha256));
    let digest = work.guest_sha256.get(..16).unwrap_or(&work.guest_sha256);
    format!("{}:{}={digest}{init}", work.case, work.guest).replace(' ', "_")
}

/// An engine with its version, one word.
fn engine((name, facts): (&String, &super::EngineFacts)) -> String {
    format!("{name}={}", facts.version).replace(' ', "_")
}

/// The first words in which two texts differ.
fn first_difference(what: &str, a: &str, b: &str) -> (String, String) {
    let (mut a, mut b) = (a.split(' '), b.split(' '));
    let (mut one, mut other) = (a.next(), b.next());
    while one == other && one.is_some() {
        (one, other) = (a.next(), b.next());
    }
    let word = |word: Option<&str>| match word {
        Some(word) if !word.is_empty() => format!("the {what} {word}"),
        _ => format!("no further {what}"),
    };
    (word(one), word(other))
}

#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    pub header: Header,
    pub lines: Vec<Line>,
    pub shards: u32,
}

impl fmt::Display for Merged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut cells, mut comparisons) = (BTreeSet::new(), BTreeSet::new());
        for line in &self.lines {
            match line {
                Line::Observations(seen) => drop(cells.insert(&seen.cell)),
                Line::Comparison(own) => drop(comparisons.insert(&own.of)),
                _ => {}
            }
        }
        let (cells, comparisons) = (cells.len(), comparisons.len());
        write!(f, "{} shards, {cells} cells and {comparisons} comparisons", self.shards)
    }
}

/// Joins all shards of a run, whose files were loaded. The result is a run as one machine would
/// have recorded it: with one header, and each setup and refusal once. Its header is that of the
/// first shard, and names the merged runs. Fails if a shard is missing, double, not complete, or of
/// another build, machine, guest, selection or sampling than the first one.
pub fn merge(files: Vec<(PathBuf, Loaded)>) -> Result<Merged, MergeError> {
    let parts = files.into_iter().map(|(path, loaded)| Part::of(path, loaded));
    let mut parts = parts.collect::<Result<Vec<Part>, _>>()?;
    parts.sort_by_key(|part| part.shard.index);
    let Some(first) = parts.first() else { return Err(MergeError::NoFile) };
    parts.iter().try_for_each(|part| part.check_like(first))?;
    if let Some([a, b]) = parts.array_windows().find(|[a, b]| a.shard == b.shard) {
        return Err(MergeError::Double(a.file.clone(), b.file.clone(), a.shard));
    }
    let of = first.shard.of;
    let is_there = |index: &u32| parts.iter().any(|part| part.shard.index == *index);
    let missing: Vec<u32> = (1..=of).filter(|index| !is_there(index)).collect();
    if !missing.is_empty() {
        return Err(MergeError::Missing { missing, of });
    }
    let started = parts.iter().map(|part| part.header.started_at.clone()).min();
    let merged: Vec<String> = parts.iter().map(|part| part.header.run.clone()).collect();
    let header = Header {
        run: format!("{}-merged-{of}", first.header.run),
        started_at: started.unwrap_or_default(),
        questions: String::new(),
        shard: None,
        merged,
        ..first.header.clone()
    };
    let (mut lines, mut refusals, mut setups) = (Vec::new(), Refusals::new(), Setups::default());
    for part in parts {
        part.lines.iter().try_for_each(|line| part.check_line(line))?;
        let mut own = Setups::default();
        lines.extend(part.lines.into_iter().filter_map(|line| match line {
            Line::Setup(setup) => setups.recorded(own.complete(setup)).map(Line::Setup),
            Line::Refusal(refusal) => {
                refusals.insert(refusal.clone()).then_some(Line::Refusal(refusal))
            }
            line => Some(line),
        }));
    }
    Ok(Merged { header, lines, shards: of })
}
