//! Reasons for doubt: facts as data, worded in one place.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::idset::NodeId;
use crate::kernel::KernelId;
use crate::refusal::Refusal;
use crate::setup::PageKind;
use crate::state::StateKind;
use crate::units::{Bytes, format_gbs, format_ns};
use crate::verdict::ReasonCode;

/// Why no shot gave a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Nothing {
    /// A worker left its cpu in every shot.
    Migrated,
    /// Pages were being swapped in during every shot.
    Swapped,
    /// Every window had a gap.
    Disturbed,
}

/// Why the size of a tier is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhyNot {
    /// The curve has no flat stretch for it.
    NoPlateau,
    /// The curve ends on its plateau, or before the climb behind it is half done.
    CurveEnds,
    /// The climb behind its plateau may as well be eviction by others as the end of the cache.
    Evicted,
    /// The points allow sizes more than 10 % from the likeliest.
    Coarse,
    /// No way in which caches are outgrown fits the climb behind its plateau.
    Irregular,
}

impl WhyNot {
    fn words(self) -> &'static str {
        match self {
            Self::NoPlateau => "the latency curve has no plateau for it",
            Self::CurveEnds => "the latency curve ends before it does",
            Self::Evicted => "other work may evict it before it is full",
            Self::Coarse => "the points of the latency curve are too far apart",
            Self::Irregular => "the climb behind its plateau is irregular",
        }
    }
}

/// One reason for doubt, with its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// The step was not tried.
    Refused {
        /// Why.
        refusal: Refusal,
    },
    /// The step broke off.
    Broken {
        /// What failed, in the words of what failed.
        fault: String,
    },
    /// No shot was undisturbed.
    Nothing {
        /// Shots that were tried.
        shots: u64,
        /// What all of them had in common.
        cause: Nothing,
    },
    /// Zero, negative, or not finite.
    Impossible {
        /// The value, where JSON has one.
        value: Option<f64>,
    },
    /// Less time than one cycle of the core.
    BelowCycle {
        /// The value, ns.
        ns: f64,
        /// The core's clock, cycles per second.
        hz: f64,
    },
    /// A round trip faster than two cores can make.
    TooFast {
        /// The value, ns.
        ns: f64,
        /// The least that two cores take, ns.
        least_ns: f64,
    },
    /// Every block is a multiple of the clock's step.
    Quantised {
        /// The step, ns an access.
        step_ns: f64,
    },
    /// The clock's steps are too coarse for a window.
    CoarseClock {
        /// The clock's step, ns.
        resolution_ns: f64,
        /// The window, ns.
        window_ns: f64,
    },
    /// More than the memory can carry.
    AbovePeak {
        /// The rate, bytes per second.
        rate: f64,
        /// The theoretical peak, bytes per second.
        peak: f64,
        /// The nodes it is of; `None` for the machine's.
        nodes: Option<String>,
    },
    /// Pages were on other nodes.
    Elsewhere {
        /// Share of the pages.
        share: f64,
        /// Pages by node.
        by_node: BTreeMap<NodeId, u64>,
    },
    /// Pages were not dealt out as asked.
    Dealt {
        /// The first node that is off.
        node: NodeId,
        /// Share of the pages it holds.
        share: f64,
        /// Pages of each round that it was to hold.
        wanted: u32,
        /// Pages of a round.
        of: u32,
    },
    /// Where the pages were could not be seen.
    PlaceUnseen {
        /// How it was tried.
        how: String,
    },
    /// Pages had another size.
    OtherPages {
        /// What was asked for.
        asked: PageKind,
        /// Share of the memory that got another.
        share: f64,
    },
    /// What size the pages had could not be seen.
    PagesUnseen {
        /// How it was tried.
        how: String,
    },
    /// A worker left its cpu.
    Migrated {
        /// In how many shots.
        shots: u64,
        /// Of how many.
        of: u64,
    },
    /// Memory was swapped in inside shots.
    MajorFaults {
        /// How often.
        faults: u64,
    },
    /// Pages were taken away or split inside shots.
    MinorFaults {
        /// How often.
        faults: u64,
        /// In how many shots.
        shots: u64,
    },
    /// The control group allows fewer cpus than were busy.
    Quota {
        /// Cpus allowed.
        allowed: f64,
        /// Cpus used.
        busy: u64,
    },
    /// Stamps were a visible part of the blocks.
    Overhead {
        /// Their share, before it was subtracted.
        share: f64,
    },
    /// Too few windows or visits for an edge.
    TooFew {
        /// Clean windows.
        windows: u64,
        /// Visits that had any.
        visits: u64,
    },
    /// The clean windows do not pile up at the edge.
    NotSharp {
        /// Share of the windows near it.
        share: f64,
    },
    /// The threads came to more, each at its best, and too rarely together.
    NotTogether {
        /// The sum of what each came to, bytes per second.
        alone: f64,
    },
    /// The edge was not reached in visits that lie apart.
    NotReproduced {
        /// Visits that reached it, at least a second apart.
        reached: u64,
    },
    /// A state that the machine was in while other steps were visited was hardly met by this one: it may be a better one.
    StateMissed {
        /// The state.
        state: StateKind,
    },
    /// Another kernel may be faster: it was not compared often enough to know.
    RivalsOpen {
        /// Which.
        kernel: KernelId,
    },
    /// The spread between visits is too wide for what describes a state rather than an edge.
    Scattered {
        /// Half of the interval over the value.
        half_width: f64,
    },
    /// This machine has shown a better figure.
    BelowRecord {
        /// That figure, in the number's unit.
        record: f64,
        /// Whether it is a time, of which less is better.
        is_time: bool,
        /// The day it was measured on.
        date: String,
    },
    /// Few of the points that it was read from have numbers.
    FewPoints {
        /// Points with a number.
        points: u64,
        /// Points asked for.
        of: u64,
    },
    /// The size of a tier is not known.
    NotResolved {
        /// The least that it can be.
        low: Bytes,
        /// The most; `None` where nothing bounds it.
        high: Option<Bytes>,
        /// Why.
        why: WhyNot,
    },
    /// Twice the working set takes longer: what was to be memory is partly a cache.
    StillRising {
        /// Latency at twice the footprint over that at the footprint, less 1.
        by: f64,
    },
    /// A declared cache has no plateau.
    NoPlateau {
        /// Its level.
        level: u8,
        /// Its declared size.
        bytes: Option<Bytes>,
    },
    /// Neighbours evict what was to stay.
    Evicted,
    /// Many pairs behind the number are doubtful.
    Pairs {
        /// How many.
        doubted: u64,
        /// Of how many.
        of: u64,
    },
    /// Caches answer as well.
    CachesAnswer {
        /// The footprint.
        bytes: Bytes,
        /// The caches in reach.
        caches: Bytes,
        /// Times the caches that it should be.
        times: u64,
    },
    /// As an earlier version of the document worded it.
    Told {
        /// Its kind.
        code: ReasonCode,
        /// Its words.
        text: String,
    },
}

impl Reason {
    /// What kind of doubt it is.
    pub fn code(&self) -> ReasonCode {
        match self {
            Self::Refused { .. } | Self::Broken { .. } | Self::Quota { .. } | Self::CachesAnswer { .. } => {
                ReasonCode::System
            }
            Self::Nothing { .. } | Self::Evicted => ReasonCode::Disturbed,
            Self::Impossible { .. }
            | Self::BelowCycle { .. }
            | Self::TooFast { .. }
            | Self::AbovePeak { .. }
            | Self::StillRising { .. }
            | Self::NoPlateau { .. } => ReasonCode::Implausible,
            Self::NotResolved { .. } => ReasonCode::Imprecise,
            Self::Quantised { .. } | Self::CoarseClock { .. } => ReasonCode::Quantised,
            Self::Elsewhere { .. } | Self::Dealt { .. } => ReasonCode::WrongNode,
            Self::PlaceUnseen { .. } => ReasonCode::Unproven,
            Self::OtherPages { .. } | Self::PagesUnseen { .. } => ReasonCode::PageSize,
            Self::Migrated { .. } => ReasonCode::Migrated,
            Self::MajorFaults { .. } | Self::MinorFaults { .. } => ReasonCode::Faults,
            Self::Overhead { .. } => ReasonCode::Overhead,
            Self::TooFew { .. } | Self::StateMissed { .. } | Self::RivalsOpen { .. } | Self::FewPoints { .. } => {
                ReasonCode::TooFew
            }
            Self::NotSharp { .. } | Self::NotTogether { .. } | Self::Scattered { .. } => ReasonCode::NotSharp,
            Self::NotReproduced { .. } => ReasonCode::NotReproduced,
            Self::BelowRecord { .. } => ReasonCode::BelowRecord,
            Self::Pairs { .. } => ReasonCode::Imprecise,
            Self::Told { code, .. } => *code,
        }
    }

    /// Whether the estimate itself gave it, so that another estimate of the same windows gives it anew.
    pub fn is_of_estimate(&self) -> bool {
        matches!(
            self,
            Self::TooFew { .. }
                | Self::StateMissed { .. }
                | Self::NotSharp { .. }
                | Self::NotTogether { .. }
                | Self::NotReproduced { .. }
                | Self::Scattered { .. }
                | Self::BelowRecord { .. }
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { refusal } => write!(f, "refused: {refusal}"),
            Self::Broken { fault } => write!(f, "broke off: {fault}"),
            Self::Nothing { shots: 0, .. } => f.write_str("no shot was finished"),
            Self::Nothing { shots, cause } => write!(f, "{shots} shots, {}", cause.words()),
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
            Self::AbovePeak { rate, peak, nodes } => {
                let of = nodes.as_ref().map_or_else(String::new, |nodes| format!(" of node {nodes}"));
                write!(f, "{:.1} GB/s is above the theoretical peak{of}, {:.1} GB/s", rate / 1e9, peak / 1e9)
            }
            Self::TooFew { windows, visits } => write!(f, "{windows} clean windows in {visits} visits are too few"),
            Self::NotSharp { share } => {
                write!(f, "never seen undisturbed: {} of the windows are near the best, 6 % wanted", percent(*share))
            }
            Self::NotTogether { alone } => {
                write!(f, "the threads reach {:.1} GB/s, each at its best, but too rarely together", alone / 1e9)
            }
            Self::NotReproduced { reached: 1 } => {
                f.write_str("the best was reached in 1 visit only, 3 visits a second or more apart wanted")
            }
            Self::NotReproduced { reached } => {
                write!(f, "the best was reached in {reached} visits a second or more apart, 3 wanted")
            }
            Self::RivalsOpen { kernel } => write!(f, "{kernel} may be faster: too few comparisons to know"),
            Self::StateMissed { state } => write!(f, "too few visits while {}", state.words()),
            Self::Scattered { half_width } => write!(f, "visits differ: interval ±{}", percent(*half_width)),
            Self::BelowRecord { record, is_time, date } => {
                let record = if *is_time {
                    format!("{} ns", format_ns(*record))
                } else {
                    format!("{} GB/s", format_gbs(*record))
                };
                write!(f, "this machine's record is {record} on {date}: a neighbour may have been there all the time")
            }
            Self::Told { text, .. } => f.write_str(text),
            _ => self.write_state(f),
        }
    }
}

impl Reason {
    /// The words of what placement, system and probes report.
    fn write_state(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere { share, by_node } => {
                let nodes: Vec<String> =
                    by_node.iter().map(|(node, pages)| format!("node {node}: {pages} pages")).collect();
                write!(f, "{} of the pages were elsewhere ({})", percent(*share), nodes.join(", "))
            }
            Self::Dealt { node, share, wanted, of } => {
                write!(f, "node {node} holds {:.0} % of the pages, not {wanted} of every {of}", share * 100.0)
            }
            Self::PlaceUnseen { how } => write!(f, "where the pages were could not be seen ({how})"),
            Self::OtherPages { asked, share } => {
                let got = if *asked == PageKind::Base { "huge pages" } else { "base pages" };
                write!(f, "asked for {asked} pages, got {got} for {}", percent(*share))
            }
            Self::PagesUnseen { how } => write!(f, "which page size it got could not be seen ({how})"),
            Self::Migrated { shots, of } => write!(f, "a worker left its cpu in {shots} of {of} shots"),
            Self::MajorFaults { faults } => {
                write!(f, "{faults} major page faults inside shots: memory is being swapped")
            }
            Self::MinorFaults { faults, shots } => write!(f, "{faults} minor page faults inside {shots} shots"),
            Self::Quota { allowed, busy } => write!(f, "the cgroup allows {allowed} cpus, the step ran on {busy}"),
            Self::Overhead { share } => {
                write!(f, "stamps were {} of the blocks before they were subtracted", percent(*share))
            }
            Self::FewPoints { points, of } => write!(f, "{points} of {of} sizes have a number"),
            Self::NotResolved { low, high, why } => {
                let range = high.map_or_else(|| format!("at least {low}"), |high| format!("between {low} and {high}"));
                write!(f, "size not resolved, {range}: {}", why.words())
            }
            Self::StillRising { by } => {
                write!(f, "twice the working set takes {} longer: caches answer in part", percent(*by))
            }
            Self::NoPlateau { level, bytes } => {
                let size = bytes.map_or_else(String::new, |bytes| format!(" of {bytes}"));
                write!(f, "L{level}{size} is declared and has no plateau of its own in the curve")
            }
            Self::Evicted => f.write_str("others evict the chase as well"),
            Self::Pairs { doubted, of } => write!(f, "{doubted} of {of} pairs are not trusted"),
            Self::CachesAnswer { bytes, caches, times } => {
                write!(f, "{bytes} is less than {times} times the caches in reach ({caches}): they answer too")
            }
            _ => Ok(()),
        }
    }
}

impl Nothing {
    fn words(self) -> &'static str {
        match self {
            Self::Migrated => "and a worker left its cpu in every one",
            Self::Swapped => "and pages were being swapped in during every one",
            Self::Disturbed => "and no window of them was undisturbed",
        }
    }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}
