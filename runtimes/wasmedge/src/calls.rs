//! Which calls of a module can lead back to where they came from, and how much
//! stack each function may take.
//!
//! WasmEdge 0.17 has no limit for a guest's calls: its interpreter takes memory
//! without end, and its compiled code runs off the machine's stack. So calls
//! that can be part of a recursion count the stack themselves (`rewrite.rs`).
//! All others cannot: along them a stack is only as deep as the module is
//! written, which is computed here.

use crate::frames::Frames;
use crate::stack::{FACTOR, MOST_FACTOR};
use std::collections::HashMap;
use wasmparser::{
    BinaryReaderError, CompositeInnerType, ElementItems, ElementKind, FuncType, Operator, Parser,
    Payload, TypeRef, ValType, ValidPayload, Validator, WasmFeatures,
};

/// Bytes that a frame takes beside its values: return address, saved registers
/// and what calls through the runtime put there.
const FRAME: u64 = 96;
/// Bytes of a value in a frame.
const VALUE: u64 = 8;

/// What is known about a module's calls.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Functions that are imported; they are no callers.
    imported: u32,
    /// Number of types: nodes behind those of the functions, each standing for
    /// "any function of this type that a table may hold".
    component: Vec<u32>,
    /// Node of the first type.
    types: usize,
    /// First type with the same parameters and results.
    canonical: Vec<u32>,
    /// Bytes of stack of each function, imported ones included.
    weight: Vec<u64>,
    /// Largest weight behind each type's node.
    type_weight: Vec<u64>,
    /// Whether any call can be part of a recursion.
    pub(crate) recursive: bool,
    /// Stack along calls that are not counted, bytes.
    pub(crate) uncounted: u64,
    /// Imported functions that a table may come to hold, in ascending order, with their types and
    /// numbers of parameters.
    pub(crate) held_imports: Vec<(u32, u32, u32)>,
    /// The most that the arguments of one call may take on the machine's stack, bytes.
    pub(crate) arguments: u64,
    /// How many times the stack that is reckoned has to be there.
    pub(crate) factor: u64,
}

/// What the sections say.
#[derive(Default)]
struct Seen {
    types: Vec<Option<FuncType>>,
    functions: Vec<u32>,
    imported: u32,
    /// Functions that a table may come to hold.
    in_tables: Vec<u32>,
    weight: Vec<u64>,
    direct: Vec<Vec<u32>>,
    indirect: Vec<Vec<u32>>,
    /// How many times the weights have to be there.
    factor: u64,
    /// Functions with a tail call, and what they call: `None` is any function of a table.
    tail_calls: Vec<(u32, Option<u32>)>,
}

impl Calls {
    /// Reads a module. A function weighs no less than its frame among `frames` needs.
    pub(crate) fn of(wasm: &[u8], frames: &Frames) -> Result<Self, BinaryReaderError> {
        let seen = Seen::read(wasm, frames)?;
        let canonical = seen.canonical_types();
        let types = seen.functions.len();
        let mut edges: Vec<Vec<u32>> = vec![Vec::new(); types + seen.types.len()];
        for (function, (direct, indirect)) in seen.direct.iter().zip(&seen.indirect).enumerate() {
            edges[function].extend(direct);
            edges[function]
                .extend(indirect.iter().map(|ty| types as u32 + canonical[*ty as usize]));
        }
        let mut type_weight = vec![0; seen.types.len()];
        for function in &seen.in_tables {
            let ty = canonical[seen.functions[*function as usize] as usize] as usize;
            type_weight[ty] = seen.weight[*function as usize].max(type_weight[ty]);
            edges[types + ty].push(*function);
        }
        for list in &mut edges {
            list.sort_unstable();
            list.dedup();
        }
        let component = components(&edges);
        let recursive = edges
            .iter()
            .zip(&component)
            .any(|(targets, own)| targets.iter().any(|target| component[*target as usize] == *own));
        // What has no number is taken once beside the guest's functions: where the host calls
        // the guest, and where the guest calls the host.
        let ends = (frames.entries + frames.unnamed).div_ceil(FACTOR);
        let uncounted = longest(&edges, &component, &seen.weight) + ends;
        let held_imports = seen
            .held_imports()
            .map(|function| {
                let params = seen.function_type(function).map_or(0, |ty| ty.params().len());
                (function, seen.functions[function as usize], params as u32)
            })
            .collect();
        let arguments = seen.types.iter().flatten().map(arguments).max().unwrap_or(0);
        Ok(Self {
            imported: seen.imported,
            component,
            types,
            canonical,
            weight: seen.weight,
            type_weight,
            recursive,
            uncounted,
            held_imports,
            arguments,
            factor: seen.factor.max(FACTOR),
        })
    }

    /// Bytes that a call of `callee` by `caller` counts; `None` where the two
    /// cannot be part of one recursion.
    pub(crate) fn direct(&self, caller: u32, callee: u32) -> Option<u64> {
        let recursive = callee >= self.imported
            && self.component[caller as usize] == self.component[callee as usize];
        recursive.then(|| self.weight[callee as usize])
    }

    /// The same for a call through a table.
    pub(crate) fn indirect(&self, caller: u32, ty: u32) -> Option<u64> {
        let ty = self.canonical[ty as usize] as usize;
        let recursive = self.component[caller as usize] == self.component[self.types + ty];
        recursive.then(|| self.type_weight[ty])
    }
}

impl Seen {
    fn read(wasm: &[u8], frames: &Frames) -> Result<Self, BinaryReaderError> {
        let mut seen = Self::default();
        let mut validator = Validator::new_with_features(WasmFeatures::WASM3);
        for payload in Parser::new(0).parse_all(wasm) {
            let payload = payload?;
            match (validator.payload(&payload)?, payload) {
                (_, Payload::TypeSection(section)) => {
                    for group in section {
                        for ty in group?.into_types() {
                            seen.types.push(match ty.composite_type.inner {
                                CompositeInnerType::Func(ty) => Some(ty),
                                _ => None,
                            });
                        }
                    }
                }
                (_, Payload::ImportSection(section)) => {
                    for import in section.into_imports() {
                        if let TypeRef::Func(ty) = import?.ty {
                            seen.functions.push(ty);
                            seen.imported += 1;
                        }
                    }
                    seen.weight = vec![0; seen.functions.len()];
                    seen.direct = vec![Vec::new(); seen.functions.len()];
                    seen.indirect = seen.direct.clone();
                }
                (_, Payload::FunctionSection(section)) => {
                    for ty in section {
                        seen.functions.push(ty?);
                    }
                }
                (_, Payload::GlobalSection(section)) => {
                    for global in section {
                        seen.references(global?.init_expr.get_operators_reader())?;
                    }
                }
                (_, Payload::ElementSection(section)) => {
                    for element in section {
                        seen.element(element?)?;
                    }
                }
                (ValidPayload::Func(function, body), _) => {
                    let mut function = function.into_validator(Default::default());
                    seen.body(&mut function, &body)?;
                }
                _ => {}
            }
        }
        seen.in_tables.sort_unstable();
        seen.in_tables.dedup();
        seen.weigh_held_imports();
        seen.weigh_frames(frames);
        seen.weigh_tail_calls();
        Ok(seen)
    }

    fn element(&mut self, element: wasmparser::Element<'_>) -> Result<(), BinaryReaderError> {
        // Declared ones are what `ref.func` may name: the instruction is looked
        // for itself.
        if matches!(element.kind, ElementKind::Declared) {
            return Ok(());
        }
        match element.items {
            ElementItems::Functions(functions) => {
                for function in functions {
                    self.in_tables.push(function?);
                }
            }
            ElementItems::Expressions(_, expressions) => {
                for expression in expressions {
                    self.references(expression?.get_operators_reader())?;
                }
            }
        }
        Ok(())
    }

    fn references(
        &mut self,
        mut operators: wasmparser::OperatorsReader<'_>,
    ) -> Result<(), BinaryReaderError> {
        while !operators.eof() {
            if let Operator::RefFunc { function_index } = operators.read()? {
                self.in_tables.push(function_index);
            }
        }
        Ok(())
    }

    fn body(
        &mut self,
        validator: &mut wasmparser::FuncValidator<wasmparser::ValidatorResources>,
        body: &wasmparser::FunctionBody<'_>,
    ) -> Result<(), BinaryReaderError> {
        let mut reader = body.get_binary_reader();
        validator.read_locals(&mut reader)?;
        let mut operators = wasmparser::OperatorsReader::new(reader);
        let (mut direct, mut indirect) = (Vec::new(), Vec::new());
        let caller = self.weight.len() as u32;
        let mut height = 0;
        while !operators.eof() {
            let (operator, offset) = operators.read_with_offset()?;
            match operator {
                Operator::Call { function_index } => direct.push(function_index),
                Operator::CallIndirect { type_index, .. } => indirect.push(type_index),
                Operator::ReturnCall { function_index } => {
                    direct.push(function_index);
                    self.tail_calls.push((caller, Some(function_index)));
                }
                Operator::ReturnCallIndirect { type_index, .. } => {
                    indirect.push(type_index);
                    self.tail_calls.push((caller, None));
                }
                Operator::RefFunc { function_index } => self.in_tables.push(function_index),
                _ => {}
            }
            validator.op(offset, &operator)?;
            height = height.max(validator.operand_stack_height());
        }
        let values = u64::from(validator.len_locals()) + u64::from(height);
        self.weight.push(FRAME + VALUE * values);
        self.direct.push(direct);
        self.indirect.push(indirect);
        Ok(())
    }

    fn function_type(&self, function: u32) -> Option<&FuncType> {
        self.types.get(self.functions[function as usize] as usize)?.as_ref()
    }

    /// Imported functions that a table may come to hold, in ascending order.
    fn held_imports(&self) -> impl Iterator<Item = u32> {
        self.in_tables.iter().copied().take_while(|function| *function < self.imported)
    }

    /// Rewriting puts a function of its own in front of each.
    fn weigh_held_imports(&mut self) {
        for function in self.held_imports().collect::<Vec<_>>() {
            let values = self
                .function_type(function)
                .map_or(0, |ty| ty.params().len() + ty.params().len().max(ty.results().len()));
            self.weight[function as usize] = FRAME + VALUE * values as u64;
        }
    }

    /// Compiled functions lie in this order: the guest's own, then those of `held_imports`.
    fn weigh_frames(&mut self, frames: &Frames) {
        let own = self.imported..self.weight.len() as u32;
        for (index, function) in own.chain(self.held_imports().collect::<Vec<_>>()).enumerate() {
            let weight = &mut self.weight[function as usize];
            let frame = frames.of(index);
            if frame > MOST_FACTOR * *weight {
                *weight = frame.div_ceil(FACTOR);
            } else if frame > FACTOR * *weight {
                self.factor = MOST_FACTOR;
            }
        }
    }

    /// A function that ends in a tail call leaves its frame to another one, which may be
    /// larger: its own weighs as much as the largest that can come after it.
    fn weigh_tail_calls(&mut self) {
        let called = self.tail_calls.iter().filter_map(|(_, callee)| *callee);
        let any = self.tail_calls.iter().any(|(_, callee)| callee.is_none());
        let held = self.in_tables.iter().copied().filter(|_| any);
        let largest = called.chain(held).map(|callee| self.weight[callee as usize]).max();
        for (caller, _) in &self.tail_calls {
            let weight = &mut self.weight[*caller as usize];
            *weight = (*weight).max(largest.unwrap_or(0));
        }
    }

    fn canonical_types(&self) -> Vec<u32> {
        let mut first: HashMap<Option<&FuncType>, u32> = HashMap::new();
        self.types
            .iter()
            .enumerate()
            .map(|(index, ty)| *first.entry(ty.as_ref()).or_insert(index as u32))
            .collect()
    }
}

/// Bytes that arguments of a function of this type take on the machine's stack at most: WasmEdge
/// passes a pointer before them, and calling conventions have registers for at least these.
fn arguments(ty: &FuncType) -> u64 {
    const IN_REGISTERS: usize = 4;
    let size = if ty.params().contains(&ValType::V128) { 2 * VALUE } else { VALUE };
    size * ty.params().len().saturating_sub(IN_REGISTERS) as u64
}

/// The strongly connected components of a graph, numbered so that edges lead to
/// lower or equal numbers. Tarjan's way, without recursion: call chains of
/// modules can be longer than a thread's stack is deep.
fn components(edges: &[Vec<u32>]) -> Vec<u32> {
    const NEW: u32 = u32::MAX;
    let count = edges.len();
    let (mut order, mut low) = (vec![NEW; count], vec![0_u32; count]);
    let mut component = vec![NEW; count];
    let (mut open, mut path): (Vec<u32>, Vec<(u32, usize)>) = (Vec::new(), Vec::new());
    let (mut next, mut components) = (0, 0);
    for root in 0..count as u32 {
        if order[root as usize] != NEW {
            continue;
        }
        path.push((root, 0));
        while let Some((node, edge)) = path.last_mut() {
            let (node, edge) = (*node as usize, std::mem::replace(edge, *edge + 1));
            if edge == 0 {
                order[node] = next;
                low[node] = next;
                next += 1;
                open.push(node as u32);
            }
            if let Some(target) = edges[node].get(edge) {
                let target = *target as usize;
                if order[target] == NEW {
                    path.push((target as u32, 0));
                } else if component[target] == NEW {
                    low[node] = low[node].min(order[target]);
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                let parent = *parent as usize;
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == order[node] {
                while let Some(member) = open.pop() {
                    component[member as usize] = components;
                    if member as usize == node {
                        break;
                    }
                }
                components += 1;
            }
        }
    }
    component
}

/// Largest sum of weights along calls from component to component: each is
/// entered once, by a call that is not counted.
fn longest(edges: &[Vec<u32>], component: &[u32], weight: &[u64]) -> u64 {
    let count = component.iter().max().map_or(0, |last| *last as usize + 1);
    let mut heaviest = vec![0_u64; count];
    let mut leads_to: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (node, targets) in edges.iter().enumerate() {
        let from = component[node] as usize;
        let own = weight.get(node).copied().unwrap_or(0);
        heaviest[from] = heaviest[from].max(own);
        let others = targets.iter().map(|target| component[*target as usize]);
        leads_to[from].extend(others.filter(|to| *to as usize != from));
    }
    // Edges lead to lower numbers, which are finished first.
    let mut below = vec![0_u64; count];
    for from in 0..count {
        let deepest = leads_to[from].iter().map(|to| below[*to as usize]).max().unwrap_or(0);
        below[from] = heaviest[from] + deepest;
    }
    below.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(text: &str) -> Calls {
        Calls::of(&wat::parse_str(text).unwrap(), &Frames::default()).unwrap()
    }

    #[test]
    fn only_calls_within_a_recursion_are_counted() {
        let calls = calls(
            r#"(module (import "" "" (func $host))
              (func $leaf (local i64 i64))
              (func $even (param i32) (call $leaf) (call $host) (call $odd (local.get 0)))
              (func $odd (param i32) (call $even (local.get 0)))
              (func $self (call $self) (call $even (i32.const 1))))"#,
        );
        assert_eq!(calls.direct(2, 1), None, "a leaf");
        assert_eq!(calls.direct(2, 0), None, "the host");
        assert_eq!(calls.direct(2, 3), Some(FRAME + 2 * VALUE));
        assert_eq!(calls.direct(3, 2), Some(FRAME + 2 * VALUE));
        assert_eq!(calls.direct(4, 4), Some(FRAME + VALUE));
        assert_eq!(calls.direct(4, 2), None, "entered once");
        // $self, then one of the pair, then the leaf.
        assert_eq!(calls.uncounted, 3 * FRAME + VALUE * (1 + 2 + 2));
    }

    #[test]
    fn a_table_closes_a_circle_for_its_type_only() {
        let calls = calls(
            r#"(module (table 2 funcref) (elem (i32.const 0) $loop $other)
              (type $nothing (func)) (type $again (func)) (type $number (func (result i32)))
              (func $loop (call_indirect (type $again) (i32.const 0)))
              (func $other (result i32) (call_indirect (type $again) (i32.const 0)) (i32.const 1))
              (func $unlisted (call_indirect (type $number) (i32.const 0)) drop))"#,
        );
        assert_eq!(calls.indirect(0, 1), Some(FRAME + VALUE));
        assert_eq!(calls.indirect(1, 1), None);
        assert_eq!(calls.indirect(2, 2), None);
    }

    #[test]
    fn a_tail_call_weighs_what_comes_after_it() {
        let calls = calls(
            r#"(module (func $small (return_call $large))
              (func $large (local i64 i64 i64) (call $small)))"#,
        );
        // The frame that the counted call makes becomes that of the large one.
        assert_eq!(calls.direct(1, 0), Some(FRAME + 3 * VALUE));
        assert!(calls.recursive);
    }

    #[test]
    fn a_long_chain_of_calls_is_followed() {
        let functions: String = (1..20_000).map(|index| format!("(func (call {index}))")).collect();
        let calls = calls(&format!("(module {functions} (func))"));
        assert_eq!(calls.uncounted, 20_000 * FRAME);
    }
}
