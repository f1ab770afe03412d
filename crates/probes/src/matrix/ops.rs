//! What is done in a cell: a chase, a job with the fastest kernel for it, or a mix of reads and writes.

use std::fmt;
use std::str::FromStr;

use tiermark_model::{Bench, Isa, KernelId, KernelInfo, Layout, Pattern, Role, StoreKind, deal};

use crate::bandwidth::JOBS;
use crate::steps::stream_role;

/// The word for the idle latency among the operations.
pub const LATENCY: &str = "latency";
/// Most reads or writes in a round of a mix: finer shares than an eighth cannot be told apart in a bandwidth.
const MOST: u8 = 8;
/// Jobs that are done by ordinary stores only, whatever is faster.
const ORDINARY: [(&str, &str); 2] = [("write.cached", "write"), ("copy.cached", "copy")];

/// Reads and writes in fixed shares: `3:1` reads three lines for each that it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mix {
    reads: u8,
    writes: u8,
    /// Whether lines are written by non-temporal stores (`3:1.nt`).
    streaming: bool,
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}{}", self.reads, self.writes, if self.streaming { ".nt" } else { "" })
    }
}

impl FromStr for Mix {
    type Err = String;

    /// Parses `READS:WRITES`, with `.nt` for non-temporal stores.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || format!("mix '{text}': write READS:WRITES with numbers up to {MOST}, as in 2:1, or 2:1.nt");
        let (numbers, streaming) = text.strip_suffix(".nt").map_or((text, false), |numbers| (numbers, true));
        let (reads, writes) = numbers.split_once(':').ok_or_else(bad)?;
        let number = |text: &str| text.parse::<u8>().ok().filter(|n| *n <= MOST).ok_or_else(bad);
        let (reads, writes) = (number(reads)?, number(writes)?);
        if reads == 0 && writes == 0 { Err(bad()) } else { Ok(Self { reads, writes, streaming }) }
    }
}

impl Mix {
    /// The kernels of one round, evenly spread: a copy for each read that has a write beside it, and the rest alone.
    fn kernels(self, bench: &Bench) -> Option<Vec<KernelId>> {
        let suffix = if self.streaming { ".nt" } else { "" };
        let copies = self.reads.min(self.writes);
        let (alone, rest) = if self.reads > copies {
            ("read".to_owned(), self.reads - copies)
        } else {
            (format!("write{suffix}"), self.writes - copies)
        };
        let copy = if copies > 0 { Some(plainest(&format!("copy{suffix}"), bench)?) } else { None };
        let alone = if rest > 0 { Some(plainest(&alone, bench)?) } else { None };
        let round = deal(&[u32::from(rest), u32::from(copies)]);
        round.into_iter().map(|turn| if turn == 0 { alone.clone() } else { copy.clone() }).collect()
    }
}

/// The plain kernel of an operation on the widest vectors.
fn plainest(op: &str, bench: &Bench) -> Option<KernelId> {
    let of_op = bench.kernels.iter().filter(|k| k.id.op() == op && !k.zeros_only && k.isa != Isa::Portable);
    of_op.max_by_key(|k| (k.isa, k.plain, std::cmp::Reverse(&k.id))).map(|k| k.id.clone())
}

/// What the threads of a bandwidth cell do, and on what memory.
pub(super) struct Work {
    pub(super) role: Role,
    pub(super) layout: Layout,
}

/// The work that a name asks for: a mix, a job, an operation or one kernel. `None` where this machine has no kernel for it.
pub(super) fn work(name: &str, bench: &Bench) -> Option<Work> {
    if let Ok(mix) = name.parse::<Mix>() {
        let role = Role::Load { kernels: mix.kernels(bench)?, pause_ns: 0 };
        return Some(Work { role, layout: Layout::Data });
    }
    let kernels = rivals(name, bench);
    let random = kernels.first().is_some_and(|k| k.pattern == Pattern::Random);
    let ids: Vec<KernelId> = kernels.into_iter().map(|k| k.id.clone()).collect();
    let layout = if random { Layout::Permuted } else { Layout::Data };
    Some(Work { role: stream_role(&ids)?, layout })
}

/// Kernels that do a job, on the widest vectors and by string instructions; the plainest first.
fn rivals<'a>(name: &str, bench: &'a Bench) -> Vec<&'a KernelInfo> {
    if let Some(exact) = bench.kernels.iter().find(|k| k.id.0 == name && !k.zeros_only) {
        return vec![exact];
    }
    let own = [ORDINARY.iter().find(|(job, _)| *job == name).map_or(name, |(_, op)| op)];
    let ops: &[&str] = JOBS.iter().find(|(job, _)| *job == name).map_or(&own, |(_, ops)| ops);
    let known = |k: &&KernelInfo| ops.contains(&k.id.op()) && k.isa != Isa::Portable && !k.zeros_only;
    let mut found: Vec<&KernelInfo> = bench.kernels.iter().filter(known).collect();
    let widest = found.iter().map(|k| k.isa).max();
    found.retain(|k| Some(k.isa) == widest || k.store_kind == StoreKind::Block);
    found.sort_by_key(|k| (k.id.op() != own[0], !k.plain, &k.id));
    found
}

/// Whether a word names an operation that only a matrix has.
pub fn is_own(name: &str) -> bool {
    name == LATENCY || ORDINARY.iter().any(|(job, _)| *job == name) || name.parse::<Mix>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench() -> Bench {
        Bench { kernels: tiermark_kernels::streams().iter().map(|s| s.kernel_info()).collect(), ..Bench::default() }
    }

    fn round(name: &str) -> Vec<String> {
        let Role::Load { kernels, .. } = work(name, &bench()).unwrap().role else { panic!("{name}") };
        kernels.iter().map(|k| k.op().to_owned()).collect()
    }

    #[test]
    fn mixes_are_rounds_of_reads_and_copies() {
        assert_eq!(round("2:1"), ["read", "copy"]);
        assert_eq!(round("3:1"), ["read", "copy", "read"]);
        assert_eq!(round("1:1"), ["copy"]);
        assert_eq!(round("1:2.nt"), ["write.nt", "copy.nt"]);
        assert_eq!(round("0:1"), ["write"]);
        for bad in ["0:0", "9:1", "1", "a:b", "1:1.xt"] {
            assert!(bad.parse::<Mix>().is_err(), "{bad}");
        }
        assert_eq!("2:1.nt".parse::<Mix>().unwrap().to_string(), "2:1.nt");
    }

    #[test]
    fn jobs_compete_and_ordinary_stores_do_not() {
        let ops = |name: &str| {
            let work = work(name, &bench()).unwrap();
            let mut ops: Vec<String> = work.role.kernels().map(|k| k.op().to_owned()).collect();
            ops.dedup();
            ops
        };
        assert!(ops("write").contains(&"write.nt".to_owned()) || cfg!(not(target_arch = "x86_64")));
        assert_eq!(ops("write.cached"), ["write"]);
        assert_eq!(work("read.random", &bench()).unwrap().layout, Layout::Permuted);
        assert!(work("fly", &bench()).is_none());
    }
}
