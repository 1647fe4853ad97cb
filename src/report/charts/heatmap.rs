//! The whole matrix at once: a row for each executor, a column for each case,
//! guest and number of threads.

use super::scene::{Align, Scene};
use super::text::{self, NORMAL, SMALL, TITLE};
use super::theme::{Theme, readable_on};
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::rank::{Believable, tied};
use crate::report::units::{self, count};
use std::fmt::Write;

/// Height of a row, px.
const ROW: f64 = 20.0;
/// Width of a column, px.
const COLUMN: f64 = 78.0;
/// Distance between backends and between works, px.
const GAP: f64 = 6.0;
/// With more columns than these, only the first and the last number of threads
/// of each work are shown, else the text would be too small on a page.
const MOST_COLUMNS: usize = 12;
/// Where the scale of colours ends at the latest, decades above the fastest: a
/// single hopeless executor must not make all others look alike.
pub(super) const WIDEST: f64 = 2.0;
/// Distance from the edges, px.
const MARGIN: f64 = 18.0;
/// Height of the title, the explanation and the key, px.
const TITLES: f64 = 96.0;
/// Least width of the picture, for the scale of colours and the explanation, px.
const KEY: f64 = 720.0;
/// Height of a line of a column's heading, px.
const LINE: f64 = 15.0;

/// A column of the map.
struct Column<'a> {
    work: &'a Work,
    threads: usize,
    x: f64,
    /// Fastest and slowest, ns; `None` if nothing was timed.
    range: Option<(f64, f64)>,
}

/// Lays the map out. `None` if nothing was timed.
pub(super) fn scene(
    matrix: &Matrix,
    title: &str,
    believable: &Believable,
    theme: &Theme,
) -> Option<Scene> {
    let (executors, folded) = executors(matrix, believable);
    let names: Vec<String> = executors.iter().map(|executor| executor.name()).collect();
    let left = MARGIN + text::widest(names.iter().map(String::as_str), SMALL) + 10.0;
    let columns = columns(matrix, left);
    // One scale for all columns: the same colour is the same factor everywhere.
    let reach = columns
        .iter()
        .filter_map(|column| column.range)
        .map(|(low, high)| (high / low).log10())
        .max_by(f64::total_cmp)?;
    let widest = reach.min(WIDEST);
    let right = columns.last()?.x + COLUMN;

    let heads = headings(matrix, &columns);
    let lines = heads.iter().map(|head| head.lines.len()).max().unwrap_or(1) as f64;
    let top = TITLES + lines * LINE + 26.0;
    let rows = rows(&executors, top);
    let bottom = rows.last()? + ROW;
    let mut explain =
        "Colour: how many times the fastest of its column, on a logarithmic scale.".to_owned();
    if columns.len() < all_columns(matrix) {
        explain.push_str(" Fewest and most threads only.");
    }
    if folded > 0 {
        let twins = count(folded, "precompiled twin");
        let _ = write!(explain, " {twins} not shown: in no cell more than noise apart.");
    }
    let wide = text::width(&explain, NORMAL, false) + 2.0 * MARGIN;
    let width = (right + MARGIN).max(KEY).max(wide);
    let mut scene = Scene::new((width, bottom + MARGIN), title, theme.background);
    scene.bold((MARGIN, 24.0), title, TITLE, Align::Start, theme.text);
    scene.text((MARGIN, 47.0), explain.as_str(), NORMAL, Align::Start, theme.muted);
    key(&mut scene, widest, reach > WIDEST, theme);

    for head in &heads {
        let first = TITLES + (lines - head.lines.len() as f64) * LINE + LINE / 2.0;
        for (index, line) in head.lines.iter().enumerate() {
            let at = (head.x, first + index as f64 * LINE);
            scene.text(at, line.as_str(), SMALL, Align::Start, theme.text);
        }
        let y = top - 22.0;
        scene.line((head.x, y), (head.x + head.width, y), 1, theme.muted);
    }
    for column in &columns {
        let at = (column.x + COLUMN / 2.0, top - 11.0);
        scene.text(at, count(column.threads, "thread"), SMALL, Align::Middle, theme.muted);
    }
    for ((executor, name), y) in executors.iter().zip(names).zip(rows) {
        let at = (left - 10.0, y + ROW / 2.0);
        scene.text(at, name, SMALL, Align::End, theme.text);
        for column in &columns {
            cell(&mut scene, matrix, executor, column, y, widest, theme);
        }
    }
    Some(scene)
}

/// The executors with a row, and how many precompiled twins have none because
/// in no cell they are further from theirs than the worst null row is from
/// itself: two rows that differ by less only hide the others.
fn executors<'a>(matrix: &'a Matrix, believable: &Believable) -> (Vec<&'a Executor>, usize) {
    let cells: Vec<(&Work, usize)> = matrix
        .works
        .iter()
        .flat_map(|work| matrix.threads(work).into_iter().map(move |threads| (work, threads)))
        .collect();
    let timed = |executor: &&Executor| {
        cells.iter().any(|(work, threads)| matrix.time(executor, work, *threads).is_some())
    };
    let ties = |executor: &&Executor| {
        let base = executor.base();
        cells.iter().all(|(work, threads)| {
            match (matrix.time(executor, work, *threads), matrix.time(&base, work, *threads)) {
                (Some(a), Some(b)) => tied(a, b, believable.worst(&work.case)),
                (None, None) => true,
                _ => false,
            }
        })
    };
    let (folded, shown): (Vec<&Executor>, Vec<&Executor>) = matrix
        .executors
        .iter()
        .filter(timed)
        .partition(|executor| matrix.is_twin(executor) && ties(executor));
    (shown, folded.len())
}

/// Tops of the rows; backends stand apart a little.
fn rows(executors: &[&Executor], top: f64) -> Vec<f64> {
    let mut y = top;
    let mut tops = Vec::new();
    let mut last: Option<&str> = None;
    for executor in executors {
        if last.is_some_and(|backend| backend != executor.backend) {
            y += GAP;
        }
        last = Some(&executor.backend);
        tops.push(y);
        y += ROW;
    }
    tops
}

/// How many columns there are if none is left out.
fn all_columns(matrix: &Matrix) -> usize {
    matrix.works.iter().map(|work| matrix.threads(work).len()).sum()
}

/// The columns from `x` on; works stand apart a little.
fn columns(matrix: &Matrix, mut x: f64) -> Vec<Column<'_>> {
    let mut columns = Vec::new();
    let all = all_columns(matrix);
    for work in &matrix.works {
        let mut numbers = matrix.threads(work);
        if all > MOST_COLUMNS {
            let last = numbers.last().copied();
            numbers.retain(|threads| *threads == 1 || Some(*threads) == last);
        }
        for threads in numbers {
            let times: Vec<f64> = matrix
                .executors
                .iter()
                .filter_map(|executor| Some(matrix.time(executor, work, threads)?.median))
                .collect();
            let low = times.iter().copied().min_by(f64::total_cmp);
            let high = times.iter().copied().max_by(f64::total_cmp);
            columns.push(Column { work, threads, x, range: low.zip(high) });
            x += COLUMN;
        }
        x += GAP;
    }
    columns
}

/// Heading of the columns of one work.
struct Heading {
    x: f64,
    width: f64,
    lines: Vec<String>,
}

fn headings(matrix: &Matrix, columns: &[Column<'_>]) -> Vec<Heading> {
    matrix
        .works
        .iter()
        .filter_map(|work| {
            let mut own = columns.iter().filter(|column| column.work == work);
            let x = own.next()?.x;
            let width = own.next_back().map_or(COLUMN, |last| last.x + COLUMN - x);
            let mut lines = text::wrap(&work.case, width, SMALL, false);
            lines.extend(text::wrap(&format!("on {}", work.guest), width, SMALL, false));
            Some(Heading { x, width, lines })
        })
        .collect()
}

/// The scale of colours, with its ends named.
pub(super) fn key(scene: &mut Scene, widest: f64, more: bool, theme: &Theme) {
    const STEPS: u32 = 60;
    const STEP: f64 = 4.0;
    let (mut x, y) = (MARGIN, 71.0);
    let best = "1 × (fastest)";
    scene.text((x, y), best, SMALL, Align::Start, theme.text);
    x += text::width(best, SMALL, false) + 8.0;
    for step in 0..STEPS {
        let share = f64::from(step) / f64::from(STEPS - 1);
        let at = (x + f64::from(step) * STEP, y - 7.0);
        // One pixel over the next step: no seam shows when it is scaled.
        scene.rect(at, (STEP + 1.0, 14.0), theme.ramp(share));
    }
    x += f64::from(STEPS) * STEP + 9.0;
    let worst = units::times(10_f64.powf(widest));
    let worst = if more { format!("{worst} and more") } else { worst };
    scene.text((x, y), worst.as_str(), SMALL, Align::Start, theme.text);
    x += text::width(&worst, SMALL, false) + 24.0;
    scene.rect((x, y - 7.0), (26.0, 14.0), theme.missing);
    scene.text((x + 13.0, y), "–", SMALL, Align::Middle, theme.muted);
    scene.text((x + 34.0, y), "not timed", SMALL, Align::Start, theme.text);
}

/// One cell: its colour and its time.
fn cell(
    scene: &mut Scene,
    matrix: &Matrix,
    executor: &Executor,
    column: &Column<'_>,
    y: f64,
    widest: f64,
    theme: &Theme,
) {
    let time = matrix.time(executor, column.work, column.threads);
    let shown = time.zip(column.range).map(|(time, (best, _))| (time.median, best));
    coloured(scene, (column.x, y), (COLUMN - 1.0, ROW - 1.0), shown, widest, theme);
}

/// A time beside the one that it is measured by, both in ns, on the colour of their ratio.
pub(super) fn coloured(
    scene: &mut Scene,
    corner: (f64, f64),
    size: (f64, f64),
    shown: Option<(f64, f64)>,
    widest: f64,
    theme: &Theme,
) {
    let middle = (corner.0 + (size.0 + 1.0) / 2.0, corner.1 + (size.1 + 1.0) / 2.0);
    if let Some((time, best)) = shown {
        let factor = (time / best).log10().max(0.0);
        let ground = theme.ramp(if widest > 0.0 { (factor / widest).min(1.0) } else { 0.0 });
        scene.rect(corner, size, ground);
        let label = units::time_short(time);
        scene.text(middle, label, SMALL, Align::Middle, readable_on(ground));
    } else {
        // Grey with a dash, so that it is no colour of the scale.
        scene.rect(corner, size, theme.missing);
        scene.text(middle, "–", SMALL, Align::Middle, theme.muted);
    }
}
