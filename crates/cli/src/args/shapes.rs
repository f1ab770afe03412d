//! Arguments of the commands that find shapes.

use clap::Args;
use tiermark_model::{Bytes, Effort};

use super::{RunArgs, effort};
use crate::parse;

pub(super) const GEOMETRY_EXAMPLES: &str = "\
Examples:
  tiermark geometry
  tiermark geometry --pages 2M       (reserved huge pages: ways of L2 too)
  tiermark geometry --cpus 0,1,64    (who of these shares what with the chaser)
A tilde stands before sizes that are bounded, not exact; --verbose shows the bounds and every step.";

pub(super) const TLB_EXAMPLES: &str = "\
Examples:
  tiermark tlb
  tiermark tlb --pages base,thp,2M,1G --full --max-mem 32G
Entries of large pages need much memory: where it ends first, they are at least (≥) those tried.";

/// Arguments of `geometry`, `tlb`, `granularity` and `background`.
#[derive(Debug, Args)]
pub(crate) struct ShapeArgs {
    #[command(flatten)]
    pub(crate) how: How,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Arguments of `mlp`.
#[derive(Debug, Args)]
pub(crate) struct MlpArgs {
    /// Independent chains followed at once, 1 to 32 [default: 1 to 32 in 14 steps]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=32))]
    pub(crate) chains: Vec<u8>,
    #[command(flatten)]
    pub(crate) how: How,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

pub(super) const RESIDENCY_EXAMPLES: &str = "\
Examples:
  tiermark residency
  tiermark residency --sizes 3M,7M,15M --full
  tiermark residency --cpus 8             (the cache of another group of cores)
Without --sizes, the ranges are 1/8, 1/4 and 1/2 of the last-level cache. Each range must be larger than twice the private caches of
the core.";

/// Arguments of `residency`.
#[derive(Debug, Args)]
pub(crate) struct ResidencyArgs {
    /// Ranges to touch, as in 4M,16M [default: parts of the last-level cache]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::size)]
    pub(crate) sizes: Vec<Bytes>,
    #[command(flatten)]
    pub(crate) how: How,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

pub(super) const OS_EXAMPLES: &str = "\
Examples:
  tiermark os
  tiermark os --only syscalls,pipe          (groups and primitives: tiermark list primitives)
  tiermark os --only fork+exit --full --max-mem 16G
  tiermark os --only fork                   (all whose names begin so)";

/// Arguments of `os`.
#[derive(Debug, Args)]
pub(crate) struct OsArgs {
    /// Groups or primitives, such as syscalls,fork [default: all]
    ///
    /// Groups are syscalls, processes, switches, channels, faults, numa and libc; a beginning stands for all names that begin so.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::primitive)]
    pub(crate) only: Vec<parse::Chosen>,
    #[command(flatten)]
    pub(crate) how: How,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// How far to go.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// Few repetitions
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Many repetitions
    #[arg(long)]
    pub(crate) full: bool,
}

impl How {
    /// The effort.
    pub(crate) fn effort(&self) -> Effort {
        effort(self.quick, self.full)
    }
}
