//! Benchmark cases: data files, one a case, or one a suite of cases that share guests.

mod guests;
pub mod init;
mod input;
mod json;
mod names;
mod random;
mod suite;
mod text;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::time::Duration;
use touchstone_executor::guest::HeapPages;
use touchstone_executor::guest::text::similar;
use touchstone_executor::{Abi, Imports, Strategy, wasi};

use crate::files::{self, FilePath};
use crate::record::data::{self, repeated};
use crate::record::{Role, Sweep};

pub use guests::{GuestFile, Guests, Suite, digest};
pub use input::{Field, Input, Number, parse_hex};
pub use names::{GuestName, Library};
pub use random::{Random, shuffled};
pub use text::binary;

/// A benchmark case: export, input, guests and expected output.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Name in tables and filters.
    pub name: String,
    /// Guests by their names, e.g. `test-runtime`.
    pub guests: Vec<GuestName>,
    /// Titles in criterion and the report, one per guest. The default combines both names.
    #[serde(default)]
    pub titles: Vec<String>,
    /// Libraries that answer imports of the guests, as `NAME=GUEST`: imports from the module NAME
    /// are exports of another guest. See [`link`](touchstone_executor::guest::link()).
    #[serde(default)]
    pub link: Vec<Library>,
    /// The answer to imports that no host function answers: `trap`, `zero` or `error`.
    #[serde(default = "stubs")]
    pub imports: Imports,
    /// The export that pre-initialises the guests: it runs once, before any engine gets the module,
    /// and its effects become part of the module's bytes.
    pub init: Option<String>,
    pub export: String,
    pub abi: Abi,
    #[serde(default)]
    pub input: Input,
    /// Arguments of a WASI program after its name, which is that of the guest.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Numbers of threads that call at the same time.
    pub threads: Vec<usize>,
    #[serde(default)]
    pub heap: HeapPages,
    #[serde(default)]
    pub sweep: Sweep,
    /// Restricts the sweep to these strategies, unless empty.
    #[serde(default)]
    pub strategies: Vec<Strategy>,
    /// Engines that are left out although they could run the case.
    #[serde(default)]
    pub without: Vec<Without>,
    /// Longest time of a call, seconds; unlimited by default. Slower executors are left out for it.
    pub budget_s: Option<f64>,
    pub role: Option<Role>,
    /// The codec component that turns the input into values, for the convention that needs one.
    pub codec: Option<String>,
    /// `true` to time calls on a used instance too.
    #[serde(default)]
    pub warm: bool,
    /// An export that takes the same input and ignores it, timed warm: the cost of the input.
    pub take: Option<Take>,
    pub expect: Expect,
    /// Further calls whose outputs are compared before anything is timed.
    #[serde(default)]
    pub also: Vec<Also>,
    /// How to read the times, as `touchstone cases` prints it.
    #[serde(default)]
    pub analysis: String,
}

/// A call that is compared and never timed, with the convention of its case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Also {
    pub export: Option<String>,
    pub input: Input,
    pub output: Input,
}

/// An engine that a case leaves out because measuring it takes too long.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Without {
    /// The engine; a build need not have it.
    pub engine: String,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Take {
    pub export: String,
    pub abi: Abi,
}

impl Case {
    /// Its title on a guest, if the file gives one.
    pub fn title(&self, guest: &str) -> Option<&str> {
        let index = self.guests.iter().position(|name| *name == *guest)?;
        self.titles.get(index).map(String::as_str)
    }

    /// One of the case's guests. Fails with the names of its guests if there is none of this name.
    pub fn guest(&self, name: &str) -> Result<&GuestName> {
        self.guests.iter().find(|guest| **guest == *name).with_context(|| {
            let guests =
                self.guests.iter().map(GuestName::to_string).collect::<Vec<_>>().join(", ");
            format!("the case '{}' has no guest '{name}'; it has {guests}", self.name)
        })
    }

    /// Settings of a guest as a WASI program; `None` under other conventions.
    pub fn program(&self, guest: &str) -> Option<wasi::Settings> {
        let arguments = std::iter::once(guest.to_owned()).chain(self.arguments.iter().cloned());
        let settings = wasi::Settings { arguments: arguments.collect(), ..Default::default() };
        (self.abi == Abi::Wasi).then_some(settings)
    }

    pub fn budget(&self) -> Option<Duration> {
        self.budget_s.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
    }
}

/// Most entries of a case's lists.
const LONGEST_LIST: usize = 256;
/// Files of a folder of cases that the report reads.
const OF_THE_REPORT: [&str; 3] = ["charts.toml", "pages.toml", "explanations.toml"];
/// Longest name of a case or guest and longest title, bytes.
const LONGEST_NAME: usize = 1024;
const MOST_THREADS: usize = 1 << 16;

/// Longest first call of an instance, which may set things up: triple the budget, or a second more.
pub fn first_call(budget: Duration) -> Duration {
    budget + (budget * 2).min(Duration::from_secs(1))
}

/// One case or one suite, in a table of that name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    case: Option<Case>,
    suite: Option<suite::Suite>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "{ output = … }, written as an input: \"0x…\", { text = \"…\" }, { file = \"…\" }, …"
)]
pub struct Expect {
    pub output: Input,
}

/// The case with a name. Fails with similar names if there is none.
pub fn find<'a>(cases: &'a [Case], name: &str) -> Result<&'a Case> {
    cases.iter().find(|case| case.name == name).with_context(|| {
        let near = similar(name, cases.iter().map(|case| case.name.as_str()));
        format!("there is no case '{name}'{}", touchstone_executor::guest::text::near(&near))
    })
}

/// The case of a name, or of `<case>_from_<guest>` with the guest, as cells and comparisons print
/// it. Fails with similar names if there is none.
pub fn find_work<'a>(cases: &'a [Case], name: &str) -> Result<(&'a Case, Option<&'a GuestName>)> {
    let case = find(cases, name);
    match (case, name.rsplit_once("_from_")) {
        (Ok(case), _) => Ok((case, None)),
        (Err(_), Some((name, guest))) => {
            let case = find(cases, name)?;
            Ok((case, Some(case.guest(guest)?)))
        }
        (Err(error), None) => Err(error),
    }
}

pub fn built_in() -> Result<Vec<Case>> {
    load_all(files::project("benches/cases"))
}

/// All cases of a folder, sorted by file name. Fails if the folder cannot be read or has no case,
/// if two cases share a name, or with a line for each invalid file or case.
pub fn load_all(folder: impl Into<FilePath>) -> Result<Vec<Case>> {
    let (folder, mut cases, mut problems) = (folder.into(), Vec::new(), Vec::new());
    let is_of_the_report =
        |place: &FilePath| OF_THE_REPORT.iter().any(|name| place.path().ends_with(name));
    for place in data::files(&folder, "the cases")? {
        if folder.is_confined() && is_of_the_report(&place) {
            continue;
        }
        match load(&place) {
            Ok(own) => cases.extend(own),
            Err(error) => problems.push(format!("{error:#}")),
        }
    }
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    ensure!(!cases.is_empty(), "there is no case (*.toml) in {folder}");
    if let Some(name) = repeated(cases.iter().map(|case| &case.name)) {
        bail!("two cases in {folder} are called '{name}'");
    }
    Ok(cases)
}

/// The cases of one file, in its order. Fails with line and column if the file is invalid, or with
/// a line for each invalid case.
pub fn load(place: impl Into<FilePath>) -> Result<Vec<Case>> {
    let place = place.into();
    let mut cases = match data::read(&place, "the case")? {
        CaseFile { case: Some(case), suite: None } => vec![case],
        CaseFile { case: None, suite: Some(suite) } => suite.cases(),
        _ => bail!("{place} must contain either [case] or [suite]"),
    };
    let (folder, mut problems) = (place.folder(), Vec::new());
    for case in &mut cases {
        let also = case.also.iter_mut().flat_map(|also| [&mut also.input, &mut also.output]);
        let all = also.chain([&mut case.input, &mut case.expect.output]);
        all.for_each(|input| input.resolve(&folder));
        if let Some(problem) = problem(case) {
            problems.push(format!("the case '{}' in {place} {problem}", case.name));
        }
    }
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(cases)
}

/// The answer to missing imports where a case names none.
pub(crate) fn stubs() -> Imports {
    Imports::Trap
}

fn problem(case: &Case) -> Option<String> {
    let fault = if case.guests.is_empty() {
        "names no guest"
    } else if case.threads.is_empty()
        || !case.threads.iter().all(|threads| (1..=MOST_THREADS).contains(threads))
    {
        "needs numbers of threads from 1 upwards, at most 65536"
    } else if case.name.is_empty() || !case.name.bytes().all(is_name) {
        "has a name with other characters than a-z, 0-9, _ and -"
    } else if !case.titles.is_empty() && case.titles.len() != case.guests.len() {
        "needs a title for each guest, or none"
    } else if case.take.is_some() && !case.warm {
        "times what taking the input costs on warm instances: it needs warm = true"
    } else if case.budget_s.is_some_and(|seconds| !(seconds > 0.0 && seconds.is_finite())) {
        "has a budget that is no time above 0 s"
    } else if (case.abi == Abi::Codec) != case.codec.is_some() {
        "names a codec where the convention is codec, and only there"
    } else if case.abi != Abi::Wasi && !case.arguments.is_empty() {
        "has arguments, which only the convention wasi passes"
    } else {
        return too_many(case).or_else(|| twice(case));
    };
    Some(fault.to_owned())
}

fn too_many(case: &Case) -> Option<String> {
    let Case { guests, threads, also, without, link, .. } = case;
    let lists = [
        ("libraries in 'link'", link.len()),
        ("guests", guests.len()),
        ("numbers of threads", threads.len()),
        ("further calls ('also')", also.len()),
        ("engines in 'without'", without.len()),
    ];
    if let Some((what, count)) = lists.into_iter().find(|(_, count)| *count > LONGEST_LIST) {
        return Some(format!("has {count} {what}; the most are {LONGEST_LIST}"));
    }
    let titles = case.titles.iter().map(String::as_str);
    let mut names = guests.iter().map(|guest| &**guest).chain(titles).chain([&*case.name]);
    let long = names.find(|name| name.len() > LONGEST_NAME)?;
    let bytes = long.len();
    Some(format!("has a name or title of {bytes} bytes; the most are {LONGEST_NAME}"))
}

/// An entry that a list of a case repeats, which would be measured twice.
fn twice(case: &Case) -> Option<String> {
    let guests: Vec<String> = case.guests.iter().map(GuestName::to_string).collect();
    let also: Vec<String> = case.also.iter().map(|also| format!("{also:?}")).collect();
    let guest = repeated(&guests).map(|guest| format!("the guest '{guest}'"));
    let title = || repeated(&case.titles).map(|title| format!("the title '{title}'"));
    let threads = || repeated(&case.threads).map(|threads| format!("{threads} threads"));
    let strategy = || repeated(&case.strategies).map(|own| format!("the strategy {own}"));
    let engine = || repeated(case.without.iter().map(|without| &without.engine));
    let engine = || engine().map(|engine| format!("the engine '{engine}' in 'without'"));
    let also = || repeated(&also).map(|_| "the same further call in 'also'".to_owned());
    let found = guest.or_else(title).or_else(threads).or_else(strategy).or_else(engine);
    found.or_else(also).map(|what| format!("names {what} twice"))
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
}
