use super::*;
use tiermark_model::messages::rules::left_out_of;
use tiermark_model::messages::shapes;
use tiermark_model::{Bytes, Interval, Labels, Machine, Purpose, Quantity, Reason, Relation, Unit};
use tiermark_page::{Style, terminal};

fn finding(quantity: Quantity, op: &str, group: OsGroup, value: Option<f64>, unit: Unit) -> Finding {
    let labels = Labels::new().with_op(op).with_group(group);
    let interval = value.map(|v| Interval { low: v * 0.97, high: v * 1.03, level: 0.95 });
    Finding { interval, samples: 6, ..Finding::new(quantity, labels, value, unit) }
}

fn rate(op: &str, gbs: f64) -> Finding {
    finding(Quantity::OsBandwidth, op, OsGroup::Channels, Some(gbs * 1e9), Unit::BytesPerSecond)
}

fn latency(op: &str, group: OsGroup, ns: f64) -> Finding {
    finding(Quantity::OsLatency, op, group, Some(ns), Unit::Ns)
}

fn with(mut finding: Finding, change: impl FnOnce(Labels) -> Labels) -> Finding {
    finding.labels = change(finding.labels);
    finding
}

/// A curve by size on two cpus, with some of its points on one, and another by capacity.
#[test]
fn some_points_on_the_same_cpu_are_a_column_of_the_curve() {
    let point = |size: u64, capacity: u64, place: &str| {
        let purpose = if (size, capacity, place) == (64, 64, "LLC") { Purpose::Os } else { Purpose::OsPoint };
        with(rate("pipe", 2.0), |labels| {
            let labels = labels.with_size(size << 10).with_capacity(capacity << 10);
            labels.with_relation(place).with_purpose(purpose)
        })
    };
    let mut all: Vec<Finding> = [64, 4, 16, 1024].map(|size| point(size, 64, "LLC")).to_vec();
    all.extend([64, 4, 1024].map(|size| point(size, 64, "same cpu")));
    all.push(point(64, 256, "LLC"));
    insta::assert_snapshot!(shown(&all, &Style::default()));
}

/// A run of nothing else.
fn run() -> Run {
    serde_json::from_str(include_str!("../../../history/tests/fixtures/run-4.json")).unwrap()
}

fn shown(findings: &[Finding], style: &Style) -> String {
    let mut run = run();
    run.machine = Machine::default();
    let findings = take(&mut Shown::new(findings.iter()));
    terminal(&os(&findings, &run, &[], Detail::Usual), style)
}

/// A pipe as it is measured on a server: sizes and capacities beside the nearest core, places at the first point.
fn pipe() -> Vec<Finding> {
    let point = |size: u64, capacity: u64, place: &str, gbs: f64| {
        let purpose = if (size, capacity, place) == (64, 64, "LLC") { Purpose::Os } else { Purpose::OsPoint };
        with(rate("pipe", gbs), |labels| {
            let labels = labels.with_size(size << 10).with_capacity(capacity << 10);
            labels.with_relation(place).with_purpose(purpose)
        })
    };
    let mut all = vec![point(64, 64, "LLC", 1.5), point(64, 64, "SMT", 2.5), point(64, 64, "remote", 1.0)];
    all.push(point(64, 64, "same cpu", 4.5));
    all.extend([4, 16, 1024].map(|size| point(size, 64, "LLC", 2.0)));
    all.extend([4, 256].map(|capacity| point(64, capacity, "LLC", 3.0)));
    all
}

fn ping_pongs() -> Vec<Finding> {
    let place =
        |op: &str, place: &str, ns: f64| with(latency(op, OsGroup::Channels, ns), |labels| labels.with_relation(place));
    let ops = ["pipe ping-pong", "shared memory ping-pong", "tcp loopback ping-pong"];
    let one = |op| [("LLC", 34e3), ("remote", 41e3), ("same cpu", 4.4e3)].map(|(at, ns)| place(op, at, ns));
    ops.into_iter().flat_map(one).collect()
}

#[test]
fn what_was_moved_by_itself_is_a_table_of_its_own_and_what_is_alike_shares_one() {
    let all = [pipe(), ping_pongs()].concat();
    let text = shown(&all, &Style::default());
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn no_name_is_cut_where_the_page_is_narrow() {
    let all = [pipe(), ping_pongs()].concat();
    for width in [40, 60, 80, 120] {
        let text = shown(&all, &Style { width, ..Style::default() });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        for name in ["shared memory", "tcp loopback"] {
            assert!(text.contains(name), "{width}: {text}");
        }
        // Every number is there, whatever the layout.
        assert_eq!(text.matches("4.50").count(), 1, "{width}: {text}");
    }
}

#[test]
fn blocks_repeat_all_columns_that_name_their_rows() {
    let places = ["same cpu", "SMT", "cluster", "LLC", "die", "socket", "remote"];
    let one = |place: &&str, set: u64| {
        with(latency("process switch pipe", OsGroup::Switches, 4_000.0 + set as f64), |labels| {
            labels.with_relation(place).with_working_set(set)
        })
    };
    let all: Vec<Finding> = places.iter().flat_map(|place| [one(place, 0), one(place, 1 << 20)]).collect();
    let text = shown(&all, &Style::default());
    insta::assert_snapshot!(text);
}

#[test]
fn a_reason_that_all_share_is_said_once() {
    let mut all =
        vec![latency("getppid", OsGroup::Syscalls, 100.0), latency("fork+exec tiny", OsGroup::Processes, 3e5)];
    all.extend([pipe(), ping_pongs()].concat());
    for finding in &mut all {
        finding.verdict.suspect(Reason::Migrated { shots: 3, of: 40 });
    }
    all[0].verdict.suspect(Reason::FewPoints { points: 2, of: 3 });
    let text = shown(&all, &Style::default());
    insta::assert_snapshot!(text);
}

#[test]
fn what_was_never_tried_has_no_row() {
    let mut untried = latency("stat", OsGroup::Syscalls, 1.0);
    (untried.value, untried.interval) = (None, None);
    untried.verdict.invalid(Reason::Refused { refusal: tiermark_model::messages::run::no_time_left("os/stat") });
    let text = shown(&[latency("getppid", OsGroup::Syscalls, 100.0), untried.clone()], &Style::default());
    let rows: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(rows.contains(&"getppid") && !rows.contains(&"stat"), "{text}");
    let mut counted = Shown::new(std::iter::once(&untried));
    let _ = take(&mut counted);
    assert_eq!(counted.numbers.len(), 1, "it is missing, and counts");
}

#[test]
fn a_knee_is_told_in_words_and_is_no_cell_of_a_table() {
    let labels = |f| with(f, |labels| labels.with_size(65_536));
    let point = with(rate("pipe", 1.0), |labels| labels.with_size(4096));
    let mut knee = finding(Quantity::OsKnee, "pipe", OsGroup::Channels, Some(65_536.0), Unit::Bytes);
    let block = (Bytes(65_536), 4e9.into());
    knee.notes = vec![shapes::use_blocks_of(block.0, block.1, block, block)];
    let text = shown(&[point, labels(rate("pipe", 4.0)), knee.clone()], &Style::default());
    // The column of its size and the knee: had it been a cell, there would be another.
    insta::assert_snapshot!(text);
    let mut doubted = knee.clone();
    doubted.verdict.suspect(Reason::Pairs { doubted: 2, of: 3 });
    let none = Finding { value: None, interval: None, notes: vec![shapes::too_few_points()], ..knee };
    for knee in [doubted, none] {
        insta::assert_snapshot!(shown(&[knee], &Style::default()));
    }
}

#[test]
fn operations_on_registers_are_told_in_cycles() {
    let noted = |op: &str, cycles: f64| Finding {
        notes: vec![shapes::cycles_of_operation(cycles, 4e9)],
        ..latency(op, OsGroup::Arithmetic, cycles / 4.0)
    };
    let text = shown(&[noted("int64 add", 1.0), noted("int64 mul", 3.0)], &Style::default());
    insta::assert_snapshot!(text);
}

#[test]
fn a_channel_slower_on_another_cpu_has_its_cause_with_what_waking_takes() {
    let text = shown(&[pipe(), ping_pongs()].concat(), &Style::default());
    insta::assert_snapshot!(text);
    let mut even = pipe();
    for finding in &mut even {
        finding.interval = Some(Interval { low: 0.9e9, high: 5e9, level: 0.95 });
    }
    assert!(!shown(&even, &Style::default()).contains("Slower"), "intervals that overlap tell nothing");
}

#[test]
fn names_of_single_operations_are_whole_and_their_quantiles_columns() {
    let mut all = vec![latency("fork+exec tiny", OsGroup::Processes, 335e3)];
    for (statistic, ns) in [("max", 465e3), ("p50", 335e3)] {
        let tail = finding(Quantity::OsTail, "fork+exec tiny", OsGroup::Processes, Some(ns), Unit::Ns);
        all.push(with(tail, |labels| labels.with_statistic(statistic)));
    }
    let text = shown(&all, &Style::default());
    let head = text.lines().find(|line| line.contains("p50")).unwrap();
    assert!(head.find("p50") < head.find("max"), "{text}");
    assert_eq!(text.matches("fork+exec tiny").count(), 2, "{text}");
}

#[test]
fn what_the_time_did_not_suffice_for_is_counted_and_is_no_list() {
    let mut run = run();
    run.machine = Machine::default();
    let mut experiment = run.experiments.remove(0);
    experiment.request.probe = "os".to_owned();
    experiment.plan.max_seconds = 20.0;
    experiment.findings = vec![latency("getppid", OsGroup::Syscalls, 100.0)];
    let step = experiment.observations[0].clone();
    let untried = |op: &str, purpose: Purpose, why: &str| {
        let mut seen = step.clone();
        seen.step = format!("os/{op}/{purpose}");
        seen.labels = Labels::new().with_op(op).with_group(OsGroup::Syscalls);
        seen.labels = seen.labels.with_purpose(purpose);
        (seen.value, seen.interval) = (None, None);
        let refusal = tiermark_model::Refusal::new(seen.step.clone(), why, "allow more with --max-time");
        seen.verdict.invalid(Reason::Refused { refusal: refusal.clone() });
        seen.refusal = Some(refusal);
        seen
    };
    let (late, later) = ("the time left did not suffice", "the time allowed went to the numbers: a point less");
    experiment.observations = vec![untried("stat", Purpose::Os, late), untried("read", Purpose::OsPoint, later)];
    experiment.observations.push(untried("pread", Purpose::OsPoint, "memfd_create: EPERM"));
    experiment.plan.rules = vec![left_out_of("vfork+exit, fork+exit", "points above 20 MiB (--max-mem) are left out")];
    run.experiments = vec![experiment];
    let text =
        terminal(&crate::run(&run, &tiermark_expect::check_by_rules_of_thumb(&run), Detail::Usual), &Style::default());
    // Of these one is a part that is missing; what a filter forbade is a point that is left out.
    insta::assert_snapshot!(text);
    let lacking = run.experiments[0].observations.iter().filter(|o| run.experiments[0].lacks(o)).count();
    assert_eq!(lacking, 1);
}

fn size(op: &str, bytes: u64) -> Finding {
    with(latency(op, OsGroup::Libc, 20.0), |labels| labels.with_size(bytes))
}

#[test]
fn single_numbers_share_a_table_that_says_where_each_is_of() {
    let page = |op: &str, page: &str| with(latency(op, OsGroup::Faults, 1e3), |labels| labels.with_page(page));
    let place = |op: &str| with(latency(op, OsGroup::Faults, 1e3), |labels| labels.with_relation(Relation::Llc));
    let unmapped = with(latency("munmap", OsGroup::Faults, 9e3), |labels| labels.with_size(65_536).with_threads(0));
    let all = [latency("major fault", OsGroup::Faults, 1e4), page("fault anonymous", "base"), place("userfaultfd")];
    insta::assert_snapshot!(shown(&[&all[..], &[unmapped]].concat(), &Style::default()));
}

#[test]
fn a_page_size_is_no_place_of_another_side() {
    let held = |op: &str, mib: u64| {
        with(latency(op, OsGroup::Processes, 1e3), |l| l.with_resident(mib << 20).with_page("thp"))
    };
    let text = shown(&[held("vfork+exit", 1), held("vfork+exit", 64)], &Style::default());
    insta::assert_snapshot!(text);
}

#[test]
fn half_of_a_curve_stands_in_the_table_of_the_whole() {
    let set = |op: &str, bytes: u64| {
        with(latency(op, OsGroup::Switches, 2e3), |l| l.with_working_set(bytes).with_relation("LLC"))
    };
    let all = [set("by token", 0), set("by pipe", 0), set("by pipe", 4096), set("by ring", 0)];
    let text = shown(&all, &Style::default());
    assert_eq!(text.matches("by working set: other side LLC").count(), 1, "{text}");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("  by ")).collect();
    let of = |at: usize| (lines[at].split_whitespace().nth(1).unwrap(), lines[at].matches("µs").count());
    assert_eq!([of(1), of(2), of(3)], [("token", 1), ("pipe", 2), ("ring", 1)], "{text}");
    // A quarter of it would leave most of a row empty.
    let longer = [all.to_vec(), [1, 2, 3].map(|n| set("by pipe", n << 20)).to_vec()].concat();
    let text = shown(&longer, &Style::default());
    let single: Vec<&str> = text.lines().filter(|line| line.contains("on 0 B, LLC")).collect();
    assert!(single.len() == 2 && single.iter().all(|line| line.matches("µs").count() == 1), "{text}");
}

#[test]
fn no_two_tables_of_a_group_have_one_title() {
    let all = [size("memset", 1), size("memset", 2), size("malloc+free", 64), size("malloc+free", 128)];
    let text = shown(&all, &Style::default());
    insta::assert_snapshot!(text);
}

#[test]
fn a_whole_run_begins_with_the_numbers_that_lmbench_made_known() {
    let one =
        |op: &str, group: OsGroup, ns: f64| with(latency(op, group, ns), |labels| labels.with_purpose(Purpose::Os));
    let pipe = |op: &str, purpose: Purpose, place: &str, ns: f64| {
        with(latency(op, OsGroup::Channels, ns), |labels| labels.with_relation(place).with_purpose(purpose))
    };
    let forked = |mib: u64, purpose: Purpose, ns: f64| {
        with(latency("fork+exit", OsGroup::Processes, ns), |l| l.with_resident(mib << 20).with_purpose(purpose))
    };
    let switch = |set: u64, place: &str, purpose: Purpose, ns: f64| {
        let with_set = with(latency("process switch pipe", OsGroup::Switches, ns), |l| {
            l.with_working_set(set).with_relation(place)
        });
        with(with_set, |labels| labels.with_purpose(purpose))
    };
    let all = vec![
        one("getppid", OsGroup::Syscalls, 104.0),
        one("open+close", OsGroup::Syscalls, 1200.0),
        one("signal to itself", OsGroup::Syscalls, 900.0),
        forked(64, Purpose::Os, 900e3),
        forked(1, Purpose::OsPoint, 80e3),
        one("fork+exec", OsGroup::Processes, 400e3),
        switch(0, "LLC", Purpose::Os, 11e3),
        switch(1 << 20, "same cpu", Purpose::OsPoint, 50e3),
        switch(0, "same cpu", Purpose::OsPoint, 2e3),
        pipe("pipe ping-pong", Purpose::OsPoint, "same cpu", 4400.0),
        pipe("pipe ping-pong", Purpose::Os, "LLC", 34e3),
    ];
    let text = shown(&all, &Style::default());
    assert!(text.trim_start().starts_with("In short"), "{text}");
    let line = |start: &str| text.lines().find(|line| line.trim_start().starts_with(start)).unwrap().to_owned();
    assert!(line("getppid").contains("104 ns"), "{text}");
    // What lmbench measures: a small process, and a switch on one cpu; not the first point of an earlier version.
    assert!(line("fork+exit").contains("80.0 µs") && line("fork+exit").contains("1 MiB"), "{text}");
    assert!(
        line("process switch").contains("2.00 µs") && line("process switch").contains("same cpu  lat_ctx"),
        "{text}"
    );
    // The first point, and not another place.
    assert!(line("pipe ping").contains("34.0 µs") && line("pipe ping").contains("side LLC"), "{text}");
    // Each takes one line.
    let lines = text.lines().skip_while(|line| !line.contains("operation")).skip(1);
    assert_eq!(lines.take_while(|line| !line.contains("lmbench measures")).count(), 7, "{text}");
    // A few selected primitives have no such list.
    assert!(!shown(&all[..3], &Style::default()).contains("lat_syscall"));
}

#[test]
fn conditions_of_the_system_are_shown_with_the_first_part_of_a_run_that_has_the_group() {
    let mut run = run();
    let call = |ns: f64| latency("getppid", OsGroup::Syscalls, ns);
    run.experiments.truncate(1);
    run.experiments[0].findings = vec![call(100.0), call(200.0)];
    let findings = &run.experiments[0].findings;
    let shows = |at: usize| {
        terminal(&os(&[&findings[at]], &run, &[], Detail::Usual), &Style::default()).contains("Mitigations")
    };
    assert_eq!([shows(0), shows(1)], [true, false]);
}

#[test]
fn a_bound_has_no_interval() {
    let mut found = latency("getppid", OsGroup::Syscalls, 7.19);
    found.interval = Some(tiermark_model::Interval { low: 7.15, high: 7.23, level: 0.95 });
    assert!(shown(&[found.clone()], &Style::default()).contains("7.19 ±0.04 ns"));
    found.verdict.bound(tiermark_model::Reason::NotSharp { share: 0.01 });
    let text = shown(&[found], &Style::default());
    assert!(text.contains("≤7.19 ns") && !text.contains('±'), "{text}");
}
