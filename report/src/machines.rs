//! The files of other machines, `machines/<machine>/<date>.jsonl.zst` beside the records.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use touchstone_record::compare::{self, Judged, MARGIN};
use touchstone_record::files::{FilePath, read_whole};
use touchstone_record::verify::{Project, headlines, verify};
use touchstone_record::{Book, Contender, Header, Match, Purpose, State};

/// A machine with its ratios.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) header: Header,
    pub(crate) ratios: BTreeMap<Call, Judged>,
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
    fn of(of: &Match) -> Self {
        let Match { subject, baseline, case, guest, .. } = of.clone();
        Self { subject, baseline, case, guest }
    }
}

impl Machine {
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

/// The newest file of each machine in a folder, and the reasons for leaving files out.
pub(crate) fn load(folder: &FilePath) -> (Vec<Machine>, Vec<String>) {
    let (mut machines, mut refused) = (Vec::new(), Vec::new());
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
            Ok(book) => machines.push(Machine {
                ratios: headlines(&book).map(|(of, judged)| (Call::of(of), judged)).collect(),
                header: book.header,
            }),
            Err(fault) => refused.push(format!("{path} is left out: {fault}")),
        }
    }
    (machines, refused)
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

/// The machine of the project's comparisons with peers, for the calls that other machines make.
pub(crate) fn of_peers(peers: &Book, calls: &[&Call]) -> Option<Machine> {
    let own = peers.comparisons.iter().filter(|(of, _)| of.purpose == Purpose::Peers);
    let own = own.filter(|(of, _)| calls.contains(&&Call::of(of)));
    let ratios: BTreeMap<Call, Judged> = own
        .filter_map(|(of, processes)| Some((Call::of(of), compare::judge(processes, MARGIN)?)))
        .collect();
    (!ratios.is_empty()).then(|| Machine { header: peers.header.clone(), ratios })
}
