//! Tables that were published elsewhere, in their own form: ours above theirs.

use crate::Content;
use crate::sections::tables;

pub(super) fn section(content: &Content<'_>) -> String {
    let layouts = content.pages.documents.iter();
    let tables: String = layouts
        .filter_map(|name| content.layouts.iter().find(|layout| layout.name == *name))
        .map(|layout| tables::brief(content, layout))
        .collect();
    if tables.is_empty() {
        return tables;
    }
    format!(
        "## Published tables, then and now\n\nOur median stands above the published value, which is \
         in italics; `///` was a gap. Ratios within a line can be compared. Times cannot, because \
         machines, versions and guests differ. The linked pages have intervals and the causes of \
         differences.\n\n{tables}"
    )
}
