//! The traffic that injectors make: which kernels in turn, and what share of the useful bytes they read.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tiermark_model::{Bench, Isa, KernelId, Pattern};

/// A mix of reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mix(&'static Row);

/// What a mix is made of.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    name: &'static str,
    /// Operations in turn.
    ops: &'static [&'static str],
    /// Useful bytes read out of all, in percent.
    reads: u64,
}

/// Every mix: three reads for a write are two passes that only read beside one that copies, and so on.
static MIXES: [Row; 9] = [
    Row { name: "read", ops: &["read"], reads: 100 },
    Row { name: "3:1", ops: &["read", "read", "copy"], reads: 75 },
    Row { name: "2:1", ops: &["read", "copy"], reads: 67 },
    Row { name: "triad", ops: &["triad"], reads: 67 },
    Row { name: "triadnt", ops: &["triad.nt"], reads: 67 },
    Row { name: "1:1", ops: &["copy"], reads: 50 },
    Row { name: "1:1nt", ops: &["copy.nt"], reads: 50 },
    Row { name: "write", ops: &["write"], reads: 0 },
    Row { name: "writent", ops: &["write.nt"], reads: 0 },
];

impl Mix {
    /// Only reads: the mix of every first curve.
    pub const READ: Self = Self(&MIXES[0]);

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        MIXES.iter().map(Self)
    }

    /// Those that a whole system is known by: reads, and with ordinary stores, which read their line first, three, two and one
    /// line read on the channels for each one written; last two read for one that is written without being read.
    pub(super) fn of_a_system() -> impl Iterator<Item = Self> {
        const NAMES: [&str; 5] = ["read", "2:1", "1:1", "write", "triadnt"];
        Self::all().filter(|mix| NAMES.contains(&mix.0.name))
    }

    /// Useful bytes read out of all, in percent.
    pub fn reads(self) -> u64 {
        self.0.reads
    }

    /// The kernels in turn: of each operation the plain one for the widest vectors here.
    ///
    /// # Errors
    /// The operation that no kernel here does.
    pub(super) fn kernels(self, bench: &Bench) -> Result<Vec<KernelId>, &'static str> {
        self.0.ops.iter().map(|op| plain_kernel(bench, op).ok_or(*op)).collect()
    }

    /// All kernels that do it by themselves, the plainest first; none where it takes several operations.
    pub(super) fn rivals(self, bench: &Bench) -> Vec<KernelId> {
        let [op] = self.0.ops else { return Vec::new() };
        let Some(first) = plain_kernel(bench, op) else { return Vec::new() };
        let others = bench.kernels.iter().filter(|k| k.id.op() == *op && k.isa != Isa::Portable && !k.zeros_only);
        let others = others.map(|k| k.id.clone()).filter(|id| *id != first);
        std::iter::once(first.clone()).chain(others).collect()
    }
}

/// The plain kernel of an operation for the widest vectors, or its portable form where there is no other.
pub(crate) fn plain_kernel(bench: &Bench, op: &str) -> Option<KernelId> {
    let fits = bench.kernels.iter().filter(|k| k.id.op() == op && k.plain && k.pattern == Pattern::Sequential);
    fits.filter(|k| !k.zeros_only).max_by_key(|k| k.isa).map(|k| k.id.clone())
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.name)
    }
}

impl FromStr for Mix {
    type Err = String;

    /// Parses a name; the percentage of bytes read will do as well where it says which.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let alias = match text {
            "100" | "1:0" => "read",
            "75" => "3:1",
            "67" => "2:1",
            "50" | "copy" => "1:1",
            "0" | "0:1" => "write",
            "write.nt" => "writent",
            "copy.nt" => "1:1nt",
            "triad.nt" => "triadnt",
            other => other,
        };
        MIXES.iter().find(|row| row.name == alias).map(Self).ok_or_else(|| {
            let names: Vec<&str> = MIXES.iter().map(|row| row.name).collect();
            format!("mix '{text}': use {}, or the percentage of bytes read (100, 75, 67, 50, 0)", names.join(", "))
        })
    }
}

impl TryFrom<String> for Mix {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Mix> for String {
    fn from(mix: Mix) -> Self {
        mix.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_read_back_what_they_print() {
        for mix in Mix::all() {
            assert_eq!(mix.to_string().parse(), Ok(mix));
            let json = serde_json::to_string(&mix).unwrap();
            assert_eq!(serde_json::from_str::<Mix>(&json).unwrap(), mix);
        }
        assert_eq!("75".parse::<Mix>().unwrap().to_string(), "3:1");
        assert_eq!("write.nt".parse::<Mix>().unwrap().to_string(), "writent");
        assert!("7:1".parse::<Mix>().unwrap_err().contains("3:1"));
    }
}
