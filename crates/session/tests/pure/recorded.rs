//! Recorded runs of real machines (`benches/record.sh`), estimated again: what blocks between interruptions say, idle
//! and beside other work.

use std::collections::BTreeMap;
use std::path::Path;

use tiermark_engine::accounting::StepAccounting;
use tiermark_engine::analyse::{Deductions, analyse};
use tiermark_engine::host::{Guard, ThreadShot};
use tiermark_engine::{Interruptions, Shot};
use tiermark_model::{BlockTimes, FromJson, KIB, Metric, Observation, Run, Visit};
use tiermark_session::reanalyse_saved;

fn recordings() -> BTreeMap<String, Run> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    files.map(|path| (name(&path), Run::from_json(&std::fs::read(&path).unwrap()).unwrap())).collect()
}

/// Whether it is of caches of one core.
fn is_of_core(seen: &Observation) -> bool {
    seen.labels.bytes().is_some_and(|bytes| bytes <= 256 * KIB)
}

/// The stamps of each thread of each visit, as the document describes them.
fn visits(times: &BlockTimes) -> Vec<Vec<Vec<f64>>> {
    let mut bytes = times.base64.iter();
    let mut number = || {
        let (mut number, mut shift) = (0_u64, 0);
        for byte in &mut bytes {
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if *byte < 0x80 {
                break;
            }
        }
        number
    };
    let thread = |number: &mut dyn FnMut() -> u64| {
        let blocks = number();
        let mut at = 0.0;
        let ends = (0..blocks).map(|_| {
            at += number() as f64;
            at
        });
        std::iter::once(0.0).chain(ends.collect::<Vec<f64>>()).collect::<Vec<f64>>()
    };
    (0..times.visits)
        .map(|_| {
            let threads = number();
            (0..threads).map(|_| thread(&mut number)).collect()
        })
        .collect()
}

/// A block of each visit whose other hardware thread rested, ns: the mean of those that nothing interrupted, and of all.
fn blocks(seen: &Observation) -> Vec<(f64, f64)> {
    let accounting = StepAccounting { is_of_core: true, ..StepAccounting::plain(Metric::Latency, 1) };
    let of_visit = |threads: Vec<Vec<f64>>| {
        let [stamps_ns]: [Vec<f64>; 1] = threads.try_into().unwrap();
        let all = stamps_ns.last().unwrap() / (stamps_ns.len() - 1) as f64;
        let guard = Guard { cpu: 0, seen_on: [0, 0], ..Guard::default() };
        let threads = vec![ThreadShot { per_block: 1.0, stamps_ns, guard, ..ThreadShot::default() }];
        let shot = Shot { threads, ..Shot::default() };
        let none = Deductions { stamp_ns: 0.0, interruptions: &Interruptions::default() };
        analyse(&shot, &accounting, none).blocks[0].values.map(|values| (values.mean, all))
    };
    let has_clock = |visit: &Visit| visit.windows.iter().all(|window| window.clocks.iter().all(Option::is_some));
    let visits = visits(&seen.block_times).into_iter().zip(&seen.visits.list);
    visits.filter(|(_, visit)| has_clock(visit)).filter_map(|(threads, _)| of_visit(threads)).collect()
}

#[test]
fn blocks_that_nothing_interrupted_take_the_same_time_in_every_visit() {
    for (name, run) in recordings() {
        let one_thread = |seen: &&Observation| is_of_core(seen) && seen.labels.threads().unwrap_or(1) == 1;
        for seen in run.observations().filter(one_thread) {
            let blocks = blocks(seen);
            let level = tiermark_stats::median(&blocks.iter().map(|(kept, _)| *kept).collect::<Vec<_>>()).unwrap();
            let share = |off: &dyn Fn(&(f64, f64)) -> f64| {
                let near = blocks.iter().filter(|block| (off(block) / level - 1.0).abs() < 0.01).count();
                near as f64 / blocks.len() as f64
            };
            let (kept, all) = (share(&|(kept, _)| *kept), share(&|(_, all)| *all));
            eprintln!(
                "{name}: {}: within 1 % of {level:.0} ns: {:.0} % of the visits, {:.0} % by all blocks",
                seen.step,
                100.0 * kept,
                100.0 * all
            );
            assert!(blocks.len() > 5 && kept >= 0.8 && kept >= all, "{name}: {}", seen.step);
        }
    }
}

#[test]
fn a_recorded_run_is_estimated_as_it_was_when_it_was_made() {
    for (name, run) in recordings() {
        let again = reanalyse_saved(run.clone()).unwrap().run;
        for (saved, again) in run.observations().zip(again.observations()).filter(|(saved, _)| is_of_core(saved)) {
            let off = again.value.unwrap() / saved.value.unwrap() - 1.0;
            assert!(off.abs() < 0.002 && again.verdict.grade == saved.verdict.grade, "{name}: {}: {off}", saved.step);
        }
    }
}

#[test]
fn caches_of_one_core_are_the_same_per_cycle_idle_and_beside_load() {
    let mut seen: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for run in recordings().into_values() {
        let again = reanalyse_saved(run).unwrap().run;
        for one in again.observations().filter(|one| is_of_core(one)) {
            let clocked = one.per_cycle.as_ref().map(|of| of.value);
            seen.entry(one.step.clone()).or_default().extend(clocked);
        }
    }
    let mut both = 0;
    for (step, values) in seen {
        let (least, most) = values.iter().fold((f64::MAX, 0.0_f64), |(a, b), v| (a.min(*v), b.max(*v)));
        eprintln!("{step}: {least:.3} to {most:.3}");
        assert!(values.is_empty() || most / least < 1.01, "{step}: {values:?}");
        both += usize::from(values.len() > 1);
    }
    // Others have no clock in one of the recordings: the other hardware thread was busy.
    assert!(both >= 3, "{both}");
}
