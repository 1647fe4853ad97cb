//! WasmEdge's C interface with owners, which delete their value when they are dropped.
//!
//! Uses `wasmedge_sys::ffi`, because the safe types above it return values that they do not own: an
//! instance that may outlive its store, a memory as `&mut` through `&`, statistics that are freed
//! while in use.

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::CStr;
use std::fmt;
use std::fs::File;
use std::io::Error as IoError;
use std::path::Path;
use std::ptr::NonNull;
use touchstone_executor::adapter::{Scratch, remedy};
use touchstone_executor::guest::MemoryLimits;
use wasmedge_sys::ffi;

/// A failure of a WasmEdge call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failure {
    result: ffi::WasmEdge_Result,
}

impl Failure {
    /// The code; `None` if a host function returned the failure.
    pub(crate) fn code(self) -> Option<u32> {
        // SAFETY: both only take the number apart.
        unsafe {
            let own =
                ffi::WasmEdge_ResultGetCategory(self.result) == ffi::WasmEdge_ErrCategory_WASM;
            own.then(|| ffi::WasmEdge_ResultGetCode(self.result))
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the message is a constant of the library, or null.
        let message = unsafe {
            let message = ffi::WasmEdge_ResultGetMessage(self.result);
            (!message.is_null()).then(|| CStr::from_ptr(message))
        };
        f.write_str(&message.map_or_else(Default::default, CStr::to_string_lossy))
    }
}

pub(crate) fn check(result: ffi::WasmEdge_Result) -> Result<(), Failure> {
    // SAFETY: only looks at the number.
    if unsafe { ffi::WasmEdge_ResultOK(result) } { Ok(()) } else { Err(Failure { result }) }
}

/// A name, borrowed for one call.
pub(crate) fn name(name: &str) -> ffi::WasmEdge_String {
    // SAFETY: nothing is copied or kept; the callee reads `name` during its call.
    unsafe { ffi::WasmEdge_StringWrap(name.as_ptr().cast(), name.len() as u32) }
}

pub(crate) fn version() -> String {
    // SAFETY: a constant of the library.
    unsafe { CStr::from_ptr(ffi::WasmEdge_VersionGet()) }.to_string_lossy().into_owned()
}

/// Turns the log off: WasmEdge prints every trap to the standard output.
pub(crate) fn log_off() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    // SAFETY: sets a level that the library guards itself.
    ONCE.call_once(|| unsafe { ffi::WasmEdge_LogOff() });
}

macro_rules! owners {
    ($($(#[$about:meta])* $name:ident = $context:ident, $delete:ident;)*) => {$(
        $(#[$about])*
        #[derive(Debug)]
        pub(crate) struct $name(NonNull<ffi::$context>);

        impl $name {
            /// Owns a value that the library made; `None` if it is null.
            ///
            /// # Safety
            ///
            /// `made` is null, or comes from the library and has no other owner.
            pub(crate) unsafe fn own(made: *mut ffi::$context) -> Option<Self> {
                NonNull::new(made).map(Self)
            }

            pub(crate) fn as_ptr(&self) -> *mut ffi::$context {
                self.0.as_ptr()
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: this value is the only owner.
                unsafe { ffi::$delete(self.as_ptr()) }
            }
        }

        // SAFETY: the library binds none of these to a thread.
        unsafe impl Send for $name {}
    )*};
}

owners! {
    /// Settings, which the library reads when it makes other values.
    Settings = WasmEdge_ConfigureContext, WasmEdge_ConfigureDelete;
    /// A validated module, with its machine code if there is any.
    Ast = WasmEdge_ASTModuleContext, WasmEdge_ASTModuleDelete;
    Executor = WasmEdge_ExecutorContext, WasmEdge_ExecutorDelete;
    /// The collections from which modules import.
    Store = WasmEdge_StoreContext, WasmEdge_StoreDelete;
    /// An instance of a module, or a collection of host functions and memories.
    Instance = WasmEdge_ModuleInstanceContext, WasmEdge_ModuleInstanceDelete;
    Loader = WasmEdge_LoaderContext, WasmEdge_LoaderDelete;
    Validator = WasmEdge_ValidatorContext, WasmEdge_ValidatorDelete;
    Compiler = WasmEdge_CompilerContext, WasmEdge_CompilerDelete;
    FunctionType = WasmEdge_FunctionTypeContext, WasmEdge_FunctionTypeDelete;
    Limits = WasmEdge_LimitContext, WasmEdge_LimitDelete;
    MemoryType = WasmEdge_MemoryTypeContext, WasmEdge_MemoryTypeDelete;
    /// A memory without an instance.
    NewMemory = WasmEdge_MemoryInstanceContext, WasmEdge_MemoryInstanceDelete;
}

// SAFETY: after validation the library only reads a module: instances copy its parts or count
// references to them.
unsafe impl Sync for Ast {}
// SAFETY: a lock of the library guards settings.
unsafe impl Sync for Settings {}

const NO_MEMORY: &str = "no memory is left";

/// WasmEdge's code of a generic runtime error.
const RUNTIME_ERROR: u32 = 2;

pub(crate) type RunMode = ffi::WasmEdge_RunMode;

impl Settings {
    pub(crate) fn new(mode: RunMode) -> Result<Self, &'static str> {
        // SAFETY: a new context, which nobody else has.
        unsafe {
            let settings = Self::own(ffi::WasmEdge_ConfigureCreate()).ok_or(NO_MEMORY)?;
            ffi::WasmEdge_ConfigureSetRunMode(settings.as_ptr(), mode);
            Ok(settings)
        }
    }
}

/// Where a module lies.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    Bytes(&'a [u8]),
    File(&'a CStr),
}

impl Ast {
    /// Reads and validates.
    pub(crate) fn load(settings: &Settings, source: Source<'_>) -> Result<Self, String> {
        let mut module = std::ptr::null_mut();
        // SAFETY: all contexts outlive the calls, which only read bytes and path; the returned
        // module has no other owner.
        unsafe {
            let loader =
                Loader::own(ffi::WasmEdge_LoaderCreate(settings.as_ptr())).ok_or(NO_MEMORY)?;
            check(match source {
                Source::Bytes(bytes) => ffi::WasmEdge_LoaderParseFromBytes(
                    loader.as_ptr(),
                    &raw mut module,
                    ffi::WasmEdge_BytesWrap(bytes.as_ptr(), length(bytes)?),
                ),
                Source::File(path) => ffi::WasmEdge_LoaderParseFromFile(
                    loader.as_ptr(),
                    &raw mut module,
                    path.as_ptr(),
                ),
            })
            .map_err(|failure| failure.to_string())?;
            let module = Self::own(module).ok_or(NO_MEMORY)?;
            let validator = Validator::own(ffi::WasmEdge_ValidatorCreate(settings.as_ptr()))
                .ok_or(NO_MEMORY)?;
            check(ffi::WasmEdge_ValidatorValidate(validator.as_ptr(), module.as_ptr()))
                .map_err(|failure| failure.to_string())?;
            Ok(module)
        }
    }
}

fn length(bytes: &[u8]) -> Result<u32, String> {
    u32::try_from(bytes.len()).map_err(|_| "it is larger than 4 GiB".to_owned())
}

/// Bytes that the compiler may write for any module, and for each byte of it: an estimate. If it
/// writes more, its linker may still end the process.
const LEAST_ROOM: u64 = 1 << 20;
const ROOM_PER_BYTE: u64 = 4;

/// Checks that the disk has this many bytes free beside a file, if the file system can tell. On a
/// full disk, the compiler's linker ends the process.
pub(crate) fn check_room(output: &Path, bytes: u64) -> Result<(), String> {
    let trial = output.with_extension("room");
    let reserve = |file: File| {
        let reserved = retry_on_intr(|| fallocate(&file, FallocateFlags::empty(), 0, bytes));
        match reserved {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            reserved => reserved.map_err(IoError::from),
        }
    };
    let reserved = File::create(&trial).and_then(reserve);
    // If it stays, its folder is removed soon.
    let _ = std::fs::remove_file(&trial);
    reserved.map_err(|error| {
        let (kind, remedy) = (error.kind(), remedy(&std::env::temp_dir()));
        format!("cannot make room for the compiled module: {kind}; {remedy}")
    })
}

/// Compiles ahead of time into a universal module: the module with its machine code in a section.
pub(crate) fn compile(
    wasm: &[u8],
    level: ffi::WasmEdge_CompilerOptimizationLevel,
) -> Result<Vec<u8>, String> {
    // WasmEdge writes files only, with temporary ones beside the output.
    let folder = Scratch::new().map_err(|error| error.to_string())?;
    let file = folder.path().join("module.wasm");
    check_room(&file, LEAST_ROOM + wasm.len() as u64 * ROOM_PER_BYTE)?;
    let output = std::ffi::CString::new(file.as_os_str().as_encoded_bytes())
        .map_err(|_| "the path of the output holds a zero".to_owned())?;
    let settings = Settings::new(ffi::WasmEdge_RunMode_AOT)?;
    // SAFETY: the contexts outlive the calls, which only read bytes and path.
    unsafe {
        let context = settings.as_ptr();
        ffi::WasmEdge_ConfigureCompilerSetOptimizationLevel(context, level);
        let format = ffi::WasmEdge_CompilerOutputFormat_Wasm;
        ffi::WasmEdge_ConfigureCompilerSetOutputFormat(context, format);
        ffi::WasmEdge_ConfigureCompilerSetGenericBinary(context, false);
        ffi::WasmEdge_ConfigureCompilerSetInterruptible(context, false);
        let compiler = Compiler::own(ffi::WasmEdge_CompilerCreate(context)).ok_or(NO_MEMORY)?;
        let bytes = ffi::WasmEdge_BytesWrap(wasm.as_ptr(), length(wasm)?);
        check(ffi::WasmEdge_CompilerCompileFromBytes(compiler.as_ptr(), bytes, output.as_ptr()))
            .map_err(|failure| failure.to_string())?;
    }
    std::fs::read(&file).map_err(|error| format!("cannot read the compiled module: {error}"))
}

impl Executor {
    pub(crate) fn new(settings: &Settings) -> Result<Self, &'static str> {
        // SAFETY: a new context, without statistics, which it would not own.
        unsafe {
            let executor = ffi::WasmEdge_ExecutorCreate(settings.as_ptr(), std::ptr::null_mut());
            Self::own(executor).ok_or(NO_MEMORY)
        }
    }

    /// Makes an instance's exports available in the store.
    ///
    /// # Safety
    ///
    /// The store must not be used after `imports` was dropped.
    pub(crate) unsafe fn offer(&self, store: &Store, imports: &Instance) -> Result<(), Failure> {
        // SAFETY: all three are alive, and the store is not used after `imports`.
        check(unsafe {
            ffi::WasmEdge_ExecutorRegisterImport(self.as_ptr(), store.as_ptr(), imports.as_ptr())
        })
    }

    /// Instantiates, and runs the start function.
    ///
    /// # Safety
    ///
    /// Collections in the store must outlive the instance.
    pub(crate) unsafe fn instantiate(
        &self,
        store: &Store,
        module: &Ast,
    ) -> Result<Instance, Failure> {
        let mut instance = std::ptr::null_mut();
        // SAFETY: all are alive, `Ast::load` validated the module, and the new instance has no
        // other owner.
        unsafe {
            check(ffi::WasmEdge_ExecutorInstantiate(
                self.as_ptr(),
                &raw mut instance,
                store.as_ptr(),
                module.as_ptr(),
            ))?;
            let failed = ffi::WasmEdge_Result { Code: RUNTIME_ERROR };
            Instance::own(instance).ok_or(Failure { result: failed })
        }
    }

    /// Calls a function; WasmEdge checks types and numbers of the values.
    ///
    /// # Safety
    ///
    /// The function must be of a live instance, whose imports can be called.
    #[inline]
    pub(crate) unsafe fn invoke(
        &self,
        function: Function,
        params: &[ffi::WasmEdge_Value],
        results: &mut [ffi::WasmEdge_Value],
    ) -> Result<(), Failure> {
        let (given, wanted) = (params.len() as u32, results.len() as u32);
        let (params, results) = (params.as_ptr(), results.as_mut_ptr());
        // SAFETY: as for this function, with the lengths of both slices.
        check(unsafe {
            let function = function.as_ptr();
            ffi::WasmEdge_ExecutorInvoke(self.as_ptr(), function, params, given, results, wanted)
        })
    }
}

impl Store {
    pub(crate) fn new() -> Result<Self, &'static str> {
        // SAFETY: a new context.
        unsafe { Self::own(ffi::WasmEdge_StoreCreate()) }.ok_or(NO_MEMORY)
    }
}

impl Instance {
    /// An empty collection.
    pub(crate) fn collection(module: &str) -> Result<Self, &'static str> {
        // SAFETY: the name is copied.
        unsafe { Self::own(ffi::WasmEdge_ModuleInstanceCreate(name(module))) }.ok_or(NO_MEMORY)
    }

    /// Adds a host function.
    ///
    /// # Safety
    ///
    /// `data` must be valid for `function` as long as this value, or anything that imports from it,
    /// can be called.
    pub(crate) unsafe fn add_function(
        &self,
        field: &str,
        (params, results): (&[ffi::WasmEdge_ValType], &[ffi::WasmEdge_ValType]),
        function: ffi::WasmEdge_HostFunc_t,
        data: *mut std::ffi::c_void,
    ) -> Result<(), &'static str> {
        // SAFETY: types and name are copied; `self` becomes the owner of the function.
        unsafe {
            let ty = ffi::WasmEdge_FunctionTypeCreate(
                params.as_ptr(),
                params.len() as u32,
                results.as_ptr(),
                results.len() as u32,
            );
            let ty = FunctionType::own(ty).ok_or(NO_MEMORY)?;
            let made = ffi::WasmEdge_FunctionInstanceCreate(ty.as_ptr(), function, data, 0);
            if made.is_null() {
                return Err(NO_MEMORY);
            }
            ffi::WasmEdge_ModuleInstanceAddFunction(self.as_ptr(), name(field), made);
        }
        Ok(())
    }

    pub(crate) fn add_memory(&self, field: &str, memory: NewMemory) {
        // SAFETY: the name is copied; `self` becomes the owner of the memory.
        unsafe {
            ffi::WasmEdge_ModuleInstanceAddMemory(self.as_ptr(), name(field), memory.as_ptr());
        }
        std::mem::forget(memory);
    }

    pub(crate) fn function(&self, export: &str) -> Option<Function> {
        // SAFETY: the instance lives; the name is read during the call.
        let found =
            unsafe { ffi::WasmEdge_ModuleInstanceFindFunction(self.as_ptr(), name(export)) };
        NonNull::new(found)
    }

    pub(crate) fn memory(&self, export: &str) -> Option<Memory> {
        // SAFETY: as above.
        let found = unsafe { ffi::WasmEdge_ModuleInstanceFindMemory(self.as_ptr(), name(export)) };
        NonNull::new(found)
    }

    pub(crate) fn global(&self, export: &str) -> Option<Global> {
        // SAFETY: as above.
        let found = unsafe { ffi::WasmEdge_ModuleInstanceFindGlobal(self.as_ptr(), name(export)) };
        NonNull::new(found)
    }

    pub(crate) fn table(&self, export: &str) -> Option<Table> {
        // SAFETY: as above.
        let found = unsafe { ffi::WasmEdge_ModuleInstanceFindTable(self.as_ptr(), name(export)) };
        NonNull::new(found)
    }
}

impl NewMemory {
    /// A memory with these limits. Fails without free addresses or memory.
    pub(crate) fn new(limits: MemoryLimits) -> Result<Self, &'static str> {
        let minimum = limits.minimum.into();
        // SAFETY: limits and type are copied; nobody else has the memory.
        unsafe {
            let made = match limits.maximum {
                Some(maximum) => {
                    ffi::WasmEdge_LimitCreateWithMax(minimum, maximum.into(), false, false)
                }
                None => ffi::WasmEdge_LimitCreate(minimum, false),
            };
            let made = Limits::own(made).ok_or(NO_MEMORY)?;
            let ty =
                MemoryType::own(ffi::WasmEdge_MemoryTypeCreate(made.as_ptr())).ok_or(NO_MEMORY)?;
            let memory =
                Self::own(ffi::WasmEdge_MemoryInstanceCreate(ty.as_ptr())).ok_or(NO_MEMORY)?;
            check_memory(memory.0, limits)?;
            Ok(memory)
        }
    }
}

/// Checks that a memory has an address and its pages. If WasmEdge cannot map one, it returns a
/// memory without pages at address 0, and compiled code checks no bounds.
///
/// # Safety
///
/// The memory must be alive.
pub(crate) unsafe fn check_memory(
    memory: Memory,
    limits: MemoryLimits,
) -> Result<(), &'static str> {
    // SAFETY: the memory is alive; a length of zero asks for the address alone.
    let (pages, base) = unsafe {
        (
            ffi::WasmEdge_MemoryInstanceGetPageSize(memory.as_ptr()),
            ffi::WasmEdge_MemoryInstanceGetPointer(memory.as_ptr(), 0, 0),
        )
    };
    if base.is_null() || pages < limits.minimum.into() { Err(NO_MEMORY) } else { Ok(()) }
}

/// A function of an instance, valid as long as that is alive. So are the next three.
pub(crate) type Function = NonNull<ffi::WasmEdge_FunctionInstanceContext>;
pub(crate) type Memory = NonNull<ffi::WasmEdge_MemoryInstanceContext>;
pub(crate) type Global = NonNull<ffi::WasmEdge_GlobalInstanceContext>;
pub(crate) type Table = NonNull<ffi::WasmEdge_TableInstanceContext>;
