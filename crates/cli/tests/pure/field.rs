//! The machines of `shared/fixtures/field`, and the same with one view of one fact changed: `machine`, `doctor` and
//! `check` agree, and name what contradicts itself. Where the fixtures are missing, the test says so and passes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tiermark_expect::check_by_rules_of_thumb;
use tiermark_machine::synth::Synth;
use tiermark_machine::{HealthCounts, LiveFacts, Root, discover, dmi};
use tiermark_model::{CheckOutcome, CheckResult, CheckRow, Checkup, Dimm, DisputedFact, Health, Machine, Run};
use tiermark_page::{Detail, Style, terminal};
use tiermark_tune::doctor::{CheckInput, checkup, problems};

const CPU: &str = "sys/devices/system/cpu";
const NODE: &str = "sys/devices/system/node";

/// The captured machines.
fn fixtures() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures/field");
    let Ok(entries) = std::fs::read_dir(&dir) else {
        crate::common::skipped(format_args!("{} is not here", dir.display()));
        return Vec::new();
    };
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.to_string_lossy().ends_with(".tar.gz"));
    all.sort();
    assert!(!all.is_empty());
    all
}

/// A tree: the text of each file below its root. Tables of the firmware are no text and stay out.
type Tree = BTreeMap<String, String>;

fn tree(archive: &Path) -> Tree {
    let bytes = flate2::read::GzDecoder::new(std::fs::File::open(archive).unwrap());
    let mut archive = tar::Archive::new(bytes);
    let mut files = Tree::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().trim_start_matches("./").to_owned();
        let mut text = String::new();
        if entry.header().entry_type().is_file() && std::io::Read::read_to_string(&mut entry, &mut text).is_ok() {
            files.insert(path, text);
        }
    }
    files
}

/// A run on a machine that measured nothing.
fn run(machine: Machine) -> Run {
    Run { id: "made".to_owned(), title: "survey".to_owned(), seconds: 1.0, seed: 1, machine, ..Run::default() }
}

/// What the three commands say of a tree.
struct Said {
    machine: Machine,
    shown: String,
    doctor: Checkup,
    checked: String,
    check: tiermark_model::Check,
}

fn said(files: &Tree) -> Said {
    said_of(files, |_| ())
}

/// The same of a machine that is changed after it was read.
fn said_of(files: &Tree, change: impl Fn(&mut Machine)) -> Said {
    let root = Root::from_files("test", files.iter().map(|(path, text)| (path.clone(), text.clone())));
    let mut machine = discover(&root, &LiveFacts::default()).unwrap();
    change(&mut machine);
    let style = Style { width: 120, ..Style::default() };
    let counted = HealthCounts::read(&root, &machine);
    let health = counted.run(Some(&counted), &machine);
    let run = Run { problems: Some(problems(&root, &machine)), health, ..run(machine.clone()) };
    let check = check_by_rules_of_thumb(&run);
    Said {
        shown: terminal(&tiermark_report::machine(&machine, Detail::Usual), &style),
        doctor: checkup(&CheckInput { root: &root, machine: &machine, busy: None, interrupted: None, held: &[] }),
        checked: terminal(&tiermark_report::judgements::check(&check, Detail::Usual), &style),
        check,
        machine,
    }
}

/// Checks of doctor beside the rules of thumb for the same.
const JUDGED_TWICE: [(&str, &str); 4] = [
    ("memory channels", "channels.populated >= channels"),
    ("module speed", "dimms.speed >= 0.99 x rated"),
    ("module sizes", "dimms.smallest / dimms.largest >= 1"),
    ("node sizes", "nodes.smallest / nodes.largest >= 90 %"),
];

impl Said {
    fn check_of(&self, name: &str) -> &CheckRow {
        self.doctor.checks.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no check {name}"))
    }

    fn row(&self, name: &str) -> &str {
        &self.check_of(name).value
    }

    fn rule(&self, that: &str) -> &CheckResult {
        self.check.results.iter().find(|result| result.that == that).unwrap_or_else(|| panic!("no rule {that}"))
    }

    /// A problem of doctor is a failure, and what is right for doctor is right for the rules.
    fn judges_alike(&self, what: &str) {
        let problems = self.doctor.count(Health::Problem);
        assert_eq!(self.rule("doctor.problems <= 0").outcome == CheckOutcome::Failed, problems > 0, "{what}");
        for (row, rule) in JUDGED_TWICE {
            let expected = match self.check_of(row).health {
                Health::Ok => CheckOutcome::Passed,
                Health::NotHere => CheckOutcome::Unjudged,
                Health::Note | Health::Problem => CheckOutcome::Failed,
            };
            assert_eq!(self.rule(rule).outcome, expected, "{what}: {row}: {:?}", self.check_of(row));
        }
    }

    /// Every command has every contradiction, and none has another number than the description.
    fn agrees(&self, what: &str) {
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let machine = &self.machine;
        for found in machine.contradictions.iter().map(ToString::to_string) {
            for (command, text) in [("machine", plain(&self.shown)), ("check", plain(&self.checked))] {
                assert!(text.contains(&found), "{what}: {command} does not name '{found}': {text}");
            }
            assert!(self.row("facts of the machine").contains(&found), "{what}: doctor does not name '{found}'");
        }
        assert_eq!(self.check.contradictions, machine.contradictions, "{what}");
        self.judges_alike(what);
        // Cpus: allowed ones are online, offline ones are neither, and each has at most one node.
        assert!(machine.allowed_cpus.is_subset(&machine.online()), "{what}");
        assert!(machine.offline_cpus.intersection(&machine.online()).is_empty(), "{what}");
        assert_eq!(self.row("cpus offline") == "none", machine.offline_cpus.is_empty(), "{what}");
        let of_nodes: usize = machine.nodes.iter().map(|node| node.cpus.len()).sum();
        assert!(of_nodes <= machine.cpus.len(), "{what}");
        // Memory without cpus is what no node's cpus are missing for.
        let bare = machine.nodes.iter().filter(|node| node.is_memory_only()).count();
        assert_eq!(self.row("memory tiers").contains("without cpus"), bare > 0, "{what}: {}", self.row("memory tiers"));
        let homeless = machine.cpus.iter().any(|cpu| machine.node_of(cpu.id).is_none());
        assert!(!(homeless && bare > 0), "{what}: memory without cpus beside cpus without a node");
        // One total of memory in both.
        if let Some(total) = machine.system.memory_bytes {
            let total = tiermark_model::Bytes(total).to_string();
            assert!(self.row("available memory").ends_with(&format!("of {total}")), "{what}: {total}");
            let shown = self.shown.lines().find_map(|line| line.strip_prefix("nodes ")).unwrap_or_default();
            let shown = shown.split(", ").nth(1).unwrap_or_default();
            assert!(shown.is_empty() || shown == total, "{what}: machine says {shown}, doctor {total}");
        }
        // Caches: every cpu is in one of each level and kind.
        let mut met = BTreeSet::new();
        for cache in &machine.caches {
            assert!(cache.cpus.iter().all(|cpu| met.insert((cache.level, cache.kind, cpu))), "{what}: {cache:?}");
        }
    }
}

/// A change of one view of one fact, and what it contradicts; `None` where the changed view has no other to contradict.
struct Flip {
    path: String,
    text: String,
    contradicts: Option<fn(&DisputedFact) -> bool>,
}

/// Everything that can be changed in a tree: `online`, affinity, cpuset, nodes' lists, cache ids and sets, packages,
/// totals.
fn flips(files: &Tree) -> Vec<Flip> {
    let cpus = files.keys().filter(|path| path.ends_with("topology/core_id")).count();
    let mut flips = Vec::new();
    let mut flip = |path: &str, text: String, contradicts: Option<fn(&DisputedFact) -> bool>| {
        if files.get(path).is_some_and(|old| old.trim() != text) {
            flips.push(Flip { path: path.to_owned(), text, contradicts });
        }
    };
    // The switches, or the topology that only online cpus have, say otherwise.
    flip(&format!("{CPU}/online"), "0".to_owned(), Some(|fact| *fact == DisputedFact::OnlineCpus));
    flip(&format!("{CPU}/online"), format!("0-{cpus}"), Some(|fact| *fact == DisputedFact::OnlineCpus));
    for (path, old) in files {
        let text = old.trim();
        if path.ends_with("proc/self/status") {
            // A narrower affinity contradicts nothing; one outside of the machine does.
            flip(path, "Cpus_allowed_list:\t0\nMems_allowed_list:\t0".to_owned(), None);
            let outside = "Cpus_allowed_list:\t999\nMems_allowed_list:\t99".to_owned();
            flip(path, outside, Some(|fact| *fact == DisputedFact::AllowedCpus));
        } else if path.ends_with("cpuset.cpus.effective") {
            flip(path, "1".to_owned(), Some(|fact| *fact == DisputedFact::AllowedCpus));
        } else if path.starts_with(NODE) && path.ends_with("cpulist") {
            let of_nodes: fn(&DisputedFact) -> bool =
                |fact| matches!(fact, DisputedFact::CpusOfNodes | DisputedFact::NodeCpus { .. });
            flip(path, String::new(), Some(of_nodes));
            flip(path, text.split('-').next().unwrap_or_default().to_owned(), Some(of_nodes));
        } else if path.ends_with("meminfo") {
            let with_total = |of: fn(u64) -> u64| {
                let line = |line: &str| match line.split_once("MemTotal:") {
                    Some((head, kib)) => {
                        let kib: u64 = kib.trim().trim_end_matches(" kB").parse().unwrap();
                        format!("{head}MemTotal: {} kB", of(kib))
                    }
                    None => line.to_owned(),
                };
                text.lines().map(line).collect::<Vec<_>>().join("\n")
            };
            flip(path, with_total(|kib| kib * 3), Some(|fact| *fact == DisputedFact::Memory));
            // Of many nodes, a part of one is within what belongs to no node.
            if path == "proc/meminfo" {
                flip(path, with_total(|kib| kib / 3), Some(|fact| *fact == DisputedFact::Memory));
            }
        } else if path.contains("/cache/") {
            let of_caches: fn(&DisputedFact) -> bool = |fact| matches!(fact, DisputedFact::CacheCpus { .. });
            match path.rsplit('/').next().unwrap() {
                // Another number for a cache of one cpu is only another number.
                "id" => {
                    let sharers = &files[&path.replace("/id", "/shared_cpu_list")];
                    let is_shared = sharers.contains(['-', ',']);
                    flip(path, "77".to_owned(), Some(of_caches).filter(|_| is_shared));
                }
                "shared_cpu_list" => flip(path, "0".to_owned(), Some(of_caches)),
                "shared_cpu_map" => flip(path, "00000000,00000001".to_owned(), Some(of_caches)),
                _ => {}
            }
        } else if path.contains("/topology/") {
            let of_packages: fn(&DisputedFact) -> bool = |fact| matches!(fact, DisputedFact::Package { .. });
            match path.rsplit('/').next().unwrap() {
                "physical_package_id" => flip(path, "9".to_owned(), Some(of_packages)),
                "package_cpus_list" => {
                    let own = path.split('/').nth(4).unwrap().trim_start_matches("cpu").to_owned();
                    flip(path, own, Some(of_packages));
                }
                _ => {}
            }
        }
    }
    flips
}

#[test]
fn machine_doctor_and_check_agree_on_every_machine_of_the_field() {
    for fixture in fixtures() {
        let name = fixture.file_name().unwrap().to_string_lossy().into_owned();
        let files = tree(&fixture);
        let whole = said(&files);
        whole.agrees(&name);
        let before: BTreeSet<String> = whole.machine.contradictions.iter().map(|one| one.fact.to_string()).collect();
        let mut named = 0;
        for flip in flips(&files) {
            let what = format!("{name} with {} = '{}'", flip.path, flip.text);
            let mut changed = files.clone();
            changed.insert(flip.path, flip.text);
            let now = said(&changed);
            now.agrees(&what);
            if let Some(contradicts) = flip.contradicts {
                let found = now.machine.contradictions.iter().any(|found| contradicts(&found.fact));
                assert!(found, "{what}: nothing names it: {before:?}, {:?}", now.machine.contradictions);
                named += 1;
            }
        }
        assert!(named > 4, "{name}: {named} changes");
    }
}

#[test]
fn a_node_that_cuts_across_sockets_is_named_by_all() {
    let mut files = Synth { sockets: 2, ..Synth::default() }.files();
    for (node, cpus) in [(0, "0-5,8-13"), (1, "6-7,14-15")] {
        files.insert(format!("{NODE}/node{node}/cpulist"), cpus.to_owned());
    }
    files.insert("proc/meminfo".to_owned(), "MemTotal: 16777216 kB\nMemAvailable: 16000000 kB\n".to_owned());
    let said = said(&files);
    said.agrees("a node that cuts across sockets");
    let facts: Vec<DisputedFact> = said.machine.contradictions.iter().map(|found| found.fact).collect();
    assert_eq!(facts, [DisputedFact::NodeAndSocket { node: 0, socket: 1 }]);
}

/// The modules of a server of 8 channels: of each the configured speed in MT/s, all rated at 3200, and the size in GiB.
fn with_modules(machine: &mut Machine, modules: &[(Option<f64>, u64)]) {
    let slot = |n: usize| {
        let module = modules.get(n);
        Dimm {
            locator: Some(format!("DIMM_{}1", char::from(b'A' + n as u8))),
            populated: module.is_some(),
            bytes: module.map(|(_, gib)| gib << 30),
            kind: Some("DDR4".to_owned()),
            rated_transfers: module.map(|_| 3200e6),
            configured_transfers: module.and_then(|(mega, _)| Some(mega.as_ref()? * 1e6)),
            ..Dimm::default()
        }
    };
    machine.dimms = (0..8).map(slot).collect();
    let channels = dmi::Channels { count: 8, whose: "8 of each".to_owned() };
    machine.theoretical_peak = dmi::theoretical_peak(&machine.dimms, 0, 1, Some(&channels));
}

#[test]
fn doctor_and_the_rules_of_check_judge_modules_nodes_and_errors_alike() {
    let files = Synth { sockets: 2, ..Synth::default() }.files();
    let full = [(Some(3200.0), 32); 8];
    let one = |module: (Option<f64>, u64)| [&[module][..], &full[1..]].concat();
    let count = |path: &str, count: &str| (format!("sys/devices/system/edac/mc/mc0/{path}"), count.to_owned());
    let meminfo = |kib: u64| format!("Node 1 MemTotal: {kib} kB\nNode 1 MemFree: {kib} kB");
    for (what, modules, own) in [
        ("full", full.to_vec(), vec![]),
        ("rounded", one((Some(3199.0), 32)), vec![]),
        ("slow", one((Some(2933.0), 32)), vec![]),
        ("a speed missing", one((None, 32)), vec![]),
        ("half a module", one((Some(3200.0), 16)), vec![]),
        ("7 of 8", full[..7].to_vec(), vec![]),
        ("4 of 8", full[..4].to_vec(), vec![]),
        ("none", vec![], vec![]),
        ("no errors", full.to_vec(), vec![count("ce_count", "0"), count("ue_count", "0")]),
        ("corrected", full.to_vec(), vec![count("ce_count", "1243"), count("ue_count", "0")]),
        ("uncorrected", full.to_vec(), vec![count("ce_count", "0"), count("ue_count", "1")]),
        ("a guest", full[..7].to_vec(), vec![("proc/cpuinfo".to_owned(), "flags : hypervisor".to_owned())]),
        ("small node", full.to_vec(), vec![("sys/devices/system/node/node1/meminfo".to_owned(), meminfo(4 << 20))]),
    ] {
        let mut files = files.clone();
        files.extend(own);
        let found = said_of(&files, |machine| with_modules(machine, &modules));
        found.judges_alike(what);
        let outcomes = ["edac.corrected.boot <= 0", "edac.uncorrected.boot <= 0"].map(|that| found.rule(that).outcome);
        let healthy = match found.check_of("memory errors").health {
            Health::NotHere => outcomes == [CheckOutcome::Unjudged; 2],
            Health::Ok => outcomes == [CheckOutcome::Passed; 2],
            Health::Note | Health::Problem => outcomes.contains(&CheckOutcome::Failed),
        };
        assert!(healthy, "{what}: {outcomes:?}, {:?}", found.check_of("memory errors"));
    }
}

/// The row of a check of doctor on a fixture, by its value.
fn doctor_says(name: &str, row: &str) -> Option<String> {
    let path = fixtures().into_iter().find(|path| path.to_string_lossy().contains(name))?;
    let root = Root::at(&path).unwrap();
    let machine = discover(&root, &LiveFacts::default()).unwrap();
    let doctor = checkup(&CheckInput { root: &root, machine: &machine, busy: None, interrupted: None, held: &[] });
    doctor.checks.into_iter().find(|check| check.name == row).map(|check| check.value)
}

#[test]
fn doctor_has_the_right_answers() {
    for (name, row, says) in [
        ("01-lxcfs", "cpus offline", "none"),
        ("01-lxcfs", "cpus allowed", "1 of 8: 6"),
        ("04-pi5", "emulated nodes", "8 nodes of 1 memory"),
        ("04-pi5", "memory tiers", "1 node, tiers not reported"),
        (
            "05-memory",
            "memory limit",
            "2 GiB by /sys/fs/cgroup/offline.slice/memory.high, which throttles, 190.73 MiB used, throttled 18233 \
                times so far",
        ),
        ("07-ec2", "memory channels", "not visible to a guest"),
        (
            "09-damon",
            "DAMON",
            "running, by /sys/module/damon_reclaim/parameters/enabled, /sys/module/damon_stat/parameters/enabled",
        ),
        (
            "14-epyc",
            "memory channels",
            "7 of 8 channels filled: accesses are not interleaved over all; reads may lose a third of their bandwidth",
        ),
        ("14-epyc", "module speed", "3200 MT/s, as rated"),
        ("19b-gb10", "facts of the machine", "agree"),
    ] {
        let Some(found) = doctor_says(name, row) else { return };
        assert_eq!(found, says, "{name}: {row}");
    }
}

#[test]
fn explain_names_the_channel_that_is_missing() {
    let Some(path) = fixtures().into_iter().find(|path| path.to_string_lossy().contains("14-epyc")) else { return };
    let machine = discover(&Root::at(&path).unwrap(), &LiveFacts::default()).unwrap();
    let found = tiermark_expect::explain::explain("epyc", &run(machine));
    let missing = found.found.iter().find(|one| one.rule == "missing-channels").unwrap();
    assert!(missing.found.contains("interleaving"), "{missing:?}");
}
