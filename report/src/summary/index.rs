//! The environment in short, how to reproduce the page, and the detailed pages.

use crate::Content;
use crate::markdown::{Table, markdown};
use crate::units::joined;
use std::collections::BTreeSet;

pub(super) fn section(content: &Content<'_>) -> String {
    let header = &content.matrix.book.header;
    let versions: BTreeSet<&str> = header.engines.values().map(|facts| &*facts.version).collect();
    let mut table = Table::of_words("Page", ["It answers"]);
    for page in &content.pages.pages {
        table.row(content.link_named(&page.file, &page.title), [markdown(&page.answers)]);
    }
    let matrix = format!(
        "[All cells]({}index.html): open it in a browser to sort, filter and compare them.\n\n",
        content.folder
    );
    format!(
        "## Environment, reproduction and detailed pages\n\n{}, {}, {} KiB of memory. Versions: {}. \
         Every guest is the same bytes for every engine.\n\n`make bench` measures; `touchstone \
         report` generates this page, the detailed pages and the charts from `records/` alone. The \
         same records give the same bytes on any machine.\n\n{matrix}{}",
        markdown(&header.machine.os),
        markdown(&header.tools.rustc),
        header.machine.memory_kib,
        joined(versions.into_iter().map(markdown), "; "),
        table.finish()
    )
}
