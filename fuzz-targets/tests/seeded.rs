//! The targets on files of the project, changed at random: a fixed row in `make test`,
//! as many as there is time for in `make fuzz`.

use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use touchstone_fuzz_targets::{Mutations, Target, blob, cases, codecs, module, records};

/// Changed files of the fixed row.
const FIXED: u64 = 300;
/// Larger files would be most of the time.
const LARGEST: u64 = 200 << 10;

/// Names, targets, and where the files are that are changed.
fn targets() -> [(&'static str, Target, Vec<Vec<u8>>); 5] {
    let built = files("test-runtime/built", "wasm");
    let blobs = built.iter().map(|wasm| compress_to_vec(&wasm[..], CompressionLevel::Fastest));
    let blobs = blobs.collect();
    let messages: Vec<_> =
        messages().chain(files("test-runtime/inputs/signatures", "bin")).collect();
    [
        ("module", module, built),
        ("blob", blob, blobs),
        ("cases", cases, files("benches/cases", "toml")),
        ("records", records, record_files()),
        ("codecs", codecs, messages),
    ]
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

/// A few of the stored records, in files of a few lines.
fn record_files() -> Vec<Vec<u8>> {
    let stored = std::fs::read(root().join("records/records.jsonl")).unwrap();
    let lines: Vec<&[u8]> = stored.split_inclusive(|byte| *byte == b'\n').collect();
    lines.chunks(3).step_by(lines.len() / 40).map(<[&[u8]]>::concat).collect()
}

fn messages() -> impl Iterator<Item = Vec<u8>> {
    let (monsters, readings) = (records_payload::monsters(3, 2, 1), records_payload::batch(5, 1));
    [
        records_payload::karmem::encode(&monsters, <[u8]>::to_vec),
        records_payload::karmem::write(&readings, <[u8]>::to_vec),
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
