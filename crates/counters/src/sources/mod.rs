//! Every kind of source, a file each.
//!
//! # To add a source of counters
//!
//! * `counters/src/sources/NAME.rs`: a [`CounterSource`](crate::CounterSource) and its [`SourceKind`]. `resctrl.rs`
//!   reads files of the system; `pcm.rs` those of a program, whose parser is also a target of `fuzz/src`. A system call
//!   goes through a method of [`System`](crate::System).
//! * Here: its module, and its row in [`SOURCES`].
//! * `model/src/counters.rs`: its name in `CounterSourceId`, at the same place in the order of preference.
//!
//! Texts: docs/COUNTERS.md (the table of sources, what is tried without `--counters-from`, what is special, platforms),
//! `docs/methods/watch.md`, `cli/src/other_tools.toml`, and the rule `counters-wrong` in
//! `expect/src/explain/rules.toml`, which names monitors.

mod cores;
mod hsmp;
mod likwid;
mod pcm;
mod perf;
mod resctrl;

use tiermark_model::CounterSourceInfo;

pub use cores::Cores;
pub use hsmp::{Hsmp, Mailbox};
pub use likwid::LikwidFile;
pub use pcm::{PCM, PCM_MEMORY, PcmFile, PcmLayout, PcmTable};
pub(crate) use perf::sights;
pub use perf::{PerfSource, examine_perf};
pub use resctrl::{GroupFiles, Resctrl, SystemFiles, examine_resctrl};

use crate::source::{Place, SourceKind};

/// All kinds of sources, in the order in which they are preferred.
pub static SOURCES: &[&SourceKind] =
    &[&perf::KIND, &hsmp::KIND, &resctrl::KIND, &pcm::MEMORY_KIND, &pcm::KIND, &likwid::KIND, &cores::KIND];

/// All sources, and whether they can be opened. With a system, sources are opened and closed again, except where that
/// changes the system; without one, as for a captured machine, none is.
#[must_use]
pub fn survey(place: Place<'_>) -> Vec<CounterSourceInfo> {
    SOURCES.iter().map(|kind| kind.examine(place)).collect()
}

/// The kind of source whose form a text has; `None` if it has no form that is read here.
#[must_use]
pub fn form_of(text: &str) -> Option<&'static SourceKind> {
    SOURCES.iter().copied().find(|kind| kind.file().is_some_and(|form| (form.has)(text)))
}
