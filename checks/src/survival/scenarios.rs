//! The incidents.

use super::Scenario;
use super::check::kept;
use super::job::{Job, Mishap, PROCESSES, name};
use super::place::Place;
use anyhow::{Context, Result};
use nix::sys::signal::Signal;
use regex::{Captures, Regex};
use std::path::Path;
use std::time::{Duration, Instant};
use touchstone::record::{CellKey, Line, Status, load, worst};
use touchstone::supervise::Death;

/// Rounds of incidents without random moments.
const FEW: usize = 10;

/// Longest limit of a hanging cell, seconds.
const LONGEST: u64 = 64;

/// Longer than any error message and shorter than the records of a run, bytes.
const COMPLAINT: u64 = 1024;

/// Sends a signal to each run at a random moment.
pub(super) fn signalled(place: &mut Place<'_>, signal: Signal, workers: bool) -> Result<Scenario> {
    let mut scenario = Scenario::default();
    let code = 128 + signal as i32;
    let whole = undisturbed(place, workers)?;
    for _ in 0..place.plan.rounds {
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

/// A crash of the machine: the last line is cut off, or zero bytes replace its end.
pub(super) fn cut(place: &mut Place<'_>) -> Result<Scenario> {
    let mut scenario = Scenario::default();
    for round in 0..place.plan.rounds.min(FEW) {
        let job = place.job();
        let ran = place.run(&job)?;
        let mut bytes = std::fs::read(&job.records).context("cannot read records back")?;
        let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        let from = last + 1 + place.random((bytes.len() - last - 2) as u64) as usize;
        let zeros = if round % 2 == 0 { 0 } else { bytes.len() - from };
        bytes.truncate(from);
        bytes.resize(from + zeros, 0);
        std::fs::write(&job.records, &bytes).context("cannot cut records")?;
        let mut told = ran.told;
        // The cut record is not promised: its bytes were removed from outside.
        told.finished.pop();
        scenario.look_after(place, &job, &told)?;
    }
    Ok(scenario)
}

/// A file that cannot grow, and a device without space.
pub(super) fn full_disk(place: &mut Place<'_>) -> Result<Scenario> {
    let mut scenario = Scenario::default();
    let whole = place.job();
    place.run(&whole)?;
    let length =
        std::fs::metadata(&whole.records).context("cannot read the size of the records")?.len();
    for _ in 0..place.plan.rounds.min(FEW) {
        // The limit also holds for the file of standard error. Another run may write fewer bytes,
        // because times have fewer digits.
        let room = COMPLAINT + place.random((length * 9 / 10).saturating_sub(COMPLAINT));
        let job = Job { room: Some(room), ..place.job() };
        let ran = place.run(&job)?;
        scenario.expect(ran.death == Death::Exit(2), || format!("without room it {}", ran.death));
        scenario.tells(&ran.complaint, "cannot append to", place);
        scenario.look_after(place, &job, &ran.told)?;
    }
    let full = Path::new("/dev/full");
    if full.exists() {
        let job = Job { records: full.to_owned(), ..place.job() };
        let ran = place.run(&job)?;
        scenario.rounds += 1;
        scenario.finished += ran.told.finished.len();
        scenario.lost += ran.told.finished.len();
        scenario.expect(ran.death == Death::Exit(2), || {
            format!("on {} it {}", full.display(), ran.death)
        });
        scenario.tells(&ran.complaint, "cannot append to", place);
    }
    Ok(scenario)
}

/// Folders that not even root can create: below a file, and below `/proc`.
pub(super) fn no_folder(place: &mut Place<'_>) -> Result<Scenario> {
    let mut scenario = Scenario::default();
    let file = place.folder().join("a-file");
    std::fs::write(&file, "").context("cannot write a file")?;
    for folder in [file.as_path(), Path::new("/proc/touchstone")] {
        let job = Job { records: folder.join("records.jsonl"), ..place.job() };
        let ran = place.run(&job)?;
        scenario.rounds += 1;
        scenario.expect(ran.death == Death::Exit(2) && ran.told.finished.is_empty(), || {
            format!("below {} it {}", folder.display(), ran.death)
        });
        scenario.tells(&ran.complaint, "cannot make the folder", place);
    }
    Ok(scenario)
}

/// A second run on the same file is refused with the first one's process number, and the first
/// continues.
pub(super) fn two_runs(place: &mut Place<'_>) -> Result<Scenario> {
    let mut scenario = Scenario::default();
    for round in 0..place.plan.rounds.min(FEW) {
        let mut first = place.job();
        // A hanging cell keeps the first run busy.
        let hangs = first.cells()?[round].clone();
        first.mishaps.push((hangs, Mishap::Hang));
        let mut running = place.start(&first)?;
        running.has_begun()?;
        let second = Job { mishaps: Vec::new(), ..first.clone() };
        let ran = place.run(&second)?;
        scenario.expect(ran.death == Death::Exit(2) && ran.told.finished.is_empty(), || {
            format!("the second {}", ran.death)
        });
        scenario.expect(ran.complaint.contains("another run (process "), || {
            format!("the second was not told who holds the file: {}", ran.complaint)
        });
        scenario.tells(&ran.complaint, "is writing", place);
        running.signal(Signal::SIGKILL)?;
        let ran = running.ends()?;
        scenario.look_after(place, &first, &ran.told)?;
    }
    Ok(scenario)
}

/// A run that began under a clock centuries ahead is resumed, and a later run counts as newer.
pub(super) fn clock(place: &mut Place<'_>) -> Result<Scenario> {
    let mut scenario = Scenario::default();
    let ahead = "2999-12-31T23:59:59Z";
    for _ in 0..place.plan.rounds.min(FEW) {
        let job = place.job();
        let finished = place.run(&job)?.told.finished;
        let left = 1 + place.random(finished.len() as u64 - 1) as usize;
        let (mut early, mut seen) = (String::new(), 0);
        for (mut header, lines) in load(&job.records)?.runs {
            ahead.clone_into(&mut header.started_at);
            for line in std::iter::once(Line::Run(Box::new(header))).chain(lines) {
                seen += usize::from(matches!(line, Line::Observations(_)));
                if seen <= left {
                    early += &(serde_json::to_string(&line)? + "\n");
                }
            }
        }
        std::fs::write(&job.records, early).context("cannot write the records")?;
        let told = super::place::Told { finished: finished[..left].to_vec(), ..Default::default() };
        scenario.look_after(place, &job, &told)?;

        // A complete second run under the right clock.
        scenario.finished += place.run(&job)?.told.finished.len();
        let runs = load(&job.records)?.runs;
        let newest = runs.last().map(|(header, lines)| {
            let seen = lines.iter().filter(|line| matches!(line, Line::Observations(_))).count();
            (header.started_at == ahead, seen)
        });
        scenario.expect(newest == Some((false, finished.len())), || {
            "the newest run is not the one that was made last".to_owned()
        });
    }
    Ok(scenario)
}

/// A backend that aborts, faults, exits or panics fails its cell only.
pub(super) fn crash(place: &mut Place<'_>) -> Result<Scenario> {
    let mishaps = [
        (Mishap::Abort, "was killed by SIGABRT"),
        (Mishap::Fault, "was killed by SIGSEGV"),
        (Mishap::Killed, "was killed by SIGKILL"),
        (Mishap::Exit, "ended with exit code 3"),
        (Mishap::Panic, "ended with exit code 101"),
    ];
    let mut scenario = Scenario::default();
    let mut said = Vec::new();
    for (index, (mishap, words)) in mishaps.into_iter().enumerate() {
        takes_its_cell_down(place, &mut scenario, mishap, words, index, None)?;
        said.push(words);
    }
    scenario.said = format!("the process that ran it {}", said.join(" / "));
    Ok(scenario)
}

/// A backend that hangs is killed at the limit of its cell. On a busy machine other cells may
/// exceed a short limit too; the check then uses a longer one.
pub(super) fn hang(place: &mut Place<'_>) -> Result<Scenario> {
    let mut seconds = 1;
    loop {
        let mut scenario = Scenario::default();
        let words = format!("took longer than {seconds} s");
        let limit = Duration::from_secs(seconds);
        takes_its_cell_down(place, &mut scenario, Mishap::Hang, &words, 7, Some(limit))?;
        if seconds < LONGEST && scenario.problems.iter().any(|what| what.contains(&words)) {
            seconds *= 4;
            continue;
        }
        scenario.said = format!("the process that ran it {words}");
        return Ok(scenario);
    }
}

/// A backend that crashes in every cell fails its own cells only.
pub(super) fn always_crashes(place: &mut Place<'_>) -> Result<Scenario> {
    let mut scenario = Scenario::default();
    let mut job = Job { workers: true, ..place.job() };
    let first = job.cells()?.into_iter().filter(|cell| cell.engine == "first");
    job.mishaps = first.map(|cell| (cell, Mishap::Abort)).collect();
    let ran = place.run(&job)?;
    let words = "the process that ran it was killed by SIGABRT";
    scenario.failed_alone(&job, &|cell| cell.engine == "first", words)?;
    scenario.said = words.to_owned();
    scenario.look_after(place, &job, &ran.told)?;
    Ok(scenario)
}

fn takes_its_cell_down(
    place: &mut Place<'_>,
    scenario: &mut Scenario,
    mishap: Mishap,
    words: &str,
    which: usize,
    limit: Option<Duration>,
) -> Result<()> {
    let mut job = Job { workers: true, ..place.job() };
    job.limit = limit.unwrap_or(job.limit);
    let cell = job.cells()?[which].clone();
    job.mishaps.push((cell.clone(), mishap));
    let ran = place.run(&job)?;
    scenario.expect(ran.death == Death::Exit(1), || {
        format!("with a cell that failed it {}: {}", ran.death, ran.complaint)
    });
    scenario.expect(ran.told.said.iter().any(|said| said.contains(words)), || {
        format!("it was not told that the worker {words}")
    });
    let reason = format!("the process that ran it {words}");
    scenario.failed_alone(&job, &|other| *other == cell, &reason)?;
    // A resumed run repeats the failed cell, which now succeeds.
    scenario.look_after(place, &job, &ran.told)
}

impl Scenario {
    /// Checks that exactly these cells failed, for this reason.
    fn failed_alone(
        &mut self,
        job: &Job,
        failed: &dyn Fn(&CellKey) -> bool,
        why: &str,
    ) -> Result<()> {
        let kept = kept(&job.records)?;
        for cell in job.cells()? {
            let refusal = worst(&kept.refusals, &cell);
            let found = refusal.map(|refusal| (refusal.status, refusal.reason.as_str()));
            let wanted = failed(&cell).then_some((Status::Failed, why));
            let seen = (0..PROCESSES).all(|at| kept.seen.contains_key(&name(&cell, at)));
            self.expect(found == wanted && seen == wanted.is_none(), || {
                format!("{} is {found:?} and has to be {wanted:?}", cell.name(None))
            });
        }
        Ok(())
    }

    /// Checks the message, and keeps it without folders and process numbers.
    fn tells(&mut self, complaint: &str, part: &str, place: &Place<'_>) {
        self.expect(complaint.contains(part), || format!("'{part}' is not in: {complaint}"));
        if self.said.is_empty() {
            self.said = anonymous(complaint, &place.folder().display().to_string());
        }
    }
}

fn anonymous(complaint: &str, folder: &str) -> String {
    let text = complaint.replace(folder, "…").replace("error: ", "");
    let Ok(numbers) = Regex::new("process [0-9]+|run-[0-9]+/") else { return text };
    let without = |found: &Captures<'_>| match found[0].starts_with("run") {
        true => String::new(),
        false => "process N".to_owned(),
    };
    numbers.replace_all(&text, without).into_owned()
}
