//! Each fault has a document that shows it, and one that nearly does.

use crate::explain::made::{
    Change, GB, Rate, add, add_latency, by_rule, differ, healthy, machine, problems, run, with,
};
use tiermark_expect::explain::explain;
use tiermark_model::messages::run as warnings;
use tiermark_model::{
    Confidence, CounterSight, CounterSourceId, Drift, Finding, HealthCount, Labels, MemoryErrors, Note, PageKind,
    PlacementProof, Purpose, Quantity, Reason, Run, RunCounters, RunHealth, State, StateKind, Throttling, Tier, Unit,
};

#[test]
fn a_healthy_document_has_no_problem() {
    let found = explain("healthy", &healthy());
    assert_eq!(problems(&found), [] as [&str; 0], "{:#?}", found.found);
    for rule in ["limit-link", "limit-channels", "limit-cores", "remote-slower"] {
        assert!(by_rule(&found, rule).is_some(), "{rule}: {:#?}", found.found);
    }
    assert!(by_rule(&found, "remote-writes-amplified").is_none(), "{:#?}", found.found);
    let core = by_rule(&found, "limit-cores").unwrap();
    let in_flight = core.numbers.iter().find(|number| number.name == "other.in.flight").unwrap();
    // Little's law: 12 GB/s x 90 ns / 64 bytes.
    assert!((in_flight.value - 16.875).abs() < 1e-9);
}

#[test]
fn modules_and_channels() {
    let channels = |populated: u32| {
        move |run: &mut Run| {
            run.machine.theoretical_peak.as_mut().unwrap().channels.as_mut().unwrap().populated = populated;
        }
    };
    differ("missing-channels", &channels(10), &channels(12));
    let finding = |populated: u32| {
        let found = explain("channels", &with(&channels(populated)));
        by_rule(&found, "missing-channels").unwrap().found.clone()
    };
    // Five of six a socket cannot be interleaved evenly, four can.
    assert!(finding(10).contains("interleaving") && finding(11).contains("interleaving"), "{}", finding(10));
    assert!(!finding(8).contains("interleaving"), "{}", finding(8));
    let node = |gib: u64| move |run: &mut Run| run.machine.nodes[1].memory_bytes = Some(gib << 30);
    let same = healthy().machine.nodes[0].memory_bytes.unwrap() >> 30;
    differ("uneven-nodes", &node(same / 2), &node(same));
    let speed = |configured: f64| {
        move |run: &mut Run| run.machine.dimms.iter_mut().for_each(|dimm| dimm.configured_transfers = Some(configured))
    };
    differ("modules-below-rated-speed", &speed(2.4e9), &speed(2.6667e9));
    let size = |gib: u64| move |run: &mut Run| run.machine.dimms[3].bytes = Some(gib << 30);
    differ("uneven-modules", &size(32), &size(16));
    let confidence = |run: &Run| by_rule(&explain("sizes", run), "uneven-modules").map(|one| one.confidence);
    assert_eq!(confidence(&with(&size(32))), Some(Confidence::Reported));
    // Two small modules on a channel may be as much as a large one.
    let several = with(&|run: &mut Run| {
        run.machine.dimms.truncate(11);
        run.machine.dimms[3].bytes = Some(32 << 30);
        run.machine.theoretical_peak.as_mut().unwrap().channels = None;
    });
    assert_eq!(confidence(&several), Some(Confidence::Hint));
    // Persistent memory lies beside DRAM, and is larger.
    let kinds = with(&|run: &mut Run| {
        let larger = run.machine.dimms.iter_mut().skip(6);
        larger.for_each(|dimm| (dimm.kind, dimm.bytes) = (Some("Non-volatile".into()), Some(128 << 30)));
    });
    assert_eq!(confidence(&kinds), None);
    // A hypervisor makes modules up.
    let guest = with(&move |run: &mut Run| {
        size(32)(run);
        speed(2.4e9)(run);
        run.machine.system.hypervisor = Some("KVM".into());
    });
    assert_eq!(problems(&explain("guest", &guest)), [] as [&str; 0]);
    let errors = |after: u64| {
        move |run: &mut Run| {
            let count = Some(HealthCount::new(0, Some(after)));
            let errors =
                MemoryErrors { place: "mc0".into(), corrected: count, uncorrected: None, ..MemoryErrors::default() };
            run.health = Some(RunHealth { memory: Some(vec![errors]), ..RunHealth::default() });
        }
    };
    differ("memory-errors", &errors(3), &errors(0));
}

#[test]
fn one_slow_channel_stands_out_from_the_others() {
    let last = |rate: f64| {
        move |run: &mut Run| {
            run.experiments[0].observations.iter_mut().take(1).for_each(|seen| seen.traffic = None);
            let rates = [17.0, 17.1, 16.9, 17.0, 17.0, rate];
            run.experiments[0].observations[0].traffic = {
                let mut other = crate::explain::made::run();
                add(&mut other, &Rate::new("read", 0, 100.0).channels(&rates));
                other.experiments[0].observations[0].traffic.clone()
            };
        }
    };
    differ("slow-channel", &last(8.0), &last(14.0));
    // A socket with several nodes uses a part of its channels, and no source says whose they are.
    let mut split = with(&last(0.0));
    assert_eq!(problems(&explain("dead", &split)), ["slow-channel"]);
    for cpu in &mut split.machine.cpus {
        cpu.node = Some(cpu.id / 10);
    }
    for own in &mut split.experiments[0].observations {
        own.traffic.iter_mut().flat_map(|own| &mut own.counted.boxes).for_each(|own| own.place.node = None);
    }
    assert_eq!(problems(&explain("split", &split)), [] as [&str; 0]);
    assert!(by_rule(&explain("split", &split), "split-socket").is_some());
}

/// Without a clock, a channel that carries nothing in any step has no module.
#[test]
fn channels_without_a_clock_are_populated_if_they_ever_carried_anything() {
    let clockless = |last: [f64; 2]| {
        let mut made = crate::explain::made::run();
        for (threads, last) in [20, 1].into_iter().zip(last) {
            let rate = Rate::new("read", 0, 100.0).threads(threads);
            add(&mut made, &rate.channels(&[17.0, 17.0, 17.0, 17.0, 17.0, last]));
        }
        for seen in &mut made.experiments[0].observations {
            seen.traffic.iter_mut().flat_map(|own| &mut own.counted.boxes).for_each(|own| own.transfers = None);
        }
        made
    };
    assert_eq!(problems(&explain("empty", &clockless([0.0, 0.0]))), [] as [&str; 0]);
    assert_eq!(problems(&explain("slow", &clockless([0.0, 8.0]))), ["slow-channel"]);
}

#[test]
fn a_slow_piece_of_memory_is_a_hint_at_its_modules() {
    let scanned = |times: f64| {
        move |run: &mut Run| {
            let labels = Labels::new().with_purpose(Purpose::Scan).with_region(3).with_op("latency");
            let slow = Finding::new(Quantity::ScanSlow, labels.clone(), Some(times), Unit::Ratio);
            let median = Finding::new(Quantity::ScanMedian, labels, Some(90.0), Unit::Ns);
            run.experiments[0].findings.extend([median, slow]);
        }
    };
    differ("slow-channel", &scanned(1.4), &scanned(1.05));
}

#[test]
fn a_link_that_is_down_or_slow_stands_out() {
    let links = |links: &'static [(f64, f64)]| {
        move |run: &mut Run| {
            let mut other = crate::explain::made::run();
            add(&mut other, &Rate::new("read", 1, 17.0).links(links));
            run.experiments[0].observations[2].traffic = other.experiments[0].observations[0].traffic.clone();
        }
    };
    differ("link-down", &links(&[(17.0, 20.8), (0.1, 20.8)]), &links(&[(17.0, 20.8), (12.0, 20.8)]));
    differ("link-down", &links(&[(17.0, 20.8), (17.0, 20.8), (0.0, 20.8)]), &links(&[(17.0, 20.8); 3]));
    differ("link-slow", &links(&[(17.0, 20.8), (9.0, 10.4)]), &links(&[(17.0, 20.8), (17.0, 20.0)]));
    let latency = |ns: f64| {
        move |run: &mut Run| {
            run.experiments[0].findings.retain(|found| found.quantity != Quantity::Latency);
            add_latency(run, 0, 90.0);
            add_latency(run, 1, ns);
        }
    };
    differ("remote-latency", &latency(220.0), &latency(190.0));
    // Memory of a split socket is not equally far: 74 and 196 ns on a healthy server.
    let split = with(&move |run: &mut Run| {
        latency(220.0)(run);
        run.machine.cpus.iter_mut().for_each(|cpu| cpu.node = Some(cpu.id / 10));
    });
    let found = explain("split", &split);
    assert_eq!(problems(&found), [] as [&str; 0]);
    assert!(found.unjudged.iter().any(|one| one.rule == "remote-latency" && one.why.code == "needs_whole_sockets"));
}

/// AMD Zen 4 has 8 boxes of links, of which 3 or 4 are wired, and no clock of theirs.
#[test]
fn links_without_a_clock_are_wired_if_they_ever_carried_anything() {
    let links = |remote: &'static [(f64, f64)], local: &'static [(f64, f64)]| {
        let mut made = crate::explain::made::run();
        add(&mut made, &Rate::new("read", 1, 35.0).links(remote));
        add(&mut made, &Rate::new("read", 0, 90.0).links(local));
        for seen in &mut made.experiments[0].observations {
            seen.traffic.iter_mut().flat_map(|own| &mut own.counted.links).for_each(|own| own.most = None);
        }
        made
    };
    let four = &[(9.0, 0.0), (9.0, 0.0), (9.0, 0.0), (9.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)];
    let found = explain("four of eight", &links(four, &[]));
    assert_eq!(problems(&found), [] as [&str; 0]);
    assert!(found.clear.iter().any(|rule| rule == "link-down"), "{:?}", found.unjudged);
    // It carried something at another time.
    let once = &[(0.1, 0.0), (0.1, 0.0), (0.1, 0.0), (0.1, 0.0), (0.1, 0.0)];
    assert_eq!(problems(&explain("down", &links(four, once))), ["link-down"]);
}

/// Among four sockets some traffic takes two links, and the links of a socket are not equally busy.
#[test]
fn links_are_compared_on_machines_of_two_sockets() {
    let four = with(&|run: &mut Run| {
        let down = Rate::new("read", 1, 17.0).links(&[(17.0, 20.8), (0.1, 20.8), (8.0, 10.4)]);
        add(run, &down);
        run.machine.cpus.iter_mut().for_each(|cpu| cpu.socket = cpu.id / 10);
    });
    let found = explain("four", &four);
    assert_eq!(problems(&found), [] as [&str; 0]);
    let unjudged = |rule: &str| found.unjudged.iter().find(|one| one.rule == rule).unwrap().why.code.clone();
    for rule in ["link-down", "link-slow", "remote-latency"] {
        assert_eq!(unjudged(rule), "needs_two_sockets");
    }
}

#[test]
fn memory_below_its_peak_is_a_problem_only_where_more_threads_add_nothing() {
    let local = |all: f64, one: f64| {
        move |run: &mut Run| {
            run.experiments[0].findings.retain(|found| found.quantity == Quantity::Latency);
            add(run, &Rate::new("read", 0, all));
            add(run, &Rate::new("read", 0, one).threads(1));
        }
    };
    differ("below-peak", &local(60.0, 12.0), &local(95.0, 12.0));
    differ("below-peak", &local(60.0, 12.0), &local(60.0, 3.1));
    // Two threads of a core share what it keeps in flight: 10 cores gave all that they can.
    differ("below-peak", &local(60.0, 7.6), &local(60.0, 7.0));
    let found = explain("hint", &with(&local(60.0, 12.0)));
    assert_eq!(by_rule(&found, "below-peak").unwrap().confidence, Confidence::Hint);
    let found = explain("cores", &with(&local(60.0, 3.1)));
    assert!(by_rule(&found, "limit-cores").is_some(), "{:#?}", found.found);
    // The table of modules of a guest is made up.
    let mut guest = with(&local(60.0, 12.0));
    guest.machine.system.hypervisor = Some("KVM".into());
    assert_eq!(problems(&explain("guest", &guest)), [] as [&str; 0]);
}

#[test]
fn neighbours_and_other_work() {
    let state = |state: StateKind, share: f64| {
        move |run: &mut Run| {
            run.experiments[0].states.push(State { state, share, visits: 100, lasts: None, ping_ns: None });
        }
    };
    differ("noisy-neighbour", &state(StateKind::Shared, 0.4), &state(StateKind::Shared, 0.1));
    differ("noisy-neighbour", &state(StateKind::Sibling, 0.4), &state(StateKind::Near, 0.9));
    let moved = explain("moved", &with(&state(StateKind::Apart { apart: 1, of: 2 }, 0.5)));
    assert!(by_rule(&moved, "cpus-moved").is_some() && problems(&moved).is_empty());
    let steal = |share: f64| move |run: &mut Run| run.warnings.push(warnings::steal(share));
    differ("noisy-neighbour", &steal(0.04), &steal(0.004));
    let busy = |cpus: f64| move |run: &mut Run| run.warnings.push(warnings::busy(cpus, 40, "cc", None));
    differ("other-work", &busy(8.0), &busy(2.0));
    let named = explain("named", &with(&busy(8.0)));
    let place = by_rule(&named, "other-work").unwrap().place.as_deref();
    assert_eq!(place, Some("cpus of this run (cc)"), "the programs of the run itself");
    let best = |share: f64| move |run: &mut Run| run.experiments[0].observations[0].best = Some(100.0 * GB / share);
    differ("noisy-neighbour", &best(0.6), &best(0.9));
    let drift = |change: f64| {
        move |run: &mut Run| {
            let drift = Drift { step: "read".into(), at_seconds: Some(3.0), change, p_value: Some(1e-4) };
            run.experiments[0].drift.push(drift);
        }
    };
    differ("machine-changed", &drift(-0.2), &drift(0.02));
}

#[test]
fn settings_are_problems_only_with_their_effect() {
    let balancing = |mode: u32, faults: u64| {
        move |run: &mut Run| {
            run.machine.system.numa_balancing = Some(mode);
            if faults > 0 {
                let reason = Reason::MinorFaults { faults, shots: 2 };
                run.experiments[0].observations[0].verdict.bound(reason);
            }
        }
    };
    differ("numa-balancing", &balancing(1, 5), &balancing(1, 0));
    differ("numa-balancing", &balancing(1, 5), &balancing(0, 5));
    let governor = |name: &'static str, spread: f64| {
        move |run: &mut Run| {
            run.machine.system.governor = Some(name.into());
            run.experiments[0].observations[0].core_hz_spread = Some(spread);
        }
    };
    differ("governor", &governor("powersave", 0.2), &governor("powersave", 0.01));
    differ("governor", &governor("ondemand", 0.2), &governor("performance", 0.2));
    let thp = |mode: &'static str, page: &'static str| {
        move |run: &mut Run| {
            run.machine.system.thp = Some(mode.into());
            for seen in &mut run.experiments[0].observations {
                seen.labels = seen.labels.clone().with_page(page);
            }
        }
    };
    differ("huge-pages-off", &thp("never", "base"), &thp("never", "2M"));
    differ("huge-pages-off", &thp("never", "base"), &thp("madvise", "base"));
    let chosen = move |run: &mut Run| {
        thp("never", "base")(run);
        run.experiments[0].request.scope.page = Some(PageKind::Base);
    };
    differ("huge-pages-off", &thp("never", "base"), &chosen);
    let named = move |run: &mut Run| {
        thp("never", "base")(run);
        run.experiments[0].request.params = [("pages", vec!["base"])].into_iter().collect();
    };
    differ("huge-pages-off", &thp("never", "base"), &named);
    let heat = |after: u64| {
        move |run: &mut Run| {
            let whole = Some(HealthCount::new(0, Some(after)));
            let package = Throttling { whole, cores: Some(HealthCount::new(0, Some(0))), ..Throttling::default() };
            run.health = Some(RunHealth { throttling: Some(vec![package]), ..RunHealth::default() });
        }
    };
    differ("throttled", &heat(2), &heat(0));
}

#[test]
fn huge_pages_that_were_not_to_be_had() {
    let backed = |share: f64| {
        move |run: &mut Run| {
            let labels = &mut run.experiments[0].observations[0].labels;
            *labels = labels.clone().with_page("thp").with_tier(Tier::Dram).with_purpose(Purpose::Ladder);
            let placement = PlacementProof {
                how: tiermark_model::messages::setup::no_numa(),
                pages: 10,
                page_share: Some(share),
                page: "thp".into(),
                ..PlacementProof::default()
            };
            run.experiments[0].observations[0].placement = Some(placement);
        }
    };
    differ("huge-pages-missing", &backed(0.3), &backed(1.0));
}

#[test]
fn page_walks_show_where_base_pages_are_slower() {
    let base = |ns: f64| {
        move |run: &mut Run| {
            let labels = |tier: &str, page: &str| {
                Labels::new().with_purpose(Purpose::Ladder).with_tier_name(tier).with_page(page)
            };
            let latency = |labels, ns| Finding::new(Quantity::Latency, labels, Some(ns), Unit::Ns);
            let both = [latency(labels("DRAM random", "thp"), 90.0), latency(labels("DRAM random", "base"), ns)];
            run.experiments[0].findings.extend(both);
        }
    };
    assert!(by_rule(&explain("walks", &with(&base(120.0))), "page-walks").is_some());
    assert!(by_rule(&explain("none", &with(&base(93.0))), "page-walks").is_none());
}

#[test]
fn counters_that_are_wrong_are_a_problem_and_are_not_used() {
    let checked = |faults: Vec<Note>| {
        move |run: &mut Run| {
            run.counters = Some(crate::explain::made::counters(faults.clone()));
        }
    };
    let fault = tiermark_model::messages::counters::boxes_absent(3);
    differ("counters-wrong", &checked(vec![fault.clone()]), &checked(Vec::new()));
    let found = explain("wrong", &with(&checked(vec![fault.clone()])));
    assert_eq!(found.counters, None);
    assert_eq!(found.counts_unused.as_ref().map(|why| why.code.as_str()), Some("counts_wrong"));
    let link_down = found.unjudged.iter().find(|one| one.rule == "link-down").unwrap();
    assert_eq!((link_down.why.code.as_str(), link_down.command.as_deref()), ("counts_wrong", None));
    // The reason says what was wrong.
    assert!(link_down.why.text.contains(&fault.text), "{}", link_down.why);
    let found = explain("right", &with(&checked(Vec::new())));
    assert_eq!(found.counters, Some(CounterSourceId::Perf));
    assert!(found.clear.iter().any(|rule| rule == "slow-channel"));
    // What a source sees in part is below a known stream, and no fault of it; nor can a number rest on it, or on counts
    // that were not compared with anything.
    let partial = |run: &mut Run| {
        let faults = vec![tiermark_model::messages::counters::boxes_absent(3)];
        let sees = vec![CounterSight::LowerBound];
        run.counters = Some(RunCounters { sees, ..crate::explain::made::counters(faults) });
    };
    let unchecked =
        |run: &mut Run| run.counters = Some(RunCounters { check: None, ..crate::explain::made::counters(Vec::new()) });
    let absent = |run: &mut Run| run.counters = None;
    let changes = [(&partial as &Change, "counts_partial"), (&unchecked, "counts_unchecked"), (&absent, "no_counts")];
    for (change, why) in changes {
        let found = explain("not to be trusted", &with(change));
        assert_eq!((problems(&found), found.counters), (Vec::new(), None));
        assert!(found.unjudged.iter().any(|one| one.rule == "link-down" && one.why.code == why), "{why}");
    }
}

#[test]
fn a_document_without_figures_has_nothing_to_explain() {
    let mut empty = run();
    empty.machine = tiermark_model::Machine { cpus: Vec::new(), ..machine() };
    empty.machine.theoretical_peak = None;
    empty.machine.dimms.clear();
    empty.machine.nodes.clear();
    empty.counters = None;
    empty.experiments.clear();
    let found = explain("empty", &empty);
    assert!(found.found.is_empty(), "{:#?}", found.found);
    assert!(found.is_empty(), "{:?}", found.clear);
}
