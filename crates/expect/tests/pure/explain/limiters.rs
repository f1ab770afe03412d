//! The limiter of a bandwidth is named where it is known; of one that is not known nothing is said.

use crate::explain::made::{Rate, add, add_latency, by_rule, healthy, problems};
use tiermark_expect::explain::explain;
use tiermark_model::{Confidence, Explained, Explanation, Run};

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
    let cores = by_rule(&found, "limit-cores").unwrap();
    assert_eq!(cores.confidence, Confidence::Hint);
    assert!(cores.advice.starts_with("every core of these nodes is in use"), "{}", cores.advice);
    // One thread is one core's.
    let one = explain("one", &made_of(&[Rate::new("read", 0, 12.0).threads(1).channels(&[2.0; 6])]));
    assert_eq!(limiters(&one, "read, cpus of node 0, memory of node 0, 1 thread"), ["limit-cores"]);
}

/// A full channel or link, or a ramp that stopped growing, is the limiter: the cores are not named beside it.
#[test]
fn a_bandwidth_has_one_limiter() {
    let found = explain("healthy", &healthy());
    assert_eq!(problems(&found), [] as [&str; 0]);
    assert_eq!(
        limiters(&found, "read, cpus of node 0, memory of node 0, 20 threads"),
        ["limit-channels", "limit-cores"]
    );
    assert_eq!(limiters(&found, "read, cpus of node 0, memory of node 1"), ["limit-link"]);
    assert!(found.clear.iter().any(|clear| clear == "limit-cores-afar"), "{:#?}", found.found);
    // More cores add nothing, far below the peak: that is not the cores.
    let stuck = [Rate::new("read", 0, 60.0), Rate::new("read", 0, 12.0).threads(1)];
    let mut stuck = made_of(&stuck);
    add_latency(&mut stuck, 0, 90.0);
    let found = explain("stuck", &stuck);
    assert_eq!(problems(&found), ["below-peak"]);
    assert_eq!(limiters(&found, "read, cpus of node 0, memory of node 0, 20 threads"), ["limit-cores"]);
}

/// Rates of kernels whose lines in flight are not known grow with the cores too.
#[test]
fn what_grows_with_the_cores_is_limited_by_them() {
    let rates = [Rate::new("write.nt", 0, 40.0), Rate::new("write.nt", 0, 2.0).threads(1)];
    let mut made = made_of(&rates);
    (made.machine.theoretical_peak, made.counters) = (None, None);
    let found = explain("growing", &made);
    let cores = by_rule(&found, "limit-cores").unwrap();
    assert!(cores.found.starts_with("The rate grows with the cores"), "{}", cores.found);
    let mut stuck = made_of(&[rates[0].clone(), Rate::new("write.nt", 0, 12.0).threads(1)]);
    (stuck.machine.theoretical_peak, stuck.counters) = (None, None);
    assert!(by_rule(&explain("stuck", &stuck), "limit-cores").is_none());
}

/// Growth with the cores, and what one thread reaches, are one lesson: it is given once.
#[test]
fn that_the_cores_are_the_limit_is_one_lesson() {
    let rates = [Rate::new("read", 0, 36.0), Rate::new("read", 0, 1.8).threads(1)];
    let grows = [Rate::new("write.nt", 0, 40.0), Rate::new("write.nt", 0, 2.0).threads(1)];
    let mut made = made_of(&[&rates[..], &grows[..]].concat());
    add_latency(&mut made, 0, 90.0);
    (made.machine.theoretical_peak, made.counters) = (None, None);
    let found = explain("cores", &made);
    let lessons = found.found.iter().filter(|one| one.rule.starts_with("limit-")).collect::<Vec<_>>();
    assert_eq!(lessons.len(), 1, "{lessons:#?}");
    assert!(lessons[0].found.starts_with("The cores are the limit"), "{lessons:#?}");
}

#[test]
fn nothing_is_said_of_a_limiter_that_is_not_known() {
    let mut made = made_of(&[Rate::new("read", 0, 36.0), Rate::new("write.nt", 0, 20.0)]);
    (made.machine.theoretical_peak, made.counters) = (None, None);
    let found = explain("no limit", &made);
    assert_eq!(limiters(&found, "read, cpus"), [] as [&str; 0]);
    assert_eq!(problems(&found), [] as [&str; 0]);
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
