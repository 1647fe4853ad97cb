//! An unmodified `sc_executor::WasmExecutor` executes a block on the engines of this crate.

use sc_executor::WasmExecutor;
use std::time::Instant;
use touchstone_substrate_host::chain::{
    self, ACCOUNTS, Accounts, BLOCK, Node, RUNTIME, State, SubstrateHostFunctions, block_of,
};

/// Engines and strategies of the default features.
const EXECUTORS: [&str; 3] =
    ["wasmtime_instance_reuse_tracked", "wasmtime_pooling_cow", "wasmi_instance_reuse_tracked"];

#[test]
fn a_node_builds_and_executes_the_stored_block() {
    let block = block_of(BLOCK).unwrap();
    for name in EXECUTORS {
        // SAFETY: this process has one test, whose other threads do not look at the environment.
        unsafe { std::env::set_var("TOUCHSTONE_EXECUTOR", name) };
        let executor = WasmExecutor::<SubstrateHostFunctions>::builder().build();
        let node = Node::new(executor, RUNTIME);
        let (genesis, mut state) = Accounts::new(ACCOUNTS).genesis(&node).unwrap();
        let built = Instant::now();
        let own = chain::build(&node, &state, &genesis, &block.extrinsics).unwrap();
        let built = built.elapsed();
        assert!(own == block, "{name}: another block");
        let executed = Instant::now();
        let overlay = chain::execute(&node, &state, BLOCK).unwrap();
        let executed = executed.elapsed();
        assert_eq!(chain::commit(&mut state, overlay), block.header.state_root, "{name}");
        let query = Instant::now();
        for _ in 0..100 {
            chain::query(&node, &State::default(), "Core_version", &[]).unwrap();
        }
        let query = query.elapsed() / 100;
        println!("{name}: built in {built:?}, executed in {executed:?}, queries in {query:?}");
    }
    // SAFETY: as above.
    unsafe { std::env::set_var("TOUCHSTONE_EXECUTOR", "wasmtime_nothing") };
    let executor = WasmExecutor::<SubstrateHostFunctions>::builder().build();
    let refused =
        chain::query(&Node::new(executor, RUNTIME), &State::default(), "Core_version", &[]);
    assert!(refused.unwrap_err().contains("TOUCHSTONE_EXECUTOR is 'wasmtime_nothing'"));
}
