//! Hostile modules by size: refused with a reason, or run.

use super::bench::{Bench, PATIENT};
use anyhow::{Context, Result};
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Outcome};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, DataSection, ExportKind, ExportSection, Function,
    FunctionSection, GlobalSection, GlobalType, MemArg, MemorySection, MemoryType, Module, RefType,
    TableSection, TableType, TypeSection, ValType,
};

/// The name of a module, and the function that adds its large part.
pub(super) type Large = (&'static str, fn(&mut Parts));

pub(super) const EXPORTS: &[Large] = &[("exports", |parts| {
    for index in 0..100_000 {
        parts.exports.export(&format!("export_{index}"), ExportKind::Func, COUNT);
    }
})];

pub(super) const FUNCTIONS: &[Large] = &[("functions", |parts| {
    for index in 0..100_000 {
        let mut body = Function::new([]);
        body.instructions().i64_const(index).end();
        parts.function(&body);
    }
})];

pub(super) const DATA: &[Large] = &[("data", |parts| {
    parts.pages = 513;
    parts.data.active(0, &ConstExpr::i32_const(65_536), vec![0xa5; 32 << 20]);
})];

pub(super) const LOCALS: &[Large] = &[("locals", |parts| {
    const LOCALS: u32 = 50_000;
    let mut body = Function::new([(LOCALS, ValType::I64)]);
    let mut code = body.instructions();
    for local in 1..LOCALS {
        code.local_get(local - 1).i64_const(i64::from(local)).i64_add().local_set(local);
    }
    code.local_get(LOCALS - 1).end();
    parts.function(&body);
})];

pub(super) const NESTING: &[Large] = &[("nesting", |parts| {
    const BLOCKS: usize = 20_000;
    let mut body = Function::new([]);
    let mut code = body.instructions();
    for _ in 0..BLOCKS {
        code.block(BlockType::Empty);
    }
    for _ in 0..BLOCKS {
        code.end();
    }
    code.i64_const(0).end();
    parts.function(&body);
})];

pub(super) const OPERANDS: &[Large] = &[("operands", |parts| {
    const OPERANDS: i64 = 10_000;
    let mut body = Function::new([(1, ValType::I64)]);
    let mut code = body.instructions();
    for operand in 0..OPERANDS {
        code.local_get(0).i64_const(operand).i64_xor();
    }
    for _ in 1..OPERANDS {
        code.i64_add();
    }
    code.end();
    parts.function(&body);
})];

pub(super) const TARGETS: &[Large] = &[("targets", |parts| {
    let targets: Vec<u32> = (0..100_000).map(|target| target % 2).collect();
    let mut body = Function::new([]);
    let mut code = body.instructions();
    code.block(BlockType::Empty).block(BlockType::Empty).i32_const(7);
    code.br_table(targets, 0).end().end().i64_const(0).end();
    parts.function(&body);
})];

pub(super) const TABLES: &[Large] = &[
    ("one table", |parts| parts.table(u64::from(u32::MAX))),
    ("many tables", |parts| (0..100).for_each(|_| parts.table(10_000_000))),
];

/// Index of the function `count`.
const COUNT: u32 = 0;
/// Index of the type `() -> i64`.
const NUMBER: u32 = 0;

/// A module under construction.
pub(super) struct Parts {
    pages: u64,
    functions: FunctionSection,
    tables: TableSection,
    exports: ExportSection,
    code: CodeSection,
    data: DataSection,
}

impl Parts {
    /// A guest whose `count` answers like that of all guests.
    fn new() -> Self {
        let mut parts = Self {
            pages: 1,
            functions: FunctionSection::new(),
            tables: TableSection::new(),
            exports: ExportSection::new(),
            code: CodeSection::new(),
            data: DataSection::new(),
        };
        let at = MemArg { offset: 8, align: 2, memory_index: 0 };
        let mut body = Function::new([]);
        let mut code = body.instructions();
        code.global_get(0).i32_const(1).i32_add().global_set(0);
        code.i32_const(0).i32_const(0).i32_load(at).i32_const(1).i32_add().i32_store(at);
        code.global_get(0).i64_extend_i32_u();
        code.i32_const(0).i32_load(at).i64_extend_i32_u().i64_const(32).i64_shl().i64_or().end();
        parts.function(&body);
        parts.exports.export("count", ExportKind::Func, COUNT);
        parts
    }

    fn function(&mut self, body: &Function) {
        self.functions.function(NUMBER);
        self.code.function(body);
    }

    fn table(&mut self, minimum: u64) {
        let element_type = RefType::FUNCREF;
        let ty = TableType { element_type, table64: false, minimum, maximum: None, shared: false };
        self.tables.table(ty);
    }

    fn finish(self) -> Vec<u8> {
        let mut types = TypeSection::new();
        types.ty().function([], [ValType::I64]);
        let mut memories = MemorySection::new();
        memories.memory(MemoryType {
            minimum: self.pages,
            maximum: None,
            memory64: false,
            shared: false,
            page_size_log2: None,
        });
        let mut globals = GlobalSection::new();
        globals.global(
            GlobalType { val_type: ValType::I32, mutable: true, shared: false },
            &ConstExpr::i32_const(0),
        );
        let mut module = Module::new();
        module.section(&types).section(&self.functions);
        if !self.tables.is_empty() {
            module.section(&self.tables);
        }
        module.section(&memories).section(&globals).section(&self.exports).section(&self.code);
        if !self.data.is_empty() {
            module.section(&self.data);
        }
        module.finish()
    }
}

/// Loads each module: it is refused, or it answers and runs its largest function.
pub(super) fn make(bench: &mut Bench<'_>, modules: &[Large]) -> Result<()> {
    for (name, make) in modules {
        let mut parts = Parts::new();
        make(&mut parts);
        let last = parts.functions.len() - 1;
        parts.exports.export("last", ExportKind::Func, last);
        let wasm = parts.finish();
        match GuestModule::new(name, &wasm, HeapPages::default()) {
            Ok(guest) => {
                drop(wasm);
                run(bench, &guest).with_context(|| *name)?;
            }
            Err(error) => bench.refused(&error.into()),
        }
    }
    Ok(())
}

fn run(bench: &mut Bench<'_>, guest: &GuestModule) -> Result<()> {
    let module = match bench.load(guest, PATIENT) {
        Ok(module) => module,
        Err(error) => match error.downcast_ref() {
            Some(refusal) => {
                bench.refused(refusal);
                return Ok(());
            }
            None => return Err(error),
        },
    };
    let mut instance = module.new_instance()?;
    let last = module.export("last", Abi::Plain)?;
    match instance.call(last, b"", &mut Vec::new()) {
        Ok(Outcome::Returned) => bench.saw("runs".to_owned()),
        Ok(outcome) => bench.saw(super::calls::words(&outcome)),
        Err(error) => {
            bench.refused(&error);
            return Ok(());
        }
    }
    bench.answers(&*module, &mut *instance)
}
