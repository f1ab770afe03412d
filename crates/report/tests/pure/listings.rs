//! Plans, lists and check-ups as pages.

use proptest::prelude::*;
use tiermark_model::messages::rules::{cores_before_siblings, memory_size};
use tiermark_model::testing::{region, request};
use tiermark_model::*;
use tiermark_page::{Detail, Style, terminal};
use tiermark_report::listings::{Check, Equivalent, ProbeLine};
use unicode_width::UnicodeWidthStr;

fn style(width: usize) -> Style {
    Style { width, ..Style::default() }
}

/// A plan with this many steps.
fn plan_of(steps: u64) -> Plan {
    let step = |n: u64| {
        let size = 4096 << (n % 12);
        let role = match n % 3 {
            0 => Role::Chase { chains: 1 },
            1 => Role::Stream { kernel: "read/avx512".into(), rivals: vec![] },
            _ => Role::Stream { kernel: "write/avx512".into(), rivals: vec!["fill.rep/stosb".into()] },
        };
        let metric = if n.is_multiple_of(3) { Metric::Latency } else { Metric::Bandwidth };
        Step {
            id: format!("step/{n}"),
            labels: Labels::new()
                .with_purpose(Purpose::Curve)
                .with_size(size)
                .with_named("kind", Label::Text(["chase", "read", "write"][(n % 3) as usize].to_owned())),
            phase: 0,
            metric,
            setup: Setup {
                regions: vec![RegionSetup { nodes: "0".parse().unwrap(), ..region(size, PageKind::Thp, Layout::Data) }],
                threads: vec![ThreadSetup::new((n % 2) as u32, role, 0)],
                seed: 1,
            },
            stop: StopRule { precision: 0.01, allocations: 3, min_visits: 15, max_visits: 45, shot_seconds: 0.01 },
        }
    };
    Plan {
        steps: (0..steps).map(step).collect(),
        rules: vec![memory_size("buffer", "1 GiB = 4 x (260 MiB L3)"), cores_before_siblings()],
        refused: vec![Refusal::new("pages of 1 GiB", "none is reserved", "reserve some")],
        max_seconds: 60.0,
        ..Plan::default()
    }
}

#[test]
fn plans() {
    let plans = [(request("latency"), plan_of(5)), (request("bandwidth"), plan_of(90))];
    insta::assert_snapshot!("plan", terminal(&tiermark_report::listings::plan(&plans, Detail::Usual), &style(80)));
}

#[test]
fn a_plan_takes_no_longer_than_it_may() {
    let mut plan = plan_of(90);
    plan.max_seconds = f64::INFINITY;
    let whole = plan.expected_seconds();
    plan.max_seconds = whole / 2.0;
    let shown =
        terminal(&tiermark_report::listings::plan(&[(request("latency"), plan.clone())], Detail::Usual), &style(80));
    let half = format!("{:.1} s", whole / 2.0);
    assert!(shown.contains(&format!("90 steps, about {half}, at most {half}")), "{shown}");
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("Expected time in all: {half}")), "{shown}");
    assert!(words.contains(&format!("at most {half}: the last steps")), "{shown}");
    plan.max_seconds = 2.0 * whole;
    let shown = terminal(&tiermark_report::listings::plan(&[(request("latency"), plan)], Detail::Usual), &style(80));
    assert!(!shown.contains(&format!("at most {half}")), "{shown}");
}

#[test]
fn lists_and_checks() {
    let kernel = |id: &str, store_kind, pattern, plain| KernelInfo {
        id: id.into(),
        isa: Isa::Avx512,
        pattern,
        streams: 2,
        loads: 8,
        stores: 8,
        unroll_bytes: 512,
        store_kind,
        read_per_line: 64,
        write_per_line: 64,
        zeros_only: false,
        plain,
        doc: "512-bit loads and stores, the destination in lines the core owns".into(),
    };
    let kernels = [
        kernel("copy/avx512", StoreKind::Cached, Pattern::Sequential, true),
        kernel("copy.nt/avx512", StoreKind::NonTemporal, Pattern::Random, false),
    ];
    let refused = Refusal::new("kernels for sve", "this processor has no SVE", "");
    let probes = [ProbeLine {
        id: "latency".into(),
        method: 1,
        summary: "time of one dependent load, by footprint, layout and page size".into(),
        refused: Some(Refusal::new("latency", "no cpu is allowed", "choose other cpus")),
    }];
    let check =
        |name: &str, pass, detail: &str| Check { name: name.into(), value: "0.31".into(), pass, detail: detail.into() };
    let checks = [
        check("uniform generator, KS", true, "below 1.63 at 1 %"),
        check("clock against CLOCK_MONOTONIC_RAW", false, "off by 0.31 %, more than 0.1 %: use another clocksource"),
    ];
    let shown = [
        terminal(&tiermark_report::listings::kernels(&kernels, &[refused], Detail::Usual), &style(80)),
        terminal(&tiermark_report::listings::probes(&probes, Detail::Usual), &style(80)),
        terminal(&tiermark_report::listings::selftest(&checks), &style(80)),
        tiermark_report::listings::page(
            "# latency: one\n\nOne.\n\nTwo.\n\n## What it is not\n\nLoaded latency.",
            &style(80),
        ),
        terminal(
            &tiermark_report::listings::equivalents(&[Equivalent {
                there: "stream".into(),
                here: "tiermark bandwidth".into(),
                note: "as STREAM counts".into(),
            }]),
            &style(80),
        ),
    ];
    insta::assert_snapshot!("lists", shown.join("\n=====\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_plan_fits_its_width(width in 60usize..=140, unicode: bool) {
        let style = Style { unicode, ..style(width) };
        let shown = terminal(&tiermark_report::listings::plan(&[(request("a"), plan_of(90))], Detail::All), &style);
        prop_assert!(shown.lines().all(|line| line.width() <= width || line.contains('/')), "{shown}");
    }

    #[test]
    fn strange_numbers_of_a_plan_never_panic(number in prop::num::f64::ANY, whole: u64, width in 0usize..200) {
        let mut plan = plan_of(3);
        plan.max_seconds = number;
        plan.steps[0].setup.regions[0].bytes = Bytes(whole);
        let _ = terminal(&tiermark_report::listings::plan(&[(request("a"), plan)], Detail::All), &style(width));
    }
}
