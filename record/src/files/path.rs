//! Paths of files, and how far they may lead.

use anyhow::{Context, Result, anyhow, ensure};
use rustix::fs::{self, FileType, Mode, OFlags};
use rustix::io::Errno;
use serde::Deserialize;
use std::fmt;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use touchstone_executor::guest::text::harmless;
use touchstone_executor::harness::beneath;

/// A file or folder. A path that the user named leads wherever it leads. A path within a folder
/// that others may have made stays in that folder: the kernel refuses symbolic links and `..`
/// that leave it.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "PathBuf")]
pub struct FilePath {
    path: PathBuf,
    within: Option<Arc<Root>>,
}

#[derive(Debug)]
struct Root {
    fd: OwnedFd,
    path: PathBuf,
}

/// A folder that is held open for writing.
#[derive(Debug)]
pub(super) struct Held {
    path: PathBuf,
    _fd: Option<OwnedFd>,
}

impl<P: AsRef<Path>> From<P> for FilePath {
    fn from(path: P) -> Self {
        Self { path: path.as_ref().to_owned(), within: None }
    }
}

impl From<&Self> for FilePath {
    fn from(place: &Self) -> Self {
        place.clone()
    }
}

/// For messages: a name with a line break is one line.
impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        harmless(&self.path.to_string_lossy()).fmt(f)
    }
}

impl FilePath {
    /// A folder that the user named. What is joined to it stays beneath it.
    pub fn within(folder: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = fs::openat(fs::CWD, folder, flags, Mode::empty())
            .with_context(|| format!("cannot open the folder {}", folder.display()))?;
        let root = Root { fd, path: folder.to_owned() };
        Ok(Self { path: folder.to_owned(), within: Some(Arc::new(root)) })
    }

    /// A file beside this one, which stays in the folder of this one.
    pub fn beside(&self, name: impl AsRef<Path>) -> Result<Self> {
        let folder = self.folder();
        Ok(if folder.is_confined() { folder } else { Self::within(&folder.path)? }.join(name))
    }

    /// A path that the user named beside this folder: beneath it where it lies there.
    pub fn or_elsewhere(&self, path: &Path) -> Self {
        let is_plain = |rest: &Path| rest.components().all(|c| matches!(c, Component::Normal(_)));
        let within = self.within.clone().filter(|_| rest(path, &self.path).is_some_and(is_plain));
        Self { path: path.to_owned(), within }
    }

    pub fn join(&self, path: impl AsRef<Path>) -> Self {
        Self { path: self.path.join(path), within: self.within.clone() }
    }

    pub fn folder(&self) -> Self {
        Self { path: super::folder_of(&self.path).to_owned(), within: self.within.clone() }
    }

    /// The path, for messages and links. Opening it by this name would follow links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder that it must stay in, and the path from there.
    fn rooted(&self) -> Result<Option<(&Root, &Path)>> {
        let Some(root) = &self.within else { return Ok(None) };
        match rest(&self.path, &root.path) {
            Some(rest) if rest.as_os_str().is_empty() => Ok(Some((root, Path::new(".")))),
            Some(rest) => Ok(Some((root, rest))),
            None => Err(self.refused(root, Errno::XDEV)),
        }
    }

    fn refused(&self, root: &Root, error: Errno) -> anyhow::Error {
        match error {
            Errno::XDEV | Errno::LOOP => anyhow!(
                "{self} leads out of {}, or through a symbolic link; put the file itself there",
                root.path.display()
            ),
            Errno::NOSYS => {
                anyhow!("cannot open {self}: this kernel or its sandbox has no openat2 (Linux 5.6)")
            }
            _ => anyhow::Error::new(error).context(format!("cannot open {self}")),
        }
    }

    /// `false` if there is nothing of that name.
    pub fn exists(&self) -> bool {
        match self.rooted() {
            Ok(None) => self.path.exists(),
            Ok(Some((root, path))) => beneath::open(&root.fd, path, OFlags::PATH)
                .map_or_else(|error| error != Errno::NOENT, |_| true),
            Err(_) => true,
        }
    }

    /// Opens a file for reading. Pipes are read where the user named one.
    pub(super) fn open(&self) -> Result<File> {
        let (file, kind, needed): (File, _, _) = match self.rooted()? {
            Some((root, path)) => {
                let opened = beneath::read(&root.fd, path, OFlags::empty());
                let (fd, kind) = opened.map_err(|error| self.refused(root, error))?;
                (fd.into(), kind, "a file")
            }
            None => {
                let failed = || format!("cannot read {self}");
                let file = File::open(&self.path).with_context(failed)?;
                let kind = FileType::from_raw_mode(fs::fstat(&file).with_context(failed)?.st_mode);
                (file, kind, "a file or a pipe")
            }
        };
        let is_pipe = matches!(kind, FileType::Fifo | FileType::Socket) && !self.is_confined();
        // A device may have no end.
        let is_right = kind == FileType::RegularFile || is_pipe;
        ensure!(is_right, "cannot read {self}: it is {}, and {needed} is needed", in_words(kind));
        Ok(file)
    }

    /// The names in a folder, sorted.
    pub fn list(&self) -> Result<Vec<Self>> {
        let failed = || format!("cannot read the folder {self}");
        let held = match self.rooted()? {
            None => Held { path: self.path.clone(), _fd: None },
            Some((root, path)) => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY;
                let opened = beneath::open(&root.fd, path, flags);
                Held::of(opened.map_err(|error| self.refused(root, error)).with_context(failed)?)
            }
        };
        let entries = std::fs::read_dir(held.path()).with_context(failed)?;
        let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
        let mut names = names.collect::<Result<Vec<_>, _>>().with_context(failed)?;
        names.sort();
        Ok(names.into_iter().map(|name| self.join(name)).collect())
    }

    /// Makes the folder that a file is written to, and holds it. Within a folder of others, no
    /// symbolic link is followed on the way.
    pub(super) fn hold_folder(&self) -> Result<Held> {
        let folder = self.folder();
        let failed = || format!("cannot make the folder {folder}");
        let Some((root, path)) = folder.rooted()? else {
            std::fs::create_dir_all(&folder.path).with_context(failed)?;
            return Ok(Held { path: folder.path.clone(), _fd: None });
        };
        let mut fd = root.fd.try_clone().with_context(failed)?;
        for part in path.components() {
            let name = match part {
                Component::Normal(name) => name,
                Component::CurDir => continue,
                _ => return Err(folder.refused(root, Errno::XDEV)),
            };
            match fs::mkdirat(&fd, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error).with_context(failed),
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let opened = fs::openat(&fd, name, flags, Mode::empty());
            fd = opened.map_err(|error| match error {
                // The kernel's answer for a symbolic link, too.
                Errno::NOTDIR => anyhow!(
                    "cannot write to {folder}: '{}' is no folder of its own; remove it",
                    name.display()
                ),
                error => folder.refused(root, error),
            })?;
        }
        Ok(Held::of(fd))
    }

    pub(super) fn name(&self) -> Result<&std::ffi::OsStr> {
        self.path.file_name().with_context(|| format!("{self} names no file"))
    }

    /// `true` if the place lies within a folder of others.
    pub fn is_confined(&self) -> bool {
        self.within.is_some()
    }

    /// Removes a file, or the link of that name.
    pub fn remove(&self) -> Result<()> {
        let folder = self.hold_folder()?;
        let removed = std::fs::remove_file(folder.path().join(self.name()?));
        removed.with_context(|| format!("cannot remove {self}"))
    }
}

/// The kind of something that is no file, as messages say it.
pub fn in_words(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a folder",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        _ => "a device",
    }
}

fn rest<'a>(path: &'a Path, folder: &Path) -> Option<&'a Path> {
    let is_here = folder == Path::new(".") && path.is_relative();
    path.strip_prefix(folder).ok().or_else(|| is_here.then_some(path))
}

impl Held {
    /// An open folder. Its path is that of the descriptor, so that a link that takes the folder's
    /// name later changes nothing.
    fn of(fd: OwnedFd) -> Self {
        Self { path: format!("/proc/self/fd/{}", fd.as_raw_fd()).into(), _fd: Some(fd) }
    }

    /// Where it is, for as long as this value lives.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
