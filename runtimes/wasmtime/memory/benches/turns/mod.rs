//! Two sides of a case in turns, in fresh processes.

use std::hash::{BuildHasher, RandomState};
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;
/// One call, from a clean instance to the next.
pub(crate) type Call = Box<dyn FnMut()>;

/// Work that two sides do: its name, and the sides.
pub(crate) type Case = (&'static str, fn() -> Result<[Call; 2]>);

const PROCESSES: usize = 12;
const PAIRS: usize = 400;
const SLOT: Duration = Duration::from_micros(100);

/// Nanoseconds of a call, over a slot.
fn slot(call: &mut Call, calls: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        call();
    }
    start.elapsed().as_nanos() as f64 / f64::from(calls)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The medians of both sides and of the ratios, in this process.
fn measure(sides: fn() -> Result<[Call; 2]>) -> Result<[f64; 3]> {
    let mut sides = sides()?;
    let calls = sides.each_mut().map(|call| {
        slot(call, 2000);
        (SLOT.as_nanos() as f64 / slot(call, 2000)).ceil() as u32
    });
    let mut times = [Vec::new(), Vec::new()];
    let random = RandomState::new();
    for pair in 0..PAIRS {
        let first = (random.hash_one(pair) & 1) as usize;
        for side in [first, 1 - first] {
            times[side].push(slot(&mut sides[side], calls[side]));
        }
    }
    let mut ratios: Vec<f64> =
        times[0].iter().zip(&times[1]).map(|(one, other)| one / other).collect();
    let [mut one, mut other] = times;
    Ok([median(&mut one), median(&mut other), median(&mut ratios)])
}

/// Measures each case in twelve processes, and prints the median of their ratios. The second lowest
/// and second highest are an interval of 99 % for it. Without cargo's `--bench`, as by
/// `cargo test`, each side makes a few calls.
pub(crate) fn run(names: [&str; 2], cases: &[Case]) -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, child, case] = &arguments[..]
        && child == "--child"
    {
        let [one, other, ratio] = measure(cases[case.parse::<usize>()?].1)?;
        println!("{one} {other} {ratio}");
        return Ok(());
    }
    if !arguments.iter().any(|argument| argument == "--bench") {
        for (_, sides) in cases {
            sides()?.iter_mut().for_each(|call| (0..3).for_each(|_| call()));
        }
        return Ok(());
    }
    for (case, (name, _)) in cases.iter().enumerate() {
        let mut columns = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..PROCESSES {
            let mut child = Command::new(std::env::current_exe()?);
            let output = child.args(["--child", &case.to_string()]).output()?;
            if !output.status.success() {
                return Err(String::from_utf8_lossy(&output.stderr).into());
            }
            let text = String::from_utf8(output.stdout)?;
            for (column, number) in columns.iter_mut().zip(text.split_whitespace()) {
                column.push(number.parse()?);
            }
        }
        let [one, other, ratio] = columns.each_mut().map(|column| median(column));
        let [.., ratios] = &columns;
        let (low, high) = (ratios[1], ratios[PROCESSES - 2]);
        println!(
            "{name}: {} {one:.0} ns, {} {other:.0} ns, ratio {ratio:.3} [{low:.3}–{high:.3}]",
            names[0], names[1]
        );
    }
    Ok(())
}
