//! One experiment as data: memory regions, threads on cpus, and the role of each thread.

mod chain;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::file_memory::FileMemory;
use crate::idset::{CpuId, IdSet};
use crate::kernel::KernelId;
use crate::os::OsCall;
use crate::page::PageKind;
use crate::share::{LineState, PingOp};
use crate::soak::SoakRole;
use crate::units::{Bytes, total};

pub use chain::ChainLayout;

/// Everything the host needs to carry one measurement out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setup {
    /// The memory.
    pub regions: Vec<RegionSetup>,
    /// The threads; each works on one region.
    pub threads: Vec<ThreadSetup>,
    /// Seed of every random choice (permutations, data).
    pub seed: u64,
}

/// One region of memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RegionSetup {
    /// Footprint in bytes: the sum over all streams that a kernel walks in it.
    pub bytes: Bytes,
    /// How pages are spread over the nodes.
    pub policy: MemPolicy,
    /// The nodes; empty means "the node of the thread that works on it".
    pub nodes: IdSet,
    /// The requested page size.
    pub page: PageKind,
    /// Its contents, written before the clock starts.
    pub layout: Layout,
}

/// One thread, pinned to one cpu.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadSetup {
    /// The cpu it is pinned to.
    pub cpu: CpuId,
    /// Its role.
    pub role: Role,
    /// Index into [`Setup::regions`].
    pub region: usize,
    /// The part of the setup that this belongs to, where parts are reported apart (`local`, `remote`); empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    /// Whether it runs in a process of its own, which has its region to itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub process: bool,
    /// Index of a region that it reads once before each visit, instead of settling: as other work does, this evicts
    /// what the visit before left in caches. The visit then times how its own state comes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_first: Option<usize>,
}

impl ThreadSetup {
    /// A thread that belongs to no part.
    pub fn new(cpu: CpuId, role: Role, region: usize) -> Self {
        Self { cpu, role, region, part: String::new(), process: false, reads_first: None }
    }

    /// Whether it uses this region of the setup: works on it, or reads it before each visit.
    pub fn uses(&self, region: usize) -> bool {
        self.region == region || self.reads_first == Some(region)
    }
}

/// The work of a thread between two clock stamps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Role {
    /// Streams through its region with a kernel.
    Stream {
        /// The kernel; where `rivals` are given, the first to try.
        kernel: KernelId,
        /// Other kernels for the same job: compared with the first in pairs of shots; a clearly faster one is measured
        /// instead.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rivals: Vec<KernelId>,
    },
    /// Follows chains of dependent loads.
    Chase {
        /// Independent chains followed at once, 1 to 32.
        chains: u8,
    },
    /// Uses its whole region, waits, and then follows a bounded piece of the region's chain: what a cache still holds
    /// of what was used so long ago. A visit is one such round, whatever its budget; only the chase is stamped.
    Revisit {
        /// Time between the end of the last use and the chase, ns.
        wait_ns: u32,
        /// Accesses of the chase; each visit goes on along the chain where the one before ended.
        accesses: u32,
        /// What is done with the lines before the wait.
        #[serde(default, skip_serializing_if = "Before::is_default")]
        before: Before,
        /// Whether the chase comes first, through what the visit before read, and the region is read after it, without
        /// a wait.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        since_last: bool,
    },
    /// Loads the memory while others are measured: walks its region in short pieces, kernel after kernel in turn, and
    /// pauses after each piece.
    Load {
        /// Walked in turn, each as many bytes of each of its streams, so that the list is the mix: `read read copy`
        /// reads three lines for each that it writes.
        kernels: Vec<KernelId>,
        /// Time between two pieces, ns; 0 is without pause and with longer pieces.
        pause_ns: u32,
    },
    /// Passes the turn to a partner on another cpu through shared lines and waits until it comes back: the round trip
    /// is measured.
    Ping {
        /// How.
        op: PingOp,
    },
    /// Returns the turn to the [`Role::Ping`] of its region, as long as that one plays. Not measured itself.
    Echo {
        /// How; the same as that of its partner.
        op: PingOp,
    },
    /// Adds to a word that all others of its region add to as well: an access is one addition.
    Contend,
    /// Chases through lines that a [`Role::Keep`] of its region has just taken: an access is one line that comes over.
    Take,
    /// Takes lines for a [`Role::Take`] to fetch. Not measured itself.
    Keep {
        /// How it prepares them: dirty or clean.
        state: LineState,
    },
    /// Repeats one call of the operating system: an access is one call.
    Os(OsCall),
    /// Writes its part of all regions, and compares what others wrote. Not measured by shots.
    Soak(SoakRole),
}

/// What a [`Role::Revisit`] does with the lines of its region before it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Before {
    /// Reads them three times in a row.
    #[default]
    UsedAgain,
    /// Flushes them from every cache, so that no earlier use counts, and reads them once.
    UsedOnce,
    /// Flushes them from every cache, so that each access of the chase misses.
    Flushed,
}

impl Before {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Role {
    /// The kernels that it may run.
    pub fn kernels(&self) -> impl Iterator<Item = &KernelId> {
        let (first, rest) = match self {
            Self::Stream { kernel, rivals } => (Some(kernel), rivals.as_slice()),
            Self::Load { kernels, .. } => (None, kernels.as_slice()),
            _ => (None, [].as_slice()),
        };
        first.into_iter().chain(rest)
    }

    /// Whether it works on lines that other threads of its region write at the same time.
    pub fn shares_lines(&self) -> bool {
        matches!(self, Self::Ping { .. } | Self::Echo { .. } | Self::Contend | Self::Take | Self::Keep { .. })
    }
}

/// How the pages of a region are spread over its nodes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MemPolicy {
    /// Only on the given nodes.
    Bind,
    /// Round robin over the given nodes.
    Interleave,
    /// Dealt out over the given nodes, in rising order, in these shares. The tool places each page itself: the system's
    /// own weights stay as they are.
    Weighted(Vec<u32>),
    /// Where the kernel puts what a thread on this cpu touches first; the given nodes are where that shall be.
    TouchedBy(CpuId),
    /// The kernel's weighted interleave over the given nodes, by the weights the system is set to (Linux 6.9 and
    /// later).
    SystemWeighted,
    /// Wherever a file has its pages: the memory is the file's.
    File(FileMemory),
}

impl MemPolicy {
    /// The share of each of that many nodes, in rising order: pages out of every round through all. Empty where any
    /// node may give all.
    pub fn shares(&self, nodes: usize) -> Vec<u32> {
        match self {
            Self::Weighted(weights) => weights.iter().copied().chain(std::iter::repeat(0)).take(nodes).collect(),
            Self::Interleave => vec![1; nodes],
            Self::Bind | Self::TouchedBy(_) if nodes == 1 => vec![1],
            Self::Bind | Self::TouchedBy(_) | Self::SystemWeighted | Self::File(_) => Vec::new(),
        }
    }
}

/// The order in which one round of pages is dealt out: for each page the index of its share. Shares alternate as evenly
/// as they can (smooth weighted round robin), so that neighbouring pages lie on different nodes.
pub fn deal(shares: &[u32]) -> Vec<usize> {
    let total: i64 = shares.iter().map(|s| i64::from(*s)).sum();
    let mut credit = vec![0i64; shares.len()];
    let mut order = Vec::new();
    for _ in 0..total {
        for (credit, share) in credit.iter_mut().zip(shares) {
            *credit += i64::from(*share);
        }
        // The first of the richest, so that the order is the same everywhere.
        let Some(next) = (0..credit.len()).rev().max_by_key(|index| credit[*index]) else { break };
        credit[next] -= total;
        order.push(next);
    }
    order
}

/// The contents of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Incompressible data, for sequential streams; stores write a pattern that is not zero.
    Data,
    /// Zeros, and stores of zeros: some memory systems treat lines of zeros apart.
    Zeros,
    /// Incompressible data, and a proven permutation of its lines in which random streams walk it.
    Permuted,
    /// Lines that several threads write, each word on its own (atomically).
    Shared,
    /// A chain of pointers.
    Chain(ChainLayout),
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data => f.pad("data"),
            Self::Zeros => f.pad("zeros"),
            Self::Permuted => f.pad("permuted"),
            Self::Shared => f.pad("shared"),
            Self::Chain(chain) => write!(f, "chain:{chain}"),
        }
    }
}

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "data" => Ok(Self::Data),
            "zeros" => Ok(Self::Zeros),
            "permuted" => Ok(Self::Permuted),
            "shared" => Ok(Self::Shared),
            _ => text.strip_prefix("chain:").ok_or_else(|| format!("layout '{text}'"))?.parse().map(Self::Chain),
        }
    }
}

crate::text_serde!(Layout, "layout: data, zeros, permuted, shared, or chain:LAYOUT");

impl Setup {
    /// Whether its memory is of the plain kind, so that it may be a part of the memory that a run makes once: anonymous
    /// pages of one place, of the usual sizes, that hold data or chains of pointers, and no operation of the system.
    pub fn is_plain(&self) -> bool {
        let is_plain = |region: &RegionSetup| {
            let has_plain_contents = match region.layout {
                Layout::Data | Layout::Permuted => true,
                Layout::Chain(chain) => !chain.is_of_bytes(),
                Layout::Zeros | Layout::Shared => false,
            };
            let is_of_one_place = region.policy == MemPolicy::Bind && region.nodes.len() < 2;
            is_of_one_place && !matches!(region.page, PageKind::Huge(_)) && has_plain_contents
        };
        let works = |thread: &ThreadSetup| !thread.process && !matches!(thread.role, Role::Os(_) | Role::Soak(_));
        self.regions.iter().all(is_plain) && self.threads.iter().all(works)
    }

    /// Total memory of all regions, bytes.
    pub fn total_bytes(&self) -> Bytes {
        Bytes(total(self.regions.iter().map(|r| r.bytes.0)))
    }

    /// The cpus used.
    pub fn cpus(&self) -> IdSet {
        self.threads.iter().map(|t| t.cpu).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_memory_is_told_from_all_other() {
        let region = |page, layout| crate::testing::region(1 << 20, page, layout);
        let setup = |region| Setup {
            regions: vec![region],
            threads: vec![ThreadSetup::new(0, Role::Chase { chains: 1 }, 0)],
            seed: 1,
        };
        let data = setup(region(PageKind::Base, Layout::Data));
        for (page, layout, plain) in [
            (PageKind::Base, Layout::Data, true),
            (PageKind::Thp, Layout::Permuted, true),
            (PageKind::Thp, Layout::Chain(ChainLayout::Long(4)), true),
            (PageKind::Thp, Layout::Chain(ChainLayout::Stride(12)), false),
            (PageKind::Thp, Layout::Zeros, false),
            (PageKind::Thp, Layout::Shared, false),
            (PageKind::Huge(2 << 20), Layout::Data, false),
        ] {
            assert_eq!(setup(region(page, layout)).is_plain(), plain, "{page} {layout}");
        }
        let with = |change: &dyn Fn(&mut Setup)| {
            let mut setup = data.clone();
            change(&mut setup);
            setup.is_plain()
        };
        assert!(!with(&|setup| setup.regions[0].policy = MemPolicy::Interleave));
        assert!(!with(&|setup| setup.regions[0].nodes = IdSet::from_iter([0, 1])));
        assert!(!with(&|setup| setup.threads[0].process = true));
        assert!(!with(&|setup| setup.threads[0].role = Role::Os(OsCall::new("x".into()))));
    }

    #[test]
    fn shares_are_dealt_evenly() {
        assert_eq!(deal(&[1, 1]), [0, 1]);
        assert_eq!(deal(&[3, 1]), [0, 0, 1, 0]);
        assert_eq!(deal(&[0, 2]), [1, 1]);
        assert!(deal(&[]).is_empty() && deal(&[0]).is_empty());
        for shares in [[5u32, 2, 1], [7, 7, 3]] {
            let order = deal(&shares);
            for (index, share) in shares.iter().enumerate() {
                assert_eq!(order.iter().filter(|i| **i == index).count(), *share as usize);
            }
        }
    }

    #[test]
    fn revisits_are_read_as_they_were_written() {
        let read = |more: &str| {
            let text = format!(r#"{{"kind":"revisit","wait_ns":1,"accesses":2{more}}}"#);
            match serde_json::from_str(&text).unwrap() {
                Role::Revisit { before, .. } => before,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(read(""), Before::UsedAgain);
        for before in [Before::UsedAgain, Before::UsedOnce, Before::Flushed] {
            let role = Role::Revisit { wait_ns: 1, accesses: 2, before, since_last: false };
            assert_eq!(serde_json::from_str::<Role>(&serde_json::to_string(&role).unwrap()).unwrap(), role);
        }
    }

    #[test]
    fn page_kinds_read_back_what_they_print() {
        for kind in
            [PageKind::Base, PageKind::Thp, PageKind::Huge(2 << 20), PageKind::Huge(1 << 30), PageKind::Huge(64 << 10)]
        {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert!("3M".parse::<PageKind>().is_err());
        assert!("huge".parse::<PageKind>().unwrap_err().contains("2M"));
    }

    #[test]
    fn layouts_read_back_what_they_print() {
        for layout in [
            Layout::Data,
            Layout::Zeros,
            Layout::Permuted,
            Layout::Shared,
            Layout::Chain(ChainLayout::Random),
            Layout::Chain(ChainLayout::PageRandom),
            Layout::Chain(ChainLayout::Groups),
            Layout::Chain(ChainLayout::Stride(128)),
            Layout::Chain(ChainLayout::Stride(1)),
            Layout::Chain(ChainLayout::Scatter(4160)),
            Layout::Chain(ChainLayout::Pair(64)),
            Layout::Chain(ChainLayout::Long(4)),
        ] {
            assert_eq!(layout.to_string().parse(), Ok(layout));
            let json = serde_json::to_string(&layout).unwrap();
            assert_eq!(serde_json::from_str::<Layout>(&json).unwrap(), layout);
        }
        assert!(ChainLayout::Stride(12).is_of_bytes() && !ChainLayout::Stride(8).is_of_bytes());
        for bad in
            ["stride:0", "scatter:7", "long:9", "long:1", "spiral", "stride:", "pair:512", "scatter:12", "groups:32M"]
        {
            assert!(bad.parse::<ChainLayout>().is_err(), "{bad}");
        }
    }
}
