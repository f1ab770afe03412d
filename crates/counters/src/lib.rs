//! The traffic of memory channels and of links between sockets, from whatever source of counters a machine has.
//!
//! A [`CounterSource`] gives [`Snapshot`]s; [`traffic`] makes bytes of two of them, and [`check_known`] compares these
//! with those of a stream whose bytes are known. [`first_that_opens`] chooses among sources. Nothing here makes a
//! system call but for files: the calls that open counters are those of a [`Backend`] and a [`Mailbox`].

#![forbid(unsafe_code)]

mod alias;
mod backend;
mod calibrate;
mod choice;
mod cores;
mod counted;
mod course;
mod csv;
mod family;
mod finding;
mod followed;
mod form;
mod format;
mod hsmp;
mod likwid;
mod monitored;
mod nodes;
mod pcm;
mod perf;
mod quiet;
mod resctrl;
mod sampled;
mod select;
mod silence;
mod sim;
mod snapshot;
mod source;
mod sums;
mod survey;
mod traffic;

pub use backend::{Backend, GroupCounts, GroupId, KernelCounters, OPEN_FLAGS, OpenEvent, PerfEvent, READ_FORMAT};
pub use calibrate::{Fault, KnownCrossing, KnownStream, check_known, check_links};
pub use choice::{Beside, Place, SourceChoice, families_with, open_source};
pub use cores::Cores;
pub use family::{Count, Family, Of, Unit, families, family_of};
pub use finding::Finding;
pub use followed::Followed;
pub use form::form_of;
pub use format::{Field, FormatError, Terms, Words, terms};
pub use hsmp::{Hsmp, Mailbox};
pub use likwid::LikwidFile;
pub use monitored::Monitored;
pub use nodes::{BoxNodes, nodes_of};
pub use pcm::{PCM, PCM_MEMORY, PcmFile, PcmLayout, PcmTable};
pub use perf::{PerfSource, examine_perf};
pub use resctrl::{GroupFiles, Resctrl, SystemFiles, examine_resctrl};
pub use sampled::{News, NoCounts, SampledSource};
pub use select::{Selection, Wanted, select};
pub use sim::{SimCounters, SimRate};
pub use snapshot::{Reading, Snapshot};
pub use source::{Candidate, Chosen, CounterSource, Null, first_that_opens, other_monitors};
pub use survey::{System, open_hsmp, survey};
pub use traffic::traffic;
