//! Blocks of transfers and queries over a database.

use crate::markdown::Table;
use crate::units::{grouped, percent, time};
use touchstone_record::escape::code;
use touchstone_record::{Book, Executor, Node, SystemFound};

pub(crate) fn section(book: Option<&Book>) -> String {
    let nodes = book.map(nodes).unwrap_or_default();
    let (Some(book), Some((_, first))) = (book, nodes.first()) else {
        return "## Node\n\nThere are no records of a node; `make systems-full` makes them.\n\n"
            .to_owned();
    };
    let headings = [
        "blocks per second",
        "block",
        "executor's share",
        "executor, per call",
        "host, per call",
        "commit, per block",
        "query, p50",
        "query, p99",
    ];
    let mut table = Table::new("Executor", headings);
    for (executor, node) in &nodes {
        let per_block = |ns: u64| time(ns as f64 / node.blocks as f64);
        let cells = [
            format!("{:.1}", node.blocks_per_second()),
            per_block(node.total_ns),
            percent(node.executor_share()),
            time(node.executor_ns()),
            time(node.host_ns()),
            per_block(node.commit_ns),
            time(node.queries.p50_ns as f64),
            time(node.queries.p99_ns as f64),
        ];
        table.row(code(executor), cells);
    }
    format!(
        "## Node\n\nBlocks of {} transfers over {} accounts in a database (`touchstone systems \
         node`, commit {}). Each transfer is a call on a clean instance, and reads and writes \
         through host functions of the storage; a commit ends each block. Queries of balances \
         arrive on another thread, on average one every 2 ms; their time counts from the planned \
         arrival. The executor's share is the time in calls without that of the storage, of the \
         time of the block. The host's time per call is all other time of the block. All state \
         roots, balances and answers are equal to those computed without a guest.\n\n{}",
        grouped(first.transfers.into()),
        grouped(first.accounts.into()),
        code(&book.header.tools.commit),
        table.finish()
    )
}

/// Executors and what they took, the most blocks per second first.
pub(crate) fn nodes(book: &Book) -> Vec<(&Executor, &Node)> {
    let own = book.systems.iter().filter_map(|system| match &system.found {
        SystemFound::Node(node) => Some((&system.executor, node)),
        _ => None,
    });
    let mut nodes: Vec<_> = own.filter(|(_, node)| node.blocks > 0 && node.total_ns > 0).collect();
    nodes.sort_by(|a, b| b.1.blocks_per_second().total_cmp(&a.1.blocks_per_second()));
    nodes
}

/// Whether the executor matters, and from when on; `None` without two executors.
pub(crate) fn finding(book: &Book) -> Option<String> {
    let nodes = nodes(book);
    let [(best, most), .., (worst, least)] = nodes.as_slice() else { return None };
    let small = nodes.iter().filter(|(_, node)| node.executor_share() < 0.5).count();
    Some(format!(
        "{}The share is less with {small} of {} executors: {} of the block with {} ({:.1} blocks \
         per second), {} with {} ({:.1}).",
        half(&nodes),
        nodes.len(),
        percent(most.executor_share()),
        code(best),
        most.blocks_per_second(),
        percent(least.executor_share()),
        code(worst),
        least.blocks_per_second(),
    ))
}

/// Between which times per call the executor makes up half of a block: of the row with the largest
/// share below a half and the one with the smallest share above. Empty where one of them is missing.
fn half(nodes: &[(&Executor, &Node)]) -> String {
    let share = |(_, node): &&(&Executor, &Node)| node.executor_share();
    let (below, above): (Vec<_>, Vec<_>) = nodes.iter().partition(|row| share(row) < 0.5);
    let below = below.into_iter().max_by(|a, b| share(a).total_cmp(&share(b)));
    let above = above.into_iter().min_by(|a, b| share(a).total_cmp(&share(b)));
    let (Some(below), Some(above)) = (below, above) else { return String::new() };
    let row = |of: &(&Executor, &Node)| {
        format!("{} ({}, {})", time(of.1.executor_ns()), code(of.0), percent(of.1.executor_share()))
    };
    format!(
        "The executor makes up half of a block between {} and {} per call. ",
        row(below),
        row(above)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_record::{Header, Line, System, Tail};

    fn system(strategy: &str, executor_ns: u64) -> Line {
        let strategy = strategy.parse().unwrap();
        let executor = Executor { engine: "some".to_owned(), strategy };
        let tail = Tail { calls: 9, p50_ns: 10_000, p99_ns: 20_000, p999_ns: 30_000, max_ns: 1 };
        // 100 calls: the host takes 1 µs for each.
        let found = SystemFound::Node(Node {
            accounts: 50,
            transfers: 98,
            blocks: 1,
            total_ns: 100_000 + 100 * executor_ns,
            calls_ns: 60_000 + 100 * executor_ns,
            storage_ns: 60_000,
            commit_ns: 30_000,
            storage_calls: 700,
            queries: tail,
        });
        Line::System(Box::new(System { executor, found }))
    }

    #[test]
    fn the_share_of_the_executor_is_told() {
        let lines = vec![system("interpreted", 3000), system("instance_reuse_tracked", 250)];
        let book = Book::of(Header::default(), lines);
        let text = section(Some(&book));
        let row = "| `some_instance_reuse_tracked` | 8000.0 | 125.0 µs | 20 % | 250.0 ns | \
                   1.000 µs | 30.00 µs | 10.00 µs | 20.00 µs |";
        assert!(text.contains(row), "{text}");
        let text = finding(&book).unwrap();
        let half = "half of a block between 250.0 ns (`some_instance_reuse_tracked`, 20 %) and \
                    3.000 µs (`some_interpreted`, 75 %) per call. The share";
        assert!(text.contains(half), "{text}");
        assert!(text.contains("less with 1 of 2 executors: 20 % of the block"), "{text}");
        assert!(section(None).contains("`make systems-full`"));
        let lines = vec![system("interpreted", 3000), system("recreate_instance", 2000)];
        let text = finding(&Book::of(Header::default(), lines)).unwrap();
        assert!(text.starts_with("The share is less with 0 of 2 executors"), "{text}");
    }
}
