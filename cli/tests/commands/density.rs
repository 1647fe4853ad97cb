//! Live instances: the command, and what it records.

use crate::command::{Folder, Ran, on_few_engines, touchstone};
use touchstone::record::{self, Line, Status};
use touchstone_executor::InstanceFrom;

/// Runs `touchstone density`; what it said, and its records.
fn density(folder: &Folder, arguments: &[&str]) -> (Ran, Vec<Line>) {
    let records = folder.at("density.jsonl");
    let ran =
        touchstone(&[&["density", "--records", records.to_str().unwrap()], arguments].concat());
    let mut runs = record::load(&records).map(|loaded| loaded.runs).unwrap_or_default();
    (ran, runs.pop().map(|(_, lines)| lines).unwrap_or_default())
}

#[test]
fn each_number_of_instances_of_each_executor_is_recorded() {
    let folder = Folder::new();
    let case = "call_empty_function_with_32_pages";
    let few = on_few_engines("instance_reuse_tracked|pooling_tracked|recreate_instance");
    let counts = [&*few, "--case", case, "--instances", "1", "--instances", "5"];
    let (ran, lines) = density(&folder, &[&counts[..], &["--seed", "7"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!lines.is_empty() && lines.len() % 2 == 0, "{}", ran.out);
    for (index, line) in lines.iter().enumerate() {
        let Line::Point(point) = line else { panic!("{line:?}") };
        let (place, instances) = (&point.place, [1, 5][index % 2]);
        assert_eq!((place.number("instances"), place.text("case")), (Some(instances), Some(case)));
        let value = |name: &str| point.values[name].0[0].total as u64;
        assert_eq!((value("making.calls"), value("first_calls.calls")), (instances, instances));
        let executor = place.executor().unwrap();
        // Only new instances can take so long that fewer calls are made.
        let least = match executor.strategy.instance {
            InstanceFrom::Recreate => 1_000,
            _ => 20_000,
        };
        assert!((least..=20_000).contains(&value("calls.calls")), "{point:?}");
        assert!(!executor.strategy.is_precompiled());
        for now in ["before", "idle", "used"] {
            let part = |part: &str| value(&format!("{now}.{part}"));
            assert!(part("pss_kib") > 0 && part("rss_kib") >= part("pss_kib"), "{point:?}");
            assert!(part("mappings") > 0, "{point:?}");
        }
        assert!(ran.out.contains(&executor.to_string()), "{}", ran.out);
    }
}

#[test]
fn a_process_that_takes_too_much_is_ended_and_larger_numbers_are_left_out() {
    let folder = Folder::new();
    // More than can be made before the memory is looked at for the first time.
    let many = ["--instances", "900000", "--instances", "1000000", "--memory", "1"];
    let (ran, lines) = density(&folder, &many);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!lines.is_empty());
    for line in lines {
        let Line::Point(point) = line else { panic!("{line:?}") };
        assert_eq!(point.place.number("instances"), Some(900_000));
        let refused = point.refused.unwrap();
        assert_eq!(refused.status, Status::OverBudget);
        assert_eq!(refused.reason, "they take more than 1 MiB");
    }
}

#[test]
fn what_there_is_not_is_said() {
    let folder = Folder::new();
    for (arguments, reason) in [
        (&["--case", "no_such_case"][..], "there is no case 'no_such_case'"),
        (
            &["--case", "call_empty_function", "--case", "call_empty_functon"],
            "there is no case 'call_empty_functon'; near: call_empty_function",
        ),
        (&["no_such_executor"], "no executor matches 'no_such_executor'"),
        (&["--instances", "0"], "0 is not in 1..="),
        (&["--worker"], "--worker is for this program's own use"),
    ] {
        let (ran, lines) = density(&folder, arguments);
        ran.refused(&[reason]);
        assert_eq!(lines, []);
    }
}
