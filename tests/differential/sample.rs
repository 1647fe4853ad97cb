//! A random module with a random sequence of calls, determined by two numbers.

use super::additions;
use arbitrary::{Result, Unstructured};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use std::fmt;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, ValueType};
use wasm_smith::{Config, Module};

/// Random bytes that a module and its calls are made of.
const BYTES: usize = 6 << 10;
/// Loop turns and calls that a guest makes before it stops itself.
const FUEL: u32 = 400;

/// The seed of a run of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id {
    pub(crate) seed: u64,
    pub(crate) index: u64,
}

/// A module and what is done to it.
pub(crate) struct Sample {
    pub(crate) id: Id,
    pub(crate) guest: GuestModule,
    pub(crate) steps: Vec<Step>,
    /// Calls that show state and change nothing that a later one would see
    /// differently on a clean instance.
    pub(crate) readers: Vec<Call>,
}

/// One call in the sequence.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) calls: Vec<Call>,
    pub(crate) look: Look,
}

/// An export and its input.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) export: String,
    pub(crate) abi: Abi,
    pub(crate) input: Vec<u8>,
}

/// The observed state beside the outcome. Observing can cause the state that it looks for, so not
/// every call is observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// The three steps of the contract in a row.
    Not,
    /// Memory and readers right after the call.
    After,
    /// Memory and readers before the call and after it.
    Around,
}

impl Sample {
    /// The sample of these two numbers, always the same. `Err` when the module
    /// is refused for every engine, with the reason.
    pub(crate) fn new(id: Id) -> std::result::Result<Self, String> {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&id.seed.to_le_bytes());
        seed[8..16].copy_from_slice(&id.index.to_le_bytes());
        let mut bytes = vec![0; BYTES];
        TestRng::from_seed(RngAlgorithm::ChaCha, &seed).fill_bytes(&mut bytes);
        Self::from_bytes(id, &bytes)
    }

    /// The sample of any bytes.
    pub(crate) fn from_bytes(id: Id, bytes: &[u8]) -> std::result::Result<Self, String> {
        // The calls have bytes of their own: a module may take all it is given.
        let (for_module, for_calls) = bytes.split_at(bytes.len() * 2 / 3);
        let wasm = module(&mut Unstructured::new(for_module)).map_err(|e| e.to_string())?;
        let mut random = Unstructured::new(for_calls);
        let added = additions::add(&wasm, &mut random).map_err(|error| error.to_string())?;
        let guest = GuestModule::new("random", &added.wasm, HeapPages::default())
            .map_err(|error| error.to_string())?;
        let steps = steps(&guest, &mut random).map_err(|error| error.to_string())?;
        Ok(Self { id, guest, steps, readers: added.readers })
    }
}

/// A module of what WebAssembly 2 has and [`GuestModule`] takes: at most one
/// memory, no imports but functions, loops that end, floats that every engine
/// computes alike.
fn module(random: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    // A quarter stays with what the oldest runtimes know.
    let old = random.ratio(1, 4)?;
    let bulk = !old && random.ratio(3, 4)?;
    let references = bulk && random.ratio(2, 3)?;
    let config = Config {
        available_imports: Some(additions::imports()),
        bulk_memory_enabled: bulk,
        reference_types_enabled: references,
        multi_value_enabled: !old && random.ratio(3, 4)?,
        simd_enabled: !old && random.ratio(1, 4)?,
        sign_extension_ops_enabled: true,
        saturating_float_to_int_enabled: true,
        canonicalize_nans: true,
        disallow_traps: random.ratio(1, 2)?,
        allow_start_export: random.ratio(1, 3)?,
        relaxed_simd_enabled: false,
        exceptions_enabled: false,
        gc_enabled: false,
        memory64_enabled: false,
        tail_call_enabled: false,
        threads_enabled: false,
        extended_const_enabled: false,
        generate_custom_sections: false,
        min_funcs: 1,
        max_funcs: 6,
        min_exports: 1,
        max_exports: 6,
        max_types: 6,
        max_type_size: 100,
        max_imports: 3,
        max_globals: 6,
        max_instructions: 60,
        max_nesting_depth: 5,
        min_memories: u32::from(random.ratio(7, 8)?),
        max_memories: 1,
        max_memory32_bytes: (if random.ratio(1, 16)? { 16 } else { 3 }) << 16,
        memory_max_size_required: true,
        max_tables: if references { 3 } else { 1 },
        max_table_elements: 12,
        table_max_size_required: true,
        max_element_segments: 3,
        max_elements: 5,
        max_data_segments: 3,
        max_aliases: 0,
        ..Config::default()
    };
    let mut module = Module::new(config, random)?;
    // It refuses function bodies of arbitrary bytes, of which there are none.
    module.ensure_termination(FUEL).map_err(|_| arbitrary::Error::IncorrectFormat)?;
    Ok(module.to_bytes())
}

/// Calls of the exports that take and give numbers, in random order.
fn steps(guest: &GuestModule, random: &mut Unstructured<'_>) -> Result<Vec<Step>> {
    let callable: Vec<_> = guest
        .info()
        .exports
        .iter()
        .filter(|export| {
            let ours = additions::is_reader(&export.name);
            export.signature.is_some() && !export.imported && !ours
        })
        .collect();
    if callable.is_empty() {
        return Ok(Vec::new());
    }
    let count = random.int_in_range(3..=7)?;
    (0..count)
        .map(|_| {
            let look = *random.choose(&[Look::Not, Look::After, Look::After, Look::Around])?;
            // `invoke` may come several times between `prepare` and `finish`.
            let calls = if look == Look::Not { 1 } else { random.int_in_range(1..=2)? };
            let calls = (0..calls).map(|_| call(random.choose(&callable)?, random));
            Ok(Step { calls: calls.collect::<Result<_>>()?, look })
        })
        .collect()
}

fn call(
    export: &touchstone_executor::guest::FunctionExport,
    random: &mut Unstructured<'_>,
) -> Result<Call> {
    let signature = export.signature.clone().unwrap_or_default();
    let (abi, length) = match export.name.as_str() {
        additions::SUBSTRATE => (Abi::Substrate, random.int_in_range(0..=200)?),
        _ if signature.params.is_empty()
            && signature.results.is_empty()
            && random.arbitrary()? =>
        {
            (Abi::Input, random.int_in_range(0..=20)?)
        }
        _ => (Abi::Plain, signature.params.iter().map(|ty| ty.size()).sum()),
    };
    let mut input = vec![0; length];
    // Small numbers are more often places and lengths that exist.
    for (index, byte) in input.iter_mut().enumerate() {
        let wide: bool = random.ratio(1, 4)?;
        *byte = if wide || index % 4 == 0 { random.arbitrary()? } else { 0 };
    }
    let mut place = 0;
    for ty in signature.params.iter().filter(|_| abi == Abi::Plain) {
        if matches!(ty, ValueType::FuncRef | ValueType::ExternRef) {
            // The only reference that a host can pass.
            input[place] = 0;
        }
        place += ty.size();
    }
    Ok(Call { export: export.name.clone(), abi, input })
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}) 0x", self.export, self.abi)?;
        self.input.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls: Vec<_> = self.calls.iter().map(ToString::to_string).collect();
        write!(f, "{}, looked at: {:?}", calls.join(", then "), self.look)
    }
}
