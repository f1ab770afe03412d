//! With little time: as many points as get the allocations that an interval takes, those of every primitive in turn.

use tiermark_model::messages::rules;
use tiermark_model::{Note, OsGroup, Role, Step};

/// What an allocation takes beside filling memory and its shots, s: a body is made and its blocks sized, a partner
/// started. A figure of a guest of two cpus that others used as well: where it is quiet, there is time for more
/// allocations than the fewest.
const BODY_S: f64 = 0.015;
/// Bytes a second that a process goes through which makes children and holds so much memory: it is given back as well.
const HELD: f64 = 1e9;
/// The same of memory that is written again before each child: some fifteen of them an allocation.
const WRITTEN: f64 = 0.2e9;
/// Share of the time that is for the points: the rest is for the first step again, for what takes longer, and for
/// allocations more than the fewest.
const SHARE: f64 = 0.8;

/// Seconds that a step takes with as few visits as its rule allows.
fn expected_seconds(step: &Step) -> f64 {
    let calls = step.setup.threads.iter().filter_map(|thread| match &thread.role {
        Role::Os(call) => call.bytes.filter(|_| step.labels.group() == Some(OsGroup::Processes.name())),
        _ => None,
    });
    let touched = step.setup.total_bytes().0 as f64 / HELD + calls.sum::<u64>() as f64 / WRITTEN;
    step.expected_seconds() + f64::from(step.stop.min_visits) * (BODY_S + touched)
}

/// Keeps of every row (the steps of a primitive, its first one first) what fits into the time: all first steps, and
/// then the others row by row in turn. Returns the rule that says what was dropped.
pub(super) fn keep(rows: &mut [Vec<Step>], seconds: f64) -> Option<Note> {
    let all: usize = rows.iter().map(Vec::len).sum();
    let longest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut kept = vec![0; rows.len()];
    let mut left = SHARE * seconds;
    for index in 0..longest {
        for (row, kept) in rows.iter().zip(&mut kept) {
            // A row that has lost a point has lost all that follow: they matter less.
            let Some(step) = row.get(index).filter(|_| *kept == index) else { continue };
            let takes = expected_seconds(step);
            if index == 0 || takes <= left {
                left -= takes;
                *kept = index + 1;
            }
        }
    }
    rows.iter_mut().zip(&kept).for_each(|(row, kept)| row.truncate(*kept));
    let kept: usize = kept.iter().sum();
    (kept < all).then(|| rules::quick_points(kept, all, seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Labels;
    use tiermark_model::{Layout, MIB, Metric, OsCall, PageKind, Setup, StopRule, ThreadSetup, testing};

    /// A row of steps that hold so many MiB each.
    fn row(op: &str, held: &[u64]) -> Vec<Step> {
        let step = |mib: &u64| Step {
            setup: Setup {
                regions: vec![testing::region(mib * MIB, PageKind::Base, Layout::Data)],
                threads: vec![ThreadSetup::new(0, Role::Os(OsCall::new(op.into())), 0)],
                seed: 1,
            },
            stop: StopRule { precision: 0.05, allocations: 6, min_visits: 5, max_visits: 6, shot_seconds: 0.006 },
            ..testing::step(&format!("{op}/{mib}"), Metric::Latency)
        };
        held.iter().map(step).collect()
    }

    fn ids(rows: &[Vec<Step>]) -> Vec<&str> {
        rows.iter().flatten().map(|step| step.id.as_str()).collect()
    }

    #[test]
    fn what_there_is_time_for_stays_whole() {
        let mut rows = vec![row("a", &[0, 1]), row("b", &[0])];
        assert_eq!(keep(&mut rows, 20.0), None);
        assert_eq!(ids(&rows), ["a/0", "a/1", "b/0"]);
    }

    #[test]
    fn first_points_come_before_others_and_those_in_turn() {
        // Of 0 MiB 134 ms each.
        let mut rows = vec![row("a", &[0, 0, 0, 0]), row("b", &[0, 0, 0, 0]), row("c", &[0])];
        let told = keep(&mut rows, 6.5 * 0.134 / SHARE).unwrap();
        assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [3, 2, 1]);
        assert_eq!((&told.data["kept"], &told.data["all"]), (&6.into(), &9.into()), "{told}");
        // However little time there is, each has its first.
        keep(&mut rows, 0.01).unwrap();
        assert_eq!(ids(&rows), ["a/0", "b/0", "c/0"]);
    }

    #[test]
    fn what_takes_longer_than_there_is_gives_way_to_what_does_not() {
        let mut rows = vec![row("a", &[0, 256, 0]), row("b", &[0, 0, 0])];
        keep(&mut rows, 1.0).unwrap();
        assert_eq!(ids(&rows), ["a/0", "b/0", "b/0", "b/0"]);
    }

    #[test]
    fn memory_that_is_written_before_each_child_takes_longest() {
        let mut held = row("a", &[64]).remove(0);
        let mut written = row("a", &[0]).remove(0);
        let Role::Os(call) = &mut written.setup.threads[0].role else { panic!("no call") };
        call.bytes = Some(64 * MIB);
        // Of a channel it is a message.
        assert!(expected_seconds(&written) < 0.16);
        for step in [&mut held, &mut written] {
            step.labels = Labels::new().with_group(OsGroup::Processes);
        }
        assert!(expected_seconds(&written) > 1.5 * expected_seconds(&held));
    }
}
