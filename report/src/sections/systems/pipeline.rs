//! Messages whose verifier is swapped.

use crate::markdown::Table;
use crate::units::{count, grouped, time};
use touchstone_record::escape::code;
use touchstone_record::system::plan::{PipelinePlan, plan};
use touchstone_record::{Book, Pipeline, System, SystemFound, Verifier};

pub(crate) fn section(book: Option<&Book>) -> String {
    let all = book.map(|book| (book, runs(book))).filter(|(_, runs)| !runs.is_empty());
    let (Some((book, runs)), Ok(plan)) = (all, plan()) else {
        return "## Pipeline\n\nThere are no records of the pipeline; `make systems-full` makes them.\n\n"
            .to_owned();
    };
    let wrong: u64 = runs.iter().map(|(_, run)| run.wrong()).sum();
    let PipelinePlan { messages, limit_ms, published, engine, .. } = &plan;
    format!(
        "## Pipeline\n\nSigned messages pass gRPC, Redis and shared memory to a verifier that \
         changes its module with the kind of message (`touchstone systems pipeline`, commit {}). \
         The total reaches from sending the first message to the last verdict. A verdict reaches \
         from taking a message to the answer of the guest, with the swap or without. The longest \
         gap is between two verdicts. Engines other than {} got fewer messages (*) where {} take \
         more than {limit_ms} ms. Of all {} messages, {} lost, doubled, out of order or altered.\
         \n\nPublished: {} for {} messages on {}, {} ({}). The machines differ, so there is no \
         ratio.\n\n{}",
        code(&book.header.tools.commit),
        code(engine),
        count(*messages, "message"),
        grouped(runs.iter().map(|(_, run)| run.messages).sum()),
        match wrong {
            0 => "none was".to_owned(),
            1 => "1 was".to_owned(),
            more => format!("{} were", grouped(more)),
        },
        time(published.total_s * 1e9),
        grouped(*messages),
        code(engine),
        published.method,
        published.machine,
        table(&runs),
    )
}

/// The runs of the pipeline in the order of the table: without guests, by engine and method, and
/// the long ones and those with an outage after their like.
fn runs(book: &Book) -> Vec<(&System, &Pipeline)> {
    let own = book.systems.iter().filter_map(|system| match &system.found {
        SystemFound::Pipeline(run) => Some((system, run)),
        _ => None,
    });
    let mut runs: Vec<_> = own.collect();
    runs.sort_by_key(|(system, run)| {
        let has_guests = matches!(run.verifier, Verifier::Method(_));
        (has_guests, has_guests.then_some(&system.executor.engine))
    });
    runs
}

fn table(runs: &[(&System, &Pipeline)]) -> String {
    let headings = [
        "method",
        "messages",
        "swaps",
        "total",
        "per message",
        "verdict with swap, p50",
        "p99",
        "max",
        "verdict without, p50",
        "p99",
        "longest gap",
        "restarts of Redis",
        "lost, doubled, out of order, altered",
    ];
    let mut table = Table::new("Verifier", headings);
    for (System { executor, .. }, run) in runs {
        let (name, method) = match &run.verifier {
            Verifier::Nobody => ("nothing".to_owned(), None),
            Verifier::Host => ("host".to_owned(), None),
            Verifier::Method(method) => (code(executor), Some(code(method))),
        };
        let of = |calls: u64, ns: u64| (calls > 0).then(|| time(ns as f64));
        let (swapping, still) = (run.swapping, run.still);
        let limited = if run.limited { " (*)" } else { "" };
        let Pipeline { lost, doubled, misordered, altered, .. } = run;
        let cells = [
            method,
            Some(format!("{}{limited}", grouped(run.messages))),
            Some(grouped(run.swaps)),
            Some(time(run.total_ns as f64)),
            Some(time(run.per_message_ns())),
            of(swapping.calls, swapping.p50_ns),
            of(swapping.calls, swapping.p99_ns),
            of(swapping.calls, swapping.max_ns),
            of(still.calls, still.p50_ns),
            of(still.calls, still.p99_ns),
            Some(time(run.longest_gap_ns as f64)),
            Some(run.restarts.to_string()),
            Some(format!("{lost}, {doubled}, {misordered}, {altered}")),
        ];
        table.row(name, cells);
    }
    table.finish()
}
