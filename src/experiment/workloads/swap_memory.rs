//! Resident memory of a process in which a method makes many swaps.

use crate::experiment::{Ask, Asked, Host, Planned, Question, Said, Say, Workload};
use crate::lab::Refused;
use crate::plan::Filter;
use crate::record::Place;
use crate::swap::{self, Method};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::time::Duration;

pub(super) struct Own;

const SWAPS: &str = "swaps";

impl Workload for Own {
    fn plan(&self, host: &mut Host, asked: &Asked) -> Result<Planned> {
        let Some(swaps) = asked.numbers(&host.experiment, SWAPS).first().copied() else {
            return Ok(Planned::default());
        };
        let plan = swap::load(&swap::file(asked.terms.file.as_deref()), &host.cases)?;
        let soak = Filter::new(plan.soak.as_deref())?;
        let ways = swap::ways(&host.engines, &asked.filter)?;
        let questions = ways.iter().filter_map(|(engine, method)| {
            let method = (*method)?.to_string();
            let place = Place::default().with("engine", engine.id()).with("method", &*method);
            let is_meant = soak.matches(&format!("{}/{method}", engine.id()));
            is_meant.then(|| Question { place: place.with(SWAPS, swaps), ..Question::default() })
        });
        Ok(Planned { questions: questions.collect(), ..Planned::default() })
    }

    fn answer(&self, mut ask: Ask<'_>, say: &mut Say<'_>) -> Result<(), Refused> {
        let question = ask.question;
        let method = question.place.text("method").unwrap_or_default();
        let method: Method = method.parse().context("the question has no method")?;
        let swaps = question.place.number(SWAPS).context("the question has no number of swaps")?;
        let (_, ready) = ask.swapping(method)?;
        let host = ask.host;
        let strategy = ready.strategy.to_string();
        let place = question.place.clone().with("strategy", &*strategy);
        swap::soak(ready, swaps, |made, rss_kib| {
            let place = place.clone().with(SWAPS, made);
            say(Said::Step(format!("{place}: {rss_kib} KiB")));
            say(Said::point(host.point(place, question.number()).value("rss_kib", rss_kib as f64)));
        })
    }

    fn files(&self, asked: &Asked) -> Vec<PathBuf> {
        vec![swap::file(asked.terms.file.as_deref())]
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(3600)
    }
}
