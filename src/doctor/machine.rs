//! Processors, their frequency, and what the kernel offers.

use super::Finding;
use crate::plan::cores;
use crate::proc::{self, read};
use touchstone_executor::memory::{faults_are_logged, pagemap_scan_available, protection_keys};

const CPU: &str = "/sys/devices/system/cpu";

pub(super) fn findings(load: Option<f64>) -> Vec<Finding> {
    vec![
        topology(&proc::siblings()),
        governor(read(&format!("{CPU}/cpu0/cpufreq/scaling_governor")).as_deref()),
        turbo(
            read(&format!("{CPU}/intel_pstate/no_turbo")).as_deref(),
            read(&format!("{CPU}/cpufreq/boost")).as_deref(),
        ),
        self::load(load),
        pagemap_scan(pagemap_scan_available()),
        fault_log(faults_are_logged()),
        keys(protection_keys()),
        huge_pages(read("/sys/kernel/mm/transparent_hugepage/enabled").as_deref()),
        counters(
            std::path::Path::new("/sys/bus/event_source/devices/cpu").exists(),
            read("/proc/sys/kernel/perf_event_paranoid").and_then(|text| text.parse().ok()),
        ),
    ]
}

fn topology(siblings: &[String]) -> Finding {
    const NAME: &str = "cores";
    let count = cores();
    let mut groups = siblings.to_vec();
    groups.sort();
    groups.dedup();
    if groups.is_empty() {
        return Finding::missing(
            NAME,
            format!("{count} processors, hardware threads unknown"),
            "mount /sys to see which processors share a core",
        );
    }
    let value = format!("{} processors on {} cores", siblings.len(), groups.len());
    match groups.len() == siblings.len() {
        true => Finding::good(NAME, value),
        false => Finding::warning(
            NAME,
            format!("{value} (SMT siblings: {})", groups.join(" ")),
            "threads on siblings share a core: measure with fewer threads than cores, or switch \
             SMT off (/sys/devices/system/cpu/smt/control)",
        ),
    }
}

fn governor(found: Option<&str>) -> Finding {
    const NAME: &str = "frequency governor";
    match found {
        Some("performance") => Finding::good(NAME, "performance"),
        Some(other) => Finding::warning(
            NAME,
            other,
            "clock rates change with the load: cpupower frequency-set --governor performance",
        ),
        None => Finding::missing(
            NAME,
            "not visible",
            "the kernel or the hypervisor hides it: compare in turns, as bench and compare do",
        ),
    }
}

fn turbo(no_turbo: Option<&str>, boost: Option<&str>) -> Finding {
    const NAME: &str = "turbo";
    match (no_turbo, boost) {
        (Some("1"), _) | (None, Some("0")) => Finding::good(NAME, "off"),
        (None, None) => Finding::missing(
            NAME,
            "not visible",
            "the kernel or the hypervisor hides it: compare in turns, as bench and compare do",
        ),
        _ => Finding::warning(
            NAME,
            "on",
            "the clock rate depends on temperature and other cores: write 1 to intel_pstate/no_turbo or 0 \
             to cpufreq/boost, below /sys/devices/system/cpu",
        ),
    }
}

fn load(load: Option<f64>) -> Finding {
    const NAME: &str = "load";
    match load {
        Some(load) if load < 0.5 => Finding::good(NAME, format!("{load:.2} in the last minute")),
        Some(load) => Finding::warning(
            NAME,
            format!("{load:.2} in the last minute"),
            "other programs run: end them before a measurement",
        ),
        None => Finding::missing(NAME, "unknown", "mount /proc"),
    }
}

fn pagemap_scan(is_there: bool) -> Finding {
    const NAME: &str = "PAGEMAP_SCAN";
    match is_there {
        true => Finding::good(NAME, "available"),
        false => Finding::missing(
            NAME,
            "not available",
            "resident, gated and auto strategies are refused: use Linux 6.7 or newer",
        ),
    }
}

fn fault_log(is_there: bool) -> Finding {
    const NAME: &str = "log of page faults";
    match is_there {
        true => Finding::good(NAME, "available"),
        false => Finding::missing(
            NAME,
            "not available",
            "resets of gated and auto strategies make a system call each: set \
             kernel.perf_event_paranoid to 1, give the process CAP_PERFMON, or lift the sandbox's \
             rule for perf_event_open",
        ),
    }
}

fn keys(count: usize) -> Finding {
    const NAME: &str = "protection keys";
    match count {
        0 => Finding::missing(
            NAME,
            "not available",
            "each call in which compiled code of WasmEdge grows its memory makes two calls of \
             mprotect: use a processor with PKU that the hypervisor does not hide",
        ),
        count => Finding::good(NAME, format!("{count} taken")),
    }
}

fn huge_pages(found: Option<&str>) -> Finding {
    const NAME: &str = "transparent huge pages";
    match found.and_then(proc::huge_pages) {
        Some("always") => Finding::warning(
            NAME,
            "always",
            "a first write may clear 2 MiB: write madvise to \
             /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        Some(other) => Finding::good(NAME, other),
        None => Finding::missing(NAME, "unknown", "mount /sys"),
    }
}

/// Hardware counters, for profilers; Touchstone's own numbers do not need them.
fn counters(has_device: bool, paranoid: Option<i32>) -> Finding {
    const NAME: &str = "performance counters";
    match (has_device, paranoid) {
        (true, Some(level)) if level <= 2 => {
            Finding::good(NAME, format!("available (perf_event_paranoid {level})"))
        }
        (true, level) => Finding::warning(
            NAME,
            level.map_or("unknown".to_owned(), |level| format!("perf_event_paranoid {level}")),
            "profilers cannot count: sysctl kernel.perf_event_paranoid=2",
        ),
        (false, _) => Finding::missing(
            NAME,
            "this machine has none",
            "profilers cannot count cycles: a hypervisor has to pass the counters on",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict::{Good, Missing, Warning};
    use super::*;

    #[test]
    fn files_of_the_kernel_are_judged() {
        let lists =
            |all: &[&str]| topology(&all.iter().map(ToString::to_string).collect::<Vec<_>>());
        for (found, verdict) in [
            (lists(&["0", "1"]), Good),
            (lists(&["0-1", "0-1"]), Warning),
            (lists(&[]), Missing),
            (governor(Some("performance")), Good),
            (governor(Some("powersave")), Warning),
            (turbo(Some("1"), None), Good),
            (turbo(None, Some("0")), Good),
            (turbo(None, Some("1")), Warning),
            (turbo(None, None), Missing),
            (load(Some(0.1)), Good),
            (load(Some(2.0)), Warning),
            (huge_pages(Some("always [madvise] never")), Good),
            (huge_pages(Some("[always] madvise never")), Warning),
            (counters(true, Some(2)), Good),
            (counters(true, Some(4)), Warning),
            (counters(false, None), Missing),
            (pagemap_scan(false), Missing),
            (fault_log(true), Good),
            (fault_log(false), Missing),
            (keys(4), Good),
            (keys(0), Missing),
        ] {
            assert_eq!(found.verdict, verdict, "{found:?}");
        }
    }
}
