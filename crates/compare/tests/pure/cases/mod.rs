//! Which numbers are compared, and what is said of each.

mod gate;
mod made;
mod scatter;

use std::slice::from_ref;

use made::{Made, against, run, verdict};
use tiermark_compare::{Document, LEVEL, Reference, Rules, THRESHOLD, compare};
use tiermark_model::*;

#[test]
fn a_change_of_a_trusted_number_is_better_or_worse_by_its_unit() {
    assert_eq!(verdict(Made::latency(100.0), Made::latency(105.0)), ChangeVerdict::Worse);
    assert_eq!(verdict(Made::latency(100.0), Made::latency(95.0)), ChangeVerdict::Better);
    assert_eq!(verdict(Made::rate(100e9), Made::rate(105e9)), ChangeVerdict::Better);
    assert_eq!(verdict(Made::rate(100e9), Made::rate(95e9)), ChangeVerdict::Worse);
    assert_eq!(verdict(Made::rate(100e9), Made::rate(100e9)), ChangeVerdict::Same);
    assert_eq!(verdict(Made::rate(100e9), Made::rate(100e9 * (1.0 - THRESHOLD + 0.005))), ChangeVerdict::Same);
    let stricter = Rules { threshold: 0.01, ..Rules::default() };
    let found = against(&run(&[Made::rate(100e9)]), &run(&[Made::rate(95e9)]), stricter);
    assert_eq!(found.figures[0].verdict, ChangeVerdict::Worse);
    assert!((found.figures[0].loss().unwrap() - 0.05).abs() < 1e-9);
    let interval = found.figures[0].interval.unwrap();
    // Two runs with a scatter of 1 % each: ±2.8 % around -5 %.
    assert!((interval.low + 0.076).abs() < 2e-3 && (interval.high + 0.024).abs() < 2e-3, "{interval:?}");
    // Two runs of an unchanged machine lie so far apart.
    let found = against(&run(&[Made::rate(100e9)]), &run(&[Made::rate(97e9)]), stricter);
    assert_eq!(found.figures[0].verdict, ChangeVerdict::Unsure(Doubt::MayBeChance));
}

#[test]
fn what_the_core_clocks_is_compared_per_cycle() {
    let found = |first: Made, other: Made| against(&run(&[first]), &run(&[other]), Rules::default()).figures.remove(0);
    let near = |is: Option<f64>, should: f64| (is.unwrap() - should).abs() < 1e-9;
    let same = found(Made::cycles(14.0, 2.9), Made::cycles(14.0, 3.2));
    assert_eq!(same.verdict, ChangeVerdict::Same);
    assert!(near(same.change, 0.0) && near(same.clock_change, 2.9 / 3.2 - 1.0), "{same:?}");
    assert!(near(same.other.unwrap().value, 14.0 / 3.2), "shown in ns");
    let same = found(Made::bytes_per_cycle(128.0, 3.2), Made::bytes_per_cycle(128.0, 2.9));
    assert!(same.verdict == ChangeVerdict::Same && near(same.clock_change, 2.9 / 3.2 - 1.0), "{same:?}");
    // 5 % more cycles, at a clock that hides it.
    let worse = found(Made::cycles(14.0, 2.9), Made::cycles(14.7, 3.2));
    assert_eq!(worse.verdict, ChangeVerdict::Worse);
    assert!(near(worse.change, 0.05), "{worse:?}");
    let worse = found(Made::bytes_per_cycle(128.0, 2.9), Made::bytes_per_cycle(121.6, 3.2));
    assert!(worse.verdict == ChangeVerdict::Worse && near(worse.change, -0.05), "{worse:?}");
    // Between machines the clock counts, and without a clock nothing is per cycle.
    let machines = Rules { by_role: true, ..Rules::default() };
    let (first, other) = (run(&[Made::cycles(14.0, 2.9)]), run(&[Made::cycles(14.0, 3.2)]));
    let better = against(&first, &other, machines).figures.remove(0);
    assert_eq!((better.verdict, better.clock_change), (ChangeVerdict::Better, None));
    let better = found(Made::latency(14.0 / 2.9), Made::cycles(14.0, 3.2));
    assert_eq!((better.verdict, better.clock_change), (ChangeVerdict::Better, None));
}

#[test]
fn a_baseline_of_runs_at_several_clocks_is_one_in_cycles() {
    let runs = [2.9, 3.2, 2.6].map(|ghz| run(&[Made::cycles(14.0, ghz)]));
    let [first, more @ ..] = runs.each_ref().map(|run| Document { name: "a", run });
    let reference = Reference { first, more: &more, scatters: None };
    let found = |cycles: f64| {
        let other = run(&[Made::cycles(cycles, 3.2)]);
        compare(&reference, &[Document { name: "b", run: &other }], Rules::default()).others.remove(0).figures.remove(0)
    };
    let same = found(14.0);
    assert_eq!((same.verdict, same.first.unwrap().runs), (ChangeVerdict::Same, Some(3)));
    assert!(same.change.unwrap().abs() < 1e-9 && same.clock_change.unwrap() < -0.05);
    assert_eq!(found(14.7).verdict, ChangeVerdict::Worse);
}

#[test]
fn the_core_clock_is_a_figure_of_its_own() {
    let clocked = |ghz: f64| {
        let mut run = run(&[Made::cycles(14.0, ghz)]);
        let clock = Finding::new(Quantity::CoreClock, Labels::new(), Some(ghz * 1e9), Unit::Hz);
        run.experiments[0].findings.push(clock);
        run
    };
    let found = against(&clocked(2.9), &clocked(3.2), Rules::default());
    let clock = found.figures.iter().find(|figure| figure.quantity == Quantity::CoreClock).unwrap();
    assert!((clock.change.unwrap() - (3.2 / 2.9 - 1.0)).abs() < 1e-9);
    assert_eq!(clock.verdict, ChangeVerdict::NotComparable(Obstacle::NoDirection), "a clock is neither good nor bad");
}

/// A run with so many interruptions longer than 20 µs in half a second, each of 60 µs.
fn interrupted(count: u64) -> Run {
    let mut run = run(&[Made::latency(100.0)]);
    let each = 60e-6 / 0.5;
    let (low, high) = tiermark_stats::poisson_interval(count, 0.025).unwrap();
    let of = |quantity: Quantity, each: f64, unit: Unit| {
        let found = Finding::new(quantity, Labels::new(), Some(count as f64 * each), unit);
        let interval = Some(Interval { low: low * each, high: high * each, level: 0.95 });
        Finding { interval, samples: count, ..found }
    };
    let found = [
        of(Quantity::InterruptionsLongRate, 2.0, Unit::PerSecond),
        of(Quantity::InterruptionsLongShare, each, Unit::Ratio),
    ];
    run.experiments[0].findings.extend(found);
    run
}

#[test]
fn interruptions_are_judged_by_their_share_of_the_time() {
    let of = |first: u64, other: u64| {
        let found = against(&interrupted(first), &interrupted(other), Rules::default());
        let verdict = |quantity: Quantity| {
            found
                .figures
                .iter()
                .find(|figure| figure.quantity == quantity)
                .map(|figure| figure.verdict.clone())
                .unwrap()
        };
        assert_eq!(
            verdict(Quantity::InterruptionsLongRate),
            ChangeVerdict::NotComparable(Obstacle::NoDirection),
            "their number is shown, not judged"
        );
        verdict(Quantity::InterruptionsLongShare)
    };
    assert_eq!(of(60, 900), ChangeVerdict::Worse);
    assert_eq!(of(900, 60), ChangeVerdict::Better);
    assert_eq!(of(60, 120), ChangeVerdict::Unsure(Doubt::MayBeChance));
    assert_eq!(of(0, 900), ChangeVerdict::Worse, "of none it is known how many there are at most");
    assert_eq!(of(2, 19), ChangeVerdict::NotComparable(Obstacle::FewEvents));
    // What changes by itself keeps no gate from judging.
    let (first, other) = (interrupted(60), interrupted(150));
    let reference = Reference::one(Document { name: "a", run: &first });
    let found = compare(&reference, &[Document { name: "b", run: &other }], Rules::default());
    let gate = tiermark_compare::Gate::of(&found, 0.05);
    assert_eq!(gate.exit(), Exit::Done, "{gate:?}");
}

/// A run has other pages than the one before: what allocations differ by within the runs, the runs may differ by.
#[test]
fn runs_whose_allocations_lie_apart_show_no_small_change() {
    let found = |value: f64, apart: f64| {
        let spread = |value: f64| {
            let mut made = run(&[Made { is_middle: true, ..Made::rate(value) }]);
            made.experiments[0].observations[0].spread_between = Some(apart);
            for (at, visit) in made.experiments[0].observations[0].visits.list.iter_mut().enumerate() {
                visit.allocation = at as u32 % 8;
            }
            made
        };
        against(&spread(100e9), &spread(value), Rules::default()).figures.remove(0).verdict
    };
    assert_eq!(found(70e9, 0.0), ChangeVerdict::Worse);
    assert_eq!(found(70e9, 0.3), ChangeVerdict::Unsure(Doubt::MayBeChance));
}

#[test]
fn middles_are_compared_with_middles() {
    let middle = |value: f64| Made { is_middle: true, visits: 9, ..Made::rate(value) };
    let far = against(&run(&[middle(100e9)]), &run(&[middle(300e9)]), Rules::default());
    assert_eq!(far.figures[0].verdict, ChangeVerdict::Better);
    assert!(far.figures[0].p_value.unwrap() < LEVEL);
    let edge = Made::rate(100e9);
    assert_eq!(verdict(edge, middle(95e9)), ChangeVerdict::NotComparable(Obstacle::Estimate));
}

#[test]
fn many_numbers_need_a_larger_change() {
    let many = |slow: f64, count: usize| {
        let of = |at: usize| Made::rate(if at == 0 { slow } else { 100e9 }).label("mix", &at.to_string());
        run(&(0..count).map(of).collect::<Vec<Made>>())
    };
    let figures = |slow: f64, count| against(&many(100e9, count), &many(slow, count), Rules::default()).figures;
    assert_eq!(figures(95e9, 1)[0].verdict, ChangeVerdict::Worse);
    assert_eq!(figures(95e9, 200)[0].verdict, ChangeVerdict::Unsure(Doubt::MayBeChance));
    assert_eq!(figures(92e9, 200)[0].verdict, ChangeVerdict::Worse);
    assert!(figures(92e9, 200)[1..].iter().all(|figure| figure.verdict == ChangeVerdict::Same));
}

#[test]
fn bounds_decide_on_their_side_only() {
    let bound = |made: Made| made.graded(Grade::Bound);
    // At most 100 ns before, 110 ns now.
    assert_eq!(verdict(bound(Made::latency(100.0)), Made::latency(110.0)), ChangeVerdict::Worse);
    assert_eq!(verdict(Made::latency(110.0), bound(Made::latency(100.0))), ChangeVerdict::Better);
    assert_eq!(verdict(Made::rate(100e9), bound(Made::rate(110e9))), ChangeVerdict::Better);
    let open = ChangeVerdict::Unsure(Doubt::OpenBound);
    assert_eq!(verdict(Made::latency(100.0), bound(Made::latency(110.0))), open);
    assert_eq!(verdict(bound(Made::rate(90e9)), Made::rate(100e9)), open);
    assert_eq!(verdict(Made::rate(100e9), bound(Made::rate(100.1e9))), open);
    // The number of few windows must be clearly beyond the threshold.
    assert_eq!(verdict(Made::rate(100e9), Made::rate(104.5e9)), ChangeVerdict::Better);
    assert_eq!(verdict(Made::rate(100e9), bound(Made::rate(104.5e9))), open);
    let both = verdict(bound(Made::latency(100.0)), bound(Made::latency(200.0)));
    assert_eq!(both, ChangeVerdict::Unsure(Doubt::BothBounds));
}

#[test]
fn what_does_not_describe_one_thing_is_not_compared() {
    let not = |obstacle| ChangeVerdict::NotComparable(obstacle);
    let suspect = Made::latency(200.0).graded(Grade::Suspect);
    assert_eq!(verdict(Made::latency(100.0), suspect), not(Obstacle::Suspect));
    assert_eq!(verdict(Made::latency(100.0).graded(Grade::Invalid), Made::latency(9.0)), not(Obstacle::Missing));
    let sizes = Obstacle::WorkingSet { first: Some(Bytes(256 * KIB)), other: Some(Bytes(288 * KIB)) };
    assert_eq!(verdict(Made::latency(1.0), Made::latency(2.0).size(288 * KIB)), not(sizes));
    let apart = |made: Made| Made { state: Some(StateKind::Apart { apart: 1, of: 1 }), ..made };
    let state = |state, round_trip_ns| SeenState { state, round_trip_ns };
    let other = state(Some(StateKind::Apart { apart: 1, of: 1 }), None);
    let states = Obstacle::State { first: state(None, None), other };
    assert_eq!(
        states.to_string(),
        "of different states: the cpus probably stayed in one placement in the first run, and the cpus probably had \
         different last-level caches in the other"
    );
    assert_eq!(verdict(Made::rate(1e9), apart(Made::rate(2e9))), not(states));
    assert_eq!(verdict(apart(Made::rate(1e9)), apart(Made::rate(2e9))), ChangeVerdict::Better);
    // Each run saw one state, and it was not the same.
    let pinged = |made: Made, ping: f64| {
        let mut run = run(&[made]);
        let visits = run.experiments[0].observations[0].visits.list.iter_mut();
        visits.for_each(|visit| visit.before = vec![ping]);
        run
    };
    let found = against(&pinged(Made::rate(1e9), 60.0), &pinged(Made::rate(2e9), 300.0), Rules::default());
    let states = Obstacle::State { first: state(None, Some(60.0)), other: state(None, Some(300.0)) };
    assert!(states.to_string().contains("about 60 ns in the first run, and a round trip"), "{states}");
    assert_eq!(found.figures[0].verdict, not(states));
    let found = against(&pinged(Made::rate(1e9), 60.0), &pinged(Made::rate(2e9), 55.0), Rules::default());
    assert_eq!(found.figures[0].verdict, ChangeVerdict::Better);
    let (first, mut other) = (run(&[Made::latency(100.0)]), run(&[Made::latency(200.0)]));
    other.experiments[0].method = 3;
    let found = against(&first, &other, Rules::default());
    assert_eq!(found.figures[0].verdict, not(Obstacle::Method { first: 2, other: 3 }));
    let mut size = run(&[Made::latency(100.0)]);
    size.experiments[0].findings[0].unit = Unit::Bytes;
    assert_eq!(against(&size, &size, Rules::default()).figures[0].verdict, not(Obstacle::NoDirection));
    let mut tail = run(&[Made::latency(100.0)]);
    tail.experiments[0].findings[0].quantity = Quantity::LatencyTail;
    assert_eq!(against(&tail, &tail, Rules::default()).figures[0].verdict, not(Obstacle::OfTheHour));
    let cold = |value| run(&[Made::latency(value).label("purpose", "cold").label("tier", "cold")]);
    assert_eq!(against(&cold(250.0), &cold(400.0), Rules::default()).figures[0].verdict, not(Obstacle::OfTheHour));
    assert_eq!(tiermark_compare::run_figures(&cold(250.0)).figures, [], "no history of it is kept");
    // Memory of nearly the same footprint is one thing; a cache may be full within a percent.
    let other = Obstacle::WorkingSet { first: Some(Bytes(256 * KIB)), other: Some(Bytes(257 * KIB)) };
    assert_eq!(verdict(Made::latency(1.0), Made::latency(2.0).size(257 * KIB)), not(other));
    assert_eq!(verdict(Made::rate(1e9), Made::rate(2e9).size(GIB + 100 * MIB)), ChangeVerdict::Better);
}

/// Comparisons name figures as expectations do.
#[test]
fn figures_have_the_names_of_expectations() {
    let ladder = |tier| run(&[Made::latency(4.0).label("purpose", "ladder").label("tier", tier)]);
    let named = |run: &Run| against(run, run, Rules::default()).figures[0].name.clone();
    assert_eq!(named(&ladder("L2")).as_deref(), Some("latency.l2"));
    assert_eq!(named(&ladder("DRAM node 1")).as_deref(), Some("latency.dram.remote"));
    assert_eq!(named(&run(&[Made::rate(1e9)])), None, "of no tier");
}

/// The record of a machine makes a bound of what was better before: exactly what a gate is to find.
#[test]
fn a_figure_below_its_record_is_judged() {
    let (first, mut other) = (run(&[Made::rate(100e9)]), run(&[Made::rate(90e9)]));
    let verdict = &mut other.experiments[0].findings[0].verdict;
    verdict.bound(Reason::BelowRecord { record: 100e9, is_time: false, date: "2026-11-22".into(), clocks: None });
    assert_eq!(verdict.grade, Grade::Bound);
    assert_eq!(against(&first, &other, Rules::default()).figures[0].verdict, ChangeVerdict::Worse);
    // With another reason it is a bound like any other.
    other.experiments[0].findings[0].verdict.bound(Reason::TooFew { windows: 1, visits: 1 });
    assert_eq!(against(&first, &other, Rules::default()).figures[0].verdict, ChangeVerdict::Unsure(Doubt::OpenBound));
}

#[test]
fn what_may_be_another_piece_of_the_machine_is_not_compared() {
    let of = |labels: Labels| {
        let made = || Made { labels: labels.clone(), ..Made::latency(100.0) };
        let (mut first, other) = (run(&[made()]), run(&[Made { value: 120.0, ..made() }]));
        let bare = against(&first, &other, Rules::default()).figures[0].verdict.clone();
        first.machine.system.hypervisor = Some("KVM".to_owned());
        (bare, against(&first, &other, Rules::default()).figures[0].verdict.clone())
    };
    let place = || ChangeVerdict::NotComparable(Obstacle::Place);
    assert_eq!(of(Labels::new().with_region(2)), (place(), place()));
    assert_eq!(of(Labels::new().with_from_cpu(2)), (ChangeVerdict::Worse, place()), "a hypervisor moves cpus");
}

#[test]
fn numbers_are_aligned_by_what_they_measure() {
    let first = [Made::latency(10.0), Made::rate(1e9).label("kernel", "read/avx2"), Made::rate(3e9)];
    let other = [
        Made::rate(1e9).label("kernel", "read/avx512").label("cpus", "7"),
        Made::latency(11.0),
        Made::rate(4e9),
        Made::rate(5e9).label("page", "1G"),
    ];
    let found = against(&run(&first), &run(&other), Rules::default());
    let values = |figure: &ComparedFigure| {
        let value = |number: &Option<ComparedNumber>| number.as_ref().and_then(|n| n.value);
        (value(&figure.first), value(&figure.other))
    };
    let seen: Vec<_> = found.figures.iter().map(values).collect();
    let pairs = [(10.0, 11.0), (1e9, 1e9), (3e9, 4e9)].map(|(a, b)| (Some(a), Some(b)));
    assert_eq!(seen, [&pairs[..], &[(None, Some(5e9))]].concat());
    assert_eq!(found.figures[3].verdict, ChangeVerdict::NotComparable(Obstacle::OnlyInOther));
}

#[test]
fn machines_are_compared_by_the_role_of_a_tier() {
    let rules = Rules { by_role: true, ..Rules::default() };
    let remote = |made: Made| made.label("tier", "DRAM node 1").label("node", "1");
    let first = run(&[Made::latency(4.0), Made::latency(200.0).label("tier", "far node 2")]);
    let others = [
        Made::latency(5.0).size(2 * MIB),
        remote(Made::latency(100.0)),
        Made::latency(300.0).label("tier", "far node 3").size(GIB),
    ];
    let other = run(&others);
    let found = against(&first, &other, rules);
    let verdicts: Vec<_> = found.figures.iter().map(|figure| figure.verdict.clone()).collect();
    let only = ChangeVerdict::NotComparable(Obstacle::OnlyInOther);
    assert_eq!(verdicts, [ChangeVerdict::Worse, ChangeVerdict::Worse, only]);
    assert_eq!(found.figures[0].other.as_ref().unwrap().size, Some(Bytes(2 * MIB)));
    assert!(against(&first, &other, Rules::default()).figures.iter().all(|figure| !figure.verdict.has_moved()));
}

/// Machines with other caches are measured over other ranges: that is no number which the other run lacks.
#[test]
fn ranges_that_follow_a_cache_are_not_lacking() {
    let hit = |sizes: &[u64]| {
        let sizes: Vec<Made> = sizes.iter().map(|mib| Made::latency(15.0).size(mib * MIB)).collect();
        let mut made = run(&[vec![Made::latency(4.0)], sizes].concat());
        for found in &mut made.experiments[0].findings[1..] {
            found.labels = found.labels.clone().without(LabelSet::NONE.tier());
            found.quantity = Quantity::ResidencyHit;
        }
        made
    };
    let reasons = |by_role: bool, first: &[u64], other: &[u64]| {
        let figures = against(&hit(first), &hit(other), Rules { by_role, ..Rules::default() }).figures;
        figures.into_iter().skip(1).map(|figure| figure.verdict).collect::<Vec<_>>()
    };
    let not = ChangeVerdict::NotComparable;
    assert_eq!(reasons(true, &[8], &[16]), [not(Obstacle::Ranges), not(Obstacle::Ranges)]);
    assert_eq!(reasons(true, &[8], &[]), [not(Obstacle::OnlyInFirst)], "it was not measured at all");
    assert_eq!(reasons(false, &[8], &[16]), [not(Obstacle::OnlyInFirst), not(Obstacle::OnlyInOther)]);
}

/// The same role at the same size is compared, whatever the conditions: what differs is said.
#[test]
fn numbers_of_one_role_are_compared_and_say_what_differs() {
    let on = |pages: &[&str]| run(&pages.iter().map(|page| Made::latency(4.0).label("page", page)).collect::<Vec<_>>());
    let found = |first: &Run, other: &Run| {
        let figures = against(first, other, Rules::default()).figures;
        let words = |figure: &ComparedFigure| figure.differs.iter().map(ToString::to_string).collect::<Vec<_>>();
        figures.iter().map(|figure| (figure.verdict.clone(), words(figure).join("; "))).collect::<Vec<_>>()
    };
    let same = |differs: &str| (ChangeVerdict::Same, differs.to_owned());
    let only = (ChangeVerdict::NotComparable(Obstacle::OnlyInFirst), String::new());
    assert_eq!(found(&on(&["thp"]), &on(&["base"])), [same("pages: thp → base")]);
    // The other run has the same pages too, and lacks nothing but these.
    assert_eq!(found(&on(&["thp", "base"]), &on(&["thp"])), [same(""), only]);
    let slower = run(&[Made::latency(5.6).label("page", "base")]);
    assert_eq!(found(&on(&["thp"]), &slower), [(ChangeVerdict::Worse, "pages: thp → base".to_owned())]);
    let made = |layout: &str, page: &str| Made::latency(4.0).label("layout", layout).label("page", page);
    // Each stands beside that with the fewest differences, in whatever order.
    let (two, base) = (run(&[made("groups", "thp"), made("random", "thp")]), run(&[made("random", "base")]));
    let one = (ChangeVerdict::NotComparable(Obstacle::OnlyInFirst), String::new());
    assert_eq!(found(&two, &base), [one, same("pages: thp → base")]);
    assert_eq!(found(&run(&[made("groups", "thp")]), &base), [same("pages: thp → base; layout: groups → random")]);
    let threads = |span: &str, threads: u64| {
        let mut made = Made::rate(1e9).label("span", span);
        made.labels = made.labels.with_threads(threads);
        run(&[made])
    };
    assert_eq!(found(&threads("all", 4), &threads("all", 8)), [same("threads: 4 → 8")]);
    // Another operation, tier or size is another role.
    let not = |other: Made| found(&on(&["thp"]), &run(&[other.label("page", "base")]));
    assert_eq!(not(Made::rate(1e9)).len(), 2);
    let sizes = Obstacle::WorkingSet { first: Some(Bytes(256 * KIB)), other: Some(Bytes(288 * KIB)) };
    assert_eq!(not(Made::latency(4.0).size(288 * KIB))[0].0, ChangeVerdict::NotComparable(sizes));
}

/// A family whose conditions differ has a mean of its own.
#[test]
fn a_family_has_one_set_of_conditions() {
    let on = |pages: [&str; 4]| {
        let op = |op: &str, page: &str| Made::rate(1e9).label("op", op).label("page", page);
        let ops = ["read", "write", "copy", "triad"];
        run(&ops.into_iter().zip(pages).map(|(name, page)| op(name, page)).collect::<Vec<_>>())
    };
    let families = against(&on(["thp"; 4]), &on(["thp", "thp", "base", "base"]), Rules::default()).families;
    let words: Vec<Vec<String>> =
        families.iter().map(|one| one.differs.iter().map(ToString::to_string).collect()).collect();
    assert_eq!(words, [vec![], vec!["pages: thp → base".to_owned()]]);
    assert!(families.iter().all(|one| one.figures == 2), "{families:?}");
}

/// Stores around the cache move two and a half times what stores through it move: a choice, no change of the machine.
#[test]
fn runs_that_chose_different_kernels_are_compared_by_one_that_both_measured() {
    const THROUGH: &str = "write/avx2";
    const AROUND: &str = "write.nt/avx2";
    let made = |value: f64, kernel: &str, rivals: &[(&'static str, f64, f64)]| {
        Made::rate(value).label("op", "write").chosen(kernel, rivals)
    };
    let judged = |first: &Made, other: &Made, rules: Rules| {
        against(&run(from_ref(first)), &run(from_ref(other)), rules).figures.remove(0)
    };
    let values = |figure: &ComparedFigure| [&figure.first, &figure.other].map(|number| number.as_ref().unwrap().value);
    let slow = made(10e9, THROUGH, &[(AROUND, 2.5, 0.01)]);
    let fast = made(25.1e9, AROUND, &[(THROUGH, 0.4, 0.1)]);
    // The ratio that the first run knows within 1 % counts, not that which the other knows within 10 %.
    let figure = judged(&slow, &fast, Rules::default());
    assert_eq!((figure.kernel.as_deref(), &figure.verdict), (Some(AROUND), &ChangeVerdict::Same));
    assert_eq!(values(&figure), [Some(25e9), Some(25.1e9)]);
    assert!(figure.change.is_some_and(|change| (change - 0.004).abs() < 1e-9), "{figure:?}");
    let chose = [&figure.first, &figure.other].map(|number| number.as_ref().unwrap().kernel.clone().unwrap());
    assert_eq!(chose, [THROUGH, AROUND]);
    // A loss of one and the same kernel stays one, in either order.
    let lost = made(20e9, AROUND, &[(THROUGH, 0.4, 0.1)]);
    assert_eq!(judged(&slow, &lost, Rules::default()).verdict, ChangeVerdict::Worse);
    assert_eq!(judged(&lost, &slow, Rules::default()).verdict, ChangeVerdict::Better);
    // A third one that both compared.
    let third = |value: f64, kernel: &str| {
        judged(&made(value, "a", &[("c", 0.9, 0.01)]), &made(10e9, kernel, &[("c", 0.9, 0.01)]), Rules::default())
    };
    assert_eq!((third(10e9, "b").kernel.as_deref(), third(10e9, "b").verdict), (Some("c"), ChangeVerdict::Same));
    // The same choice is no other one, whatever else was compared.
    assert_eq!((third(20e9, "a").kernel, third(20e9, "a").verdict), (None, ChangeVerdict::Worse));
    // Without a comparison the values are those of the kernels that the runs chose.
    let alone = made(25e9, AROUND, &[]);
    let figure = judged(&made(10e9, THROUGH, &[]), &alone, Rules::default());
    assert_eq!((figure.kernel, figure.verdict), (None, ChangeVerdict::Better));
    assert_eq!(figure.differs[0].to_string(), format!("kernel: {THROUGH} → {AROUND}"));
    // A machine is taken at its best.
    let figure = judged(&slow, &alone, Rules { by_role: true, ..Rules::default() });
    assert_eq!(
        (figure.kernel.clone(), figure.verdict.clone(), values(&figure)[0]),
        (None, ChangeVerdict::Better, Some(10e9))
    );
}

/// The runs of a baseline that chose another kernel count by the one that is compared.
#[test]
fn means_are_of_one_kernel() {
    let made = |value: f64, kernel: &str, rivals: &[(&'static str, f64, f64)]| {
        run(&[Made::rate(value).chosen(kernel, rivals)])
    };
    let runs = [made(20e9, "a", &[]), made(10e9, "b", &[("a", 2.0, 0.01)]), made(40e9, "c", &[]), made(20e9, "a", &[])];
    let [first, second, third, other] = runs.each_ref().map(|run| Document { name: "a", run });
    let reference = Reference { first, more: &[second, third], scatters: None };
    let figure = compare(&reference, &[other], Rules::default()).others.remove(0).figures.remove(0);
    let mean = figure.first.unwrap();
    assert_eq!((mean.runs, figure.verdict, figure.kernel), (Some(2), ChangeVerdict::Same, None));
    assert!((mean.value.unwrap() / 20e9 - 1.0).abs() < 1e-9);
}

/// A survey and a run of one probe have the same numbers, by different methods.
#[test]
fn numbers_of_different_probes_stand_together_and_say_so() {
    let first = run(&[Made::latency(4.0)]);
    let mut other = run(&[Made::latency(5.0), Made::rate(1e9)]);
    other.experiments[0].request.probe = "survey".into();
    let figures = against(&first, &other, Rules::default()).figures;
    let why = Obstacle::Probe { first: "latency".into(), other: "survey".into() };
    assert_eq!(figures.len(), 2);
    assert_eq!(figures[0].verdict, ChangeVerdict::NotComparable(why));
    assert_eq!(figures[0].other.as_ref().unwrap().value, Some(5.0));
    assert_eq!(figures[1].verdict, ChangeVerdict::NotComparable(Obstacle::OnlyInOther));
}

/// A run of a simulated machine with two cpus a core and eight a socket, whose cpus all work in one tier.
fn of_all(cpus: u32, made: Made) -> Run {
    let l2 = |core: u32| Cache {
        level: 2,
        kind: CacheKind::Unified,
        bytes: None,
        line_bytes: None,
        ways: None,
        sets: None,
        cpus: [2 * core, 2 * core + 1].into_iter().collect(),
    };
    let machine = Machine {
        cpus: (0..cpus).map(|id| Cpu { id, core: id / 2, socket: id / 8, ..Cpu::default() }).collect(),
        caches: (0..cpus / 2).map(l2).collect(),
        ..Machine::default()
    };
    let mut run = run(&[made.label("span", "all")]);
    let labels = &mut run.experiments[0].findings[0].labels;
    *labels = labels.clone().with_threads(cpus.into());
    run.machine = machine;
    let role = || Role::Stream { kernel: "read/avx2".into(), rivals: Vec::new() };
    run.experiments[0].plan.steps = vec![Step {
        id: "step 0".into(),
        labels: Labels::new(),
        phase: 0,
        metric: Metric::Bandwidth,
        setup: Setup {
            regions: Vec::new(),
            threads: (0..cpus).map(|cpu| ThreadSetup::new(cpu, role(), 0)).collect(),
            seed: 1,
        },
        stop: StopRule { precision: 0.1, allocations: 1, min_visits: 1, max_visits: 1, shot_seconds: 0.1 },
    }];
    run
}

#[test]
fn rates_of_machines_stand_beside_their_cores_and_sockets() {
    let of = |cpus: u32| of_all(cpus, Made::rate(160e9));
    let rules = Rules { by_role: true, ..Rules::default() };
    let figure = against(&of(8), &of(16), rules).figures.remove(0);
    assert_eq!(figure.verdict, ChangeVerdict::Same);
    let shares = |number: &Option<ComparedNumber>| number.as_ref().map(|n| (n.per_core, n.per_socket));
    assert_eq!(shares(&figure.first), Some((Some(40e9), Some(160e9))));
    assert_eq!(shares(&figure.other), Some((Some(20e9), Some(80e9))));
    assert_eq!((figure.is_per_core, figure.change_per_core, figure.change_per_socket), (false, Some(-0.5), Some(-0.5)));
}

/// Caches that each core has for itself say nothing about the number of cores.
#[test]
fn rates_of_private_caches_are_judged_by_core() {
    let of = |cpus: u32, rate: f64| {
        let made = Made::rate(rate).label("tier", "L2");
        of_all(cpus, made)
    };
    let judged = |first: Run, other: Run, by_role: bool| {
        against(&first, &other, Rules { by_role, ..Rules::default() }).figures.remove(0)
    };
    let same = judged(of(32, 1600e9), of(8, 400e9), true);
    assert_eq!((same.verdict, same.is_per_core, same.change), (ChangeVerdict::Same, true, Some(0.0)));
    let better = judged(of(32, 1600e9), of(8, 600e9), true);
    assert_eq!((better.verdict, better.is_per_core), (ChangeVerdict::Better, true));
    assert!(better.change.is_some_and(|change| (change - 0.5).abs() < 1e-9));
    assert!(better.interval.is_some_and(|interval| interval.low < 0.5 && interval.high > 0.5));
    assert!(better.p_value.is_some_and(|p| p < LEVEL));
    // The same number of cores, and a cache of all of them.
    let faster = judged(of(8, 400e9), of(8, 600e9), true);
    assert_eq!((faster.verdict, faster.is_per_core), (ChangeVerdict::Better, false));
    let mut shared = of(8, 400e9);
    shared.machine.caches.iter_mut().for_each(|cache| cache.cpus = (0..8).collect());
    let worse = judged(of(32, 1600e9), shared, true);
    assert_eq!((worse.verdict, worse.is_per_core), (ChangeVerdict::Worse, false));
}

#[test]
fn facts_that_differ_are_listed() {
    let first = run(&[]);
    assert!(against(&first, &first, Rules::default()).facts.is_empty());
    let mut other = first.clone();
    other.machine.system.kernel = Some("6.12".into());
    other.machine.system.memory_bytes = Some(4 * GIB);
    other.tool.version = "0.2.0".into();
    let dimm = Dimm { bytes: Some(16 * GIB), populated: true, kind: Some("DDR5".into()), ..Dimm::default() };
    other.machine.dimms = vec![dimm.clone(), Dimm::default(), dimm];
    let cache = |level, bytes| testing::cache(level, bytes, []);
    other.machine.caches = vec![cache(2, MIB), cache(2, MIB), cache(3, 8 * MIB)];
    let facts = against(&first, &other, Rules::default()).facts;
    let seen: Vec<(Fact, Option<&str>)> = facts.iter().map(|fact| (fact.fact, fact.other.as_deref())).collect();
    let expected = [
        (Fact::Tiermark, Some("0.2.0")),
        (Fact::Caches, Some("L2 1 MiB, L3 8 MiB")),
        (Fact::Memory, Some("4 GiB")),
        (Fact::Dimms, Some("2 x 16 GiB DDR5")),
        (Fact::Kernel, Some("6.12")),
    ];
    assert_eq!(seen, expected);
    other.machine.system.memory_bytes = Some(4 * GIB - MIB);
    assert_eq!(against(&first, &other, Rules::default()).facts, facts, "what the kernel reserves is no difference");
}

/// What two parts of a run measured from the cpus of two nodes has the node in its labels, and stands by its place.
#[test]
fn the_same_from_the_cpus_of_two_nodes_names_them() {
    let made = |values: [f64; 2]| {
        let mut whole = run(&[Made::latency(values[0])]);
        let part = |cpu: u32, value: f64| {
            let mut part = run(&[Made::latency(value)]).experiments.remove(0);
            part.request.scope.cpus = Some([cpu].into_iter().collect());
            part
        };
        whole.machine.cpus = (0..2).map(|id| Cpu { id, node: Some(id), ..Cpu::default() }).collect();
        whole.experiments = vec![part(0, values[0]), part(1, values[1])];
        whole
    };
    let found = against(&made([80.0, 90.0]), &made([80.0, 120.0]), Rules::default());
    let seen: Vec<_> = found.figures.iter().map(|f| (f.labels.from(), f.verdict == ChangeVerdict::Worse)).collect();
    assert_eq!(seen, [(Some("node:0"), false), (Some("node:1"), true)]);
    // One part needs no words.
    let mut one = made([80.0, 90.0]);
    one.experiments.pop();
    assert_eq!(against(&one, &one, Rules::default()).figures[0].labels.from(), None);
}

#[test]
fn every_run_is_compared_with_the_first() {
    let runs = [100.0, 110.0, 90.0].map(|value| run(&[Made::latency(value)]));
    let documents = runs.each_ref().map(|run| Document { name: "x", run });
    let found = compare(&Reference::one(documents[0]), &documents[1..], Rules::default());
    let verdicts: Vec<_> = found.others.iter().map(|other| other.figures[0].verdict.clone()).collect();
    assert_eq!(verdicts, [ChangeVerdict::Worse, ChangeVerdict::Better]);
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["others"][0]["figures"][0]["verdict"], "worse");
    assert_eq!(serde_json::from_value::<Comparison>(json).unwrap(), found);
}
