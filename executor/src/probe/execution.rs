//! Detects whether code is compiled or interpreted, by the speed of a kernel.
//!
//! The same loop runs in turns as machine code of the host's compiler and as a guest. Code of
//! WebAssembly compilers, single-pass ones included, is nearly as fast as the host's code. An
//! interpreter needs several instructions for each one of the guest's.
//!
//! The position of the stack within its page can slow compiled code as much as an interpreter, for
//! the whole life of a process. A first comparison that contradicts the claim is therefore
//! repeated: on modules that are compiled and loaded again, at other stack positions, and on
//! another thread. Memory that becomes executable with a module is evidence against an interpreter.

use super::ExecutableMap;
use super::kernel::{EXPORT, PACKED, ROUNDS, guest, native};
use super::look::{Kernel, Look, Search};
use crate::guest::GuestModule;
use crate::{Abi, Config, Engine, Error, Execution, ExportId, Module, Outcome, Result, Strategy};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// Calls of each side in one look. The fastest count: whatever else the machine
/// does only makes a call slower.
const CALLS: usize = 5;

/// Calls what it is given.
type Frame = fn(&mut dyn FnMut());

/// A reload of the kernel's module, and the looks at it.
struct Reload {
    /// Stores in front of the kernel: its code lies elsewhere in its page.
    stores: usize,
    /// Bytes that the stack pointer is moved by, and the function that does. No two are
    /// within 64 bytes of each other in a page, nor of the first look's.
    frames: [(usize, Frame); 4],
}

/// Reloads by their stores, and the bytes of their frames.
macro_rules! reloads {
    ($($stores:literal: $($bytes:literal)*;)*) => {
        [$(Reload { stores: $stores, frames: [$(($bytes, frame::<$bytes>)),*] }),*]
    };
}

const RELOADS: [Reload; 3] = reloads! {
    5: 80 1360 3104 4400;
    12: 208 2064 2576 5792;
    23: 528 880 3888 7664;
};

/// Goes on with the stack pointer at least `BYTES` further.
#[inline(never)]
fn frame<const BYTES: usize>(run: &mut dyn FnMut()) {
    let room = MaybeUninit::<[u8; BYTES]>::uninit();
    black_box(&room);
    run();
    black_box(&room);
}

/// Runs the kernel as the engine's guest under the strategy and as the host's own code, and
/// compares the speed with the engine's [claim](Engine::execution). `None` if the engine runs
/// only known guests, as native code does, or does not support the strategy.
///
/// The first comparison that confirms the claim ends the search. Fails with [`Error::WrongMode`]
/// when none does, with errors of loading and calling, and for a wrong result.
pub fn check_execution(
    engine: &dyn Engine,
    strategy: Strategy,
    config: &Config,
) -> Result<Option<Kernel>> {
    let first = guest(0)?;
    let is_known = engine.support_for(strategy, &first).is_supported();
    if !is_known || engine.execution() == Execution::Native {
        return Ok(None);
    }
    let subject = Subject { engine, strategy, config };
    let mut search = Search::new(engine.execution());
    let times_native = subject.load(&first)?.look()?;
    let first = Look { reloads: 0, stack: 0, other_thread: false, executable: None, times_native };
    if let Some(kernel) = search.add(first) {
        return Ok(Some(kernel));
    }
    for (before, reload) in RELOADS.iter().enumerate() {
        if let Some(kernel) = subject.look_again(before + 1, reload, &mut search)? {
            return Ok(Some(kernel));
        }
        if search.has_no_code() {
            break;
        }
    }
    Err(Error::WrongMode { engine: engine.id(), strategy, reason: search.reason() })
}

struct Subject<'a> {
    engine: &'a dyn Engine,
    strategy: Strategy,
    config: &'a Config,
}

impl Subject<'_> {
    fn load(&self, guest: &GuestModule) -> Result<Loaded> {
        let Self { engine, strategy, config } = *self;
        let artifact = engine.compile(guest, strategy, config)?;
        artifact.stage(strategy)?;
        let mut module = engine.load(guest, &artifact, strategy, config)?;
        module.probe()?;
        let export = match module.export(EXPORT, Abi::Plain) {
            Err(Error::ExportUnsupported { .. }) => module.export(PACKED, Abi::Substrate)?,
            export => export?,
        };
        Ok(Loaded { engine: engine.id(), module, export })
    }

    /// Compiles and loads the kernel again and looks at it from each of the reload's
    /// frames, on this thread and then on another, until one look agrees.
    fn look_again(
        &self,
        number: usize,
        reload: &Reload,
        search: &mut Search,
    ) -> Result<Option<Kernel>> {
        let guest = guest(reload.stores)?;
        let before = ExecutableMap::read();
        let loaded = self.load(&guest)?;
        let executable =
            before.and_then(|before| ExecutableMap::read().map(|after| after.added_since(&before)));
        let mut look_from_all = |other_thread| {
            for (stack, frame) in reload.frames {
                let times_native = loaded.look_from(frame)?;
                let look = Look { reloads: number, stack, other_thread, executable, times_native };
                if let Some(kernel) = search.add(look) {
                    return Ok(Some(kernel));
                }
            }
            Ok(None)
        };
        match look_from_all(false)? {
            Some(kernel) => Ok(Some(kernel)),
            None => on_another_thread(|| look_from_all(true)),
        }
    }
}

/// Runs on a thread of its own. A panic there goes on here.
fn on_another_thread<T: Send>(run: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("touchstone-probe".to_owned())
            .spawn_scoped(scope, run)
            .map_err(Error::system("cannot start the thread of the mode probe"))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

struct Loaded {
    engine: &'static str,
    module: Box<dyn Module>,
    export: ExportId,
}

impl Loaded {
    /// The guest's time over the host's, on a new instance.
    fn look(&self) -> Result<f64> {
        let mut instance = self.module.new_instance()?;
        let mut fastest = [Duration::MAX; 2];
        let mut output = Vec::new();
        for _ in 0..CALLS {
            let started = Instant::now();
            let expected = native(black_box(ROUNDS));
            fastest[0] = fastest[0].min(started.elapsed());
            instance.prepare()?;
            let started = Instant::now();
            let outcome = instance.invoke(self.export, &ROUNDS.to_le_bytes(), &mut output, None)?;
            fastest[1] = fastest[1].min(started.elapsed());
            instance.finish()?;
            if outcome != Outcome::Returned || output != expected.to_le_bytes() {
                let reason = format!("{outcome:?} with {output:?}, {expected} was expected");
                return Err(Error::runtime(self.engine, "run the compute kernel")(reason));
            }
        }
        let native = fastest[0].max(Duration::from_nanos(1));
        Ok(fastest[1].as_secs_f64() / native.as_secs_f64())
    }

    /// The same with the stack pointer moved.
    fn look_from(&self, frame: Frame) -> Result<f64> {
        let mut seen = Err(Error::Misuse("a frame does not call what it is given"));
        frame(&mut || seen = self.look());
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::mock::{Answer, MockCall, MockEngine};
    use std::collections::HashSet;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    const SLOW: u32 = 30;

    fn mock(execution: Execution) -> MockEngine {
        MockEngine::new("mock").executing(execution)
    }

    /// Answers the kernel, as slowly as asked.
    fn answer(call: &MockCall<'_>, slowness: u32) -> Answer {
        let rounds = i32::from_le_bytes(call.input.try_into().unwrap());
        let mut result = 0;
        for _ in 0..slowness {
            result = native(black_box(rounds));
        }
        Answer::Output(result.to_le_bytes().to_vec())
    }

    fn check(mock: &MockEngine) -> Result<Kernel> {
        check_execution(mock, Strategy::INTERPRETED, &Config::default()).map(Option::unwrap)
    }

    fn loads(mock: &MockEngine) -> usize {
        mock.journal().iter().filter(|entry| entry.starts_with("load")).count()
    }

    #[test]
    #[cfg_attr(miri, ignore = "compares speeds")]
    fn an_interpreter_is_recognised_at_the_first_look() {
        let mock = mock(Execution::Interpreted).answering(|call| answer(call, SLOW));
        let seen = check(&mock).unwrap();
        assert_eq!((seen.execution(), seen.earlier.len()), (Execution::Interpreted, 0));
        assert_eq!(loads(&mock), 1);
    }

    #[test]
    #[cfg_attr(miri, ignore = "compares speeds")]
    fn fast_code_that_claims_to_be_interpreted_is_refused() {
        let mock = mock(Execution::Interpreted).answering(|call| answer(call, 1));
        let error = check(&mock).unwrap_err();
        assert!(matches!(error, Error::WrongMode { .. }), "{error}");
        assert!(error.to_string().contains("said to be interpreted"), "{error}");
        assert_eq!(loads(&mock), 1 + RELOADS.len());
    }

    #[test]
    #[cfg_attr(miri, ignore = "compares speeds")]
    fn slow_code_that_claims_to_be_compiled_is_refused() {
        let mock = mock(Execution::Compiled).answering(|call| answer(call, SLOW));
        let error = check(&mock).unwrap_err();
        assert!(matches!(error, Error::WrongMode { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("said to be compiled"), "{text}");
        assert!(text.contains("as interpreted code does"), "{text}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "compares speeds")]
    fn code_that_is_slow_at_the_first_look_only_is_compiled() {
        let calls = AtomicUsize::new(0);
        let mock = mock(Execution::Compiled).answering(move |call| {
            let first_look = calls.fetch_add(1, Ordering::Relaxed) < CALLS;
            answer(call, if first_look { SLOW } else { 1 })
        });
        let seen = check(&mock).unwrap();
        assert_eq!(seen.execution(), Execution::Compiled);
        assert_eq!(seen.earlier.len(), 1);
        assert_eq!(seen.earlier[0].execution(), Execution::Interpreted);
        assert_eq!((seen.last.reloads, loads(&mock)), (1, 2));
    }

    #[test]
    #[cfg_attr(miri, ignore = "compares speeds")]
    fn code_that_is_fast_on_another_thread_only_is_compiled() {
        let here = std::thread::current().id();
        let mock = mock(Execution::Compiled).answering(move |call| {
            answer(call, if std::thread::current().id() == here { SLOW } else { 1 })
        });
        assert!(check(&mock).unwrap().last.other_thread);
    }

    #[test]
    #[cfg_attr(miri, ignore = "runs a compute kernel: too slow")]
    fn each_look_of_a_reload_is_made_with_the_stack_elsewhere() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let mock = mock(Execution::Compiled).answering(move |call| {
            let local = 0_u8;
            kept.lock().unwrap().push(&raw const local as usize);
            answer(call, SLOW)
        });
        check(&mock).unwrap_err();
        let seen = seen.lock().unwrap();
        let frames = RELOADS[0].frames.len();
        let looks: HashSet<usize> = seen[CALLS..][..CALLS * frames].iter().copied().collect();
        assert_eq!(looks.len(), frames);
    }

    #[test]
    fn frames_lie_apart_within_a_page() {
        let moved = RELOADS.iter().flat_map(|reload| reload.frames.map(|(bytes, _)| bytes));
        let mut places: Vec<usize> = moved.map(|bytes| bytes % 4096).chain([0, 4096]).collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 64), "{places:?}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "runs a compute kernel: too slow")]
    fn a_wrong_result_is_an_error() {
        let mock = mock(Execution::Interpreted).answering(|_| Answer::Output(vec![0; 8]));
        let error = check(&mock).unwrap_err();
        assert!(error.to_string().contains("compute kernel"), "{error}");
    }
}
