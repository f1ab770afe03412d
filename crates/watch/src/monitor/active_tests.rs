use tiermark_model::{WatchCell, WatchPing, WatchShared};

use super::tests::{drawn, sample};
use super::*;
use tiermark_model::{WatchActive, WatchBest};

/// A guest; from the tenth sample on a neighbour takes half of its memory.
fn active(n: u32) -> WatchActive {
    let slow = if n >= 10 { 2.0 } else { 1.0 };
    let best = |now: f64, capability: f64| {
        let capability = (n > 5).then_some(capability);
        Some(WatchBest { now: Some(now), age_seconds: Some(0.5), capability, ..WatchBest::default() })
    };
    let recorded = |best: Option<WatchBest>, record: f64| best.map(|best| WatchBest { record: Some(record), ..best });
    WatchActive {
        cpu: 1,
        clock: best(3.4e9, 3.5e9),
        l1: WatchCell {
            latency: best(1.2, 1.18),
            bandwidth: best(210e9, 214e9),
            latency_bytes: Some(16 << 10),
            bandwidth_bytes: Some(16 << 10),
        },
        l2: WatchCell { latency: best(4.1, 4.0), latency_bytes: Some(192 << 10), ..WatchCell::default() },
        l3: WatchShared {
            latency: best(17.0, 16.0),
            latency_bytes: Some(8 << 20),
            kept_bytes: Some(8 << 20),
            kept: best(0.97, 0.98),
            lasts: best(0.0123 / slow, 0.0130),
        },
        dram: WatchCell {
            latency: recorded(best(95.0 * slow, 94.0), 91.0),
            bandwidth: recorded(best(18e9 / slow, 18.5e9), 19e9),
            latency_bytes: Some(128 << 20),
            bandwidth_bytes: Some(128 << 20),
        },
        pings: vec![WatchPing { pair: "0-1".into(), now: Some(58.0), age_seconds: Some(0.0), capability: Some(55.0) }],
        clusters: vec!["0-1".parse().unwrap(), "2-3".parse().unwrap()],
        moves: 3,
        visits: 8,
        budget: 0.01,
        cost_share: Some(0.0081),
        memory_bytes: 192 << 20,
        ..WatchActive::default()
    }
}

fn monitor() -> Monitor {
    let mut monitor = Monitor::new("every 1 s");
    (0..20).for_each(|n| monitor.add(WatchSample { active: Some(active(n)), ..sample(n) }, None));
    monitor
}

#[test]
fn what_is_measured_takes_the_place_of_nodes_on_a_small_screen() {
    let text = drawn(&monitor(), LEAST, true);
    assert!(text.contains("pressure") && !text.contains("hit/s"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_simulated_machine_and_an_interval_that_is_too_short_are_said() {
    let mut monitor = Monitor::new("every 0.2 s");
    let found = WatchActive { interval_needed_seconds: Some(0.7), ..active(20) };
    monitor.add(WatchSample { active: Some(found), simulated: Some("synth".into()), ..sample(20) }, None);
    let text = drawn(&monitor, LEAST, true);
    assert!(text.starts_with("SIMULATED  tiermark watch"), "{text}");
    assert!(text.contains("of 1 % of a cpu: use --interval 0.7 or longer"), "{text}");
}

#[test]
fn a_large_screen_shows_all() {
    let text = drawn(&monitor(), (100, 45), false);
    assert!(text.is_ascii() && text.contains("hit/s") && text.contains("!DRAM ns"), "{text}");
    insta::assert_snapshot!(text);
}

/// What text says on standard error is on the screen too, where it fits: not on the smallest one.
#[test]
fn what_is_not_known_is_said_where_there_is_room() {
    let names = ["latency.l1", "latency.l2", "latency.l3", "latency.dram", "read.dram.one"].map(str::to_owned).to_vec();
    let lacking = |without_capability: Vec<String>| WatchActive {
        without_record: names.clone(),
        without_capability,
        ..active(1)
    };
    let shown = |found: WatchActive, simulated: Option<String>, lines: u16| {
        let mut monitor = Monitor::new("every 1 s");
        monitor.add(WatchSample { active: Some(found), simulated, ..sample(1) }, None);
        drawn(&monitor, (LEAST.0, lines), true)
    };
    let knows = |text: &str| [text.contains("no record of"), text.contains("no capability yet of")];
    let all = |lines: u16| shown(lacking(names.clone()), None, lines);
    let known = shown(WatchActive { without_record: Vec::new(), ..lacking(Vec::new()) }, None, LEAST.1);
    assert_eq!(all(LEAST.1), known, "nothing gives way on the smallest screen");
    assert_eq!(knows(&all(LEAST.1 + 3)), [true, false], "{}", all(LEAST.1 + 3));
    assert_eq!(knows(&all(LEAST.1 + 6)), [true, true], "{}", all(LEAST.1 + 6));
    let large = all(50);
    assert_eq!(knows(&large), [true, true], "{large}");
    assert!(large.contains("hit/s"), "{large}");
    insta::assert_snapshot!(large);
    assert_eq!(knows(&shown(lacking(names.clone()), Some("synth".into()), 50)), [false, true]);
}

/// A neighbour that costs a quarter is marked once it lasts; a single visit is not.
#[test]
fn a_lasting_loss_of_a_quarter_is_marked_from_the_first_seconds() {
    let line = |seen: WatchBest| {
        let mut monitor = Monitor::new("every 1 s");
        let found = WatchActive { dram: WatchCell { latency: Some(seen), ..WatchCell::default() }, ..active(1) };
        monitor.add(WatchSample { active: Some(found), ..sample(1) }, None);
        drawn(&monitor, LEAST, true).lines().find(|line| line.contains("DRAM ns")).unwrap().to_owned()
    };
    let slow = WatchBest { now: Some(125.0), so_far: Some(100.0), ..WatchBest::default() };
    let one = line(slow);
    assert!(one.contains("│ DRAM ns") && one.contains("~100") && one.contains("125%"), "{one}");
    assert!(line(WatchBest { recent: Some(125.0), ..slow }).contains("│!DRAM ns"));
    let known = WatchBest { recent: Some(118.0), capability: Some(100.0), so_far: None, ..slow };
    assert!(line(known).contains("│ DRAM ns") && !line(known).contains('~'), "{}", line(known));
    assert!(line(WatchBest { recent: Some(125.0), ..known }).contains("│!DRAM ns"));
    assert!(line(WatchBest { now: Some(160.0), ..known }).contains("│!DRAM ns"));
}
