//! The sentences of reasons.

use std::fmt;

use super::{Nothing, Reason};
use crate::count_of;
use crate::page::PageKind;
use crate::refusal::Refusal;
use crate::units::{Bytes, Nanoseconds, Rate, RateUnit, Share, Unit};

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(RateUnit::Si, f)
    }
}

/// A reason for a reader who prefers a unit of rates.
struct InUnit<'a>(&'a Reason, RateUnit);

impl fmt::Display for InUnit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(self.1, f)
    }
}

impl Reason {
    /// The sentence with its rates in a unit.
    pub fn in_unit(&self, unit: RateUnit) -> String {
        InUnit(self, unit).to_string()
    }

    fn write(&self, unit: RateUnit, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |bytes_per_second: &f64| Rate::from(*bytes_per_second).in_unit(unit);
        let time_or_rate = |value: &f64, is_time: bool| match is_time {
            true => Nanoseconds(*value).to_string(),
            false => rate(value).to_string(),
        };
        match self {
            Self::Refused { refusal } => write!(f, "refused: {refusal}"),
            Self::Broken { fault } => write!(f, "broke off: {fault}"),
            Self::NotResolved { low, high, why } => {
                write!(f, "size not resolved, {}: {}", size_range(*low, *high), why.words())
            }
            Self::Nothing { shots: 0, .. } => f.write_str("no shot was finished"),
            Self::Nothing { shots, cause } => write!(f, "{}, {}", count_of(*shots, "shot"), cause.words()),
            Self::Impossible { value } => {
                let value = value.map_or_else(|| "not a number".to_owned(), |value| value.to_string());
                write!(f, "{value} is not a possible value")
            }
            Self::BelowCycle { ns, hz } => write!(f, "{ns:.3} ns is less than one cycle at {:.2} GHz", hz / 1e9),
            Self::TooFast { ns, least_ns } => {
                write!(f, "{ns:.1} ns is less than two cores take ({least_ns:.0} ns): the cpus share one core")
            }
            Self::Quantised { step_ns } => {
                write!(f, "every block is a whole multiple of {step_ns:.3} ns an access: the clock did not resolve it")
            }
            Self::CoarseClock { resolution_ns, window_ns } => write!(
                f,
                "the clock moves in steps of {resolution_ns:.0} ns, too coarse for windows of {} ms",
                window_ns / 1e6
            ),
            Self::AbovePeak { rate: counted, peak, nodes } => {
                let place = nodes.as_ref().map_or_else(String::new, |nodes| format!(" of node {nodes}"));
                write!(f, "{} is above the theoretical peak{place}, {}", rate(counted), rate(peak))
            }
            Self::TooFew { windows, visits } => {
                write!(f, "too few visits: {visits}, with {}", count_of(*windows, "undisturbed window"))
            }
            // Documents of earlier versions have it where the interval alone was too wide.
            Self::NotSharp { share } if *share >= 0.5 => f.write_str("visits differ"),
            Self::NotSharp { share } => {
                write!(f, "visits differ: {} of them are near one level", percent(*share))
            }
            Self::NoClock => {
                f.write_str("no core clock in most visits: the other hardware thread was busy, or the core is emulated")
            }
            Self::NotReproduced { reached: 1 } => {
                f.write_str("measured at only 1 moment; 3 at least 1 s apart are required")
            }
            Self::NotReproduced { reached } => {
                write!(f, "measured at only {reached} moments at least 1 s apart; 3 are required")
            }
            Self::NotSettled { change: Some(change), .. } => {
                let way = if *change > 0.0 { "rises" } else { "falls" };
                write!(f, "not in a steady state: the value {way} by {} within a visit", percent(change.abs()))
            }
            Self::NotSettled { change: None, unsettled } => {
                write!(f, "not in a steady state: caches were still filling in {} of the visits", percent(*unsettled))
            }
            Self::Scattered { half_width } => write!(f, "visits differ: interval ±{}", percent(*half_width)),
            Self::BelowRecord { record, is_time, date, clocks } => {
                let record = time_or_rate(record, *is_time);
                write!(f, "this machine's record is {record} on {date}: ")?;
                match clocks {
                    Some([then, now]) => write!(
                        f,
                        "the core clock was {:.1} GHz then and is {:.1} GHz now, which explains most of it",
                        then / 1e9,
                        now / 1e9
                    ),
                    None => f.write_str("a neighbour may have been there all the time"),
                }
            }
            Self::Disagrees { with, here, there, is_time, apart } => {
                let [here, there] = [here, there].map(|median| time_or_rate(median, *is_time));
                let apart = percent(*apart);
                write!(
                    f,
                    "median {here}, but {there} in step {with}, which measures the same: such figures differ by up \
                        to {apart}"
                )
            }
            Self::IdleAboveLoaded { with, idle, loaded } => {
                let [idle, loaded] = [idle, loaded].map(|median| Nanoseconds(*median));
                write!(
                    f,
                    "median {idle} when idle, but {loaded} under load (step {with}): a load cannot lower the latency"
                )
            }
            Self::TooWide { low, high, unit } => {
                let [low, high] = [low, high].map(|end| match unit {
                    Unit::BytesPerSecond => rate(end).to_string(),
                    _ => of_unit(*end, *unit),
                });
                write!(f, "the points allow anything from {low} to {high}")
            }
            _ => self.write_state(f),
        }
    }

    /// What was refused and why, where that is the reason.
    pub fn refused(&self) -> Option<&Refusal> {
        if let Self::Refused { refusal } = self { Some(refusal) } else { None }
    }

    /// The range of sizes that a tier can have, and why it is not narrower; `None` for any other reason.
    pub fn unresolved(&self) -> Option<String> {
        let Self::NotResolved { low, high, why } = self else { return None };
        Some(format!("{}: {}", size_range(*low, *high), why.words()))
    }

    /// The core's clock with the record and now, cycles per second, where that is why a number falls short of it.
    pub fn record_clocks(&self) -> Option<[f64; 2]> {
        if let Self::BelowRecord { clocks, .. } = self { *clocks } else { None }
    }

    /// The sizes between which a tier ends; `None` for any other reason, and where nothing bounds its size.
    pub fn bounds(&self) -> Option<(Bytes, Bytes)> {
        if let Self::NotResolved { low, high: Some(high), .. } = self { Some((*low, *high)) } else { None }
    }

    /// The machine's record that a number falls short of, in the number's unit; `None` for any other reason.
    pub fn record(&self) -> Option<f64> {
        if let Self::BelowRecord { record, .. } = self { Some(*record) } else { None }
    }

    /// The sentences of reasons from placement, system and probes.
    fn write_state(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere { share, by_node } => {
                let nodes: Vec<String> =
                    by_node.iter().map(|(node, pages)| format!("node {node}: {}", count_of(*pages, "page"))).collect();
                write!(f, "{} of the pages were on other nodes ({})", percent(*share), nodes.join(", "))
            }
            Self::Dealt { node, share, wanted, of } => {
                write!(f, "node {node} holds {} of the pages, not {wanted} of every {of}", Share(*share))
            }
            Self::PlaceUnseen { how } => write!(f, "the nodes of the pages could not be read ({how})"),
            Self::OtherPages { asked, share } => {
                let got = if *asked == PageKind::Base { "huge pages" } else { "base pages" };
                write!(f, "{asked} pages were requested; {} of the memory got {got}", percent(*share))
            }
            Self::PagesUnseen { how } => write!(f, "the page size in use could not be read ({how})"),
            Self::Migrated { shots, of } => write!(f, "a worker ran on another cpu in {shots} of {of} shots"),
            Self::MajorFaults { faults } => {
                write!(f, "{faults} major page faults inside shots: memory is being swapped")
            }
            Self::MinorFaults { faults, shots } => write!(f, "{faults} minor page faults inside {shots} shots"),
            Self::MostlyInterrupted { shots, of } => {
                write!(
                    f,
                    "over half of the blocks were interrupted in {shots} of {of} visits: the share of the interruptions \
                        is subtracted instead"
                )
            }
            Self::Stalled { shots, of } => write!(
                f,
                "stalls over 20 µs in {shots} of {of} visits, longer than interruptions explain: the memory or its host \
                    stalls; the number includes them"
            ),
            Self::Overhead { share } => {
                write!(f, "borders of blocks were {} of their time before they were subtracted", percent(*share))
            }
            Self::FewPoints { points, of } => write!(f, "{points} of {of} points have a number"),
            Self::StillRising { by } => {
                write!(f, "twice the footprint takes {} longer: caches serve some accesses", percent(*by))
            }
            Self::NoPlateau { level, bytes } => {
                let size = bytes.map_or_else(String::new, |bytes| format!(" of {bytes}"));
                write!(f, "L{level}{size} is declared and has no plateau of its own in the curve")
            }
            Self::NotOneStep { off, of } => {
                write!(f, "the times of {off} of {of} distances are neither those of one line nor those of two")
            }
            Self::AnotherLine { declared } => write!(f, "the system declares lines of {declared}"),
            Self::Evicted => f.write_str("other programs evict the lines of the chase too"),
            Self::Pairs { doubted, of } => write!(f, "{doubted} of {of} pairs are not trusted"),
            Self::CachesAnswer { bytes, caches, times } => {
                write!(
                    f,
                    "{bytes} is less than {times} times the caches in reach ({caches}), so caches serve some accesses"
                )
            }
            _ => Ok(()),
        }
    }
}

impl Nothing {
    fn words(self) -> &'static str {
        match self {
            Self::Migrated => "and a worker ran on another cpu in every one",
            Self::Swapped => "and pages were being swapped in during every one",
            Self::Disturbed => "and no window of them was undisturbed",
        }
    }
}

/// The sizes that a tier can have.
fn size_range(low: Bytes, high: Option<Bytes>) -> String {
    high.map_or_else(
        || format!("at least {}", rounded(low)),
        |high| format!("between {} and {}", rounded(low), rounded(high)),
    )
}

/// A size with two significant digits, more than a curve resolves.
fn rounded(size: Bytes) -> Bytes {
    let unit = 1u64 << (size.0.max(1).ilog2() / 10 * 10);
    let value = size.0 as f64 / unit as f64;
    let step = match value {
        v if v < 9.95 => 0.1,
        v if v < 99.5 => 1.0,
        _ => 10.0,
    };
    Bytes(((value / step).round() * step * unit as f64).round() as u64)
}

/// A value other than a rate with its unit, without needless digits.
fn of_unit(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ratio => percent(value),
        Unit::Bytes => rounded(Bytes(value.max(0.0) as u64)).to_string(),
        Unit::Ns => Nanoseconds(value).to_string(),
        _ if value.fract() == 0.0 => format!("{value:.0}"),
        _ => format!("{value:.1}"),
    }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}
