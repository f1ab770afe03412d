use tiermark_model::Span;
use tiermark_model::*;

use super::*;
use tiermark_page::{Style, terminal};

fn run(at: u32) -> HistoryRun {
    HistoryRun {
        id: format!("202611{at:02}T000000-00000a"),
        started: format!("2026-11-{at:02}T00:00:00Z"),
        seconds: 61.0,
        title: "survey".into(),
        complete: at != 2,
        simulated: None,
        host: Some("node07".to_owned()),
        cpu: Some("EPYC | 9R14".into()),
        version: "0.1.0".into(),
        grades: GradeCounts { trusted: 40, shared: 5, bound: 3, suspect: 0, invalid: 1 },
        problem: None,
    }
}

/// A figure with six values, a bound, and a change before the fourth.
fn figure(quantity: Quantity, unit: Unit, scale: f64) -> FigureHistory {
    let values = [1.0, 1.01, 0.995, 1.08, 1.1, 1.09, 1.2];
    let points = values.iter().zip(1..).map(|(value, at)| FigurePoint {
        run: run(at).id,
        started: run(at).started,
        day: Some(f64::from(at - 1)),
        value: value * scale,
        interval: Some(Interval { low: value * scale * 0.99, high: value * scale * 1.01, level: 0.95 }),
        grade: if at == 7 { Grade::Bound } else { Grade::Trusted },
        counts: at != 7,
    });
    let facts = vec![FactDifference { fact: Fact::Kernel, first: Some("6.1".into()), other: None }];
    let change = FigureChange {
        last: run(3).id,
        run: run(4).id,
        started: run(4).started,
        before: scale,
        after: 1.09 * scale,
        change: 0.09,
        p_value: 0.004,
        facts,
    };
    FigureHistory {
        key: format!("survey {quantity} L3 read"),
        name: None,
        probe: "survey".into(),
        quantity,
        labels: Labels::new()
            .with_purpose(Purpose::Ladder)
            .with_tier(Tier::Cache(3))
            .with_op("read")
            .with_span(Span::One),
        unit,
        method: 2,
        points: points.collect(),
        trend: Some(FigureTrend { change: 0.05, p_value: 0.001, since: run(4).id, started: run(4).started, values: 3 }),
        changes: vec![change],
        apart: None,
    }
}

fn example() -> History {
    let latency = figure(Quantity::Latency, Unit::Ns, 15.0);
    let mut older = FigureHistory { apart: Some(Obstacle::Method { first: 1, other: 2 }), ..latency.clone() };
    (older.changes, older.trend) = (Vec::new(), None);
    let figures = vec![latency, older, figure(Quantity::Bandwidth, Unit::BytesPerSecond, 30e9)];
    let runs = (1..=3).map(run).collect();
    let unreadable = vec![HistoryRun { problem: Some("it is not JSON".into()), ..run(4) }];
    History {
        all_machines: false,
        host: None,
        runs,
        total: 12,
        elsewhere: 2,
        simulated: 1,
        unnamed: 3,
        unreadable,
        figures,
    }
}

#[test]
fn runs_and_figures_have_a_line_each() {
    insta::assert_snapshot!(terminal(&history(&example(), Detail::Usual), &Style::default()));
}

#[test]
fn a_figure_has_its_plot_and_its_runs() {
    insta::assert_snapshot!(terminal(&history_of_figures(&example(), Detail::Usual), &Style::default()));
}

#[test]
fn no_two_figures_have_one_name() {
    let paged = |page: &str| {
        let figure = figure(Quantity::Latency, Unit::Ns, 15.0);
        FigureHistory { key: page.into(), labels: figure.labels.clone().with_page(page), ..figure }
    };
    let (base, huge) = (paged("base"), paged("thp"));
    let older = FigureHistory { apart: Some(Obstacle::Estimate), ..base.clone() };
    let found = History { figures: vec![base, older, huge], ..example() };
    let names = FigureNames::of(&found.figures);
    let named: Vec<String> = found.figures.iter().map(|figure| names.name(figure)).collect();
    assert_eq!(named[0], named[1]);
    assert!(named[0].contains("base") && named[2].contains("thp"), "{named:?}");
    // The values of base pages that are not comparable are no matter of the other figure.
    let shown = terminal(&history_of_figures(&found, Detail::Usual), &Style::default());
    assert_eq!(shown.matches("are not comparable").count(), 1, "{shown}");
    let alone = History { figures: vec![found.figures[0].clone()], ..example() };
    assert_eq!(FigureNames::of(&alone.figures).name(&alone.figures[0]), "L3 latency");
}

#[test]
fn every_style_fits() {
    for width in [40, 60, 80, 120] {
        let style = Style { width, unicode: false, ..Style::default() };
        for shown in [
            terminal(&history(&example(), Detail::All), &style),
            terminal(&history_of_figures(&example(), Detail::All), &style),
        ] {
            assert!(shown.is_ascii() && shown.lines().all(|line| line.len() <= width), "{shown}");
        }
    }
}

#[test]
fn any_document_has_a_report() {
    let mut odd = example();
    for (at, value) in [f64::NAN, f64::INFINITY, -1.0, 1e300].into_iter().enumerate() {
        odd.figures[0].points[at].value = value;
        odd.figures[0].changes[0].change = value;
    }
    odd.runs[0].started = "ä".repeat(30);
    odd.figures[2].points.clear();
    let style = Style { unicode: false, ..Style::default() };
    for shown in
        [terminal(&history(&odd, Detail::All), &style), terminal(&history_of_figures(&odd, Detail::All), &style)]
    {
        assert!(shown.lines().all(|line| tiermark_page::width(line) <= 80), "{shown}");
    }
}

/// A reader need not conclude from empty cells.
#[test]
fn there_is_always_a_verdict() {
    let with = |figures: Vec<FigureHistory>, all_machines: bool| {
        let history = History { figures, all_machines, ..example() };
        terminal(&super::history(&history, Detail::Usual), &Style::default())
    };
    let mut flat = figure(Quantity::Bandwidth, Unit::BytesPerSecond, 30e9);
    (flat.changes, flat.trend) = (Vec::new(), None);
    let short = with(vec![flat.clone()], false);
    assert!(short.contains("Verdict: too few runs: 6, 10 are needed"), "{short}");
    let alone = history_of_figures(&History { figures: vec![flat.clone()], ..example() }, Detail::Usual);
    assert!(terminal(&alone, &Style::default()).contains("Verdict: too few runs: 6, 10 are needed"));
    let point = FigurePoint { grade: Grade::Shared, ..flat.points[0].clone() };
    flat.points = vec![point; 12];
    let told = with(vec![flat.clone()], false);
    assert!(told.contains("Verdict: no change seen in 1 figure\n") && told.contains("no change (shared)"), "{told}");
    let alone = history_of_figures(&History { figures: vec![flat], ..example() }, Detail::Usual);
    assert_eq!(terminal(&alone, &Style::default()).matches("shared").count(), 13);
    assert!(with(vec![figure(Quantity::Latency, Unit::Ns, 15.0)], false).contains("Verdict: 1 of 1 figure changed"));
    assert!(with(Vec::new(), false).contains("Verdict: none") && with(Vec::new(), true).contains("--host NAME"));
}

/// A step that the correction for many figures hides is not called no change.
#[test]
fn a_figure_whose_ends_differ_is_unsure() {
    let stepped = |to: f64| {
        let mut own = figure(Quantity::Bandwidth, Unit::BytesPerSecond, 30e9);
        (own.changes, own.trend) = (Vec::new(), None);
        let first = own.points[0].clone();
        let value = |at: u32| if at <= 8 { 30e9 } else { 30e9 * to };
        own.points = (1..=16).map(|at| FigurePoint { run: run(at).id, value: value(at), ..first.clone() }).collect();
        terminal(&history(&History { figures: vec![own], ..example() }, Detail::Usual), &Style::default())
    };
    let told = stepped(0.63);
    assert!(told.contains("unsure: -37.0 %") && !told.contains("no change"), "{told}");
    assert!(stepped(1.01).contains("no change"));
}
