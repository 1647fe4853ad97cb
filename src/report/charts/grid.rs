//! Suites that each engine runs under one strategy: a row for each call, a column for
//! each engine.

use super::heatmap::{WIDEST, coloured, key};
use super::scene::{Align, Scene};
use super::text::{self, NORMAL, SMALL, TITLE};
use super::theme::Theme;
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::shares;

/// Height of a row, px.
const ROW: f64 = 19.0;
/// Width of a column, px.
const COLUMN: f64 = 92.0;
/// Distance between guests, px.
const GAP: f64 = 24.0;
/// Distance from the edges, px.
const MARGIN: f64 = 18.0;
/// Height of the title, the explanation, the key and the headings, px.
const TITLES: f64 = 128.0;

/// Lays the grid out. `None` if nothing was timed.
pub(super) fn scene(matrix: &Matrix, title: &str, theme: &Theme) -> Option<Scene> {
    let rows: Vec<(&Work, String)> = matrix
        .works
        .iter()
        .filter(|work| {
            matrix.backends().iter().any(|backend| time(matrix, backend, work).is_some())
        })
        .map(|work| (work, label(matrix, work)))
        .collect();
    rows.first()?;
    // The baseline first, where it is next to what is held against it.
    let mut backends = matrix.backends();
    backends.retain(|backend| rows.iter().any(|(work, _)| time(matrix, backend, work).is_some()));
    backends.sort_by_key(|backend| !matrix.is_baseline(backend));

    let left = MARGIN + text::widest(rows.iter().map(|(_, label)| &**label), SMALL) + 10.0;
    let explain = "Colour: how many times the fastest of its row that is no baseline, on a \
                   logarithmic scale.";
    let right = left + COLUMN * backends.len() as f64;
    let wide = text::width(explain, NORMAL, false) + MARGIN;
    let guests = rows.chunk_by(|a, b| a.0.guest == b.0.guest).count() as f64;
    let bottom = TITLES + rows.len() as f64 * ROW + guests * GAP;
    let mut scene =
        Scene::new((right.max(wide).max(720.0) + MARGIN, bottom + MARGIN), title, theme.background);
    scene.bold((MARGIN, 24.0), title, TITLE, Align::Start, theme.text);
    scene.text((MARGIN, 47.0), explain, NORMAL, Align::Start, theme.muted);
    key(&mut scene, WIDEST, true, theme);
    for (index, backend) in backends.iter().enumerate() {
        let middle = left + (index as f64 + 0.5) * COLUMN;
        for (line, part) in text::wrap(backend, COLUMN - 4.0, SMALL, false).iter().enumerate() {
            let at = (middle, 100.0 + line as f64 * 14.0);
            scene.text(at, part.as_str(), SMALL, Align::Middle, theme.text);
        }
    }
    let mut y = TITLES;
    let mut guest = String::new();
    for (work, label) in &rows {
        if guest != work.guest {
            guest.clone_from(&work.guest);
            scene.bold((left, y + GAP / 2.0), guest.as_str(), SMALL, Align::Start, theme.text);
            y += GAP;
        }
        scene.text((left - 10.0, y + ROW / 2.0), label.as_str(), SMALL, Align::End, theme.text);
        let ours = backends.iter().filter(|backend| !matrix.is_baseline(backend));
        let best = ours.filter_map(|backend| time(matrix, backend, work)).min_by(f64::total_cmp);
        for (index, backend) in backends.iter().enumerate() {
            let corner = (left + index as f64 * COLUMN, y);
            let size = (COLUMN - 1.0, ROW - 1.0);
            let shown = time(matrix, backend, work).map(|time| (time, best.unwrap_or(time)));
            coloured(&mut scene, corner, size, shown, WIDEST, theme);
        }
        y += ROW;
    }
    Some(scene)
}

/// What stands beside a row: the case's own title on its guest, or its name.
fn label(matrix: &Matrix, work: &Work) -> String {
    let own = |key: &&crate::record::CellKey| key.guest == work.guest && key.case == work.case;
    let mut keys = matrix.cells().iter().map(|cell| &cell.key);
    let title = keys.find(own).and_then(|key| key.title.as_deref());
    match title.and_then(|title| title.split_once('/')) {
        Some((_, scenario)) => scenario.to_owned(),
        None => work.case.clone(),
    }
}

/// Time of a call by a backend's executor, ns: on a used instance where that was timed.
fn time(matrix: &Matrix, backend: &str, work: &Work) -> Option<f64> {
    let own = |executor: &&Executor| executor.backend == backend;
    matrix.executors.iter().filter(own).find_map(|executor| {
        let clean = matrix.time(executor, work, 1)?;
        Some(shares::warm(matrix, executor, work).unwrap_or(clean).median)
    })
}
