use super::Ended;
use anyhow::Result;
use serde_json::json;
use std::time::Duration;
use touchstone::doctor::{Finding, Ticks, Verdict, examine, load};
use touchstone::measure::probe::{Look, watch};
use touchstone::terminal::{Progress, Style, Table, print};

/// Shows whether this machine is fit for measurements, and what to do where it is not.
///
/// Examines processors, clock rates, load, what the kernel offers, and limits of memory. Runs
/// the interference probe on every processor at once: `.` is clean, `o` is partly clean, `#` has
/// interference by other tenants or programs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  touchstone doctor")]
pub(super) struct Doctor {
    /// Probe for this many seconds
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value = "5", value_parser = touchstone::run::seconds)]
    seconds: Duration,
    /// Print one JSON object per finding and per processor
    #[arg(long)]
    json: bool,
}

const STRIP: usize = 60;

impl Doctor {
    pub(super) fn execute(self) -> Result<Ended> {
        let time = self.seconds.min(Duration::from_secs(3600));
        let (before, load) = (Ticks::now(), load());
        let progress = Progress::new(1, true);
        progress.next(format!("all processors for {:.1} s", time.as_secs_f64()));
        let watched = watch(time)?;
        drop(progress);
        let findings = examine(&watched, before, load);
        print(&match self.json {
            true => in_json(&findings, &watched),
            false => in_words(&findings, &watched, time),
        })?;
        Ok(Ended::Well)
    }
}

/// Shortest and median time of the probes of a processor, ns, and the clean ones, per cent.
fn times(looks: &[Look]) -> (Option<u64>, Option<u64>, f64) {
    let mut times: Vec<u64> = looks.iter().map(|look| look.ns).collect();
    times.sort_unstable();
    let clean = looks.iter().filter(|look| look.clean).count();
    let share = clean as f64 * 100.0 / looks.len().max(1) as f64;
    (times.first().copied(), times.get(times.len() / 2).copied(), share)
}

fn in_json(findings: &[Finding], watched: &[(usize, Vec<Look>)]) -> String {
    let findings = findings.iter().map(|found| json!(found));
    let processors = watched.iter().map(|(processor, looks)| {
        let (shortest, median, clean) = times(looks);
        json!({
            "processor": processor,
            "probes": looks.len(),
            "shortest_ns": shortest,
            "median_ns": median,
            "clean_percent": clean,
        })
    });
    findings.chain(processors).map(|line| format!("{line}\n")).collect()
}

pub(super) fn in_words(
    findings: &[Finding],
    watched: &[(usize, Vec<Look>)],
    time: Duration,
) -> String {
    let style = Style::of_stdout();
    let mut text = String::new();
    let widest = findings.iter().map(|found| found.name.len()).max().unwrap_or(0);
    for Finding { name, value, verdict, advice } in findings {
        let word = format!("{:7}", verdict.to_string());
        let word = match verdict {
            Verdict::Good => style.good(&word),
            Verdict::Warning | Verdict::Missing => style.bad(&word),
        };
        text += &format!("{word}  {name:widest$}  {value}\n");
        if let Some(advice) = advice {
            text += &format!("{:9}{:widest$}  {advice}\n", "", "");
        }
    }
    let head = ["processor", "probes", "shortest ns", "median ns", "clean", "over time"];
    let mut table = Table::new(&head).right(&[1, 2, 3, 4]);
    let number = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    for (processor, looks) in watched {
        let (shortest, median, clean) = times(looks);
        table.row([
            processor.to_string(),
            looks.len().to_string(),
            number(shortest),
            number(median),
            format!("{clean:.0} %"),
            strip(looks, time),
        ]);
    }
    format!("{text}\n{}", table.render(style))
}

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
