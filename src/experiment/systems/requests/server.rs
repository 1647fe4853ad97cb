//! The process of a host under load.

use crate::case::{Case, GuestName, Guests};
use crate::host::catalogue_of;
use crate::lab::{Lab, Refused, config_for};
use crate::measure::{Pinned, processors};
use crate::plan::Names;
use crate::record::Executor;
use crate::solo;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use touchstone_executor::adapter::MeasuredEngine;
use touchstone_systems::host::{Conduct, Limits, Server, State};

/// Limits of requests: more than a client under test ever asks for.
const LIMITS: Limits = Limits {
    body: 1 << 20,
    headers: 16 << 10,
    answer: 64 << 20,
    // Connections are idle while other hosts have their turn.
    time: Duration::from_secs(3600),
    connections: 256,
    waiting: 1024,
    threads: 1,
};

/// How a call finds its instance.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub(super) enum InstanceState {
    /// As the call before left it, for comparison.
    Used,
    /// As a new one.
    Clean,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct HostAsk {
    pub(super) executor: Executor,
    pub(super) case: String,
    pub(super) guest: GuestName,
    pub(super) state: InstanceState,
    /// How much longer some calls take.
    pub(super) stall: Duration,
    /// The private folder in which hosts share artifacts.
    pub(super) artifacts: PathBuf,
}

/// Serves as a host of another run, until that run ends it: says its address first.
pub(crate) fn serve(
    cases: &[Case],
    engines: &[Arc<dyn MeasuredEngine>],
    guests: Guests,
) -> Result<()> {
    solo::serve("--requests-host", |ask, say| {
        // Threads started from here on stay on this processor, too. The first is the client's.
        let _pinned = processors(2).ok().and_then(|cpus| Pinned::to(*cpus.last()?).ok());
        let server = prepared(ask, cases, engines, guests)?;
        say(server.address());
        server.run()?;
        Ok(())
    })
}

fn prepared(
    ask: &HostAsk,
    cases: &[Case],
    engines: &[Arc<dyn MeasuredEngine>],
    guests: Guests,
) -> Result<Server, Refused> {
    let key = ask.executor.cell(&ask.case, &ask.guest, 1);
    let cell = Names::new(cases, engines).cell(&key)?;
    let opened = Lab::new(guests, config_for(1)).sharing_artifacts(&ask.artifacts)?.open(&cell)?;
    let conduct = Conduct {
        state: match ask.state {
            InstanceState::Clean => State::Clean,
            InstanceState::Used => State::Used,
        },
        stall: ask.stall,
    };
    let catalogue = catalogue_of(&opened.loaded.guest, opened.loaded.instances.module.clone());
    Ok(Server::bind("127.0.0.1:0", catalogue, LIMITS, conduct)?)
}
