//! `touchstone verify`.

use super::Ended;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use touchstone::files::read_whole;
use touchstone::record::Book;
use touchstone::record::verify::{Fault, MOST_PACKED, agree, verify};
use touchstone::run::{ThisClone, shown};
use touchstone::terminal::print;

/// Checks files of `touchstone machine` and `touchstone peers` before they are believed.
///
/// A file has to be whole and unchanged since it was written, of a commit and of guests of this
/// project, with outputs that were compared, and with executors that do not differ from themselves.
/// Two files of one machine have to agree. A file in a folder `machines` has to lie at
/// <machine>/<date>.jsonl.zst. The end line finds damage, it is no signature.
///
/// Exits with 1 if a file is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  touchstone verify records/machines/*/*.jsonl.zst")]
pub(super) struct Verify {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Verify {
    pub(super) fn execute(self) -> Result<Ended> {
        let mut accepted: BTreeMap<String, Vec<(String, Book)>> = BTreeMap::new();
        let mut is_good = true;
        for path in &self.files {
            let name = shown(path);
            let known = |book: &Book| accepted.get(&book.header.machine.id);
            let result = check(path).and_then(|book| {
                let mut others = known(&book).into_iter().flatten();
                others.try_for_each(|(_, other)| agree(&book, other))?;
                Ok(book)
            });
            match result {
                Ok(book) => {
                    print(&format!("accepted  {name}\n          {}\n", words(&book)))?;
                    let id = book.header.machine.id.clone();
                    accepted.entry(id).or_default().push((name, book));
                }
                Err(fault) => {
                    is_good = false;
                    print(&format!("refused   {name}\n          {fault:#}\n"))?;
                }
            }
        }
        Ok(Ended::well_if(is_good))
    }
}

fn check(path: &Path) -> Result<Book> {
    let length = path.metadata().map(|file| file.len()).unwrap_or(0);
    if length > MOST_PACKED as u64 {
        return Err(Fault::Size(usize::try_from(length).unwrap_or(usize::MAX)).into());
    }
    Ok(verify(&read_whole(path)?, place_of(path).as_deref(), &ThisClone)?)
}

/// The folder and the name of a file that lies among those of other machines.
fn place_of(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    let is_among = folder.parent().and_then(Path::file_name).is_some_and(|own| own == "machines");
    let name = path.file_name()?.to_string_lossy();
    let date = name.strip_suffix(".jsonl.zst").unwrap_or(&name);
    is_among.then(|| format!("{}/{date}", folder.file_name().unwrap_or_default().to_string_lossy()))
}

fn words(book: &Book) -> String {
    let header = &book.header;
    let state = header.state.map_or_else(String::new, |state| format!("; {}", state.words()));
    format!(
        "{} cells and {} comparisons of commit {} on {}, {} processors{state}",
        book.cells.len(),
        book.comparisons.len(),
        header.tools.commit,
        header.machine.cpu,
        header.machine.cores,
    )
}
