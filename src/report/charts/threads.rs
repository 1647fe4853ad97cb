//! What more threads bring: throughput relative to one thread, a panel for
//! each work.

use super::legend::{self, DOT};
use super::scene::{Align, Scene, Shape};
use super::text::{self, NORMAL, SMALL, TITLE};
use super::theme::Theme;
use crate::report::matrix::{Executor, Matrix, Work};
use crate::report::units;

/// Size of a panel's plot, px.
const PLOT: (f64, f64) = (190.0, 220.0);
/// Height of a panel's heading, px.
const HEAD: f64 = 50.0;
/// Height of the axis below the plot, px.
const FOOT: f64 = 44.0;
/// Room for the axis left of the plot, px.
const AXIS: f64 = 44.0;
/// Distance from the edges, px.
const MARGIN: f64 = 18.0;
/// Height of title, explanation and legend, px.
const TOP: f64 = 92.0;
/// Length of the line to a label, px.
const LEADER: f64 = 22.0;
/// Least distance between two labels, px.
const LABEL: f64 = 14.0;

/// A line of a panel.
#[derive(Debug)]
struct Line {
    /// Index of the backend.
    category: usize,
    strategy: String,
    /// Threads and throughput relative to one thread.
    points: Vec<(usize, f64)>,
}

/// A panel: its lines and the numbers of threads on its axis.
#[derive(Debug)]
struct Panel {
    heading: [String; 2],
    threads: Vec<usize>,
    /// The lines with a name.
    lines: Vec<Line>,
    /// All other executors: the ground against which to see the named ones.
    others: Vec<Vec<(usize, f64)>>,
}

/// Lays the panels out, two beside each other. `None` if no executor has
/// throughput on one thread and on more.
pub(super) fn scene(matrix: &Matrix, theme: &Theme) -> Option<Scene> {
    let panels: Vec<Panel> =
        matrix.overview().into_iter().filter_map(|work| panel(matrix, work)).collect();
    if panels.is_empty() {
        return None;
    }
    let labels: Vec<String> = panels.iter().flat_map(|p| &p.lines).filter_map(label).collect();
    let room = text::widest(labels.iter().map(String::as_str), SMALL) + LEADER + 26.0;
    let pitch = (AXIS + PLOT.0 + room, HEAD + PLOT.1 + FOOT);
    let across = panels.len().min(2);
    let title = "Throughput of N threads, relative to the same executor on 1 thread (log scales)";
    let explain = "Named: the highest throughput of each backend, and the worst ratio; grey: all \
                   others; dashed: N times. No precompiled twins.";
    let occurs =
        |category: usize| panels.iter().flat_map(|p| &p.lines).any(|l| l.category == category);
    let backends: Vec<(usize, String)> = matrix
        .backends()
        .into_iter()
        .map(|backend| matrix.label(backend))
        .enumerate()
        .filter(|(category, _)| occurs(*category))
        .collect();
    let width = (2.0 * MARGIN + across as f64 * pitch.0)
        .max(2.0 * MARGIN + text::width(title, TITLE, true))
        .max(2.0 * MARGIN + text::width(explain, NORMAL, false))
        .max(2.0 * MARGIN + legend::width(backends.iter().map(|(_, name)| name.as_str())));
    let height = TOP + panels.len().div_ceil(2) as f64 * pitch.1;
    let mut scene = Scene::new((width, height), title, theme.background);
    scene.bold((MARGIN, 24.0), title, TITLE, Align::Start, theme.text);
    scene.text((MARGIN, 47.0), explain, NORMAL, Align::Start, theme.muted);
    legend::draw(&mut scene, (MARGIN + 5.0, 71.0), &backends, None, theme);
    for (index, panel) in panels.iter().enumerate() {
        let corner = (MARGIN + (index % 2) as f64 * pitch.0, TOP + (index / 2) as f64 * pitch.1);
        draw(&mut scene, panel, corner, theme);
    }
    Some(scene)
}

/// An executor with throughput on one thread and on the most.
struct Candidate<'a> {
    executor: &'a Executor,
    points: Vec<(usize, f64)>,
    /// Calls a second on the most threads.
    together: f64,
    /// The same, relative to one thread.
    relative: f64,
}

fn candidate<'a>(
    matrix: &Matrix,
    executor: &'a Executor,
    work: &Work,
    threads: &[usize],
) -> Option<Candidate<'a>> {
    let together = matrix.throughput(executor, work, *threads.last()?)?;
    let alone = matrix.throughput(executor, work, 1)?;
    let points = threads
        .iter()
        .filter_map(|n| Some((*n, matrix.throughput(executor, work, *n)? / alone)))
        .collect();
    Some(Candidate { executor, points, together, relative: together / alone })
}

fn panel(matrix: &Matrix, work: &Work) -> Option<Panel> {
    matrix.most_threads(work).filter(|most| *most > 1)?;
    let threads = matrix.threads(work);
    let all: Vec<Candidate<'_>> = matrix
        .executors
        .iter()
        .filter(|executor| !matrix.is_twin(executor))
        .filter_map(|executor| candidate(matrix, executor, work, &threads))
        .collect();
    let backends = matrix.backends();
    // The first of equals, as in the tables.
    let mut named: Vec<usize> = backends
        .iter()
        .filter_map(|backend| {
            (0..all.len())
                .filter(|index| all[*index].executor.backend == *backend)
                .reduce(|a, b| if all[b].together > all[a].together { b } else { a })
        })
        .collect();
    let worst =
        (0..all.len()).reduce(|a, b| if all[b].relative < all[a].relative { b } else { a })?;
    if !named.contains(&worst) {
        named.push(worst);
    }
    let lines = named
        .iter()
        .map(|index| {
            let Candidate { executor, points, .. } = &all[*index];
            let category = backends.iter().position(|name| *name == executor.backend);
            let category = category.unwrap_or_default();
            Line { category, strategy: executor.strategy.clone(), points: points.clone() }
        })
        .collect();
    let others = all
        .iter()
        .enumerate()
        .filter(|(index, _)| !named.contains(index))
        .map(|(_, candidate)| candidate.points.clone())
        .collect();
    let heading = [work.case.clone(), format!("on {}", work.guest)];
    Some(Panel { heading, threads, lines, others })
}

fn draw(scene: &mut Scene, panel: &Panel, (x, y): (f64, f64), theme: &Theme) {
    let (left, top) = (x + AXIS, y + HEAD);
    let (right, bottom) = (left + PLOT.0, top + PLOT.1);
    let most = panel.threads.last().copied().unwrap_or(1);
    let all = panel.lines.iter().map(|line| &line.points).chain(&panel.others).flatten();
    let all: Vec<f64> = all.map(|point| point.1).collect();
    // Both axes are logarithmic, so that perfect scaling is a straight line and
    // a loss of half is as long as a gain of twice.
    let high = all.iter().copied().fold(most as f64, f64::max).log2() + 0.15;
    let low = all.iter().copied().fold(0.5, f64::min).log2() - 0.15;
    let at = |threads: usize, relative: f64| {
        let across = (threads.max(1) as f64).log2() / (most.max(2) as f64).log2();
        let up = (relative.log2() - low) / (high - low);
        (left + across * PLOT.0, bottom - up * PLOT.1)
    };

    scene.bold((left, y + 10.0), panel.heading[0].as_str(), NORMAL, Align::Start, theme.text);
    scene.text((left, y + 27.0), panel.heading[1].as_str(), NORMAL, Align::Start, theme.muted);
    for mark in marks(low, high) {
        let (_, level) = at(1, mark);
        let color = if mark == 1.0 { theme.muted } else { theme.grid };
        scene.line((left, level), (right, level), 1, color);
        let label = format!("{mark} ×");
        scene.text((left - 8.0, level), label, SMALL, Align::End, theme.muted);
    }
    for threads in &panel.threads {
        let (place, _) = at(*threads, 1.0);
        scene.line((place, top), (place, bottom), 1, theme.grid);
        let label = threads.to_string();
        scene.text((place, bottom + 12.0), label, SMALL, Align::Middle, theme.muted);
    }
    let middle = (f64::midpoint(left, right), bottom + 28.0);
    scene.text(middle, "threads", SMALL, Align::Middle, theme.muted);
    for pair in panel.threads.windows(2) {
        scene.dashed(at(pair[0], pair[0] as f64), at(pair[1], pair[1] as f64), 1, theme.muted);
    }
    for points in &panel.others {
        let places: Vec<(f64, f64)> = points.iter().map(|point| at(point.0, point.1)).collect();
        for pair in places.windows(2) {
            scene.line(pair[0], pair[1], 1, theme.faint);
        }
    }
    let ends: Vec<f64> =
        panel.lines.iter().filter_map(|l| l.points.last()).map(|end| at(end.0, end.1).1).collect();
    let places = apart(&ends, (top, bottom));
    for (line, label_y) in panel.lines.iter().zip(places) {
        draw_line(scene, line, &at, (right, label_y), theme);
    }
}

/// What stands beside a line's end.
fn label(line: &Line) -> Option<String> {
    line.points
        .last()
        .map(|(_, relative)| format!("{}  {}", units::times(*relative), line.strategy))
}

/// Draws a line with a name.
fn draw_line(
    scene: &mut Scene,
    line: &Line,
    at: &impl Fn(usize, f64) -> (f64, f64),
    (right, label_y): (f64, f64),
    theme: &Theme,
) {
    let color = theme.category(line.category);
    let places: Vec<(f64, f64)> = line.points.iter().map(|point| at(point.0, point.1)).collect();
    for pair in places.windows(2) {
        scene.line(pair[0], pair[1], 2, color);
    }
    for place in &places {
        scene.marker(Shape::category(line.category), *place, DOT, color);
    }
    if let (Some(place), Some(label)) = (places.last(), label(line)) {
        let end = (right + LEADER, label_y);
        scene.line((place.0 + DOT, place.1), end, 1, color);
        scene.marker(Shape::category(line.category), end, DOT, color);
        scene.text((end.0 + 10.0, end.1), label, SMALL, Align::Start, theme.text);
    }
}

/// Powers of two whose logarithm lies between `low` and `high`, at most nine.
fn marks(low: f64, high: f64) -> Vec<f64> {
    // A ratio of throughputs lies well within these.
    let (first, last) = (low.ceil() as i32, high.floor() as i32);
    let every = usize::try_from((last - first) / 9 + 1).unwrap_or(1);
    (first..=last).step_by(every).map(|power| 2_f64.powi(power)).collect()
}

/// Moves label heights apart so that none overlap, keeping their order and
/// staying near where they belong.
fn apart(wanted: &[f64], (top, bottom): (f64, f64)) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places = vec![0.0; wanted.len()];
    let mut free = top;
    for &index in &order {
        places[index] = wanted[index].max(free);
        free = places[index] + LABEL;
    }
    let mut limit = bottom;
    for &index in order.iter().rev() {
        places[index] = places[index].min(limit);
        limit = places[index] - LABEL;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_overlap() {
        let mut places = apart(&[100.0, 101.0, 99.0, 10.0, 219.0, 218.0], (0.0, 220.0));
        places.sort_by(f64::total_cmp);
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= LABEL - 1e-9), "{places:?}");
    }

    #[test]
    fn levels_are_few() {
        assert_eq!(marks(-1.15, 2.15), [0.5, 1.0, 2.0, 4.0]);
        assert!(marks(-12.0, 12.0).len() <= 9);
    }
}
