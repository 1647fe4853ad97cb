//! The detailed pages: parts and tables, as the data file of the pages divides them.

use super::sections::{
    checks, comparisons, dropping, environment, failed, metrics, settings, shares, swap, tables,
    threads,
};
use super::{Content, charts, experiment, origin};
use crate::pages::{Page, Part};
use std::fmt::Write;
use touchstone_record::Check;

/// A detailed page, a whole file.
pub(super) fn text(content: &Content<'_>, page: &Page) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "# {}\n\n{} {}. † marks interference. [Summary]({})\n\n",
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
        let own = content.layouts.iter().filter(|layout| layout.name == *name);
        text.extend(own.map(|layout| {
            let has_cells =
                page.parts.contains(&Part::Threads) && tables::is_among_threads(content, layout);
            if has_cells {
                tables::without_cells(content, layout)
            } else {
                tables::section(content.matrix, layout)
            }
        }));
        let own = content.shares.iter().filter(|shares| shares.name == *name);
        text.extend(own.map(|shares| shares::section(content.matrix, shares)));
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
        Part::Comparisons => comparisons::section(records),
        Part::Swap => swap::section(records.swaps.as_ref()),
        Part::Dropping => dropping::section(records),
        Part::Experiment(name) => {
            let own = records.experiments.iter().find(|own| own.name == *name);
            own.map_or_else(String::new, |own| experiment::section(own, records.book(own)))
        }
        Part::Conformance => checks::section(&records.checks, Check::Conformance),
        Part::Features => checks::section(&records.checks, Check::Features),
        Part::Isolation => checks::section(&records.checks, Check::Isolation),
        Part::Hostile => checks::section(&records.checks, Check::Hostile),
        Part::Survival => checks::section(&records.checks, Check::Survival),
        Part::Environment => environment::section(matrix),
        Part::Refusals => failed::section(matrix.book),
        Part::Settings => settings::section(matrix.book),
    }
}
