//! Threads that write one memory, in all orders. Run by the package `touchstone-loom`.

use super::*;
use loom::sync::Arc;
use loom::thread;
use std::collections::BTreeSet;

/// A tracked memory, with the kernel's part of it: which pages are writable.
struct Memory {
    pages: OpenPages,
    writable: Vec<AtomicBool>,
}

impl Protection for Memory {
    fn open(&self, page: u32, count: u32) -> bool {
        for page in page..page + count {
            // The kernel has a lock for it.
            self.writable[page as usize].store(true, Ordering::SeqCst);
        }
        true
    }

    fn populate(&self, page: u32, count: u32) {
        assert!((page..page + count).all(|page| self.is_writable(page)));
    }
}

impl Memory {
    fn new(pages: u32, keep: usize) -> Self {
        let writable = (0..pages).map(|_| AtomicBool::new(false)).collect();
        Self { pages: OpenPages::new(pages, keep), writable }
    }

    fn is_writable(&self, page: u32) -> bool {
        self.writable[page as usize].load(Ordering::SeqCst)
    }

    /// A write, and the handler where it faults.
    fn write(&self, page: u32) {
        if !self.is_writable(page) {
            assert!(self.pages.open(page, self));
            assert!(self.is_writable(page));
        }
    }

    /// The invariants of a reset after these pages were written.
    fn check(&self, written: &[u32]) {
        let pages = &self.pages;
        if pages.overflowed() {
            assert!((0..pages.pages).all(|page| self.is_writable(page)));
            return;
        }
        let list: Vec<u32> = pages.iter().map(|page| page as u32).collect();
        let open: BTreeSet<u32> = list.iter().copied().collect();
        assert_eq!(open.len(), list.len(), "a page is listed twice");
        assert!(written.iter().all(|page| open.contains(page)), "a page is not listed");
        for page in 0..pages.pages {
            assert_eq!(pages.is_open(page), open.contains(&page));
            assert_eq!(self.is_writable(page), open.contains(&page));
        }
        let starts = open.iter().filter(|page| !open.contains(&page.wrapping_sub(1)));
        assert!(pages.runs() >= starts.count(), "too few runs");
    }
}

/// Runs two threads that write pages of a memory which lists at most `keep`.
fn at_once(count: u32, keep: usize, one: &'static [u32], other: &'static [u32]) {
    crate::model(move || {
        let memory = Arc::new(Memory::new(count, keep));
        let thread = {
            let memory = Arc::clone(&memory);
            thread::spawn(move || one.iter().for_each(|page| memory.write(*page)))
        };
        other.iter().for_each(|page| memory.write(*page));
        thread.join().unwrap();
        memory.check(&[one, other].concat());
        memory.pages.start_over();
        assert_eq!((memory.pages.listed(), memory.pages.runs()), (0, 0));
    });
}

#[test]
fn two_threads_write_the_same_page() {
    at_once(3, 3, &[1], &[1]);
}

#[test]
fn two_threads_write_neighbours() {
    at_once(4, 4, &[1], &[2]);
}

#[test]
fn two_threads_write_in_order_across_each_other() {
    at_once(4, 4, &[0, 1], &[1]);
}

#[test]
fn two_threads_write_more_than_is_listed() {
    at_once(3, 1, &[0], &[2]);
}

#[test]
fn a_full_list_and_a_page_that_is_in_it() {
    at_once(3, 1, &[0], &[0, 2]);
}
