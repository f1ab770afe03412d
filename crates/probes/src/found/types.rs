//! What goes in and comes out: points of a curve, which of them can be true and whether memory answers, declared caches,
//! tiers and the grain of translation.

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

/// Two footprints agree within this: page walks add up to 8 % a doubling on base pages.
const AGREE: f64 = 0.08;

/// A rise of a doubling that page walks explain where it grows with each doubling: from this before, up to that.
const WALKS: (f64, f64) = (0.02, 0.2);

/// Share by which twice a working set is slower than once, where that is more than page walks explain and the intervals
/// of the two show it: caches then answer a part of the smaller one.
///
/// Tables of pages that no longer fit the caches themselves make a small rise that grows with each doubling (a Zen 4
/// guest of split huge pages: 7 % from 67 to 138 MiB, 14 to 276). A cache that holds the smaller sets has a rise that
/// grows, too, but none before, or a large one.
pub(crate) fn still_rises(half: Option<&CurvePoint>, once: &CurvePoint, twice: &CurvePoint) -> Option<f64> {
    let rise = twice.ns / once.ns - 1.0;
    let shown = twice.low / once.high - 1.0 > AGREE;
    let before = half.map_or(0.0, |half| once.ns / half.ns - 1.0);
    let walks = (WALKS.0..rise).contains(&before) && rise < WALKS.1;
    (shown && !walks).then_some(rise)
}

/// A point this much (relative) above a larger footprint's is wrong; less is noise, and waves that sets and pages make.
const WAVES: f64 = 0.03;
/// Half-widths of the interval by which a point has to be off as well.
const WIDTHS: f64 = 2.0;

/// The points of a curve by footprint, without those that are impossible.
///
/// A larger footprint never hits more, and disturbance makes times longer, never shorter: a point above any of a larger
/// footprint was disturbed in every visit, and is dropped. Of points at one footprint the lowest counts.
pub(super) fn clean(curve: &[CurvePoint]) -> Vec<CurvePoint> {
    let positive = |v: f64| v.is_finite() && v > 0.0;
    let mut points: Vec<CurvePoint> = curve
        .iter()
        .copied()
        .filter(|p| p.bytes > 0 && positive(p.ns) && p.low.is_finite() && p.high.is_finite())
        .collect();
    points.sort_by(|a, b| a.bytes.cmp(&b.bytes).then(a.ns.total_cmp(&b.ns)));
    points.dedup_by_key(|p| p.bytes);
    let mut least = f64::INFINITY;
    let mut kept: Vec<CurvePoint> = Vec::new();
    for point in points.into_iter().rev() {
        if point.ns <= least * (1.0 + WAVES.max(WIDTHS * half_width(&point))) {
            least = least.min(point.ns);
            kept.push(point);
        }
    }
    kept.reverse();
    kept
}

/// Half the width of a point's interval, relative.
pub(super) fn half_width(point: &CurvePoint) -> f64 {
    ((point.high - point.low) / 2.0 / point.ns).max(0.0)
}
