//! Findings of a run in the text format of OpenMetrics, which node_exporter's textfile collector and Prometheus read:
//! gauges in base units (seconds, bytes), named after the quantity, with its labels.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tiermark_model::{Finding, Grade, Label, Run, Unit};

/// Renders a run. A finding without a number, or with one that is withheld, has no line.
pub fn openmetrics(run: &Run) -> String {
    // OpenMetrics requires that the lines of a metric family follow each other and that no line occurs twice; a reader
    // refuses a file that breaks this. The maps group the lines by family and keep one value for each set of labels.
    let mut families: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    let several = run.experiments.len() > 1;
    for (experiment, number) in run.experiments.iter().zip(1u32..) {
        for finding in &experiment.findings {
            let Some(value) =
                finding.value.filter(|value| value.is_finite() && finding.verdict.grade != Grade::Invalid)
            else {
                continue;
            };
            let (suffix, divisor) = base(finding.unit);
            let number = several.then_some(number);
            let labels = labels(finding, &experiment.request.probe, number);
            let family = families.entry(format!("tiermark_{}{suffix}", name(finding.metric.name()))).or_default();
            family.entry(labels).or_insert(value / divisor);
        }
    }
    let run_of = |value: f64| BTreeMap::from([(format!("title=\"{}\"", escaped(&run.title)), value)]);
    families.insert("tiermark_run_complete".to_owned(), run_of(f64::from(u8::from(run.complete))));
    families.insert("tiermark_run_duration_seconds".to_owned(), run_of(run.seconds));
    let mut out = String::new();
    for (family, lines) in families {
        let _ = writeln!(out, "# TYPE {family} gauge");
        for (labels, value) in lines {
            let _ = writeln!(out, "{family}{{{labels}}} {value}");
        }
    }
    out + "# EOF\n"
}

/// The suffix of a unit, and how many of ours it has.
fn base(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::Ns => ("_seconds", 1e9),
        Unit::BytesPerSecond => ("_bytes_per_second", 1.0),
        Unit::Bytes => ("_bytes", 1.0),
        Unit::Hz => ("_hertz", 1.0),
        Unit::Ratio => ("_ratio", 1.0),
        Unit::Count => ("", 1.0),
    }
}

/// The labels of a line: the probe, the grade, and those of the finding.
fn labels(finding: &Finding, probe: &str, experiment: Option<u32>) -> String {
    let text = |label: &Label| match label {
        Label::Whole(number) => number.to_string(),
        Label::Text(text) => text.clone(),
    };
    let own = finding.labels.0.iter().map(|(key, label)| (name(key), text(label)));
    let mut all: BTreeMap<String, String> = own.collect();
    all.insert("probe".to_owned(), probe.to_owned());
    all.insert("grade".to_owned(), finding.verdict.grade.to_string());
    all.extend(experiment.map(|number| ("experiment".to_owned(), number.to_string())));
    let pairs = all.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value)));
    pairs.collect::<Vec<_>>().join(",")
}

/// A name of letters, digits and underscores that begins with a letter.
pub(crate) fn name(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if plain.starts_with(|c: char| c.is_ascii_alphabetic()) { plain } else { format!("x{plain}") }
}

/// The value of a label: the format escapes three characters.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use tiermark_model::{Labels, Quantity};

    use super::*;

    #[test]
    fn families_are_gauges_in_base_units() {
        let finding = |value, tier: &str| {
            let labels = Labels::new().text(Labels::TIER, tier);
            Finding::new(Quantity::Latency, labels, value, Unit::Ns)
        };
        let mut withheld = finding(Some(1.0), "L3");
        withheld.verdict.grade = Grade::Invalid;
        let findings = vec![
            finding(Some(100.0), "DRAM"),
            finding(Some(2.0), "a\"\\\nb"),
            finding(Some(7.0), "DRAM"),
            finding(None, "L2"),
            finding(Some(f64::NAN), "L1"),
            withheld,
        ];
        let mut run: Run = serde_json::from_str(include_str!("../../history/tests/fixtures/run-2.json")).unwrap();
        run.experiments.truncate(1);
        run.experiments[0].request.probe = "latency".into();
        run.experiments[0].findings = findings;
        let text = openmetrics(&run);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "# TYPE tiermark_latency_seconds gauge");
        let of = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
        assert_eq!((of("tiermark_latency_seconds{"), of("# TYPE ")), (2, 3), "{text}");
        assert!(text.contains("probe=\"latency\",tier=\"a\\\"\\\\\\nb\"} 0.000000002"), "{text}");
        assert!(text.contains("tier=\"DRAM\"} 0.0000001\n"), "the first of two: {text}");
        assert_eq!(lines.last(), Some(&"# EOF"));
    }

    #[test]
    fn names_are_names() {
        assert_eq!(["c2c.pair", "1x", "µ"].map(name), ["c2c_pair", "x1x", "x_"]);
    }
}
