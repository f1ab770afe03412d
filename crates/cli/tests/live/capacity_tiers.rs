//! Tiers behind DRAM on this machine, but for zram: swap in a file and on a device, zswap before it, tenants larger
//! than DRAM. Each is used, and everything is as it was afterwards.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::system::{self, patient, same, state};
use crate::common::{User, fullest};
use serde_json::Value;

/// A search of seconds: tenants of some 9 MiB.
const SMALL: &str = "capacity --force --scenario mini --records 4000 --rps 300 --warmup 0 --measure 0.5s --iterations \
                     1 --tier-size 96M --memory-floor 64M --level rate>50% --seed 1 --quiet";

/// Whether that can be had here.
fn real(needs: &[&'static str]) -> Option<File> {
    let needs: Vec<(bool, &str)> = needs.iter().map(|path| (Path::new(path).exists(), *path)).collect();
    system::real(&needs)
}

fn asked(more: &str) -> Vec<&str> {
    SMALL.split_whitespace().chain(more.split_whitespace()).collect()
}

/// The evidence of the most tenants that passed.
fn number(evidence: &Value, name: &str) -> f64 {
    evidence[name].as_f64().unwrap_or_else(|| panic!("{name} in {evidence}"))
}

/// Kills a run as soon as a swap area of this text is in use, and says whether one was.
fn killed_when_swapping(user: &User, arguments: &[&str], area: &str) -> bool {
    let mut child = user.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    let mut seen = false;
    while !seen && started.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none() {
        seen = fs::read_to_string("/proc/swaps").unwrap().contains(area);
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    seen
}

#[test]
fn swap_in_a_file_and_zswap_before_it_are_used_and_taken_back() {
    let Some(_lock) = real(&["/sys/module/zswap/parameters/enabled"]) else { return };
    let (user, before) = (User::new(), state());
    let dir = user.home.path().display();
    let tiers = format!("--most-tenants 3 --dram-budget 14M --tiers swap:{dir},zswap+swap:{dir} --json");
    let document = patient(&user, &asked(&tiers)).measured().json();
    same(&before, "");
    assert!(
        !fs::read_dir(user.home.path()).unwrap().flatten().any(|e| e.path().extension().is_some_and(|e| e == "swap"))
    );
    let [file, zswap] = &document["cases"].as_array().unwrap()[..] else { panic!("{document}") };
    for case in [file, zswap] {
        // One fits into DRAM; three are all that may be tried.
        assert!((2..=3).contains(&fullest(case)["tenants"].as_u64().unwrap()), "{case}");
    }
    let evidence = fullest(file)["evidence"].clone();
    assert!(number(&evidence, "swapped_in") > 0.0 && number(&evidence, "resident_share") < 0.95, "{evidence}");
    assert!(
        evidence["pool"].is_null() && number(&evidence, "dram_used") <= number(&evidence, "dram_budget"),
        "{evidence}"
    );
    let evidence = fullest(zswap)["evidence"].clone();
    assert!(number(&evidence, "zswap_in") > 0.0 && number(&evidence, "compression") > 1.0, "{evidence}");
    let [budget, used, pool] = ["dram_budget", "dram_used", "pool"].map(|name| number(&evidence, name));
    assert!(pool > 0.0 && used < budget * 1.1, "{evidence}");
}

#[test]
fn a_run_that_is_killed_with_zswap_on_leaves_nothing_once_it_is_restored() {
    let Some(_lock) = real(&["/sys/module/zswap/parameters/enabled"]) else { return };
    let (user, before) = (User::new(), state());
    let tiers = format!("--most-tenants 3 --dram-budget 14M --tiers zswap+swap:{}", user.home.path().display());
    assert!(killed_when_swapping(&user, &asked(&tiers), "tiermark"), "the kill came too late or too early");
    assert_ne!(state(), before);
    patient(&user, &["tune", "--restore"]).expect(0);
    same(&before, "");
}

/// A block device over a file, taken away with the test.
struct Loop(String);

impl Loop {
    fn over(file: &Path) -> Self {
        let made = Command::new("/usr/sbin/losetup").args(["-f", "--show"]).arg(file).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        Self(String::from_utf8(made.stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("/usr/sbin/losetup").args(["-d", &self.0]).status();
    }
}

/// What is on a device in its first MiB, as the disk has it.
fn beginning(device: &Loop) -> Vec<u8> {
    let mut bytes = vec![0; 1 << 20];
    std::io::Read::read_exact(&mut File::open(&device.0).unwrap(), &mut bytes).unwrap();
    bytes
}

#[test]
fn a_device_is_as_empty_afterwards_as_it_was() {
    let Some(_lock) = real(&["/dev/loop-control", "/usr/sbin/losetup"]) else { return };
    let (user, before) = (User::new(), state());
    let file = user.path("disk");
    File::create(&file).unwrap().set_len(96 << 20).unwrap();
    let device = Loop::over(&file);
    let tiers = format!("--most-tenants 3 --dram-budget 14M --tiers swap:{} --json", device.0);
    let document = patient(&user, &asked(&tiers)).measured().json();
    same(&before, "");
    let evidence = fullest(&document["cases"][0])["evidence"].clone();
    assert!(number(&evidence, "swapped_in") > 0.0 && number(&evidence, "resident_share") < 0.95, "{evidence}");
    assert!(beginning(&device).iter().all(|byte| *byte == 0), "a header stays");
    // Killed, too.
    assert!(killed_when_swapping(&user, &asked(&tiers), &device.0), "the kill came too late or too early");
    let written = |device| beginning(device).windows(10).any(|bytes| bytes == b"SWAPSPACE2");
    assert!(written(&device));
    patient(&user, &["tune", "--restore"]).expect(0);
    same(&before, "");
    assert!(beginning(&device).iter().all(|byte| *byte == 0), "a header stays");
    // What somebody writes there meanwhile is somebody's.
    fs::write(user.path("other"), [1u8; 512]).unwrap();
    let copied = Command::new("dd")
        .args([&format!("if={}", user.path("other").display()), &format!("of={}", device.0)])
        .output();
    assert!(copied.unwrap().status.success());
    let refused = patient(&user, &asked(&tiers)).expect(4);
    assert!(
        format!("{}{}", refused.out, refused.err).contains("the device holds data"),
        "{}{}",
        refused.out,
        refused.err
    );
    assert_eq!(beginning(&device)[..512], [1; 512]);
}

/// The published set-up: two areas of the same priority. A run that is killed between the first and the second, or once
/// both are in use, leaves what its journal knows of.
#[test]
fn two_swap_areas_of_one_tier_are_filled_in_turn_and_both_taken_back() {
    let Some(_lock) = real(&[]) else { return };
    let (user, before) = (User::new(), state());
    let areas = ["one", "two"].map(|name| user.path(name));
    areas.iter().for_each(|area| fs::create_dir(area).unwrap());
    let [one, two] = [&areas[0], &areas[1]].map(|area| area.display().to_string());
    let asked_for = format!("--tenants 3 --dram-budget 14M --tiers swap:{one}+{two} --json");
    let document = patient(&user, &asked(&asked_for)).measured().json();
    same(&before, "");
    let case = &document["cases"][0];
    assert_eq!(case["answer"]["kind"], "fixed", "{case}");
    assert_eq!(case["probes"].as_array().unwrap().len(), 1, "{case}");
    let priorities: Vec<&str> = case["settings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|setting| setting["name"] == "swap priorities")
        .map(|setting| setting["on"].as_str().unwrap())
        .collect();
    let both = |on: &&str| on.contains(&one) && on.contains(&two);
    assert!(priorities.iter().any(both), "not of one priority: {priorities:?}");
    let evidence = case["probes"][0]["evidence"].clone();
    assert!(number(&evidence, "swapped_out") > 0.0, "{evidence}");
    let each = case["curve"][0]["each"].as_array().unwrap().clone();
    assert!(each.len() == 3 && each.iter().all(|tenant| number(tenant, "p99_ns") > 0.0), "{each:?}");
    // Killed: as soon as the first area is on, and as soon as the second is.
    for area in [&one, &two] {
        assert!(killed_when_swapping(&user, &asked(&asked_for), area), "the kill came too late or too early");
        patient(&user, &["tune", "--restore"]).expect(0);
        same(&before, area);
        let left = areas.iter().flat_map(|area| fs::read_dir(area).unwrap().flatten()).map(|entry| entry.path());
        assert_eq!(left.collect::<Vec<_>>(), Vec::<std::path::PathBuf>::new());
    }
}

#[test]
fn a_tenant_larger_than_dram_is_none_there_and_some_on_a_tier() {
    let Some(_lock) = real(&[]) else { return };
    let (user, before) = (User::new(), state());
    let tiers = format!("--dram-budget 6M --most-tenants 1 --tiers dram,swap:{} --json", user.home.path().display());
    let document = patient(&user, &asked(&tiers)).measured().json();
    same(&before, "");
    let [dram, swap] = &document["cases"].as_array().unwrap()[..] else { panic!("{document}") };
    assert_eq!(dram["answer"]["kind"], "none", "{dram}");
    assert_eq!(dram["ended_by"]["resource"], "memory_tier", "{dram}");
    assert_eq!(fullest(swap)["tenants"], 1, "{swap}");
    let used = number(&fullest(swap)["evidence"], "dram_used");
    assert!(used <= f64::from(6 << 20), "{used}");
}

/// A compressed swap area of somebody else, taken away with the test.
struct Foreign(String);

impl Foreign {
    fn with(size: &str, priority: &str) -> Self {
        let id = fs::read_to_string("/sys/class/zram-control/hot_add").unwrap().trim().to_owned();
        let foreign = Self(id);
        fs::write(format!("/sys/block/zram{}/disksize", foreign.0), size).unwrap();
        foreign.command(&["/usr/sbin/mkswap"]);
        foreign.command(&["/usr/sbin/swapon", "-p", priority]);
        foreign
    }

    fn device(&self) -> String {
        format!("/dev/zram{}", self.0)
    }

    fn command(&self, words: &[&str]) {
        let done = Command::new(words[0]).args(&words[1..]).arg(self.device()).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    /// KiB in this area, and in all others.
    fn used(&self) -> [u64; 2] {
        let text = fs::read_to_string("/proc/swaps").unwrap();
        let mut used = [0; 2];
        for fields in text.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>()) {
            used[usize::from(fields[0] != self.device())] += fields[3].parse::<u64>().unwrap();
        }
        used
    }

    /// The most KiB at any moment of what is done, in this area and in all others.
    fn most_used<T>(&self, done: impl FnOnce() -> T) -> (T, [u64; 2]) {
        let (going_on, over) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let watcher = scope.spawn(move || {
                let mut most = [0; 2];
                // It ends when the sender is dropped, by a panic too.
                while over.recv_timeout(Duration::from_millis(5)) == Err(RecvTimeoutError::Timeout) {
                    let now = self.used();
                    most = [0, 1].map(|at: usize| now[at].max(most[at]));
                }
                most
            });
            let ended = done();
            drop(going_on);
            (ended, watcher.join().unwrap())
        })
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = Command::new("/usr/sbin/swapoff").arg(self.device()).status();
        let _ = fs::write("/sys/class/zram-control/hot_remove", &self.0);
    }
}

#[test]
fn swap_of_others_is_filled_after_the_tier_or_the_tier_is_refused() {
    let Some(_lock) = real(&["/sys/class/zram-control/hot_add", "/usr/sbin/swapon"]) else { return };
    let tiers = asked("--most-tenants 3 --dram-budget 14M --tiers zram --json");
    let (user, foreign) = (User::new(), Foreign::with("64M", "32766"));
    let before = state();
    let (document, [foreign_most, tier_most]) = foreign.most_used(|| patient(&user, &tiers).measured().json());
    same(&before, "");
    assert!(number(&fullest(&document["cases"][0])["evidence"], "swapped_in") > 0.0, "{document}");
    // The kernel may send pages of any process to the other's area before the tier is there and after it is gone.
    assert!(tier_most > 8 * foreign_most, "KiB at most: {foreign_most} in the other's area, {tier_most} in the tier");
    drop(foreign);
    let highest = Foreign::with("64M", "32767");
    let refused = patient(&user, &tiers).expect(4);
    let told = refused.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(&format!("swap areas above {}", highest.device())), "{told}");
}
