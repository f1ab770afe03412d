//! Curves of latency over bandwidth as CSV in the layout of the Mess benchmark:
//! `type,rd_percentage,pause,bandwidth_mean, …` with bandwidth in GB/s and latency in ns, as its published measurements
//! have it; its later tools read the same columns.
//!
//! What the columns hold here: the share of useful bytes read, the pause in ns, medians as means, and for latency half
//! of a 95 % interval over 1.96 as deviation, or a quarter of the range where there is no interval. The point without
//! load has no pause, and so no row.

use std::fmt;

use tiermark_model::{Experiment, Labels, LoadPoint, MessPoint, Observation, Purpose, Run};

/// Columns that are written, in order.
const COLUMNS: [&str; 11] = [
    "type",
    "rd_percentage",
    "pause",
    "bandwidth_mean",
    "bandwidth_std",
    "bandwidth_min",
    "bandwidth_max",
    "latency_mean",
    "latency_std",
    "latency_min",
    "latency_max",
];
/// Names under which others keep the same: the first found counts.
const READS: [&str; 2] = ["rd_percentage", "read_pct_rounded"];
const BANDWIDTH: [&str; 3] = ["bandwidth_mean", "bandwidth_smooth", "bandwidth"];
const LATENCY: [&str; 3] = ["latency_mean", "latency_smooth", "latency"];
/// Larger files are no curves: the fullest published family has some thousand points.
const MOST_LINES: usize = 1_000_000;
/// Half a 95 % interval of a normal distribution in deviations.
const DEVIATIONS: f64 = 1.96;

/// Why a text is no such file: the line, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong with the line.
    pub why: String,
}

impl fmt::Display for MessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for MessError {}

/// The curves of a run as such a file; only its head where the run has none.
pub fn mess(run: &Run) -> String {
    let mut out = format!("{}\n", COLUMNS.join(","));
    let is_load = |o: &&Observation| o.labels.is_for(Purpose::Load);
    let loads = |e: &&Experiment| e.observations.iter().any(|o| is_load(&o));
    // Curves of several experiments of a plan may have the same name, and must not become one.
    let several = run.experiments.iter().filter(loads).count() > 1;
    let numbered =
        run.experiments.iter().zip(1..).flat_map(|(e, number)| e.observations.iter().map(move |o| (number, o)));
    let mut rows: Vec<(String, u64, u64, String)> = Vec::new();
    for (number, point) in numbered.filter_map(|(number, o)| Some((number, LoadPoint::of(o)?))) {
        let LoadPoint { rate, rates, pause, seen } = point;
        let (Some(reads), Some(pause), Some(latency)) = (seen.labels.reads(), pause, seen.value) else { continue };
        let experiment = if several { format!("-{number}") } else { String::new() };
        let kind = kind(&seen.labels) + &experiment;
        let [low, high] = rates.map(|end| end.unwrap_or(rate));
        let (quickest, slowest) = (seen.min.unwrap_or(latency), seen.max.unwrap_or(latency));
        // Of the rate only the range is kept, and of a latency too where one allocation gives no interval: a range of
        // samples over four is their deviation, roughly (Tippett 1925).
        let spread = |low: f64, high: f64| (high - low) / 4.0;
        let interval = seen.interval.map(|i| (i.high - i.low) / 2.0 / DEVIATIONS);
        let numbers = [
            rate / 1e9,
            spread(low, high) / 1e9,
            low / 1e9,
            high / 1e9,
            latency,
            interval.unwrap_or_else(|| spread(quickest, slowest)),
            quickest,
            slowest,
        ];
        let numbers: Vec<String> = numbers.iter().map(|n| format!("{n}")).collect();
        rows.push((kind.clone(), 100 - reads.min(100), pause, format!("{kind},{reads},{pause},{}", numbers.join(","))));
    }
    rows.sort();
    rows.iter().for_each(|(_, _, _, row)| out.push_str(&format!("{row}\n")));
    out
}

/// How many of the points of such a file are not trusted, in words: its layout has no column for that. `None` where all
/// are.
pub fn mess_doubts(run: &Run) -> Option<String> {
    let points: Vec<&Observation> =
        run.observations().filter(|o| o.labels.is_for(Purpose::Load) && o.value.is_some()).collect();
    let doubted = points.iter().filter(|o| !o.verdict.grade.is_number()).count();
    let are = if doubted == 1 { "is" } else { "are" };
    (doubted > 0)
        .then(|| format!("{doubted} of its {} points {are} not trusted, which this layout does not mark", points.len()))
}

/// What the first column says: the mix and the place, without what would end a field.
fn kind(labels: &Labels) -> String {
    let node = labels.node().map(|n| format!("node{n}"));
    let words = [labels.mix(), labels.place_name(), node.as_deref()];
    words.into_iter().flatten().collect::<Vec<_>>().join("-").replace([',', '"', '\n', '\r'], "_")
}

/// Reads such a file: the columns it needs by name, in any order, others passed over.
///
/// # Errors
/// A [`MessError`] for the first line that is not what the head promises.
pub fn read_mess(text: &str) -> Result<Vec<MessPoint>, MessError> {
    let error = |line: usize, why: String| MessError { line, why };
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let Some((first, head)) = lines.next() else { return Err(error(1, "the file is empty".into())) };
    let names: Vec<&str> = fields(head.trim_start_matches('\u{feff}'));
    let column = |known: &[&str]| known.iter().find_map(|name| names.iter().position(|n| n == name));
    let needed = |known: &[&str]| {
        column(known).ok_or_else(|| error(first + 1, format!("no column is named {}", known.join(" or "))))
    };
    let (reads, bandwidth, latency) = (needed(&READS)?, needed(&BANDWIDTH)?, needed(&LATENCY)?);
    let (pause, kind) = (column(&["pause"]), column(&["type"]));
    let mut points = Vec::new();
    for (at, line) in lines {
        if points.len() >= MOST_LINES {
            return Err(error(at + 1, format!("a curve has at most {MOST_LINES} points")));
        }
        let fields = fields(line);
        if fields.len() != names.len() {
            return Err(error(at + 1, format!("{} fields, the head has {}", fields.len(), names.len())));
        }
        let number = |column: usize| {
            let read = fields[column].parse::<f64>().ok().filter(|n| n.is_finite());
            let why = || format!("'{}' in column {} is not a number", short(fields[column]), short(names[column]));
            read.ok_or_else(|| error(at + 1, why()))
        };
        let point = MessPoint {
            kind: kind.map_or_else(String::new, |k| fields[k].to_owned()),
            read_percent: number(reads)?,
            pause: pause.map_or(Ok(0.0), number)?,
            bandwidth: number(bandwidth)? * 1e9,
            latency_ns: number(latency)?,
        };
        let possible = (0.0..=100.0).contains(&point.read_percent)
            && point.pause >= 0.0
            && (0.0..1e18).contains(&point.bandwidth)
            && point.latency_ns > 0.0;
        if !possible {
            return Err(error(at + 1, "reads are 0 to 100 %, bandwidth is not negative, latency is above zero".into()));
        }
        points.push(point);
    }
    if points.is_empty() {
        Err(error(first + 1, "the file has no points below its heading line".into()))
    } else {
        Ok(points)
    }
}

/// The fields of a line: none of this layout holds a comma.
fn fields(line: &str) -> Vec<&str> {
    line.split(',').map(|field| field.trim().trim_matches('"')).collect()
}

/// The beginning of a word from a file.
fn short(text: &str) -> String {
    text.chars().take(24).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Metric, PartResult, Unit};

    const FILE: &str = "type,rd_percentage,pause,bandwidth_mean,bandwidth_std,latency_mean\n\
        DDR4,0,0,114.5,0.1,1963.6\nDDR4,0,1000,80.5,0.1,456.5\n\nDDR4,100,0,190.25,0.2,300\n";

    #[test]
    fn published_files_are_read_by_their_columns() {
        let points = read_mess(FILE).unwrap();
        assert_eq!(points.len(), 3);
        assert_eq!(
            points[1],
            MessPoint { kind: "DDR4".into(), read_percent: 0.0, pause: 1000.0, bandwidth: 80.5e9, latency_ns: 456.5 }
        );
        let newer = "read_pct_rounded,latency,bandwidth\r\n67,120.5,33\r\n";
        assert_eq!(read_mess(newer).unwrap()[0].latency_ns, 120.5);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, line, word) in [
            ("", 1, "empty"),
            ("a,b\n1,2\n", 1, "rd_percentage"),
            ("rd_percentage,bandwidth,latency\n", 1, "no point"),
            ("rd_percentage,bandwidth,latency\n50,1\n", 2, "2 fields"),
            ("rd_percentage,bandwidth,latency\n50,1,x\n", 2, "'x'"),
            ("rd_percentage,bandwidth,latency\n50,1,100\n50,NaN,100\n", 3, "'NaN'"),
            ("rd_percentage,bandwidth,latency\n150,1,100\n", 2, "0 to 100"),
            ("rd_percentage,bandwidth,latency\n50,1,0\n", 2, "above zero"),
        ] {
            let error = read_mess(text).unwrap_err();
            assert_eq!(error.line, line, "{text:?}");
            assert!(error.why.contains(word), "{error}");
        }
    }

    #[test]
    fn deviations_without_an_interval_come_of_the_range() {
        let labels = Labels::new().with_purpose(Purpose::Load).with_reads(100).with_pause(0);
        let (name, unit) = ("load".into(), Unit::BytesPerSecond);
        let rate = PartResult { name, unit, value: Some(1e10), min: None, max: None };
        let point = Observation {
            value: Some(155.0),
            min: Some(154.0),
            max: Some(158.0),
            parts: vec![rate],
            ..Observation::new("loaded", labels, Metric::Latency)
        };
        let mut run: Run = serde_json::from_str(include_str!("../../history/tests/fixtures/run-4.json")).unwrap();
        run.experiments.truncate(1);
        run.experiments[0].observations = vec![point];
        let text = mess(&run);
        assert!(text.lines().nth(1).unwrap().ends_with(",155,1,154,158"), "{text}");
        // Two experiments of a plan are two curves.
        run.experiments.push(run.experiments[0].clone());
        let text = mess(&run);
        let points = read_mess(&text).unwrap();
        assert_eq!(points.iter().map(|p| p.kind.as_str()).collect::<Vec<_>>(), ["-1", "-2"], "{text}");
    }
}
