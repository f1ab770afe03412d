//! Each bandwidth has a limiter that is named, or is said to have none that is known.

use crate::explain::made::{GB, Rate, add, add_latency, by_rule, healthy, problems};
use tiermark_expect::explain::explain;
use tiermark_model::{Confidence, Explained, Explanation, Run, TheoreticalPeak};

fn made_of(rates: &[Rate]) -> Run {
    let mut made = crate::explain::made::run();
    rates.iter().for_each(|rate| add(&mut made, rate));
    made
}

/// The rules that say where a place's limit is, of all places that they name.
fn limiters(found: &Explanation, place: &str) -> Vec<String> {
    let names = |one: &&Explained| one.place.iter().chain(&one.also).any(|own| own.starts_with(place));
    let limits = found.found.iter().filter(|one| one.rule.starts_with("limit-") && names(one));
    limits.map(|one| one.rule.clone()).collect()
}

#[test]
fn cores_limit_where_channels_and_links_have_room() {
    let all = [
        Rate::new("read", 0, 36.0).channels(&[6.0; 6]),
        Rate::new("write.cached", 0, 20.0).memory(0, 20.0, 20.0),
        Rate::new("read", 1, 20.0).memory(1, 20.0, 0.1).link_share(0.48),
        Rate::new("read", 1, 28.0).mixed().memory(0, 18.0, 0.1).memory(1, 10.0, 0.1).link_share(0.24),
    ];
    let mut made = made_of(&all);
    add_latency(&mut made, 0, 90.0);
    let found = explain("room", &made);
    assert_eq!(problems(&found), [] as [&str; 0]);
    assert_eq!(limiters(&found, "read, cpus of node 0, memory of node 0"), ["limit-cores"]);
    assert_eq!(limiters(&found, "write.cached, cpus of node 0, memory of node 0"), ["limit-cores"]);
    assert_eq!(limiters(&found, "read, cpus of node 0, memory of node 1"), ["limit-cores-afar"]);
    assert_eq!(limiters(&found, "read, cpus of node 0, local memory and node 1"), ["limit-cores-afar"]);
    assert!(found.clear.iter().any(|rule| rule == "limit-unknown"), "{:?}", found.unjudged);
    let cores = by_rule(&found, "limit-cores").unwrap();
    assert_eq!(cores.confidence, Confidence::Hint);
    assert!(cores.advice.starts_with("every core of these nodes is in use"), "{}", cores.advice);
    // One thread is one core's.
    let one = explain("one", &made_of(&[Rate::new("read", 0, 12.0).threads(1).channels(&[2.0; 6])]));
    assert_eq!(limiters(&one, "read, cpus of node 0, memory of node 0, 1 thread"), ["limit-core-alone"]);
}

/// A full channel or link, or a ramp that stopped growing, is the limiter: the cores are not named beside it.
#[test]
fn a_bandwidth_has_one_limiter() {
    let found = explain("healthy", &healthy());
    assert_eq!(problems(&found), [] as [&str; 0]);
    assert_eq!(
        limiters(&found, "read, cpus of node 0, memory of node 0, 20 threads"),
        ["limit-channels", "limit-one-core"]
    );
    assert_eq!(limiters(&found, "read, cpus of node 0, memory of node 1"), ["limit-link"]);
    for rule in ["limit-cores-afar", "limit-core-alone"] {
        assert!(found.clear.iter().any(|clear| clear == rule), "{rule}: {:#?}", found.found);
    }
    // More cores add nothing, far below the peak: that is not the cores.
    let stuck = [Rate::new("read", 0, 60.0), Rate::new("read", 0, 12.0).threads(1)];
    let mut stuck = made_of(&stuck);
    add_latency(&mut stuck, 0, 90.0);
    let found = explain("stuck", &stuck);
    assert_eq!(problems(&found), ["below-peak"]);
    assert_eq!(limiters(&found, "read, cpus of node 0, memory of node 0, 20 threads"), ["limit-one-core"]);
}

/// Rates of kernels whose lines in flight are not known grow with the cores too.
#[test]
fn what_grows_with_the_cores_is_limited_by_them() {
    let rates = [Rate::new("write.nt", 0, 40.0), Rate::new("write.nt", 0, 2.0).threads(1)];
    let mut made = made_of(&rates);
    (made.machine.theoretical_peak, made.counters) = (None, None);
    let found = explain("growing", &made);
    assert!(by_rule(&found, "limit-cores-growing").is_some(), "{:#?}", found.found);
    assert!(by_rule(&found, "limit-unknown").is_none(), "{:#?}", found.found);
    let mut stuck = made_of(&[rates[0].clone(), Rate::new("write.nt", 0, 12.0).threads(1)]);
    (stuck.machine.theoretical_peak, stuck.counters) = (None, None);
    let found = explain("stuck", &stuck);
    assert!(by_rule(&found, "limit-cores-growing").is_none() && by_rule(&found, "limit-unknown").is_some());
}

#[test]
fn a_limiter_that_is_not_known_is_said_to_be_unknown() {
    let mut made = made_of(&[Rate::new("read", 0, 36.0), Rate::new("write.nt", 0, 20.0)]);
    (made.machine.theoretical_peak, made.counters) = (None, None);
    let found = explain("no limit", &made);
    let one = by_rule(&found, "limit-unknown").unwrap();
    assert_eq!(one.also.len(), 1, "{one:#?}");
    assert_eq!(problems(&found), [] as [&str; 0]);
    // Between what is full and what has room.
    made.machine.theoretical_peak =
        Some(TheoreticalPeak { bytes_per_second: 120.0 * GB, ..TheoreticalPeak::default() });
    let found = explain("between", &made);
    assert!(limiters(&found, "read, cpus").contains(&"limit-unknown".to_owned()), "{:#?}", found.found);
}

/// One finding for each mixed cell: no gain and a loss differ by one limit.
#[test]
fn mixed_memory_that_loses_is_not_said_to_add_nothing() {
    let mixed = |share: f64, link: f64| {
        let both = Rate::new("read", 1, 40.0 * share).mixed().memory(0, 20.0 * share, 0.1).memory(1, 20.0 * share, 0.1);
        let local = Rate::new("read", 0, 40.0).memory(0, 40.0, 0.1);
        let found = explain("mixed", &made_of(&[local, both.link_share(link)]));
        let names = found.found.iter().map(|one| one.rule.clone());
        names.filter(|name| name.starts_with("mixed-")).collect::<Vec<_>>()
    };
    assert_eq!(mixed(0.74, 0.29), ["mixed-loses"]);
    assert_eq!(mixed(0.74, 0.85), ["mixed-loses"]);
    assert_eq!(mixed(0.98, 0.29), ["mixed-adds-nothing"]);
    assert_eq!(mixed(0.98, 0.85), ["mixed-held-by-link"]);
    assert_eq!(mixed(1.2, 0.29), ["mixed-helps"]);
}
