//! The options that say where counts of memory traffic come from.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tiermark_counters::SourceChoice;

/// Arguments of every command that counts memory traffic.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct CounterArgs {
    #[arg(long, value_name = "SOURCE", hide_short_help = true, help = sources(), long_help = explained_sources())]
    pub(crate) counters_from: Option<SourceChoice>,
    /// File with the events of a processor family, used before those that tiermark has (docs/COUNTERS.md)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) events: Option<PathBuf>,
}

fn sources() -> String {
    let forms = SourceChoice::forms().join(", ");
    format!("Count memory traffic with this source only: {forms} [default: the first that opens]")
}

fn explained_sources() -> String {
    let explained = SourceChoice::explained();
    format!("{}\n\n{explained} `tiermark list counters` shows what each source counts here.", sources())
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
