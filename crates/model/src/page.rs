//! Page sizes.

use std::fmt;
use std::str::FromStr;

use crate::units::parse_size;

/// The page size that a region requests. The size that it got is in the placement proof.
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
