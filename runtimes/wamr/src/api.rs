//! WAMR's C interface in values that own what they point to.

use crate::host;
use crate::layout::{MemoryFields, TableSizes};
use crate::rewrite::HOST;
use std::ffi::{CStr, CString, c_char};
use std::ptr::NonNull;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use touchstone_executor::guest::ShortName;
use wamr_sys as ffi;

/// A function of an instance.
pub(crate) type FunctionPointer = NonNull<ffi::WASMFunctionInstanceCommon>;

/// Makes WAMR ready, once for the process.
fn ready() -> Result<(), String> {
    static READY: LazyLock<bool> = LazyLock::new(|| {
        let mut settings = ffi::RuntimeInitArgs {
            mem_alloc_type: ffi::Alloc_With_System_Allocator,
            running_mode: ffi::Mode_Interp,
            ..Default::default()
        };
        // SAFETY: the settings are valid, and nobody else calls this at the same time.
        unsafe {
            let is_ready = ffi::wasm_runtime_full_init(&raw mut settings);
            if is_ready {
                // Warnings would go to the standard output.
                ffi::wasm_runtime_set_log_level(ffi::WASM_LOG_LEVEL_FATAL);
            }
            is_ready
        }
    });
    if *READY { Ok(()) } else { Err("WAMR cannot be started".to_owned()) }
}

pub(crate) fn version() -> String {
    let [mut major, mut minor, mut patch] = [0; 3];
    // SAFETY: three numbers to write to.
    unsafe { ffi::wasm_runtime_get_version(&raw mut major, &raw mut minor, &raw mut patch) };
    format!("WAMR {major}.{minor}.{patch}")
}

struct Message([c_char; 256]);

impl Message {
    fn new() -> Self {
        Self([0; 256])
    }

    fn text(&self) -> String {
        // SAFETY: WAMR ends its messages with a zero within the buffer, which is zero at first.
        unsafe { text(self.0.as_ptr()) }
    }
}

/// # Safety
///
/// The pointer is null, or that of a string that ends with a zero.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: see above.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// A translated module.
pub(crate) struct Code {
    module: ffi::wasm_module_t,
    /// WAMR changes them while it loads the module, and reads them as long as that exists.
    bytes: NonNull<[u8]>,
}

// SAFETY: WAMR as it is built here (no debugger, no compiler) writes to a module only while it is
// loaded and unloaded; instances read it.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Code {
    /// Translates a rewritten module with so many imports.
    pub(crate) fn load(wasm: &[u8], imports: usize) -> Result<Self, String> {
        ready()?;
        let length = u32::try_from(wasm.len()).map_err(|_| "it is larger than 4 GiB".to_owned())?;
        let names: Vec<CString> = (0..imports).map(|at| ShortName::Import(at).into()).collect();
        let call: unsafe extern "C" fn(_, _) = host::call;
        let native = |(index, name): (usize, &CString)| ffi::NativeSymbol {
            symbol: name.as_ptr(),
            func_ptr: call as *mut _,
            signature: std::ptr::null(),
            attachment: std::ptr::without_provenance_mut(index),
        };
        let mut natives: Vec<_> = names.iter().enumerate().map(native).collect();
        let bytes = NonNull::from(Box::leak(Box::<[u8]>::from(wasm)));
        let mut message = Message::new();
        // The list of host functions is the process's, and all modules have the same names.
        static LOADING: Mutex<()> = Mutex::new(());
        let loading = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: WAMR is ready, and nobody else uses its list. It copies function and attachment
        // into the module, and forgets the list before that is dropped. The bytes belong to WAMR as
        // long as the module exists, and `call` has the type of a raw function.
        let module = unsafe {
            let (start, count) = (natives.as_mut_ptr(), natives.len() as u32);
            let is_listed =
                count == 0 || ffi::wasm_runtime_register_natives_raw(HOST.as_ptr(), start, count);
            let module = if is_listed {
                let (buffer, size) = (message.0.as_mut_ptr(), message.0.len() as u32);
                ffi::wasm_runtime_load(bytes.cast().as_ptr(), length, buffer, size)
            } else {
                std::ptr::null_mut()
            };
            if count > 0 {
                ffi::wasm_runtime_unregister_natives(HOST.as_ptr(), start);
            }
            module
        };
        drop(loading);
        if module.is_null() {
            // SAFETY: it was a box, and there is no module that reads it.
            drop(unsafe { Box::from_raw(bytes.as_ptr()) });
            return Err(message.text());
        }
        Ok(Self { module, bytes })
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: instances keep the code alive, so there is none. The bytes were a box.
        unsafe {
            ffi::wasm_runtime_unload(self.module);
            drop(Box::from_raw(self.bytes.as_ptr()));
        }
    }
}

/// An instance, and the memory that WAMR made for it.
pub(crate) struct Instance {
    raw: ffi::wasm_module_inst_t,
    memory: Option<NonNull<MemoryFields>>,
    /// The fields of WAMR's own memory while there is another one in its place.
    own: Option<MemoryFields>,
    _code: Arc<Code>,
}

// SAFETY: without thread manager and debugger, WAMR's instances belong to no thread, and the
// pointers are used by the owner of this value only.
unsafe impl Send for Instance {}

impl Instance {
    /// An instance with its data, whose start function has not run.
    pub(crate) fn new(code: &Arc<Code>) -> Result<Self, String> {
        let mut message = Message::new();
        let (buffer, size) = (message.0.as_mut_ptr(), message.0.len() as u32);
        // SAFETY: the module is loaded, and kept by the instance.
        let raw = unsafe { ffi::wasm_runtime_instantiate(code.module, 0, 0, buffer, size) };
        if raw.is_null() {
            return Err(message.text());
        }
        // SAFETY: the instance is alive.
        let memory = NonNull::new(unsafe { ffi::wasm_runtime_get_default_memory(raw) });
        Ok(Self { raw, memory: memory.map(NonNull::cast), own: None, _code: Arc::clone(code) })
    }

    pub(crate) fn raw(&self) -> ffi::wasm_module_inst_t {
        self.raw
    }

    /// Fields of the memory, which lie in the instance.
    pub(crate) fn memory(&self) -> Option<*mut MemoryFields> {
        self.memory.map(NonNull::as_ptr)
    }

    /// Start, pages and most pages of the memory.
    pub(crate) fn memory_by_interface(&self) -> (*mut u8, u64, u64) {
        let Some(memory) = self.memory else { return (std::ptr::null_mut(), 0, 0) };
        let memory: ffi::wasm_memory_inst_t = memory.cast().as_ptr();
        // SAFETY: the memory of a live instance.
        unsafe {
            (
                ffi::wasm_memory_get_base_address(memory).cast(),
                ffi::wasm_memory_get_cur_page_count(memory),
                ffi::wasm_memory_get_max_page_count(memory),
            )
        }
    }

    /// Puts another memory in the place of WAMR's own, which comes back when the instance is
    /// dropped.
    ///
    /// # Safety
    ///
    /// The instance does not run, and the memory outlives it.
    pub(crate) unsafe fn replace_memory(&mut self, base: *mut u8, pages: u32) {
        let Some(memory) = self.memory else { return };
        // SAFETY: the fields are those of a live instance that does not run.
        unsafe {
            let fields = &mut *memory.as_ptr();
            self.own.get_or_insert(*fields);
            fields.set(base, pages);
        }
    }

    pub(crate) fn function(&self, name: &CStr) -> Option<FunctionPointer> {
        // SAFETY: the instance is alive.
        NonNull::new(unsafe { ffi::wasm_runtime_lookup_function(self.raw, name.as_ptr()) })
    }

    /// Where an exported global is kept, and its number of bytes.
    pub(crate) fn global(&self, name: &CStr) -> Option<(*mut u8, usize)> {
        let mut global = ffi::wasm_global_inst_t::default();
        // SAFETY: the instance is alive, and the value is there to be written.
        let found = unsafe {
            ffi::wasm_runtime_get_export_global_inst(self.raw, name.as_ptr(), &raw mut global)
        };
        let wide = [ffi::WASM_I64, ffi::WASM_F64].contains(&global.kind.into());
        found.then(|| (global.global_data.cast(), if wide { 8 } else { 4 }))
    }

    /// Where the entries of an exported table are kept, and their number.
    pub(crate) fn table(&self, name: &CStr) -> Option<(*mut usize, u32)> {
        let mut table = ffi::wasm_table_inst_t::default();
        // SAFETY: the instance is alive, and the value is there to be written.
        let found = unsafe {
            ffi::wasm_runtime_get_export_table_inst(self.raw, name.as_ptr(), &raw mut table)
        };
        found.then(|| (table.elems.cast(), table.cur_size))
    }

    /// The message of the call that failed; empty without one.
    pub(crate) fn exception(&self) -> String {
        // SAFETY: the instance is alive, and its message ends with a zero.
        unsafe { text(ffi::wasm_runtime_get_exception(self.raw)) }
    }

    pub(crate) fn clear_exception(&self) {
        // SAFETY: the instance is alive.
        unsafe { ffi::wasm_runtime_clear_exception(self.raw) };
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: it is alive and does not run. Its own memory is back before WAMR frees it.
        unsafe {
            if let (Some(memory), Some(own)) = (self.memory, self.own) {
                memory.write(own);
            }
            ffi::wasm_runtime_deinstantiate(self.raw);
        }
    }
}

/// The sizes of a table, of which this is the place of the entries.
pub(crate) fn sizes_of(entries: *mut usize) -> *mut TableSizes {
    entries.cast::<TableSizes>().wrapping_sub(1)
}

/// The stack of values of a guest.
pub(crate) struct ExecEnv(NonNull<ffi::WASMExecEnv>);

// SAFETY: WAMR notes the calling thread again at each call.
unsafe impl Send for ExecEnv {}

impl ExecEnv {
    /// A stack of so many bytes; `None` without memory for it.
    pub(crate) fn new(instance: &Instance, stack: u32) -> Option<Self> {
        // SAFETY: the instance is alive.
        NonNull::new(unsafe { ffi::wasm_runtime_create_exec_env(instance.raw, stack) }).map(Self)
    }

    /// Lends the stack to another instance of the same module.
    pub(crate) fn serve(&self, instance: &Instance) {
        // SAFETY: both are alive. An environment has nothing of an instance but its address, and
        // of a module what is the same here.
        unsafe { ffi::wasm_runtime_set_module_inst(self.0.as_ptr(), instance.raw) };
    }

    /// Sets what the host functions get.
    pub(crate) fn set_data(&self, data: *mut std::ffi::c_void) {
        // SAFETY: the environment is alive.
        unsafe { ffi::wasm_runtime_set_user_data(self.0.as_ptr(), data) };
    }

    /// Sets the address below which WAMR stops a guest, on the thread that calls it next; 0 lets
    /// WAMR ask the system, and keep a few hundred bytes.
    pub(crate) fn limit_stack(&self, lowest: usize) {
        let lowest = std::ptr::without_provenance_mut(lowest);
        // SAFETY: the environment is alive; WAMR only compares with the address.
        unsafe { ffi::wasm_runtime_set_native_stack_boundary(self.0.as_ptr(), lowest) };
    }

    /// Calls a function with the first `params` cells; its results begin at the first cell. `false`
    /// if it did not return.
    ///
    /// # Safety
    ///
    /// The instance that is served is alive, the function is its own, and there are cells for its
    /// parameters and for its results. What its host functions use is set.
    pub(crate) unsafe fn call(
        &self,
        function: FunctionPointer,
        params: u32,
        cells: &mut [u32],
    ) -> bool {
        // SAFETY: see above.
        unsafe {
            let (env, function) = (self.0.as_ptr(), function.as_ptr());
            ffi::wasm_runtime_call_wasm(env, function, params, cells.as_mut_ptr())
        }
    }
}

impl Drop for ExecEnv {
    fn drop(&mut self) {
        // SAFETY: nothing runs on it.
        unsafe { ffi::wasm_runtime_destroy_exec_env(self.0.as_ptr()) };
    }
}
