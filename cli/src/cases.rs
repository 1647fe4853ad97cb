use super::Ended;
use anyhow::Result;
use touchstone::case;
use touchstone::terminal::{Style, print};

/// Prints the benchmark cases: export, guests, threads, and how to read the results.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  touchstone cases")]
pub(super) struct Cases {}

impl Cases {
    pub(super) fn execute(self) -> Result<Ended> {
        let style = Style::of_stdout();
        let (mut text, mut analysis) = (String::new(), String::new());
        for case in case::built_in()? {
            let threads: Vec<String> = case.threads.iter().map(ToString::to_string).collect();
            // Cases of a suite share it.
            let same = std::mem::replace(&mut analysis, case.analysis.clone()) == case.analysis;
            text += &format!(
                "{}\n  guests   {}\n  export   {} ({} convention)\n  threads  {}\n\n",
                style.bold(&case.name),
                case.guests.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
                case.export,
                case.abi,
                threads.join(", "),
            );
            for line in case.analysis.trim().lines().filter(|_| !same) {
                text += format!("  {line}").trim_end();
                text.push('\n');
            }
            if !same {
                text.push('\n');
            }
        }
        print(text.trim_end_matches('\n'))?;
        print("\n")?;
        Ok(Ended::Well)
    }
}
