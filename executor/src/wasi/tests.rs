//! The functions, called as a backend calls them.

use super::answer::FUNCTIONS;
use super::guest::Errno;
use super::{Directory, MODULE, Settings, functions};
use crate::host::HostState;
use crate::test_support::FakeGuest;
use crate::{Config, Signature, Trap, TrapKind, ValueType};
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// A guest with a memory of one page.
struct World {
    guest: FakeGuest,
    log: Arc<Mutex<Vec<String>>>,
    _folder: TempDir,
}

impl World {
    /// With two arguments, one variable, and a directory:
    ///
    /// ```text
    /// text       "some text"
    /// folder/    inside -> ../text, up -> ../.., absolute -> /etc/passwd
    /// pipe
    /// ```
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("text"), "some text").unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        symlink("../text", at("folder/inside")).unwrap();
        symlink("../..", at("folder/up")).unwrap();
        symlink("/etc/passwd", at("folder/absolute")).unwrap();
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, mode, 0)
            .unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&log);
        let config = Config {
            max_log_level: 5,
            log: Some(Arc::new(move |level, target, message| {
                sink.lock().unwrap().push(format!("{level} {target} {message}"));
            })),
            wasi: Some(Arc::new(Settings {
                arguments: vec!["program".to_owned(), "ä".to_owned()],
                environment: vec![("NAME".to_owned(), "value".to_owned())],
                directory: Some(Directory::open(folder.path()).unwrap()),
            })),
            ..Config::default()
        };
        let guest = FakeGuest::with_host(HostState::new(None, &config), &config);
        Self { guest, log, _folder: folder }
    }

    fn call(&mut self, name: &str, parameters: &[u64]) -> Result<u32, Trap> {
        self.guest.call_integers((MODULE, name), parameters).map(|errno| errno as u32)
    }

    /// A call that gives this error code.
    fn refused(&mut self, name: &str, parameters: &[u64], errno: Errno) {
        assert_eq!(self.call(name, parameters), Ok(errno as u32), "{name} {parameters:?}");
    }

    fn done(&mut self, name: &str, parameters: &[u64]) {
        assert_eq!(self.call(name, parameters), Ok(0), "{name} {parameters:?}");
    }

    fn put(&mut self, at: u64, bytes: &[u8]) -> (u64, u64) {
        self.guest.memory[at as usize..][..bytes.len()].copy_from_slice(bytes);
        (at, bytes.len() as u64)
    }

    /// Writes buffers at an address: pairs of address and length.
    fn put_buffers(&mut self, at: u64, buffers: &[(u32, u32)]) -> (u64, u64) {
        let bytes: Vec<u8> = buffers
            .iter()
            .flat_map(|(pointer, length)| [pointer.to_le_bytes(), length.to_le_bytes()].concat())
            .collect();
        self.put(at, &bytes);
        (at, buffers.len() as u64)
    }

    fn bytes(&self, at: u64, length: u64) -> &[u8] {
        &self.guest.memory[at as usize..][..length as usize]
    }

    fn u32(&self, at: u64) -> u32 {
        u32::from_le_bytes(self.bytes(at, 4).try_into().unwrap())
    }

    fn u64(&self, at: u64) -> u64 {
        u64::from_le_bytes(self.bytes(at, 8).try_into().unwrap())
    }

    /// Opens a path beneath the directory.
    fn open(&mut self, path: &str, follow: bool, how: u64) -> Result<u64, u32> {
        let (at, length) = self.put(0x8000, path.as_bytes());
        let parameters = [3, follow.into(), at, length, how, 0, 0, 0, 0x9000];
        match self.call("path_open", &parameters).unwrap() {
            0 => Ok(self.u32(0x9000).into()),
            errno => Err(errno),
        }
    }

    fn write(&mut self, fd: u64, text: &str) {
        let (at, length) = self.put(0x8000, text.as_bytes());
        let (buffers, count) = self.put_buffers(0x7000, &[(at as u32, length as u32)]);
        self.done("fd_write", &[fd, buffers, count, 0x9000]);
        assert_eq!(u64::from(self.u32(0x9000)), length);
    }
}

#[test]
fn names_are_unique_and_all_return_an_error_code() {
    assert_eq!(functions().iter().count(), 46);
    for (name, params, _) in FUNCTIONS {
        let found = functions().find(MODULE, name).unwrap().signature().clone();
        assert_eq!(found, Signature::new(params, &[ValueType::I32]));
        assert!(params.len() <= 9);
    }
    let exit = functions().find(MODULE, "proc_exit").unwrap().signature().clone();
    assert_eq!(exit, Signature::new(&[ValueType::I32], &[]));
}

#[test]
fn arguments_and_variables_arrive() {
    let mut world = World::new();
    world.done("args_sizes_get", &[0, 4]);
    assert_eq!((world.u32(0), world.u32(4)), (2, 11));
    world.done("args_get", &[0, 100]);
    assert_eq!((world.u32(0), world.u32(4)), (100, 108));
    assert_eq!(world.bytes(100, 11), "program\0ä\0".as_bytes());
    world.done("environ_sizes_get", &[0, 4]);
    assert_eq!((world.u32(0), world.u32(4)), (1, 11));
    world.done("environ_get", &[0, 100]);
    assert_eq!(world.bytes(100, 11), b"NAME=value\0");
}

#[test]
fn clocks_and_random_numbers_begin_anew_after_a_reset() {
    let mut world = World::new();
    let observe = |world: &mut World| {
        for (clock, at) in [(0, 0), (1, 8), (1, 16)] {
            world.done("clock_time_get", &[clock, 0, at]);
        }
        world.done("random_get", &[24, 100]);
        world.bytes(0, 124).to_vec()
    };
    let first = observe(&mut world);
    assert_eq!(world.u64(16) - world.u64(8), 1_000_000);
    assert_ne!(world.bytes(24, 8), world.bytes(32, 8));
    assert_ne!(observe(&mut world), first);
    world.guest.host.reset();
    assert_eq!(observe(&mut world), first);
    world.refused("clock_time_get", &[4, 0, 0], Errno::Invalid);
}

#[test]
fn a_reset_brings_the_saved_state_back() {
    let mut world = World::new();
    world.done("clock_time_get", &[1, 0, 0]);
    let file = world.open("text", true, 0).unwrap();
    let saved = world.guest.host.save();
    world.done("fd_close", &[file]);
    world.done("clock_time_get", &[1, 0, 0]);
    world.guest.host.reset_to(&saved);
    world.done("fd_tell", &[file, 0]);
    world.done("clock_time_get", &[1, 0, 0]);
    assert_eq!(world.u64(0), 2_000_000);
}

#[test]
fn polling_advances_the_clock_and_never_waits() {
    let mut world = World::new();
    let hour = 3_600_000_000_000_u64;
    let mut subscription = [0; 48];
    subscription[..8].copy_from_slice(&7_u64.to_le_bytes());
    subscription[16..20].copy_from_slice(&1_u32.to_le_bytes());
    subscription[24..32].copy_from_slice(&hour.to_le_bytes());
    world.put(1000, &subscription);
    world.done("poll_oneoff", &[1000, 2000, 1, 0]);
    assert_eq!((world.u32(0), world.u64(2000)), (1, 7));
    world.done("clock_time_get", &[1, 0, 0]);
    assert_eq!(world.u64(0), hour + 1_000_000);
    // With a descriptor, which is ready, the clock is not.
    subscription[8] = 1;
    world.put(1048, &subscription);
    world.done("poll_oneoff", &[1000, 2000, 2, 0]);
    assert_eq!((world.u32(0), world.bytes(2010, 1)), (1, &[1][..]));
    world.refused("poll_oneoff", &[1000, 2000, 0, 0], Errno::Invalid);
    world.refused("poll_oneoff", &[1000, 2000, u32::MAX.into(), 0], Errno::Fault);
}

#[test]
fn standard_streams_are_the_input_the_output_and_the_log() {
    let mut world = World::new();
    for _ in 0..2 {
        world.guest.host.begin_program(b"input");
        let (buffers, count) = world.put_buffers(0, &[(100, 3), (200, 9)]);
        world.done("fd_read", &[0, buffers, count, 300]);
        assert_eq!(world.u32(300), 5);
        assert_eq!((world.bytes(100, 3), world.bytes(200, 2)), (&b"inp"[..], &b"ut"[..]));
        world.done("fd_read", &[0, buffers, count, 300]);
        assert_eq!(world.u32(300), 0);
        world.write(1, "out");
        world.write(1, "put");
        world.write(2, "one\ntw");
        world.write(2, "o");
        assert_eq!(world.guest.host.end_program(), b"output");
        let lines = std::mem::take(&mut *world.log.lock().unwrap());
        assert_eq!(lines, ["2 stderr one", "2 stderr two"]);
    }
}

#[test]
fn output_is_bounded() {
    let mut world = World::new();
    let (buffers, count) = world.put_buffers(0, &[(0, 1 << 16); 512]);
    for _ in 0..2 {
        world.done("fd_write", &[1, buffers, count, 0x9000]);
    }
    world.refused("fd_write", &[1, buffers, count, 0x9000], Errno::FileTooLarge);
    world.refused("fd_write", &[1, buffers, 1025, 0x9000], Errno::Invalid);
}

/// One call may name the same bytes many times.
#[test]
fn errors_are_taken_in_parts() {
    let mut world = World::new();
    let (buffers, count) = world.put_buffers(0, &[(0, 40_000); 512]);
    world.done("fd_write", &[2, buffers, count, 0x9000]);
    assert_eq!(world.u32(0x9000), 64 << 10);
}

#[test]
fn files_are_read_at_their_offset() {
    let mut world = World::new();
    world.done("fd_prestat_get", &[3, 0]);
    assert_eq!(world.bytes(0, 8), [0, 0, 0, 0, 1, 0, 0, 0]);
    world.done("fd_prestat_dir_name", &[3, 0, 1]);
    assert_eq!(world.bytes(0, 1), b"/");
    world.refused("fd_prestat_get", &[4, 0], Errno::BadFile);
    let file = world.open("text", true, 0).unwrap();
    let (buffers, count) = world.put_buffers(0, &[(100, 4)]);
    for expected in [&b"some"[..], b" tex", b"t"] {
        world.done("fd_read", &[file, buffers, count, 50]);
        assert_eq!(world.bytes(100, world.u32(50).into()), expected);
    }
    world.done("fd_pread", &[file, buffers, count, 1, 50]);
    assert_eq!(world.bytes(100, 4), b"ome ");
    world.done("fd_seek", &[file, (-4_i64).cast_unsigned(), 2, 50]);
    assert_eq!(world.u64(50), 5);
    world.done("fd_tell", &[file, 50]);
    assert_eq!(world.u64(50), 5);
    world.refused("fd_seek", &[file, (-6_i64).cast_unsigned(), 1, 50], Errno::Invalid);
    world.done("fd_filestat_get", &[file, 200]);
    assert_eq!((world.bytes(216, 1), world.u64(232)), (&[4][..], 9));
    world.refused("fd_write", &[file, buffers, count, 50], Errno::BadFile);
    world.done("fd_close", &[file]);
    world.refused("fd_close", &[file], Errno::BadFile);
    world.refused("fd_read", &[file, buffers, count, 50], Errno::BadFile);
}

#[test]
fn directories_are_listed_sorted_and_in_parts() {
    let mut world = World::new();
    world.done("fd_readdir", &[3, 0, 1000, 0, 2000]);
    let mut names = Vec::new();
    let mut at = 0;
    while at < u64::from(world.u32(2000)) {
        let length = u64::from(world.u32(at + 16));
        names.push(String::from_utf8(world.bytes(at + 24, length).to_vec()).unwrap());
        at += 24 + length;
    }
    assert_eq!(names, [".", "..", "folder", "pipe", "text"]);
    // From the fourth entry on, as far as there is room.
    world.done("fd_readdir", &[3, 0, 26, 3, 2000]);
    assert_eq!((world.u32(2000), world.bytes(24, 2)), (26, &b"pi"[..]));
    let file = world.open("text", true, 0).unwrap();
    world.refused("fd_readdir", &[file, 0, 26, 0, 2000], Errno::NotDirectory);
}

#[test]
fn paths_cannot_leave_the_directory() {
    let mut world = World::new();
    assert!(world.open("folder/inside", true, 0).is_ok());
    assert!(world.open("folder/../text", true, 0).is_ok());
    for path in ["..", "../..", "/", "/etc/passwd", "folder/up", "folder/up/x", "folder/absolute"] {
        assert_eq!(world.open(path, true, 0), Err(Errno::NotCapable as u32), "{path}");
        let (at, length) = world.put(0x8000, path.as_bytes());
        world.refused("path_filestat_get", &[3, 1, at, length, 0], Errno::NotCapable);
    }
    assert_eq!(world.open("folder/inside", false, 0), Err(Errno::Loop as u32));
    assert_eq!(world.open("", true, 0), Err(Errno::NoEntry as u32));
    assert_eq!(world.open(&"./".repeat(2048), true, 0), Err(Errno::NameTooLong as u32));
    assert_eq!(world.open(&format!("{}text", "./".repeat(2045)), true, 0).err(), None);
    assert_eq!(world.open("a\0b", true, 0), Err(Errno::Invalid as u32));
    assert_eq!(world.open("text", true, 2), Err(Errno::NotDirectory as u32));
    // Opening one would wait for a writer.
    assert_eq!(world.open("pipe", true, 0), Err(Errno::Access as u32));
    let (at, length) = world.put(0x8000, b"folder/absolute");
    world.done("path_readlink", &[3, at, length, 0, 5, 100]);
    assert_eq!((world.u32(100), world.bytes(0, 5)), (5, &b"/etc/"[..]));
}

#[test]
fn nothing_is_written() {
    let mut world = World::new();
    assert_eq!(world.open("new", true, 1), Err(Errno::ReadOnly as u32));
    assert!(world.open("text", true, 1).is_ok());
    for how in [4, 8] {
        assert_eq!(world.open("text", true, how), Err(Errno::ReadOnly as u32));
    }
    let (at, length) = world.put(0x8000, b"text");
    let right_to_write = 1 << 6;
    let open = [3, 0, at, length, 0, right_to_write, 0, 0, 0x9000];
    world.refused("path_open", &open, Errno::ReadOnly);
    for (name, parameters) in [
        ("path_unlink_file", &[3, at, length][..]),
        ("path_create_directory", &[3, at, length]),
        ("path_rename", &[3, at, length, 3, at, length]),
        ("path_symlink", &[at, length, 3, at, length]),
        ("path_link", &[3, 0, at, length, 3, at, length]),
        ("fd_filestat_set_size", &[3, 0]),
    ] {
        world.refused(name, parameters, Errno::ReadOnly);
    }
    world.refused("sock_send", &[3, 0, 0, 0, 0], Errno::NotSocket);
    world.refused("proc_raise", &[9], Errno::NoSystemCall);
}

#[test]
fn descriptors_are_bounded_and_given_anew() {
    let mut world = World::new();
    let opened: Vec<_> = std::iter::from_fn(|| world.open("text", true, 0).ok()).collect();
    assert_eq!(opened, (4..128).collect::<Vec<u64>>());
    assert_eq!(world.open("text", true, 0), Err(Errno::TooManyFiles as u32));
    world.done("fd_close", &[9]);
    assert_eq!(world.open("text", true, 0), Ok(9));
    world.done("fd_renumber", &[9, 0]);
    world.refused("fd_tell", &[9, 0], Errno::BadFile);
    world.done("fd_tell", &[0, 0]);
}

#[test]
fn an_exit_is_a_trap_with_its_code() {
    let mut world = World::new();
    let trap = world.call("proc_exit", &[u32::MAX.into()]).unwrap_err();
    assert_eq!(trap.kind, TrapKind::Exit { code: -1 });
}

/// Every function with every parameter at the borders of memory and numbers: an error code, and
/// no panic.
#[test]
fn no_parameter_reaches_outside_the_memory() {
    let borders =
        [0, 1, 3, 0xfff8, 0xffff, 0x1_0000, 0x7fff_ffff, 0xffff_fff8, 0xffff_ffff, u64::MAX];
    let mut random = fastrand::Rng::with_seed(1);
    let mut world = World::new();
    for (name, params, _) in FUNCTIONS {
        for _ in 0..2000 {
            let parameters: Vec<u64> =
                params.iter().map(|_| borders[random.usize(..borders.len())]).collect();
            assert!(world.call(name, &parameters).unwrap() < 77);
        }
        world.guest.host.reset();
        random.fill(&mut world.guest.memory);
    }
    world.guest.memory.clear();
    world.refused("random_get", &[0, 1], Errno::Fault);
    world.done("random_get", &[0, 0]);
    world.refused("clock_time_get", &[0, 0, 0], Errno::Fault);
}
