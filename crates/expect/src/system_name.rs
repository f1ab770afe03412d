//! Names of facts of the machine and of its run as a whole.

use tiermark_model::{CheckUnit, CoreLimits, ErrorKind};

/// A fact of the machine, or a number of the run as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SystemName {
    Peak,
    Link,
    ModuleSpeed,
    ModuleRated,
    ModuleSmallest,
    ModuleLargest,
    NodeSmallest,
    NodeLargest,
    ChannelsPopulated,
    Channels,
    Backing,
    Clock,
    /// The share of the time that interruptions took.
    Interruptions(InterruptedFor),
    /// What the machine's cores do at most by design.
    Limit(CoreLimit),
    /// Each figure as a share of the machine's record of it.
    Record,
    /// The size of the cache of a level as the latency curve shows it.
    Size(u8),
    /// The size of the same cache as the system declares it.
    Declared(u8),
    Memory,
    /// What the check-up calls a problem.
    Problems,
    Text(SystemText),
    Errors(ErrorKind, Since),
    Throttling(ThrottledPart, Since),
    /// A number of a soak.
    Soak(SoakNumber),
}

/// A number of a soak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SoakNumber {
    /// Words that were wrong.
    Wrong,
    /// Pages that the kernel took away.
    Lost,
    /// The share of its rate that it lost for good.
    Slower,
    /// The share of the nodes' memory that was compared.
    Covered,
    /// Its time.
    Seconds,
    /// Kinds of phase that were run on all of the memory.
    Kinds,
}

/// A limit of a core: latencies in cycles, widths in bytes a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CoreLimit {
    L1Cycles,
    L1Load,
    L1Store,
    L2Cycles,
    L2Load,
}

/// Which interruptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InterruptedFor {
    Any,
    /// Longer than 20 µs.
    Long,
}

/// A fact that is a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SystemText {
    Cpu,
    Kernel,
    Bios,
    Microcode,
    HugePages,
    Governor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Since {
    /// During the run.
    Run,
    /// Since the counters began.
    Boot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ThrottledPart {
    Core,
    Package,
}

const fn errors(kind: ErrorKind, since: Since) -> SystemName {
    SystemName::Errors(kind, since)
}

const fn limit(limit: CoreLimit) -> SystemName {
    SystemName::Limit(limit)
}

const fn text(text: SystemText) -> SystemName {
    SystemName::Text(text)
}

/// All, by name; the first of several names is the one that is shown.
pub(crate) const SYSTEM: [(&str, SystemName); 51] = [
    ("peak", SystemName::Peak),
    ("link", SystemName::Link),
    ("dimms.speed", SystemName::ModuleSpeed),
    ("dimms.rated", SystemName::ModuleRated),
    ("rated", SystemName::ModuleRated),
    ("dimms.smallest", SystemName::ModuleSmallest),
    ("dimms.largest", SystemName::ModuleLargest),
    ("nodes.smallest", SystemName::NodeSmallest),
    ("nodes.largest", SystemName::NodeLargest),
    ("channels.populated", SystemName::ChannelsPopulated),
    ("channels", SystemName::Channels),
    ("pages.huge", SystemName::Backing),
    ("core.clock", SystemName::Clock),
    ("interruptions.share", SystemName::Interruptions(InterruptedFor::Any)),
    ("interruptions.long.share", SystemName::Interruptions(InterruptedFor::Long)),
    ("limit.l1.cycles", limit(CoreLimit::L1Cycles)),
    ("limit.l1.load", limit(CoreLimit::L1Load)),
    ("limit.l1.store", limit(CoreLimit::L1Store)),
    ("limit.l2.cycles", limit(CoreLimit::L2Cycles)),
    ("limit.l2.load", limit(CoreLimit::L2Load)),
    ("record", SystemName::Record),
    ("size.l1", SystemName::Size(1)),
    ("size.l2", SystemName::Size(2)),
    ("size.l3", SystemName::Size(3)),
    ("size.l4", SystemName::Size(4)),
    ("size.l1.declared", SystemName::Declared(1)),
    ("size.l2.declared", SystemName::Declared(2)),
    ("size.l3.declared", SystemName::Declared(3)),
    ("size.l4.declared", SystemName::Declared(4)),
    ("memory.total", SystemName::Memory),
    ("cpu", text(SystemText::Cpu)),
    ("kernel", text(SystemText::Kernel)),
    ("bios", text(SystemText::Bios)),
    ("microcode", text(SystemText::Microcode)),
    ("thp", text(SystemText::HugePages)),
    ("governor", text(SystemText::Governor)),
    ("doctor.problems", SystemName::Problems),
    ("edac.corrected", errors(ErrorKind::Corrected, Since::Run)),
    ("edac.corrected.boot", errors(ErrorKind::Corrected, Since::Boot)),
    ("edac.uncorrected", errors(ErrorKind::Uncorrected, Since::Run)),
    ("edac.uncorrected.boot", errors(ErrorKind::Uncorrected, Since::Boot)),
    ("throttle.core", SystemName::Throttling(ThrottledPart::Core, Since::Run)),
    ("throttle.core.boot", SystemName::Throttling(ThrottledPart::Core, Since::Boot)),
    ("throttle.package", SystemName::Throttling(ThrottledPart::Package, Since::Run)),
    ("throttle.package.boot", SystemName::Throttling(ThrottledPart::Package, Since::Boot)),
    ("soak.wrong", SystemName::Soak(SoakNumber::Wrong)),
    ("soak.lost", SystemName::Soak(SoakNumber::Lost)),
    ("soak.slower", SystemName::Soak(SoakNumber::Slower)),
    ("soak.covered", SystemName::Soak(SoakNumber::Covered)),
    ("soak.seconds", SystemName::Soak(SoakNumber::Seconds)),
    ("soak.kinds", SystemName::Soak(SoakNumber::Kinds)),
];

impl SystemName {
    /// As it is written.
    pub(crate) fn text(self) -> &'static str {
        SYSTEM.iter().find(|(_, name)| *name == self).map_or("", |(text, _)| text)
    }

    /// Its unit.
    pub(crate) fn unit(self) -> CheckUnit {
        match self {
            Self::Peak | Self::Link => CheckUnit::BytesPerSecond,
            Self::ModuleSpeed | Self::ModuleRated => CheckUnit::TransfersPerSecond,
            Self::Clock => CheckUnit::Hz,
            Self::ModuleSmallest
            | Self::ModuleLargest
            | Self::NodeSmallest
            | Self::NodeLargest
            | Self::Size(_)
            | Self::Declared(_)
            | Self::Memory => CheckUnit::Bytes,
            Self::Text(_) => CheckUnit::Text,
            Self::ChannelsPopulated
            | Self::Channels
            | Self::Backing
            | Self::Limit(_)
            | Self::Record
            | Self::Interruptions(_)
            | Self::Problems
            | Self::Errors(..)
            | Self::Throttling(..)
            | Self::Soak(_) => CheckUnit::Number,
        }
    }

    /// Whether a run measures it.
    pub(crate) fn is_measured(self) -> bool {
        matches!(self, Self::Clock | Self::Interruptions(_) | Self::Record | Self::Size(_))
    }
}

impl CoreLimit {
    /// Its number; `None` if no source has it.
    pub(crate) fn of(self, limits: &CoreLimits) -> Option<f64> {
        match self {
            Self::L1Cycles => limits.latency_l1_cycles,
            Self::L1Load => limits.load_bytes_per_cycle,
            Self::L1Store => limits.store_bytes_per_cycle,
            Self::L2Cycles => limits.latency_l2_cycles,
            Self::L2Load => limits.l2_bytes_per_cycle,
        }
    }
}
