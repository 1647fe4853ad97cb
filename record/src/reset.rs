//! Records of clean calls that write more and more pages.

use super::named::named;
use super::{Estimate, Executor, Samples, estimate};
use serde::{Deserialize, Serialize};
use std::fmt;

named! {
    /// How much of each page a call writes.
    pub enum Touch {
        /// One byte.
        Byte,
        /// Every byte, with another value than zero.
        Page,
    }
}

named! {
    /// Where the written pages lie.
    pub enum Place {
        /// One after the other.
        Contiguous,
        /// In a pseudo-random order over the whole memory.
        Scattered,
    }
}

named! {
    /// Which pages a call writes that the call before it did not.
    pub enum Drift {
        /// None: every call writes the same pages.
        Same,
        /// A tenth of them.
        Tenth,
        /// All of them.
        All,
    }
}

/// What the calls of a measurement write, and on how many threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResetPoint {
    /// How much of each page.
    pub touch: Touch,
    /// Where the pages lie.
    pub place: Place,
    /// Which of them are other pages than in the call before.
    pub drift: Drift,
    /// Threads that make calls at the same time, each on an instance of its own.
    pub threads: usize,
    /// Pages of 4 KiB that each call writes.
    pub pages: u64,
}

/// Bytes of a page.
pub const PAGE: u64 = 4096;

impl fmt::Display for ResetPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { touch, place, drift, threads, pages } = self;
        f.pad(&format!("{pages}_pages/{touch}/{place}/{drift}/{threads}_threads"))
    }
}

/// An executor at a point.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResetKey {
    /// The point.
    #[serde(flatten)]
    pub point: ResetPoint,
    /// The executor.
    #[serde(flatten)]
    pub executor: Executor,
}

/// Clean calls of an executor that write so many pages, timed in one process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reset {
    /// What was measured.
    #[serde(flatten)]
    pub key: ResetKey,
    /// Number of the process within the run, from 0. It timed all executors of an engine at the
    /// point, in turns.
    pub process: u32,
    /// Time of a call, ns of each thread, round by round. Samples with the same index are of the
    /// same round in all executors of the point and process.
    pub call: Samples,
}

/// The estimate of the time of a call from what each process measured; `None` if nothing was.
pub(super) fn call(processes: &[Reset]) -> Option<Estimate> {
    let samples: Vec<&Samples> = processes.iter().map(|reset| &reset.call).collect();
    estimate::of_processes(&samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Book, Header, Line, Sample};

    fn reset(process: u32, times: [f64; 7]) -> Reset {
        let point = ResetPoint {
            touch: Touch::Byte,
            place: Place::Scattered,
            drift: Drift::Tenth,
            threads: 2,
            pages: 16_384,
        };
        let strategy = "instance_reuse_tracked".parse().unwrap();
        let executor = Executor { engine: "some_engine".to_owned(), strategy };
        let key = ResetKey { point, executor };
        Reset { key, process, call: Samples(times.map(Sample::single).to_vec()) }
    }

    #[test]
    fn a_reset_is_one_flat_line_and_is_read_back() {
        let line = Line::Reset(Box::new(reset(1, [7.0; 7])));
        let text = serde_json::to_string(&line).unwrap();
        assert_eq!(
            text,
            r#"{"kind":"reset","touch":"byte","place":"scattered","drift":"tenth","threads":2,"#
                .to_owned()
                + r#""pages":16384,"engine":"some_engine","strategy":"instance_reuse_tracked","#
                + r#""process":1,"call":{"total":[7,7,7,7,7,7,7]}}"#
        );
        assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), line);
    }

    #[test]
    fn the_book_estimates_over_processes_and_a_repeated_process_counts_once() {
        let times = |from: f64| std::array::from_fn(|round| from + round as f64);
        let resets = [(0, 900.0), (0, 100.0), (1, 110.0), (2, 120.0)];
        let lines =
            resets.map(|(process, from)| Line::Reset(Box::new(reset(process, times(from)))));
        let book = Book::of(Header::default(), lines.to_vec());
        let key = reset(0, [0.0; 7]).key;
        let call = book.reset(&key).unwrap();
        assert_eq!((call.median, call.marked), (113.0, false));
        let (low, high) = call.interval.unwrap();
        assert!(low <= 100.0 && high >= 126.0, "{low} {high}");
        assert_eq!(book.resets[&key].len(), 3);
        let executor = Executor { engine: "none".to_owned(), ..key.executor.clone() };
        assert_eq!(book.reset(&ResetKey { executor, ..key }), None);
    }
}
