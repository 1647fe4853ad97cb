//! The targets on files of the project, changed at random: a fixed row in `make test`,
//! as many as there is time for in `make fuzz`.

use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use touchstone::plan::{Budget, Plan};
use touchstone::run::header;
use touchstone_executor::Strategy;
use touchstone_fuzz_targets::{
    Mutations, Target, arguments, blob, cases, codecs, inspection, module, outputs, records,
};
use touchstone_record::{
    CellKey, Comparison, Contender, Count, Executor, Line, Match, Means, Metric, Observations,
    Purpose, RecordFile, Refusal, Sample, Samples, Setup, Sink, Status,
};

/// Changed files of the fixed row.
const FIXED: u64 = 300;
/// Larger files would be most of the time.
const LARGEST: u64 = 200 << 10;

/// Names, targets, and where the files are that are changed.
fn targets() -> [(&'static str, Target, Vec<Vec<u8>>); 8] {
    let built = files("test-runtime/built", "wasm");
    let blobs = built.iter().map(|wasm| compress_to_vec(&wasm[..], CompressionLevel::Fastest));
    let blobs = blobs.collect();
    let messages: Vec<_> =
        messages().chain(files("test-runtime/inputs/signatures", "bin")).collect();
    [
        ("inspection", inspection, built.clone()),
        ("module", module, built),
        ("arguments", arguments, arguments_texts()),
        ("blob", blob, blobs),
        ("cases", cases, files("benches/cases", "toml")),
        ("records", records, record_files()),
        ("outputs", outputs, record_files()),
        ("codecs", codecs, messages),
    ]
}

/// Types in the first line, then a parameter a line.
fn arguments_texts() -> Vec<Vec<u8>> {
    ["iIfF\n-1\n0xffffffffffffffff\n2.5\n-inf", "ii\n4294967295\n+0x7f", "F\nnan", "i\n[1, {}]"]
        .map(|text| text.as_bytes().to_vec())
        .to_vec()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn files(folder: &str, extension: &str) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .iter()
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .filter(|path| path.metadata().unwrap().len() <= LARGEST)
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

/// Record files of a header and one line below it, of every kind of line that a run makes,
/// and a few of the stored ones.
fn record_files() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records.jsonl");
    let file_of = |line: &Line| {
        let mut file = RecordFile::append_to(&path).unwrap();
        file.clear().unwrap();
        let header = header(Budget::quick(1).sampling(false), &[], &Plan::default());
        file.append(&Line::Run(Box::new(header))).unwrap();
        file.append(line).unwrap();
        std::fs::read(&path).unwrap()
    };
    let mut files: Vec<Vec<u8>> = lines().iter().map(file_of).collect();
    for stored in self::files("records", "jsonl") {
        let lines: Vec<&[u8]> = stored.split_inclusive(|byte| *byte == b'\n').collect();
        let Some((header, lines)) = lines.split_first() else { continue };
        let some = lines.chunks(2).step_by(lines.len() / 20 + 1);
        files.extend(some.map(|some| [header, &some.concat()[..]].concat()));
    }
    files
}

fn lines() -> [Line; 5] {
    let strategy: Strategy = "instance_reuse".parse().unwrap();
    let (case, guest) = ("a case".to_owned(), "a guest".to_owned());
    let executor = Executor { engine: "engine".to_owned(), strategy };
    let cell = CellKey {
        case: case.clone(),
        guest: guest.clone(),
        engine: "engine".to_owned(),
        strategy,
        threads: 2,
    };
    let sample = |calls, clean| Sample { calls, total: 1234.5, slowest: calls / 2, clean };
    let samples = Samples(vec![sample(10, true), sample(12, false), sample(11, true)]);
    let side = |means| Contender { executor: executor.clone(), threads: 1, means };
    let of = Match {
        purpose: Purpose::Peers,
        case: case.clone(),
        guest: guest.clone(),
        subject: side(Means::After { case: "other".to_owned(), skip: 3, burst: 4 }),
        baseline: side(Means::Bursts { skip: 3, burst: 4 }),
    };
    [
        Line::Setup(Setup {
            executor: executor.clone(),
            guest: guest.clone(),
            emulated: Some("how".to_owned()),
            effective: BTreeMap::from([("key".to_owned(), None)]),
        }),
        Line::Observations(Observations {
            cell,
            process: 1,
            probe_ns: 0,
            metrics: Metric::ALL.iter().map(|metric| (*metric, samples.clone())).collect(),
        }),
        Line::Refusal(Refusal {
            engine: "engine".to_owned(),
            strategy: Some(strategy),
            guest: Some(guest.clone()),
            case: Some(case.clone()),
            threads: Some(2),
            status: Status::Failed,
            reason: "why".to_owned(),
        }),
        Line::Comparison(Box::new(Comparison {
            of,
            process: 0,
            rounds: vec![(1.5, 2.0), (1.0, 3.25)],
            noisy: vec![1],
        })),
        Line::Count(Count {
            case,
            guest,
            guest_sha256: "00".to_owned(),
            metrics: BTreeMap::from([(Metric::Operators, 7)]),
            counted_by: vec!["engine".to_owned()],
        }),
    ]
}

fn messages() -> impl Iterator<Item = Vec<u8>> {
    let (monsters, readings) = (records_payload::monsters(3, 2, 1), records_payload::batch(5, 1));
    [
        records_payload::karmem::encode(&monsters, <[u8]>::to_vec),
        records_payload::karmem::write(&readings, <[u8]>::to_vec),
        records_payload::capnproto::encode(&monsters, <[u8]>::to_vec),
        records_payload::capnproto::write(&readings, <[u8]>::to_vec),
        records_payload::flatbuffers::encode(&monsters, <[u8]>::to_vec),
        records_payload::flatbuffers::write(&readings, <[u8]>::to_vec),
        records_payload::json::encode(&monsters, <[u8]>::to_vec),
        records_payload::json::write(&readings, <[u8]>::to_vec),
    ]
    .into_iter()
}

/// Runs a target on a row until it is told to stop; returns how many files it took.
fn run(
    name: &str,
    target: Target,
    corpus: &[Vec<u8>],
    seed: u64,
    mut going: impl FnMut(u64) -> ControlFlow<()>,
) -> u64 {
    for file in corpus {
        target(file);
    }
    let mut done = 0;
    for bytes in Mutations::new(corpus, seed) {
        if going(done).is_break() {
            break;
        }
        if catch_unwind(AssertUnwindSafe(|| target(&bytes))).is_err() {
            let path = std::env::temp_dir().join(format!("touchstone-{name}-{seed}-{done}"));
            std::fs::write(&path, &bytes).unwrap();
            panic!("{name}: file {done} of seed {seed}, kept as {}", path.display());
        }
        done += 1;
    }
    done
}

#[test]
fn nothing_that_is_read_brings_the_harness_down() {
    for (name, target, corpus) in targets() {
        run(name, target, &corpus, 1, |done| match done {
            FIXED => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
    }
}

/// `make fuzz`: a tenth of `FUZZ_SECONDS` for each target, from `FUZZ_SEED` on.
#[test]
#[ignore = "takes as long as it is told to; make fuzz runs it"]
fn fuzz() {
    let told = |name: &str, default: u64| -> u64 {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    let (seconds, seed) = (told("FUZZ_SECONDS", 60), told("FUZZ_SEED", 1));
    for (name, target, corpus) in targets() {
        let end = Instant::now() + Duration::from_millis(seconds * 100);
        let done = run(name, target, &corpus, seed, |_| match Instant::now() < end {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        });
        println!("{name}: {done} files of seed {seed}, none brought it down");
    }
}
