//! Builds and executes a stored block through an unmodified `sc_executor::WasmExecutor`, compares
//! it, and prints the times as a line: boot, clean call, building, executing, in nanoseconds. The
//! last three are the shortest of some rounds.
//!
//! `../turns.sh` runs it with the patch and without.

use sc_executor::WasmExecutor;
use std::time::Instant;
use touchstone_substrate_host::chain::{
    self, ACCOUNTS, Accounts, BLOCK, Node, RUNTIME, Result, State, SubstrateHostFunctions, block_of,
};

const ROUNDS: usize = 3;
/// Calls of `Core_version` in a round.
const CALLS: u32 = 200;

fn main() -> Result<()> {
    let block = block_of(BLOCK)?;
    let started = Instant::now();
    let executor = WasmExecutor::<SubstrateHostFunctions>::builder().build();
    let node = Node::new(executor, RUNTIME);
    chain::query(&node, &State::default(), "Core_version", &[])?;
    let boot = started.elapsed();
    let (genesis, state) = Accounts::new(ACCOUNTS).genesis(&node)?;
    let mut shortest = [u128::MAX; 3];
    for _ in 0..ROUNDS {
        let started = Instant::now();
        for _ in 0..CALLS {
            chain::query(&node, &State::default(), "Core_version", &[])?;
        }
        let call = started.elapsed() / CALLS;
        let started = Instant::now();
        let own = chain::build(&node, &state, &genesis, &block.extrinsics)?;
        let build = started.elapsed();
        let started = Instant::now();
        let changes = chain::execute(&node, &state, BLOCK)?;
        let execute = started.elapsed();
        if own != block || chain::commit(&mut state.clone(), changes) != block.header.state_root {
            return Err("another block, or another root of the state".to_owned());
        }
        for (shortest, time) in shortest.iter_mut().zip([call, build, execute]) {
            *shortest = time.as_nanos().min(*shortest);
        }
    }
    let [call, build, execute] = shortest;
    println!("{}\t{call}\t{build}\t{execute}", boot.as_nanos());
    Ok(())
}
