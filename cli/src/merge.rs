use super::Ended;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use touchstone::files::FilePath;
use touchstone::record::{self, Line, Merged, RecordFile, Sink, Stream};
use touchstone::run::shown;
use touchstone::terminal::{print, print_bytes};

/// Joins the records of all shards of a run into one record file.
///
/// The files *.jsonl of DIR are the shards, written by `touchstone bench --shard I/N`. Other files
/// are left alone. The result is what one machine would have recorded, and a report of it reads the
/// same. Nothing is written, with exit code 2, if a shard is missing, double or not complete, or if
/// commit, binary, engines, layout, sampling, guests, processor model or kernel differ.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  touchstone merge shards --output records/records.jsonl")]
pub(super) struct Merge {
    /// The folder of the shards
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Write the records to FILE, in the place of those that it holds; `-` prints them
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Merge {
    pub(super) fn execute(self) -> Result<Ended> {
        let folder = FilePath::within(&self.folder)?;
        let output = self.output.canonicalize().unwrap_or_else(|_| self.output.clone());
        let mut files = Vec::new();
        for place in folder.list()? {
            let path = place.path().to_owned();
            let is_output = path.canonicalize().is_ok_and(|path| path == output);
            if path.extension().is_some_and(|ending| ending == "jsonl") && !is_output {
                files.push((path, record::load(&place)?));
            }
        }
        ensure!(self.output.file_name().is_some(), "-o needs the name of a file");
        let merged = record::merge(files)
            .with_context(|| format!("cannot merge the shards in {}", shown(&self.folder)))?;
        if self.output == Path::new("-") {
            let mut text = Vec::new();
            let mut records = Stream::new(&mut text);
            write(&merged, &mut records)?;
            records.end()?;
            return print_bytes(&text).map(|()| Ended::Well);
        }
        let mut records = RecordFile::replacing(&self.output)?;
        write(&merged, &mut records)?;
        records.finish()?;
        print(&format!("merged {merged} into {}\n", shown(&self.output)))?;
        Ok(Ended::Well)
    }
}

fn write(merged: &Merged, records: &mut dyn Sink) -> Result<()> {
    records.append(&Line::Run(Box::new(merged.header.clone())))?;
    records.append_all(&merged.lines)
}
