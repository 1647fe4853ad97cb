//! The top of the page, which needs no script.

use crate::matrix::Matrix;
use crate::rank::Pick;
use crate::sections::machines::{self, Call};
use crate::units::{
    MARK, TWO_MODES, count, grouped, percent, ratio_with_interval, time_with_interval,
};
use std::fmt::Write;
use touchstone_record::escape::html;
use touchstone_record::estimate::{CLEAN_SAMPLES, PROCESSES};

/// Picks that are shown at most.
const MOST: usize = 7;

/// Machine, date, commit and size of the run: terms and descriptions.
pub(super) fn facts(matrix: &Matrix<'_>) -> String {
    let header = &matrix.book.header;
    let (machine, sampling) = (&header.machine, &header.sampling);
    let (cells, marked, share) = matrix.counts();
    let processes = match sampling.processes {
        1 => "1 process".to_owned(),
        several => format!("each of {several} processes"),
    };
    let samples = count(sampling.samples as u64, "sample");
    let rows = [
        ("Machine", format!("{}, {}", machine.cpu, count(machine.cores, "processor"))),
        ("System", format!("{}, Linux {}", machine.os, machine.kernel)),
        ("Started", header.started_at.clone()),
        ("Commit", header.tools.commit.clone()),
        ("Compiler", header.tools.rustc.clone()),
        ("Cells with a time", grouped(cells as u64)),
        ("Marked †", format!("{} ({})", grouped(marked as u64), percent(share))),
        ("Sampling", format!("{}: {samples} in {processes}", sampling.name)),
    ];
    let rows = rows.iter();
    rows.map(|(name, own)| format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", html(own))).collect()
}

/// The table of the picks, around its rows.
const HEADLINES: &str = include_str!("headlines.html");

/// A row for each of the first picks, whose executor links to the view with it as baseline;
/// nothing without a pick.
pub(super) fn headlines(matrix: &Matrix<'_>, all: &[Pick<'_>]) -> String {
    let mut text = String::new();
    for Pick { need, executor, time, .. } in all.iter().take(MOST) {
        let threads = matrix.threads(&need.call).first().copied().unwrap_or(1);
        let (case, guest, name) = (&need.call.case, &need.call.guest, executor.to_string());
        let view = format!("#case={case}&guest={guest}&threads={threads}&base={name}");
        let _ = writeln!(
            text,
            "<tr><th scope=\"row\">{}<div class=\"note\">{} on {}</div></th>\
             <td><a href=\"{}\">{}</a></td><td class=\"number\">{}</td></tr>",
            html(&need.need),
            breakable(case),
            breakable(guest),
            html(&view),
            breakable(&name),
            html(&time_with_interval(time)).replace(" – ", "&nbsp;–&nbsp;"),
        );
    }
    if text.is_empty() {
        return text;
    }
    HEADLINES.replace("{{rows}}", &text)
}

/// A name that may be broken at each underscore.
fn breakable(name: &str) -> String {
    html(name).replace('_', "_<wbr>")
}

/// The meaning of †, and a warning if the sampling was short.
pub(super) fn note(matrix: &Matrix<'_>) -> String {
    let sampling = &matrix.book.header.sampling.name;
    let sketch = match sampling.as_str() {
        "full" => String::new(),
        other => format!(
            " <strong>Caution</strong>: this run was sampled with {} instead of full. Its numbers \
             are a sketch.",
            html(other)
        ),
    };
    format!(
        "{MARK} marks a value with interference: fewer than {PROCESSES} processes gave \
         {CLEAN_SAMPLES} clean samples each, and the value may read up to 2 × slow. {TWO_MODES} marks a cell whose processes fall \
         into two groups more than 1.5 times apart.{sketch}"
    )
}

/// The headline ratios of several machines, a column for each; nothing where there are none.
pub(super) fn machines(matrix: &Matrix<'_>) -> String {
    let machines = &matrix.records.machines;
    if machines.is_empty() {
        return String::new();
    }
    let heads = machines.iter().map(|machine| {
        let (header, own) = (&machine.header, &machine.header.machine);
        let about = format!(
            "{}, Linux {}, {}, {}",
            count(own.cores, "processor"),
            own.kernel,
            header.date(),
            machine.state()
        );
        let (cpu, about) = (html(&own.cpu), html(&about));
        format!("<th scope=\"col\" class=\"number\">{cpu}<div class=\"note\">{about}</div></th>")
    });
    let heads: String = heads.collect();
    let row = |call: &Call| {
        let cells = machines.iter().map(|machine| {
            let ratio = machine.ratio(call).as_ref().map(ratio_with_interval);
            format!("<td class=\"number\">{}</td>", html(ratio.as_deref().unwrap_or("–")))
        });
        let Call { subject, baseline, case, .. } = call;
        let call = format!("{case}, {}", count(subject.threads, "thread"));
        format!(
            "<tr><th scope=\"row\">{} / {}<div class=\"note\">{}</div></th>{}</tr>\n",
            breakable(&baseline.to_string()),
            breakable(&subject.to_string()),
            html(&call),
            cells.collect::<String>()
        )
    };
    let rows: String = machines::calls(machines).into_iter().map(row).collect();
    format!(
        "<section aria-labelledby=\"machines\">\n<h2 id=\"machines\">Machines</h2>\n<p>The ratios of \
         the headlines on several machines: how many times slower the first executor is than the \
         second, timed in turns on one machine. A ratio never spans two machines.</p>\n<div class=\"scroll\" role=\"region\" \
         aria-label=\"Ratios of machines\" tabindex=\"0\">\n<table aria-label=\"Ratios of machines\">\n\
         <thead><tr><th scope=\"col\">Executors, call</th>{heads}</tr></thead>\n<tbody>\n{rows}\
         </tbody>\n</table>\n</div>\n</section>\n"
    )
}
