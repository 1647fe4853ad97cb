//! The server of the pipeline in a process of its own.

use crate::supervise::{Child, Heard, Parent, Stop, this_program};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};
use touchstone_systems::pipeline::{self, Places};

/// How long the server may take to start.
const STARTING: Duration = Duration::from_secs(120);
/// How long to wait for the reason of a failure.
const REASON: Duration = Duration::from_millis(200);

/// A message of the server to its parent.
#[derive(Debug, Serialize, Deserialize)]
enum Told {
    /// It listens here.
    Ready(SocketAddr),
    /// It ends for this reason.
    Failed(String),
}

/// Serves as the server of the pipeline, until the parent ends this process. Fails if this process
/// has no parent that asks for it.
pub(crate) fn serve() -> Result<()> {
    let parent = Parent::<Places, Told>::join()?;
    let mut parent = parent.context("--pipeline-server is for this program's own use")?;
    let Some(places) = parent.hear()? else { return Ok(()) };
    let ready = |address| parent.say(&Told::Ready(address));
    match pipeline::serve(&places, ready, std::future::pending()) {
        Ok(()) => Ok(()),
        Err(error) => parent.say(&Told::Failed(format!("{error:#}"))),
    }
}

/// The server as its parent sees it. It is killed when this is dropped.
pub(super) struct Server {
    child: Child<Places, Told>,
    pub(super) address: SocketAddr,
}

impl Server {
    pub(super) fn start(places: &Places, stop: &Stop) -> Result<Self> {
        let mut command = this_program(&["systems", "--pipeline-server"]);
        command.stdout(Stdio::null());
        let child = stop.spawn(command)?;
        let mut child: Child<Places, Told> = child.context("the run was stopped")?;
        child.send(places);
        match child.receive(Instant::now() + STARTING)? {
            Heard::Message(Told::Ready(address)) => Ok(Self { child, address }),
            Heard::Message(Told::Failed(reason)) => bail!("the server failed: {reason}"),
            Heard::Ended(death) => bail!("the server {death}"),
            Heard::Silent => bail!("the server does not start"),
        }
    }

    /// An error with the server's own reason, if it has one.
    pub(super) fn explained(&mut self, error: anyhow::Error) -> anyhow::Error {
        match self.child.receive(Instant::now() + REASON) {
            Ok(Heard::Message(Told::Failed(reason))) => error.context(reason),
            _ => error,
        }
    }
}
