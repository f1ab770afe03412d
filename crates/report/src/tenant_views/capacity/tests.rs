//! A capacity run as it is shown.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tiermark_model::capacity::{
    CAPACITY_SCHEMA, CostAgainst, CostRow, Ended, Evidence, LimitOf, Resource, TenantTimes, TimeLimit, TimeStatistic,
    WithOmitted,
};
use tiermark_model::messages::capacity as says;
use tiermark_model::{Code, Note, Warning};
use tiermark_page::{Style, width};

use super::*;
use tiermark_page::terminal;

fn point(trial: u32, tenants: u32, p99_us: f64, outcome: Outcome) -> CurvePoint {
    CurvePoint {
        tenants,
        trial,
        requests: 3_000 * u64::from(tenants),
        average_ns: p99_us * 350.0,
        p50_ns: 48_200.0,
        p90_ns: p99_us * 600.0,
        p99_ns: p99_us * 1_000.0,
        p99_9_ns: p99_us * 3_100.0,
        max_ns: p99_us * 52_000.0,
        brief_p99_ns: p99_us * 980.0,
        achieved: 1.0,
        faults_per_request: (tenants > 5).then_some(0.43),
        outcome,
        ended_early: false,
        min_ns: Some(18_000.0),
        p95_ns: Some(p99_us * 750.0),
        with_omitted: None,
        each: (1..=tenants).map(|number| times(p99_us * (0.9 + 0.02 * f64::from(number)))).collect(),
    }
}

/// Times of a tenant with this P99.
fn times(p99_us: f64) -> TenantTimes {
    TenantTimes {
        requests: 3_000,
        average_ns: p99_us * 350.0,
        min_ns: 18_000.0,
        p50_ns: 48_200.0,
        p95_ns: p99_us * 750.0,
        p99_ns: p99_us * 1_000.0,
        max_ns: p99_us * 52_000.0,
    }
}

/// A note as older documents have it: a text alone.
fn note(text: &str) -> Note {
    Note { code: Code::default(), data: BTreeMap::new(), text: text.to_owned() }
}

fn trial(number: u32, tenants: u32, phase: Phase, outcome: Outcome, why: &str, said: &str) -> TrialRecord {
    let (why, decided_by) = (note(why), note(said));
    let fresh = matches!(phase, Phase::Baseline | Phase::Bisection | Phase::Verification);
    let ended_by = None;
    TrialRecord { number, tenants, phase, fresh, why, outcome, decided_by, ended_by, evidence: None }
}

fn votes(passed: u32, failed: u32) -> Votes {
    Votes { passed, failed, unclear: 0 }
}

fn dram() -> Case {
    let killed = "the kernel killed 1 process for want of memory";
    Case {
        tier: "dram".into(),
        load: "100 % GET, uniform".into(),
        answer: Answer::Exactly { tenants: 5, votes: votes(4, 0), beyond: votes(0, 2) },
        over_dram: None,
        ended_by: Some(Ended { resource: Resource::MemoryTier, why: note(killed) }),
        settings: vec![
            Setting { name: "vm.page-cluster".into(), on: None, value: "3".into() },
            Setting { name: "queue/scheduler".into(), on: Some("nvme0n1".into()), value: "none".into() },
        ],
        curve: vec![point(2, 5, 112.0, Outcome::Pass), point(1, 1, 97.0, Outcome::Pass)],
        trials: vec![
            trial(1, 1, Phase::Baseline, Outcome::Pass, "one tenant alone", "P99 < 1 s: 97 µs of tenant 1 at worst"),
            trial(
                2,
                5,
                Phase::Start,
                Outcome::Pass,
                "memory holds 5: start at 5",
                "P99 < 1 s: 112 µs of tenant 4 at worst",
            ),
            trial(3, 6, Phase::Ramp, Outcome::Fail, "5 passed, as many as fit by arithmetic or more: 1 more", killed),
            trial(4, 6, Phase::Verification, Outcome::Fail, "6 failed once: again, to be sure that it fails", killed),
            trial(
                5,
                5,
                Phase::Verification,
                Outcome::Pass,
                "5 passed 0 of 3 full trials in succession: again",
                "P99 < 1 s: 109 µs of tenant 1 at worst",
            ),
        ],
    }
}

fn run() -> Capacity {
    let zram = Case {
        tier: "zram:lz4".into(),
        answer: Answer::Between {
            low: 10,
            high: Some(12),
            why: says::trials_undecided(11, &Votes { passed: 3, failed: 3, unclear: 0 }, None),
        },
        ended_by: Some(Ended { resource: Resource::Cpu, why: note("the tenants' cpus were busy 97 % of the time") }),
        curve: vec![
            point(3, 10, 640.0, Outcome::Pass),
            point(4, 13, 2.4e6, Outcome::Fail),
            point(5, 11, 990.0, Outcome::Unclear),
        ],
        trials: Vec::new(),
        ..dram()
    };
    let swap = Case {
        tier: "swap:/dev/disk/by-id/nvme-1".into(),
        answer: Answer::Exactly { tenants: 17, votes: votes(4, 1), beyond: votes(1, 2) },
        over_dram: Some(3.4),
        ended_by: None,
        curve: Vec::new(),
        trials: Vec::new(),
        ..dram()
    };
    let row = |tier: &str, tenants: u32, total: f64, against| CostRow {
        tier: tier.into(),
        load: "100 % GET, uniform".into(),
        tenants,
        total,
        per_tenant: total / f64::from(tenants),
        against,
    };
    let against = CostAgainst { ratio: 3.4, upgrade: 0.3935, saving: 0.590, break_even: 2.4, affordable: Some(0.36) };
    Capacity {
        schema: CAPACITY_SCHEMA.into(),
        id: "20261121T191448-000007".into(),
        tool: tiermark_model::Tool {
            version: "0.1.0".into(),
            target: "x86_64-unknown-linux-gnu".into(),
            ..Default::default()
        },
        started: "2026-11-21T19:14:48Z".into(),
        seed: 7,
        labels: tiermark_model::RunLabels::new(),
        machine: tiermark_model::Machine::default(),
        health: None,
        scenario: "mini".into(),
        workload: "redis-server of 75000 × 1 KiB, 500 requests/s each, in 512 MiB of DRAM".into(),
        level: "P99 < 1 s of every tenant".into(),
        limits: vec![TimeLimit { of: TimeStatistic::P99, ns: 1e9 }],
        most_tenants: Some(12),
        cases: vec![dram(), zram, swap],
        cost: Some(CostTable {
            saving_wanted: Some(0.6),
            currency: "USD".into(),
            date: "2018-07-01".into(),
            source: "made up".into(),
            months: 36.0,
            rows: vec![row("dram", 5, 10_000.0, None), row("swap:/dev/disk/by-id/nvme-1", 17, 13_935.0, Some(against))],
            remarks: vec![tiermark_model::messages::capacity::prices_old("2018-07-01", 8.4)],
        }),
        refused: vec![tiermark_model::Refusal::new(
            "the tier zram",
            "the kernel has no /sys/class/zram-control",
            "load the module: modprobe zram; or choose swap:PATH",
        )],
        warnings: vec![Warning {
            code: tiermark_model::Code::new("busy"),
            data: tiermark_model::Data::new(),
            state: String::new(),
            text: "other work kept 1.2 of 2 cpus busy".into(),
            cure: Some("measure on a quiet machine".into()),
        }],
    }
}

#[test]
fn a_run_is_shown_in_80_columns() {
    insta::assert_snapshot!(terminal(&capacity(&run(), Detail::Usual), &Style::default()));
}

#[test]
fn trials_say_why_they_were_made() {
    let only = Capacity { cases: vec![dram()], cost: None, warnings: Vec::new(), ..run() };
    insta::assert_snapshot!(terminal(&capacity(&only, Detail::All), &Style { unicode: false, ..Style::default() }));
}

/// Two of four full trials were seventy times as slow as the others, and a short one on the way up was slower still.
#[test]
fn one_number_of_tenants_shows_all_full_trials() {
    use Outcome::{Fail, Pass};
    let made = [
        (1, 5, Phase::Start, Pass, 112.0),
        (2, 11, Phase::Ramp, Fail, 90_000.0),
        (3, 11, Phase::Verification, Fail, 37_000.0),
        (4, 11, Phase::Verification, Fail, 30_600.0),
        (5, 11, Phase::Verification, Pass, 540.0),
        (6, 11, Phase::Verification, Pass, 540.0),
        (7, 11, Phase::Verification, Outcome::Unclear, 70_000.0),
    ];
    let mut case = dram();
    case.curve = made.map(|(number, tenants, _, outcome, p99)| point(number, tenants, p99, outcome)).to_vec();
    case.trials =
        made.map(|(number, tenants, phase, outcome, _)| trial(number, tenants, phase, outcome, "", "")).to_vec();
    let numbers = case.tenant_counts();
    let p99 = |points: &[&CurvePoint]| points.iter().map(|point| point.p99_ns / 1e3).collect::<Vec<_>>();
    let trials: Vec<_> = numbers[1].trials.iter().map(|(kind, points)| (*kind, p99(points))).collect();
    let full = vec![37_000.0, 30_600.0, 540.0, 540.0];
    assert_eq!(
        trials,
        [(TrialKind::Full, full), (TrialKind::Ramp, vec![90_000.0]), (TrialKind::Unclear, vec![70_000.0])]
    );
    let shown =
        terminal(&capacity(&Capacity { cases: vec![case], cost: None, ..run() }, Detail::Usual), &Style::default());
    let row = |start: &str| {
        let line = shown.lines().find(|line| line.trim_start().starts_with(start));
        line.unwrap_or_else(|| panic!("{start}: {shown}")).to_owned()
    };
    assert!(row("11 worst of 4").contains(" 37000 "), "{shown}");
    assert!(row("11 median of 4").contains(" 15570 "), "{shown}");
    // Of the worst tenant: 1.12 times the P99 of all.
    assert!(row("11 4 ").contains(" 41440 "), "{shown}");
    assert!(row("5 ramp").contains(" 112 ") && shown.contains("b dram (ramp, unclear)"), "{shown}");
}

/// Of six tenants one trial was a short one on the way up.
#[test]
fn the_sentence_counts_the_trials_that_the_table_counts() {
    let shown =
        terminal(&capacity(&Capacity { cases: vec![dram()], cost: None, ..run() }, Detail::Usual), &Style::default());
    let mut case = dram();
    case.trials.push(trial(6, 6, Phase::Verification, Outcome::Fail, "", ""));
    let more =
        terminal(&capacity(&Capacity { cases: vec![case], cost: None, ..run() }, Detail::Usual), &Style::default());
    for (shown, failed) in [(shown, 2), (more, 3)] {
        assert!(
            shown.contains(&format!("5 tenants passed 2 of 2 trials, 6 failed {failed} of {failed} trials")),
            "{shown}"
        );
        assert!(shown.contains(&format!("  6 no times ✘ 0 of {failed} ")), "{shown}");
    }
}

/// A guard ended both full trials of twelve tenants; of thirteen there is a short one beside.
#[test]
fn times_of_a_trial_that_a_guard_ended_are_shown_and_decide_nothing() {
    use Outcome::{Fail, Pass};
    let made = [
        (1, 11, Phase::Verification, Pass, 112.0, false),
        (2, 13, Phase::Ramp, Fail, 800.0, false),
        (3, 13, Phase::Verification, Fail, 90_000.0, true),
        (4, 12, Phase::Bisection, Fail, 37_000.0, true),
        (5, 12, Phase::Verification, Fail, 30_600.0, true),
    ];
    let mut case = dram();
    let curve = made.map(|(number, tenants, _, outcome, p99, ended_early)| CurvePoint {
        ended_early,
        ..point(number, tenants, p99, outcome)
    });
    case.curve = curve.to_vec();
    case.trials =
        made.map(|(number, tenants, phase, outcome, ..)| trial(number, tenants, phase, outcome, "", "")).to_vec();
    let all = Capacity { cases: vec![case.clone()], cost: None, ..run() };
    let shown = terminal(&capacity(&all, Detail::Usual), &Style { unicode: false, ..Style::default() });
    let rows: Vec<String> = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let has = |start: &str, p99: &str| rows.iter().any(|row| row.starts_with(start) && row.contains(p99));
    assert!(has("12 ended, worst x 0 of 2", " 37000 ") && has("12 median of 2", " 33800 "), "{shown}");
    assert!(has("13 ramp x 0 of 2", " 800 ") && has("ended early, ended: times until a guard", ""), "{shown}");
    // One trial is no worst of several.
    case.curve.truncate(4);
    let shown = terminal(
        &capacity(&Capacity { cases: vec![case], ..all }, Detail::Usual),
        &Style { unicode: false, ..Style::default() },
    );
    assert!(shown.contains("12 ended early x 0 of 2"), "{shown}");
}

/// Trials on the way up had the same times.
#[test]
fn deciding_trials_are_drawn_over_the_others() {
    let mut case = dram();
    let made = [(1, 2, Phase::Ramp), (2, 2, Phase::Verification), (3, 9, Phase::Ramp), (4, 9, Phase::Verification)];
    case.curve = made.map(|(number, tenants, _)| point(number, tenants, 500.0, Outcome::Pass)).to_vec();
    case.trials = made.map(|(number, tenants, phase)| trial(number, tenants, phase, Outcome::Pass, "", "")).to_vec();
    let all = Capacity { cases: vec![case], cost: None, ..run() };
    let shown = terminal(&capacity(&all, Detail::Usual), &Style::default());
    let drawn = |letter: char| shown.lines().any(|line| line.contains(['┤', '│']) && line.ends_with(letter));
    assert!(drawn('a') && !drawn('b'), "{shown}");
    let page = tiermark_page::html(&capacity(&all, Detail::Usual), "", &Style::default());
    assert_eq!(page.matches("\"behind\":true").count(), 3, "the others of each chart: {page}");
    assert!(page.contains("\"of\":\"pass (ramp)\""), "{page}");
}

/// In 80 columns.
#[test]
fn unclear_and_short_trials_have_a_row_of_one_line() {
    use Outcome::{Pass, Unclear};
    for (phase, outcome, row) in
        [(Phase::Verification, Unclear, "2 worst of 3  ? unclear"), (Phase::Ramp, Pass, "2 ramp, worst + 3 of 3")]
    {
        let mut case = dram();
        case.curve = [1, 2, 3].map(|number| point(number, 2, 90.0, outcome)).to_vec();
        case.trials = [1, 2, 3].map(|number| trial(number, 2, phase, outcome, "", "")).to_vec();
        let style = Style { unicode: false, ..Style::default() };
        let shown = terminal(&capacity(&Capacity { cases: vec![case], cost: None, ..run() }, Detail::All), &style);
        let lines = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        let row = row.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(lines.filter(|line| line.starts_with(&row)).count() == 1, "{shown}");
    }
}

#[test]
fn the_rail_of_a_phase_goes_on_beside_long_reasons() {
    let long = "a reason that takes more than one line of a terminal, ".repeat(4);
    let evidence = Evidence { cpu: Some(0.5), tenants_cpu: Some(0.2), client_share: Some(0.1), ..Evidence::default() };
    let made = [1, 2].map(|number| TrialRecord {
        evidence: Some(Evidence { not_steady: Some(note(&long)), ..evidence.clone() }),
        ..trial(number, 6, Phase::Verification, Outcome::Fail, &long, &long)
    });
    let case = Case { trials: made.to_vec(), ..dram() };
    let style = Style::default();
    let shown = terminal(&capacity(&Capacity { cases: vec![case], cost: None, ..run() }, Detail::All), &style);
    let tree: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("  ├─")).collect();
    let first: Vec<&&str> = tree.iter().skip(1).take_while(|line| !line.starts_with("  └─")).collect();
    assert!(first.len() > 6 && first.iter().all(|line| line.starts_with("  │  ")), "{shown}");
}

#[test]
fn costs_without_a_price_are_remarks_alone() {
    let mut shown = run();
    shown.cost.as_mut().unwrap().rows.clear();
    let shown = terminal(&capacity(&shown, Detail::Usual), &Style::default());
    assert!(shown.contains("prices of") && !shown.contains("saving"), "{shown}");
}

/// The published comparison: every tier with the same number of tenants, by its own closed loop.
#[test]
fn tiers_are_shown_beside_each_other_at_one_number() {
    let fixed = |tier: &str, p99_us: f64, outcome: Outcome| {
        let shown = point(1, 108, p99_us, outcome);
        let omitted = WithOmitted { requests: shown.requests * 5 / 4, average_ns: p99_us * 9e4, p99_ns: p99_us * 1e6 };
        Case {
            tier: tier.into(),
            answer: Answer::Fixed { tenants: 108, outcome },
            ended_by: None,
            curve: vec![CurvePoint { with_omitted: (tier != "dram").then_some(omitted), ..shown }],
            trials: vec![trial(1, 108, Phase::Fixed, outcome, "asked for", "the deciding limit")],
            ..dram()
        }
    };
    let cases =
        vec![fixed("dram", 210.0, Outcome::Pass), fixed("swap:/dev/nvme1n1+/dev/nvme2n1", 2700.0, Outcome::Fail)];
    let shown = Capacity { cases, cost: None, warnings: Vec::new(), refused: Vec::new(), ..run() };
    assert!(capacity_line(&shown).contains("dram 108 pass, swap:/dev/nvme1n1+/dev/nvme2n1 108 fail"));
    insta::assert_snapshot!(terminal(&capacity(&shown, Detail::Usual), &Style::default()));
}

/// Found by fuzzing.
#[test]
fn the_largest_numbers_of_a_document_are_shown() {
    let all = Votes { passed: u32::MAX, failed: u32::MAX, unclear: u32::MAX };
    let answer = Answer::Exactly { tenants: u32::MAX, votes: all, beyond: all };
    let shown = terminal(
        &capacity(&Capacity { cases: vec![Case { answer, ..dram() }], ..run() }, Detail::Usual),
        &Style::default(),
    );
    assert!(shown.contains("4294967296 failed"), "{shown}");
}

#[test]
fn answers_that_are_no_number_are_told() {
    let mut shown = run();
    shown.cases[0].answer = Answer::AtLeast { tenants: 12 };
    shown.cases[1].answer = Answer::None { why: says::one_tenant_failed(2, 2) };
    let why = says::trials_undecided(18, &Votes { passed: 0, failed: 0, unclear: 3 }, None);
    shown.cases[2].answer = Answer::Between { low: 17, high: None, why };
    insta::assert_snapshot!(format!(
        "{}\n\n{}",
        capacity_line(&shown),
        terminal(&capacity(&shown, Detail::Usual), &Style::default())
    ));
}

proptest! {
    /// Whatever a document holds, it is shown, and within the columns there are.
    #[test]
    fn any_document_fits(columns in 60usize..121, value in proptest::num::f64::ANY, tenants: u32, text in "([a-zµ×é💡一]{1,9} ){0,6}", verbose: bool) {
        let mut odd = run();
        odd.cases[1].curve[0].p99_ns = value;
        odd.cases[1].curve[0].achieved = value;
        odd.cases[1].curve[0].tenants = tenants;
        odd.cases[1].load = text.clone();
        odd.cases[0].trials[0].decided_by = note(&text);
        if let Some(cost) = &mut odd.cost {
            cost.rows[0].total = value;
        }
        let shown = terminal(&capacity(&odd, if verbose { Detail::All } else { Detail::Usual }), &Style { width: columns, ..Style::default() });
        for line in shown.lines() {
            prop_assert!(width(line) <= columns, "{} of {columns}: {line}", width(line));
        }
    }
}

/// Curves of seconds have short labels: an axis has room for five digits.
#[test]
fn the_axis_of_long_times_is_in_milliseconds_or_seconds() {
    for (p99_us, unit, other) in [(900.0, "µs", "ms"), (250_000.0, "ms", "e"), (250e6, "s", "e")] {
        let case = Case {
            curve: vec![point(1, 1, p99_us / 2.0, Outcome::Pass), point(2, 2, p99_us, Outcome::Fail)],
            ..dram()
        };
        let run = Capacity { cases: vec![case], cost: None, ..run() };
        let shown = terminal(&charts::curves(&run), &Style::default());
        let chart = shown.split("P99 over tenants").nth(1).unwrap();
        let (heading, chart) = chart.split("Maximum").next().unwrap().split_once('\n').unwrap();
        assert!(heading.contains(&format!(", {unit}:")), "{shown}");
        let labels = chart.lines().filter_map(|line| line.split_once('┤')).map(|(label, _)| label.trim());
        assert!(labels.clone().count() > 1 && labels.clone().all(|label| !label.contains(other)), "{shown}");
        assert!(labels.clone().all(|label| label.parse::<f64>().is_ok_and(|value| value < 1e5)), "{shown}");
    }
}

/// Only the trials of `-v` and the progress had it: the report itself named no limit.
#[test]
fn the_limit_that_was_missed_is_a_line_of_its_search() {
    use tiermark_model::messages::trials;
    let mut run = run();
    let case = &mut run.cases[0];
    let of_one =
        trials::limit_decides(LimitOf::HitRate, "hit rate > 60 %", 0.47, 0.47, 0.47, "47.00 %", &trials::of_tenant(1));
    for trial in case.trials.iter_mut().filter(|trial| trial.tenants == 6) {
        trial.decided_by = trials::too_few_tenants(true, 6, 6, &of_one);
    }
    let text = terminal(&capacity(&run, Detail::Usual), &Style::default());
    assert!(text.contains("  missed: 6 of 6 tenants fail: hit rate > 60 %: 47.00 % of tenant 1\n"), "{text}");
    case_answer_fixed(&mut run);
    let text = terminal(&capacity(&run, Detail::Usual), &Style::default());
    assert_eq!(text.matches("hit rate > 60 %").count(), 1, "{text}");
}

/// A run of one number of tenants, whose last trial is the line of the search.
fn case_answer_fixed(run: &mut Capacity) {
    let case = &mut run.cases[0];
    case.answer = Answer::Fixed { tenants: 6, outcome: Outcome::Fail };
    case.trials.truncate(4);
}

/// Article 1: how many tenants, how many times those of DRAM, and what each costs; and that a tier may hold more.
#[test]
fn the_answer_is_a_sentence() {
    let shown = |run: &Capacity| terminal(&capacity(run, Detail::Usual), &Style::default());
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(&shown(&run()));
    for said in [
        "dram 5 tenants, 2000.00 USD each;",
        "zram:lz4 10 to 12 tenants;",
        "swap:/dev/disk/by-id/nvme-1 17 tenants, 3.40 times those of dram, 819.71 USD each.",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let mut more = run();
    more.cases[0].answer = Answer::AtLeast { tenants: 12 };
    let text = words(&shown(&more));
    assert!(text.contains("dram 12 tenants or more (`mini` stops there; --most-tenants N tries more)"), "{text}");
}

/// The limit is a line in the charts of averages, P99s and maxima.
#[test]
fn charts_have_the_limit() {
    let text = terminal(&capacity(&run(), Detail::Usual), &Style::default());
    let chart = text.split("P99 over tenants").nth(1).unwrap_or_else(|| panic!("{text}"));
    assert!(chart.split("Maximum over tenants").next().unwrap().contains("limit"), "{text}");
    assert!(text.contains("Average over tenants"), "{text}");
}

/// At one number of tenants: each tier as multiples of each faster one, and bars beside the limit.
#[test]
fn tiers_are_multiples_of_each_other() {
    let mut run = run();
    run.cost = None;
    run.limits = vec![TimeLimit { of: TimeStatistic::P99, ns: 10e6 }];
    let (tiers, fixed) = (["dram", "zram:lz4", "swap"], Answer::Fixed { tenants: 11, outcome: Outcome::Unclear });
    run.cases = tiers
        .into_iter()
        .zip([1.0, 3.0, 30.0])
        .map(|(tier, times)| {
            let mut one = point(1, 11, 100.0 * times, Outcome::Pass);
            one.average_ns = 50e3 * times;
            Case { tier: tier.into(), answer: fixed.clone(), curve: vec![one], ..dram() }
        })
        .collect();
    let text = terminal(&capacity(&run, Detail::Usual), &Style::default());
    let row = |slow: &str, fast: &str| {
        let is = |line: &&str| {
            let mut words = line.split_whitespace();
            words.next() == Some(slow) && words.next() == Some(fast)
        };
        text.lines().find(is).unwrap_or_else(|| panic!("{slow} {fast}: {text}")).to_owned()
    };
    assert!(row("zram:lz4", "dram").contains(" 3.0 ") && row("swap", "dram").contains(" 30.0 "), "{text}");
    assert!(row("swap", "zram:lz4").contains(" 10.0 "), "{text}");
    assert!(text.contains("P99 of each tier") && text.contains("limit"), "{text}");
}
