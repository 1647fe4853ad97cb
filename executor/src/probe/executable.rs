//! The executable addresses of this process.

use std::ops::Range;

/// Which addresses are executable, sorted and without overlaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutableMap(Vec<Range<usize>>);

impl ExecutableMap {
    /// Reads `/proc/self/maps`; `None` where it cannot be read.
    pub fn read() -> Option<Self> {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        Some(Self(maps.lines().filter_map(range).collect()))
    }

    /// Bytes that are executable here and were not in `earlier`.
    pub fn added_since(&self, earlier: &Self) -> usize {
        let known = |range: &Range<usize>| -> usize {
            let common = |old: &Range<usize>| {
                range.end.min(old.end).saturating_sub(range.start.max(old.start))
            };
            earlier.0.iter().map(common).sum()
        };
        self.0.iter().map(|range| range.len() - known(range)).sum()
    }
}

/// The range of a line of `/proc/self/maps`, if it is executable.
fn range(line: &str) -> Option<Range<usize>> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let is_executable = fields.next()?.as_bytes().get(2) == Some(&b'x');
    let number = |text| usize::from_str_radix(text, 16).ok();
    is_executable.then_some(number(start)?..number(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_bytes_are_told_apart() {
        assert_eq!(range("1000-3000 r-xp 00000000 00:00 0"), Some(0x1000..0x3000));
        assert_eq!(range("1000-3000 rw-p 00000000 00:00 0"), None);
        // Grown at both ends, gone, and new.
        let before = ExecutableMap(vec![0x2000..0x3000, 0x5000..0x6000]);
        let after = ExecutableMap(vec![0x1000..0x4000, 0x8000..0x8800]);
        assert_eq!(after.added_since(&before), 0x2800);
    }

    #[test]
    #[cfg_attr(miri, ignore = "there is no /proc")]
    fn the_code_of_this_process_is_executable() {
        let nothing = ExecutableMap(Vec::new());
        assert!(ExecutableMap::read().unwrap().added_since(&nothing) > 0);
    }
}
