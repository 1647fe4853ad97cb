//! Signal routing for WasmEdge's compiled code, which traps by signals.
//!
//! Each compiled call of WasmEdge 0.17 installs handlers for SIGSEGV, SIGBUS and SIGFPE. At its end
//! it installs the *default* ones if a counter shows that no other call runs. This has two defects:
//!
//! * If another thread traps between the count and the installation, or after the removal, the
//!   process ends.
//! * The handlers of other runtimes and of Rust's standard library are lost.
//!
//! A *guardian* thread therefore stays inside a compiled call for the life of the process and
//! keeps the counter above zero, so WasmEdge does not change the handlers again. Touchstone's
//! handler is installed above WasmEdge's. It passes a fault to WasmEdge if a guest of WasmEdge
//! runs on this thread and can fault at that address, otherwise to the earlier handler.

use crate::api::{self, Ast, Executor, Instance, RunMode, Settings, Source, Store};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::mpsc::{SyncSender, sync_channel};
use touchstone_executor::{Error, Result};
use wasmedge_sys::ffi;

/// The signals of traps in compiled code.
const SIGNALS: [c_int; 3] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE];
/// Bytes behind a memory's start that an access can reach: an index and an offset of 32 bits each,
/// and the largest value.
const REACH: usize = (8 << 30) + 16;

type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// The addresses at which the guest on a thread can fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultRange {
    /// None: host code runs.
    Nothing,
    /// Those of a memory that starts here; 0 is no memory.
    Guest(usize),
    /// Any: the address of the memory is unknown.
    Anywhere,
}

thread_local! {
    // A signal handler may read it: no destructor, and initialised at compile time.
    static RUNNING: Cell<FaultRange> = const { Cell::new(FaultRange::Nothing) };
}

/// Runs `work`, in which this thread can fault at these addresses.
pub(crate) fn while_running<T>(what: FaultRange, work: impl FnOnce() -> T) -> T {
    struct Restore(FaultRange);
    impl Drop for Restore {
        fn drop(&mut self) {
            RUNNING.set(self.0);
        }
    }
    let _restore = Restore(RUNNING.replace(what));
    work()
}

/// The handlers that Touchstone's calls, for each of `SIGNALS`.
struct Handlers {
    wasmedge: Vec<Handler>,
    before: Vec<libc::sigaction>,
}

static HANDLERS: OnceLock<Handlers> = OnceLock::new();

/// Starts the guardian and installs the handlers, once for the process.
pub(crate) fn guard(engine: &'static str) -> Result<()> {
    static GUARDED: OnceLock<Result<(), String>> = OnceLock::new();
    GUARDED
        .get_or_init(start)
        .clone()
        .map_err(|reason| Error::runtime(engine, "take over its signal handlers")(reason))
}

fn start() -> Result<(), String> {
    let all: Vec<c_int> = (1..32).collect();
    let before_all = installed(&all)?;
    let before = installed(&SIGNALS)?;
    start_guardian()?;
    let now = installed(&SIGNALS)?;
    give_back(&all, &before_all);
    let handler = |action: libc::sigaction| {
        if !is_of_wasmedge(action.sa_sigaction) || action.sa_flags & libc::SA_SIGINFO == 0 {
            return Err("another runtime installed its own in the same moment".to_owned());
        }
        // SAFETY: the kernel reports an installed function, whose type SA_SIGINFO tells.
        Ok(unsafe { std::mem::transmute::<libc::sighandler_t, Handler>(action.sa_sigaction) })
    };
    let wasmedge = now.into_iter().map(handler).collect::<Result<_, String>>()?;
    let _ = HANDLERS.set(Handlers { wasmedge, before });
    for signal in SIGNALS {
        // SAFETY: `dispatch` has the type of SA_SIGINFO, does only what is allowed in a handler,
        // and finds HANDLERS set. SA_ONSTACK, because an earlier handler may report an exhausted
        // stack.
        let failed = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = dispatch as Handler as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, std::ptr::null_mut())
        };
        if failed != 0 {
            return Err(std::io::Error::last_os_error().to_string());
        }
    }
    Ok(())
}

/// The action installed for each of the signals.
fn installed(signals: &[c_int]) -> Result<Vec<libc::sigaction>, String> {
    signals
        .iter()
        .map(|signal| {
            // SAFETY: a `sigaction` of zeros is valid and is written to; no handler changes.
            let (asked, action) = unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                (libc::sigaction(*signal, std::ptr::null(), &raw mut action), action)
            };
            (asked == 0).then_some(action)
        })
        .collect::<Option<_>>()
        .ok_or_else(|| std::io::Error::last_os_error().to_string())
}

/// Restores the handlers that LLVM replaced at its first compilation in the process, except those
/// of `SIGNALS`.
fn give_back(signals: &[c_int], before: &[libc::sigaction]) {
    let now = installed(signals).unwrap_or_default();
    for ((signal, old), new) in signals.iter().zip(before).zip(now) {
        if !SIGNALS.contains(signal) && old.sa_sigaction != new.sa_sigaction {
            // SAFETY: `old` was the installed action.
            unsafe { libc::sigaction(*signal, old, std::ptr::null_mut()) };
        }
    }
}

/// `true` if an address lies in the library.
fn is_of_wasmedge(address: usize) -> bool {
    let base = |address: *const c_void| {
        // SAFETY: `dladdr` accepts any address and writes to `info`.
        unsafe {
            let mut info: libc::Dl_info = std::mem::zeroed();
            (libc::dladdr(address, &raw mut info) != 0).then_some(info.dli_fbase)
        }
    };
    // By its name: a Rust function pointer may lead to a stub in this program.
    // SAFETY: the name ends with a zero.
    let known = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"WasmEdge_VersionGet".as_ptr()) };
    !known.is_null() && base(known).is_some() && base(address as *const c_void) == base(known)
}

/// Routes a fault to WasmEdge or to the earlier handler.
///
/// Reads thread-local and constant memory, and makes at most one system call: all of it is allowed
/// in a handler.
unsafe extern "C" fn dispatch(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(handlers) = HANDLERS.get() else { return };
    let Some(index) = SIGNALS.iter().position(|known| *known == signal) else { return };
    // SAFETY: the kernel passes a valid `info`, with an address for these three signals. Codes
    // above zero come from the kernel, others from `kill`.
    let (address, by_kernel) = unsafe { ((*info).si_addr() as usize, (*info).si_code > 0) };
    let of_guest = by_kernel
        && match RUNNING.get() {
            FaultRange::Nothing => false,
            FaultRange::Anywhere => true,
            FaultRange::Guest(_) if signal == libc::SIGFPE => true,
            FaultRange::Guest(memory) => {
                memory != 0 && (memory..memory.saturating_add(REACH)).contains(&address)
            }
        };
    if of_guest {
        // SAFETY: this thread is inside a call of WasmEdge's that expects this: its handler jumps
        // back into that call and does not return. Of our frames it jumps over this one alone,
        // which owns nothing: while a host function runs, `RUNNING` is `Nothing`.
        unsafe {
            touchstone_end_of_trace(signal, info, context, handlers.wasmedge[index]);
        }
        return;
    }
    let before = &handlers.before[index];
    match before.sa_sigaction {
        // The fault happens again when this handler returns, and then ends the process.
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: a `sigaction` of zeros is the default action.
            unsafe {
                let default: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, &raw const default, std::ptr::null_mut());
            }
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: SA_SIGINFO tells the handler's type.
            let handler = unsafe { std::mem::transmute::<libc::sighandler_t, Handler>(handler) };
            // SAFETY: these are the kernel's arguments.
            unsafe { handler(signal, info, context) };
        }
        handler => {
            // SAFETY: without SA_SIGINFO, handlers have this type.
            let handler = unsafe {
                std::mem::transmute::<libc::sighandler_t, unsafe extern "C" fn(c_int)>(handler)
            };
            // SAFETY: this is the kernel's argument.
            unsafe { handler(signal) };
        }
    }
}

// Calls its fourth argument with the other three. WasmEdge's handler first walks up the stack for a
// message, and takes a lock of the unwinder for the guest's frames: threads that trapped at the
// same time deadlocked. This function has no unwind information, so the walk ends here.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".text",
    ".globl touchstone_end_of_trace",
    ".hidden touchstone_end_of_trace",
    ".type touchstone_end_of_trace, @function",
    "touchstone_end_of_trace:",
    "sub rsp, 8",
    "call rcx",
    "add rsp, 8",
    "ret",
    ".size touchstone_end_of_trace, . - touchstone_end_of_trace",
);
#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".text",
    ".globl touchstone_end_of_trace",
    ".hidden touchstone_end_of_trace",
    ".type touchstone_end_of_trace, @function",
    "touchstone_end_of_trace:",
    "stp x29, x30, [sp, #-16]!",
    "blr x3",
    "ldp x29, x30, [sp], #16",
    "ret",
    ".size touchstone_end_of_trace, . - touchstone_end_of_trace",
);

unsafe extern "C" {
    fn touchstone_end_of_trace(
        signal: c_int,
        info: *mut libc::siginfo_t,
        context: *mut c_void,
        handler: Handler,
    );
}

/// A module whose function calls the host.
const CALLS_THE_HOST: &[u8] = &[
    0, b'a', b's', b'm', 1, 0, 0, 0, // magic and version
    1, 4, 1, 0x60, 0, 0, // a type: () -> ()
    2, 7, 1, 1, b'h', 1, b'f', 0, 0, // import h.f
    3, 2, 1, 0, // a function of that type
    7, 5, 1, 1, b'f', 0, 1, // exported as f
    10, 6, 1, 4, 0, 0x10, 0, 0x0b, // that calls the import
];

/// Starts the thread and waits until it is inside its call.
fn start_guardian() -> Result<(), String> {
    let (ready, is_ready) = sync_channel(1);
    std::thread::Builder::new()
        .name("touchstone-guardian".to_owned())
        .spawn(move || {
            if let Err(reason) = enter_and_stay(&ready) {
                let _ = ready.send(Err(reason));
            }
        })
        .map_err(|error| error.to_string())?;
    is_ready.recv().unwrap_or_else(|_| Err("the guardian ended".to_owned()))
}

type Ready = SyncSender<Result<(), String>>;

/// Returns only on failure.
fn enter_and_stay(ready: &Ready) -> Result<(), String> {
    let mode: RunMode = ffi::WasmEdge_RunMode_AOT;
    let bytes = api::compile(CALLS_THE_HOST, ffi::WasmEdge_CompilerOptimizationLevel_O0)?;
    let settings = Settings::new(mode)?;
    let module = Ast::load(&settings, Source::Bytes(&bytes))?;
    let (executor, store) = (Executor::new(&settings)?, Store::new()?);
    let imports = Instance::collection("h")?;
    let data: *const Ready = ready;
    // SAFETY: `ready` outlives `imports`, and `stay` takes a `Ready`. The store is used once, while
    // `imports` lives; the instance is dropped first.
    unsafe {
        imports.add_function("f", (&[], &[]), Some(stay), data.cast_mut().cast())?;
        executor.offer(&store, &imports).map_err(|failure| failure.to_string())?;
        let instance =
            executor.instantiate(&store, &module).map_err(|failure| failure.to_string())?;
        let function = instance.function("f").ok_or("its function is gone")?;
        executor.invoke(function, &[], &mut []).map_err(|failure| failure.to_string())
    }
}

/// The host function in which the guardian stays.
unsafe extern "C" fn stay(
    data: *mut c_void,
    _: *const ffi::WasmEdge_CallingFrameContext,
    _: *const ffi::WasmEdge_Value,
    _: *mut ffi::WasmEdge_Value,
) -> ffi::WasmEdge_Result {
    // SAFETY: `enter_and_stay` passed a `Ready` that outlives this call.
    let ready = unsafe { &*data.cast_const().cast::<Ready>() };
    let _ = ready.send(Ok(()));
    loop {
        std::thread::park();
    }
}
