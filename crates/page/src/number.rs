//! Numbers for people: value, interval, unit.

use tiermark_model::{Bytes, Grade, Interval, Mark, RateUnit, Unit, format_gbs, format_ns};

use crate::legend::Sign;
use crate::style::Style;

/// What stands for a number that is missing.
pub const ABSENT: &str = "–";

/// A number, and how it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Number {
    value: f64,
    unit: Unit,
    interval: Option<Interval>,
    digits: Digits,
    /// Whether it is known about only.
    is_about: bool,
    /// Whether its unit follows.
    has_unit: bool,
}

/// The digits of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Digits {
    Usual,
    /// Three of a rate, and all before the point.
    Three,
    /// Two of a size that was read off a curve: more than the steps of a curve resolve.
    Two,
    /// Those of a time in the unit that so many ns have.
    OfTime(f64),
}

/// A number of a unit.
#[must_use]
pub fn number(value: f64, unit: Unit) -> Number {
    Number { value, unit, interval: None, digits: Digits::Usual, is_about: false, has_unit: false }
}

/// A rate.
#[must_use]
pub fn rate(bytes_per_second: f64) -> Number {
    number(bytes_per_second, Unit::BytesPerSecond)
}

/// A size read off a curve: about, with two digits.
#[must_use]
pub fn measured_size(bytes: f64) -> Number {
    Number { digits: Digits::Two, is_about: true, ..number(bytes, Unit::Bytes) }
}

impl Number {
    /// The same with its interval: `155.2 ±0.4`, the wider side of it.
    #[must_use]
    pub fn within(self, interval: Option<Interval>) -> Self {
        Self { interval, ..self }
    }

    /// The same, known about.
    #[must_use]
    pub fn about(self) -> Self {
        Self { is_about: true, ..self }
    }

    /// The same with three digits of a rate, and all before the point.
    #[must_use]
    pub fn rounded(self) -> Self {
        Self { digits: Digits::Three, ..self }
    }

    /// The same in the unit that so many ns have, where one view reaches from ns to s.
    #[must_use]
    pub fn in_time_of(self, ns: f64) -> Self {
        Self { digits: Digits::OfTime(ns), ..self }
    }

    /// The same with its unit behind it.
    #[must_use]
    pub fn with_unit(self) -> Self {
        Self { has_unit: true, ..self }
    }

    /// Half of its interval: that of a median is not symmetric.
    fn half(&self) -> Option<f64> {
        let half = self.interval.map(|i| (i.high - self.value).max(self.value - i.low));
        half.filter(|half| half.is_finite() && *half >= 0.0 && self.value.is_finite())
    }

    pub(crate) fn sign(&self) -> Option<Sign> {
        match self.half() {
            _ if self.is_about => (0.0..9e18).contains(&self.value).then_some(Sign::About),
            // With a ± the number could seem to go below zero: both ends are shown instead.
            Some(half) if half > self.value && matches!(self.unit, Unit::Ns | Unit::BytesPerSecond) => Some(Sign::Ends),
            half => half.map(|_| Sign::Interval),
        }
    }

    /// The number in a style, with all signs.
    pub(crate) fn shown(&self, style: &Style) -> String {
        let one = |rate_unit| self.in_one_unit(&style.with_rates_in(rate_unit));
        let text = match style.rate_unit {
            RateUnit::Both if self.unit == Unit::BytesPerSecond => {
                format!("{} ({})", one(RateUnit::Si), one(RateUnit::Iec))
            }
            unit => one(unit),
        };
        let unit = match self.digits {
            _ if !self.has_unit => "",
            Digits::OfTime(ns) => time_unit(ns).1,
            _ => unit_name(self.unit, style),
        };
        if unit.is_empty() { text } else { format!("{text} {unit}") }
    }

    /// Value and interval have the same decimals: one more than the value alone would have where the interval is too
    /// narrow to show.
    fn in_one_unit(&self, style: &Style) -> String {
        let shown = self.digits_of(self.value, style);
        let (of, half) = match (self.sign(), self.half()) {
            (Some(Sign::About), _) => return format!("~{shown}"),
            (Some(Sign::Ends), _) => {
                let end = |of: f64| if of > 0.0 { self.digits_of(of, style) } else { "0".to_owned() };
                let Interval { low, high, .. } = self.interval.unwrap_or(Interval { low: 0.0, high: 0.0, level: 0.0 });
                return format!("{shown} ({}–{})", end(low), end(high));
            }
            (Some(Sign::Interval), Some(half)) => (self.value, half),
            _ => return shown,
        };
        let scale = match self.unit {
            Unit::Ns | Unit::Cycles | Unit::BytesPerCycle => self.time_scale(),
            Unit::BytesPerSecond => style.axis().0,
            Unit::Bytes | Unit::Hz | Unit::PerSecond | Unit::Ratio | Unit::Count => {
                return format!("{shown} ±{}", self.digits_of(half, style));
            }
        };
        let (of, half) = (of / scale, half / scale);
        if of.abs() >= 1e7 || half >= 1e7 {
            return format!("{shown} ±{half:.1e}");
        }
        let decimals = shown.split_once('.').map_or(0, |(_, d)| d.len());
        let more = decimals + 1;
        if half >= 0.5 * 0.1f64.powi(decimals as i32) || half == 0.0 {
            format!("{shown} ±{half:.decimals$}")
        } else if half >= 0.5 * 0.1f64.powi(more as i32) {
            format!("{of:.more$} ±{half:.more$}")
        } else {
            format!("{shown} ±<{:.more$}", 0.1f64.powi(more as i32))
        }
    }

    fn time_scale(&self) -> f64 {
        if let Digits::OfTime(ns) = self.digits { time_unit(ns).0 } else { 1.0 }
    }

    /// A value of this unit in one unit of rates, without the unit.
    fn digits_of(&self, value: f64, style: &Style) -> String {
        match self.unit {
            Unit::Ns => nanoseconds(value / self.time_scale()),
            Unit::BytesPerSecond => {
                let scaled = value / style.axis().0;
                match self.digits {
                    Digits::Three if (99.95..1e7).contains(&scaled.abs()) => format!("{scaled:.0}"),
                    // format_gbs divides by 10⁹.
                    _ => sane(scaled, format_gbs(scaled * 1e9)),
                }
            }
            Unit::Bytes if self.digits == Digits::Two => two_digits(value),
            Unit::Bytes => size(value),
            Unit::Hz => hertz(value),
            Unit::Cycles | Unit::BytesPerCycle | Unit::PerSecond => sane(value, format_ns(value)),
            Unit::Ratio => percent(value),
            Unit::Count if value.fract() == 0.0 => sane(value, format!("{value:.0}")),
            Unit::Count => sane(value, format!("{value:.3}")),
        }
    }
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

fn two_digits(bytes: f64) -> String {
    if !(0.0..9e18).contains(&bytes) {
        return "?".to_owned();
    }
    let scales = [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let (scale, unit) = scales.into_iter().find(|(scale, _)| bytes >= *scale as f64).unwrap_or((1, "B"));
    match bytes / scale as f64 {
        // A number that rounds up to the next power of ten has no decimal.
        v if v < 9.95 => format!("{v:.1} {unit}"),
        v if v < 99.5 => format!("{v:.0} {unit}"),
        v => format!("{:.0} {unit}", (v / 10.0).round() * 10.0),
    }
}

/// Size in short for axes and heads: `32K`, `1.5M`.
pub fn short_size(bytes: f64) -> String {
    if (0.0..9e18).contains(&bytes) { Bytes(bytes.round() as u64).short() } else { "?".to_owned() }
}

/// The name of a unit's scale, empty where the value carries it.
pub(crate) fn unit_name(unit: Unit, style: &Style) -> &'static str {
    match unit {
        Unit::Ns => "ns",
        Unit::BytesPerSecond => style.rate_unit(),
        Unit::Cycles => "cycles",
        Unit::BytesPerCycle => "B/cycle",
        Unit::PerSecond => "a second",
        Unit::Bytes | Unit::Hz | Unit::Ratio | Unit::Count => "",
    }
}

/// The unit that a time is shown with where one view reaches from ns to s: its ns, and its name.
#[must_use]
pub fn time_unit(ns: f64) -> (f64, &'static str) {
    match ns {
        ns if ns < 1e3 => (1.0, "ns"),
        ns if ns < 1e6 => (1e3, "µs"),
        ns if ns < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    }
}

/// The sign before a bound; `None` where it has no direction of its own.
#[must_use]
pub fn bound_sign(unit: Unit) -> Option<&'static str> {
    Some(Mark::of_bound(unit)).filter(|mark| *mark != Mark::Bound).map(mark_sign)
}

/// The sign of a mark.
#[must_use]
pub fn mark_sign(mark: Mark) -> &'static str {
    match mark {
        Mark::AtLeast => "≥",
        Mark::AtMost => "≤",
        Mark::Bound => grade_mark(Grade::Bound),
        Mark::Doubted => grade_mark(Grade::Suspect),
        Mark::Withheld => grade_mark(Grade::Invalid),
        Mark::Absent => ABSENT,
    }
}

/// The mark of a grade.
#[must_use]
pub fn grade_mark(grade: Grade) -> &'static str {
    match grade {
        Grade::Trusted => "✔",
        Grade::Shared => "",
        Grade::Bound => "*",
        Grade::Suspect => "!",
        Grade::Invalid => "✘",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::Text;

    #[test]
    fn values_carry_their_interval_with_the_same_decimals() {
        let style = Style::default();
        let shown = |value: f64, ends: Option<(f64, f64)>, unit: Unit, style: &Style| {
            let interval = ends.map(|(low, high)| Interval { low, high, level: 0.95 });
            number(value, unit).within(interval).shown(style)
        };
        for (value, ends, text) in [
            (84.31, Some((84.0, 84.5)), "84.3 ±0.3"),
            (1.434, Some((1.43, 1.44)), "1.43 ±0.01"),
            (1.4286, Some((1.427, 1.430)), "1.429 ±0.002"),
            (112.4, Some((112.1, 112.6)), "112.4 ±0.3"),
            (112.4, Some((112.399, 112.401)), "112 ±<0.1"),
            // Two allocations that differ: nothing here may read as a time below zero.
            (29.1, Some((11.0, 90.0)), "29.1 (11.0–90.0)"),
            (29.1, Some((-40.0, 90.0)), "29.1 (0–90.0)"),
            (84.31, None, "84.3"),
            (f64::NAN, Some((f64::NAN, f64::INFINITY)), "?"),
        ] {
            assert_eq!(shown(value, ends, Unit::Ns, &style), text);
        }
        assert_eq!(hertz(2.1e9), "2.100 GHz");
        let rate = |value: f64, ends, style: &Style| shown(value, ends, Unit::BytesPerSecond, style);
        let ends = Some((106.3e9, 108.4e9));
        assert_eq!(rate(155.2e9, Some((154.9e9, 155.6e9)), &style), "155.2 ±0.4");
        let ascii = Style { unicode: false, rate_unit: RateUnit::Iec, ..style };
        assert_eq!(Text::from(super::rate(107.4e9).within(None)).shown(&ascii), "100.0");
        assert_eq!(rate(107.4e9, ends, &ascii), "100.0 ±1.0");
        let both = style.with_rates_in(RateUnit::Both);
        assert_eq!(rate(107.4e9, None, &both), "107.4 (100.0)");
        assert_eq!(rate(107.4e9, ends, &both), "107.4 ±1.1 (100.0 ±1.0)");
        assert_eq!(super::rate(107.4e9).with_unit().shown(&both), "107.4 (100.0) GB/s (GiB/s)");
        assert_eq!(shown(84.31, None, Unit::Ns, &both), "84.3");
        assert_eq!(number(1234.0, Unit::Ns).in_time_of(1234.0).with_unit().shown(&style), "1.23 µs");
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
            assert_eq!(measured_size(bytes).shown(&Style::default()), shown);
        }
    }

    #[test]
    fn numbers_no_machine_has_stay_short() {
        for unit in [Unit::Ns, Unit::BytesPerSecond, Unit::Bytes, Unit::Hz, Unit::PerSecond, Unit::Ratio, Unit::Count] {
            for number in [f64::MAX, f64::MIN, f64::INFINITY, f64::NAN, 1e300, -0.0, 1e-300] {
                let shown = super::number(number, unit).shown(&Style::default());
                assert!(shown.len() <= 12, "{shown}");
            }
        }
    }
}
