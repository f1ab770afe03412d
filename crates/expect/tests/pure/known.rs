//! What a run is compared with beside numbers of a file: limits of its cores, the machine's record, declared sizes,
//! texts.

use crate::common::{clocked, graded, judged, latency, limits, outcome, read_all, reasons, run};
use CheckOutcome::{Failed, Passed, Unjudged};
use tiermark_expect::{Expectations, check, check_by_rules_of_thumb, figures};
use tiermark_model::messages::check::codes;
use tiermark_model::{
    Affected, Bytes, CheckOutcome, CheckResult, CheckRow, CheckVerdict, CoreKind, CoreLimits, Exit, Finding, Health,
    Interval, Known, Labels, MemoryFigure, Metric, NamedValue, Observation, PageKind, PerCycle, Purpose, Quantity,
    Reason, Run, Tier, Unit, Verdict, WhyNot, testing,
};

/// A run whose L1 takes so many cycles, on a core with a limit of 4.
fn with_limits(cycles: f64) -> Run {
    let latency = clocked(Quantity::Latency, 1.6, Some(PerCycle { value: cycles, unit: Unit::Cycles }));
    let mut run = run(vec![latency.0]);
    run.experiments[0].observations = vec![latency.1];
    run.machine.core_limits = Some(CoreLimits { latency_l1_cycles: Some(4.0), ..CoreLimits::default() });
    run
}

#[test]
fn figures_per_cycle_are_judged_by_the_limits_of_the_core() {
    let that = "latency.l1.cycles <= 1.25 x limit.l1.cycles";
    assert_eq!((outcome(&with_limits(4.1), that), outcome(&with_limits(5.2), that)), (Passed, Failed));
    assert_eq!(reasons(&with_limits(4.1), "latency.l2.cycles <= limit.l2.cycles"), [codes::figure_not_measured]);
    assert_eq!(reasons(&with_limits(4.1), "latency.l1.cycles <= limit.l1.load"), [codes::core_limit_unknown]);
    let mut unknown = with_limits(4.1);
    unknown.machine.core_limits = None;
    assert_eq!(reasons(&unknown, that), [codes::core_limit_unknown]);
}

/// A run of L1 with this record of its latency of 1.6 ns.
fn with_record(record: Option<f64>, verdict: Verdict) -> Run {
    let mut run = with_limits(4.0);
    run.experiments[0].findings[0].verdict = verdict.clone();
    (run.experiments[0].observations[0].record, run.experiments[0].observations[0].verdict) = (record, verdict);
    run
}

#[test]
fn every_figure_is_judged_by_the_machines_own_record() {
    let that = "record >= 97 %";
    let judged_with = |record: f64| judged(&with_record(Some(record), Verdict::trusted()), that);
    assert_eq!((judged_with(1.59).outcome, judged_with(1.65).outcome), (Passed, Passed), "slower, or better");
    let worse = judged_with(1.4);
    assert_eq!((worse.outcome, worse.measured), (Failed, true));
    let worst = worse.worst.unwrap();
    assert_eq!(worst.place.as_deref(), Some("latency.l1 (node 0)"), "the figure is named");
    assert!((worst.value - 1.4 / 1.6).abs() < 1e-9, "of a time, the record over the figure");
    // A bound may hide what the machine can do.
    let mut bound = Verdict::trusted();
    bound.bound(Reason::NotSharp { share: 0.02 });
    assert_eq!(outcome(&with_record(Some(1.4), bound.clone()), that), Unjudged);
    assert_eq!(outcome(&with_record(Some(1.7), bound), that), Passed);
    // Documents of earlier versions have a record only beside a figure that falls short of it.
    let mut below = Verdict::trusted();
    below.bound(Reason::BelowRecord { record: 1.4, is_time: true, date: String::new(), clocks: None });
    assert_eq!(outcome(&with_record(None, below), that), Failed);
    assert_eq!(reasons(&with_record(None, Verdict::trusted()), that), [codes::record_unknown]);
}

/// The size of L3 as the curve shows it.
fn l3(size: Option<f64>) -> Finding {
    let mut found = Finding::new(Quantity::TierSize, Labels::new().with_tier(Tier::Cache(3)), size, Unit::Bytes);
    found.interval = size.map(|bytes| Interval { low: 0.95 * bytes, high: 1.05 * bytes, level: 0.98 });
    if size.is_none() {
        found.verdict.suspect(Reason::NotResolved { low: Bytes(1 << 20), high: None, why: WhyNot::CurveEnds });
    }
    found
}

fn with_l3(size: Option<f64>) -> Run {
    let mut run = run(vec![l3(size)]);
    let cache = |bytes: u64| testing::cache(3, bytes, 0..4);
    run.machine.caches = vec![cache(32 << 20), cache(32 << 20)];
    run
}

#[test]
fn a_cache_of_half_the_declared_size_fails() {
    let mib = |mib: u64| Some((mib << 20) as f64);
    let that = "size.l3 >= 0.75 x size.l3.declared";
    assert_eq!((outcome(&with_l3(mib(31)), that), outcome(&with_l3(mib(16)), that)), (Passed, Failed));
    assert_eq!(outcome(&with_l3(mib(24)), that), Unjudged, "the range of the curve holds the limit");
    let shown = |size: u64| judged(&with_l3(mib(size)), that).worst.unwrap().value_is;
    assert_eq!((shown(31), shown(16)), (Known::AtLeast, Known::AtMost), "the end that decides");
    assert_eq!(reasons(&with_l3(None), that), [codes::size_not_resolved]);
    assert_eq!(reasons(&with_l3(mib(31)), "size.l2 >= 1 MiB"), [codes::figure_not_measured]);
    assert_eq!(outcome(&with_l3(mib(31)), "size.l3.declared == 32 MiB"), Passed);
    assert_eq!(outcome(&with_l3(mib(31)), "size.l3 == 48 MiB"), Failed);
}

#[test]
fn texts_are_the_same_or_not() {
    let mut run = run(vec![read_all(0, 130.0)]);
    run.machine.system.kernel = Some("6.8.0-45-generic".into());
    run.machine.system.memory_bytes = Some(128 << 30);
    let that = |that: &str| judged(&run, &that.replace('"', "\\\""));
    let same = that("kernel == \"6.8.0-45-generic\"");
    assert_eq!((same.outcome, same.measured, same.worst), (Passed, false, None));
    let other = that("kernel == \"6.8.0\"");
    assert_eq!((other.outcome, other.texts.unwrap().value.as_str()), (Failed, "6.8.0-45-generic"));
    assert_eq!(that("kernel != \"6.8.0\"").outcome, Passed);
    let unknown = that("governor == \"performance\"");
    assert_eq!((unknown.outcome, &unknown.reasons[0].code), (Unjudged, &codes::fact_not_reported));
    assert_eq!((that("memory.total >= 120 GiB").outcome, that("memory.total == 1 TiB").outcome), (Passed, Failed));
    let listed = figures(&run);
    let kernel = listed.iter().find(|figure| figure.name == "kernel").unwrap();
    assert_eq!(kernel.value, Ok(NamedValue::Text("6.8.0-45-generic".to_owned())));
}

/// What the built-in rule that begins so says of a run.
fn rule(run: &Run, that: &str) -> CheckResult {
    let mut all = check_by_rules_of_thumb(run).results.into_iter();
    all.find(|result| result.that.starts_with(that)).unwrap()
}

#[test]
fn no_server_passes_without_a_judgement_of_its_memory() {
    let mut run = run(vec![read_all(0, 130.0), latency(0, 0, 80.0), latency(0, 1, 150.0)]);
    let missing = |run: &Run| {
        check_by_rules_of_thumb(run)
            .missing()
            .filter(|one| one.required)
            .map(|one| one.that.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(missing(&run), [""; 0]);
    // A user without root does not see the modules.
    run.machine.theoretical_peak = None;
    assert_eq!(missing(&run), ["read.dram.all >= 0.7 x peak"]);
    // A guest has none.
    run.machine.system.hypervisor = Some("KVM".to_owned());
    assert_eq!(missing(&run), [""; 0]);
    assert!(!rule(&run, "read.dram.all >= 0.7").required);
}

#[test]
fn problems_of_doctor_are_counted_and_named_and_unknown_in_older_documents() {
    let mut run = run(Vec::new());
    assert_eq!(reasons(&run, "doctor.problems <= 0"), [codes::not_examined]);
    run.problems = Some(Vec::new());
    assert_eq!(outcome(&run, "doctor.problems <= 0"), Passed);
    let problem = |name: &str, value: &str| CheckRow {
        name: name.to_owned(),
        group: "Place".to_owned(),
        value: value.to_owned(),
        health: Health::Problem,
        why: String::new(),
        affects: (name == "clocksource").then_some(Affected::All),
        cure: None,
        is_setting: false,
    };
    let setting = CheckRow { is_setting: true, ..problem("NUMA balancing", "on") };
    run.problems = Some(vec![setting.clone()]);
    assert_eq!(outcome(&run, "doctor.problems <= 0"), Passed, "a default of many systems");
    run.problems = Some(vec![problem("cpu quota", "0.50 cpus"), setting, problem("clocksource", "hpet")]);
    let worst = judged(&run, "doctor.problems <= 0").worst.unwrap();
    assert_eq!(
        (worst.value, worst.place.as_deref()),
        (2.0, Some("cpu quota (0.50 cpus), clocksource (hpet; affects all figures)"))
    );
}

/// Base pages that a user asked for say nothing of huge pages; base pages because there are no others do.
#[test]
fn huge_pages_are_not_judged_where_base_pages_were_requested() {
    let rule = "pages.huge >= 95 %";
    let on = |scope: Option<PageKind>, listed: Option<&str>| {
        let labels = Labels::new().with_purpose(Purpose::Matrix).with_page("base");
        let seen = Observation { value: Some(90.0), ..Observation::new("a", labels, Metric::Latency) };
        let mut made = run(Vec::new());
        made.experiments[0].observations = vec![seen];
        made.experiments[0].request.scope.page = scope;
        made.machine.system.thp = Some("never".into());
        let params = listed.map_or("null".to_owned(), |page| format!("{{\"pages\": [\"{page}\"]}}"));
        made.experiments[0].request.params = params.parse().unwrap();
        made
    };
    assert_eq!(outcome(&on(None, None), rule), Failed);
    assert_eq!(outcome(&on(None, Some("thp")), rule), Failed);
    let mut unknown = on(None, None);
    unknown.machine.system.thp = None;
    assert_eq!(
        reasons(&unknown, rule),
        [codes::fact_not_reported],
        "a tree that does not say whether there are others"
    );
    assert_eq!(reasons(&on(Some(PageKind::Base), None), rule), [codes::base_pages_requested]);
    assert_eq!(reasons(&on(None, Some("base")), rule), [codes::base_pages_requested]);
}

#[test]
fn a_file_requires_an_expectation() {
    let read_with = |required: &str| limits(&format!("[[expect]]\nthat = 'triad.dram.all >= 1 GB/s'\n{required}"));
    let check_with = |required: &str| check("made", &run(vec![]), &read_with(required).unwrap(), false);
    assert!(check_with("required = true").results[0].required);
    assert!(!check_with("required = false").results[0].required && !check_with("").results[0].required);
    let wrong = read_with("required = \"yes\"").unwrap_err();
    assert_eq!((wrong[0].line, wrong[0].key.as_str()), (3, "expect 1.required"));
}

#[test]
fn a_cluster_of_a_socket_has_a_part_of_its_l3() {
    let mut run = with_l3(Some(f64::from(16 << 20)));
    assert_eq!(rule(&run, "size.l3 >=").outcome, Failed);
    for cpu in &mut run.machine.cpus {
        cpu.node = Some(cpu.id);
    }
    let judged = rule(&run, "size.l3 >=");
    assert_eq!((judged.outcome, &judged.reasons[0].code), (Unjudged, &codes::needs_whole_sockets));
}

/// All cores of a hybrid move fewer bytes a cycle than its fast core alone: 8 of 96 and 8 of 40 have 0.71 of it.
#[test]
fn cores_of_two_kinds_are_not_compared_with_the_fast_one() {
    let figure = |span: &str, bytes: f64| {
        let per_cycle = Some(PerCycle { value: bytes, unit: Unit::BytesPerCycle });
        let (mut finding, mut seen) = clocked(Quantity::Bandwidth, bytes * 3e9, per_cycle);
        for labels in [&mut finding.labels, &mut seen.labels] {
            *labels = labels.clone().with_span(span.parse().unwrap());
        }
        seen.step = span.into();
        finding.evidence = vec![span.to_owned()];
        (finding, seen)
    };
    let (findings, seen): (Vec<Finding>, Vec<Observation>) =
        [figure("one", 96.0), figure("all", 68.0)].into_iter().unzip();
    let mut run = run(findings);
    run.experiments[0].observations = seen;
    assert_eq!(rule(&run, "read.l1.all").outcome, Failed);
    run.machine.cpus[1].kind = Some(CoreKind::Efficiency);
    let judged = rule(&run, "read.l1.all");
    assert_eq!((judged.outcome, &judged.reasons[0].code), (Unjudged, &codes::needs_one_kind_of_core));
}

#[test]
fn facts_alone_are_no_judgement_of_figures() {
    let by_rules = |run: &Run| check_by_rules_of_thumb(run);
    let facts = by_rules(&run(Vec::new()));
    assert!(facts.results.iter().any(|result| result.outcome == Passed), "modules at their rated speed");
    assert!(facts.lacks_figures());
    let figure = by_rules(&run(vec![latency(0, 0, 80.0), latency(0, 1, 150.0), read_all(0, 130.0)]));
    assert!(!figure.lacks_figures());
    let doubted = graded(latency(0, 1, 150.0), Verdict::suspect);
    assert!(by_rules(&run(vec![latency(0, 0, 80.0), doubted])).lacks_figures(), "a suspect figure is not judged");
}

/// The least that a verdict needs, of what the expectations name: a latency and a bandwidth of memory.
#[test]
fn a_run_without_a_judged_latency_and_bandwidth_of_memory_is_not_judged() {
    let judged = |run: &Run, that: &[&str]| {
        let text: String = that.iter().map(|that| format!("[[expect]]\nthat = '{that}'\n")).collect();
        check("run", run, &Expectations::read("file", &text).unwrap(), false)
    };
    let (near, rate) = ("latency.dram <= 120 ns", "read.dram.all >= 100 GB/s");
    let only_latency = run(vec![latency(0, 0, 80.0)]);
    let found = judged(&only_latency, &[near, rate]);
    assert_eq!((found.verdict, found.verdict.exit()), (CheckVerdict::NotJudged, Exit::Partial));
    assert_eq!(found.unjudged_memory().collect::<Vec<_>>(), [MemoryFigure::Bandwidth]);
    assert_eq!(found.missing().map(|one| one.that.as_str()).collect::<Vec<_>>(), [rate]);
    let both = run(vec![latency(0, 0, 80.0), read_all(0, 130.0)]);
    assert_eq!(judged(&both, &[near, rate]).verdict, CheckVerdict::Passed);
    // What fails fails, whatever is not judged.
    assert_eq!(judged(&only_latency, &["latency.dram <= 1 ns", rate]).verdict, CheckVerdict::Failed);
    // A file that asks for one of both gets its answer.
    assert_eq!(judged(&only_latency, &[near]).verdict, CheckVerdict::Passed);
    // The built-in rules ask for both: without far memory and a record, nothing says what its latency should be.
    let mut rootless = both;
    rootless.machine.dimms.clear();
    rootless.machine.theoretical_peak = None;
    let found = check_by_rules_of_thumb(&rootless);
    assert_eq!(found.count(Failed), 0, "{found:#?}");
    assert_eq!((found.verdict, found.count(Passed) > 0), (CheckVerdict::NotJudged, true));
    assert!(found.unjudged_memory().any(|figure| figure == MemoryFigure::Latency));
}

/// A record that the run kept at one place and left open at another is no judgement of its figures.
#[test]
fn an_expectation_that_was_judged_at_some_places_is_none_of_the_figures() {
    let mut run = with_record(Some(1.59), Verdict::trusted());
    let mut doubted = Verdict::trusted();
    doubted.bound(Reason::NotSharp { share: 0.02 });
    let (mut finding, mut seen) = clocked(Quantity::Latency, 9.0, None);
    finding.labels = finding.labels.with_tier(Tier::Cache(2));
    (seen.step, finding.evidence) = ("other".into(), vec!["other".into()]);
    (seen.record, seen.verdict, finding.verdict) = (Some(4.0), doubted.clone(), doubted);
    let record = |run: &Run| {
        let entries = limits("[[expect]]\nthat = 'record >= 97 %'").unwrap();
        check("run", run, &entries, false)
    };
    assert!(!record(&run).lacks_figures(), "kept at its only place");
    run.experiments[0].findings.push(finding);
    run.experiments[0].observations.push(seen);
    let open = record(&run);
    assert_eq!((open.results[0].passed, open.results[0].outcome), (1, Unjudged), "{open:#?}");
    assert!(open.lacks_figures());
}

#[test]
fn a_text_may_be_asked_for_by_its_beginning() {
    let mut run = run(Vec::new());
    run.machine.system.kernel = Some("6.18.44".to_owned());
    for (that, expected) in [
        ("kernel == '6.*'", Passed),
        ("kernel == '6.1.*'", Failed),
        ("kernel == '*'", Passed),
        ("kernel != '5.*'", Passed),
        ("kernel == '6.x'", Failed),
    ] {
        assert_eq!(outcome(&run, &that.replace('\'', "\\\"")), expected, "{that}");
    }
}
