//! Facts that split a kind: groups of hosts whose figures differ, and facts that are shown and blamed for nothing.

use tiermark_compare::fleet::{Gathered, Rates};
use tiermark_model::testing::seeds;
use tiermark_model::{Confidence, Fact, Fleet, FleetHost, HealthCount, HostState, MemoryErrors, Run, RunHealth};
use tiermark_stats::Rng;

use crate::fleet::made::{BARE, Change, GUEST, Server, record, without_module};

const SERVER: Server = Server { product: "Dell R7525", cpu: "EPYC 7343", slots: 8, scatter: BARE, memory: 340.0 };

/// A fleet of so many hosts; `change`: what differs in the host at a place.
fn fleet(hosts: usize, server: &Server, seed: u64, change: impl Fn(usize) -> Change) -> Fleet {
    let (mut rng, mut all) = (Rng::new(seed), Gathered::default());
    for at in 0..hosts {
        all.add(record(&format!("node{at:02}"), server, &change(at), &mut rng));
    }
    all.judged(&[])
}

fn old_microcode(run: &mut Run) {
    run.machine.cpu_model.microcode = Some("0xa0011ce".into());
}

fn new_microcode(run: &mut Run) {
    run.machine.cpu_model.microcode = Some("0xa0011d5".into());
}

fn odd(fleet: &Fleet) -> Vec<&FleetHost> {
    let mut odd: Vec<&FleetHost> = fleet.hosts.iter().filter(|host| host.state == HostState::Odd).collect();
    odd.sort_by_key(|host| &host.host);
    odd
}

/// Three of twelve have an older microcode and lost so much of their L3: whether these three, and no others, are blamed
/// for it.
fn is_found(loss: f64, seed: u64) -> bool {
    let change = |at: usize| match at < 3 {
        true => Change { figures: vec![("l3", 1.0 - loss)], facts: Some(old_microcode) },
        false => Change { figures: Vec::new(), facts: Some(new_microcode) },
    };
    let fleet = fleet(12, &SERVER, seed, change);
    let odd = odd(&fleet);
    let is_blamed = |host: &&FleetHost| {
        let cause = &host.causes[0];
        cause.rule == "microcode" && cause.confidence == Confidence::Measured
    };
    odd.len() == 3 && odd.iter().all(|host| host.host.as_str() < "node03") && odd.iter().all(is_blamed)
}

#[test]
fn a_fact_of_a_quarter_of_the_hosts_is_blamed_for_what_they_lost() {
    let seeds = seeds(10);
    for loss in [0.05, 0.08] {
        let found = (0..seeds).filter(|seed| is_found(loss, *seed)).count() as u64;
        eprintln!("of {seeds} groups of 3 of 12 that lost {loss} of L3, found: {found}");
        assert!(found * 20 >= 19 * seeds, "{loss}: {found} of {seeds}");
    }
}

/// Sound hosts that are split by three facts: how many fleets have an odd host.
fn alarms(hosts: usize, scatter: [f64; 2], seeds: u64) -> usize {
    let facts: [fn(&mut Run); 4] = [
        |run| new_microcode(run),
        |run| run.machine.system.kernel = Some("5.14".into()),
        |run| run.machine.system.bios = Some("2.1".into()),
        |run| old_microcode(run),
    ];
    let server = Server { scatter, ..SERVER };
    let change = |at: usize| Change { figures: Vec::new(), facts: Some(facts[at % 4]) };
    (0..seeds).filter(|seed| !odd(&fleet(hosts, &server, 9000 + seed, change)).is_empty()).count()
}

#[test]
fn facts_that_cost_nothing_are_blamed_for_nothing() {
    let seeds = seeds(20);
    for (hosts, scatter) in [(6, BARE), (12, BARE), (40, BARE), (12, GUEST)] {
        let alarms = alarms(hosts, scatter, seeds);
        eprintln!("of {seeds} sound fleets of {hosts} hosts with a scatter of {scatter:?}, with an odd host: {alarms}");
        assert!(alarms as u64 * 20 <= seeds, "{hosts} {scatter:?}: {alarms} of {seeds}");
    }
}

/// Half of the hosts have one firmware, half the other: the worse half is odd.
#[test]
fn of_two_halves_the_worse_is_odd() {
    for worse in [0, 1] {
        let change = |at: usize| Change {
            figures: if at % 2 == worse { vec![("dram.bandwidth", 0.88)] } else { Vec::new() },
            facts: if at.is_multiple_of(2) { Some(|run| run.machine.system.bios = Some("2.1".into())) } else { None },
        };
        let fleet = fleet(12, &SERVER, 3, change);
        let names: Vec<usize> = odd(&fleet).iter().map(|host| host.host[4..].parse().unwrap()).collect();
        assert_eq!(names, (0..12).filter(|at| at % 2 == worse).collect::<Vec<_>>());
        assert!(odd(&fleet).iter().all(|host| host.causes[0].rule == "firmware"), "{:?}", odd(&fleet)[0].causes);
    }
}

/// Of two hosts with one kernel, one lost a channel: the other is sound, and no kernel is to blame.
#[test]
fn a_broken_host_drags_nobody_of_its_group_along() {
    for seed in 0..seeds(10) {
        let change = |at: usize| Change {
            figures: if at == 0 { vec![("dram.bandwidth.all", 0.875)] } else { Vec::new() },
            facts: if at < 2 { Some(|run| run.machine.system.kernel = Some("5.14".into())) } else { None },
        };
        let fleet = fleet(40, &SERVER, 60 + seed, change);
        let odd = odd(&fleet);
        assert!(odd.len() == 1 && odd[0].host == "node00" && odd[0].causes[0].rule == "slow-memory", "{odd:?}");
    }
}

/// The hosts with the old kernel include those with the old microcode, which is what is slow.
#[test]
fn of_a_larger_group_only_those_are_odd_that_lost_something() {
    let change = |at: usize| Change {
        figures: if at < 8 { vec![("l3", 0.92)] } else { Vec::new() },
        facts: match at {
            ..8 => Some(|run| {
                old_microcode(run);
                run.machine.system.kernel = Some("5.14".into());
            }),
            8..14 => Some(|run| {
                new_microcode(run);
                run.machine.system.kernel = Some("5.14".into());
            }),
            _ => Some(new_microcode),
        },
    };
    for seed in 0..seeds(5) {
        let fleet = fleet(40, &SERVER, 80 + seed, change);
        let names: Vec<&str> = odd(&fleet).iter().map(|host| host.host.as_str()).collect();
        assert!(names.len() == 8 && names.iter().all(|name| *name < "node08"), "{names:?}");
        assert!(odd(&fleet).iter().all(|host| host.causes[0].rule == "microcode"), "{:?}", odd(&fleet)[0].causes);
    }
}

/// A few hosts that an update made faster are no fault, and the others are what they were.
#[test]
fn a_faster_minority_makes_no_host_odd() {
    let change = |at: usize| Change {
        figures: if at < 3 { vec![("l3.bandwidth", 1.05), ("l3.latency", 0.96)] } else { Vec::new() },
        facts: if at < 3 { Some(new_microcode) } else { Some(old_microcode) },
    };
    for seed in 0..seeds(5) {
        let fleet = fleet(12, &SERVER, 90 + seed, change);
        assert!(odd(&fleet).iter().all(|host| host.causes[0].rule != "microcode"), "{:?}", odd(&fleet));
    }
}

#[test]
fn facts_are_shown_where_nobody_can_be_blamed() {
    let change = |at: usize| Change { figures: Vec::new(), facts: if at == 0 { Some(without_module) } else { None } };
    for hosts in [2, 3] {
        let fleet = fleet(hosts, &SERVER, 5, change);
        assert!(odd(&fleet).is_empty());
        let slots = fleet.kinds[0].facts.iter().find(|of| of.fact == Fact::Slots).unwrap();
        let values: Vec<&str> =
            std::iter::once(slots.value.as_str()).chain(slots.others.iter().map(|of| of.value.as_str())).collect();
        assert!(values.iter().any(|value| value.starts_with("7 of 8")), "{values:?}");
        assert!(values.iter().any(|value| value.starts_with("8 of 8")), "{values:?}");
    }
    let unread = |hosts: usize, scatter| {
        let change = |at: usize| Change {
            figures: Vec::new(),
            facts: if at < 2 { Some(|run| run.machine.dimms.clear()) } else { None },
        };
        fleet(hosts, &Server { scatter, ..SERVER }, 5, change).kinds[0].modules_unread
    };
    assert_eq!((unread(6, BARE), unread(6, GUEST)), (2, 0));
}

/// Errors and throttling by the day: one in a month drains no host.
#[test]
fn errors_and_throttling_count_by_the_day() {
    let health = |run: &mut Run, errors: u64, throttled: u64, days: u64| {
        let corrected = Some(HealthCount::new(errors, Some(errors)));
        let memory = MemoryErrors { place: "mc0".into(), corrected, ..MemoryErrors::default() };
        let cores = Some(HealthCount::new(throttled, Some(throttled)));
        let throttling = tiermark_model::Throttling { cores, ..Default::default() };
        run.health = Some(RunHealth {
            memory: Some(vec![memory]),
            throttling: Some(vec![throttling]),
            up_seconds: Some(days * 86_400),
            ..RunHealth::default()
        });
    };
    let judged = |plant: &dyn Fn(&mut Run), rates: Rates| {
        let (mut rng, mut all) = (Rng::new(7), Gathered::default());
        all.allow_rates(rates);
        for at in 0..6 {
            let mut run = crate::fleet::made::run(&format!("node{at:02}"), &SERVER, &Change::default(), &mut rng);
            health(&mut run, 0, 0, 30);
            if at == 0 {
                plant(&mut run);
            }
            all.add(tiermark_compare::fleet::HostRecord::of("node.json", "node", Some(20_000.0), &run));
        }
        all.judged(&[])
    };
    let rules = |plant: &dyn Fn(&mut Run), rates: Rates| {
        odd(&judged(plant, rates)).iter().map(|host| host.causes[0].rule.clone()).collect::<Vec<_>>()
    };
    let usual = Rates::default();
    assert!(rules(&|run| health(run, 1, 0, 30), usual).is_empty(), "one in a month");
    assert_eq!(rules(&|run| health(run, 600, 0, 30), usual), ["corrected-errors"], "20 a day");
    assert!(rules(&|run| health(run, 600, 0, 30), Rates { errors: 50.0, ..usual }).is_empty());
    // An hour after the start, one is not yet 24 a day.
    assert!(rules(&|run| health(run, 1, 0, 0), usual).is_empty());
    // The machine has 16 cpus: 25,000 of each.
    let throttled = judged(&|run| health(run, 0, 400_000, 30), usual);
    let cause = odd(&throttled)[0].causes[0].clone();
    assert_eq!(cause.rule, "throttled-before");
    let words = "throttled for heat since boot 25000 times a core in 30 days (833 a day, limit 24)";
    assert_eq!(cause.in_words(), words);
    // The kind and the host agree on the cause.
    let fact = throttled.kinds[0].facts.iter().find(|of| of.fact == Fact::ThrottledBefore).unwrap();
    assert_eq!((fact.others[0].value.as_str(), fact.others[0].cause), ("over 100 times a day", Some(cause.confidence)));
    assert!(rules(&|run| health(run, 0, 16, 30), usual).is_empty());
}

/// The loss that the report says it would see is seen, in kinds of several sizes, on bare metal and in guests; one of
/// half its size mostly is not.
#[test]
fn what_the_report_calls_visible_is_seen() {
    let seeds = seeds(10);
    for (hosts, scatter) in [(6, BARE), (16, BARE), (16, GUEST), (40, GUEST)] {
        let server = Server { scatter, ..SERVER };
        let mut found = [0, 0];
        for seed in 0..seeds {
            let sound = fleet(hosts, &server, 700 + seed, |_| Change::default());
            let visible = sound.kinds[0].visible.iter().find(|of| of.family == "dram.bandwidth.all").unwrap().loss;
            for (found, share) in found.iter_mut().zip([1.0, 0.5]) {
                let lost = |at: usize| match at {
                    0 => Change { figures: vec![("dram.bandwidth.all", 1.0 - share * visible)], facts: None },
                    _ => Change::default(),
                };
                let fleet = fleet(hosts, &server, 700 + seed, lost);
                *found += u64::from(odd(&fleet).iter().any(|host| host.host == "node00"));
            }
        }
        eprintln!(
            "{hosts} hosts, scatter {scatter:?}: of {seeds} losses as large as visible, and half, found {found:?}"
        );
        assert!(found[0] * 10 >= 9 * seeds && found[1] * 2 <= seeds, "{hosts} {scatter:?}: {found:?} of {seeds}");
    }
}
