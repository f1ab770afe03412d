//! The pages of topics: methods, and what users look for by another word.

use tiermark_model::Exit;

use super::scenario;

/// A page by all its names.
struct TopicPage {
    names: &'static [&'static str],
    text: &'static str,
}

macro_rules! pages {
    ($($($name:literal),+ => $file:literal;)+) => {
        &[$(TopicPage { names: &[$($name),+], text: include_str!(concat!("../../../../../docs/", $file)) }),+]
    };
}

/// Pages of topics that are not probes.
const PAGES: &[TopicPage] = pages! {
    "capacity" => "methods/capacity.md";
    "check" => "methods/check.md";
    // A baseline is for comparisons.
    "compare", "baseline" => "methods/compare.md";
    "doctor" => "methods/doctor.md";
    "explain" => "methods/explain.md";
    "fleet" => "methods/fleet.md";
    "history" => "methods/history.md";
    "watch" => "methods/watch.md";
    "load" => "methods/load.md";
    "machine" => "methods/machine.md";
    "numbers" => "methods/numbers.md";
    "prices" => "methods/prices.md";
    "report", "html" => "methods/report.md";
    "runs" => "methods/runs.md";
    "selftest" => "methods/selftest.md";
    "tune" => "methods/tune.md";
    "counters" => "COUNTERS.md";
    "plans" => "methods/plans.md";
    "analysis", "csv", "json", "json-rows", "openmetrics", "prometheus", "grafana", "pandas", "jq" => "ANALYSE.md";
    "security" => "SECURITY.md";
};

const EXITS: [&str; 4] = ["exit codes", "exit-codes", "exit code", "exit"];

/// The name of each page.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PAGES.iter().flat_map(|page| page.names.iter().copied()).chain([scenario::TOPIC, EXITS[0]])
}

/// The page of a method or of another topic.
pub(in crate::commands) fn page(topic: &str, command: &clap::Command) -> Option<String> {
    let of_probe = tiermark_probes::find(topic)
        .map(|probe| format!("{}\n\nMethod version {}.", probe.page.trim_end(), probe.method));
    let of_file = || PAGES.iter().find(|page| page.names.contains(&topic)).map(|page| page.text.to_owned());
    let generated = || match topic {
        scenario::TOPIC => Some(scenario::page(command)),
        _ => EXITS.contains(&topic).then(exits),
    };
    of_probe.or_else(of_file).or_else(generated)
}

/// The exit codes.
fn exits() -> String {
    let rows: String = Exit::table().iter().map(|(codes, meaning)| format!("| {codes} | {meaning} |\n")).collect();
    format!("# Exit codes\n\n| code | meaning |\n|---:|---|\n{rows}")
}
