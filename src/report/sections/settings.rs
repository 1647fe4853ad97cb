//! What was really in force for each executor, probed after loading.

use crate::record::Book;
use crate::report::markdown::{code, details, escape};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use touchstone_executor::Strategy;

/// For each setting, each value with the strategies that have it on some guest.
type Settings = BTreeMap<String, BTreeMap<String, BTreeSet<Strategy>>>;

pub(in crate::report) fn section(book: &Book) -> String {
    let mut engines: BTreeMap<&str, Settings> = BTreeMap::new();
    for ((executor, _), setup) in &book.setups {
        let settings = engines.entry(&executor.engine).or_default();
        let emulated = setup.emulated.as_deref().unwrap_or("by the runtime itself");
        let effective = setup.effective.iter();
        let effective = effective.filter_map(|(name, value)| Some((&**name, value.as_deref()?)));
        for (name, value) in effective.chain([("strategy", emulated)]) {
            let values = settings.entry(escape(name)).or_default();
            values.entry(escape(value)).or_default().insert(executor.strategy);
        }
    }
    if engines.is_empty() {
        return "## Effective configuration\n\nThe run does not say what was in force.\n\n"
            .to_owned();
    }
    let block = |(engine, settings): (&&str, &Settings)| {
        details(&format!("<code>{}</code>", escape(engine)), &block(settings))
    };
    let blocks: String = engines.iter().map(block).collect();
    format!(
        "## Effective configuration\n\nWhat was found in force after loading, not what was asked \
         for. A value without strategies is the same under all of them; a strategy with two \
         values has them on different guests.\n\n{blocks}"
    )
}

/// The settings of an engine: each value once, with the strategies that have it where
/// there are several.
fn block(settings: &Settings) -> String {
    let mut text = String::new();
    for (name, values) in settings {
        let only = values.first_key_value().filter(|_| values.len() == 1);
        if let Some((value, _)) = only {
            let _ = writeln!(text, "- {name}: {value}");
            continue;
        }
        let _ = writeln!(text, "- {name}:");
        for (value, strategies) in values {
            let names: Vec<String> = strategies.iter().map(code).collect();
            let _ = writeln!(text, "  - {value}: {}", names.join(", "));
        }
    }
    text
}
