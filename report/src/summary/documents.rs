//! Tables that were published elsewhere, in their own form: ours above theirs.

use crate::Content;
use crate::markdown::below;
use crate::sections::tables;

pub(super) fn section(content: &Content<'_>) -> String {
    let layouts = content.pages.documents.iter();
    let layouts =
        layouts.flat_map(|name| content.tables.layouts.iter().find(|own| own.name == *name));
    let tables: String = layouts.map(|layout| tables::brief(content, layout)).collect();
    let text = "## Published tables, then and now\n\nOur median stands above the published value, \
                which is in italics; `///` was a gap. Ratios within a line can be compared. Times \
                cannot, because machines, versions and guests differ. The linked pages have \
                intervals and the causes of differences.";
    below(text, &tables)
}
