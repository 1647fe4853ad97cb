# The records of this crate as Cap'n Proto. `src/records_capnp.rs` is made from this file:
#
#     capnp compile -orust:src records.capnp
#
# with the compiler 0.9.2 (Debian's package capnproto) and the plugin capnpc-rust of
# capnpc 0.27.0.
@0xc266f50d80536348;

enum Color { red @0; green @1; blue @2; }

enum Team { humans @0; orcs @1; zombies @2; robots @3; aliens @4; }

struct Vec3 {
  x @0 :Float32;
  y @1 :Float32;
  z @2 :Float32;
}

struct Weapon {
  damage @0 :Int32;
  ammo @1 :UInt16;
  clipSize @2 :UInt8;
  reloadTime @3 :Float32;
  range @4 :Int32;
}

struct Monster {
  pos @0 :Vec3;
  mana @1 :Int16;
  health @2 :Int16;
  name @3 :Text;
  team @4 :Team;
  inventory @5 :Data;
  color @6 :Color;
  hitbox @7 :List(Float64);
  status @8 :List(Int32);
  weapons @9 :List(Weapon);
  path @10 :List(Vec3);
  isAlive @11 :Bool;
}

struct Monsters {
  monsters @0 :List(Monster);
}

struct Reading {
  timestamp @0 :Int64;
  value @1 :Float32;
}

struct TemperatureBatch {
  readings @0 :List(Reading);
}
