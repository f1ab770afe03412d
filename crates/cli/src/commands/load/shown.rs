//! What people see of a load, and what they should know before they believe it.

use tiermark_load::{Arrivals, Latencies, Length, Outcome, Pace, TenantResult, pooled};
use tiermark_report::{LoadLine, LoadView};

use super::Done;

/// Share of what was due below which a tenant does not keep up. Rounding at the end of a run takes a request or two of thousands.
const KEEPS_UP: f64 = 0.995;
/// Share of late requests above which the client is part of what was measured.
const PUNCTUAL: f64 = 0.01;

/// The view of what was done.
pub(super) fn view(done: &Done<'_>) -> LoadView {
    let names = done.args.targets.iter().map(ToString::to_string);
    let tenants = done.measured.iter().flat_map(|outcome| &outcome.tenants);
    LoadView {
        title: title(done),
        tenants: names.zip(tenants).map(|(name, seen)| line(name, seen, done)).collect(),
        all: done.measured.as_ref().map(|outcome| {
            let name = if outcome.tenants.len() == 1 { done.args.targets[0].to_string() } else { "all".to_owned() };
            line(name, &pooled(&outcome.tenants), done)
        }),
        facts: facts(done),
        warnings: warnings(done),
    }
}

fn title(done: &Done<'_>) -> String {
    let asked = &done.workload;
    let tenants = match done.args.targets.len() {
        1 => "1 tenant".to_owned(),
        n => format!("{n} tenants"),
    };
    if done.args.asked.fill_only {
        return format!("{tenants}, filled with {} keys of {} bytes each", asked.keys, asked.value.bytes);
    }
    let pace = match asked.pace {
        Pace::Closed => "closed loop".to_owned(),
        Pace::Open { arrivals: Arrivals::Constant, rate } => format!("open loop, {rate} requests/s each"),
        Pace::Open { arrivals: Arrivals::Poisson, rate } => format!("open loop, {rate} requests/s each (Poisson)"),
    };
    let length = match asked.length {
        Length::Time(time) => format!("{} s", time.as_secs_f64()),
        Length::Requests(requests) => format!("{requests} requests each"),
    };
    let connections = match asked.connections {
        1 => "1 connection".to_owned(),
        n => format!("{n} connections"),
    };
    format!(
        "{tenants}, {pace}, {length}, {connections} × {} under way, {} % GET, {} keys {}, {} B",
        asked.depth, asked.mix.get_percent, asked.keys, asked.key_dist, asked.value.bytes
    )
}

fn line(name: String, seen: &TenantResult, done: &Done<'_>) -> LoadLine {
    let is_open = matches!(done.workload.pace, Pace::Open { .. });
    LoadLine {
        name,
        rate: seen.achieved_rate(),
        share: seen.achieved_share().filter(|_| is_open),
        late: late(seen).filter(|_| is_open),
        response: shown(&seen.response),
        service: shown(&seen.service),
    }
}

/// Share of the requests that were sent late, or never.
fn late(seen: &TenantResult) -> Option<f64> {
    (seen.scheduled > 0).then(|| (seen.late + seen.unsent) as f64 / seen.scheduled as f64)
}

fn shown(of: &Latencies) -> [Option<f64>; 7] {
    let at = |share| of.quantile(share).map(|ns| ns as f64);
    [of.mean(), at(0.5), at(0.9), at(0.95), at(0.99), at(0.999), of.max().map(|ns| ns as f64)]
}

fn facts(done: &Done<'_>) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(filled) = &done.filled {
        let all = pooled(&filled.tenants);
        facts.push(format!(
            "filled: {} keys in {:.1} s, {:.0} a second",
            all.done,
            filled.wall,
            all.done as f64 / filled.wall
        ));
    }
    let Some(outcome) = &done.measured else { return facts };
    let all = pooled(&outcome.tenants);
    if let Some(cpu) = outcome.cpu_per_request() {
        let busy = outcome.thread_cpu.iter().sum::<f64>() / outcome.wall / outcome.thread_cpu.len() as f64;
        facts.push(format!(
            "client: {:.2} µs of cpu a request, {} thread{} busy for {:.0} % of the time",
            cpu * 1e6,
            outcome.thread_cpu.len(),
            if outcome.thread_cpu.len() == 1 { "" } else { "s" },
            busy * 100.0
        ));
    }
    facts.push(format!(
        "{} answers: {} GETs, {} SETs; {} misses, {} errors",
        all.done, all.gets, all.sets, all.misses, all.errors
    ));
    if let Pace::Open { .. } = done.workload.pace {
        facts.push(format!("the latest request was sent {:.0} µs after it was due", all.max_late_ns as f64 / 1e3));
    }
    if let Some(mismatches) = all.mismatches {
        facts.push(format!("checked values: {mismatches} wrong"));
    }
    facts
}

/// What a reader should know.
pub(super) fn warnings(done: &Done<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let parts = [("filling ", &done.filled), ("", &done.measured)];
    for (part, outcome) in parts.iter().filter_map(|(part, outcome)| Some((part, outcome.as_ref()?))) {
        for (address, tenant) in done.args.targets.iter().zip(&outcome.tenants) {
            if let Some(fault) = &tenant.fault {
                warnings.push(format!("{part}{address} was given up: {fault}"));
            }
        }
    }
    if let Some(outcome) = &done.measured {
        told_of(outcome, done, &mut warnings);
    }
    if done.stopped.is_some() {
        warnings.push("it was stopped before its end".into());
    }
    warnings
}

fn told_of(outcome: &Outcome, done: &Done<'_>, warnings: &mut Vec<String>) {
    let all = pooled(&outcome.tenants);
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    if let Some(error) = &all.first_error {
        warnings.push(format!("{:.2} % of the answers were errors, the first: {error}", percent(all.errors, all.done)));
    }
    if all.unanswered > 0 {
        warnings.push(format!("{} requests were never answered", all.unanswered));
    }
    if all.misses > 0 {
        let share = percent(all.misses, all.gets);
        warnings.push(format!("{share:.2} % of the GETs found no key, which is less work; --fill writes all first"));
    }
    if let Some(wrong) = all.mismatches.filter(|wrong| *wrong > 0) {
        warnings.push(format!("{wrong} values were not what this program writes for their keys"));
    }
    if matches!(done.workload.pace, Pace::Closed) {
        warnings.push(
            "a closed loop waits for the server: its latencies leave out those who would have had to wait (--rps asks at a rate)".into(),
        );
        return;
    }
    if let Some(share) = all.achieved_share().filter(|share| *share < KEEPS_UP) {
        let why =
            if all.overloads > 0 { ": as many requests were under way as are allowed (--pipeline-depth)" } else { "" };
        warnings.push(format!("only {:.1} % of what was due was answered in time{why}", share * 100.0));
    }
    if let Some(late) = late(&all).filter(|late| *late > PUNCTUAL) {
        let us = done.client.late_after.as_micros();
        let who = if all.overloads > 0 { "waiting for answers" } else { "the client or its cpu is too busy" };
        warnings.push(format!("{:.1} % of the requests were sent more than {us} µs late: {who}", late * 100.0));
    }
}
