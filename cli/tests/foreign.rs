//! `touchstone run` on modules that others have published. `foreign/modules.toml` names each with
//! its version and digest. They are fetched into `target/foreign`; where a registry cannot be
//! reached, its modules are left out with a message.

#[path = "../../tests/fixtures/command.rs"]
mod command;
#[path = "foreign/registry.rs"]
mod registry;

use command::{Ran, touchstone};
use rayon::prelude::*;
use registry::{Registry, Source};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use touchstone_executor::Strategy;
use touchstone_executor::guest::{GuestModule, HeapPages};

/// Bytes of a module that WasmEdge's compiler gets: it takes about a second for each. Its
/// interpreter gets all.
const SMALL: u64 = 30_000;

/// Clients of registries that run at the same time.
const FETCHERS: usize = 4;

/// A new instance per call: every engine that runs anybody's module has one of the two.
const STRATEGIES: &str = "interpreted,recreate_instance";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Modules {
    module: Vec<Module>,
}

#[derive(Deserialize)]
struct Module {
    #[serde(flatten)]
    source: Source,
    /// Call this export.
    call: String,
    /// Its parameters.
    #[serde(default)]
    args: Vec<String>,
    /// `true` to call its constructors first.
    #[serde(default = "yes")]
    constructors: bool,
    /// The answer to imports that the host does not have.
    imports: Option<String>,
    /// Modules of `foreign/` that answer imports, by the name of the imports.
    #[serde(default)]
    link: BTreeMap<String, String>,
    /// The result on every engine, in the words of `--json`.
    output: Option<String>,
    /// Words of the reason for which every engine refuses the module.
    refused: Option<String>,
    /// Engines without a result, and words of their reasons.
    #[serde(default)]
    without: BTreeMap<String, String>,
}

fn yes() -> bool {
    true
}

fn modules() -> Vec<Module> {
    let modules: Modules = toml::from_str(include_str!("foreign/modules.toml")).unwrap();
    modules.module
}

/// The engines of this build that run anybody's module under one of the strategies.
fn engines() -> BTreeSet<String> {
    let plain = wat::parse_str(r#"(module (func (export "f")))"#).unwrap();
    let plain = GuestModule::new("plain", &plain, HeapPages::default()).unwrap();
    let strategies: Vec<Strategy> =
        STRATEGIES.split(',').map(|name| name.parse().unwrap()).collect();
    touchstone_runtimes::engines()
        .iter()
        .filter(|engine| {
            strategies.iter().any(|strategy| engine.support_for(*strategy, &plain).is_supported())
        })
        .map(|engine| engine.id().to_owned())
        .collect()
}

impl Module {
    fn name(&self) -> String {
        let Source { registry, package, version, path, .. } = &self.source;
        format!("{registry:?} {package} {version} {path}")
    }

    /// Calls the export, and compares what every engine did.
    fn check(&self, file: &Path, engines: &BTreeSet<String>) -> Result<(), String> {
        let is_small = std::fs::metadata(file).is_ok_and(|file| file.len() <= SMALL);
        let is_asked =
            |id: &&String| is_small || *id != "wasmedge_aot" || self.without.contains_key(*id);
        let asked: Vec<&str> = engines.iter().filter(is_asked).map(String::as_str).collect();
        if asked.is_empty() {
            return Ok(());
        }
        let (path, backend) = (file.display().to_string(), format!("^({})$", asked.join("|")));
        let mut arguments = vec!["run", &path, "--call", &self.call, "--json"];
        arguments.extend(["--backend", &backend, "--strategy", STRATEGIES]);
        if self.output.is_some() {
            arguments.extend(["--abi", "plain"]);
        }
        if let Some(imports) = &self.imports {
            arguments.extend(["--imports", imports]);
        }
        if !self.constructors {
            arguments.push("--no-constructors");
        }
        if !self.args.is_empty() {
            arguments.push("--args");
            arguments.extend(self.args.iter().map(String::as_str));
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign");
        let links: Vec<String> = self
            .link
            .iter()
            .map(|(name, file)| format!("--link={name}={}", folder.join(file).display()))
            .collect();
        arguments.extend(links.iter().map(String::as_str));
        let ran = touchstone(&arguments);
        match (&self.output, &self.refused) {
            (Some(output), None) => self.returned(&ran, output, &asked, &lacking(file)),
            (None, Some(words)) => refused(&ran, words),
            _ => panic!("{} has an output, or it is refused", self.name()),
        }
    }

    fn returned(
        &self,
        ran: &Ran,
        output: &str,
        asked: &[&str],
        lacking: &BTreeMap<String, String>,
    ) -> Result<(), String> {
        if !matches!(ran.code, 0 | 1) {
            return Err(ran.err.clone());
        }
        let lines = ran.lines();
        if let Some(met) = lines.iter().find_map(met_limit) {
            return Err(met);
        }
        for engine in asked {
            let told = |line: &&Value| line["backend"] == **engine;
            let (returned, others): (Vec<&Value>, Vec<&Value>) =
                lines.iter().filter(told).partition(|line| line["status"] == "returned");
            let fits = match self.without.get(*engine).or_else(|| lacking.get(*engine)) {
                // Strategies that an engine does not have are unsupported.
                None => {
                    !returned.is_empty()
                        && returned.iter().all(|line| line["output"] == output)
                        && others.iter().all(|line| line["status"] == "unsupported")
                }
                Some(words) => {
                    let says = |line: &&Value| line["reason"].as_str().unwrap().contains(words);
                    returned.is_empty() && others.iter().any(says)
                }
            };
            if !fits {
                return Err(format!("{engine} differs\n{}{}", ran.out, ran.err));
            }
        }
        Ok(())
    }
}

/// The engines that lack a feature of the module, and the feature's name, which is in their
/// reasons.
fn lacking(file: &Path) -> BTreeMap<String, String> {
    let bytes = std::fs::read(file).unwrap();
    let Ok(guest) = GuestModule::new("foreign", &bytes, HeapPages::default()) else {
        return BTreeMap::new();
    };
    let lacking = touchstone_runtimes::engines().into_iter().filter_map(|engine| {
        let missing = guest.info().features.minus(engine.capabilities().features);
        Some((engine.id().to_owned(), missing.iter().next()?.name().to_owned()))
    });
    lacking.collect()
}

/// The limit that ended a combination. That is no result, so it is no difference either.
fn met_limit(line: &Value) -> Option<String> {
    let [engine, strategy, status, reason] = ["backend", "strategy", "status", "reason"]
        .map(|key| line[key].as_str().unwrap_or_default());
    matches!(status, "over_limit" | "stopped")
        .then(|| format!("{engine} {strategy} ran into a limit: {reason}"))
}

fn refused(ran: &Ran, words: &str) -> Result<(), String> {
    let nowhere = !ran.out.contains(r#""status":"returned""#);
    match ran.code != 0 && nowhere && (ran.err.contains(words) || ran.out.contains(words)) {
        true => Ok(()),
        false => Err(format!("not refused with '{words}': {}{}", ran.out, ran.err)),
    }
}

/// Prints a line that is shown although the test passes.
fn say(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// The files of all modules whose registry can be reached, several fetched at a time: the clients
/// mostly wait. A failure of a registry that has given nothing yet tells that it cannot be reached.
fn fetched(modules: Vec<Module>) -> Vec<(Module, PathBuf)> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../foreign");
    let reached: Mutex<BTreeMap<Registry, bool>> = Mutex::default();
    let fetch = |module: Module| {
        if let Some(file) = module.source.cached(&cache) {
            return Some((module, file));
        }
        let (registry, name) = (module.source.registry, module.name());
        if reached.lock().unwrap().get(&registry) == Some(&false) {
            say(&format!("left out: {name}"));
            return None;
        }
        let fetched = module.source.fetch_into(&cache);
        let is_reached = {
            let mut reached = reached.lock().unwrap();
            *reached
                .entry(registry)
                .and_modify(|was| *was |= fetched.is_ok())
                .or_insert(fetched.is_ok())
        };
        let error = match fetched {
            Ok(file) => return Some((module, file)),
            Err(error) => error,
        };
        assert!(!is_reached, "{name}: {error}");
        say(&format!("left out, {registry:?} cannot be reached ({error}): {name}"));
        None
    };
    let threads = rayon::ThreadPoolBuilder::new().num_threads(FETCHERS).build().unwrap();
    threads.install(|| modules.into_par_iter().filter_map(fetch).collect())
}

#[test]
fn thirty_foreign_modules_are_named_and_most_return() {
    let modules = modules();
    let digests: BTreeSet<&str> = modules.iter().map(|known| &*known.source.sha256).collect();
    assert_eq!(digests.len(), modules.len());
    assert!(modules.len() >= 30, "{}", modules.len());
    let returned = modules.iter().filter(|known| known.output.is_some()).count();
    assert!(returned >= 25, "{returned}");
    let registries: BTreeSet<Registry> =
        modules.iter().map(|known| known.source.registry).collect();
    assert_eq!(registries.len(), 3);
}

/// As on a machine that is too slow.
#[test]
fn a_limit_that_was_met_is_no_difference() {
    let folder = command::Folder::new();
    let endless = folder.module(
        r#"(module (func $start (loop $again (br $again))) (start $start)
            (func (export "f") (result i32) (i32.const 1)))"#,
    );
    let run = ["run", &*endless, "--call", "f", "--json", "--timeout", "0.2"];
    let ran = touchstone(&[&run[..], &["--backend", "^wasmi$", "--strategy", STRATEGIES]].concat());
    let error =
        modules()[0].returned(&ran, "0x01000000", &["wasmi"], &BTreeMap::new()).unwrap_err();
    assert!(error.starts_with("wasmi interpreted ran into a limit: "), "{error}");
    let reason = "the compiler of a took longer than 60 s (--compile-timeout SECONDS)";
    let line = json!({"backend": "a", "strategy": "b", "status": "over_limit", "reason": reason});
    assert_eq!(met_limit(&line), Some(format!("a b ran into a limit: {reason}")));
    let line = json!({"backend": "a", "strategy": "b", "status": "crashed", "reason": "SIGSEGV"});
    assert_eq!(met_limit(&line), None);
}

#[test]
fn a_file_with_another_digest_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let source = &modules()[0].source;
    assert_eq!(source.cached(folder.path()), None);
    let file = folder.path().join(format!("{}.wasm", source.sha256));
    std::fs::write(&file, "another file").unwrap();
    assert_eq!(source.cached(folder.path()), None);
    let source = Source { sha256: registry::digest(b"a file"), ..source.clone() };
    let file = folder.path().join(format!("{}.wasm", source.sha256));
    std::fs::write(&file, "a file").unwrap();
    assert_eq!(source.cached(folder.path()), Some(file));
}

#[test]
fn foreign_modules_have_one_result_on_every_engine_that_can() {
    let engines = engines();
    let failures: Vec<String> = fetched(modules())
        .par_iter()
        .filter_map(|(module, file)| {
            let error = module.check(file, &engines).err()?;
            Some(format!("{}: {error}", module.name()))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
