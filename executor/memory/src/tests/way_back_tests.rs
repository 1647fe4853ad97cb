//! Light calls after heavy ones, by counts: whatever the heavy calls were, the light ones take as
//! little work as on a new memory after a bounded number of calls.

use super::test_support::passes;
use super::*;
use std::sync::Arc;

const MIB: usize = 1 << 20;
/// Size of the memories. The heaviest call writes most of it.
const SIZE: usize = 80 * MIB;
/// Light calls after which all work is that of a new memory.
const BOUND: usize = 2048;
const LIGHT: usize = 10_000;

/// A kind of heavy call.
#[derive(Debug, Clone, Copy)]
enum Heavy {
    /// Writes so many bytes in order.
    InOrder(usize),
    /// Writes so many pages with gaps between them.
    Scattered(usize),
    /// Writes so many pages, other ones in each call.
    Others(usize),
    /// Writes so many bytes with the value that is there.
    Unchanged(usize),
    /// Grows by so many bytes, and writes them and as many in front of them.
    Growing(usize),
    /// One after the other.
    Alternating(usize, usize),
}

/// Heavy calls and the light ones between them: how many heavy ones, and so many light ones after
/// each in turn.
type Pattern = (usize, &'static [usize]);

const PATTERNS: [Pattern; 7] = [
    (1, &[0]),
    (40, &[0]),
    (40, &[1]),
    (40, &[6]),
    (40, &[11]),
    (40, &[25]),
    // Each longer than the one before, and again.
    (60, &[0, 1, 3, 6, 8, 11, 14, 17, 21, 25, 35]),
];

struct Instance {
    lease: PooledMemory,
    used_on: UsedOn,
    /// `true` if each call gets a new instance.
    is_new: bool,
    heavy_calls: usize,
}

impl Instance {
    fn new(method: ResetMethod, is_new: bool, moves: bool) -> Self {
        let content = InitialContent::from_segments(SIZE, [(MIB, &[7_u8; 9000][..])]).unwrap();
        let template = MemoryTemplate::new(content, method).unwrap();
        let home = Arc::new(MemoryPool::new(Some(template), 1));
        let lease = PooledMemory::new(&home, SIZE, 2 * SIZE, moves).unwrap();
        let mut instance = Self { lease, used_on: UsedOn::default(), is_new, heavy_calls: 0 };
        instance.used_on = UsedOn::of(instance.lease.resetter().unwrap());
        instance
    }

    fn byte(&mut self, at: usize) -> *mut u8 {
        assert!(at < 2 * SIZE);
        self.lease.base().wrapping_add(at)
    }

    fn write(&mut self, page: usize) {
        // SAFETY: a byte of the memory, which nobody else uses.
        unsafe { self.byte(page * host_page() + 9).write_volatile(201) };
    }

    fn write_unchanged(&mut self, page: usize) {
        let byte = self.byte(page * host_page() + 9);
        // SAFETY: as above.
        unsafe { byte.write_volatile(byte.read_volatile()) };
    }

    /// A call, and its reset.
    fn call(&mut self, work: impl FnOnce(&mut Self)) {
        if self.is_new {
            self.lease.renew().unwrap();
            self.lease.resetter().unwrap().note_threads();
        }
        self.used_on.begin();
        // SAFETY: nobody else writes the memory.
        unsafe { self.lease.resetter().unwrap().begin_use() };
        work(self);
        self.used_on.end();
        if self.is_new {
            self.lease.release();
        } else {
            self.lease.reset().unwrap();
            self.used_on.follow(self.lease.resetter().unwrap());
        }
    }

    fn heavy(&mut self, heavy: Heavy) {
        let (turn, page) = (self.heavy_calls, host_page());
        self.heavy_calls += 1;
        self.call(|instance| match heavy {
            Heavy::InOrder(bytes) => (64..64 + bytes / page).for_each(|page| instance.write(page)),
            Heavy::Scattered(pages) => (0..pages).for_each(|at| instance.write(100 + 5 * at)),
            Heavy::Others(pages) => {
                let first = turn * pages;
                (first..first + pages).for_each(|at| instance.write(100 + at * 7 % 15_000));
            }
            Heavy::Unchanged(bytes) => {
                (64..64 + bytes / page).for_each(|page| instance.write_unchanged(page));
            }
            Heavy::Growing(bytes) => {
                instance.lease.grow(SIZE + bytes).unwrap();
                let pages = (SIZE - bytes) / page..(SIZE + bytes) / page;
                pages.for_each(|page| instance.write(page));
            }
            Heavy::Alternating(one, other) => {
                let bytes = if turn.is_multiple_of(2) { one } else { other };
                (64..64 + bytes / page).for_each(|page| instance.write(page));
            }
        });
    }

    /// The work of a light call: it changes a page, and may write to another what is there.
    fn light(&mut self, is_silent: bool) -> Work {
        work_done();
        self.call(|instance| {
            instance.write(3);
            if is_silent {
                instance.write_unchanged(12);
            }
        });
        work_done()
    }
}

/// The methods that go by the faults of a thread or by signals.
fn methods() -> impl Iterator<Item = ResetMethod> {
    let limit = KEEP_RESIDENT;
    let methods = [ResetMethod::Tracked { limit }, ResetMethod::Gated { limit }];
    methods.into_iter().filter(|method| method.refusal().is_none())
}

/// Makes the calls of a pattern and then light ones, and looks at their work.
fn comes_back(method: ResetMethod, heavy: Heavy, (times, between): Pattern, is_new: bool) {
    for is_silent in [false, true] {
        let mut instance = Instance::new(method, is_new, is_new);
        let what = format!("{method:?}, {heavy:?}, {times} times, {between:?}, new: {is_new}");
        for turn in 0..times {
            instance.heavy(heavy);
            (0..between[turn % between.len()]).for_each(|_| _ = instance.light(is_silent));
        }
        let works: Vec<_> = (0..LIGHT).map(|_| instance.light(is_silent)).collect();
        let usual = Work { compared: 1 + usize::from(is_silent), ..Work::default() };
        let is_usual = |work: &Work| work.compared <= usual.compared && work.calls == 0;
        let unusual: Vec<_> =
            works.iter().enumerate().skip(BOUND).filter(|(_, work)| !is_usual(work)).collect();
        // A page that is written without a change is let go now and then.
        let most = if is_silent { 2 * LIGHT / usize::from(ages::LONGEST) + 20 } else { 0 };
        assert!(unusual.len() <= most, "{what}, silent: {is_silent}: {unusual:?}");
        let compared: usize = works[BOUND..].iter().map(|work| work.compared).sum();
        assert!(compared <= usual.compared * (LIGHT - BOUND), "{what}: {compared} pages");
        if let ResetMethod::Tracked { .. } = method {
            let scans: usize = works[BOUND..].iter().map(|work| work.scans).sum();
            assert_eq!(scans, 0, "{what}");
        }
    }
}

/// In a process of its own, where other tests track no memories.
fn all_come_back(name: &str, heavy: &[Heavy], patterns: &[Pattern]) {
    if !pagemap_scan_available() || passes(&format!("tests::way_back_tests::{name}")) {
        return;
    }
    for method in methods() {
        for heavy in heavy {
            for pattern in patterns {
                for is_new in [false, true] {
                    comes_back(method, *heavy, *pattern, is_new);
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn calls_in_order_are_forgotten() {
    let heavy = [Heavy::InOrder(64 << 10), Heavy::InOrder(MIB), Heavy::Unchanged(MIB)];
    all_come_back("calls_in_order_are_forgotten", &heavy, &PATTERNS);
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn calls_beyond_the_limit_are_forgotten() {
    let heavy = [Heavy::InOrder(8 * MIB), Heavy::InOrder(64 * MIB)];
    let patterns = PATTERNS.map(|(times, between)| (times.min(12), between));
    all_come_back("calls_beyond_the_limit_are_forgotten", &heavy, &patterns);
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn scattered_calls_are_forgotten() {
    let heavy =
        [Heavy::Scattered(32), Heavy::Scattered(200), Heavy::Scattered(700), Heavy::Others(60)];
    all_come_back("scattered_calls_are_forgotten", &heavy, &PATTERNS);
}

#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn growing_and_alternating_calls_are_forgotten() {
    let heavy = [Heavy::Growing(MIB / 2), Heavy::Alternating(64 << 10, 2 * MIB)];
    all_come_back("growing_and_alternating_calls_are_forgotten", &heavy, &PATTERNS);
}

/// From the tenth call after each heavy one, also while heavy calls go on, whatever happened
/// before: 60 histories of each kind of instance.
#[test]
#[cfg_attr(miri, ignore = "needs mmap with files, mprotect or signals")]
fn light_calls_between_heavy_ones_are_light() {
    if passes("tests::way_back_tests::light_calls_between_heavy_ones_are_light") {
        return;
    }
    let method = ResetMethod::Tracked { limit: KEEP_RESIDENT };
    let mut slow = Vec::new();
    for history in 0..120_u32 {
        let mut instance = Instance::new(method, history >= 60, false);
        let mut random = history;
        let mut before = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            random >> 24
        };
        // Another end for the pages that are opened ahead.
        let heavy = Heavy::InOrder((200 + before() as usize) * host_page());
        for between in (0..40).map(|_| before() % 24) {
            instance.heavy(heavy);
            (0..between).for_each(|_| _ = instance.light(false));
        }
        for round in 0..20 {
            instance.heavy(heavy);
            let light: Vec<_> = (0..25).map(|_| instance.light(false)).collect();
            if round >= 2 && light[9..].iter().any(|work| work.compared > 1 || work.calls > 0) {
                slow.push((history, round));
                break;
            }
        }
    }
    assert!(slow.is_empty(), "histories with slow light calls: {slow:?}");
}

/// The work that this thread had with memories.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Work {
    /// System calls about mappings.
    pub(crate) calls: usize,
    /// First writes that were signals.
    pub(crate) signals: usize,
    /// Questions to the kernel which pages were written.
    pub(crate) scans: usize,
    /// Pages that were compared with their clean content.
    pub(crate) compared: usize,
}

thread_local! {
    static WORK: std::cell::Cell<Work> = const {
        std::cell::Cell::new(Work { calls: 0, signals: 0, scans: 0, compared: 0 })
    };
}

/// Notes work of this thread.
pub(crate) fn work(change: impl FnOnce(&mut Work)) {
    let mut work = WORK.get();
    change(&mut work);
    WORK.set(work);
}

/// The work since it was asked for last.
pub(crate) fn work_done() -> Work {
    WORK.take()
}
