//! The programs that use most: by time of the cpus, and by memory.

use crate::text::short;
use ratatui::text::{Line, Span};
use tiermark_model::WatchProgram;

use crate::glyphs::{Ink, Look};

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
pub(crate) fn lines(programs: &[WatchProgram], by: By, look: Look) -> Vec<Line<'static>> {
    let mut lines =
        vec![Line::styled(format!(" {:>6} {:>7}  {}", "cpus", "memory", "name (number)"), look.style(Ink::Dim))];
    lines.extend(sorted(programs, by).into_iter().map(|program| {
        let cpus = program.cpus.map_or_else(|| look.absent(), |cpus| format!("{cpus:.2}"));
        let memory = short(program.resident_bytes as f64, 1024.0);
        Line::from(Span::raw(format!(" {cpus:>6} {memory:>7}  {} ({})", program.name, program.pid)))
    }));
    lines
}
