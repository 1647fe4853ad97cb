//! Looking at what is really in force, from outside the runtimes.

mod execution;

pub use execution::{INTERPRETED_FROM, Kernel, check_execution};

/// What lies under an address of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MappingKind {
    /// Anonymous memory.
    Anonymous,
    /// A private (copy-on-write) mapping of a file, with its name.
    PrivateFile(String),
    /// A shared mapping of a file, with its name.
    SharedFile(String),
}

/// What the kernel says lies under `address`; `None` when nothing does or
/// `/proc` is not there.
#[must_use]
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

/// Minor page faults of the calling thread so far; `None` without `/proc`.
#[must_use]
pub fn thread_page_faults() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    // The second field is the command's name and may hold spaces; `minflt` is
    // the tenth field, the eighth after the name's closing bracket (proc(5)).
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(7)?.parse().ok()
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
    fn touching_new_pages_is_counted() {
        let page = crate::memory::host_page();
        let mut pages = crate::memory::Mapping::new(64 * page, 64 * page).unwrap();
        let before = thread_page_faults().unwrap();
        for page in pages.bytes_mut().chunks_mut(page) {
            page[0] = std::hint::black_box(1);
        }
        // Fewer than 64 where huge pages help.
        assert!(thread_page_faults().unwrap() > before);
    }

    #[test]
    fn the_stack_is_anonymous() {
        let local = 0_u8;
        assert_eq!(mapping_kind(&raw const local as usize), Some(MappingKind::Anonymous));
    }
}
