//! A run of load in words: its workload and facts.

use tiermark_model::load::{LoadLoop, LoadPart, LoadRun};
use tiermark_model::{Share, Warning};

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
            "client: {:.2} µs of cpu a request, {threads} thread{} busy for {} of the time",
            cpu * 1e6,
            if threads == 1 { "" } else { "s" },
            Share(busy)
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

#[cfg(test)]
pub(super) mod tests {
    use tiermark_model::FromJson;
    use tiermark_model::load::{LoadTenant, LoadWindow};
    use tiermark_model::messages::load as says;
    use tiermark_page::{Detail, Style, terminal};

    use super::*;

    /// The warnings about its results.
    fn warnings(run: &LoadRun) -> Vec<String> {
        run.clone().judged().doubts.iter().map(ToString::to_string).collect()
    }

    /// A run of a closed loop with one tenant.
    pub(in crate::tenant_views::load) fn seed() -> LoadRun {
        let path = format!("{}/../../fuzz/seeds/load.json", env!("CARGO_MANIFEST_DIR"));
        LoadRun::from_json(&std::fs::read(path).unwrap()).unwrap()
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
