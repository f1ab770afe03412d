//! What the cores of a machine do in a cycle when nothing else works on them.

use serde::{Deserialize, Serialize};
use tiermark_model::{CoreKind, CoreThroughput, Run};

/// Version of the loop that is counted: another loop comes to another number.
const LOOP: u32 = 1;
/// A level replaces the known one if it is higher by more. Levels of runs differ by less, so that the highest of many
/// runs would be too high.
const HIGHER: f64 = 0.03;
/// Runs in a row that stay below the known level by as much, until theirs replaces it: an update of microcode may have
/// made the core slower. Fewer may all have been beside a busy hardware thread.
const FORGOTTEN_AFTER: u32 = 20;

/// The throughput that a run reached on cores of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Reached {
    kind: Option<CoreKind>,
    /// Operations in a cycle.
    per_cycle: f64,
    of_loop: u32,
    /// Runs since one reached it.
    #[serde(default)]
    missed: u32,
}

/// What is known of cores of a kind.
pub(super) fn known(reached: &[Reached], kind: Option<CoreKind>) -> Option<f64> {
    let own = reached.iter().find(|one| one.kind == kind && one.of_loop == LOOP)?;
    Some(own.per_cycle).filter(|throughput| throughput.is_finite() && *throughput > 0.0)
}

/// Takes in what a run reached; whether anything changed.
pub(super) fn raise(reached: &mut Vec<Reached>, run: &Run) -> bool {
    let before = reached.clone();
    for CoreThroughput { kind, per_cycle, .. } in run.experiments.iter().flat_map(|one| &one.throughputs) {
        let before = reached.iter().position(|one| one.kind == *kind && one.of_loop == LOOP);
        let over = before.map_or(f64::INFINITY, |at| per_cycle / reached[at].per_cycle - 1.0);
        if let Some(at) = before.filter(|_| over <= HIGHER) {
            let missed = &mut reached[at].missed;
            *missed = if over < -HIGHER { *missed + 1 } else { 0 };
            if *missed < FORGOTTEN_AFTER {
                continue;
            }
        }
        if per_cycle.is_finite() {
            reached.retain(|one| one.kind != *kind);
            reached.push(Reached { kind: *kind, per_cycle: *per_cycle, of_loop: LOOP, missed: 0 });
        }
    }
    *reached != before
}

#[cfg(test)]
mod tests {
    use tiermark_model::testing;

    use super::*;

    #[test]
    fn a_level_that_no_run_reaches_any_more_is_replaced() {
        let run = |per_cycle: f64| {
            let mut run = Run { experiments: vec![testing::experiment(testing::request("survey"))], ..Run::default() };
            run.experiments[0].throughputs.push(CoreThroughput { kind: None, per_cycle, record: None, beside: 0.0 });
            run
        };
        let mut reached = Vec::new();
        assert!(raise(&mut reached, &run(5.4)) && known(&reached, None) == Some(5.4));
        // One run that reaches it begins the count anew.
        let slower = |reached: &mut Vec<Reached>, runs: u32| {
            for _ in 0..runs {
                raise(reached, &run(5.1));
            }
        };
        slower(&mut reached, FORGOTTEN_AFTER - 1);
        raise(&mut reached, &run(5.35));
        slower(&mut reached, FORGOTTEN_AFTER - 1);
        assert_eq!(known(&reached, None), Some(5.4));
        slower(&mut reached, 1);
        assert_eq!(known(&reached, None), Some(5.1));
    }
}
