//! The document of a load: the workload, and the results of each tenant, in base units.

use jiff::Timestamp;
use tiermark_model::load::{
    LOAD_SCHEMA, LoadClient, LoadLatencies, LoadLoop, LoadPart, LoadRun, LoadTenant, LoadWorkload,
};
use tiermark_model::{RunLabels, Tool, Warning};

use crate::histogram::Latencies;
use crate::keys::KeyOrder;
use crate::run::Outcome;
use crate::schedule::Arrivals;
use crate::tally::{TenantResult, pooled};
use crate::target::Target;
use crate::values::SizeOrder;
use crate::workload::{ClientSetup, Length, Pace, Workload};

/// A load, and the parts of it that were carried out.
#[derive(Debug)]
pub struct Job {
    /// Id of the run.
    pub id: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// The program.
    pub tool: Tool,
    /// The servers.
    pub targets: Vec<Target>,
    /// The workload of each.
    pub workload: Workload,
    /// The client.
    pub client: ClientSetup,
    /// Seconds of the same load before anything counts.
    pub warmup: f64,
    /// Whether the document has all counts of the latencies' histograms.
    pub histograms: bool,
    /// Labels that the user gave.
    pub labels: RunLabels,
    /// Warnings from before the run.
    pub warnings: Vec<Warning>,
    /// Writing all keys; `None` if it was not asked for, or not reached.
    pub filled: Option<Outcome>,
    /// The results; `None` if the run ended before it measured.
    pub measured: Option<Outcome>,
}

impl Job {
    /// The document of a run of this command line, which ran to its end or not.
    #[must_use]
    pub fn document(&self, command: impl Iterator<Item = String>, complete: bool) -> LoadRun {
        let workload = workload(&self.workload, self.warmup);
        let run = LoadRun {
            schema: LOAD_SCHEMA.to_owned(),
            id: self.id.clone(),
            tool: self.tool.clone(),
            command: without_password(command),
            started: self.started.clone(),
            complete,
            labels: self.labels.clone(),
            warnings: self.warnings.clone(),
            client: LoadClient {
                threads: self.client.threads,
                cpus: self.client.cpus.clone(),
                spin: self.client.spin,
                timeout_seconds: self.client.timeout.as_secs_f64(),
                late_after_seconds: self.client.late_after.as_secs_f64(),
            },
            fill: self.filled.as_ref().map(|outcome| self.part(outcome, None)),
            // A run that the user stopped is judged by what was due until then.
            measured: self.measured.as_ref().map(|o| self.part(o, workload.planned().filter(|_| !o.stopped))),
            workload,
            doubts: Vec::new(),
        };
        run.judged()
    }

    /// A part of the run, in which each tenant was to make so many requests.
    fn part(&self, outcome: &Outcome, planned: Option<f64>) -> LoadPart {
        let one = |(target, seen): (&Target, &TenantResult)| {
            let base = tenant(&target.address.to_string(), seen, planned, self.histograms);
            LoadTenant { host: target.host.clone(), ..base }
        };
        let of_all = planned.map(|planned| planned * outcome.tenants.len() as f64);
        LoadPart {
            stopped: outcome.stopped,
            started: outcome.started_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok()).map(|at| at.to_string()),
            tenants: self.targets.iter().zip(&outcome.tenants).map(one).collect(),
            all: tenant("all", &pooled(&outcome.tenants), of_all, self.histograms),
            client_cpu_seconds: outcome.thread_cpu.clone(),
            client_wall_seconds: outcome.wall,
            client_cpu_seconds_per_request: outcome.cpu_per_request(),
        }
    }
}

fn workload(asked: &Workload, warmup_seconds: f64) -> LoadWorkload {
    let (pacing, arrivals, rate) = match asked.pace {
        Pace::Closed => (LoadLoop::Closed, None, None),
        Pace::Paced { rate } => (LoadLoop::Paced, None, Some(rate)),
        Pace::Open { arrivals: Arrivals::Constant, rate } => (LoadLoop::Open, Some("constant"), Some(rate)),
        Pace::Open { arrivals: Arrivals::Poisson, rate } => (LoadLoop::Open, Some("poisson"), Some(rate)),
    };
    let (seconds, requests) = match asked.length {
        Length::Time(time) => (Some(time.as_secs_f64()), None),
        Length::Requests(requests) => (None, Some(requests)),
    };
    let key_order = match asked.key_order {
        KeyOrder::Clustered => "clustered",
        KeyOrder::Scrambled => "scrambled",
    };
    let value_order = match asked.value.order {
        SizeOrder::Random => "random",
        SizeOrder::Rising => "rising",
    };
    LoadWorkload {
        pacing,
        arrivals: arrivals.map(str::to_owned),
        requests_per_second: rate,
        seconds,
        requests,
        warmup_seconds,
        connections: asked.connections,
        pipeline_depth: asked.depth,
        keys: asked.keys,
        first_key: asked.first_key,
        key_prefix: asked.key_prefix.clone(),
        key_digits: asked.key_digits,
        key_dist: asked.key_dist.to_string(),
        key_order: key_order.to_owned(),
        mix: asked.mix,
        value_bytes: asked.value.sizes.largest(),
        value_sizes: Some(asked.value.sizes.to_string()),
        value_mean_bytes: Some(asked.value.sizes.mean()),
        value_order: Some(value_order.to_owned()),
        value_compressible: asked.value.compressible,
        verify: asked.verify,
        seed: asked.seed,
    }
}

/// A tenant, or all of them as one, whose requests over the whole run are `planned`.
pub(crate) fn tenant(name: &str, seen: &TenantResult, planned: Option<f64>, histograms: bool) -> LoadTenant {
    LoadTenant {
        target: name.to_owned(),
        host: None,
        fault: seen.fault.clone(),
        seconds: seen.seconds,
        requests_per_second: seen.achieved_rate(),
        // A tenant that is gone answers none of the rest.
        achieved_share: match planned.filter(|planned| seen.fault.is_some() && *planned > seen.scheduled as f64) {
            Some(planned) => Some(seen.done_in_time as f64 / planned),
            None => seen.achieved_share(),
        },
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
        response: latencies(&seen.response, histograms),
        service: latencies(&seen.service, histograms),
    }
}

fn latencies(of: &Latencies, histograms: bool) -> LoadLatencies {
    LoadLatencies {
        unit: "ns".to_owned(),
        count: of.count(),
        mean: of.mean(),
        min: of.min(),
        max: of.max(),
        p50: of.quantile(0.5),
        p90: of.quantile(0.9),
        p95: of.quantile(0.95),
        p99: of.quantile(0.99),
        p999: of.quantile(0.999),
        p9999: of.quantile(0.9999),
        histogram: histograms.then(|| of.clone().into()),
    }
}

/// The command line, without the password.
fn without_password(words: impl Iterator<Item = String>) -> Vec<String> {
    const HIDDEN: &str = "…";
    let (mut out, mut hides) = (Vec::new(), false);
    for word in words {
        let shown = match word.as_str() {
            _ if hides => HIDDEN.to_owned(),
            long if long.starts_with("--password=") => format!("--password={HIDDEN}"),
            // -a may stand behind other letters, and its value behind it.
            short if short.starts_with('-') && !short.starts_with("--") && short.contains('a') => {
                let (letters, value) = short.split_once('a').unwrap_or((short, ""));
                format!("{letters}a{}", if value.is_empty() { "" } else { HIDDEN })
            }
            _ => word.clone(),
        };
        hides = !hides
            && (word == "--password"
                || (shown == word && shown.starts_with('-') && !shown.starts_with("--") && shown.ends_with('a')));
        out.push(shown);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_that_is_gone_answers_none_of_the_rest() {
        let seen = TenantResult { seconds: 3.0, scheduled: 15, done_in_time: 15, ..TenantResult::default() };
        let gone = TenantResult { fault: Some(tiermark_model::messages::load::tenant_hung_up()), ..seen.clone() };
        let share = |seen: &TenantResult| tenant("all", seen, Some(40.0), false).achieved_share;
        assert_eq!((share(&seen), share(&gone)), (Some(1.0), Some(0.375)));
    }

    #[test]
    fn a_document_keeps_no_password() {
        for line in [
            "tiermark load -t a -a secret -q",
            "tiermark load -t a -asecret",
            "tiermark load -t a -qa secret",
            "tiermark load -t a -qasecret -c 5",
            "tiermark load --password secret -t a",
            "tiermark load --password=secret -t a",
        ] {
            let kept = without_password(line.split(' ').map(str::to_owned)).join(" ");
            assert!(!kept.contains("secret") && kept.contains('…'), "{line}: {kept}");
            assert!(kept.starts_with("tiermark load"), "{kept}");
        }
        let plain = "tiermark load -t host -c 50 --key-dist zipf:0.99";
        assert_eq!(without_password(plain.split(' ').map(str::to_owned)).join(" "), plain);
    }
}
