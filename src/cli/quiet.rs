//! `touchstone quiet`.

use super::Ended;
use super::output::{Style, Table, print};
use super::progress::Progress;
use anyhow::Result;
use std::time::Duration;
use touchstone::measure::{Look, watch};

/// Watches whether something else uses the cores of this machine, as a hardware thread of
/// theirs or on the same processors.
///
/// What is measured is watched in the same way: what was disturbed is timed again. Here
/// one sees beforehand how much of the time that will be. A shared core shows in code with
/// many branches, and so does a busy machine; `.` is quiet, `o` in part, `#` is not.
#[derive(Debug, clap::Args)]
pub(super) struct Quiet {
    /// How long
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
}

/// Characters of a strip.
const STRIP: usize = 60;

impl Quiet {
    pub(super) fn execute(self) -> Result<Ended> {
        let time = Duration::from_secs_f64(self.seconds.clamp(0.1, 3600.0));
        let progress = Progress::new(1, true);
        progress.next(format!("all processors for {:.1} s", time.as_secs_f64()));
        let watched = watch(time)?;
        drop(progress);
        let head = ["processor", "looks", "shortest ns", "median ns", "quiet", "in time"];
        let mut table = Table::new(&head).right(&[1, 2, 3, 4]);
        for (processor, looks) in watched {
            let mut times: Vec<u64> = looks.iter().map(|look| look.ns).collect();
            times.sort_unstable();
            let quiet = looks.iter().filter(|look| look.quiet).count();
            table.row([
                processor.to_string(),
                looks.len().to_string(),
                times.first().map_or(String::new(), ToString::to_string),
                times.get(times.len() / 2).map_or(String::new(), ToString::to_string),
                format!("{:.0} %", quiet as f64 * 100.0 / looks.len().max(1) as f64),
                strip(&looks, time),
            ]);
        }
        print(&table.render(Style::of_stdout()))?;
        Ok(Ended::Well)
    }
}

/// How quiet it was from the beginning to the end.
fn strip(looks: &[Look], time: Duration) -> String {
    let mut parts = vec![(0, 0); STRIP];
    for look in looks {
        let part = look.at.as_secs_f64() / time.as_secs_f64() * STRIP as f64;
        let (quiet, all) = &mut parts[(part as usize).min(STRIP - 1)];
        *quiet += usize::from(look.quiet);
        *all += 1;
    }
    let mark = |(quiet, all): (usize, usize)| match (quiet * 10).checked_div(all) {
        None => ' ',
        Some(9..) => '.',
        Some(2..) => 'o',
        Some(_) => '#',
    };
    parts.into_iter().map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strip_goes_from_the_beginning_to_the_end() {
        let look = |at, quiet| Look { at: Duration::from_millis(at), ns: 1, quiet };
        let looks = [look(1, true), look(2, false), look(990, false), look(1500, false)];
        let strip = strip(&looks, Duration::from_secs(1));
        assert_eq!(strip.len(), STRIP);
        assert_eq!((&strip[..2], &strip[STRIP - 2..]), ("o ", " #"));
    }
}
