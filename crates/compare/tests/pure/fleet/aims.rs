//! The faults that operators have, in fleets of 12 to 400 hosts: what is found, what is blamed, and who is innocent.

use tiermark_compare::fleet::{Gathered, HostRecord};
use tiermark_model::testing::{seeds, spread};
use tiermark_model::{
    Finding, Fleet, HealthCount, HostState, Labels, Quantity, Run, RunHealth, Throttling, Unit, Verdict,
};
use tiermark_stats::Rng;

use crate::fleet::made::{BARE, Change, GUEST, Server, memory_errors, run, without_module};

const SIZES: [usize; 5] = [12, 20, 40, 100, 400];

/// A fault: the rules that may name it, its losses on bare metal by the beginning of a family (a gain of a latency is a
/// loss), and what else it leaves in the document.
struct Fault {
    rules: &'static [&'static str],
    losses: &'static [(&'static str, f64)],
    leaves: fn(&mut Run),
    /// Of so many hosts one has it; 0: a single one.
    one_of: usize,
}

const fn fault(rules: &'static [&'static str], losses: &'static [(&'static str, f64)], leaves: fn(&mut Run)) -> Fault {
    Fault { rules, losses, leaves, one_of: 0 }
}

const FAULTS: [Fault; 9] = [
    fault(&["slow-memory"], &[("dram.bandwidth", 0.9)], |_| {}),
    fault(&["modules"], &[("dram.bandwidth.all", 0.875)], without_module),
    fault(&["memory-latency"], &[("dram.latency", 1.12)], |_| {}),
    fault(&["slow-shared-cache"], &[("l3.bandwidth", 0.88), ("l3.latency", 1.12)], |_| {}),
    fault(&["slow-clock"], &[("clock", 0.85)], |_| {}),
    fault(&["interrupted"], &[], |run| {
        let found = run.experiments[0].findings.iter_mut().find(|of| of.quantity == Quantity::InterruptionsShare);
        let value = found.unwrap().value.as_mut().unwrap();
        *value *= 10.0;
    }),
    Fault {
        one_of: 4,
        ..fault(&["microcode"], &[("l3", 0.92)], |run| run.machine.cpu_model.microcode = Some("0xa0011ce".into()))
    },
    fault(&["throttled"], &[], |run| {
        let cores = Some(HealthCount::new(3, Some(40)));
        let throttling = Some(vec![Throttling { cores, ..Throttling::default() }]);
        run.health = Some(RunHealth { throttling, ..RunHealth::default() });
    }),
    fault(&["corrected-errors"], &[], memory_errors),
];

/// Faults that the system reports, whatever the figures say.
const BY_FACTS: [&str; 3] = ["modules", "throttled", "corrected-errors"];

/// The document of a host; every host is interrupted for a thousandth of the time, more or less.
fn document(host: &str, server: &Server, fault: Option<&Fault>, rng: &mut Rng) -> Run {
    // In a guest losses are six times the scatter of a figure.
    let loss = |(family, factor): &(&'static str, f64)| {
        let guest = (factor.ln().signum() * 6.0 * server.sd()).exp();
        (*family, if server.scatter == GUEST { guest } else { *factor })
    };
    let figures = fault.map_or(Vec::new(), |fault| fault.losses.iter().map(loss).collect());
    let mut run = run(host, server, &Change { figures, facts: None }, rng);
    run.machine.cpu_model.microcode = Some("0xa0011d5".into());
    // Facts that cost nothing split every kind.
    let number: usize = host[4..].parse().unwrap();
    run.machine.system.kernel = Some(["6.8.0-60", "6.8.0-60", "5.14"][number % 3].into());
    run.machine.system.bios = Some(["2.4", "2.1"][number % 2].into());
    let share = 0.001 * (0.2 * rng.normal()).exp();
    let found = Finding::new(Quantity::InterruptionsShare, Labels::new(), Some(share), Unit::Ratio);
    run.experiments[0].findings.push(Finding { samples: 4000, verdict: Verdict::trusted(), ..found });
    if let Some(fault) = fault {
        (fault.leaves)(&mut run);
    }
    run
}

/// What was found of a fault.
#[derive(Debug, Default)]
struct Count {
    planted: usize,
    found: usize,
    /// Found, with a cause that neither names the fault nor says that none is known.
    wrong: Vec<String>,
    innocent: Vec<String>,
}

fn fleet(server: &Server, hosts: usize, fault: &Fault, seed: u64) -> (Fleet, usize) {
    let mut rng = Rng::new(40_000 + seed);
    let faulty = hosts.checked_div(fault.one_of).unwrap_or(1);
    let mut all = Gathered::default();
    for at in 0..hosts {
        let name = format!("node{at:03}");
        let run = document(&name, server, (at < faulty).then_some(fault), &mut rng);
        all.add(HostRecord::of(&format!("{name}.json"), &name, Some(20_000.0), &run));
    }
    (all.judged(&[]), faulty)
}

fn count(server: &Server, fault: &Fault, seeds: std::ops::Range<u64>) -> Count {
    let mut count = Count::default();
    for seed in seeds {
        let hosts = SIZES[(spread(seed) * SIZES.len() as f64) as usize];
        let (fleet, faulty) = fleet(server, hosts, fault, seed);
        count.planted += faulty;
        for host in fleet.hosts.iter().filter(|host| host.state == HostState::Odd) {
            let rule = host.causes[0].rule.as_str();
            let is_known = host.causes[0].fact.is_some();
            if host.host[4..].parse::<usize>().unwrap() >= faulty {
                count.innocent.push(format!("seed {seed}, {hosts} hosts, {}: {rule}", host.host));
                continue;
            }
            count.found += 1;
            if !fault.rules.contains(&rule) && is_known {
                count.wrong.push(format!("seed {seed}, {hosts} hosts: {rule}"));
            }
        }
    }
    count
}

#[test]
fn faults_are_found_and_sound_hosts_are_not_odd() {
    let each = seeds(1);
    for (place, scatter) in [("bare metal", BARE), ("guests", GUEST)] {
        let server = Server { product: "R7525", cpu: "EPYC 7343", slots: 16, scatter, memory: 340.0 };
        let (mut of_figures, mut innocent) = ([0, 0], 0);
        for (at, fault) in FAULTS.iter().enumerate() {
            let from = (at as u64) * 1000;
            let found = count(&server, fault, from..from + each);
            eprintln!("{place}, {}: {found:?}", fault.rules[0]);
            assert!(found.wrong.is_empty(), "{place}, {}: {found:?}", fault.rules[0]);
            if BY_FACTS.contains(&fault.rules[0]) {
                assert_eq!(found.found, found.planted, "{place}, {}: {found:?}", fault.rules[0]);
            } else {
                of_figures = [of_figures[0] + found.found, of_figures[1] + found.planted];
            }
            innocent += found.innocent.len();
        }
        let fleets = each as usize * FAULTS.len();
        eprintln!("{place}: {of_figures:?} faults of figures found, {innocent} sound hosts odd in {fleets} fleets");
        assert!(of_figures[0] * 100 >= of_figures[1] * 95, "{place}: {of_figures:?}");
        assert!(innocent * 50 <= fleets.max(50), "{place}: {innocent} sound hosts odd in {fleets} fleets");
    }
}
