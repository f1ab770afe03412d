//! The groups that use most, a row each.

use crate::text::short;
use ratatui::text::{Line, Span};
use tiermark_model::WatchGroupUse;

use crate::glyphs::{Ink, Look};

/// Columns of the numbers behind a group's name.
const NUMBERS: usize = 34;
/// Percent of the time from which stalls are marked with `!`, as for the whole system.
const NOTABLE: f64 = 10.0;

/// The lines of the pane: the groups from `scroll` on that fit.
pub(crate) fn lines(
    groups: &[WatchGroupUse],
    scroll: usize,
    (columns, room): (usize, usize),
    look: Look,
) -> Vec<Line<'static>> {
    let width = columns.saturating_sub(NUMBERS + 2);
    let head = format!(" {:<width$} {:>7} {:>7} {:>9} {:>7}", "", "memory", "waits%", "traffic/s", "local%");
    let mut lines = vec![Line::styled(head, look.style(Ink::Dim))];
    if groups.is_empty() {
        for text in [" no control group of version 2 with a memory controller,", " and no group of resctrl"] {
            lines.push(Line::styled(text, look.style(Ink::Dim)));
        }
    }
    let fit = room.saturating_sub(1).max(1);
    let first = scroll.min(groups.len().saturating_sub(fit));
    lines.extend(groups.iter().skip(first).take(fit).map(|group| line(group, width, look)));
    lines
}

fn line(group: &WatchGroupUse, width: usize, look: Look) -> Line<'static> {
    let number = |value: Option<f64>, base: f64| value.map_or_else(|| look.absent(), |value| short(value, base));
    let percent = |value: Option<f64>| value.map_or_else(|| look.absent(), |value| format!("{value:.1}"));
    let local = group.local_bytes.zip(group.traffic_bytes).filter(|(_, all)| *all > 0.0);
    let notable = group.stalled.is_some_and(|stalled| stalled >= NOTABLE);
    let (mark, ink) = if notable { ("!", Ink::Alarm) } else { (" ", Ink::Plain) };
    // The end of a path names the group.
    let length = group.path.chars().count();
    let path = match length.checked_sub(width) {
        None | Some(0) => group.path.clone(),
        Some(more) => look.glyph("…", "~").chars().chain(group.path.chars().skip(more + 1)).collect(),
    };
    let text = format!(
        "{mark}{path:<width$} {:>7} {:>7} {:>9} {:>7}",
        number(group.memory_bytes.map(|bytes| bytes as f64), 1024.0),
        percent(group.stalled),
        number(group.traffic_bytes, 1000.0),
        percent(local.map(|(local, all)| 100.0 * local / all)),
    );
    Line::from(vec![Span::styled(text, look.style(ink))])
}
