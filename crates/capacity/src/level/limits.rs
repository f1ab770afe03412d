//! Limits and scopes as they are written: `p99 < 300us`, `quantile:0.95`.

use std::fmt;
use std::str::FromStr;

use tiermark_model::capacity::{LimitOf, TimeLimit, TimeStatistic};
use tiermark_model::format_time as time;

/// A figure of response times or of requests that a limit is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantity {
    /// Mean response time.
    Average,
    /// Percentile of the response times: 99.9.
    Percentile(f64),
    /// Largest response time.
    Maximum,
    /// Requests answered over requests due by the schedule.
    Rate,
    /// GETs that found their key over all GETs.
    HitRate,
}

impl Quantity {
    /// Whether it is a share of requests, whose limit is the least that is allowed; other figures are times.
    pub(super) fn is_share(self) -> bool {
        matches!(self, Self::Rate | Self::HitRate)
    }
}

impl From<Quantity> for LimitOf {
    fn from(quantity: Quantity) -> Self {
        match quantity {
            Quantity::Average | Quantity::Percentile(_) | Quantity::Maximum => Self::Time,
            Quantity::Rate => Self::Rate,
            Quantity::HitRate => Self::HitRate,
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Average => f.write_str("average"),
            Self::Percentile(percent) => write!(f, "P{percent}"),
            Self::Maximum => f.write_str("maximum"),
            Self::Rate => f.write_str("rate"),
            Self::HitRate => f.write_str("hit rate"),
        }
    }
}

/// One promise: `p99 < 300us`, `average < 50us`, `max < 1s`, `rate > 99.5%`, `hit rate > 90%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// The figure that is limited.
    pub of: Quantity,
    /// The most that is allowed, in ns; of a share of requests the least.
    pub at: f64,
}

impl Limit {
    /// The limit of a response time that charts have; `None` of others.
    pub fn of_time(self) -> Option<TimeLimit> {
        let of = match self.of {
            Quantity::Average => TimeStatistic::Average,
            Quantity::Percentile(99.0) => TimeStatistic::P99,
            Quantity::Maximum => TimeStatistic::Maximum,
            Quantity::Percentile(_) | Quantity::Rate | Quantity::HitRate => return None,
        };
        Some(TimeLimit { of, ns: self.at })
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "'{text}' is not a limit: write for example \"average < 50us\", \"p99 < 300us\", \"max < 1s\", \
                 \"rate > 99.5%\" or \"hit rate > 90%\""
            )
        };
        let lower = text.to_lowercase();
        let (name, value, above) = match (lower.split_once('<'), lower.split_once('>')) {
            (Some((name, value)), None) => (name.trim(), value.trim_start_matches('=').trim(), false),
            (None, Some((name, value))) => (name.trim(), value.trim_start_matches('=').trim(), true),
            _ => return Err(wrong()),
        };
        let of = match name {
            "average" | "avg" | "mean" => Quantity::Average,
            "max" | "maximum" => Quantity::Maximum,
            "rate" => Quantity::Rate,
            "hit rate" | "hit-rate" | "hits" => Quantity::HitRate,
            other => {
                let percent = other.strip_prefix('p').and_then(|p| p.parse::<f64>().ok()).ok_or_else(wrong)?;
                if !(percent > 0.0 && percent < 100.0) {
                    return Err(format!("'{text}': a percentile lies between 0 and 100"));
                }
                Quantity::Percentile(percent)
            }
        };
        let percent = |text: &str| text.strip_suffix('%')?.trim().parse::<f64>().ok();
        let at = if of.is_share() { percent(value).map(|p| p / 100.0) } else { nanoseconds(value) };
        let at = at.ok_or_else(wrong)?;
        match of {
            Quantity::Rate if above && at == 1.0 => Err(format!(
                "'{text}' cannot be met: requests under way at the end are not answered in time; write \"rate > 99.9%\""
            )),
            share if share.is_share() && !(above && at > 0.0 && at < 1.0) => {
                Err(format!("'{text}': write a {of} with >, above 0 % and below 100 %: \"{of} > 99.5%\""))
            }
            share if share.is_share() => Ok(Self { of, at }),
            _ if above => Err(format!("'{text}': write a limit of a time with <")),
            _ if at >= 1.0 => Ok(Self { of, at }),
            _ => Err(format!("'{text}': write a time of at least 1 ns")),
        }
    }
}

tiermark_model::text_form!(Limit);

/// A time with its unit, in ns; below an hour, so that every sum of them is exact.
fn nanoseconds(text: &str) -> Option<f64> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(at);
    let scale = match unit.trim() {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|n| n * scale).filter(|ns| (0.0..3.6e12).contains(ns))
}

impl Limit {
    /// A value of the limited quantity, with its unit.
    pub(super) fn value(&self, value: f64) -> String {
        // Down, so that what lacks something of a promise is not shown as the promise; in binary it may be a little
        // less than it is.
        if self.of.is_share() { format!("{:.2} %", (value * 1e4 + 1e-6).floor() / 100.0) } else { time(value) }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (short, exact) = match self.of {
            of if of.is_share() => {
                (format!("{of} > {} %", (self.at * 1e4).round() / 100.0), format!("{of} > {} %", self.at * 100.0))
            }
            of => (format!("{of} < {}", time(self.at)), format!("{of} < {} ns", self.at)),
        };
        // A promise is kept as it was made: files and saved runs hold this text.
        f.write_str(if short.parse() == Ok(*self) { &short } else { &exact })
    }
}

/// How the figures of several tenants are aggregated before limits are applied: the key `scope`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum TenantAggregation {
    /// Every tenant by itself.
    #[default]
    Every,
    /// A share of the tenants: 0.95 lets one of twenty be worse.
    Quantile(f64),
    /// All requests of all tenants together.
    Pooled,
    /// As the brief took it: the mean over the tenants of their averages and of their percentiles.
    Brief,
}

impl FromStr for TenantAggregation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "every" => Ok(Self::Every),
            "pooled" => Ok(Self::Pooled),
            "brief" => Ok(Self::Brief),
            other => {
                let share = other.strip_prefix("quantile:").and_then(|q| q.parse::<f64>().ok());
                share.filter(|q| *q > 0.0 && *q <= 1.0).map(Self::Quantile).ok_or_else(|| {
                    format!("'{text}' is not a scope: write every, quantile:0.95 (above 0, at most 1), pooled or brief")
                })
            }
        }
    }
}

tiermark_model::text_form!(TenantAggregation);

impl fmt::Display for TenantAggregation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every => f.write_str("every"),
            Self::Quantile(share) => write!(f, "quantile:{share}"),
            Self::Pooled => f.write_str("pooled"),
            Self::Brief => f.write_str("brief"),
        }
    }
}
