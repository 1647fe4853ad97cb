//! Records on a stream, such as the standard output of a shard.

use super::end::Above;
use super::{Line, Sink};
use anyhow::{Context, Result};
use std::io::Write;

/// Writes the lines of a run one by one.
#[derive(Debug)]
pub struct Stream<W> {
    to: W,
    above: Option<Above>,
}

impl<W: Write> Stream<W> {
    pub fn new(to: W) -> Self {
        Self { to, above: None }
    }
}

impl<W: Write> Sink for Stream<W> {
    /// Writes a line and flushes it.
    fn append(&mut self, line: &Line) -> Result<()> {
        let mut bytes = serde_json::to_vec(line).context("cannot write the record as JSON")?;
        match (line, &mut self.above) {
            (Line::Run(header), above) => *above = Some(Above::header(&header.run, &bytes)),
            (_, Some(above)) => above.add(&bytes),
            (_, None) => {}
        }
        bytes.push(b'\n');
        let written = self.to.write_all(&bytes).and_then(|()| self.to.flush());
        written.context("cannot print the records")
    }

    fn end(&mut self) -> Result<()> {
        let end = self.above.as_ref().map(Above::end);
        end.map_or(Ok(()), |end| self.append(&Line::End(end)))
    }
}
