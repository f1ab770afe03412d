//! Every label, a line each: its key in documents, what it says, its accessor and its builder.

use std::fmt;

use super::{Label, LabelSet, Labels};
use crate::figure::Distance;
use crate::span::Span;

/// The accessor and the builder of a label, by the kind of its value.
macro_rules! accessors {
    ($doc:expr, word $key:ident $get:ident $with:ident) => {
        #[doc = $doc]
        #[must_use]
        pub fn $get(&self) -> Option<&str> {
            self.word(Key::$key)
        }

        #[doc = concat!("With `", stringify!($get), "`.")]
        #[must_use]
        pub fn $with(self, value: impl fmt::Display) -> Self {
            self.with(Key::$key, Label::Text(value.to_string()))
        }
    };
    ($doc:expr, number $key:ident $get:ident $with:ident) => {
        #[doc = $doc]
        #[must_use]
        pub fn $get(&self) -> Option<u64> {
            self.number(Key::$key)
        }

        #[doc = concat!("With `", stringify!($get), "`.")]
        #[must_use]
        pub fn $with(self, value: u64) -> Self {
            self.with(Key::$key, Label::Whole(value))
        }
    };
    ($doc:expr, value $key:ident [$type:ty] $get:ident $with:ident) => {
        #[doc = $doc]
        #[must_use]
        pub fn $get(&self) -> Option<$type> {
            self.word(Key::$key)?.parse().ok()
        }

        #[doc = concat!("With `", stringify!($get), "`.")]
        #[must_use]
        pub fn $with(self, value: $type) -> Self {
            self.with(Key::$key, Label::Text(value.to_string()))
        }
    };
    // Of another type: written beside [`Labels`].
    ($doc:expr, typed $key:ident $get:ident) => {};
}

/// The labels: their keys, what they say, their accessors.
macro_rules! labels {
    ($($(#[doc = $doc:literal])+ $key:ident = $name:literal: $kind:ident $([$type:ty])? $get:ident $($with:ident)?;)+) => {
        /// A key of labels.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum Key {
            $($(#[doc = $doc])+ $key,)+
        }

        impl Key {
            /// All of them.
            pub(crate) const ALL: &[Self] = &[$(Self::$key),+];

            /// The word of documents.
            #[must_use]
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$key => $name,)+
                }
            }

            /// The key of this name; `None` for one that this version does not know.
            #[must_use]
            pub(crate) fn named(name: &str) -> Option<Self> {
                Some(match name {
                    $($name => Self::$key,)+
                    _ => return None,
                })
            }

            /// What its label says.
            #[cfg(feature = "schema")]
            pub(super) const fn about(self) -> &'static str {
                match self {
                    $(Self::$key => concat!($($doc),+),)+
                }
            }
        }

        impl LabelSet {
            $(#[doc = concat!("With `", stringify!($get), "`.")]
            #[must_use]
            pub const fn $get(self) -> Self {
                self.and(Self::of(Key::$key))
            })+
        }

        impl Labels {
            /// Names in documents of the labels that this version knows.
            pub const NAMES: &[&str] = &[$($name),+];

            $(accessors!(concat!($($doc),+), $kind $key $([$type])? $get $($with)?);)+
        }
    };
}

labels! {
    /// Purpose of the step in the plan: the name of a [`Purpose`].
    Purpose = "purpose": typed purpose;
    /// The tier it stands for: `L1`, `L2`, `L3`, `DRAM`.
    Tier = "tier": typed tier;
    /// Footprint of one thread in bytes.
    Size = "size": typed size;
    /// The operation: `read`, `write`, `copy`, … (for the ladder: the job, whatever kernel does it).
    Op = "op": word op with_op;
    /// The chain layout.
    Layout = "layout": word layout with_layout;
    /// The requested page size.
    Page = "page": word page with_page;
    /// How many threads.
    Threads = "threads": number threads with_threads;
    /// `one` or `all`: the role of the thread count in the ladder.
    Span = "span": value [Span] span with_span;
    /// The cpus, in list format.
    Cpus = "cpus": word cpus with_cpus;
    /// The memory node.
    Node = "node": typed node;
    /// Chains followed at once.
    Chains = "chains": number chains with_chains;
    /// The kernel that did it.
    Kernel = "kernel": word kernel with_kernel;
    /// Contents of the memory, if not incompressible data: `zeros`.
    Data = "data": word data with_data;
    /// The traffic of a load: `read`, `3:1`, `write.nt`, …
    Mix = "mix": word mix with_mix;
    /// Share of a load's useful bytes that are read, in percent.
    Reads = "reads": number reads with_reads;
    /// Where memory lies, seen from the threads: `local`, `remote`, `far`, `system`.
    Place = "place": value [Distance] place with_place;
    /// Time between two pieces of a load, ns.
    Pause = "pause": number pause with_pause;
    /// The limit of a rate: `core`, `memory`, `link`; or of what a cache holds: `partition`, `contention`, `reuse` (it
    /// keeps lines only once they are used again), `none`, `unclear`.
    Limit = "limit": word limit with_limit;
    /// Where it begins: the cpus of a row of the matrix as a selector (`node:0`, `socket:1`, `llc:3`, `all`), or the
    /// first cpu of a pair.
    From = "from": word from with_from;
    /// Nodes that pages are spread over, in list format.
    Nodes = "nodes": word nodes with_nodes;
    /// How pages are spread, where they are not bound to one node: `interleave`, `weighted`, `kernel weights`, `mixed`,
    /// `local`.
    Policy = "policy": word policy with_policy;
    /// Pages of each node in a round: `0:3,1:1`.
    Weights = "weights": word weights with_weights;
    /// Percent of the threads whose memory is remote.
    Remote = "remote": number remote with_remote;
    /// Whose the memory of several threads is, where not each has its own: `shared`.
    Buffer = "buffer": word buffer with_buffer;
    /// Useful bytes after which a step ends.
    Total = "total": number total with_total;
    /// The part of a setup: `local`, `remote`.
    Part = "part": word part with_part;
    /// The other side of a comparison.
    Against = "against": word against with_against;
    /// Which statistic a finding is (`p99`, `plateau`, …).
    Statistic = "statistic": word statistic with_statistic;
    /// The value that the system declares.
    Declared = "declared": word declared with_declared;
    /// How two cpus are related, by what they share: `core`, `L2`, `L3`, … for caches; `SMT`, `cluster`, `LLC`, `die`,
    /// `socket`, `remote` for pairs.
    Relation = "relation": word relation with_relation;
    /// The kinds of a pair's cores on a hybrid machine, the larger first: `P-P`, `P-E`, `E-E`, `P-LP`.
    Kinds = "kinds": word kinds with_kinds;
    /// The load beside the measurement.
    Beside = "beside": word beside with_beside;
    /// How many nodes a chain has.
    Length = "length": number length with_length;
    /// Time since the accessed lines were touched, ns.
    Wait = "wait": number wait with_wait;
    /// Bytes of other memory that were read before.
    After = "after": number after with_after;
    /// How often the accessed lines were used before the wait: `once` (after a flush) or `again` (three times in a
    /// row).
    Used = "used": word used with_used;
    /// The cpu that answers.
    To = "to": word to with_to;
    /// Whose memory shared lines are in: `first`, `second` (of the pair's cpus) or `third`.
    Home = "home": word home with_home;
    /// The state of lines before they were fetched: `clean`, `dirty`.
    State = "state": word state with_state;
    /// Group of a primitive of the operating system.
    Group = "group": word group with_group;
    /// Resident memory of the process, bytes.
    Resident = "resident": number resident with_resident;
    /// Bytes a channel holds.
    Capacity = "capacity": number capacity with_capacity;
    /// Bytes each side works on between two operations.
    WorkingSet = "working set": number working_set with_working_set;
    /// How many take part in an operation of the system: descriptors, processes.
    Count = "count": number count with_count;
    /// Number of the piece of memory that a scan looks at, from 0.
    Region = "region": number region with_region;
    /// The requests that tenants get: mix, and distribution of keys.
    Workload = "workload": word workload with_workload;
    /// Number of tenants.
    Tenants = "tenants": number tenants with_tenants;
    /// The address of one tenant of several.
    Tenant = "tenant": word tenant with_tenant;
    /// Number of a trial of tenants in its search.
    Trial = "trial": number trial with_trial;
    /// Purpose of a trial: `ramp`, `verification`, …
    Phase = "phase": word phase with_phase;
    /// Outcome of a trial: `pass`, `fail`, `unclear`.
    Outcome = "outcome": word outcome with_outcome;
    /// The resource that ended a search of tenants: `memory tier`, `cpu`, …
    EndedBy = "ended_by": word ended_by with_ended_by;
    /// Pairs of cpus behind a number.
    Pairs = "pairs": number pairs with_pairs;
    /// How many there are of which some were measured.
    PairsAll = "pairs.all": number pairs_all with_pairs_all;
}
