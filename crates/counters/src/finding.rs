//! What stands out about the event sources of a machine.

use tiermark_model::messages::counters as says;
use tiermark_model::{CpuId, Note};

use crate::family::Count;
use crate::format::FormatError;

/// What was found while events were selected and opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// A cpu that a source is opened on is offline.
    CpuOffline {
        /// The event source.
        pmu: String,
        /// The cpu.
        cpu: CpuId,
    },
    /// An event source that cannot take the events of the family.
    FormatLacks {
        /// The event source.
        pmu: String,
        /// What is wrong.
        error: FormatError,
    },
    /// The kernel's own name of an event stands for another event.
    AliasDiffers {
        /// The event source.
        pmu: String,
        /// The name.
        alias: String,
    },
    /// The kernel's own name of an event counts only a part.
    PartialAlias {
        /// The event source.
        pmu: String,
        /// The name.
        alias: String,
    },
    /// Boxes that the kernel names and that are not on this processor.
    Absent {
        /// How many.
        boxes: usize,
    },
}

impl Finding {
    /// The sentence for it.
    pub fn note(&self) -> Note {
        match self {
            Self::CpuOffline { pmu, cpu } => says::source_cpu_offline(pmu, *cpu),
            Self::FormatLacks { pmu, error } => says::source_lacks_format(pmu, &error.message()),
            Self::AliasDiffers { pmu, alias } => says::alias_differs(pmu, alias),
            Self::PartialAlias { pmu, alias } => says::partial_alias(pmu, alias),
            Self::Absent { boxes } => says::boxes_absent(*boxes as u64),
        }
    }

    /// Whether it is about a name of this event.
    pub(crate) fn is_about_alias(&self, count: &Count) -> bool {
        match self {
            Self::AliasDiffers { alias, .. } => count.alias.as_ref() == Some(alias),
            Self::PartialAlias { alias, .. } => count.partial_alias.as_ref() == Some(alias),
            _ => false,
        }
    }
}
