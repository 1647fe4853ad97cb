//! A Substrate runtime: accounts with balances, signed transfers with fees, timestamps.
//!
//! Its blocks hold a timestamp and thousands of transfers. The limits of weight and length are far
//! above those of public chains, so that the number of transfers in a block is the host's choice.

#![no_std]
#![recursion_limit = "512"]

extern crate alloc;

mod apis;

use alloc::borrow::Cow;
use alloc::vec::Vec;
use frame_support::traits::{ConstU8, ConstU32, ConstU64, ConstU128, VariantCountOf};
use frame_support::weights::IdentityFee;
use frame_support::weights::constants::{RocksDbWeight, WEIGHT_REF_TIME_PER_SECOND};
use frame_support::{derive_impl, parameter_types, weights::Weight};
use frame_system::limits::{BlockLength, BlockWeights};
use pallet_transaction_payment::{ConstFeeMultiplier, FungibleAdapter, Multiplier};
use sp_runtime::traits::{AccountIdLookup, BlakeTwo256, IdentifyAccount, One, Verify};
use sp_runtime::{MultiAddress, MultiSignature, Perbill, generic};
use sp_version::{RuntimeVersion, runtime_version};

type AccountId = <<MultiSignature as Verify>::Signer as IdentifyAccount>::AccountId;
type Balance = u128;
type BlockNumber = u32;
type Hash = sp_core::H256;
type Header = generic::Header<BlockNumber, BlakeTwo256>;
type Nonce = u32;

/// The checks of a transaction, in the order in which their data lies in it.
type Checks = (
    frame_system::CheckNonZeroSender<Runtime>,
    frame_system::CheckSpecVersion<Runtime>,
    frame_system::CheckTxVersion<Runtime>,
    frame_system::CheckGenesis<Runtime>,
    frame_system::CheckEra<Runtime>,
    frame_system::CheckNonce<Runtime>,
    frame_system::CheckWeight<Runtime>,
    pallet_transaction_payment::ChargeTransactionPayment<Runtime>,
);
type Transaction =
    generic::UncheckedExtrinsic<MultiAddress<AccountId, ()>, RuntimeCall, MultiSignature, Checks>;
type Block = generic::Block<Header, Transaction>;
type Executive = frame_executive::Executive<
    Runtime,
    Block,
    frame_system::ChainContext<Runtime>,
    Runtime,
    AllPalletsWithSystem,
>;

/// The version that blocks and transactions are made for. The host's copy of the numbers is in
/// `touchstone-substrate-host`.
#[runtime_version]
pub const VERSION: RuntimeVersion = RuntimeVersion {
    spec_name: Cow::Borrowed("touchstone-chain"),
    impl_name: Cow::Borrowed("touchstone-chain"),
    authoring_version: 1,
    spec_version: 1,
    impl_version: 1,
    apis: apis::RUNTIME_API_VERSIONS,
    transaction_version: 1,
    system_version: 1,
};

#[frame_support::runtime]
mod runtime {
    #[runtime::runtime]
    #[runtime::derive(
        RuntimeCall,
        RuntimeError,
        RuntimeEvent,
        RuntimeFreezeReason,
        RuntimeHoldReason,
        RuntimeLockId,
        RuntimeOrigin,
        RuntimeSlashReason,
        RuntimeTask
    )]
    pub struct Runtime;

    #[runtime::pallet_index(0)]
    pub type System = frame_system;
    #[runtime::pallet_index(1)]
    pub type Timestamp = pallet_timestamp;
    #[runtime::pallet_index(2)]
    pub type Balances = pallet_balances;
    #[runtime::pallet_index(3)]
    pub type TransactionPayment = pallet_transaction_payment;
}

/// Bytes that a block may have.
const LONGEST_BLOCK: u32 = 32 << 20;

parameter_types! {
    pub const Version: RuntimeVersion = VERSION;
    /// A minute of the reference machine.
    pub Weights: BlockWeights = BlockWeights::with_sensible_defaults(
        Weight::from_parts(60 * WEIGHT_REF_TIME_PER_SECOND, u64::MAX),
        Perbill::from_percent(75),
    );
    pub Length: BlockLength = BlockLength::builder().max_length(LONGEST_BLOCK).build();
    pub NoAdjustment: Multiplier = Multiplier::one();
}

#[derive_impl(frame_system::config_preludes::SolochainDefaultConfig)]
impl frame_system::Config for Runtime {
    type AccountData = pallet_balances::AccountData<Balance>;
    type AccountId = AccountId;
    type Block = Block;
    type BlockHashCount = ConstU32<2400>;
    type BlockLength = Length;
    type BlockWeights = Weights;
    type DbWeight = RocksDbWeight;
    type Hash = Hash;
    type Lookup = AccountIdLookup<AccountId, ()>;
    type MaxConsumers = ConstU32<16>;
    type Nonce = Nonce;
    type Version = Version;
}

impl pallet_timestamp::Config for Runtime {
    type MinimumPeriod = ConstU64<3000>;
    type Moment = u64;
    type OnTimestampSet = ();
    type WeightInfo = ();
}

impl pallet_balances::Config for Runtime {
    type AccountStore = System;
    type Balance = Balance;
    type DoneSlashHandler = ();
    type DustRemoval = ();
    type ExistentialDeposit = ConstU128<500>;
    type FreezeIdentifier = RuntimeFreezeReason;
    type MaxFreezes = VariantCountOf<RuntimeFreezeReason>;
    type MaxLocks = ConstU32<50>;
    type MaxReserves = ();
    type ReserveIdentifier = [u8; 8];
    type RuntimeEvent = RuntimeEvent;
    type RuntimeFreezeReason = RuntimeFreezeReason;
    type RuntimeHoldReason = RuntimeHoldReason;
    type WeightInfo = pallet_balances::weights::SubstrateWeight<Runtime>;
}

impl pallet_transaction_payment::Config for Runtime {
    type FeeMultiplierUpdate = ConstFeeMultiplier<NoAdjustment>;
    type LengthToFee = IdentityFee<Balance>;
    type OnChargeTransaction = FungibleAdapter<Balances, ()>;
    type OperationalFeeMultiplier = ConstU8<5>;
    type RuntimeEvent = RuntimeEvent;
    type WeightInfo = pallet_transaction_payment::weights::SubstrateWeight<Runtime>;
    type WeightToFee = IdentityFee<Balance>;
}
