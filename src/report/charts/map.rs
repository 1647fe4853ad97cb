//! Coloured tables of times: the colour says how many times the fastest a time is.

use super::scene::{Align, MARGIN, Scene, TOP};
use super::text::{self, SMALL};
use super::theme::{Theme, readable_on};
use crate::record::Estimate;
use crate::report::units;

/// A coloured table, ready to be laid out.
#[derive(Debug)]
pub(super) struct Map {
    /// What is shown.
    pub title: String,
    /// How to read it.
    pub subtitle: String,
    /// Headings of the columns.
    pub columns: Vec<Group<String>>,
    /// The rows; each has as many cells as there are columns.
    pub rows: Vec<Group<Row>>,
}

/// Rows or columns that belong together.
#[derive(Debug)]
pub(super) struct Group<T> {
    /// Stands above them; nothing where empty.
    pub heading: String,
    /// The rows or columns.
    pub members: Vec<T>,
}

/// One row.
#[derive(Debug)]
pub(super) struct Row {
    /// Stands left of the cells.
    pub label: String,
    /// The cells.
    pub cells: Vec<Option<Cell>>,
}

/// A time and how many times the fastest it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    /// The time, ns.
    pub time: Estimate,
    /// The time over the fastest that it is held against.
    pub factor: f64,
}

/// Height of a row, px.
const ROW: f64 = 20.0;
/// Width of a column, px.
const COLUMN: f64 = 86.0;
/// Distance between groups, px.
const GAP: f64 = 6.0;
/// Height of the heading of a group of rows, px.
const HEAD: f64 = 24.0;
/// Height of a line of a column's heading, px.
const LINE: f64 = 15.0;
/// Decades above the fastest at which the scale of colours ends at the latest: one slow
/// executor must not make all others look alike.
const WIDEST: f64 = 2.0;
/// Least width of the picture, for the scale of colours, px.
const KEY: f64 = 684.0;

/// Lays the table out. `None` if nothing in it was timed.
pub(super) fn scene(map: &Map, theme: &Theme) -> Option<Scene> {
    let rows = || map.rows.iter().flat_map(|group| &group.members);
    let cells = || rows().flat_map(|row| &row.cells).flatten();
    let reach = cells().map(|cell| cell.factor.log10()).max_by(f64::total_cmp)?;
    let widest = reach.clamp(0.0, WIDEST);
    let left = MARGIN + text::widest(rows().map(|row| row.label.as_str()), SMALL) + 10.0;
    let heads = Heads::of(map, left);
    let top = TOP + heads.height + 4.0;
    let heights = map.rows.iter().map(|group| {
        group.members.len() as f64 * ROW + if group.heading.is_empty() { GAP } else { HEAD }
    });
    let size = (heads.right.max(KEY) + MARGIN, top + heights.sum::<f64>() + MARGIN);
    let is_marked = cells().any(|cell| cell.time.marked);
    let mut scene = Scene::new(size, &map.title, &map.subtitle, is_marked, theme);
    key(&mut scene, widest, reach > WIDEST, theme);
    heads.draw(&mut scene, theme);
    let mut y = top;
    for (index, group) in map.rows.iter().enumerate() {
        if !group.heading.is_empty() {
            let at = (left, y + HEAD / 2.0);
            scene.bold(at, group.heading.as_str(), SMALL, Align::Start, theme.text);
            y += HEAD;
        } else if index > 0 {
            y += GAP;
        }
        for row in &group.members {
            let at = (left - 10.0, y + ROW / 2.0);
            scene.text(at, row.label.as_str(), SMALL, Align::End, theme.text);
            for (cell, x) in row.cells.iter().zip(&heads.columns) {
                draw_cell(&mut scene, (*x, y), *cell, widest, theme);
            }
            y += ROW;
        }
    }
    Some(scene)
}

/// The headings of the columns, with their places.
struct Heads {
    /// Left end of each column.
    columns: Vec<f64>,
    /// Left end, width, and lines of the heading of each group that has one.
    groups: Vec<(f64, f64, Vec<String>)>,
    /// Lines of the heading of each column.
    labels: Vec<Vec<String>>,
    height: f64,
    right: f64,
}

impl Heads {
    fn of(map: &Map, left: f64) -> Self {
        let (mut columns, mut groups, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        let mut x = left;
        for group in &map.columns {
            let width = group.members.len() as f64 * COLUMN;
            if !group.heading.is_empty() {
                groups.push((x, width, text::wrap(&group.heading, width, SMALL, false)));
            }
            for label in &group.members {
                columns.push(x);
                labels.push(text::wrap(label, COLUMN - 4.0, SMALL, false));
                x += COLUMN;
            }
            x += GAP;
        }
        let most = |lines: usize, all: &Vec<String>| lines.max(all.len());
        let above = groups.iter().map(|group| &group.2).fold(0, most);
        let lines = above + labels.iter().fold(0, most);
        let line = if above > 0 { GAP } else { 0.0 };
        Self { columns, groups, labels, height: lines as f64 * LINE + line, right: x - GAP }
    }

    /// Everything stands on the line above the cells.
    fn draw(&self, scene: &mut Scene, theme: &Theme) {
        let bottom = TOP + self.height;
        let lowest = self.labels.iter().map(Vec::len).max().unwrap_or(0) as f64 * LINE;
        for (x, lines) in self.columns.iter().zip(&self.labels) {
            let first = bottom - lines.len() as f64 * LINE;
            for (index, line) in lines.iter().enumerate() {
                let at = (x + COLUMN / 2.0, first + (index as f64 + 0.5) * LINE);
                scene.text(at, line.as_str(), SMALL, Align::Middle, theme.muted);
            }
        }
        for (x, width, lines) in &self.groups {
            let y = bottom - lowest - GAP / 2.0;
            scene.line((*x, y), (x + width - 1.0, y), 1, theme.muted);
            let first = y - GAP / 2.0 - lines.len() as f64 * LINE;
            for (index, line) in lines.iter().enumerate() {
                let at = (*x, first + (index as f64 + 0.5) * LINE);
                scene.text(at, line.as_str(), SMALL, Align::Start, theme.text);
            }
        }
    }
}

/// The scale of colours, with its ends named.
fn key(scene: &mut Scene, widest: f64, more: bool, theme: &Theme) {
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
    let worst = units::factor(10_f64.powf(widest));
    let worst = if more { format!("{worst} × and more") } else { format!("{worst} ×") };
    scene.text((x, y), worst.as_str(), SMALL, Align::Start, theme.text);
    x += text::width(&worst, SMALL, false) + 24.0;
    scene.rect((x, y - 7.0), (26.0, 14.0), theme.missing);
    scene.text((x + 13.0, y), "–", SMALL, Align::Middle, theme.muted);
    scene.text((x + 34.0, y), "not timed", SMALL, Align::Start, theme.text);
}

/// A time on the colour of its factor.
fn draw_cell(
    scene: &mut Scene,
    (x, y): (f64, f64),
    cell: Option<Cell>,
    widest: f64,
    theme: &Theme,
) {
    let middle = (x + COLUMN / 2.0, y + ROW / 2.0);
    let size = (COLUMN - 1.0, ROW - 1.0);
    let Some(cell) = cell else {
        // Grey with a dash, so that it is no colour of the scale.
        scene.rect((x, y), size, theme.missing);
        scene.text(middle, "–", SMALL, Align::Middle, theme.muted);
        return;
    };
    let decades = cell.factor.log10().max(0.0);
    let ground = theme.ramp(if widest > 0.0 { (decades / widest).min(1.0) } else { 0.0 });
    scene.rect((x, y), size, ground);
    let label = units::marked(units::time_short(cell.time.median), cell.time.marked);
    scene.text(middle, label, SMALL, Align::Middle, readable_on(ground));
}
