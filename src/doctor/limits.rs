//! Limits of memory: mappings, control groups, resource limits.

use super::Finding;
use crate::proc::read;
use rustix::process::{Resource, getrlimit};
use std::path::Path;

/// Mappings that many live instances need (`make density`).
const MAPPINGS: u64 = 262_144;
/// Memory that a full run needs, bytes.
const NEEDED: u64 = 4 << 30;

pub(super) fn findings() -> Vec<Finding> {
    let mappings = read("/proc/sys/vm/max_map_count").and_then(|text| text.parse().ok());
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    vec![
        self::mappings(mappings),
        control_group(group_limit(&groups, Path::new("/sys/fs/cgroup"))),
        address_space(getrlimit(Resource::As).current),
    ]
}

fn mappings(most: Option<u64>) -> Finding {
    let advice = "thousands of live instances run out of mappings: sysctl vm.max_map_count=1048576";
    Finding::new("vm.max_map_count", most, ("unknown", "mount /proc"), |most| {
        (most.to_string(), (most < MAPPINGS).then_some(advice))
    })
}

/// The smallest memory limit of this process's control group and those above it, bytes.
fn group_limit(groups: &str, root: &Path) -> Option<u64> {
    let mut least = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (root, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            "memory" => (root.join("memory"), "memory.limit_in_bytes"),
            _ => continue,
        };
        let below = root.join(group.trim_start_matches('/'));
        for folder in below.ancestors().take_while(|folder| folder.starts_with(&root)) {
            let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
            // `max`, or more than any machine has, is no limit.
            let limit = text.trim().parse().ok().filter(|limit: &u64| *limit < 1 << 60);
            least = [least, limit].into_iter().flatten().min();
        }
    }
    least
}

fn control_group(limit: Option<u64>) -> Finding {
    let is_low = limit.is_some_and(|limit| limit < NEEDED);
    let advice = "large guests and pools may be killed: raise the limit of the container to 4 GiB";
    limited("memory limit of the control group", limit, is_low.then_some(advice))
}

fn address_space(limit: Option<u64>) -> Finding {
    let advice = "runtimes reserve gigabytes for each memory: ulimit -v unlimited";
    limited("limit of the address space", limit, limit.map(|_| advice))
}

fn limited(name: &'static str, limit: Option<u64>, advice: Option<&'static str>) -> Finding {
    let value = limit.map_or("none".to_owned(), |bytes| format!("{} MiB", bytes >> 20));
    Finding::new(name, Some(value), ("", ""), |value| (value, advice))
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn the_smallest_limit_of_all_groups_above_counts() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("a/b");
        std::fs::create_dir_all(&group).unwrap();
        std::fs::write(root.path().join("a/memory.max"), "1048576\n").unwrap();
        std::fs::write(group.join("memory.max"), "max\n").unwrap();
        assert_eq!(group_limit("0::/a/b\n", root.path()), Some(1 << 20));
        assert_eq!(group_limit("0::/\n", root.path()), None);
        let old = root.path().join("memory/c");
        std::fs::create_dir_all(&old).unwrap();
        std::fs::write(old.join("memory.limit_in_bytes"), "4096\n").unwrap();
        assert_eq!(group_limit("3:cpu:/x\n2:memory:/c\n", root.path()), Some(4096));
    }

    #[test]
    fn limits_are_judged() {
        assert_eq!(control_group(Some(1 << 30)).verdict, Verdict::Warning);
        assert_eq!(control_group(Some(8 << 30)).verdict, Verdict::Good);
        assert_eq!(mappings(Some(65_530)).verdict, Verdict::Warning);
        assert_eq!(address_space(None).verdict, Verdict::Good);
    }
}
