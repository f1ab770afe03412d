//! The options of `watch`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use tiermark_model::parse_seconds;

use super::{CountingArgs, View};
use crate::parse;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tiermark watch
  tiermark watch --interval 5 --csv > memory.csv
  tiermark watch --quiet --prometheus 9188
  tiermark watch --record night.jsonl --quiet
  tiermark watch --replay night.jsonl
  tiermark watch -- make -j8
  tiermark watch --active
Exit codes: 0 done, 2 bad usage, 4 no counters open (--counters=require), 130
stopped by Ctrl-C. With COMMAND: its exit code.
`tiermark help watch` explains the numbers.";

/// Arguments of `watch`.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Time between samples: 1, 0.5, 10s, 1m
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub(crate) interval: f64,
    /// End after so many samples [default: none; with --replay all]
    #[arg(long, value_name = "COUNT", value_parser = parse::within::<u64>(1..=u64::MAX))]
    pub(crate) samples: Option<u64>,
    /// Print a line of text a sample, as in a pipe, instead of the screen
    #[arg(long, group = "output")]
    pub(crate) text: bool,
    /// Print a JSON object a line and sample (`tiermark schema watch`)
    #[arg(long, group = "output")]
    pub(crate) json: bool,
    /// Print CSV
    #[arg(long, group = "output")]
    pub(crate) csv: bool,
    /// Print no samples, and no summary of COMMAND: for --prometheus and --record
    #[arg(short, long, conflicts_with_all = ["text", "json", "csv"])]
    pub(crate) quiet: bool,
    /// Serve the newest sample at http://ADDR/metrics: a port, or IP:PORT
    ///
    /// A port alone is of 127.0.0.1, which other machines do not reach.
    #[arg(long, value_name = "ADDR", value_parser = address, conflicts_with = "replay")]
    pub(crate) prometheus: Option<SocketAddr>,
    /// Write the samples to a new file, a line each, for --replay
    #[arg(long, value_name = "FILE", value_parser = record_file, conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// Show a recording: on the screen as fast as it was, in a pipe at once
    #[arg(long, value_name = "FILE", conflicts_with = "interval")]
    pub(crate) replay: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) counting: CountingArgs,
    /// Measure what the machine gives now, for a moment in each sample
    ///
    /// Latency and bandwidth of caches and memory, how long the shared cache keeps lines, and round trips between cpus.
    /// Each is shown beside the best of this watch and of saved runs. So the load of other guests is visible without
    /// root and counters.
    #[arg(long, conflicts_with = "replay")]
    pub(crate) active: bool,
    /// Most cpu time of the program, in percent of one cpu: 1, 0.5%
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = budget, requires = "active")]
    pub(crate) budget: f64,
    /// Show COUNT programs and groups of each kind: most cpu time, memory, stalls, traffic
    #[arg(
        long, value_name = "COUNT", default_value_t = 5, value_parser = parse::within::<usize>(0..=50),
        conflicts_with = "replay",
    )]
    pub(crate) groups: usize,
    /// With COMMAND: place the program on the loaded-latency curves of RUN: a file, an id or `last`
    #[arg(long, value_name = "RUN", requires = "command")]
    pub(crate) curve: Option<String>,
    /// With --curve: write the result as JSON (`tiermark schema placed`)
    #[arg(long, value_name = "FILE", requires = "curve", hide_short_help = true)]
    pub(crate) curve_json: Option<String>,
    /// With --curve: write the result as a page for a browser
    #[arg(long, value_name = "FILE", requires = "curve", hide_short_help = true)]
    pub(crate) curve_html: Option<String>,
    /// Run a command, and print a summary of its life on standard error
    #[arg(value_name = "COMMAND", last = true, conflicts_with_all = ["output", "samples", "replay"])]
    pub(crate) command: Vec<String>,
    #[command(flatten)]
    pub(crate) view: View,
}

/// The shortest and the longest interval, in seconds. More than 10 samples a second would cost above 0.5 % of a cpu on
/// a server with many nodes; the kernel's own means are renewed every 2 s.
const INTERVALS: std::ops::RangeInclusive<f64> = 0.1..=3600.0;

fn interval(text: &str) -> Result<f64, String> {
    let range = || "use a time from 0.1s to 1h".to_owned();
    parse_seconds(text).ok().filter(|seconds| INTERVALS.contains(seconds)).ok_or_else(range)
}

/// The smallest budget lets a cell be visited every few seconds; beyond the largest it is a benchmark.
const BUDGETS: std::ops::RangeInclusive<f64> = 0.1..=20.0;

fn budget(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse().ok();
    number
        .filter(|percent| BUDGETS.contains(percent))
        .ok_or_else(|| "use 0.1 to 20 percent of one cpu, as in 1%".into())
}

/// A recording has a head, and is kept whole if the program is killed: a pipe can have neither.
fn record_file(text: &str) -> Result<PathBuf, String> {
    if text == "-" {
        return Err("a recording is a file; --json prints the samples on standard output".into());
    }
    Ok(PathBuf::from(text))
}

/// `9188`, `:9188`, `127.0.0.1:9188`, `[::1]:9188`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text).parse::<u16>();
    let loopback = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    port.map(loopback)
        .or_else(|_| text.replace("localhost", "127.0.0.1").parse())
        .map_err(|_| "use a port, or an address and a port: 9188, 127.0.0.1:9188, [::1]:9188".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_of_the_loopback() {
        for text in ["9188", ":9188", "127.0.0.1:9188", "localhost:9188"] {
            assert_eq!(address(text).unwrap().to_string(), "127.0.0.1:9188");
        }
        assert_eq!(address("0.0.0.0:1").unwrap().to_string(), "0.0.0.0:1");
        assert!(address("server").is_err() && address("70000").is_err());
        assert_eq!((interval("1s"), interval("0.1"), interval("1h")), (Ok(1.0), Ok(0.1), Ok(3600.0)));
        assert_eq!((record_file("-").is_err(), record_file("r.jsonl")), (true, Ok(PathBuf::from("r.jsonl"))));
        assert!(interval("0.05").is_err() && interval("2h").is_err() && interval("x").is_err());
    }
}
