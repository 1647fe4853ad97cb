//! A machine as the calling conventions see it.

use super::Machine;
use touchstone_executor::adapter::{EnforcedLimits, HostState, Live};
use touchstone_executor::{Result, Trap, Value};

impl Live for Machine {
    fn memory(&mut self) -> &mut [u8] {
        self.bytes()
    }

    fn grow_memory(&mut self, pages: u32) -> bool {
        self.grow(pages)
    }

    fn host(&mut self) -> &mut HostState {
        &mut self.state().host
    }

    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        self.bytes_and_host()
    }

    fn call_substrate(
        &mut self,
        index: u32,
        pointer: u32,
        length: u32,
    ) -> Result<Result<u64, Trap>> {
        self.call_packed(index, pointer, length)
    }

    fn call_plain(
        &mut self,
        index: u32,
        params: &[Value],
        results: &mut [Value],
    ) -> Result<Result<(), Trap>> {
        self.call_numbers(index, params, results)
    }

    fn enforced_limits(&self) -> EnforcedLimits {
        EnforcedLimits {
            deadline: self.shared.guest.config.is_interruptible(),
            fuel: false,
            pages: true,
            table_entries: true,
        }
    }

    fn begin_limits(&mut self) -> Result<()> {
        self.limit_growth()
    }

    fn end_limits(&mut self) {
        self.end_limits_of_growth();
    }
}
