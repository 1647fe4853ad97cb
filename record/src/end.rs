//! The end line of a run, without which the run was interrupted or its file cut off.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The last line of a complete run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The name of the run, which is that of its header.
    pub run: String,
    /// Number of lines between the header and this one.
    pub lines: usize,
    /// SHA-256 of the lines above, the header and the ends of the lines included, hexadecimal.
    pub sha256: String,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Above {
    run: String,
    lines: usize,
    digest: Sha256,
}

impl Above {
    /// Begins with a header, as it stands in the file.
    pub(super) fn header(run: &str, line: &[u8]) -> Self {
        let mut own = Self { run: run.to_owned(), ..Self::default() };
        own.digest(line);
        own
    }

    pub(super) fn add(&mut self, line: &[u8]) {
        self.lines += 1;
        self.digest(line);
    }

    fn digest(&mut self, line: &[u8]) {
        self.digest.update(line);
        self.digest.update(b"\n");
    }

    pub(super) fn end(&self) -> End {
        let sha256 = hex(&self.digest.clone().finalize());
        End { run: self.run.clone(), lines: self.lines, sha256 }
    }
}

impl End {
    /// The contradiction of an end line that was read to the lines above it, if there is one.
    pub(super) fn fault(&self, above: &Above) -> Option<String> {
        let End { run, lines, sha256 } = above.end();
        if self.run != run {
            Some(format!("it ends the run '{}', and the header is of '{run}'", self.run))
        } else if self.lines != lines {
            Some(format!("it ends {} lines, and there are {lines}", self.lines))
        } else if !self.sha256.eq_ignore_ascii_case(&sha256) {
            Some("a line of the run was changed: its digest is another one".to_owned())
        } else {
            None
        }
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
