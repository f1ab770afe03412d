//! The programs that use most: by time of the cpus, and by memory.

use ratatui::text::Line;
use tiermark_model::WatchProgram;
use tiermark_page::{Style, Table};

use crate::monitor::backend;
use crate::monitor::lines::known;
use crate::monitor::text::brief;

/// What a list is sorted by.
pub(crate) type By = fn(&WatchProgram) -> f64;

/// The two lists: their titles, and what they are sorted by.
pub(crate) const LISTS: [(&str, By); 2] = [
    ("programs: most cpu time", |program| program.cpus.unwrap_or(0.0)),
    ("programs: most memory", |program| program.resident_bytes as f64),
];

/// The programs of a list, those that use most first.
fn sorted(programs: &[WatchProgram], by: By) -> Vec<&WatchProgram> {
    let mut sorted: Vec<&WatchProgram> = programs.iter().filter(|program| by(program) > 0.0).collect();
    sorted.sort_by(|a, b| by(b).total_cmp(&by(a)));
    sorted
}

/// Lines that the panes take with their borders; none without programs.
pub(crate) fn height(programs: &[WatchProgram]) -> u16 {
    const AROUND: u16 = 3;
    let most = LISTS.iter().map(|(_, by)| sorted(programs, *by).len()).max().unwrap_or(0);
    if most == 0 { 0 } else { AROUND + most as u16 }
}

/// The lines of a list: what fits is for the pane to decide.
pub(crate) fn lines(programs: &[WatchProgram], by: By, style: &Style) -> Vec<Line<'static>> {
    let sorted = sorted(programs, by);
    let table = Table::of(&sorted).at_least(6);
    let table = table.numbers("cpus", |program| known(program.cpus, |cpus| format!("{cpus:.2}")));
    let table = table.at_least(7).numbers("memory", |program| brief(program.resident_bytes));
    let table = table.texts("name (number)", |program| format!("{} ({})", program.name, program.pid));
    backend::lines(table, style)
}
