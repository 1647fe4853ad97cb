//! The compute kernel: one loop as the host's own code and as a guest.

use crate::error::{Error, Result};
use crate::guest::{GuestModule, HeapPages, MemoryLimits, Patch};
use wasm_encoder::{
    BlockType, ConstExpr, ExportKind, Function, GlobalSection, GlobalType, MemArg, SectionId,
    ValType,
};

/// Rounds of the loop in one call: a tenth of a millisecond or less of compiled code.
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
    let made = encode(stores)
        .and_then(|wasm| Ok(GuestModule::new("kernel", &wasm, HeapPages::default())?));
    made.map_err(|error| Error::runtime("probe", "make the kernel")(error.to_string()))
}

fn encode(stores: usize) -> Result<Vec<u8>> {
    const I32: ValType = ValType::I32;
    let mut patch = Patch::of(b"\0asm\x01\0\0\0")?;
    patch.set_memory(MemoryLimits { minimum: 1, maximum: None })?;
    let mut globals = GlobalSection::new();
    let heap_base = GlobalType { val_type: I32, mutable: false, shared: false };
    globals.global(heap_base, &ConstExpr::i32_const(HEAP_BASE));
    patch.append(SectionId::Global, &globals);
    patch.export("__heap_base", ExportKind::Global, 0);
    let ty = patch.ty(&[], &[]);
    patch.function(ty, &in_front(stores));
    let ty = patch.ty(&[I32], &[ValType::I64]);
    let kernel = patch.function(ty, &kernel());
    patch.export(EXPORT, ExportKind::Func, kernel);
    let ty = patch.ty(&[I32; 2], &[ValType::I64]);
    let packed = patch.function(ty, &packed(kernel));
    patch.export(PACKED, ExportKind::Func, packed);
    Ok(patch.finish()?)
}

fn kernel() -> Function {
    // Locals: 0 what is left, 1 the round as a wide number, then the lanes.
    let (left, round, first) = (0_u32, 1_u32, 2_u32);
    let lanes = first..first + LANES as u32;
    let mut function = Function::new([(1 + LANES as u32, ValType::I64)]);
    let mut code = function.instructions();
    for (number, lane) in lanes.clone().enumerate() {
        code.i64_const(number as i64).local_set(lane);
    }
    code.loop_(BlockType::Empty).local_get(left).i64_extend_i32_s().local_set(round);
    for lane in lanes.clone() {
        code.local_get(lane).i64_const(TURN).i64_rotl().local_get(round).i64_xor();
        code.i64_const(FACTOR).i64_mul().local_set(lane);
    }
    code.local_get(left).i32_const(1).i32_sub().local_tee(left).br_if(0).end().i64_const(0);
    for lane in lanes {
        code.local_get(lane).i64_xor();
    }
    code.end();
    function
}

/// A function of so many stores.
fn in_front(stores: usize) -> Function {
    let mut function = Function::new([]);
    let mut code = function.instructions();
    for _ in 0..stores {
        code.i32_const(SCRATCH).i32_const(0).i32_store(place(2));
    }
    code.end();
    function
}

/// Takes the rounds from the input, and puts the result in its place: the
/// smallest allocation has room for both.
fn packed(kernel: u32) -> Function {
    let mut function = Function::new([]);
    let mut code = function.instructions();
    code.local_get(0).local_get(0).i32_load(place(2)).call(kernel).i64_store(place(3));
    code.local_get(0).i64_extend_i32_u().i64_const(8 << 32).i64_or().end();
    function
}

/// Bytes that are aligned to this power of two, where an address says.
fn place(align: u32) -> MemArg {
    MemArg { offset: 0, align, memory_index: 0 }
}
