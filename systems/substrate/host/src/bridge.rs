//! Substrate's host functions as a table of the contract.

use sp_wasm_interface as wasm;
use sp_wasm_interface::{Function, FunctionContext, HostFunctions, Pointer, WordSize};
use touchstone_executor::{Functions, HostCall, Signature, Trap, Value, ValueType};

/// The import module of all functions of Substrate.
const MODULE: &str = "env";
/// The allocator, which guests call most. The contract's own functions take a shorter way to it.
const ALLOCATOR: [&str; 2] = ["ext_allocator_malloc_version_1", "ext_allocator_free_version_1"];

/// The message of the panic that a runtime is about to end with: the context of a call, if its
/// host wants to know it.
///
/// Runtimes with the feature `improved_panic_error_reporting` of `sp-io` leave it. The others log
/// it.
#[derive(Debug, Default)]
pub struct PanicMessage(pub Option<String>);

/// The functions of `H`, such as `sp_io::SubstrateHostFunctions`, for
/// [`Config::functions`](touchstone_executor::Config::functions).
///
/// They allocate by Touchstone's host allocator, which places blocks as Substrate's does. They run
/// on the thread that calls the guest, so that they find its externalities
/// (`sp_externalities::set_and_run_with_externalities`). A panic in one ends the call with
/// [`Error::HostPanicked`](touchstone_executor::Error::HostPanicked).
///
/// ```
/// use touchstone_executor::Config;
///
/// # struct MyHostFunctions;
/// # impl sp_wasm_interface::HostFunctions for MyHostFunctions {
/// #     fn host_functions() -> Vec<&'static dyn sp_wasm_interface::Function> { Vec::new() }
/// # }
/// let functions = touchstone_substrate_host::functions::<MyHostFunctions>();
/// let config = Config { functions, ..Config::default() };
/// # drop(config);
/// ```
#[must_use]
pub fn functions<H: HostFunctions>() -> Functions {
    let mut functions = Functions::none();
    for function in H::host_functions() {
        if ALLOCATOR.contains(&function.name()) {
            continue;
        }
        let wasm::Signature { args, return_value } = function.signature();
        let params: Vec<_> = args.iter().map(|ty| type_of(*ty)).collect();
        let results: Vec<_> = return_value.map(type_of).into_iter().collect();
        let signature = Signature::new(&params, &results);
        functions.add(MODULE, function.name(), signature, |call| run(function, call));
    }
    functions
        .wrap(MODULE, ALLOCATOR[0], |call: &mut HostCall<'_>, size: u32| call.allocate(size))
        .wrap(MODULE, ALLOCATOR[1], |call: &mut HostCall<'_>, pointer: u32| call.free(pointer));
    functions
}

fn run(function: &dyn Function, call: &mut HostCall<'_>) -> Result<(), Trap> {
    let mut params = call.params().iter().map(|value| value_of(*value));
    match function.execute(&mut Context(call), &mut params) {
        Ok(None) => Ok(()),
        Ok(Some(result)) => call.give(&[match result {
            wasm::Value::I32(value) => Value::I32(value),
            wasm::Value::I64(value) => Value::I64(value),
            wasm::Value::F32(bits) => Value::F32(bits),
            wasm::Value::F64(bits) => Value::F64(bits),
        }]),
        Err(reason) => Err(call.refuse(reason)),
    }
}

const fn type_of(ty: wasm::ValueType) -> ValueType {
    match ty {
        wasm::ValueType::I32 => ValueType::I32,
        wasm::ValueType::I64 => ValueType::I64,
        wasm::ValueType::F32 => ValueType::F32,
        wasm::ValueType::F64 => ValueType::F64,
    }
}

/// A parameter. No other type is in a signature above.
fn value_of(value: Value) -> wasm::Value {
    match value {
        Value::I32(value) => wasm::Value::I32(value),
        Value::I64(value) => wasm::Value::I64(value),
        Value::F32(bits) => wasm::Value::F32(bits),
        Value::F64(bits) => wasm::Value::F64(bits),
        _ => wasm::Value::I64(0),
    }
}

/// A call as Substrate's functions see it.
struct Context<'a, 'b>(&'a mut HostCall<'b>);

fn reason(trap: Trap) -> String {
    trap.to_string()
}

impl FunctionContext for Context<'_, '_> {
    // The default fills a vector with zeros first.
    fn read_memory(&mut self, address: Pointer<u8>, size: WordSize) -> Result<Vec<u8>, String> {
        self.0.read(address.into(), size).map(<[u8]>::to_vec).map_err(reason)
    }

    fn read_memory_into(&mut self, address: Pointer<u8>, dest: &mut [u8]) -> Result<(), String> {
        // A length beyond 32 bits fits no memory.
        let size = u32::try_from(dest.len()).unwrap_or(u32::MAX);
        dest.copy_from_slice(self.0.read(address.into(), size).map_err(reason)?);
        Ok(())
    }

    fn write_memory(&mut self, address: Pointer<u8>, data: &[u8]) -> Result<(), String> {
        self.0.write(address.into(), data).map_err(reason)
    }

    fn allocate_memory(&mut self, size: WordSize) -> Result<Pointer<u8>, String> {
        self.0.allocate(size).map(Pointer::new).map_err(reason)
    }

    fn deallocate_memory(&mut self, pointer: Pointer<u8>) -> Result<(), String> {
        self.0.free(pointer.into()).map_err(reason)
    }

    fn register_panic_error_message(&mut self, message: &str) {
        // A host that wants none lends no context.
        if let Ok(PanicMessage(place)) = self.0.context() {
            *place = Some(message.to_owned());
        }
    }
}
