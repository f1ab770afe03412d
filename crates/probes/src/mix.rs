//! Mixes of reads and writes: which kernels in turn, what share of the useful bytes they read, and in which order.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tiermark_model::{Bench, Isa, KernelId, KernelInfo, Layout, deal};

/// Most reads or writes in a round: shares finer than an eighth do not show in a bandwidth.
const MOST: u8 = 8;

/// Reads and writes in fixed shares: `3:1` reads three lines for each that it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mix(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// In smallest numbers.
    Shares { reads: u8, writes: u8, access: Access },
    /// Two arrays read and one written at once.
    Triad { streaming: bool },
}

/// How lines are reached and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// In rising order, with ordinary stores.
    Cached,
    /// In rising order, with non-temporal stores.
    Streaming,
    /// Whole lines in random order, with ordinary stores.
    Random,
}

impl Access {
    /// Those that a name says, with their endings.
    const ENDINGS: [(Self, &'static str); 2] = [(Self::Streaming, "nt"), (Self::Random, "random")];

    /// The end of the name of a mix.
    fn ending(self) -> String {
        let found = Self::ENDINGS.iter().find(|(access, _)| *access == self);
        found.map_or_else(String::new, |(_, ending)| format!(".{ending}"))
    }
}

/// The mixes of `--full`.
const USUAL: [Mix; 8] = [
    Mix::READ,
    Mix::shares(3, 1, Access::Cached),
    Mix::shares(2, 1, Access::Cached),
    Mix(Kind::Triad { streaming: false }),
    Mix::shares(1, 1, Access::Cached),
    Mix::shares(1, 1, Access::Streaming),
    Mix::shares(0, 1, Access::Cached),
    Mix::shares(0, 1, Access::Streaming),
];

impl Mix {
    /// Only reads: the mix of every first curve.
    pub const READ: Self = Self::shares(1, 0, Access::Cached);

    const fn shares(reads: u8, writes: u8, access: Access) -> Self {
        Self(Kind::Shares { reads, writes, access })
    }

    /// One of each kind.
    pub fn usual() -> impl Iterator<Item = Self> {
        USUAL.into_iter()
    }

    /// Those that a whole system is known by: reads, and with ordinary stores, which read their line first, three, two
    /// and one line read on the channels for each one written; last two read for one that is written without being
    /// read.
    pub(crate) fn of_a_system() -> [Self; 5] {
        let ordinary = |reads| Self::shares(reads, 1, Access::Cached);
        [Self::READ, ordinary(2), ordinary(1), ordinary(0), Self(Kind::Triad { streaming: true })]
    }

    /// Useful bytes read out of all, in percent.
    pub fn reads(self) -> u64 {
        let (reads, writes) = match self.0 {
            Kind::Shares { reads, writes, .. } => (u64::from(reads), u64::from(writes)),
            Kind::Triad { .. } => (2, 1),
        };
        (100 * reads + (reads + writes) / 2) / (reads + writes)
    }

    /// Operations in turn, evenly spread: a copy for each read that has a write beside it, and the rest alone.
    fn ops(self) -> Vec<&'static str> {
        let (reads, writes, streaming) = match self.0 {
            // There is no random copy: reads and writes take turns.
            Kind::Shares { reads, writes, access: Access::Random } => {
                let round = deal(&[u32::from(reads), u32::from(writes)]);
                return round.into_iter().map(|turn| ["read.random", "write.random"][turn]).collect();
            }
            Kind::Shares { reads, writes, access } => (reads, writes, access == Access::Streaming),
            Kind::Triad { streaming } => return vec![if streaming { "triad.nt" } else { "triad" }],
        };
        let copies = reads.min(writes);
        let copy = if streaming { "copy.nt" } else { "copy" };
        let (alone, rest) = match streaming {
            _ if reads > copies => ("read", reads - copies),
            true => ("write.nt", writes - copies),
            false => ("write", writes - copies),
        };
        let round = deal(&[u32::from(rest), u32::from(copies)]);
        round.into_iter().map(|turn| if turn == 0 { alone } else { copy }).collect()
    }

    /// The contents of the memory that it walks.
    pub(crate) fn layout(self) -> Layout {
        let is_random = matches!(self.0, Kind::Shares { access: Access::Random, .. });
        if is_random { Layout::Permuted } else { Layout::Data }
    }

    /// The kernels in turn: of each operation the plain one for the widest vectors here.
    ///
    /// # Errors
    /// The operation that no kernel here does.
    pub(crate) fn kernels(self, bench: &Bench) -> Result<Vec<KernelId>, &'static str> {
        self.ops().into_iter().map(|op| plain_kernel(bench, op).map(|kernel| kernel.id.clone()).ok_or(op)).collect()
    }

    /// All kernels that do it by themselves, the plainest first; none where it takes several operations.
    pub(crate) fn rivals(self, bench: &Bench) -> Vec<KernelId> {
        let ops = self.ops();
        let [op] = ops.as_slice() else { return Vec::new() };
        let Some(KernelInfo { id: first, .. }) = plain_kernel(bench, op) else { return Vec::new() };
        let others = bench.kernels.iter().filter(|k| k.id.op() == *op && k.isa != Isa::Portable && !k.zeros_only);
        let others = others.map(|k| k.id.clone()).filter(|id| id != first);
        std::iter::once(first.clone()).chain(others).collect()
    }
}

/// The plain kernel of an operation for the widest vectors, or its portable form where there is no other.
pub(crate) fn plain_kernel<'a>(bench: &'a Bench, op: &str) -> Option<&'a KernelInfo> {
    let fits = bench.kernels.iter().filter(|k| k.id.op() == op && k.plain);
    fits.filter(|k| !k.zeros_only).max_by_key(|k| k.isa)
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reads, writes, ending) = match self.0 {
            Kind::Shares { reads, writes, access } => (reads, writes, access.ending()),
            Kind::Triad { streaming } => return f.pad(if streaming { "triad.nt" } else { "triad" }),
        };
        match (reads, writes) {
            (_, 0) => f.pad(&format!("read{ending}")),
            (0, _) => f.pad(&format!("write{ending}")),
            _ => f.pad(&format!("{reads}:{writes}{ending}")),
        }
    }
}

impl FromStr for Mix {
    type Err = String;

    /// Parses `READS:WRITES`, with `.nt` for non-temporal stores or `.random` for lines in random order; a word for
    /// those of one kernel; or the percentage of bytes read where it says which.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || {
            format!(
                "mix '{text}': use READS:WRITES with numbers up to {MOST}, as in 2:1, 2:1.nt for non-temporal stores \
                 or 2:1.random for lines in random order; read, write, write.nt, read.random, triad, triad.nt; or the percentage of bytes read (100, 75, 67, 50, 0)"
            )
        };
        // The dot may be left out, as in 1:1nt.
        let ended = Access::ENDINGS.iter().find_map(|(access, ending)| Some((text.strip_suffix(ending)?, *access)));
        let (shares, access) =
            ended.map_or((text, Access::Cached), |(rest, access)| (rest.strip_suffix('.').unwrap_or(rest), access));
        let (reads, writes) = match shares {
            "triad" if access != Access::Random => {
                return Ok(Self(Kind::Triad { streaming: access == Access::Streaming }));
            }
            "read" | "100" => (1, 0),
            "75" => (3, 1),
            "67" => (2, 1),
            "50" | "copy" => (1, 1),
            "write" | "0" => (0, 1),
            ratio => {
                let (reads, writes) = ratio.split_once(':').ok_or_else(bad)?;
                let number = |text: &str| text.parse::<u8>().ok().filter(|n| *n <= MOST).ok_or_else(bad);
                (number(reads)?, number(writes)?)
            }
        };
        let common = (1..=MOST).rev().find(|n| reads % n == 0 && writes % n == 0).unwrap_or(1);
        match (reads, writes) {
            (0, 0) => Err(bad()),
            // A mix without writes has no stores of any kind.
            (_, 0) if access == Access::Streaming => Err(bad()),
            _ => Ok(Self::shares(reads / common, writes / common, access)),
        }
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

    fn parsed(text: &str) -> Mix {
        text.parse().unwrap()
    }

    #[test]
    fn mixes_read_back_what_they_print() {
        let every = (0..=MOST).flat_map(|r| (0..=MOST).map(move |w| (r, w))).filter(|pair| *pair != (0, 0));
        let every = every.flat_map(|(r, w)| ["", ".nt", ".random"].map(|ending| format!("{r}:{w}{ending}")));
        let every = every.filter(|text| !text.ends_with(":0.nt")).map(|text| parsed(&text));
        for mix in every.chain(Mix::usual()) {
            assert_eq!(mix.to_string().parse(), Ok(mix));
            let json = serde_json::to_string(&mix).unwrap();
            assert_eq!(serde_json::from_str::<Mix>(&json).unwrap(), mix);
        }
        for (typed, meant) in [
            ("75", "3:1"),
            ("write.nt", "0:1.nt"),
            ("writent", "0:1.nt"),
            ("1:1nt", "copy.nt"),
            ("4:2", "2:1"),
            ("1:0", "read"),
            ("triadnt", "triad.nt"),
            ("1:0.random", "read.random"),
            ("75random", "3:1.random"),
        ] {
            assert_eq!(parsed(typed), parsed(meant));
        }
        for bad in ["0:0", "9:1", "1", "a:b", "1:1.xt", "read.nt", "triad.random", "", "nt", "random", ":"] {
            assert!(bad.parse::<Mix>().is_err_and(|why| why.contains("2:1")), "{bad}");
        }
    }

    #[test]
    fn a_round_has_the_shares_it_is_named_for() {
        for (mix, ops, reads) in [
            ("read", &["read"][..], 100),
            ("3:1", &["read", "copy", "read"], 75),
            ("2:1", &["read", "copy"], 67),
            ("triad", &["triad"], 67),
            ("triad.nt", &["triad.nt"], 67),
            ("1:1", &["copy"], 50),
            ("1:1.nt", &["copy.nt"], 50),
            ("1:2.nt", &["write.nt", "copy.nt"], 33),
            ("2:3", &["copy", "write", "copy"], 40),
            ("write", &["write"], 0),
            ("write.nt", &["write.nt"], 0),
            ("read.random", &["read.random"], 100),
            ("2:1.random", &["read.random", "write.random", "read.random"], 67),
        ] {
            assert_eq!((parsed(mix).ops(), parsed(mix).reads()), (ops.to_vec(), reads), "{mix}");
            let is_random = mix.ends_with("random");
            assert_eq!(parsed(mix).layout(), if is_random { Layout::Permuted } else { Layout::Data }, "{mix}");
        }
    }
}
