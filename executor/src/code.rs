//! Compiled code between `compile` (or `restore`) and `load`: in memory, and in a file.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// Bytes that are compared at once: they stay in the processor's cache.
const CHUNK: usize = 64 * 1024;

/// Compiled code, protected against changes: in memory by Rust, in the file by a comparison
/// before each use.
///
/// A runtime runs any code that it maps. None of the runtimes here detects a changed byte of
/// machine code.
#[derive(Debug)]
pub struct CompiledCode {
    bytes: Vec<u8>,
    /// The same bytes as a file without a name, made when first asked for. It goes with
    /// the process, however that ends.
    file: OnceLock<File>,
}

impl CompiledCode {
    /// Code of a compiler, or of an [`ArtifactFolder`](crate::ArtifactFolder) from another
    /// process of the run.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, file: OnceLock::new() }
    }

    /// The code in memory.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes the code to its file, once. Load the file through [`staged`](Self::staged).
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn stage(&self) -> Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let write = || -> std::io::Result<File> {
            let mut file = tempfile::tempfile()?;
            file.write_all(&self.bytes)?;
            Ok(file)
        };
        let file = write().map_err(Error::system("cannot write the precompiled code"))?;
        // Another thread may have been faster; its file serves as well.
        Ok(self.file.get_or_init(|| file))
    }

    /// The file, after a check that it holds exactly the compiled code.
    ///
    /// # Errors
    ///
    /// [`Error::BadArtifact`] when the file has other content; when it cannot be read.
    pub fn staged(&self, engine: &'static str) -> Result<&File> {
        let file = self.stage()?;
        let failed = || Error::system("cannot read the precompiled code");
        let bad = |reason| Err(Error::BadArtifact { engine, reason });
        let length = file.metadata().map_err(failed())?.len();
        if length != self.bytes.len() as u64 {
            let staged = self.bytes.len();
            return bad(format!("its file has {length} bytes, {staged} were staged"));
        }
        let mut found = [0; CHUNK];
        let mut at = 0;
        for staged in self.bytes.chunks(CHUNK) {
            let found = &mut found[..staged.len()];
            file.read_exact_at(found, at).map_err(failed())?;
            if *found != *staged {
                let first = staged.iter().zip(&*found).position(|(staged, found)| staged != found);
                let first = at + first.unwrap_or(0) as u64;
                return bad(format!("its file is not what was staged, from byte {first} on"));
            }
            at += staged.len() as u64;
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: &CompiledCode) -> String {
        match code.staged("some") {
            Err(Error::BadArtifact { engine: "some", reason }) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "makes a file without a name")]
    fn only_the_bytes_that_were_staged_are_given_out() {
        let bytes: Vec<u8> = (0..3 * CHUNK + 17).map(|at| at as u8).collect();
        let code = CompiledCode::new(bytes.clone());
        let file = code.staged("some").unwrap();
        for at in [0, CHUNK - 1, CHUNK, bytes.len() - 1] {
            file.write_all_at(&[bytes[at] ^ 4], at as u64).unwrap();
            assert_eq!(
                refused(&code),
                format!("its file is not what was staged, from byte {at} on")
            );
            file.write_all_at(&[bytes[at]], at as u64).unwrap();
            code.staged("some").unwrap();
        }
        for length in [0, bytes.len() - 1, bytes.len() + 1] {
            file.set_len(length as u64).unwrap();
            assert!(refused(&code).contains("bytes"), "{length}");
        }
    }
}
