//! How many of the numbers that a report shows can be trusted.

use tiermark_model::{Finding, Grade, Unit};

use crate::number::{bound_sign, percent};
use crate::style::{Ink, Style};
use crate::text::{glued, hanging};

/// Whether a finding is a number, or is missing one: what was looked for and is not there is neither.
pub(crate) fn is_number(finding: &Finding) -> bool {
    finding.value.is_some() || finding.verdict.grade == Grade::Invalid
}

/// How many numbers of a report are trusted, in one line; empty if the report has no numbers. `text` is the report so far.
pub(crate) fn summary(numbers: &[&Finding], text: &str, style: &Style) -> String {
    if numbers.is_empty() {
        return String::new();
    }
    let count = |grade: Grade| numbers.iter().filter(|f| f.verdict.grade == grade && !f.verdict.is_refused()).count();
    let refused = numbers.iter().filter(|f| f.verdict.is_refused()).count();
    let trusted = count(Grade::Trusted);
    let mut line = match (numbers.len(), trusted) {
        (1, 1) => "the only number is trusted".to_owned(),
        (all, trusted) if all == trusted => format!("all {all} numbers trusted"),
        (1, _) => "0 of 1 number trusted".to_owned(),
        (all, trusted) => format!("{trusted} of {all} numbers trusted"),
    };
    let bounds = numbers.iter().filter(|f| f.verdict.grade == Grade::Bound && f.value.is_some());
    let mut signs: Vec<String> = bounds.map(|f| bound_key(f.unit, style)).collect();
    signs.sort_unstable();
    signs.dedup();
    if !signs.is_empty() {
        let bounds = if count(Grade::Bound) == 1 { "bound" } else { "bounds" };
        line.push_str(&format!(", {} {bounds} ({})", count(Grade::Bound), signs.join(", ")));
    }
    for grade in [Grade::Suspect, Grade::Invalid] {
        if count(grade) > 0 {
            line.push_str(&format!(", {} {grade} ({})", count(grade), style.mark(grade)));
        }
    }
    if refused > 0 {
        line.push_str(&format!(", {refused} refused"));
    }
    if trusted < numbers.len() {
        line.push_str("; unmarked = trusted");
    }
    if has_about(text) {
        line.push_str(&format!("; {}", glued("~ is about")));
    }
    // Bounds of a shape are certain; what stands behind a sign is not.
    // Sizes are shown with a ~: the range behind it has a level of its own.
    let levels = numbers.iter().filter(|f| f.unit != Unit::Bytes).filter_map(|f| f.interval).map(|i| i.level);
    let levels: Vec<f64> = levels.filter(|level| *level < 1.0).collect();
    let ends = [f64::min, f64::max].map(|end| levels.iter().copied().reduce(end));
    let signs = [(style.glyph("±", "+-"), has_intervals(text, style)), ("(from–to)", has_ranges(text, style))];
    let signs: Vec<&str> = signs.into_iter().filter(|(_, used)| *used).map(|(sign, _)| sign).collect();
    if let ([Some(low), Some(high)], false) = (ends, signs.is_empty()) {
        let levels = if low < high { format!("{:.0} to {}", low * 100.0, percent(high)) } else { percent(low) };
        let key = format!("{} is a {levels} interval", signs.join(" or "));
        line.push_str(&format!("; {}", glued(&key)));
    }
    format!("\n{}", hanging("", &line, Ink::Plain, style))
}

/// The sign of a bound and its meaning.
pub(crate) fn bound_key(unit: Unit, style: &Style) -> String {
    let meaning = match unit {
        Unit::Ns => "at most",
        Unit::BytesPerSecond => "at least",
        _ => return format!("{} bound", style.mark(Grade::Bound)),
    };
    format!("{} {meaning}", bound_sign(unit, style).unwrap_or_default())
}

/// Whether a text shows a number with its interval: narrow tables leave them out, and reasons speak of intervals of their own.
fn has_intervals(text: &str, style: &Style) -> bool {
    let sign = style.glyph("±", "+-");
    let pieces: Vec<&str> = text.split(sign).collect();
    pieces.windows(2).any(|pair| {
        let before = pair[0].strip_suffix(' ').and_then(|rest| rest.chars().last());
        before.is_some_and(|c| c.is_ascii_digit()) && pair[1].starts_with(|c: char| c.is_ascii_digit() || c == '<')
    })
}

/// Whether a text shows a number that is known about: `~32 KiB`.
fn has_about(text: &str) -> bool {
    text.split('~').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a text shows a number with both ends of its interval: `29.1 (11.0–90.0)`.
fn has_ranges(text: &str, style: &Style) -> bool {
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    text.split('(').skip(1).zip(text.split('(')).any(|(inside, before)| {
        let ends = inside.split_once(')').and_then(|(inside, _)| inside.split_once(style.glyph("–", "-")));
        let number = |end: &str| end.parse::<f64>().is_ok();
        ends.is_some_and(|(low, high)| number(low) && number(high)) && digit(before.trim_end().chars().last())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_that_of_what_stands_behind_the_sign() {
        let found = |metric, unit, level| {
            let mut finding = Finding::new(metric, tiermark_model::Labels::new(), Some(100.0), unit);
            finding.interval = Some(tiermark_model::Interval { low: 99.0, high: 101.0, level });
            finding
        };
        let size = found(tiermark_model::Quantity::TierSize, Unit::Bytes, 0.98);
        let time = found(tiermark_model::Quantity::Latency, Unit::Ns, 0.95);
        let said = summary(&[&size, &time], "~100 B   100 ±1", &Style::default());
        assert_eq!(said, "\nall 2 numbers trusted; ~ is about; ± is a 95 % interval\n");
        let wide = found(tiermark_model::Quantity::Latency, Unit::Ns, 0.98);
        assert!(summary(&[&time, &wide], "100 ±1", &Style::default()).contains("± is a 95 to 98 % interval"));
    }

    #[test]
    fn intervals_of_reasons_are_none_of_the_table() {
        let style = Style::default();
        assert!(has_intervals("L1  148 ±2!", &style) && has_intervals("0.33 ±<0.001", &style));
        assert!(!has_intervals("suspect: one-way: interval ±3.5 % to ±9 %, wanted ±3.0 %", &style));
        assert!(!has_intervals("widest interval ±31 %", &style));
        assert!(has_intervals("148 +-2", &Style { unicode: false, ..style }));
        assert!(has_ranges("getppid  29.1 (11.0–90.0) ns!", &style) && !has_ranges("29.1 (1 of 2: 3–4 pages)", &style));
        assert!(has_ranges("29.1 (11.0-90.0)", &Style { unicode: false, ..style }));
    }
}
