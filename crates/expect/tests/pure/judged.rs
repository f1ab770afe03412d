//! Made runs, judged: what each grade of a number decides, and which place is the worst.

use crate::common::{clocked, graded, judged, latency, limits, outcome, read_all, reasons, run};
use tiermark_expect::{Expectations, check, figures};
use tiermark_model::messages::check::codes;
use tiermark_model::messages::plan;
use tiermark_model::{
    Bytes, CheckOutcome, Contradiction, Cure, DisputedFact, Finding, HealthCount, IdSet, Interval, Known, Labels,
    MemoryChannels, MemoryErrors, NamedValue, Node, PerCycle, Purpose, Quantity, Reason, Run, RunHealth, Throttling,
    Unit, Verdict, View,
};

use CheckOutcome::{Failed, Passed, Unjudged};

#[test]
fn an_expectation_holds_for_every_node_and_the_worst_is_named() {
    let run = run(vec![latency(0, 0, 80.0), latency(1, 1, 90.0), latency(0, 1, 150.0), latency(1, 0, 200.0)]);
    let local = judged(&run, "latency.dram.local <= 95 ns");
    assert_eq!((local.outcome, local.passed), (Passed, 2));
    assert_eq!(local.worst.unwrap().place.as_deref(), Some("node 1"));
    // 150 / 80 and 200 / 90: a quotient is of the same cpus.
    let ratio = judged(&run, "latency.dram.remote / latency.dram.local <= 2.2");
    assert_eq!((ratio.outcome, ratio.passed, ratio.failed), (Failed, 1, 1));
    let worst = ratio.worst.unwrap();
    assert_eq!(worst.place.as_deref(), Some("cpus of node 1, memory of node 0, against node 1"));
    assert!((worst.value - 200.0 / 90.0).abs() < 1e-9 && worst.margin.unwrap() < 0.0);
    assert_eq!(outcome(&run, "2.3 >= latency.dram.remote / latency.dram"), Passed);
}

#[test]
fn a_bound_decides_in_one_direction() {
    let run = run(vec![graded(latency(0, 0, 80.0), Verdict::bound), graded(read_all(0, 30.0), Verdict::bound)]);
    assert_eq!(outcome(&run, "latency.dram <= 90 ns"), Passed);
    assert_eq!(reasons(&run, "latency.dram <= 70 ns"), [codes::bound_does_not_decide]);
    assert_eq!(outcome(&run, "latency.dram > 90 ns"), Failed);
    assert_eq!(outcome(&run, "read.dram.all >= 25 GB/s"), Passed);
    let open = judged(&run, "read.dram.all >= 40 GB/s");
    assert_eq!((open.outcome, open.worst.unwrap().value_is), (Unjudged, Known::AtLeast));
}

#[test]
fn doubted_and_missing_numbers_are_not_judged() {
    let withheld = Finding { value: None, ..graded(latency(1, 1, 0.0), Verdict::invalid) };
    let run = run(vec![graded(latency(0, 0, 80.0), Verdict::suspect), withheld, read_all(0, f64::NAN)]);
    assert_eq!(reasons(&run, "latency.dram <= 90 ns"), [codes::figure_suspect, codes::figure_withheld]);
    assert_eq!(reasons(&run, "latency.l3 <= 90 ns"), [codes::figure_not_measured]);
    assert_eq!(reasons(&run, "read.dram.all >= 1 GB/s"), [codes::figure_withheld]);
    assert_eq!(reasons(&run, "loaded.saturated <= 90 ns"), [codes::figure_not_measured]);
    let command = |that: &str| judged(&run, that).reasons[0].data["command"].as_str().unwrap().to_owned();
    assert_eq!(command("latency.dram.remote <= 9 ns"), "matrix");
    assert_eq!(command("triad.dram.all >= 9 GB/s"), "bandwidth --op triad");
    assert_eq!(reasons(&run, "latency.dram.far <= 9 ns"), [codes::no_such_memory]);
}

#[test]
fn memory_of_another_node_only_is_judged_as_remote_and_local_figures_say_why_they_are_missing() {
    let mut run = run(vec![latency(0, 1, 150.0)]);
    (run.machine.allowed_cpus, run.machine.allowed_nodes) = ("0-1".parse().unwrap(), "1".parse().unwrap());
    assert_eq!(outcome(&run, "latency.dram.remote <= 200 ns"), Passed);
    assert_eq!(reasons(&run, "read.dram.all >= 0.7 x peak"), [codes::no_own_memory]);
    let said = judged(&run, "latency.dram <= 90 ns").reasons[0].text.clone();
    assert!(said.contains("of node 1, its cpus are of node 0"), "{said}");
    run.machine.allowed_nodes = IdSet::new();
    assert_eq!(reasons(&run, "latency.dram <= 90 ns"), [codes::figure_not_measured]);
}

#[test]
fn a_figure_below_the_record_of_its_machine_is_judged_as_it_is() {
    let mut below = read_all(0, 60.0);
    below.verdict.bound(Reason::BelowRecord { record: 170e9, is_time: false, date: String::new(), clocks: None });
    let mut run = run(vec![below]);
    assert_eq!(outcome(&run, "read.dram.all >= 150 GB/s"), Failed);
    // Other guests may use the memory all the time.
    run.machine.system.hypervisor = Some("KVM".into());
    assert_eq!(outcome(&run, "read.dram.all >= 150 GB/s"), Unjudged);
}

#[test]
fn a_place_without_a_partner_has_not_passed() {
    let run = run(vec![latency(0, 0, 80.0), latency(0, 1, 150.0), latency(1, 0, 300.0)]);
    let found = judged(&run, "latency.dram.remote / latency.dram.local <= 2.2");
    assert_eq!((found.outcome, found.passed, found.unjudged), (Unjudged, 1, 1));
    assert_eq!(found.reasons[0].code, codes::no_common_place);
}

#[test]
fn rates_of_different_cores_have_no_quotient() {
    let remote = {
        let mut of = read_all(0, 40.0);
        of.labels = of.labels.with_node(1);
        of
    };
    let all = {
        let mut of = read_all(0, 170.0);
        of.labels = of.labels.with_cpus("0-3").with_threads(4);
        of
    };
    let run = run(vec![remote, all]);
    assert_eq!(reasons(&run, "read.dram.remote.all / read.dram.all >= 0.5"), [codes::no_common_place]);
}

#[test]
fn numbers_of_some_modules_only_are_not_judged() {
    let mut run = run(vec![read_all(0, 130.0)]);
    let modules = run.machine.dimms.iter().filter(|dimm| dimm.populated).count();
    let dimm = run.machine.dimms.iter_mut().find(|dimm| dimm.populated).unwrap();
    dimm.bytes = None;
    assert!(modules > 1);
    assert_eq!(reasons(&run, "dimms.smallest / dimms.largest >= 1"), [codes::modules_stated_in_part]);
    let view = View { source: String::new(), says: String::new() };
    let found = Contradiction { fact: DisputedFact::Modules, used: view.clone(), set_aside: view };
    run.machine.contradictions = vec![found];
    run.machine.system.memory_bytes = Some(u64::MAX);
    for that in ["dimms.smallest / dimms.largest >= 1", "dimms.speed >= rated", "channels.populated >= channels"] {
        assert_eq!(reasons(&run, that), [codes::modules_not_listed], "{that}");
    }
}

/// Fewer modules than channels leave some empty, whichever they are in.
#[test]
fn channels_that_are_known_at_most_can_fail_only() {
    let mut run = run(vec![read_all(0, 130.0)]);
    let at_most = MemoryChannels { populated: 15, most: Some(16), at_most: true };
    run.machine.theoretical_peak.as_mut().unwrap().channels = Some(at_most);
    let outcome = |that: &str| judged(&run, that).outcome;
    assert_eq!(outcome("channels.populated >= channels"), Failed);
    assert_eq!(outcome("channels.populated >= 8"), Unjudged);
}

#[test]
fn a_peak_of_an_older_document_may_be_lower() {
    let mut old = run(vec![read_all(0, 10.0)]);
    old.machine.theoretical_peak.as_mut().unwrap().channels = None;
    assert_eq!(reasons(&old, "read.dram.all >= 0.7 x peak"), [codes::peak_is_upper_bound]);
    old.machine.theoretical_peak.as_mut().unwrap().bytes_per_second = 0.0;
    assert_eq!(reasons(&old, "read.dram.all >= 0.7 x peak"), [codes::check_peak_unknown]);
}

#[test]
fn expectations_without_a_figure_or_with_endless_numbers_are_refused() {
    for that in ["50 ns <= 100 ns", &format!("latency.dram <= 1{} ns", "0".repeat(400))] {
        assert!(limits(&format!("[[expect]]\nthat = \"{that}\"\n")).is_err(), "{that}");
    }
}

#[test]
fn a_better_measurement_of_the_same_place_counts() {
    let run = run(vec![graded(latency(0, 0, 300.0), Verdict::suspect), latency(0, 0, 80.0), latency(0, 0, 85.0)]);
    let found = judged(&run, "latency.dram <= 82 ns");
    assert_eq!((found.outcome, found.passed), (Passed, 1));
}

#[test]
fn the_peak_is_that_of_the_memory() {
    // Each node has half of the 307.2 GB/s.
    let full = run(vec![read_all(0, 130.0), read_all(1, 100.0)]);
    let found = judged(&full, "read.dram.all >= 0.7 x peak");
    assert_eq!((found.outcome, found.passed, found.failed), (Failed, 1, 1));
    let worst = found.worst.unwrap();
    assert_eq!((worst.place.as_deref(), worst.limit.round()), (Some("node 1"), 107_520_000_000.0));
    // A peak that may be lower can only be passed.
    let mut unsure = full.clone();
    unsure.machine.theoretical_peak.as_mut().unwrap().upper_bound = true;
    let found = judged(&unsure, "read.dram.all >= 0.7 x peak");
    assert_eq!((found.outcome, found.passed, found.unjudged), (Unjudged, 1, 1));
    assert_eq!(found.reasons[0].code, codes::peak_is_upper_bound);
    // A guest's modules are made up.
    let mut guest = full.clone();
    guest.machine.system.hypervisor = Some("KVM".into());
    assert_eq!(reasons(&guest, "read.dram.all >= 0.7 x peak"), [codes::check_peak_of_guest]);
    let mut bare = full;
    bare.machine.theoretical_peak = None;
    assert_eq!(reasons(&bare, "read.dram.all >= 0.7 x peak"), [codes::check_peak_unknown]);
}

/// The second node has lost its cpus, all or in part.
#[test]
fn the_peak_is_that_of_memory_whose_cores_are_online() {
    let that = "read.dram.all >= 0.7 x peak";
    let mut dark = run(vec![read_all(0, 130.0)]);
    dark.machine.cpus.truncate(2);
    (dark.machine.offline_cpus, dark.machine.filled_sockets) = ("2-3".parse().unwrap(), 2);
    (dark.machine.nodes[1].cpus, dark.machine.nodes[1].hides_cpus) = (IdSet::new(), true);
    let found = judged(&dark, that);
    assert_eq!((found.outcome, found.worst.unwrap().limit.round()), (Passed, 107_520_000_000.0), "of node 0 alone");
    let links = "[[expect]]\nthat = 'peak > 0'\nneeds = ['two-sockets']\n";
    let links = Expectations::read("a file", links).unwrap();
    let lacks = check("made", &dark, &links, false).results.remove(0).reasons[0].to_string();
    assert!(lacks.contains("offline cpus: 2-3"), "{lacks}");

    let mut part = run(vec![read_all(0, 130.0), read_all(1, 40.0)]);
    part.machine.cpus.truncate(3);
    part.machine.offline_cpus = "3".parse().unwrap();
    part.machine.nodes[1].cpus = "2".parse().unwrap();
    let found = judged(&part, that);
    assert_eq!((found.outcome, found.passed, found.unjudged), (Unjudged, 1, 1));
    assert_eq!(found.reasons[0].code, codes::cores_offline);
    assert!(found.reasons[0].to_string().contains("offline cpus: 3"), "{:?}", found.reasons);
}

#[test]
fn nodes_are_compared_by_what_the_machine_has() {
    let that = "nodes.smallest / nodes.largest >= 90 %";
    let mut run = run(Vec::new());
    (run.machine.nodes[1].memory_bytes, run.machine.nodes[1].offline_bytes) = (Some(32 << 30), Some(32 << 30));
    assert_eq!(outcome(&run, that), Passed, "memory that is offline is there");
    run.machine.nodes[1].offline_bytes = None;
    assert_eq!(outcome(&run, that), Failed);
    run.machine.nodes[1].memory_bytes = Some(0);
    assert_eq!(outcome(&run, that), Passed, "a node without memory is no small one");
}

#[test]
fn the_module_that_holds_others_back_is_named() {
    let mut run = run(Vec::new());
    for dimm in &mut run.machine.dimms {
        dimm.configured_transfers = Some(4.4e9);
    }
    run.machine.dimms[3].rated_transfers = Some(4.4e9);
    let slow = judged(&run, "dimms.speed >= 0.99 x rated");
    assert_eq!((slow.outcome, slow.failed, slow.passed), (Failed, 7, 1));
    let place = slow.worst.unwrap().place.unwrap();
    assert_eq!(place, "A0 (module 0), held back by A3: rated at only 4400 MT/s");
}

#[test]
fn modules_of_one_processor_are_of_one_size() {
    let mut run = run(Vec::new());
    for (slot, dimm) in run.machine.dimms.iter_mut().enumerate() {
        dimm.processor = Some(format!("p{}", slot / 4));
        dimm.bytes = Some(if slot < 4 { 16 << 30 } else { 8 << 30 });
    }
    let both = judged(&run, "dimms.smallest / dimms.largest >= 1");
    assert_eq!((both.outcome, both.passed), (Passed, 2));
    run.machine.dimms[0].bytes = Some(8 << 30);
    assert_eq!(outcome(&run, "dimms.smallest / dimms.largest >= 1"), Failed);
}

#[test]
fn a_figure_that_cannot_be_had_names_why_and_no_command() {
    let mut run = run(vec![latency(0, 0, 80.0)]);
    assert_eq!(reasons(&run, "read.dram.all >= 1 GB/s"), [codes::figure_not_measured]);
    assert_eq!(reasons(&run, "latency.dram.remote >= 1 ns"), [codes::figure_not_measured]);
    let gib = |gib: u64| Bytes(gib << 30);
    let refusal = |tier: &str, threads| {
        plan::memory_within_caches(tier, threads, gib(1), "half", gib(2), &Cure::new("raise it", &[]))
    };
    run.experiments[0].plan.refused = vec![refusal("DRAM", 1), refusal("DRAM", 4), refusal("DRAM node 1", 1)];
    let said = |run: &Run, that: &str| judged(run, that).reasons[0].to_string();
    let all = said(&run, "read.dram.all >= 1 GB/s");
    assert!(all.starts_with("read.dram.all was refused: 1 GiB") && all.ends_with("To measure it, raise it"), "{all}");
    assert_eq!(reasons(&run, "latency.dram.remote >= 1 ns"), [codes::figure_refused]);
    assert_eq!(reasons(&run, "read.l3.all >= 1 GB/s"), [codes::figure_not_measured]);
    // The process may use the memory of one node, and then one core.
    run.machine.allowed_cpus = "0-1".parse().unwrap();
    run.machine.allowed_nodes = "0".parse().unwrap();
    assert_eq!(reasons(&run, "latency.dram.remote >= 1 ns"), [codes::other_memory_forbidden]);
    run.machine.allowed_cpus = "0".parse().unwrap();
    assert_eq!(reasons(&run, "read.dram.all >= 1 GB/s"), [codes::second_core_lacking]);
}

#[test]
fn modules_of_one_kind_are_of_one_size() {
    let mut run = run(Vec::new());
    for dimm in run.machine.dimms.iter_mut().take(4) {
        (dimm.kind, dimm.bytes) = (Some("Non-volatile".into()), Some(128 << 30));
    }
    let both = judged(&run, "dimms.smallest / dimms.largest >= 1");
    assert_eq!((both.outcome, both.passed), (Passed, 2));
    run.machine.dimms[0].bytes = Some(256 << 30);
    let one = judged(&run, "dimms.smallest / dimms.largest >= 1");
    assert_eq!((one.outcome, one.passed, one.failed), (Failed, 1, 1));
    assert_eq!(one.worst.unwrap().place.as_deref(), Some("Non-volatile modules"));
}

#[test]
fn a_rate_of_fewer_cores_is_a_lower_bound() {
    let mut few = read_all(0, 50.0);
    few.labels = few.labels.with_cpus("0").with_threads(1);
    let run = run(vec![few]);
    assert_eq!(outcome(&run, "read.dram.all >= 40 GB/s"), Passed);
    assert_eq!(reasons(&run, "read.dram.all >= 60 GB/s"), [codes::fewer_cores]);
}

#[test]
fn modules_are_compared_one_by_one() {
    let mut run = run(Vec::new());
    assert_eq!(outcome(&run, "dimms.speed >= rated"), Passed);
    assert_eq!(outcome(&run, "dimms.smallest / dimms.largest >= 1"), Passed);
    assert_eq!(outcome(&run, "channels.populated >= channels"), Failed);
    run.machine.dimms[3].configured_transfers = Some(4.4e9);
    run.machine.dimms[3].bytes = Some(8 << 30);
    let slow = judged(&run, "dimms.speed >= rated");
    assert_eq!((slow.outcome, slow.failed, slow.passed), (Failed, 1, 7));
    assert_eq!(slow.worst.unwrap().place.as_deref(), Some("A3 (module 3)"));
    assert_eq!(outcome(&run, "dimms.smallest / dimms.largest >= 1"), Failed);
    // A hypervisor makes modules up.
    let mut guest = run.clone();
    guest.machine.system.hypervisor = Some("KVM".into());
    for that in ["dimms.speed >= rated", "dimms.smallest / dimms.largest >= 1"] {
        assert_eq!(reasons(&guest, that), [codes::modules_unknown]);
    }
    run.machine.dimms.clear();
    assert_eq!(reasons(&run, "dimms.speed >= rated"), [codes::modules_unknown]);
}

#[test]
fn errors_and_throttling_are_known_or_not_and_never_zero_for_nothing() {
    let mut run = run(Vec::new());
    assert_eq!(reasons(&run, "edac.corrected <= 0"), [codes::errors_not_reported]);
    assert_eq!(reasons(&run, "throttle.core <= 0"), [codes::throttling_not_reported]);
    let errors = |place: &str, before, after| MemoryErrors {
        place: place.to_owned(),
        corrected: Some(HealthCount::new(before, after)),
        ..MemoryErrors::default()
    };
    let mc0 = MemoryErrors { parts: vec![errors("mc0/dimm1", 3, Some(5))], ..errors("mc0", 3, Some(5)) };
    let throttling =
        Throttling { cores: Some(HealthCount::new(9, Some(9))), cpus: IdSet::new(), ..Throttling::default() };
    run.health = Some(RunHealth {
        memory: Some(vec![mc0, errors("mc1", 0, Some(0))]),
        throttling: Some(vec![throttling]),
        ..RunHealth::default()
    });
    let grown = judged(&run, "edac.corrected <= 0");
    assert_eq!((grown.outcome, grown.passed, grown.failed), (Failed, 1, 1));
    assert_eq!(grown.worst.unwrap().place.as_deref(), Some("mc0/dimm1"));
    assert_eq!(outcome(&run, "edac.corrected.boot <= 5"), Passed);
    assert_eq!((outcome(&run, "throttle.core <= 0"), outcome(&run, "throttle.core.boot <= 0")), (Passed, Failed));
    assert_eq!(reasons(&run, "throttle.package <= 0"), [codes::throttling_not_reported]);
    assert_eq!(reasons(&run, "edac.uncorrected <= 0"), [codes::errors_not_reported]);
    // A run that was killed.
    run.health = Some(RunHealth { memory: Some(vec![errors("mc0", 3, None)]), ..RunHealth::default() });
    assert_eq!(reasons(&run, "edac.corrected <= 0"), [codes::counter_lost]);
}

#[test]
fn quotients_without_a_value_are_not_judged() {
    let mut run = run(vec![latency(0, 0, 0.0), latency(0, 1, 150.0)]);
    assert_eq!(reasons(&run, "latency.dram.remote / latency.dram <= 2"), [codes::quotient_undefined]);
    run.experiments[0].findings = vec![latency(0, 1, 150.0), latency(1, 1, 80.0)];
    assert_eq!(reasons(&run, "latency.dram.remote / latency.dram <= 2"), [codes::no_common_place]);
}

/// A document from anywhere: many figures of many places end in bounded time, with a reason.
#[test]
fn more_places_than_any_machine_has_are_refused() {
    let mut many: Vec<Finding> = Vec::new();
    for from in 0..2u32 {
        many.extend((0..5000).map(|node| latency(from, node, 80.0)));
    }
    let mut run = run(many);
    let node = |id: u32| Node { id, cpus: [9000 + id].into_iter().collect(), ..Node::default() };
    run.machine.nodes.extend((2..5000).map(node));
    assert_eq!(reasons(&run, "latency.dram.remote / latency.dram.remote <= 2"), [codes::too_many_places]);
    assert_eq!(outcome(&run, "latency.dram.remote <= 90 ns"), Passed);
}

#[test]
fn every_name_of_a_run_is_listed() {
    let ladder = |tier: &str| Labels::new().with_purpose(Purpose::Ladder).with_tier_name(tier);
    let odd = |tier: &str| Finding::new(Quantity::Latency, ladder(tier), Some(9.0), Unit::Ns);
    let listed = figures(&run(vec![latency(0, 0, 80.0), read_all(0, 130.0), odd("DRAM 4K"), odd("memory-side cache")]));
    let of = |name: &str| listed.iter().find(|figure| figure.name == name).unwrap();
    assert_eq!(of("latency.dram").value, Ok(NamedValue::Number(80.0, Known::Exactly)));
    assert_eq!(of("read.dram.all").place.as_deref(), Some("node 0"));
    assert_eq!(of("peak").value, Ok(NamedValue::Number(153.6e9, Known::Exactly)));
    assert_eq!(of("edac.corrected").value.as_ref().unwrap_err().code, codes::errors_not_reported);
    for figure in &listed {
        assert!(limits(&format!("[[expect]]\nthat = \"{0} == {0}\"", figure.name)).is_ok(), "{}", figure.name);
    }
}

/// The rule of thumb for remote latencies was published for servers of one node a socket: others are healthy beyond it.
#[test]
fn remote_latencies_are_judged_where_a_socket_is_one_node() {
    let rules = limits(tiermark_expect::AUTO).unwrap();
    let result = |run: &Run| {
        let found = check("made", run, &rules, false).results.into_iter();
        found.into_iter().find(|one| one.that.starts_with("latency.dram.remote")).unwrap()
    };
    let far = run(vec![latency(0, 0, 74.0), latency(0, 1, 196.0)]);
    assert_eq!(result(&far).outcome, CheckOutcome::Failed);
    let mut split = far.clone();
    for cpu in &mut split.machine.cpus {
        cpu.node = Some(cpu.id);
    }
    let judged = result(&split);
    assert_eq!((judged.outcome, &judged.reasons[0].code), (CheckOutcome::Unjudged, &codes::needs_whole_sockets));
    let mut four = far;
    for cpu in &mut four.machine.cpus {
        (cpu.socket, cpu.node) = (cpu.id, Some(cpu.id));
    }
    assert_eq!(result(&four).reasons[0].code, codes::needs_two_sockets);
}

#[test]
fn a_need_that_nobody_knows_is_a_mistake() {
    let read_with = |needs: &str| limits(&format!("[[expect]]\nthat = \"latency.dram <= 90 ns\"\nneeds = {needs}\n"));
    assert_eq!(read_with("[\"whole-sockets\"]").unwrap().entries[0].needs.len(), 1);
    for wrong in ["[\"whole-socket\"]", "\"whole-sockets\"", "[2]"] {
        let mistakes = read_with(wrong).unwrap_err();
        assert_eq!((mistakes[0].line, mistakes[0].key.as_str()), (3, "expect 1.needs"), "{wrong}");
    }
}

#[test]
fn what_the_core_clocks_has_names_per_cycle() {
    let of = |cycles: Option<f64>| {
        let per_cycle = |unit: Unit| cycles.map(|value| PerCycle { value, unit });
        let latency = clocked(Quantity::Latency, 1.6, per_cycle(Unit::Cycles));
        let read = clocked(Quantity::Bandwidth, 380e9, per_cycle(Unit::BytesPerCycle));
        let clock = Finding::new(Quantity::CoreClock, Labels::new(), Some(3.1e9), Unit::Hz);
        let mut run = run(vec![latency.0, read.0, clock]);
        run.experiments[0].observations = vec![latency.1, read.1];
        run
    };
    let run = of(Some(5.0));
    let of_all = |that: &[&str]| that.iter().map(|that| outcome(&run, that)).collect::<Vec<CheckOutcome>>();
    assert_eq!(
        of_all(&["latency.l1.cycles <= 5", "latency.l1.cycles <= 4.9", "latency.l1 <= 2 ns"]),
        [Passed, Failed, Passed]
    );
    assert_eq!(of_all(&["read.l1.one.bytes_per_cycle >= 5", "read.l1.one.bytes_per_cycle > 5"]), [Passed, Failed]);
    assert_eq!(of_all(&["core.clock >= 3 GHz", "core.clock >= 3.2 GHz"]), [Passed, Failed]);
    assert!(limits("[[expect]]\nthat = \"latency.l1.cycles <= 5 ns\"\n").is_err(), "cycles are no time");
    // A bound decides in one direction, as in time.
    let mut bound = of(Some(5.0));
    bound.experiments[0].findings[0] = graded(bound.experiments[0].findings[0].clone(), Verdict::bound);
    assert_eq!(outcome(&bound, "latency.l1.cycles <= 5"), Passed);
    assert_eq!(outcome(&bound, "latency.l1.cycles <= 4"), Unjudged);
    assert_eq!(reasons(&of(None), "latency.l1.cycles <= 5"), [codes::cycles_unknown]);
    assert_eq!(reasons(&of(None), "latency.l2.cycles <= 5"), [codes::figure_not_measured]);
    assert_eq!(reasons(&self::run(Vec::new()), "core.clock > 1 GHz"), [codes::clock_unknown]);
}

#[test]
fn the_share_of_interruptions_is_judged_as_far_as_their_number_tells() {
    let of = |count: u64| {
        let found = Finding::new(Quantity::InterruptionsLongShare, Labels::new(), Some(0.01), Unit::Ratio);
        let interval = Some(Interval { low: 0.005, high: 0.02, level: 0.95 });
        self::run(vec![Finding { interval, samples: count, ..found }])
    };
    assert_eq!(outcome(&of(20), "interruptions.long.share <= 1.2 %"), Passed);
    assert_eq!(outcome(&of(20), "interruptions.long.share <= 0.9 %"), Failed);
    assert_eq!(outcome(&of(9), "interruptions.long.share <= 1.2 %"), Unjudged);
    assert_eq!(outcome(&of(9), "interruptions.long.share <= 3 %"), Passed);
    assert_eq!(reasons(&of(20), "interruptions.share <= 3 %"), [codes::interruptions_unknown]);
}

/// What limits a figure: the bound of its worse side, on a machine that the expectation is for.
#[test]
fn figures_without_a_limit_are_named() {
    let mut run = run(vec![latency(0, 0, 80.0), read_all(0, 130.0)]);
    let unlimited = |run: &Run, that: &str| {
        let expected = limits(&format!("[[expect]]\nthat = '{that}'\nneeds = ['bare-metal']\n")).unwrap();
        check("made", run, &expected, false).unlimited
    };
    let is_named = |run: &Run, that: &str| unlimited(run, that).contains(&"latency.dram".to_owned());
    for limiting in ["latency.dram <= 100 ns", "100 ns >= latency.dram", "latency.dram < 1 ns"] {
        assert!(!is_named(&run, limiting), "{limiting}");
    }
    for other in ["latency.dram >= 10 ns", "latency.dram / latency.dram.local <= 2", "read.dram.all >= 1 GB/s"] {
        assert!(is_named(&run, other), "{other}");
    }
    run.machine.system.hypervisor = Some("KVM".to_owned());
    assert!(is_named(&run, "latency.dram <= 100 ns"), "it is not for guests");
}
