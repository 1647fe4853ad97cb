//! The model: what each memory of a row must contain.

use super::world::{GROWTH, World};
use super::writing::{Shared, Writing};
use crate::host_page;
use proptest::prelude::*;
use proptest::sample::select;
use proptest_state_machine::ReferenceStateMachine;

/// Memories that are in use at the same time.
pub(super) const SLOTS: usize = 4;
/// Calls of a row of calls at most: more than pages rest, or a memory is opened as a whole.
const CALLS: usize = 300;
/// Bytes that the kernel writes at most.
const READ: usize = 20_000;

/// A step for the memory of a slot.
#[derive(Debug, Clone)]
pub(super) struct Transition {
    pub(super) slot: usize,
    pub(super) what: What,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    /// A memory comes, clean.
    Take {
        leased: bool,
        by_another_thread: bool,
    },
    /// It is given back to be used again, or unmapped.
    GiveBack,
    Drop,
    /// It is given back, and another one is taken.
    Renew,
    Write(Writing),
    /// Two threads write it at once.
    Share(Shared),
    /// Another thread uses it for a while.
    Elsewhere(Writing),
    /// The kernel writes it for the host, and may swap it out afterwards.
    Announced {
        at: usize,
        length: usize,
    },
    Grow {
        pages: usize,
    },
    /// All of it is read: pages of zeros become resident.
    Read,
    ResetMethod,
    /// Calls, each a number of pages further on than the last.
    Calls {
        writing: Writing,
        step: usize,
        times: usize,
    },
    /// Calls that make the memory larger, each by another amount.
    Grown(Vec<Grown>),
    /// A call that ends in the middle, by unwinding or by a fault.
    Fail {
        writing: Writing,
        by_fault: bool,
    },
    Trim,
    /// A child of the process uses and resets its own copy.
    Fork(Writing),
    /// The host locks it, and says so.
    Lock,
}

/// A call that writes where it has made the memory grow.
#[derive(Debug, Clone)]
pub(super) struct Grown {
    pub(super) pages: usize,
    /// `true` if all that is new is read before.
    pub(super) looks: bool,
    pub(super) writing: Writing,
}

/// The content of the memories of all slots.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) world: World,
    clean: Clean,
    pub(super) slots: [Option<Held>; SLOTS],
}

#[derive(Clone)]
struct Clean(Vec<u8>);

impl std::fmt::Debug for Clean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// The content of one memory.
#[derive(Clone)]
pub(super) struct Held {
    pub(super) bytes: Vec<u8>,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes.len())
    }
}

impl Model {
    pub(super) fn clean(&self) -> &[u8] {
        &self.clean.0
    }
}

/// Written by the kernel: the content of the file that it reads.
pub(super) fn pattern() -> Vec<u8> {
    (0..READ).map(|index| (index % 3) as u8).collect()
}

/// The part of a memory that the kernel writes.
pub(super) fn announced(at: usize, length: usize, size: usize) -> std::ops::Range<usize> {
    let at = at % size;
    at..(at + length).min(size)
}

pub(super) struct Reference;

impl ReferenceStateMachine for Reference {
    type State = Model;
    type Transition = Transition;

    fn init_state() -> BoxedStrategy<Model> {
        World::any()
            .prop_map(|world| Model {
                world,
                clean: Clean(world.clean()),
                slots: Default::default(),
            })
            .boxed()
    }

    fn transitions(model: &Model) -> BoxedStrategy<Transition> {
        let (used, free): (Vec<usize>, Vec<usize>) =
            (0..SLOTS).partition(|slot| model.slots[*slot].is_some());
        let take = (any::<bool>(), prop::bool::weighted(0.05))
            .prop_map(|(leased, by_another_thread)| What::Take { leased, by_another_thread });
        let take =
            |free| (select(free), take).prop_map(|(slot, what)| Transition { slot, what }).boxed();
        let used_as = |used| {
            (select(used), in_use()).prop_map(|(slot, what)| Transition { slot, what }).boxed()
        };
        match (used.len(), free.len()) {
            (0, _) => take(free),
            (_, 0) => used_as(used),
            _ => prop_oneof![1 => take(free), 15 => used_as(used)].boxed(),
        }
    }

    fn preconditions(model: &Model, transition: &Transition) -> bool {
        let is_used = model.slots[transition.slot].is_some();
        is_used != matches!(transition.what, What::Take { .. })
    }

    fn apply(mut model: Model, transition: &Transition) -> Model {
        let clean = || Held { bytes: model.clean.0.clone() };
        let slot = &mut model.slots[transition.slot];
        let Some(held) = slot else {
            *slot = Some(clean());
            return model;
        };
        match &transition.what {
            What::GiveBack | What::Drop => *slot = None,
            What::Write(writing) | What::Elsewhere(writing) => writing.write(&mut held.bytes),
            What::Share(shared) => shared.write(&mut held.bytes),
            What::Announced { at, length } => {
                let range = announced(*at, *length, held.bytes.len());
                let length = range.len();
                held.bytes[range].copy_from_slice(&pattern()[..length]);
            }
            What::Grow { pages } => {
                let most = model.world.size() + GROWTH * host_page();
                held.bytes.resize((held.bytes.len() + pages * host_page()).min(most), 0);
            }
            What::Read | What::Fork(_) | What::Lock => {}
            What::Take { .. }
            | What::Renew
            | What::ResetMethod
            | What::Calls { .. }
            | What::Grown(_)
            | What::Fail { .. }
            | What::Trim => held.bytes = clean().bytes,
        }
        model
    }
}

/// A step for a memory that is in use.
fn in_use() -> impl Strategy<Value = What> {
    let times = prop_oneof![8 => 2_usize..20, 1 => 20..CALLS];
    prop_oneof![
        40 => Writing::any().prop_map(What::Write),
        2 => Shared::any().prop_map(What::Share),
        4 => Writing::any().prop_map(What::Elsewhere),
        6 => (0_usize..1 << 24, 1..READ).prop_map(|(at, length)| match at % 16 {
            // Not a choice of its own: rows that failed before have to stay as they were.
            0 => What::Lock,
            _ => What::Announced { at, length },
        }),
        8 => (1_usize..GROWTH / 2).prop_map(|pages| What::Grow { pages }),
        4 => Just(What::Read),
        30 => Just(What::ResetMethod),
        6 => (Writing::any(), 0_usize..4, times)
            .prop_map(|(writing, step, times)| What::Calls { writing, step, times }),
        6 => prop::collection::vec(grown(), 2..12).prop_map(What::Grown),
        6 => (Writing::any(), any::<bool>())
            .prop_map(|(writing, by_fault)| What::Fail { writing, by_fault }),
        3 => Just(What::Trim),
        3 => Just(What::Renew),
        3 => Just(What::GiveBack),
        1 => Just(What::Drop),
        1 => prop_oneof![
            1 => Writing::any().prop_map(What::Fork),
            3 => Just(What::ResetMethod),
        ],
    ]
}

fn grown() -> impl Strategy<Value = Grown> {
    let pages = prop_oneof![2 => 0..=GROWTH, 1 => Just(GROWTH)];
    (pages, any::<bool>(), Writing::any()).prop_map(|(pages, looks, writing)| Grown {
        pages,
        looks,
        writing,
    })
}
