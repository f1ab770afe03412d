//! The document of a load: what was asked, and what was seen of each tenant, in base units.

use serde_json::{Value, json};
use tiermark_load::{Arrivals, Latencies, Length, Outcome, Pace, TenantResult, pooled};

use super::Done;
use crate::version;

/// Identifies the document and its version.
const SCHEMA: &str = "tiermark/load/1";
/// Shares of the requests whose latency the document tells.
pub(super) const QUANTILES: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999)];

/// The whole document.
pub(super) fn of(done: &Done<'_>) -> Value {
    let names: Vec<String> = done.args.targets.iter().map(ToString::to_string).collect();
    let histograms = done.args.histograms;
    let tenants = |outcome: &Outcome| -> Vec<Value> {
        names.iter().zip(&outcome.tenants).map(|(name, seen)| tenant(name, seen, histograms)).collect()
    };
    let part = |outcome: &Outcome| {
        json!({
            "stopped": outcome.stopped,
            "tenants": tenants(outcome),
            "all": tenant("all", &pooled(&outcome.tenants), histograms),
            "client_cpu_seconds": outcome.thread_cpu,
            "client_wall_seconds": outcome.wall,
            "client_cpu_seconds_per_request": outcome.cpu_per_request(),
        })
    };
    json!({
        "schema": SCHEMA,
        "tool": version::tool(),
        "command": command(std::env::args()),
        "started": done.started,
        "complete": done.stopped.is_none(),
        "workload": workload(done),
        "client": {
            "threads": done.client.threads,
            "cpus": done.client.cpus,
            "spin": done.client.spin,
            "timeout_seconds": done.client.timeout.as_secs_f64(),
            "late_after_seconds": done.client.late_after.as_secs_f64(),
        },
        "fill": done.filled.as_ref().map(part),
        "measured": done.measured.as_ref().map(part),
    })
}

fn workload(done: &Done<'_>) -> Value {
    let asked = &done.workload;
    let (arrivals, rate) = match asked.pace {
        Pace::Closed => (None, None),
        Pace::Open { arrivals: Arrivals::Constant, rate } => (Some("constant"), Some(rate)),
        Pace::Open { arrivals: Arrivals::Poisson, rate } => (Some("poisson"), Some(rate)),
    };
    let (seconds, requests) = match asked.length {
        Length::Time(time) => (Some(time.as_secs_f64()), None),
        Length::Requests(requests) => (None, Some(requests)),
    };
    json!({
        "loop": if rate.is_some() { "open" } else { "closed" },
        "arrivals": arrivals,
        "requests_per_second": rate,
        "seconds": seconds,
        "requests": requests,
        "warmup_seconds": done.args.pace.warmup,
        "connections": asked.connections,
        "pipeline_depth": asked.depth,
        "keys": asked.keys,
        "key_prefix": asked.key_prefix,
        "key_dist": asked.key_dist.to_string(),
        "key_order": asked.key_order,
        "mix": asked.mix,
        "value_bytes": asked.value.bytes,
        "value_compressible": asked.value.compressible,
        "verify": asked.verify,
        "seed": asked.seed,
    })
}

fn tenant(name: &str, seen: &TenantResult, histograms: bool) -> Value {
    json!({
        "target": name,
        "fault": seen.fault,
        "seconds": seen.seconds,
        "requests_per_second": seen.achieved_rate(),
        "achieved_share": seen.achieved_share(),
        "scheduled": seen.scheduled,
        "sent": seen.sent,
        "done": seen.done,
        "done_in_time": seen.done_in_time,
        "gets": seen.gets,
        "sets": seen.sets,
        "errors": seen.errors,
        "first_error": seen.first_error,
        "misses": seen.misses,
        "mismatches": seen.mismatches,
        "late": seen.late,
        "max_late_ns": seen.max_late_ns,
        "overloads": seen.overloads,
        "unsent": seen.unsent,
        "unanswered": seen.unanswered,
        "windows": seen.windows,
        "response": latencies(&seen.response, histograms),
        "service": latencies(&seen.service, histograms),
    })
}

fn latencies(of: &Latencies, histograms: bool) -> Value {
    let mut value = json!({ "unit": "ns", "count": of.count(), "mean": of.mean(), "min": of.min(), "max": of.max() });
    for (name, share) in QUANTILES {
        value[name] = json!(of.quantile(share));
    }
    if histograms {
        value["histogram"] = json!(of);
    }
    value
}

/// The command line, without the password.
fn command(words: impl Iterator<Item = String>) -> Vec<String> {
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
    fn a_document_keeps_no_password() {
        for line in [
            "tiermark load -t a -a secret -q",
            "tiermark load -t a -asecret",
            "tiermark load -t a -qa secret",
            "tiermark load -t a -qasecret -c 5",
            "tiermark load --password secret -t a",
            "tiermark load --password=secret -t a",
        ] {
            let kept = command(line.split(' ').map(str::to_owned)).join(" ");
            assert!(!kept.contains("secret") && kept.contains('…'), "{line}: {kept}");
            assert!(kept.starts_with("tiermark load"), "{kept}");
        }
        let plain = "tiermark load -t host -c 50 --key-dist zipf:0.99";
        assert_eq!(command(plain.split(' ').map(str::to_owned)).join(" "), plain);
    }
}
