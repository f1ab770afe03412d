//! Hosts without peers, without documents, with several documents, and before and after a change.

use tiermark_compare::fleet::{Gathered, HostRecord, limits};
use tiermark_expect::{Expectations, check};
use tiermark_model::messages::fleet::codes;
use tiermark_model::{
    FAILED_HOST_SCHEMA, Fact, FailedHost, Finding, Fleet, FleetHost, Grade, HostFailure, HostState, Interval,
    KindFigure, Labels, MemoryChannels, Quantity, Run, TheoreticalPeak, Tier, Unit, Verdict,
};
use tiermark_stats::Rng;

use crate::fleet::made::{BARE, Change, GUEST, Server, memory_errors, record, run, without_module};

const SERVER: Server = Server { product: "Dell R7525", cpu: "EPYC 7343", slots: 16, scatter: BARE, memory: 340.0 };

fn gathered(hosts: usize, rng: &mut Rng) -> Gathered {
    let mut gathered = Gathered::default();
    for at in 0..hosts {
        gathered.add(record(&format!("node{at:02}"), &SERVER, &Change::default(), rng));
    }
    gathered
}

fn host<'a>(fleet: &'a Fleet, name: &str) -> &'a FleetHost {
    fleet.hosts.iter().find(|host| host.host == name).unwrap()
}

fn slow(factor: f64) -> Change {
    Change { figures: vec![("dram", factor)], facts: None }
}

#[test]
fn fewer_than_four_hosts_are_not_judged_but_for_their_health() {
    let mut rng = Rng::new(1);
    let mut few = gathered(2, &mut rng);
    few.add(record("node02", &SERVER, &Change { facts: Some(memory_errors), ..slow(0.5) }, &mut rng));
    let fleet = few.judged(&[]);
    let states: Vec<_> = fleet.hosts.iter().map(|host| (host.host.as_str(), host.state)).collect();
    let expected = [("node02", HostState::Odd), ("node00", HostState::NotJudged), ("node01", HostState::NotJudged)];
    assert_eq!(states, expected);
    assert_eq!(host(&fleet, "node00").reasons[0].code, codes::few_peers);
    assert_eq!(host(&fleet, "node02").causes[0].value.as_deref(), Some("1243 in 5 days, mc0"));
}

#[test]
fn hosts_without_a_document_are_failed_or_missing() {
    let mut rng = Rng::new(2);
    let mut all = gathered(6, &mut rng);
    let failed = |host: &str, at: Option<&str>| FailedHost {
        schema: FAILED_HOST_SCHEMA.into(),
        host: host.into(),
        how: HostFailure::Unreachable,
        exit: None,
        message: "no route to host".into(),
        at: at.map(str::to_owned),
    };
    all.add_failed(failed("node07", None));
    // Measured again after a failure, and lost after a measurement.
    all.add_failed(failed("node01", Some("2026-11-28T09:00:00Z")));
    all.add_failed(failed("node02", Some("2026-11-28T11:00:00Z")));
    let fleet = all.judged(&["node00", "node07", "node09"].map(str::to_owned));
    assert_eq!(host(&fleet, "node07").state, HostState::Failed);
    assert_eq!(host(&fleet, "node09").state, HostState::Missing);
    assert_eq!(host(&fleet, "node01").state, HostState::Alike);
    assert_eq!(host(&fleet, "node02").state, HostState::Failed);
    assert_eq!(fleet.notes.iter().filter(|note| note.code == codes::failed_and_measured).count(), 2);
    assert_eq!(fleet.hosts.len(), 8);
}

#[test]
fn of_two_documents_of_a_host_the_newer_counts() {
    let mut rng = Rng::new(3);
    for newer_first in [false, true] {
        let mut all = gathered(6, &mut rng);
        let old = run("node06", &SERVER, &slow(0.5), &mut rng);
        let new =
            Run { started: "2026-11-28T12:00:00Z".into(), ..run("node06", &SERVER, &Change::default(), &mut rng) };
        let both = if newer_first { [("new", &new), ("old", &old)] } else { [("old", &old), ("new", &new)] };
        for (file, run) in both {
            all.add(HostRecord::of(file, "node06", None, run));
        }
        let fleet = all.judged(&[]);
        assert_eq!((fleet.hosts.len(), host(&fleet, "node06").state), (7, HostState::Alike));
        assert_eq!(fleet.notes[0].text, "node06: the newest of 2 documents counts, new; not old");
    }
}

#[test]
fn names_come_from_labels_then_the_system_then_the_file() {
    let mut rng = Rng::new(4);
    let mut of = run("localhost", &SERVER, &Change::default(), &mut rng);
    let name = |run: &Run| {
        let mut one = Gathered::default();
        one.add(HostRecord::of("rack/a.json", "a", None, run));
        one.judged(&[]).hosts[0].host.clone()
    };
    assert_eq!(name(&of), "a");
    of.machine.system.hostname = Some("evil\u{1b}[2J".into());
    assert_eq!(name(&of), "evil\u{fffd}[2J");
    of.labels.insert("host".into(), "rack7/a".into());
    assert_eq!(name(&of), "rack7/a");
}

#[test]
fn bounds_and_other_pages_are_no_evidence() {
    let mut rng = Rng::new(5);
    let mut all = gathered(8, &mut rng);
    let mut busy = run("busy", &SERVER, &slow(0.7), &mut rng);
    for finding in &mut busy.experiments[0].findings {
        finding.verdict = Verdict { grade: Grade::Bound, reasons: Vec::new() };
    }
    all.add(HostRecord::of("busy", "busy", None, &busy));
    let never = |run: &mut Run| run.machine.system.thp = Some("never".into());
    let mut small = run("small", &SERVER, &Change { figures: vec![("dram", 0.8)], facts: Some(never) }, &mut rng);
    for finding in &mut small.experiments[0].findings {
        finding.labels = finding.labels.clone().with_page("base");
    }
    all.add(HostRecord::of("small", "small", None, &small));
    let fleet = all.judged(&[]);
    let state = |name: &str| (host(&fleet, name).state, host(&fleet, name).reasons[0].text.clone());
    assert_eq!(
        state("busy"),
        (HostState::NotJudged, "0 of 28 figures of its peers are trusted here and comparable with theirs".to_owned())
    );
    let text = "THP never, peers madvise: its figures are not comparable".to_owned();
    assert_eq!(state("small"), (HostState::NotJudged, text));
}

/// The same run without figures of memory that can be judged, whatever else is trusted.
fn without_memory(run: &mut Run, is_lost: fn(&Finding) -> bool) {
    for finding in &mut run.experiments[0].findings {
        let is_memory = finding.labels.tier().is_some_and(Tier::is_memory);
        if is_memory && is_lost(finding) {
            finding.verdict = Verdict { grade: Grade::Bound, reasons: Vec::new() };
        }
    }
}

#[test]
fn nobody_is_alike_whose_memory_was_not_judged() {
    let judged = |is_lost: fn(&Finding) -> bool| {
        let (mut rng, mut all) = (Rng::new(8), Gathered::default());
        for at in 0..8 {
            let name = format!("node{at:02}");
            let mut run = run(&name, &SERVER, &Change::default(), &mut rng);
            without_memory(&mut run, is_lost);
            all.add(HostRecord::of(&name, &name, None, &run));
        }
        all.judged(&[])
    };
    let lost = |fleet: &Fleet| {
        let note = fleet.notes.iter().find(|note| note.code == codes::nobody_judged);
        let has = |state| fleet.hosts.iter().filter(|host| host.state == state).count();
        (note.map(|note| note.text.clone()), has(HostState::NotJudged), has(HostState::Alike))
    };
    let local = "DRAM, all cores; DRAM, one core; DRAM latency";
    let said = |families: &str| Some(format!("no host was judged in {families}"));
    let remote = "remote DRAM, all cores; remote DRAM, one core; remote DRAM latency";
    assert_eq!(lost(&judged(|_| true)), (said(&format!("{local}; {remote}")), 8, 0));
    let latency = lost(&judged(|finding| finding.quantity == Quantity::Latency));
    assert_eq!(latency, (said("DRAM latency; remote DRAM latency"), 8, 0));
    assert_eq!(lost(&judged(|_| false)), (None, 0, 8));
    // Memory of other nodes, and random accesses, say nothing of the rates of local memory.
    let of_local = judged(|finding| finding.labels.tier() == Some(Tier::Dram));
    assert_eq!(lost(&of_local), (said("DRAM, all cores; DRAM, one core"), 8, 0));
    let never = judged(|finding| finding.labels.tier() == Some(Tier::Dram) && finding.labels.op().is_some());
    assert!(limits(&never).is_none(), "a file without rates of local memory");
}

#[test]
fn what_all_hosts_lost_together_is_a_change_of_the_fleet() {
    let judged = |factor: f64, allowed: Option<f64>| {
        let (mut rng, mut all) = (Rng::new(9), Gathered::default());
        let newer = |run: &mut Run| run.machine.system.bios = Some("2.0".into());
        let older = |run: &mut Run| run.machine.system.bios = Some("1.0".into());
        for at in 0..12 {
            let name = format!("node{at:02}");
            let now = Change { figures: vec![("dram.bandwidth", factor)], facts: Some(newer) };
            all.add(record(&name, &SERVER, &now, &mut rng));
            let before = Change { figures: Vec::new(), facts: Some(older) };
            all.add_before(record(&name, &SERVER, &before, &mut rng));
        }
        allowed.into_iter().for_each(|share| all.allow(share));
        all.judged(&[])
    };
    let fleet = judged(0.8, None);
    assert!(fleet.hosts.iter().all(|host| host.state == HostState::Alike), "like each other");
    let loss = fleet.losses.iter().find(|loss| loss.family == "dram.bandwidth.all").unwrap();
    assert!((loss.change + 0.2).abs() < 0.02 && loss.hosts == [12, 12], "{loss:?}");
    let facts: Vec<(&str, &str)> = loss.facts.iter().map(|of| (of.before.as_str(), of.now.as_str())).collect();
    assert_eq!(facts, [("1.0", "2.0")]);
    // What changed is shown also where nothing was lost.
    let sound = judged(1.0, None);
    let changed: Vec<_> = sound.kinds[0].changed.iter().map(|of| (of.fact, of.now.as_str(), of.hosts)).collect();
    assert!(sound.losses.is_empty());
    assert_eq!(changed, [(Fact::Firmware, "2.0", [12, 12])]);
    let documents = loss.documents.as_ref().unwrap();
    assert!(documents[0] == documents[1] && documents[0].starts_with("node"), "the same host: {documents:?}");
    assert!(fleet.losses.iter().all(|loss| loss.family.starts_with("dram")), "{:?}", fleet.losses);
    // A gain is none, and what the user allows is none.
    assert_eq!((judged(1.2, None).losses, judged(0.8, Some(0.3)).losses), (Vec::new(), Vec::new()));
    assert_eq!(gathered(4, &mut Rng::new(1)).judged(&[]).losses, Vec::new());
}

#[test]
fn the_scatter_of_a_few_guests_is_no_loss_of_the_fleet() {
    let server = Server { scatter: GUEST, ..SERVER };
    let lost = |seed: u64| {
        let (mut rng, mut all) = (Rng::new(seed), Gathered::default());
        for at in 0..5 {
            let name = format!("node{at:02}");
            all.add(record(&name, &server, &Change::default(), &mut rng));
            all.add_before(record(&name, &server, &Change::default(), &mut rng));
        }
        !all.judged(&[]).losses.is_empty()
    };
    let alarms = (0..100).filter(|seed| lost(*seed)).count();
    // The level of the test is 2 % of the fleets.
    assert!(alarms <= 6, "{alarms} of 100");
}

#[test]
fn a_change_is_judged_by_the_change_of_the_others() {
    let mut rng = Rng::new(6);
    let mut all = gathered(10, &mut rng);
    let mut before = Rng::new(7);
    // A slow host that was as slow before is none; all gained a tenth in memory but one.
    all.add(record("slow", &SERVER, &slow(0.8), &mut rng));
    all.add(record("left", &SERVER, &slow(1.0 / 1.1), &mut rng));
    all.add(record("new", &SERVER, &Change::default(), &mut rng));
    for at in 0..10 {
        all.add_before(record(&format!("node{at:02}"), &SERVER, &slow(1.0 / 1.1), &mut before));
    }
    all.add_before(record("slow", &SERVER, &slow(0.8 / 1.1), &mut before));
    all.add_before(record("left", &SERVER, &slow(1.0 / 1.1), &mut before));
    let fleet = all.judged(&[]);
    assert!(fleet.is_change && limits(&fleet).is_none());
    let state = |name: &str| host(&fleet, name).state;
    assert_eq!((state("slow"), state("left"), state("new")), (HostState::Alike, HostState::Odd, HostState::NotJudged));
    assert_eq!(host(&fleet, "new").reasons[0].text, "no document from before the change");
    let figure = fleet.kinds[0].figures.iter().find(|of| of.name.as_deref() == Some("read.dram.all")).unwrap();
    assert!((figure.median - 1.1).abs() < 0.01, "{}", figure.median);
}

#[test]
fn limits_are_a_file_that_check_reads_and_that_the_fleet_meets() {
    let mut rng = Rng::new(8);
    let fleet = gathered(30, &mut rng).judged(&[]);
    let text = limits(&fleet).unwrap();
    let expected = Expectations::read("rack7.toml", &text).unwrap();
    assert!(expected.entries.len() > 20, "{text}");
    let of = |change: &Change| {
        let run = run("next", &SERVER, change, &mut Rng::new(9));
        check("next", &run, &expected, false)
    };
    let failed = |change: &Change| of(change).count(tiermark_model::CheckOutcome::Failed);
    assert_eq!(failed(&Change::default()), 0, "{text}");
    assert!(failed(&slow(0.8)) >= 4);
    // A module is missing: less memory. Another kernel is no fault, and another governor is.
    let facts = |change| Change { figures: Vec::new(), facts: Some(change) };
    assert_eq!(failed(&facts(without_module)), 1, "{text}");
    assert_eq!(failed(&facts(|run| run.machine.system.kernel = Some("5.14".to_owned()))), 0);
    assert_eq!(failed(&facts(|run| run.machine.system.governor = Some("powersave".to_owned()))), 1);
    // What was never measured, and another processor, do not pass.
    let judged = |change: fn(&mut Run)| {
        let mut run = run("next", &SERVER, &Change::default(), &mut Rng::new(9));
        change(&mut run);
        check("next", &run, &expected, false)
    };
    let never = judged(|run| run.experiments.clear());
    assert_ne!(never.verdict, tiermark_model::CheckVerdict::Passed, "{never:?}");
    let other = judged(|run| run.machine.cpu_model.name = Some("Xeon Gold 6334".into()));
    assert_eq!(other.count(tiermark_model::CheckOutcome::Failed), 1);
    let wanted = text.replace("\n# [[expect]]\n# that", "\n[[expect]]\nthat");
    let wanted = Expectations::read("rack7.toml", &wanted).unwrap();
    assert!(wanted.entries.len() > expected.entries.len(), "{text}");
}

/// A host whose modules fill fewer channels than those of its peers is odd, and does not meet their limits.
#[test]
fn limits_require_the_filled_channels_where_all_hosts_report_them() {
    let filled = |run: &mut Run, populated: u32| {
        let channels = MemoryChannels { populated, most: Some(8), at_most: false };
        run.machine.theoretical_peak = Some(TheoreticalPeak {
            bytes_per_second: 25.6e9 * f64::from(populated),
            how: String::new(),
            upper_bound: false,
            channels: Some(channels),
        });
    };
    let of = |fill: &dyn Fn(usize, &mut Run)| {
        let (mut rng, mut all) = (Rng::new(8), Gathered::default());
        for at in 0..8 {
            let mut run = run(&format!("node{at:02}"), &SERVER, &Change::default(), &mut rng);
            fill(at, &mut run);
            all.add(HostRecord::of("a.json", "a", None, &run));
        }
        all.judged(&[])
    };
    let fleet = of(&|at, run| filled(run, if at == 3 { 7 } else { 8 }));
    assert_eq!(state(&fleet, "node03"), (HostState::Odd, Some("channels".to_owned())));
    let wanted = "that = \"channels.populated >= 8\"\nrequired = true\n";
    let text = limits(&fleet).unwrap();
    assert!(text.contains(wanted) && Expectations::read("rack7.toml", &text).is_ok(), "{text}");
    let text = limits(&of(&|at, run| {
        if at > 0 {
            filled(run, 8);
        }
    }))
    .unwrap();
    assert!(text.contains("channels.populated >= 8\"\nwhy"), "one host was not measured as root: {text}");
    let text = limits(&of(&|_, _| {})).unwrap();
    assert!(!text.contains("channels") && text.contains("latency.dram.random <= "), "{text}");
}

/// `check` judges a name at all its places.
#[test]
fn figures_of_several_places_have_one_limit_that_all_meet() {
    let mut fleet = gathered(8, &mut Rng::new(8)).judged(&[]);
    let figures = &mut fleet.kinds[0].figures;
    let latency = figures.iter().find(|of| of.name.as_deref() == Some("latency.dram")).unwrap().clone();
    figures.push(KindFigure { median: 2.0 * latency.median, ..latency.clone() });
    figures.push(latency);
    let text = limits(&fleet).unwrap();
    let found: Vec<&str> = text.lines().filter(|line| line.contains("latency.dram <=")).collect();
    let number = found[0].split_once("<= ").and_then(|(_, limit)| limit.split(' ').next()?.parse::<f64>().ok());
    assert!(found.len() == 1 && number.is_some_and(|ns| ns > 185.0), "{found:?}");
}

#[test]
fn between_alike_and_odd_a_host_is_nearly_odd() {
    let of = |loss: f64| {
        let mut all = gathered(15, &mut Rng::new(8));
        let change = Change { figures: vec![("dram.latency", 1.0 + loss)], facts: None };
        all.add(record("slow", &SERVER, &change, &mut Rng::new(9)));
        let fleet = all.judged(&[]);
        let is_near = fleet.notes.iter().any(|note| note.code == codes::nearly_odd && note.data["host"] == "slow");
        (host(&fleet, "slow").state, is_near)
    };
    let found: Vec<_> = (0..80).map(|step| of(f64::from(step) / 400.0)).collect();
    let first = |wanted| found.iter().position(|found| *found == wanted);
    let (near, odd) = (first((HostState::Alike, true)).unwrap(), first((HostState::Odd, false)).unwrap());
    assert!(near > 0 && near < odd && !found.contains(&(HostState::Odd, true)), "{near} {odd} {found:?}");
    // One that is better is no trouble.
    assert!((0..80).all(|step| !of(f64::from(step) / -400.0).1));
}

#[test]
fn texts_of_documents_cannot_leave_their_quotes_in_limits() {
    let mut rng = Rng::new(8);
    let mut all = Gathered::default();
    for at in 0..8 {
        let facts = |run: &mut tiermark_model::Run| {
            run.machine.system.governor = Some("a\"\n[[expect]]".to_owned());
            run.machine.system.kernel = Some("6.8 \\".to_owned());
        };
        let change = Change { figures: Vec::new(), facts: Some(facts) };
        all.add(record(&format!("node{at:02}"), &SERVER, &change, &mut rng));
    }
    let text = limits(&all.judged(&[])).unwrap();
    Expectations::read("rack7.toml", &text).unwrap();
    assert!(!text.contains("governor") && !text.contains("kernel"), "{text}");
}

fn state(fleet: &Fleet, name: &str) -> (HostState, Option<String>) {
    let host = host(fleet, name);
    (host.state, host.causes.first().map(|cause| cause.rule.clone()))
}

#[test]
fn a_batch_of_broken_hosts_is_no_kind_of_its_own_and_a_size_is() {
    let mut rng = Rng::new(11);
    let mut all = Gathered::default();
    for at in 0..20 {
        let broken = Change { figures: vec![("dram.bandwidth.all", 0.9)], facts: Some(without_module) };
        let change = if at < 6 { broken } else { Change::default() };
        all.add(record(&format!("node{at:02}"), &SERVER, &change, &mut rng));
    }
    let small = Server { slots: 8, memory: 170.0, ..SERVER };
    for at in 0..5 {
        all.add(record(&format!("small{at:02}"), &small, &Change::default(), &mut rng));
    }
    let fleet = all.judged(&[]);
    assert_eq!(fleet.kinds.iter().map(|kind| kind.hosts).collect::<Vec<_>>(), [20, 5]);
    for host in &fleet.hosts {
        let broken = ["node00", "node01", "node02", "node03", "node04", "node05"].contains(&host.host.as_str());
        assert_eq!(host.state == HostState::Odd, broken, "{}: {:?}", host.host, host.causes);
        assert!(!broken || host.causes[0].rule == "modules", "{:?}", host.causes);
    }
}

#[test]
fn a_fact_without_a_majority_or_with_few_witnesses_blames_nobody() {
    let mut rng = Rng::new(12);
    let lacking = || Change { figures: Vec::new(), facts: Some(without_module) };
    let mut tie = Gathered::default();
    for at in 0..4 {
        let change = if at < 2 { lacking() } else { Change::default() };
        tie.add(record(&format!("node{at:02}"), &SERVER, &change, &mut rng));
    }
    let fleet = tie.judged(&[]);
    assert!(fleet.hosts.iter().all(|host| host.state == HostState::Alike), "{:?}", fleet.hosts[0].causes);
    let mut few = Gathered::default();
    for at in 0..20 {
        let blind = |run: &mut Run| run.machine.dimms.clear();
        let change = match at {
            0 => lacking(),
            1 => Change::default(),
            _ => Change { figures: Vec::new(), facts: Some(blind) },
        };
        few.add(record(&format!("node{at:02}"), &SERVER, &change, &mut rng));
    }
    let fleet = few.judged(&[]);
    // One module of 16 less memory is seen by all.
    assert_eq!(state(&fleet, "node00"), (HostState::Odd, Some("memory-size".to_owned())));
    assert_eq!(state(&fleet, "node01").0, HostState::Alike);
}

#[test]
fn clones_are_hosts_by_their_files_and_short_names_are_found() {
    let mut rng = Rng::new(13);
    let mut all = Gathered::default();
    for at in 0..6 {
        let run = run("ubuntu", &SERVER, &Change::default(), &mut rng);
        all.add(HostRecord::of(&format!("rack/vm{at}.json"), &format!("vm{at}"), None, &run));
    }
    let run = run("node07.example.com", &SERVER, &Change::default(), &mut rng);
    all.add(HostRecord::of("rack/node07.json", "node07", None, &run));
    let fleet = all.judged(&["node07".to_owned(), "vm3".to_owned()]);
    assert_eq!(fleet.hosts.len(), 7, "{:?}", fleet.hosts.iter().map(|host| &host.host).collect::<Vec<_>>());
    assert!(fleet.hosts.iter().all(|host| host.state == HostState::Alike));
    assert!(fleet.notes.iter().any(|note| note.code == codes::name_of_several));
}

#[test]
fn an_expected_name_may_lack_its_domain() {
    let all = || {
        let (mut rng, mut all) = (Rng::new(13), Gathered::default());
        for name in ["n1.a.org", "n2.a.org", "n2.b.org"] {
            all.add(HostRecord::of("x.json", name, None, &run(name, &SERVER, &Change::default(), &mut rng)));
        }
        all
    };
    let fleet = all().judged(&["n1".to_owned(), "n2.a.org".to_owned(), "n2.b.org".to_owned()]);
    assert_eq!(fleet.hosts.len(), 3, "nobody is missing");
    let fleet = all().judged(&["n2".to_owned()]);
    assert_eq!(state(&fleet, "n2").0, HostState::Missing);
    assert!(fleet.notes.iter().any(|note| note.code == codes::domain_unclear), "{:?}", fleet.notes);
}

#[test]
fn a_change_accuses_nobody_of_what_was_there_before_and_loses_no_host() {
    let mut rng = Rng::new(14);
    let mut all = gathered(8, &mut rng);
    all.add(record("poor", &SERVER, &Change { figures: Vec::new(), facts: Some(without_module) }, &mut rng));
    for at in 0..8 {
        all.add_before(record(&format!("node{at:02}"), &SERVER, &Change::default(), &mut rng));
    }
    all.add_before(record("poor", &SERVER, &Change { figures: Vec::new(), facts: Some(without_module) }, &mut rng));
    all.add_before(record("bricked", &SERVER, &Change::default(), &mut rng));
    let fleet = all.judged(&[]);
    assert_eq!((state(&fleet, "poor").0, state(&fleet, "bricked").0), (HostState::Alike, HostState::Missing));
}

#[test]
fn clones_are_held_against_themselves_before_a_change_and_smt_is_no_size() {
    let mut rng = Rng::new(15);
    let mut all = Gathered::default();
    for at in 0..6 {
        let name = format!("vm{at}");
        let of = |rng: &mut Rng| HostRecord::of(&name, &name, None, &run("ubuntu", &SERVER, &Change::default(), rng));
        all.add(of(&mut rng));
        all.add_before(of(&mut rng));
    }
    let fleet = all.judged(&[]);
    let states: Vec<_> = fleet.hosts.iter().map(|host| (host.host.as_str(), host.state)).collect();
    assert_eq!(states, ["vm0", "vm1", "vm2", "vm3", "vm4", "vm5"].map(|name| (name, HostState::Alike)));

    let mut all = gathered(12, &mut rng);
    for at in 0..5 {
        // Each core loses its second cpu.
        let with_smt = |run: &mut Run| {
            let twins: Vec<_> =
                run.machine.cpus.iter().map(|cpu| tiermark_model::Cpu { id: cpu.id + 16, ..cpu.clone() }).collect();
            run.machine.cpus.extend(twins);
            run.machine.allowed_cpus = (0..32).collect();
        };
        all.add(record(&format!("smt{at}"), &SERVER, &Change { figures: Vec::new(), facts: Some(with_smt) }, &mut rng));
    }
    let fleet = all.judged(&[]);
    assert_eq!((fleet.kinds.len(), state(&fleet, "smt3").1.as_deref()), (1, Some("cpus")));
}

/// Interruptions longer than 20 µs in half a second, each of 60 µs.
fn interrupted(run: &mut Run, count: u64) {
    let each = 60e-6 / 0.5;
    let (low, high) = tiermark_stats::poisson_interval(count, 0.025).unwrap();
    let found = Finding::new(Quantity::InterruptionsLongShare, Labels::new(), Some(count as f64 * each), Unit::Ratio);
    let interval = Some(Interval { low: low * each, high: high * each, level: 0.95 });
    run.experiments[0].findings.push(Finding { interval, samples: count, ..found });
}

#[test]
fn a_host_with_ten_times_the_long_interruptions_of_its_peers_is_odd() {
    // The digit at the end of the name makes the scatter.
    fn usual(run: &mut Run) {
        let digit = run.machine.system.hostname.as_deref().and_then(|name| name.chars().last()?.to_digit(10));
        interrupted(run, 40 + 2 * u64::from(digit.unwrap_or(0)));
    }
    let judged = |of_peers: fn(&mut Run), own: fn(&mut Run)| {
        let mut rng = Rng::new(4);
        let mut all = Gathered::default();
        for at in 0..12 {
            let facts = Some(of_peers);
            all.add(record(&format!("node{at:02}"), &SERVER, &Change { facts, ..Change::default() }, &mut rng));
        }
        all.add(record("noisy", &SERVER, &Change { facts: Some(own), ..Change::default() }, &mut rng));
        let fleet = all.judged(&[]);
        let others = fleet.hosts.iter().filter(|host| host.host != "noisy" && host.state == HostState::Odd).count();
        let causes: Vec<String> = host(&fleet, "noisy").causes.iter().map(|cause| cause.rule.clone()).collect();
        (causes, others)
    };
    let odd = (vec!["interrupted".to_owned()], 0);
    assert_eq!(judged(usual, |run| interrupted(run, 480)), odd);
    assert_eq!(judged(|run| interrupted(run, 0), |run| interrupted(run, 450)), odd, "its peers have none");
    assert_eq!(judged(usual, |run| interrupted(run, 90)), (Vec::new(), 0), "twice as many");
    assert_eq!(judged(|run| interrupted(run, 0), |run| interrupted(run, 19)), (Vec::new(), 0), "too few to tell");
}
