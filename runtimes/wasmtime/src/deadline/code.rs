//! Code that a signal can stop anywhere: it needs no looks at the deadline.
//!
//! The module gets one more function, whose only instruction is a trap. To stop the guest, the
//! handler of the signal sets the program counter to that instruction, and Wasmtime ends the call
//! as for every trap. That is possible in the code of the module's own functions: they can trap
//! nearly anywhere, and a call that trapped is followed by a reset. In the runtime's and the host's
//! code it is not. The module therefore calls the host at times before instructions for which the
//! runtime works.

use crate::engine::Compiler;
use crate::memory::Use;
use std::borrow::Cow;
use std::ops::Range;
use touchstone_executor::guest::{ADDED, Error, HostCalls, ModuleInfo, Patch};
use touchstone_executor::{Config, Feature, Strategy};
use wasm_encoder::Function;

/// Module part of the name of the import that is called before such work, and the other part.
pub(crate) const HOST: &str = "__touchstone_deadline";
pub(crate) const CHECK: &str = "check";

/// Functions that a module has fewer than: validators allow a million.
const FUNCTIONS: usize = 900_000;

/// The instruction of a trap, as Cranelift and Winch encode it (`ud2`; `udf`, of `TRAP_OPCODE` in
/// Cranelift's `isa/aarch64/inst/args.rs`).
#[cfg(target_arch = "x86_64")]
const TRAP: &[u8] = &[0x0f, 0x0b];
#[cfg(target_arch = "aarch64")]
const TRAP: &[u8] = &[0x1f, 0xc1, 0x00, 0x00];
/// No other processor's registers are known here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const TRAP: &[u8] = &[];

/// `true` if calls of a module are stopped by a signal: on Touchstone's memories, unless the code
/// has state that a trap anywhere would leave half done (the collector's heap, fuel in a register),
/// or functions that Wasmtime does not list. The same for all strategies that share an artifact.
pub(crate) fn is_stopped_by_signal(
    compiler: Compiler,
    strategy: Strategy,
    config: &Config,
    info: &ModuleInfo,
) -> bool {
    config.is_interruptible()
        && !TRAP.is_empty()
        && !config.metered
        && matches!(compiler, Compiler::Cranelift | Compiler::Winch)
        && Use::of(strategy).is_some()
        && info.component.is_none()
        && !info.features.has(Feature::Memory64)
        && !crate::collected::needs_collector(info)
        && info.functions < FUNCTIONS
        && !info.imports.iter().any(|import| import.module == HOST)
}

/// The module with the function, and with the calls.
/// Fails when the module cannot be read.
pub(crate) fn stoppable(wasm: &[u8], info: &ModuleInfo) -> Result<Cow<'static, [u8]>, Error> {
    debug_assert!(HOST.starts_with(ADDED));
    let mut patch = Patch::of(wasm)?;
    let works = info.writes_in_bulk
        || info.grows_memory
        || info.tables.iter().any(|table| table.written || table.grown);
    let work = works.then(|| patch.import(HOST, CHECK, &[], &[]));
    patch.call_host(HostCalls { work, ..HostCalls::default() })?;
    let ty = patch.ty(&[], &[]);
    let mut body = Function::new([]);
    body.instructions().unreachable().end();
    patch.function(ty, &body);
    Ok(patch.finish()?.into())
}

/// Where the code of a module's functions lies. For as long as the module.
pub(crate) struct Code {
    text: usize,
    /// Ranges of the text, in order: trampolines lie between them.
    functions: Vec<Range<usize>>,
    /// Address of the instruction that traps.
    trap: usize,
}

impl Code {
    /// That of a module that was made [`stoppable`]. `None` if the function that was added has no
    /// instruction of the known kind.
    pub(crate) fn of(module: &wasmtime::Module) -> Option<Self> {
        let text = module.text();
        let place =
            |function: wasmtime::ModuleFunction| function.offset..function.offset + function.len;
        let mut functions: Vec<_> = module.functions().map(place).collect();
        let added = functions.last()?.clone();
        let offset = text.get(added.clone())?.windows(TRAP.len()).position(|code| code == TRAP)?;
        functions.sort_unstable_by_key(|function| function.start);
        functions.dedup_by(|next, last| {
            let follows = next.start == last.end;
            if follows {
                last.end = next.end;
            }
            follows
        });
        let text = text.as_ptr() as usize;
        Some(Self { text, functions, trap: text + added.start + offset })
    }

    /// The place to go on at from an instruction of one of the functions, if it is one.
    pub(super) fn trap_from(&self, address: usize) -> Option<usize> {
        let offset = address.checked_sub(self.text)?;
        let next = self.functions.partition_point(|function| function.start <= offset);
        let function = self.functions.get(next.checked_sub(1)?)?;
        function.contains(&offset).then_some(self.trap)
    }
}
