//! Tables and texts of pages as lines of ratatui.

use ratatui::style::Color;
use ratatui::symbols::border;
use ratatui::text::{Line, Span};
use ratatui::widgets::Block;
use tiermark_page::{Cell, Ink, Style, TableOf, Text, height, screen};

const ASCII_BORDER: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

/// The border of a pane.
pub(crate) fn bordered(title: &str, style: &Style) -> Block<'static> {
    let border = if style.unicode { border::PLAIN } else { ASCII_BORDER };
    Block::bordered().border_set(border).title(line(format!(" {title} "), Ink::Head, style))
}

/// How a part looks.
pub(crate) fn look(ink: Ink, style: &Style) -> ratatui::style::Style {
    let plain = ratatui::style::Style::new();
    let colored = |color| if style.color { plain.fg(color) } else { plain };
    match ink {
        Ink::Plain => plain,
        Ink::Head => plain.bold(),
        Ink::Dim => plain.dim(),
        Ink::Good => colored(Color::Green),
        Ink::Warn => colored(Color::Yellow),
        Ink::Bad => colored(Color::Red).bold(),
        Ink::Series(_) => colored(Color::Cyan),
    }
}

/// A text in a line.
pub(crate) fn line(text: impl Into<Text>, ink: Ink, style: &Style) -> Line<'static> {
    Line::styled(text.into().shown(style), look(ink, style))
}

/// The lines of a table. A row begins with `!` if its first cell is bad, and with `>` if its first cell is a title:
/// such a row is selected.
pub(crate) fn lines<R>(table: TableOf<'_, R>, style: &Style) -> Vec<Line<'static>> {
    let line = |mut row: tiermark_page::Line| {
        if let [indent, (ink, _), ..] = &mut row[..] {
            let mark = match ink {
                Ink::Bad => "!",
                Ink::Head => ">",
                _ => " ",
            };
            *indent = (*ink, mark.to_owned());
        }
        row.into_iter().map(|(ink, text)| Span::styled(text, look(ink, style))).collect()
    };
    screen(&table.table().indent(1).gap(1), style).into_iter().map(line).collect()
}

/// The ink of a row.
pub(crate) fn alarm(is_notable: bool) -> Ink {
    if is_notable { Ink::Bad } else { Ink::Plain }
}

/// A bar of so many columns, of which a share is full.
pub(crate) fn bar(share: Option<f64>, columns: usize) -> Cell {
    let full = share.map_or(0, |share| (share.clamp(0.0, 1.0) * columns as f64).round() as usize);
    Cell::inked("█".repeat(full) + &"░".repeat(columns - full), Ink::Series(0))
}

/// Values over time, the newest at the right: the full height is the largest of them and `least_top`. A missing value
/// is a gap; 0 is the lowest mark, so that it differs from a gap.
pub(crate) fn spark(values: &[Option<f64>], least_top: f64) -> Cell {
    let top = values.iter().flatten().copied().fold(least_top, f64::max);
    let marks: String = values.iter().map(|value| value.map_or(" ", |value| height(value / top))).collect();
    Cell::inked(marks, Ink::Series(0))
}
