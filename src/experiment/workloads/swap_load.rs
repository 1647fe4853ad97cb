//! Threads call while another thread replaces the module.

use crate::experiment::{Ask, Asked, Host, Planned, Question, Said, Say, Workload};
use crate::lab::Refused;
use crate::record::{Place, Status};
use crate::swap::{self, Method, UnderLoad};
use anyhow::Result;
use std::path::PathBuf;
use std::time::Duration;

pub(super) struct Own;

impl Workload for Own {
    fn plan(&self, host: &mut Host, asked: &Asked) -> Result<Planned> {
        let mut ways = swap::ways(&host.engines, &asked.filter)?;
        ways.retain(|(_, method)| method.is_none());
        let questions = ways.iter().map(|(engine, _)| Question {
            place: Place::default().with("engine", engine.id()),
            ..Question::default()
        });
        Ok(Planned { questions: questions.collect(), ..Planned::default() })
    }

    fn answer(&self, mut ask: Ask<'_>, say: &mut Say<'_>) -> Result<(), Refused> {
        let (load, ready) = ask.swapping(Method::LoadArtifact)?;
        let Ask { host, question, .. } = ask;
        let (strategy, method) = (ready.strategy.to_string(), ready.method.to_string());
        let UnderLoad { instances_taken, failed, wrong, swapping, still, problem } =
            swap::under_load(ready, load)?;
        let place = question.place.clone().with("strategy", &*strategy).with("method", &*method);
        let place = place.with("threads", load.threads as u64);
        let point = host.point(place, question.number()).values([
            ("replacements", load.replacements),
            ("instances_taken", instances_taken),
            ("failed", failed),
            ("wrong", wrong),
        ]);
        say(Said::point(point.tail("swapping", swapping).tail("still", still)));
        problem.map_or(Ok(()), |reason| Err(Refused { status: Status::Failed, reason }))
    }

    fn files(&self, asked: &Asked) -> Vec<PathBuf> {
        vec![swap::file(asked.terms.file.as_deref())]
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(1800)
    }
}
