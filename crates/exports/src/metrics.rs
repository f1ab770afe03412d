//! The names of metrics that dashboards and alerts of users hold: they change only on purpose. Beside these there is one
//! for each figure of `watch` (`tiermark_watch_`, its path in the document, its unit) and for each quantity of a finding.

/// A metric: its name, and what it is.
#[derive(Clone, Copy)]
pub(crate) struct Metric<'a> {
    pub(crate) name: &'a str,
    pub(crate) help: &'static str,
}

/// The metrics, each with its help.
macro_rules! metrics {
    ($($metric:ident = $name:literal: $help:literal,)+) => {
        $(#[doc = $help] pub(crate) const $metric: Metric<'static> = Metric { name: $name, help: $help };)+

        /// All of them.
        #[cfg(test)]
        const ALL: &[Metric<'static>] = &[$($metric),+];
    };
}

metrics! {
    TENANTS = "tiermark_tenants": "Tenants that a case holds.",
    REQUEST_LATENCY = "tiermark_request_latency_seconds": "Time from when a request was due to its answer.",
    REQUEST_SERVICE = "tiermark_request_service_seconds": "Time from when a request was sent to its answer.",
    REQUEST_RATE = "tiermark_request_rate_per_second": "Requests answered in a second.",
    REQUEST_ANSWERED = "tiermark_request_answered_ratio": "Share of the requests that were answered.",
    REQUEST_HITS = "tiermark_request_hits_ratio": "Share of the GETs that found their key.",
    REQUEST_LATE = "tiermark_request_late_ratio": "Share of the requests that were sent after they were due.",
    CPUS_BUSY = "tiermark_cpus_busy_ratio": "Share of the cpus that was busy.",
    CPUS_TENANTS = "tiermark_cpus_tenants_ratio": "Share of the cpus that tenants kept busy.",
    CPUS_CLIENT = "tiermark_cpus_client_ratio": "Share of the cpus that the client kept busy.",
    CPUS_OTHERS = "tiermark_cpus_others_ratio": "Share of the cpus that other programs kept busy.",
    FLEET_HOSTS = "tiermark_fleet_hosts": "Number of hosts in each state.",
    FLEET_HOST_INFO = "tiermark_fleet_host_info": "Kind and state of a host, and whether it is worse than its peers, in labels; always 1.",
    FLEET_DEVIATION = "tiermark_fleet_deviation_ratio":
        "How far a figure of a host is from the median of its peers; 0.1 is 10 % above it.",
    FLEET_VALUE = "tiermark_fleet_value": "Figure of a host, in the unit of its label.",
    FLEET_TIMESTAMP = "tiermark_fleet_host_timestamp_seconds":
        "When the run of a host began, in seconds since 1970.",
    WATCH_MEMORY = "tiermark_watch_memory_bytes_per_second": "Traffic of a memory channel.",
    WATCH_MEMORY_SHARE = "tiermark_watch_memory_utilisation_ratio":
        "Traffic of a memory channel as a share of its peak.",
    WATCH_LINK = "tiermark_watch_link_bytes_per_second": "Traffic of a link between sockets.",
    WATCH_LINK_SHARE = "tiermark_watch_link_utilisation_ratio":
        "Traffic of a link between sockets as a share of its rate.",
    WATCH_TIMESTAMP = "tiermark_watch_timestamp_seconds": "When the sample was taken, in seconds since 1970.",
    WATCH_SIMULATED = "tiermark_watch_simulated": "1 if the machine is simulated: nothing was measured.",
    FINDING_INFO = "tiermark_finding_info": "How a number was measured, in labels; always 1.",
    RUN_INFO = "tiermark_run_info": "Names of a run, in labels; always 1.",
    RUN_COMPLETE = "tiermark_run_complete": "1 if no planned number is missing, else 0.",
    RUN_SIMULATED = "tiermark_run_simulated": "1 if the machine was simulated, else 0.",
    RUN_DURATION = "tiermark_run_duration_seconds": "How long a run took.",
    RUN_TIMESTAMP = "tiermark_run_timestamp_seconds": "When a run began, in seconds since 1970.",
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    /// Options of the playbooks and variables of inventories, which have the same prefix.
    const OPTIONS: [&str; 7] = [
        "tiermark_at",
        "tiermark_dist",
        "tiermark_hosts",
        "tiermark_port",
        "tiermark_results",
        "tiermark_serial",
        "tiermark_soak",
    ];

    /// The texts that name metrics: the dashboard and the documents.
    fn texts() -> Vec<PathBuf> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let of = |folder: &str| std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let is_text = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "md" || kind == "json");
        ["docs", "docs/methods", "fleet/grafana"].into_iter().flat_map(of).filter(is_text).collect()
    }

    #[test]
    fn dashboards_and_documents_name_metrics_that_there_are() {
        let mut named = BTreeSet::new();
        for path in texts() {
            let text = std::fs::read_to_string(&path).unwrap();
            let word = |at: usize| text[at..].split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap();
            named.extend(text.match_indices("tiermark_").map(|(at, _)| word(at).to_owned()));
        }
        let is_of_quantity = |name: &str| {
            let is_of = |quantity: &tiermark_model::Quantity| {
                name.starts_with(&format!("tiermark_{}", crate::openmetrics::name(quantity.name())))
            };
            tiermark_model::Quantity::ALL.iter().any(is_of)
        };
        let is_known = |name: &String| {
            ALL.iter().any(|metric| metric.name == name)
                || OPTIONS.contains(&name.as_str())
                || name.starts_with("tiermark_watch_")
                || is_of_quantity(name)
        };
        assert!(ALL.iter().filter(|metric| named.contains(metric.name)).count() > 5, "{named:?}");
        let unknown: Vec<&String> = named.iter().filter(|name| !is_known(name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
