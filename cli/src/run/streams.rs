//! Copies of what a guest writes to its standard streams.

use super::answer::Written;
use parking_lot::Mutex;
use std::sync::Arc;
use touchstone_executor::abi::Abi;
use touchstone_executor::host::{Stream, StreamSink};
use touchstone_executor::wasi::MOST_OUTPUT;

/// Copies of both streams since they were last taken, of each at most [`MOST_OUTPUT`] bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Streams(Arc<Mutex<[Vec<u8>; 2]>>);

impl Streams {
    /// The receiver of the copies.
    pub(super) fn sink(&self) -> Arc<StreamSink> {
        let Self(copies) = self.clone();
        Arc::new(move |stream, bytes| {
            let copy = &mut copies.lock()[usize::from(stream == Stream::Error)];
            let room = MOST_OUTPUT.saturating_sub(copy.len());
            copy.extend_from_slice(&bytes[..bytes.len().min(room)]);
        })
    }

    /// Drops the output of a start function before a call. Returns `true` if some of it is not part
    /// of the call's output, as a program's is.
    pub(super) fn begin_call(&self, abi: Abi) -> bool {
        let [output, error] = std::mem::take(&mut *self.0.lock());
        !error.is_empty() || abi != Abi::Wasi && !output.is_empty()
    }

    /// The streams of a call. A program's standard output is in `output`.
    pub(super) fn of_call(&self, abi: Abi, output: &[u8], start_wrote: bool) -> Written {
        let [stdout, stderr] = std::mem::take(&mut *self.0.lock());
        match abi {
            Abi::Wasi => {
                Written { output: output.to_vec(), stderr, start_wrote, ..Written::default() }
            }
            _ => Written { stdout, stderr, start_wrote, ..Written::default() },
        }
    }

    /// The streams of a start function that trapped.
    pub(super) fn of_start(&self) -> Written {
        let [output, stderr] = std::mem::take(&mut *self.0.lock());
        Written { output, stderr, ..Written::default() }
    }
}
