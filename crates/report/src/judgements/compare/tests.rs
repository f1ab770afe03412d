use tiermark_model::*;

use super::*;
use tiermark_page::{Detail, Style, markdown, terminal};

fn number(value: f64, grade: Grade) -> Option<ComparedNumber> {
    Some(ComparedNumber {
        value: Some(value),
        runs: None,
        grade,
        interval: None,
        state: None,
        size: Some(Bytes(256 * KIB)),
        kernel: None,
        per_core: Some(value / 4.0),
        per_socket: Some(value),
    })
}

fn figure(tier: &str, values: [f64; 2], verdict: ChangeVerdict) -> ComparedFigure {
    let change = values[1] / values[0] - 1.0;
    ComparedFigure {
        probe: "bandwidth".into(),
        quantity: Quantity::Bandwidth,
        labels: Labels::new().with_tier_name(tier).with_op("read").with_threads(4),
        name: Some(format!("read.{}.all", tier.to_lowercase())),
        unit: Unit::BytesPerSecond,
        first: number(values[0], Grade::Trusted),
        other: number(values[1], Grade::Bound),
        kernel: None,
        differs: Vec::new(),
        change: Some(change),
        is_per_core: false,
        is_against_family: false,
        clock_change: None,
        change_per_core: Some(change),
        change_per_socket: Some(change),
        interval: Some(Interval { low: change - 0.01, high: change + 0.006, level: 0.95 }),
        p_value: Some(0.001),
        verdict,
    }
}

fn families() -> Vec<ComparedFamily> {
    let interval = Interval { low: -0.07, high: -0.02, level: 0.95 };
    let (quantity, tier) = (Quantity::Bandwidth, "L1".to_owned());
    let verdict = ChangeVerdict::Worse;
    vec![ComparedFamily {
        quantity,
        tier,
        differs: Vec::new(),
        figures: 6,
        change: -0.045,
        interval,
        p_value: 0.001,
        verdict,
    }]
}

fn scatter() -> Vec<RunScatter> {
    let one = |tier: &str, sd: f64, runs: u64| RunScatter {
        quantity: Quantity::Bandwidth,
        tier: tier.to_owned(),
        sd,
        common: 0.006,
        runs,
    };
    vec![one("L1", 0.01, 0), one("L2", 0.012, 7)]
}

fn comparison() -> Comparison {
    let run = |name: &str| ComparedRun {
        name: name.into(),
        id: "20260101T000000-00000a".into(),
        title: "survey".into(),
        started: "2026-01-01T00:00:00Z".into(),
        host: Some("node07".to_owned()),
        cpu: Some("EPYC | 9R14".into()),
        complete: true,
        simulated: false,
        guest: false,
    };
    let figures = vec![
        figure("L1", [190e9, 180e9], ChangeVerdict::Worse),
        figure("L2", [100e9, 120e9], ChangeVerdict::Better),
        figure("L3", [90e9, 90.1e9], ChangeVerdict::Same),
        figure("DRAM", [30e9, 32e9], ChangeVerdict::Unsure(Doubt::OpenBound)),
        figure("L4", [30e9, 32e9], ChangeVerdict::NotComparable(Obstacle::Method { first: 2, other: 3 })),
    ];
    let facts = vec![FactDifference { fact: Fact::Thp, first: Some("always".into()), other: None }];
    let others = vec![Against { run: run("b.json"), facts, figures, families: families(), scatter: scatter() }];
    Comparison { threshold: 0.03, level: 0.01, by_role: false, first: run("a.json"), more_first: Vec::new(), others }
}

#[test]
fn what_changed_comes_first_and_the_rest_has_its_reason() {
    insta::assert_snapshot!(terminal(&compare(&comparison(), Detail::Usual), &Style::default()));
}

#[test]
fn a_wide_interval_says_how_large_a_loss_it_hides() {
    let shown = |of: Doubt| {
        let mut all = comparison();
        let mut wide = figure("DRAM", [30e9, 30.3e9], ChangeVerdict::Unsure(of));
        wide.interval = Some(Interval { low: -0.09, high: 0.12, level: 0.95 });
        all.others[0].figures = vec![wide];
        terminal(&compare(&all, Detail::Usual), &Style { width: 120, ..Style::default() })
    };
    let text = shown(Doubt::WideInterval);
    assert!(text.contains("reaches beyond the threshold: a loss under 9 % cannot be seen"), "{text}");
    assert!(!shown(Doubt::MayBeChance).contains("cannot be seen"));
}

#[test]
fn markdown_is_fit_for_a_pull_request() {
    insta::assert_snapshot!(markdown(&compare(&comparison(), Detail::Usual), &Style::default()));
}

#[test]
fn every_style_fits_and_lists_what_was_asked_for() {
    let mut all = comparison();
    all.by_role = true;
    for width in [40, 60, 80, 120] {
        let style = Style { width, unicode: false, ..Style::default() };
        let shown = terminal(&compare(&all, Detail::All), &style);
        assert!(shown.is_ascii() && shown.lines().all(|line| line.len() <= width), "{shown}");
        assert!(shown.contains("The same within") && shown.contains("256 KiB"), "{shown}");
    }
}

#[test]
fn names_are_those_of_other_reports() {
    let mut figures = comparison().others.remove(0).figures;
    let labels = |text: &str| Labels::new().with_tier(Tier::Cache(1)).with_statistic(text);
    let mut named = |quantity: Quantity, labels: Labels| {
        let made = ComparedFigure { quantity, labels, is_per_core: false, ..figures.remove(0) };
        compared_name(&made, Detail::Usual)
    };
    assert_eq!(named(Quantity::TierSize, labels("plateau")), "L1 size");
    assert_eq!(named(Quantity::BandwidthScaling, labels("x")), "scaling L1 x");
    assert_eq!(named(Quantity::Other("residency.edge_of".into()), labels("x")), "residency edge of L1 x");
}

/// Of `one` and `all` threads the span is shared by machines; of others only their number says how many they are.
#[test]
fn rows_of_scaling_between_machines_name_their_threads() {
    let named = |span: &str| {
        let labels = Labels::new().with_tier(Tier::Dram).with_span(span.parse().unwrap()).with_threads(4);
        let made = figure("DRAM", [1e9, 1e9], ChangeVerdict::Same);
        whole_name(&ComparedFigure { quantity: Quantity::BandwidthScaling, labels, ..made }, Detail::Usual)
    };
    assert_eq!(
        ["all", "some", "cores"].map(named),
        ["scaling DRAM all", "scaling DRAM 4 threads", "scaling DRAM 4 threads"]
    );
}

/// What one core gets is shown where it is judged; the other tables have the whole.
#[test]
fn numbers_judged_by_core_are_shown_by_core() {
    let mut all = comparison();
    all.by_role = true;
    all.others[0].figures[0].is_per_core = true;
    let shown = terminal(&compare(&all, Detail::Usual), &Style::default());
    assert!(
        shown.lines().any(|line| line.contains("L1") && line.contains(", a core") && line.contains(" 47.5 ")),
        "{shown}"
    );
    assert!(shown.lines().any(|line| line.contains("L1") && !line.contains(", a core")), "{shown}");
    let shown = markdown(&compare(&all, Detail::Usual), &Style::default());
    assert!(shown.contains(", a core | 47.5 | "), "{shown}");
}

/// An interval of the change less what others share is not one of the change beside it.
#[test]
fn a_change_that_only_others_show_is_named_with_theirs() {
    let interval = Some(Interval { low: -0.133, high: -0.047, level: 0.95 });
    let lost = figure("DRAM", [100e9, 95e9], ChangeVerdict::Worse);
    let lost = ComparedFigure { is_against_family: true, interval, ..lost };
    let name = compared_name(&lost, Detail::Usual);
    assert!(name.ends_with(", relative to the other rates of its tier: -9.0 ±4.3 %"), "{name}");
    assert_eq!(change(&lost), "-5.0 %");
}

#[test]
fn the_clock_has_a_line_and_what_it_explains_a_note() {
    let mut all = comparison();
    let figures = &mut all.others[0].figures;
    figures[0] = ComparedFigure { clock_change: Some(0.103), change: Some(-0.05), ..figures[0].clone() };
    figures[1].clock_change = Some(0.004);
    let not = ChangeVerdict::NotComparable(Obstacle::NoDirection);
    let clock = figure("", [2.9e9, 3.2e9], not);
    figures.push(ComparedFigure { quantity: Quantity::CoreClock, labels: Labels::new(), unit: Unit::Hz, ..clock });
    let shown = terminal(&compare(&all, Detail::Usual), &Style { width: 120, ..Style::default() });
    assert!(shown.contains("2.900 GHz, then 3.200 GHz (+10.3 %)"), "{shown}");
    assert_eq!(shown.matches("per cycle").count(), 1, "{shown}");
    assert!(shown.contains("per cycle (the clock explains +10.3 %)"), "{shown}");
    assert!(shown.contains("1 not comparable") && !shown.contains("core clock"), "{shown}");
    for width in [40, 60, 80] {
        let shown = terminal(&compare(&all, Detail::All), &Style { width, ..Style::default() });
        assert!(shown.lines().all(|line| tiermark_page::width(line) <= width), "{shown}");
    }
    let shown = markdown(&compare(&all, Detail::Usual), &Style::default());
    assert!(shown.contains("**clock** 2.900 GHz, then") && shown.contains("1 not comparable"), "{shown}");
}

#[test]
fn runs_that_chose_different_kernels_say_by_which_they_are_compared() {
    let said = |common: Option<&str>, verdict: ChangeVerdict| {
        let mut all = comparison();
        let chose = |mut number: Option<ComparedNumber>, kernel: &str| {
            number.iter_mut().for_each(|number| number.kernel = Some(kernel.to_owned()));
            number
        };
        let made = figure("DRAM", [25e9, 25.1e9], verdict);
        let (first, other) = (chose(made.first.clone(), "a"), chose(made.other.clone(), "b"));
        all.others[0].figures = vec![ComparedFigure { first, other, kernel: common.map(str::to_owned), ..made }];
        markdown(&compare(&all, Detail::Usual), &Style::default())
    };
    let same = |kernel: &str| said(Some(kernel), ChangeVerdict::Same);
    assert!(same("a").contains("(both with a: the other run chose b)"), "{}", same("a"));
    assert!(same("b").contains("(both with b: the first run chose a)"), "{}", same("b"));
    assert!(same("c").contains("(both with c: the first run chose a, the other b)"), "{}", same("c"));
}

#[test]
fn what_differs_stands_beside_each_row() {
    let pages = || ConditionDifference { condition: Condition::Pages, first: "thp".into(), other: "base".into() };
    let mut all = comparison();
    for figure in &mut all.others[0].figures {
        figure.labels = figure.labels.clone().with_page("base");
        figure.differs = vec![pages()];
    }
    all.others[0].families[0].differs = vec![pages()];
    let wide = Style { width: 120, ..Style::default() };
    let shown = terminal(&compare(&all, Detail::Usual), &wide);
    let rows: Vec<&str> = shown.lines().filter(|line| line.ends_with("pages: thp → base")).collect();
    assert_eq!(rows.len(), 3, "two figures and their family: {shown}");
    assert!(!shown.contains("L1 read base"), "a condition that differs is no part of the name: {shown}");
    assert!(shown.contains("for all "), "and once for all rows: {shown}");
    assert!(shown.contains("does not contradict (pages: thp → base): "), "{shown}");
    assert!(compared_name(&all.others[0].figures[0], Detail::Usual).ends_with(", pages: thp → base"));
}

#[test]
fn what_is_not_comparable_is_counted_with_advice_that_fits_and_listed_in_detail() {
    let mut all = comparison();
    let not = |obstacle| figure("L4", [30e9, 32e9], ChangeVerdict::NotComparable(obstacle));
    let newer = || Obstacle::Method { first: 3, other: 2 };
    all.others[0].figures = vec![not(Obstacle::Place), not(newer()), not(newer())];
    let shown = |all: &Comparison, detail: Detail| markdown(&compare(all, detail), &Style::default());
    let usual = shown(&all, Detail::Usual);
    assert!(usual.contains("3 numbers; 2 of them: measured by an older method"), "{usual}");
    assert!(usual.contains("; measure the other run again; -v lists them"), "{usual}");
    assert!(!usual.contains("L4") && !usual.contains("of one region"), "{usual}");
    let detail = shown(&all, Detail::All);
    assert!(detail.contains("of one region") && detail.contains("L4 read"), "{detail}");
    all.others[0].figures = vec![not(Obstacle::Place)];
    let alone = shown(&all, Detail::Usual);
    assert!(alone.contains("1 number: of one region or one pair of cpus") && !alone.contains("again"), "{alone}");
}

#[test]
fn any_document_has_a_report() {
    let mut odd = comparison();
    for (at, value) in [f64::NAN, f64::INFINITY, -1.0, 1e300].into_iter().enumerate() {
        odd.others[0].figures[at].change = Some(value);
        odd.others[0].figures[at].first = None;
    }
    assert!(
        terminal(&compare(&odd, Detail::Usual), &Style::default()).lines().all(|line| tiermark_page::width(line) <= 80)
    );
    odd.others.clear();
    assert_eq!(terminal(&compare(&odd, Detail::Usual), &Style::default()), "");
}
