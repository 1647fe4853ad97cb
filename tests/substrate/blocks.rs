//! Blocks of the chain's runtime, and two runtimes in turns.

use super::{Executor, on_all, stubs};
use codec::Encode;
use std::cell::RefCell;
use touchstone_substrate_host::chain::{
    self, ACCOUNTS, Accounts, BLOCK, FEW_ACCOUNTS, Header, Node, RUNTIME, SMALL_BLOCK, State,
    block_of, build, codec, commit, execute, nonce, query,
};

#[test]
fn the_stored_blocks_are_what_every_executor_builds_and_executes() {
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

/// Two runtimes that differ in a word of their data, in the state of one node after the other.
#[test]
fn no_state_of_a_runtime_is_seen_by_another() {
    let text = include_str!("cases.wat");
    let codes = ["\\20\\00\\00\\00", "\\40\\00\\00\\00"]
        .map(|word| wat::parse_str(text.replace("\\20\\00\\00\\00", word)).unwrap());
    const METHODS: [&str; 8] = [
        "returns_mutable_static",
        "returns_mutable_static_bss",
        "restoration_of_globals",
        "heap_is_reset",
        "memory_is_cleared",
        "unreachable_intrinsic",
        "abort_on_panic",
        "allocate",
    ];
    on_all(&codes[0], |name, builder| {
        let executor = builder.config(stubs()).heap_pages(17).build();
        // The same executor has both: the code of a node's state was replaced.
        let nodes = codes.clone().map(|code| Node::new(executor.clone(), code));
        let call = |node: &Node<Executor>, method: usize| {
            // One block of 1 MiB fits, two do not.
            query(node, &State::default(), METHODS[method], &[(method as u8) % 3])
        };
        let expected =
            nodes.each_ref().map(|node| [0, 1, 2, 3, 4, 5, 6, 7].map(|own| call(node, own)));
        assert_ne!(expected[0][0], expected[1][0]);
        let mut number = 1_u64;
        for _ in 0..10_000 / 20 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (node, method) = ((number >> 40) as usize % 2, (number >> 50) as usize % 8);
            assert_eq!(call(&nodes[node], method), expected[node][method], "{name}");
        }
    });
}

/// Replaces the stored blocks: `make chain-blocks`.
#[test]
#[ignore = "writes to the project"]
fn store_the_blocks() {
    let engines = touchstone_runtimes::engines();
    let engine = engines.iter().find(|engine| engine.id() == "wasmi").unwrap();
    let strategy = touchstone_executor::Strategy::TRACKED;
    let node = Node::new(Executor::builder(engine.clone(), strategy).build(), RUNTIME);
    for accounts in [FEW_ACCOUNTS, ACCOUNTS] {
        let path = format!(
            "{}/systems/substrate/built/block-{accounts}.scale",
            env!("CARGO_MANIFEST_DIR")
        );
        std::fs::write(path, chain::first_block(&node, accounts).unwrap()).unwrap();
    }
}
