use super::Ended;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use touchstone::case::digest;
use touchstone::files::{FilePath, create};
use touchstone::run::shown;
use touchstone::terminal::print;

/// Writes an example case to a folder: a module, its input, its expected output.
///
/// `touchstone bench --cases DIR` measures the cases of the folder. The README in it says what
/// to change. Existing files stay as they are: the folder must be new or empty.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  touchstone init my-case")]
pub(super) struct Init {
    /// Write to this folder, which is new or empty
    folder: PathBuf,
}

const INPUT: &[u8] = b"touchstone\n";
const SUM: &[u8] = include_bytes!("sum.wasm");

impl Init {
    pub(super) fn execute(self) -> Result<Ended> {
        let folder = &self.folder;
        let failed = || format!("cannot write to {}", folder.display());
        match folder.read_dir().map(|mut entries| entries.next().is_some()) {
            Ok(true) => bail!("{} is not empty: name a new folder", folder.display()),
            Ok(false) => {}
            Err(_) => std::fs::create_dir(folder).with_context(failed)?,
        }
        let within = FilePath::within(folder)?;
        for (name, content) in files() {
            create(&within.join(name), &content)?;
        }
        print(&said(folder))?;
        Ok(Ended::Well)
    }
}

fn files() -> [(&'static str, Vec<u8>); 7] {
    let sum: u32 = INPUT.iter().copied().map(u32::from).sum();
    [
        ("README.md", include_bytes!("README.md").to_vec()),
        ("sum.toml", include_bytes!("sum.toml").to_vec()),
        ("sum.wat", include_bytes!("sum.wat").to_vec()),
        ("sum.wasm", SUM.to_vec()),
        ("SHA256SUMS", format!("{}  sum.wasm\n", digest(SUM)).into_bytes()),
        ("input.txt", INPUT.to_vec()),
        ("expected.bin", sum.to_le_bytes().to_vec()),
    ]
}

fn said(folder: &Path) -> String {
    let folder = shown(folder);
    format!("wrote {folder}; `touchstone bench --cases {folder}` measures its case\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_is_that_of_the_text() {
        assert_eq!(wat::parse_str(include_str!("sum.wat")).unwrap(), SUM);
    }
}
