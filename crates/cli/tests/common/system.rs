//! What runs that change the system leave of it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::{Ran, User};

/// Directories of knobs, and knobs, that runs of some tier change.
const KNOBS: [&str; 6] = [
    "/proc/sys/vm",
    "/sys/kernel/mm/swap",
    "/sys/module/zswap/parameters",
    "/sys/kernel/mm/numa",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/proc/sys/kernel/numa_balancing",
];
/// What changes by itself, or is no value.
const RESTLESS: [&str; 3] = ["compact_memory", "drop_caches", "stat_refresh"];

/// Everything that a run changes, as it is; of swap areas their names, since how full they are is others' doing.
pub(crate) fn state() -> Vec<String> {
    let swaps = fs::read_to_string("/proc/swaps").unwrap();
    let mut found: Vec<String> = swaps.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect();
    found.extend(KNOBS.iter().flat_map(|knob| knobs(Path::new(knob))));
    found.extend(tenants());
    let zram = fs::read_dir("/sys/block").unwrap().flatten().map(|entry| entry.file_name().display().to_string());
    let mut zram: Vec<String> = zram.filter(|name| name.starts_with("zram")).collect();
    zram.sort();
    found.extend(zram);
    let mut groups = Vec::new();
    collect_groups(Path::new("/sys/fs/cgroup"), 3, &mut groups);
    found.extend(groups.iter().map(|path| path.display().to_string()));
    found
}

/// Makes sure that everything is as it was; tells what is not.
pub(crate) fn same(before: &[String], when: &str) {
    let now = state();
    let gone: Vec<_> = before.iter().filter(|line| !now.contains(line)).collect();
    let new: Vec<_> = now.iter().filter(|line| !before.contains(line)).collect();
    assert!(gone.is_empty() && new.is_empty(), "{when}: gone {gone:#?}, new {new:#?}");
}

fn knobs(path: &Path) -> Vec<String> {
    let mut paths: Vec<PathBuf> = fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path()).collect();
    if path.is_file() {
        paths.push(path.to_owned());
    }
    paths.retain(|path| !RESTLESS.iter().any(|name| path.ends_with(name)));
    paths.sort();
    let read = |path: &PathBuf| Some(format!("{} = {}", path.display(), fs::read_to_string(path).ok()?.trim()));
    paths.iter().filter_map(read).collect()
}

/// Servers that the kernel is told to kill first, as tenants are.
pub(crate) fn tenants() -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let says = |path: &Path, file: &str| fs::read_to_string(path.join(file)).unwrap_or_default();
    // One that ended and that nobody has waited for yet has no command line any more.
    let is_one =
        |path: &PathBuf| says(path, "oom_score_adj").trim() == "1000" && says(path, "cmdline").contains("redis");
    processes.filter(is_one).map(|path| path.display().to_string()).collect()
}

/// Groups with this program's name in theirs.
pub(crate) fn collect_groups(dir: &Path, depth: u32, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    for path in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()) {
        if path.file_name().is_some_and(|name| name.to_string_lossy().contains("tiermark")) {
            found.push(path.clone());
        }
        if depth > 0 {
            collect_groups(&path, depth - 1, found);
        }
    }
}

/// Whether control groups may be made here and there is a server, besides what a test needs more (whether it is there,
/// and what it is); with nobody else who makes groups. Else says why the test is skipped, which CI must not where a
/// server is all that is missing.
pub(crate) fn real(more: &[(bool, &'static str)]) -> Option<File> {
    let mut needs = vec![
        (rustix::process::geteuid().is_root(), "root"),
        (Command::new("redis-server").arg("--version").output().is_ok(), "redis-server"),
    ];
    needs.extend(more);
    let lacks: Vec<&str> = needs.iter().filter(|(there, _)| !there).map(|(_, what)| *what).collect();
    if !lacks.is_empty() {
        // Of these, the project's scripts can install the server only.
        assert!(!lacks.contains(&"redis-server") || std::env::var_os("CI").is_none(), "CI must not skip: {lacks:?}");
        crate::common::skipped(format_args!("needs {}", lacks.join(", ")));
        return None;
    }
    Some(alone())
}

/// One test that changes the system at a time, as long as the file is open.
pub(crate) fn alone() -> File {
    let lock = File::create(std::env::temp_dir().join("tiermark-test-capacity.lock")).unwrap();
    lock.lock().unwrap();
    lock
}

/// Longest that another program, or a test elsewhere, is waited for: a search for tenants takes some minutes.
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs again while another program holds the lock of the system.
pub(crate) fn patient(user: &User, arguments: &[&str]) -> Ran {
    timed(user, arguments).0
}

/// Makes sure that no change is left to take back.
#[track_caller]
pub(crate) fn restores_nothing(user: &User) {
    let restored = patient(user, &["tune", "--restore", "--json"]).expect(0).json();
    assert_eq!(restored["changes"], serde_json::json!([]), "{restored}");
}

/// The same, and how long it took without the waiting.
pub(crate) fn timed(user: &User, arguments: &[&str]) -> (Ran, Duration) {
    let started = Instant::now();
    let mut arguments = arguments.to_vec();
    // Other tests on the same machine are no reason to refuse a run.
    let may_be_refused = arguments.first() == Some(&"capacity") && !arguments.contains(&"--force");
    arguments.extend(may_be_refused.then_some("--force"));
    loop {
        let begun = Instant::now();
        let ran = user.run(&arguments);
        let busy = ran.code == Some(4) && ran.err.contains("is changing this system right now");
        if !busy || started.elapsed() > PATIENCE {
            return (ran, begun.elapsed());
        }
        thread::sleep(Duration::from_millis(100));
    }
}
