//! What limits and what costs: when a lesson is drawn, and on what it rests.

use crate::explain::made::{Rate, add, by_rule, healthy};
use tiermark_expect::explain::explain;
use tiermark_model::messages::memory::{STATED_PEAK, share_of_peak};
use tiermark_model::{BoxKind, BoxPlace, Confidence, Finding, Quantity, Run, Unit};

/// One bandwidth of local memory, used and counted.
fn local(op: &'static str, used: f64, read: f64, write: f64) -> Run {
    let mut made = crate::explain::made::run();
    add(&mut made, &Rate::new(op, 0, used).memory(0, read, write));
    made
}

#[test]
fn non_temporal_stores_have_a_limit_of_their_own() {
    let found = explain("non-temporal", &local("write.nt", 90.0, 1.0, 90.0));
    let one = by_rule(&found, "limit-channels-nontemporal").unwrap();
    assert!(!one.advice.contains("write.nt") && !one.found.contains("reading"), "{one:#?}");
    assert!(by_rule(&found, "limit-channels-stores").is_none());
    assert!(by_rule(&explain("near", &local("write.nt", 70.0, 1.0, 70.0)), "limit-channels-nontemporal").is_none());
    // Counted, the share of ordinary stores is a fact; from their kernel, a hint.
    let mut stores = local("write.cached", 42.0, 42.0, 43.0);
    let confidence = |run: &Run| by_rule(&explain("stores", run), "limit-channels-stores").unwrap().confidence;
    assert_eq!(confidence(&stores), Confidence::Counted);
    stores.experiments[0].observations[0].traffic = None;
    assert_eq!(confidence(&stores), Confidence::Hint);
}

#[test]
fn only_random_reads_are_limited_by_misses_where_the_channels_have_room() {
    assert!(by_rule(&explain("reads", &local("read.random8", 5.0, 42.0, 1.0)), "limit-random-misses").is_some());
    // Random stores open a row for each line, and turn the channels.
    assert!(by_rule(&explain("stores", &local("write.random8", 4.0, 33.0, 33.0)), "limit-random-misses").is_none());
}

#[test]
fn whole_lines_are_not_wasted_by_their_accesses() {
    let words = explain("words", &local("read.random8", 5.0, 42.0, 1.0));
    assert!(by_rule(&words, "partial-lines").is_some() && by_rule(&words, "more-than-used").is_none());
    let lines = explain("lines", &local("write.cached", 10.0, 25.0, 20.0));
    assert!(by_rule(&lines, "partial-lines").is_none());
    assert_eq!(by_rule(&lines, "more-than-used").unwrap().confidence, Confidence::Hint);
    assert!(by_rule(&explain("near", &local("write.cached", 10.0, 15.0, 20.0)), "more-than-used").is_none());
}

/// A sum without a box that was not counted is none.
#[test]
fn nothing_rests_on_sums_that_lack_a_box() {
    let with_missing = |kind: BoxKind, is_missing: bool| {
        let mut made = healthy();
        for seen in &mut made.experiments[0].observations {
            let place = BoxPlace { socket: Some(1), node: Some(0), kind, unit: "lost".into() };
            seen.traffic.iter_mut().filter(|_| is_missing).for_each(|own| own.counted.missing.push(place.clone()));
        }
        made
    };
    let counted = |kind: BoxKind, is_missing: bool, rule: &str| {
        let found = explain("missing", &with_missing(kind, is_missing));
        by_rule(&found, rule).is_some_and(|one| one.confidence == Confidence::Counted)
    };
    for (kind, rule) in [(BoxKind::Channel, "limit-channels"), (BoxKind::Link, "limit-link")] {
        assert!(counted(kind, false, rule) && !counted(kind, true, rule), "{rule}");
    }
}

#[test]
fn advice_names_the_nodes_of_the_place() {
    let mut made = local("read", 60.0, 60.0, 1.0);
    add(&mut made, &Rate::new("read", 1, 80.0).mixed());
    let found = explain("mixed", &made);
    let advice = &by_rule(&found, "mixed-helps").unwrap().advice;
    assert!(advice.contains("--interleave=0,1`"), "{advice}");
}

/// A share of a peak that the user stated holds in a guest; one of the table of modules does not.
#[test]
fn a_peak_of_a_guest_is_known_if_the_user_stated_it() {
    let guest = |how: &str| {
        let mut made = crate::explain::made::run();
        add(&mut made, &Rate::new("read", 0, 100.0));
        made.machine.system.hypervisor = Some("KVM".into());
        let own = &mut made.experiments[0];
        let labels = own.observations[0].labels.clone().with_statistic("of theoretical peak");
        let share = Finding::new(Quantity::MatrixShare, labels, Some(0.8), Unit::Ratio);
        let evidence = vec![own.observations[0].step.clone()];
        let note = share_of_peak(128e9.into(), how, true, 1);
        own.findings.push(Finding { evidence, notes: vec![note], ..share });
        made
    };
    let is_found = |how: &str| by_rule(&explain("guest", &guest(how)), "limit-channels").is_some();
    assert!(is_found(STATED_PEAK));
    assert!(!is_found("6 channels x 2667 MT/s x 8 bytes"));
}
