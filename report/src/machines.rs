//! The files of other machines, `machines/<machine>/<date>.jsonl.zst` beside the records.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use touchstone_record::compare::Judged;
use touchstone_record::files::{FilePath, read_whole};
use touchstone_record::verify::{Project, headlines, verify};
use touchstone_record::{Book, Contender, Estimate, Header, Match, Purpose, State};

/// A machine with its ratios.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) header: Header,
    ratios: BTreeMap<Call, Judged>,
}

/// Two executors that make a call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    pub(crate) subject: Contender,
    pub(crate) baseline: Contender,
    pub(crate) case: String,
    pub(crate) guest: String,
}

impl Call {
    pub(crate) fn of(of: &Match) -> Self {
        let Match { subject, baseline, case, guest, .. } = of.clone();
        Self { subject, baseline, case, guest }
    }
}

impl Machine {
    /// How many times the subject's time the baseline takes, as at the head of the page.
    pub(crate) fn ratio(&self, call: &Call) -> Option<Estimate> {
        Some(Estimate::known(1.0).over(self.ratios.get(call)?.ratio))
    }

    /// The state beside its ratios.
    pub(crate) fn state(&self) -> String {
        self.header.state.as_ref().map_or_else(|| "not examined".to_owned(), State::words)
    }
}

/// The report reads files that were committed; `touchstone verify` asks the clone about them.
struct Committed;

impl Project for Committed {
    fn has_guest(&self, _: &str, _: &str) -> bool {
        true
    }

    fn has_commit(&self, _: &str) -> bool {
        true
    }
}

/// The runs of the newest file of each machine in a folder, and the reasons for leaving files out.
pub(crate) fn load(folder: &FilePath) -> (Vec<Book>, Vec<String>) {
    let (mut books, mut refused) = (Vec::new(), Vec::new());
    for name in names(folder.path()) {
        let dates = names(&folder.path().join(&name));
        let Some(newest) = dates.into_iter().rfind(|file| file.ends_with(".jsonl.zst")) else {
            continue;
        };
        let path = folder.join(Path::new(&name).join(&newest));
        let place = format!("{name}/{}", newest.trim_end_matches(".jsonl.zst"));
        let read = read_whole(&path).map_err(|error| format!("{error:#}"));
        let verified = read.and_then(|content| {
            verify(&content, Some(&place), &Committed).map_err(|fault| fault.to_string())
        });
        match verified {
            Ok(book) => books.push(book),
            Err(fault) => refused.push(format!("{path} is left out: {fault}")),
        }
    }
    (books, refused)
}

/// The machines of some runs, that of the project's comparisons with peers first, with the calls
/// of the overview. Without a run of the overview, there are none.
pub(crate) fn machines(peers: Option<&Book>, books: &[Book]) -> Vec<Machine> {
    let of_overview = |book: &Book| {
        let own = book.comparisons.keys().filter(|of| of.purpose == Purpose::Overview);
        own.map(Call::of).collect::<Vec<_>>()
    };
    let calls: BTreeSet<Call> = books.iter().flat_map(of_overview).collect();
    let machine = |book: &Book| {
        let ratios = headlines(book).map(|(of, judged)| (Call::of(of), judged));
        let ratios: BTreeMap<Call, Judged> =
            ratios.filter(|(call, _)| calls.contains(call)).collect();
        (!ratios.is_empty()).then(|| Machine { header: book.header.clone(), ratios })
    };
    peers.into_iter().chain(books).filter_map(machine).collect()
}

/// All calls that some machine made.
pub(crate) fn calls(machines: &[Machine]) -> BTreeSet<&Call> {
    machines.iter().flat_map(|machine| machine.ratios.keys()).collect()
}

/// The names in a folder that are text, in their order; none where there is no folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
