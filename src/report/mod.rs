//! The report: a page with tables and charts, made from records alone.
//!
//! The same records give the same bytes: no clock, no locale, no order that
//! depends on hashing. No backend is named in this module; all names come from
//! the records.

mod charts;
mod choose;
mod counts;
mod facts;
mod markdown;
mod matrix;
mod order;
mod page;
mod rank;
mod sections;
mod select;
mod shares;
mod trust;
pub mod units;

use crate::files;
use crate::record::{self, Skipped};
use crate::tables;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

pub use select::LeftOut;

/// Where things are read and written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The record file.
    pub records: PathBuf,
    /// The page, `BENCHMARK.md`. What stands outside its markers is kept.
    pub page: PathBuf,
    /// The folder of the charts, `image/`.
    pub images: PathBuf,
    /// The folder of the tables that are laid out by hand; it may be missing.
    pub tables: PathBuf,
    /// The stored counts; the file may be missing.
    pub costs: PathBuf,
    /// The folder of the stored findings of `make checks`; it may be missing.
    pub trust: PathBuf,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The files that were written, the page last.
    pub files: Vec<PathBuf>,
    /// Charts of an earlier report that there are no records for any more.
    pub removed: Vec<PathBuf>,
    /// Cells in the report, timed or not.
    pub cells: usize,
    /// Pairs in the report.
    pub pairs: usize,
    /// Whole records that do not belong beside the newest ones.
    pub left_out: LeftOut,
    /// Lines of the record file that could not be believed.
    pub skipped_lines: Vec<Skipped>,
}

/// Everything that a report is, before any of it is on disk.
struct Plan {
    /// Paths and contents; the page is the last.
    files: Vec<(PathBuf, Vec<u8>)>,
    /// Charts that must not be there.
    absent: Vec<PathBuf>,
    cells: usize,
    pairs: usize,
    left_out: LeftOut,
    skipped: Vec<Skipped>,
}

/// Makes the page and the charts.
///
/// Each file is replaced in one step, and none before all of them lie on the
/// disk: if a folder cannot be written, the old report stays whole.
///
/// # Errors
///
/// When there are no usable records, when the page has only one of its two
/// markers, or when a file cannot be written.
pub fn write(options: &Options) -> Result<Written> {
    let plan = plan(options)?;
    let staged: Vec<files::Staged> = plan
        .files
        .iter()
        .map(|(path, content)| files::stage(path, content))
        .collect::<Result<_>>()?;
    let files = staged.into_iter().map(files::Staged::commit).collect::<Result<_>>()?;
    let mut removed = Vec::new();
    for path in plan.absent {
        if files::remove(&path)? {
            removed.push(path);
        }
    }
    Ok(Written {
        files,
        removed,
        cells: plan.cells,
        pairs: plan.pairs,
        left_out: plan.left_out,
        skipped_lines: plan.skipped,
    })
}

/// Makes the report in memory and returns the files on disk that differ from
/// it: changed by hand, missing, or left over.
///
/// # Errors
///
/// As [`write()`], except that nothing is written.
pub fn check(options: &Options) -> Result<Vec<PathBuf>> {
    let plan = plan(options)?;
    let mut differ = Vec::new();
    for (path, content) in plan.files {
        if files::read(&path)?.as_deref() != Some(content.as_slice()) {
            differ.push(path);
        }
    }
    differ.extend(plan.absent.into_iter().filter(|path| path.exists()));
    Ok(differ)
}

fn plan(options: &Options) -> Result<Plan> {
    let loaded = record::load(&options.records)?;
    let Some(selected) = select::select(loaded.records) else {
        let path = options.records.display();
        match loaded.skipped.first() {
            None => bail!("{path} holds no records; `make bench` makes them"),
            Some(first) => bail!(
                "{path} holds no usable record: {} could not be believed, the first of them line \
                 {}: {}",
                units::count(loaded.skipped.len(), "line"),
                first.line,
                first.reason
            ),
        }
    };
    let believable = rank::Believable::of(&selected.pairs);
    let layouts = tables::load_all(&options.tables)?;
    let counts = counts::Counts::load(&options.costs)?;
    let trust = trust::Trust::load(&options.trust)?;
    let charts = charts::draw(&selected.matrix, &believable, &layouts)?;

    let existing = files::read(&options.page)?
        .map(String::from_utf8)
        .transpose()
        .with_context(|| format!("{} is not text", options.page.display()))?;
    let folder = images_from_page(options);
    let generated = page::generated(&page::Sources {
        selected: &selected,
        counts: &counts,
        trust: &trust,
        believable: &believable,
        skipped: &loaded.skipped,
        charts: &charts,
        layouts: &layouts,
        folder: &folder,
    });
    let page = page::place(existing.as_deref(), &generated)
        .with_context(|| format!("cannot place the report in {}", options.page.display()))?;

    let absent = charts::NAMES
        .into_iter()
        .filter(|name| charts.iter().all(|chart| chart.name != *name))
        .flat_map(charts::file_names)
        .map(|file| options.images.join(file))
        .collect();
    let mut files: Vec<(PathBuf, Vec<u8>)> = charts
        .into_iter()
        .flat_map(|chart| chart.files)
        .map(|(file, content)| (options.images.join(file), content))
        .collect();
    files.push((options.page.clone(), page.into_bytes()));
    Ok(Plan {
        files,
        absent,
        cells: selected.matrix.cells().len(),
        pairs: selected.pairs.len(),
        left_out: selected.left_out,
        skipped: loaded.skipped,
    })
}

/// The way from the page to the images, with a slash at its end. Folders that
/// do not lie below the page's are named as they were given.
fn images_from_page(options: &Options) -> String {
    let folder = files::folder_of(&options.page);
    let below = options.images.strip_prefix(folder).unwrap_or_else(|_| {
        // `BENCHMARK.md` lies in `.`, and `image` names no `.` to strip.
        options.images.strip_prefix(Path::new(".")).unwrap_or(&options.images)
    });
    let below = below.to_string_lossy().replace('\\', "/");
    if below.is_empty() { String::new() } else { format!("{}/", below.trim_end_matches('/')) }
}
