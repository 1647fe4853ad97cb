//! State that a guest's calls of WASI change: descriptors, clocks, random numbers.

use super::Settings;
use super::files::{Directory, Open};
use super::guest::{Answer, Errno};

/// Most open descriptors of an instance.
const MOST_DESCRIPTORS: usize = 128;
/// Time that each reading of a clock adds, ns.
pub const STEP: u64 = 1_000_000;
/// Wall-clock time of the start, ns: 2020-01-01 00:00 UTC.
pub const EPOCH: u64 = 1_577_836_800_000_000_000;
/// Seed of the random numbers.
pub const SEED: u64 = 0x746f_7563_6873_746f;

#[derive(Debug, Clone)]
pub(super) enum Descriptor {
    Input,
    Output,
    Error,
    /// A directory or a file; `preopened` is handed in by the host.
    Open(Open),
}

#[derive(Clone)]
pub(super) struct State {
    descriptors: Vec<Option<Descriptor>>,
    random: fastrand::Rng,
    /// Time since the start, ns.
    elapsed: u64,
}

impl State {
    pub(super) fn new(settings: &Settings) -> Self {
        let standard = [Descriptor::Input, Descriptor::Output, Descriptor::Error];
        let directory = settings.directory.as_ref().map(Directory::preopened);
        let opened = standard.into_iter().chain(directory.map(Descriptor::Open));
        let random = fastrand::Rng::with_seed(SEED);
        Self { descriptors: opened.map(Some).collect(), random, elapsed: 0 }
    }

    pub(super) fn fill_random(&mut self, bytes: &mut [u8]) {
        self.random.fill(bytes);
    }

    /// Reads a clock, ns: the real-time clock (0), the monotonic one (1), or the processor time
    /// of the process (2) or the thread (3).
    pub(super) fn clock(&mut self, id: u32) -> Answer<u64> {
        let start = clock_start(id)?;
        self.elapsed = self.elapsed.saturating_add(STEP);
        Ok(start.saturating_add(self.elapsed))
    }

    /// The time that a clock shows, without a reading.
    pub(super) fn now(&self, id: u32) -> Answer<u64> {
        Ok(clock_start(id)?.saturating_add(self.elapsed))
    }

    pub(super) fn advance(&mut self, nanoseconds: u64) {
        self.elapsed = self.elapsed.saturating_add(nanoseconds);
    }

    pub(super) fn descriptor(&mut self, fd: u32) -> Answer<&mut Descriptor> {
        self.descriptors.get_mut(fd as usize).and_then(Option::as_mut).ok_or(Errno::BadFile)
    }

    /// The directory or file of a descriptor; standard streams give `other`.
    pub(super) fn open(&mut self, fd: u32, other: Errno) -> Answer<&mut Open> {
        match self.descriptor(fd)? {
            Descriptor::Open(open) => Ok(open),
            _ => Err(other),
        }
    }

    /// Gives the lowest free descriptor to a directory or file.
    pub(super) fn insert(&mut self, open: Open) -> Answer<u32> {
        let free = self.descriptors.iter().position(Option::is_none);
        let index = free.unwrap_or(self.descriptors.len());
        if index >= MOST_DESCRIPTORS {
            return Err(Errno::TooManyFiles);
        }
        if index == self.descriptors.len() {
            self.descriptors.push(None);
        }
        self.descriptors[index] = Some(Descriptor::Open(open));
        u32::try_from(index).map_err(|_| Errno::TooManyFiles)
    }

    pub(super) fn close(&mut self, fd: u32) -> Answer<()> {
        let place = self.descriptors.get_mut(fd as usize).ok_or(Errno::BadFile)?;
        place.take().map(drop).ok_or(Errno::BadFile)
    }

    /// Moves a descriptor to the place of another one, which is closed.
    pub(super) fn renumber(&mut self, from: u32, to: u32) -> Answer<()> {
        self.descriptor(from)?;
        self.descriptor(to)?;
        if from != to {
            self.descriptors[to as usize] = self.descriptors[from as usize].take();
        }
        Ok(())
    }
}

fn clock_start(id: u32) -> Answer<u64> {
    match id {
        0 => Ok(EPOCH),
        1..=3 => Ok(0),
        _ => Err(Errno::Invalid),
    }
}
