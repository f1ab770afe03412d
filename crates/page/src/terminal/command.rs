//! Commands of a shell on as many lines as they take.

use crate::style::Style;
use crate::text::width;

/// An option whose list is longer than a line, as several of its name: lists add up.
fn in_parts(option: &str, columns: usize) -> Vec<String> {
    // Four columns before the option, two hyphens, and two for what continues the line.
    let room = columns.saturating_sub(8);
    let Some((name, list)) = option.split_once(' ').filter(|(_, list)| width(option) > room && !list.contains('\''))
    else {
        return vec![option.to_owned()];
    };
    let mut parts: Vec<String> = Vec::new();
    for word in list.split(',') {
        match parts.last_mut() {
            Some(part) if width(part) + width(word) < room => part.push_str(&format!(",{word}")),
            _ => parts.push(format!("{name} {word}")),
        }
    }
    parts
}

/// A command, to be copied as it stands.
pub(super) fn lines(command: &str, style: &Style) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut options = command.split(" --");
    let mut line = options.next().unwrap_or_default().to_owned();
    for option in options.flat_map(|option| in_parts(option, style.columns())) {
        // Two columns are for what continues the line.
        if width(&line) + width(&option) + 5 > style.columns() {
            lines.push(std::mem::take(&mut line) + " \\");
            line = format!("    --{option}");
        } else {
            line.push_str(&format!(" --{option}"));
        }
    }
    lines.push(line);
    lines.join("\n") + "\n"
}
