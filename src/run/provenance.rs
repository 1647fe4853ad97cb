//! The origin of numbers: machine, tools, run.

use crate::case::{Guests, digest};
use crate::files;
use crate::plan::{Plan, cores};
use crate::proc;
use crate::record::verify::Project;
use crate::record::{EngineFacts, Header, Machine, SCHEMA, Sampling, Tools};
use crate::supervise::image;
use anyhow::Result;
use serde::Serialize;
use std::process::Command;
use std::sync::Arc;
use touchstone_executor::adapter::MeasuredEngine;

/// The digests of the built guests, from the top of the project.
const GUEST_DIGESTS: &str = "test-runtime/built/SHA256SUMS";

/// Digits of a SHA-256 that identify what it is of.
const DIGITS: usize = 16;

pub fn header(sampling: Sampling, engines: &[Arc<dyn MeasuredEngine>], plan: &Plan) -> Header {
    let started_at = now();
    let facts = |engine: &Arc<dyn MeasuredEngine>| {
        let facts = EngineFacts {
            version: engine.version().to_owned(),
            execution: engine.execution(),
            executes_like: engine.executes_like().map(str::to_owned),
        };
        (engine.id().to_owned(), facts)
    };
    Header {
        schema: SCHEMA,
        run: format!("{started_at}-{}", std::process::id()),
        started_at,
        machine: machine(),
        tools: tools(),
        sampling,
        engines: engines.iter().map(facts).collect(),
        works: plan.works.clone(),
        ..Header::default()
    }
}

/// First digits of the SHA-256 of a value as JSON. Fails if JSON cannot hold it.
pub fn digest_of(value: &impl Serialize) -> Result<String> {
    Ok(digest(&serde_json::to_vec(value)?)[..DIGITS].to_owned())
}

/// Placeholder for facts that the system does not report.
const UNKNOWN: &str = "unknown";

/// This machine, as described by `/proc` and `/sys`.
pub fn machine() -> Machine {
    let read = |path| proc::read(path).unwrap_or_default();
    let os = field(&read("/etc/os-release"), "PRETTY_NAME", '=');
    let huge_pages = read("/sys/kernel/mm/transparent_hugepage/enabled");
    let cpuinfo = read("/proc/cpuinfo");
    let machine = Machine {
        cpu: processor(&cpuinfo),
        architecture: std::env::consts::ARCH.to_owned(),
        virtualization: virtualization(&cpuinfo).to_owned(),
        id: String::new(),
        cores: cores(),
        siblings: proc::siblings(),
        memory_kib: proc::kib(&read("/proc/meminfo"), "MemTotal").unwrap_or(0),
        kernel: read("/proc/sys/kernel/osrelease"),
        os: os.unwrap_or_else(|| UNKNOWN.to_owned()),
        pagemap_scan: touchstone_executor::memory::pagemap_scan_available(),
        protection_keys: touchstone_executor::memory::protection_keys() > 0,
        huge_pages: proc::huge_pages(&huge_pages).unwrap_or(UNKNOWN).to_owned(),
    };
    Machine { id: machine.identity(), ..machine }
}

/// `vm` if the processor has a hypervisor below it, `none` if not; empty where no flags are listed.
fn virtualization(cpuinfo: &str) -> &'static str {
    match field(cpuinfo, "flags", ':') {
        Some(flags) if flags.split(' ').any(|flag| flag == "hypervisor") => "vm",
        Some(_) => "none",
        None => "",
    }
}

/// The value of a name in a text of `name: value` lines.
fn field(text: &str, name: &str, separator: char) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(separator)?;
        (key.trim() == name).then(|| value.trim().trim_matches('"').to_owned())
    })
}

/// Name of the processor, with family and model if known: a virtual machine may give processors of
/// several generations one name.
fn processor(cpuinfo: &str) -> String {
    let field = |name| field(cpuinfo, name, ':');
    let name = field("model name").unwrap_or_else(|| UNKNOWN.to_owned());
    match (field("cpu family"), field("model")) {
        (Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        _ => name,
    }
}

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

/// First digits of the SHA-256 of this program; empty if it cannot be read.
fn binary() -> String {
    let bytes = std::fs::read(image());
    bytes.map(|bytes| digest(&bytes)[..DIGITS].to_owned()).unwrap_or_default()
}

/// The output of a git command on the clone; `None` if it fails, or there is no git or no clone.
fn git(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    let output = command.arg("-C").arg(files::clone()?).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[derive(Debug, Default)]
pub struct Clone;

impl Project for Clone {
    fn has_guest(&self, sha256: &str, commit: &str) -> bool {
        let lists = |list: String| list.lines().any(|line| line.split(' ').next() == Some(sha256));
        let now = Guests::built().list().is_ok_and(lists);
        now || git(&["show", &format!("{commit}:{GUEST_DIGESTS}")]).is_some_and(lists)
    }

    fn has_commit(&self, commit: &str) -> bool {
        // Without a history, nobody can tell.
        git(&["rev-parse", "--is-shallow-repository"]).is_none_or(|is_shallow| is_shallow == "true")
            || git(&["merge-base", "--is-ancestor", commit, "HEAD"]).is_some()
    }
}

/// The commit of the working tree, or that of an installed program. Changed records and generated
/// reports do not count as changes.
fn commit() -> String {
    let Some(head) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return files::commit().unwrap_or(UNKNOWN).to_owned();
    };
    let others = ["records", "image", "BENCHMARK.md", "benchmark", "README.md"];
    let others = others.map(|path| format!(":(exclude,top){path}"));
    let others = others.iter().map(String::as_str);
    let status: Vec<&str> =
        ["status", "--porcelain", "--", ":/"].into_iter().chain(others).collect();
    match git(&status).as_deref() {
        Some("") => head,
        _ => format!("{head}-dirty"),
    }
}

pub fn now() -> String {
    jiff::Timestamp::from_second(jiff::Timestamp::now().as_second()).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_has_its_generation() {
        let lines = "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n";
        assert_eq!(processor(lines), "AMD EPYC (family 25, model 17)");
        assert_eq!(processor("model name : Fast\nBogoMIPS : 50"), "Fast");
        assert_eq!(processor(""), UNKNOWN);
        assert_eq!(virtualization("flags\t\t: fpu hypervisor lahf_lm\n"), "vm");
        assert_eq!((virtualization("flags : fpu\n"), virtualization("")), ("none", ""));
    }
}
