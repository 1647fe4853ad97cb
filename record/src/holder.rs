//! Finds the process that holds the lock of a file.

use std::fs::File;
use std::os::unix::fs::MetadataExt;

/// Describes the process that has locked a file; `None` if the kernel does not report it, for
/// instance because the process runs in another container.
pub(super) fn of(file: &File) -> Option<String> {
    let file = file.metadata().ok()?;
    let (major, minor) = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let pid = holder(&locks, &format!("{major:02x}:{minor:02x}:{}", file.ino()))?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(match name.trim() {
        "" => format!("process {pid}"),
        name => format!("process {pid}, {name}"),
    })
}

/// The process in the line of `/proc/locks` for a file. Lines with an arrow are of waiting ones.
fn holder(locks: &str, file: &str) -> Option<u32> {
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        if words.next()? != "FLOCK" {
            return None;
        }
        let pid = words.nth(2)?.parse().ok()?;
        (words.next()? == file).then_some(pid)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_about_the_file_names_the_process() {
        let locks = "1: POSIX  ADVISORY  WRITE 11 fd:00:77 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 12 fd:00:78 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 13 fd:00:77 0 EOF\n\
                     3: -> FLOCK  ADVISORY  WRITE 14 fd:00:79 0 EOF\n";
        assert_eq!(holder(locks, "fd:00:77"), Some(13));
        assert_eq!(holder(locks, "fd:00:79"), None);
        assert_eq!(holder("", "fd:00:77"), None);
    }
}
