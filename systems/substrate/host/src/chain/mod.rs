//! A chain of the runtime in `systems/substrate/runtime`: genesis, signed transfers, blocks.
//!
//! Blocks are built and executed as a node's client does it: through `sp_state_machine`, over a
//! state in memory. The host knows the runtime by its interface alone.

mod meter;

pub use meter::{Metered, Spent, spent};
pub use sp_io::SubstrateHostFunctions;
/// The crates whose types are in this interface.
pub use {codec, sp_core, sp_io, sp_state_machine, sp_wasm_interface};

use codec::{Compact, Decode, Encode};
use sp_core::crypto::Ss58Codec;
use sp_core::storage::StateVersion;
use sp_core::traits::{
    CallContext, CodeExecutor, ReadRuntimeVersionExt, RuntimeCode, WrappedRuntimeCode,
};
use sp_core::{Blake2Hasher, H256, Pair, sr25519};
use sp_crypto_hashing::blake2_256;
use sp_externalities::Extensions;
use sp_state_machine::backend::{BackendRuntimeCode, TryPendingCode};
use sp_state_machine::{InMemoryBackend, OverlayedChanges, StateMachine};
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// A state in memory.
pub type State = InMemoryBackend<Blake2Hasher>;
/// The changes of calls that are not committed.
pub type Overlay = OverlayedChanges<Blake2Hasher>;
/// The reason why a call failed, in words.
pub type Result<T, E = String> = std::result::Result<T, E>;

/// The built runtime, as nodes have it: compressed.
pub const RUNTIME: &[u8] = include_bytes!("../../../built/chain-runtime.compressed.wasm");
/// A block of 1,000 transfers on a genesis of 1,000 accounts. Signatures are random, so that no
/// other block has the same bytes.
pub const BLOCK: &[u8] = include_bytes!("../../../built/block-1000.scale");
/// Accounts of the genesis below [`BLOCK`], and its transfers.
pub const ACCOUNTS: u32 = 1000;
/// The same, small.
pub const SMALL_BLOCK: &[u8] = include_bytes!("../../../built/block-10.scale");
/// Accounts of the genesis below [`SMALL_BLOCK`], and its transfers.
pub const FEW_ACCOUNTS: u32 = 10;

/// Versions that a signature covers: those of the runtime's specification and transactions.
const VERSIONS: (u32, u32) = (1, 1);
/// Balance of each account of a genesis.
const BALANCE: u128 = 1_000_000_000_000_000_000;
/// Milliseconds between two blocks.
const PERIOD: u64 = 6000;
const FIRST_BLOCK: u64 = 1_700_000_000_000;

/// The header of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Header {
    /// Hash of the header before.
    pub parent: H256,
    /// Its number; the genesis has 0.
    #[codec(compact)]
    pub number: u32,
    /// Root of the state after the block.
    pub state_root: H256,
    /// Root of its transactions.
    pub extrinsics_root: H256,
    /// Items of consensus, of which this chain has none.
    digest: Vec<u8>,
}

impl Header {
    /// The header of a block on another one, without the roots.
    fn after(parent: &Self) -> Self {
        Self { parent: parent.hash(), number: parent.number + 1, ..Self::default() }
    }

    fn of_genesis(state_root: H256) -> Self {
        Self { state_root, ..Self::default() }
    }

    /// Its hash.
    #[must_use]
    pub fn hash(&self) -> H256 {
        blake2_256(&self.encode()).into()
    }
}

/// A block.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Block {
    /// Its header.
    pub header: Header,
    /// Its timestamp and its transfers.
    pub extrinsics: Vec<Vec<u8>>,
}

/// A runtime that can be called over a state.
pub trait Client: Send + Sync {
    /// Calls an export. On an error, no change is in the overlay.
    ///
    /// # Errors
    ///
    /// When the runtime cannot be loaded, or traps.
    fn call(
        &self,
        state: &State,
        overlay: &mut Overlay,
        method: &str,
        data: &[u8],
        context: CallContext,
    ) -> Result<Vec<u8>>;
}

/// A runtime with its executor.
pub struct Node<E> {
    executor: E,
    code: WrappedRuntimeCode<'static>,
    hash: Vec<u8>,
}

impl<E> Node<E> {
    /// A node whose state has this code.
    pub fn new(executor: E, code: impl Into<Cow<'static, [u8]>>) -> Self {
        let code = code.into();
        Self { executor, hash: blake2_256(&code).to_vec(), code: WrappedRuntimeCode(code) }
    }
}

impl<E: CodeExecutor> Client for Node<E> {
    fn call(
        &self,
        state: &State,
        overlay: &mut Overlay,
        method: &str,
        data: &[u8],
        context: CallContext,
    ) -> Result<Vec<u8>> {
        let (code_fetcher, hash) = (&self.code, self.hash.clone());
        let code = RuntimeCode { code_fetcher, heap_pages: None, hash };
        run(&self.executor, &code, state, overlay, method, data, context)
    }
}

/// An executor that executes the runtime in the state (`:code`), with its heap pages
/// (`:heappages`), as nodes do.
pub struct OnState<E>(pub E);

impl<E: CodeExecutor> Client for OnState<E> {
    fn call(
        &self,
        state: &State,
        overlay: &mut Overlay,
        method: &str,
        data: &[u8],
        context: CallContext,
    ) -> Result<Vec<u8>> {
        let code = BackendRuntimeCode::new(state, TryPendingCode::No);
        run(&self.0, &code.runtime_code()?, state, overlay, method, data, context)
    }
}

fn run<E: CodeExecutor>(
    executor: &E,
    code: &RuntimeCode<'_>,
    state: &State,
    overlay: &mut Overlay,
    method: &str,
    data: &[u8],
    context: CallContext,
) -> Result<Vec<u8>> {
    // What a block needs. A node has more of them, such as a keystore.
    let mut extensions = Extensions::default();
    extensions.register(ReadRuntimeVersionExt::new(executor.clone()));
    StateMachine::new(state, overlay, executor, method, data, &mut extensions, code, context)
        .execute()
        .map_err(|error| error.to_string())
}

/// The block of its bytes.
///
/// # Errors
///
/// When they are none.
pub fn block_of(bytes: &[u8]) -> Result<Block> {
    decoded(bytes)
}

/// The bytes of a block with a transfer from each of some accounts, on the genesis of these.
///
/// # Errors
///
/// Those of [`Client::call`].
pub fn first_block(node: &dyn Client, accounts: u32) -> Result<Vec<u8>> {
    let mut own = Accounts::new(accounts);
    let (genesis, state) = own.genesis(node)?;
    let extrinsics = own.extrinsics(&genesis, &genesis, accounts as usize);
    Ok(build(node, &state, &genesis, &extrinsics)?.encode())
}

/// A query over a state, which it leaves as it is.
///
/// # Errors
///
/// Those of [`Client::call`].
pub fn query(node: &dyn Client, state: &State, method: &str, data: &[u8]) -> Result<Vec<u8>> {
    node.call(state, &mut Overlay::default(), method, data, CallContext::Offchain)
}

/// The number of transactions of an account.
///
/// # Errors
///
/// Those of [`Client::call`].
pub fn nonce(node: &dyn Client, state: &State, account: [u8; 32]) -> Result<u32> {
    decoded(&query(node, state, "AccountNonceApi_account_nonce", &account)?)
}

fn decoded<T: Decode>(mut bytes: &[u8]) -> Result<T> {
    T::decode(&mut bytes).map_err(|error| error.to_string())
}

/// Makes changes a part of the state, and returns its root.
pub fn commit(state: &mut State, mut overlay: Overlay) -> H256 {
    let changes = overlay
        .drain_storage_changes(&*state, StateVersion::V1)
        .expect("a state in memory has no failures");
    state.apply_transaction(changes.transaction_storage_root, changes.transaction);
    *state.root()
}

/// The state of a genesis, built by the runtime.
///
/// # Errors
///
/// Those of [`Client::call`], or that the runtime refuses the configuration (JSON).
pub fn genesis(node: &dyn Client, config: &[u8]) -> Result<State> {
    let (mut state, mut overlay) = (State::default(), Overlay::default());
    let context = CallContext::Onchain { import: false };
    let method = "GenesisBuilder_build_state";
    let built = node.call(&state, &mut overlay, method, &config.encode(), context)?;
    decoded::<Result<(), String>>(&built)??;
    commit(&mut state, overlay);
    Ok(state)
}

/// The genesis configuration (JSON) that the runtime has by a name, if any: a patch of the one
/// without a name.
///
/// # Errors
///
/// Those of [`Client::call`].
pub fn preset(node: &dyn Client, name: Option<&str>) -> Result<Option<Vec<u8>>> {
    decoded(&query(node, &State::default(), "GenesisBuilder_get_preset", &name.encode())?)
}

/// Accounts with their keys and the numbers of their transactions.
#[derive(Clone)]
pub struct Accounts(Vec<(sr25519::Pair, u32)>);

impl Accounts {
    /// Accounts that are the same in each process.
    #[must_use]
    pub fn new(count: u32) -> Self {
        let pair = |number: u32| sr25519::Pair::from_seed(&blake2_256(&number.to_le_bytes()));
        Self((0..count).map(|number| (pair(number), 0)).collect())
    }

    /// The public key of an account.
    #[must_use]
    pub fn id(&self, account: usize) -> [u8; 32] {
        self.0[account].0.public().0
    }

    /// The state in which each of them has the same balance, built by the runtime.
    ///
    /// # Errors
    ///
    /// Those of [`Client::call`].
    pub fn genesis(&self, node: &dyn Client) -> Result<(Header, State)> {
        let balance = |(pair, _): &(sr25519::Pair, u32)| {
            format!(r#"["{}",{BALANCE}]"#, pair.public().to_ss58check())
        };
        let balances: Vec<String> = self.0.iter().map(balance).collect();
        // The whole configuration: a part of it is refused.
        let config = format!(
            r#"{{"system":{{}},"balances":{{"balances":[{}],"devAccounts":null}},
               "transactionPayment":{{"multiplier":"1000000000000000000"}}}}"#,
            balances.join(",")
        );
        let state = genesis(node, &config.into_bytes())?;
        Ok((Header::of_genesis(*state.root()), state))
    }

    /// The extrinsics of the next block: its timestamp, and a transfer from each of the first
    /// accounts to another one.
    pub fn extrinsics(&mut self, genesis: &Header, parent: &Header, count: usize) -> Vec<Vec<u8>> {
        let now = FIRST_BLOCK + PERIOD * (u64::from(parent.number) + 1);
        // Version 5 without a signature; `Timestamp::set`.
        let timestamp = [vec![5, 1, 0], Compact(now).encode()].concat();
        let mut all = vec![timestamp];
        for from in 0..count {
            all.push(self.transfer(genesis.hash(), from, (from + 7) % self.0.len()));
        }
        all
    }

    /// A signed `Balances::transfer_keep_alive`.
    fn transfer(&mut self, genesis: H256, from: usize, to: usize) -> Vec<u8> {
        let amount = Compact(1_000_000 + from as u128).encode();
        let call = [&[2, 3, 0][..], &self.id(to), &amount].concat();
        let (pair, nonce) = &mut self.0[from];
        // An immortal transaction without a tip, whose era counts from the genesis.
        let extension = [&[0][..], &Compact(*nonce).encode(), &Compact(0_u128).encode()].concat();
        let implicit = (VERSIONS, genesis, genesis).encode();
        let signature = pair.sign(&[&call[..], &extension, &implicit].concat());
        *nonce += 1;
        // Version 4 with a signature; an address by its key; a signature of the kind sr25519.
        let head = [&[0x84, 0][..], &pair.public().0, &[1], &signature.0].concat();
        [head, extension, call].concat()
    }
}

/// Builds a block, as its author does: a call for each extrinsic.
///
/// # Errors
///
/// Those of [`Client::call`], or that an extrinsic was refused.
pub fn build(
    node: &dyn Client,
    state: &State,
    parent: &Header,
    extrinsics: &[Vec<u8>],
) -> Result<Block> {
    let mut overlay = Overlay::default();
    let mut call = |method: &str, data: &[u8]| {
        node.call(state, &mut overlay, method, data, CallContext::Onchain { import: false })
    };
    call("Core_initialize_block", &Header::after(parent).encode())?;
    for extrinsic in extrinsics {
        let answer = call("BlockBuilder_apply_extrinsic", &extrinsic.encode())?;
        if answer != [0, 0] {
            return Err(format!("an extrinsic was not applied: {answer:?}"));
        }
    }
    let header = decoded(&call("BlockBuilder_finalize_block", &[])?)?;
    Ok(Block { header, extrinsics: extrinsics.to_vec() })
}

/// Executes a block, as a node that imports it does: one call, which ends with a trap if a root in
/// its header is wrong.
///
/// # Errors
///
/// Those of [`Client::call`].
pub fn execute(node: &dyn Client, state: &State, block: &[u8]) -> Result<Overlay> {
    let mut overlay = Overlay::default();
    let context = CallContext::Onchain { import: true };
    node.call(state, &mut overlay, "Core_execute_block", block, context)?;
    Ok(overlay)
}

/// The time of verifying as many signatures without a guest.
#[must_use]
pub fn verify(count: u32) -> Duration {
    let pair = sr25519::Pair::from_seed(&[7; 32]);
    // The length of what a transfer signs.
    let message = [1; 120];
    let signature = pair.sign(&message);
    let started = Instant::now();
    for _ in 0..count {
        assert!(sr25519::Pair::verify(&signature, message, &pair.public()), "a valid signature");
    }
    started.elapsed()
}
