//! The same ratios on other machines, from their files `machines/<machine>/<date>.jsonl.zst` beside
//! the records.

use crate::Records;
use crate::markdown::{Table, code, markdown};
use crate::units::{self, count, ratio_with_interval};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use touchstone_record::compare::Judged;
use touchstone_record::files::{FilePath, read_whole};
use touchstone_record::verify::{Project, headlines, verify};
use touchstone_record::{Book, Contender, Estimate, Header, Match, Purpose, State};

/// Machines with their states, and a table of ratios with a column for each.
pub(crate) fn section(records: &Records) -> String {
    let text = "## Machines\n\n\
                A ratio never spans two machines: subject and baseline were timed in turns on one. \
                A ratio says how many times slower the first executor is than the second, with its \
                95 % interval. The page ranks no machine. `touchstone machine` adds one.\n\n";
    let machines = &records.machines;
    if machines.is_empty() {
        return format!("{text}There are no files of machines yet.\n\n");
    }
    let letters: Vec<String> = (0..machines.len()).map(letter).collect();
    let heads = ["Processor", "Processors", "Memory", "Linux", "Run", "Commit", "State"];
    let mut about = Table::of_words("", heads);
    for (letter, machine) in letters.iter().zip(machines) {
        let (header, own) = (&machine.header, &machine.header.machine);
        let kind = if own.virtualization == "vm" { ", virtual machine" } else { "" };
        about.row(
            letter,
            [
                format!("{}{kind}", markdown(&own.cpu)),
                own.cores.to_string(),
                format!("{} GiB", (own.memory_kib + (1 << 19)) >> 20),
                markdown(&own.kernel),
                markdown(header.date()),
                code(&header.tools.commit),
                markdown(&machine.state()),
            ],
        );
    }
    let heads = letters.iter().cloned().chain(["Spread".to_owned()]);
    let mut ratios = Table::new("Executors, call", heads);
    for call in calls(machines) {
        let all: Vec<_> = machines.iter().map(|machine| machine.ratio(call)).collect();
        let cells = all.iter().map(|ratio| ratio.as_ref().map(ratio_with_interval));
        ratios.row(name(call), cells.chain([spread(all.iter().flatten().map(|own| own.median))]));
    }
    format!(
        "{text}{}{}{}\n\n",
        about.finish(),
        ratios.finish(),
        "A state stands for all ratios of its machine. Spread: the smallest and the largest median."
    )
}

fn name(call: &Call) -> String {
    let Call { subject, baseline, case, guest, .. } = call;
    let threads = match subject.threads {
        1 => String::new(),
        several => format!(", {}", count(several, "thread")),
    };
    format!("{} / {}, {} on {}{threads}", code(baseline), code(subject), code(case), code(guest))
}

/// `A`, `B`, …, `Z`, `A1`, ….
fn letter(place: usize) -> String {
    let letter = char::from(b'A' + (place % 26) as u8);
    if place < 26 { letter.to_string() } else { format!("{letter}{}", place / 26) }
}

fn spread(medians: impl Iterator<Item = f64> + Clone) -> Option<String> {
    let (low, high) = units::range(medians.clone()).filter(|_| medians.count() > 1)?;
    Some(format!("{} – {}", units::factor(low), units::factor(high)))
}

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
