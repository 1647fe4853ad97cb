//! What was really in force for each executor, probed after loading.

use crate::record::Book;
use crate::report::markdown::{code, details, escape};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use touchstone_executor::Strategy;

/// The strategies under which a setting has a value; the values on several guests are one.
type Settings<'a> = BTreeMap<&'a str, BTreeMap<Strategy, BTreeSet<&'a str>>>;

pub(in crate::report) fn section(book: &Book) -> String {
    let mut engines: BTreeMap<&str, (Settings<'_>, BTreeSet<Strategy>)> = BTreeMap::new();
    for ((executor, _), setup) in &book.setups {
        let (settings, strategies) = engines.entry(&executor.engine).or_default();
        strategies.insert(executor.strategy);
        let emulated = setup.emulated.as_deref().unwrap_or("by the runtime itself");
        let effective = setup.effective.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in effective.chain([("strategy", emulated)]) {
            let values = settings.entry(name).or_default().entry(executor.strategy).or_default();
            values.insert(value);
        }
    }
    if engines.is_empty() {
        return "## Effective configuration\n\nThe run does not say what was in force.\n\n"
            .to_owned();
    }
    let blocks: String = engines
        .iter()
        .map(|(engine, (settings, strategies))| {
            let summary = format!("<code>{}</code>", escape(engine));
            details(&summary, &block(settings, strategies))
        })
        .collect();
    format!(
        "## Effective configuration\n\nWhat was found in force after loading, not what was asked \
         for. A value without strategies is the same under all of them.\n\n{blocks}"
    )
}

/// The settings of an engine: each value once, with the strategies that have it.
fn block(settings: &Settings<'_>, strategies: &BTreeSet<Strategy>) -> String {
    let mut text = String::new();
    for (name, by_strategy) in settings {
        let mut values: BTreeMap<String, Vec<Strategy>> = BTreeMap::new();
        for (strategy, own) in by_strategy {
            let own: Vec<String> = own.iter().map(|value| escape(value)).collect();
            values.entry(own.join(" or ")).or_default().push(*strategy);
        }
        let _ = write!(text, "- {}:", escape(name));
        match values.iter().next() {
            Some((value, own)) if values.len() == 1 && own.len() == strategies.len() => {
                let _ = writeln!(text, " {value}");
            }
            _ => {
                text.push('\n');
                for (value, own) in values {
                    let _ = writeln!(text, "  - {value}: {}", list(&own, strategies));
                }
            }
        }
    }
    text
}

/// Some of an engine's strategies; a precompiled variant beside its base is not repeated.
fn list(own: &[Strategy], all: &BTreeSet<Strategy>) -> String {
    let is_with_base = |strategy: &Strategy| {
        let variant = strategy.precompiled();
        !all.contains(&variant) || own.contains(&variant)
    };
    let names: Vec<String> = own
        .iter()
        .filter(|strategy| !(strategy.is_precompiled() && own.contains(&strategy.base())))
        .map(|strategy| {
            let name = code(&strategy.to_string());
            if strategy.is_precompiled() || is_with_base(strategy) {
                name
            } else {
                format!("{name} (not precompiled)")
            }
        })
        .collect();
    names.join(", ")
}
