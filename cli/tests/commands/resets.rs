//! Clean calls that write so many pages: the guest, the command, and what it records.

use crate::command::{Folder, Ran, on_few_engines, touchstone};
use crate::everywhere::everywhere;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use touchstone::case::Guests;
use touchstone::record::{self, Line, Point, Status};
use touchstone_executor::guest::{Growth, HeapPages};
use touchstone_executor::{Abi, Instance, Outcome, TrapKind};

/// Runs `touchstone resets`; what it said, and its records.
fn resets(folder: &Folder, arguments: &[&str]) -> (Ran, Vec<Line>) {
    let records = folder.at("resets.jsonl");
    let ran =
        touchstone(&[&["resets", "--records", records.to_str().unwrap()], arguments].concat());
    (ran, lines(&records))
}

/// The lines of the newest run.
fn lines(records: &Path) -> Vec<Line> {
    let mut runs = record::load(records).map(|loaded| loaded.runs).unwrap_or_default();
    runs.pop().map(|(_, lines)| lines).unwrap_or_default()
}

fn measured(lines: &[Line]) -> Vec<&Point> {
    let points = lines.iter().filter_map(|line| match line {
        Line::Point(point) if point.refused.is_none() => Some(&**point),
        _ => None,
    });
    points.collect()
}

/// The refused points with the reasons.
fn refused(lines: &[Line]) -> Vec<(&Point, Status, &str)> {
    let points = lines.iter().filter_map(|line| match line {
        Line::Point(point) => Some(&**point),
        _ => None,
    });
    points
        .filter_map(|point: &Point| {
            let refused = point.refused.as_ref()?;
            Some((point, refused.status, &*refused.reason))
        })
        .collect()
}

/// The input of the guest: seed, first, pages, region, flags.
fn input(numbers: [u32; 5]) -> Vec<u8> {
    numbers.map(u32::to_le_bytes).concat()
}

fn call(
    instance: &mut dyn Instance,
    export: touchstone_executor::ExportId,
    input: &[u8],
) -> Vec<u8> {
    let mut output = Vec::new();
    let outcome = instance.invoke(export, input, &mut output, None).unwrap();
    assert_eq!(outcome, Outcome::Returned);
    output
}

#[test]
fn the_guest_says_which_pages_are_clean_and_which_were_written() {
    let heap = HeapPages { extra: 32, growth: Growth::Fixed };
    let guest = Guests::built().module("pages", heap).unwrap();
    let numbers = |answer: [u32; 2]| answer.map(u32::to_le_bytes).concat();
    everywhere(&guest, |engine, strategy, module| {
        let name = format!("{engine} {strategy}");
        let export = module.export("write_pages", Abi::Substrate).unwrap();
        let mut instance = module.new_instance().unwrap();
        // 4 looks, 2 is scattered, 1 writes whole pages.
        for flags in 0..4 {
            let writes = input([7, 60, 12, 64, flags]);
            let looks = |first| input([7, first, 12, 64, flags | 4]);
            instance.prepare().unwrap();
            assert_eq!(call(&mut *instance, export, &looks(60)), numbers([12, 12]), "{name}");
            instance.finish().unwrap();
            // Without a reset, the pages of the call before are not clean, and others are.
            instance.prepare().unwrap();
            assert_eq!(call(&mut *instance, export, &writes), [0_u8; 0], "{name}");
            // These two make a new instance for each call.
            if strategy == touchstone_executor::Strategy::INTERPRETED || engine == "substrate" {
                instance.finish().unwrap();
                continue;
            }
            assert_eq!(call(&mut *instance, export, &looks(60)), numbers([0, 12]), "{name}");
            assert_eq!(call(&mut *instance, export, &looks(8)), numbers([12, 12]), "{name}");
            // The region is a ring: 4 of these were written before.
            assert_eq!(call(&mut *instance, export, &looks(56)), numbers([4, 12]), "{name}");
            instance.finish().unwrap();
        }
        // More pages than the region has, a region that is no power of two, and no numbers.
        for wrong in [input([0, 0, 65, 64, 0]), input([0, 0, 1, 48, 0]), Vec::new()] {
            let outcome = instance.call(export, &wrong, &mut Vec::new()).unwrap();
            let kind = outcome.trap().map(|trap| &trap.kind);
            assert_eq!(kind, Some(&TrapKind::Unreachable), "{name}");
        }
    });
}

#[test]
fn every_executor_is_recorded_in_every_process_and_in_the_same_rounds() {
    let folder = Folder::new();
    let few = on_few_engines("instance_reuse_tracked|instance_reuse");
    let options = "--pages 40 --touch page --place scattered --drift tenth --drift all \
                   --processes 2 --rounds 3 --seed 7";
    let options: Vec<&str> = [&*few].into_iter().chain(options.split_whitespace()).collect();
    let (ran, lines) = resets(&folder, &options);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let measured = measured(&lines);
    let places: BTreeSet<_> = measured.iter().map(|point| &point.place).collect();
    let executors: BTreeSet<_> = places.iter().filter_map(|place| place.executor()).collect();
    assert!(!executors.is_empty());
    assert_eq!((places.len(), measured.len()), (2 * executors.len(), 4 * executors.len()));
    for Point { place, process, values, .. } in measured {
        assert_eq!((place.number("pages"), place.number("threads")), (Some(40), Some(1)));
        assert_eq!((place.text("touch"), place.text("place")), (Some("page"), Some("scattered")));
        assert!(place.text("drift") != Some("same") && *process < 2);
        let call = &values["call"];
        assert_eq!(call.0.len(), 3, "{place}");
        assert!(call.0.iter().all(|sample| sample.calls > 0 && sample.total > 0.0));
        assert!(ran.out.contains(&place.executor().unwrap().to_string()), "{}", ran.out);
    }
    let setups = lines.iter().filter(|line| matches!(line, Line::Setup(_))).count();
    assert_eq!(setups, executors.len());
}

#[test]
fn the_strategies_of_one_engine_are_the_default_and_are_compared() {
    let folder = Folder::new();
    let (ran, lines) = resets(&folder, &["--pages", "3", "--processes", "1", "--rounds", "1"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let measured = measured(&lines);
    let executors = || measured.iter().filter_map(|point| point.place.executor());
    let engines: BTreeSet<_> = executors().map(|executor| executor.engine).collect();
    assert_eq!((engines.len(), measured.len() > 1), (1, true));
    assert!(executors().all(|executor| !executor.strategy.is_precompiled()));
    // One round has no interval, so nothing is claimed.
    let words = "one byte of each page, contiguous, the same pages in each call, 1 thread: no \
                 difference found between dropping (`";
    assert!(ran.out.contains(words), "{}", ran.out);
}

#[test]
fn more_threads_than_processors_are_skipped_with_the_reason() {
    let folder = Folder::new();
    let (ran, lines) = resets(
        &folder,
        &[&*on_few_engines("instance_reuse"), "--pages", "1", "--threads", "60000"],
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("skipped: 60000 threads on "), "{}", ran.err);
    let refused = refused(&lines);
    assert!(!refused.is_empty() && refused.len() == lines.len(), "{lines:?}");
    for (point, status, reason) in refused {
        assert_eq!((status, point.place.number("threads")), (Status::Skipped, Some(60_000)));
        assert!(reason.starts_with("60000 threads on "), "{reason}");
    }
}

#[test]
fn a_process_that_takes_too_much_memory_is_ended_and_the_reason_recorded() {
    let folder = Folder::new();
    let reuse = on_few_engines("instance_reuse");
    let options = [&*reuse, "--pages", "16384", "--processes", "1", "--memory", "1"];
    let (ran, lines) = resets(&folder, &options);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let refused = refused(&lines);
    assert!(!refused.is_empty() && refused.len() == lines.len(), "{lines:?}");
    for (_, status, reason) in refused {
        assert_eq!(status, Status::OverBudget);
        assert!(reason.contains("more than 1 MiB"), "{reason}");
    }
}

/// Starts a run and ends it by a signal when it has measured something; the lines that it left.
fn interrupted(records: &Path, options: &[&str], signal: Signal) -> Vec<Line> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_touchstone"))
        .args(["resets", "--records", records.to_str().unwrap()])
        .args(options)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let part = records.with_added_extension("part");
    while measured(&lines(&part)).is_empty() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    kill(pid, signal).unwrap();
    let code = child.wait().unwrap().code();
    assert_eq!(code, (signal == Signal::SIGTERM).then_some(143));
    let left = lines(&part);
    assert!(!measured(&left).is_empty());
    left
}

#[test]
fn an_interrupted_run_keeps_what_it_measured() {
    let folder = Folder::new();
    let records = folder.at("resets.jsonl");
    let old = "{\"kind\":\"run\",";
    std::fs::write(&records, old).unwrap();
    let reuse = on_few_engines("instance_reuse");
    let few = [&*reuse, "--pages", "1", "--processes", "1024", "--rounds", "1"];
    interrupted(&records, &few, Signal::SIGTERM);
    assert_eq!(std::fs::read_to_string(&records).unwrap(), old);
}

#[test]
fn a_killed_run_goes_on_without_a_lost_or_doubled_point() {
    let folder = Folder::new();
    let records = folder.at("resets.jsonl");
    let reuse = on_few_engines("instance_reuse");
    let few = [&*reuse, "--pages", "1", "--processes", "12", "--rounds", "1"];
    let left = interrupted(&records, &few, Signal::SIGKILL);
    let (ran, all) = resets(&folder, &few);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert_eq!(all[..left.len()], left);
    let points: Vec<_> =
        measured(&all).into_iter().map(|point| (&point.place, point.process)).collect();
    let each: BTreeSet<_> = points.iter().collect();
    let places: BTreeSet<_> = points.iter().map(|(place, _)| place).collect();
    assert_eq!((points.len(), each.len()), (12 * places.len(), 12 * places.len()));
    // Another run is not the same one.
    interrupted(&records, &few, Signal::SIGKILL);
    let other = [&*reuse, "--pages", "2", "--processes", "1", "--rounds", "1"];
    let (_, all) = resets(&folder, &other);
    assert!(measured(&all).iter().all(|point| point.place.number("pages") == Some(2)));
}

#[test]
fn what_there_is_not_is_said() {
    let folder = Folder::new();
    for (arguments, reason) in [
        (&["no_such_executor"][..], "no executor matches 'no_such_executor'"),
        (&["--pages", "0"], "0 is not in 1..=16384"),
        (&["--pages", "16385"], "16385 is not in 1..=16384"),
        (&["--pages", "9", "--drift", "tenth"], "a tenth of fewer than 10 pages is no page"),
        (&["--touch", "bit"], "invalid value 'bit' for '--touch <TOUCH>'"),
        (&["--place", "here"], "[possible values: contiguous, scattered]"),
        (&["--threads", "0"], "0 is not in 1..="),
        (&["--rounds", "0"], "0 is not in 1..="),
        (&["--worker"], "--worker is for this program's own use"),
    ] {
        let (ran, lines) = resets(&folder, arguments);
        ran.refused(&[reason]);
        assert_eq!(lines, []);
    }
}
