//! Calls that write pages, and other pages in each call where they drift.

use crate::lab::{Opened, checked_call};
use crate::measure::{Work, compare};
use crate::record::Place;
use anyhow::Result;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use touchstone_executor::{Instance, Outcome};

/// Flags of the guest's input.
const WHOLE: u32 = 1;
const SCATTERED: u32 = 2;
const LOOKS: u32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    seed: u32,
    /// Place of the first page among those of the region, which is a ring.
    first: u32,
    pages: u32,
    region: u32,
    flags: u32,
    /// How much further the next call begins.
    step: u32,
}

impl Order {
    pub(super) fn new(place: &Place, region: u32, seed: u32) -> Self {
        // At most half of a region of u32: the selection has checked it.
        let pages = place.number("pages").unwrap_or(0) as u32;
        let step = match place.text("drift") {
            Some("tenth") => pages / 10,
            Some("all") => pages,
            _ => 0,
        };
        let flag = |name, value, flag| if place.text(name) == Some(value) { flag } else { 0 };
        let flags = flag("touch", "page", WHOLE) | flag("place", "scattered", SCATTERED);
        Self { seed, first: 0, pages, region, flags, step }
    }

    /// The same pages, read before and after they are written.
    pub(super) fn looking(self) -> Self {
        Self { flags: self.flags | LOOKS, ..self }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let Self { seed, first, pages, region, flags, .. } = *self;
        [seed, first, pages, region, flags].map(u32::to_le_bytes).concat()
    }

    /// The answer of a call that looks: all pages were clean, and all hold what was written.
    pub(super) fn answer(&self) -> Vec<u8> {
        [self.pages; 2].map(u32::to_le_bytes).concat()
    }

    pub(super) fn after(self, calls: u32) -> Self {
        let moved = calls.wrapping_mul(self.step);
        Self { first: self.first.wrapping_add(moved) & (self.region - 1), ..self }
    }
}

/// Where the input has the place of the first page.
const FIRST: std::ops::Range<usize> = 4..8;

/// Repeats the call of a point on one instance.
pub(super) struct Writer {
    opened: Opened,
    /// `None` only while it is returned.
    instance: Option<Box<dyn Instance>>,
    order: Order,
    input: Vec<u8>,
    output: Vec<u8>,
    /// `true` if calls look at the pages and are not timed.
    looks: Arc<AtomicBool>,
}

impl Writer {
    /// Fails if the runtime cannot make the instance.
    pub(super) fn new(opened: &Opened, order: Order, looks: &Arc<AtomicBool>) -> Result<Self> {
        Ok(Self {
            opened: opened.clone(),
            instance: Some(opened.loaded.instances.take()?),
            order,
            input: order.bytes(),
            output: Vec::new(),
            looks: Arc::clone(looks),
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(instance) = self.instance.take() {
            self.opened.loaded.instances.give_back(instance);
        }
    }
}

impl Work for Writer {
    fn time(&mut self, calls: u64) -> Result<Duration> {
        let Self { opened, instance: Some(instance), order, input, output, looks } = self else {
            return Ok(Duration::ZERO);
        };
        if looks.load(Ordering::Relaxed) {
            let order = order.looking();
            let took =
                checked_call(&mut **instance, opened.export, &order.bytes(), &order.answer())?;
            return Ok(Duration::from_nanos(took));
        }
        let started = Instant::now();
        for _ in 0..calls {
            input[FIRST].copy_from_slice(&order.first.to_le_bytes());
            if let Outcome::Trapped(trap) =
                instance.call(opened.export, black_box(input), output)?
            {
                return Err(trap.into());
            }
            *order = order.after(1);
        }
        let took = started.elapsed();
        if calls > 0 {
            compare(opened, output)?;
        }
        Ok(took)
    }

    fn period(&self) -> u64 {
        self.opened.loaded.period
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(drift: &str, pages: u64) -> Order {
        let place = Place::default().with("touch", "page").with("place", "scattered");
        Order::new(&place.with("drift", drift).with("pages", pages), 128, 9)
    }

    #[test]
    fn the_input_has_five_numbers_and_the_answer_the_pages_twice() {
        let order = order("same", 40).looking();
        let numbers: Vec<u8> = [9, 0, 40, 128, 7].map(u32::to_le_bytes).concat();
        assert_eq!(order.bytes(), numbers);
        assert_eq!(order.bytes()[FIRST], [0; 4]);
        assert_eq!(order.answer(), [40, 0, 0, 0, 40, 0, 0, 0]);
    }

    #[test]
    fn calls_move_on_by_no_page_a_tenth_or_all_of_them() {
        for (drift, firsts) in [("same", [0, 0, 0]), ("tenth", [4, 8, 12]), ("all", [40, 80, 120])]
        {
            let mut order = order(drift, 40);
            let seen = firsts.map(|_| {
                order = order.after(1);
                order.first
            });
            assert_eq!(seen, firsts);
        }
        // The region is a ring; half of it at most is written, so two calls share no page.
        let order = order("all", 64);
        assert_eq!([1, 2, 3].map(|calls| order.after(calls).first), [64, 0, 64]);
    }
}
