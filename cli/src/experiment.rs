//! The commands of experiments, as their declarations have them: `touchstone density`, …

use super::Ended;
use super::common::{begin, newest, stopped};
use anyhow::{Context, Result};
use clap::builder::{PossibleValuesParser, RangedU64ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;
use touchstone::experiment::{Asked, Session, Terms, run, serve, workload};
use touchstone::plan::{Budget, Filter};
use touchstone::record::{
    self, Coordinate, Dimension, Experiment, MOST_PROCESSES, Sampling, experiments_folder,
};
use touchstone::run::{SamplingName, seed, shown};
use touchstone::supervise::Stop;
use touchstone::terminal::{complain, print};
use touchstone_report::races;

/// Processes for each point: the fewest that a published estimate has.
const FEWEST: &str = "3";

/// Experiments that share a command. They live as long as the program, as names in help texts do.
pub(super) struct Group(&'static [Experiment]);

/// The commands of the experiments that this build can measure.
pub(super) fn groups() -> Vec<Group> {
    let all = Experiment::all(experiments_folder()).unwrap_or_else(|error| {
        complain(&format!("warning: {error:#}"));
        Vec::new()
    });
    let mut groups: BTreeMap<String, Vec<Experiment>> = BTreeMap::new();
    for experiment in all.into_iter().filter(|own| workload(&own.name).is_some()) {
        groups.entry(experiment.command.clone()).or_default().push(experiment);
    }
    groups.into_values().map(|own| Group(own.leak())).collect()
}

impl Group {
    #[expect(clippy::misnamed_getters, reason = "a group is named by its command")]
    pub(super) fn name(&self) -> &'static str {
        &self.first().command
    }

    /// The experiment that names the command and its options.
    fn first(&self) -> &'static Experiment {
        &self.0[0]
    }

    /// `true` if experiments are asked for by name.
    fn has_names(&self) -> bool {
        self.0.len() > 1 && self.first().plan.is_none()
    }

    /// The file of the experiments that are measured where none is named.
    fn records(&self) -> String {
        format!("{}.jsonl", self.name())
    }

    fn is_default(&self, own: &Experiment) -> bool {
        own.records == self.records()
    }

    fn is_sampled(&self) -> bool {
        self.0.iter().flat_map(|own| own.metrics.values()).any(|metric| metric.sampled)
    }

    pub(super) fn command(&self) -> Command {
        let option = |name: &'static str, value: &'static str, help: &'static str| {
            Arg::new(name).long(name).value_name(value).help(help)
        };
        let number = |name, help, range: RangeInclusive<u64>| {
            option(name, "N", help).value_parser(RangedU64ValueParser::<u64>::new().range(range))
        };
        let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
        let regex = "Measure only executors whose name this regular expression matches";
        let regex = self.first().filter.as_deref().unwrap_or(regex);
        let help =
            if self.has_names() { self.about() } else { self.first().help.trim().to_owned() };
        let first = help.split("\n\n").next().unwrap_or_default().to_owned();
        let dimensions = self.0.iter().flat_map(|own| &own.dimensions);
        let mut command = Command::new(self.name()).max_term_width(100);
        command = command.about(first).long_about(help);
        command = match self.has_names() {
            false => command.arg(Arg::new("filter").value_name("FILTER").help(regex)),
            true => {
                let names = PossibleValuesParser::new(self.0.iter().map(|own| &*own.name));
                let others = self.0.iter().filter(|own| !self.is_default(own));
                let others: Vec<_> = others.map(|own| &*own.name).collect();
                let but = if others.is_empty() { "" } else { " but " };
                let help = format!("Measure only these [default: all{but}{}]", others.join(", "));
                let names = Arg::new("names").value_name("SYSTEMS").value_parser(names).help(help);
                let filter = option("filter", "REGEX", regex);
                command.arg(names.action(ArgAction::Append)).arg(filter)
            }
        };
        command = command.args(dimensions.filter_map(self::option));
        if self.is_sampled() {
            let processes = "Measure each point in N fresh processes";
            let processes = number("processes", processes, 1..=u64::from(MOST_PROCESSES));
            let rounds = "Make N rounds in each process; a round times every executor once";
            let rounds = number("rounds", rounds, 1..=u64::from(u16::MAX));
            command = command.arg(processes.default_value(FEWEST)).arg(rounds.default_value("6"));
        }
        if let Some(plan) = &self.first().plan {
            let how = "Take many samples, or few with wider intervals";
            let how = option("sampling", "HOW", how).default_value("full");
            let file = option("plan", "FILE", plan).value_parser(value_parser!(PathBuf));
            command = command.arg(how.value_parser(value_parser!(SamplingName))).arg(file);
        }
        command = match self.has_names() {
            false => {
                let memory = "End a process that occupies more than N MiB [default: half of the \
                              available memory]";
                command.arg(number("memory", memory, 0..=u64::MAX))
            }
            true => {
                let small = "Do everything once and small, to see that it works; the times are \
                             not comparable";
                let stall = "Make every 200th call of a host take N ms longer";
                let stall = number("stall-ms", stall, 0..=u64::MAX).hide(true);
                command
                    .arg(flag("small").help(small))
                    .arg(stall)
                    .args(["requests-host", "pipeline-server"].map(|name| flag(name).hide(true)))
            }
        };
        let example = match (self.has_names(), self.is_sampled()) {
            (true, _) => "--small",
            (false, true) => "wasmtime_instance_reuse_tracked --processes 1",
            (false, false) => "wasmtime_instance_reuse_tracked",
        };
        command = command.after_help(format!("Example:\n  touchstone {} {example}", self.name()));
        let records = format!(
            "Replace the records in FILE [default: records/{} of the project; in target/ where only \
             a part is measured]",
            self.records()
        );
        let order =
            "Use this seed for orders, arrival times and messages [default: from the clock]";
        let file = option("records", "FILE", "").help(records);
        command
            .arg(number("seed", order, 0..=u64::MAX))
            .arg(file.value_parser(value_parser!(PathBuf)))
            .arg(flag("worker").hide(true))
    }

    fn about(&self) -> String {
        let name = self.name();
        let lines = self.0.iter().map(|own| format!("{:<10} {}\n", own.name, own.help.trim()));
        format!(
            "Measures {name}: executors where people use them.\n\n{}\nA run that was killed goes on \
             where it was; requests and the pipeline begin again.\n\nExits with 1 when a call \
             failed or an answer was wrong.",
            lines.collect::<String>()
        )
    }

    pub(super) fn execute(&self, given: &ArgMatches) -> Result<Ended> {
        let engines = touchstone_runtimes::engines();
        let has = |name: &str| given.try_get_one::<bool>(name).ok().flatten() == Some(&true);
        let number = |name: &str| given.try_get_one::<u64>(name).ok().flatten().copied();
        if has("worker") {
            return serve(self.0, &engines).map(|()| Ended::Well);
        }
        #[cfg(feature = "systems")]
        if has("requests-host") || has("pipeline-server") {
            let cases = touchstone::case::built_in()?;
            touchstone::experiment::serve_host(has("requests-host"), &cases, &engines)?;
            return Ok(Ended::Well);
        }
        let names: Vec<&String> =
            given.try_get_many::<String>("names").ok().flatten().into_iter().flatten().collect();
        let is_meant = |own: &&Experiment| match names.is_empty() {
            true => self.is_default(own),
            false => names.contains(&&own.name),
        };
        let mut meant: Vec<&Experiment> = self.0.iter().filter(is_meant).collect();
        meant.sort_by_key(|own| names.iter().position(|name| **name == own.name));
        let text = given.get_one::<String>("filter");
        let path = |name: &str| given.try_get_one::<PathBuf>(name).ok().flatten().cloned();
        let how = given.try_get_one::<SamplingName>("sampling").ok().flatten();
        let (values, file) = (self.values(given), path("plan"));
        let dimensions = self.0.iter().flat_map(|own| &own.dimensions);
        let is_part =
            dimensions.filter(|own| !own.beside).any(|own| values.contains_key(&own.name));
        let is_part = is_part || file.is_some() || has("small");
        let first = *meant.first().context("no experiment is selected")?;
        // All experiments of one file, and no other.
        let is_complete = self.0.iter().all(|own| {
            (own.records == first.records) == meant.iter().any(|meant| meant.name == own.name)
        });
        let is_whole = is_complete && text.is_none() && !is_part;
        let declared = meant.iter().find_map(|own| own.executors.as_ref());
        let asked = Asked {
            filter: Filter::new(text.or(declared).map(String::as_str))?,
            values,
            processes: number("processes").unwrap_or(1).try_into().unwrap_or(u32::MAX),
            seed: number("seed"),
            memory: number("memory").map(|mib| mib << 20),
            terms: Terms {
                rounds: number("rounds").unwrap_or(1).try_into().unwrap_or(usize::MAX),
                small: has("small") || how == Some(&SamplingName::Quick),
                stall: Duration::from_millis(number("stall-ms").unwrap_or(0)),
                file,
                ..Terms::default()
            },
        };
        let default = || record::output_path(&first.records, is_whole);
        let path = path("records").unwrap_or_else(default);
        let workloads = meant
            .iter()
            .map(|own| Ok((*own, workload(&own.name).context("this build cannot measure it")?)));
        let (stop, worker, sampling) =
            (Stop::default(), [self.name(), "--worker"], self.sampling(&asked));
        let experiments = workloads.collect::<Result<Vec<_>>>()?;
        let session =
            Session { experiments, engines: &engines, worker: &worker, asked, stop: &stop };
        let (ran, file) = run(session, sampling, &path, || begin(&stop, false))?;
        if ran.stopped {
            return Ok(stopped(&file));
        }
        file.finish()?;
        let book = newest(&path, &first.made_by)?;
        print(&touchstone_report::show::all(&book))?;
        for experiment in meant {
            print(&races::summary(experiment, &book))?;
        }
        complain(&format!("records: {}", shown(&path)));
        Ok(Ended::well_if(!ran.failed))
    }

    fn sampling(&self, asked: &Asked) -> Sampling {
        let Terms { rounds, small, .. } = asked.terms;
        let is_small = small && self.has_names();
        let name = if is_small { "small" } else { self.name() }.to_owned();
        let seed = seed(asked.seed);
        if !self.is_sampled() {
            return Sampling::untimed(&name, seed);
        }
        let processes = asked.processes;
        let budget = if small { Budget::quick } else { Budget::full }(seed);
        Budget { name, processes, rounds, ..budget }.sampling(false)
    }

    /// The values of dimensions that are asked for.
    fn values(&self, given: &ArgMatches) -> BTreeMap<String, Vec<Coordinate>> {
        let dimensions = self.0.iter().flat_map(|own| &own.dimensions);
        let own = dimensions.filter(|dimension| dimension.help.is_some()).filter_map(|dimension| {
            let name = dimension.name.as_str();
            let numbers = given.try_get_many::<u64>(name).ok().flatten();
            let texts = given.try_get_many::<String>(name).ok().flatten();
            let numbers = numbers.into_iter().flatten().map(|own| Coordinate::from(*own));
            let texts = texts.into_iter().flatten().map(|own| Coordinate::from(own.as_str()));
            let values: Vec<Coordinate> = numbers.chain(texts).collect();
            (!values.is_empty()).then(|| (name.to_owned(), values))
        });
        own.collect()
    }
}

/// The option of a dimension; `None` if it has none.
fn option(dimension: &'static Dimension) -> Option<Arg> {
    let Dimension { words, values, range, .. } = dimension;
    let option = Arg::new(&*dimension.name).long(&*dimension.name).help(dimension.help.clone()?);
    let option = option.action(ArgAction::Append);
    let is_text = |value: &Coordinate| matches!(value, Coordinate::Text(_));
    if words.is_empty() && !values.iter().any(is_text) {
        let (least, most) = range.unwrap_or((0, u64::MAX));
        let number = RangedU64ValueParser::<u64>::new().range(least..=most);
        return Some(option.value_name("N").value_parser(number));
    }
    let option = option.value_name(&*dimension.name.to_uppercase().leak());
    Some(match words.is_empty() {
        true => option,
        false => {
            option.value_parser(PossibleValuesParser::new(words.iter().map(|(name, _)| &**name)))
        }
    })
}
