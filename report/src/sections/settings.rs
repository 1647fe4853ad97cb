//! The effective settings of each executor, probed after loading.

use crate::markdown::{code, details, markdown};
use crate::units::joined;
use std::collections::{BTreeMap, BTreeSet};
use touchstone_executor::Strategy;
use touchstone_record::Book;
use touchstone_record::escape::html;

/// For each setting, each value with the strategies that have it on some guest.
type Settings = BTreeMap<String, BTreeMap<String, BTreeSet<Strategy>>>;

pub(crate) fn section(book: &Book) -> String {
    let mut engines: BTreeMap<&str, Settings> = BTreeMap::new();
    for ((executor, _), setup) in &book.setups {
        let settings = engines.entry(&executor.engine).or_default();
        let emulated = setup.emulated.as_deref().unwrap_or("by the runtime itself");
        let effective = setup.effective.iter();
        let effective = effective.filter_map(|(name, value)| Some((&**name, value.as_deref()?)));
        for (name, value) in effective.chain([("strategy", emulated)]) {
            let values = settings.entry(markdown(name)).or_default();
            values.entry(markdown(value)).or_default().insert(executor.strategy);
        }
    }
    if engines.is_empty() {
        return "## Effective configuration\n\nThe run does not say what was in force.\n\n"
            .to_owned();
    }
    let blocks: String = by_engines(&engines)
        .into_iter()
        .map(|(engines, settings)| {
            let names = engines.iter().map(|engine| format!("<code>{}</code>", html(engine)));
            details(&joined(names, ", "), &settings.concat())
        })
        .collect();
    format!(
        "## Effective configuration\n\nSettings found in force after loading, not those that were asked for. Settings that several engines share stand once, below the names of all of them. A \
         value without strategies is the same under all of them. A strategy with two values has \
         them on different guests.\n\n{blocks}"
    )
}

/// The settings, each once with all engines that have it: those of the most engines first.
fn by_engines<'a>(engines: &BTreeMap<&'a str, Settings>) -> Vec<(Vec<&'a str>, Vec<String>)> {
    let mut sharing: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (engine, settings) in engines {
        for (name, values) in settings {
            sharing.entry(bullet(name, values)).or_default().push(engine);
        }
    }
    let mut blocks: BTreeMap<Vec<&str>, Vec<String>> = BTreeMap::new();
    for (setting, engines) in sharing {
        blocks.entry(engines).or_default().push(setting);
    }
    let mut blocks: Vec<_> = blocks.into_iter().collect();
    blocks.sort_by_key(|(engines, _)| std::cmp::Reverse(engines.len()));
    blocks
}

/// A setting of an engine: each value once, with the strategies that have it where there are
/// several.
fn bullet(name: &str, values: &BTreeMap<String, BTreeSet<Strategy>>) -> String {
    if let Some((value, _)) = values.first_key_value().filter(|_| values.len() == 1) {
        return format!("- {name}: {value}\n");
    }
    let values = values.iter().map(|(value, strategies)| {
        format!("  - {value}: {}\n", joined(strategies.iter().map(code), ", "))
    });
    format!("- {name}:\n{}", values.collect::<String>())
}
