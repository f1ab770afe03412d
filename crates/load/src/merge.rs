//! Documents of loads that several clients measured at the same time, as one document.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;
use tiermark_model::load::{LoadClient, LoadLatencies, LoadPart, LoadRun, LoadTenant};
use tiermark_model::messages::load as says;
use tiermark_model::{Refusal, RunLabels};

use crate::document::tenant;
use crate::histogram::Latencies;
use crate::tally::{TenantResult, pooled};

/// Clients that began further apart were not all busy in the first of their windows, which are a second long.
const TOGETHER_MS: i64 = 1000;

/// What one client measured, and what its document is called.
struct Part<'a> {
    name: &'a str,
    run: &'a LoadRun,
    measured: &'a LoadPart,
    started: Timestamp,
}

/// Documents of one load from several clients, which started together, as the document of one client with all tenants:
/// counts are added, histograms merged, percentiles taken from the merged histograms. Each document has a name, which is
/// the host of its tenants if it has no label `host`. Labels that all have stay; fills are left out.
///
/// # Errors
/// A [`Refusal`] of a document without a complete measurement, its start or its histograms, of another load than that of
/// the first, and of a tenant that two documents have.
pub fn merged(named: &[(String, LoadRun)], command: Vec<String>) -> Result<LoadRun, Refusal> {
    let parts = named.iter().map(|(name, run)| Part::of(name, run)).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = parts.first() else { return Err(says::no_target()) };
    for part in &parts[1..] {
        let differs = differences(first.run, part.run);
        if !differs.is_empty() {
            return Err(says::merge_of_another_load(first.name, part.name, &differs));
        }
    }
    let (mut results, mut tenants) = (Vec::new(), Vec::new());
    for part in &parts {
        for seen in &part.measured.tenants {
            results.push(result(seen).ok_or_else(|| says::merge_without_histograms(part.name))?);
            let host = seen.host.as_deref().or(part.run.host()).unwrap_or(part.name);
            tenants.push(LoadTenant { host: Some(host.to_owned()), ..seen.clone() });
        }
    }
    let mut found = BTreeSet::new();
    if let Some(twice) = tenants.iter().find(|one| !found.insert((&one.host, &one.target))) {
        return Err(says::merge_twice(twice.host.as_deref().unwrap_or_default(), &twice.target));
    }
    let of_all = first.run.workload.planned().map(|planned| planned * tenants.len() as f64);
    let cpu: Vec<f64> = parts.iter().flat_map(|part| part.measured.client_cpu_seconds.iter().copied()).collect();
    let all = tenant("all", &pooled(&results), of_all, true);
    let measured = LoadPart {
        stopped: false,
        started: parts.iter().min_by_key(|part| part.started).and_then(|part| part.measured.started.clone()),
        tenants,
        client_wall_seconds: parts.iter().map(|part| part.measured.client_wall_seconds).fold(0.0, f64::max),
        client_cpu_seconds_per_request: (all.done > 0).then(|| cpu.iter().sum::<f64>() / all.done as f64),
        client_cpu_seconds: cpu,
        all,
    };
    let mut run = LoadRun { command, labels: labels(&parts), client: client(&parts), ..first.run.clone() };
    (run.fill, run.measured) = (None, Some(measured));
    run.warnings.extend(apart(&parts));
    for warning in parts[1..].iter().flat_map(|part| &part.run.warnings) {
        if !run.warnings.contains(warning) {
            run.warnings.push(warning.clone());
        }
    }
    Ok(run.judged())
}

impl<'a> Part<'a> {
    fn of(name: &'a str, run: &'a LoadRun) -> Result<Self, Refusal> {
        let measured = run.measured.as_ref().filter(|part| run.complete && !part.stopped);
        let measured = measured.ok_or_else(|| says::merge_unmeasured(name))?;
        let started = measured.started.as_ref().and_then(|text| text.parse().ok());
        Ok(Self { name, run, measured, started: started.ok_or_else(|| says::merge_without_start(name))? })
    }
}

/// The parts of the load that differ, by their names in documents. Each client may draw other requests, and `late_after`
/// decides what the counts of late requests mean.
fn differences(one: &LoadRun, other: &LoadRun) -> Vec<String> {
    let fields = |run: &LoadRun| {
        let asked = serde_json::to_value(&run.workload).ok();
        let mut fields = asked.and_then(|value| value.as_object().cloned()).unwrap_or_default();
        fields.remove("seed");
        fields.insert("late_after_seconds".to_owned(), Value::from(run.client.late_after_seconds));
        fields
    };
    let (one, other) = (fields(one), fields(other));
    let differs = one.iter().filter(|(name, value)| other.get(name.as_str()) != Some(value));
    differs.map(|(name, value)| format!("{name} {value} and {}", other.get(name).unwrap_or(&Value::Null))).collect()
}

/// What a tenant's results are made of; `None` if they have no histograms.
fn result(seen: &LoadTenant) -> Option<TenantResult> {
    let latencies = |of: &LoadLatencies| Latencies::try_from(of.histogram.clone()?).ok();
    Some(TenantResult {
        response: latencies(&seen.response)?,
        service: latencies(&seen.service)?,
        seconds: seen.seconds,
        scheduled: seen.scheduled,
        sent: seen.sent,
        done: seen.done,
        done_in_time: seen.done_in_time,
        gets: seen.gets,
        sets: seen.sets,
        errors: seen.errors,
        first_error: seen.first_error.clone(),
        misses: seen.misses,
        mismatches: seen.mismatches,
        late: seen.late,
        max_late_ns: seen.max_late_ns,
        late_answers: seen.late_answers,
        held: seen.held,
        overloads: seen.overloads,
        starved: seen.starved,
        unsent: seen.unsent,
        unanswered: seen.unanswered,
        windows: seen.windows.clone(),
        fault: seen.fault.clone(),
        // What documents do not keep is not used for the document of all.
        ..TenantResult::default()
    })
}

/// The labels that all documents have.
fn labels(parts: &[Part<'_>]) -> RunLabels {
    let in_all = |(key, value): &(&String, &String)| parts.iter().all(|part| part.run.labels.get(*key) == Some(*value));
    let first = parts.iter().take(1).flat_map(|part| &part.run.labels);
    first.filter(in_all).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The clients as one: its threads are those of all, and its cpus, which are of several machines, have no numbers.
fn client(parts: &[Part<'_>]) -> LoadClient {
    let threads = parts.iter().map(|part| part.run.client.threads).sum();
    LoadClient { threads, cpus: Vec::new(), ..parts[0].run.client.clone() }
}

/// The warning of clients that did not start together.
fn apart(parts: &[Part<'_>]) -> Option<tiermark_model::Warning> {
    let host = |part: &Part<'_>| part.run.host().unwrap_or(part.name).to_owned();
    let first = parts.iter().min_by_key(|part| part.started)?;
    let last = parts.iter().max_by_key(|part| part.started)?;
    let between = last.started.as_millisecond() - first.started.as_millisecond();
    (between > TOGETHER_MS).then(|| says::clients_apart(between as f64 / 1e3, &host(first), &host(last)))
}

#[cfg(test)]
mod tests {
    use tiermark_model::Tool;
    use tiermark_model::load::LoadRun;
    use tiermark_model::messages::load::codes;
    use tiermark_stats::Rng;

    use super::*;
    use crate::document::Job;
    use crate::run::Outcome;
    use crate::target::Target;
    use crate::workload::{ClientSetup, Workload};

    /// A tenant with latencies from 100 ns to 10 s, and counts that differ from those of others.
    fn seen(number: u64) -> TenantResult {
        let mut rng = Rng::new(number);
        let mut seen = TenantResult { seconds: 10.0, scheduled: 5000 + number, ..TenantResult::default() };
        for at in 0..5000 {
            let ns = (100.0 * 10f64.powf(8.0 * rng.unit().powi(3))) as u64;
            seen.service.record(ns);
            seen.response.record(ns + 7 * number);
            seen.answered(at * 2_000_000, ns);
        }
        (seen.sent, seen.done, seen.done_in_time) = (5000, 5000, 4990 - number);
        (seen.gets, seen.sets, seen.late, seen.max_late_ns) = (3000, 2000, number, 1000 * number);
        seen
    }

    /// The document of a client with these tenants, which started so many ms after a moment, as it is read from a file.
    fn run(tenants: &[u64], after_ms: i64) -> LoadRun {
        let target = |number: &u64| Target::new(format!("127.0.0.1:{}", 6379 + number % 2).parse().unwrap());
        let outcome = Outcome {
            tenants: tenants.iter().map(|number| seen(*number)).collect(),
            thread_cpu: tenants.iter().map(|_| 0.5).collect(),
            wall: 10.0,
            stopped: false,
            started_ms: Some(1_795_000_000_000 + after_ms),
        };
        let job = Job {
            id: "run".into(),
            started: "2026-11-28T02:00:00Z".into(),
            tool: Tool::default(),
            targets: tenants.iter().map(target).collect(),
            workload: Workload::default(),
            client: ClientSetup { threads: tenants.len(), ..ClientSetup::default() },
            warmup: 1.0,
            histograms: true,
            labels: RunLabels::new(),
            warnings: Vec::new(),
            filled: None,
            measured: Some(outcome),
        };
        let text = serde_json::to_vec(&job.document(std::iter::empty(), true)).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    fn named(runs: impl IntoIterator<Item = LoadRun>) -> Vec<(String, LoadRun)> {
        runs.into_iter().zip(1..).map(|(run, number)| (format!("vm{number}"), run)).collect()
    }

    #[test]
    fn clients_apart_merge_to_the_document_of_one_client() {
        let one = run(&[1, 2, 3, 4, 5], 0);
        let own = named([run(&[1, 2], 0), run(&[3], 20), run(&[4, 5], 40)]);
        let mut merged = merged(&own, Vec::new()).unwrap();
        let hosts: Vec<Option<String>> =
            merged.measured.iter_mut().flat_map(|part| &mut part.tenants).map(|tenant| tenant.host.take()).collect();
        assert_eq!(hosts, ["vm1", "vm1", "vm2", "vm3", "vm3"].map(|host| Some(host.to_owned())));
        assert_eq!(merged, one);
        // A percentile of all lies nowhere near the mean of the tenants' percentiles.
        let part = merged.measured.unwrap();
        let mean = part.tenants.iter().filter_map(|tenant| tenant.response.p999).sum::<u64>() / 5;
        assert!(part.all.response.p999.unwrap().abs_diff(mean) > mean / 100, "{mean}");
    }

    #[test]
    fn a_merged_document_can_be_merged_again() {
        let all = merged(&named([run(&[1], 0), run(&[2], 0), run(&[3], 0)]), Vec::new()).unwrap();
        let two = merged(&named([run(&[1], 0), run(&[2], 0)]), Vec::new()).unwrap();
        let again = merged(&[("two".to_owned(), two), ("vm3".to_owned(), run(&[3], 0))], Vec::new()).unwrap();
        assert_eq!(again, all);
    }

    #[test]
    fn labels_and_hosts_are_kept_and_a_late_client_is_named() {
        let labelled = |number: u64, after: i64| {
            let labels = [("host", format!("node0{number}")), ("rack", "7".to_owned())];
            let labels = labels.map(|(key, value)| (key.to_owned(), value));
            LoadRun { labels: labels.into(), ..run(&[number], after) }
        };
        let together = merged(&named([labelled(1, 0), labelled(2, 1000)]), Vec::new()).unwrap();
        assert_eq!(together.labels, [("rack".to_owned(), "7".to_owned())].into());
        assert_eq!(together.measured.unwrap().names(), ["node01", "node02"]);
        assert!(together.warnings.is_empty());
        let apart = merged(&named([labelled(1, 3200), labelled(2, 0)]), Vec::new()).unwrap();
        let [warning] = apart.warnings.as_slice() else { panic!("{:?}", apart.warnings) };
        assert!(warning.text.starts_with("the clients began 3.2 s apart, node02 first and node01 last"), "{warning:?}");
    }

    #[test]
    fn what_cannot_be_merged_is_refused() {
        let with = |change: fn(&mut LoadRun)| {
            let mut other = run(&[2], 0);
            change(&mut other);
            merged(&named([run(&[1], 0), other]), Vec::new()).map(drop).map_err(|refusal| refusal.code)
        };
        fn part(run: &mut LoadRun) -> &mut LoadPart {
            run.measured.as_mut().unwrap()
        }
        assert_eq!(with(|run| run.workload.seed += 1), Ok(()));
        assert_eq!(with(|run| run.complete = false), Err(codes::merge_unmeasured));
        assert_eq!(with(|run| run.measured = None), Err(codes::merge_unmeasured));
        assert_eq!(with(|run| part(run).stopped = true), Err(codes::merge_unmeasured));
        assert_eq!(with(|run| part(run).started = None), Err(codes::merge_without_start));
        assert_eq!(with(|run| part(run).tenants[0].service.histogram = None), Err(codes::merge_without_histograms));
        assert_eq!(with(|run| run.workload.keys += 1), Err(codes::merge_of_another_load));
        assert_eq!(with(|run| run.client.late_after_seconds = 1.0), Err(codes::merge_of_another_load));
        let twice = [("vm1".to_owned(), run(&[1], 0)), ("vm1".to_owned(), run(&[1], 0))];
        assert_eq!(merged(&twice, Vec::new()).unwrap_err().code, codes::merge_twice);
    }
}
