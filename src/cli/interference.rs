//! `touchstone interference`.

use super::Ended;
use anyhow::Result;
use std::time::Duration;
use touchstone::measure::probe::{Look, watch};
use touchstone::terminal::progress::Progress;
use touchstone::terminal::{Style, Table, print};

/// Shows whether other tenants of this machine use the same cores.
///
/// Runs the interference probe on every processor at once. `.` is clean, `o` is partly
/// clean, `#` has interference. Interference makes a run longer, because samples are repeated.
#[derive(Debug, clap::Args)]
pub(super) struct Interference {
    /// Watch for this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = touchstone::run::seconds)]
    seconds: Duration,
}

/// Number of characters of a strip.
const STRIP: usize = 60;

impl Interference {
    pub(super) fn execute(self) -> Result<Ended> {
        let time = self.seconds.min(Duration::from_secs(3600));
        let progress = Progress::new(1, true);
        progress.next(format!("all processors for {:.1} s", time.as_secs_f64()));
        let watched = watch(time)?;
        drop(progress);
        let head = ["processor", "probes", "shortest ns", "median ns", "clean", "over time"];
        let mut table = Table::new(&head).right(&[1, 2, 3, 4]);
        for (processor, looks) in watched {
            let mut times: Vec<u64> = looks.iter().map(|look| look.ns).collect();
            times.sort_unstable();
            let clean = looks.iter().filter(|look| look.clean).count();
            table.row([
                processor.to_string(),
                looks.len().to_string(),
                times.first().map_or(String::new(), ToString::to_string),
                times.get(times.len() / 2).map_or(String::new(), ToString::to_string),
                format!("{:.0} %", clean as f64 * 100.0 / looks.len().max(1) as f64),
                strip(&looks, time),
            ]);
        }
        print(&table.render(Style::of_stdout()))?;
        Ok(Ended::Well)
    }
}

/// The share of clean probes over time, as characters.
fn strip(looks: &[Look], time: Duration) -> String {
    let mut parts = vec![(0, 0); STRIP];
    for look in looks {
        let part = look.at.as_secs_f64() / time.as_secs_f64() * STRIP as f64;
        let (clean, all) = &mut parts[(part as usize).min(STRIP - 1)];
        *clean += usize::from(look.clean);
        *all += 1;
    }
    let mark = |(clean, all): (usize, usize)| match (clean * 10).checked_div(all) {
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
        let look = |at, clean| Look { at: Duration::from_millis(at), ns: 1, clean };
        let looks = [look(1, true), look(2, false), look(990, false), look(1500, false)];
        let strip = strip(&looks, Duration::from_secs(1));
        assert_eq!(strip.len(), STRIP);
        assert_eq!((&strip[..2], &strip[STRIP - 2..]), ("o ", " #"));
    }
}
