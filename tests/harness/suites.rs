//! Files of cases: suites, what their scenarios are called, and what is wrong with them.

use crate::mocked::{Place, engines, one_strategy};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use touchstone::case::{self, Case, Guests, digest};
use touchstone::plan::{Cell, Filter, Plan};
use touchstone::record::{Role, Status, Sweep, preference};
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_executor::harness::mock::{Answer, MockEngine};
use touchstone_executor::{Abi, Engine, MemoryFrom, Strategy, Support};

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
sweep  = "distinct"
budget_s = 0.5
role   = "payload"

[[suite.scenarios.also]]
export = "other"
input  = { file = "inputs/small.json" }
output = "0x00"
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
        for input in case.also.iter().map(|also| &also.input).chain([&case.input]) {
            input.bytes(None).map_err(|error| format!("{error:#}"))?;
        }
    }
    Ok(cases)
}

/// Changes one thing in a text, which has to be there.
fn with(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from:?} is not in the text");
    text.replacen(from, to, 1)
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
    assert_eq!((nothing.warm, &nothing.take, &nothing.codec), (false, &None, &None));
    assert_eq!(decode.codec.as_deref(), Some("dictionary"));
    assert_eq!(decode.expect.output.bytes(None).unwrap(), b"done");
    assert_eq!((decode.sweep, decode.role), (Sweep::Distinct, Some(Role::Payload)));
    assert_eq!(decode.budget(), Some(Duration::from_millis(500)));
    assert_eq!((nothing.sweep, nothing.role, nothing.budget()), (Sweep::All, None, None));
    let [also] = &decode.also[..] else { panic!("{:?}", decode.also) };
    assert_eq!((also.export.as_deref(), nothing.also.len()), (Some("other"), 0));
    assert_eq!(also.output.bytes(None).unwrap(), [0]);
    assert_eq!((decode.warm, decode.take.unwrap().export), (true, "take".to_owned()));
}

/// A guest that has what the suite calls.
const GUEST: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "noop")) (func (export "take")) (func (export "run")))"#;

/// The plan of some cases, on guests that are all the same module.
fn plan(cases: &[Case], engines: &[Arc<dyn MeasuredEngine>]) -> Plan {
    let folder = tempfile::tempdir().unwrap();
    let wasm = wat::parse_str(GUEST).unwrap();
    let mut sums = String::new();
    for name in ["guest-one", "guest-two"] {
        std::fs::write(folder.path().join(format!("{name}.wasm")), &wasm).unwrap();
        sums += &format!("{}  {name}.wasm\n", digest(&wasm));
    }
    std::fs::write(folder.path().join("SHA256SUMS"), sums).unwrap();
    Plan::new(cases, engines, &mut Guests::in_folder(folder.path())).unwrap()
}

fn of<'a>(plan: &'a Plan, case: &str, guest: &str) -> Vec<&'a Cell> {
    plan.cells.iter().filter(|cell| cell.key.case == case && cell.guest == guest).collect()
}

#[test]
fn titles_are_the_first_part_of_the_names() {
    let cases = load(SUITE).unwrap();
    let plan = plan(&cases, &engines([&MockEngine::new("mock")]));
    let noop = of(&plan, "nothing", "guest-one")[0];
    assert!(noop.name().starts_with("first guest/noop/"));
    assert_eq!(noop.key.work(), "nothing_from_guest_one");
    let names: Vec<String> = of(&plan, "decode", "guest-two").iter().map(|c| c.name()).collect();
    assert!(names.contains(&"second guest/small input/mock_pooling/1_threads".to_owned()));
    // A filter matches these names.
    let filter = Filter::new(Some("^second guest/noop/mock_pooling/")).unwrap();
    let chosen = plan.cells.iter().filter(|cell| filter.matches(&cell.name()));
    assert_eq!(chosen.count(), 1);
    // The report knows them from the head of the run.
    let title = plan.works.iter().find(|work| work.guest == "guest_two" && work.case == "decode");
    assert_eq!(title.unwrap().title.as_deref(), Some("second guest/small input"));
    // A case without titles is called as ever.
    let plain = Place::new("[1]").plan(&engines([&MockEngine::new("mock")]));
    assert!(plain.cells[0].name().starts_with("echo_from_guest/"));
}

#[test]
fn a_sweep_says_under_which_strategies_a_case_is_run() {
    let cases = load(SUITE).unwrap();
    let plan = plan(&cases, &engines([&MockEngine::new("mock")]));
    let is_variant = |strategy: Strategy| strategy.memory == MemoryFrom::Gated;
    let all = Strategy::all().into_iter();
    let all = all.filter(|strategy| !is_variant(*strategy));
    let nothing = of(&plan, "nothing", "guest-one");
    assert!(nothing.iter().map(|cell| cell.key.strategy).eq(all));
    // What differs in the load alone is left out, and so are Touchstone's pools.
    let distinct = of(&plan, "decode", "guest-one");
    assert!(!distinct.is_empty() && distinct.len() < Strategy::all().len());
    let strategies = || distinct.iter().map(|cell| cell.key.strategy);
    assert!(strategies().all(|strategy| !strategy.is_precompiled()));
    assert!(strategies().all(|strategy| !strategy.pooled));
    assert!(!strategies().any(is_variant));
    // The suite's sweep is that of all scenarios without one of their own.
    let text = with(SUITE, "codec ", "sweep = \"preferred\"\ncodec ");
    let sweeps: Vec<Sweep> = load(&text).unwrap().iter().map(|case| case.sweep).collect();
    assert_eq!(sweeps, [Sweep::Preferred, Sweep::Distinct]);
}

/// An engine that executes guests as another one does.
struct Like(MockEngine, &'static str);

impl Engine for Like {
    fn id(&self) -> &'static str {
        self.0.id()
    }

    fn version(&self) -> &str {
        self.0.version()
    }

    fn execution(&self) -> touchstone_executor::Execution {
        self.0.execution()
    }

    fn support(&self, strategy: Strategy) -> Support {
        self.0.support(strategy)
    }

    fn compile(
        &self,
        guest: &touchstone_executor::guest::GuestModule,
        strategy: Strategy,
        config: &touchstone_executor::Config,
    ) -> touchstone_executor::Result<touchstone_executor::Artifact> {
        self.0.compile(guest, strategy, config)
    }

    fn load(
        &self,
        guest: &touchstone_executor::guest::GuestModule,
        artifact: &touchstone_executor::Artifact,
        strategy: Strategy,
        config: &touchstone_executor::Config,
    ) -> touchstone_executor::Result<Box<dyn touchstone_executor::Module>> {
        self.0.load(guest, artifact, strategy, config)
    }
}

impl MeasuredEngine for Like {
    fn executes_like(&self) -> Option<&'static str> {
        Some(self.1)
    }
}

#[test]
fn a_case_about_the_guests_work_runs_once_on_each_way_to_execute() {
    let text = with(SUITE, "codec ", "sweep = \"preferred\"\ncodec ");
    let cases = &load(&text).unwrap()[..1];
    let like = |id, other| Arc::new(Like(MockEngine::new(id), other)) as Arc<dyn MeasuredEngine>;
    let mock = Arc::new(MockEngine::new("mock")) as Arc<dyn MeasuredEngine>;
    let plan_of = plan(cases, &[Arc::clone(&mock), like("twin", "mock"), like("orphan", "none")]);
    let executors: Vec<String> = of(&plan_of, "nothing", "guest-one")
        .iter()
        .map(|cell| cell.key.executor().to_string())
        .collect();
    // The strategy that a user would prefer, of each engine but the one that executes like another.
    let best = Strategy::all()
        .into_iter()
        .filter(|strategy| !strategy.is_precompiled() && !strategy.pooled)
        .min_by_key(|strategy| preference(*strategy))
        .unwrap();
    assert_eq!(executors, [format!("mock_{best}"), format!("orphan_{best}")]);
    let refusal = plan_of.refusals.iter().find(|refusal| refusal.engine == "twin").unwrap();
    assert_eq!((refusal.status, refusal.case.as_deref()), (Status::NotAsked, Some("nothing")));
    assert!(refusal.reason.contains("as mock does"), "{}", refusal.reason);
    // Alone, that engine is asked.
    assert_eq!(plan(cases, &[like("twin", "mock")]).cells.len(), 2);
}

#[test]
fn what_is_wrong_with_a_suite_is_said() {
    for (from, to, says) in [
        ("abi    = \"codec\"", "abi    = \"bytes\"", None),
        ("\"distinct\"", "\"distnict\"", Some("distnict")),
        ("budget_s = 0.5", "budget_s = 0.0", Some("a budget that is no time above 0 s")),
        ("\"payload\"", "\"pay\"", Some("pay")),
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
        ("sweep = \"some\"", "some"),
        ("strategies = [\"pooled\"]", "pooled"),
        ("without = [{ engine = \"wasmi\" }]", "missing field `reason`"),
        ("budget_s = -1.0", "a budget that is no time above 0 s"),
        ("input = { file = \"inputs/none.json\" }", "cannot read "),
        ("input = { json_checksum = 1023, seed = 1 }", "1024 bytes or more"),
        ("input = { json = 2000 }", "an input or output is"),
        (SUITE, "must contain either [case] or [suite]"),
    ] {
        let error = load(&format!("{CASE}{added}\n")).unwrap_err();
        assert!(error.contains(says), "{added}: {error}");
    }
    for (expect, says) in [
        ("\"0x\"", "expected { output = … }, written as an input: \"0x…\", { text"),
        ("{ output = 7 }", "an input or output is \"0x…\", { text"),
        ("{ outptu = \"0x\" }", "unknown field `outptu`, expected `output`"),
    ] {
        let error = load(&with(CASE, "{ output = \"0x\" }", expect)).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
    let codec = load(&with(CASE, "\"plain\"", "\"codec\"")).unwrap_err();
    assert!(codec.contains("names a codec where the convention is codec"), "{codec}");
    let empty = load("").unwrap_err();
    assert!(empty.contains("must contain either [case] or [suite]"), "{empty}");
}

#[test]
fn strategies_narrow_a_sweep_and_engines_are_left_out_with_the_reason() {
    let narrowed = "threads  = [1]\nstrategies = [\"pooling\", \"instance_reuse\"]\n\
        without = [{ engine = \"slow\", reason = \"it takes a day\" }]";
    let cases = load(&with(SUITE, "threads  = [1]", narrowed)).unwrap();
    let plan = plan(&cases, &engines([&MockEngine::new("mock"), &MockEngine::new("slow")]));
    let mut strategies: Vec<String> =
        of(&plan, "nothing", "guest-one").iter().map(|c| c.key.strategy.to_string()).collect();
    strategies.sort();
    assert_eq!(strategies, ["instance_reuse", "pooling"]);
    assert!(plan.cells.iter().all(|cell| cell.key.engine == "mock"));
    let left_out = plan.refusals.iter().find(|refusal| refusal.reason == "it takes a day").unwrap();
    assert_eq!((&*left_out.engine, left_out.status), ("slow", Status::NotAsked));
}

/// Files are read when the cell is opened: one that is gone costs its cell alone.
#[test]
fn an_input_that_is_gone_is_a_failed_cell() {
    let place = Place::of(&with(
        crate::mocked::CASE,
        "input    = [{ u32 = 42 }]",
        "input    = { file = \"gone.json\" }",
    ));
    let ran = place.run_all(&one_strategy("mock"));
    let [refusal] = ran.refusals()[..] else { panic!("{:?}", ran.refusals()) };
    assert_eq!(refusal.status, Status::Failed);
    let reason = &refusal.reason;
    assert!(reason.contains("cannot read ") && reason.contains("gone.json"), "{reason}");
}

/// Their paths are from the folder of the case file, for inputs and outputs.
#[test]
fn files_lie_beside_the_case() {
    let text = with(crate::mocked::CASE, "[{ u32 = 42 }]", "{ file = \"SHA256SUMS\" }");
    let text = with(&text, "\"0x2a000000\"", "{ file = \"SHA256SUMS\" }");
    let place = Place::of(&text);
    let engine = one_strategy("mock").answering(|call| {
        assert!(call.input.ends_with(b"  guest.wasm\n"));
        Answer::Output(call.input.to_vec())
    });
    assert_eq!(place.run_all(&engine).came.cells.measured, 1);
}

#[test]
fn a_wrong_case_file_is_named_with_line_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let error = |name: &str, content: &str| {
        std::fs::write(folder.path().join(name), content).unwrap();
        case::load_all(folder.path()).map_err(|error| format!("{error:#}")).err()
    };
    assert_eq!(error("case.toml", CASE), None);
    for (text, says) in [
        (format!("{CASE}thread = 3\n"), &["case.toml", "line 9, column 1", "`thread`"][..]),
        (CASE.replace("[1]", "\"all\""), &["line 6, column 11"]),
        (CASE.replace("[1]", "[0]"), &["threads from 1 upwards"]),
        (String::new(), &["either [case] or [suite]"]),
    ] {
        let error = error("case.toml", &text).unwrap();
        assert!(says.iter().all(|part| error.contains(part)), "{error}");
    }
    // All files at once, and all cases of a suite.
    error("case.toml", &CASE.replace("[1]", "[0]"));
    let suite = SUITE.replace("threads  = [1]", "threads  = []");
    let all = error("other.toml", &suite).unwrap();
    let says = ["the case 'c' in", "the case 'nothing' in", "the case 'decode' in"];
    assert!(says.iter().all(|part| all.contains(part)) && all.lines().count() == 3, "{all}");
    let all = error("other.toml", "[case]\nnam = 1\n").unwrap();
    assert!(all.contains("the case 'c' in") && all.contains("`nam`"), "{all}");
    error("case.toml", CASE);
    let twice = error("other.toml", CASE).unwrap();
    assert!(twice.contains("two cases") && twice.contains("'c'"), "{twice}");
    let nowhere = case::load_all(Path::new("/does/not/exist")).unwrap_err().to_string();
    assert!(nowhere.contains("cannot read the cases in /does/not/exist"), "{nowhere}");
}
