//! How chains of pointers run through memory.

use std::fmt;
use std::str::FromStr;

use crate::parse_size;

/// How a chain of pointers runs through a region. Every layout is one cycle, proven by walking it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChainLayout {
    /// A random cycle over all lines (Sattolo): no prefetcher helps, TLB misses included.
    Random,
    /// Random lines within a page, pages in random order: TLB misses are rare.
    PageRandom,
    /// Rising addresses this many bytes apart: prefetchers help within a page. Of pointers where they fit, else of bytes
    /// ([`ChainLayout::is_of_bytes`]).
    Stride(u64),
    /// One node every so many bytes, in random order: for questions of where lines and pages lie (sets, ways, entries).
    Scatter(u64),
    /// Blocks of 512 bytes in random order, and in each the first word and then the word this many bytes on: whether
    /// the second comes with the first (line size, prefetched pairs).
    Pair(u64),
    /// Random lines within groups of [`ChainLayout::GROUP_BYTES`], groups in random order, one node in each
    /// [`ChainLayout::GROUP_PITCH`]: a line of memory with its translation at hand, on any page size.
    Groups,
    /// This many random permutations chained, so that no sequence repeats soon (against temporal prefetchers).
    Long(u8),
}

impl ChainLayout {
    /// Bytes of a group of [`ChainLayout::Groups`]. A group has to exceed what caches and prefetchers serve: groups of
    /// 2 MiB get cache hits, groups of 256 KiB are prefetched. With 32 MiB an access takes the same 119 to 121 ns with
    /// a node in each 64, 128 or 256 bytes, on base and huge pages, from 0.7 ms after the start on (Emerald Rapids).
    pub const GROUP_BYTES: u64 = 32 << 20;
    /// Bytes from one node of [`ChainLayout::Groups`] to the next: two lines, the unit of prefetchers that fetch the
    /// other line of a pair, so that no node comes with another.
    pub const GROUP_PITCH: u64 = 128;
    /// Where the node lies in its [`ChainLayout::GROUP_PITCH`]: the second word. The first word of each line, where the
    /// nodes of [`ChainLayout::Random`] lie, stays free, so that a chain of each layout fits in the same memory.
    pub const GROUP_OFFSET: u64 = 8;
    /// Bytes of a page, which prefetchers of addresses do not leave: no smaller one is in use.
    pub const PREFETCHED_BELOW: u64 = 4096;
    /// Bytes of a block of [`ChainLayout::Pair`]: as far as any prefetcher of neighbours is known to reach (two pairs of
    /// 128 bytes on either side).
    pub const PAIR_BLOCK: u64 = 512;

    /// Bytes from one place to the next: a stride, a block of `pair:N`, two lines of `groups`, else a line. 0 only for a
    /// stride of 0, which no chain has.
    pub fn pitch(self) -> u64 {
        match self {
            Self::Stride(bytes) | Self::Scatter(bytes) => bytes,
            Self::Pair(_) => Self::PAIR_BLOCK,
            Self::Groups => Self::GROUP_PITCH,
            Self::Random | Self::PageRandom | Self::Long(_) => 64,
        }
    }

    /// Bytes of a group: the chain visits all lines of a group before it goes to the next. The translations of a group
    /// stay at hand, so that a line takes the same time in any footprint. `None` for layouts without groups.
    pub fn group_bytes(self) -> Option<u64> {
        match self {
            Self::Groups => Some(Self::GROUP_BYTES),
            Self::Random | Self::PageRandom | Self::Stride(_) | Self::Scatter(_) | Self::Pair(_) | Self::Long(_) => {
                None
            }
        }
    }

    /// Whether prefetchers help it: they follow rising addresses, though not from a page to the next (Intel 64 and IA-32
    /// Architectures Optimization Reference Manual, 248966: the streamer stays within a page of 4 KiB, and the prefetcher
    /// of one load's addresses follows strides of up to 2 KiB).
    pub fn is_prefetched(self) -> bool {
        matches!(self, Self::Stride(bytes) if bytes < Self::PREFETCHED_BELOW)
    }

    /// Whether its accesses are bytes and not pointers: pointers of 8 bytes do not fit such a stride. Each byte is
    /// zero, and is added to the address of the next access, so that accesses wait for one another all the same.
    pub fn is_of_bytes(self) -> bool {
        matches!(self, Self::Stride(bytes) if bytes % 8 != 0)
    }
}

impl fmt::Display for ChainLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.pad("random"),
            Self::PageRandom => f.pad("page-random"),
            Self::Stride(bytes) => f.pad(&format!("stride:{bytes}")),
            Self::Scatter(bytes) => f.pad(&format!("scatter:{bytes}")),
            Self::Pair(bytes) => f.pad(&format!("pair:{bytes}")),
            Self::Groups => f.pad("groups"),
            Self::Long(n) => f.pad(&format!("long:{n}")),
        }
    }
}

impl FromStr for ChainLayout {
    type Err = String;

    /// Parses `random`, `page-random`, `groups`, `stride:BYTES`, `scatter:BYTES`, `pair:BYTES`, `long` or `long:N`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = || {
            format!(
                "layout '{text}': use random, page-random, groups, stride:BYTES, scatter:BYTES, pair:BYTES (the last \
                 two are multiples of 8, pair up to 504) or long[:2-8]"
            )
        };
        match text.split_once(':').unwrap_or((text, "")) {
            ("random", "") => Ok(Self::Random),
            ("page-random", "") => Ok(Self::PageRandom),
            ("groups", "") => Ok(Self::Groups),
            ("long", "") => Ok(Self::Long(4)),
            ("long", n) => n.parse().ok().filter(|n| (2..=8).contains(n)).map(Self::Long).ok_or_else(fail),
            (kind @ ("stride" | "scatter" | "pair"), n) => {
                let bytes = parse_size(n).map_err(|_| fail())?.0;
                let most = if kind == "pair" { 504 } else { 1 << 30 };
                match kind {
                    _ if bytes == 0 || bytes > most => Err(fail()),
                    "stride" => Ok(Self::Stride(bytes)),
                    _ if bytes % 8 != 0 => Err(fail()),
                    "scatter" => Ok(Self::Scatter(bytes)),
                    _ => Ok(Self::Pair(bytes)),
                }
            }
            _ => Err(fail()),
        }
    }
}

crate::text_serde!(
    ChainLayout,
    "chain layout: random, page-random, groups, stride:BYTES, scatter:BYTES, pair:BYTES, long:N"
);
