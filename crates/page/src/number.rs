//! Numbers for people: value, interval, unit.

use std::fmt;

use tiermark_model::{Bytes, Grade, Interval, RateUnit, Unit, Verdict, format_gbs, format_ns};

use crate::legend::Sign;
use crate::style::{Ink, Style, grade_ink};
use crate::table::Cell;

/// A number as people read it, and the sign that it has.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    text: String,
    /// That of its interval, or of what is known about.
    pub sign: Option<Sign>,
}

impl Number {
    /// A number that is known about.
    #[must_use]
    pub fn about(text: &str) -> Self {
        Self { text: format!("~{text}"), sign: Some(Sign::About) }
    }

    /// The same with a text before and behind it.
    #[must_use]
    pub fn between(self, before: &str, after: &str) -> Self {
        Self { text: format!("{before}{}{after}", self.text), ..self }
    }
}

impl From<String> for Number {
    fn from(text: String) -> Self {
        Self { text, sign: None }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The median; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len() / 2;
    let upper = *sorted.get(half)?;
    Some(if sorted.len().is_multiple_of(2) { sorted[half - 1].midpoint(upper) } else { upper })
}

/// A rate in the style's unit, without the unit.
pub fn rate(bytes_per_second: f64, style: &Style) -> String {
    style.in_rate_units(|style| {
        let scaled = bytes_per_second / style.axis().0;
        // format_gbs divides by 10⁹.
        sane(scaled, format_gbs(scaled * 1e9))
    })
}

/// A time in ns, without the unit.
pub fn nanoseconds(ns: f64) -> String {
    sane(ns, format_ns(ns))
}

/// Keeps numbers short that no machine has; a document may hold anything.
fn sane(value: f64, text: String) -> String {
    if !value.is_finite() {
        "?".to_owned()
    } else if value.abs() >= 1e7 {
        format!("{value:.2e}")
    } else {
        text
    }
}

/// A share as a percentage.
pub fn percent(ratio: f64) -> String {
    let percent = ratio * 100.0;
    let digits = usize::from(percent.abs() < 10.0);
    sane(percent, format!("{percent:.digits$} %"))
}

/// A share of what was to be done, as a percentage: whole only where nothing lacks. From 99 % on, what lacks is what
/// counts.
pub fn achieved(ratio: f64) -> String {
    // What is a hundredth of a percent in decimals may be a little less in binary.
    let hundredths = (ratio * 1e4 + 1e-6).floor().min(9999.0);
    if (0.99..1.0).contains(&ratio) { format!("{:.2} %", hundredths / 100.0) } else { percent(ratio) }
}

/// A frequency in GHz or MHz, with its unit.
pub fn hertz(hz: f64) -> String {
    let (scale, unit, digits) = if hz >= 1e9 { (1e9, "GHz", 3) } else { (1e6, "MHz", 0) };
    sane(hz / scale, format!("{:.digits$} {unit}", hz / scale))
}

/// Seconds as people say them.
pub fn seconds(s: f64) -> String {
    if !s.is_finite() {
        "?".to_owned()
    } else if s < 0.1 {
        format!("{:.0} ms", s * 1e3)
    } else if s < 100.0 {
        format!("{s:.1} s")
    } else if s < 7200.0 {
        format!("{:.0} min", s / 60.0)
    } else {
        sane(s / 3600.0, format!("{:.0} h", s / 3600.0))
    }
}

/// A size that was measured or rounded, so without needless digits.
pub fn size(bytes: f64) -> String {
    if (0.0..9e18).contains(&bytes) { Bytes(bytes.round() as u64).to_string() } else { "?".to_owned() }
}

/// A size read off a curve: two significant digits, more than the steps of a curve resolve.
pub fn measured_size(bytes: f64) -> Number {
    if !(0.0..9e18).contains(&bytes) {
        return "?".to_owned().into();
    }
    let scales = [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let (scale, unit) = scales.into_iter().find(|(scale, _)| bytes >= *scale as f64).unwrap_or((1, "B"));
    let value = bytes / scale as f64;
    Number::about(&match value {
        // A number that rounds up to the next power of ten has no decimal.
        v if v < 9.95 => format!("{v:.1} {unit}"),
        v if v < 99.5 => format!("{v:.0} {unit}"),
        v => format!("{:.0} {unit}", (v / 10.0).round() * 10.0),
    })
}

/// Size in short for axes and heads: `32K`, `1.5M`.
pub fn short_size(bytes: f64) -> String {
    size(bytes).replace(" KiB", "K").replace(" MiB", "M").replace(" GiB", "G").replace(" TiB", "T").replace(" B", "")
}

/// A value in its unit's scale, without the unit.
pub fn value(value: f64, unit: Unit, style: &Style) -> String {
    match unit {
        Unit::Ns => nanoseconds(value),
        Unit::BytesPerSecond => rate(value, style),
        Unit::Bytes => size(value),
        Unit::Hz => hertz(value),
        Unit::Cycles | Unit::BytesPerCycle => sane(value, format_ns(value)),
        Unit::Ratio => percent(value),
        Unit::Count => sane(value, if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.3}") }),
    }
}

/// The name of a unit's scale, empty where the value carries it.
pub fn unit_name(unit: Unit, style: &Style) -> &'static str {
    match unit {
        Unit::Ns => "ns",
        Unit::BytesPerSecond => style.rate_unit(),
        Unit::Cycles => "cycles",
        Unit::BytesPerCycle => "B/cycle",
        Unit::Bytes | Unit::Hz | Unit::Ratio | Unit::Count => "",
    }
}

/// The unit that a time is shown with where one view reaches from ns to s: its ns, and its name.
pub fn time_unit(ns: f64, style: &Style) -> (f64, &'static str) {
    match ns {
        ns if ns < 1e3 => (1.0, "ns"),
        ns if ns < 1e6 => (1e3, style.glyph("µs", "us")),
        ns if ns < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

/// `155.2 ±0.4`: the value with the wider side of its interval, or alone where it has none.
///
/// Both get the same decimals: one more than the value alone would have where the interval is too narrow to show.
pub fn with_interval(of: f64, interval: Option<Interval>, unit: Unit, style: &Style) -> Number {
    if unit == Unit::BytesPerSecond && style.rate_unit == RateUnit::Both {
        let one = |rate_unit| with_interval(of, interval, unit, &style.with_rates_in(rate_unit));
        let text = style.in_rate_units(|style| one(style.rate_unit).text);
        return Number { text, ..one(RateUnit::Si) };
    }
    let shown = value(of, unit, style);
    // The interval of a median is not symmetric.
    let half = interval.map(|i| (i.high - of).max(of - i.low)).filter(|half| half.is_finite() && *half >= 0.0);
    let (Some(half), true) = (half, of.is_finite()) else { return shown.into() };
    // With a ± the number could seem to go below zero: both ends are shown instead.
    if let Some(i) = interval.filter(|_| half > of && matches!(unit, Unit::Ns | Unit::BytesPerSecond)) {
        let dash = style.glyph("–", "-");
        let low = if i.low > 0.0 { value(i.low, unit, style) } else { "0".to_owned() };
        let text = format!("{shown} ({low}{dash}{})", value(i.high, unit, style));
        return Number { text, sign: Some(Sign::Ends) };
    }
    let sign = style.glyph("±", "+-");
    let number = |text: String| Number { text, sign: Some(Sign::Interval) };
    let scale = match unit {
        Unit::Ns | Unit::Cycles | Unit::BytesPerCycle => 1.0,
        Unit::BytesPerSecond => style.axis().0,
        Unit::Bytes | Unit::Hz | Unit::Ratio | Unit::Count => {
            return number(format!("{shown} {sign}{}", value(half, unit, style)));
        }
    };
    let (of, half) = (of / scale, half / scale);
    if of.abs() >= 1e7 || half >= 1e7 {
        return number(format!("{shown} {sign}{half:.1e}"));
    }
    let decimals = shown.split_once('.').map_or(0, |(_, d)| d.len());
    let more = decimals + 1;
    number(if half >= 0.5 * 0.1f64.powi(decimals as i32) || half == 0.0 {
        format!("{shown} {sign}{half:.decimals$}")
    } else if half >= 0.5 * 0.1f64.powi(more as i32) {
        format!("{of:.more$} {sign}{half:.more$}")
    } else {
        format!("{shown} {sign}<{:.more$}", 0.1f64.powi(more as i32))
    })
}

/// The sign before a bound; `None` where it has no direction of its own.
pub fn bound_sign(unit: Unit, style: &Style) -> Option<&'static str> {
    match unit {
        Unit::Ns | Unit::Cycles => Some(style.glyph("≤", "<=")),
        Unit::BytesPerSecond | Unit::BytesPerCycle => Some(style.glyph("≥", ">=")),
        Unit::Bytes | Unit::Hz | Unit::Ratio | Unit::Count => None,
    }
}

/// A number with the mark of its grade behind it, where that is not trusted; one column is kept free for the mark.
///
/// A bound says which way: at most so long, at least so much.
pub fn graded(number: Option<impl Into<Number>>, verdict: &Verdict, unit: Unit, style: &Style) -> Cell {
    let number: Option<Number> = number.map(Into::into);
    let sign = number.as_ref().and_then(|number| number.sign);
    let text = number.map(|number| number.text);
    // What was looked for and is not there has no mark: it would read as a doubtful nothing, or as at least nothing.
    let is_marked = text.is_some() || verdict.grade > Grade::Suspect;
    let grade = if is_marked { verdict.grade } else { Grade::Trusted };
    // A number that is withheld is its mark, and one that was not tried is none.
    let text = match text {
        None if grade == Grade::Invalid && !verdict.is_refused() => String::new(),
        None if grade == Grade::Invalid => return Cell::inked(format!("{} ", style.absent()), grade_ink(grade)),
        text => text.unwrap_or_else(|| style.absent().to_owned()),
    };
    let cell = match grade {
        Grade::Trusted => Cell::inked(format!("{text} "), Ink::Plain),
        Grade::Bound => match bound_sign(unit, style) {
            Some(sign) => Cell::inked(format!("{sign}{text} "), Ink::Plain),
            None => Cell::inked(format!("{text}{}", style.mark(grade)), grade_ink(grade)),
        },
        grade => Cell::inked(format!("{text}{}", style.mark(grade)), grade_ink(grade)),
    };
    cell.with_sign(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_carry_their_interval_with_the_same_decimals() {
        let style = Style::default();
        let interval = |low, high| Some(Interval { low, high, level: 0.95 });
        assert_eq!(with_interval(155.2e9, interval(154.9e9, 155.6e9), Unit::BytesPerSecond, &style).text, "155.2 ±0.4");
        assert_eq!(with_interval(84.31, interval(84.0, 84.5), Unit::Ns, &style).text, "84.3 ±0.3");
        assert_eq!(with_interval(1.434, interval(1.43, 1.44), Unit::Ns, &style).text, "1.43 ±0.01");
        assert_eq!(with_interval(1.4286, interval(1.427, 1.430), Unit::Ns, &style).text, "1.429 ±0.002");
        assert_eq!(with_interval(112.4, interval(112.1, 112.6), Unit::Ns, &style).text, "112.4 ±0.3");
        assert_eq!(with_interval(112.4, interval(112.399, 112.401), Unit::Ns, &style).text, "112 ±<0.1");
        assert_eq!(hertz(2.1e9), "2.100 GHz");
        // Two allocations that differ: nothing here may read as a time below zero.
        assert_eq!(with_interval(29.1, interval(11.0, 90.0), Unit::Ns, &style).text, "29.1 (11.0–90.0)");
        assert_eq!(with_interval(29.1, interval(-40.0, 90.0), Unit::Ns, &style).text, "29.1 (0–90.0)");
        assert_eq!(with_interval(84.31, None, Unit::Ns, &style).text, "84.3");
        assert_eq!(with_interval(f64::NAN, interval(f64::NAN, f64::INFINITY), Unit::Ns, &style).text, "?");
        let ascii = Style { unicode: false, rate_unit: RateUnit::Iec, ..style };
        assert_eq!(
            with_interval(107.4e9, interval(106.3e9, 108.4e9), Unit::BytesPerSecond, &ascii).text,
            "100.0 +-1.0"
        );
        let both = style.with_rates_in(RateUnit::Both);
        assert_eq!(rate(107.4e9, &both), "107.4 (100.0)");
        assert_eq!(
            with_interval(107.4e9, interval(106.3e9, 108.4e9), Unit::BytesPerSecond, &both).text,
            "107.4 ±1.1 (100.0 ±1.0)"
        );
        assert_eq!(with_interval(84.31, None, Unit::Ns, &both).text, "84.3");
    }

    #[test]
    fn nothing_is_called_whole_that_lacks_something() {
        for (ratio, shown) in [
            (1.0, "100 %"),
            (1.0 - 1e-12, "99.99 %"),
            (0.99999, "99.99 %"),
            (0.9961, "99.61 %"),
            (0.995, "99.50 %"),
            (0.99, "99.00 %"),
            (0.9899, "99 %"),
            (0.774, "77 %"),
            (0.0213, "2.1 %"),
            (1.2, "120 %"),
            (f64::NAN, "?"),
        ] {
            assert_eq!(achieved(ratio), shown, "{ratio}");
        }
    }

    #[test]
    fn measured_sizes_have_two_digits() {
        for (bytes, shown) in [
            (37_335.0, "~36 KiB"),
            (1.12 * 1_048_576.0, "~1.1 MiB"),
            (2_097_152.0, "~2.0 MiB"),
            (9.97 * 1_048_576.0, "~10 MiB"),
            (506.0 * 1_048_576.0, "~510 MiB"),
            (f64::NAN, "?"),
        ] {
            assert_eq!(measured_size(bytes).text, shown);
        }
    }

    #[test]
    fn numbers_no_machine_has_stay_short() {
        for unit in [Unit::Ns, Unit::BytesPerSecond, Unit::Bytes, Unit::Hz, Unit::Ratio, Unit::Count] {
            for number in [f64::MAX, f64::MIN, f64::INFINITY, f64::NAN, 1e300, -0.0, 1e-300] {
                let shown = value(number, unit, &Style::default());
                assert!(shown.len() <= 12, "{shown}");
            }
        }
    }
}
