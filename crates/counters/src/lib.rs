//! The traffic of memory channels and of links between sockets, from whatever source of counters a machine has.
//!
//! A [`CounterSource`] gives [`Snapshot`]s; [`traffic`] makes bytes of two of them, and [`check_known`] compares these
//! with those of a stream whose bytes are known. [`open_source`] chooses among [`SOURCES`]. Nothing here makes a
//! system call but for files: the calls that open counters are those of a [`Backend`] and a [`Mailbox`].

#![forbid(unsafe_code)]

mod backend;
mod calibrate;
mod choice;
mod csv;
mod family;
mod finding;
mod followed;
mod format;
mod idle_sockets;
mod liveness;
mod monitored;
mod monitors;
mod nodes;
mod sampled;
mod select;
mod sim;
mod snapshot;
mod source;
mod sources;
mod sums;
mod traffic;
mod zero_counts;

pub use backend::{Backend, GroupCounts, GroupId, KernelCounters, OPEN_FLAGS, OpenEvent, PerfEvent, READ_FORMAT};
pub use calibrate::{Fault, KnownCrossing, KnownStream, check_known, check_links};
pub use choice::{SourceChoice, families_with, open_source};
pub use family::{Count, Family, Of, Unit, families, family_of};
pub use finding::Finding;
pub use followed::Followed;
pub use format::{Field, FormatError, Terms, Words, terms};
pub use monitored::Monitored;
pub use nodes::{BoxNodes, name_nodes, nodes_of};
pub use sampled::{News, NoCounts, SampledSource};
pub use select::{Selection, Wanted, select};
pub use sim::{SimCounters, SimRate};
pub use snapshot::{Interval, Reading, Snapshot};
pub use source::{
    Beside, Chosen, CounterSource, Doubt, FileForm, Opened, Place, Reads, SourceKind, System, SystemCounters, Tried,
};
pub use sources::{
    Cores, GroupFiles, Hsmp, LikwidFile, Mailbox, PCM, PCM_MEMORY, PcmFile, PcmLayout, PcmTable, PerfSource, Resctrl,
    SOURCES, SystemFiles, examine_perf, examine_resctrl, form_of, survey,
};
pub use traffic::traffic;
