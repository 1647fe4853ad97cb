//! Reads memory at addresses that may be wrong.

use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;

/// The words at an address, read by the kernel; `None` if any of them is not readable. Adapters
/// look at structures inside a runtime with this, before they rely on the layout.
pub fn peek(address: usize, words: usize) -> Option<Vec<usize>> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::memfd_create("touchstone-peek", flags).ok()?);
    let mut content = vec![0; words * size_of::<usize>()];
    let start = std::ptr::with_exposed_provenance::<libc::c_void>(address);
    // SAFETY: the kernel copies the bytes, and fails with EFAULT where none can be read.
    let written = unsafe { libc::write(file.as_raw_fd(), start, content.len()) };
    if usize::try_from(written) != Ok(content.len()) {
        return None;
    }
    std::io::Seek::rewind(&mut file).ok()?;
    file.read_exact(&mut content).ok()?;
    let words = content.as_chunks().0.iter();
    Some(words.map(|word| usize::from_ne_bytes(*word)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_where_there_are_some() {
        let words = [1, 2, usize::MAX];
        assert_eq!(peek((&raw const words) as usize, 3).unwrap(), words);
        assert_eq!(peek(0, 1), None);
        assert_eq!(peek(usize::MAX - 7, 1), None);
    }
}
