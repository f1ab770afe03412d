//! Arguments of `load`, with the names that users of load generators for Redis know.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use tiermark_capacity::scenario::Pacing;
use tiermark_load::{Address, Arrivals, KeyDist, KeyOrder, SizeOrder, Sizes};
use tiermark_model::load::Spin;
use tiermark_model::{Bytes, IdSet, parse_size};
pub(super) use tiermark_model::{parse_count as count, parse_seconds_or_none as seconds_or_none};

use super::{LabelArgs, View};
use crate::inventory::InventoryArgs;
use crate::parse;
use crate::start::StartArgs;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tiermark load --target localhost:6379 --fill --rps 5000                  (open loop: latency from when requests are due)
  tiermark load --target /run/redis.sock -c 50 -P 16 --keys 1M             (closed loop: as fast as it goes)
  tiermark load --target a:6379,b:6379 --rps 5000 --arrivals poisson --gets 70 --key-dist zipf:0.99 --json
  tiermark load --inventory hosts.ini --group cache --rps 5000             (each host of an Ansible group)
  tiermark load -t localhost --rps 5000 --at TIME --label host=vm1 --histograms --json=vm1.json    (on each of several clients)
  tiermark show vm*.json                                                   (those documents as one, percentiles of all)
It writes to the server: --fill and the SETs (--gets below 100) replace the keys 0, 1, 2 … of its database (--key-prefix sets them apart).
Response is the time from when a request was due to its answer, service that from when it was sent.";

/// Reads what a request at a rate waits for.
pub(super) fn pacing() -> impl TypedValueParser<Value = Pacing> {
    let closed = "After the answer to the last request, and not before the rate's period is over";
    let values = [
        PossibleValue::new("open").help("At the times of the rate, whatever the server does"),
        PossibleValue::new("closed").help(closed),
    ];
    PossibleValuesParser::new(values).map(|word| if word == "closed" { Pacing::Closed } else { Pacing::Open })
}

/// How requests of an open loop are spread in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Spread {
    /// Evenly
    Constant,
    /// At random, independently of each other
    Poisson,
}

impl From<Spread> for Arrivals {
    fn from(spread: Spread) -> Self {
        match spread {
            Spread::Constant => Self::Constant,
            Spread::Poisson => Self::Poisson,
        }
    }
}

/// When a client looks again and again instead of sleeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// After an answer of a closed loop, as long as the next answers come soon
    Auto,
    /// After every answer, and shortly before a request is due: punctual, but uses more cpu time
    Always,
    /// Never: the client sleeps until a request is due or an answer arrives
    Never,
}

impl From<When> for Spin {
    fn from(when: When) -> Self {
        match when {
            When::Auto => Self::Auto,
            When::Always => Self::Always,
            When::Never => Self::Never,
        }
    }
}

/// Whether popular keys are neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// Popular keys are neighbours
    Clustered,
    /// Popular keys are spread over all keys
    Scrambled,
}

impl From<Order> for KeyOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Clustered => Self::Clustered,
            Order::Scrambled => Self::Scrambled,
        }
    }
}

/// Which value has which of several sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ValueOrder {
    /// Each SET draws a size
    Random,
    /// A key keeps its size: sizes rise from the first key to the last, a list is in its own order
    Rising,
}

impl From<ValueOrder> for SizeOrder {
    fn from(order: ValueOrder) -> Self {
        match order {
            ValueOrder::Random => Self::Random,
            ValueOrder::Rising => Self::Rising,
        }
    }
}

/// Keys that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyRange {
    /// The number of the first.
    pub(crate) first: u64,
    pub(crate) count: u64,
}

/// Arguments of `load`.
#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// Servers, such as localhost:6379 or /run/redis.sock
    ///
    /// host:port, a path or unix:path; each is a tenant with the whole load of its own.
    #[arg(short, long = "target", value_name = "ADDRESS", value_delimiter = ',')]
    #[arg(required_unless_present = "inventory")]
    pub(crate) targets: Vec<Address>,
    #[command(flatten)]
    pub(crate) inventory: InventoryArgs,
    /// User to authenticate as
    #[arg(hide_short_help = true, long, value_name = "NAME", requires = "password")]
    pub(crate) user: Option<String>,
    /// Password; the environment hides it from other users
    ///
    /// Other users can see the words of a command, but not its environment.
    #[arg(short = 'a', long, value_name = "WORD", env = "REDISCLI_AUTH", hide_env_values = true)]
    pub(crate) password: Option<String>,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    #[command(flatten)]
    pub(crate) start: StartArgs,
    #[command(flatten)]
    pub(crate) asked: AskedArgs,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Write the document as JSON [default: to standard output]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    #[arg(help_heading = "Results")]
    pub(crate) json: Option<String>,
    #[command(flatten)]
    pub(crate) labels: LabelArgs,
    /// In the document: all counts of the latencies' histograms, which can be merged
    #[arg(hide_short_help = true, long, requires = "json", help_heading = "Results")]
    pub(crate) histograms: bool,
    /// Write the response times of all tenants by percentile in HdrHistogram's text form, in ms
    #[arg(long, value_name = "FILE", conflicts_with = "fill_only", help_heading = "Results")]
    pub(crate) hgrm: Option<String>,
    /// The same of the service times
    #[arg(hide_short_help = true, long, value_name = "FILE", conflicts_with = "fill_only", help_heading = "Results")]
    pub(crate) hgrm_service: Option<String>,
    /// Do not save the run
    #[arg(hide_short_help = true, long, help_heading = "Results")]
    pub(crate) no_save: bool,
    /// Show only results and errors, no progress
    #[arg(short, long, help_heading = "Results")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) view: View,
}

/// When requests are sent.
#[derive(Debug, Args)]
#[command(next_help_heading = "Pace")]
pub(crate) struct PaceArgs {
    /// Requests a second of each tenant [default: as many as the server answers]
    ///
    /// Requests are due at fixed times, whatever the server does (open loop). Without a rate each connection sends the
    /// next request after the answer to the last one (closed loop).
    #[arg(long, value_name = "RATE", visible_alias = "rate", value_parser = rate)]
    pub(crate) rps: Option<f64>,
    /// Whether requests are sent at their times, or one at a time
    #[arg(hide_short_help = true, long, value_name = "LOOP", default_value = "open", requires = "rps", value_parser = pacing())]
    pub(crate) pacing: Pacing,
    /// How requests are spread in time
    #[arg(hide_short_help = true, long, value_name = "SPREAD", default_value = "constant", requires = "rps")]
    pub(crate) arrivals: Spread,
    /// Connections to each tenant
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = above_zero)]
    pub(crate) connections: usize,
    /// Most requests under way on a connection
    ///
    /// Default: 1, with --rps 1000.
    #[arg(short = 'P', long, value_name = "N", visible_alias = "pipeline", value_parser = above_zero)]
    pub(crate) pipeline_depth: Option<usize>,
    /// Time to measure, seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse::seconds)]
    pub(crate) duration: f64,
    /// Requests of each tenant, instead of a time
    #[arg(
        hide_short_help = true, short = 'n', long, value_name = "N", conflicts_with = "duration",
        value_parser = parse::within::<u64>(1..=u64::MAX),
    )]
    pub(crate) requests: Option<u64>,
    /// Warm-up under load before measuring, with other keys, in seconds; 0 for none
    #[arg(hide_short_help = true, long, value_name = "SECONDS", default_value = "1", value_parser = seconds_or_none)]
    pub(crate) warmup: f64,
}

/// The requests.
#[derive(Debug, Args)]
#[command(next_help_heading = "Requests")]
pub(crate) struct AskedArgs {
    /// Keys of each tenant: their number, or FIRST-LAST
    ///
    /// Keys are numbers, from 0 without FIRST; K, M, G are powers of 1000.
    #[arg(short = 'k', long, value_name = "N", default_value = "100k", value_parser = key_range)]
    pub(crate) keys: KeyRange,
    /// Text in front of each key
    #[arg(hide_short_help = true, long, value_name = "TEXT", default_value = "")]
    pub(crate) key_prefix: String,
    /// Pad keys with zeros to N digits (as redis-benchmark: --key-prefix key: --key-digits 12)
    #[arg(hide_short_help = true, long, value_name = "N", default_value_t = 0, value_parser = parse::whole::<usize>)]
    pub(crate) key_digits: usize,
    /// Distribution of the requested keys, such as zipf:0.99
    ///
    /// uniform, brief:WIDTH, normal[:SIGMA[,MEAN]] in keys, zipf:EXPONENT, hotspot:KEYS,REQUESTS as shares, sequential.
    #[arg(long, value_name = "DIST", default_value = "uniform")]
    pub(crate) key_dist: KeyDist,
    /// Whether equally popular keys are neighbours
    #[arg(hide_short_help = true, long, value_name = "ORDER", default_value = "clustered")]
    pub(crate) key_order: Order,
    /// Percent of GETs; the other requests are SETs
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0, value_parser = percentage)]
    pub(crate) gets: f64,
    /// Draw GETs and SETs as the published swap-tier test does: --gets 70 then gives 29 % of SETs
    #[arg(hide_short_help = true, long)]
    pub(crate) gets_brief: bool,
    /// Size of values; a range such as 32-4096, or several with weights: 64:80,1K:20
    #[arg(short = 'd', long, value_name = "SIZE", visible_alias = "data-size", default_value = "1K")]
    pub(crate) value_size: Sizes,
    /// Which value has which of several sizes
    #[arg(hide_short_help = true, long, value_name = "ORDER", default_value = "random")]
    pub(crate) value_order: ValueOrder,
    /// Share of each value, 0 to 1, that compression removes; the rest is random
    #[arg(hide_short_help = true, long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub(crate) value_compress: f64,
    /// Check each returned value; only this program may have written them
    #[arg(hide_short_help = true, long)]
    pub(crate) verify: bool,
    /// Write all keys first, in order
    #[arg(long)]
    pub(crate) fill: bool,
    /// Write all keys, and measure nothing
    #[arg(hide_short_help = true, long, conflicts_with = "fill")]
    pub(crate) fill_only: bool,
    /// Seed of every random choice [default: from the clock; the document records it]
    #[arg(hide_short_help = true, long, value_name = "NUMBER", value_parser = parse::whole::<u64>)]
    pub(crate) seed: Option<u64>,
}

/// How the client works.
#[derive(Debug, Args)]
#[command(next_help_heading = "Client")]
pub(crate) struct ClientArgs {
    /// Threads of the client, at most one for each server
    ///
    /// Default: one for each of --client-cpus, else 1.
    #[arg(long, value_name = "N", value_parser = above_zero)]
    pub(crate) threads: Option<usize>,
    /// Cpus of the client's threads, as 0-3,8, other than the servers' [default: any]
    #[arg(hide_short_help = true, long, value_name = "LIST", value_parser = parse::cpu_list)]
    pub(crate) client_cpus: Option<IdSet>,
    /// Do not look for other work on the client's cpus before the start
    #[arg(hide_short_help = true, long)]
    pub(crate) force: bool,
    /// When to poll the clock and the sockets instead of sleeping; --spin alone means always
    #[arg(
        hide_short_help = true, long, value_enum, value_name = "WHEN", default_value = "auto", num_args = 0..=1,
        require_equals = true, default_missing_value = "always",
    )]
    pub(crate) spin: When,
    /// Longest wait for an answer, in seconds; after it the client stops sending to the tenant
    #[arg(hide_short_help = true, long, value_name = "SECONDS", default_value = "10", value_parser = parse::seconds)]
    pub(crate) timeout: f64,
    /// Delay beyond which a request counts as sent late by the client, in microseconds after it was due
    #[arg(hide_short_help = true, long, value_name = "US", default_value_t = 1000, value_parser = parse::whole::<u32>)]
    pub(crate) late_after: u32,
}

pub(super) fn rate(text: &str) -> Result<f64, String> {
    let rate: Option<f64> = text.parse().ok();
    rate.filter(|r| *r > 0.0 && *r <= 1e8).ok_or_else(|| "use requests a second above 0, such as 5000".into())
}

pub(super) fn above_zero(text: &str) -> Result<usize, String> {
    // More connections than ports, or requests than memory, cannot work; a sum of two such numbers still fits.
    text.parse().ok().filter(|n| (1..=1_000_000).contains(n)).ok_or_else(|| "use a number from 1 to 1000000".into())
}

pub(super) fn percentage(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('%').trim().parse().ok();
    number.filter(|n| (0.0..=100.0).contains(n)).ok_or_else(|| "use a percentage from 0 to 100".into())
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|n| (0.0..=1.0).contains(n)).ok_or_else(|| "use a share from 0 to 1, such as 0.5".into())
}

/// A number of keys, or the first and the last key.
fn key_range(text: &str) -> Result<KeyRange, String> {
    let Some((first, last)) = text.split_once('-') else {
        return count(text).map(|count| KeyRange { first: 0, count });
    };
    let number = |text: &str| if text == "0" { Ok(0) } else { count(text) };
    let (first, last) = (number(first)?, number(last)?);
    match last.checked_sub(first).and_then(|more| more.checked_add(1)) {
        Some(count) => Ok(KeyRange { first, count }),
        None => Err("the last key comes before the first; use FIRST-LAST, such as 1000-1999".into()),
    }
}

pub(super) fn value_size(text: &str) -> Result<Bytes, String> {
    let size = parse_size(text).map_err(|e| e.why)?;
    if size.0 > 512 << 20 { Err("a value of Redis has at most 512M".into()) } else { Ok(size) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_type() {
        assert_eq!((rate("0.5"), above_zero("1000000")), (Ok(0.5), Ok(1_000_000)));
        assert_eq!((percentage("70%"), percentage("0"), share("0.25")), (Ok(70.0), Ok(0.0), Ok(0.25)));
        assert_eq!(value_size("0"), Ok(Bytes(0)));
        assert_eq!(key_range("100k"), Ok(KeyRange { first: 0, count: 100_000 }));
        assert_eq!(key_range("0-9"), Ok(KeyRange { first: 0, count: 10 }));
        assert_eq!(key_range("1M-1000001"), Ok(KeyRange { first: 1_000_000, count: 2 }));
    }

    #[test]
    fn refuses_with_what_to_type_instead() {
        for bad in ["0", "-5", "NaN", "inf", "fast"] {
            assert!(rate(bad).unwrap_err().contains("5000"), "{bad}");
        }
        assert!(above_zero("0").is_err() && above_zero("1000001").is_err());
        assert!(percentage("101").is_err() && percentage("NaN").is_err() && share("1.1").is_err());
        assert!(value_size("1G").unwrap_err().contains("512M"));
        for bad in ["0", "5-4", "-4", "4-", "0-18446744073709551615"] {
            assert!(key_range(bad).unwrap_err().contains("use "), "{bad}");
        }
    }
}
