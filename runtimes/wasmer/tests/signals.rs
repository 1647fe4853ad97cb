//! Wasmer catches faults by signal handlers; others in the process have theirs.
//! A fault must reach its owner whoever was there first. Alone in its file,
//! because handlers belong to the whole process.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Config, Outcome, TrapKind};

/// A page that faults until its owner opens it.
static PAGE: AtomicPtr<libc::c_void> = AtomicPtr::new(null_mut());
static OPENED: AtomicUsize = AtomicUsize::new(0);
static PASSED_ON: AtomicUsize = AtomicUsize::new(0);
static BEHIND: AtomicUsize = AtomicUsize::new(0);
const SIZE: usize = 4096;

type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// There before Wasmer: opens its page.
extern "C" fn first(_: i32, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    OPENED.fetch_add(1, Ordering::SeqCst);
    // SAFETY: the page is this test's own; a failure shows as an endless fault.
    unsafe { libc::mprotect(PAGE.load(Ordering::SeqCst), SIZE, libc::PROT_READ) };
}

/// There after Wasmer: passes everything on.
extern "C" fn last(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    PASSED_ON.fetch_add(1, Ordering::SeqCst);
    // SAFETY: `install` put a handler of this type there.
    let next: Handler = unsafe { std::mem::transmute(BEHIND.load(Ordering::SeqCst)) };
    next(signal, info, context);
}

/// Installs a handler for memory faults and gives the one before it.
fn install(handler: Handler) -> usize {
    // SAFETY: both structures are plain data for which zero is a valid value,
    // and the handler takes what `SA_SIGINFO` promises.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut before: libc::sigaction = std::mem::zeroed();
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        action.sa_sigaction = handler as usize;
        assert_eq!(libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut before), 0);
        before.sa_sigaction
    }
}

/// Closes the page and reads it.
fn fault() {
    let page = PAGE.load(Ordering::SeqCst);
    // SAFETY: the page is this test's own, and readable once `first` was called.
    unsafe {
        assert_eq!(libc::mprotect(page, SIZE, libc::PROT_NONE), 0);
        assert_eq!(page.cast::<u8>().read_volatile(), 0);
    }
}

#[test]
fn faults_reach_their_owners_in_every_order() {
    // SAFETY: a new mapping.
    let page = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        libc::mmap(null_mut(), SIZE, libc::PROT_NONE, flags, -1, 0)
    };
    assert_ne!(page, libc::MAP_FAILED);
    PAGE.store(page, Ordering::SeqCst);
    install(first);

    let wasm = wat::parse_str(
        r#"(module (memory (export "memory") 1)
             (func (export "outside") (drop (i32.load (i32.const -4)))))"#,
    )
    .unwrap();
    let guest = GuestModule::new("guest", &wasm, HeapPages::default()).unwrap();
    let engine = touchstone_wasmer::engines().remove(0);
    let (strategy, config) = ("recreate_instance".parse().unwrap(), Config::default());
    let artifact = engine.compile(&guest, strategy, &config).unwrap();
    let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
    let outside = module.export("outside", Abi::Plain).unwrap();
    let mut instance = module.new_instance().unwrap();
    let mut trap = || match instance.call(outside, b"", &mut Vec::new()).unwrap() {
        Outcome::Trapped(trap) => assert_eq!(trap.kind, TrapKind::MemoryOutOfBounds),
        Outcome::Returned => panic!("it returned"),
    };

    trap();
    assert_eq!(OPENED.load(Ordering::SeqCst), 0);
    fault();
    assert_eq!(OPENED.load(Ordering::SeqCst), 1);

    BEHIND.store(install(last), Ordering::SeqCst);
    trap();
    assert_eq!(OPENED.load(Ordering::SeqCst), 1);
    assert_eq!(PASSED_ON.load(Ordering::SeqCst), 1);
    fault();
    assert_eq!(OPENED.load(Ordering::SeqCst), 2);
    assert_eq!(PASSED_ON.load(Ordering::SeqCst), 2);
}
