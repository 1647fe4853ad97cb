# The account for Cap'n Proto. `account_capnp.rs` is made of it:
#
#     capnp compile -orust account.capnp
#
# with the compiler 0.9.2 (Debian's package capnproto) and the plugin capnpc-rust of
# capnpc 0.27.0.
@0xabe20319760f62ee;

struct Account {
  mint @0 :Data;
  owner @1 :Data;
  amount @2 :UInt64;
  delegate @3 :Data;
  state @4 :UInt8;
  nativeAmount @5 :UInt64;
  delegatedAmount @6 :UInt64;
  closeAuthority @7 :Data;
}
