//! A host over HTTP under load.

use crate::record::Book;

pub(in crate::report) fn section(_book: Option<&Book>) -> String {
    String::new()
}
