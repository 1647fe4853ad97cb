//! Files of cases: suites, what their scenarios are called, and what is wrong with them.

#[path = "fixtures/mocked.rs"]
#[allow(dead_code, reason = "the tests of the harness use the rest of it")]
mod mocked;

use mocked::{Fake, Place};
use std::sync::Arc;
use touchstone::case::{self, Case};
use touchstone::matrix;
use touchstone::record::Status;
use touchstone_executor::abi::Abi;
use touchstone_executor::mock::{Answer, MockEngine};
use touchstone_executor::{Engine, Strategy};

const SUITE: &str = r#"
[suite]
threads  = [1]
codec    = "dictionary"
analysis = "Two scenarios on two guests."

[[suite.guests]]
name  = "guest-one"
title = "first guest"

[[suite.guests]]
name  = "guest-two"
title = "second guest"

[[suite.scenarios]]
case   = "nothing"
title  = "noop"
export = "noop"
abi    = "input"

[[suite.scenarios]]
case   = "decode"
title  = "small input"
export = "run"
abi    = "codec"
input  = { file = "inputs/small.json" }
output = { text = "done" }
warm   = true
take   = { export = "take", abi = "input" }
against = "mock_pooling"
strategies = ["pooling", "instance_reuse_cow"]
"#;

/// Loads a file's text, from a folder with the input that suites name.
fn load(text: &str) -> Result<Vec<Case>, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("inputs")).unwrap();
    std::fs::write(folder.path().join("inputs/small.json"), "{}").unwrap();
    let path = folder.path().join("cases.toml");
    std::fs::write(&path, text).unwrap();
    let cases = case::load(&path).map_err(|error| format!("{error:#}"))?;
    // While the folder is there.
    for case in &cases {
        case.input.bytes(None).map_err(|error| format!("{error:#}"))?;
    }
    Ok(cases)
}

/// Changes one thing in a text, which has to be there.
fn with(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from:?} is not in the text");
    text.replacen(from, to, 1)
}

#[test]
fn a_backend_that_a_scenario_is_without_has_no_cells_of_it() {
    let strategies = r#"strategies = ["pooling", "instance_reuse_cow"]"#;
    let without = format!("{strategies}\nwithout = [\"mock\"]");
    let cases = load(&with(SUITE, strategies, &without)).unwrap();
    let engine: Arc<dyn Engine> = Arc::new(MockEngine::new("mock"));
    let cells = matrix::cells(&cases, &[engine]);
    assert!(!cells.is_empty());
    assert!(cells.iter().all(|cell| cell.case.name == "nothing"));
}

#[test]
fn a_slow_backend_does_without_unless_it_is_asked_for() {
    let strategies = r#"strategies = ["pooling", "instance_reuse_cow"]"#;
    let slow = with(SUITE, strategies, &format!("{strategies}\nslow = [\"mock\"]"));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("suite.toml"), slow).unwrap();
    let cases = case::load_all(folder.path()).unwrap();
    // Whoever runs the tests may ask for it.
    let asked = std::env::var_os("TOUCHSTONE_SLOW").is_some();
    let runs = |case: &Case| !case.is_without(&MockEngine::new("mock"));
    assert_eq!(cases.iter().map(runs).collect::<Vec<_>>(), [true, asked]);
}

#[test]
fn a_suite_is_a_case_for_each_scenario() {
    let [nothing, decode]: [Case; 2] = load(SUITE).unwrap().try_into().unwrap();
    for case in [&nothing, &decode] {
        assert_eq!(case.guests, ["guest-one", "guest-two"]);
        assert_eq!(case.threads, [1]);
        assert_eq!(case.analysis, "Two scenarios on two guests.");
    }
    assert_eq!((&*nothing.name, &*nothing.export, nothing.abi), ("nothing", "noop", Abi::Input));
    // What a scenario does not say is nothing; a codec goes to those that need one.
    assert_eq!(nothing.input.bytes(None).unwrap(), [0_u8; 0]);
    assert_eq!(nothing.expect.output.bytes(None).unwrap(), [0_u8; 0]);
    assert_eq!((nothing.warm, nothing.take, nothing.codec), (false, None, None));
    assert_eq!(decode.codec.as_deref(), Some("dictionary"));
    assert_eq!(decode.expect.output.bytes(None).unwrap(), b"done");
    assert_eq!(decode.against.as_deref(), Some("mock_pooling"));
    assert_eq!((decode.warm, decode.take.unwrap().export), (true, "take".to_owned()));
}

#[test]
fn titles_are_the_first_part_of_the_names() {
    let cases = load(SUITE).unwrap();
    let engines: [Arc<dyn Engine>; 1] = [Arc::new(MockEngine::new("mock"))];
    let cells = matrix::cells(&cases, &engines);
    // Chosen strategies alone, on both guests.
    assert_eq!(cells.len(), 2 * Strategy::all().len() + 2 * 2);
    let of = |case: &str, guest: &str| {
        let key = |cell: &&matrix::Cell| cell.key.case == case && cell.guest == guest;
        cells.iter().filter(key).map(|cell| cell.key.clone()).collect::<Vec<_>>()
    };
    let ids: Vec<String> = of("decode", "guest-two").iter().map(|key| key.id()).collect();
    assert_eq!(
        ids,
        [
            "second guest/small input/mock_instance_reuse_cow/1_threads",
            "second guest/small input/mock_pooling/1_threads",
        ]
    );
    let noop = &of("nothing", "guest-one")[0];
    assert_eq!((&*noop.group(), &*noop.work()), ("first guest/noop", "nothing_from_guest_one"));
    // A filter is held against these names.
    let chosen = matrix::select(cells, Some("^second guest/noop/mock_pooling/")).unwrap();
    assert_eq!(chosen.len(), 1);
    // A case without titles is called as ever.
    let plain = Place::new("[1]").cells(&engines);
    assert_eq!(plain[0].key.group(), "echo_from_guest");
}

#[test]
fn a_suite_runs_once_on_each_engine_and_not_on_those_that_are_left_out() {
    let strategies = "strategies = [\"interpreted\", \"pooling_cow\", \"recreate_instance\"]\n";
    let suite = |lines: &str| {
        let text = with(SUITE, "codec ", &format!("{strategies}{lines}codec "));
        let cases = load(&text).unwrap();
        let engines: [Arc<dyn Engine>; 2] =
            ["mock", "other"].map(|id| Arc::new(MockEngine::new(id)) as _);
        let cells = matrix::cells(&cases[..1], &engines);
        let first = |cell: &&matrix::Cell| cell.guest == "guest-one";
        cells.iter().filter(first).map(|cell| cell.key.executor()).collect::<Vec<_>>()
    };
    let runs = MockEngine::new("mock").support(Strategy::all()[0]);
    println!("interpreted: {runs:?}");
    assert_eq!(suite("").len(), 6);
    let once = suite("once = true\n");
    assert_eq!(once.len(), 2, "{once:?}");
    assert_eq!(suite("once = true\nwithout = [\"mock\"]\n"), once[1..]);
    let text = with(SUITE, "codec ", "once = true\ncodec ");
    assert!(load(&text).unwrap_err().contains("needs strategies to choose from"));
}

#[test]
fn what_is_wrong_with_a_suite_is_said() {
    for (from, to, says) in [
        ("abi    = \"codec\"", "abi    = \"bytes\"", None),
        ("\"instance_reuse_cow\"", "\"instance_reuse_cwo\"", Some("instance_reuse_cwo")),
        ("warm   = true\n", "", Some("it needs warm = true")),
        ("codec    = \"dictionary\"\n", "", Some("names a codec where the convention is codec")),
        ("threads  = [1]", "threads  = [0]", Some("threads from 1 upwards")),
        ("case   = \"nothing\"", "case   = \"no thing\"", Some("other characters than")),
        ("small.json", "large.json", Some("inputs/large.json")),
        (
            "{ file = \"inputs/small.json\" }",
            "{ json = 100, seed = 1 }",
            Some("1024 bytes or more"),
        ),
        ("title  = \"noop\"\n", "", Some("missing field `title`")),
        ("analysis", "analysys", Some("line 5, column 1")),
        ("[[suite.guests]]", "[[suite.gests]]", Some("gests")),
    ] {
        match (load(&with(SUITE, from, to)), says) {
            (Ok(_), None) => {}
            (Err(error), Some(says)) => assert!(error.contains(says), "{to}: {error}"),
            (found, _) => panic!("{to}: {found:?}"),
        }
    }
    let nobody =
        with(SUITE, "[suite]", "[suite]\nguests = []").replace("[[suite.guests]]", "[[x]]");
    assert!(load(&nobody).is_err());
}

const CASE: &str = "[case]\nname = \"c\"\nguests = [\"one\", \"two\"]\nexport = \"f\"\nabi = \"plain\"\n\
    threads = [1]\nexpect = { output = \"0x\" }\nanalysis = \"a\"\n";

#[test]
fn what_is_wrong_with_a_case_is_said() {
    let [case]: [Case; 1] =
        load(&format!("{CASE}titles = [\"a/b\", \"c\"]\n")).unwrap().try_into().unwrap();
    assert_eq!((case.title("two"), case.title("three")), (Some("c"), None));
    for (added, says) in [
        ("titles = [\"a/b\"]", "needs a title for each guest, or none"),
        ("take = { export = \"t\", abi = \"input\" }", "it needs warm = true"),
        ("codec = \"dictionary\"", "names a codec where the convention is codec"),
        ("strategies = [\"pooling\", \"poling\"]", "poling"),
        ("input = { file = \"inputs/none.json\" }", "cannot read the input"),
        ("input = { json_checksum = 1023, seed = 1 }", "1024 bytes or more"),
        ("input = { json = 2000 }", "an input is"),
        (SUITE, "has to hold either a [case] or a [suite]"),
    ] {
        let error = load(&format!("{CASE}{added}\n")).unwrap_err();
        assert!(error.contains(says), "{added}: {error}");
    }
    let codec = load(&with(CASE, "\"plain\"", "\"codec\"")).unwrap_err();
    assert!(codec.contains("names a codec where the convention is codec"), "{codec}");
    let empty = load("").unwrap_err();
    assert!(empty.contains("has to hold either a [case] or a [suite]"), "{empty}");
}

/// Files are read when the cell is opened: one that is gone costs its cell alone.
#[test]
fn an_input_that_is_gone_is_a_failed_cell() {
    let place = Place::of(&with(
        mocked::CASE,
        "input    = [{ u32 = 42 }]",
        "input    = { file = \"gone.json\" }",
    ));
    let engine = MockEngine::new("mock");
    place.run(&place.reuse_cells(&engine), &mut Fake::default());
    let cell = place.cell_records().remove(0);
    assert_eq!(cell.status, Status::Failed);
    let reason = cell.reason.unwrap();
    assert!(reason.contains("cannot read the input") && reason.contains("gone.json"), "{reason}");
}

/// Their paths are from the folder of the case file, for inputs and outputs.
#[test]
fn files_lie_beside_the_case() {
    let text = with(mocked::CASE, "[{ u32 = 42 }]", "{ file = \"SHA256SUMS\" }");
    let text = with(&text, "\"0x2a000000\"", "{ file = \"SHA256SUMS\" }");
    let place = Place::of(&text);
    let engine = MockEngine::new("mock").answering(|call| {
        assert!(call.input.ends_with(b"  guest.wasm\n"));
        Answer::Output(call.input.to_vec())
    });
    place.run(&place.reuse_cells(&engine), &mut Fake::default());
    assert_eq!(place.cell_records()[0].status, Status::Ok);
}
