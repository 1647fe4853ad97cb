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

/// The value and the advice where the frequency is hidden.
const HIDDEN: (&str, &str) = (
    "not visible",
    "the kernel or the hypervisor hides it: compare in turns, as bench and compare do",
);

fn topology(siblings: &[String]) -> Finding {
    let mut groups = siblings.to_vec();
    groups.sort();
    groups.dedup();
    let unknown = format!("{} processors, hardware threads unknown", cores());
    let missing = (unknown.as_str(), "mount /sys to see which processors share a core");
    let advice = "threads on siblings share a core: measure with fewer threads than cores, or \
                  switch SMT off (/sys/devices/system/cpu/smt/control)";
    Finding::new("cores", (!groups.is_empty()).then_some(groups), missing, |groups| {
        let value = format!("{} processors on {} cores", siblings.len(), groups.len());
        match groups.len() == siblings.len() {
            true => (value, None),
            false => (format!("{value} (SMT siblings: {})", groups.join(" ")), Some(advice)),
        }
    })
}

fn governor(found: Option<&str>) -> Finding {
    let advice = "clock rates change with the load: cpupower frequency-set --governor performance";
    Finding::new("frequency governor", found, HIDDEN, |found| {
        (found, (found != "performance").then_some(advice))
    })
}

fn turbo(no_turbo: Option<&str>, boost: Option<&str>) -> Finding {
    let is_off = matches!((no_turbo, boost), (Some("1"), _) | (None, Some("0")));
    let advice = "the clock rate depends on temperature and other cores: write 1 to \
                  intel_pstate/no_turbo or 0 to cpufreq/boost, below /sys/devices/system/cpu";
    Finding::new("turbo", no_turbo.or(boost), HIDDEN, |_| {
        if is_off { ("off", None) } else { ("on", Some(advice)) }
    })
}

fn load(load: Option<f64>) -> Finding {
    let advice = "other programs run: end them before a measurement";
    Finding::new("load", load, ("unknown", "mount /proc"), |load| {
        (format!("{load:.2} in the last minute"), (load >= 0.5).then_some(advice))
    })
}

/// A feature of the kernel or the processor.
fn feature(name: &'static str, found: Option<String>, advice: &'static str) -> Finding {
    Finding::new(name, found, ("not available", advice), |found| (found, None))
}

fn pagemap_scan(is_there: bool) -> Finding {
    let advice = "resident and gated strategies are refused: use Linux 6.7 or newer";
    feature("PAGEMAP_SCAN", is_there.then(|| "available".to_owned()), advice)
}

fn fault_log(is_there: bool) -> Finding {
    let advice = "resets of gated strategies make a system call each: set \
                  kernel.perf_event_paranoid to 1, give the process CAP_PERFMON, or lift the \
                  sandbox's rule for perf_event_open";
    feature("log of page faults", is_there.then(|| "available".to_owned()), advice)
}

fn keys(count: usize) -> Finding {
    let advice = "each call in which compiled code of WasmEdge grows its memory makes two calls of \
                  mprotect: use a processor with PKU that the hypervisor does not hide";
    feature("protection keys", (count > 0).then(|| format!("{count} taken")), advice)
}

fn huge_pages(found: Option<&str>) -> Finding {
    let advice = "a first write may clear 2 MiB: write madvise to \
                  /sys/kernel/mm/transparent_hugepage/enabled";
    let found = found.and_then(proc::huge_pages);
    Finding::new("transparent huge pages", found, ("unknown", "mount /sys"), |found| {
        (found, (found == "always").then_some(advice))
    })
}

/// Hardware counters, for profilers; Touchstone's own numbers do not need them.
fn counters(has_device: bool, paranoid: Option<i32>) -> Finding {
    let missing = (
        "this machine has none",
        "profilers cannot count cycles: a hypervisor has to pass the counters on",
    );
    let advice = "profilers cannot count: sysctl kernel.perf_event_paranoid=2";
    Finding::new("performance counters", has_device.then_some(paranoid), missing, |paranoid| {
        match paranoid {
            Some(level @ ..=2) => (format!("available (perf_event_paranoid {level})"), None),
            Some(level) => (format!("perf_event_paranoid {level}"), Some(advice)),
            None => ("unknown".to_owned(), Some(advice)),
        }
    })
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
