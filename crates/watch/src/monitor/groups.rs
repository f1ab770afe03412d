//! The groups that use most, a row each.

use ratatui::text::Line;
use tiermark_model::WatchGroupUse;
use tiermark_page::{Ink, Style, Table};

use crate::monitor::backend::{self, alarm, line};
use crate::monitor::lines::{NOTABLE, bytes, number, percent, percent_of};

/// Columns of the numbers behind a group's name.
const NUMBERS: usize = 34;

/// The lines of the pane: the groups from `scroll` on that fit.
pub(crate) fn lines(groups: &[WatchGroupUse], scroll: usize, room: usize, style: &Style) -> Vec<Line<'static>> {
    let width = style.width.saturating_sub(NUMBERS);
    // The end of a path names the group.
    let path = |group: &WatchGroupUse| match group.path.chars().count().checked_sub(width) {
        None | Some(0) => group.path.clone(),
        Some(more) => style.glyph("…", "~").chars().chain(group.path.chars().skip(more + 1)).collect(),
    };
    let local = |group: &WatchGroupUse| percent_of(group.local_bytes?, group.traffic_bytes?);
    let fit = room.saturating_sub(1).max(1);
    let first = scroll.min(groups.len().saturating_sub(fit));
    let table = Table::of(&groups[first..]).at_least(width).texts("", path).at_least(7);
    let table = table.numbers("memory", |group| bytes(group.memory_bytes));
    let table = table.numbers("waits%", |group| percent(group.stalled));
    let table = table.at_least(9).numbers("traffic/s", |group| number(group.traffic_bytes));
    let table = table.at_least(7).numbers("local%", |group| percent(local(group)));
    let is_notable = |group: &WatchGroupUse| group.stalled.is_some_and(|stalled| stalled >= NOTABLE);
    let mut lines = backend::lines(table.inked(|group| alarm(is_notable(group))), style);
    if groups.is_empty() {
        let why = [" no control group of version 2 with a memory controller,", " and no group of resctrl"];
        lines.extend(why.map(|text| line(text, Ink::Dim, style)));
    }
    lines
}
