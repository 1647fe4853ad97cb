//! Findings about isolation beside the times.

use super::{EMPTY, Place, assert_has, cell, records};
use std::collections::BTreeMap;
use touchstone::record::findings::Found;
use touchstone::record::findings::isolation::{
    EngineFound, Isolation, KindName, Other, Row, Verdict,
};

fn other(verdict: Verdict, reason: &str) -> Other {
    Other { verdict, reason: reason.to_owned() }
}

fn row<const N: usize>(strategies: &[&str], others: [(&str, Other); N]) -> Row {
    Row {
        strategies: strategies.iter().map(|&name| name.to_owned()).collect(),
        checks: 100,
        others: others.map(|(kind, other)| (kind.to_owned(), other)).into(),
    }
}

/// Two engines, of which one strategy leaks.
fn findings() -> Isolation {
    let kind = |name: &str, group: &str| KindName {
        name: name.to_owned(),
        group: group.to_owned(),
        what: format!("what {name} is"),
    };
    let refused = || other(Verdict::Refused, "it drops | segments");
    let engine = |name: &str, rows| EngineFound {
        engine: name.to_owned(),
        version: "1".to_owned(),
        baseline: name == "beta",
        rows,
    };
    Isolation {
        kinds: vec![
            kind("memory_low", "memory"),
            kind("memory_high", "memory"),
            kind("segment", "segments"),
        ],
        engines: vec![
            engine(
                "alpha",
                vec![
                    row(&["recreate_instance"], []),
                    row(&["instance_reuse_cow", "pooling_tracked"], [("segment", refused())]),
                    row(
                        &["instance_reuse"],
                        [
                            ("memory_high", other(Verdict::Leaks, "sees 1 of <8> bytes")),
                            ("segment", refused()),
                        ],
                    ),
                ],
            ),
            engine("beta", vec![Row { others: BTreeMap::new(), ..row(&["pooling"], []) }]),
        ],
    }
}

fn page(findings: Option<Isolation>) -> String {
    let place = Place::with(&records([
        cell("alpha", "instance_reuse", EMPTY, 1, 100.0),
        cell("alpha", "recreate_instance", EMPTY, 1, 9000.0),
        cell("gamma", "pooling", EMPTY, 1, 700.0),
    ]));
    if let Some(findings) = findings {
        Found::here(findings).store(&place.options.trust).unwrap();
    }
    place.page()
}

fn section(page: &str) -> &str {
    let from = page.find("## Isolation").unwrap();
    let rest = &page[from..];
    &rest[..rest[3..].find("\n## ").map_or(rest.len(), |end| end + 3)]
}

#[test]
fn executors_with_the_same_findings_share_a_row() {
    let page = page(Some(findings()));
    let section = section(&page);
    assert_has(section, "**1 leak among 500 checks**, of 5 executors");
    assert_has(section, "| Executors | memory | segments |");
    assert_has(section, "| **alpha**: `recreate_instance` | ✓ | ✓ |");
    assert_has(
        section,
        "| **alpha**: `instance_reuse_cow`, `pooling_tracked` | ✓ | r<sup>1</sup> |",
    );
    assert_has(
        section,
        "| **beta** (baseline: code of the host's own process): `pooling` | ✓ | ✓ |",
    );
    assert_has(section, "<sup>1</sup> it drops \\| segments");
    assert_has(section, "| segments | `segment`: what segment is |");
}

#[test]
fn a_leak_stands_beside_the_name_and_is_never_advised() {
    let page = page(Some(findings()));
    let section = section(&page);
    assert_has(
        section,
        "- **Leaks**: `alpha_instance_reuse`, `memory_high`: sees 1 of &lt;8&gt; bytes",
    );
    assert_has(
        section,
        "| **alpha**: `instance_reuse`<br>**† leaks: memory_high** | ✓L<sup>2</sup> |",
    );
    assert_has(
        &page,
        "Not to be chosen, because a call sees what the one before left: `alpha_instance_reuse` † \
         leaks: memory_high.",
    );
    assert_has(&page, "| Fastest clean instance of all | `pooling` 700.0 ns (`gamma`) |");
    assert_has(&page, "| `alpha_instance_reuse` † leaks: memory_high | 100.0 ns |");
}

#[test]
fn without_findings_nothing_is_said() {
    let page = page(None);
    assert!(!page.contains("Isolation") && !page.contains('†'));
    assert_has(&page, "| Fastest clean instance of all | `instance_reuse` 100.0 ns (`alpha`) |");
}
