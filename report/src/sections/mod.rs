//! The detailed pages: parts and tables, as the data file of the pages divides them. Each part
//! returns Markdown, and says in a sentence if there is nothing to show.

pub(super) mod checks;
mod comparisons;
mod dropping;
pub(super) mod environment;
pub(super) mod machines;
mod metrics;
mod pairs;
pub(super) mod tables;
mod threads;

use super::markdown::{Footnotes, code, markdown};
use super::{Content, charts, experiment, origin};
use crate::pages::{Page, Part};
use std::fmt::Display;
use touchstone_record::{Header, Refusal};

const OPERATORS: &str = "operators";

/// The name of a row: a call on a number of threads.
fn function(case: &str, guest: &str, threads: impl Display) -> String {
    format!("{case}_from_{guest}_on_{threads}_threads")
}

/// The status of a refusal with a footnote that says why.
fn refused(refusal: &Refusal, notes: &mut Footnotes) -> String {
    format!("{}{}", refusal.status, notes.mark(&refusal.reason))
}

fn source(header: &Header) -> String {
    let (kernel, cpu) = (markdown(&header.machine.kernel), markdown(&header.machine.cpu));
    format!("Linux {kernel} ({cpu}), commit {}", code(&header.tools.commit))
}

/// A detailed page, a whole file.
pub(super) fn page(content: &Content<'_>, page: &Page) -> String {
    let mut text = format!(
        "# {}\n\n{} {}. † marks interference, ‡ two \
         modes of processes, each with their number. [Summary]({})\n\n",
        page.title,
        page.answers,
        origin::of_page(content.matrix.records, page),
        content.back,
    );
    for of in &page.parts {
        text.push_str(&part(content, of));
        text.push_str(&charts::of_part(content.charts, Some(of), &content.images_of_details));
    }
    for note in &page.notes {
        text += &format!("{}\n\n", note.trim());
    }
    for name in &page.tables {
        let layouts = content.tables.layouts.iter().filter(|own| own.name == *name);
        text.extend(layouts.map(|layout| {
            let has_cells =
                page.parts.contains(&Part::Threads) && tables::is_among_threads(content, layout);
            tables::section(content, layout, !has_cells)
        }));
        let shares = content.tables.shares.iter().filter(|own| own.name == *name);
        text.extend(shares.map(|shares| metrics::shares(content.matrix, shares)));
    }
    format!("<!-- Made by: touchstone report. Edits are lost. -->\n\n{}\n", text.trim_end())
}

fn part(content: &Content<'_>, part: &Part) -> String {
    let matrix = content.matrix;
    let records = matrix.records;
    match part {
        Part::Threads => threads::section(matrix),
        Part::Phases => metrics::phases(matrix),
        Part::Counts => metrics::kernel(matrix),
        Part::Pairs => pairs::section(content),
        Part::Comparisons => comparisons::section(records),
        Part::Machines => machines::section(records),
        Part::Dropping => dropping::section(records),
        Part::Check(check) => checks::section(&records.checks, *check),
        Part::Experiment(name) => {
            let own = records.experiments.iter().find(|own| own.name == *name);
            own.map_or_else(String::new, |own| experiment::section(own, records.book(&own.records)))
        }
        Part::Environment => environment::section(matrix),
        Part::Refusals => environment::refusals(matrix.book),
        Part::Settings => environment::settings(matrix.book),
    }
}
