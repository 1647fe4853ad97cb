//! Blocks of transfers and queries over a database.

use crate::record::Book;

pub(in crate::report) fn section(_book: Option<&Book>) -> String {
    String::new()
}
