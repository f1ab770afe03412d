//! Findings of a run in the text format of OpenMetrics, which node_exporter's textfile collector and Prometheus read:
//! gauges in base units (seconds, bytes), named after the quantity. Their labels name what is measured, so that a
//! figure is one series over all runs; how it was measured is in labels of `tiermark_finding_info`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;

use tiermark_model::{
    Experiment, FigureName, Finding, Grade, HOST_LABEL, Label, LabelSet, Purpose, Run, RunLabels, Unit,
};
use tiermark_page::clean;

use crate::metrics::{self, Metric};

/// Labels that say how a number was measured in one run, beside its grade.
const OF_THE_RUN: LabelSet = LabelSet::NONE.cpus().limit();
/// Figures that differ by their sizes.
const SIZED: [Purpose; 3] = [Purpose::Table, Purpose::Os, Purpose::OsPoint];

/// Renders a run. A finding without a number, or with one that is withheld, has no line.
pub fn openmetrics(run: &Run) -> String {
    let mut families = Families::new();
    for (at, experiment) in run.experiments.iter().enumerate() {
        let again = again(&run.experiments[..at], experiment);
        for finding in &experiment.findings {
            let Some(value) =
                finding.value.filter(|value| value.is_finite() && finding.verdict.grade != Grade::Invalid)
            else {
                continue;
            };
            let (suffix, divisor) = base(finding.unit);
            let (mut of, mut how) = labels(finding, &experiment.request.probe, again);
            let figure = FigureName::of(finding, &experiment.request.scope, &run.machine);
            how.extend(figure.map(|figure| ("figure".to_owned(), figure.to_string())));
            of.extend(run.simulated.is_some().then(|| ("simulated".to_owned(), "true".to_owned())));
            let metric = format!("tiermark_{}{suffix}", name(finding.quantity.name()));
            let metric = Metric { name: &metric, help: finding.quantity.about() };
            add(&mut families, metric, value / divisor, of, how);
        }
    }
    let about = AboutRun {
        id: &run.id,
        host: run.host(),
        labels: &run.labels,
        title: &run.title,
        started: &run.started,
        is_complete: run.complete,
        is_simulated: run.simulated.is_some(),
        seconds: Some(run.seconds),
    };
    add_run(&mut families, &about);
    written(families)
}

/// Adds a figure: of two with the same labels the first stands, with its own info.
pub(crate) fn add(families: &mut Families, metric: Metric<'_>, value: f64, of: Named, mut how: Named) {
    if add_gauge(families, metric, &of, value) {
        how.extend(of);
        how.insert("metric".to_owned(), metric.name.to_owned());
        add_gauge(families, metrics::FINDING_INFO, &how, 1.0);
    }
}

/// What is said of a run of any kind.
pub(crate) struct AboutRun<'a> {
    pub(crate) id: &'a str,
    /// Name of the host, where known.
    pub(crate) host: Option<&'a str>,
    /// Labels that the user gave.
    pub(crate) labels: &'a RunLabels,
    pub(crate) title: &'a str,
    pub(crate) started: &'a str,
    pub(crate) is_complete: bool,
    pub(crate) is_simulated: bool,
    /// Its length; `None` where the document does not say.
    pub(crate) seconds: Option<f64>,
}

/// Adds what is said of the run itself.
pub(crate) fn add_run(families: &mut Families, run: &AboutRun<'_>) {
    let mut named = Named::from([("title".to_owned(), run.title.to_owned()), ("run".to_owned(), run.id.to_owned())]);
    named.extend(run.host.map(|host| ("host".to_owned(), host.to_owned())));
    let own = run.labels.iter().filter(|(key, _)| *key != HOST_LABEL);
    named.extend(own.map(|(key, value)| (format!("label_{}", name(key)), value.clone())));
    add_gauge(families, metrics::RUN_INFO, &named, 1.0);
    let flag = |is_so: bool| Some(f64::from(u8::from(is_so)));
    let title = Named::from([("title".to_owned(), run.title.to_owned())]);
    for (metric, value) in [
        (metrics::RUN_COMPLETE, flag(run.is_complete)),
        (metrics::RUN_SIMULATED, flag(run.is_simulated)),
        (metrics::RUN_DURATION, run.seconds),
        (metrics::RUN_TIMESTAMP, unix_seconds(run.started)),
    ] {
        if let Some(value) = value {
            add_gauge(families, metric, &title, value);
        }
    }
}

/// Adds a line to a family, and returns whether it is new: of two with the same labels the first stands.
pub(crate) fn add_gauge(families: &mut Families, metric: Metric<'_>, labels: &Named, value: f64) -> bool {
    let new = || Family { help: metric.help, lines: BTreeMap::new() };
    match families.entry(metric.name.to_owned()).or_insert_with(new).lines.entry(joined(labels)) {
        Entry::Vacant(line) => {
            line.insert(value);
            true
        }
        Entry::Occupied(_) => false,
    }
}

/// Families by name: OpenMetrics requires that the lines of a family follow each other.
pub(crate) type Families = BTreeMap<String, Family>;

/// A metric with its lines, by their labels: no line may occur twice.
pub(crate) struct Family {
    help: &'static str,
    lines: BTreeMap<String, f64>,
}

/// Families as text.
pub(crate) fn written(families: Families) -> String {
    let mut out = String::new();
    for (name, Family { help, lines }) in families {
        begin(&mut out, &name, help);
        for (labels, value) in lines {
            let _ = writeln!(out, "{name}{{{labels}}} {value}");
        }
    }
    out + "# EOF\n"
}

/// Writes the head of a family. Its lines are gauges: rates and shares are made already.
pub(crate) fn begin(out: &mut String, name: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge");
}

/// The suffix of a unit, and how many of ours it has.
pub(crate) fn base(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::Ns => ("_seconds", 1e9),
        Unit::BytesPerSecond => ("_bytes_per_second", 1.0),
        Unit::Bytes => ("_bytes", 1.0),
        Unit::Hz => ("_hertz", 1.0),
        Unit::PerSecond => ("_per_second", 1.0),
        Unit::Cycles => ("_cycles", 1.0),
        Unit::BytesPerCycle => ("_bytes_per_cycle", 1.0),
        Unit::Ratio => ("_ratio", 1.0),
        Unit::Count => ("", 1.0),
    }
}

/// The number of an experiment among those of its probe, from the second on.
fn again(before: &[Experiment], experiment: &Experiment) -> Option<usize> {
    let alike = before.iter().filter(|other| other.request.probe == experiment.request.probe).count();
    (alike > 0).then_some(alike + 1)
}

/// Names and values of labels.
pub(crate) type Named = BTreeMap<String, String>;

/// The labels of a finding that say what was measured, with its probe, and those that say how.
fn labels(finding: &Finding, probe: &str, again: Option<usize>) -> (Named, Named) {
    let own = &finding.labels;
    // Footprints follow from caches and free memory, except where figures of several sizes are what is measured.
    let is_sized = SIZED.iter().any(|purpose| own.is_for(*purpose)) || finding.quantity.is_over_a_range();
    let of_the_run = OF_THE_RUN.and_if(!is_sized, LabelSet::NONE.size());
    // Where no operation says what a kernel does, its name does.
    let of_the_run = of_the_run.and_if(own.op().is_some(), LabelSet::NONE.kernel());
    let (how, of): (Named, Named) = {
        let (how, of): (Vec<_>, Vec<_>) = own.iter().partition(|(key, _)| of_the_run.has_name(key));
        let named = |(key, label): (&str, &Label)| (name(key), text(label));
        (how.into_iter().map(named).collect(), of.into_iter().map(named).collect())
    };
    let (mut how, mut of) = (how, of);
    of.insert("probe".to_owned(), probe.to_owned());
    of.extend(again.map(|number| ("experiment".to_owned(), number.to_string())));
    how.insert("grade".to_owned(), finding.verdict.grade.to_string());
    (of, how)
}

/// The value of a label.
pub(crate) fn text(label: &Label) -> String {
    match label {
        Label::Whole(number) => number.to_string(),
        Label::Text(text) => text.clone(),
    }
}

fn joined(labels: &Named) -> String {
    let pairs = labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value)));
    pairs.collect::<Vec<_>>().join(",")
}

/// The seconds since 1970 of a start as documents have it: `2026-01-31T12:00:00Z`.
pub(crate) fn unix_seconds(started: &str) -> Option<f64> {
    let (date, time) = started.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, between: char| -> Option<[f64; 3]> {
        let all: Vec<u32> = text.split(between).map(str::parse).collect::<Result<_, _>>().ok()?;
        <[u32; 3]>::try_from(all).ok().map(|three| three.map(f64::from))
    };
    let whole = time.split_once('.').map_or(time, |(whole, _)| whole);
    let ([year, month, day], [hours, minutes, seconds]) = (numbers(date, '-')?, numbers(whole, ':')?);
    // Days from civil date: years begin in March, so that the leap day is the last (Hinnant 2013).
    let year = if month <= 2.0 { year - 1.0 } else { year };
    let (month, leaps) = ((month + 9.0) % 12.0, (year / 4.0).floor() - (year / 100.0).floor() + (year / 400.0).floor());
    let days = 365.0 * year + leaps + ((153.0 * month + 2.0) / 5.0).floor() + day - 1.0 - 719_468.0;
    Some(days * 86_400.0 + hours * 3600.0 + minutes * 60.0 + seconds)
}

/// A name of letters, digits and underscores that begins with a letter.
pub(crate) fn name(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if plain.starts_with(|c: char| c.is_ascii_alphabetic()) { plain } else { format!("x{plain}") }
}

/// The value of a label without control characters, of which a terminal would do what they say.
pub(crate) fn escaped(text: &str) -> String {
    clean(text).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use tiermark_model::{Labels, Quantity, Tier};

    use super::*;

    #[test]
    fn families_are_gauges_in_base_units() {
        let finding = |value, tier: &str| {
            let labels = Labels::new().with_tier_name(tier);
            Finding::new(Quantity::Latency, labels, value, Unit::Ns)
        };
        let mut withheld = finding(Some(1.0), "L3");
        withheld.verdict.grade = Grade::Invalid;
        let findings = vec![
            finding(Some(100.0), "DRAM"),
            finding(Some(2.0), "a\"\\\n\u{1b}b"),
            finding(Some(7.0), "DRAM"),
            finding(None, "L2"),
            finding(Some(f64::NAN), "L1"),
            withheld,
        ];
        let mut run: Run = serde_json::from_str(include_str!("../../history/tests/fixtures/run-4.json")).unwrap();
        run.experiments.truncate(1);
        run.experiments[0].request.probe = "latency".into();
        run.experiments[0].findings = findings;
        run.simulated = None;
        let text = openmetrics(&run);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.contains(&"# TYPE tiermark_latency_seconds gauge"), "{text}");
        assert!(lines.contains(&"# HELP tiermark_latency_seconds Time of one access."), "{text}");
        let of = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
        assert_eq!((of("tiermark_latency_seconds{"), of("tiermark_finding_info{")), (2, 2), "{text}");
        assert!(text.contains("probe=\"latency\",tier=\"a\\\"\\\\ \u{fffd}b\"} 0.000000002"), "{text}");
        assert!(text.contains("metric=\"tiermark_latency_seconds\",probe=\"latency\",tier=\"DRAM\"} 1\n"), "{text}");
        assert!(text.contains("tier=\"DRAM\"} 0.0000001\n"), "the first of two: {text}");
        assert_eq!(lines.last(), Some(&"# EOF"));
    }

    /// What a run chooses or finds out is in no series: the same figure of another run goes on with the same one.
    #[test]
    fn a_series_names_what_is_measured() {
        let made = |kernel: &str, size: u64, grade| {
            let labels = Labels::new().with_tier(Tier::Dram).with_op("write").with_cpus(kernel);
            let labels = labels.with_kernel(kernel).with_size(size).with_span(tiermark_model::Span::One);
            let labels = labels.with_purpose(Purpose::Ladder);
            let mut finding = Finding::new(Quantity::Bandwidth, labels, Some(1e9), Unit::BytesPerSecond);
            finding.verdict.grade = grade;
            let mut run: Run = serde_json::from_str(include_str!("../../history/tests/fixtures/run-4.json")).unwrap();
            run.experiments.truncate(1);
            run.experiments[0].findings = vec![finding];
            run.simulated = None;
            run.labels =
                [("host", "node07"), ("rack.row", "3")].map(|(key, of)| (key.to_owned(), of.to_owned())).into();
            run
        };
        let rate = |run: &Run| {
            let text = openmetrics(run);
            text.lines().find(|line| line.starts_with("tiermark_bandwidth")).map(str::to_owned).unwrap()
        };
        let mut run = made("fill.rep/stosq", 1 << 30, Grade::Trusted);
        let first = rate(&run);
        assert_eq!(first, rate(&made("write.nt/avx512", 1 << 29, Grade::Bound)));
        assert!(!first.contains("simulated"), "{first}");
        let info = openmetrics(&run);
        assert!(
            info.contains("figure=\"write.dram.one\",grade=\"trusted\",kernel=\"fill.rep/stosq\",metric="),
            "{info}"
        );
        assert!(info.contains("tiermark_run_info{host=\"node07\",label_rack_row=\"3\",run=\""), "{info}");
        run.simulated = Some("synth:".into());
        run.started = "2026-03-01T12:30:05Z".into();
        let text = openmetrics(&run);
        assert!(rate(&run).contains("simulated=\"true\",span=\"one\",tier=\"DRAM\""), "{text}");
        assert!(text.contains("tiermark_run_simulated{title=\""), "{text}");
        assert!(
            text.lines()
                .any(|line| line.starts_with("tiermark_run_timestamp_seconds{") && line.ends_with("} 1772368205"))
        );
        // Nor does another footprint in a cache make a series; a size that the user named does.
        let mut sized = |purpose, size| {
            let labels = Labels::new().with_tier(Tier::Cache(2)).with_size(size).with_purpose(purpose);
            run.experiments[0].findings[0].labels = labels;
            rate(&run)
        };
        assert_eq!(sized(Purpose::Ladder, 1 << 17), sized(Purpose::Ladder, 1 << 16));
        assert_ne!(sized(Purpose::Table, 1 << 17), sized(Purpose::Table, 1 << 16));
        run.experiments.push(run.experiments[0].clone());
        assert!(openmetrics(&run).contains("experiment=\"2\""));
    }

    #[test]
    fn starts_are_seconds_since_1970() {
        let at = |text| unix_seconds(text);
        assert_eq!(at("1970-01-01T00:00:00Z"), Some(0.0));
        assert_eq!(at("2000-02-29T23:59:59Z"), Some(951_868_799.0));
        assert_eq!([at(""), at("yesterday"), at("2026-01-01T00:00Z"), at("2026-01-01T00:00:00")], [None; 4]);
    }

    #[test]
    fn names_are_names() {
        assert_eq!(["c2c.pair", "1x", "µ"].map(name), ["c2c_pair", "x1x", "x_"]);
    }
}
