//! What goes in and comes out: points of a curve and declared caches, tiers and the grain of translation.

use tiermark_model::WhyNot;

/// A point of the latency curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CurvePoint {
    /// Footprint.
    pub(crate) bytes: u64,
    /// Lower envelope of the time of an access, ns.
    pub(crate) ns: f64,
    /// Lower end of the 95 % interval of `ns`.
    pub(crate) low: f64,
    /// Upper end.
    pub(crate) high: f64,
}

/// A cache as the system declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) level: u8,
    pub(crate) bytes: u64,
    /// Whether cpus of other cores use it as well.
    pub(crate) shared: bool,
}

/// The size of a tier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Size {
    /// Known within 10 %: the likeliest, and at least the central 98 %. `declared` where the curve leaves more open,
    /// but agrees with what is declared of a private cache so well that it is that.
    Resolved { bytes: u64, low: u64, high: u64, declared: bool },
    /// Not known: the range that the curve allows; `high` is `u64::MAX` where nothing in the curve bounds it.
    NotResolved { low: u64, high: u64, why: WhyNot },
}

impl Size {
    /// The range it lies in, bytes.
    pub(crate) fn range(self) -> (u64, u64) {
        match self {
            Self::Resolved { low, high, .. } | Self::NotResolved { low, high, .. } => (low, high),
        }
    }

    /// The size; `None` when not resolved.
    pub(crate) fn resolved(self) -> Option<u64> {
        if let Self::Resolved { bytes, .. } = self { Some(bytes) } else { None }
    }
}

/// A cache level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FoundTier {
    /// 1 for L1: the level of the declared cache nearest in size; if no cache is declared, levels are counted.
    pub(crate) level: u8,
    /// Smallest and largest measured footprint on its plateau; `None` where it has none, and its latency at the rung is
    /// a bound.
    pub(crate) plateau: Option<(u64, u64)>,
    /// Time of an access on the plateau, or at the rung, ns.
    pub(crate) ns: f64,
    pub(crate) size: Size,
    /// Footprint to measure it at: on its plateau and within the reach of the grain's buffer, where there is such a
    /// place. Beyond the first level, a power of two derived from the size of the level below; of a shared cache even
    /// if it is off the measured plateau.
    pub(crate) rung: u64,
}

/// The grain of translation: a bend of the curve where the first data TLB is outgrown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Grain {
    /// Footprint at which the curve bends: `entries` x `page`.
    pub(crate) knee: u64,
    /// Bytes that one entry of the TLB translates; less than the requested page size where the host maps smaller pages.
    pub(crate) page: u64,
    /// Entries of the TLB.
    pub(crate) entries: u64,
    /// Additional time of an access that misses the TLB, ns.
    pub(crate) step_ns: f64,
}

/// The tiers of a latency curve.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Found {
    /// Caches, by level; rungs and latencies rise.
    pub(crate) tiers: Vec<FoundTier>,
    /// `None` where the curve has no such bend.
    pub(crate) grain: Option<Grain>,
    /// Smallest footprint on the plateau of memory, and its latency in ns; `None` where the curve does not reach it.
    pub(crate) memory: Option<(u64, f64)>,
}
