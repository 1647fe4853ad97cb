//! The settings of the declaration: the call, and the points at which it is measured.

use super::writer::Order;
use crate::case::{Also, Case, Input};
use crate::experiment::Asked;
use crate::plan::Cell;
use crate::record::{Coordinate, Experiment, Place, hex};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use touchstone_executor::Execution;
use touchstone_executor::adapter::MeasuredEngine;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Selection {
    call: Case,
    region: u32,
    seed: u32,
    points: Vec<Lists>,
}

/// Values of each dimension; points are all of their combinations.
type Lists = BTreeMap<String, Vec<Coordinate>>;

/// Calls whose output is compared before anything is timed: each writes as many pages as the
/// timed calls, and other ones where they drift.
const CHECKED: u32 = 3;

impl Selection {
    /// The settings of a declaration. Fails if they are wrong.
    pub(super) fn of(experiment: &Experiment) -> Result<Self> {
        let own = experiment.settings.clone().try_into::<Self>().map_err(Into::into);
        own.and_then(|own| own.check(experiment).map(|()| own)).context("the settings of resets")
    }

    fn check(&self, experiment: &Experiment) -> Result<()> {
        ensure!(
            self.region.is_power_of_two() && self.region > 1,
            "'region' is a power of two, and 2 or more"
        );
        for lists in &self.points {
            for dimension in &experiment.dimensions {
                let own = lists.get(&dimension.name).filter(|own| !own.is_empty());
                let (least, most) = dimension.range.unwrap_or((0, u64::MAX));
                for value in own.context("every list of 'points' has one entry or more")? {
                    dimension.check(value)?;
                    let is_in = |number: &u64| (least..=most).contains(number);
                    let is_right = !matches!(value, Coordinate::Number(own) if !is_in(own));
                    ensure!(is_right, "'{value}' is not in {least}..={most}");
                }
            }
            let unknown = lists.keys().find(|name| experiment.dimension(name).is_none());
            ensure!(unknown.is_none(), "unknown field `{}`", unknown.map_or("", |name| name));
        }
        ensure!(!self.points.is_empty(), "'points' has one entry or more");
        Ok(())
    }

    /// The points: those of the file, or those that are asked for in their place. A tenth of fewer
    /// than ten pages is no page: such points are left out. Fails if no point remains.
    pub(super) fn points(&self, experiment: &Experiment, asked: &Asked) -> Result<Vec<Place>> {
        let mut points: Vec<Place> = match asked.values.is_empty() {
            true => self.points.iter().flat_map(combinations).collect(),
            false => combinations(&self.wanted(experiment, &asked.values)),
        };
        let is_none = |place: &Place| {
            place.text("drift") == Some("tenth") && place.number("pages").is_some_and(|n| n < 10)
        };
        points.retain(|place| !is_none(place));
        points.sort_by_cached_key(|place| experiment.order(place));
        points.dedup();
        ensure!(
            !points.is_empty(),
            "a tenth of fewer than 10 pages is no page: ask for more pages"
        );
        Ok(points)
    }

    /// The values asked for, the first of each other dimension, and all pages of the first entry.
    fn wanted(&self, experiment: &Experiment, asked: &Lists) -> Lists {
        let values = |dimension: &crate::record::Dimension| {
            let own = asked.get(&dimension.name).filter(|own| !own.is_empty()).cloned();
            own.unwrap_or_else(|| match (dimension.words.first(), &*dimension.name) {
                (_, "pages") => self.points[0].get("pages").cloned().unwrap_or_default(),
                (Some((first, _)), _) => vec![Coordinate::Text(first.clone())],
                (None, _) => vec![Coordinate::Number(1)],
            })
        };
        let dimensions = experiment.dimensions.iter();
        dimensions.map(|dimension| (dimension.name.clone(), values(dimension))).collect()
    }

    /// The call of a point as a case. Before anything is timed, calls that look at the pages are
    /// compared: every page was clean before the call, and held what was written after it.
    pub(super) fn case(&self, point: &Place) -> Case {
        let order = self.order(point);
        let input = |order: Order| Input::Hex(format!("0x{}", hex(&order.bytes())));
        let looking = |calls: u32| {
            let order = order.after(calls).looking();
            let output = Input::Hex(format!("0x{}", hex(&order.answer())));
            Also { export: None, input: input(order), output }
        };
        Case {
            input: input(order),
            threads: vec![threads(point)],
            also: (0..CHECKED).map(looking).collect(),
            ..self.call.clone()
        }
    }

    pub(super) fn order(&self, point: &Place) -> Order {
        Order::new(point, self.region, self.seed)
    }
}

pub(super) fn threads(point: &Place) -> usize {
    usize::try_from(point.number("threads").unwrap_or(1)).unwrap_or(usize::MAX)
}

fn combinations(lists: &Lists) -> Vec<Place> {
    lists.iter().fold(vec![Place::default()], |places, (name, values)| {
        let with = |place: &Place| {
            values.iter().map(|value| place.clone().with(name, value.clone())).collect::<Vec<_>>()
        };
        places.iter().flat_map(with).collect()
    })
}

/// The engine whose strategies are measured if none is asked for: of those that compile guests to
/// machine code in a way of their own, the one with the most strategies, so that dropping and
/// restoring can be compared in all their forms; the first in the registry's order of several.
/// Without a compiler in the build, it is the engine with the most strategies. `None` if there
/// is no cell.
pub(super) fn preferred_engine(
    engines: &[Arc<dyn MeasuredEngine>],
    cells: &[Cell],
) -> Option<&'static str> {
    let rank = |engine: &Arc<dyn MeasuredEngine>| {
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
    use crate::record::experiments_folder;
    use std::collections::BTreeSet;

    fn experiment() -> Experiment {
        Experiment::load(experiments_folder().join("resets.toml")).unwrap()
    }

    fn selection() -> Selection {
        Selection::of(&experiment()).unwrap()
    }

    fn points(values: &[(&str, &[Coordinate])]) -> Result<Vec<Place>> {
        let values = values.iter().map(|(name, own)| ((*name).to_owned(), own.to_vec())).collect();
        selection().points(&experiment(), &Asked { values, ..Asked::default() })
    }

    fn parsed(change: (&str, &str)) -> Result<Selection> {
        let text = std::fs::read_to_string(experiments_folder().join("resets.toml")).unwrap();
        assert!(text.contains(change.0), "{}", change.0);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("resets.toml");
        std::fs::write(&path, text.replacen(change.0, change.1, 1)).unwrap();
        Selection::of(&Experiment::load(&path)?)
    }

    #[test]
    fn the_file_selects_points_each_once_from_one_page_to_64_mib() {
        let points = points(&[]).unwrap();
        let each: BTreeSet<&Place> = points.iter().collect();
        assert_eq!(each.len(), points.len());
        let pages: BTreeSet<u64> = points.iter().filter_map(|own| own.number("pages")).collect();
        assert_eq!((pages.first(), pages.last()), (Some(&1), Some(&16_384)));
        assert!(points.iter().any(|point| threads(point) == 2));
        let is_tenth = |point: &&Place| point.text("drift") == Some("tenth");
        assert!(points.iter().filter(is_tenth).all(|point| point.number("pages") >= Some(10)));
    }

    #[test]
    fn what_is_asked_for_takes_the_place_of_the_file() {
        let drifts = ["tenth", "all"].map(Coordinate::from);
        let pages = [4_u64, 40].map(Coordinate::from);
        let found = points(&[("pages", &pages), ("drift", &drifts)]).unwrap();
        let names: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            names,
            [
                "tenth/40_pages/contiguous/1_threads/byte",
                "all/4_pages/contiguous/1_threads/byte",
                "all/40_pages/contiguous/1_threads/byte",
            ]
        );
        let nine = [9_u64].map(Coordinate::from);
        let error = points(&[("pages", &nine), ("drift", &drifts[..1])]).unwrap_err();
        assert!(error.to_string().contains("a tenth of fewer than 10 pages"), "{error}");
    }

    #[test]
    fn a_wrong_file_is_refused_with_the_reason() {
        for (change, reason) in [
            (("region = 32768", "region = 32767"), "'region' is a power of two"),
            (
                ("threads = [1]\n\n[[settings", "threads = []\n\n[[settings"),
                "every list of 'points'",
            ),
            (
                ("threads = [1]\n\n[[settings", "threads = [0]\n\n[[settings"),
                "'0' is not in 1..=65535",
            ),
            (("pages   = [1,", "pages   = [0,"), "'0' is not in 1..=16384"),
            (("touch   = [\"byte\"]", "touch   = [\"bit\"]"), "'bit' is no value of 'touch'"),
            (("seed   = 1", "seeds  = 1"), "unknown field `seeds`"),
        ] {
            let error = format!("{:#}", parsed(change).unwrap_err());
            assert!(error.contains("the settings of resets") && error.contains(reason), "{error}");
        }
    }

    #[test]
    fn the_default_engine_is_one_of_the_build_with_the_most_strategies() {
        let engines = touchstone_runtimes::engines();
        let (selection, points) = (selection(), points(&[]).unwrap());
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
