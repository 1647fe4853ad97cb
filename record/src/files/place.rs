//! Where the project's data files lie, and where results go: in a clone, or from the program itself
//! and to the current folder.

use crate::terminal::complain;
use anyhow::{Context, Result, bail, ensure};
use std::fs::{DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

/// Environment variable with the folder of the data files, as `--data` names it: `benches` and
/// `test-runtime` lie in it.
pub const DATA: &str = "TOUCHSTONE_DATA";

#[derive(Debug, Clone, Copy)]
pub struct Embedded {
    /// The files, each with its path, compressed by DEFLATE.
    pub archive: &'static [u8],
    pub digest: &'static str,
    /// The commit that the program was built from; empty if unknown.
    pub commit: &'static str,
}

#[derive(Debug)]
struct Place {
    data: PathBuf,
    /// The folder of records and pages.
    own: PathBuf,
    is_clone: bool,
    is_chosen: bool,
}

static EMBEDDED: OnceLock<Embedded> = OnceLock::new();
static PLACE: OnceLock<Place> = OnceLock::new();

/// Gives the data files that are used outside of a clone. Call before anything else of this module.
pub fn embed(embedded: Embedded) {
    // The first call counts.
    let _ = EMBEDDED.set(embedded);
}

/// Uses the data files of a folder instead. Fails if it has none, or another one is used already.
pub fn choose(folder: PathBuf) -> Result<()> {
    let data = std::path::absolute(&folder).unwrap_or(folder);
    ensure!(
        data.join("benches/cases").is_dir(),
        "{} has no folder benches/cases: name a clone, or a copy of its benches and test-runtime",
        data.display()
    );
    let chosen = PLACE.set(Place { data, own: here(), is_clone: false, is_chosen: true });
    chosen.map_err(|_| anyhow::anyhow!("the data files are in use already"))
}

/// The folder that was chosen, for processes that this one starts.
pub fn chosen() -> Option<&'static Path> {
    let place = PLACE.get()?;
    place.is_chosen.then_some(&*place.data)
}

fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."))
}

pub fn project(path: &str) -> PathBuf {
    place().data.join(path)
}

/// A file of the user: in the clone, or in the current folder where there is none.
pub fn own(path: &str) -> PathBuf {
    place().own.join(path)
}

/// The folder of the clone, if this program belongs to one.
pub fn clone() -> Option<&'static Path> {
    let place = place();
    place.is_clone.then_some(&*place.own)
}

/// The commit that this program was built from, if it carries its data.
pub fn commit() -> Option<&'static str> {
    EMBEDDED.get().map(|own| own.commit).filter(|commit| !commit.is_empty())
}

fn place() -> &'static Place {
    PLACE.get_or_init(|| {
        let (here, is_chosen) = (here(), false);
        if let Some(data) = std::env::var_os(DATA).filter(|data| !data.is_empty()) {
            return Place { data: data.into(), own: here, is_clone: false, is_chosen: true };
        }
        // In an installed program, this is the loader beside it.
        let program = std::env::current_exe().ok();
        let clone = [program.as_deref(), Some(&*here)].into_iter().flatten().find_map(above);
        if let Some(clone) = clone {
            return Place { data: clone.clone(), own: clone, is_clone: true, is_chosen };
        }
        let unpacked = EMBEDDED.get().map(Embedded::folder);
        let data = unpacked.unwrap_or_else(|| bail!("this program carries no data files"));
        let data = data.unwrap_or_else(|error| {
            complain(&format!("warning: there are no cases: {error:#}"));
            here.clone()
        });
        Place { data, own: here, is_clone: false, is_chosen }
    })
}

/// The clone that a file or folder lies in.
fn above(path: &Path) -> Option<PathBuf> {
    let is_clone = |folder: &&Path| {
        ["benches/cases", "test-runtime/built/SHA256SUMS"]
            .iter()
            .all(|own| folder.join(own).exists())
    };
    path.ancestors().find(is_clone).map(Path::to_owned)
}

impl Embedded {
    /// The folder with the files, which is made once for each content.
    fn folder(&self) -> Result<PathBuf> {
        let variable = |name: &str| std::env::var_os(name).filter(|own| !own.is_empty());
        let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| Some(Path::new(&variable("HOME")?).join(".cache")));
        let user = rustix::process::geteuid().as_raw();
        let folders = [
            cache.map(|cache| cache.join("touchstone")),
            Some(std::env::temp_dir().join(format!("touchstone-{user}"))),
        ];
        let mut failed = None;
        for folder in folders.into_iter().flatten() {
            match self.within(&folder, user) {
                Ok(folder) => return Ok(folder),
                Err(error) => failed = Some(error),
            }
        }
        let none = "there is neither a home nor a folder for temporary files";
        Err(failed.unwrap_or_else(|| anyhow::anyhow!(none)))
            .context("name a folder in XDG_CACHE_HOME or TMPDIR, or a clone with --data")
    }

    /// The folder with the files in a folder that nobody else may write.
    fn within(&self, folder: &Path, user: u32) -> Result<PathBuf> {
        let failed = || format!("cannot unpack the data files to {}", folder.display());
        let data = folder.join(self.digest);
        if !data.exists() {
            let mut private = DirBuilder::new();
            private.recursive(true).mode(0o700).create(folder).with_context(failed)?;
        }
        let found = folder.symlink_metadata().with_context(failed)?;
        let is_private = found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0;
        ensure!(is_private, "{} belongs to others, or others may write it", folder.display());
        if !data.exists() {
            let part = tempfile::Builder::new().prefix(".part-").tempdir_in(folder);
            let part = part.with_context(failed)?;
            self.unpack(part.path()).with_context(failed)?;
            // Another process may have been faster.
            if let (Err(error), false) = (std::fs::rename(part.path(), &data), data.exists()) {
                return Err(error).with_context(failed);
            }
        }
        Ok(data)
    }

    /// Writes the files: of each, two lengths (32 bits, little-endian), path and content.
    fn unpack(&self, folder: &Path) -> Result<()> {
        let all = miniz_oxide::inflate::decompress_to_vec(self.archive);
        let all = all.map_err(|error| anyhow::anyhow!("the archive is damaged: {error}"))?;
        let mut rest = &all[..];
        let mut take = |length: usize| -> Result<&[u8]> {
            let (first, others) =
                rest.split_at_checked(length).context("the archive is cut off")?;
            rest = others;
            Ok(first)
        };
        let number =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let files = number(take(4)?);
        for _ in 0..files {
            let [path, content] = [number(take(4)?), number(take(4)?)];
            let path = Path::new(std::str::from_utf8(take(path)?)?);
            let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
            ensure!(is_below, "the archive leads out of its folder");
            let path = folder.join(path);
            std::fs::create_dir_all(super::folder_of(&path))?;
            File::create_new(&path)?.write_all(take(content)?)?;
        }
        Ok(())
    }
}
