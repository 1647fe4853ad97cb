//! The built guests, on every engine and strategy: what each export answers,
//! and that no answer depends on the calls before.

use crate::everywhere::{
    compiled, everywhere, from_each_source, load, on_every_engine, runs_modules,
};
use records_payload::Codec;
use std::collections::BTreeSet;
use touchstone::case::Guests;
use touchstone_executor::guest::{Growth, GuestModule, HeapPages};
use touchstone_executor::{Abi, Config, Error, Instance, Module, Outcome, Strategy, TrapKind};

/// One call; `None` where the engine says that it does not have the export, or
/// the part of it that was asked for.
fn call(
    module: &dyn Module,
    instance: &mut dyn Instance,
    export: &str,
    input: &[u8],
) -> Option<(Outcome, Vec<u8>)> {
    let mut output = Vec::new();
    let called = module
        .export(export, Abi::Substrate)
        .and_then(|export| instance.call(export, input, &mut output));
    match called {
        Ok(outcome) => Some((outcome, output)),
        Err(Error::ExportUnsupported { reason, .. }) => {
            assert!(!reason.trim().is_empty(), "{export}");
            None
        }
        Err(error) => panic!("{export}: {error}"),
    }
}

fn hex(text: &str) -> Vec<u8> {
    touchstone::case::parse_hex(&format!("0x{text}")).unwrap()
}

fn guest(name: &str, extra: u32, growth: Growth) -> GuestModule {
    Guests::built().module(name, HeapPages { extra, growth }).unwrap()
}

/// Whatever ran before, these answer the same.
#[test]
fn test_runtime_answers_alike_after_everything() {
    let of_size = |growth| guest("test-runtime", 32, growth);
    let (fixed, growing) = (of_size(Growth::Fixed), of_size(Growth::UpTo(64)));
    let before = growing.info().memory.unwrap().minimum.to_le_bytes();
    let heap_base = growing.info().heap_base.unwrap();
    let dirty = [heap_base.to_le_bytes(), 16_u32.to_le_bytes()].concat();
    // The first page that `test_dirty_plenty_memory` writes.
    let first_page = heap_base.next_multiple_of(65_536);
    let poke = [&first_page.to_le_bytes()[..], &[0x5a]].concat();
    let answers: Vec<(&str, Vec<u8>, Vec<u8>)> = vec![
        ("test_empty_return", vec![], vec![]),
        ("test_count", vec![], hex("2a00000001000000")),
        ("test_echo", b"hello".to_vec(), b"hello".to_vec()),
        ("test_dirty_plenty_memory", dirty, vec![]),
        ("test_poke", poke, vec![]),
        ("test_peek", first_page.to_le_bytes().to_vec(), vec![0]),
        ("test_sum_heap", 256_u32.to_le_bytes().to_vec(), vec![0; 4]),
        ("test_allocate", hex("0a00000064000000"), hex("b412aa41")),
        (
            "test_normalize",
            hex("c3a920efac8120c38520ed959c"),
            hex("65cc8120efac812041cc8a20e18492e185a1e186ab"),
        ),
        (
            "test_hash",
            b"\x01abc".to_vec(),
            hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ),
        ("test_max_level", vec![], vec![0; 4]),
    ];
    let traps: [(&str, TrapKind); 5] = [
        ("test_trap", TrapKind::Unreachable),
        ("test_divide_by_zero", TrapKind::DivisionByZero),
        ("test_stack_overflow", TrapKind::StackOverflow),
        ("test_out_of_bounds_read", TrapKind::MemoryOutOfBounds),
        (
            "test_missing_import",
            TrapKind::MissingImport {
                module: "env".to_owned(),
                name: "ext_touchstone_missing_version_1".to_owned(),
            },
        ),
    ];
    let mut endless = touchstone_runtimes::engines();
    endless.retain(|engine| !engine.capabilities().recursion);
    let answers_alike = |engine: &str, strategy: Strategy, module: &dyn Module| {
        let name = format!("{engine} {strategy}");
        let ends_the_process = endless.iter().any(|endless| endless.id() == engine);
        let mut instance = module.new_instance().unwrap();
        let mut lacking = BTreeSet::new();
        for round in 0..2 {
            for (export, input, expected) in &answers {
                let Some((outcome, output)) = call(module, &mut *instance, export, input) else {
                    lacking.insert(*export);
                    continue;
                };
                assert_eq!(outcome, Outcome::Returned, "{name} {export} round {round}");
                assert_eq!(&output, expected, "{name} {export} round {round}");
            }
            for (export, kind) in &traps {
                if *kind == TrapKind::StackOverflow && ends_the_process {
                    continue;
                }
                let Some((outcome, _)) = call(module, &mut *instance, export, &[]) else {
                    lacking.insert(*export);
                    continue;
                };
                assert_eq!(outcome.trap().map(|trap| &trap.kind), Some(kind), "{name} {export}");
            }
            let (outcome, _) =
                call(module, &mut *instance, "test_out_of_bounds_result", &[]).unwrap();
            assert!(
                matches!(outcome.trap().map(|trap| &trap.kind), Some(TrapKind::BadResult { .. })),
                "{name} {outcome:?}"
            );
        }
        if !lacking.is_empty() {
            println!("{name} does not have {lacking:?}");
        }
        // An engine that runs the module has all of it.
        assert!(lacking.is_empty() || !runs_modules(module), "{name} does not have {lacking:?}");
        assert!(lacking.len() < answers.len(), "{name} does not have {lacking:?}");
    };
    from_each_source(&fixed, answers_alike);
    everywhere(&growing, |engine, strategy, module| {
        answers_alike(engine, strategy, module);
        // Growth starts from the same size on every call.
        let mut instance = module.new_instance().unwrap();
        for _ in 0..3 {
            let grown = call(module, &mut *instance, "test_grow", &3_u32.to_le_bytes()).unwrap().1;
            assert_eq!(grown, before, "{engine} {strategy}");
            let bomb = call(module, &mut *instance, "test_memory_bomb", &[]).unwrap().1;
            assert_eq!(bomb, 64_u32.to_le_bytes(), "{engine} {strategy}");
        }
    });
}

#[test]
fn core_runtime_answers_with_its_version() {
    let guest = guest("core-runtime", 2048, Growth::Fixed);
    assert_eq!(guest.info().imports.len(), 44);
    let expected =
        hex("28746f75636873746f6e653c746f75636873746f6e652d636f72650100000030000000000000001\
         8df6acb689907609b0500000037e397fc7c91f5e40200000040fe3ad401f8959a06000000d2bc98\
         97eed08f1503000000bc9d89904f5b923f01000000af2c0297a23e6d3d0b0000000700000001");
    everywhere(&guest, |engine, strategy, module| {
        let mut instance = module.new_instance().unwrap();
        let (outcome, output) = call(module, &mut *instance, "Core_version", &[]).unwrap();
        assert_eq!((outcome, output), (Outcome::Returned, expected.clone()), "{engine} {strategy}");
        let (outcome, _) = call(module, &mut *instance, "Metadata_metadata", &[]).unwrap();
        assert!(
            matches!(outcome.trap().map(|trap| &trap.kind), Some(TrapKind::MissingImport { .. })),
            "{engine} {strategy}: {outcome:?}"
        );
    });
}

/// LLVM takes two minutes for the large guest. `touchstone bench` compares its answers there.
const COMPILES_FOR_MINUTES: &str = "wasmedge_aot";

/// The large guest's real code, once per engine.
#[test]
fn large_runtime_really_computes() {
    let guest = guest("large-runtime", 256, Growth::Fixed);
    let info = guest.info();
    assert!(info.data_bytes >= 1 << 20 && info.functions >= 3000, "{}", info.data_bytes);
    let digests = [
        "443353e7102b78c369bb3fe8a74e6dffe2ac7daed0df4673f63c2cf1d759e4e9",
        "e23ee759fd840282939f072bc3095c6c5efbbe4d81f25d313c0b0b51dea51854",
        "7b104dab85e2482aeee806f61f457af0f66afdbc62db27e80a2d483535fd1979",
        "66283cb5aa9a017cd2e3ede52cf1b058346fa008d727dc4308c19842ddd3bc9b",
        "a8471a4c280725b34bed4ca19d3136d322c49b1c67f685d87b2edbb3526da6df",
        "72b50f439304c3ce2cdda2fb8eb63f115dea1a941f08c4f722f981d6ab5525ad",
        "9e98c5dbdf6fd42893418579026433d2bf83cc639789c329d97abec685039992",
        "e7baddd709552bd68d9f496c88cc3a27ed61781fc2d914df90bc7df6c1360ad3",
        "ee199561feabd9b6eea78b105f14f889bda918dc95e4598f8c8bbefdd74f562e",
        "5cee1fefe866eeb184af93289181b68a3fd27a887b596f1f3618e5cb5385d877",
        "be662f6c6119dfe9064246a99dcf71440a70c4cfdd769e6b8704f3d14c5f4a6f",
    ];
    on_every_engine(|engine| {
        if engine.id() == COMPILES_FOR_MINUTES {
            return;
        }
        let strategy = Strategy::all()
            .into_iter()
            .find(|strategy| engine.support_for(*strategy, &guest).is_supported())
            .unwrap();
        let artifact = compiled::artifact(&**engine, &guest, strategy, &Config::default()).unwrap();
        let module = load(engine, &guest, &artifact, strategy);
        let mut instance = module.new_instance().unwrap();
        for (selector, digest) in digests.iter().enumerate() {
            let input = [&(selector as u32).to_le_bytes()[..], b"touchstone"].concat();
            let answer = call(&*module, &mut *instance, "large_exercise", &input);
            let Some((outcome, output)) = answer else {
                assert!(!runs_modules(&*module), "{} lacks piece {selector}", engine.id());
                println!("{} does not have piece {selector}", engine.id());
                continue;
            };
            assert_eq!(outcome, Outcome::Returned, "{} {selector}", engine.id());
            assert_eq!(output, hex(digest), "{} {selector}", engine.id());
        }
    });
}

/// The sizes that the guests' documentation has are those of the files.
#[test]
fn documented_sizes_are_those_of_the_files() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/test-runtime");
    let text = std::fs::read_to_string(format!("{folder}/README.md")).unwrap();
    let mut compared = BTreeSet::new();
    for line in text.lines() {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let name = cells.get(1).map(|cell| cell.trim_matches('`').trim_end_matches(".wasm"));
        let Some(name) = name.filter(|name| cells.len() > 3 && !name.is_empty()) else { continue };
        let Ok(file) = std::fs::metadata(format!("{folder}/built/{name}.wasm")) else { continue };
        // The size is the first cell that is a number.
        let number = |cell: &&str| cell.replace(',', "").parse::<u64>().ok();
        let Some(size) = cells.iter().find_map(number) else { continue };
        assert_eq!(file.len(), size, "{name}");
        compared.insert(name);
    }
    assert!(compared.len() > 20, "{compared:?}");
}

/// The lines of code that the guests' documentation has for each format.
#[test]
fn documented_lines_are_those_of_the_sources() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/test-runtime");
    let document = std::fs::read_to_string(format!("{folder}/README.md")).unwrap();
    let lines = |path: &str| {
        let text = std::fs::read_to_string(format!("{folder}/{path}"));
        text.map_or(0, |text| text.lines().count())
    };
    for codec in Codec::ALL {
        let name = codec.name();
        let generated = match codec {
            Codec::FlatBuffers => lines("records-payload/src/generated.rs"),
            Codec::CapnProto => lines("records-payload/src/records_capnp.rs"),
            _ => 0,
        };
        let own = std::fs::read_dir(format!("{folder}/{name}/src")).into_iter().flatten();
        let own = own.map(|file| file.unwrap().file_name().into_string().unwrap());
        let own: usize = own.map(|file| lines(&format!("{name}/src/{file}"))).sum();
        let by_hand = own + lines(&format!("records-payload/src/{name}.rs"));
        let row = document.lines().find(|line| line.starts_with(&format!("| `batch-{name}` ")));
        let cells: Vec<_> = row.unwrap().split('|').map(str::trim).collect();
        let number = |cell: &str| cell.replace(',', "").parse().unwrap_or(0);
        assert_eq!([number(cells[5]), number(cells[6])], [generated, by_hand], "{name}");
    }
}
