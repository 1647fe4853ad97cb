//! The data file `benches/resets.toml`: the call, and the points at which it is measured.

use super::writer::Order;
use crate::case::{Also, Case, Expect, Input, hex};
use crate::plan::Cell;
use crate::record::{Drift, Place, ResetPoint, Role, Sweep, Touch, data};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::HeapPages;
use touchstone_executor::{Engine, Execution};

/// The content of `benches/resets.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    name: String,
    guest: String,
    export: String,
    abi: Abi,
    heap: HeapPages,
    region: u32,
    seed: u32,
    points: Vec<Entry>,
}

/// All combinations of some lists.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    pages: Vec<u64>,
    touch: Vec<Touch>,
    place: Vec<Place>,
    drift: Vec<Drift>,
    threads: Vec<usize>,
}

/// Points that are wanted in place of those of the file: all combinations. An empty list stands
/// for one byte, contiguous pages, the same in each call, one thread, and for the pages of the
/// file's first entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Pages that each call writes.
    pub pages: Vec<u64>,
    /// How much of each.
    pub touch: Vec<Touch>,
    /// Where they lie.
    pub place: Vec<Place>,
    /// Which of them are other pages than in the call before.
    pub drift: Vec<Drift>,
    /// Threads.
    pub threads: Vec<usize>,
}

/// Calls whose output is compared before anything is timed: each writes as many pages as the
/// timed calls, and other ones where they drift.
const CHECKED: u32 = 3;

/// The path of `benches/resets.toml` in the project.
#[must_use]
pub fn default_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/resets.toml")
}

impl Selection {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is wrong; the message names it.
    pub fn load(path: &Path) -> Result<Self> {
        let file: Self = data::read(path, "the selection of resets")?;
        let checked = file.check();
        checked
            .with_context(|| format!("the selection of resets {} is invalid", path.display()))?;
        Ok(file)
    }

    fn check(&self) -> Result<()> {
        ensure!(
            self.region.is_power_of_two() && self.region > 1,
            "'region' is a power of two, and 2 or more"
        );
        ensure!(!self.points.is_empty(), "'points' has one entry or more");
        for Entry { pages, touch, place, drift, threads } in &self.points {
            let is_empty = touch.is_empty() || place.is_empty() || drift.is_empty();
            ensure!(
                !(is_empty || pages.is_empty() || threads.is_empty() || threads.contains(&0)),
                "every list of 'points' has one entry or more, and numbers from 1 upwards"
            );
            self.check_pages(pages)?;
        }
        Ok(())
    }

    fn check_pages(&self, pages: &[u64]) -> Result<()> {
        let most = u64::from(self.region / 2);
        let wrong = pages.iter().find(|pages| !(1..=most).contains(*pages));
        ensure!(
            wrong.is_none(),
            "a call writes 1 to {most} pages of 4 KiB, and not {}",
            wrong.copied().unwrap_or_default()
        );
        Ok(())
    }

    /// The points: those of the file, or those that are wanted in their place. A tenth of fewer
    /// than ten pages is no page: such points are left out.
    ///
    /// # Errors
    ///
    /// When a number of pages is out of range, or no point remains.
    pub fn points(&self, wanted: &Wanted) -> Result<Vec<ResetPoint>> {
        let own;
        let entries = if *wanted == Wanted::default() {
            &self.points
        } else {
            self.check_pages(&wanted.pages)?;
            own = [Entry::of(wanted, &self.points[0])];
            &own[..]
        };
        let points: BTreeSet<ResetPoint> = entries.iter().flat_map(Entry::expand).collect();
        ensure!(
            !points.is_empty(),
            "a tenth of fewer than 10 pages is no page: ask for more pages"
        );
        Ok(points.into_iter().collect())
    }

    /// The call of a point as a case. Before anything is timed, calls that look at the pages are
    /// compared: every page was clean before the call, and held what was written after it.
    #[must_use]
    pub fn case(&self, point: &ResetPoint) -> Case {
        let order = self.order(point);
        let input = |order: Order| Input::Hex(format!("0x{}", hex(&order.bytes())));
        let looking = |calls: u32| {
            let order = order.after(calls).looking();
            let output = Input::Hex(format!("0x{}", hex(&order.answer())));
            Also { export: None, input: input(order), output }
        };
        Case {
            name: self.name.clone(),
            guests: vec![self.guest.clone()],
            titles: Vec::new(),
            init: None,
            export: self.export.clone(),
            abi: self.abi,
            input: input(order),
            arguments: Vec::new(),
            threads: vec![point.threads],
            heap: self.heap,
            sweep: Sweep::All,
            strategies: Vec::new(),
            without: Vec::new(),
            budget_s: None,
            role: Some(Role::DirtyMemory),
            codec: None,
            warm: false,
            take: None,
            expect: Expect { output: Input::Hex("0x".to_owned()) },
            also: (0..CHECKED).map(looking).collect(),
            analysis: String::new(),
        }
    }

    /// What the calls of a point are told.
    pub(super) fn order(&self, point: &ResetPoint) -> Order {
        Order::new(point, self.region, self.seed)
    }
}

impl Entry {
    /// What is wanted, with the base where nothing is said.
    fn of(wanted: &Wanted, base: &Self) -> Self {
        fn or<T: Clone>(wanted: &[T], base: &[T]) -> Vec<T> {
            if wanted.is_empty() { base.to_vec() } else { wanted.to_vec() }
        }
        Self {
            pages: or(&wanted.pages, &base.pages),
            touch: or(&wanted.touch, &[Touch::Byte]),
            place: or(&wanted.place, &[Place::Contiguous]),
            drift: or(&wanted.drift, &[Drift::Same]),
            threads: or(&wanted.threads, &[1]),
        }
    }

    fn expand(&self) -> Vec<ResetPoint> {
        let mut points = Vec::new();
        for &touch in &self.touch {
            for &place in &self.place {
                for &drift in &self.drift {
                    for &threads in &self.threads {
                        let pages = self.pages.iter();
                        let has = |pages: &&u64| drift != Drift::Tenth || **pages >= 10;
                        let point = |&pages| ResetPoint { touch, place, drift, threads, pages };
                        points.extend(pages.filter(has).map(point));
                    }
                }
            }
        }
        points
    }
}

/// The engine whose strategies are measured if none is asked for: of those that compile guests to
/// machine code in a way of their own, the one with the most strategies, so that dropping and
/// restoring can be compared in all their forms; the first in the registry's order of several.
/// Without a compiler in the build, it is the engine with the most strategies. `None` if there
/// is no cell.
#[must_use]
pub fn preferred_engine(engines: &[Arc<dyn Engine>], cells: &[Cell]) -> Option<&'static str> {
    let rank = |engine: &Arc<dyn Engine>| {
        let is_own = engine.executes_like().is_none();
        let compiles = is_own && engine.execution() == Execution::Compiled;
        let strategies = cells.iter().filter(|cell| cell.key.engine == engine.id()).count();
        (compiles && strategies > 0, strategies)
    };
    let best = engines.iter().rev().max_by_key(|engine| rank(engine))?;
    (rank(best).1 > 0).then(|| best.id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Guests;
    use crate::plan::Plan;

    fn selection() -> Selection {
        Selection::load(&default_file()).unwrap()
    }

    fn parsed(change: (&str, &str)) -> Result<Selection> {
        let text = std::fs::read_to_string(default_file()).unwrap();
        assert!(text.contains(change.0), "{}", change.0);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("resets.toml");
        std::fs::write(&path, text.replacen(change.0, change.1, 1)).unwrap();
        Selection::load(&path)
    }

    #[test]
    fn the_file_selects_points_each_once_from_one_page_to_64_mib() {
        let points = selection().points(&Wanted::default()).unwrap();
        assert!(points.is_sorted_by(|a, b| a < b));
        let pages: BTreeSet<u64> = points.iter().map(|point| point.pages).collect();
        assert_eq!((pages.first(), pages.last()), (Some(&1), Some(&16_384)));
        assert!(points.iter().any(|point| point.threads == 2));
        assert!(points.iter().all(|point| point.drift != Drift::Tenth || point.pages >= 10));
    }

    #[test]
    fn what_is_wanted_takes_the_place_of_the_file() {
        let wanted = Wanted {
            pages: vec![4, 40],
            drift: vec![Drift::Tenth, Drift::All],
            ..Wanted::default()
        };
        let points = selection().points(&wanted).unwrap();
        let names: Vec<String> = points.iter().map(ToString::to_string).collect();
        assert_eq!(
            names,
            [
                "40_pages/byte/contiguous/tenth/1_threads",
                "4_pages/byte/contiguous/all/1_threads",
                "40_pages/byte/contiguous/all/1_threads",
            ]
        );
        let none = Wanted { pages: vec![9], drift: vec![Drift::Tenth], ..Wanted::default() };
        let error = selection().points(&none).unwrap_err();
        assert!(error.to_string().contains("a tenth of fewer than 10 pages"), "{error}");
        let many = Wanted { pages: vec![16_385], ..Wanted::default() };
        let error = selection().points(&many).unwrap_err();
        assert_eq!(error.to_string(), "a call writes 1 to 16384 pages of 4 KiB, and not 16385");
    }

    #[test]
    fn a_wrong_file_is_refused_with_the_reason() {
        for (change, reason) in [
            (("region = 32768", "region = 32767"), "'region' is a power of two"),
            (("threads = [1]", "threads = []"), "every list of 'points'"),
            (("threads = [1]", "threads = [0]"), "numbers from 1 upwards"),
            (("pages   = [1,", "pages   = [0,"), "and not 0"),
            (("\"byte\"", "\"bit\""), "unknown variant `bit`"),
            (("seed   = 1", "seeds  = 1"), "unknown field `seeds`"),
        ] {
            let error = format!("{:#}", parsed(change).unwrap_err());
            assert!(error.contains("resets.toml is invalid") && error.contains(reason), "{error}");
        }
    }

    #[test]
    fn the_default_engine_is_one_of_the_build_with_the_most_strategies() {
        let engines = touchstone_runtimes::engines();
        let selection = selection();
        let points = selection.points(&Wanted::default()).unwrap();
        let mut guests = Guests::built();
        let plan = Plan::new(&[selection.case(&points[0])], &engines, &mut guests).unwrap();
        let Some(best) = preferred_engine(&engines, &plan.cells) else {
            assert!(plan.cells.is_empty(), "a build without engines has no default");
            return;
        };
        let count = |id: &str| plan.cells.iter().filter(|cell| cell.key.engine == id).count();
        let of = |id: &str| engines.iter().find(|engine| engine.id() == id).unwrap();
        let execution = of(best).execution();
        assert!(engines.iter().all(|engine| {
            engine.execution() != execution || count(engine.id()) <= count(best)
        }));
        assert_eq!(preferred_engine(&engines, &[]), None);
    }
}
