//! Modules of published packages: named by digest, fetched by the registry's own client.

use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::command::time::LIMIT;

/// A registry, and so the client that fetches from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Registry {
    /// `npm pack`.
    Npm,
    /// `cargo info`, which unpacks the package to read its manifest.
    Crates,
    /// `pip install`, without dependencies, into a folder.
    Pypi,
}

/// A file of a published package.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Source {
    pub(crate) registry: Registry,
    pub(crate) package: String,
    pub(crate) version: String,
    /// Path of the file within the package.
    pub(crate) path: String,
    /// SHA-256 of the file.
    pub(crate) sha256: String,
}

impl Source {
    /// The file, if the folder has it.
    pub(crate) fn cached(&self, cache: &Path) -> Option<PathBuf> {
        let file = self.place(cache);
        fs::read(&file).is_ok_and(|bytes| digest(&bytes) == self.sha256).then_some(file)
    }

    /// Fetches the file into the folder.
    ///
    /// # Errors
    ///
    /// When the client is missing or fails, with its message.
    ///
    /// # Panics
    ///
    /// When the package does not contain the file, or another one in its place.
    pub(crate) fn fetch_into(&self, cache: &Path) -> Result<PathBuf, String> {
        let (file, bytes) = (self.place(cache), self.fetch()?);
        assert_eq!(digest(&bytes), self.sha256, "the digest of {self:?}");
        fs::create_dir_all(cache).unwrap();
        let mut whole = tempfile::NamedTempFile::new_in(cache).unwrap();
        whole.write_all(&bytes).unwrap();
        whole.persist(&file).unwrap();
        Ok(file)
    }

    fn place(&self, cache: &Path) -> PathBuf {
        cache.join(format!("{}.wasm", self.sha256))
    }

    fn fetch(&self) -> Result<Vec<u8>, String> {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let Self { package, version, path, .. } = self;
        match self.registry {
            Registry::Npm => {
                let package = format!("{package}@{version}");
                let options = ["--ignore-scripts", "--loglevel=error", "--logs-max=0"];
                let limits = ["--fetch-retries=2", "--fetch-retry-mintimeout=1000"];
                let limits = limits.iter().chain(&["--fetch-timeout=60000"]);
                run(at, "npm", ["pack", &package].iter().chain(&options).chain(limits))?;
                let archive = only_file(at);
                run(at, "tar", [OsStr::new("-xzf"), archive.as_os_str()])?;
                fs::remove_file(archive).unwrap();
                Ok(fs::read(only_file(at).join(path)).unwrap())
            }
            Registry::Crates => {
                let package = format!("{package}@{version}");
                let options = ["--config=net.retry=2", "--config=http.timeout=60"];
                run(at, env!("CARGO"), options.iter().chain(&["info", "--quiet", &package]))?;
                Ok(fs::read(unpacked(&package.replace('@', "-")).join(path)).unwrap())
            }
            Registry::Pypi => {
                let package = format!("{package}=={version}");
                let options = ["--no-deps", "--only-binary=:all:", "--no-compile", "--target=."];
                let limits = ["--retries=2", "--timeout=60", "--disable-pip-version-check"];
                let pip = ["-m", "pip", "install", "--quiet", &package];
                run(at, "python3", pip.iter().chain(&options).chain(&limits))?;
                Ok(fs::read(at.join(path)).unwrap())
            }
        }
    }
}

/// SHA-256, in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs a client in an empty folder.
fn run(
    folder: &Path,
    program: &str,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<(), String> {
    let mut command = assert_cmd::Command::new(program);
    let output = command.args(arguments).current_dir(folder).timeout(LIMIT).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let message = String::from_utf8_lossy(&output.stderr);
            let words: Vec<&str> = message.split_whitespace().take(40).collect();
            Err(format!("{program} failed or took too long: {}", words.join(" ")))
        }
    }
}

/// The entry of a folder with one entry.
fn only_file(folder: &Path) -> PathBuf {
    let mut entries = fs::read_dir(folder).unwrap();
    let only = entries.next().expect("the client left no file").unwrap().path();
    assert!(entries.next().is_none(), "the client left several files");
    only
}

/// Where cargo has unpacked a package.
fn unpacked(package: &str) -> PathBuf {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.unwrap_or_else(|| std::env::home_dir().unwrap().join(".cargo"));
    let registries = fs::read_dir(home.join("registry/src")).unwrap();
    let mut folders = registries.map(|entry| entry.unwrap().path().join(package));
    folders.find(|folder| folder.exists()).expect("cargo did not unpack the package")
}
