//! Probes of the mode in force, from outside the runtimes.

mod executable;
mod execution;
mod kernel;
mod look;
mod peek;
mod usage;

pub use executable::ExecutableMap;
pub use execution::check_execution;
pub use look::{INTERPRETED_FROM, Kernel, Look};
pub use peek::peek;
pub use usage::{ThreadUsage, thread_usage};

/// Kind of mapping at an address of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MappingKind {
    /// Anonymous memory.
    Anonymous,
    /// A private (copy-on-write) mapping of a file, with its name.
    PrivateFile(String),
    /// A shared mapping of a file, with its name.
    SharedFile(String),
}

/// The mapping at `address`; `None` if there is none or `/proc` is not available.
pub fn mapping_kind(address: usize) -> Option<MappingKind> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| kind_if_covering(line, address))
}

/// One line of `/proc/self/maps`: `start-end perms offset dev inode path`.
fn kind_if_covering(line: &str, address: usize) -> Option<MappingKind> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let covers = (usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
        .contains(&address);
    if !covers {
        return None;
    }
    let private = fields.next()?.ends_with('p');
    let inode = fields.nth(2)?;
    let path = fields.collect::<Vec<_>>().join(" ");
    Some(match (inode, private) {
        ("0", _) => MappingKind::Anonymous,
        (_, true) => MappingKind::PrivateFile(path),
        (_, false) => MappingKind::SharedFile(path),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_proc_maps_are_understood() {
        let file = "7f0000000000-7f0000100000 rw-p 00000000 00:01 2049 /memfd:image (deleted)";
        assert_eq!(
            kind_if_covering(file, 0x7f00_0000_1000),
            Some(MappingKind::PrivateFile("/memfd:image (deleted)".to_owned()))
        );
        assert_eq!(kind_if_covering(file, 0x7f00_0010_0000), None);
        let heap = "1000-2000 rw-p 00000000 00:00 0 [heap]";
        assert_eq!(kind_if_covering(heap, 0x1000), Some(MappingKind::Anonymous));
    }

    #[test]
    #[cfg_attr(miri, ignore = "addresses are not those of the process")]
    fn the_stack_is_anonymous() {
        let local = 0_u8;
        assert_eq!(mapping_kind(&raw const local as usize), Some(MappingKind::Anonymous));
    }
}
