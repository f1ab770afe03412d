//! Figures that other programs shared: the value decides, unless it misses its limit by less than it is known.

use crate::common::{clocked, latency, outcome, read_all, reasons, run};
use CheckOutcome::{Failed, Passed, Unjudged};
use tiermark_model::messages::check::codes;
use tiermark_model::{CheckOutcome, Finding, Grade, Interval, PerCycle, Quantity, Run, Unit, Verdict};

/// A figure that is known to 1 %.
fn shared(finding: Finding) -> Finding {
    let value = finding.value.unwrap();
    let interval = Some(Interval { low: 0.99 * value, high: 1.01 * value, level: 0.95 });
    Finding { interval, verdict: Verdict { grade: Grade::Shared, reasons: Vec::new() }, ..finding }
}

fn of(gbs: f64, is_shared: bool) -> Run {
    let found = read_all(0, gbs);
    run(vec![if is_shared { shared(found) } else { found }])
}

#[test]
fn a_shared_figure_that_may_reach_its_limit_does_not_fail() {
    let that = "read.dram.all >= 61.82 GB/s";
    assert_eq!(reasons(&of(61.73, true), that), [codes::shared_may_pass]);
    assert_eq!(outcome(&of(61.9, true), that), Passed, "the value decides");
    assert_eq!(outcome(&of(61.0, true), that), Failed, "its interval does not reach the limit");
    assert_eq!(outcome(&of(61.73, false), that), Failed, "a trusted one");
    let late = run(vec![shared(latency(0, 0, 80.4))]);
    assert_eq!((outcome(&late, "latency.dram <= 80 ns"), outcome(&late, "latency.dram <= 79 ns")), (Unjudged, Failed));
    // What is calculated of it is known as well as it is.
    assert_eq!(outcome(&of(99.5, true), "read.dram.all / 100 GB/s >= 1"), Unjudged);
    assert_eq!(outcome(&of(98.0, true), "read.dram.all / 100 GB/s >= 1"), Failed);
}

#[test]
fn a_shared_figure_per_cycle_has_its_interval_per_cycle() {
    let (finding, seen) = clocked(Quantity::Latency, 1.6, Some(PerCycle { value: 4.02, unit: Unit::Cycles }));
    let mut run = run(vec![shared(finding)]);
    run.experiments[0].observations = vec![seen];
    let outcomes = ["latency.l1.cycles <= 4", "latency.l1.cycles <= 3.9"].map(|that| outcome(&run, that));
    assert_eq!(outcomes, [Unjudged, Failed]);
}
