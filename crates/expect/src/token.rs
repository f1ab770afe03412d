//! The words of an expectation.

use tiermark_model::Note;
use tiermark_model::messages::check as says;
use tiermark_model::{CheckUnit, Comparator};

/// Letters of an expectation at most: what fits on a few lines.
pub(crate) const MOST_LETTERS: usize = 400;

/// A word with the character that it begins at, from 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token<'t> {
    pub(crate) at: usize,
    pub(crate) text: &'t str,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Comparator(Comparator),
    Times,
    Over,
    /// A number in the base unit of its unit.
    Number(f64, CheckUnit),
    Name,
    /// A sign that has no meaning.
    Other,
}

/// Units of numbers, in base units.
const UNITS: [(&str, f64, CheckUnit); 28] = [
    ("ns", 1.0, CheckUnit::Ns),
    ("us", 1e3, CheckUnit::Ns),
    ("µs", 1e3, CheckUnit::Ns),
    ("ms", 1e6, CheckUnit::Ns),
    ("s", 1e9, CheckUnit::Ns),
    ("B/s", 1.0, CheckUnit::BytesPerSecond),
    ("kB/s", 1e3, CheckUnit::BytesPerSecond),
    ("MB/s", 1e6, CheckUnit::BytesPerSecond),
    ("GB/s", 1e9, CheckUnit::BytesPerSecond),
    ("TB/s", 1e12, CheckUnit::BytesPerSecond),
    ("MiB/s", (1u64 << 20) as f64, CheckUnit::BytesPerSecond),
    ("GiB/s", (1u64 << 30) as f64, CheckUnit::BytesPerSecond),
    ("TiB/s", (1u64 << 40) as f64, CheckUnit::BytesPerSecond),
    ("MT/s", 1e6, CheckUnit::TransfersPerSecond),
    ("GT/s", 1e9, CheckUnit::TransfersPerSecond),
    ("B", 1.0, CheckUnit::Bytes),
    ("kB", 1e3, CheckUnit::Bytes),
    ("MB", 1e6, CheckUnit::Bytes),
    ("GB", 1e9, CheckUnit::Bytes),
    ("TB", 1e12, CheckUnit::Bytes),
    ("KiB", (1u64 << 10) as f64, CheckUnit::Bytes),
    ("MiB", (1u64 << 20) as f64, CheckUnit::Bytes),
    ("GiB", (1u64 << 30) as f64, CheckUnit::Bytes),
    ("TiB", (1u64 << 40) as f64, CheckUnit::Bytes),
    ("MHz", 1e6, CheckUnit::Hz),
    ("GHz", 1e9, CheckUnit::Hz),
    // Of events.
    ("/s", 1.0, CheckUnit::Number),
    ("%", 0.01, CheckUnit::Number),
];

/// The words of a text. A number takes its unit with it.
///
/// # Errors
/// The mistake in a number or in a unit.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Note> {
    if text.chars().count() > MOST_LETTERS {
        return Err(says::expectation_too_long(MOST_LETTERS));
    }
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Ok(found) };
        let at = text[..text.len() - rest.len()].chars().count() + 1;
        let (length, kind) = match first {
            '0'..='9' | '.' => number(rest, at)?,
            'a'..='z' | 'A'..='Z' | '_' => word(rest),
            '"' => quoted(rest),
            _ => sign(rest),
        };
        found.push(Token { at, text: &rest[..length], kind });
        rest = &rest[length..];
    }
}

/// Bytes of the first letters that fit.
fn span(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

fn number(text: &str, at: usize) -> Result<(usize, Kind), Note> {
    let digits = span(text, |c| c.is_ascii_digit() || c == '.');
    let value = text[..digits].parse::<f64>().ok().filter(|value| value.is_finite());
    let value = value.ok_or_else(|| says::number_wrong(at, &text[..digits]))?;
    let behind = &text[digits..];
    let gap = behind.len() - behind.trim_start_matches(' ').len();
    let unit = &behind[gap..];
    let length = if unit.starts_with('%') { 1 } else { span(unit, |c| c.is_alphabetic() || c == '/') };
    let unit = unit[..length].trim_end_matches('/');
    // `x` is the sign between factors, with or without a space before it.
    if unit.is_empty() || unit == "x" {
        return Ok((digits, Kind::Number(value, CheckUnit::Number)));
    }
    let known = UNITS.iter().find(|(name, ..)| *name == unit);
    let Some((_, scale, of)) = known else {
        let unit_at = at + text[..digits + gap].chars().count();
        return Err(says::unit_unknown(unit_at, unit, &UNITS.map(|(name, ..)| name)));
    };
    let value = Some(value * scale).filter(|value| value.is_finite());
    let value = value.ok_or_else(|| says::number_wrong(at, &text[..digits]))?;
    Ok((digits + gap + unit.len(), Kind::Number(value, *of)))
}

fn word(text: &str) -> (usize, Kind) {
    let length = span(text, |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    (length, if &text[..length] == "x" { Kind::Times } else { Kind::Name })
}

/// What stands between quotes, which may hold signs: a text.
fn quoted(text: &str) -> (usize, Kind) {
    text[1..].find('"').map_or((1, Kind::Other), |length| (length + 2, Kind::Name))
}

fn sign(text: &str) -> (usize, Kind) {
    const SIGNS: [(&str, Kind); 12] = [
        ("==", Kind::Comparator(Comparator::Same)),
        ("!=", Kind::Comparator(Comparator::Other)),
        ("≠", Kind::Comparator(Comparator::Other)),
        ("<=", Kind::Comparator(Comparator::AtMost)),
        ("≤", Kind::Comparator(Comparator::AtMost)),
        (">=", Kind::Comparator(Comparator::AtLeast)),
        ("≥", Kind::Comparator(Comparator::AtLeast)),
        ("<", Kind::Comparator(Comparator::Below)),
        (">", Kind::Comparator(Comparator::Above)),
        ("×", Kind::Times),
        ("*", Kind::Times),
        ("/", Kind::Over),
    ];
    let known = SIGNS.iter().find(|(sign, _)| text.starts_with(sign));
    known.map_or_else(
        || (text.chars().next().map_or(0, char::len_utf8), Kind::Other),
        |(sign, kind)| (sign.len(), *kind),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn numbers_take_their_units() {
        let number = |value, unit| vec![Kind::Number(value, unit)];
        assert_eq!(kinds("120 ns"), number(120.0, CheckUnit::Ns));
        assert_eq!(kinds("1.5us"), number(1500.0, CheckUnit::Ns));
        assert_eq!(kinds("30 GB/s"), number(30e9, CheckUnit::BytesPerSecond));
        assert_eq!(kinds("4800MT/s"), number(4.8e9, CheckUnit::TransfersPerSecond));
        assert_eq!(kinds("50 %"), number(0.5, CheckUnit::Number));
        let share = [Kind::Number(0.75, CheckUnit::Number), Kind::Times, Kind::Name];
        assert_eq!(
            (kinds("0.75 x peak"), kinds("0.75x peak"), kinds("0.75 × peak")),
            (share.to_vec(), share.to_vec(), share.to_vec())
        );
        assert_eq!(kinds("2 / peak")[1], Kind::Over);
    }

    #[test]
    fn mistakes_name_their_character() {
        let at = |text: &str| tokens(text).unwrap_err().data["at"].as_u64();
        assert_eq!(at("latency.dram <= 1.2.3 ns"), Some(17));
        assert_eq!(at("µ <= 12 nss"), Some(9));
        assert_eq!(tokens("12 nss").unwrap_err().code, says::codes::unit_unknown);
        let places: Vec<usize> = tokens("a ≤ b").unwrap().iter().map(|token| token.at).collect();
        assert_eq!(places, [1, 3, 5]);
    }
}
