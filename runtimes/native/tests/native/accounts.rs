//! The guest that reads and edits accounts: its encodings, natively, to the byte.

use accounts::account::{Account, FROZEN, INITIALIZED, OWNER};
use accounts::capnproto::CapnProto;
use accounts::fixed_codecs::{Bincode, Borsh, Wincode};
use accounts::varying::Codec as _;
use accounts::varying_codecs::{FlatBuffers, Json, MessagePack, Postcard, Protobuf};
use accounts::{decoded, varying};
use std::path::PathBuf;
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Abi, Config, Instance, Module, Outcome, Strategy, TrapKind};

/// The account that all inputs say.
const ACCOUNT: Account = Account {
    mint: *b"mint: the tokens of a touchstone",
    owner: OWNER,
    amount: 1_234_567_890_123_456_789,
    delegate: *b"delegate: who may move a little.",
    state: INITIALIZED,
    padding: [0; 7],
    native_amount: 2_039_280,
    delegated_amount: 500_000_000,
    close_authority: *b"close authority: who may end it.",
};

/// The results of `full` and `update_amount`.
const EDITED: Account = Account { state: FROZEN, amount: ACCOUNT.amount + 1, ..ACCOUNT };

/// An account of somebody else: the owner differs in its last letter.
const FOREIGN: Account = Account { owner: *b"owner: who may freeze an accounT", ..ACCOUNT };

/// The accounts that files have, and what stands before the names of these.
const FILES: [(&str, &Account); 3] = [("", &ACCOUNT), ("edited.", &EDITED), ("foreign.", &FOREIGN)];

/// An account's bytes in each encoding that has bytes of its own.
fn encodings(account: &Account) -> [(&'static str, Vec<u8>); 7] {
    [
        ("account.bin", bytemuck::bytes_of(account).to_vec()),
        ("postcard.bin", Postcard::encode(account)),
        ("capnproto.bin", CapnProto::encode(account)),
        ("flatbuffers.bin", FlatBuffers::encode(account)),
        ("messagepack.bin", MessagePack::encode(account)),
        ("protobuf.bin", Protobuf::encode(account)),
        ("account.json", Json::encode(account)),
    ]
}

/// A file beside the guests: the input, with `edited.` before its name the output, and with
/// `foreign.` the input of somebody else.
fn path(prefix: &str, name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-runtime/inputs/accounts");
    PathBuf::from(format!("{folder}/{prefix}{name}"))
}

fn file(name: &str) -> Vec<u8> {
    std::fs::read(path("", name)).unwrap()
}

#[test]
#[ignore = "writes the files that the next test compares"]
fn write_the_files() {
    for (prefix, account) in FILES {
        for (name, bytes) in encodings(account) {
            std::fs::write(path(prefix, name), bytes).unwrap();
        }
    }
}

#[test]
fn the_files_are_what_the_encoders_make() {
    for (prefix, account) in FILES {
        for (name, bytes) in encodings(account) {
            assert!(std::fs::read(path(prefix, name)).unwrap() == bytes, "{prefix}{name}");
        }
    }
}

fn fixed<C: decoded::Codec>() {
    let file = file("account.bin");
    assert_eq!(*C::account(&mut C::decode(&file), file.len()), ACCOUNT);
    let mut block = vec![0; file.len()];
    C::encode(&EDITED, &mut block);
    assert_eq!(block, std::fs::read(path("edited.", "account.bin")).unwrap());
}

fn varying<C: varying::Codec>(name: &str) {
    assert_eq!(C::decode(&file(name)), ACCOUNT);
    assert_eq!(C::owner(&file(name)), OWNER);
    // The smallest and the largest account.
    let [least, most] = [0, u8::MAX].map(|byte| {
        let mut account: Account = bytemuck::pod_read_unaligned(&[byte; size_of::<Account>()]);
        account.padding = [0; 7];
        account
    });
    for account in [least, most] {
        assert_eq!(C::decode(&C::encode(&account)), account);
    }
}

/// Encodings of integers of fixed size, field by field, are what the account is.
#[test]
fn every_decoder_finds_the_account() {
    fixed::<Bincode>();
    fixed::<Borsh>();
    fixed::<Wincode>();
    let archive = rkyv::to_bytes::<rkyv::rancor::Failure>(&ACCOUNT).unwrap();
    assert_eq!(&archive[..], file("account.bin"));
    varying::<Postcard>("postcard.bin");
    varying::<CapnProto>("capnproto.bin");
    varying::<FlatBuffers>("flatbuffers.bin");
    varying::<MessagePack>("messagepack.bin");
    varying::<Protobuf>("protobuf.bin");
    varying::<Json>("account.json");
}

/// Runs a test on the guest, under a strategy that resets in place.
fn on_the_guest(test: impl Fn(&dyn Module, &mut dyn Instance)) {
    let engine = touchstone_native::engines().remove(0);
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-runtime/built/accounts.wasm");
    let guest =
        GuestModule::new("accounts", &std::fs::read(built).unwrap(), HeapPages::default()).unwrap();
    let (strategy, config): (Strategy, _) =
        ("instance_reuse_tracked".parse().unwrap(), Config::default());
    let artifact = engine.compile(&guest, strategy, &config).unwrap();
    let module = engine.load(&guest, &artifact, strategy, &config).unwrap();
    test(&*module, &mut *module.new_instance().unwrap());
}

/// Nothing is copied that does not have to be: the answer is where the input was.
#[test]
fn the_answer_lies_in_the_block_of_the_input() {
    on_the_guest(|module, instance| {
        let input = file("account.bin");
        let output = std::fs::read(path("edited.", "account.bin")).unwrap();
        for codec in ["transmute", "bytemuck", "zerocopy", "rkyv", "bincode", "borsh", "wincode"] {
            let export = module.export(&format!("{codec}_full"), Abi::Substrate).unwrap();
            instance.prepare().unwrap();
            let mut found = Vec::new();
            assert_eq!(
                instance.invoke(export, &input, &mut found, None).unwrap(),
                Outcome::Returned
            );
            assert_eq!(found, output, "{codec}");
            let memory = instance.memory().unwrap();
            let places = memory.windows(output.len()).filter(|place| *place == output).count();
            assert_eq!(places, 1, "{codec}");
            assert!(!memory.windows(input.len()).any(|place| place == input), "{codec}");
            instance.finish().unwrap();
        }
    });
}

#[test]
fn a_panic_says_why() {
    on_the_guest(|module, instance| {
        let mut frozen = file("account.bin");
        frozen[104] = 2;
        let mut foreign = file("account.bin");
        foreign[40] ^= 1;
        for (input, says) in [
            (&frozen[..], "is frozen already"),
            (&foreign, "belongs to somebody else"),
            (&frozen[1..], "no account has this size"),
        ] {
            let export = module.export("bytemuck_full", Abi::Substrate).unwrap();
            let outcome = instance.call(export, input, &mut Vec::new()).unwrap();
            let trap = outcome.trap().unwrap();
            assert_eq!(trap.kind, TrapKind::Unreachable);
            assert!(trap.detail.contains(says), "{}", trap.detail);
        }
    });
}
