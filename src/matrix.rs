//! The matrix: cases × guests × engines × strategies × threads.

use crate::case::Case;
use crate::record::CellKey;
use std::collections::BTreeSet;
use std::sync::Arc;
use touchstone_executor::guest::similar;
use touchstone_executor::{Engine, Strategy};

/// One cell: what is to be measured.
#[derive(Clone)]
pub struct Cell {
    /// Its name.
    pub key: CellKey,
    /// Its case.
    pub case: Arc<Case>,
    /// The guest's name as the case gives it.
    pub guest: String,
    /// Its engine.
    pub engine: Arc<dyn Engine>,
    /// Its strategy.
    pub strategy: Strategy,
}

impl Cell {
    /// A cell; `guest` as the case names it.
    #[must_use]
    pub fn new(
        case: &Arc<Case>,
        guest: &str,
        engine: &Arc<dyn Engine>,
        strategy: Strategy,
        threads: usize,
    ) -> Self {
        Self {
            key: CellKey {
                case: case.name.clone(),
                guest: guest.replace('-', "_"),
                backend: engine.id().to_owned(),
                strategy: strategy.to_string(),
                threads,
                title: case.title(guest).map(str::to_owned),
            },
            case: Arc::clone(case),
            guest: guest.to_owned(),
            engine: Arc::clone(engine),
            strategy,
        }
    }
}

/// All cells, the ones that share a module next to each other.
#[must_use]
pub fn cells(cases: &[Case], engines: &[Arc<dyn Engine>]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for case in cases {
        let case = Arc::new(case.clone());
        for guest in &case.guests {
            for engine in engines.iter().filter(|engine| case.runs_on(engine.id())) {
                for strategy in Strategy::all().into_iter().filter(|name| case.wants(*name)) {
                    for threads in &case.threads {
                        cells.push(Cell::new(&case, guest, engine, strategy, *threads));
                    }
                }
            }
        }
    }
    cells
}

/// Which names are meant: a regular expression, as criterion takes it, or an
/// exact name.
#[derive(Debug, Clone)]
pub enum Filter {
    /// Everything.
    All,
    /// Names that the expression finds itself in.
    Pattern(regex::Regex),
    /// This name and no other.
    Exact(String),
}

impl Filter {
    /// A filter from what was typed. What is no regular expression is taken
    /// as plain text.
    #[must_use]
    pub fn new(text: Option<&str>) -> Self {
        match text {
            None => Self::All,
            Some(text) => Self::Pattern(
                regex::Regex::new(text)
                    .or_else(|_| regex::Regex::new(&regex::escape(text)))
                    .unwrap_or_else(|_| unreachable!("an escaped text is an expression")),
            ),
        }
    }

    /// Whether a name is meant.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Pattern(pattern) => pattern.is_match(name),
            Self::Exact(text) => name == text,
        }
    }
}

/// The cells that a filter means.
///
/// # Errors
///
/// When it means none: the message names near matches.
pub fn select(cells: Vec<Cell>, text: Option<&str>) -> anyhow::Result<Vec<Cell>> {
    let filter = Filter::new(text);
    let names: Vec<String> = cells.iter().map(|cell| cell.key.id()).collect();
    let selected: Vec<Cell> =
        cells.into_iter().filter(|cell| filter.matches(&cell.key.id())).collect();
    match text {
        Some(text) if selected.is_empty() => {
            Err(anyhow::Error::new(NoMatch { near: near(text, &names), filter: text.to_owned() }))
        }
        _ => Ok(selected),
    }
}

/// A filter that means nothing.
#[derive(Debug, thiserror::Error)]
#[error("no cell matches '{filter}'{}", if near.is_empty() { String::new() } else { format!("; near: {}", near.join(", ")) })]
pub struct NoMatch {
    filter: String,
    near: Vec<String>,
}

/// Names, or parts of names, that resemble what was typed.
#[must_use]
pub fn near(text: &str, names: &[String]) -> Vec<String> {
    let mut parts = BTreeSet::new();
    for name in names {
        parts.insert(name.as_str());
        parts.extend(name.split('/').flat_map(|part| part.split("_from_").chain([part])));
    }
    similar(text, parts.into_iter())
}
