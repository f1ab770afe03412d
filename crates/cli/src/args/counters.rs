//! The options that say where counts of memory traffic come from.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tiermark_counters::SourceChoice;

/// Arguments of every command that counts memory traffic.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CounterArgs {
    /// Count memory traffic with this source only: perf, hsmp, resctrl, core, pcm-memory=FILE, pcm=FILE,
    /// likwid=FILE [default: the first that opens]
    ///
    /// Measurements try perf; with --counters=require also resctrl and core. `watch` tries perf, hsmp
    /// and core; with --counters=require also resctrl. For pcm-memory and pcm, FILE is the file that the running
    /// `pcm-memory -csv=FILE` or `pcm -csv=FILE` writes. For likwid, FILE has outputs of
    /// `likwid-perfctr -O -g MEM -S 1s`, one after the other. `tiermark list counters` shows what each source counts
    /// here.
    #[arg(long, value_name = "SOURCE", hide_short_help = true)]
    pub(crate) counters_from: Option<SourceChoice>,
    /// File with the events of a processor family, used before those that tiermark has (docs/COUNTERS.md)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) events: Option<PathBuf>,
}

/// Arguments of every command that can count beside what it does.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CountingArgs {
    /// Count memory traffic meanwhile: auto (if a source opens), require or off
    ///
    /// If no source opens, as in virtual machines, require ends with exit code 4, and auto counts nothing.
    #[arg(long = "counters", value_name = "WHEN", default_value = "auto", hide_short_help = true)]
    pub(crate) when: CounterUse,
    #[command(flatten)]
    pub(crate) source: CounterArgs,
}

/// Whether traffic is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum CounterUse {
    /// Where a source opens.
    #[default]
    Auto,
    /// Nothing is measured without.
    Require,
    /// Never.
    Off,
}
