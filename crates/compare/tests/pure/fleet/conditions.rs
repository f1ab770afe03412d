//! What hosts are judged by besides times and rates: the measured size of L3, the core clock, interruptions.

use tiermark_compare::fleet::{Gathered, limits};
use tiermark_expect::{Expectations, check};
use tiermark_model::{
    CheckOutcome, Finding, Fleet, FleetHost, HealthCount, HostState, Interval, Labels, MIB, Quantity, Run, RunHealth,
    Throttling, Tier, Unit, Verdict,
};
use tiermark_stats::Rng;

use crate::fleet::made::{BARE, Change, GUEST, Server, record, run};

const SERVER: Server = Server { product: "Dell R7525", cpu: "EPYC 7343", slots: 16, scatter: BARE, memory: 340.0 };

/// The size of L3 as a latency curve shows it.
fn with_size(run: &mut Run, mib: f64) {
    let labels = Labels::new().with_tier(Tier::Cache(3)).with_statistic("plateau").with_page("thp");
    let bytes = mib * MIB as f64;
    let interval = Some(Interval { low: bytes * 0.9, high: bytes * 1.1, level: 0.98 });
    let found = Finding::new(Quantity::TierSize, labels, Some(bytes), Unit::Bytes);
    run.experiments[0].findings.push(Finding { interval, verdict: Verdict::trusted(), ..found });
}

/// The share of its time that interruptions took.
fn interrupted(run: &mut Run, share: f64) {
    let found = Finding::new(Quantity::InterruptionsShare, Labels::new(), Some(share), Unit::Ratio);
    let interval = Some(Interval { low: share * 0.9, high: share * 1.1, level: 0.95 });
    run.experiments[0].findings.push(Finding { interval, samples: 1000, verdict: Verdict::trusted(), ..found });
}

fn usual(run: &mut Run) {
    with_size(run, 128.0);
    interrupted(run, 0.0003);
}

fn change(facts: fn(&mut Run), figures: &[(&'static str, f64)]) -> Change {
    Change { figures: figures.to_vec(), facts: Some(facts) }
}

/// Twelve sound hosts, and others.
fn fleet(server: &Server, others: &[(&str, Change)]) -> Fleet {
    fleet_of(server, usual, others)
}

fn fleet_of(server: &Server, sound: fn(&mut Run), others: &[(&str, Change)]) -> Fleet {
    let (mut rng, mut all) = (Rng::new(31), Gathered::default());
    for at in 0..12 {
        all.add(record(&format!("node{at:02}"), server, &change(sound, &[]), &mut rng));
    }
    others.iter().for_each(|(name, change)| all.add(record(name, server, change, &mut rng)));
    all.judged(&[])
}

fn odd(fleet: &Fleet) -> Vec<(&str, &str)> {
    let odd = fleet.hosts.iter().filter(|host| host.state == HostState::Odd);
    odd.map(|host: &FleetHost| (host.host.as_str(), host.causes[0].rule.as_str())).collect()
}

#[test]
fn a_smaller_measured_l3_is_the_cause_of_slower_accesses() {
    let small = |run: &mut Run| with_size(run, 96.0);
    let slower = [("l3.latency", 1.15), ("dram.latency", 1.15)];
    let fleet = fleet(&SERVER, &[("small", change(small, &[])), ("slow", change(small, &slower))]);
    let mut found = odd(&fleet);
    found.sort_unstable();
    assert_eq!(found, [("slow", "smaller-cache"), ("small", "smaller-cache")]);
}

#[test]
fn the_cause_of_interruptions_and_of_a_smaller_l3_has_both_figures() {
    let noisy = |run: &mut Run| {
        with_size(run, 128.0);
        interrupted(run, 0.0401);
    };
    let found = fleet(&SERVER, &[("noisy", change(noisy, &[]))]);
    assert_eq!(odd(&found), [("noisy", "interrupted")]);
    let words = found.hosts[0].causes[0].in_words();
    assert!(words.ends_with("no recorded fact explains it (4.01 %, peers 0.03 %)"), "{words}");
    let small = fleet(&SERVER, &[("small", change(|run| with_size(run, 96.0), &[]))]);
    let words = small.hosts[0].causes[0].in_words();
    assert!(words.ends_with("(96 MiB, peers 128 MiB)"), "{words}");
}

/// As many interruptions of more than 20 µs as were seen in 0.8 s, and how long each was.
fn interrupted_long(run: &mut Run, count: u64, each: f64) {
    usual(run);
    let share = |count: f64, each: f64| count * each / 0.8;
    let high = if count == 0 { share(3.7, 20e-6) } else { share(1.1 * count as f64 + 4.6, each) };
    let interval = Some(Interval { low: share(0.8 * count as f64, each), high, level: 0.95 });
    let value = Some(share(count as f64, each));
    let found = Finding::new(Quantity::InterruptionsLongShare, Labels::new(), value, Unit::Ratio);
    run.experiments[0].findings.push(Finding { interval, samples: count, verdict: Verdict::trusted(), ..found });
}

/// A few long interruptions are chance: they fall on any host, and one may last long.
#[test]
fn a_host_with_a_few_long_interruptions_is_like_one_with_none() {
    let none = |run: &mut Run| interrupted_long(run, 0, 0.0);
    let few: [(&str, Change); 3] = [
        ("one", change(|run| interrupted_long(run, 1, 900e-6), &[])),
        ("two", change(|run| interrupted_long(run, 2, 90e-6), &[])),
        ("short", change(|run| interrupted_long(run, 3, 21e-6), &[])),
    ];
    let found = fleet_of(&SERVER, none, &few);
    assert_eq!(odd(&found), []);
    let figure = |name: &str| found.hosts.iter().find(|host| host.host == name).unwrap().figures.iter();
    assert!(figure("one").any(|figure| figure.is_bound), "it is not what was measured");
    let stalled = change(|run| interrupted_long(run, 8, 40e-3), &[]);
    assert_eq!(odd(&fleet_of(&SERVER, none, &[("stalled", stalled)])), [("stalled", "interrupted")]);
    let many = change(|run| interrupted_long(run, 400, 90e-6), &[]);
    assert_eq!(odd(&fleet_of(&SERVER, none, &[("many", many)])), [("many", "interrupted")]);
}

/// Who loses data goes first, whoever is slower.
#[test]
fn a_host_that_loses_data_comes_before_one_that_is_slow() {
    let wrong = |run: &mut Run| {
        usual(run);
        let found = Finding::new(Quantity::SoakWrong, Labels::new(), Some(1.0), Unit::Count);
        run.experiments[0].findings.push(Finding { verdict: Verdict::trusted(), ..found });
    };
    let slow = |run: &mut Run| {
        usual(run);
        run.machine.dimms.pop();
    };
    let others = [("slow", change(slow, &[("dram.bandwidth", 0.7)])), ("wrong", change(wrong, &[]))];
    assert_eq!(odd(&fleet(&SERVER, &others)), [("wrong", "wrong-memory"), ("slow", "modules")]);
}

/// Curves show a size to some 10 %.
#[test]
fn what_a_curve_cannot_tell_apart_is_alike() {
    let less = |run: &mut Run| with_size(run, 118.0);
    assert_eq!(odd(&fleet(&SERVER, &[("less", change(less, &[]))])), []);
    let none = Change::default();
    assert_eq!(odd(&fleet(&SERVER, &[("none", none)])), [], "not resolved");
}

#[test]
fn limits_of_bare_metal_have_clock_interruptions_and_the_size_of_l3() {
    let text = limits(&fleet(&SERVER, &[])).unwrap();
    let expected = Expectations::read("rack7.toml", &text).unwrap();
    let failed = |change: &Change| -> Vec<String> {
        let run = run("next", &SERVER, change, &mut Rng::new(9));
        let check = check("next", &run, &expected, false);
        let failed = check.results.iter().filter(|result| result.outcome == CheckOutcome::Failed);
        failed.map(|result| result.that.split(' ').next().unwrap().to_owned()).collect()
    };
    assert_eq!(failed(&change(usual, &[])), [""; 0], "{text}");
    assert_eq!(failed(&change(usual, &[("clock", 0.9)])), ["core.clock"], "{text}");
    let small = |run: &mut Run| with_size(run, 96.0);
    assert_eq!(failed(&change(small, &[])), ["size.l3"], "{text}");
    let noisy = |run: &mut Run| interrupted(run, 0.04);
    assert_eq!(failed(&change(noisy, &[])), ["interruptions.share"], "{text}");
    let little = |run: &mut Run| interrupted(run, 0.008);
    assert_eq!(failed(&change(little, &[])), [""; 0], "a limit near 0 says nothing: {text}");
}

/// Two sockets, of which one was throttled, in ten days.
fn throttled(run: &mut Run, package: u32, cores: u64, whole: u64) {
    usual(run);
    run.machine.cpus.iter_mut().for_each(|cpu| cpu.socket = cpu.id / 8);
    let count = |at: u32, events: u64| {
        let events = if at == package { events } else { 0 };
        Some(HealthCount::new(events, Some(events)))
    };
    let of =
        |at: u32| Throttling { package: at, cores: count(at, cores), whole: count(at, whole), ..Throttling::default() };
    let throttling = Some(vec![of(0), of(1)]);
    run.health = Some(RunHealth { throttling, up_seconds: Some(864_000), ..RunHealth::default() });
}

/// A cooler that fails throttles one socket.
#[test]
fn the_hotter_socket_decides_how_often_a_host_is_throttled() {
    let cool = |run: &mut Run| throttled(run, 0, 0, 0);
    let one = |run: &mut Run| throttled(run, 1, 2400, 0);
    let found = fleet_of(&SERVER, cool, &[("hot", change(one, &[]))]);
    assert_eq!(odd(&found), [("hot", "throttled-before")]);
    let words = found.hosts[0].causes[0].in_words();
    assert_eq!(
        words,
        "throttled for heat since boot 300 times a core in 10 days, 2400 on socket 1 (30 a day, limit 24)"
    );
    // What throttles a processor throttles each of its cores.
    let whole = |run: &mut Run| throttled(run, 0, 0, 300);
    assert_eq!(odd(&fleet_of(&SERVER, cool, &[("hot", change(whole, &[]))])), [("hot", "throttled-before")]);
    let few = |run: &mut Run| throttled(run, 0, 1600, 200);
    assert_eq!(odd(&fleet_of(&SERVER, cool, &[("few", change(few, &[]))])), [], "20 a day");
}

/// The clock of a guest is that of its host.
#[test]
fn limits_of_guests_have_neither_clock_nor_interruptions() {
    let server = Server { scatter: GUEST, ..SERVER };
    let text = limits(&fleet(&server, &[])).unwrap();
    assert!(!text.contains("core.clock") && !text.contains("interruptions") && text.contains("size.l3"), "{text}");
}
