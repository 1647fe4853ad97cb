//! The files of a folder, as they are when a request asks for them.

use crate::case;
use crate::files::{LARGEST, in_words};
use crate::terminal::complain;
use anyhow::{Context, Result, bail, ensure};
use parking_lot::RwLock;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use touchstone_executor::guest::unpack;
use touchstone_executor::harness::beneath;
use touchstone_systems::host::{Files, Found, Version, plain};

/// Time between two messages about a folder that takes long.
const PROGRESS: Duration = Duration::from_secs(1);
/// A folder that changed so shortly ago may change again without another time of change.
const YOUNG: u64 = 2;

pub(super) struct Folder {
    path: PathBuf,
    folder: OwnedFd,
    listed: RwLock<Listed>,
}

#[derive(Default)]
struct Listed {
    /// The folder's version then; `None` if it cannot tell of changes.
    version: Option<Version>,
    /// Names and files by what requests are compared with.
    files: BTreeMap<String, (Arc<str>, OsString)>,
    left_out: Vec<(String, String)>,
}

impl Folder {
    /// Lists a folder. Its files are not opened. Fails if it cannot be read.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let unreadable = || format!("cannot read the folder {}", path.display());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, path, flags, Mode::empty()).with_context(unreadable)?;
        let mut told = Instant::now();
        let listed = list(&folder, |count| {
            if told.elapsed() >= PROGRESS {
                told = Instant::now();
                complain(&format!("listing {}: {count} files so far", path.display()));
            }
        });
        let listed = RwLock::new(listed.with_context(unreadable)?);
        Ok(Self { path: path.to_owned(), folder, listed })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.listed.read().files.is_empty()
    }

    /// A file of the list, as it is now; `None` if it is gone.
    fn known(&self, wanted: &str) -> Option<Found> {
        let listed = self.listed.read();
        let (name, file) = listed.files.get(wanted)?;
        let open = |link| beneath::open(&self.folder, file.as_ref(), OFlags::PATH | link);
        let version = match open(OFlags::empty()).and_then(|file| fstat(&file)) {
            Ok(stat) => version(&stat),
            Err(Errno::NOENT) if open(OFlags::NOFOLLOW).is_err() => return None,
            // To read it will fail as well, and say why.
            Err(_) => Version::default(),
        };
        Some(Found { name: Arc::clone(name), version })
    }

    /// Lists the folder once more, if it has changed.
    fn list_again(&self) -> bool {
        let mut listed = self.listed.write();
        let now = fstat(&self.folder).map(|stat| version(&stat)).ok();
        if now.is_some() && now == listed.version {
            return false;
        }
        let Ok(again) = list(&self.folder, |_| {}) else { return false };
        *listed = again;
        true
    }

    fn bytes(&self, file: &OsStr) -> Result<Vec<u8>> {
        let (opened, kind) = match beneath::read(&self.folder, file.as_ref(), OFlags::empty()) {
            Err(Errno::XDEV) => bail!("it leads out of the folder {}", self.path.display()),
            opened => opened.context("it cannot be opened")?,
        };
        ensure!(kind == FileType::RegularFile, "it is {}, and a file is needed", in_words(kind));
        let (mut bytes, file) = (Vec::new(), std::fs::File::from(opened));
        file.take(LARGEST + 1).read_to_end(&mut bytes).context("it cannot be read")?;
        ensure!(bytes.len() as u64 <= LARGEST, "it has more than {} MiB", LARGEST >> 20);
        Ok(bytes)
    }
}

impl Files for Folder {
    fn find(&self, name: &str) -> Option<Found> {
        let wanted = plain(name);
        self.known(&wanted).or_else(|| self.list_again().then(|| self.known(&wanted)).flatten())
    }

    fn read(&self, found: &Found) -> Result<Vec<u8>> {
        let file = self.listed.read().files.get(&plain(&found.name)).map(|(_, file)| file.clone());
        let file = file.context("it is gone")?;
        let bytes = self.bytes(&file)?;
        let wasm = case::binary(&bytes, Path::new(&file))?;
        Ok(unpack(&wasm)?.into_owned())
    }

    fn names(&self) -> Vec<Arc<str>> {
        self.listed.read().files.values().map(|(name, _)| Arc::clone(name)).collect()
    }

    fn left_out(&self) -> Vec<(String, String)> {
        self.listed.read().left_out.clone()
    }
}

/// The files that look like modules. `seen` gets the number of files so far.
fn list(folder: &OwnedFd, mut seen: impl FnMut(usize)) -> Result<Listed> {
    let stat = fstat(folder)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let is_young = now.abs_diff(stat.st_mtime.unsigned_abs()) < YOUNG;
    let mut found: Vec<OsString> = Vec::new();
    for (count, entry) in Dir::read_from(folder.as_fd())?.enumerate() {
        let entry = entry?;
        seen(count);
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let ending = Path::new(name).extension().and_then(OsStr::to_str);
        if matches!(ending, Some("wasm" | "wat")) && entry.file_type() != FileType::Directory {
            found.push(name.to_owned());
        }
    }
    found.sort_unstable();
    let version = (!is_young).then(|| version(&stat));
    let mut listed = Listed { version, ..Listed::default() };
    for file in found {
        let name = Path::new(&file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match listed.files.entry(plain(&name)) {
            Entry::Vacant(place) => {
                place.insert((name.into(), file));
            }
            Entry::Occupied(place) => {
                let other = place.get().1.to_string_lossy();
                let reason = format!("{other} has the same name");
                listed.left_out.push((file.to_string_lossy().into_owned(), reason));
            }
        }
    }
    Ok(listed)
}

fn version(stat: &Stat) -> Version {
    // A backend of rustix has nanoseconds with a sign, another has them without.
    [
        stat.st_dev.into(),
        stat.st_ino.into(),
        stat.st_size.into(),
        stat.st_mtime.into(),
        stat.st_mtime_nsec.into(),
        stat.st_ctime.into(),
        stat.st_ctime_nsec.into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_are_taken_as_they_are_now() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("one-file.wat"), "(module)").unwrap();
        fs::create_dir(at("folder.wasm")).unwrap();
        let files = Folder::open(folder.path()).unwrap();
        let names = || files.names().iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(names(), ["one-file"]);
        let first = files.find("one_file").unwrap();
        assert_eq!(files.find("one-file"), Some(first.clone()));
        assert_eq!(files.read(&first).unwrap(), wat::parse_str("(module)").unwrap());

        fs::write(at("one-file.wat"), "(module (memory 1))").unwrap();
        let second = files.find("one-file").unwrap();
        assert_ne!(first, second);

        fs::write(at("new.wasm"), "").unwrap();
        assert!(files.find("new").is_some());
        assert_eq!(names(), ["new", "one-file"]);
        fs::remove_file(at("one-file.wat")).unwrap();
        assert_eq!(files.find("one-file"), None);
    }

    #[test]
    fn nothing_but_files_of_the_folder_is_read() {
        let (outside, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| folder.path().join(name);
        fs::write(outside.path().join("secret"), "(module)").unwrap();
        symlink(outside.path().join("secret"), at("out.wat")).unwrap();
        fs::write(at("inside"), "(module)").unwrap();
        symlink("inside", at("in.wat")).unwrap();
        symlink("nothing", at("dangling.wat")).unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(at("pipe.wat")).status();
        assert!(pipe.unwrap().success());
        fs::write(at("in.wasm"), "").unwrap();
        let files = Folder::open(folder.path()).unwrap();
        let read =
            |name| files.read(&files.find(name).unwrap()).map_err(|error| format!("{error:#}"));
        for (name, says) in [
            ("out", "it leads out of the folder"),
            ("dangling", "No such file"),
            ("pipe", "it is a pipe"),
        ] {
            let error = read(name).unwrap_err();
            assert!(error.contains(says), "{name}: {error}");
        }
        let (file, reason) = &files.left_out()[0];
        assert_eq!((&**file, &**reason), ("in.wat", "in.wasm has the same name"));
        fs::remove_file(at("in.wasm")).unwrap();
        assert!(read("in").is_ok());
    }
}
