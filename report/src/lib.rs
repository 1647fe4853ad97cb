//! The report: a page with tables and charts, made from records alone.
//!
//! The same records give the same bytes: no clock, no locale, no order that
//! depends on hashing. No engine, case or guest is named in this module; all names come
//! from the records. Of each record file the newest run is shown; runs are never mixed.

mod charts;
mod experiment;
pub mod gate;
mod html;
mod markdown;
mod matrix;
mod origin;
mod page;
pub mod pages;
pub mod races;
mod rank;
mod sections;
pub mod show;
mod summary;
pub mod tables;
pub mod units;
pub mod usl;

use anyhow::{Context, Result, bail, ensure};
use matrix::Matrix;
use pages::{Pages, Part};
use rank::Noise;
use sections::checks::Checks;
use sections::machines::{self, Machine};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tables::Tables;
use touchstone_record::files::{self, FilePath};
use touchstone_record::{
    self as record, BENCH, Book, CHECKS, COUNTS, Experiment, LAYOUTS, Loaded, OVERSUBSCRIBED,
    PEERS, PointBook, Skipped,
};

/// Where things are read and written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The record file of the benchmarks. The files of peers, swaps, counts and checks lie
    /// beside it under their own names; each of them may be missing.
    pub records: PathBuf,
    /// The page, `BENCHMARK.md`. What stands outside its markers is kept.
    pub page: PathBuf,
    /// A page that shows the findings alone, `README.md`; what stands outside its markers is
    /// kept. `None` where there is none.
    pub readme: Option<PathBuf>,
    /// The folder of the charts, `image/`.
    pub images: PathBuf,
    /// The folder of the detailed pages, `benchmark/`.
    pub pages: PathBuf,
    /// The data file that divides the report into pages; it may be missing.
    pub division: PathBuf,
    /// The folder of the tables that are laid out by hand; it may be missing.
    pub tables: PathBuf,
    /// The folder of the declarations of experiments; it may be missing.
    pub experiments: PathBuf,
    /// The file that says what the charts show; it may be missing.
    pub charts: PathBuf,
    /// The explanations of numbers that break a rule of publication; the file may be
    /// missing.
    pub explanations: PathBuf,
    /// Make the report even if rules of publication are broken, and say so in it.
    pub draft: bool,
}

impl Options {
    /// The records and the project's data files, for a page and folders beside it.
    pub fn of_project(page: PathBuf) -> Self {
        let benches = files::project("benches");
        Self {
            records: record::default_path(BENCH),
            readme: None,
            images: page.with_file_name("image"),
            pages: page.with_file_name("benchmark"),
            division: benches.join("pages.toml"),
            tables: benches.join("tables"),
            experiments: record::experiments_folder(),
            charts: benches.join("charts.toml"),
            explanations: benches.join("explanations.toml"),
            draft: false,
            page,
        }
    }
}

/// The files that were written, or that differ from a new report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The files that were written, or that differ; the page last.
    pub files: Vec<PathBuf>,
    /// Charts of an earlier report that there are no records for any more.
    pub removed: Vec<PathBuf>,
    /// Cells with a time.
    pub cells: usize,
    /// Comparisons.
    pub comparisons: usize,
    /// The first ratios, the picks and the interference, for the terminal.
    pub summary: String,
    /// Runs of the record file that are older than the published one.
    pub older_runs: usize,
    /// The record files that were read, each with the lines that could not be.
    pub skipped: Vec<(PathBuf, Vec<Skipped>)>,
    /// Warnings about files whose newest run lacks its end line, and files of machines that were
    /// left out.
    pub warnings: Vec<String>,
}

/// Makes the page and the charts.
///
/// Each file is replaced in one step, and none before all of them lie on the
/// disk: if a folder cannot be written, the old report stays whole.
/// Fails when there is no run that can be read, when the page has only one of its two
/// markers, or when a file cannot be written. [`gate::Closed`] when rules of publication
/// are broken and no draft is wanted.
pub fn write(options: &Options) -> Result<Written> {
    let Options { page, images, pages, .. } = options;
    for (what, path) in [("page", page), ("charts", images), ("detailed pages", pages)] {
        let folder = files::folder_of(path);
        let missing = folder.display();
        ensure!(
            folder.exists(),
            "cannot write the {what}: there is no folder {missing}; make it first"
        );
    }
    let (files, report) = plan(options)?;
    let staged = files.iter().map(|(path, content)| files::stage(path, content.as_bytes()));
    let staged: Vec<files::Staged> = staged.collect::<Result<_>>()?;
    staged.into_iter().try_for_each(files::Staged::commit)?;
    let folder = root(options)?;
    report.removed.iter().try_for_each(|path| folder.or_elsewhere(path).remove())?;
    Ok(report)
}

/// Makes the report in memory and names the files on disk that differ from it: changed by
/// hand or missing.
/// Fails as [`write()`], except that nothing is written.
pub fn check(options: &Options) -> Result<Written> {
    let (files, mut report) = plan(options)?;
    report.files.clear();
    for (path, content) in files {
        if files::read(&path)?.as_deref() != Some(content.as_bytes()) {
            report.files.push(path.path().to_owned());
        }
    }
    Ok(report)
}

/// The record files of a report, read: of each file the newest run.
struct Records {
    bench: Book,
    noise: Noise,
    experiments: Vec<Experiment>,
    /// The runs of the other files but that of the checks, by file.
    books: BTreeMap<String, Book>,
    /// The peers' comparisons by other builds of the same commit on the same machine.
    layouts: Vec<Book>,
    checks: Checks,
    older_runs: usize,
    /// The lines that could not be read, of the benchmarks' file first.
    skipped: Vec<(PathBuf, Vec<Skipped>)>,
    warnings: Vec<String>,
    machines: Vec<Machine>,
}

impl Records {
    fn read(records: &FilePath, experiments: Vec<Experiment>) -> Result<Self> {
        let (mut skipped, mut warnings) = (Vec::new(), Vec::new());
        let mut read = |path: &FilePath| -> Result<Loaded> {
            let mut loaded = record::load(path)?;
            warnings.extend(loaded.unfinished(path.path()));
            skipped.push((path.path().to_owned(), std::mem::take(&mut loaded.skipped)));
            Ok(loaded)
        };
        let bench = read(records)?;
        let older_runs = bench.runs.len().saturating_sub(1);
        let mut beside = |name: &str| match records.beside(name)? {
            path if path.path() == records.path() || !path.exists() => Ok(Loaded::default()),
            path => read(&path),
        };
        let mut books = BTreeMap::new();
        let declared = experiments.iter().map(|own| own.records.as_str());
        for file in [PEERS, COUNTS, OVERSUBSCRIBED].into_iter().chain(declared) {
            if !books.contains_key(file) {
                books.extend(beside(file)?.newest().map(|book| (file.to_owned(), book)));
            }
        }
        let mut layouts = beside(LAYOUTS)?.whole();
        let source = |own: &Book| (own.header.machine.id.clone(), own.header.tools.commit.clone());
        let binary = |own: &Book| own.header.tools.binary.clone();
        let peers = books.get(PEERS);
        let mut binaries: BTreeSet<String> = peers.map(binary).into_iter().collect();
        layouts
            .retain(|own| peers.map(source) == Some(source(own)) && binaries.insert(binary(own)));
        let checks = Checks::of(beside(CHECKS)?);
        let Some(bench) = bench.newest() else {
            match skipped.first().and_then(|(_, lines)| lines.first()) {
                Some(Skipped { line, reason }) => {
                    bail!("{records} holds no run that this build can read: line {line}: {reason}")
                }
                None => bail!("{records} holds no run; `touchstone bench` makes one"),
            }
        };
        let noise = Noise::of(&bench);
        let (others, refused) = machines::load(&records.beside("machines")?);
        warnings.extend(refused);
        let machines = machines::machines(books.get(PEERS), &others);
        Ok(Self {
            bench,
            noise,
            experiments,
            books,
            layouts,
            checks,
            older_runs,
            skipped,
            warnings,
            machines,
        })
    }

    fn book(&self, file: &str) -> Option<&Book> {
        self.books.get(file)
    }

    fn peers(&self) -> Option<&Book> {
        self.book(PEERS)
    }

    fn experiment(&self, name: &str) -> Option<(&Experiment, &PointBook)> {
        let experiment = self.experiments.iter().find(|own| own.name == name)?;
        Some((experiment, self.points(experiment)?))
    }

    fn points(&self, experiment: &Experiment) -> Option<&PointBook> {
        self.book(&experiment.records)?.points.get(&experiment.name)
    }
}

/// The folder of the page. Files that lie there, also those that the records' author may have put
/// there, do not lead out of it.
fn root(options: &Options) -> Result<FilePath> {
    FilePath::within(files::folder_of(&options.page))
}

type Files = Vec<(FilePath, String)>;

/// A report before any of it is on disk: the content of its files, and what it is made of.
fn plan(options: &Options) -> Result<(Files, Written)> {
    let root = root(options)?;
    let at = |path: &Path| root.or_elsewhere(path);
    let experiments = Experiment::all(at(&options.experiments))?;
    let records = Records::read(&at(&options.records), experiments)?;
    let matrix = Matrix::of(&records);
    let explanations = gate::Explanation::load(at(&options.explanations))?;
    let gate = gate::check(&records.bench, records.peers(), explanations);
    if !options.draft {
        gate.publish()?;
    }
    let tables = Tables::load(at(&options.tables))?;
    let pages = Pages::load(at(&options.division), &tables, &records.experiments)?;
    let shown = tables::charts::load(at(&options.charts))?;
    let (charts, absent) = charts::draw(&matrix, &shown, &tables.layouts)?;
    let picks = rank::picks(&matrix, &pages);
    let folder = files::folder_of(&options.page);
    let content = Content {
        picks: &picks,
        matrix: &matrix,
        gate: &gate,
        pages: &pages,
        tables: &tables,
        charts: &charts,
        shown: &shown,
        images: way(folder, &options.images, "/"),
        images_of_details: way(&options.pages, &options.images, "/"),
        folder: way(folder, &options.pages, "/"),
        back: way(&options.pages, &options.page, ""),
    };
    let summary = summary::terminal::text(&content);
    let page = place(at(&options.page), &summary::text(&content))?;
    let detailed = |name: &str| at(&options.pages).join(name);
    let details = pages.pages.iter();
    let details = details
        .map(|page| (detailed(&format!("{}.md", page.file)), sections::page(&content, page)));
    let mut details: Files = details.collect();
    // The README has no place for broken rules: it shows only what may be published.
    if let Some(path) = options.readme.as_ref().filter(|_| gate.publish().is_ok()) {
        details.push(place(at(path), &summary::findings(&content))?);
    }
    details.extend([(detailed(html::FILE), html::page(&matrix, &picks)?), page]);
    let image = |file: String| at(&options.images).join(file);
    let removed = absent.into_iter().map(image).filter(FilePath::exists);
    let removed = removed.map(|path| path.path().to_owned()).collect();
    let charts = charts.into_iter().flat_map(|chart| chart.files);
    let charts = charts.map(|(file, content)| (image(file), content));
    let files: Files = charts.chain(details).collect();
    let books = [Some(&records.bench), records.peers()];
    let report = Written {
        files: files.iter().map(|(path, _)| path.path().to_owned()).collect(),
        removed,
        cells: matrix.counts().0,
        summary,
        comparisons: books.into_iter().flatten().map(|book| book.comparisons.len()).sum(),
        older_runs: records.older_runs,
        skipped: records.skipped,
        warnings: records.warnings,
    };
    Ok((files, report))
}

/// A page with the generated part in its place.
fn place(path: FilePath, body: &str) -> Result<(FilePath, String)> {
    let existing = files::read(&path)?
        .map(String::from_utf8)
        .transpose()
        .with_context(|| format!("{path} is not text"))?;
    let text = page::place(existing.as_deref(), &page::generated(body))
        .with_context(|| format!("cannot place the report in {path}"))?;
    Ok((path, text))
}

/// The way from a folder to a file, or to a folder with `end` behind it: below the folder or
/// beside it. Others are named as they were given.
fn way(from: &Path, to: &Path, end: &str) -> String {
    let below = to.strip_prefix(from);
    let is_beside = from.file_name().is_some() && from.parent() == to.parent();
    let way = match to.file_name().filter(|_| is_beside && below.is_err()) {
        Some(name) => format!("../{}", name.to_string_lossy()),
        None => below.or_else(|_| to.strip_prefix(".")).unwrap_or(to).to_string_lossy().into(),
    };
    let way = way.replace('\\', "/");
    if way.is_empty() { way } else { way.trim_end_matches('/').to_owned() + end }
}

struct Content<'a> {
    matrix: &'a Matrix<'a>,
    gate: &'a gate::Gate,
    pages: &'a Pages,
    picks: &'a [rank::Pick<'a>],
    tables: &'a Tables,
    charts: &'a [charts::Chart],
    shown: &'a tables::charts::Charts,
    /// The way from the page to the charts, with a slash at its end.
    images: String,
    /// The way from a detailed page to the charts, with a slash at its end.
    images_of_details: String,
    /// The way from the page to the detailed pages, with a slash at its end.
    folder: String,
    /// The way from a detailed page to the page.
    back: String,
}

impl Content<'_> {
    fn link_named(&self, file: &str, title: &str) -> String {
        format!("[{title}]({}{file}.md)", self.folder)
    }

    /// A link to the first page that holds something; nothing where none does.
    fn link(&self, holds: impl Fn(&pages::Page) -> bool) -> String {
        let page = self.pages.pages.iter().find(|page| holds(page));
        page.map_or_else(String::new, |page| self.link_named(&page.file, "Details"))
    }

    fn link_to_part(&self, part: &Part) -> String {
        self.link(|page| page.parts.contains(part))
    }
}
