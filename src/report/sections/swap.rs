//! Hot swap: what changing the module costs, and what callers see of it.

use crate::record::{SoakPoint, SwapFound, SwapRecord, SwapTail};
use crate::report::markdown::{Table, code};
use crate::report::units::{count, difference, grouped, time, times};
use crate::swap::Step;

/// What was published for recompiling at each change.
const PUBLISHED: &str = "Published for 1024 messages of these two kinds in random order, \
     recompiling at each change: 31.2 s, which is 30 ms a message (Wasmtime of 2023 on an \
     i7-4770K).";

pub(in crate::report) fn section(swaps: &[SwapRecord]) -> String {
    let mut text = "## Hot swap\n\n".to_owned();
    if swaps.is_empty() {
        return text + "There are no records of swaps; `make swap` makes them.\n\n";
    }
    let mut swaps: Vec<&SwapRecord> = swaps.iter().collect();
    swaps.sort_by_key(|swap| (&swap.engine, place(&swap.rung)));
    text += "Messages of two kinds in random order (`make swap`), each kind answered by a module \
             of its own. ";
    text += PUBLISHED;
    text += "\n\n";
    text += &ladder(&swaps);
    text += &soaks(&swaps);
    text += &loads(&swaps);
    text
}

/// Where a rung stands in the tables.
fn place(rung: &str) -> usize {
    Step::ALL.iter().position(|step| step.name() == rung).unwrap_or(Step::ALL.len())
}

/// What a message with a swap costs on the engine's rung that recompiles, in the same
/// run, ns.
fn recompiling(swaps: &[&SwapRecord], swap: &SwapRecord) -> Option<f64> {
    swaps.iter().find_map(|other| match &other.found {
        SwapFound::Ladder { per_message_with_swap, .. }
            if other.engine == swap.engine
                && other.rung == Step::Recompile.name()
                && other.provenance.run == swap.provenance.run =>
        {
            Some(per_message_with_swap.median_ns)
        }
        _ => None,
    })
}

fn ladder(swaps: &[&SwapRecord]) -> String {
    let headings = [
        "Engine",
        "rung",
        "strategy",
        "messages",
        "changes",
        "per message",
        "per message by kind",
        "per swap [95 % interval]",
        "message with a swap",
        "times cheaper than recompiling",
        "resident memory",
    ];
    let mut table = Table::new(&headings);
    let mut rows = 0;
    for swap in swaps {
        let SwapFound::Ladder {
            messages,
            changes,
            per_message,
            per_sorted_message,
            per_swap,
            per_message_with_swap,
            ..
        } = &swap.found
        else {
            continue;
        };
        let one = per_message_with_swap.median_ns;
        let cheaper = recompiling(swaps, swap).filter(|_| one > 0.0);
        table.row(&[
            code(&swap.engine),
            code(&swap.rung),
            code(&swap.strategy),
            grouped(*messages),
            grouped(*changes),
            time(per_message.median_ns),
            time(per_sorted_message.median_ns),
            difference(per_swap.median_ns, per_swap.low_ns, per_swap.high_ns),
            time(one),
            cheaper.map_or_else(|| "–".to_owned(), |recompiling| times(recompiling / one)),
            grown(swap.growth_kib()),
        ]);
        rows += 1;
    }
    if rows == 0 {
        return "There are no records of ladders; `touchstone swap` makes them.\n\n".to_owned();
    }
    format!(
        "`recompile` compiles, loads and instantiates at each change of kind, `load_artifact` \
         loads what was compiled beforehand, `instantiate` makes an instance of a module that is \
         loaded, `two_live_instances` keeps one of each, `pool` takes them from a pool. The rungs \
         of an engine are timed in turns within one run, on the same messages in random order and \
         by kind, which is with one change. A swap is what the random order took longer, over the \
         changes that it had more; where that is less than what two passes over the same messages \
         differ by, there is nothing to be seen of it. Memory is what a rung's own passes added to the process.\n\n{}",
        table.finish()
    )
}

/// KiB more, or fewer.
fn grown(kib: i64) -> String {
    match kib {
        0 => "±0".to_owned(),
        kib => format!("{kib:+} KiB"),
    }
}

fn soaks(swaps: &[&SwapRecord]) -> String {
    let mut text = String::new();
    for swap in swaps {
        let SwapFound::Soak { points } = &swap.found else { continue };
        let (Some(first), Some(last)) = (points.first(), points.last()) else { continue };
        let SoakPoint { swaps, resident_kib } = last;
        text += &format!(
            "* {} {}: {} swaps; {} KiB resident after {} of them, {} KiB after all, {}.\n",
            code(&swap.engine),
            code(&swap.rung),
            grouped(*swaps),
            grouped(first.resident_kib),
            grouped(first.swaps),
            grouped(*resident_kib),
            grown(swap.growth_kib()),
        );
    }
    match text.as_str() {
        "" => text,
        _ => format!("Swapping for long, each message of the other kind:\n\n{text}\n"),
    }
}

fn loads(swaps: &[&SwapRecord]) -> String {
    let headings = [
        "Engine",
        "strategy",
        "threads",
        "",
        "messages",
        "p50",
        "p99",
        "p99.9",
        "max",
        "failed or wrong",
    ];
    let mut table = Table::new(&headings);
    let mut rows = 0;
    for swap in swaps {
        let SwapFound::UnderLoad { threads, replacements, failed, wrong, swapping, still, .. } =
            &swap.found
        else {
            continue;
        };
        let replaced = usize::try_from(*replacements).unwrap_or(usize::MAX);
        let replaced = count(replaced, "replacement");
        for (what, tail) in [(replaced.as_str(), swapping), ("none", still)] {
            let SwapTail { calls, p50_ns, p99_ns, p999_ns, max_ns } = *tail;
            let [p50, p99, p999, max] = [p50_ns, p99_ns, p999_ns, max_ns].map(|ns| time(ns as f64));
            table.row(&[
                code(&swap.engine),
                code(&swap.strategy),
                threads.to_string(),
                what.to_owned(),
                grouped(calls),
                p50,
                p99,
                p999,
                max,
                (failed + wrong).to_string(),
            ]);
            rows += 1;
        }
    }
    if rows == 0 {
        return "There are no records of swaps under load; `touchstone swap --under-load` makes \
                them.\n\n"
            .to_owned();
    }
    format!(
        "Swap under load: threads keep sending messages while another one loads the other module \
         and puts it in the place of the one before; then the same for as long without. The time \
         of a message is from looking for a new module, taking an instance of it included, to the \
         answer. Of fewer than 1,000 messages, p99.9 is the slowest.\n\n{}",
        table.finish()
    )
}
