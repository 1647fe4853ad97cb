//! The same ratios on other machines.

use crate::Records;
use crate::machines::{Call, calls};
use crate::markdown::{Table, code, markdown};
use crate::units::{self, count, ratio_with_interval};

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
    if medians.clone().count() < 2 {
        return None;
    }
    let (low, high) = (medians.clone().fold(f64::INFINITY, f64::min), medians.fold(0.0, f64::max));
    Some(format!("{} – {}", units::factor(low), units::factor(high)))
}
