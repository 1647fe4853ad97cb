//! Which times were taken while something else used the core.

use crate::record::CellRecord;
use crate::report::markdown::code;
use crate::report::matrix::Matrix;
use crate::report::units::count;
use std::fmt::Write;

/// How many cells were quiet, and the names of those that were not.
pub(in crate::report) fn section(matrix: &Matrix) -> String {
    let timed: Vec<&CellRecord> = matrix.timed().collect();
    let looked = timed.iter().filter(|cell| cell.disturbed.is_some()).count();
    if looked == 0 {
        return String::new();
    }
    let disturbed: Vec<_> = timed.iter().filter(|cell| cell.is_disturbed()).collect();
    let mut text = format!(
        "### Quiet times\n\nWhile {} of {} were timed, it was watched whether something else used \
         the same core; what was disturbed was timed again or left out. ",
        looked,
        count(timed.len(), "cell"),
    );
    if looked < timed.len() {
        let _ = write!(text, "{} were made before anybody looked. ", timed.len() - looked);
    }
    if disturbed.is_empty() {
        text.push_str("No published time was disturbed.\n\n");
        return text;
    }
    let _ = write!(
        text,
        "{} never quiet for long enough: their time, throughput or warm row may be up to twice as \
         slow as on a core of their own.\n\n<details><summary>Which</summary>\n\n",
        if disturbed.len() == 1 { "1 was".to_owned() } else { format!("{} were", disturbed.len()) },
    );
    for cell in disturbed {
        let _ = writeln!(text, "- {}", code(&cell.key.id()));
    }
    text.push_str("\n</details>\n\n");
    text
}
