//! The functions themselves.

use super::files::Open;
use super::guest::{Answer, Buffer, Errno, Guest, offset};
use super::poll::poll;
use super::stat::{WRITE, write_entries, write_stat};
use super::state::{Descriptor, STEP, State};
use super::streams::Streams;
use super::{MODULE, Settings};
use crate::ValueType::{I32, I64};
use crate::host::HostState;
use crate::{Functions, HostCall, Signature, Trap, TrapKind, Value, ValueType, functions};
use std::sync::LazyLock;

/// Name of the directory that is handed in.
const ROOT: &[u8] = b"/";
/// Bytes that are read from a file at once. They pass through the host's memory, because the
/// kernel must not write to pages of the guest that are tracked.
const CHUNK: usize = 64 << 10;
/// Bytes of standard error that one call writes at most: each line is a call of the host's log.
const MOST_ERRORS: u32 = 64 << 10;
/// Bits of `path_open`: create, must be a directory, must not exist, truncate.
const CREATE: u32 = 1;
const DIRECTORY: u32 = 2;
const EXCLUSIVE: u32 = 4;
const TRUNCATE: u32 = 8;

/// The functions that return, each with the types of its parameters. The result is an error code, 0
/// for success.
pub(super) const FUNCTIONS: &[(&str, &[ValueType], Run)] = &[
    ("args_get", &[I32, I32], |call| call.texts(|settings| settings.arguments.clone())),
    ("args_sizes_get", &[I32, I32], |call| call.sizes(|settings| settings.arguments.clone())),
    ("clock_res_get", &[I32, I32], |call| call.clock_step()),
    ("clock_time_get", &[I32, I64, I32], |call| call.clock_time()),
    ("environ_get", &[I32, I32], |call| call.texts(variables)),
    ("environ_sizes_get", &[I32, I32], |call| call.sizes(variables)),
    ("fd_advise", &[I32, I64, I64, I32], |call| call.nothing()),
    ("fd_allocate", &[I32, I64, I64], |call| call.refuse(0, Errno::ReadOnly)),
    ("fd_close", &[I32], |call| call.state.close(call.fd())),
    ("fd_datasync", &[I32], |call| call.nothing()),
    ("fd_fdstat_get", &[I32, I32], |call| call.status()),
    ("fd_fdstat_set_flags", &[I32, I32], |call| call.refuse(0, Errno::NotSupported)),
    ("fd_fdstat_set_rights", &[I32, I64, I64], |call| call.refuse(0, Errno::NotSupported)),
    ("fd_filestat_get", &[I32, I32], |call| call.file_status()),
    ("fd_filestat_set_size", &[I32, I64], |call| call.refuse(0, Errno::ReadOnly)),
    ("fd_filestat_set_times", &[I32, I64, I64, I32], |call| call.refuse(0, Errno::ReadOnly)),
    ("fd_pread", &[I32, I32, I32, I64, I32], |call| call.read_at()),
    ("fd_prestat_dir_name", &[I32, I32, I32], |call| call.preopened_name()),
    ("fd_prestat_get", &[I32, I32], |call| call.preopened()),
    ("fd_pwrite", &[I32, I32, I32, I64, I32], |call| call.write_at()),
    ("fd_read", &[I32, I32, I32, I32], |call| call.read()),
    ("fd_readdir", &[I32, I32, I32, I64, I32], |call| call.entries()),
    ("fd_renumber", &[I32, I32], |call| call.state.renumber(call.fd(), call.narrow(1))),
    ("fd_seek", &[I32, I64, I32, I32], |call| call.seek()),
    ("fd_sync", &[I32], |call| call.nothing()),
    ("fd_tell", &[I32, I32], |call| call.tell()),
    ("fd_write", &[I32, I32, I32, I32], |call| call.write()),
    ("path_create_directory", &[I32, I32, I32], |call| call.refuse(0, Errno::ReadOnly)),
    ("path_filestat_get", &[I32, I32, I32, I32, I32], |call| call.path_status()),
    ("path_filestat_set_times", &[I32, I32, I32, I32, I64, I64, I32], |call| {
        call.refuse(0, Errno::ReadOnly)
    }),
    ("path_link", &[I32, I32, I32, I32, I32, I32, I32], |call| call.refuse(0, Errno::ReadOnly)),
    ("path_open", &[I32, I32, I32, I32, I32, I64, I64, I32, I32], |call| call.open()),
    ("path_readlink", &[I32, I32, I32, I32, I32, I32], |call| call.read_link()),
    ("path_remove_directory", &[I32, I32, I32], |call| call.refuse(0, Errno::ReadOnly)),
    ("path_rename", &[I32, I32, I32, I32, I32, I32], |call| call.refuse(0, Errno::ReadOnly)),
    ("path_symlink", &[I32, I32, I32, I32, I32], |call| call.refuse(2, Errno::ReadOnly)),
    ("path_unlink_file", &[I32, I32, I32], |call| call.refuse(0, Errno::ReadOnly)),
    ("poll_oneoff", &[I32, I32, I32, I32], |call| call.poll()),
    ("proc_raise", &[I32], |_| Err(Errno::NoSystemCall)),
    ("random_get", &[I32, I32], |call| call.random()),
    ("sched_yield", &[], |_| Ok(())),
    ("sock_accept", &[I32, I32, I32], |call| call.refuse(0, Errno::NotSocket)),
    ("sock_recv", &[I32, I32, I32, I32, I32, I32], |call| call.refuse(0, Errno::NotSocket)),
    ("sock_send", &[I32, I32, I32, I32, I32], |call| call.refuse(0, Errno::NotSocket)),
    ("sock_shutdown", &[I32, I32], |call| call.refuse(0, Errno::NotSocket)),
];

type Run = fn(&mut Call<'_>) -> Answer<()>;

/// The functions of WASI preview 1, of the import module `wasi_snapshot_preview1`.
pub fn functions() -> Functions {
    let mut functions = Functions::none();
    for (name, params, run) in FUNCTIONS {
        functions.add(MODULE, name, Signature::new(params, &[I32]), |call| answer(call, *run));
    }
    functions.wrap(MODULE, "proc_exit", |call: &mut HostCall<'_>, code: i32| -> Result<(), Trap> {
        call.host().streams().end();
        Err(TrapKind::Exit { code }.into())
    });
    functions
}

fn answer(call: &mut HostCall<'_>, run: Run) -> Result<(), Trap> {
    let mut parameters = Parameters::default();
    for (place, value) in parameters.iter_mut().zip(call.params()) {
        *place = match *value {
            Value::I32(value) => value.cast_unsigned().into(),
            Value::I64(value) => value.cast_unsigned(),
            _ => 0,
        };
    }
    let (memory, host) = call.memory_and_host();
    host.streams();
    let HostState { states, streams, settings, input, .. } = host;
    let Some(streams) = streams else { return Ok(()) };
    let nothing = Settings::default();
    let settings = settings.as_deref().unwrap_or(&nothing);
    let state = states.get(&STATE).get_or_insert_with(|| State::new(settings));
    let guest = Guest(memory);
    let mut running = Call { state, streams, settings, input, guest, parameters: &parameters };
    let errno = run(&mut running).map_or_else(|errno| errno as i32, |()| 0);
    call.give(&[Value::I32(errno)])
}

/// The state of each instance, which its first call makes.
static STATE: LazyLock<functions::State<Option<State>>> =
    LazyLock::new(|| functions::State::new(None));

/// Parameters of a call, zero-extended, in order; unused places are zero.
type Parameters = [u64; 9];

pub(super) struct Call<'a> {
    state: &'a mut State,
    streams: &'a mut Streams,
    settings: &'a Settings,
    input: &'a [u8],
    guest: Guest<'a>,
    parameters: &'a Parameters,
}

impl Call<'_> {
    /// A parameter of 32 bits. What a runtime leaves in the upper half is ignored.
    fn narrow(&self, index: usize) -> u32 {
        self.parameters[index] as u32
    }

    /// A parameter of 64 bits.
    fn wide(&self, index: usize) -> u64 {
        self.parameters[index]
    }

    /// Two parameters as address and length.
    fn buffer(&self, index: usize) -> Buffer {
        (self.narrow(index), self.narrow(index + 1))
    }

    /// The descriptor that most functions begin with.
    fn fd(&self) -> u32 {
        self.narrow(0)
    }

    fn clock_step(&mut self) -> Answer<()> {
        self.state.now(self.narrow(0))?;
        self.guest.write_u64(self.narrow(1), STEP)
    }

    fn clock_time(&mut self) -> Answer<()> {
        let time = self.state.clock(self.narrow(0))?;
        self.guest.write_u64(self.narrow(2), time)
    }

    fn random(&mut self) -> Answer<()> {
        let place = self.buffer(0);
        self.state.fill_random(self.guest.bytes_mut(place)?);
        Ok(())
    }

    fn poll(&mut self) -> Answer<()> {
        let (from, to, count) = (self.narrow(0), self.narrow(1), self.narrow(2));
        let ready = poll(self.state, &mut self.guest, from, to, count)?;
        self.guest.write_u32(self.narrow(3), ready)
    }

    fn status(&mut self) -> Answer<()> {
        let pointer = self.narrow(1);
        self.state.descriptor(self.fd())?.write_status(&mut self.guest, pointer)
    }

    fn file_status(&mut self) -> Answer<()> {
        let pointer = self.narrow(1);
        self.state.descriptor(self.fd())?.write_file_status(&mut self.guest, pointer)
    }

    fn path_status(&mut self) -> Answer<()> {
        let follow = self.narrow(1) & 1 != 0;
        let path = self.guest.path(self.buffer(2))?;
        let open = self.state.open(self.fd(), Errno::NotDirectory)?;
        let (stat, to) = (open.stat_beneath(path, follow)?, self.narrow(4));
        write_stat(&mut self.guest, to, &stat)
    }

    fn preopened(&mut self) -> Answer<()> {
        self.check_preopened()?;
        let mut record = [0; 8];
        record[4] = ROOT.len() as u8;
        self.guest.write(self.narrow(1), &record)
    }

    fn preopened_name(&mut self) -> Answer<()> {
        self.check_preopened()?;
        let (pointer, length) = self.buffer(1);
        if (length as usize) < ROOT.len() {
            return Err(Errno::NameTooLong);
        }
        self.guest.write(pointer, ROOT)
    }

    fn check_preopened(&mut self) -> Answer<()> {
        match self.state.descriptor(self.fd())? {
            Descriptor::Open(open) if open.is_preopened() => Ok(()),
            _ => Err(Errno::BadFile),
        }
    }

    fn tell(&mut self) -> Answer<()> {
        let at = *self.state.open(self.fd(), Errno::NotSeekable)?.offset()?;
        self.guest.write_u64(self.narrow(1), at)
    }

    fn entries(&mut self) -> Answer<()> {
        let (place, cookie) = (self.buffer(1), self.wide(3));
        let open = self.state.open(self.fd(), Errno::NotDirectory)?;
        let written = write_entries(&mut self.guest, open, place, cookie)?;
        self.guest.write_u32(self.narrow(4), written)
    }

    /// Nothing was written that is not where it belongs.
    fn nothing(&mut self) -> Answer<()> {
        self.state.descriptor(self.fd()).map(drop)
    }

    fn write_at(&mut self) -> Answer<()> {
        match self.state.descriptor(self.fd())? {
            Descriptor::Open(_) => Err(Errno::BadFile),
            _ => Err(Errno::NotSeekable),
        }
    }

    /// Refuses what is done to an open descriptor, which is this parameter.
    fn refuse(&mut self, index: usize, errno: Errno) -> Answer<()> {
        self.state.descriptor(self.narrow(index))?;
        Err(errno)
    }

    /// Writes texts, each ended by a zero, and an array of their addresses.
    fn texts(&mut self, texts: fn(&Settings) -> Vec<String>) -> Answer<()> {
        let (mut pointers, mut place) = (self.narrow(0), self.narrow(1));
        for text in texts(self.settings) {
            self.guest.write_u32(pointers, place)?;
            self.guest.write(place, text.as_bytes())?;
            place = offset(place, u32::try_from(text.len()).map_err(|_| Errno::TooBig)?)?;
            self.guest.write(place, &[0])?;
            (pointers, place) = (offset(pointers, 4)?, offset(place, 1)?);
        }
        Ok(())
    }

    /// Writes the number of texts, and of their bytes with the zeros.
    fn sizes(&mut self, texts: fn(&Settings) -> Vec<String>) -> Answer<()> {
        let texts = texts(self.settings);
        let bytes: usize = texts.iter().map(|text| text.len() + 1).sum();
        let narrow = |size: usize| u32::try_from(size).map_err(|_| Errno::TooBig);
        self.guest.write_u32(self.narrow(0), narrow(texts.len())?)?;
        self.guest.write_u32(self.narrow(1), narrow(bytes)?)
    }

    fn read(&mut self) -> Answer<()> {
        let buffers = self.guest.buffers(self.narrow(1), self.narrow(2))?;
        let read = match self.state.descriptor(self.fd())? {
            Descriptor::Input => self.read_input(&buffers)?,
            Descriptor::Open(open) => {
                let start = *open.offset()?;
                let read = fill(&mut self.guest, open, &buffers, start)?;
                *open.offset()? = start.saturating_add(read.into());
                read
            }
            Descriptor::Output | Descriptor::Error => return Err(Errno::BadFile),
        };
        self.guest.write_u32(self.narrow(3), read)
    }

    fn read_input(&mut self, buffers: &[Buffer]) -> Answer<u32> {
        let mut read = 0;
        for buffer in buffers {
            let rest = self.input.get(self.streams.taken..).unwrap_or_default();
            let place = self.guest.bytes_mut(*buffer)?;
            let count = place.len().min(rest.len());
            place[..count].copy_from_slice(&rest[..count]);
            self.streams.taken += count;
            read += count as u32;
        }
        Ok(read)
    }

    fn read_at(&mut self) -> Answer<()> {
        let buffers = self.guest.buffers(self.narrow(1), self.narrow(2))?;
        let start = self.wide(3);
        let open = self.state.open(self.fd(), Errno::NotSeekable)?;
        let read = fill(&mut self.guest, open, &buffers, start)?;
        self.guest.write_u32(self.narrow(4), read)
    }

    fn seek(&mut self) -> Answer<()> {
        let (distance, whence) = (self.wide(1) as i64, self.narrow(2));
        let open = self.state.open(self.fd(), Errno::NotSeekable)?;
        let start = match whence {
            0 => 0,
            1 => *open.offset()?,
            2 => u64::try_from(open.stat()?.st_size).map_err(|_| Errno::Io)?,
            _ => return Err(Errno::Invalid),
        };
        let at = start.checked_add_signed(distance).ok_or(Errno::Invalid)?;
        *open.offset()? = at;
        self.guest.write_u64(self.narrow(3), at)
    }

    fn write(&mut self) -> Answer<()> {
        let is_output = match self.state.descriptor(self.fd())? {
            Descriptor::Output => true,
            Descriptor::Error => false,
            Descriptor::Input | Descriptor::Open(_) => return Err(Errno::BadFile),
        };
        let buffers = self.guest.buffers(self.narrow(1), self.narrow(2))?;
        let total: u32 = buffers.iter().map(|(_, length)| length).sum();
        if is_output && !self.streams.has_room(total) {
            return Err(Errno::FileTooLarge);
        }
        // Of the rest the guest is told that it was not written.
        let room = if is_output { total } else { total.min(MOST_ERRORS) };
        let mut written = 0;
        for (place, length) in buffers {
            let length = length.min(room - written);
            written += length;
            let bytes = self.guest.bytes((place, length))?;
            if is_output {
                self.streams.write(bytes);
            } else {
                self.streams.complain(bytes);
            }
        }
        self.guest.write_u32(self.narrow(3), written)
    }

    fn open(&mut self) -> Answer<()> {
        let (flags, how) = (self.narrow(1), self.narrow(4));
        if how & (EXCLUSIVE | TRUNCATE) != 0 || self.wide(5) & WRITE != 0 {
            return self.refuse(0, Errno::ReadOnly);
        }
        let path = self.guest.path(self.buffer(2))?;
        let open = self.state.open(self.fd(), Errno::NotDirectory)?;
        let opened = match open.open(path, flags & 1 != 0, how & DIRECTORY != 0) {
            Err(Errno::NoEntry) if how & CREATE != 0 => return Err(Errno::ReadOnly),
            opened => opened?,
        };
        // Checked first: a descriptor that the guest never learns of could not be closed.
        let place = self.narrow(8);
        self.guest.bytes((place, 4))?;
        let number = self.state.insert(opened)?;
        self.guest.write_u32(place, number)
    }

    fn read_link(&mut self) -> Answer<()> {
        let path = self.guest.path(self.buffer(1))?;
        let text = self.state.open(self.fd(), Errno::NotDirectory)?.read_link(path)?;
        let (place, room) = self.buffer(3);
        let text = &text[..text.len().min(room as usize)];
        self.guest.write(place, text)?;
        self.guest.write_u32(self.narrow(5), text.len() as u32)
    }
}

fn variables(settings: &Settings) -> Vec<String> {
    settings.environment.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// Reads a file into buffers of the guest, and gives the number of bytes.
fn fill(guest: &mut Guest<'_>, open: &Open, buffers: &[Buffer], start: u64) -> Answer<u32> {
    let mut chunk = vec![0; CHUNK];
    let mut read = 0_u32;
    for (pointer, length) in buffers {
        let mut done = 0;
        while done < *length {
            let wanted = ((length - done) as usize).min(CHUNK);
            let at = start.checked_add(read.into()).ok_or(Errno::Invalid)?;
            let count = open.read_at(&mut chunk[..wanted], at)?;
            if count == 0 {
                return Ok(read);
            }
            guest.write(offset(*pointer, done)?, &chunk[..count])?;
            done += count as u32;
            read += count as u32;
        }
    }
    Ok(read)
}
