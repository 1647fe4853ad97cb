//! Additions to a random module: functions that show its state, and functions that change it,
//! because random code changes little before it traps.

use super::sample::Call;
use arbitrary::Unstructured;
use touchstone_executor::Abi;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, ExportKind, ExportSection, Function, FunctionSection,
    GlobalSection, GlobalType, HeapType, RawSection, SectionId, TypeSection, ValType,
};
use wasmparser::{Parser, Payload, TypeRef};

/// Name of the function with Substrate's convention; it returns its input.
pub(crate) const SUBSTRATE: &str = "__substrate";
/// Prefix of the functions that show state.
const READ: &str = "__read_";
/// Prefix of the functions that change state.
const WRITE: &str = "__write_";
/// Entries of a table that are looked at.
const ENTRIES: u32 = 5;
/// Where the host's allocator starts, bytes; its first header lies a little
/// above.
const HEAP_BASE: i32 = 2001;

/// A module with the additions.
pub(crate) struct Added {
    pub(crate) wasm: Vec<u8>,
    pub(crate) readers: Vec<Call>,
}

type Error = wasm_encoder::reencode::Error;

/// `true` if an export was added to show state.
pub(crate) fn is_reader(name: &str) -> bool {
    name.starts_with(READ)
}

/// The functions that a random module may import: two that change the host's
/// state, one that shows it, one that nobody has.
pub(crate) fn imports() -> Vec<u8> {
    let text = r#"(module
        (import "env" "ext_allocator_malloc_version_1" (func (param i32) (result i32)))
        (import "env" "ext_allocator_free_version_1" (func (param i32)))
        (import "env" "input_len" (func (result i64)))
        (import "env" "nobody_has_this" (func (param i32) (result i64))))"#;
    wat::parse_str(text).expect("the text is constant")
}

/// Adds readers for all state that a guest can see, and writers for some of it.
pub(crate) fn add(wasm: &[u8], random: &mut Unstructured<'_>) -> Result<Added, String> {
    let mut module = Parts::of(wasm).map_err(|error| error.to_string())?;
    let readers = module.readers();
    module.writers(random).map_err(|error| error.to_string())?;
    Ok(Added { wasm: module.finish(), readers })
}

/// A module taken apart as far as functions are to be added.
#[derive(Default)]
struct Parts {
    types: TypeSection,
    functions: FunctionSection,
    globals: GlobalSection,
    exports: ExportSection,
    code: CodeSection,
    /// The other sections, as they are.
    others: Vec<(u8, Vec<u8>)>,
    function_types: Vec<Option<wasmparser::FuncType>>,
    function_count: u32,
    global_types: Vec<wasmparser::GlobalType>,
    tables: Vec<wasmparser::TableType>,
    has_memory: bool,
    writes_tables: bool,
    passive_data: Vec<u32>,
    passive_elements: Vec<(u32, wasmparser::RefType)>,
    uses_references: bool,
}

impl Parts {
    fn of(wasm: &[u8]) -> Result<Self, Error> {
        let mut parts = Self::default();
        for payload in Parser::new(0).parse_all(wasm) {
            parts.take(wasm, payload?)?;
        }
        Ok(parts)
    }

    fn take(&mut self, wasm: &[u8], payload: Payload<'_>) -> Result<(), Error> {
        let same = &mut RoundtripReencoder;
        let section = payload.as_section();
        match payload {
            Payload::TypeSection(section) => {
                for group in section.clone() {
                    for ty in group?.into_types() {
                        self.function_types.push(match ty.composite_type.inner {
                            wasmparser::CompositeInnerType::Func(ty) => Some(ty),
                            _ => None,
                        });
                    }
                }
                return same.parse_type_section(&mut self.types, section);
            }
            Payload::FunctionSection(section) => {
                self.function_count += section.count();
                return same.parse_function_section(&mut self.functions, section);
            }
            Payload::GlobalSection(section) => {
                for global in section.clone() {
                    self.global_types.push(global?.ty);
                }
                return same.parse_global_section(&mut self.globals, section);
            }
            Payload::ExportSection(section) => {
                return same.parse_export_section(&mut self.exports, section);
            }
            Payload::CodeSectionEntry(body) => {
                self.look(&body)?;
                return same.parse_function_body(&mut self.code, body);
            }
            Payload::CodeSectionStart { .. } => return Ok(()),
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    self.function_count += u32::from(matches!(import?.ty, TypeRef::Func(_)));
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    self.tables.push(table?.ty);
                }
            }
            Payload::MemorySection(section) => self.has_memory = section.count() > 0,
            Payload::ElementSection(section) => {
                for (index, element) in section.into_iter().enumerate() {
                    let element = element?;
                    if let wasmparser::ElementKind::Passive = element.kind {
                        let ty = match element.items {
                            wasmparser::ElementItems::Functions(_) => wasmparser::RefType::FUNCREF,
                            wasmparser::ElementItems::Expressions(ty, _) => ty,
                        };
                        self.passive_elements.push((index as u32, ty));
                    }
                }
            }
            Payload::DataSection(section) => {
                for (index, data) in section.into_iter().enumerate() {
                    if let wasmparser::DataKind::Passive = data?.kind {
                        self.passive_data.push(index as u32);
                    }
                }
            }
            _ => {}
        }
        if let Some((id, range)) = section {
            self.others.push((id, wasm[range].to_vec()));
        }
        Ok(())
    }

    fn look(&mut self, body: &wasmparser::FunctionBody<'_>) -> Result<(), Error> {
        use wasmparser::Operator::*;
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            match operators.read()? {
                TableSet { .. } | TableGrow { .. } | TableFill { .. } => {
                    self.writes_tables = true;
                    self.uses_references = true;
                }
                TableCopy { .. } | TableInit { .. } => self.writes_tables = true,
                TableGet { .. } | TableSize { .. } | RefNull { .. } | RefIsNull => {
                    self.uses_references = true;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds an exported function.
    fn function(
        &mut self,
        name: &str,
        params: &[ValType],
        results: &[ValType],
        body: impl FnOnce(&mut wasm_encoder::InstructionSink<'_>),
    ) {
        let ty = self.types.len();
        self.types.ty().function(params.iter().copied(), results.iter().copied());
        self.functions.function(ty);
        let mut function = Function::new([]);
        body(&mut function.instructions());
        function.instructions().end();
        self.code.function(&function);
        self.exports.export(name, ExportKind::Func, self.function_count);
        self.function_count += 1;
    }

    /// Functions that show the state; the ones that can change it come last.
    fn readers(&mut self) -> Vec<Call> {
        let mut readers = Vec::new();
        let call = |name: &str| Call { export: name.to_owned(), abi: Abi::Plain, input: vec![] };
        let at =
            |name: &str, index: u32| Call { input: index.to_le_bytes().to_vec(), ..call(name) };
        for (index, ty) in (0_u32..).zip(self.global_types.clone()) {
            let name = format!("{READ}global_{index}");
            match ty.content_type {
                wasmparser::ValType::V128 => {
                    self.function(&name, &[], &[ValType::I64], |body| {
                        body.global_get(index).i64x2_extract_lane(0);
                        body.global_get(index).i64x2_extract_lane(1).i64_xor();
                    });
                }
                wasmparser::ValType::Ref(_) => {
                    self.function(&name, &[], &[ValType::I32], |body| {
                        body.global_get(index).ref_is_null();
                    });
                }
                number => {
                    let ty = encoded(number);
                    self.function(&name, &[], &[ty], |body| {
                        body.global_get(index);
                    });
                }
            }
            readers.push(call(&name));
        }
        if self.has_memory {
            let name = format!("{READ}memory_size");
            self.function(&name, &[], &[ValType::I32], |body| {
                body.memory_size(0);
            });
            readers.push(call(&name));
            // A passive segment that was dropped is one of no bytes: to copy
            // none of them from behind the first is out of bounds.
            for index in self.passive_data.clone() {
                let name = format!("{READ}data_{index}");
                self.function(&name, &[], &[], |body| {
                    body.i32_const(0).i32_const(1).i32_const(0).memory_init(0, index);
                });
                readers.push(call(&name));
            }
        }
        for (table, ty) in (0_u32..).zip(self.tables.clone()) {
            if self.uses_references {
                let name = format!("{READ}table_size_{table}");
                self.function(&name, &[], &[ValType::I32], |body| {
                    body.table_size(table);
                });
                readers.push(call(&name));
                let name = format!("{READ}is_null_{table}");
                self.function(&name, &[ValType::I32], &[ValType::I32], |body| {
                    body.local_get(0).table_get(table).ref_is_null();
                });
                readers.extend((0..ENTRIES).map(|entry| at(&name, entry)));
            }
            // As `memory.init` above; only where a table is written anyhow, so
            // that the other modules stay what they are.
            for (segment, element) in self.passive_elements.clone() {
                if self.writes_tables && element == ty.element_type {
                    let name = format!("{READ}element_{segment}_in_{table}");
                    self.function(&name, &[], &[], |body| {
                        body.i32_const(0).i32_const(1).i32_const(0).table_init(table, segment);
                    });
                    readers.push(call(&name));
                }
            }
        }
        readers.extend(
            self.entries().iter().flat_map(|name| (0..ENTRIES).map(move |entry| at(name, entry))),
        );
        readers
    }

    /// Functions that call a table's entry with zeros, one for each table and
    /// type of numbers. Which function an entry is shows in what it does.
    fn entries(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        let tables = (0_u32..).zip(self.tables.clone());
        let funcref = wasmparser::RefType::FUNCREF;
        for (table, _) in tables.filter(|(_, ty)| ty.element_type == funcref) {
            for (index, ty) in (0_u32..).zip(self.function_types.clone()).take(4) {
                let Some(ty) = ty.filter(|ty| ty.params().iter().all(is_number)) else { continue };
                let name = format!("{READ}entry_{table}_{index}");
                self.function(&name, &[ValType::I32], &[], |body| {
                    for param in ty.params() {
                        zero(body, *param);
                    }
                    body.local_get(0).call_indirect(table, index);
                    ty.results().iter().for_each(|_| {
                        body.drop();
                    });
                });
                names.push(name);
            }
        }
        names
    }

    /// Functions that change state, each added or not.
    fn writers(&mut self, random: &mut Unstructured<'_>) -> arbitrary::Result<()> {
        // The last one limits loops and calls: other values take minutes.
        let count = self.global_types.len().saturating_sub(1);
        for (index, ty) in (0_u32..).zip(self.global_types.clone()).take(count) {
            if ty.mutable && is_number(&ty.content_type) && random.ratio(1, 2)? {
                let ty = encoded(ty.content_type);
                self.function(&format!("{WRITE}global_{index}"), &[ty], &[], |body| {
                    body.local_get(0).global_set(index);
                });
            }
        }
        if self.has_memory {
            self.memory_writers(random)?;
        }
        // Only where the module writes tables or has what engines must know for it.
        if !self.tables.is_empty() && self.uses_references && random.ratio(1, 2)? {
            self.table_writers();
        }
        Ok(())
    }

    fn memory_writers(&mut self, random: &mut Unstructured<'_>) -> arbitrary::Result<()> {
        let at = wasm_encoder::MemArg { offset: 0, align: 0, memory_index: 0 };
        self.function(&format!("{WRITE}memory"), &[ValType::I32, ValType::I64], &[], |body| {
            body.local_get(0).local_get(1).i64_store(at);
        });
        if random.ratio(1, 3)? {
            // By at most one page.
            let name = format!("{WRITE}growth");
            self.function(&name, &[ValType::I32], &[ValType::I32], |body| {
                body.local_get(0).i32_const(1).i32_and().memory_grow(0);
                body.memory_size(0).i32_const(16).i32_shl().i32_const(8).i32_sub();
                body.i64_const(-1).i64_store(at);
            });
        }
        if random.ratio(1, 2)? {
            self.function(SUBSTRATE, &[ValType::I32, ValType::I32], &[ValType::I64], |body| {
                // The first byte is changed, if there is one.
                body.local_get(1).if_(BlockType::Empty);
                body.local_get(0).local_get(0).i32_load8_u(at);
                body.i32_const(1).i32_add().i32_store8(at).end();
                body.local_get(0).i64_extend_i32_u();
                body.local_get(1).i64_extend_i32_u().i64_const(32).i64_shl().i64_or();
            });
        }
        if random.ratio(3, 4)? {
            let ty = GlobalType { val_type: ValType::I32, mutable: false, shared: false };
            self.globals.global(ty, &ConstExpr::i32_const(HEAP_BASE));
            let index = self.globals.len() - 1;
            self.exports.export("__heap_base", ExportKind::Global, index);
        }
        Ok(())
    }

    fn table_writers(&mut self) {
        for (table, ty) in (0_u32..).zip(self.tables.clone()) {
            let null = match ty.element_type {
                wasmparser::RefType::FUNCREF => HeapType::FUNC,
                _ => HeapType::EXTERN,
            };
            self.function(&format!("{WRITE}null_{table}"), &[ValType::I32], &[], |body| {
                body.local_get(0).i32_const(7).i32_and().ref_null(null).table_set(table);
            });
            self.function(&format!("{WRITE}copy_{table}"), &[ValType::I32], &[], |body| {
                body.local_get(0).i32_const(7).i32_and().i32_const(0).i32_const(1);
                body.table_copy(table, table);
            });
            let name = format!("{WRITE}table_growth_{table}");
            self.function(&name, &[], &[ValType::I32], |body| {
                body.ref_null(null).i32_const(1).table_grow(table);
            });
        }
    }

    fn finish(self) -> Vec<u8> {
        let mut sections = self.others;
        let mut changed = |id: SectionId, section: &dyn wasm_encoder::Encode| {
            let mut bytes = Vec::new();
            section.encode(&mut bytes);
            // The size, which comes first, is written again with the content.
            let size = bytes.iter().position(|byte| byte & 0x80 == 0).map_or(0, |last| last + 1);
            sections.push((id as u8, bytes.split_off(size)));
        };
        changed(SectionId::Type, &self.types);
        changed(SectionId::Function, &self.functions);
        changed(SectionId::Global, &self.globals);
        changed(SectionId::Export, &self.exports);
        changed(SectionId::Code, &self.code);
        // In the order of their numbers, but for the count of data segments,
        // which comes before the code.
        let data_count = SectionId::DataCount as u8;
        let code = SectionId::Code as u8;
        sections.sort_by_key(|(id, _)| if *id == data_count { (code, 0) } else { (*id, 1) });
        let mut module = wasm_encoder::Module::new();
        for (id, data) in &sections {
            module.section(&RawSection { id: *id, data });
        }
        module.finish()
    }
}

fn is_number(ty: &wasmparser::ValType) -> bool {
    !matches!(ty, wasmparser::ValType::V128 | wasmparser::ValType::Ref(_))
}

/// The encoder's name of a number type.
fn encoded(ty: wasmparser::ValType) -> ValType {
    match ty {
        wasmparser::ValType::I32 => ValType::I32,
        wasmparser::ValType::I64 => ValType::I64,
        wasmparser::ValType::F32 => ValType::F32,
        _ => ValType::F64,
    }
}

fn zero(body: &mut wasm_encoder::InstructionSink<'_>, ty: wasmparser::ValType) {
    match ty {
        wasmparser::ValType::I32 => body.i32_const(0),
        wasmparser::ValType::I64 => body.i64_const(0),
        wasmparser::ValType::F32 => body.f32_const(0.0.into()),
        _ => body.f64_const(0.0.into()),
    };
}
