//! The server of the pipeline in a process of its own.

use crate::lab::Refused;
use crate::solo::{self, FromProcess, Serving};
use crate::supervise::{Heard, Stop, this_program};
use anyhow::Result;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};
use touchstone_systems::pipeline::{self, Places};

/// How long the server may take to start.
const STARTING: Duration = Duration::from_secs(120);
/// How long to wait for the reason of a failure.
const REASON: Duration = Duration::from_millis(200);

/// Serves as the server of the pipeline until the parent ends it: says its address first.
pub(crate) fn serve() -> Result<()> {
    solo::serve("--pipeline-server", |places: &Places, say| {
        let ready = |address| {
            say(address);
            Ok(())
        };
        Ok(pipeline::serve(places, ready, std::future::pending())?)
    })
}

/// The server as its parent sees it. It is killed when this is dropped.
pub(super) struct Server {
    child: Serving<Places, SocketAddr>,
    pub(super) address: SocketAddr,
}

impl Server {
    pub(super) fn start(places: &Places, stop: &Stop) -> Result<Self, Refused> {
        let mut command = this_program(&["systems", "--pipeline-server"]);
        command.stdout(Stdio::null());
        let (child, address) = solo::start(places, command, STARTING, stop)?;
        Ok(Self { child, address })
    }

    /// An error with the server's own reason, if it has one.
    pub(super) fn explained(&mut self, error: anyhow::Error) -> anyhow::Error {
        match self.child.receive(Instant::now() + REASON) {
            Ok(Heard::Message(FromProcess::Refused(refused))) => error.context(refused.reason),
            _ => error,
        }
    }
}
