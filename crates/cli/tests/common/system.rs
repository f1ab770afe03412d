//! What runs that change the system leave of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::{Ran, User};

/// Everything that a run changes, as it is.
pub(crate) fn state() -> String {
    let mut found = vec![fs::read_to_string("/proc/swaps").unwrap()];
    let zram = fs::read_dir("/sys/block").unwrap().flatten().map(|entry| entry.file_name().display().to_string());
    let mut zram: Vec<String> = zram.filter(|name| name.starts_with("zram")).collect();
    zram.sort();
    found.extend(zram);
    let mut groups = Vec::new();
    collect_groups(Path::new("/sys/fs/cgroup"), 3, &mut groups);
    found.extend(groups.iter().map(|path| path.display().to_string()));
    found.join("\n")
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

/// Runs again while another program holds the lock of the system.
pub(crate) fn patient(user: &User, arguments: &[&str]) -> Ran {
    let started = Instant::now();
    loop {
        let ran = user.run(arguments);
        let busy = ran.code == Some(4) && ran.err.contains("is changing this system right now");
        if !busy || started.elapsed() > Duration::from_secs(60) {
            return ran;
        }
        thread::sleep(Duration::from_millis(100));
    }
}
