//! The quantities that findings are numbers of.

use serde::{Deserialize, Serialize};

use crate::units::{Metric, Unit};

/// The quantities, each with its name in documents.
macro_rules! quantities {
    ($(#[doc = $doc:literal] $quantity:ident = $name:literal,)+) => {
        /// The quantity of a finding. Documents keep its dotted name.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum Quantity {
            $(#[doc = $doc] $quantity,)+
            /// One that this version does not know, from a document of another.
            Other(String),
        }

        impl Quantity {
            /// All that this version knows.
            pub const ALL: &[Self] = &[$(Self::$quantity),+];

            /// Its name in documents.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$quantity => $name,)+
                    Self::Other(name) => name,
                }
            }

            /// What it is, in a sentence.
            pub fn about(&self) -> &'static str {
                match self {
                    $(Self::$quantity => $doc.trim_ascii_start(),)+
                    Self::Other(_) => "A quantity of another version of tiermark.",
                }
            }
        }

        impl From<String> for Quantity {
            fn from(name: String) -> Self {
                match name.as_str() {
                    $($name => Self::$quantity,)+
                    _ => Self::Other(name),
                }
            }
        }
    };
}

quantities! {
    /// Time of one access.
    Latency = "latency",
    /// Bytes a second.
    Bandwidth = "bandwidth",
    /// Bytes a second by the number of threads.
    BandwidthScaling = "bandwidth.scaling",
    /// Bytes a second of one part of a mixed load.
    BandwidthPart = "bandwidth.part",
    /// A percentile of the time of blocks of accesses.
    LatencyTail = "latency.tail",
    /// Latency of far memory, relative to local memory.
    LatencyFar = "latency.far",
    /// Time until half of what accesses to memory take longer with cold caches is gone.
    LatencyRecovery = "latency.recovery",
    /// Size of a cache, as the latency curve shows it.
    TierSize = "tier.size",
    /// The clock of the cores during a run: the 90th percentile by time, with the 10th and the 90th as its interval.
    CoreClock = "core.clock",
    /// How often a second the measuring cpus were interrupted.
    InterruptionsRate = "interruptions.rate",
    /// Share of the measuring cpus' time that interruptions took.
    InterruptionsShare = "interruptions.share",
    /// How often a second the measuring cpus were interrupted for over 20 µs.
    InterruptionsLongRate = "interruptions.long.rate",
    /// Share of the measuring cpus' time that interruptions of over 20 µs took.
    InterruptionsLongShare = "interruptions.long.share",
    /// Share of the theoretical peak that a rate reaches.
    PeakShare = "peak.share",
    /// Page size with which the system translates memory.
    TranslationGrain = "translation.grain",
    /// Bytes a second beside a busy neighbour.
    NeighbourRate = "neighbour.rate",
    /// Time of an access beside a busy neighbour.
    NeighbourLatency = "neighbour.latency",
    /// How much a busy neighbour slows.
    NeighbourCost = "neighbour.cost",
    /// Time of a line's round trip, by the operation that passes it.
    C2cOp = "c2c.op",
    /// Time to fetch a line that another core holds.
    C2cTransfer = "c2c.transfer",
    /// Operations a second of several cores on one line.
    C2cContention = "c2c.contention",
    /// Operations a second on one line, of all cores together.
    C2cLine = "c2c.line",
    /// Share of the slowest core among those that contend.
    C2cFairness = "c2c.fairness",
    /// Time of a line's round trip between two cpus.
    C2cPair = "c2c.pair",
    /// Time of a line's round trip over the pairs of one relation.
    C2cRelation = "c2c.relation",
    /// How many times longer the slowest mode of a pair's round trip is than the fastest.
    C2cModes = "c2c.modes",
    /// Difference between the two directions of a pair.
    C2cAsymmetry = "c2c.asymmetry",
    /// Time of a line's round trip, by the node of the line's memory.
    C2cHome = "c2c.home",
    /// Bytes of a cache line.
    GeometryLine = "geometry.line",
    /// Size of a cache.
    GeometrySize = "geometry.size",
    /// Ways of a cache.
    GeometryWays = "geometry.ways",
    /// Sets of a cache.
    GeometrySets = "geometry.sets",
    /// Time of an access to a cache.
    GeometryLatency = "geometry.latency",
    /// Lines that come together.
    GeometryNeighbours = "geometry.neighbours",
    /// Whether two cpus share a cache.
    GeometryShared = "geometry.shared",
    /// Useful bytes a second of a whole sequential access.
    GranularityUseful = "granularity.useful",
    /// Useful bytes a second.
    GranularityRate = "granularity.rate",
    /// Weights of nodes with the highest rate.
    InterleaveBest = "interleave.best",
    /// A rate over two nodes, relative to local memory.
    MixedAgainstLocal = "mixed.against_local",
    /// A far rate or latency, relative to the local one.
    MatrixFar = "matrix.far",
    /// A bandwidth of the matrix as a share of what its memory, or the link to it, carries in theory.
    MatrixShare = "matrix.share",
    /// Bytes that a program uses, as a share of those that its accesses move from and to memory.
    MatrixUsed = "matrix.used",
    /// Difference between two directions.
    MatrixAsymmetry = "matrix.asymmetry",
    /// Difference between nodes at one distance.
    MatrixUneven = "matrix.uneven",
    /// Time of an access by the number of chains.
    MlpAccess = "mlp.access",
    /// Misses that one core keeps in flight.
    MlpInFlight = "mlp.in_flight",
    /// Latency without load.
    LoadedUnloaded = "loaded.unloaded",
    /// Rate from which latency rises steeply.
    LoadedKnee = "loaded.knee",
    /// Latency at the highest load.
    LoadedSaturated = "loaded.saturated",
    /// Highest rate.
    LoadedPeak = "loaded.peak",
    /// Highest rate of the curve.
    LoadedMost = "loaded.most",
    /// Share of the peak that is lost under too much load.
    LoadedOverload = "loaded.overload",
    /// Rate at which latency reaches the target.
    LoadedAtTarget = "loaded.at_target",
    /// Time of an access after a wait.
    ResidencyAccess = "residency.access",
    /// Time of an access to a line that was flushed before.
    ResidencyMiss = "residency.miss",
    /// Time of an access to a line that the cache still holds.
    ResidencyHit = "residency.hit",
    /// Share that is still held after a wait.
    ResidencyHeld = "residency.held",
    /// Time of an access after a wait: the level that many visits share.
    ResidencyEdge = "residency.edge",
    /// Time after which half is evicted.
    ResidencyHalfLife = "residency.half_life",
    /// Bytes that programs get of a cache, with what limits them.
    ResidencyLimit = "residency.limit",
    /// Latency without load, beside a ramp of threads.
    ScaleLatency = "scale.latency",
    /// Threads from which the rate hardly rises.
    ScaleKnee = "scale.knee",
    /// Rate of whole lines by the number of threads.
    ScaleLines = "scale.lines",
    /// Rate that more threads do not raise.
    ScaleCeiling = "scale.ceiling",
    /// Share of a limit that a rate reaches.
    ScaleShare = "scale.share",
    /// Lines in flight that rate and latency imply.
    ScaleInFlight = "scale.in_flight",
    /// Number of pages that a level of a data TLB holds.
    TlbEntries = "tlb.entries",
    /// Cost of a miss of a TLB.
    TlbMiss = "tlb.miss",
    /// Cost of a page walk.
    TlbWalk = "tlb.walk",
    /// Time of an access to a piece of memory.
    ScanLatency = "scan.latency",
    /// Bytes a second that are read from a piece of memory.
    ScanBandwidth = "scan.bandwidth",
    /// The median of latency or bandwidth over the pieces of a node's memory.
    ScanMedian = "scan.median",
    /// How many times slower than the median a slow piece of memory is.
    ScanSlow = "scan.slow",
    /// Words of memory that were not what had been written, each time counted.
    SoakWrong = "soak.wrong",
    /// Pages of memory that the kernel took away, because their contents were lost.
    SoakLost = "soak.lost",
    /// Bytes of memory that were written, read back and compared at least once.
    SoakCovered = "soak.covered",
    /// Bytes a second that were read and compared.
    SoakRead = "soak.read",
    /// Bytes a second that were written before they were compared.
    SoakWritten = "soak.written",
    /// Share of the rate that was lost for good during a soak.
    SoakSlower = "soak.slower",
    /// Time of an operation of the system.
    OsLatency = "os.latency",
    /// Bytes a second of an operation of the system.
    OsBandwidth = "os.bandwidth",
    /// A percentile of the time of an operation.
    OsTail = "os.tail",
    /// Size of blocks from which the rate hardly rises.
    OsKnee = "os.knee",
}

impl Quantity {
    /// Whether it is of a range of memory whose size follows that of the last-level cache.
    pub fn is_over_a_range(&self) -> bool {
        matches!(
            self,
            Self::ResidencyHit
                | Self::ResidencyAccess
                | Self::ResidencyEdge
                | Self::ResidencyMiss
                | Self::ResidencyHeld
                | Self::ResidencyHalfLife
        )
    }

    /// Whether it describes the time of a run and not the hardware: tails, what neighbours left in a cache, and how
    /// fast a state comes back.
    pub fn is_of_the_hour(&self) -> bool {
        matches!(
            self,
            Self::LatencyTail
                | Self::LatencyRecovery
                | Self::OsTail
                | Self::ResidencyAccess
                | Self::ResidencyEdge
                | Self::ResidencyMiss
                | Self::ResidencyHeld
                | Self::ResidencyHalfLife
        )
    }

    /// Whether it is of the interruptions of the cpus that measured.
    pub fn is_of_interruptions(&self) -> bool {
        self.family() == "interruptions"
    }

    /// Whether it describes the conditions of a run (core clock, interruptions) instead of a result. Conditions have no
    /// row in tables of numbers and are not counted as numbers.
    pub fn is_condition(&self) -> bool {
        *self == Self::CoreClock || self.is_of_interruptions()
    }

    /// Whether it counts faults: one more than none is worse, whatever chance does.
    pub fn is_of_faults(&self) -> bool {
        matches!(self, Self::SoakWrong | Self::SoakLost)
    }

    /// Whether less of it, in this unit, is better; `None` if neither less nor more is better.
    pub fn less_is_better(&self, unit: Unit) -> Option<bool> {
        match self {
            // How long a wait was tried, and differences between two directions or groups.
            Self::ResidencyLimit | Self::C2cAsymmetry | Self::C2cModes | Self::Other(_) => None,
            // It is better if a line stays in the cache for longer.
            Self::ResidencyHalfLife if unit == Unit::Ns => Some(false),
            Self::InterruptionsShare | Self::InterruptionsLongShare => Some(true),
            Self::SoakWrong | Self::SoakLost | Self::SoakSlower => Some(true),
            _ => unit.less_is_better(),
        }
    }

    /// The first part of its name: the probe it is of, or `latency` and `bandwidth`, which several measure.
    pub fn family(&self) -> &str {
        self.name().split('.').next().unwrap_or_default()
    }

    /// The rest of its name; the whole where it has one part.
    pub fn part(&self) -> &str {
        self.name().split_once('.').map_or(self.name(), |(_, part)| part)
    }
}

impl From<Metric> for Quantity {
    /// The quantity of a step's own number.
    fn from(metric: Metric) -> Self {
        match metric {
            Metric::Latency => Self::Latency,
            Metric::Bandwidth => Self::Bandwidth,
        }
    }
}

impl From<Quantity> for String {
    fn from(quantity: Quantity) -> Self {
        match quantity {
            Quantity::Other(name) => name,
            known => known.name().to_owned(),
        }
    }
}

impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Quantity {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<&str> = Self::ALL.iter().map(Self::name).collect();
        schemars::json_schema!({
            "description": "What a number is. Documents of other versions may have other names.",
            "type": "string",
            "enum": names,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_keep_the_name_of_every_quantity() {
        for quantity in Quantity::ALL.iter().cloned().chain([Quantity::Other("tier.colour".to_owned())]) {
            let json = serde_json::to_value(&quantity).unwrap();
            assert_eq!(json, quantity.name());
            assert_eq!(serde_json::from_value::<Quantity>(json).unwrap(), quantity);
        }
    }
}
