//! Writes a module with many data segments, many functions and a large table:
//! `segments OUTPUT`. The same bytes each time.
//!
//! `noop` does nothing. `read` walks through the table: each function reads a segment of its
//! own, which is active or passive. A passive one is copied to a scratch area first. The result
//! also depends on a counter of calls and on the scratch area, so that a call on an instance
//! that is not clean has another result.

use std::env::args_os;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, DataCountSection, DataSection, ElementSection, Elements,
    ExportKind, ExportSection, Function, FunctionSection, GlobalSection, GlobalType, MemArg,
    MemorySection, MemoryType, Module, RefType, TableSection, TableType, TypeSection, ValType,
};

/// Active data segments.
const ACTIVE: u32 = 9_000;
/// Passive data segments, behind the active ones in the module.
const PASSIVE: u32 = 1_000;
/// Functions that `read` reaches through the table, or that nobody calls.
const LEAVES: u32 = 4_700;
const ENTRIES: u32 = 1_700;
/// Active element segments, which fill the table.
const ELEMENTS: u32 = 17;

/// Where the first active segment goes.
const BASE: u32 = 1024;
/// From one active segment to the next. Each is shorter than that.
const STRIDE: u32 = 64;
/// Where the scratch area is, behind the segments.
const SCRATCH: u32 = BASE + ACTIVE * STRIDE;
/// Length of the scratch area.
const SCRATCH_LEN: u32 = 4096;
/// Bytes of a passive segment.
const PASSIVE_LEN: usize = 16;
const PAGES: u32 = (SCRATCH + SCRATCH_LEN).div_ceil(65_536);

/// Indices of the types.
const NOOP: u32 = 0;
const LEAF: u32 = 1;
const READ: u32 = 2;

/// The number after `state` in a fixed sequence (`SplitMix64`).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn bytes(state: &mut u64, length: usize) -> Vec<u8> {
    (0..length).map(|_| next(state) as u8).collect()
}

fn at(offset: u32, align: u32) -> MemArg {
    MemArg { offset: u64::from(offset), align, memory_index: 0 }
}

fn i32_const(value: u32) -> ConstExpr {
    ConstExpr::i32_const(value.cast_signed())
}

/// The function of a number: `(x * odd) rotated ^ four bytes of its segment`.
fn leaf(number: u32, state: &mut u64) -> Function {
    let mut function = Function::new([]);
    let mut code = function.instructions();
    // Every fourth one has a passive segment.
    let place = if number % 4 == 0 {
        let place = SCRATCH + 64 * (number / 4 % (SCRATCH_LEN / 64));
        code.i32_const(place.cast_signed()).i32_const(0).i32_const(PASSIVE_LEN as i32);
        code.memory_init(0, ACTIVE + number / 4 % PASSIVE);
        place + 4
    } else {
        BASE + STRIDE * (next(state) as u32 % ACTIVE)
    };
    code.local_get(0).i32_const((next(state) as u32 | 1).cast_signed()).i32_mul();
    code.i32_const((number % 31 + 1).cast_signed()).i32_rotl();
    code.i32_const(0).i32_load(at(place, 0)).i32_xor().end();
    function
}

/// `read(n)`: `n` calls through the table, and a byte of a segment after each.
fn read() -> Function {
    let (n, x, hash) = (0, 1, 2);
    let mut function = Function::new([(1, ValType::I32), (1, ValType::I64)]);
    let mut code = function.instructions();
    code.global_get(0).i64_const(1).i64_add().global_set(0);
    code.global_get(0).i32_const(0).i64_load(at(SCRATCH, 0)).i64_add().local_set(hash);
    code.local_get(n).local_set(x);
    code.block(BlockType::Empty).loop_(BlockType::Empty);
    code.local_get(n).i32_eqz().br_if(1);
    code.local_get(x);
    code.local_get(x).i32_const(3).i32_shr_u().i32_const(ENTRIES as i32).i32_rem_u();
    code.call_indirect(0, LEAF).local_set(x);
    code.local_get(hash).i64_const(5).i64_rotl().local_get(x).i64_extend_i32_u().i64_xor();
    code.i64_const(0x517c_c1b7_2722_0a95).i64_mul();
    code.local_get(x).i32_const(7).i32_shr_u().i32_const(ACTIVE as i32).i32_rem_u();
    code.i32_const(STRIDE as i32).i32_mul().i64_load8_u(at(BASE, 0)).i64_add().local_set(hash);
    code.local_get(n).i32_const(1).i32_sub().local_set(n).br(0);
    code.end().end().local_get(hash).end();
    function
}

fn module() -> Vec<u8> {
    let mut state = 1;
    let mut types = TypeSection::new();
    types.ty().function([], []);
    types.ty().function([ValType::I32], [ValType::I32]);
    types.ty().function([ValType::I32], [ValType::I64]);

    let (mut functions, mut code) = (FunctionSection::new(), CodeSection::new());
    for number in 0..LEAVES {
        functions.function(LEAF);
        code.function(&leaf(number, &mut state));
    }
    functions.function(NOOP);
    let mut empty = Function::new([]);
    empty.instructions().end();
    code.function(&empty);
    functions.function(READ);
    code.function(&read());

    let mut tables = TableSection::new();
    tables.table(TableType {
        element_type: RefType::FUNCREF,
        minimum: u64::from(ENTRIES),
        maximum: Some(u64::from(ENTRIES)),
        table64: false,
        shared: false,
    });
    let mut elements = ElementSection::new();
    let each = ENTRIES / ELEMENTS;
    for first in (0..ENTRIES).step_by(each as usize) {
        let entries: Vec<u32> = (0..each).map(|_| next(&mut state) as u32 % LEAVES).collect();
        elements.active(None, &i32_const(first), Elements::Functions(entries.into()));
    }

    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: u64::from(PAGES),
        maximum: Some(u64::from(PAGES)),
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut globals = GlobalSection::new();
    let counter = GlobalType { val_type: ValType::I64, mutable: true, shared: false };
    globals.global(counter, &ConstExpr::i64_const(0));

    let mut data = DataSection::new();
    for number in 0..ACTIVE {
        let length = 8 + next(&mut state) as usize % 24;
        data.active(0, &i32_const(BASE + STRIDE * number), bytes(&mut state, length));
    }
    for _ in 0..PASSIVE {
        data.passive(bytes(&mut state, PASSIVE_LEN));
    }

    let mut exports = ExportSection::new();
    exports.export("noop", ExportKind::Func, LEAVES);
    exports.export("read", ExportKind::Func, LEAVES + 1);
    exports.export("memory", ExportKind::Memory, 0);

    let mut module = Module::new();
    module.section(&types).section(&functions).section(&tables).section(&memories);
    module.section(&globals).section(&exports).section(&elements);
    module.section(&DataCountSection { count: ACTIVE + PASSIVE }).section(&code).section(&data);
    module.finish()
}

fn main() -> Result<()> {
    let paths: Vec<PathBuf> = args_os().skip(1).map(PathBuf::from).collect();
    let [output] = &paths[..] else { bail!("usage: segments OUTPUT") };
    std::fs::write(output, module()).with_context(|| output.display().to_string())
}
