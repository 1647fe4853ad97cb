//! A private folder through which the processes of one run share compiled code.

use crate::artifact::CompiledCode;
use crate::guest::GuestModule;
use crate::{Config, Engine, Error, Result, Strategy};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::fs::{DirBuilder, File, Metadata};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Bytes in front of the code in its file.
const DIGEST: u64 = 32;
/// Largest file that is read back, bytes.
const MOST: u64 = 2 << 30;

/// Key of compiled code. Code is restored only under an equal key.
///
/// The key contains the engine and its version, the class of the artifact, and the guest before
/// and after its preparation (and so its heap pages). It also contains the settings that affect
/// code, the running binary and the boot of the machine. Code therefore never outlives a rebuild
/// of Touchstone or a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactKey(String);

impl ArtifactKey {
    /// The key of a guest's code on an engine. `made_of` has everything else that affects
    /// the code, for instance the digest of a rewritten module.
    ///
    /// `None` if the kernel does not identify the running binary or the boot; code is then
    /// not shared.
    pub fn new<E: Engine + ?Sized>(
        engine: &E,
        guest: &GuestModule,
        strategy: Strategy,
        config: &Config,
        made_of: &str,
    ) -> Option<Self> {
        // By name, so that whoever adds a setting decides whether it belongs here.
        let Config {
            deadline: _,
            interruptible: _,
            metered,
            functions: _,
            imports: _,
            max_log_level: _,
            log: _,
            streams: _,
            instances: _,
            parallel_compilation: _,
            codec: _,
            wasi: _,
            region: _,
        } = config;
        Some(Self(format!(
            "engine: {:?}\nversion: {:?}\nclass: {:?}\nguest: {}\nprepared: {}\ninterruptible: {}\n\
             metered: {metered}\nmade of: {made_of:?}\nhere: {}\n",
            engine.id(),
            engine.version(),
            engine.artifact_class(strategy),
            hexadecimal(&guest.sha256()),
            hexadecimal(&Sha256::digest(guest.wasm())),
            config.is_interruptible(),
            here()?,
        )))
    }

    fn file_name(&self) -> String {
        format!("{}.artifact", hexadecimal(&Sha256::digest(&self.0)))
    }

    /// The digest of the key and of code under it, which stands before the code in its file.
    fn digest(&self, code: &[u8]) -> [u8; DIGEST as usize] {
        let length = (self.0.len() as u64).to_le_bytes();
        let key = Sha256::new().chain_update(length).chain_update(&self.0);
        key.chain_update(code).finalize().into()
    }
}

/// Which binary runs, and since which boot of which machine.
fn here() -> Option<&'static str> {
    static HERE: OnceLock<Option<String>> = OnceLock::new();
    let look = || -> io::Result<String> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let binary = std::fs::metadata("/proc/self/exe")?;
        Ok(format!(
            "boot {}, binary {}:{} of {} bytes, changed {}.{:09}",
            boot.trim(),
            binary.dev(),
            binary.ino(),
            binary.size(),
            binary.mtime(),
            binary.mtime_nsec()
        ))
    };
    HERE.get_or_init(|| look().ok()).as_deref()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A folder with compiled code, which one run creates and its processes open.
///
/// Runtimes execute the code, and neither its digest nor its key is a secret: a process that
/// can write to the folder can run code in every process that reads from it. The folder is
/// therefore created with mode 0700, and refused if it belongs to another user or gives others
/// any access. Other processes of the same user are trusted.
///
/// No file of the folder is mapped. Code is read into memory, checked, and handled like code
/// that was compiled in this process: see [`CompiledCode`].
#[derive(Debug)]
pub struct ArtifactFolder {
    /// Held open, so that nobody can put another folder in its place.
    folder: File,
}

impl ArtifactFolder {
    /// Creates the folder with mode 0700. The caller removes it. Fails when the name exists
    /// already, or the folder cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        DirBuilder::new()
            .mode(0o700)
            .create(path)
            .map_err(Error::system("cannot create the folder for compiled code"))?;
        Self::open(path)
    }

    /// Opens a folder that the run has created. Fails when the path is not a folder (a symbolic
    /// link is not), belongs to another user, gives others any access, or cannot be opened.
    pub fn open(path: &Path) -> Result<Self> {
        let open = || -> io::Result<Self> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let folder = File::from(rustix::fs::open(path, flags, Mode::empty())?);
            if !is_private(&folder.metadata()?) {
                let reason = "it must belong to this user and have mode 0700";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
            }
            Ok(Self { folder })
        };
        open().map_err(Error::system("cannot use the folder for compiled code"))
    }

    /// Where a file of the folder lies, whatever became of the folder's own name.
    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.folder.as_raw_fd()))
    }

    /// Stores code under its key, atomically. Code of the same key is replaced. Fails when the file
    /// cannot be written. The old file then remains.
    pub fn write(&self, key: &ArtifactKey, code: &CompiledCode) -> Result<()> {
        let write = || -> io::Result<()> {
            // Mode 0600.
            let mut file = tempfile::NamedTempFile::new_in(self.path(""))?;
            file.write_all(&key.digest(code.bytes()))?;
            file.write_all(code.bytes())?;
            file.persist(self.path(&key.file_name()))?;
            Ok(())
        };
        write().map_err(Error::system("cannot keep the compiled code"))
    }

    /// The code stored under exactly this key; `None` if there is none, or the file is not exactly
    /// as [`write`](Self::write) wrote it. Fails when the file exists and cannot be read.
    pub fn read(&self, key: &ArtifactKey) -> Result<Option<CompiledCode>> {
        let read = || -> io::Result<Option<CompiledCode>> {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = match rustix::fs::openat(&self.folder, key.file_name(), flags, Mode::empty())
            {
                Ok(file) => File::from(file),
                // There is none, or a link or a socket in its place.
                Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let metadata = file.metadata()?;
            if !metadata.is_file() || !is_private(&metadata) {
                return Ok(None);
            }
            Ok(checked(&file, metadata.len(), key)?.map(CompiledCode::new))
        };
        read().map_err(Error::system("cannot read the kept code"))
    }
}

/// `true` if only this user has access.
fn is_private(metadata: &Metadata) -> bool {
    let owner = rustix::process::geteuid().as_raw();
    metadata.uid() == owner && metadata.permissions().mode() & 0o077 == 0
}

/// The code in a file of so many bytes, if it was written under this key.
fn checked(mut file: &File, length: u64, key: &ArtifactKey) -> io::Result<Option<Vec<u8>>> {
    let Some(size) = length.checked_sub(DIGEST).filter(|_| length <= MOST) else {
        return Ok(None);
    };
    let (mut digest, mut code) = ([0; DIGEST as usize], Vec::new());
    file.read_exact(&mut digest)?;
    code.try_reserve_exact(size as usize)?;
    // One byte more would be seen, if the file has grown since.
    file.take(size + 1).read_to_end(&mut code)?;
    Ok((digest == key.digest(&code)).then_some(code))
}

// They make files.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::guest::HeapPages;
    use crate::harness::mock::MockEngine;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    fn key_of(id: &'static str, heap: u32, config: &Config, made_of: &str) -> ArtifactKey {
        let wasm = wat::parse_str("(module (memory 1) (func (export \"f\")))").unwrap();
        let heap = HeapPages { extra: heap, ..HeapPages::default() };
        let guest = GuestModule::new("guest", &wasm, heap).unwrap();
        let strategy = "recreate_instance".parse().unwrap();
        ArtifactKey::new(&MockEngine::new(id), &guest, strategy, config, made_of).unwrap()
    }

    fn key() -> ArtifactKey {
        key_of("mock", 0, &Config::default(), "")
    }

    fn bytes() -> Vec<u8> {
        (0..100_000_u32).map(|at| (at % 251) as u8).collect()
    }

    /// A folder with code under [`key`], and the path of its file.
    fn with_code() -> (tempfile::TempDir, ArtifactFolder, PathBuf) {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("artifacts");
        let folder = ArtifactFolder::create(&path).unwrap();
        folder.write(&key(), &CompiledCode::new(bytes())).unwrap();
        (parent, folder, path.join(key().file_name()))
    }

    fn found(folder: &ArtifactFolder, key: &ArtifactKey) -> Option<Vec<u8>> {
        folder.read(key).unwrap().map(|code| code.bytes().to_vec())
    }

    #[test]
    fn code_is_read_back_whole_and_files_have_one_reader() {
        let (parent, _, file) = with_code();
        let folder = ArtifactFolder::open(&parent.path().join("artifacts")).unwrap();
        assert_eq!(found(&folder, &key()), Some(bytes()));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(file.parent().unwrap()), mode(&file)), (0o700, 0o600));
        // What is written again replaces it, and nothing else is left behind.
        folder.write(&key(), &CompiledCode::new(vec![])).unwrap();
        assert_eq!(found(&folder, &key()), Some(vec![]));
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_found_under_another_key() {
        let (_parent, folder, file) = with_code();
        let deadline = Config { deadline: Some(Duration::from_secs(1)), ..Config::default() };
        let metered = Config { metered: true, ..Config::default() };
        for other in [
            key_of("other", 0, &Config::default(), ""),
            key_of("mock", 1, &Config::default(), ""),
            key_of("mock", 0, &deadline, ""),
            key_of("mock", 0, &metered, ""),
            key_of("mock", 0, &Config::default(), "something else"),
        ] {
            assert_eq!(found(&folder, &other), None, "{other:?}");
            // Not under its file's name either.
            fs::copy(&file, file.with_file_name(other.file_name())).unwrap();
            assert_eq!(found(&folder, &other), None, "{other:?}");
        }
        // What decides about no code is not part of it.
        let same = Config { instances: 7, max_log_level: 3, ..Config::default() };
        assert_eq!(found(&folder, &key_of("mock", 0, &same, "")), Some(bytes()));
    }

    #[test]
    fn a_file_that_was_changed_is_ignored() {
        let (_parent, folder, file) = with_code();
        let whole = fs::read(&file).unwrap();
        let header = whole.len() - bytes().len();
        for length in [0, 1, header - 1, header, header + 1, whole.len() - 1] {
            fs::write(&file, &whole[..length]).unwrap();
            assert_eq!(found(&folder, &key()), None, "cut off after {length} bytes");
        }
        fs::write(&file, [&whole[..], &[0]].concat()).unwrap();
        assert_eq!(found(&folder, &key()), None, "with a byte more");
        for at in (0..header).chain([header, whole.len() / 2, whole.len() - 1]) {
            let mut changed = whole.clone();
            changed[at] ^= 4;
            fs::write(&file, changed).unwrap();
            assert_eq!(found(&folder, &key()), None, "with another byte {at}");
        }
        File::create(&file).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(found(&folder, &key()), None, "of a terabyte");
        fs::write(&file, &whole).unwrap();
        assert_eq!(found(&folder, &key()), Some(bytes()));
    }

    #[test]
    fn what_others_can_write_is_ignored() {
        let (parent, folder, file) = with_code();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o620)).unwrap();
        assert_eq!(found(&folder, &key()), None);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let elsewhere = parent.path().join("elsewhere");
        fs::rename(&file, &elsewhere).unwrap();
        symlink(&elsewhere, &file).unwrap();
        assert_eq!(found(&folder, &key()), None);
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert_eq!(found(&folder, &key()), None);
    }

    #[test]
    fn only_a_private_folder_is_opened() {
        let (parent, _, file) = with_code();
        let path = file.parent().unwrap();
        let refused = ArtifactFolder::create(path).unwrap_err();
        assert!(refused.to_string().contains("cannot create"), "{refused}");
        let link = parent.path().join("link");
        symlink(path, &link).unwrap();
        ArtifactFolder::open(&link).unwrap_err();
        ArtifactFolder::open(&file).unwrap_err();
        ArtifactFolder::open(&parent.path().join("none")).unwrap_err();
        for mode in [0o701, 0o720, 0o755] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            let refused = ArtifactFolder::open(path).unwrap_err();
            assert!(refused.to_string().contains("mode 0700"), "{refused}");
        }
    }
}
