//! Tampered files of compiled code. A runtime runs the code that it maps, so each must be refused
//! before.

use super::attack::Class;
use super::bench::{Bench, PATIENT, well_behaved};
use anyhow::{Context, Result, bail};
use std::io::{Seek, Write};
use touchstone::plan::Random;
use touchstone_executor::adapter::{CompiledCode, MeasuredEngine};
use touchstone_executor::guest::{GuestModule, HeapPages};
use touchstone_executor::{Artifact, CodeFrom, Error, Strategy};

/// Flipped bits in the body, one at a time.
const FLIPPED: usize = 64;

/// The strategy of the class that keeps code in files, if the engine has one.
pub(super) fn strategy(engine: &dyn MeasuredEngine, class: Class) -> Result<Option<Strategy>> {
    Ok(class.strategy(engine, &well_behaved()?, CodeFrom::Precompiled))
}

/// Tries all tampered files. After each, the staged file is restored and must load.
pub(super) fn make(bench: &mut Bench<'_>) -> Result<()> {
    let guest = well_behaved()?;
    let strategy = strategy(&**bench.engine, bench.class)?.context("no strategy with a file")?;
    let artifact = bench.compile(&guest, strategy)?;
    artifact.stage(strategy)?;
    let code = artifact.code(bench.engine.id())?.context("an artifact without code")?;
    for (name, bytes) in tampered(bench, code.bytes(), &guest)? {
        write(code, &bytes)?;
        let loaded = bench.engine.load(&guest, &artifact, strategy, &bench.config(PATIENT));
        match loaded {
            Err(Error::BadArtifact { .. }) => {
                bench.saw("refused: its file is not what was staged".to_owned());
            }
            Err(error) => bail!("{name} reached the runtime, which said: {error}"),
            Ok(_) => bail!("{name} was loaded"),
        }
        write(code, code.bytes())?;
    }
    for (name, guest, artifact) in foreign(bench, strategy)? {
        match bench.engine.load(&guest, &artifact, strategy, &bench.config(PATIENT)) {
            Err(Error::BadArtifact { .. }) => {
                bench.saw("refused: it was made from something else".to_owned());
            }
            Err(error) => bail!("{name}: {error}"),
            Ok(_) => bail!("{name} was loaded"),
        }
    }
    let module = bench.engine.load(&guest, &artifact, strategy, &bench.config(PATIENT))?;
    let mut instance = module.new_instance()?;
    bench.answers(&*module, &mut *instance).context("what was staged, put back")
}

/// Names and contents of tampered files.
fn tampered(
    bench: &mut Bench<'_>,
    code: &[u8],
    guest: &GuestModule,
) -> Result<Vec<(String, Vec<u8>)>> {
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    let mut add = |name: String, bytes: Vec<u8>| all.push((name, bytes));
    for length in [0, 1, 64, code.len() / 2, code.len() - 1] {
        add(format!("cut off after {length} bytes"), code[..length.min(code.len())].to_vec());
    }
    add("with a byte more".to_owned(), [code, &[0]].concat());
    let mut random = Random::new(1);
    let mut below = |limit: usize| (random.next_number() % limit as u64) as usize;
    add("random bytes".to_owned(), (0..code.len()).map(|_| below(256) as u8).collect());
    add("zeros".to_owned(), vec![0; code.len()]);
    let flipped = |at: usize, bit: usize| {
        let mut bytes = code.to_vec();
        bytes[at] ^= 1 << bit;
        (format!("bit {bit} of byte {at} flipped"), bytes)
    };
    for at in 0..64.min(code.len()) {
        all.push(flipped(at, at % 8));
    }
    for _ in 0..FLIPPED {
        all.push(flipped(below(code.len()), below(8)));
    }
    let changed = of_another_version(code, bench.engine.version());
    all.extend(changed.map(|bytes| ("of another version".to_owned(), bytes)));
    let changed = for_another_processor(code);
    all.extend(changed.map(|bytes| ("for another processor".to_owned(), bytes)));
    for other in bench.others.iter().filter(|other| other.id() != bench.engine.id()) {
        let config = bench.config(PATIENT);
        let Some(strategy) = Class::Plain.strategy(&**other, guest, CodeFrom::Precompiled) else {
            continue;
        };
        let Ok(artifact) = other.compile(guest, strategy, &config) else { continue };
        if let Some(other_code) = artifact.code(other.id())?
            && other_code.bytes() != code
        {
            all.push((format!("of {}", other.id()), other_code.bytes().to_vec()));
        }
    }
    Ok(all)
}

/// The code with another version number in it, if it has one.
fn of_another_version(code: &[u8], version: &str) -> Option<Vec<u8>> {
    let number =
        version.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let at = code.windows(number.len()).position(|window| window == number.as_bytes())?;
    let mut bytes = code.to_vec();
    bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
    Some(bytes)
}

/// The code with another machine in its ELF header, if it is ELF.
fn for_another_processor(code: &[u8]) -> Option<Vec<u8>> {
    /// Offset of the machine in the header.
    const MACHINE: usize = 18;
    if !code.starts_with(b"\x7fELF") || code.len() < 64 {
        return None;
    }
    let mut bytes = code.to_vec();
    let (x86, arm) = ([62, 0], [183, 0]);
    let other = if bytes[MACHINE..MACHINE + 2] == x86 { arm } else { x86 };
    bytes[MACHINE..MACHINE + 2].copy_from_slice(&other);
    Some(bytes)
}

/// Artifacts of another engine and of another guest.
fn foreign(
    bench: &mut Bench<'_>,
    strategy: Strategy,
) -> Result<Vec<(String, GuestModule, Artifact)>> {
    let guest = well_behaved()?;
    let wasm =
        wat::parse_str("(module (memory (export \"memory\") 1 1) (data (i32.const 8) \"x\"))")?;
    let other_guest = GuestModule::new("other", &wasm, HeapPages::default())?;
    let of_other_guest = bench.compile(&other_guest, strategy)?;
    let mut all = vec![("of another guest".to_owned(), guest.clone(), of_other_guest)];
    let other = bench.others.iter().find(|other| {
        other.id() != bench.engine.id()
            && Class::Plain.strategy(&***other, &guest, CodeFrom::InProcess).is_some()
    });
    if let Some(other) = other
        && let Some(plain) = Class::Plain.strategy(&**other, &guest, CodeFrom::InProcess)
    {
        let artifact = other.compile(&guest, plain, &Default::default())?;
        all.push((format!("an artifact of {}", other.id()), guest, artifact));
    }
    Ok(all)
}

/// Overwrites the file of staged code, as a process with its descriptor could.
fn write(code: &CompiledCode, bytes: &[u8]) -> Result<()> {
    let mut file = code.stage()?;
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(bytes)?;
    Ok(())
}
