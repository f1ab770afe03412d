//! Hosts that are better than their peers by a fact: odd, and no fault.

use tiermark_compare::fleet::Gathered;
use tiermark_model::{FleetHost, GIB, HostState, MIB, Run};
use tiermark_stats::Rng;

use crate::fleet::made::{BARE, Change, Server, half_cache, record, slow_modules, without_module};

const SERVER: Server = Server { product: "Dell R7525", cpu: "EPYC 7343", slots: 8, scatter: BARE, memory: 170.0 };

type Plant = fn(&mut Run);

/// The one host of a rack that differs from its peers; `facts` of both.
fn odd_one(peers: Option<Plant>, own: &Change) -> FleetHost {
    let (mut rng, mut all) = (Rng::new(21), Gathered::default());
    for at in 0..11 {
        let change = Change { figures: Vec::new(), facts: peers };
        all.add(record(&format!("node{at:02}"), &SERVER, &change, &mut rng));
    }
    all.add(record("other", &SERVER, own, &mut rng));
    let fleet = all.judged(&[]);
    let odd: Vec<&FleetHost> = fleet.hosts.iter().filter(|host| host.state == HostState::Odd).collect();
    assert_eq!(odd.iter().map(|host| host.host.as_str()).collect::<Vec<_>>(), ["other"]);
    odd[0].clone()
}

fn facts(change: Plant) -> Change {
    Change { figures: Vec::new(), facts: Some(change) }
}

fn larger_cache(run: &mut Run) {
    run.machine.caches.iter_mut().filter(|cache| cache.level == 3).for_each(|cache| cache.bytes = Some(256 * MIB));
}

fn more_memory(run: &mut Run) {
    run.machine.system.memory_bytes = Some(300 * GIB);
}

fn less_memory(run: &mut Run) {
    run.machine.system.memory_bytes = Some(200 * GIB);
}

#[test]
fn a_host_with_more_of_a_fact_is_odd_and_not_worse() {
    let cases: [(&str, Option<Plant>, Plant); 4] = [
        ("modules", Some(without_module), |_| {}),
        ("module-speed", Some(slow_modules), |_| {}),
        ("memory-size", None, more_memory),
        ("caches", None, larger_cache),
    ];
    for (rule, peers, own) in cases {
        let host = odd_one(peers, &facts(own));
        assert_eq!(host.causes[0].rule, rule);
        assert!(!host.is_worse() && !host.is_sure(), "{rule}: {:?}", host.causes);
    }
}

#[test]
fn a_host_with_less_of_a_fact_is_worse() {
    let cases: [(&str, Plant); 4] = [
        ("modules", without_module),
        ("module-speed", slow_modules),
        ("memory-size", less_memory),
        ("caches", half_cache),
    ];
    for (rule, own) in cases {
        let host = odd_one(None, &facts(own));
        assert_eq!(host.causes[0].rule, rule);
        assert!(host.is_worse() && host.is_sure(), "{rule}: {:?}", host.causes);
    }
}

/// Where figures are worse, more of a fact does not help.
#[test]
fn a_slow_host_with_more_memory_is_worse() {
    for figures in [vec![("dram.bandwidth", 0.8)], vec![("l1", 0.8)]] {
        let host = odd_one(None, &Change { figures, facts: Some(more_memory) });
        assert!(host.is_worse(), "{:?}", host.causes);
    }
    let host = odd_one(None, &Change { figures: vec![("dram.bandwidth", 1.2)], facts: Some(more_memory) });
    assert!(!host.is_worse(), "{:?}", host.causes);
    let host = odd_one(None, &Change { figures: vec![("dram.bandwidth", 1.2)], facts: None });
    assert!(!host.is_worse(), "{:?}", host.causes);
    // Nobody knows whether another setting is better.
    let other_nodes = |run: &mut Run| run.machine.allowed_nodes = [0, 1, 2, 3].into_iter().collect();
    assert!(odd_one(None, &facts(other_nodes)).is_worse());
}
