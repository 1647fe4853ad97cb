//! The steps of the model, done to memories.

use super::look;
use super::reference::{Grown, Model, Reference, SLOTS, Transition, What, announced, pattern};
use super::trap;
use super::world::{GROWTH, World};
use super::writing::Writing;
use crate::mappings::tests::Others;
use crate::padded::Padded;
use crate::tests::test_support::{mappings, most_resident, swap_out};
use crate::{
    Image, Memory, MemoryPool, MemoryTemplate, PooledMemory, ResetMethod, UsedOn, fault_log,
    host_page, note_foreign_writes, writable,
};
use proptest_state_machine::StateMachineTest;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// The memories of a row.
pub(super) struct Subject {
    home: Arc<MemoryPool>,
    slots: [Option<Used>; SLOTS],
    /// The file that the kernel reads from.
    file: File,
    /// Parts of the image.
    parts: usize,
    /// Mappings that other memories of the process take.
    _others: Others,
}

/// A memory in use, as backends have them.
#[derive(Debug)]
enum Used {
    Own(Box<Padded<Memory>>),
    Leased(PooledMemory),
}

impl Used {
    fn take(home: &Arc<MemoryPool>, world: &World, leased: bool) -> Self {
        let (size, reserved) = (world.size(), world.reserved());
        match leased {
            true => Self::Leased(PooledMemory::new(home, size, reserved, true).unwrap()),
            false => {
                let mut memory = home.take(size, reserved).unwrap();
                if let Some(mut resetter) = memory.resetter().filter(|_| world.notes) {
                    resetter.note_threads();
                }
                Self::Own(memory)
            }
        }
    }

    fn base(&self) -> *mut u8 {
        match self {
            Self::Own(memory) => memory.base(),
            Self::Leased(lease) => lease.base(),
        }
    }

    /// All that is open, `size` bytes by the model. As guests have it: only
    /// [`writable`](Self::writable) lends the memory to the host.
    fn bytes(&mut self, size: usize) -> &mut [u8] {
        match self {
            Self::Own(memory) => {
                assert_eq!(memory.accessible(), size);
                memory.own_bytes_mut()
            }
            // SAFETY: so many bytes of a lease are open, else the process ends here; the
            // lease is borrowed as long as the slice is.
            Self::Leased(lease) => unsafe { std::slice::from_raw_parts_mut(lease.base(), size) },
        }
    }

    fn writable(&mut self, range: std::ops::Range<usize>, size: usize) -> &mut [u8] {
        match self {
            Self::Own(memory) => writable(&mut memory.bytes_mut()[range]),
            Self::Leased(_) => writable(&mut self.bytes(size)[range]),
        }
    }

    fn grow(&mut self, size: usize) {
        match self {
            Self::Own(memory) => memory.grow(size).unwrap(),
            Self::Leased(lease) => lease.grow(size).unwrap(),
        }
    }

    fn reset(&mut self) {
        match self {
            Self::Own(memory) => assert!(memory.reset().unwrap()),
            Self::Leased(lease) => drop(lease.reset().unwrap()),
        }
    }

    fn trim(&mut self) {
        match self {
            Self::Own(memory) => memory.trim().unwrap(),
            Self::Leased(lease) => lease.trim().unwrap(),
        }
    }

    fn give_back(self, home: &Arc<MemoryPool>) {
        if let Self::Own(memory) = self {
            home.give_back(memory);
        }
    }

    /// Compares all that a clean memory is known by.
    fn check_clean(&mut self, model: &Model, parts: usize) {
        let (world, base) = (model.world, self.base());
        let seen = mappings(base as usize..base as usize + world.reserved());
        assert_eq!(seen.readable, world.size(), "bytes that can be read");
        let most = look::most_mappings(&world, parts);
        assert!(seen.count <= most, "{} mappings, at most {most} may be", seen.count);
        look::check_resident(base, world.size(), most_resident(world.reset, world.size()));
        compare(self.bytes(world.size()), model.clean());
    }
}

fn compare(found: &[u8], wanted: &[u8]) {
    if found == wanted {
        return;
    }
    assert_eq!(found.len(), wanted.len(), "size");
    let differs = |at: &usize| found[*at] != wanted[*at];
    let (first, count) = ((0..found.len()).find(differs), (0..found.len()).filter(differs).count());
    let (page, at) = (first.map(|at| at / host_page()), first.map(|at| at % host_page()));
    panic!("{count} bytes differ, the first is byte {at:?} of page {page:?}");
}

/// A memory that is new and lent to nobody has the model's content, and is tracked.
fn check_new(world: &World, template: &MemoryTemplate, clean: &[u8]) {
    let mut new = Memory::new(Some(template), world.size(), world.reserved()).unwrap();
    compare(new.bytes_mut(), clean);
    if matches!(world.reset, ResetMethod::Tracked { limit } if limit >= host_page()) {
        Writing::Same { first: 0, count: 1 }.write(new.bytes_mut());
        assert_eq!(new.resetter().unwrap().kept(), 1, "pages that were written");
    }
}

/// The child of a fork writes its copy, which it shares with nobody, and resets it.
fn fork(used: &mut Used, writing: Writing, size: usize, model: &Model) {
    // SAFETY: the process has no other thread that could hold a lock. The child runs
    // nothing but the code below, and ends.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            let done = catch_unwind(AssertUnwindSafe(|| {
                writing.write(used.bytes(size));
                used.reset();
                compare(used.bytes(model.world.size()), model.clean());
                writing.write(used.bytes(model.world.size()));
                used.reset();
                compare(used.bytes(model.world.size()), model.clean());
            }));
            libc::_exit(i32::from(done.is_err()));
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        assert_eq!(status, 0, "a memory of the child");
    }
}

/// Locks a memory as `mlockall(MCL_CURRENT)` does. A host that may lock less does nothing.
fn lock(used: &Used, world: &World) {
    // SAFETY: the reservation of a memory in use, whose content stays the same. The kernel refuses
    // to fill what is closed, and locks it.
    unsafe { libc::mlock(used.base().cast(), world.reserved()) };
    note_foreign_writes();
}

/// An instance goes to another thread for a call, and comes back.
fn elsewhere(used: &mut Used, writing: Writing, size: usize) {
    let mut used_on = UsedOn::default();
    used_on.begin();
    let call = || {
        used_on.go_on();
        writing.write(used.bytes(size));
    };
    std::thread::scope(|scope| scope.spawn(call).join().unwrap());
    used_on.end();
}

/// A call that comes to no end; nothing is done about its memory.
fn fail(used: &mut Used, writing: Writing, size: usize, reserved: usize, by_fault: bool) {
    if by_fault {
        writing.write(used.bytes(size));
        let last = used.base().wrapping_add(reserved - 1);
        for behind in [used.base().wrapping_add(size), last] {
            // SAFETY: between the size of a memory and the end of its reservation all is closed.
            assert!(unsafe { trap::store(behind) }, "a page behind the memory is open");
        }
        return;
    }
    let ended = catch_unwind(AssertUnwindSafe(|| {
        writing.write(used.bytes(size));
        resume_unwind(Box::new(()));
    }));
    assert!(ended.is_err());
}

impl StateMachineTest for Subject {
    type SystemUnderTest = Self;
    type Reference = Reference;

    fn init_test(model: &Model) -> Self {
        fault_log::tests::turn_off(!model.world.logs);
        let template = model.world.template();
        check_new(&model.world, &template, model.clean());
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&pattern()).unwrap();
        let parts = template.image().map_or(0, |image| Image::parts(image).count());
        let home = Arc::new(MemoryPool::new(Some(template), model.world.keep));
        let others = Others::new(model.world.crowd);
        Self { home, slots: Default::default(), file, parts, _others: others }
    }

    fn apply(mut subject: Self, model: &Model, transition: Transition) -> Self {
        let (world, parts) = (model.world, subject.parts);
        let Transition { slot, what } = transition;
        let taken = subject.slots[slot].take();
        let Some(mut used) = taken else {
            let What::Take { leased, by_another_thread } = what else { unreachable!() };
            let take = || Used::take(&subject.home, &world, leased);
            let mut used = match by_another_thread {
                true => std::thread::scope(|scope| scope.spawn(take).join().unwrap()),
                false => take(),
            };
            used.check_clean(model, parts);
            subject.slots[slot] = Some(used);
            return subject;
        };
        // What the model has now, or had before the memory was reset.
        let size = match &used {
            Used::Own(memory) => memory.accessible(),
            Used::Leased(lease) => {
                let base = lease.base() as usize;
                mappings(base..base + world.reserved()).readable
            }
        };
        match what {
            What::Take { .. } => unreachable!(),
            What::GiveBack => {
                used.give_back(&subject.home);
                return subject;
            }
            What::Drop => return subject,
            What::Renew => {
                used = match used {
                    Used::Own(memory) => {
                        subject.home.give_back(memory);
                        Used::take(&subject.home, &world, false)
                    }
                    Used::Leased(mut lease) => {
                        lease.release();
                        lease.renew().unwrap();
                        Used::Leased(lease)
                    }
                };
                used.check_clean(model, parts);
            }
            What::Write(writing) => writing.write(used.bytes(size)),
            What::Share(shared) => {
                shared.write_at_once(used.bytes(size));
                note_foreign_writes();
            }
            What::Elsewhere(writing) => elsewhere(&mut used, writing, size),
            What::Announced { at, length } => {
                let place = used.writable(announced(at, length, size), size);
                subject.file.read_exact_at(place, 0).unwrap();
                // Without swap space, this does nothing.
                if at % 4 == 1 {
                    swap_out(used.base(), size);
                }
            }
            What::Grow { .. } => {
                let wanted = &model.slots[slot].as_ref().unwrap().bytes;
                used.grow(wanted.len());
                compare(used.bytes(wanted.len()), wanted);
            }
            What::Read => {
                compare(used.bytes(size), &model.slots[slot].as_ref().unwrap().bytes);
            }
            What::ResetMethod => {
                used.reset();
                used.check_clean(model, parts);
            }
            What::Calls { writing, step, times } => {
                used.reset();
                for call in 0..times {
                    writing.moved(call * step).write(used.bytes(world.size()));
                    used.reset();
                }
                used.check_clean(model, parts);
            }
            What::Grown(calls) => {
                used.reset();
                let first = world.size();
                let mut grow = |pages: usize, looks: bool, writing: Option<Writing>| {
                    let size = first + pages * host_page();
                    used.grow(size);
                    let behind = &mut used.bytes(size)[first..];
                    if looks {
                        compare(behind, &vec![0; behind.len()]);
                    }
                    if let Some(writing) = writing.filter(|_| pages > 0) {
                        writing.write(behind);
                    }
                    used.reset();
                };
                for Grown { pages, looks, writing } in calls {
                    grow(pages, looks, Some(writing));
                }
                grow(GROWTH, true, None);
                used.check_clean(model, parts);
            }
            What::Fail { writing, by_fault } => {
                fail(&mut used, writing, size, world.reserved(), by_fault);
                used.reset();
                used.check_clean(model, parts);
            }
            What::Trim => {
                used.reset();
                used.trim();
                let kept = if world.reset == ResetMethod::Segments { world.size() } else { 0 };
                look::check_resident(used.base(), world.size(), kept);
                used.check_clean(model, parts);
            }
            What::Lock => {
                lock(&used, &world);
                compare(used.bytes(size), &model.slots[slot].as_ref().unwrap().bytes);
            }
            What::Fork(writing) => {
                fork(&mut used, writing, size, model);
                compare(used.bytes(size), &model.slots[slot].as_ref().unwrap().bytes);
            }
        }
        subject.slots[slot] = Some(used);
        subject
    }

    fn teardown(subject: Self, _: Model) {
        drop(subject);
        assert_eq!(Others::taken(), 0, "mappings that are still counted");
    }
}
