//! A state that many modules read.

use crate::record::Book;

pub(in crate::report) fn section(_book: Option<&Book>) -> String {
    String::new()
}
