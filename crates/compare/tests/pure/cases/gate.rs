//! When the gate passes, fails, or cannot be judged.

use tiermark_compare::{Document, Gate, Reference, Rules, compare};
use tiermark_model::*;

use crate::cases::made::{Made, run};

/// The result of a gate of 5 % for `others` against `first`: its variant, the sizes of the figures named, the exit
/// code.
fn gate(first: &Run, others: &[&Run], by_role: bool) -> (String, Vec<u64>, Exit) {
    let others: Vec<Document<'_>> = others.iter().map(|run| Document { name: "b", run }).collect();
    let rules = Rules { by_role, ..Rules::default() };
    let found = compare(&Reference::one(Document { name: "a", run: first }), &others, rules);
    let gate = Gate::of(&found, 0.05);
    let figures = match &gate {
        Gate::Failed { figures, .. } | Gate::Unsure(figures) | Gate::Missing(figures) | Gate::OtherMethod(figures) => {
            figures.clone()
        }
        Gate::Passed { doubtful, .. } => doubtful.clone(),
        Gate::OtherMachine(_) | Gate::NothingComparable(..) | Gate::SlowerClock(_) => Vec::new(),
    };
    let name = format!("{gate:?}").split([' ', '(', '{']).next().unwrap().to_owned();
    let sizes = figures.iter().filter_map(|figure| figure.labels.bytes()).collect();
    (name, sizes, gate.exit())
}

fn of(name: &str, sizes: &[u64], exit: Exit) -> (String, Vec<u64>, Exit) {
    (name.to_owned(), sizes.to_vec(), exit)
}

#[test]
fn a_sure_loss_beyond_the_limit_fails() {
    let (fast, slow) = (run(&[Made::rate(100e9)]), run(&[Made::rate(80e9)]));
    assert_eq!(gate(&fast, &[&slow], false), of("Failed", &[GIB], Exit::Regression));
    assert_eq!(gate(&fast, &[&fast, &slow], false), of("Failed", &[GIB], Exit::Regression));
    assert_eq!(gate(&slow, &[&fast], false), of("Passed", &[], Exit::Done), "better is no loss");
    assert_eq!(gate(&fast, &[&fast], false), of("Passed", &[], Exit::Done));
}

#[test]
fn another_machine_is_not_judged_and_hides_no_loss() {
    let (fast, slow) = (run(&[Made::rate(100e9)]), run(&[Made::rate(80e9)]));
    let mut other = slow.clone();
    other.machine.cpu_model.name = Some("another".into());
    assert_eq!(gate(&fast, &[&other], false), of("OtherMachine", &[], Exit::Partial));
    assert_eq!(gate(&fast, &[&other, &slow], false).0, "Failed");
    assert_eq!(gate(&fast, &[&other], true).0, "Failed", "machines are what is compared");
}

#[test]
fn what_cannot_be_compared_is_not_passed() {
    let first = run(&[Made::rate(100e9), Made::latency(100.0)]);
    let (less, none) = (run(&[Made::latency(100.0)]), run(&[]));
    assert_eq!(gate(&first, &[&less], false), of("Missing", &[GIB], Exit::Partial));
    assert_eq!(gate(&less, &[&first], false).0, "Passed", "what only the other run has is no loss");
    assert_eq!(gate(&first, &[&none], false), of("NothingComparable", &[], Exit::Partial));
    let mut method = first.clone();
    method.experiments[0].method += 1;
    assert_eq!(gate(&first, &[&method], false), of("NothingComparable", &[], Exit::Partial));
    let state = Made { state: Some(StateKind::Near), ..Made::rate(50e9) };
    let doubtful = run(&[state, Made::latency(100.0)]);
    assert_eq!(gate(&first, &[&doubtful], false), of("Passed", &[GIB], Exit::Done), "a number of another state");
}

#[test]
fn what_is_unsure_is_not_passed() {
    let bound = |value: f64| run(&[Made::rate(value).graded(Grade::Bound)]);
    assert_eq!(gate(&bound(100e9), &[&bound(80e9)], false).0, "Unsure");
}

/// What is judged per cycle does not show a lower clock.
#[test]
fn a_gate_sees_a_slower_clock() {
    let at = |ghz: f64| run(&[Made::bytes_per_cycle(128.0, ghz)]);
    let (fast, slow) = (at(3.6), at(2.1));
    assert_eq!(gate(&fast, &[&slow], false), of("SlowerClock", &[], Exit::Regression));
    assert_eq!(gate(&slow, &[&fast], false).2, Exit::Done);
    let in_time = |ghz: f64| run(&[Made::cycles(14.0, ghz)]);
    assert_eq!(gate(&in_time(3.6), &[&in_time(2.1)], false), of("SlowerClock", &[], Exit::Regression));
    assert_eq!(gate(&in_time(2.1), &[&in_time(3.6)], false).2, Exit::Done);
    // Between machines the clock is in the numbers.
    let wide = run(&[Made::bytes_per_cycle(256.0, 2.1)]);
    assert_eq!(gate(&fast, &[&wide], true).2, Exit::Done);
    let guest = |ghz: f64| {
        let mut run = at(ghz);
        run.machine.system.hypervisor = Some("KVM".into());
        run
    };
    assert_eq!(gate(&guest(3.6), &[&guest(3.3)], false).0, "Passed", "a guest's clock follows its host's");
    assert_eq!(gate(&fast, &[&at(3.3)], false).0, "SlowerClock");
}
