//! The environment in short, how to reproduce the page, and the detailed pages.

use crate::Content;
use crate::markdown::{Table, code, markdown};
use crate::units::joined;
use std::collections::BTreeMap;

pub(super) fn section(content: &Content<'_>) -> String {
    let header = &content.matrix.book.header;
    let mut versions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (engine, facts) in &header.engines {
        versions.entry(&facts.version).or_default().push(code(engine));
    }
    let versions = versions.iter();
    let versions =
        versions.map(|(of, engines)| format!("{} ({})", markdown(of), engines.join(", ")));
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
        joined(versions, "; "),
        table.finish()
    )
}
