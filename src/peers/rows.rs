//! Which rows there are: a data file, strictly read.

use crate::case::{self, Case};
use crate::matrix::{Filter, near};
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;

/// One row: an executor and what it is held against.
#[derive(Debug, Clone)]
pub struct Row {
    /// What is called.
    pub case: Arc<Case>,
    /// The guest, as the case names it.
    pub guest: String,
    /// Threads that make calls at the same time.
    pub threads: usize,
    /// The executor, backend and strategy with `_` between.
    pub executor: String,
    /// What it is held against.
    pub reference: Reference,
}

/// What an executor is held against. All but [`After`](Self::After) make the
/// same calls as the executor itself.
#[derive(Debug, Clone)]
pub enum Reference {
    /// Another executor, on as many threads.
    Executor(String),
    /// The raw interface of its runtime.
    Raw,
    /// The same again: what the machine lets anyone believe.
    Itself,
    /// The same on one thread.
    OneThread,
    /// The same on an instance that never made a call of another kind, while the
    /// executor makes one before each burst.
    After {
        /// The call of the other kind.
        another: Arc<Case>,
        /// Calls of its own kind after that which are not timed.
        skip: u64,
        /// Calls that are timed then.
        burst: u64,
    },
}

/// As the file names it and the fifth column prints it.
impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Executor(name) => f.write_str(name),
            Self::Raw => f.write_str(RAW),
            Self::Itself => f.write_str(ITSELF),
            Self::OneThread => f.write_str(ONE_THREAD),
            Self::After { another, .. } => write!(f, "itself_without_{}", another.name),
        }
    }
}

const RAW: &str = "raw";
const ITSELF: &str = "itself";
const ONE_THREAD: &str = "itself_on_1_thread";

/// Calls timed after one of another kind, unless the file says otherwise.
const BURST: u64 = 16;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rows: Vec<Spanned<Entry>>,
}

/// Rows that differ in case, guest, threads and executor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    executors: Vec<String>,
    cases: Vec<String>,
    /// The first of each case when left out.
    guests: Option<Vec<String>>,
    #[serde(default = "one_thread")]
    threads: Vec<usize>,
    against: Option<String>,
    after: Option<String>,
    skip: Option<u64>,
    burst: Option<u64>,
}

fn one_thread() -> Vec<usize> {
    vec![1]
}

impl Row {
    /// Name for filters: `<case>/<guest>/<threads>/<executor>`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}/{}/{}/{}", self.case.name, self.guest_key(), self.threads, self.executor)
    }

    /// The guest as records and tables name it.
    #[must_use]
    pub fn guest_key(&self) -> String {
        self.guest.replace('-', "_")
    }

    /// Whether the other one is the same row.
    fn is(&self, other: &Self) -> bool {
        self.id() == other.id() && self.reference.to_string() == other.reference.to_string()
    }
}

/// The file of the rows: `benches/peers.toml` in the project, or the path in
/// `TOUCHSTONE_PEERS`.
#[must_use]
pub fn default_path() -> PathBuf {
    std::env::var_os("TOUCHSTONE_PEERS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers.toml"),
        PathBuf::from,
    )
}

/// All rows of a file, in its order.
///
/// # Errors
///
/// When the file cannot be read or is wrong; the message has the line.
pub fn load(path: &Path, cases: &[Case]) -> Result<Vec<Row>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the rows in {}", path.display()))?;
    let file: File = toml::from_str(&text)
        .with_context(|| format!("the rows in {} are wrong", path.display()))?;
    ensure!(!file.rows.is_empty(), "there is no row in {}", path.display());
    let cases: Vec<Arc<Case>> = cases.iter().cloned().map(Arc::new).collect();
    let mut rows: Vec<Row> = Vec::new();
    for entry in file.rows {
        let line = 1 + text[..entry.span().start].matches('\n').count();
        let context = || format!("the rows in {} at line {line} are wrong", path.display());
        for row in entry.into_inner().rows(&cases).with_context(context)? {
            if rows.iter().any(|other| other.is(&row)) {
                let twice = format!("{} against {} is there twice", row.id(), row.reference);
                return Err(anyhow::anyhow!(twice)).with_context(context);
            }
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The rows whose [`id`](Row::id) a regular expression finds itself in; all
/// without one.
///
/// # Errors
///
/// When it means none: the message names near ones.
pub fn select(rows: Vec<Row>, text: Option<&str>) -> Result<Vec<Row>> {
    let filter = Filter::new(text);
    let names: Vec<String> = rows.iter().map(Row::id).collect();
    let selected: Vec<Row> = rows.into_iter().filter(|row| filter.matches(&row.id())).collect();
    match text {
        Some(text) if selected.is_empty() => {
            let near = near(text, &names);
            let near = if near.is_empty() { &names[..names.len().min(3)] } else { &near[..] };
            bail!("no row matches '{text}'; there are for instance {}", near.join(", "))
        }
        _ => Ok(selected),
    }
}

impl Entry {
    fn rows(&self, cases: &[Arc<Case>]) -> Result<Vec<Row>> {
        for (what, none) in [
            ("executors", self.executors.is_empty()),
            ("cases", self.cases.is_empty()),
            ("guests", self.guests.as_ref().is_some_and(Vec::is_empty)),
            ("threads", self.threads.is_empty() || self.threads.contains(&0)),
        ] {
            ensure!(!none, "'{what}' needs one or more, and numbers from 1 upwards");
        }
        let mut rows = Vec::new();
        for executor in &self.executors {
            for name in &self.cases {
                let case = find(cases, name)?;
                for guest in self.guests.as_ref().unwrap_or(&case.guests[..1].to_vec()) {
                    for threads in &self.threads {
                        let row = Row {
                            case: Arc::clone(case),
                            guest: guest.clone(),
                            threads: *threads,
                            executor: executor.clone(),
                            reference: self.reference(cases)?,
                        };
                        row.check()?;
                        rows.push(row);
                    }
                }
            }
        }
        Ok(rows)
    }

    fn reference(&self, cases: &[Arc<Case>]) -> Result<Reference> {
        match (self.against.as_deref(), &self.after) {
            (Some(_), Some(_)) | (None, None) => {
                bail!("a row needs either 'against' or 'after'")
            }
            (None, Some(another)) => Ok(Reference::After {
                another: Arc::clone(find(cases, another)?),
                skip: self.skip.unwrap_or(0),
                burst: self.burst.unwrap_or(BURST),
            }),
            (Some(_), None) if self.skip.is_some() || self.burst.is_some() => {
                bail!("'skip' and 'burst' go with 'after' alone")
            }
            (Some(RAW), None) => Ok(Reference::Raw),
            (Some(ITSELF), None) => Ok(Reference::Itself),
            (Some(ONE_THREAD), None) => Ok(Reference::OneThread),
            (Some(name), None) => Ok(Reference::Executor(name.to_owned())),
        }
    }
}

fn find<'a>(cases: &'a [Arc<Case>], name: &str) -> Result<&'a Arc<Case>> {
    cases
        .iter()
        .find(|case| case.name == name)
        .with_context(|| case::unknown(name, cases.iter().map(|case| case.name.as_str())))
}

impl Row {
    fn check(&self) -> Result<()> {
        let has_guest = |case: &Case| {
            ensure!(
                case.guests.contains(&self.guest),
                "the case '{}' has no guest '{}'; it has {}",
                case.name,
                self.guest,
                case.guests.join(", ")
            );
            Ok(())
        };
        has_guest(&self.case)?;
        match &self.reference {
            Reference::Executor(name) => ensure!(
                *name != self.executor,
                "'{name}' against its own name; the same twice is against = \"{ITSELF}\""
            ),
            Reference::Itself => {}
            Reference::OneThread => {
                ensure!(self.threads > 1, "'{ONE_THREAD}' is for more threads than one");
            }
            Reference::Raw => {
                ensure!(self.threads == 1, "'{RAW}' is for one thread: there is one raw caller");
            }
            Reference::After { another, burst, .. } => {
                has_guest(another)?;
                ensure!(self.threads == 1, "'after' is for one thread");
                ensure!(*burst > 0, "'burst' is 1 or more");
                ensure!(
                    another.name != self.case.name && another.heap == self.case.heap,
                    "'after' is another case with the same heap, for one instance to make both"
                );
            }
        }
        Ok(())
    }
}
