//! A tree of files that behaves like a kernel, as far as these tests look.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tiermark_machine::{LiveFacts, Root, discover};
use tiermark_model::Machine;
use tiermark_undo::{JournalHeader, RootWriter, StateDir, SystemWriter};

pub(crate) const BOOT: &str = "proc/sys/kernel/random/boot_id";

/// The table of swap areas without any.
pub(crate) const NO_SWAPS: &str = "Filename Type Size Used Priority\n";

/// The group of a run, and that of its tenant.
pub(crate) const GROUP: &str = "sys/fs/cgroup/tiermark-7";
pub(crate) const TENANT: &str = "sys/fs/cgroup/tiermark-7/t0";

/// The tree, a directory for journals, and writer that note what they do.
pub(crate) struct Fake {
    pub(crate) dir: TempDir,
    pub(crate) state: TempDir,
    live: RootWriter,
    /// What was done, in order.
    pub(crate) log: Vec<String>,
    /// Devices whose first page was read.
    pub(crate) looked: RefCell<Vec<String>>,
    /// Files whose writes the system refuses.
    pub(crate) refuse: BTreeSet<String>,
    /// Files that take a write and keep their value.
    pub(crate) stuck: BTreeSet<String>,
    /// Whether swapoff finds no room.
    pub(crate) no_room: bool,
    /// Processes that only end when killed.
    pub(crate) stubborn: BTreeSet<u32>,
    /// How often a supervisor starts another process in the group of one that ends.
    pub(crate) restarts: u32,
    /// An area of which another's swapoff is under way: ours is refused until it has ended.
    pub(crate) swapped_off_meanwhile: Option<String>,
    /// Commands that fail.
    pub(crate) fails: BTreeSet<String>,
}

impl Fake {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [
            (BOOT, "boot-1\n"),
            ("proc/cpuinfo", "processor : 0\n"),
            ("proc/swaps", NO_SWAPS),
            ("sys/devices/system/cpu/online", "0-3\n"),
            ("sys/fs/cgroup/cgroup.procs", ""),
            ("sys/fs/cgroup/memory/cgroup.procs", ""),
        ] {
            put(dir.path(), path, text);
        }
        for (path, text) in files {
            put(dir.path(), path, text);
        }
        let live = RootWriter::new(Root::at(dir.path()).unwrap());
        Self {
            dir,
            state: tempfile::tempdir().unwrap(),
            live,
            log: Vec::new(),
            looked: RefCell::default(),
            refuse: BTreeSet::new(),
            stuck: BTreeSet::new(),
            no_room: false,
            stubborn: BTreeSet::new(),
            restarts: 0,
            swapped_off_meanwhile: None,
            fails: BTreeSet::new(),
        }
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        put(self.dir.path(), path, text);
    }

    pub(crate) fn get(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.dir.path().join(path)).ok().map(|text| text.trim().to_owned())
    }

    pub(crate) fn there(&self, path: &str) -> bool {
        self.dir.path().join(path).exists()
    }

    pub(crate) fn state(&self) -> StateDir {
        StateDir::at(self.state.path())
    }

    pub(crate) fn head(&self) -> JournalHeader {
        JournalHeader::new(self.root(), "a test", "2026-11-21T12:00:00Z")
    }

    pub(crate) fn machine(&self) -> Machine {
        discover(self.root(), &LiveFacts::default()).unwrap()
    }

    /// A process, in a control group where one is given.
    pub(crate) fn process(&self, pid: u32, start: u64, group: Option<&str>) {
        self.shown(pid, start, 'S', 1);
        if let Some(group) = group {
            self.member(pid, group);
        }
    }

    /// A process as `/proc` shows it: the state of its main thread, and how many threads it has.
    pub(crate) fn shown(&self, pid: u32, start: u64, state: char, threads: u32) {
        let rest = vec!["0"; 16].join(" ");
        self.put(&format!("proc/{pid}/stat"), &format!("{pid} (redis server) {state} {rest} {threads} 0 {start} 0\n"));
    }

    /// A control group lists a process.
    pub(crate) fn member(&self, pid: u32, group: &str) {
        let path = format!("{group}/cgroup.procs");
        let members = format!("{}\n{pid}", self.get(&path).unwrap_or_default());
        self.put(&path, members.trim());
    }

    /// Takes a file, or a directory with all that is in it, away.
    pub(crate) fn take_away(&self, path: &str) {
        let path = self.dir.path().join(path);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }

    /// Ends a process, and returns the group that it was in.
    fn end(&self, pid: u32) -> Option<String> {
        // Those of other PID namespaces are not in /proc.
        let _ = fs::remove_dir_all(self.dir.path().join(format!("proc/{pid}")));
        let mut inside = None;
        for group in [format!("{TENANT}/below"), TENANT.to_owned(), GROUP.to_owned()] {
            let path = format!("{group}/cgroup.procs");
            let text = self.get(&path).unwrap_or_default();
            let left: Vec<&str> = text.lines().filter(|line| *line != pid.to_string()).collect();
            if left.len() < text.lines().count() {
                self.put(&path, &left.join("\n"));
                inside = Some(group);
            }
        }
        inside
    }

    /// Journals that are left.
    pub(crate) fn journals(&self) -> usize {
        let names = fs::read_dir(self.state.path()).unwrap().flatten();
        names.filter(|entry| entry.path().extension().is_some_and(|e| e == "changes")).count()
    }
}

fn put(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

impl SystemWriter for Fake {
    fn root(&self) -> &Root {
        self.live.root()
    }

    fn write(&mut self, path: &str, text: &str) -> io::Result<()> {
        self.log.push(format!("{path} = {text}"));
        if self.refuse.contains(path) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if let Some(group) = path.strip_suffix("/cgroup.kill") {
            // With the groups below it.
            for group in [GROUP, TENANT].iter().filter(|below| below.starts_with(group)) {
                let procs = self.get(&format!("{group}/cgroup.procs")).unwrap_or_default();
                tiermark_machine::files::pids(&procs).for_each(|pid| drop(self.end(pid)));
            }
            return Ok(());
        }
        if path.ends_with("/hot_remove") {
            return fs::remove_dir_all(self.dir.path().join(format!("sys/block/zram{text}")));
        }
        if !self.stuck.contains(path) {
            self.live.write(path, text)?;
        }
        // As a block queue does: another scheduler, another length.
        if let Some(queue) = path.strip_suffix("/scheduler") {
            self.put(&format!("{queue}/nr_requests"), if text == "none" { "1023" } else { "256" });
        }
        Ok(())
    }

    fn may_write(&self, path: &str) -> io::Result<()> {
        self.live.may_write(path)
    }

    fn remove_dir(&mut self, path: &str) -> io::Result<()> {
        self.log.push(format!("rmdir {path}"));
        let dir = self.dir.path().join(path);
        if !dir.exists() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let groups = fs::read_dir(&dir)?.flatten().any(|entry| entry.path().is_dir());
        if groups || self.get(&format!("{path}/cgroup.procs")).is_some_and(|text| !text.is_empty()) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        fs::remove_dir_all(dir)
    }

    fn remove_file(&mut self, path: &str) -> io::Result<()> {
        self.log.push(format!("rm {path}"));
        self.live.remove_file(path)
    }

    fn wipe_swap_header(&mut self, path: &str, uuid: &str) -> io::Result<bool> {
        self.log.push(format!("wipe {path}"));
        if self.refuse.contains(path) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        self.live.wipe_swap_header(path, uuid)
    }

    fn swap_header(&self, path: &str) -> io::Result<Option<String>> {
        self.looked.borrow_mut().push(path.to_owned());
        self.live.swap_header(path)
    }

    fn swapoff(&mut self, path: &str) -> Result<(), String> {
        self.log.push(format!("swapoff {path}"));
        if self.no_room {
            return Err("swapoff failed: Cannot allocate memory".to_owned());
        }
        let kept = self.get("proc/swaps").unwrap_or_default();
        let kept: Vec<&str> = kept.lines().filter(|line| !line.starts_with(&format!("/{path} "))).collect();
        self.put("proc/swaps", &kept.join("\n"));
        Ok(())
    }

    fn stop(&mut self, pid: u32, start_ticks: u64, kill: bool) -> Result<bool, String> {
        self.log.push(format!("{} {pid}", if kill { "kill" } else { "term" }));
        if tiermark_machine::start_ticks(self.root(), pid) != Some(start_ticks) {
            return Ok(false);
        }
        if kill || !self.stubborn.contains(&pid) {
            let inside = self.end(pid);
            if let (Some(group), true) = (inside, self.restarts > 0) {
                self.restarts -= 1;
                self.process(pid + 1000, start_ticks + 1, Some(&group));
            }
        }
        Ok(true)
    }

    fn run(&mut self, command: &str) -> Result<(), String> {
        self.log.push(format!("run {command}"));
        if self.fails.contains(command) { Err("no such machine".to_owned()) } else { Ok(()) }
    }

    fn wait(&mut self, _: Duration) {
        if let Some(path) = self.swapped_off_meanwhile.take() {
            self.no_room = false;
            self.swapoff(&path).unwrap();
        }
    }
}
