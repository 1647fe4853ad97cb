//! A state that many modules read.

use crate::markdown::Table;
use crate::units::{bytes, factor, grouped, time};
use std::collections::BTreeMap;
use touchstone_record::escape::code;
use touchstone_record::{Book, Executor, FanOut, Shape, SystemFound, Way};

/// A point on an executor: engine, strategy by preference and name, size, shape, reads.
type Key<'a> = (&'a str, u16, u64, Shape, u32);

/// A point both ways.
pub(crate) struct Pair<'a> {
    /// The executor.
    pub executor: &'a Executor,
    /// With copies.
    pub copied: &'a FanOut,
    /// With one region.
    pub mapped: &'a FanOut,
}

pub(crate) fn section(book: Option<&Book>) -> String {
    let pairs = book.map(pairs).unwrap_or_default();
    let Some(book) = book.filter(|_| !pairs.is_empty()) else {
        return "## Shared memory\n\nThere are no records of shared memory; `make systems-full` makes \
                them.\n\n"
            .to_owned();
    };
    let headings = [
        "state",
        "readers",
        "read, copied",
        "read, mapped",
        "ratio",
        "memory, copied",
        "memory, mapped",
    ];
    let mut table = Table::new("Executor", headings);
    for Pair { executor, copied, mapped } in &pairs {
        let kib = |found: &FanOut| bytes(found.memory_kib << 10);
        let cells = [
            bytes(copied.bytes),
            format!("{}, {}", copied.shape, grouped(copied.reads.into())),
            time(copied.read_ns()),
            time(mapped.read_ns()),
            factor(copied.read_ns() / mapped.read_ns()),
            kib(copied),
            kib(mapped),
        ];
        table.row(code(executor), cells);
    }
    format!(
        "## Shared memory\n\nA producer's state that clean instances read (`touchstone systems \
         fan_out`, commit {}): copied into each as its input, or in one region that is mapped \
         read-only at the end of each memory. direct: one instance reads each state once; fan-out: \
         many instances, each once; singleton: one instance, many times. A read is the time of a \
         round divided by the number of reads, with the producer's write; the ratio is copied to \
         mapped. Readers read a word of every 64 bytes, and every checksum is compared. Memory is \
         what the process has more (PSS) while all readers have the state. A guest that writes to \
         the region traps (`tests/guests/regions.rs`).\n\n{}",
        code(&book.header.tools.commit),
        table.finish()
    )
}

/// All points that were measured both ways.
pub(crate) fn pairs(book: &Book) -> Vec<Pair<'_>> {
    let mut found: BTreeMap<Key<'_>, [Option<(&Executor, &FanOut)>; 2]> = BTreeMap::new();
    for system in &book.systems {
        if let SystemFound::FanOut(own) = &system.found {
            let executor = &system.executor;
            let order = executor.strategy.preference();
            let key = (&*executor.engine, order, own.bytes, own.shape, own.reads);
            found.entry(key).or_default()[own.way as usize] = Some((executor, own));
        }
    }
    let pair = found.into_values().filter_map(|[copied, mapped]| {
        let ((executor, copied), (_, mapped)) = (copied?, mapped?);
        Some(Pair { executor, copied, mapped })
    });
    pair.collect()
}

/// What mapping spares with the most data; `None` without any.
pub(crate) fn finding(pairs: &[Pair<'_>]) -> Option<String> {
    let fan_out = pairs.iter().filter(|pair| pair.copied.shape == Shape::FanOut);
    let size = |pair: &Pair<'_>| (pair.copied.bytes, pair.copied.reads);
    // The shortest time of those with the most data.
    let Pair { executor, copied, mapped } = fan_out
        .max_by(|a, b| size(a).cmp(&size(b)).then(b.mapped.round_ns.cmp(&a.mapped.round_ns)))?;
    Some(format!(
        "With {}, {} readers of {} take {} each with copies and {} with one region ({} times less). \
         They take {} of memory instead of {}.",
        code(executor),
        copied.reads,
        bytes(copied.bytes),
        time(copied.read_ns()),
        time(mapped.read_ns()),
        factor(copied.read_ns() / mapped.read_ns()),
        bytes(mapped.memory_kib << 10),
        bytes(copied.memory_kib << 10),
    ))
}

/// The two ways stand in this order.
const _: () = assert!(Way::Copied as usize == 0 && Way::Mapped as usize == 1);

#[cfg(test)]
mod tests {
    use super::*;
    use touchstone_record::{Header, Line, System};

    #[test]
    fn both_ways_stand_side_by_side() {
        let line = |way, round_ns, memory_kib| {
            let strategy = "instance_reuse_tracked".parse().unwrap();
            let executor = Executor { engine: "some".to_owned(), strategy };
            let (shape, bytes, reads) = (Shape::FanOut, 1 << 20, 8);
            let found = FanOut { shape, way, bytes, reads, rounds: 9, round_ns, memory_kib };
            Line::System(Box::new(System { executor, found: SystemFound::FanOut(found) }))
        };
        let lines = vec![line(Way::Mapped, 80_000, 1024), line(Way::Copied, 800_000, 8192)];
        let book = Book::of(Header::default(), lines);
        let text = section(Some(&book));
        assert!(text.contains("| `some_instance_reuse_tracked` |"), "{text}");
        assert!(text.contains("| fan-out, 8 | 100.0 µs | 10.00 µs | 10.0 |"), "{text}");
        assert!(finding(&pairs(&book)).unwrap().contains("8 readers of"));
        assert!(section(None).contains("`make systems-full`"));
    }
}
