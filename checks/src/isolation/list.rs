//! The list of the kinds of state.

use super::kinds::{Act, Clean, Ends, Kind, Planted, Spoil};
use touchstone_executor::abi::Abi;

const fn act(export: &'static str) -> Act {
    with_input(export, &[])
}

const fn with_input(export: &'static str, input: &'static [u8]) -> Act {
    Act { export, abi: Abi::Substrate, input }
}

const fn returning(export: &'static str) -> Spoil {
    Spoil { act: act(export), ends: Ends::Returning }
}

const fn trapping(export: &'static str) -> Spoil {
    Spoil { act: act(export), ends: Ends::Trapping }
}

const fn recursing(export: &'static str) -> Spoil {
    Spoil { act: act(export), ends: Ends::Recursing }
}

/// A call with an input that no later call should see.
const fn given(export: &'static str, abi: Abi, ends: Ends) -> Spoil {
    Spoil { act: Act { export, abi, input: &[0x5a; 5000] }, ends }
}

const MEMORY: Planted = Planted::Text(include_str!("guests/memory.wat"));
const GLOBALS: Planted = Planted::Text(include_str!("guests/globals.wat"));
const TABLE: Planted = Planted::Text(include_str!("guests/table.wat"));
const GROWN: Planted = Planted::Text(include_str!("guests/grown.wat"));
const HALFWAY: Planted = Planted::Text(include_str!("guests/halfway.wat"));
const INPUT: Planted = Planted::Text(include_str!("guests/input.wat"));
const GROWING: &[Spoil] = &[
    returning("spoil_by_two"),
    returning("spoil_twice"),
    returning("spoil_to_the_limit"),
    returning("spoil_every_other"),
    trapping("trap"),
];
const TABLE_GROWING: &[Spoil] =
    &[returning("spoil_grow"), returning("spoil_grow_to_the_limit"), trapping("trap_grown")];
/// Output of `observe` on the half-way guest: a global, and three places in memory.
const UNTOUCHED: Clean = Clean::Words(&[0, 0, 0x6174_6164, 0]);

/// All kinds, in the order of the tables.
pub static KINDS: &[Kind] = &[
    Kind {
        name: "memory_below_data",
        group: "memory",
        what: "memory below the data",
        planted: MEMORY,
        observe: act("below"),
        clean: Clean::Zeros(4096),
        spoils: &[returning("spoil_below"), trapping("trap_below"), returning("spoil_every_page")],
        lasting: true,
    },
    Kind {
        name: "memory_data",
        group: "memory",
        what: "memory that data segments fill",
        planted: MEMORY,
        observe: act("data"),
        clean: Clean::Bytes(b"planted data: what every clean instance has here"),
        spoils: &[returning("spoil_data"), trapping("trap_data"), returning("spoil_every_page")],
        lasting: true,
    },
    Kind {
        name: "memory_data_over_pages",
        group: "memory",
        what: "a data segment over a border of pages",
        planted: Planted::Text(include_str!("guests/border.wat")),
        observe: act("observe"),
        clean: Clean::Bytes(b"over a border"),
        spoils: &[returning("spoil"), returning("spoil_behind"), trapping("trap")],
        lasting: true,
    },
    Kind {
        name: "memory_above_data",
        group: "memory",
        what: "memory above the data",
        planted: MEMORY,
        observe: act("above"),
        clean: Clean::Zeros(65_530 - 4144),
        spoils: &[returning("spoil_above"), trapping("trap_above"), returning("spoil_every_page")],
        lasting: true,
    },
    Kind {
        name: "memory_last_page",
        group: "memory",
        what: "the memory's last page of 64 KiB",
        planted: MEMORY,
        observe: act("far"),
        clean: Clean::Zeros(65_536),
        spoils: &[returning("spoil_far"), trapping("trap_far"), returning("spoil_every_page")],
        lasting: true,
    },
    Kind {
        name: "memory_of_rust_guest",
        group: "memory",
        what: "the heap of the built Rust guest; the one kind that a baseline without modules has",
        planted: Planted::Built("test-runtime", 16),
        // Behind the heap base, within the first pages: a clean byte is zero.
        observe: with_input("test_peek", &2_000_000_u32.to_le_bytes()),
        clean: Clean::Bytes(&[0]),
        spoils: &[Spoil {
            act: with_input("test_poke", &[0x80, 0x84, 0x1e, 0x00, 0x5a]),
            ends: Ends::Returning,
        }],
        lasting: true,
    },
    Kind {
        name: "shadow_stack",
        group: "stack",
        what: "the shadow stack: its pointer, and what is below it",
        planted: Planted::Text(include_str!("guests/stack.wat")),
        observe: act("observe"),
        clean: Clean::Words(&[4096, 0]),
        spoils: &[
            returning("spoil_frames"),
            returning("spoil_content"),
            trapping("trap_within"),
            trapping("trap_exhausted"),
        ],
        lasting: true,
    },
    Kind {
        name: "locals",
        group: "stack",
        what: "locals that nobody has set",
        planted: Planted::Text(include_str!("guests/locals.wat")),
        observe: act("observe"),
        clean: Clean::Words(&[0]),
        spoils: &[returning("spoil_frames"), trapping("trap_within")],
        lasting: false,
    },
    Kind {
        name: "call_depth",
        group: "stack",
        what: "the stack that executors count or keep: calls go as deep as on a new instance",
        planted: Planted::Text(include_str!("guests/depth.wat")),
        observe: act("observe"),
        clean: Clean::Words(&[400]),
        spoils: &[trapping("trap_deep"), recursing("trap_exhausted")],
        lasting: false,
    },
    Kind {
        name: "globals_exported",
        group: "globals",
        what: "exported mutable globals, one of each type of number",
        planted: GLOBALS,
        observe: act("exported"),
        clean: Clean::Words(&[11, -12_i64 as u64, 0x3e80_0000, 0x3ff8_0000_0000_0000]),
        spoils: &[returning("spoil"), returning("spoil_some"), trapping("trap")],
        lasting: true,
    },
    Kind {
        name: "globals_hidden",
        group: "globals",
        what: "mutable globals that no export shows",
        planted: GLOBALS,
        observe: act("hidden"),
        clean: Clean::Words(&[21, -22_i64 as u64, 0x3f00_0000, 0x4004_0000_0000_0000]),
        spoils: &[returning("spoil"), returning("spoil_some"), trapping("trap")],
        lasting: true,
    },
    Kind {
        name: "global_reference",
        group: "globals",
        what: "a mutable global that holds a reference",
        planted: Planted::Text(include_str!("guests/references.wat")),
        observe: act("observe"),
        clean: Clean::Words(&[1]),
        spoils: &[returning("spoil")],
        lasting: true,
    },
    Kind {
        name: "table_entries",
        group: "tables",
        what: "entries of a table: set, filled, copied, initialised",
        planted: TABLE,
        observe: act("entries"),
        clean: Clean::Words(&[1231]),
        spoils: &[
            returning("spoil_set"),
            returning("spoil_fill"),
            returning("spoil_copy"),
            returning("spoil_init"),
            trapping("trap_set"),
        ],
        lasting: true,
    },
    Kind {
        name: "table_size",
        group: "tables",
        what: "the size of a table that was grown",
        planted: TABLE,
        observe: act("size"),
        clean: Clean::Words(&[4]),
        spoils: TABLE_GROWING,
        lasting: true,
    },
    Kind {
        name: "table_left",
        group: "tables",
        what: "the entries that a table can be grown by",
        planted: TABLE,
        observe: act("left"),
        clean: Clean::Words(&[6]),
        spoils: TABLE_GROWING,
        lasting: true,
    },
    Kind {
        name: "segment_data",
        group: "segments",
        what: "a passive data segment that was dropped",
        planted: Planted::Text(include_str!("guests/data_segment.wat")),
        observe: act("observe"),
        clean: Clean::Words(&[42]),
        spoils: &[returning("spoil"), trapping("trap")],
        lasting: true,
    },
    Kind {
        name: "segment_elements",
        group: "segments",
        what: "a passive element segment that was dropped",
        planted: Planted::Text(include_str!("guests/element_segment.wat")),
        observe: act("observe"),
        clean: Clean::Words(&[7]),
        spoils: &[returning("spoil"), trapping("trap")],
        lasting: true,
    },
    Kind {
        name: "grown_size",
        group: "growth",
        what: "the size of a memory that was grown",
        planted: GROWN,
        observe: act("size"),
        clean: Clean::Words(&[3]),
        spoils: GROWING,
        lasting: true,
    },
    Kind {
        name: "grown_content",
        group: "growth",
        what: "what was written to grown pages, seen when the next call grows",
        planted: GROWN,
        observe: act("content"),
        clean: Clean::Zeros(131_072),
        spoils: GROWING,
        lasting: true,
    },
    Kind {
        name: "grown_left",
        group: "growth",
        what: "the pages that a memory can be grown by",
        planted: GROWN,
        observe: act("left"),
        clean: Clean::Words(&[9]),
        spoils: GROWING,
        lasting: true,
    },
    Kind {
        name: "halfway_trap",
        group: "half-way",
        what: "memory and a global after a trap of each kind",
        planted: HALFWAY,
        observe: act("observe"),
        clean: UNTOUCHED,
        spoils: &[
            trapping("trap_unreachable"),
            trapping("trap_load"),
            trapping("trap_store"),
            trapping("trap_divide"),
            trapping("trap_convert"),
            trapping("trap_null"),
            trapping("trap_type"),
            trapping("trap_result"),
            recursing("trap_recurse"),
        ],
        lasting: true,
    },
    Kind {
        name: "halfway_bulk",
        group: "half-way",
        what: "memory and a table after a bulk operation over their ends",
        planted: Planted::Text(include_str!("guests/bulk.wat")),
        observe: act("observe"),
        clean: Clean::Words(&[0, 0, 1]),
        spoils: &[
            trapping("trap_fill"),
            trapping("trap_copy"),
            trapping("trap_init"),
            trapping("trap_table"),
        ],
        lasting: true,
    },
    Kind {
        name: "halfway_host",
        group: "half-way",
        what: "memory and a global after an import that is missing or refuses",
        planted: HALFWAY,
        observe: act("observe"),
        clean: UNTOUCHED,
        spoils: &[trapping("trap_missing"), trapping("trap_refused"), trapping("trap_exhausted")],
        lasting: true,
    },
    Kind {
        name: "halfway_deadline",
        group: "half-way",
        what: "memory and a global after a call that its deadline stopped",
        planted: HALFWAY,
        observe: act("observe"),
        clean: UNTOUCHED,
        spoils: &[Spoil { act: act("endless"), ends: Ends::Stopped }],
        lasting: true,
    },
    Kind {
        name: "host_heap",
        group: "host",
        what: "the addresses that the host's allocator gives",
        planted: Planted::Text(include_str!("guests/heap.wat")),
        observe: act("observe"),
        clean: Clean::Words(&[70_008, 70_024, 70_048]),
        spoils: &[returning("spoil_taken"), returning("spoil_freed"), trapping("trap_freed_twice")],
        lasting: true,
    },
    Kind {
        name: "host_placed_input",
        group: "host",
        what: "an earlier call's input and output, in memory behind the own input",
        planted: INPUT,
        observe: with_input("beyond", b"x"),
        clean: Clean::Zeros(131_072 - 70_009),
        spoils: &[
            given("take", Abi::Substrate, Ends::Returning),
            given("echo", Abi::Substrate, Ends::Returning),
            given("trap", Abi::Substrate, Ends::Trapping),
        ],
        lasting: true,
    },
    Kind {
        name: "host_kept_input",
        group: "host",
        what: "an earlier call's input that the host keeps for guests to fetch",
        planted: INPUT,
        observe: act("kept"),
        clean: Clean::Zeros(16),
        spoils: &[
            given("fetch", Abi::Input, Ends::Returning),
            given("fetch_not", Abi::Input, Ends::Returning),
            given("fetch_and_trap", Abi::Input, Ends::Trapping),
        ],
        lasting: true,
    },
    Kind {
        name: "start_function",
        group: "start",
        what: "what the start function does, which has to be as new",
        planted: Planted::Text(include_str!("guests/start.wat")),
        observe: act("observe"),
        clean: Clean::Words(&[6, 16_392, 7]),
        spoils: &[returning("spoil"), trapping("trap")],
        lasting: true,
    },
    Kind {
        name: "start_growth",
        group: "start",
        what: "the pages that the start function grows the memory by, and those behind them",
        planted: Planted::Text(include_str!("guests/start_growth.wat")),
        observe: act("observe"),
        clean: Clean::Words(&[3, 5, 6, 3, 0, 0]),
        spoils: &[
            returning("spoil"),
            returning("spoil_by_one"),
            returning("spoil_to_the_limit"),
            trapping("trap"),
        ],
        lasting: true,
    },
];
