//! What takes a cpu away from the threads that measure on it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::CpuId;

/// Interruptions below which their share of the time is not judged: it is known to a half at best.
pub const FEWEST_JUDGED: u64 = 20;

/// The interruptions of a cpu, or of several together: times in which a thread that only read the clock did not run.
/// In a guest they are mostly exits of the virtual cpu, which stolen time does not count; on bare metal the kernel's
/// ticks, other interrupts and those of the firmware. Prints as
/// `8,600 times a second, 2.3 % of the time, half under 2 µs, longest 0.2 ms`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interrupted {
    /// The cpu; `None` of several together.
    pub cpu: Option<CpuId>,
    /// Seconds for which they were watched, in pieces spread over the run.
    pub watched_seconds: f64,
    /// Interruptions longer than 0.5 µs.
    pub count: u64,
    /// Those longer than 20 µs.
    pub long: u64,
    /// Share of the time that all of them took.
    pub share: f64,
    /// Share of the time that those longer than 20 µs took.
    pub long_share: f64,
    /// The median length, ns; of several cpus the largest. `None` without any.
    pub median_ns: Option<f64>,
    /// The 99th percentile of the lengths, ns; of several cpus the largest.
    pub p99_ns: Option<f64>,
    /// The longest, ns.
    pub longest_ns: Option<f64>,
}

impl Interrupted {
    /// Puts cpus together; `None` if none was watched.
    pub fn of<'a>(cpus: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut all = Self::default();
        for cpu in cpus {
            let seconds = Some(cpu.watched_seconds).filter(|seconds| seconds.is_finite() && *seconds > 0.0);
            let Some(seconds) = seconds else { continue };
            all.watched_seconds += seconds;
            all.count = all.count.saturating_add(cpu.count);
            all.long = all.long.saturating_add(cpu.long);
            // Seconds, until all are known.
            all.share += cpu.share * seconds;
            all.long_share += cpu.long_share * seconds;
            let larger = |one: Option<f64>, other: Option<f64>| one.into_iter().chain(other).reduce(f64::max);
            all.median_ns = larger(all.median_ns, cpu.median_ns);
            all.p99_ns = larger(all.p99_ns, cpu.p99_ns);
            all.longest_ns = larger(all.longest_ns, cpu.longest_ns);
        }
        (all.watched_seconds > 0.0).then(|| Self {
            share: all.share / all.watched_seconds,
            long_share: all.long_share / all.watched_seconds,
            ..all
        })
    }

    /// How many a second.
    pub fn rate(&self) -> f64 {
        self.count as f64 / self.watched_seconds
    }

    /// How many of those longer than 20 µs a second.
    pub fn long_rate(&self) -> f64 {
        self.long as f64 / self.watched_seconds
    }
}

impl Interrupted {
    /// How many a second, in two digits: `8,600`.
    pub fn rate_text(&self) -> String {
        two_digits(self.rate())
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count == 0 {
            return write!(f, "never in {}", time(self.watched_seconds * 1e9));
        }
        let share = two_digits(self.share * 100.0);
        write!(f, "{} times a second, {share}\u{a0}% of the time", two_digits(self.rate()))?;
        // Of a few there is no half.
        if let Some(median) = self.median_ns.filter(|_| self.count >= FEWEST_JUDGED) {
            write!(f, ", half under {}", time(rounded_up(median)))?;
        }
        self.longest_ns.map_or(Ok(()), |ns| write!(f, ", longest {}", time(ns)))
    }
}

/// A time, up to two digits: `2 µs`, `0.2 ms`.
fn time(ns: f64) -> String {
    let (scale, unit) = match ns {
        // A tenth of the larger unit is said in it.
        ns if ns < 95e3 => (1e3, "µs"),
        ns if ns < 95e6 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{}\u{a0}{unit}", two_digits(ns / scale))
}

/// The next number with one digit, ns: half are shorter than that.
fn rounded_up(ns: f64) -> f64 {
    let step = 10f64.powf(ns.max(1.0).log10().floor());
    (ns / step).ceil() * step
}

/// A number with two digits, thousands apart: `8,600`, `0.2`, `2.3`.
fn two_digits(value: f64) -> String {
    if !(0.0..1e12).contains(&value) {
        return "?".to_owned();
    }
    if value < 0.01 {
        return if value > 0.0 { "under 0.01".to_owned() } else { "0".to_owned() };
    }
    let step = 10f64.powf(value.log10().floor() - 1.0);
    let near = (value / step).round() * step;
    if near < 9.95 {
        let decimals = if near < 0.0995 { 2 } else { 1 };
        let text = format!("{near:.decimals$}");
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let digits = format!("{near:.0}");
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|of| std::str::from_utf8(of).ok()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(seconds: f64, count: u64, share: f64) -> Interrupted {
        Interrupted {
            cpu: Some(0),
            watched_seconds: seconds,
            count,
            long: count / 10,
            share,
            long_share: share / 4.0,
            median_ns: Some(1_900.0),
            p99_ns: Some(30_000.0),
            longest_ns: Some(204_000.0),
        }
    }

    #[test]
    fn cpus_count_by_the_time_they_were_watched() {
        let all = Interrupted::of(&[cpu(1.0, 8_000, 0.02), cpu(3.0, 4_000, 0.04)]).unwrap();
        assert!((all.rate() - 3_000.0).abs() < 1e-9 && (all.long_rate() - 300.0).abs() < 1e-9, "{all:?}");
        assert!((all.share - 0.035).abs() < 1e-12 && (all.long_share - 0.00875).abs() < 1e-12, "{all:?}");
        for none in [0.0, f64::NAN, -1.0] {
            assert_eq!(Interrupted::of(&[cpu(none, 3, 0.1)]), None, "{none}");
        }
    }

    #[test]
    fn they_are_said_in_a_line() {
        let said = |one: Interrupted| Interrupted::of(&[one]).unwrap().to_string().replace('\u{a0}', " ");
        let usual = "8,600 times a second, 2.3 % of the time, half under 2 µs, longest 0.2 ms";
        assert_eq!(said(cpu(1.0, 8_612, 0.0231)), usual);
        assert_eq!(said(cpu(0.5, 2, 0.0004)), "4 times a second, 0.04 % of the time, longest 0.2 ms");
        assert_eq!(
            said(cpu(100.0, 20, 0.00002)).split(", half").next(),
            Some("0.2 times a second, under 0.01 % of the time")
        );
        let none = Interrupted { median_ns: None, longest_ns: None, ..cpu(0.4, 0, 0.0) };
        assert_eq!(said(none), "never in 0.4 s");
        for (value, text) in [(9.96, "10"), (99.6, "100"), (0.0996, "0.1"), (1_234_567.0, "1,200,000"), (f64::NAN, "?")]
        {
            assert_eq!(two_digits(value), text);
        }
    }
}
