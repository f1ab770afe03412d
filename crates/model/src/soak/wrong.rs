//! What is wrong with memory that was soaked: words that were not what had been written, and pages that were lost.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{SoakBetween, SoakPattern};
use crate::idset::{CpuId, NodeId};
use crate::units::Bytes;

/// A word of memory that was not what had been written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrongWord {
    /// Seconds since the soak began.
    pub at: f64,
    /// What had been written.
    pub pattern: SoakPattern,
    /// What had happened since.
    pub between: SoakBetween,
    /// Node of the memory.
    pub node: NodeId,
    /// Its place in the memory of the node that the soak holds, bytes.
    pub offset: u64,
    /// Its virtual address.
    pub address: Hex,
    /// Its physical address; `None` where it may not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical: Option<Hex>,
    /// The cpu that read it.
    pub cpu: CpuId,
    /// The word that had been written.
    pub expected: Hex,
    /// The word that was read.
    pub found: Hex,
    /// The word when it was read again from memory.
    pub again: Hex,
    /// The word after it had been written and read once more.
    pub rewritten: Hex,
    /// How often it was read with these bits wrong; the other fields are of the first time.
    #[serde(default = "once")]
    pub times: u64,
}

fn once() -> u64 {
    1
}

impl WrongWord {
    /// The bits that were wrong.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.expected.0 ^ self.found.0
    }

    /// What kind of fault it looks like.
    #[must_use]
    pub fn kind(&self) -> WrongKind {
        if self.rewritten != self.expected {
            WrongKind::Stuck
        } else if self.again == self.expected {
            WrongKind::OnTheWay
        } else {
            WrongKind::Lost
        }
    }
}

/// What a wrong word did when it was read and written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WrongKind {
    /// Right when it was read again: memory had it, and it changed on the way.
    OnTheWay,
    /// Wrong again, and right once it was written again: memory had lost it.
    Lost,
    /// Wrong also after it was written again.
    Stuck,
}

impl fmt::Display for WrongKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::OnTheWay => "right when read again",
            Self::Lost => "right when written again",
            Self::Stuck => "wrong again when written again",
        })
    }
}

/// A page that the kernel took away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LostPage {
    /// Seconds since the soak began.
    pub at: f64,
    /// Node of the memory.
    pub node: NodeId,
    /// Its place in the memory of the node that the soak holds, bytes.
    pub offset: u64,
    /// Its virtual address.
    pub address: Hex,
    /// Its bytes.
    pub bytes: Bytes,
}

/// A word or an address; hexadecimal in documents (`0x7f00`), since JSON's numbers have 53 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Hex(pub u64);

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:#x}", self.0))
    }
}

impl std::str::FromStr for Hex {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("0x").ok_or_else(|| format!("'{text}' does not begin with 0x"))?;
        u64::from_str_radix(digits, 16).map(Self).map_err(|error| format!("'{text}': {error}"))
    }
}

crate::text_serde!(Hex, "a hexadecimal number: 0x7f00");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_word_is_named_by_what_it_did_when_it_was_tried_again() {
        let word = |again, rewritten| WrongWord {
            at: 1.0,
            pattern: SoakPattern::Random,
            between: SoakBetween::Nothing,
            node: 0,
            offset: 8,
            address: Hex(0x7f00_0000_0008),
            physical: None,
            cpu: 1,
            expected: Hex(0xf0),
            found: Hex(0xf8),
            again: Hex(again),
            rewritten: Hex(rewritten),
            times: 1,
        };
        assert_eq!(word(0xf0, 0xf0).kind(), WrongKind::OnTheWay);
        assert_eq!(word(0xf8, 0xf0).kind(), WrongKind::Lost);
        assert_eq!(word(0xf8, 0xf8).kind(), WrongKind::Stuck);
        // A word that changes each time it is looked at is no better than a stuck one.
        assert_eq!(word(0xf0, 0xf8).kind(), WrongKind::Stuck);
        assert_eq!(word(0, 0).bits(), 8);
        let json = serde_json::to_value(word(0, 0)).unwrap();
        assert_eq!(json["address"], "0x7f0000000008");
        assert_eq!(serde_json::from_value::<WrongWord>(json).unwrap(), word(0, 0));
        assert!("7f".parse::<Hex>().is_err() && "0xg".parse::<Hex>().is_err());
    }
}
