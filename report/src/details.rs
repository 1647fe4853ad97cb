//! The detailed pages: parts and tables, as the data file of the pages divides them.

use super::sections::{
    checks, comparisons, dropping, environment, failed, machines, metrics, pairs, settings, shares,
    tables, threads,
};
use super::{Content, charts, experiment, origin};
use crate::pages::{Page, Part};
use std::fmt::Write;

/// A detailed page, a whole file.
pub(super) fn text(content: &Content<'_>, page: &Page) -> String {
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
        // Writing to a string cannot fail.
        let _ = write!(text, "{}\n\n", note.trim());
    }
    for name in &page.tables {
        let layouts = content.tables.layouts.iter().filter(|own| own.name == *name);
        text.extend(layouts.map(|layout| {
            let has_cells =
                page.parts.contains(&Part::Threads) && tables::is_among_threads(content, layout);
            tables::section(content, layout, !has_cells)
        }));
        let shares = content.tables.shares.iter().filter(|own| own.name == *name);
        text.extend(shares.map(|shares| shares::section(content.matrix, shares)));
    }
    format!("<!-- Made by: make report. Edits are lost. -->\n\n{}\n", text.trim_end())
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
        Part::Refusals => failed::section(matrix.book),
        Part::Settings => settings::section(matrix.book),
    }
}
