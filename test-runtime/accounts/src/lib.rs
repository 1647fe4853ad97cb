//! A guest that reads and edits a token account, in thirteen encodings: a field of it, two of
//! them, or all.
//!
//! What an encoding yields goes through `black_box`, so that no compiler can leave out the
//! decoding of what nobody looks at.

#![no_std]

extern crate alloc;

use core::hint::black_box;

use guest_support::Output;

pub mod account;
#[allow(
    dead_code,
    missing_docs,
    rust_2018_idioms,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "made by capnpc-rust"
)]
#[rustfmt::skip]
mod account_capnp;
#[allow(
    dead_code,
    missing_docs,
    rust_2018_idioms,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    reason = "made by planus"
)]
#[rustfmt::skip]
mod account_generated;
mod archive;
pub mod capnproto;
pub mod decoded;
pub mod fixed_codecs;
mod in_place;
pub mod varying;
pub mod varying_codecs;
mod views;

use capnproto::CapnProto;
use fixed_codecs::{Bincode, Borsh, Wincode};
use varying_codecs::{FlatBuffers, Json, MessagePack, Postcard, Protobuf};
use views::{Bytemuck, Transmute, Zerocopy};

/// Takes the input and does nothing with it.
fn take(input: &[u8]) -> Output {
    black_box(input);
    Output::EMPTY
}

guest_support::export! {
    fetch = take,
    transmute_full = in_place::full::<Transmute> [in place],
    transmute_read_owner = in_place::read_owner::<Transmute> [in place],
    transmute_update_amount = in_place::update_amount::<Transmute> [in place],
    bytemuck_full = in_place::full::<Bytemuck> [in place],
    bytemuck_read_owner = in_place::read_owner::<Bytemuck> [in place],
    bytemuck_update_amount = in_place::update_amount::<Bytemuck> [in place],
    zerocopy_full = in_place::full::<Zerocopy> [in place],
    zerocopy_read_owner = in_place::read_owner::<Zerocopy> [in place],
    zerocopy_update_amount = in_place::update_amount::<Zerocopy> [in place],
    rkyv_full = archive::full [in place],
    rkyv_read_owner = archive::read_owner [in place],
    rkyv_update_amount = archive::update_amount [in place],
    bincode_full = decoded::full::<Bincode> [in place],
    bincode_read_owner = decoded::read_owner::<Bincode> [in place],
    bincode_update_amount = decoded::update_amount::<Bincode> [in place],
    borsh_full = decoded::full::<Borsh> [in place],
    borsh_read_owner = decoded::read_owner::<Borsh> [in place],
    borsh_update_amount = decoded::update_amount::<Borsh> [in place],
    wincode_full = decoded::full::<Wincode> [in place],
    wincode_read_owner = decoded::read_owner::<Wincode> [in place],
    wincode_update_amount = decoded::update_amount::<Wincode> [in place],
    postcard_full = varying::full::<Postcard>,
    postcard_read_owner = varying::read_owner::<Postcard> [in place],
    postcard_update_amount = varying::update_amount::<Postcard>,
    capnproto_full = varying::full::<CapnProto>,
    capnproto_read_owner = varying::read_owner::<CapnProto> [in place],
    capnproto_update_amount = varying::update_amount::<CapnProto>,
    flatbuffers_full = varying::full::<FlatBuffers>,
    flatbuffers_read_owner = varying::read_owner::<FlatBuffers> [in place],
    flatbuffers_update_amount = varying::update_amount::<FlatBuffers>,
    messagepack_full = varying::full::<MessagePack>,
    messagepack_read_owner = varying::read_owner::<MessagePack> [in place],
    messagepack_update_amount = varying::update_amount::<MessagePack>,
    protobuf_full = varying::full::<Protobuf>,
    protobuf_read_owner = varying::read_owner::<Protobuf> [in place],
    protobuf_update_amount = varying::update_amount::<Protobuf>,
    json_full = varying::full::<Json>,
    json_read_owner = varying::read_owner::<Json> [in place],
    json_update_amount = varying::update_amount::<Json>,
}
