//! Scatter between runs: families, baselines of several runs, the history of a machine.

use tiermark_compare::{Document, LEVEL, OneRun, Reference, Rules, Scatters, compare, run_figures};
use tiermark_model::*;

use crate::cases::made::{Made, against, run};

/// What all numbers of a tier lost is seen in their mean, where each alone may be chance.
#[test]
fn a_family_is_judged_by_its_mean() {
    let all = |share: f64| {
        let of = |at: usize| Made::rate(100e9 * share).label("mix", &at.to_string());
        run(&(0..8).map(of).collect::<Vec<Made>>())
    };
    let found = against(&all(1.0), &all(0.96), Rules::default());
    assert!(found.figures.iter().all(|figure| figure.verdict == ChangeVerdict::Unsure(Doubt::MayBeChance)));
    let family = &found.families[0];
    assert_eq!((family.tier.as_str(), family.figures, &family.verdict), ("DRAM", 8, &ChangeVerdict::Worse));
    assert!((family.loss().unwrap() - 0.04).abs() < 1e-9 && family.p_value < LEVEL, "{family:?}");
    assert_eq!(against(&all(1.0), &all(0.98), Rules::default()).families[0].verdict, ChangeVerdict::Same);
}

/// What one number of a guest lost beside the others of its family is seen where it alone may be chance, and only if
/// the others agree.
#[test]
fn a_number_is_judged_against_its_family() {
    let of = |shares: &[f64]| {
        let one = |(at, share): (usize, &f64)| Made::rate(100e9 * share).label("mix", &at.to_string());
        let mut run = run(&shares.iter().enumerate().map(one).collect::<Vec<Made>>());
        run.machine.system.hypervisor = Some("KVM".to_owned());
        run
    };
    let figures = |shares: &[f64]| against(&of(&vec![1.0; shares.len()]), &of(shares), Rules::default()).figures;
    let unsure = ChangeVerdict::Unsure(Doubt::MayBeChance);
    let lost = figures(&[0.9, 0.97, 0.98, 0.96, 0.97, 0.98]);
    assert_eq!((&lost[0].verdict, lost[0].is_against_family), (&ChangeVerdict::Worse, true));
    assert!(lost[0].interval.is_some_and(|interval| interval.high < 0.0 && interval.low < -0.1), "{:?}", lost[0]);
    assert!(lost[1..].iter().all(|figure| !figure.verdict.has_moved()));
    // By itself it is sure: then that is what is said.
    let alone = figures(&[0.75, 0.97, 0.98, 0.96, 0.97, 0.98]).remove(0);
    assert_eq!((alone.verdict, alone.is_against_family), (ChangeVerdict::Worse, false));
    // Too few others; others that differ by more than chance; one that stood still while all others lost.
    assert_eq!(figures(&[0.91, 0.97, 0.98])[0].verdict, unsure);
    assert_eq!(figures(&[0.9, 0.97, 0.9, 0.96, 0.9, 0.98])[0].verdict, unsure);
    assert!(!figures(&[1.01, 0.89, 0.90, 0.89, 0.90, 0.89])[0].verdict.has_moved());
}

/// Five runs of a baseline scatter less in the mean, and a value by an older method does not count for it.
#[test]
fn a_baseline_of_several_runs_shows_smaller_changes() {
    let values = [99e9, 101e9, 100e9, 100.5e9, 99.5e9];
    let mut runs: Vec<Run> = values.iter().map(|value| run(&[Made::rate(*value)])).collect();
    let found = |runs: &[Run], other: &Run| {
        let all: Vec<Document<'_>> = runs.iter().map(|run| Document { name: "old", run }).collect();
        let reference = Reference { first: all[0], more: &all[1..], scatters: None };
        compare(&reference, &[Document { name: "new", run: other }], Rules::default())
    };
    let slower = run(&[Made::rate(96.7e9)]);
    let alone = found(&runs[2..3], &slower).others[0].figures[0].clone();
    assert_eq!(alone.verdict, ChangeVerdict::Unsure(Doubt::MayBeChance));
    let all = found(&runs, &slower);
    let figure = &all.others[0].figures[0];
    assert_eq!((&figure.verdict, all.more_first.len()), (&ChangeVerdict::Worse, 4));
    let first = figure.first.as_ref().unwrap();
    assert_eq!(first.runs, Some(5));
    assert!((first.value.unwrap() / 100e9 - 1.0).abs() < 1e-3, "{first:?}");
    runs[1].experiments[0].method = 1;
    assert_eq!(found(&runs, &slower).others[0].figures[0].first.as_ref().unwrap().runs, Some(4));
}

/// A machine whose history scatters by less than the default shows smaller changes, and one that scatters by more does
/// not.
#[test]
fn the_history_of_the_machine_says_how_far_runs_lie_apart() {
    let with = |sd: f64| {
        let of = |at: usize| run(&[Made::rate(100e9 * (1.0 + sd * [-1.2, 0.4, 1.0, -0.7, 0.5][at % 5]))]);
        (0..20).map(|at| run_figures(&of(at))).collect::<Vec<RunFigures>>()
    };
    let verdict = |history: &[RunFigures], slow: f64| {
        let ids: Vec<String> = (0..history.len()).map(|at| at.to_string()).collect();
        let runs: Vec<OneRun<'_>> =
            history.iter().zip(&ids).map(|(about, id)| OneRun { id, started: "", day: None, about }).collect();
        let scatters = Scatters::of_history(&runs, false);
        let (a, b) = (run(&[Made::rate(100e9)]), run(&[Made::rate(slow)]));
        let first = Document { name: "a", run: &a };
        let reference = Reference { first, more: &[], scatters: Some(&scatters) };
        let found = compare(&reference, &[Document { name: "b", run: &b }], Rules::default()).others.remove(0);
        (found.figures[0].verdict.clone(), found.scatter[0].runs)
    };
    assert_eq!(verdict(&with(0.003), 96.5e9), (ChangeVerdict::Worse, 20));
    assert_eq!(verdict(&with(0.03), 92e9), (ChangeVerdict::Unsure(Doubt::MayBeChance), 20));
    assert_eq!(verdict(&with(0.003)[..4], 96.5e9), (ChangeVerdict::Unsure(Doubt::MayBeChance), 0));
}

/// The clock of each hour is no scatter of what is compared per cycle.
#[test]
fn what_the_core_clocks_scatters_per_cycle() {
    let clocks = [2.9, 3.2, 2.6, 3.1, 2.8];
    let of = |at: usize| run(&[Made::cycles(14.0 * (1.0 + 0.001 * (at % 3) as f64), clocks[at % 5])]);
    let history: Vec<RunFigures> = (0..20).map(|at| run_figures(&of(at))).collect();
    let ids: Vec<String> = (0..history.len()).map(|at| at.to_string()).collect();
    let runs: Vec<OneRun<'_>> =
        history.iter().zip(&ids).map(|(about, id)| OneRun { id, started: "", day: None, about }).collect();
    let scatters = Scatters::of_history(&runs, false);
    let found = |first: &Run, other: &Run, by_role: bool| {
        let first = Document { name: "a", run: first };
        let reference = Reference { first, more: &[], scatters: Some(&scatters) };
        let rules = Rules { by_role, ..Rules::default() };
        let found = compare(&reference, &[Document { name: "b", run: other }], rules).others.remove(0);
        (found.figures[0].verdict.clone(), found.scatter[0].sd, found.scatter[0].runs)
    };
    let (first, slower) = (of(0), run(&[Made::cycles(14.6, 2.9)]));
    let (verdict, sd, runs) = found(&first, &slower, false);
    assert!(verdict == ChangeVerdict::Worse && sd < 0.007 && runs == 20, "{verdict:?} {sd}");
    // Between machines, or where a number is not per cycle, the clock counts.
    let (verdict, sd, _) = found(&first, &slower, true);
    assert!(verdict == ChangeVerdict::Unsure(Doubt::MayBeChance) && sd > 0.05, "{verdict:?} {sd}");
    let (_, sd, _) = found(&first, &run(&[Made::latency(14.6 / 2.9)]), false);
    assert!(sd > 0.05, "{sd}");
}
