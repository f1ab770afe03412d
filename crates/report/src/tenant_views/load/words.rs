//! A run of load in words: its workload, facts, and warnings about its numbers.

use tiermark_model::load::{LoadLoop, LoadPart, LoadRun, LoadTenant, PUNCTUAL, SlowServer};
use tiermark_model::{Warning, format_time as time};

/// Share of the requests due, below which a tenant does not keep up. Rounding at the end of a run takes a request or
/// two of thousands.
const KEEPS_UP: f64 = 0.995;

/// The run in a line: tenants and workload.
pub(super) fn title(run: &LoadRun) -> String {
    let asked = &run.workload;
    let Some(part) = run.measured.as_ref().or(run.fill.as_ref()) else { return "nothing was measured".to_owned() };
    let tenants = tiermark_model::count_of(part.tenants.len() as u64, "tenant");
    if run.measured.is_none() {
        return format!("{tenants}, filled with {} keys of {} bytes each", asked.keys, sizes(run));
    }
    format!("{tenants}, {}", workload(run))
}

/// What was asked of each tenant.
pub fn workload(run: &LoadRun) -> String {
    let asked = &run.workload;
    let poisson = if asked.arrivals.as_deref() == Some("poisson") { " (Poisson)" } else { "" };
    let pace = match asked.requests_per_second {
        None => "closed loop".to_owned(),
        Some(rate) if asked.pacing == LoadLoop::Paced => format!("closed loop, up to {rate} requests/s each"),
        Some(rate) => format!("open loop, {rate} requests/s each{poisson}"),
    };
    let length = match (asked.seconds, asked.requests) {
        (_, Some(requests)) => format!("{requests} requests each"),
        (seconds, None) => format!("{} s", seconds.unwrap_or_default()),
    };
    let length = match run.measured.as_ref().and_then(LoadPart::given_up_after) {
        Some(after) => format!("stopped after {after:.1} s of {length}"),
        None => length,
    };
    let connections = match asked.connections {
        1 => "1 connection".to_owned(),
        n => format!("{n} connections"),
    };
    format!(
        "{pace}, {length}, {connections} × {} under way, {} % GET, {} {}, {} B",
        asked.pipeline_depth,
        asked.mix.get_percent,
        keys(run),
        asked.key_dist,
        sizes(run)
    )
}

fn keys(run: &LoadRun) -> String {
    match (run.workload.first_key, run.workload.keys) {
        (0, keys) => format!("{keys} keys"),
        (first, keys) => format!("keys {first}-{}", first.saturating_add(keys.saturating_sub(1))),
    }
}

/// Sizes of values in bytes, as the document has them.
fn sizes(run: &LoadRun) -> String {
    let asked = &run.workload;
    asked.value_sizes.clone().unwrap_or_else(|| asked.value_bytes.to_string())
}

/// So many of the requests that were due, as a share.
fn of_due(part: u64, seen: &LoadTenant) -> Option<f64> {
    (seen.scheduled > 0).then(|| part as f64 / seen.scheduled as f64)
}

pub(super) fn facts(run: &LoadRun) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(fill) = &run.fill {
        let (keys, seconds) = (fill.all.done, fill.client_wall_seconds);
        facts.push(format!("filled: {keys} keys in {seconds:.1} s, {:.0} a second", keys as f64 / seconds));
    }
    let Some(part) = &run.measured else { return facts };
    let all = &part.all;
    if let Some(cpu) = part.client_cpu_seconds_per_request {
        let threads = part.client_cpu_seconds.len();
        let busy = part.client_cpu_seconds.iter().sum::<f64>() / part.client_wall_seconds / threads as f64;
        facts.push(format!(
            "client: {:.2} µs of cpu a request, {threads} thread{} busy for {:.0} % of the time",
            cpu * 1e6,
            if threads == 1 { "" } else { "s" },
            busy * 100.0
        ));
    }
    facts.push(format!(
        "{} answers: {} GETs, {} SETs; {} misses, {} errors",
        all.done, all.gets, all.sets, all.misses, all.errors
    ));
    if run.workload.pacing == LoadLoop::Open {
        facts.push(format!("the client sent requests up to {:.0} µs late", all.max_late_ns as f64 / 1e3));
    }
    if let Some(mismatches) = all.mismatches {
        facts.push(format!("checked values: {mismatches} wrong"));
    }
    facts
}

/// A warning with what helps.
pub(super) fn with_cure(warning: &Warning) -> String {
    warning.cure.iter().fold(warning.text.clone(), |text, cure| format!("{text}; {cure}"))
}

/// What the results themselves show to be wrong.
pub fn warnings(run: &LoadRun) -> Vec<String> {
    let mut warnings = Vec::new();
    let parts = [("filling ", &run.fill), ("", &run.measured)];
    for (what, part) in parts.iter().filter_map(|(what, part)| Some((what, part.as_ref()?))) {
        for (tenant, name) in part.tenants.iter().zip(part.names()) {
            if let Some(fault) = &tenant.fault {
                let answers = match tenant.answered_until() {
                    0.0 => "no answers".to_owned(),
                    after => format!("no answers after {after:.1} s"),
                };
                warnings.push(format!("{what}{name}: {answers}: {fault}"));
            }
        }
    }
    if let Some(part) = &run.measured {
        told_of(part, run, &mut warnings);
    }
    if !run.complete {
        warnings.push("the run was stopped before its end".into());
    }
    warnings
}

fn slow_server(part: &LoadPart) -> Option<String> {
    let SlowServer { name, p99_ns, others_ns } = part.slow_server()?;
    let [slow, other] = [p99_ns, others_ns].map(|ns| time(ns as f64));
    Some(format!("{name} was slow: P99 from send to answer {slow}, of the other servers at most {other}"))
}

/// The options that give the client more cpu time: a further thread needs a server of its own.
fn of_more_cpu(part: &LoadPart, run: &LoadRun) -> &'static str {
    if run.client.threads < part.tenants.len() { "--threads, --client-cpus" } else { "--client-cpus" }
}

fn told_of(part: &LoadPart, run: &LoadRun, warnings: &mut Vec<String>) {
    let all = &part.all;
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    if let Some(error) = &all.first_error {
        warnings.push(format!("{:.2} % of the answers were errors, the first: {error}", percent(all.errors, all.done)));
    }
    if all.unanswered > 0 {
        warnings.push(format!("{} requests were never answered", all.unanswered));
    }
    if all.misses > 0 {
        let share = percent(all.misses, all.gets);
        warnings.push(format!(
            "{share:.2} % of the GETs found no key, which is less work for the server; --fill writes all keys first"
        ));
    }
    if let Some(wrong) = all.mismatches.filter(|wrong| *wrong > 0) {
        warnings.push(format!("{wrong} values differ from the values that this program writes for their keys"));
    }
    if run.workload.pacing == LoadLoop::Closed {
        warnings.push(
            "closed loop: a slow answer delays the next request, so the latencies miss the time that requests wait \
                for the server (use --rps)"
                .into(),
        );
        return;
    }
    if run.workload.pacing == LoadLoop::Paced {
        let share = percent(all.scheduled.saturating_sub(all.sent), all.scheduled);
        warnings.push(format!(
            "closed loop with a rate: {share:.1} % of the requests due were not sent, because the client waited for \
             an answer then; the service times leave them out, an open loop (--pacing open) sends them"
        ));
        return;
    }
    warnings.extend(slow_server(part));
    if let Some(share) = all.achieved_share.filter(|share| *share < KEEPS_UP) {
        let why =
            if all.overloads > 0 { ": the limit of requests in flight was reached (--pipeline-depth)" } else { "" };
        warnings.push(format!("only {:.1} % of the requests due were answered in time{why}", share * 100.0));
    }
    let us = run.client.late_after_seconds * 1e6;
    if let Some(late) = all.late_share().filter(|late| *late > PUNCTUAL) {
        warnings.push(format!(
            "the client sent {:.1} % of the requests more than {us:.0} µs late: {}",
            late * 100.0,
            match all.starved {
                0 => format!("the client or its cpu is too busy ({})", of_more_cpu(part, run)),
                _ => "requests to slow servers held its memory (fewer --connections, smaller values, or load the \
                    servers apart)"
                    .to_owned(),
            }
        ));
    }
    if let Some(lain) = all.late_answers_share().filter(|lain| *lain > PUNCTUAL) {
        warnings.push(format!(
            "the client may have read {:.1} % of the answers more than {us:.0} µs late, which adds to their times ({})",
            lain * 100.0,
            of_more_cpu(part, run)
        ));
    }
    if let Some(held) = of_due(all.held, all).filter(|held| *held > PUNCTUAL) {
        warnings.push(format!(
            "the server delayed {:.1} % of the requests by more than {us:.0} µs: response times include this delay, \
                service times do not",
            held * 100.0
        ));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use tiermark_model::load::LoadWindow;
    use tiermark_model::messages::load as says;
    use tiermark_page::{Detail, Style, terminal};

    use super::*;

    /// A run of a closed loop with one tenant.
    pub(in crate::tenant_views::load) fn seed() -> LoadRun {
        let path = format!("{}/../../fuzz/seeds/load.json", env!("CARGO_MANIFEST_DIR"));
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    #[test]
    fn a_run_whose_servers_are_gone_says_after_how_long() {
        let mut run = seed();
        assert!(!title(&run).contains("stopped"));
        (run.workload.seconds, run.workload.requests) = (Some(8.0), None);
        let part = run.measured.as_mut().unwrap();
        for tenant in part.tenants.iter_mut().chain([&mut part.all]) {
            (tenant.fault, tenant.seconds) = (Some(says::tenant_hung_up()), 3.0);
            tenant.windows.resize_with(8, || LoadWindow { done: 1, response_sum_ns: 1, response_max_ns: 1 });
        }
        assert!(title(&run).contains("stopped after 3.0 s of 8 s"), "{}", title(&run));
        assert!(warnings(&run).iter().any(|text| text.ends_with(": no answers after 3.0 s: it closed the connection")));
    }

    #[test]
    fn threads_are_advised_where_further_servers_have_none() {
        let mut run = seed();
        run.workload.pacing = LoadLoop::Open;
        let part = run.measured.as_mut().unwrap();
        (part.all.scheduled, part.all.late, part.all.starved) = (1000, 500, 0);
        part.tenants.truncate(1);
        let late = |run: &LoadRun| warnings(run).into_iter().find(|text| text.contains("too busy")).unwrap();
        assert!(late(&run).ends_with("too busy (--client-cpus)"), "{}", late(&run));
        let part = run.measured.as_mut().unwrap();
        part.tenants.push(part.tenants[0].clone());
        assert!(late(&run).ends_with("too busy (--threads, --client-cpus)"), "{}", late(&run));
        run.client.threads = 2;
        assert!(late(&run).ends_with("too busy (--client-cpus)"), "{}", late(&run));
    }

    /// The client was late by 10 ms at most, and one of two servers took 400 ms.
    #[test]
    fn a_server_that_stalls_is_named_though_the_client_was_late() {
        let mut run = seed();
        run.workload.pacing = LoadLoop::Open;
        let part = run.measured.as_mut().unwrap();
        (part.all.scheduled, part.all.late) = (1000, 53);
        part.tenants.truncate(1);
        part.tenants.push(LoadTenant { target: "127.0.0.1:2".into(), ..part.tenants[0].clone() });
        let mut said = |p99: [u64; 2], late| {
            let part = run.measured.as_mut().unwrap();
            for (tenant, p99) in part.tenants.iter_mut().zip(p99) {
                (tenant.service.p99, tenant.max_late_ns) = (Some(p99), late);
            }
            warnings(&run).into_iter().find(|text| text.contains(" was slow"))
        };
        let text = "127.0.0.1:2 was slow: P99 from send to answer 399 ms, of the other servers at most 7.04 ms";
        assert_eq!(said([7_041_000, 398_721_000], 10_692_000).as_deref(), Some(text));
        assert_eq!(said([7_041_000, 30_000_000], 10_692_000), None, "the client was late by a third of that");
        assert_eq!(said([300_000_000, 398_721_000], 10_692_000), None, "both are slow");
    }

    #[test]
    fn other_work_of_before_the_run_comes_first_with_its_cure() {
        let mut run = seed();
        run.warnings.push(says::load_beside_others(1.6, 2, "rustc 1.6"));
        let page = terminal(&crate::tenant_views::load(&run, Detail::Usual), &Style::default());
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, first) = page.split_once(" ! ").unwrap();
        assert!(first.starts_with("1.6 of the client's 2 cpus busy when the run began, by rustc 1.6: "), "{first}");
        assert!(first.contains("; stop that work, or name idle cpus with --client-cpus; "), "{first}");
    }
}
