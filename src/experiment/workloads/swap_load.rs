//! Threads call while another thread replaces the module.

use crate::experiment::{Asked, Host, Planned, Question, Said, Say, Terms, Workload};
use crate::lab::{Lab, Refused, config_for};
use crate::plan::cores;
use crate::record::{Place, Status};
use crate::swap::{self, Method, Ready, UnderLoad};
use anyhow::Result;
use std::path::PathBuf;
use std::time::Duration;

pub(super) struct Load;

pub(super) const WORKLOAD: &dyn Workload = &Load;

impl Workload for Load {
    fn plan(&self, host: &mut Host, asked: &Asked) -> Result<Planned> {
        let engines = asked.values(&host.experiment, "engine");
        let questions = engines.into_iter().map(|engine| Question {
            place: Place::default().with("engine", engine),
            ..Question::default()
        });
        Ok(Planned { questions: questions.collect(), ..Planned::default() })
    }

    fn answer(
        &self,
        mut host: Host,
        question: &Question,
        terms: &Terms,
        say: &mut Say<'_>,
    ) -> Result<Result<(), Refused>> {
        let engine = host.engine(question.place.text("engine").unwrap_or_default())?.clone();
        let file = terms.file.clone().unwrap_or_else(swap::default_file);
        let plan = swap::load(&file, &host.cases)?;
        let kinds = swap::kinds(plan.kinds.each_ref(), &mut host.guests)?;
        let mut lab = Lab::new(host.guests.clone(), config_for(cores()));
        let ready = match Ready::new(Method::LoadArtifact, &engine, &kinds, &mut lab) {
            Ok(ready) => ready,
            Err(refused) => return Ok(Err(refused)),
        };
        let (strategy, method) = (ready.strategy.to_string(), ready.method.to_string());
        let found = match swap::under_load(ready, plan.load) {
            Ok(found) => found,
            Err(error) => {
                let refused = error.downcast_ref::<Refused>().cloned();
                return Ok(Err(refused.unwrap_or_else(|| Refused::new(Status::Failed, error))));
            }
        };
        let UnderLoad { instances_taken, failed, wrong, swapping, still, problem } = found;
        let place = question.place.clone().with("strategy", &*strategy).with("method", &*method);
        let place = place.with("threads", plan.load.threads);
        let point = host.point(place, question.number()).values([
            ("replacements", plan.load.replacements),
            ("instances_taken", instances_taken),
            ("failed", failed),
            ("wrong", wrong),
        ]);
        say(Said::point(point.tail("swapping", swapping).tail("still", still)));
        Ok(match problem {
            Some(problem) => Err(Refused { status: Status::Failed, reason: problem }),
            None => Ok(()),
        })
    }

    fn files(&self, asked: &Asked) -> Vec<PathBuf> {
        vec![asked.file.clone().unwrap_or_else(swap::default_file)]
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(1800)
    }
}
