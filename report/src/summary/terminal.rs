//! The summary of a run for the terminal.

use super::verdict;
use crate::Content;
use crate::rank::fastest;
use crate::units::{MARK, count, median, percent, ratio_with_interval};
use touchstone_record::estimate::{CLEAN_SAMPLES, PROCESSES};
use touchstone_record::terminal::{Style, Table};

/// Ratios that are printed.
const RATIOS: usize = 3;

/// Calls that are printed where there are neither ratios nor picks.
const CALLS: usize = 8;

/// The first ratios and the pick for each need, or the calls; and what interference did.
pub(crate) fn text(content: &Content<'_>) -> String {
    let style = Style::of_stdout();
    let mut ratios = Table::new(&["call", "A", "B", "B / A [95 %]"]).indented(2);
    let mut has_ratios = false;
    let all = content.pages.findings.iter();
    let all = all.filter_map(|of| {
        let (call, baseline) = (of.call.as_ref()?, of.baseline.as_ref()?);
        Some((of, call, baseline, verdict::pair(content.matrix, of)?.ratio))
    });
    for (of, call, baseline, ratio) in all.take(RATIOS) {
        let call = match of.threads {
            1 => call.case.clone(),
            several => format!("{} on {several} threads", call.case),
        };
        let [a, b] = [&of.subject, baseline].map(ToString::to_string);
        ratios.row([call, a, b, ratio_with_interval(&ratio)]);
        has_ratios = true;
    }
    let mut picks = Table::new(&["need", "executor", "time"]).indented(2);
    for pick in content.picks {
        picks.row([pick.need.need.clone(), pick.executor.to_string(), median(&pick.time)]);
    }
    let mut text = String::new();
    if has_ratios {
        text += &format!("Ratios: how many times longer B takes\n{}", ratios.render(style));
    }
    if !content.picks.is_empty() {
        text += &format!("Picks: the fastest clean call for each need\n{}", picks.render(style));
    }
    if !has_ratios
        && content.picks.is_empty()
        && let Some(calls) = calls(content)
    {
        text += &calls.render(style);
    }
    let (cells, marked, share) = content.matrix.counts();
    text + &match marked {
        _ if cells == 0 => String::new(),
        0 => format!("Interference: no cell is marked {MARK}.\n"),
        _ => format!(
            "Interference: {marked} of {} ({}) are marked {MARK}: fewer than {PROCESSES} processes \
             gave {CLEAN_SAMPLES} clean samples each. Their times may read up to 2 × slow. Both sides \
             of a ratio were timed in one state of the machine.\n",
            count(cells, "cell"),
            percent(share)
        ),
    }
}

/// The fastest executor of each engine, for cases that the pages do not name.
fn calls(content: &Content<'_>) -> Option<Table> {
    let matrix = content.matrix;
    let mut table = None;
    for work in matrix.works.iter().take(CALLS) {
        for engine in matrix.engines() {
            let own = fastest(matrix, work, |executor| executor.engine == engine);
            if let Some((executor, time)) = own {
                let head = ["call", "fastest of each engine", "time"];
                let table = table.get_or_insert_with(|| Table::new(&head));
                table.row([work.case.clone(), executor.to_string(), median(&time)]);
            }
        }
    }
    table
}
