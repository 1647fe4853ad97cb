//! Executors against their peers, timed in turns.

use super::comparisons::{cells, legend, of};
use crate::record::{Book, Purpose};
use crate::report::markdown::{Table, code, escape};

pub(in crate::report) fn section(book: Option<&Book>) -> String {
    let rows = book.map_or_else(Vec::new, |book| of(book, Purpose::Peers));
    let Some(book) = book.filter(|_| !rows.is_empty()) else {
        return "## Against the peer\n\nThere are no records of peers; `make peers` makes them.\n\n"
            .to_owned();
    };
    let headings = [
        "Case",
        "guest",
        "threads",
        "subject",
        "baseline",
        "ratio",
        "subject's time",
        "baseline's time",
        "verdict",
    ];
    let mut table = Table::new(&headings);
    for (of, judged) in rows {
        let (subject, baseline) = (of.subject.threads, of.baseline.threads);
        let threads = match subject == baseline {
            true => subject.to_string(),
            false => format!("{subject} against {baseline}"),
        };
        let mut row = vec![code(&of.case), code(&of.guest), threads];
        row.extend([code(&of.subject.to_string()), escape(&of.baseline.to_string())]);
        row.extend(cells(&judged));
        table.row(&row);
    }
    let tools = &book.header.tools;
    format!(
        "## Against the peer\n\nTwo executors timed in turns in one process (`make peers`, commit \
         {}). {} An executor \"after\" a case makes its calls after one call of that case on the \
         same instance.\n\n{}",
        code(&tools.commit),
        legend(),
        table.finish()
    )
}
