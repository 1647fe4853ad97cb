//! The standard streams of a program.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use touchstone_executor::wasi::{Lines, MOST_OUTPUT};
use touchstone_executor::{Stream, StreamSink};
use wasmtime_wasi::cli::{IsTerminal, StdinStream, StdoutStream};
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};
use wasmtime_wasi_io::async_trait;
use wasmtime_wasi_io::bytes::Bytes;

pub(super) fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The rest of standard input.
#[derive(Clone, Default)]
pub(super) struct Input(pub(super) Arc<Mutex<Bytes>>);

impl IsTerminal for Input {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdinStream for Input {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncRead + Send + Sync> {
        Box::new(MemoryInputPipe::new(locked(&self.0).clone()))
    }

    fn p2_stream(&self) -> Box<dyn InputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl Pollable for Input {
    async fn ready(&mut self) {}
}

#[async_trait]
impl InputStream for Input {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let mut rest = locked(&self.0);
        if rest.is_empty() {
            return Err(StreamError::Closed);
        }
        let size = size.min(rest.len());
        Ok(rest.split_to(size))
    }
}

/// A receiver of a standard stream.
pub(super) trait Receiver: Clone + Send + Sync + 'static {
    /// Takes bytes, of which there are at most as many as there was [room](Self::room).
    fn take(&self, bytes: &[u8]) -> StreamResult<()>;

    /// Bytes that it can take.
    fn room(&self) -> StreamResult<usize>;
}

/// A standard stream that a program writes to.
#[derive(Clone)]
pub(super) struct Writable<R>(pub(super) R);

impl<R> IsTerminal for Writable<R> {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl<R: Receiver> StdoutStream for Writable<R> {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl<R: Receiver> Pollable for Writable<R> {
    async fn ready(&mut self) {}
}

#[async_trait]
impl<R: Receiver> OutputStream for Writable<R> {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.0.take(&bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.0.room()
    }
}

/// Standard output that was not taken by the host yet.
#[derive(Clone)]
pub(super) struct Output {
    pub(super) bytes: Arc<Mutex<Vec<u8>>>,
    pub(super) sink: Option<Arc<StreamSink>>,
}

impl Receiver for Output {
    fn take(&self, bytes: &[u8]) -> StreamResult<()> {
        let mut written = locked(&self.bytes);
        if written.len() + bytes.len() > MOST_OUTPUT {
            return Err(StreamError::Closed);
        }
        if let Some(sink) = &self.sink {
            sink(Stream::Output, bytes);
        }
        written.extend_from_slice(bytes);
        Ok(())
    }

    fn room(&self) -> StreamResult<usize> {
        match MOST_OUTPUT - locked(&self.bytes).len() {
            0 => Err(StreamError::Closed),
            room => Ok(room),
        }
    }
}

/// Standard error.
#[derive(Clone)]
pub(super) struct Errors(pub(super) Arc<Mutex<Lines>>);

impl Receiver for Errors {
    fn take(&self, bytes: &[u8]) -> StreamResult<()> {
        locked(&self.0).write(bytes);
        Ok(())
    }

    fn room(&self) -> StreamResult<usize> {
        Ok(1 << 16)
    }
}
