use tiermark_model::{
    BoxKind, BoxPlace, BoxTraffic, CounterSourceId, LinkStated, LinkTraffic, Traffic, WatchCpu, WatchLife, WatchMemory,
    WatchNode, WatchPressure, WatchRates, WatchSample, WatchStall, WatchStalls, WatchSwap,
};

use super::*;
use tiermark_page::terminal;

fn sample() -> WatchSample {
    let some = WatchStall { now: Some(12.5), avg10: 3.0, avg60: Some(1.0), avg300: Some(0.5) };
    WatchSample {
        time: "2026-11-25T14:20:03.250Z".into(),
        seconds: Some(2.0),
        psi: WatchPressure { memory: Some(WatchStalls { some, full: None }), ..WatchPressure::default() },
        cpu: Some(WatchCpu { online: 8, busy: Some(0.25), steal: Some(0.015) }),
        memory: Some(WatchMemory { available_bytes: Some(25_232_932_864), ..WatchMemory::default() }),
        vm: WatchRates {
            swap_in_bytes: Some(1_572_864.0),
            major_faults: Some(384.0),
            faults: Some(0.0),
            ..WatchRates::default()
        },
        nodes: vec![WatchNode { node: 1, free_bytes: Some(4096), ..WatchNode::default() }],
        swaps: vec![WatchSwap { path: "/a, \"b\"".into(), total_bytes: 8192, used_bytes: 4096 }],
        ..WatchSample::default()
    }
}

#[test]
fn a_sample_is_a_line_of_80_columns() {
    for style in [Style::default(), Style { unicode: false, ..Style::default() }] {
        let text = format!("{}\n{}\n", watch_heading(&sample(), &style), watch_line(&sample(), &style));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(text.is_ascii(), !style.unicode);
    }
    let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let line = watch_line(&sample(), &Style::default());
    assert_eq!(cells(&line), cells("14:20:03 23.5G 4K 12.5 – – 1.5M – 384 – 25.0 1.5"), "{line}");
    for (value, text) in [(0.0, "0"), (0.5, "0.5"), (99.94, "99.9"), (99.96, "100"), (999.5, "1.0K"), (1e22, "10000E")]
    {
        assert_eq!(short(value, 1000.0), text);
    }
    // The last bit of a quotient does not add a digit.
    assert_eq!((short(45e9_f64.next_down(), 1000.0), short(45.01e9, 1000.0)), ("45G".into(), "45.0G".into()));
}

#[test]
fn a_summary_has_means_ends_and_totals() {
    let mut life = WatchLife::default();
    life.add(&WatchSample { seconds: None, vm: WatchRates::default(), psi: WatchPressure::default(), ..sample() });
    life.add(&sample());
    let watched =
        WatchedCommand { command: "make -j8", simulated: None, seconds: 2.1, cpu_seconds: Some(1.5), samples: 2 };
    let text = terminal(&watch_summary(&watched, &life), &Style::default());
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "make -j8: 2.1 s, 1.5 s of cpu time, 2 samples of the system",
        "memory stalls, some tasks 12.5 % 12.5 % 12.5 % –",
        "available memory 23.5 GiB 23.5 GiB 23.5 GiB –",
        "major faults 384/s 384/s 384/s 768",
        "swap in 1.5 MiB/s 1.5 MiB/s 1.5 MiB/s 3 MiB",
        "Always 0: page faults Not reported by this system: memory stalls, all tasks;",
    ] {
        assert!(words.contains(part), "{part} in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
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
    WatchSample { traffic: Some(traffic), counters: Some(CounterSourceId::Perf), ..sample() }
}

#[test]
fn traffic_has_columns_where_it_is_counted() {
    let (sample, style) = (counted(), Style::default());
    let text = format!("{}\n{}\n", watch_heading(&sample, &style), watch_line(&sample, &style));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // One channel does not tell reads from writes, so that their share is not known.
    assert!(words.contains("busy mem/s read% chan%") && words.ends_with("25.0 25G – 52.1"), "{text}");
    let first = WatchSample { traffic: None, ..sample };
    assert!(watch_line(&first, &style).ends_with("25.0      –     –     –"), "{}", watch_line(&first, &style));
}

#[test]
fn a_summary_begins_with_the_traffic() {
    let mut life = WatchLife::default();
    life.add(&counted());
    let watched = WatchedCommand { command: "x", simulated: None, seconds: 2.0, cpu_seconds: None, samples: 1 };
    let text = terminal(&watch_summary(&watched, &life), &Style::default());
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("total memory traffic 25 GB/s 25 GB/s 25 GB/s 50 GB busiest channel 52.1 %"), "{text}");
}

#[test]
fn a_summary_has_the_traffic_of_each_socket() {
    let mut sample = counted();
    let traffic = sample.traffic.as_mut().unwrap();
    let mut far = traffic.boxes[0].clone();
    far.place.socket = Some(1);
    let mut link = traffic.links[0].clone();
    (link.place.socket, link.sent) = (Some(1), None);
    link.stated = LinkStated { sent_all: Some(20e9), sent_all_seconds: Some(1.5), received_seconds: None };
    traffic.boxes.push(far);
    traffic.links.push(link);
    let mut life = WatchLife::default();
    life.add(&sample);
    let watched = WatchedCommand { command: "x", simulated: None, seconds: 2.0, cpu_seconds: None, samples: 1 };
    let text = terminal(&watch_summary(&watched, &life), &Style::default());
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for row in [
        "socket 0: links sent 8 GB/s",
        "socket 0: links sent, of peak 25.0 %",
        "socket 1: read 15 GB/s 15 GB/s 15 GB/s 30 GB",
        "socket 1: written 5 GB/s",
        "socket 1: links sent + overhead 10 GB/s",
        "socket 1: links + overhead, of peak 75.0 %",
    ] {
        assert!(words.contains(row), "{row} in\n{text}");
    }
    assert!(!words.contains("socket 1: links sent 8") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn measurements_have_columns_of_their_own() {
    use tiermark_model::{WatchActive, WatchBest, WatchCell, WatchPing, WatchShared};
    let best = |now: f64| Some(WatchBest { now: Some(now), ..WatchBest::default() });
    let active = WatchActive {
        clock: best(3.456e9),
        l1: WatchCell { latency: best(1.25), bandwidth: best(210.4e9), ..WatchCell::default() },
        l2: WatchCell { latency: best(4.0), bandwidth: None, ..WatchCell::default() },
        l3: WatchShared { latency: best(16.6), kept: None, lasts: best(0.0123), ..WatchShared::default() },
        dram: WatchCell { latency: best(131.0), bandwidth: best(9.87e9), ..WatchCell::default() },
        pings: vec![WatchPing { pair: "0-1".into(), now: Some(331.0), ..WatchPing::default() }],
        moves: 12,
        interrupted: Some(0.031),
        cost_share: Some(0.0095),
        ..WatchActive::default()
    };
    let sample = WatchSample { active: Some(active), ..sample() };
    let text = format!("{}\n{}", watch_heading(&sample, &Style::default()), watch_line(&sample, &Style::default()));
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(words).collect();
    assert_eq!(lines[0], "time UTC away% GHz L1 ns GB/s L2 ns L3 ns lasts DRAM GB/s ping moves cost");
    assert_eq!(lines[1], "14:20:03 3.1 3.46 1.25 210.4 4.00 16.6 12.3ms 131 9.87 331 12 0.95");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!([5e-5, 0.25, 2.0, 130.0].map(watch_time), ["0.05ms", "250ms", "2.00s", "130s"]);
    let mut life = WatchLife::default();
    life.add(&sample);
    let watched = WatchedCommand { command: "make", simulated: None, seconds: 2.0, cpu_seconds: None, samples: 1 };
    let summary = words(&terminal(&watch_summary(&watched, &life), &Style::default()));
    assert!(summary.contains("DRAM bandwidth 9.87 GB/s 9.87 GB/s 9.87 GB/s –"), "{summary}");
    assert!(summary.contains("DRAM latency 131 ns 131 ns 131 ns –"), "{summary}");
    for row in [
        "clock 3.46 GHz 3.46",
        "L1 latency 1.25 ns",
        "L2 latency 4.00 ns",
        "L3 lasts 12.3 ms",
        "ping of cpus 0-1 331 ns",
    ] {
        assert!(summary.contains(row), "{row} in {summary}");
    }
    assert_eq!(summary.matches("ping of cpus").count(), 1, "one pair is the fastest and the slowest");
    // What does not fit is left out, not cut.
    let narrow = Style { width: 60, ..Style::default() };
    let lines = [watch_heading(&sample, &narrow), watch_line(&sample, &narrow)];
    assert_eq!(lines.each_ref().map(|line| line.chars().count()), [56, 56], "{lines:?}");
    assert!(lines[0].ends_with("DRAM") && lines[1].ends_with("131"), "{lines:?}");
    let simulated = WatchedCommand { simulated: Some("synth:cores=2"), ..watched };
    assert!(
        terminal(&watch_summary(&simulated, &life), &Style::default())
            .starts_with("! SIMULATED machine 'synth:cores=2'")
    );
}
