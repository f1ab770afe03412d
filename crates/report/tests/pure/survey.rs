//! The report of surveys made up by hand: one of each kind that a reader may meet.

mod made;

use crate::page;
use made::{Made, all_fine, with_zeros, withhold};
use proptest::prelude::*;
use tiermark_model::messages::setup as says;
use tiermark_model::*;
use tiermark_page::{Detail, RateUnit, Style, terminal};
use tiermark_report::{RUN_VIEWS, run_view};
use unicode_width::UnicodeWidthStr;

/// A view of a run, by its name.
fn view(run: &Run, name: &str) -> String {
    terminal(&run_view(run, RUN_VIEWS.iter().find(|view| view.name == name).unwrap(), Detail::Usual), &Style::default())
}

fn shown(made: &Made) -> String {
    page(&made.run(), Detail::Usual, &Style::default())
}

/// What `-v` shows, without line breaks.
fn detailed(made: &Made) -> String {
    page(&made.run(), Detail::All, &Style::default()).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The line that says whether the machine is all right.
fn result(made: &Made) -> String {
    let wide = Style { width: 120, ..Style::default() };
    let text = page(&made.run(), Detail::Usual, &wide);
    // What the memory does, stands first.
    let line = text.lines().skip_while(|line| !line.starts_with("RESULT  ")).nth(1).unwrap();
    line.trim().trim_end_matches('.').to_owned()
}

/// Shared figures where a guest has them, the last cache and DRAM, and a bound.
fn shared_made() -> Made {
    let mut made = all_fine();
    for figure in made.figures.iter_mut().filter(|f| f.tier == "L3" && f.op.is_none() || f.tier == "DRAM") {
        figure.verdict.untrusted(ValueKind::Typical, Reason::NotSharp { share: 0.021 });
        figure.best = Some(figure.value);
        figure.value *= if figure.op.is_none() { 1.6 } else { 0.7 };
        figure.typical = Some(Typical { median: figure.value, p10: figure.value * 0.9, p90: figure.value * 1.2 });
    }
    let twice = made.figure("L2", "copy", "all");
    twice.verdict.bound(Reason::NotReproduced { reached: 2 });
    made
}

/// The cpus move between caches, and others are about.
fn moving() -> Made {
    let mut made = shared_made();
    let apart = StateKind::Apart { apart: 1, of: 1 };
    let state = |state, share, lasts, ping_ns| State { state, share, visits: 1200, lasts, ping_ns };
    made.states = vec![
        state(StateKind::Near, 0.40, Some([0.05, 0.43]), Some(56.1)),
        state(apart, 0.55, Some([0.5, 5.0]), Some(411.0)),
        state(StateKind::OneCore, 0.05, None, Some(48.0)),
        state(StateKind::Sibling, 0.09, Some([0.0022, 0.076]), None),
        state(StateKind::Shared, 0.84, None, None),
    ];
    for (op, value) in [("read", 37e9), ("write", 28e9), ("copy", 45e9)] {
        let figure = made.figure("DRAM", op, "all");
        let here = |state, value| InState { state, value, share: 0.2, windows: 300, visits: 60 };
        figure.in_states = vec![here(StateKind::Near, value), here(apart, figure.value)];
    }
    made
}

#[test]
fn a_machine_that_is_all_right() {
    insta::assert_snapshot!("fine", shown(&all_fine()));
}

#[test]
fn rates_of_memory_say_that_the_cpus_shared_a_cache_where_nothing_else_was_seen() {
    let said = |made: &Made| detailed(made).contains("DRAM, all cores: while the cpus shared an L3;");
    assert!(!said(&all_fine()) && !said(&moving()));
    let mut near = moving();
    for op in ["read", "write", "copy"] {
        near.figure("DRAM", op, "all").in_states.truncate(1);
    }
    assert!(said(&near), "{}", detailed(&near));
}

/// One part of a run saw nothing move, another saw the cpus on one core for half of its time.
#[test]
fn cpus_were_not_in_one_placement_throughout_if_another_part_saw_them_on_one_core() {
    let mut made = moving();
    let state = |state, share| State { state, share, visits: 1200, lasts: Some([0.8, 6.4]), ping_ns: None };
    made.states = vec![state(StateKind::Unmoved, 1.0)];
    assert!(detailed(&made).contains("cpus in one placement") && !shown(&made).contains("Cpus move"));
    made.states.push(state(StateKind::OneCore, 0.47));
    let both = detailed(&made);
    assert!(
        both.contains("cpus on one core") && !both.contains("in one placement") && both.contains("Cpus move"),
        "{both}"
    );
    made.states = vec![state(StateKind::OneCore, 1.0)];
    assert!(!shown(&made).contains("Cpus move"));
}

#[test]
fn shared_figures_have_their_best_below_and_bounds_a_sign() {
    insta::assert_snapshot!("shared", shown(&shared_made()));
    insta::assert_snapshot!("shared_why", view(&shared_made().run(), "why"));
}

#[test]
fn a_withheld_figure_comes_first() {
    let mut made = moving();
    withhold(
        made.figure("DRAM", "write", "all"),
        Reason::PagesUnseen { how: says::placement_seen("move_pages", 64, 1, false, None) },
    );
    withhold(made.figure("DRAM", "write", "one"), Reason::MajorFaults { faults: 12 });
    made.record("L2", "read", "one", 111.1e9);
    insta::assert_snapshot!("withheld", shown(&made));
}

#[test]
fn a_figure_below_its_record_is_named() {
    let mut made = all_fine();
    made.record("L2", "read", "one", 130.1e9);
    made.record("L2", "copy", "one", 128.0e9);
    insta::assert_snapshot!("below_record", shown(&made));
    insta::assert_snapshot!("below_record_why", view(&made.run(), "why"));
}

#[test]
fn states_are_named_in_plain_words() {
    insta::assert_snapshot!("states", shown(&moving()));
    insta::assert_snapshot!("states_why", view(&moving().run(), "why"));
}

#[test]
fn ascii_and_narrow() {
    let ascii = Style { unicode: false, rate_unit: RateUnit::Iec, ..Style::default() };
    let text = page(&moving().run(), Detail::Usual, &ascii);
    assert!(text.is_ascii(), "{text}");
    insta::assert_snapshot!("ascii", text);
    insta::assert_snapshot!("narrow", page(&moving().run(), Detail::Usual, &Style { width: 60, ..Style::default() }));
}

#[test]
fn the_result_names_what_weighs_most() {
    let mut made = all_fine();
    assert_eq!(result(&made), "nothing to compare with: no latency of memory was judged; all 28 figures trusted");
    made.complete = false;
    assert_eq!(result(&made), "stopped before its end; all 28 figures trusted");
    made.warnings = vec![tiermark_model::messages::system::damon()];
    let state = made.warnings[0].state().to_owned();
    assert!(result(&made).starts_with(&format!("`tiermark doctor` finds: {state}; all 28")), "{}", result(&made));
    // A document that is older than the clause.
    made.warnings[0].state.clear();
    assert!(result(&made).contains(&made.warnings[0].text), "{}", result(&made));
    made.unresolved = true;
    assert!(result(&made).starts_with("size of L3 not resolved; all 28"), "{}", result(&made));
    made.refuse("DRAM", "copy", "all");
    assert_eq!(result(&made), "1 figure not measured; 27 of 28 figures trusted, 1 not measured");
    withhold(made.figure("L1", "copy", "all"), Reason::MajorFaults { faults: 1 });
    let said = "withheld: L1 copy, all cores: 1 major page faults inside shots: memory is being swapped; ";
    assert!(result(&made).starts_with(said), "{}", result(&made));
    // What fails an expectation comes first, with why it matters.
    made.record("L2", "copy", "one", 300e9);
    let said = "expected record >= 90 %, is 39 % (57 % too low) at copy.l2.one: the same machine did more before: ";
    assert!(result(&made).starts_with(said), "{}", result(&made));
}

/// A guest whose hypervisor declares the L3 of the host, of which it gets a part: "(480 MiB)" was printed.
#[test]
fn a_size_that_the_curve_bounds_is_said_beside_the_declared_one() {
    let shown = |ends: Option<[u64; 2]>, found: Option<u64>| {
        let mut run = all_fine().run();
        run.machine.caches.iter_mut().filter(|cache| cache.level == 3).for_each(|cache| cache.bytes = Some(480 << 20));
        let is_l3 = |f: &&mut Finding| f.quantity.name() == "tier.size" && f.labels.tier() == Some(Tier::Cache(3));
        let size = run.experiments.iter_mut().flat_map(|e| &mut e.findings).find(is_l3).unwrap();
        size.value = found.map(|bytes| bytes as f64);
        if let Some([low, high]) = ends {
            let (low, high) = (Bytes(low << 20), Some(Bytes(high << 20)));
            size.verdict.suspect(Reason::NotResolved { low, high, why: WhyNot::Evicted });
        }
        let shown = page(&run, Detail::Usual, &Style { width: 200, ..Style::default() });
        // A table, and notes whose lines may break anywhere.
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let bounded = shown(Some([30, 59]), None);
    assert!(bounded.contains("~42 MiB of 480 MiB ") && !bounded.contains("(480 MiB)"), "{bounded}");
    assert!(bounded.contains("size of L3 not resolved (~42 MiB of 480 MiB)"), "{bounded}");
    let why = "between 30 MiB and 59 MiB: other work may evict it before it is full; 480 MiB declared";
    assert!(bounded.contains(why), "{bounded}");
    // Resolved, and a part all the same.
    let part = shown(None, Some(38 << 20));
    assert!(part.contains("~38 MiB of 480 MiB "), "{part}");
    // Bounds that leave anything open are no size.
    assert!(shown(Some([2, 300]), None).contains("(480 MiB)"));
}

/// A server with a missing module, slow modules, corrected errors and half of its L3.
#[test]
fn the_result_draws_on_all_that_is_known_of_the_machine() {
    let mut run = all_fine().run();
    run.machine.system.hypervisor = None;
    let dimm = Dimm {
        populated: true,
        rated_transfers: Some(3.2e9),
        configured_transfers: Some(2.933e9),
        bytes: Some(32 << 30),
        ..Dimm::default()
    };
    run.machine.dimms = vec![dimm; 7];
    let channels = Some(MemoryChannels { populated: 7, most: Some(8), at_most: false });
    let peak = TheoreticalPeak { bytes_per_second: 80e9, channels, ..TheoreticalPeak::default() };
    run.machine.theoretical_peak = Some(peak);
    let corrected = Some(HealthCount::new(1243, Some(1243)));
    let errors = MemoryErrors { place: "mc0".into(), corrected, ..MemoryErrors::default() };
    run.health = Some(RunHealth { memory: Some(vec![errors]), ..RunHealth::default() });
    let is_l3 = |f: &&mut Finding| f.quantity == Quantity::TierSize && f.labels.tier() == Some(Tier::Cache(3));
    let l3 = run.experiments[0].findings.iter_mut().find(is_l3).unwrap();
    l3.value = l3.value.map(|bytes| bytes / 2.0);
    let text = page(&run, Detail::Usual, &Style::default());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let result = text.split("figures trusted").next().unwrap();
    let first = "expected size.l3 >= 0.75 x size.l3.declared, is 16.64 MiB (31 % too low): ";
    assert!(result.contains(first), "{result}");
    for also in ["dimms.speed >= 0.99 x rated", "channels.populated >= channels", "edac.corrected.boot <= 0"] {
        assert!(result.contains(also), "{also}: {result}");
    }
    assert!(text.contains("1243, limit 0") && text.contains("a channel without a module adds no bandwidth"), "{text}");
}

/// `as expected` needs that something was expected of a measured figure.
#[test]
fn figures_without_anything_to_compare_with_are_not_as_expected() {
    let mut made = all_fine();
    made.figures.retain(|figure| figure.span != Some("all"));
    assert_eq!(
        result(&made),
        "nothing to compare with: no latency and no bandwidth of memory was judged; all 16 figures trusted"
    );
    let text = page(&made.run(), Detail::All, &Style::default()).replace(['\n', '\u{a0}'], " ");
    assert!(text.contains("Nothing to compare with: the machine is a guest of KVM"), "{text}");
}

#[test]
fn the_result_names_the_figures_that_a_problem_of_doctor_may_change() {
    let mut made = all_fine().run();
    made.problems = Some(vec![CheckRow {
        name: "clocksource".to_owned(),
        group: "Kernel".to_owned(),
        value: "hpet".to_owned(),
        health: Health::Problem,
        affects: Some(Affected::All),
        why: String::new(),
        cure: None,
        is_setting: false,
    }]);
    let wide = Style { width: 200, ..Style::default() };
    let text = page(&made, Detail::Usual, &wide);
    assert!(text.contains("change these figures: clocksource (hpet; affects all figures)"), "{text}");
}

/// A survey of each of two nodes: the second is of the cpus of node 1.
fn at_two_nodes(other: &Made) -> Run {
    let (mut run, mut second) = (all_fine().run(), other.run().experiments.remove(0));
    for cpu in &mut run.machine.cpus {
        cpu.node = Some(cpu.id);
    }
    run.experiments[0].request.scope.cpus = "0".parse().ok();
    second.request.scope.cpus = "1".parse().ok();
    run.experiments.push(second);
    run
}

#[test]
fn the_result_names_the_place_where_there_are_several() {
    let wide = Style { width: 200, ..Style::default() };
    let text = |made: &Made| page(&at_two_nodes(made), Detail::Usual, &wide);
    let mut made = all_fine();
    made.unresolved = true;
    let shown = text(&made);
    assert!(shown.contains(" size of L3 (cpus of node 1) not resolved; "), "{shown}");
    assert!(shown.contains("The size of L3 (cpus of node 1) is not resolved: "), "{shown}");
    withhold(made.figure("DRAM", "write", "one"), Reason::MajorFaults { faults: 12 });
    assert!(text(&made).contains("withheld: DRAM write, one core (cpus of node 1): "), "{}", text(&made));
    assert!(result(&made).starts_with("withheld: DRAM write, one core: "), "one place needs no name");
}

/// Bounds whose visits differ: those of the latency of L3 from place to place, those of a rate of DRAM from moment to
/// moment.
fn differing() -> Run {
    let mut run = shared_made().run();
    for seen in &mut run.experiments[0].observations {
        let (between, within) = match seen.step.as_str() {
            "L3 None None" => (0.041, 0.01),
            step if step.starts_with("DRAM") => (0.005, 0.12),
            _ => continue,
        };
        (seen.spread_between, seen.spread_within) = (Some(between), Some(within));
        let value = seen.value.unwrap();
        let of_place =
            |place: u32| (0..9).map(move |n| (place, value * (1.0 + 0.04 * f64::from(place) + 0.001 * f64::from(n))));
        seen.visits = Visits::of_samples((0..3).flat_map(of_place));
    }
    run
}

#[test]
fn the_long_views_say_whether_places_or_moments_differ() {
    let why = view(&differing(), "why");
    insta::assert_snapshot!("places_why", why);
    let details = page(&differing(), Detail::All, &Style::default());
    assert_eq!(details.matches("its 3 places in memory differ by 4.1 %").count(), 1, "{details}");
    assert!(!page(&differing(), Detail::Usual, &Style::default()).contains("4.1 %"));
    // Whoever is trusted and precise is not listed, however the visits differ.
    let mut fine = differing();
    for e in &mut fine.experiments {
        e.findings.iter_mut().for_each(|f| f.verdict = Verdict::trusted());
    }
    assert!(!view(&fine, "why").contains("4.1 %"));
}

#[test]
fn places_that_are_slower_for_good_are_named_with_their_share() {
    let mut run = shared_made().run();
    assert!(!page(&run, Detail::Usual, &Style::default()).contains("places in memory"));
    let seen = run.experiments[0].observations.iter_mut().find(|seen| seen.step == "L2 None None");
    seen.expect("a figure of L2").slow_places = Some(SlowPlaces { slow: 1, of: 5, share: 0.26 });
    let shown = page(&run, Detail::All, &Style::default()).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("1 of 5 places in memory reaches 26 % of L2 latency: small pages"), "{shown}");
}

#[test]
fn every_reason_of_a_figure_is_listed() {
    let mut made = all_fine();
    let read = made.figure("L2", "read", "one");
    let reasons = [Reason::NotSharp { share: 0.02 }, Reason::NotReproduced { reached: 2 }];
    reasons.iter().for_each(|reason| read.verdict.bound(reason.clone()));
    let said = view(&made.run(), "why");
    // A bound is in the group of what makes it one.
    let also = format!("L2 read, one core also: {}", reasons[0]);
    assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(&also), "{said}");
    assert!(said.matches("also:").count() == 1 && !said.contains("Shared:"), "{said}");
}

#[test]
fn a_reason_that_several_figures_have_is_said_once() {
    let mut made = all_fine();
    let late = |step: &str| Reason::Refused { refusal: messages::run::no_time_left(step) };
    for op in ["read", "write", "copy"] {
        let figure = made.figure("L2", op, "all");
        figure.verdict.invalid(late(op));
    }
    let said = view(&made.run(), "why");
    assert_eq!(said.matches("time budget used up").count(), 1, "{said}");
    for op in ["read", "write", "copy"] {
        assert!(said.contains(&format!("L2 {op}, all cores")), "{said}");
    }
}

#[test]
fn stores_of_zeros_are_figures_with_a_line_of_their_own() {
    let mut made = with_zeros();
    let text = page(&made.run(), Detail::All, &Style::default());
    assert!(text.contains("DRAM write of zeros: 42.5 GB/s (one core), 76.0 GB/s (all cores)"), "{text}");
    assert!(result(&made).contains("all 30 figures trusted"), "{text}");
    made.figure("DRAM", "write of zeros", "all").verdict.bound(Reason::NotReproduced { reached: 2 });
    let why = view(&made.run(), "why");
    assert!(why.contains("DRAM write of zeros,") && why.contains("1 of 30 figures"), "{why}");
}

#[test]
fn marks_are_explained_only_where_they_are_used() {
    let text = shown(&all_fine());
    assert!(!text.contains('≥') && !text.contains("best") && !text.contains("95 %"), "{text}");
    let mut wide = all_fine();
    wide.figure("L2", "read", "one").half_width = 0.04;
    let text = detailed(&wide);
    assert!(text.contains("95 % intervals wider than --precision: L2 read, one core ±4.0 %"), "{text}");
}

#[test]
fn no_more_than_five_notes() {
    let mut made = moving();
    made.record("L2", "read", "one", 130.1e9);
    made.unresolved = true;
    let notes = |text: &str| text.matches("• ").count();
    assert_eq!(notes(&shown(&made)), 6);
    let all = page(&made.run(), Detail::All, &Style::default());
    assert_eq!(notes(&all), 7, "with why nothing is compared: {all}");
}

#[test]
fn details_keep_all_that_a_report_has() {
    let all = page(&moving().run(), Detail::All, &Style::default());
    for said in
        ["nothing to compare with: ", "The ladder", "Tail latency", "Findings", "Rules of the survey plan", "seed 42"]
    {
        assert!(all.contains(said), "'{said}' is missing:\n{all}");
    }
}

#[test]
fn the_long_views_of_a_run() {
    let run = moving().run();
    let long = RUN_VIEWS.iter().filter(|view| view.name != "why");
    let text: Vec<String> =
        long.map(|view| terminal(&run_view(&run, view, Detail::Usual), &Style::default())).collect();
    insta::assert_snapshot!("views", text.join("\n=====\n"));
    let empty = Run { experiments: vec![], ..run };
    for view in &RUN_VIEWS {
        assert!(terminal(&run_view(&empty, view, Detail::Usual), &Style::default()).contains("This run "), "{view:?}");
    }
}

#[test]
fn two_experiments_are_reported_as_one() {
    let (one, mut two) = (moving().run(), moving().run());
    let all = two.experiments.remove(0);
    for probe in ["latency", "bandwidth"] {
        let mut half = all.clone();
        half.request.probe = probe.into();
        half.findings.retain(|f| (f.quantity.family() == "bandwidth") == (probe == "bandwidth"));
        half.observations.retain(|o| (o.metric == Metric::Bandwidth) == (probe == "bandwidth"));
        two.experiments.push(half);
    }
    assert_eq!(page(&one, Detail::Usual, &Style::default()), page(&two, Detail::Usual, &Style::default()));
}

/// The text without escape sequences, and without the spaces that colour hides from trimming.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        rest = &rest[at + rest[at..].find('m').unwrap() + 1..];
    }
    (out + rest).lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_view_fits_its_width_and_colour_adds_nothing(width in 60usize..=140, unicode: bool, verbose: bool) {
        let style = Style { width, unicode, ..Style::default() };
        let detail = if verbose { Detail::All } else { Detail::Usual };
        for made in [all_fine(), shared_made(), moving()] {
            let made = made.run();
            let texts = |style: &Style| {
                let mut texts = vec![page(&made, detail, style)];
                texts.extend(RUN_VIEWS.iter().map(|view| terminal(&run_view(&made, view, detail), style)));
                texts
            };
            for (text, coloured) in texts(&style).iter().zip(texts(&Style { color: true, ..style })) {
                let long: Vec<&str> = text.lines().filter(|l| l.width() > width).collect();
                prop_assert!(long.is_empty(), "{long:#?}");
                prop_assert_eq!(plain(&coloured), text.clone());
            }
        }
    }

    #[test]
    fn strange_numbers_never_panic(number in prop::num::f64::ANY, verbose: bool, width in 0usize..200) {
        let mut made = moving();
        for figure in &mut made.figures {
            (figure.value, figure.half_width) = (number, number);
            figure.typical = Some(Typical { median: number, p10: number, p90: number });
            figure.in_states.iter_mut().for_each(|s| s.value = number);
        }
        for state in &mut made.states {
            (state.share, state.lasts, state.ping_ns) = (number, Some([number, number]), Some(number));
        }
        made.peak_share = Some(number);
        made.record("L2", "read", "one", number);
        made.drift = vec![Drift { step: "?".into(), at_seconds: Some(number), change: number, p_value: None }];
        let style = Style { width, ..Style::default() };
        let detail = if verbose { Detail::All } else { Detail::Usual };
        let _ = page(&made.run(), detail, &style);
        RUN_VIEWS.iter().for_each(|view| assert!(!terminal(&run_view(&made.run(), view, detail), &style).is_empty()));
    }
}

#[test]
fn the_core_clock_and_figures_per_cycle_stand_below_the_ladder() {
    let mut made = all_fine();
    made.clock = Some([3.61, 3.70]);
    made.figure("L2", "read", "one").verdict.bound(Reason::NotSharp { share: 0.02 });
    let mut clocked = made.run();
    let text = page(&clocked, Detail::Usual, &Style::default());
    insta::assert_snapshot!(text);
    let without = Made { clock: None, ..made };
    let figures = |text: &str| {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        words.split("figures trusted").next().unwrap().rsplit("; ").next().unwrap().to_owned()
    };
    assert_eq!(figures(&text), figures(&shown(&without)), "the clock is no figure");
    clocked.machine.core_limits = Some(CoreLimits {
        name: "Zen 4".into(),
        latency_l1_cycles: Some(4.0),
        load_bytes_per_cycle: Some(64.0),
        store_bytes_per_cycle: Some(32.0),
        latency_l2_cycles: Some(14.0),
        source: "the guide".into(),
        ..CoreLimits::default()
    });
    let details = page(&clocked, Detail::All, &Style { width: 120, ..Style::default() });
    let words = details.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("L1 4.00 cycles (at least 4), read 58.6 of 64 B, write 31.9 of 32 B, copy"), "{details}");
    assert!(!details.contains("core.clock"), "no row of the findings: {details}");
}

#[test]
fn interruptions_stand_below_the_ladder_and_are_no_figure() {
    let made = all_fine();
    let figures = tiermark_report::numbers(&made.run()).len();
    let cpu = Interrupted {
        cpu: Some(0),
        watched_seconds: 0.5,
        count: 4_306,
        long: 150,
        share: 0.0231,
        long_share: 0.009,
        median_ns: Some(1_900.0),
        p99_ns: Some(30_000.0),
        longest_ns: Some(204_000.0),
    };
    let mut run = made.run();
    run.experiments[0].interruptions = vec![cpu, Interrupted { cpu: Some(1), ..cpu }];
    let found = Finding::new(Quantity::InterruptionsShare, Labels::new(), Some(0.0231), Unit::Ratio);
    run.experiments[0].findings.push(found);
    assert_eq!(tiermark_report::numbers(&run).len(), figures);
    let words = |run: &Run, detail: Detail| {
        let text = page(run, detail, &Style { width: 120, ..Style::default() });
        text.replace('\u{a0}', " ").split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = "Interrupted 8,600 times a second, 2.3 % of the time, half under 2 µs, longest 0.2 ms";
    let (usual, all) = (words(&run, Detail::Usual), words(&run, Detail::All));
    assert!(
        usual.contains("interrupted 8,600 times a second.") && !usual.contains(said) && all.contains(said),
        "{usual}"
    );
    assert!(all.contains("Longer than 20 µs: 300 times a second, 0.9 % of the time. Most are"), "{all}");
    assert!(all.contains("exits of the virtual cpus") && !all.contains("cpu 1:"), "{all}");
    assert!(!all.contains("interruptions.share"), "no row of the findings: {all}");
    run.experiments[0].interruptions[1].share = 0.05;
    assert!(words(&run, Detail::All).contains("cpu 1: 8,600 times a second, 5 % of the time"), "{all}");
    // Other commands have the line with details.
    run.title = "latency".into();
    assert!(!words(&run, Detail::Usual).contains("Interrupted") && words(&run, Detail::All).contains("Interrupted"));
}

#[test]
fn a_clock_that_fell_is_a_warning() {
    let mut made = all_fine();
    made.clock = Some([2.97, 3.70]);
    assert!(!shown(&made).contains("The core clock fell"));
    made.clock = Some([2.2, 3.70]);
    let text = shown(&made).replace(['\n', '\u{a0}'], " ");
    assert!(
        text.contains("The core clock fell: 2.20 GHz or less for a tenth of the time, 3.70 GHz at the 90th"),
        "{text}"
    );
}
