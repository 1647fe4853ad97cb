//! The compute kernel: one loop as the host's own code and as a guest.

use crate::error::{Error, Result};
use crate::guest::{GuestModule, HeapPages};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, ExportKind, ExportSection, Function, FunctionSection,
    GlobalSection, GlobalType, Instruction, MemArg, MemorySection, MemoryType, Module as Encoded,
    TypeSection, ValType,
};

/// Rounds of the loop in one call: a tenth of a millisecond or less of
/// compiled code.
pub(super) const ROUNDS: i32 = 50_000;
/// The export that takes the rounds and returns the result.
pub(super) const EXPORT: &str = "kernel";
/// The same by Substrate's convention, for engines that have no other.
pub(super) const PACKED: &str = "kernel_packed";

/// Independent sums, so that a processor which does several things at once shows
/// what compiled code can do.
const LANES: usize = 6;
const FACTOR: i64 = 0x5851_f42d_4c95_7f2d;
const TURN: i64 = 13;
/// Where the host places inputs.
const HEAP_BASE: i32 = 1024;
/// Where the function in front of the kernel stores; nothing else is there.
const SCRATCH: i32 = 8;

/// The kernel as the host's own code.
#[inline(never)]
pub(super) fn native(rounds: i32) -> i64 {
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

/// The same loop as a guest. `stores` is how many stores a function in front of the
/// kernel makes, which nobody calls: it moves the kernel's code on within its page.
pub(super) fn guest(stores: usize) -> Result<GuestModule> {
    GuestModule::new("kernel", &encode(stores).finish(), HeapPages::default())
        .map_err(|error| Error::runtime("probe", "make the kernel")(error.to_string()))
}

fn encode(stores: usize) -> Encoded {
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
    types.ty().function([], []);
    let mut functions = FunctionSection::new();
    functions.function(2).function(0).function(1);
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
    exports.export(EXPORT, ExportKind::Func, 1);
    exports.export(PACKED, ExportKind::Func, 2);
    exports.export("__heap_base", ExportKind::Global, 0);
    let mut body = CodeSection::new();
    body.function(&in_front(stores)).function(&code).function(&packed());
    let mut module = Encoded::new();
    module.section(&types).section(&functions).section(&memories).section(&globals);
    module.section(&exports).section(&body);
    module
}

/// A function of so many stores.
fn in_front(stores: usize) -> Function {
    let mut code = Function::new([]);
    for _ in 0..stores {
        code.instruction(&Instruction::I32Const(SCRATCH));
        code.instruction(&Instruction::I32Const(0));
        code.instruction(&Instruction::I32Store(MemArg { offset: 0, align: 2, memory_index: 0 }));
    }
    code.instruction(&Instruction::End);
    code
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
        Instruction::Call(1),
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
