//! The run in worker processes: one for each backend, and one for the pairs of two.

use crate::arguments::Arguments;
use crate::job::{Job, is_run};
use crate::{Came, GO_ON};
use anyhow::{Context, Result};
use std::process::Command;
use touchstone::pairs::Pair;
use touchstone::record::RecordFile;
use touchstone::run::blank;
use touchstone::worker::{Stop, Task, Unit, Workers};

/// Everything that the job has to do.
pub(crate) fn run(
    arguments: &Arguments,
    mut job: Job<'_>,
    records: &mut RecordFile,
) -> Result<Came> {
    let units = units(&mut job);
    let stop = Stop::default();
    let handle = stop.clone();
    ctrlc::set_handler(move || handle.now()).context("cannot watch for Ctrl-C")?;
    let command = || {
        let mut command =
            Command::new(std::env::current_exe().context("cannot find this program")?);
        command.args(std::env::args_os().skip(1));
        Ok(command)
    };
    let came = Workers {
        command: &command,
        records,
        provenance: job.provenance,
        plan: job.plan,
        limit: arguments.cell_limit,
        stop,
        say: &mut |sentence| println!("{sentence}"),
        ended: &mut |_| {},
    }
    .run(&units)?;
    if came.stopped {
        println!("{GO_ON}");
        std::process::exit(130);
    }
    Ok(Came { cells: came.cells, pairs: came.pairs })
}

fn units(job: &mut Job<'_>) -> Vec<Unit> {
    let mut units: Vec<Unit> =
        job.backends().into_iter().map(|name| Unit { name, tasks: Vec::new() }).collect();
    for pair in &job.pairs {
        let task = Task { id: pair.id(), blank: None, counted: true };
        add(&mut units, &name_of(pair), task);
    }
    for cell in &job.cells {
        let digest = job.session.digest(&cell.guest);
        let task = Task {
            id: cell.key.id(),
            blank: Some(blank(cell, digest, &job.provenance)),
            counted: is_run(cell),
        };
        add(&mut units, &cell.key.backend, task);
    }
    units.retain(|unit| !unit.tasks.is_empty());
    units
}

fn add(units: &mut Vec<Unit>, name: &str, task: Task) {
    match units.iter_mut().find(|unit| unit.name == name) {
        Some(unit) => unit.tasks.push(task),
        None => units.push(Unit { name: name.to_owned(), tasks: vec![task] }),
    }
}

/// The unit of a pair: its backend, or both, whose worker nobody else shares.
fn name_of(pair: &Pair) -> String {
    let of = &pair.cell.key.backend;
    match &pair.other {
        Some(other) if other.key.backend != *of => format!("{of} against {}", other.key.backend),
        _ => of.clone(),
    }
}
