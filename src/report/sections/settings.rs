//! What was really in force for each executor, probed after loading.

use crate::report::markdown::{code, details, escape};
use crate::report::matrix::{Executor, Matrix, executor_of};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A setting's name, and all values it had.
type Settings = BTreeMap<String, BTreeSet<String>>;

pub(in crate::report) fn section(matrix: &Matrix) -> String {
    let mut text = String::from("## Effective configuration\n\n");
    let blocks: String =
        matrix.backends().into_iter().filter_map(|backend| block(matrix, backend)).collect();
    if blocks.is_empty() {
        text.push_str("No record says what was in force.\n\n");
        return text;
    }
    text.push_str("What was found in force after loading, not what was asked for.\n\n");
    text.push_str(&blocks);
    text
}

/// Everything on record about one executor.
fn settings(matrix: &Matrix, executor: &Executor) -> Settings {
    let mut settings = Settings::new();
    let own = matrix.cells().iter().filter(|cell| executor_of(cell) == *executor);
    for cell in own {
        for (name, value) in &cell.effective {
            settings.entry(name.clone()).or_default().insert(value.clone());
        }
        if let Some(support) = &cell.support {
            let how = match &cell.reason {
                Some(how) if cell.status == crate::record::Status::Ok => {
                    format!("{support}: {how}")
                }
                _ => support.clone(),
            };
            settings.entry("strategy".to_owned()).or_default().insert(how);
        }
    }
    settings
}

/// One backend: first what all its executors share, then what is special.
fn block(matrix: &Matrix, backend: &str) -> Option<String> {
    let all: Vec<(&Executor, Settings)> = matrix
        .executors
        .iter()
        .filter(|executor| executor.backend == backend)
        .map(|executor| (executor, settings(matrix, executor)))
        .filter(|(_, settings)| !settings.is_empty())
        .collect();
    let (_, first) = all.first()?;
    let shared: Settings = first
        .iter()
        .filter(|(name, values)| all.iter().all(|(_, other)| other.get(*name) == Some(values)))
        .map(|(name, values)| (name.clone(), values.clone()))
        .collect();
    let mut body = String::new();
    if !shared.is_empty() {
        let _ = writeln!(body, "- all: {}", list(shared.iter()));
    }
    for (executor, settings) in &all {
        let special = settings.iter().filter(|(name, _)| !shared.contains_key(*name));
        let special = list(special);
        if !special.is_empty() {
            let _ = writeln!(body, "- {}: {special}", code(&executor.strategy));
        }
    }
    Some(details(&format!("<code>{}</code>", escape(backend)), &body))
}

/// `name: value` of each setting; several values stand with "or".
fn list<'a>(settings: impl Iterator<Item = (&'a String, &'a BTreeSet<String>)>) -> String {
    let parts: Vec<String> = settings
        .map(|(name, values)| {
            let values: Vec<String> = values.iter().map(|value| escape(value)).collect();
            format!("{}: {}", escape(name), values.join(" or "))
        })
        .collect();
    parts.join("; ")
}
