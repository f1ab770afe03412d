//! Reasons for doubt: facts as data, worded in one place.

mod code;
mod text;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::idset::NodeId;
use crate::page::PageKind;
use crate::refusal::{Note, Refusal};
use crate::units::{Bytes, Unit};

pub use code::ReasonCode;

/// Why no shot gave a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Nothing {
    /// A worker ran on another cpu than its own in every shot.
    Migrated,
    /// Pages were being swapped in during every shot.
    Swapped,
    /// Every window had a gap.
    Disturbed,
}

/// Why the size of a tier is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
            Self::CurveEnds => "the latency curve ends before the cache does",
            Self::Evicted => "other work may evict it before it is full",
            Self::Coarse => "the points of the latency curve are too far apart",
            Self::Irregular => "the climb behind its plateau is irregular",
        }
    }
}

/// One reason for doubt, with its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// The step was not tried.
    Refused {
        /// Why.
        refusal: Refusal,
    },
    /// The step broke off.
    Broken {
        /// The error.
        fault: String,
    },
    /// No shot was undisturbed.
    Nothing {
        /// Shots that were tried.
        shots: u64,
        /// Why none of them is clean.
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
        /// Length of the window, ns.
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
    /// Pages were not dealt out over the nodes as requested.
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
        how: Note,
    },
    /// Pages had another size.
    OtherPages {
        /// The requested page size.
        asked: PageKind,
        /// Share of the memory that got another.
        share: f64,
    },
    /// The page size could not be read.
    PagesUnseen {
        /// How it was tried.
        how: Note,
    },
    /// A worker ran on another cpu than its own.
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
    /// L1 or L2: over half of the blocks of most visits were interrupted, so that uninterrupted blocks cannot be told
    /// apart.
    MostlyInterrupted {
        /// In how many shots.
        shots: u64,
        /// Of how many.
        of: u64,
    },
    /// Gaps took more time than lost cpu time and interruptions explain: the memory or its host stalls.
    Stalled {
        /// In how many shots.
        shots: u64,
        /// Of how many.
        of: u64,
    },
    /// Borders were a visible part of the blocks.
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
    /// In most visits the core's clock could not be measured, since its other hardware thread was busy.
    NoClock,
    /// The edge was not reached in visits that lie apart.
    NotReproduced {
        /// Visits that reached it, at least a second apart.
        reached: u64,
    },
    /// The values of a visit go in one direction, or the time allowed for settling was over: the number is of no steady
    /// state.
    NotSettled {
        /// The end of a visit over its beginning, less 1, in the middle visit; `None` if visits are too short to tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<f64>,
        /// Share of the visits that did not settle in the time allowed.
        unsettled: f64,
    },
    /// The spread between visits of a median is too wide.
    Scattered {
        /// Half of the interval over the value.
        half_width: f64,
    },
    /// This machine's record is better.
    BelowRecord {
        /// The record, in the number's unit.
        record: f64,
        /// Whether it is a time, of which less is better.
        is_time: bool,
        /// The day it was measured on.
        date: String,
        /// The core's clock with the record and now, cycles per second, where that explains most of the difference.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clocks: Option<[f64; 2]>,
    },
    /// Another figure of the run means the same and differs, or two such figures do.
    Disagrees {
        /// The step of the figure that is farthest from this one.
        with: String,
        /// The median of this figure over visits, in the number's unit, at the clock of the run where it follows the
        /// clock.
        here: f64,
        /// The same of the other figure.
        there: f64,
        /// Whether the figures are times.
        is_time: bool,
        /// The largest median of the figures that mean the same over the smallest, less 1.
        apart: f64,
    },
    /// Memory answered later without a load than with one.
    IdleAboveLoaded {
        /// The step under load; of the figure under load, the step without.
        with: String,
        /// Median latency over visits without a load, ns.
        idle: f64,
        /// The same with the load.
        loaded: f64,
    },
    /// Few of the points that it was read from have numbers.
    FewPoints {
        /// Points with a number.
        points: u64,
        /// Requested points.
        of: u64,
    },
    /// What a number was derived from allows numbers that are too far apart.
    TooWide {
        /// The least that it can be, in `unit`.
        low: f64,
        /// The most.
        high: f64,
        /// The number's unit.
        unit: Unit,
    },
    /// The size of a tier is not known.
    NotResolved {
        /// The least that it can be.
        low: Bytes,
        /// The most; `None` where nothing bounds it.
        high: Option<Bytes>,
        /// Why the curve does not resolve it.
        why: WhyNot,
    },
    /// Twice the working set takes longer: caches answer a part of the accesses to memory.
    StillRising {
        /// Latency at twice the footprint over that at the footprint, less 1.
        by: f64,
    },
    /// A declared cache has no plateau.
    NoPlateau {
        /// Level of the cache, from 1.
        level: u8,
        /// Its declared size.
        bytes: Option<Bytes>,
    },
    /// Times by the distance of two words do not rise in one step.
    NotOneStep {
        /// Distances whose times lie on neither side of the step.
        off: u64,
        /// Of how many.
        of: u64,
    },
    /// The system declares another size of a line.
    AnotherLine {
        /// The declared size.
        declared: Bytes,
    },
    /// Other work evicts the chase's lines.
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
}
