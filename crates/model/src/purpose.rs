//! Purposes of the steps of a plan.

use std::fmt;

macro_rules! purposes {
    ($($(#[$doc:meta])+ $purpose:ident = $name:literal,)+) => {
        /// Purpose of a step in a plan. Documents keep its name as a label.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Purpose {
            $($(#[$doc])+ $purpose,)+
        }

        impl Purpose {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$purpose),+];

            /// Its name in documents and in ids of steps.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$purpose => $name,)+
                }
            }
        }
    };
}

purposes! {
    /// A point of a curve by size.
    Curve = "curve",
    /// A figure of a tier.
    Ladder = "ladder",
    /// The fastest way to fill or copy a buffer, whichever memory its stores reach.
    Buffer = "buffer",
    /// A figure of so many threads.
    Scaling = "scaling",
    /// Accesses with cold caches, right after other memory was read.
    Cold = "cold",
    /// A figure whose size the user named.
    Table = "table",
    /// A point of latency under a load.
    Load = "load",
    /// A figure derived from a curve of latency under load.
    Loaded = "loaded",
    /// Latency without load, beside such points.
    Unloaded = "unloaded",
    /// The highest rate of the system.
    Peak = "peak",
    /// A cell of the placement matrix.
    Matrix = "matrix",
    /// A figure derived from a ramp of threads.
    Scale = "scale",
    /// A chase that shows the shape of a cache or TLB.
    Shape = "shape",
    /// A chase beside a neighbour that may share the cache.
    Shared = "shared",
    /// Accesses of one grain.
    Granularity = "granularity",
    /// A chase or a stream beside a busy neighbour.
    Neighbour = "neighbour",
    /// Independent chains at once.
    Mlp = "mlp",
    /// Accesses to lines that were touched before a wait.
    Residency = "residency",
    /// Accesses to lines that were flushed.
    Flushed = "residency flushed",
    /// A way to pass a line.
    Op = "op",
    /// A line between two cpus.
    Pair = "pair",
    /// The same pair, the other way.
    Reverse = "reverse",
    /// Lines fetched from another core.
    Transfer = "transfer",
    /// A pair with the line's memory on a chosen node.
    Home = "home",
    /// Several cores on one line.
    Contention = "contention",
    /// A piece of memory that is compared with all others.
    Scan = "scan",
    /// Memory that is written, read back and compared.
    Soak = "soak",
    /// The first point of a primitive.
    Os = "os",
    /// Another point of a primitive.
    OsPoint = "os-point",
}

impl Purpose {
    /// Whether its steps only draw a shape or describe a state beside the figures: a curve by size, latency under a
    /// load, a primitive beside its first point, cold latency.
    pub const fn is_point(self) -> bool {
        matches!(self, Self::Curve | Self::Load | Self::OsPoint | Self::Cold)
    }

    /// Whether its steps are points of one curve, so that a further one only makes the curve denser.
    pub const fn draws_a_curve(self) -> bool {
        matches!(self, Self::Curve | Self::Load | Self::OsPoint | Self::Shape)
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
