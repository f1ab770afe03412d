//! What to try fits the machine, and what was not judged says what would let it be judged.

use crate::explain::made::{GB, Rate, add, add_latency, by_rule, healthy};
use tiermark_expect::explain::{explain, rules};
use tiermark_model::{CpuId, Distance, Finding, IdSet, Labels, Purpose, Quantity, Run, Unit};

/// Rates that grow with the threads, of so many threads.
fn rising(threads: u64) -> Run {
    let mut made = crate::explain::made::run();
    add(&mut made, &Rate::new("read", 0, 3.0 * threads as f64).threads(threads));
    add(&mut made, &Rate::new("read", 0, 3.0).threads(1));
    add_latency(&mut made, 0, 90.0);
    made
}

fn advice(run: &Run, rule: &str) -> String {
    by_rule(&explain("made", run), rule).unwrap().advice.clone()
}

#[test]
fn more_threads_are_no_advice_where_every_core_is_in_use() {
    // Node 0 has 20 hardware threads on 10 cores.
    assert!(advice(&rising(8), "limit-cores").contains("use more threads"));
    let full = advice(&rising(20), "limit-cores");
    assert!(full.starts_with("every core of these nodes is in use") && !full.contains("more threads"), "{full}");
    // The run may have been allowed fewer cpus than there are.
    let mut allowed = rising(8);
    allowed.machine.allowed_cpus = (0..8 as CpuId).collect::<IdSet>();
    assert!(advice(&allowed, "limit-cores").starts_with("every core of these nodes is in use"));
    // Random reads that leave the channels idle.
    let random = |threads: u64| {
        let mut made = crate::explain::made::run();
        add(&mut made, &Rate::new("read", 0, 80.0).threads(threads));
        add(&mut made, &Rate::new("read.random8", 0, 2.0).threads(threads));
        made
    };
    assert!(advice(&random(4), "random-reads-leave-channels-idle").starts_with("more threads"));
    assert!(!advice(&random(20), "random-reads-leave-channels-idle").contains("more threads"));
}

#[test]
fn a_ramp_to_all_cores_leaves_no_thread_to_add() {
    let ramp = |cpus: &str| {
        let mut made = crate::explain::made::run();
        add(&mut made, &Rate::new("read", 0, 60.0));
        let own = &mut made.experiments[0];
        own.observations[0].labels = own.observations[0].labels.clone().with_cpus(cpus);
        let labels = Labels::new().with_purpose(Purpose::Scale).with_op("read").with_place(Distance::Local);
        let labels = labels.with_limit("core");
        let evidence = vec![own.observations[0].step.clone()];
        own.findings.clear();
        let level = Finding::new(Quantity::ScaleCeiling, labels, Some(60.0 * GB), Unit::BytesPerSecond);
        own.findings.push(Finding { evidence, ..level });
        made
    };
    assert!(advice(&ramp("0-7"), "limit-cores").contains("use more threads"));
    assert!(advice(&ramp("0-19"), "limit-cores").starts_with("every core of these nodes is in use"));
    // A ramp that another limit ended decides about this one.
    let found = explain("ramp", &ramp("0-19"));
    assert!(found.clear.iter().any(|rule| rule == "below-peak"), "{:?}", found.unjudged);
    assert!(!found.clear.iter().any(|rule| rule == "limit-link"), "no remote memory was measured");
}

/// By Little's law the lines that stores read first are in flight too: as many as are stored.
#[test]
fn the_lines_that_stores_read_first_are_in_flight() {
    let in_flight = |op: &'static str, used: f64| {
        let mut made = crate::explain::made::run();
        add(&mut made, &Rate::new(op, 0, 20.0 * used));
        add(&mut made, &Rate::new(op, 0, used).threads(1));
        add_latency(&mut made, 0, 64.0);
        let found = explain("stores", &made);
        let one = by_rule(&found, "limit-cores").unwrap();
        one.numbers.iter().find(|number| number.name == "in.flight").unwrap().value
    };
    // 3 GB/s of stored lines for each thread, 64 ns each: 3 lines of 64 bytes.
    assert!((in_flight("write.cached", 3.0) - 3.0).abs() < 1e-9);
    assert!((in_flight("read", 3.0) - 3.0).abs() < 1e-9);
    // 8 bytes of each line are stored, and the whole line is read.
    assert!((in_flight("write.random8", 0.3) - 2.4).abs() < 1e-9);
}

#[test]
fn what_was_not_judged_names_the_command_that_measures_it() {
    let mut made = healthy();
    made.machine.theoretical_peak = None;
    made.machine.theoretical_link = None;
    made.counters = None;
    let found = explain("made", &made);
    let unjudged = |rule: &str| {
        let one = found.unjudged.iter().find(|one| one.rule == rule);
        let one = one.unwrap_or_else(|| panic!("{rule}: {:#?}", found.unjudged));
        if let Some(command) = &one.command {
            assert!(one.why.text.contains(command.as_str()), "{rule}: {}", one.why);
        }
        one.command.clone()
    };
    assert_eq!(unjudged("partial-lines").as_deref(), Some("tiermark granularity"));
    assert_eq!(unjudged("slow-channel").as_deref(), Some("tiermark scan"));
    assert_eq!(unjudged("page-walks").as_deref(), Some("tiermark survey"));
    assert_eq!(unjudged("limit-link").as_deref(), Some("tiermark matrix --link-rate RATE"));
    assert_eq!(unjudged("limit-channels").as_deref(), Some("tiermark matrix --peak RATE"));
    // No run counts on a machine without counters, and no run finds modules that are not reported.
    for rule in ["link-down", "remote-writes-amplified", "memory-errors", "missing-channels", "governor"] {
        assert_eq!(unjudged(rule), None, "{rule}");
    }
    let commands = found.commands();
    assert!(commands.is_sorted_by(|a, b| a.1 >= b.1) && commands.len() > 3, "{commands:?}");
}

#[test]
fn the_rules_can_be_read() {
    let rules = rules().rules;
    assert!(rules.len() > 30);
    let of = |name: &str| rules.iter().find(|rule| rule.name == name).unwrap();
    let link = of("limit-link");
    assert_eq!(link.limits, ["link.share >= 0.79"]);
    assert_eq!(link.looks_at.as_deref(), Some("a bandwidth of memory: distance remote"));
    assert!(!link.needs_counters && !link.expects && link.command.as_deref() == Some("tiermark matrix"));
    assert!(of("link-down").needs_counters && of("more-than-used").needs_counters);
    let modules = of("missing-channels");
    assert!(modules.expects && modules.looks_at.is_none() && modules.command.is_none());
}

/// What was counted and is too little to compare is not had from the same command again.
#[test]
fn too_few_channels_or_links_send_nobody_to_measure_them_again() {
    let counted = |channels: &[f64], links: &[(f64, f64)]| {
        let mut made = crate::explain::made::run();
        add(&mut made, &Rate::new("read", 0, 100.0).channels(channels));
        add(&mut made, &Rate::new("read", 1, 35.0).links(links));
        let found = explain("few", &made);
        let unjudged = |rule: &str| {
            let one = found.unjudged.iter().find(|one| one.rule == rule);
            one.map(|one| (one.why.code.clone(), one.why.text.clone(), one.command.clone()))
        };
        [unjudged("slow-channel"), unjudged("link-down"), unjudged("link-slow")]
    };
    let [channels, down, slow] = counted(&[50.0, 50.0], &[(17.5, 20.8)]);
    let (code, text, command) = channels.unwrap();
    // A scan shows slow memory without counters.
    assert_eq!((code.as_str(), command.as_deref()), ("otherwise_by", Some("tiermark scan")));
    assert!(text.contains("2 memory channels of a socket at most, and a comparison needs 3"), "{text}");
    for (code, text, command) in [down, slow].map(Option::unwrap) {
        assert_eq!((code.as_str(), command), ("boxes_few", None));
        assert!(text.contains("1 link") && text.contains('2'), "{text}");
    }
    assert_eq!(counted(&[30.0; 3], &[(17.5, 20.8); 2]), [None, None, None]);
    // Links without remote traffic carry too little: a matrix has it.
    let mut local = crate::explain::made::run();
    add(&mut local, &Rate::new("read", 0, 100.0).channels(&[17.0; 6]).links(&[(0.01, 20.8); 2]));
    let found = explain("local", &local);
    let link = found.unjudged.iter().find(|one| one.rule == "link-down").unwrap();
    assert_eq!(link.command.as_deref(), Some("tiermark matrix"));
}
