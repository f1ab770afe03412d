use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tiermark_model::{
    BoxKind, BoxPlace, BoxTraffic, CounterMark, CounterSourceId, LinkStated, LinkTraffic, Traffic, WatchCost, WatchCpu,
    WatchGroup, WatchGroupKind, WatchGroupUse, WatchMemory, WatchNode, WatchPool, WatchPressure, WatchProgram,
    WatchRates, WatchStall, WatchStalls, WatchSwap,
};

use tiermark_page::Style;

use super::*;
use crate::monitor::backend::{bar, spark};
use crate::monitor::panes::KEYS;

const GIB: u64 = 1 << 30;

fn stalls(now: f64) -> WatchStalls {
    let some = WatchStall { now: Some(now), avg10: 3.5, avg60: Some(1.25), avg300: None };
    WatchStalls { some, full: Some(WatchStall { now: Some(now / 2.0), ..some }) }
}

/// The sample number `n` of a server with two sockets and a slower tier.
pub(crate) fn sample(n: u32) -> WatchSample {
    let wave = f64::from(n % 10);
    let node = |node: u32| WatchNode {
        node,
        total_bytes: Some(64 * GIB),
        free_bytes: Some(u64::from(16 * (node + 1)) * GIB),
        file_bytes: Some(9 * GIB / 2),
        anon_bytes: Some(20 * GIB),
        hits: Some(123_456.0),
        misses: Some(0.0),
        foreign: Some(7.0),
        local: Some(900.0),
        other: Some(100.0),
        demoted: Some(12.0),
        ..WatchNode::default()
    };
    let psi = WatchPressure { memory: Some(stalls(2.0 * wave)), io: Some(stalls(0.0)), cpu: None };
    WatchSample {
        time: format!("2026-11-25T14:20:{:02}.000Z", n % 60),
        seconds: Some(1.0),
        group: Some(WatchGroup { path: "/user.slice".into(), psi: psi.clone() }),
        psi,
        cpu: Some(WatchCpu { online: 8, busy: Some(0.1 * wave), steal: Some(0.12) }),
        memory: Some(WatchMemory {
            total_bytes: Some(192 * GIB),
            available_bytes: Some(90 * GIB),
            dirty_bytes: Some(3 << 20),
            ..WatchMemory::default()
        }),
        vm: WatchRates {
            swap_in_bytes: Some(wave * 1e6),
            swap_out_bytes: Some(0.0),
            major_faults: Some(wave * 100.0),
            demoted: Some(12.0),
            thp_faults: Some(3.0),
            ..WatchRates::default()
        },
        nodes: (0..3).map(node).collect(),
        swaps: vec![WatchSwap { path: "/dev/zram0".into(), total_bytes: 8 * GIB, used_bytes: GIB }],
        zram: vec![WatchPool { device: "zram0".into(), stored_bytes: GIB, pool_bytes: GIB / 3 }],
        own: WatchCost { read_seconds: Some(2e-4), cpu_share: Some(0.0004) },
        ..WatchSample::default()
    }
}

fn monitor(samples: u32) -> Monitor {
    let mut monitor = Monitor::new("every 1 s");
    (0..samples).for_each(|n| monitor.add(sample(n), None));
    monitor
}

pub(crate) fn drawn(monitor: &Monitor, (width, height): (u16, u16), unicode: bool) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(monitor, frame, &Style { unicode, ..Style::default() })).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_screen_at_its_least_size() {
    let mut monitor = monitor(30);
    monitor.act(Action::Down);
    insta::assert_snapshot!(drawn(&monitor, LEAST, true));
}

#[test]
fn the_screen_in_ascii() {
    let monitor = monitor(30);
    let text = drawn(&monitor, (100, 30), false);
    assert!(text.is_ascii(), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn keys_select_pause_and_explain() {
    let mut monitor = monitor(5);
    let line = |monitor: &Monitor, of: &str| {
        drawn(monitor, LEAST, true).lines().find(|line| line.contains(of)).unwrap_or_default().to_owned()
    };
    assert!(line(&monitor, ">0").contains("48G"), "{}", drawn(&monitor, LEAST, true));
    for _ in 0..5 {
        assert!(monitor.act(Action::Down));
    }
    // Two nodes fit: the selected one is among them.
    assert!(line(&monitor, ">2").contains("16G") && line(&monitor, "nodes 1 to").is_empty());
    monitor.act(Action::Up);
    assert!(!line(&monitor, ">1").is_empty());
    monitor.act(Action::Pause);
    let held = drawn(&monitor, LEAST, true);
    monitor.add(sample(59), None);
    assert_eq!(drawn(&monitor, LEAST, true), held);
    assert!(held.contains("PAUSED") && held.contains("14:20:04"), "{held}");
    monitor.act(Action::Pause);
    assert!(drawn(&monitor, LEAST, true).contains("14:20:59"));
    monitor.act(Action::Help);
    assert!(drawn(&monitor, LEAST, true).contains("this help") && !monitor.act(Action::Quit));
}

#[test]
fn the_help_is_shown_whole() {
    let mut monitor = monitor(1);
    monitor.act(Action::Help);
    for (size, unicode) in [(LEAST, true), ((100, 30), true), ((100, 30), false)] {
        let text = drawn(&monitor, size, unicode);
        for line in KEYS {
            let line = if unicode { line.to_owned() } else { line.replace('…', "..") };
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
    }
}

/// Names of programs, with what each uses; as many of each list.
fn programs() -> Vec<WatchProgram> {
    let program = |pid: u32, name: &str, cpus: f64, mib: u64| WatchProgram {
        pid,
        name: name.into(),
        cpus: Some(cpus),
        resident_bytes: mib << 20,
    };
    vec![program(7, "rustc", 1.5, 900), program(8, "ld", 0.25, 300), program(3, "postgres", 0.0, 8000)]
}

#[test]
fn programs_that_use_most_have_names_where_there_is_room() {
    let mut monitor = Monitor::new("every 1 s");
    let one = WatchSample { programs: programs(), nodes: sample(1).nodes[..1].to_vec(), ..sample(1) };
    monitor.add(one, None);
    let text = drawn(&monitor, (100, 45), true);
    insta::assert_snapshot!(text);
    let empty = text.lines().filter(|line| line.starts_with('│') && line.trim_matches(['│', ' ']).is_empty()).count();
    assert!(empty == 0, "{empty} empty rows in\n{text}");
    // On the smallest screen they are beside the groups.
    assert!(!drawn(&monitor, LEAST, true).contains("postgres"));
    monitor.act(Action::Groups);
    let page = drawn(&monitor, LEAST, true);
    assert!(page.contains("7.8G postgres (3)") && page.contains("  1.50    900M rustc (7)"), "{page}");
}

#[test]
fn small_terminals_and_empty_systems() {
    assert!(drawn(&monitor(1), (60, 10), true).contains("needs 80x24, this is 60x10"));
    let mut empty = Monitor::new("every 1 s");
    assert_eq!(drawn(&empty, LEAST, true).trim(), "");
    empty.add(WatchSample::default(), Some((1, 2)));
    let text = drawn(&empty, LEAST, true);
    assert!(text.contains("this system lists no node") && text.contains("1/2") && text.contains('–'), "{text}");
    for (width, height) in [(1, 1), (80, 23), (300, 100)] {
        drawn(&empty, (width, height), false);
    }
}

#[test]
fn bars_and_sparklines() {
    let bars = [(Some(0.5), 4), (None, 2), (Some(7.0), 2)].map(|(share, columns)| bar(share, columns).text.plain());
    assert_eq!(bars, ["██░░", "░░", "██"]);
    assert_eq!(spark(&[Some(0.0), None, Some(5.0), Some(10.0)], 1.0).text.plain(), "▁ ▅█");
    assert_eq!(spark(&[Some(1.0); 3], 100.0).text.plain(), "▁▁▁");
}

/// The sample number `n` with the traffic of two sockets, whose link and one channel are near their peaks.
fn counted(n: u32) -> WatchSample {
    let place = |socket: u32, kind, unit: String| BoxPlace { socket: Some(socket), node: Some(socket), kind, unit };
    let channel = |socket: u32, number: u32| {
        let (read, write) = (1e9 * f64::from(n % 10) + 10e9 * f64::from(socket), 4e9 * f64::from(number));
        let place = place(socket, BoxKind::Channel, format!("uncore_imc_{number}"));
        let transfers = Some(if number == 1 { 3e9 } else { 4.8e9 });
        BoxTraffic { place, read: Some(read), write: Some(write), total: read + write, local: None, transfers }
    };
    let boxes = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(socket, number)| channel(socket, number)).into();
    let link = LinkTraffic {
        place: place(0, BoxKind::Link, "uncore_upi_0".into()),
        sent: Some(30e9),
        received: Some(1e9),
        most: Some(32e9),
        stated: LinkStated::default(),
    };
    let marks = vec![CounterMark::Lost { place: place(1, BoxKind::Channel, "uncore_imc_7".into()) }];
    let traffic = Traffic { seconds: 1.0, boxes, links: vec![link], marks, missing: Vec::new() };
    WatchSample { traffic: Some(traffic), counters: Some(CounterSourceId::Perf), ..sample(n) }
}

#[test]
fn traffic_is_a_page_of_its_own() {
    let mut monitor = Monitor::new("every 1 s");
    (0..30).for_each(|n| monitor.add(counted(n), None));
    assert!(drawn(&monitor, LEAST, true).contains("t traffic: 64.0 GB/s"), "{}", drawn(&monitor, LEAST, true));
    monitor.act(Action::Traffic);
    insta::assert_snapshot!(drawn(&monitor, LEAST, true));
    assert!(drawn(&monitor, (100, 30), false).is_ascii());
    // Rows that do not fit are below.
    let mut many = counted(0);
    let traffic = many.traffic.as_mut().unwrap();
    let more = (10..60).map(|number| {
        let mut own = traffic.boxes[0].clone();
        own.place.unit = format!("uncore_imc_{number}");
        own
    });
    traffic.boxes.extend(more.collect::<Vec<_>>());
    monitor.add(many, None);
    assert!(!drawn(&monitor, LEAST, true).contains("uncore_imc_50"));
    (0..100).for_each(|_| assert!(monitor.act(Action::Down)));
    let text = drawn(&monitor, LEAST, true);
    assert!(text.contains("uncore_imc_59") && text.contains("uncore_upi_0"), "{text}");
    (0..100).for_each(|_| assert!(monitor.act(Action::Up)));
    assert!(drawn(&monitor, LEAST, true).contains("all memory"));
}

#[test]
fn without_counters_the_page_says_why() {
    let mut monitor = Monitor::new("every 1 s").about_counters(vec!["perf: no event source".into()]);
    monitor.add(sample(1), None);
    assert!(drawn(&monitor, LEAST, true).contains("t why no traffic"));
    monitor.act(Action::Traffic);
    let text = drawn(&monitor, LEAST, true);
    assert!(text.contains("perf: no event source") && text.contains("tiermark list counters"), "{text}");
    assert!(monitor.act(Action::Down) && monitor.act(Action::Traffic));
    assert!(drawn(&monitor, LEAST, true).contains("cpus and swap"));
}

#[test]
fn a_system_without_groups_says_so_on_a_screen_of_the_least_size() {
    let mut monitor = Monitor::new("every 1 s");
    monitor.add(WatchSample { groups: Vec::new(), ..sample(3) }, None);
    monitor.act(Action::Groups);
    let text = drawn(&monitor, LEAST, true);
    assert!(text.contains("with a memory controller,") && text.contains("and no group of resctrl"), "{text}");
}

#[test]
fn groups_are_a_page_of_their_own() {
    let control = |path: &str, memory: u64, stalled| WatchGroupUse {
        path: path.into(),
        memory_bytes: Some(memory),
        stalled,
        ..WatchGroupUse::default()
    };
    let long = format!("/kubepods.slice/kubepods-burstable.slice/pod{}", "0".repeat(36));
    let monitored = WatchGroupUse {
        path: "resctrl:batch".into(),
        kind: WatchGroupKind::Resctrl,
        traffic_bytes: Some(4e9),
        local_bytes: Some(3e9),
        ..WatchGroupUse::default()
    };
    let groups =
        vec![monitored, control(&long, 3 * GIB, Some(12.0)), control("/system.slice/a.service", GIB / 2, None)];
    let mut monitor = Monitor::new("every 1 s");
    monitor.add(WatchSample { groups, ..sample(3) }, None);
    monitor.act(Action::Groups);
    let text = drawn(&monitor, LEAST, true);
    insta::assert_snapshot!(text);
    monitor.act(Action::Traffic);
    assert!(drawn(&monitor, LEAST, true).contains("traffic of memory"));
    monitor.act(Action::Traffic);
    assert!(drawn(&monitor, LEAST, true).contains("cpus and swap"));
}
