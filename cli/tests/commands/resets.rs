//! Clean calls that write so many pages: the guest, the command, and what it records.

use crate::command::{Folder, Ran, touchstone};
use crate::everywhere::everywhere;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use touchstone::case::Guests;
use touchstone::record::{self, Drift, Line, Place, Reset, Status, Touch};
use touchstone_executor::abi::Abi;
use touchstone_executor::guest::{Growth, HeapPages};
use touchstone_executor::{Instance, Outcome, TrapKind};

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

fn measured(lines: &[Line]) -> Vec<&Reset> {
    let mut resets = Vec::new();
    for line in lines {
        if let Line::Reset(reset) = line {
            resets.push(&**reset);
        }
    }
    resets
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
    let outcome = instance.invoke(export, input, &mut output).unwrap();
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
            if strategy == touchstone_executor::Strategy::INTERPRETED {
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
    let few = "_(instance_reuse_tracked|instance_reuse)$";
    let options = "--pages 40 --touch page --place scattered --drift tenth --drift all \
                   --processes 2 --rounds 3 --seed 7";
    let options: Vec<&str> = [few].into_iter().chain(options.split_whitespace()).collect();
    let (ran, lines) = resets(&folder, &options);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let measured = measured(&lines);
    let keys: BTreeSet<_> = measured.iter().map(|reset| &reset.key).collect();
    let executors: BTreeSet<_> = keys.iter().map(|key| &key.executor).collect();
    assert!(!executors.is_empty());
    assert_eq!((keys.len(), measured.len()), (2 * executors.len(), 4 * executors.len()));
    for Reset { key, process, call } in measured {
        let point = key.point;
        assert_eq!((point.pages, point.threads), (40, 1));
        assert_eq!((point.touch, point.place), (Touch::Page, Place::Scattered));
        assert!(point.drift != Drift::Same && *process < 2);
        assert_eq!(call.0.len(), 3, "{key:?}");
        assert!(call.0.iter().all(|sample| sample.calls > 0 && sample.total > 0.0));
        assert!(ran.out.contains(&key.executor.to_string()), "{}", ran.out);
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
    let engines: BTreeSet<_> = measured.iter().map(|reset| &reset.key.executor.engine).collect();
    assert_eq!((engines.len(), measured.len() > 1), (1, true));
    assert!(measured.iter().all(|reset| !reset.key.executor.strategy.is_precompiled()));
    // One round has no interval, so nothing is claimed.
    let words = "one byte of each page, contiguous, the same pages in each call, 1 thread: no \
                 difference found between dropping (`";
    assert!(ran.out.contains(words), "{}", ran.out);
}

#[test]
fn more_threads_than_processors_are_skipped_with_the_reason() {
    let folder = Folder::new();
    let (ran, lines) = resets(&folder, &["_instance_reuse$", "--pages", "1", "--threads", "60000"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("skipped: 60000 threads on "), "{}", ran.err);
    assert!(!lines.is_empty());
    for line in lines {
        let Line::Refusal(refusal) = line else { panic!("{line:?}") };
        assert_eq!((refusal.status, refusal.threads), (Status::Skipped, Some(60_000)));
    }
}

#[test]
fn a_process_that_takes_too_much_memory_is_ended_and_the_reason_recorded() {
    let folder = Folder::new();
    let options = ["_instance_reuse$", "--pages", "16384", "--processes", "1", "--memory", "1"];
    let (ran, lines) = resets(&folder, &options);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!lines.is_empty());
    for line in lines {
        let Line::Refusal(refusal) = line else { panic!("{line:?}") };
        assert_eq!(refusal.status, Status::OverBudget);
        assert!(refusal.reason.contains("more than 1 MiB"), "{}", refusal.reason);
    }
}

#[test]
fn an_interrupted_run_keeps_what_it_measured() {
    let folder = Folder::new();
    let records = folder.at("resets.jsonl");
    std::fs::write(&records, "the old ones").unwrap();
    let few = ["_instance_reuse$", "--pages", "1", "--processes", "1024", "--rounds", "1"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_touchstone"))
        .args(["resets", "--records", records.to_str().unwrap()])
        .args(few)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let part = folder.at("resets.jsonl.part");
    while measured(&lines(&part)).is_empty() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(!measured(&lines(&part)).is_empty());
    assert_eq!(std::fs::read_to_string(&records).unwrap(), "the old ones");
}

#[test]
fn what_there_is_not_is_said() {
    let folder = Folder::new();
    for (arguments, reason) in [
        (&["no_such_executor"][..], "no executor matches 'no_such_executor'"),
        (&["--pages", "0"], "a call writes 1 to 16384 pages of 4 KiB, and not 0"),
        (&["--pages", "16385"], "a call writes 1 to 16384 pages of 4 KiB, and not 16385"),
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
