//! Two runtimes in turns in one state, with upgrades, panics and limits of memory.

use super::cases::TestFunctions;
use super::{Executor, NEW, STRATEGIES, alone, builders, engines, stubs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_substrate_host::Builder;
use touchstone_substrate_host::chain::codec::Encode;
use touchstone_substrate_host::chain::sp_core::traits::CallContext;
use touchstone_substrate_host::chain::sp_state_machine::Backend;
use touchstone_substrate_host::chain::{
    Accounts, Client, Header, Node, OnState, Overlay, RUNTIME, Result, State, build, commit,
    execute, query,
};

/// Calls on each executor, unless the environment has another number in `TOUCHSTONE_CALLS`.
/// `TOUCHSTONE_EXECUTOR` names the only executor that is tested.
const CALLS: u64 = 200;
const CODE: &[u8] = b":code";
const HEAP_PAGES: &[u8] = b":heappages";

/// Exports of the runtime of the cases.
const METHODS: [&str; 11] = [
    "returns_mutable_static",
    "returns_mutable_static_bss",
    "restoration_of_globals",
    "heap_is_reset",
    "memory_is_cleared",
    "unreachable_intrinsic",
    "abort_on_panic",
    "panics_in_host",
    "allocate",
    "calls_missing_external",
    "storage",
];

/// An executor beside one that makes a brand-new instance for each call. Each call is made on both,
/// and their answers and the roots of their states are compared.
struct Both {
    name: String,
    tested: OnState<Executor>,
    brand_new: OnState<Executor>,
    calls: AtomicU64,
    failed: AtomicU64,
}

impl Client for Both {
    fn call(
        &self,
        state: &State,
        overlay: &mut Overlay,
        method: &str,
        data: &[u8],
        context: CallContext,
    ) -> Result<Vec<u8>> {
        let mut expected = overlay.clone();
        let answer = self.tested.call(state, overlay, method, data, context);
        let right = self.brand_new.call(state, &mut expected, method, data, context);
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        assert_eq!(answer, right, "{}, call {number}: {method}", self.name);
        let roots = [&*overlay, &expected].map(|own| commit(&mut state.clone(), own.clone()));
        assert_eq!(roots[0], roots[1], "{}, call {number}: {method}", self.name);
        self.failed.fetch_add(u64::from(answer.is_err()), Ordering::Relaxed);
        answer
    }
}

/// A chain whose runtime changes.
struct Turns {
    both: Both,
    state: State,
    accounts: Accounts,
    genesis: Header,
    /// The last block.
    parent: Header,
    block: Vec<u8>,
    random: u64,
    upgrades: u32,
}

impl Turns {
    fn number(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 33) as usize % below
    }

    fn code(&self) -> Vec<u8> {
        self.state.storage(CODE).unwrap().unwrap()
    }

    /// Writes to the state, as the host.
    fn put(&mut self, key: &[u8], value: Vec<u8>) {
        let mut overlay = Overlay::default();
        overlay.set_storage(key.to_vec(), Some(value));
        commit(&mut self.state, overlay);
    }

    /// A call whose changes stay.
    fn change(&mut self, method: &str, data: &[u8]) -> Result<Vec<u8>> {
        let mut overlay = Overlay::default();
        let context = CallContext::Onchain { import: false };
        let answer = self.both.call(&self.state, &mut overlay, method, data, context)?;
        commit(&mut self.state, overlay);
        Ok(answer)
    }

    /// Makes another runtime that of the state.
    fn upgrade(&mut self, code: &[u8], is_chain: bool) {
        if is_chain {
            // No account of this runtime has the right to do it.
            self.put(CODE, code.to_vec());
        } else {
            let data = [&[CODE.len() as u8][..], CODE, code].concat();
            // Few heap pages do not take the new code.
            let changed = self.change("set", &data).is_ok();
            self.upgrades += u32::from(changed);
        }
    }

    fn call_chain(&mut self) {
        let (both, state) = (&self.both, &self.state);
        match self.random >> 40 & 7 {
            0 => drop(query(both, state, "Core_version", &[])),
            1 => drop(query(both, state, "AccountNonceApi_account_nonce", &self.accounts.id(0))),
            2 => drop(query(both, state, "Metadata_metadata", &[])),
            3 => drop(query(both, state, "no_such_method", &[])),
            // A panic: this block is in the past.
            4 => drop(execute(both, state, &self.block)),
            _ => drop(self.next_block()),
        }
    }

    fn next_block(&mut self) -> Result<()> {
        let mut accounts = self.accounts.clone();
        let extrinsics = accounts.extrinsics(&self.genesis, &self.parent, 1);
        let block = build(&self.both, &self.state, &self.parent, &extrinsics)?;
        let bytes = block.encode();
        let changes = execute(&self.both, &self.state, &bytes)?;
        assert_eq!(commit(&mut self.state, changes), block.header.state_root, "{}", self.both.name);
        (self.accounts, self.parent, self.block) = (accounts, block.header, bytes);
        Ok(())
    }

    fn run(&mut self, calls: u64) {
        let text = include_str!("cases.wat");
        let codes = [RUNTIME.to_vec(), wat::parse_str(text).unwrap(), {
            // Another word of its data.
            let other = text.replace("\\20\\00\\00\\00", "\\40\\00\\00\\00");
            wat::parse_str(other).unwrap()
        }];
        while self.both.calls.load(Ordering::Relaxed) < calls {
            let is_chain = self.code() == RUNTIME;
            match self.number(16) {
                0 | 1 => {
                    let code = self.number(codes.len());
                    self.upgrade(&codes[code], is_chain);
                }
                2 => {
                    let pages = [1_u64, 17, 64][self.number(3)];
                    self.put(HEAP_PAGES, pages.encode());
                }
                _ if is_chain => self.call_chain(),
                _ => {
                    let method = METHODS[self.number(METHODS.len())];
                    let data = [self.number(3) as u8];
                    let _ = self.change(method, &data);
                }
            }
        }
    }
}

/// An executor with a brand-new instance for each call: of the engine, or of one that executes code
/// in the same way.
fn brand_new(engine: &Arc<dyn MeasuredEngine>) -> Option<Builder<TestFunctions>> {
    let like = || engines().find(|own| Some(own.id()) == engine.executes_like());
    let of = |engine: &_| builders(engine, RUNTIME, &NEW).into_iter().next();
    of(engine).or_else(|| of(&like()?)).map(|(_, builder)| builder)
}

#[test]
fn no_state_of_a_runtime_is_seen_by_another() {
    let _alone = alone();
    let calls = std::env::var("TOUCHSTONE_CALLS");
    let calls = calls.map_or(CALLS, |number| number.parse().unwrap());
    let only = std::env::var("TOUCHSTONE_EXECUTOR");
    for engine in engines() {
        for (name, tested) in builders(&engine, RUNTIME, &STRATEGIES) {
            if only.as_ref().is_ok_and(|only| *only != name) {
                continue;
            }
            let brand_new = brand_new(&engine).expect("an engine that makes new instances");
            let tested = tested.config(stubs()).build();
            let node = Node::new(tested.clone(), RUNTIME);
            let accounts = Accounts::new(5);
            let (genesis, state) = accounts.genesis(&node).unwrap();
            let extrinsics = accounts.clone().extrinsics(&genesis, &genesis, 1);
            let block = build(&node, &state, &genesis, &extrinsics).unwrap();
            let both = Both {
                name: name.clone(),
                tested: OnState(tested),
                brand_new: OnState(brand_new.config(stubs()).build()),
                calls: AtomicU64::new(0),
                failed: AtomicU64::new(0),
            };
            let mut turns = Turns {
                both,
                state,
                accounts,
                parent: genesis.clone(),
                genesis,
                block: block.encode(),
                random: 0,
                upgrades: 0,
            };
            turns.put(CODE, RUNTIME.to_vec());
            turns.put(HEAP_PAGES, 64_u64.encode());
            turns.run(calls);
            let failed = turns.both.failed.load(Ordering::Relaxed);
            println!(
                "{name}: {} calls, {failed} failed; {} upgrades, {} blocks",
                turns.both.calls.load(Ordering::Relaxed),
                turns.upgrades,
                turns.parent.number
            );
            assert!(failed > 0 && turns.upgrades > 0 && turns.parent.number > 0, "{name}");
        }
    }
}
