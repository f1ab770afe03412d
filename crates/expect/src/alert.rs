//! One alert: a comparison of figures of a sample, and how long it must hold.

use std::collections::BTreeMap;

use tiermark_model::messages::alert as says;
use tiermark_model::messages::check as expectation;
use tiermark_model::{CheckUnit, Note, WatchFigure, WatchKind, parse_seconds, watch_name, watch_names};

use crate::expression::{Comparison, Operand, Side, common_unit, comparison, holds};
use crate::named::Measured;

/// What stands before the time.
const FOR: &str = " for ";
/// Words for what the figures of `--active` are compared with; they are fields of the figure.
const REFERENCES: [&str; 2] = ["capability", "record"];
/// The figures of `--active`, whose names may leave this out.
const ACTIVE: &str = "active.";
/// The field of such a figure that the name alone stands for.
const NOW: &str = ".now";

/// An alert: `latency.dram > 1.5 x capability for 30s`.
#[derive(Debug, Clone, PartialEq)]
pub struct Alert {
    /// With the text of the whole alert.
    condition: Comparison<Figure>,
    seconds: f64,
}

/// A number of a sample.
#[derive(Debug, Clone, PartialEq)]
struct Figure {
    name: String,
    kind: WatchKind,
}

/// A name as it was written.
#[derive(Debug, Clone, PartialEq)]
enum Word {
    Figure(Figure),
    /// One of [`REFERENCES`], and its character.
    Reference(&'static str, usize),
}

impl Measured for Figure {
    fn unit(&self) -> CheckUnit {
        scale(self.kind).1
    }
}

/// Units of the time behind `for`.
const TIMES: [(&[&str], f64); 3] = [
    (&["s", "sec", "second", "seconds", ""], 1.0),
    (&["m", "min", "minute", "minutes"], 60.0),
    (&["h", "hour", "hours"], 3600.0),
];
/// A name that needs quotes, for a message.
const QUOTED: &str = "swaps./dev/sda2.used_bytes";
/// The list of items whose names are paths.
const OF_PATHS: &str = "swaps.";

/// Seconds of `30s`, `5 min`, `1 h`; a number alone is of seconds.
fn time_of(text: &str) -> Option<f64> {
    let (number, unit) = text.split_at(text.find(char::is_alphabetic).unwrap_or(text.len()));
    let (_, scale) = TIMES.into_iter().find(|(units, _)| units.contains(&unit))?;
    let seconds = number.trim_end().parse::<f64>().ok()? * scale;
    // The limits of every other time that a user types hold here too.
    parse_seconds(&seconds.to_string()).ok()
}

/// What a number of a sample is multiplied with, and the unit that it then has.
fn scale(kind: WatchKind) -> (f64, CheckUnit) {
    match kind {
        WatchKind::Bytes => (1.0, CheckUnit::Bytes),
        WatchKind::BytesPerSecond => (1.0, CheckUnit::BytesPerSecond),
        WatchKind::Seconds => (1e9, CheckUnit::Ns),
        WatchKind::Nanoseconds => (1.0, CheckUnit::Ns),
        WatchKind::Hertz => (1.0, CheckUnit::Hz),
        WatchKind::Percent => (0.01, CheckUnit::Number),
        WatchKind::PerSecond | WatchKind::Share | WatchKind::Count => (1.0, CheckUnit::Number),
    }
}

impl Alert {
    /// Reads an alert.
    ///
    /// # Errors
    /// The first mistake, with its character and what to write instead.
    pub fn parse(text: &str) -> Result<Self, Note> {
        // A name in quotes may have the word in it.
        let unquoted = text.rfind('"').map_or(0, |quote| quote + 1);
        let (condition, seconds) = match text[unquoted..].rfind(FOR).map(|at| unquoted + at) {
            None => (text, 0.0),
            Some(at) => {
                let (condition, time) = (&text[..at], text[at + FOR.len()..].trim());
                let place = text[..at + FOR.len()].chars().count() + 1;
                (condition, time_of(time).ok_or_else(|| says::alert_time_wrong(place, time))?)
            }
        };
        let (left, comparator, right) = comparison(condition, &word).map_err(of_alerts)?;
        let figures: Vec<&Figure> = left.names().chain(right.names()).filter_map(Word::figure).collect();
        let Some(of_first) = figures.first().map(|figure| figure.unit()) else {
            return Err(says::alert_without_figure());
        };
        let of = subject(&figures);
        let (left, right) =
            (left.renamed(&|word| word.resolved(of.as_ref()))?, right.renamed(&|word| word.resolved(of.as_ref()))?);
        let unit = common_unit(&left, &right).map_err(|note| units_differ(&note, of_first))?;
        for (share, number) in [(&left, &right), (&right, &left)] {
            is_possible(share, number)?;
        }
        Ok(Self { condition: Comparison { text: text.trim().to_owned(), left, comparator, right, unit }, seconds })
    }

    /// The alert as it was given.
    pub fn text(&self) -> &str {
        &self.condition.text
    }

    /// Seconds for which the condition must hold.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Unit of both sides.
    pub(crate) fn unit(&self) -> CheckUnit {
        self.condition.unit
    }

    /// The names of its figures.
    pub fn figures(&self) -> impl Iterator<Item = &str> {
        self.condition.names().map(|figure| figure.name.as_str())
    }

    /// Whether it has a figure that only `watch --active` reports.
    pub fn needs_active(&self) -> bool {
        self.figures().any(|name| name.starts_with(ACTIVE))
    }

    /// Both sides by the numbers of a sample; `None` for a side that lacks one.
    pub(crate) fn sides(&self, numbers: &BTreeMap<String, f64>) -> [Option<f64>; 2] {
        let value = |figure: &Figure| Some(numbers.get(&figure.name)? * scale(figure.kind).0);
        [&self.condition.left, &self.condition.right].map(|side| side.product(value))
    }

    /// Whether the condition holds. What is not reported holds nothing.
    pub(crate) fn holds(&self, sides: [Option<f64>; 2]) -> bool {
        matches!(sides, [Some(left), Some(right)] if holds(left, self.condition.comparator, right))
    }
}

impl Word {
    fn figure(&self) -> Option<&Figure> {
        if let Self::Figure(figure) = self { Some(figure) } else { None }
    }

    /// The figure that it stands for where the alert is about `of`.
    fn resolved(self, of: Option<&Figure>) -> Result<Figure, Note> {
        match (self, of) {
            (Self::Figure(figure), _) => Ok(figure),
            (Self::Reference(word, _), Some(of)) => {
                let whole = of.name.strip_suffix(NOW).unwrap_or(&of.name);
                Ok(Figure { name: format!("{whole}.{word}"), kind: of.kind })
            }
            (Self::Reference(word, at), None) => Err(says::alert_reference_unclear(at, word)),
        }
    }
}

/// Reads a name.
fn word(text: &str, at: usize) -> Result<Word, Note> {
    let name = text.trim_matches('"');
    if let Some(word) = REFERENCES.into_iter().find(|word| *word == name) {
        return Ok(Word::Reference(word, at));
    }
    let known = watch_name(name).map(|figure| Word::Figure(Figure { name: figure.name(), kind: figure.kind }));
    known.ok_or_else(|| {
        if name.starts_with(OF_PATHS) && !text.starts_with('"') {
            return says::alert_name_unquoted(at, QUOTED);
        }
        let names: Vec<String> = watch_names().iter().map(WatchFigure::short_name).collect();
        says::figure_unknown(at, name, &names.iter().map(String::as_str).chain(REFERENCES).collect::<Vec<_>>())
    })
}

/// The one figure that has a capability and a record.
fn subject(figures: &[&Figure]) -> Option<Figure> {
    let mut of = figures.iter().filter(|figure| figure.name.starts_with(ACTIVE) && figure.name.ends_with(NOW));
    of.next().filter(|_| of.next().is_none()).map(|figure| (*figure).clone())
}

/// Refuses a share that is compared with more than all.
fn is_possible(share: &Side<Figure>, number: &Side<Figure>) -> Result<(), Note> {
    match (&share.first, &number.first) {
        (Operand::Name(figure), Operand::Number(value, _))
            if matches!(figure.kind, WatchKind::Percent | WatchKind::Share)
                && share.rest.is_empty()
                && number.rest.is_empty()
                && *value > 1.0 =>
        {
            Err(says::alert_share_above_one(*value, &figure.name))
        }
        _ => Ok(()),
    }
}

/// A mistake in words that name alerts.
fn of_alerts(note: Note) -> Note {
    let text = |key: &str| note.data.get(key).and_then(|text| text.as_str()).unwrap_or_default();
    let number = |key: &str| note.data.get(key).and_then(|most| most.as_u64()).unwrap_or_default() as usize;
    match &note.code {
        code if *code == expectation::codes::comparison_missing => says::alert_without_comparison(),
        code if *code == expectation::codes::comparison_twice => says::alert_compares_twice(number("at")),
        code if *code == expectation::codes::operand_expected && text("found") == "\"" => {
            says::alert_quote_open(number("at"))
        }
        code if *code == expectation::codes::expectation_too_long => says::alert_too_long(number("most")),
        _ => note,
    }
}

/// Sides of different units, with what a figure of this unit can be compared with.
fn units_differ(note: &Note, figure: CheckUnit) -> Note {
    let text = |key: &str| note.data.get(key).and_then(|text| text.as_str()).unwrap_or_default();
    let (left, right) = (text("left"), text("right"));
    let cure = match figure {
        CheckUnit::Bytes => "give a size, as in 1 GiB, or a part of other memory, as in 0.1 x memory.total_bytes",
        CheckUnit::Ns => "give a time, as in 120 ns or 2 ms",
        CheckUnit::BytesPerSecond => "give a rate, as in 30 GB/s",
        CheckUnit::Hz => "give a clock, as in 3 GHz",
        CheckUnit::Number => "give a share, as in 5 % or 0.05, or a number of events, as in 100/s",
        CheckUnit::TransfersPerSecond => "give a number of transfers, as in 4800 MT/s",
        CheckUnit::Text => "give a text between quotes",
    };
    says::alert_units_differ(left, right, cure)
}
