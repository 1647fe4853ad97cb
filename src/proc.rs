//! Files of `/proc` and `/sys`.

/// The content of a small kernel file, without the end of the line.
pub(crate) fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// The hardware threads of each processor's core, as the kernel lists them.
pub(crate) fn siblings() -> Vec<String> {
    let path = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    (0_usize..).map_while(|cpu| read(&path(cpu))).collect()
}

/// The active choice for transparent huge pages, from the content of the kernel's file.
pub(crate) fn huge_pages(text: &str) -> Option<&str> {
    Some(text.split_once('[')?.1.split_once(']')?.0)
}

/// The value of the line `<name>: <value> kB`, KiB; `None` if there is no such line.
pub(crate) fn kib(text: &str, name: &str) -> Option<u64> {
    let value = |line: &str| {
        let value = line.strip_prefix(name)?.strip_prefix(':')?.trim().strip_suffix("kB")?;
        value.trim_end().parse().ok()
    };
    text.lines().find_map(value)
}

/// Processor time of all threads of a process so far, ns; `None` without such a process.
#[cfg(feature = "systems")]
pub(crate) fn cpu_ns(pid: u32) -> Option<u64> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let time = |thread: std::io::Result<std::fs::DirEntry>| {
        // A thread may have ended meanwhile.
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    Some(threads.filter_map(time).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_the_kernel_writes_them() {
        let text = "55f0-7ffd ---p 00000000 00:00 0 [rollup]\nRss:               97436 kB\nPss:  12 kB\nPss_Dirty:  11 kB\n";
        assert_eq!(kib(text, "Rss"), Some(97_436));
        assert_eq!((kib(text, "Pss"), kib(text, "VmPTE")), (Some(12), None));
    }
}
