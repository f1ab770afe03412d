use std::fs;

use tempfile::TempDir;
use tiermark_model::ErrorKind;

use super::*;
use crate::{LiveFacts, capture, discover};

/// A machine of one package with two cores of two threads, whose files a test writes.
struct Tree(TempDir);

impl Tree {
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.write("sys/devices/system/cpu/online", "0-3");
        for cpu in 0..4 {
            for (name, value) in [("physical_package_id", 0), ("core_id", cpu % 2)] {
                tree.write(&format!("sys/devices/system/cpu/cpu{cpu}/topology/{name}"), &value.to_string());
            }
        }
        tree
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn edac(&self, path: &str, text: &str) {
        self.write(&format!("{EDAC_DIR}/{path}"), text);
    }

    fn throttle(&self, cpu: u32, name: &str, text: &str) {
        self.write(&format!("sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{name}"), text);
    }

    fn remove(&self, path: &str) {
        fs::remove_dir_all(self.0.path().join(path)).unwrap();
    }

    fn root(&self) -> Root {
        Root::at(self.0.path()).unwrap()
    }

    fn machine(&self) -> Machine {
        discover(&self.root(), &LiveFacts::default()).unwrap()
    }

    fn read(&self) -> HealthCounts {
        HealthCounts::read(&self.root(), &self.machine())
    }
}

/// A controller with two modules.
fn with_errors() -> Tree {
    let tree = Tree::new();
    tree.edac("mc0/mc_name", "Skylake Socket#0 IMC#0");
    tree.edac("mc0/ce_count", "3");
    tree.edac("mc0/ue_count", "0");
    for (dimm, errors) in [(0, "0"), (1, "3")] {
        tree.edac(&format!("mc0/dimm{dimm}/dimm_label"), &format!("CPU_SrcID#0_MC#0_Chan#{dimm}_DIMM#0"));
        tree.edac(&format!("mc0/dimm{dimm}/dimm_ce_count"), errors);
        tree.edac(&format!("mc0/dimm{dimm}/dimm_ue_count"), "0");
    }
    tree
}

#[test]
fn a_system_without_counters_reports_nothing_and_not_zero() {
    let tree = Tree::new();
    assert_eq!(tree.read(), HealthCounts::default());
    assert_eq!(tree.read().run(Some(&tree.read()), &tree.machine()), None);
    // Firmware or a driver that counts only one of them.
    tree.edac("mc0/ce_count", "0");
    let health = tree.read().run(Some(&tree.read()), &tree.machine()).unwrap();
    assert_eq!(
        (health.errors_grown(ErrorKind::Corrected), health.errors_grown(ErrorKind::Uncorrected)),
        (Some(0), None)
    );
    assert_eq!(health.throttling, None);
}

#[test]
fn errors_that_grow_are_named_by_their_module() {
    let tree = with_errors();
    let before = tree.read();
    tree.edac("mc0/ce_count", "5");
    tree.edac("mc0/dimm1/dimm_ce_count", "5");
    let health = before.run(Some(&tree.read()), &tree.machine()).unwrap();
    assert_eq!(health.errors_grown(ErrorKind::Corrected), Some(2));
    assert_eq!(health.growing(ErrorKind::Corrected), ["mc0/dimm1 (CPU_SrcID#0_MC#0_Chan#1_DIMM#0)"]);
    assert_eq!(
        (health.errors_grown(ErrorKind::Uncorrected), health.growing(ErrorKind::Uncorrected)),
        (Some(0), vec![])
    );
    let memory = health.memory.unwrap();
    assert_eq!(memory[0].label.as_deref(), Some("Skylake Socket#0 IMC#0"));
    assert_eq!(memory[0].parts[1].corrected, Some(HealthCount { before: 3, after: Some(5), grew: Some(2) }));
}

#[test]
fn counters_that_vanish_or_hold_nonsense_say_nothing() {
    let tree = with_errors();
    let before = tree.read();
    tree.edac("mc0/ce_count", "many");
    let unread = before.run(Some(&tree.read()), &tree.machine()).unwrap();
    assert_eq!(unread.errors_grown(ErrorKind::Corrected), None);
    assert_eq!(unread.errors_counted(ErrorKind::Corrected), Some(3));
    tree.remove(EDAC_DIR);
    let unloaded = before.run(Some(&tree.read()), &tree.machine()).unwrap();
    assert_eq!(unloaded.memory.unwrap()[0].corrected.unwrap().after, None);
    // A run that was killed has only what came before.
    assert_eq!(before.run(None, &tree.machine()).unwrap().errors_grown(ErrorKind::Corrected), None);
    // Errors that were reset during the run.
    let tree = with_errors();
    let before = tree.read();
    tree.edac("mc0/ce_count", "1");
    assert_eq!(before.run(Some(&tree.read()), &tree.machine()).unwrap().errors_grown(ErrorKind::Corrected), Some(1));
}

#[test]
fn old_kernels_count_by_rows() {
    let tree = Tree::new();
    tree.edac("mc1/ce_count", "7");
    tree.edac("mc1/csrow2/ce_count", "7");
    tree.edac("mc1/csrow2/ch0_dimm_label", "A1");
    let health = tree.read().run(Some(&tree.read()), &tree.machine()).unwrap();
    assert_eq!(health.counting(ErrorKind::Corrected), ["mc1/csrow2 (A1)"]);
}

#[test]
fn throttling_is_counted_once_a_core_and_once_a_package() {
    let tree = Tree::new();
    let set = |cpu: u32, core: &str, package: &str| {
        tree.throttle(cpu, "core_throttle_count", core);
        tree.throttle(cpu, "package_throttle_count", package);
        tree.throttle(cpu, "core_throttle_total_time_ms", core);
    };
    (0..4).for_each(|cpu| set(cpu, "10", "4"));
    let before = tree.read();
    // Cpus 0 and 2 are threads of one core.
    set(0, "13", "6");
    set(2, "12", "6");
    let machine = tree.machine();
    let of = |after: &HealthCounts| before.run(Some(after), &machine).unwrap().throttling.unwrap().remove(0);
    let found = of(&tree.read());
    assert_eq!(found.cores, Some(HealthCount { before: 20, after: Some(23), grew: Some(3) }));
    assert_eq!(found.whole, Some(HealthCount { before: 4, after: Some(6), grew: Some(2) }));
    assert_eq!((found.cores_ms.unwrap().grew, found.whole_ms), (Some(3), None));
    assert_eq!(found.cpus, "0,2".parse().unwrap());
    // A cpu that is unplugged during the run, and one that comes back with its counter at 0.
    tree.remove("sys/devices/system/cpu/cpu0/thermal_throttle");
    set(3, "0", "0");
    let found = of(&tree.read());
    assert_eq!(found.cores.unwrap().grew, Some(2));
    assert_eq!(found.cpus, "2".parse().unwrap());
}

#[test]
fn captures_hold_the_counters() {
    let tree = with_errors();
    tree.throttle(0, "core_throttle_count", "2");
    let mut archive = Vec::new();
    capture(&tree.root(), &LiveFacts::default(), &mut archive).unwrap();
    let root = Root::from_archive("capture", &archive).unwrap();
    assert_eq!(HealthCounts::read(&root, &tree.machine()), tree.read());
}

/// A tree with more controllers than any machine has, and a counter without an end.
#[test]
fn hostile_trees_are_read_in_bounds() {
    let many = (0..2 * MOST_CONTROLLERS).map(|mc| (format!("{EDAC_DIR}/mc{mc}/ce_count"), "1".to_owned()));
    let long = [(format!("{EDAC_DIR}/mc0/mc_name"), "x".repeat(1 << 20))];
    let root = Root::from_files("test", many.chain(long));
    let counts = HealthCounts::read(&root, &Machine::default());
    assert_eq!(counts.controllers.len(), MOST_CONTROLLERS);
    assert_eq!(counts.controllers[0].label.as_ref().map(String::len), Some(MOST_LETTERS));
}

#[test]
fn pages_out_of_use_are_shown_if_there_are_any() {
    let tree = Tree::new();
    let total =
        |node: u32, pages: &str| tree.write(&format!("sys/devices/system/node/node{node}/memory_failure/total"), pages);
    total(0, "0");
    tree.write("proc/meminfo", "MemTotal: 1024 kB\nHardwareCorrupted: 0 kB");
    let before = tree.read();
    assert_eq!(before.run(Some(&before), &tree.machine()), None);
    total(0, "2");
    tree.write("proc/meminfo", "MemTotal: 1024 kB\nHardwareCorrupted: 8 kB");
    let lost = before.run(Some(&tree.read()), &tree.machine()).unwrap().poisoned.unwrap();
    assert_eq!(lost.pages(|count| count.grew), Some((2, [0].into_iter().collect())));
    assert_eq!(lost.bytes, Some(HealthCount::new(0, Some(8 << 10))));
}
