//! Words of the view of primitives.

use tiermark_model::{Bytes, Finding, Labels, OsGroup, Relation};

/// Where both sides take turns on one cpu.
pub(super) const SAME_CPU: &str = "same cpu";

/// A number that distinguishes one point of a primitive from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dimension {
    Size,
    Resident,
    Capacity,
    WorkingSet,
    Count,
    Threads,
}

impl Dimension {
    pub(super) const ALL: [Self; 6] =
        [Self::Size, Self::Resident, Self::Capacity, Self::WorkingSet, Self::Count, Self::Threads];

    /// Its number among labels.
    pub(super) fn of(self, labels: &Labels) -> Option<u64> {
        match self {
            Self::Size => labels.bytes(),
            Self::Resident => labels.resident(),
            Self::Capacity => labels.capacity(),
            Self::WorkingSet => labels.working_set(),
            Self::Count => labels.count(),
            Self::Threads => labels.threads(),
        }
    }

    /// Its head over a column of values.
    pub(super) fn head(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Resident => "resident",
            Self::Capacity => "capacity",
            Self::WorkingSet => "working set",
            Self::Count => "count",
            Self::Threads => "others",
        }
    }

    /// What a table goes by.
    pub(super) fn by(self) -> &'static str {
        match self {
            Self::Resident => "resident memory",
            Self::Threads => "other threads",
            _ => self.head(),
        }
    }

    /// A value among those of others.
    pub(super) fn label(self, value: u64) -> String {
        match self {
            Self::Size | Self::Resident => Bytes(value).to_string(),
            Self::Capacity => format!("holding {}", Bytes(value)),
            Self::WorkingSet => format!("on {}", Bytes(value)),
            Self::Count => format!("of {value}"),
            Self::Threads if value == 1 => "1 other thread".to_owned(),
            Self::Threads => format!("{value} other threads"),
        }
    }

    /// A value under its own head.
    pub(super) fn value(self, value: u64) -> String {
        if matches!(self, Self::Threads | Self::Count) { value.to_string() } else { Bytes(value).to_string() }
    }
}

/// Heading of a group.
pub(super) fn title(group: OsGroup) -> &'static str {
    match group {
        OsGroup::Syscalls => "System calls",
        OsGroup::Processes => "Processes and threads",
        OsGroup::Switches => "Context switches, there and back, and wake-ups",
        OsGroup::Channels => "Pipes and local channels",
        OsGroup::Faults => "Page faults and mappings",
        OsGroup::Numa => "Moving memory between nodes",
        OsGroup::Libc => "The C library",
        OsGroup::Arithmetic => "Operations on registers",
    }
}

/// Legend of a group's tables; places have a line of their own.
pub(super) fn legend(group: OsGroup) -> &'static str {
    match group {
        OsGroup::Syscalls => "each = one call or file; size = bytes of it; count = descriptors watched",
        OsGroup::Processes => "each = one child or thread, to its end; resident, size = memory of the parent",
        OsGroup::Switches => "each = there and back, of a ring one pass; of sleeps, the delay; count = ring",
        OsGroup::Channels => "GB/s count a byte once, on arrival; capacity = bytes that the channel holds",
        OsGroup::Faults => "each = one page, of munmap and mmap read a mapping; others = threads that spin",
        OsGroup::Numa => "GB/s = bytes of moved pages, one way, in one call",
        OsGroup::Libc => "same bytes in each call: small sizes come from caches; malloc+free: both",
        OsGroup::Arithmetic => "each = one operation that needs the result of the one before",
    }
}

/// Whether the words of a group's tables are places of another side.
pub(super) fn places(findings: &[&Finding]) -> Option<String> {
    let used = |word: &str| findings.iter().any(|f| f.labels.relation() == Some(word));
    let meaning = |relation: &Relation| match relation {
        Relation::Smt => "the core's other thread",
        Relation::Cluster => "a core of the same cluster",
        Relation::Llc => "a core of the same last-level cache",
        Relation::Die => "a core of the same die",
        Relation::Socket => "a core of the same socket",
        Relation::Remote => "another socket",
    };
    let mut words: Vec<String> = Vec::new();
    if used(SAME_CPU) {
        words.push(format!("{SAME_CPU} = both sides in turn"));
    }
    let named = Relation::ALL.iter().filter(|relation| used(&relation.to_string()));
    words.extend(named.map(|relation| format!("{relation} = {}", meaning(relation))));
    (!words.is_empty()).then(|| format!("Where the other side runs: {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legend_is_one_line() {
        for group in OsGroup::ALL {
            assert!(legend(group).chars().count() <= 78, "{}", legend(group));
        }
    }
}
