//! Tiers of memory, as labels name them.

use std::fmt;
use std::str::FromStr;

use crate::idset::NodeId;
use crate::text_form;

/// The tier that a number is of. As text it is the word of [`Labels::tier`](crate::Labels::tier).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// A cache of this level, from 1: `L1`.
    Cache(u8),
    /// Memory of the cpus' own node: `DRAM`.
    Dram,
    /// The same at random, with the walks of the page tables: `DRAM random`.
    DramRandom,
    /// Memory of another node that has cpus: `DRAM node 1`.
    OtherNode(NodeId),
    /// Memory of a node without cpus: `far node 2`.
    Far(NodeId),
    /// The same of high bandwidth: `HBM node 2`.
    Hbm(NodeId),
    /// The same, faster than DRAM in another way: `faster node 2`.
    Faster(NodeId),
    /// A cache in front of the memory of a node (`None`: of the cpus' own): `memory-side cache`.
    SideCache(Option<NodeId>),
    /// A walk of the page tables, behind the levels of a TLB: `walk`.
    Walk,
    /// Lines that other work pushed out of the caches: `cold`.
    Cold,
}

impl Tier {
    /// The level of a cache.
    #[must_use]
    pub fn level(self) -> Option<u8> {
        match self {
            Self::Cache(level) => Some(level),
            _ => None,
        }
    }

    /// Whether it is memory of a node with cpus.
    #[must_use]
    pub fn is_dram(self) -> bool {
        matches!(self, Self::Dram | Self::DramRandom | Self::OtherNode(_))
    }

    /// Whether it is memory of a node without cpus.
    #[must_use]
    pub fn is_without_cpus(self) -> bool {
        matches!(self, Self::Far(_) | Self::Hbm(_) | Self::Faster(_))
    }

    /// The node that it names: memory of another node than the cpus' own.
    #[must_use]
    pub fn node(self) -> Option<NodeId> {
        match self {
            Self::OtherNode(node) | Self::Far(node) | Self::Hbm(node) | Self::Faster(node) => Some(node),
            _ => None,
        }
    }

    /// Whether it is memory, and no cache.
    #[must_use]
    pub fn is_memory(self) -> bool {
        self.is_dram() || self.is_without_cpus()
    }
}

const SIDE_CACHE: &str = "memory-side cache";

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cache(level) => write!(f, "L{level}"),
            Self::Dram => f.write_str("DRAM"),
            Self::DramRandom => f.write_str("DRAM random"),
            Self::OtherNode(node) => write!(f, "DRAM node {node}"),
            Self::Far(node) => write!(f, "far node {node}"),
            Self::Hbm(node) => write!(f, "HBM node {node}"),
            Self::Faster(node) => write!(f, "faster node {node}"),
            Self::SideCache(None) => f.write_str(SIDE_CACHE),
            Self::SideCache(Some(node)) => write!(f, "{SIDE_CACHE} node {node}"),
            Self::Cold => f.write_str("cold"),
            Self::Walk => f.write_str("walk"),
        }
    }
}

/// A word that names no tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownTier(String);

impl fmt::Display for UnknownTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' names no tier", self.0)
    }
}

impl FromStr for Tier {
    type Err = UnknownTier;

    fn from_str(text: &str) -> Result<Self, UnknownTier> {
        let of_node = || {
            let (kind, node) = text.split_once(" node ")?;
            let node = node.parse().ok()?;
            Some(match kind {
                "DRAM" => Self::OtherNode(node),
                "far" => Self::Far(node),
                "HBM" => Self::Hbm(node),
                "faster" => Self::Faster(node),
                SIDE_CACHE => Self::SideCache(Some(node)),
                _ => return None,
            })
        };
        let found = match text {
            "DRAM" => Some(Self::Dram),
            "DRAM random" => Some(Self::DramRandom),
            SIDE_CACHE => Some(Self::SideCache(None)),
            "cold" => Some(Self::Cold),
            "walk" => Some(Self::Walk),
            _ => text.strip_prefix('L').and_then(|level| level.parse().ok()).map(Self::Cache).or_else(of_node),
        };
        // Numbers with a sign or zeros before them are not the words that labels have.
        found.filter(|tier| tier.to_string() == text).ok_or_else(|| UnknownTier(text.to_owned()))
    }
}

text_form!(Tier);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tier_is_read_as_it_is_written() {
        let all = [
            ("L1", Tier::Cache(1)),
            ("L4", Tier::Cache(4)),
            ("DRAM", Tier::Dram),
            ("DRAM random", Tier::DramRandom),
            ("DRAM node 3", Tier::OtherNode(3)),
            ("far node 2", Tier::Far(2)),
            ("HBM node 2", Tier::Hbm(2)),
            ("faster node 2", Tier::Faster(2)),
            ("memory-side cache", Tier::SideCache(None)),
            ("memory-side cache node 1", Tier::SideCache(Some(1))),
            ("cold", Tier::Cold),
            ("walk", Tier::Walk),
        ];
        for (word, tier) in all {
            assert_eq!((word.parse(), tier.to_string().as_str()), (Ok(tier), word));
            assert_eq!(crate::Labels::new().with_tier(tier).tier(), Some(tier));
        }
        for wrong in ["", "L", "L300", "L+1", "L01", "dram", "DRAM 4K", "DRAM node x", "near node 1", "DRAM node 01"] {
            assert!(wrong.parse::<Tier>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn memory_is_no_cache() {
        let memory = [Tier::Dram, Tier::DramRandom, Tier::OtherNode(1), Tier::Far(2), Tier::Hbm(2), Tier::Faster(2)];
        assert!(memory.iter().all(|tier| tier.is_memory() && tier.level().is_none()));
        assert!([Tier::Cache(3), Tier::SideCache(None), Tier::Cold].iter().all(|tier| !tier.is_memory()));
    }
}
