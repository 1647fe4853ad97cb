//! Where numbers come from: the machine, the tools, the run.

use crate::record::{Machine, Provenance, SCHEMA, Sampling, Tools};
use crate::session::cores;
use std::process::Command;

/// The provenance of a run that begins now; `recorded_at` is to be set anew for
/// each record.
#[must_use]
pub fn of_this_run(sampling: Sampling) -> Provenance {
    let now = now();
    Provenance {
        schema: SCHEMA,
        run: format!("{now}-{}", std::process::id()),
        recorded_at: now,
        machine: machine(),
        tools: tools(),
        sampling,
    }
}

/// The machine this runs on, as far as `/proc` and `/sys` tell.
#[must_use]
pub fn machine() -> Machine {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str, separator: char| {
        text.lines()
            .find_map(|line| {
                let (key, value) = line.split_once(separator)?;
                (key.trim() == name).then(|| value.trim().trim_matches('"').to_owned())
            })
            .unwrap_or_else(|| "unknown".to_owned())
    };
    let huge_pages = read("/sys/kernel/mm/transparent_hugepage/enabled");
    let in_force = huge_pages.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    Machine {
        cpu: field(&read("/proc/cpuinfo"), "model name", ':'),
        cores: cores(),
        memory_kib: field(&read("/proc/meminfo"), "MemTotal", ':')
            .trim_end_matches(" kB")
            .parse()
            .unwrap_or(0),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        os: field(&read("/etc/os-release"), "PRETTY_NAME", '='),
        pagemap_scan: touchstone_executor::memory::pagemap_scan_available(),
        huge_pages: in_force.map_or("unknown", |(mode, _)| mode).to_owned(),
    }
}

/// What built this binary.
#[must_use]
pub fn tools() -> Tools {
    Tools {
        touchstone: env!("CARGO_PKG_VERSION").to_owned(),
        rustc: env!("TOUCHSTONE_RUSTC").to_owned(),
        profile: format!(
            "opt-level {}, no LTO, {}",
            env!("TOUCHSTONE_OPT_LEVEL"),
            if cfg!(debug_assertions) { "debug assertions on" } else { "debug assertions off" }
        ),
        commit: commit(),
        binary: binary(),
    }
}

/// First digits of this program's SHA-256; empty where it cannot read itself.
fn binary() -> String {
    let bytes = std::env::current_exe().and_then(std::fs::read);
    bytes.map(|bytes| crate::guests::digest(&bytes)[..16].to_owned()).unwrap_or_default()
}

/// The commit of the working tree. What a run itself writes (records, page,
/// charts) does not make the tree a changed one.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(env!("CARGO_MANIFEST_DIR"))
            .args(arguments)
            .output()
            .ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(head) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return "unknown".to_owned();
    };
    let changed = git(&[
        "status",
        "--porcelain",
        "--",
        ":/",
        ":(exclude,top)records",
        ":(exclude,top)image",
        ":(exclude,top)BENCHMARK.md",
    ]);
    match changed.as_deref() {
        Some("") => head,
        _ => format!("{head}-dirty"),
    }
}

/// Now, as RFC 3339 in UTC, to the second.
#[must_use]
pub fn now() -> String {
    jiff::Timestamp::from_second(jiff::Timestamp::now().as_second()).unwrap_or_default().to_string()
}
