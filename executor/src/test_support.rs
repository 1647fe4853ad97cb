//! A guest that calls host functions, without an engine.

use crate::adapter::{HostCaller, answer};
use crate::guest::WASM_PAGE;
use crate::host::HostState;
use crate::{CallOptions, Config, Functions, Trap, TrapKind, Value, ValueType};

/// A memory that may grow, and the host's state of an instance.
pub(crate) struct FakeGuest {
    pub(crate) functions: Functions,
    pub(crate) host: HostState,
    pub(crate) memory: Vec<u8>,
    /// Pages that the memory may grow to.
    pub(crate) most: usize,
    /// Ends the guest after a host function.
    pub(crate) stop: Option<TrapKind>,
}

impl FakeGuest {
    /// A guest of one page, which does not grow, with a heap base of 1024.
    pub(crate) fn new(config: &Config) -> Self {
        Self::with_host(HostState::new(Some(1024), config), config)
    }

    /// The same with a state of the host.
    pub(crate) fn with_host(host: HostState, config: &Config) -> Self {
        let (functions, memory) = (config.functions.clone(), vec![0; WASM_PAGE]);
        Self { functions, host, memory, most: 1, stop: None }
    }

    /// Calls a function, which must be in the table, and gives its results.
    pub(crate) fn call(
        &mut self,
        (module, name): (&str, &str),
        params: &[Value],
    ) -> Result<Vec<Value>, Trap> {
        let function = self.functions.find(module, name).expect(name).clone();
        let mut results = Vec::new();
        answer(self, &function, params.iter().copied(), |place, value| {
            assert_eq!(place, results.len());
            results.push(value);
        })?;
        Ok(results)
    }

    /// The same for a function of integers of which one comes back, or none, which is 0 here.
    pub(crate) fn call_integers(
        &mut self,
        (module, name): (&str, &str),
        params: &[u64],
    ) -> Result<u64, Trap> {
        let function = self.functions.find(module, name).expect(name);
        let types = &function.signature().params;
        assert_eq!(types.len(), params.len(), "{name}");
        let typed = |(ty, param): (&ValueType, &u64)| match ty {
            ValueType::I32 => Value::I32(*param as i32),
            ValueType::I64 => Value::I64(param.cast_signed()),
            other => panic!("{other} is no integer"),
        };
        let params: Vec<_> = types.iter().zip(params).map(typed).collect();
        let results = self.call((module, name), &params)?;
        Ok(match results[..] {
            [] => 0,
            [Value::I32(result)] => result.cast_unsigned().into(),
            [Value::I64(result)] => result.cast_unsigned(),
            _ => panic!("{results:?} is not one integer"),
        })
    }

    /// The host's call with options, during which the guest does something.
    pub(crate) fn during<T>(
        &mut self,
        options: CallOptions<'_>,
        work: impl FnOnce(&mut Self) -> T,
    ) -> T {
        // SAFETY: `leave` follows while the options are lent; where a test panics before, nobody
        // uses the guest any more.
        unsafe { self.host.enter(options) };
        let done = work(self);
        self.host.leave();
        done
    }
}

impl HostCaller for FakeGuest {
    fn memory_and_host(&mut self) -> (&mut [u8], &mut HostState) {
        (&mut self.memory, &mut self.host)
    }

    fn grow_memory(&mut self, pages: u32) -> bool {
        let size = self.memory.len() + pages as usize * WASM_PAGE;
        let grows = size <= self.most * WASM_PAGE;
        if grows {
            self.memory.resize(size, 0);
        }
        grows
    }

    fn check_time(&mut self) -> Result<(), Trap> {
        self.stop.clone().map_or(Ok(()), |kind| Err(kind.into()))
    }
}

/// The reason for which a host function of a name refused a call.
pub(crate) fn refusal<T: std::fmt::Debug>(ended: Result<T, Trap>, expected: &str) -> String {
    match ended.map_err(|trap| trap.kind) {
        Err(TrapKind::HostFunction { name, reason }) => {
            assert_eq!(name, expected);
            reason
        }
        other => panic!("{expected}: {other:?}"),
    }
}
