//! Reasons of failures: equal for equal causes, and with the remedy.

use regex::Regex;
use rustix::fs::StatVfsMountFlags;
use rustix::process::{Resource, getrlimit};
use std::path::PathBuf;

/// Random characters at the end of a temporary file's name.
const RANDOM: usize = 6;

struct Surroundings {
    temporary: PathBuf,
    /// `true` if code in its files cannot be executed.
    is_noexec: bool,
    /// The limit of the address space, bytes.
    address_space: Option<u64>,
}

/// A reason without random parts of names, and with the remedy for a shortage of the system.
pub(super) fn explained(reason: &str) -> String {
    Surroundings::here().explained(reason)
}

/// Limits of the system that stop runtimes, each with the remedy.
pub fn obstacles() -> Vec<String> {
    let here = Surroundings::here();
    [here.noexec(), here.address_space()].into_iter().flatten().collect()
}

impl Surroundings {
    fn here() -> Self {
        let temporary = std::env::temp_dir();
        let is_noexec = rustix::fs::statvfs(&temporary)
            .is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::NOEXEC));
        Self { temporary, is_noexec, address_space: getrlimit(Resource::As).current }
    }

    fn noexec(&self) -> Option<String> {
        let folder = self.temporary.display();
        self.is_noexec.then(|| {
            format!(
                "{folder} is mounted noexec: set TMPDIR to a folder whose files can be executed"
            )
        })
    }

    fn address_space(&self) -> Option<String> {
        let mebibytes = self.address_space? >> 20;
        Some(format!(
            "the address space is limited to {mebibytes} MiB, and runtimes reserve gigabytes: \
             ulimit -v unlimited"
        ))
    }

    fn explained(&self, reason: &str) -> String {
        let has_any = |parts: &[&str]| parts.iter().any(|part| reason.contains(part));
        let remedy = if has_any(&["os error 28", "No space left", "os error 122", "os error 30"]) {
            let folder = self.temporary.display();
            Some(format!("set TMPDIR, now {folder}, to a folder with free space"))
        } else if has_any(&["os error 12", "Cannot allocate memory"]) {
            self.address_space()
        } else if has_any(&["os error 1)", "os error 13)"]) {
            self.noexec()
        } else {
            None
        };
        let named = self.without_random_names(reason);
        remedy.map_or_else(|| named.clone(), |remedy| format!("{named}; {remedy}"))
    }

    /// Replaces the random end of temporary names, and numbers of open files.
    fn without_random_names(&self, text: &str) -> String {
        let own = regex::escape(&self.temporary.join("touchstone-").display().to_string());
        let random = format!(r"({own}|\.tmp)[0-9A-Za-z]{{{RANDOM}}}\b|(/fd/)[0-9]+\b");
        match Regex::new(&random) {
            Ok(random) => random.replace_all(text, "$1$2…").into_owned(),
            Err(_) => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(is_noexec: bool, address_space: Option<u64>) -> Surroundings {
        Surroundings { temporary: PathBuf::from("/t"), is_noexec, address_space }
    }

    #[test]
    fn reasons_with_the_same_cause_are_the_same() {
        let explained = |text: &str| here(false, None).explained(text);
        for (random, plain) in [
            ("in /t/touchstone-aB3xYz/module", "in /t/touchstone-…/module"),
            ("at path \"/proc/self/fd/7/.tmpQw3rTy\"", "at path \"/proc/self/fd/…/.tmp…\""),
            ("/t/.tmpAAAAAA and /t/.tmpBBBBBB", "/t/.tmp… and /t/.tmp…"),
        ] {
            assert_eq!(explained(random), plain);
        }
        // Not random names.
        for text in ["runtimes/touchstone-wasmer/src", "a.tmp", "x.tmpfiles12", "/fd/x", ".tmpä"] {
            assert_eq!(explained(text), text);
        }
    }

    #[test]
    fn a_shortage_of_the_system_is_named_with_the_remedy() {
        let full = here(false, None).explained("cannot write: No space left (os error 28)");
        assert!(full.ends_with("; set TMPDIR, now /t, to a folder with free space"), "{full}");
        let denied = "mprotect: Operation not permitted (os error 1)";
        assert!(here(true, None).explained(denied).contains("/t is mounted noexec: set TMPDIR"));
        assert_eq!(here(false, None).explained(denied), denied);
        let refused = "mmap: Cannot allocate memory (os error 12)";
        let limited = here(false, Some(1 << 30)).explained(refused);
        assert!(limited.contains("limited to 1024 MiB") && limited.contains("ulimit -v"));
        assert_eq!(here(false, None).explained(refused), refused);
    }
}
