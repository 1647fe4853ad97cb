//! CoreMark 1.0 of EEMBC, in the Rust port of the crate `coremark`: the 2K performance run.
//!
//! The argument is the number of iterations. The output has the checksums of CoreMark's report and
//! no score, because the host measures the time. Exits with 1 if a checksum is not the one that
//! EEMBC publishes for this run.

use coremark::types::{LIST_KNOWN_CRC, MATRIX_KNOWN_CRC, STATE_KNOWN_CRC};
use coremark::{Config, run};
use std::process::ExitCode;

/// Index of the 2K performance run in the published checksums.
const PERFORMANCE: usize = 3;

fn main() -> ExitCode {
    let Some(iterations) = std::env::args().nth(1).and_then(|text| text.parse().ok()) else {
        eprintln!("usage: coremark ITERATIONS");
        return ExitCode::from(2);
    };
    let results = run(&Config { iterations, ..Config::default() });
    println!("iterations {}", results.iterations);
    println!("seedcrc    {:#06x}", results.seedcrc);
    println!("crclist    {:#06x}", results.crclist);
    println!("crcmatrix  {:#06x}", results.crcmatrix);
    println!("crcstate   {:#06x}", results.crcstate);
    println!("crcfinal   {:#06x}", results.crcfinal);
    let found = [results.crclist, results.crcmatrix, results.crcstate];
    let published = [LIST_KNOWN_CRC, MATRIX_KNOWN_CRC, STATE_KNOWN_CRC];
    ExitCode::from(u8::from(found != published.map(|known| known[PERFORMANCE])))
}
