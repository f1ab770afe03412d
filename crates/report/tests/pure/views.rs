//! Every view of hand-made documents: snapshots, widths, and nothing measured left out.

use crate::common::*;
use crate::{machine_page, page};
use proptest::prelude::*;
use tiermark_model::Purpose;
use tiermark_model::*;
use tiermark_page::{Detail, RateUnit, Style};
use unicode_width::UnicodeWidthStr;

fn style(width: usize) -> Style {
    Style { width, ..Style::default() }
}

#[test]
fn machines_fit_on_a_screen() {
    for (name, machine, most) in [
        ("vm", machines::vm(), 40),
        ("cxl", machines::cxl(), 50),
        ("huge", machines::huge(), 40),
        ("empty", Machine::default(), 40),
    ] {
        let shown = machine_page(&machine, Detail::Usual, &style(80));
        assert!(shown.lines().count() <= most, "{name}: {shown}");
        insta::assert_snapshot!(format!("machine_{name}"), shown);
    }
}

#[test]
fn runs() {
    let ascii = Style { unicode: false, rate_unit: RateUnit::Iec, ..style(80) };
    for (name, run, detail, style) in [
        ("vm", vm_run(), Detail::Usual, style(80)),
        ("cxl_wide", cxl_run(), Detail::Usual, style(110)),
        ("huge", huge_run(), Detail::Usual, style(80)),
        ("empty", empty_run(), Detail::Usual, style(80)),
        ("table", table_run(), Detail::Usual, style(80)),
        ("rates", rates_run(), Detail::Usual, style(80)),
        ("rates_narrow", rates_run(), Detail::Usual, style(60)),
        ("troubled_ascii", troubled_run(), Detail::All, ascii),
    ] {
        insta::assert_snapshot!(format!("run_{name}"), page(&run, detail, &style));
    }
}

#[test]
fn limits_of_cores_are_listed_if_asked_for() {
    let source = "a manual, table 1".to_owned();
    let limits = CoreLimits {
        name: "Golden Cove".into(),
        latency_l1_cycles: Some(5.0),
        load_bytes_per_cycle: Some(128.0),
        store_bytes_per_cycle: Some(64.0),
        latency_l2_cycles: Some(15.0),
        l2_bytes_per_cycle: None,
        source,
    };
    let machine = Machine { core_limits: Some(limits), ..machines::vm() };
    assert_eq!(
        machine_page(&machine, Detail::Usual, &style(80)),
        machine_page(&machines::vm(), Detail::Usual, &style(80))
    );
    let shown = machine_page(&machine, Detail::All, &style(120));
    let line = "Golden Cove at best: L1 in 5 cycles, 128 B of loads a cycle, 64 B of stores a cycle, L2 in 15 cycles\n";
    assert!(shown.contains(line) && shown.contains("source: a manual, table 1"), "{shown}");
}

#[test]
fn sockets_of_different_size_are_no_product() {
    let mut machine = machines::cxl();
    // 64 cores in two sockets of 32, of which one keeps half: 48 cores, no 2 × 24.
    machine.cpus.retain(|cpu| cpu.socket == 0 || cpu.core % 32 < 16);
    let shown = machine_page(&machine, Detail::Usual, &style(80));
    assert!(shown.contains("2 sockets, 48 cores, 96 cpus"), "{shown}");
}

#[test]
fn ascii_means_ascii() {
    let ascii = Style { unicode: false, ..style(80) };
    let mut told = troubled_run();
    told.experiments[0].findings[0]
        .verdict
        .suspect(Reason::Broken { fault: "interval ±1.5 %, wanted ±1.0 % → 日本".into() });
    told.experiments[0].findings[1].notes = vec![remark("3 × as far – or more")];
    told.machine.cpu_model.name = Some("Prozessor für Größeres".into());
    for run in [vm_run(), cxl_run(), told, table_run(), rates_run()] {
        let shown = page(&run, Detail::All, &ascii) + &machine_page(&run.machine, Detail::All, &ascii);
        assert!(shown.is_ascii(), "{:?}", shown.chars().find(|c| !c.is_ascii()));
    }
}

#[test]
fn colour_adds_nothing_but_colour() {
    for run in [vm_run(), troubled_run(), cxl_run()] {
        let colored = page(&run, Detail::Usual, &Style { color: true, ..style(80) });
        assert!(colored.contains("\u{1b}["));
        assert_eq!(plain(&colored), page(&run, Detail::Usual, &style(80)));
    }
}

/// The text without escape sequences, and without the spaces that colour hides from trimming.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        rest = &rest[at + rest[at..].find('m').unwrap() + 1..];
    }
    out + rest
}

#[test]
fn nothing_measured_is_invisible() {
    let mut run = Run { title: "latency".into(), ..cxl_run() };
    let odd = Labels::new().with_named("moon", Label::Text("full".to_owned()));
    run.experiments[0].findings.push(finding("tide", odd.clone(), Unit::Count, 7411.0));
    run.experiments[0].observations.push(observation(odd, Metric::Latency, 8522.0));
    let shown = page(&run, Detail::Usual, &style(80));
    for said in ["tide", "7411", "full", "8522", "triad", "page-random"] {
        assert!(shown.contains(said), "{said} is missing:\n{shown}");
    }
}

/// Findings of a loaded curve, each with a doubt.
fn doubted_load() -> Run {
    let labels = || Labels::new().with_mix("read").with_place(Distance::Local);
    let metrics = ["unloaded", "knee", "most", "saturated", "peak", "at_target"];
    let findings = metrics.map(|metric| {
        let unit = if matches!(metric, "unloaded" | "saturated") { Unit::Ns } else { Unit::BytesPerSecond };
        let mut found = finding(&format!("loaded.{metric}"), labels().with_statistic("155 ns"), unit, 1e11);
        found.verdict.suspect(Reason::Pairs { doubted: 2, of: 3 });
        found.value = found.value.filter(|_| metric != "knee");
        found
    });
    run_of(machines::vm(), "loaded", vec![], findings.into())
}

#[test]
fn reasons_call_numbers_as_the_columns_do() {
    let shown = page(&doubted_load(), Detail::Usual, &style(120));
    // What is not there is neither doubtful nor a number.
    insta::assert_snapshot!("doubts_of_columns", shown);
}

#[test]
fn steps_that_came_to_nothing_are_not_measured() {
    let mut run = Run { title: "latency".into(), ..vm_run() };
    let labels = Labels::new().with_purpose(Purpose::Shape).with_layout("scatter:2101312");
    let mut lost = observation(labels.with_size(64 * MIB), Metric::Latency, 1.0);
    lost.value = None;
    lost.verdict.invalid(Reason::OtherPages { asked: PageKind::Thp, share: 1.0 });
    run.experiments[0].observations.push(lost);
    let shown = page(&run, Detail::Usual, &style(120));
    let (_, missing) = shown.split_once("Not measured").unwrap();
    insta::assert_snapshot!("not_measured", missing);
}

#[test]
fn smt_and_tiers_are_told_in_words() {
    let mut machine = machines::vm();
    machine.system.smt_control = Some("notsupported".into());
    machine.nodes.iter_mut().for_each(|node| node.memory_tier = Some(4));
    let shown = machine_page(&machine, Detail::Usual, &style(80));
    assert!(!shown.contains("  tier"), "{shown}");
    let tiers = machine_page(&machines::cxl(), Detail::Usual, &style(80));
    insta::assert_snapshot!("smt_and_tiers", [shown, tiers].join("\n=====\n"));
}

#[test]
fn every_run_says_how_many_numbers_are_trusted() {
    let line = |run: &Run| {
        // A survey has a report of its own.
        let run = Run { title: "latency".into(), ..run.clone() };
        let shown = page(&run, Detail::Usual, &style(120));
        shown.lines().find(|l| l.contains("95 % interval")).unwrap_or_default().to_owned()
    };
    assert_eq!(line(&vm_run()), "all 37 numbers trusted; ~ is about; ± is a 95 % interval");
    let troubled = "20 of 38 numbers trusted, 16 suspect (!), 2 withheld (✘); unmarked = trusted; ~ is about; ± is a 95 % interval";
    assert_eq!(line(&troubled_run()), troubled);
    assert_eq!(
        line(&rates_run()),
        "12 of 16 numbers trusted, 4 not measured; unmarked = trusted; ± is a 95 % interval"
    );
    let mut one = table_run();
    one.experiments[0].findings.truncate(1);
    assert_eq!(line(&one), "the only number is trusted; ± is a 95 % interval");
    assert_eq!(line(&empty_run()), "");
}

/// Lines that are too long, but for those a path makes so.
fn too_long(shown: &str, width: usize) -> Vec<&str> {
    shown.lines().filter(|l| l.width() > width && !l.contains('/')).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_view_fits_its_width(width in 60usize..=140, unicode: bool, verbose: bool) {
        let style = Style { width, unicode, ..Style::default() };
        let detail = if verbose { Detail::All } else { Detail::Usual };
        for run in [vm_run(), cxl_run(), empty_run(), table_run(), rates_run(), troubled_run()] {
            let shown = page(&run, detail, &style) + &machine_page(&run.machine, detail, &style);
            prop_assert!(too_long(&shown, width).is_empty(), "{:#?}", too_long(&shown, width));
            prop_assert!(shown.lines().all(|l| l.trim_end() == l), "trailing spaces");
        }
    }

    #[test]
    fn strange_numbers_and_texts_never_panic(
        number in prop::num::f64::ANY,
        whole: u64,
        text in "\\PC{0,40}|[\\x00-\\x1f]{0,9}|日本{0,20}",
        width in 0usize..200,
        purpose in prop::sample::select(vec![Purpose::Curve, Purpose::Table, Purpose::Ladder, Purpose::Scaling]),
    ) {
        let style = Style { width, unicode: true, color: true, rate_unit: RateUnit::Iec };
        let labels = Labels::new().with_purpose(purpose).with_size(whole).with_tier_name(&text);
        let labels = labels.with_threads(whole).with_op("read").with_statistic(&text);
        let units = [Unit::Ns, Unit::BytesPerSecond, Unit::Bytes, Unit::Hz, Unit::Ratio, Unit::Count];
        let metrics = ["tier.size", "latency", "bandwidth", "peak.share", "latency.tail", "bandwidth.scaling", "drift"];
        let findings = metrics.iter().flat_map(|m| units.map(|u| finding(m, labels.clone(), u, number))).collect();
        let mut run = run_of(machines::vm(), &text, vec![strange(labels.clone(), number); 3], findings);
        run.seconds = number;
        run.experiments[0].drift =
            vec![Drift { step: text.clone(), at_seconds: Some(number), change: number, p_value: None }];
        run.bench.clock.hz = number;
        run.machine.nodes[0].memory_bytes = Some(whole);
        run.machine.nodes[0].free_bytes = Some(u64::MAX);
        run.machine.system.hostname = Some(text);
        run.machine.system.load1 = Some(number);
        let shown = page(&run, Detail::All, &style) + &machine_page(&run.machine, Detail::All, &style);
        let controls = plain(&shown).chars().filter(|c| c.is_control() && *c != '\n').count();
        prop_assert_eq!(controls, 0);
    }
}
