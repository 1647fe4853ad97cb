//! Runs that a signal ends at random moments.

use super::Scenario;
use super::job::Job;
use super::place::Place;
use anyhow::Result;
use nix::sys::signal::Signal;
use std::time::{Duration, Instant};
use touchstone::supervise::Death;

/// Sends the signal to each of the rounds' runs.
pub(super) fn rounds(place: &mut Place<'_>, signal: Signal, workers: bool) -> Result<Scenario> {
    let mut scenario = Scenario::default();
    let code = 128 + signal as i32;
    let whole = undisturbed(place, workers)?;
    for _ in 0..place.rounds() {
        let job = Job { workers, ..place.job() };
        let moment = place.random(whole.as_micros() as u64);
        let mut running = place.start(&job)?;
        running.has_begun()?;
        std::thread::sleep(Duration::from_micros(moment));
        running.signal(signal)?;
        let ran = running.ends()?;
        // The run may have ended before.
        let ended = ran.death.is_success()
            || match signal {
                Signal::SIGKILL => ran.death == Death::Signal(signal.to_string()),
                _ => ran.death == Death::Exit(code),
            };
        scenario.expect(ended, || format!("after {signal} it {}", ran.death));
        scenario.rounds += 1;
        // This writes, which proves that the file has no other holder.
        scenario.look_after(place, &job, &ran.told)?;
    }
    if signal != Signal::SIGKILL {
        scenario.said = format!("exit code {code}");
    }
    Ok(scenario)
}

/// Duration of a run without a signal, from its first cell.
fn undisturbed(place: &mut Place<'_>, workers: bool) -> Result<Duration> {
    let job = Job { workers, ..place.job() };
    let mut running = place.start(&job)?;
    running.has_begun()?;
    let started = Instant::now();
    running.ends()?;
    Ok(started.elapsed())
}
