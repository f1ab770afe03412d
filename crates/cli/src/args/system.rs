//! Options of the commands about the system's settings.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tiermark_model::Bytes;
use tiermark_tune::Profile;

use super::common::View;
use crate::parse;

pub(crate) const TUNE_EXAMPLES: &str = "\
Without --apply and --restore nothing is changed, and no root is needed. Changes last until the next reboot or --restore; their old
values are written down first, in /var/lib/tiermark (in $TIERMARK_STATE, where set), so that they come back after a kill too.
Boot loaders, swap areas and devices that are not named are never touched.
Examples:
  tiermark tune
  tiermark tune --profile latency --only scaling_governor,ksm/run
  sudo tiermark tune --profile swap-tier --device nvme1n1 --apply
  sudo tiermark tune --restore
Exit codes: 0 done, 1 a change could neither be made nor taken back, 4 refused and nothing changed, 5 something was left as it is.";

pub(crate) const DOCTOR_EXITS: &str = "\
Exit codes: 0 no problem (notes allowed), 3 at least one problem.
Commands that cure something are printed, never run.";

/// Purpose that the machine is tuned for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileChoice {
    /// Memory extended by swap, zram, zswap or a slower node
    SwapTier,
    /// Short and even response times
    Latency,
    /// The kernel's defaults
    Default,
}

impl ProfileChoice {
    /// The profile.
    pub(crate) fn profile(self) -> Profile {
        match self {
            Self::SwapTier => Profile::SwapTier,
            Self::Latency => Profile::Latency,
            Self::Default => Profile::Default,
        }
    }
}

/// Arguments of `tune`.
#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// The purpose that the machine is tuned for
    #[arg(long, value_name = "PROFILE", default_value = "swap-tier")]
    pub(crate) profile: ProfileChoice,
    /// Show values beside the advice, and change nothing (the default)
    #[arg(long, conflicts_with_all = ["apply", "restore"])]
    pub(crate) diff: bool,
    /// Set the knobs to the advised values, until the next reboot or --restore
    #[arg(long, conflicts_with = "restore")]
    pub(crate) apply: bool,
    /// Take back every change that was made before, also by runs that were killed
    #[arg(long, conflicts_with_all = ["profile", "only", "device"])]
    pub(crate) restore: bool,
    /// With --restore: also restore knobs that another program changed since, drop stop commands that fail, and turn
    /// swap off although the limit of a control group is too low for its pages there
    #[arg(long, requires = "restore")]
    pub(crate) force: bool,
    /// With --restore: remove a change from the journal without undoing it, as of a disk that is gone for good
    /// (repeatable)
    #[arg(long, value_name = "NAME", requires = "restore")]
    pub(crate) forget: Vec<String>,
    /// Only these knobs, by name
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// A block device whose queue is to be changed too (vda, /dev/disk/by-id/NAME; repeatable)
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Vec<String>,
    /// Read a captured machine (a directory or a tar archive) instead of this one
    #[arg(long, value_name = "TREE", conflicts_with_all = ["apply", "restore"])]
    pub(crate) root: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: View,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Read a captured machine (a directory or a tar archive) instead of this one
    #[arg(long, value_name = "TREE")]
    pub(crate) root: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: View,
}

pub(crate) const SELFTEST_EXITS: &str = "\
Exit codes: 0 all checks passed, 1 a check failed.
With --continuous: 0 no trusted figure contradicts the continuous runs, 1 one does, 5 no figure could be judged.";

/// Arguments of `selftest`.
#[derive(Debug, Args)]
pub(crate) struct SelftestArgs {
    /// Compare visits of 2 ms with a chase that goes on for a second
    ///
    /// A plain chase, cut into the same blocks, runs before and after a `latency` run over the same sizes: two within
    /// L2; those of 1, 8 and 16 MiB that are at most half of L3; and 1 GiB, or a quarter of the free memory if that is
    /// less. Takes about 30 seconds. Nothing is saved.
    #[arg(long)]
    pub(crate) continuous: bool,
    /// Seconds of each continuous chase [default: 1]
    ///
    /// All visits together take at most twelve times as long.
    #[arg(long, value_name = "SECONDS", requires = "continuous", value_parser = parse::seconds, hide_short_help = true)]
    pub(crate) seconds: Option<f64>,
    /// Most memory of a chase of --continuous [default: 1 GiB, at most a quarter of the free memory]
    #[arg(long, value_name = "SIZE", requires = "continuous", value_parser = parse::size, hide_short_help = true)]
    pub(crate) max_mem: Option<Bytes>,
    #[command(flatten)]
    pub(crate) view: View,
}
