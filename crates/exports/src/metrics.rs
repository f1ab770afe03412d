//! The names of metrics that dashboards and alerts of users hold: they change only on purpose. Beside these there is one
//! for each figure of `watch` (`tiermark_watch_`, its path in the document, its unit) and for each quantity of a finding.

/// Tenants that a case has.
pub(crate) const TENANTS: &str = "tiermark_tenants";
/// Time to the answer of a request, from when it was due.
pub(crate) const REQUEST_LATENCY: &str = "tiermark_request_latency_seconds";
/// Time to the answer of a request, from when it was sent.
pub(crate) const REQUEST_SERVICE: &str = "tiermark_request_service_seconds";
/// Requests answered.
pub(crate) const REQUEST_RATE: &str = "tiermark_request_rate_per_second";
/// Share of the requests that were answered.
pub(crate) const REQUEST_ANSWERED: &str = "tiermark_request_answered_ratio";
/// Share of the GETs that found their key.
pub(crate) const REQUEST_HITS: &str = "tiermark_request_hits_ratio";
/// Share of the requests that were sent late.
pub(crate) const REQUEST_LATE: &str = "tiermark_request_late_ratio";
/// Share of the cpus that was busy.
pub(crate) const CPUS_BUSY: &str = "tiermark_cpus_busy_ratio";
/// The same, by tenants.
pub(crate) const CPUS_TENANTS: &str = "tiermark_cpus_tenants_ratio";
/// The same, by the client.
pub(crate) const CPUS_CLIENT: &str = "tiermark_cpus_client_ratio";
/// The same, by other programs.
pub(crate) const CPUS_OTHERS: &str = "tiermark_cpus_others_ratio";
/// Hosts in each state.
pub(crate) const FLEET_HOSTS: &str = "tiermark_fleet_hosts";
/// Kind and state of a host, in labels.
pub(crate) const FLEET_HOST_INFO: &str = "tiermark_fleet_host_info";
/// How far a figure of a host is from its peers.
pub(crate) const FLEET_DEVIATION: &str = "tiermark_fleet_deviation_ratio";
/// A figure of a host, in the unit of its label.
pub(crate) const FLEET_VALUE: &str = "tiermark_fleet_value";
/// Traffic of a memory channel.
pub(crate) const WATCH_MEMORY: &str = "tiermark_watch_memory_bytes_per_second";
/// The same, of the peak.
pub(crate) const WATCH_MEMORY_SHARE: &str = "tiermark_watch_memory_utilisation_ratio";
/// Traffic of a link between sockets.
pub(crate) const WATCH_LINK: &str = "tiermark_watch_link_bytes_per_second";
/// The same, of its rate.
pub(crate) const WATCH_LINK_SHARE: &str = "tiermark_watch_link_utilisation_ratio";
/// How a number was measured, in labels.
pub(crate) const FINDING_INFO: &str = "tiermark_finding_info";
/// What names a run, in labels.
pub(crate) const RUN_INFO: &str = "tiermark_run_info";
/// Whether no planned number is missing.
pub(crate) const RUN_COMPLETE: &str = "tiermark_run_complete";
/// Whether nothing was measured.
pub(crate) const RUN_SIMULATED: &str = "tiermark_run_simulated";
/// How long a run took.
pub(crate) const RUN_DURATION: &str = "tiermark_run_duration_seconds";
/// When a run began.
pub(crate) const RUN_TIMESTAMP: &str = "tiermark_run_timestamp_seconds";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    const ALL: [&str; 25] = [
        TENANTS,
        REQUEST_LATENCY,
        REQUEST_SERVICE,
        REQUEST_RATE,
        REQUEST_ANSWERED,
        REQUEST_HITS,
        REQUEST_LATE,
        CPUS_BUSY,
        CPUS_TENANTS,
        CPUS_CLIENT,
        CPUS_OTHERS,
        FLEET_HOSTS,
        FLEET_HOST_INFO,
        FLEET_DEVIATION,
        FLEET_VALUE,
        WATCH_MEMORY,
        WATCH_MEMORY_SHARE,
        WATCH_LINK,
        WATCH_LINK_SHARE,
        FINDING_INFO,
        RUN_INFO,
        RUN_COMPLETE,
        RUN_SIMULATED,
        RUN_DURATION,
        RUN_TIMESTAMP,
    ];
    /// Options of the playbooks and variables of inventories, which have the same prefix.
    const OPTIONS: [&str; 7] = [
        "tiermark_at",
        "tiermark_dist",
        "tiermark_folders",
        "tiermark_hosts",
        "tiermark_port",
        "tiermark_results",
        "tiermark_serial",
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
            ALL.contains(&name.as_str())
                || OPTIONS.contains(&name.as_str())
                || name.starts_with("tiermark_watch_")
                || is_of_quantity(name)
        };
        assert!(ALL.iter().filter(|name| named.contains(**name)).count() > 5, "{named:?}");
        let unknown: Vec<&String> = named.iter().filter(|name| !is_known(name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
