//! Documents may come from anywhere: whatever their numbers, nothing panics and every number of an explanation is one.

use crate::explain::made::{Rate, add, add_latency, run};
use tiermark_expect::explain::explain;
use tiermark_model::{Label, Run, State, StateKind, StepTraffic, Traffic};

const NUMBERS: [f64; 8] = [0.0, -1.0, 1.0, 1e-300, 1e308, f64::MAX, f64::INFINITY, f64::NAN];

/// A document whose rates, traffic and limits are made of two numbers.
fn made_of(a: f64, b: f64) -> Run {
    let mut made = run();
    for op in ["read", "write.cached", "write.nt", "read.random8"] {
        let counted = |rate: Rate| rate.channels(&[a, b, 1.0]).links(&[(a, b), (b, a), (1.0, 1.0)]);
        add(&mut made, &counted(Rate::new(op, 0, a)));
        add(&mut made, &counted(Rate::new(op, 1, b)));
        add(&mut made, &counted(Rate::new(op, 1, b)).mixed());
        add(&mut made, &Rate::new(op, 0, b).threads(1));
    }
    add_latency(&mut made, 0, a);
    add_latency(&mut made, 1, b);
    made.machine.theoretical_peak.as_mut().unwrap().bytes_per_second = b;
    let own = &mut made.experiments[0];
    own.states.push(State { state: StateKind::Shared, share: a, visits: u64::MAX, lasts: None, ping_ns: Some(b) });
    own.observations[0].traffic =
        Some(StepTraffic { useful: Some(a), counted: Traffic { seconds: b, ..Traffic::default() }, joules: Some(a) });
    made
}

#[test]
fn any_numbers_are_explained() {
    for a in NUMBERS {
        for b in NUMBERS {
            let found = explain("hostile", &made_of(a, b));
            for one in found.found.iter().flat_map(|one| &one.numbers) {
                assert!(one.value.is_finite(), "{a} {b}: {one:?}");
            }
        }
    }
}

#[test]
fn labels_that_no_program_writes_are_read() {
    let mut made = made_of(1e9, 2e9);
    let texts = ["", "0-4294967295", "node:\u{1b}", "99999999999999999999", "all"];
    for (at, finding) in made.experiments[0].findings.iter_mut().enumerate() {
        let labels = finding.labels.clone();
        finding.labels = labels
            .with_cpus(texts[at % texts.len()])
            .with_from(texts[(at + 1) % texts.len()])
            .with_named("node", Label::Whole(u64::MAX - at as u64 % 2))
            .with_threads(u64::MAX);
    }
    let _ = explain("hostile", &made);
    made.machine.cpus.clear();
    made.machine.nodes.clear();
    let _ = explain("hostile", &made);
    made.experiments[0].observations.clear();
    let _ = explain("hostile", &made);
}

/// As many cells as a matrix of 64 nodes has, all of one row.
#[test]
fn large_documents_are_explained() {
    let mut made = run();
    for at in 0..4096u32 {
        add(&mut made, &Rate::new(["read", "write.cached", "read.random8"][at as usize % 3], at, 1.0));
    }
    assert!(!explain("large", &made).is_empty());
}
