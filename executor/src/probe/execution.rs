//! Whether code is compiled or interpreted, told from the speed of a kernel.
//!
//! No runtime has to be believed: the same loop runs as machine code of the
//! host's own compiler and as a guest, in turns. Compilers of WebAssembly, the
//! single-pass ones too, come near the host's code; an interpreter spends some
//! instructions on each one of the guest's, however good it is.

use crate::abi::Abi;
use crate::config::Config;
use crate::contract::{Engine, Execution, Instance};
use crate::error::{Error, Result};
use crate::guest::{GuestModule, HeapPages};
use crate::outcome::Outcome;
use crate::strategy::Strategy;
use crate::support::Support;
use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, ExportKind, ExportSection, Function, FunctionSection,
    GlobalSection, GlobalType, Instruction, MemArg, MemorySection, MemoryType, Module as Encoded,
    TypeSection, ValType,
};

/// From so many times the host's own time on, a kernel counts as interpreted.
/// Wasmtime's code was seen at 1.2 (Cranelift) and 1.7 times (Winch), WasmEdge's at
/// 3.1, the fastest interpreter at 9.4 (`cargo test --release --features=all --test
/// modes -- --nocapture` prints all of them); this lies between those two.
pub const INTERPRETED_FROM: f64 = 5.4;

/// Independent sums, so that a processor which does several things at once shows
/// what compiled code can do.
const LANES: usize = 6;
const FACTOR: i64 = 0x5851_f42d_4c95_7f2d;
const TURN: i64 = 13;
/// Rounds of the loop in one call: a tenth of a millisecond or less of
/// compiled code.
const ROUNDS: i32 = 50_000;
/// Calls of each side in one look. The fastest count: whatever else the machine
/// does only makes a call slower.
const CALLS: usize = 5;
/// Looks before a mismatch is believed.
const LOOKS: usize = 3;
const EXPORT: &str = "kernel";
/// The same by Substrate's convention, for engines that have no other.
const PACKED: &str = "kernel_packed";
/// Where the host places inputs.
const HEAP_BASE: i32 = 1024;

/// What the kernel showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kernel {
    /// Its time as a guest over its time as the host's own code, both at their
    /// fastest.
    pub times_native: f64,
}

impl Kernel {
    /// How such a speed comes about.
    #[must_use]
    pub fn execution(self) -> Execution {
        if self.times_native >= INTERPRETED_FROM {
            Execution::Interpreted
        } else {
            Execution::Compiled
        }
    }
}

/// Runs the kernel as the engine's guest under the strategy and as the host's own
/// code, and compares what it sees with what the engine
/// [claims](Engine::execution). `None` where the engine cannot run a guest that it
/// does not know, as native code, or not under this strategy.
///
/// # Errors
///
/// [`Error::WrongMode`] when the speed is not that of what is claimed; whatever
/// loading and calling give, and a wrong result.
pub fn check_execution(
    engine: &dyn Engine,
    strategy: Strategy,
    config: &Config,
) -> Result<Option<Kernel>> {
    let guest = kernel()?;
    let unknown = matches!(engine.support_for(strategy, guest), Support::Unsupported { .. });
    if unknown || engine.execution() == Execution::Native {
        return Ok(None);
    }
    let artifact = engine.compile(guest, strategy, config)?;
    engine.stage(&artifact, strategy)?;
    let mut module = engine.load(guest, &artifact, strategy, config)?;
    module.probe()?;
    let export = match module.export(EXPORT, Abi::Plain) {
        Err(Error::ExportUnsupported { .. }) => module.export(PACKED, Abi::Substrate)?,
        export => export?,
    };
    let mut instance = module.new_instance()?;
    let mut seen = Kernel { times_native: 0.0 };
    for _ in 0..LOOKS {
        seen = look(engine.id(), &mut *instance, export)?;
        if seen.execution() == engine.execution() {
            return Ok(Some(seen));
        }
    }
    Err(Error::WrongMode {
        engine: engine.id(),
        strategy,
        reason: format!(
            "it is said to be {}, but a compute kernel took {:.1} times the time of native code, as \
             {} code does",
            engine.execution(),
            seen.times_native,
            seen.execution()
        ),
    })
}

fn look(
    engine: &'static str,
    instance: &mut dyn Instance,
    export: crate::ExportId,
) -> Result<Kernel> {
    let mut fastest = [Duration::MAX; 2];
    let mut output = Vec::new();
    for _ in 0..CALLS {
        let started = Instant::now();
        let expected = native(black_box(ROUNDS));
        fastest[0] = fastest[0].min(started.elapsed());
        instance.prepare()?;
        let started = Instant::now();
        let outcome = instance.invoke(export, &ROUNDS.to_le_bytes(), &mut output)?;
        fastest[1] = fastest[1].min(started.elapsed());
        instance.finish()?;
        if outcome != Outcome::Returned || output != expected.to_le_bytes() {
            let reason = format!("{outcome:?} with {output:?}, {expected} was expected");
            return Err(Error::runtime(engine, "run the compute kernel")(reason));
        }
    }
    let native = fastest[0].max(Duration::from_nanos(1));
    Ok(Kernel { times_native: fastest[1].as_secs_f64() / native.as_secs_f64() })
}

/// The kernel as the host's own code.
#[inline(never)]
fn native(rounds: i32) -> i64 {
    let mut lanes: [i64; LANES] = std::array::from_fn(|lane| lane as i64);
    let mut left = rounds;
    loop {
        let round = i64::from(left);
        for lane in &mut lanes {
            *lane = (lane.rotate_left(TURN as u32) ^ round).wrapping_mul(FACTOR);
        }
        left = left.wrapping_sub(1);
        if left == 0 {
            break;
        }
    }
    lanes.iter().fold(0, |sum, lane| sum ^ lane)
}

/// The same loop as a guest, made once.
fn kernel() -> Result<&'static GuestModule> {
    static GUEST: OnceLock<Result<GuestModule>> = OnceLock::new();
    let made =
        GUEST.get_or_init(|| GuestModule::new("kernel", &encode().finish(), HeapPages::default()));
    made.as_ref().map_err(|error| Error::runtime("probe", "make the kernel")(error.to_string()))
}

fn encode() -> Encoded {
    // Locals: 0 what is left, 1 the round as a wide number, then the lanes.
    let (left, round, first) = (0_u32, 1_u32, 2_u32);
    let lanes = first..first + LANES as u32;
    let mut code = Function::new([(1 + LANES as u32, ValType::I64)]);
    let mut put = |instruction: Instruction<'_>| {
        code.instruction(&instruction);
    };
    for (number, lane) in lanes.clone().enumerate() {
        put(Instruction::I64Const(number as i64));
        put(Instruction::LocalSet(lane));
    }
    put(Instruction::Loop(BlockType::Empty));
    put(Instruction::LocalGet(left));
    put(Instruction::I64ExtendI32S);
    put(Instruction::LocalSet(round));
    for lane in lanes.clone() {
        put(Instruction::LocalGet(lane));
        put(Instruction::I64Const(TURN));
        put(Instruction::I64Rotl);
        put(Instruction::LocalGet(round));
        put(Instruction::I64Xor);
        put(Instruction::I64Const(FACTOR));
        put(Instruction::I64Mul);
        put(Instruction::LocalSet(lane));
    }
    put(Instruction::LocalGet(left));
    put(Instruction::I32Const(1));
    put(Instruction::I32Sub);
    put(Instruction::LocalTee(left));
    put(Instruction::BrIf(0));
    put(Instruction::End);
    put(Instruction::I64Const(0));
    for lane in lanes {
        put(Instruction::LocalGet(lane));
        put(Instruction::I64Xor);
    }
    put(Instruction::End);

    let mut types = TypeSection::new();
    types.ty().function([ValType::I32], [ValType::I64]);
    types.ty().function([ValType::I32, ValType::I32], [ValType::I64]);
    let mut functions = FunctionSection::new();
    functions.function(0).function(1);
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: 1,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut globals = GlobalSection::new();
    let heap_base = GlobalType { val_type: ValType::I32, mutable: false, shared: false };
    globals.global(heap_base, &ConstExpr::i32_const(HEAP_BASE));
    let mut exports = ExportSection::new();
    exports.export(EXPORT, ExportKind::Func, 0);
    exports.export(PACKED, ExportKind::Func, 1);
    exports.export("__heap_base", ExportKind::Global, 0);
    let mut body = CodeSection::new();
    body.function(&code).function(&packed());
    let mut module = Encoded::new();
    module.section(&types).section(&functions).section(&memories).section(&globals);
    module.section(&exports).section(&body);
    module
}

/// Takes the rounds from the input, and puts the result in its place: the
/// smallest allocation has room for both.
fn packed() -> Function {
    let mut code = Function::new([]);
    let pointer = Instruction::LocalGet(0);
    let place = |align| MemArg { offset: 0, align, memory_index: 0 };
    for instruction in [
        pointer.clone(),
        pointer.clone(),
        Instruction::I32Load(place(2)),
        Instruction::Call(0),
        Instruction::I64Store(place(3)),
        pointer,
        Instruction::I64ExtendI32U,
        Instruction::I64Const(8 << 32),
        Instruction::I64Or,
        Instruction::End,
    ] {
        code.instruction(&instruction);
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::{Answer, MockEngine};

    fn interpreter() -> MockEngine {
        MockEngine::new("mock").executing(Execution::Interpreted)
    }

    /// A mock that answers the kernel, slowly or not.
    fn mock(slowness: u32) -> MockEngine {
        interpreter().answering(move |call| {
            let rounds = i32::from_le_bytes(call.input.try_into().unwrap());
            let mut result = 0;
            for _ in 0..slowness {
                result = native(black_box(rounds));
            }
            Answer::Output(result.to_le_bytes().to_vec())
        })
    }

    #[test]
    #[cfg_attr(miri, ignore = "compares speeds")]
    fn an_interpreter_is_recognised() {
        let seen = check_execution(&mock(30), Strategy::INTERPRETED, &Config::default()).unwrap();
        assert_eq!(seen.unwrap().execution(), Execution::Interpreted);
    }

    #[test]
    #[cfg_attr(miri, ignore = "compares speeds")]
    fn a_false_claim_is_an_error() {
        let error =
            check_execution(&mock(1), Strategy::INTERPRETED, &Config::default()).unwrap_err();
        assert!(matches!(error, Error::WrongMode { .. }), "{error}");
        assert!(error.to_string().contains("said to be interpreted"), "{error}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "runs a compute kernel: too slow")]
    fn a_wrong_result_is_an_error() {
        let mock = interpreter().answering(|_| Answer::Output(vec![0; 8]));
        let error = check_execution(&mock, Strategy::INTERPRETED, &Config::default()).unwrap_err();
        assert!(error.to_string().contains("compute kernel"), "{error}");
    }
}
