//! The placement experiment as it was published (E2 in docs/EXPERIMENTS.md): its ten lessons follow from its figures.

use crate::explain::made::{GB, Rate, add, by_rule, problems};
use tiermark_expect::explain::explain;
use tiermark_model::{Confidence, Explained, ExplainedNumber, Explanation, Run};

/// Theoretical peak of a node's six channels, GB/s.
const PEAK: f64 = 128.0;
/// What both links carry each way, GB/s.
const LINKS: f64 = 41.6;

/// Reads and writes on the channels, GB/s, from how busy they were and how many bytes were written for each that was
/// read.
fn split(busy: f64, writes_per_read: f64) -> (f64, f64) {
    let read = busy * PEAK / (1.0 + writes_per_read);
    (read, read * writes_per_read)
}

/// A document with the published figures. Where the article has a share of channels or links and no rate of the
/// application, the rate follows from the share. What the article does not have is assumed, and said so: no lesson
/// rests on it where a published figure exists. Cells of which nothing else is published have no counts.
fn published() -> Run {
    let mut run = crate::explain::made::run();
    let (read, write) = split(0.66, 1.17);
    add(&mut run, &Rate::new("write.cached", 0, 42.2).memory(0, read, write));
    add(&mut run, &Rate::new("write.random8", 0, 4.2).memory(0, 0.56 * PEAK - 34.9, 34.9));
    add(&mut run, &Rate::new("read", 0, 89.8).memory(0, 89.8 * 1.06, 0.76 * PEAK - 89.8 * 1.06));
    add(&mut run, &Rate::new("read.random8", 0, 5.0).memory(0, 42.1, 0.34 * PEAK - 42.1));
    // Published: twice as many writes as reads. Assumed: a read for each byte that is stored.
    add(&mut run, &Rate::new("write.cached", 1, 26.5).memory(1, 26.5, 53.0).link_share(0.87));
    // Published: the shares of the link. Assumed: the link carries what the application reads, and memory writes next
    // to nothing.
    add(&mut run, &Rate::new("read", 1, 0.91 * LINKS).memory(1, 0.91 * LINKS, 0.5).link_share(0.91));
    // Assumed: as many bytes read for each used as locally, 42.1 of 5.0.
    let random = 0.78 * LINKS;
    add(&mut run, &Rate::new("read.random8", 1, random / 8.4).memory(1, random, 0.5).link_share(0.78));
    // Published: both rates, and no traffic.
    add(&mut run, &Rate::new("write.cached", 1, 31.1 + 20.3).mixed());
    // Published: the rate, and the share of the link. Assumed: how it is split.
    let remote = 0.89 * LINKS;
    let mixed = Rate::new("read", 1, 88.2).mixed().memory(0, 88.2 - remote, 1.0).memory(1, remote, 0.5);
    add(&mut run, &mixed.link_share(0.89));
    // Published: below local memory. Assumed: by how much.
    add(&mut run, &Rate::new("read.random8", 1, 4.8).mixed());
    run
}

fn found<'a>(explanation: &'a Explanation, rule: &str) -> &'a Explained {
    let all = || explanation.found.iter().map(|one| one.rule.as_str()).collect::<Vec<_>>();
    by_rule(explanation, rule).unwrap_or_else(|| panic!("{rule} is not among {:?}; {:#?}", all(), explanation.unjudged))
}

/// Everywhere that a rule found it.
fn places(one: &Explained) -> Vec<&str> {
    one.place.iter().chain(&one.also).map(String::as_str).collect()
}

fn number<'a>(one: &'a Explained, name: &str) -> &'a ExplainedNumber {
    one.numbers.iter().find(|number| number.name == name).unwrap_or_else(|| panic!("{name}: {one:#?}"))
}

/// Whether a number is this, to a hundredth.
fn is(one: &Explained, name: &str, value: f64) {
    let own = number(one, name).value;
    assert!((own / value - 1.0).abs() < 0.01, "{name} {own} {value}: {one:#?}");
}

#[test]
fn the_ten_lessons_follow_from_the_published_figures() {
    let run = published();
    let explanation = explain("published", &run);
    let found = |rule: &str| found(&explanation, rule);

    // 1. Writing memory reads it first, a line at a time.
    let one = found("reads-before-writes");
    assert!(places(one).iter().any(|place| place.starts_with("write.cached, cpus of node 0, memory of node 0")));
    assert_eq!(one.confidence, Confidence::Counted);
    // 2. Random writes move a fifth less on the channels than sequential ones.
    let one = found("random-stores-slower");
    is(one, "moved", 0.56 * PEAK * GB);
    is(one, "other.moved", 0.66 * PEAK * GB);
    // 3. Sequential reads use the channels best: they waste 6 %.
    let one = found("sequential-reads-waste-least");
    is(one, "amplification", 0.76 * PEAK / 89.8);
    // 4. Random reads leave half of the channels idle that sequential ones fill.
    let one = found("random-reads-leave-channels-idle");
    is(one, "moved", 0.34 * PEAK * GB);
    is(one, "channel.share", 0.34);
    // 5. Remote writes: memory writes twice as much as it reads.
    let one = found("remote-writes-amplified");
    is(one, "writes.per.read", 2.0);
    is(one, "other.writes.per.read", 1.17);
    assert!(one.place.as_ref().unwrap().starts_with("write.cached, cpus of node 0, memory of node 1"));
    // 6. The link limits remote sequential reads; random ones, at 78 %, are not there yet.
    let one = found("limit-link");
    is(one, "link.share", 0.91);
    assert!(places(one).iter().any(|place| place.starts_with("read, cpus of node 0, memory of node 1")));
    assert!(!places(one).iter().any(|place| place.starts_with("read.random8")), "{one:#?}");
    // 7. Mixed memory helps stores, by a fifth.
    let one = found("mixed-helps");
    assert!(places(one).iter().all(|place| place.starts_with("write.cached")), "{one:#?}");
    is(one, "used", 51.4 * GB);
    // 8. It does not help sequential reads, since the link is full.
    let one = found("mixed-held-by-link");
    assert!(one.place.as_ref().unwrap().starts_with("read, cpus of node 0, local memory and node 1"), "{one:#?}");
    is(one, "link.share", 0.89);
    // 9. Nor random reads, maybe for lack of processes: of misses in flight.
    let one = found("mixed-adds-nothing");
    assert!(one.place.as_ref().unwrap().starts_with("read.random8"), "{one:#?}");
    assert_eq!(one.confidence, Confidence::Hint);
    // 10. Accesses that are not aligned to lines waste them.
    let one = found("partial-lines");
    for op in ["read.random8", "write.random8"] {
        assert!(places(one).iter().any(|place| place.starts_with(op)), "{one:#?}");
    }
    is(one, "used.share", 4.2 / (0.56 * PEAK));
}

#[test]
fn the_limits_of_the_published_rates_are_named() {
    let run = published();
    let explanation = explain("published", &run);
    let one = found(&explanation, "limit-channels");
    is(one, "channel.share", 0.76);
    assert!(places(one).iter().all(|place| place.starts_with("read, cpus of node 0, memory of node 0")), "{one:#?}");
    is(found(&explanation, "limit-channels-stores"), "channel.share", 0.66);
    let one = found(&explanation, "limit-random-misses");
    is(one, "channel.share", 0.34);
    assert_eq!(number(one, "used").steps, ["matrix/bind/read.random8/node:0/x20/node0"]);
    assert_eq!(problems(&explanation), [] as [&str; 0]);
}

/// The article's modules can do 3200 MT/s and run at 2666.
#[test]
fn modules_below_their_rated_speed_are_the_one_problem_of_the_published_server() {
    let mut run = published();
    for dimm in &mut run.machine.dimms {
        dimm.rated_transfers = Some(3.2e9);
    }
    let explanation = explain("published", &run);
    assert_eq!(problems(&explanation), ["modules-below-rated-speed"]);
    let one = found(&explanation, "modules-below-rated-speed");
    is(one, "dimms.speed", 2.6667e9);
}

/// Without counters, the lessons that rates alone can show are still there.
#[test]
fn rates_alone_show_a_part_of_the_lessons() {
    let mut run = published();
    for seen in &mut run.experiments[0].observations {
        seen.traffic = None;
    }
    // Reads alone are a hint, and non-temporal stores beside ordinary ones are more.
    let explanation = explain("published", &run);
    let one = found(&explanation, "reads-before-writes");
    assert_eq!((one.confidence, number(one, "other.used").value), (Confidence::Hint, 89.8 * GB));
    add(&mut run, &Rate::new("write.nt", 0, 70.0));
    let explanation = explain("published", &run);
    for rule in ["reads-before-writes", "random-stores-slower", "random-reads-leave-channels-idle", "mixed-helps"] {
        assert_eq!(found(&explanation, rule).confidence, Confidence::Measured, "{rule}");
    }
    assert_eq!(found(&explanation, "partial-lines").confidence, Confidence::Measured);
    let unjudged = |rule: &str| explanation.unjudged.iter().find(|one| one.rule == rule).unwrap();
    assert_eq!(unjudged("remote-writes-amplified").why.code, "no_counts");
    assert_eq!(unjudged("link-down").why.code, "no_counts");
}

/// Counters also see the time around shots: a share of the channels' clock is that of the rate that the step is of.
#[test]
fn shares_are_of_the_best_windows_as_the_rate_is() {
    let mut run = crate::explain::made::run();
    // 77 of 128 GB/s in the time that was counted, of which the threads streamed for 8 tenths.
    add(&mut run, &Rate::new("read", 0, 96.0).channels(&[12.8; 6]));
    let traffic = run.experiments[0].observations[0].traffic.as_mut().unwrap();
    traffic.useful = Some(0.8 * 96.0 * GB);
    let explanation = explain("shots", &run);
    is(found(&explanation, "limit-channels"), "channel.share", 0.75);
}
