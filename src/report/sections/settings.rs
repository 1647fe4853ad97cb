//! What was really in force for each executor, probed after loading.

use crate::report::markdown::{code, details, escape};
use crate::report::matrix::{Executor, Matrix};
use crate::report::order::PRECOMPILED;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A setting's name, and all values it had.
type Settings = BTreeMap<String, BTreeSet<String>>;

pub(in crate::report) fn section(matrix: &Matrix) -> String {
    let mut text = String::from("## Effective configuration\n\n");
    let mut blocks = String::new();
    let mut seen: Vec<(&str, String)> = Vec::new();
    for backend in matrix.backends() {
        let Some([common, mut special]) = block(matrix, backend) else { continue };
        match seen.iter().find(|(_, known)| !known.is_empty() && *known == special) {
            Some((same, _)) => special = format!("- strategies: as with {}\n", code(same)),
            None => seen.push((backend, special.clone())),
        }
        let summary = format!("<code>{}</code>", escape(backend));
        blocks.push_str(&details(&summary, &(common + &special)));
    }
    if blocks.is_empty() {
        text.push_str("No record says what was in force.\n\n");
        return text;
    }
    text.push_str(
        "What was found in force after loading, not what was asked for. A \
                   precompiled strategy is set as its twin, but for what is said.\n\n",
    );
    text.push_str(&blocks);
    text
}

/// Everything on record about one executor.
fn settings(matrix: &Matrix, executor: &Executor) -> Settings {
    let mut settings = Settings::new();
    let own = matrix.of(executor);
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

/// What all of some settings agree in.
fn shared<'a>(all: impl Iterator<Item = &'a Settings> + Clone) -> Settings {
    let Some(first) = all.clone().next() else { return Settings::new() };
    first
        .iter()
        .filter(|(name, values)| all.clone().all(|other| other.get(*name) == Some(values)))
        .map(|(name, values)| (name.clone(), values.clone()))
        .collect()
}

/// The settings of `own` that `known` does not say already.
fn beyond(own: &Settings, known: &[&Settings]) -> Settings {
    own.iter()
        .filter(|(name, values)| known.iter().all(|known| known.get(*name) != Some(values)))
        .map(|(name, values)| (name.clone(), values.clone()))
        .collect()
}

/// A backend's settings in two parts: what all its executors share, and what
/// is special. `None` if no record of it says anything.
fn block(matrix: &Matrix, backend: &str) -> Option<[String; 2]> {
    let all: Vec<(&Executor, Settings)> = matrix
        .executors
        .iter()
        .filter(|executor| executor.backend == backend)
        .map(|executor| (executor, settings(matrix, executor)))
        .filter(|(_, settings)| !settings.is_empty())
        .collect();
    all.first()?;
    let common = shared(all.iter().map(|(_, settings)| settings));
    let (stored, fresh): (Vec<_>, Vec<_>) =
        all.iter().partition(|(executor, _)| executor.strategy.ends_with(PRECOMPILED));
    let of = |some: &[&(&Executor, Settings)]| {
        let settings: Vec<&Settings> = some.iter().map(|(_, settings)| settings).collect();
        beyond(&shared(settings.into_iter()), &[&common])
    };
    // With a single kind there is nothing to tell apart.
    let (fresh_common, stored_common) = if stored.is_empty() || fresh.is_empty() {
        (Settings::new(), Settings::new())
    } else {
        (of(&fresh), of(&stored))
    };
    let mut special = String::new();
    let mut line = |name: &str, settings: &Settings| {
        if !settings.is_empty() {
            let _ = writeln!(special, "- {name}: {}", list(settings.iter()));
        }
    };
    line("not precompiled", &fresh_common);
    line("precompiled", &stored_common);
    for (executor, settings) in &fresh {
        line(&code(&executor.strategy), &beyond(settings, &[&common, &fresh_common]));
    }
    for (executor, settings) in &stored {
        let base = executor.base();
        let base = all.iter().find(|(executor, _)| **executor == base).map(|(_, own)| own);
        let known: Vec<&Settings> = [&common, &stored_common].into_iter().chain(base).collect();
        line(&code(&executor.strategy), &beyond(settings, &known));
    }
    let common =
        if common.is_empty() { String::new() } else { format!("- all: {}\n", list(common.iter())) };
    Some([common, special])
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
