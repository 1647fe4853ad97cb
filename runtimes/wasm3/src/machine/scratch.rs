//! Releases memory whose content is not needed between two runs.
//!
//! Wasm3 clears all that it allocates, so all of it is resident: the state of its compiler
//! (41 KiB), the stack of values, and pages of code of 32 KiB each, mostly empty. The kernel takes
//! such memory back page by page, and gives zeros when it is touched again.

use super::Machine;
use super::layout::{CodePage, Environment, Runtime};
use std::ops::Range;
use touchstone_executor::Result;
use touchstone_executor::memory::host_page;

impl Machine {
    /// Releases all resident memory that a clean machine does not need.
    ///
    /// # Errors
    ///
    /// If the kernel refuses to release the guest's memory; the machine must then not be used.
    pub(crate) fn trim(&mut self) -> Result<()> {
        self.release(0);
        // SAFETY: the memory is clean, not running, and borrowed here alone.
        self.resetter().map(|mut resetter| unsafe { resetter.trim() }).transpose()?;
        Ok(())
    }

    /// Called after each run. Releases the compiler's memory, after runs 1, 2, 4, 8 … only, because
    /// the check costs a cache miss.
    pub(super) fn run_ended(&mut self) {
        self.runs = self.runs.wrapping_add(1);
        // SAFETY: the runtime is alive and idle.
        if self.runs.is_power_of_two() && unsafe { !(*self.handle.runtime).is_released() } {
            // The next run uses the first page.
            self.release(host_page());
        }
    }

    /// Releases all that an idle machine does not need, except the first `stack` bytes of the
    /// stack.
    pub(super) fn release(&mut self, stack: usize) {
        // SAFETY: runtime and environment are alive and idle, and `layout.rs` was checked.
        unsafe {
            for range in unneeded(self.handle.runtime, self.environment.raw().cast(), stack) {
                give_back(range);
            }
            (*self.handle.runtime).set_released();
        }
    }
}

/// Memory that an idle runtime writes before it reads it: the compiler's state, the stack behind
/// its first bytes, and the free part of each page of code.
///
/// # Safety
///
/// Runtime and environment must be alive, idle and of one machine.
unsafe fn unneeded(
    runtime: *mut Runtime,
    environment: *const Environment,
    stack: usize,
) -> Vec<Range<*mut u8>> {
    // SAFETY: both are alive and idle. The stack has `num_stack_slots` slots, and lists of pages
    // end with null.
    unsafe {
        let mut found = vec![(*runtime).compiler()];
        let values = (*runtime).stack;
        let end = values.add((*runtime).num_stack_slots as usize).cast::<u8>();
        found.push(values.cast::<u8>().add(stack)..end);
        let lists = [(*runtime).pages_open, (*runtime).pages_full, (*environment).pages_released];
        for mut page in lists {
            while !page.is_null() {
                found.push(CodePage::free(page));
                page = (*page).next;
            }
        }
        found
    }
}

/// Releases the whole pages in a range. If the kernel refuses, they stay.
///
/// # Safety
///
/// The range must lie in one allocation, and its content must not be needed.
unsafe fn give_back(Range { start, end }: Range<*mut u8>) {
    let page = host_page();
    let skipped = start.align_offset(page);
    let length = (end as usize).saturating_sub(start as usize).saturating_sub(skipped);
    let length = length - length % page;
    if length > 0 {
        // SAFETY: whole pages of one allocation, whose content is not needed.
        unsafe { libc::madvise(start.add(skipped).cast(), length, libc::MADV_DONTNEED) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::Environment as Owned;
    use super::*;
    use crate::engine::Wasm3;
    use crate::module::{Program, SharedModule};
    use std::sync::Arc;
    use touchstone_executor::adapter::{self, CleanContent, LoadedGuest};
    use touchstone_executor::guest::{GuestModule, HeapPages};
    use touchstone_executor::{Abi, Config, Engine as _};

    /// Resident pages of what an idle machine does not need.
    fn resident(machine: &Machine) -> usize {
        let page = host_page();
        let environment = machine.environment.raw().cast();
        // SAFETY: both are alive and idle.
        let ranges = unsafe { unneeded(machine.handle.runtime, environment, 0) };
        let pages = ranges.into_iter().flat_map(|range| {
            let start = (range.start as usize).next_multiple_of(page);
            (start..range.end as usize)
                .step_by(page)
                .take_while(move |at| at + page <= range.end as usize)
        });
        pages
            .filter(|at| {
                let mut is_there = 0_u8;
                // SAFETY: a page that is mapped, and a byte for the answer.
                let asked = unsafe { libc::mincore(*at as *mut _, page, &raw mut is_there) };
                assert_eq!(asked, 0);
                is_there & 1 == 1
            })
            .count()
    }

    #[test]
    fn an_idle_machine_keeps_nothing_that_it_does_not_need_and_goes_on() {
        let text = r#"(module (memory 1)
          (global $base (mut i32) (i32.const 7))
          (func $sum (export "sum") (param i64) (result i64)
            (if (result i64) (i64.eqz (local.get 0)) (then (i64.const 0))
              (else (i64.add (local.get 0)
                (call $sum (i64.sub (local.get 0) (i64.const 1)))))))
          (func (export "base") (result i64) (i64.extend_i32_u (global.get $base))))"#;
        let wasm = wat::parse_str(text).unwrap();
        let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
        let (strategy, config) = ("instance_reuse_tracked".parse().unwrap(), Config::default());
        for eager in [false, true] {
            let engine = Wasm3::new(eager);
            let artifact = engine.compile(&guest, strategy, &config).unwrap();
            let opened = LoadedGuest::open(&engine, &guest, &artifact, strategy, &config);
            let (guest, program): (_, &Arc<Program>) = opened.unwrap();
            let content = CleanContent::of(&guest.guest, strategy).unwrap();
            let shared = Arc::new(SharedModule { program: Arc::clone(program), guest, content });
            let environment = Owned::new("wasm3").unwrap();
            let mut machine = Machine::new(environment, &shared).unwrap();
            assert!(resident(&machine) > 0);
            machine.save().unwrap();
            assert_eq!(resident(&machine), 0);
            let call = |machine: &mut Machine, name, input: &[u8], expected: u64| {
                let export = shared.guest.exports.find(name, Abi::Plain).unwrap();
                let output = &mut Vec::new();
                let _ =
                    adapter::invoke(machine, &shared.guest.exports, export, input, output, None)
                        .unwrap();
                assert_eq!(*output, expected.to_le_bytes());
            };
            // Deep enough for several pages of the stack.
            let (input, sum) = (2000_u64.to_le_bytes(), 2000 * 2001 / 2);
            call(&mut machine, "sum", &input, sum);
            assert!(eager || resident(&machine) > 10);
            machine.restore().unwrap();
            assert!(eager || resident(&machine) <= 1);
            // What is compiled stays, and more is compiled.
            call(&mut machine, "sum", &input, sum);
            call(&mut machine, "base", &[], 7);
            machine.restore().unwrap();
            call(&mut machine, "base", &[], 7);
            machine.trim().unwrap();
            assert_eq!(resident(&machine), 0);
            call(&mut machine, "sum", &input, sum);
        }
    }
}
