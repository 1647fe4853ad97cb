//! What else happens to runs.

use super::Look;
use super::check::kept;
use super::job::{Job, Mishap};
use super::place::Place;
use anyhow::{Context, Result};
use std::path::Path;
use std::time::Duration;
use touchstone::record::{Status, load, newest};
use touchstone::supervise::Death;

/// Rounds of what is not about a moment.
const FEW: usize = 10;

/// A crash of the whole machine leaves part of the last line, or zeros in its place.
pub(super) fn cut(place: &mut Place<'_>) -> Result<Look> {
    let mut scenario = Look::default();
    for round in 0..place.rounds().min(FEW) {
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
        // The cut one is not promised: its bytes were taken away from outside.
        told.finished.pop();
        scenario.rounds += 1;
        scenario.look_after(place, &job, &told)?;
    }
    Ok(scenario)
}

/// A file that cannot grow, at some length, and a device without room.
pub(super) fn full_disk(place: &mut Place<'_>) -> Result<Look> {
    let mut scenario = Look::default();
    let whole = place.job();
    place.run(&whole)?;
    let length = std::fs::metadata(&whole.records).context("cannot look at records")?.len();
    for _ in 0..place.rounds().min(FEW) {
        let room = place.random(length);
        let job = Job { room: Some(room), ..place.job() };
        let ran = place.run(&job)?;
        scenario.expect(ran.death == Death::Exit(2), || format!("without room it {}", ran.death));
        scenario.tells(&ran.complaint, "cannot append to", place);
        scenario.rounds += 1;
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

/// Folders that not even root can write into: below a file, and below /proc.
pub(super) fn no_folder(place: &mut Place<'_>) -> Result<Look> {
    let mut scenario = Look::default();
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

/// The second is sent away and told by whom, and the first goes on.
pub(super) fn two_runs(place: &mut Place<'_>) -> Result<Look> {
    let mut scenario = Look::default();
    for round in 0..place.rounds().min(FEW) {
        let mut first = place.job();
        // One cell hangs, so that the first is at work for as long as it takes.
        let hangs = first.cells()?[round].key.id();
        let end = hangs.split_once('/').map_or(String::new(), |(_, end)| format!("/{end}"));
        first.mishaps.push((end, Mishap::Hang));
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
        running.signal(nix::sys::signal::Signal::SIGKILL)?;
        let ran = running.ends()?;
        scenario.rounds += 1;
        scenario.look_after(place, &first, &ran.told)?;
    }
    Ok(scenario)
}

/// Records that were made under a clock that was a year ahead, before it was set right:
/// a run goes on with them, and what is made anew later counts as newer.
pub(super) fn clock(place: &mut Place<'_>) -> Result<Look> {
    let mut scenario = Look::default();
    let ahead = "2999-12-31T23:59:59Z";
    for _ in 0..place.rounds().min(FEW) {
        let job = place.job();
        let all = job.cells()?.len();
        let finished = place.run(&job)?.told.finished;
        let text = std::fs::read_to_string(&job.records).context("cannot read records back")?;
        let left = 1 + place.random(all as u64 - 1) as usize;
        let mut early = String::new();
        for line in text.lines().take(left) {
            let mut record: serde_json::Value = serde_json::from_str(line)?;
            record["recorded_at"] = ahead.into();
            early += &format!("{record}\n");
        }
        std::fs::write(&job.records, early).context("cannot set records ahead")?;
        let told = super::place::Told { finished: finished[..left].to_vec(), ..Default::default() };
        scenario.rounds += 1;
        scenario.look_after(place, &job, &told)?;

        // All of it once more, by a run of its own, under the clock that is right.
        let mut again = job.clone();
        again.provenance.run += "-again";
        scenario.finished += place.run(&again)?.told.finished.len();
        let shown = newest(load(&job.records)?.records);
        let old = shown.iter().filter(|it| it.provenance().recorded_at == ahead).count();
        scenario.expect(old == 0, || format!("{old} cells are shown as the old run has them"));
    }
    Ok(scenario)
}

/// A backend that aborts, faults, ends its process or panics takes its cell down.
pub(super) fn crash(place: &mut Place<'_>) -> Result<Look> {
    let mishaps = [
        (Mishap::Abort, "was killed by SIGABRT"),
        (Mishap::Fault, "was killed by SIGSEGV"),
        (Mishap::Killed, "was killed by SIGKILL"),
        (Mishap::Exit, "ended with exit code 3"),
        (Mishap::Panic, "ended with exit code 101"),
    ];
    let mut scenario = Look::default();
    let mut said = Vec::new();
    for (index, (mishap, words)) in mishaps.into_iter().enumerate() {
        takes_its_cell_down(place, &mut scenario, mishap, words, index)?;
        said.push(words);
    }
    scenario.said = format!("the process that ran it {}", said.join(" / "));
    Ok(scenario)
}

/// A backend that hangs is killed when its cell's time is over.
pub(super) fn hang(place: &mut Place<'_>) -> Result<Look> {
    let mut scenario = Look::default();
    let words = "took longer than 1 s";
    takes_its_cell_down(place, &mut scenario, Mishap::Hang, words, 7)?;
    scenario.said = format!("the process that ran it {words}");
    Ok(scenario)
}

/// A backend whose process dies before its first cell fails its cells, and no other's.
pub(super) fn never_starts(place: &mut Place<'_>) -> Result<Look> {
    let mut scenario = Look::default();
    let mut job = Job { workers: true, ..place.job() };
    job.dies_as = Some("first".to_owned());
    let ran = place.run(&job)?;
    let words = "the process that was to run it was killed by SIGABRT before its first cell";
    scenario.failed_alone(&job, &|id| id.contains("/first_"), words)?;
    scenario.said = words.to_owned();
    scenario.rounds += 1;
    scenario.look_after(place, &Job { dies_as: None, ..job }, &ran.told)?;
    Ok(scenario)
}

fn takes_its_cell_down(
    place: &mut Place<'_>,
    scenario: &mut Look,
    mishap: Mishap,
    words: &str,
    which: usize,
) -> Result<()> {
    let mut job = Job { workers: true, ..place.job() };
    if mishap == Mishap::Hang {
        job.limit = Duration::from_secs(1);
    }
    let cell = job.cells()?[which].key.id();
    let end = cell.split_once('/').map_or(String::new(), |(_, end)| format!("/{end}"));
    job.mishaps.push((end, mishap));
    let ran = place.run(&job)?;
    scenario.expect(ran.death == Death::Exit(1), || {
        format!("with a cell that failed it {}: {}", ran.death, ran.complaint)
    });
    scenario.expect(ran.told.said.iter().any(|said| said.contains(words)), || {
        format!("it was not told that the worker {words}")
    });
    scenario.failed_alone(&job, &|id| id == cell, &format!("the process that ran it {words}"))?;
    scenario.rounds += 1;
    // Going on tries the failed cell again, which is well now.
    scenario.look_after(place, &job, &ran.told)
}

impl Look {
    /// That exactly these cells failed, for this reason, and all others are well.
    fn failed_alone(&mut self, job: &Job, failed: &dyn Fn(&str) -> bool, why: &str) -> Result<()> {
        let kept = kept(&job.records)?;
        for cell in job.cells()? {
            let id = cell.key.id();
            let found = kept.cells.get(&id).and_then(|records| records.last());
            let found = found.map(|cell| (cell.status, cell.reason.clone().unwrap_or_default()));
            let wanted = match failed(&id) {
                true => (Status::Failed, why.to_owned()),
                false => (Status::Ok, String::new()),
            };
            self.expect(found.as_ref() == Some(&wanted), || {
                format!("{id} is {found:?} and has to be {wanted:?}")
            });
        }
        Ok(())
    }

    /// That people were told so, and what. Folders and process numbers are left out:
    /// each time they are others.
    fn tells(&mut self, complaint: &str, part: &str, place: &Place<'_>) {
        self.expect(complaint.contains(part), || format!("'{part}' is not in: {complaint}"));
        if self.said.is_empty() {
            self.said = anonymous(complaint, &place.folder().display().to_string());
        }
    }
}

fn anonymous(complaint: &str, folder: &str) -> String {
    let text = complaint.replace(folder, "…").replace("error: ", "");
    let numbers = regex::Regex::new("process [0-9]+|run-[0-9]+/").ok();
    match numbers {
        Some(numbers) => numbers
            .replace_all(&text, |found: &regex::Captures<'_>| {
                if found[0].starts_with("run") { String::new() } else { "process N".to_owned() }
            })
            .into_owned(),
        None => text,
    }
}
