use tiermark_model::{
    BoxKind, BoxPlace, BoxTraffic, LinkStated, LinkTraffic, Traffic, WatchActive, WatchBest, WatchCell, WatchCpu,
    WatchNode, WatchPing, WatchPressure, WatchRates, WatchSample, WatchShared, WatchStall, WatchStalls, WatchSwap,
};

use super::watch_exposition;
use crate::{watch_csv, watch_csv_columns};

fn sample() -> WatchSample {
    let some = WatchStall { now: Some(12.5), avg10: 3.0, avg60: Some(1.0), avg300: Some(0.5) };
    WatchSample {
        time: "2026-11-25T14:20:03.250Z".into(),
        psi: WatchPressure { memory: Some(WatchStalls { some, full: None }), ..WatchPressure::default() },
        cpu: Some(WatchCpu { online: 8, busy: Some(0.25), steal: Some(0.015) }),
        vm: WatchRates { swap_in_bytes: Some(1_572_864.0), ..WatchRates::default() },
        nodes: vec![WatchNode { node: 1, free_bytes: Some(4096), ..WatchNode::default() }],
        swaps: vec![WatchSwap { path: "/a, \"b\"".into(), total_bytes: 8192, used_bytes: 4096 }],
        ..WatchSample::default()
    }
}

#[test]
fn csv_has_the_columns_of_the_first_sample() {
    let columns = watch_csv_columns(&sample());
    let row = |sample: &WatchSample| watch_csv(sample, &columns);
    let cell = |row: &str, name: &str| {
        let at = columns.iter().position(|column| column == name).unwrap();
        row.split(',').nth(at).unwrap().to_owned()
    };
    let full = row(&sample());
    assert_eq!(full.split(',').count(), columns.len());
    assert_eq!((cell(&full, "time"), cell(&full, "psi.memory.some.now")), (sample().time, "12.5".into()));
    assert_eq!((cell(&full, "nodes.1.free_bytes"), cell(&full, "nodes.1.hits")), ("4096".into(), String::new()));
    assert_eq!(cell(&full, "swaps./a_ _b_.used_bytes"), "4096");
    let gone = WatchSample { nodes: Vec::new(), ..sample() };
    assert_eq!(cell(&row(&gone), "nodes.1.free_bytes"), "");
}

#[test]
fn prometheus_gets_gauges_in_base_units() {
    let text = watch_exposition(&sample());
    for line in [
        "# HELP tiermark_watch_psi_memory_some_now_ratio Figure psi.memory.some.now of a sample of tiermark watch.",
        "# TYPE tiermark_watch_psi_memory_some_now_ratio gauge",
        "tiermark_watch_timestamp_seconds 1795616403",
        "tiermark_watch_psi_memory_some_now_ratio 0.125",
        "tiermark_watch_nodes_free_bytes{node=\"1\"} 4096",
        "tiermark_watch_swaps_used_bytes{path=\"/a, \\\"b\\\"\"} 4096",
        "tiermark_watch_vm_swap_in_bytes_per_second 1572864",
        "tiermark_watch_cpu_steal_ratio 0.015",
        "tiermark_watch_cpu_online 8",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
    assert!(!text.contains("nodes_hits") && text.ends_with("# EOF\n"), "{text}");
    // OpenMetrics allows no other comments.
    let text = watch_exposition(&WatchSample { simulated: Some("a \"b\"".into()), ..sample() });
    let is_comment =
        |line: &&str| line.starts_with('#') && !["# HELP ", "# TYPE "].iter().any(|of| line.starts_with(of));
    assert_eq!(text.lines().filter(is_comment).collect::<Vec<_>>(), ["# EOF"]);
    assert!(text.contains("tiermark_watch_simulated{machine=\"a \\\"b\\\"\"} 1\n"), "{text}");
}

/// Two channels, one of which has no clock and no directions, and a link, over two seconds.
fn counted() -> WatchSample {
    let place = |kind, unit: &str| BoxPlace { socket: Some(0), node: Some(1), kind, unit: unit.into() };
    let channel = |unit: &str, read: f64, write: f64| BoxTraffic {
        place: place(BoxKind::Channel, unit),
        read: Some(read),
        write: Some(write),
        total: read + write,
        local: None,
        transfers: Some(9.6e9),
    };
    let plain = BoxTraffic { read: None, write: None, transfers: None, ..channel("imc \"1\"", 10e9, 0.0) };
    let link = LinkTraffic {
        place: place(BoxKind::Link, "upi_0"),
        sent: Some(16e9),
        received: None,
        most: Some(64e9),
        stated: LinkStated::default(),
    };
    let boxes = vec![channel("imc_0", 30e9, 10e9), plain];
    let traffic = Traffic { seconds: 2.0, boxes, links: vec![link], marks: Vec::new(), missing: Vec::new() };
    WatchSample { traffic: Some(traffic), ..sample() }
}

#[test]
fn prometheus_gets_each_channel_and_link_by_direction() {
    let text = watch_exposition(&counted());
    for line in [
        "# TYPE tiermark_watch_memory_bytes_per_second gauge",
        "tiermark_watch_memory_bytes_per_second{socket=\"0\",node=\"1\",channel=\"imc_0\",direction=\"read\"} \
            15000000000",
        "tiermark_watch_memory_bytes_per_second{socket=\"0\",node=\"1\",channel=\"imc \\\"1\\\"\",direction=\"both\"} \
            5000000000",
        "tiermark_watch_link_bytes_per_second{socket=\"0\",node=\"1\",link=\"upi_0\",direction=\"sent\"} 8000000000",
        "tiermark_watch_link_utilisation_ratio{socket=\"0\",node=\"1\",link=\"upi_0\",direction=\"sent\"} 0.25",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
    // What is not counted has no line, and a sum over labels counts nothing twice.
    assert!(!text.contains("received") && !text.contains("traffic"), "{text}");
    assert_eq!(text.matches("memory_utilisation_ratio{").count(), 1, "{text}");
}

#[test]
fn measurements_are_gauges() {
    let best = |now: f64| Some(WatchBest { now: Some(now), ..WatchBest::default() });
    let active = WatchActive {
        clock: best(3.456e9),
        l3: WatchShared { lasts: best(0.0123), ..WatchShared::default() },
        dram: WatchCell { latency: best(131.0), bandwidth: best(9.87e9), ..WatchCell::default() },
        pings: vec![WatchPing { pair: "0-1".into(), now: Some(331.0), ..WatchPing::default() }],
        moves: 12,
        cost_share: Some(0.0095),
        ..WatchActive::default()
    };
    let exposed = watch_exposition(&WatchSample { active: Some(active), ..sample() });
    for line in [
        "tiermark_watch_active_dram_latency_now_seconds 0.000000131",
        "tiermark_watch_active_dram_bandwidth_now_bytes_per_second 9870000000",
        "tiermark_watch_active_pings_now_seconds{pair=\"0-1\"} 0.000000331",
        "tiermark_watch_active_clock_now_hertz 3456000000",
        "tiermark_watch_active_l3_lasts_now_seconds 0.0123",
        "tiermark_watch_active_cost_share_ratio 0.0095",
        "tiermark_watch_active_moves 12",
    ] {
        assert!(exposed.lines().any(|found| found == line), "{line} in\n{exposed}");
    }
}
