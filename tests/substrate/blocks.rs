//! Blocks of the chain's runtime.

use super::{STRATEGIES, alone, builders, engines, on_all};
use codec::Encode;
use std::cell::RefCell;
use touchstone_substrate_host::chain::{
    self, ACCOUNTS, Accounts, BLOCK, FEW_ACCOUNTS, Header, Node, RUNTIME, SMALL_BLOCK, block_of,
    build, codec, commit, execute, nonce,
};

#[test]
fn the_stored_blocks_are_what_every_executor_builds_and_executes() {
    let _alone = alone();
    on_all(RUNTIME, |name, builder| {
        let node = Node::new(builder.build(), RUNTIME);
        let (genesis, mut state) = Accounts::new(FEW_ACCOUNTS).genesis(&node).unwrap();
        let block = block_of(SMALL_BLOCK).unwrap();
        assert_eq!(block.header.parent, genesis.hash(), "{name}");
        let built = build(&node, &state, &genesis, &block.extrinsics).unwrap();
        assert_eq!(built, block, "{name}");
        let overlay = execute(&node, &state, SMALL_BLOCK).unwrap();
        assert_eq!(commit(&mut state, overlay), block.header.state_root, "{name}");
    });
}

#[test]
fn the_large_stored_block_is_whole() {
    let block = block_of(BLOCK).unwrap();
    assert_eq!(block.extrinsics.len() as u32, ACCOUNTS + 1);
    assert_eq!(block.header.number, 1);
}

#[test]
fn blocks_follow_each_other_with_the_same_roots_everywhere() {
    let _alone = alone();
    let first: RefCell<Option<Vec<Header>>> = RefCell::default();
    let blocks: RefCell<Vec<Vec<Vec<u8>>>> = RefCell::default();
    on_all(RUNTIME, |name, builder| {
        let node = Node::new(builder.build(), RUNTIME);
        let mut accounts = Accounts::new(5);
        let (genesis, mut state) = accounts.genesis(&node).unwrap();
        let mut headers = vec![genesis.clone()];
        for number in 0..3 {
            let parent = headers.last().unwrap().clone();
            // Signatures are random: the first executor makes them for all.
            if blocks.borrow().len() == number {
                blocks.borrow_mut().push(accounts.extrinsics(&genesis, &parent, 3));
            }
            let block = build(&node, &state, &parent, &blocks.borrow()[number]).unwrap();
            // The root of the state lies behind the parent's hash and the number.
            let mut wrong = block.encode();
            wrong[40] ^= 1;
            let refused = execute(&node, &state, &wrong).map(drop).unwrap_err();
            assert!(refused.contains("unreachable"), "{name}: {refused}");
            let overlay = execute(&node, &state, &block.encode()).unwrap();
            assert_eq!(commit(&mut state, overlay), block.header.state_root, "{name}");
            headers.push(block.header);
        }
        let account = Accounts::new(1).id(0);
        assert_eq!(nonce(&node, &state, account), Ok(3), "{name}");
        assert_eq!(*first.borrow_mut().get_or_insert_with(|| headers.clone()), headers, "{name}");
    });
}

/// Replaces the stored blocks: `make chain-blocks`.
#[test]
#[ignore = "writes to the project"]
fn store_the_blocks() {
    let mut all = engines().flat_map(|engine| builders(&engine, RUNTIME, &STRATEGIES));
    let (_, builder) = all.next().unwrap();
    let node = Node::new(builder.build(), RUNTIME);
    for accounts in [FEW_ACCOUNTS, ACCOUNTS] {
        let path = format!(
            "{}/systems/substrate/built/block-{accounts}.scale",
            env!("CARGO_MANIFEST_DIR")
        );
        std::fs::write(path, chain::first_block(&node, accounts).unwrap()).unwrap();
    }
}
