//! The options of `history`.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use tiermark_model::messages::check as says;
use tiermark_model::{FigureName, Quantity};

use super::View;
use crate::parse;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tiermark history
  tiermark history --since 30d
  tiermark history latency.dram
  tiermark history read.l3.one --json
  tiermark history --host node07 --from archive/
Exit codes: 0 shown, 2 bad usage.";

/// Runs that are listed without `--limit`.
const LISTED: usize = 20;

/// Arguments of `history`.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Show figures run by run, by their names in `check`: latency.dram, interruptions.share
    #[arg(value_name = "FIGURE", value_parser = figure)]
    pub(crate) figure: Vec<String>,
    /// Only runs since 7d ago (also h, w), a day (2026-11-01), or a run
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub(crate) since: Option<Since>,
    /// List this many runs, or `all`
    #[arg(long, value_name = "RUNS", default_value_t = Limit(Some(LISTED)), value_parser = limit)]
    pub(crate) limit: Limit,
    /// List the runs of all machines, without figures
    #[arg(long, conflicts_with = "figure")]
    pub(crate) all: bool,
    /// The runs of the host of this name instead of this machine's: the label host, else its host name
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    pub(crate) host: Option<String>,
    /// Read the documents in this folder instead of the saved runs; without --host all machines are listed
    #[arg(long, value_name = "FOLDER", conflicts_with = "rebuild")]
    pub(crate) from: Option<PathBuf>,
    /// Build the index of the saved runs again from their documents
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Print the history as JSON, with its schema
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: View,
}

/// Reads the name of a figure. L1 and L2 have one series, whether in ns or in cycles.
fn figure(text: &str) -> Result<String, String> {
    let word = text.to_ascii_lowercase();
    // What describes a run has the name of its quantity.
    if Quantity::ALL.iter().any(|quantity| quantity.is_condition() && quantity.name() == word) {
        return Ok(word);
    }
    match FigureName::parse(&word, 1).map_err(|note| note.to_string())? {
        Some(name) => Ok(name.tier().map_or_else(|| name.to_string(), |tier| tier.to_string())),
        None => {
            let names: Vec<String> = FigureName::all().iter().map(FigureName::to_string).collect();
            Err(says::name_unknown(1, text, &names.iter().map(String::as_str).collect::<Vec<_>>()).to_string())
        }
    }
}

/// How many runs are listed; `None` for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) Option<usize>);

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(runs) => write!(f, "{runs}"),
            None => f.write_str("all"),
        }
    }
}

fn limit(text: &str) -> Result<Limit, String> {
    if text == "all" {
        return Ok(Limit(None));
    }
    parse::within(1..=u64::MAX)(text).map(|runs| Limit(Some(runs))).map_err(|why| format!("{why}, or `all`"))
}

/// The moment from which on runs are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Since {
    /// This many seconds ago.
    Seconds(u64),
    /// A day or a time in UTC.
    Moment(Timestamp),
    /// The start of a run, by its id or the beginning of it.
    Run(String),
}

/// Reads `7d`, `12h`, `2w`, `2026-11-01`, or the id of a run.
fn since(text: &str) -> Result<Since, String> {
    let text = text.trim();
    let span = text.char_indices().last().and_then(|(at, unit)| {
        let seconds = match unit {
            'h' => 3_600u64,
            'd' => 86_400,
            'w' => 7 * 86_400,
            _ => return None,
        };
        text[..at].parse::<u64>().ok()?.checked_mul(seconds)
    });
    let is_day = text.len() >= 10
        && text.bytes().zip(0..10).all(|(byte, at)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    match span {
        Some(seconds) => Ok(Since::Seconds(seconds)),
        None if is_day => moment(text).map(Since::Moment),
        None if text.is_empty() => Err("write 7d, 2026-11-01, or the id of a run".into()),
        None => Ok(Since::Run(text.to_owned())),
    }
}

/// Reads RFC 3339, or a day or a time without a zone, in UTC.
fn moment(text: &str) -> Result<Timestamp, String> {
    let zoned = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok();
    let found = text.parse::<Timestamp>().ok().or_else(|| Some(zoned()?.timestamp()));
    found.ok_or_else(|| "no day or time: write 2026-11-01 or 2026-11-01T10:00:00Z".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_days_and_runs_are_told_apart() {
        let day = |text: &str| Ok(Since::Moment(text.parse().unwrap()));
        for (text, read) in [
            ("7d", Ok(Since::Seconds(7 * 86_400))),
            ("12h", Ok(Since::Seconds(12 * 3_600))),
            (" 2w ", Ok(Since::Seconds(14 * 86_400))),
            ("2026-11-01", day("2026-11-01T00:00:00Z")),
            ("2026-11-01T10:00", day("2026-11-01T10:00:00Z")),
            ("2026-11-01T10:00:00Z", day("2026-11-01T10:00:00Z")),
            ("20261101T100000-00000d", Ok(Since::Run("20261101T100000-00000d".to_owned()))),
            ("99999999999999999999d", Ok(Since::Run("99999999999999999999d".to_owned()))),
        ] {
            assert_eq!(since(text), read, "{text}");
        }
        for wrong in [" ", "2026-99-99", "2026-99-99zz", "2026-02-30", "2026-11-01T25:00", "2026-11-01 at noon"] {
            assert!(since(wrong).is_err(), "{wrong}");
        }
    }
}
