//! Refused and published pages.

use super::{EMPTY, Place, assert_has, fixtures};
use fixtures::{Run, cell};
use touchstone_record::Status;
use touchstone_report::{self as report, gate::Closed};

const SCALING: &str = "scaling 6.00 on 2 threads: alpha_instance_reuse, \
                       call_empty_function_from_test_runtime (limit 2.10)";

/// A run in which two threads make six times as many calls as one.
fn odd() -> Place {
    let cells = [
        cell("alpha", "instance_reuse", EMPTY, 1, 300.0),
        cell("alpha", "instance_reuse", EMPTY, 2, 100.0),
    ];
    let mut place = Place::with(&Run::of_cells(cells));
    place.options.draft = false;
    place
}

fn closed(place: &Place) -> Vec<String> {
    let error = report::write(&place.options).unwrap_err();
    assert!(!place.options.page.exists() && !place.options.images.exists());
    error.downcast::<Closed>().unwrap().reasons
}

fn explain(place: &Place, rule: &str, engine: &str) {
    let text = format!(
        "[[explanation]]\nrule = \"{rule}\"\nengine = \"{engine}\"\ntext = \"A | known cause.\"\n"
    );
    std::fs::write(&place.options.explanations, text).unwrap();
}

#[test]
fn nothing_is_written_where_numbers_contradict_each_other() {
    let mut place = odd();
    assert_eq!(closed(&place), [SCALING]);
    assert!(report::check(&place.options).unwrap_err().is::<Closed>());
    place.options.draft = true;
    let readme = place.options.page.with_file_name("README.md");
    place.options.readme = Some(readme.clone());
    let page = place.page();
    assert!(!readme.exists(), "a draft is no result for the README");
    // The result first, the broken rules last and folded.
    let draft = "**Draft: 1 rule of publication is broken**, [listed at the end](#broken-rules).";
    let rules = "## Broken rules\n\n<details><summary>scaling beyond the number of threads: 1\
                 </summary>\n\n- ";
    let places = ["# Benchmark", draft, "## Limits", rules].map(|part| page.find(part).unwrap());
    assert!(places.is_sorted(), "{places:?}");
    let last = format!("- {SCALING}\n\n</details>\n\n<!-- END -->\n");
    assert_has(&page, &last);
}

#[test]
fn an_explanation_stands_beside_the_number() {
    let place = odd();
    explain(&place, "scaling", "alpha");
    let page = place.page();
    assert!(!page.contains("Draft"));
    assert_has(
        &page,
        "| `call_empty_function_from_test_runtime/alpha_instance_reuse/2_threads` | scaling 6.00 on \
         2 threads (limit 2.10) | A \\| known cause. |",
    );
}

#[test]
fn an_explanation_of_no_cell_is_an_error() {
    let place = odd();
    explain(&place, "scaling", "gamma");
    let stale = "an explanation is of no cell of the run: scaling, gamma";
    assert_eq!(closed(&place), [SCALING, stale]);
}

/// With the reason, after what has a result.
#[test]
fn failed_cells_stand_on_the_page() {
    let failed = |engine, status, reason| {
        fixtures::refusal((engine, "pooling"), Some(EMPTY), status, reason)
    };
    let run = Run::of_cells([cell("alpha", "instance_reuse", EMPTY, 1, 300.0)]).and([
        failed("beta", Status::Failed, "its process ended"),
        failed("gamma", Status::Wrong, "expected 0x01, got 0x02"),
        failed("delta", Status::Unsupported, "no pool"),
    ]);
    let page = Place::with(&run).page();
    let (_, section) = page.split_once("## Failed cells\n").unwrap();
    let (section, _) = section.split_once("<!-- END -->").unwrap();
    assert!(section.contains("| failed | `beta` | its process ended |"), "{section}");
    assert!(section.contains("| wrong | `gamma` | expected 0x01, got 0x02 |"), "{section}");
    assert!(!section.contains("no pool"), "{section}");
}
