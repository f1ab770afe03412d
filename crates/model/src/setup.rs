//! One experiment as data: memory regions, threads on cpus, and what each thread does.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::idset::{CpuId, IdSet};
use crate::kernel::KernelId;
use crate::units::{Bytes, parse_size};

/// Everything the host needs to carry one measurement out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// The memory.
    pub regions: Vec<RegionSetup>,
    /// The threads; each works on one region.
    pub threads: Vec<ThreadSetup>,
    /// Seed of every random choice (permutations, data).
    pub seed: u64,
}

/// One region of memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RegionSetup {
    /// Footprint in bytes: the sum over all streams that a kernel walks in it.
    pub bytes: Bytes,
    /// How pages are spread over the nodes.
    pub policy: MemPolicy,
    /// The nodes; empty means "the node of the thread that works on it".
    pub nodes: IdSet,
    /// The page size asked for.
    pub page: PageKind,
    /// What is written into it before the clock starts.
    pub layout: Layout,
}

/// One thread, pinned to one cpu.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadSetup {
    /// The cpu it is pinned to.
    pub cpu: CpuId,
    /// What it does.
    pub role: Role,
    /// Index into [`Setup::regions`].
    pub region: usize,
}

/// What a thread does between two clock stamps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Role {
    /// Streams through its region with a kernel.
    Stream {
        /// The kernel; where `rivals` are given, the first to try.
        kernel: KernelId,
        /// Other kernels that do the same job: the fastest of all is chosen by a short tournament, which is recorded.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rivals: Vec<KernelId>,
    },
    /// Follows chains of dependent loads.
    Chase {
        /// Independent chains followed at once, 1 to 32.
        chains: u8,
    },
}

/// How the pages of a region are spread over its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemPolicy {
    /// Only on the given nodes.
    Bind,
    /// Round robin over the given nodes.
    Interleave,
}

/// The page size a region asks for. What it got is in the placement proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PageKind {
    /// Base pages only (`MADV_NOHUGEPAGE`).
    Base,
    /// Transparent huge pages (`MADV_HUGEPAGE`).
    Thp,
    /// Reserved huge pages of this many bytes (hugetlbfs).
    Huge(u64),
}

impl fmt::Display for PageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base => f.pad("base"),
            Self::Thp => f.pad("thp"),
            Self::Huge(bytes) if bytes % (1 << 30) == 0 => f.pad(&format!("{}G", bytes >> 30)),
            Self::Huge(bytes) if bytes % (1 << 20) == 0 => f.pad(&format!("{}M", bytes >> 20)),
            Self::Huge(bytes) => f.pad(&format!("{}K", bytes >> 10)),
        }
    }
}

impl FromStr for PageKind {
    type Err = String;

    /// Parses `base`, `thp`, or a huge page size such as `2M` and `1G`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "base" | "4k" | "4K" => Ok(Self::Base),
            "thp" => Ok(Self::Thp),
            _ => parse_size(text)
                .ok()
                .filter(|size| size.0.is_power_of_two() && size.0 >= 1 << 14)
                .map(|size| Self::Huge(size.0))
                .ok_or_else(|| format!("page '{text}': use base, thp, or a huge page size such as 2M or 1G")),
        }
    }
}

crate::text_serde!(PageKind, "page size: base, thp, or a huge page size such as 2M");

/// What a region holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Incompressible data, for sequential streams; stores write a pattern that is not zero.
    Data,
    /// Zeros, and stores of zeros: some memory systems treat lines of zeros apart.
    Zeros,
    /// Incompressible data, and a proven permutation of its lines in which random streams walk it.
    Permuted,
    /// A chain of pointers.
    Chain(ChainLayout),
}

/// How a chain of pointers runs through a region. Every layout is one cycle, proven by walking it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChainLayout {
    /// A random cycle over all lines (Sattolo): no prefetcher helps, TLB misses included.
    Random,
    /// Random lines within a page, pages in random order: TLB misses are rare.
    PageRandom,
    /// Rising addresses this many bytes apart: prefetchers help.
    Stride(u64),
    /// This many random permutations chained, so that no sequence repeats soon (against temporal prefetchers).
    Long(u8),
}

impl fmt::Display for ChainLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.pad("random"),
            Self::PageRandom => f.pad("page-random"),
            Self::Stride(bytes) => f.pad(&format!("stride:{bytes}")),
            Self::Long(n) => f.pad(&format!("long:{n}")),
        }
    }
}

impl FromStr for ChainLayout {
    type Err = String;

    /// Parses `random`, `page-random`, `stride:BYTES`, `long` or `long:N`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = || format!("layout '{text}': use random, page-random, stride:BYTES (a multiple of 8) or long[:2-8]");
        match text.split_once(':').unwrap_or((text, "")) {
            ("random", "") => Ok(Self::Random),
            ("page-random", "") => Ok(Self::PageRandom),
            ("long", "") => Ok(Self::Long(4)),
            ("long", n) => n.parse().ok().filter(|n| (2..=8).contains(n)).map(Self::Long).ok_or_else(fail),
            ("stride", n) => {
                let bytes = parse_size(n).map_err(|_| fail())?.0;
                if bytes == 0 || bytes % 8 != 0 || bytes > 1 << 30 { Err(fail()) } else { Ok(Self::Stride(bytes)) }
            }
            _ => Err(fail()),
        }
    }
}

crate::text_serde!(ChainLayout, "chain layout: random, page-random, stride:BYTES, long:N");

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data => f.pad("data"),
            Self::Zeros => f.pad("zeros"),
            Self::Permuted => f.pad("permuted"),
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
            _ => text.strip_prefix("chain:").ok_or_else(|| format!("layout '{text}'"))?.parse().map(Self::Chain),
        }
    }
}

crate::text_serde!(Layout, "layout: data, zeros, permuted, or chain:LAYOUT");

impl Setup {
    /// Total memory asked for.
    pub fn total_bytes(&self) -> Bytes {
        Bytes(self.regions.iter().map(|r| r.bytes.0).sum())
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
            Layout::Chain(ChainLayout::Random),
            Layout::Chain(ChainLayout::PageRandom),
            Layout::Chain(ChainLayout::Stride(128)),
            Layout::Chain(ChainLayout::Long(4)),
        ] {
            assert_eq!(layout.to_string().parse(), Ok(layout));
            let json = serde_json::to_string(&layout).unwrap();
            assert_eq!(serde_json::from_str::<Layout>(&json).unwrap(), layout);
        }
        for bad in ["stride:0", "stride:7", "long:9", "long:1", "spiral", "stride:"] {
            assert!(bad.parse::<ChainLayout>().is_err(), "{bad}");
        }
    }
}
