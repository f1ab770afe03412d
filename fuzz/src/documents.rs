//! Documents and journals that this program wrote, or somebody who says so.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;
use std::{fs, io};

use serde_json::Value;
use tempfile::TempDir;
use tiermark_capacity::guest::protocol::{Lines, Reply};
use tiermark_capacity::saved::SavedRun;
use tiermark_history::Store;
use tiermark_machine::Root;
use tiermark_page::terminal;
use tiermark_undo::{Asked, Change, Journal, JournalHeader, StateDir, SystemWriter, is_noted, pending, restore_all};

use super::input::{Input, edited, edited_lines};

/// A directory in memory for the files of this process.
static PLACE: LazyLock<TempDir> = LazyLock::new(|| {
    tempfile::Builder::new().prefix("tiermark-fuzz").tempdir_in("/dev/shm").expect("/dev/shm can be written")
});

/// Documents of every kind.
static DOCUMENTS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let texts = [
        include_str!("../../crates/history/tests/fixtures/run-4.json"),
        include_str!("../../crates/history/tests/fixtures/run-4-measured.json"),
        include_str!("../seeds/c2c.json"),
        include_str!("../seeds/loaded-latency.json"),
        include_str!("../seeds/residency.json"),
        include_str!("../seeds/tlb.json"),
        include_str!("../seeds/capacity.json"),
        include_str!("../seeds/load.json"),
    ];
    texts.map(|text| serde_json::from_str(text).expect("a seed is a document")).into()
});

/// Documents of runs, of tenants and of load, with all of their views: half are seeds with values changed, half are
/// bytes.
pub(crate) fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let which = usize::from(input.byte());
    match DOCUMENTS.get(which % (2 * DOCUMENTS.len())) {
        Some(seed) => {
            let document = edited(seed.clone(), &mut input);
            tiermark_cli::testing::show(document.to_string().as_bytes());
        }
        None => tiermark_cli::testing::show(input.0),
    }
}

/// Documents of a few hosts: runs with values changed, what stands in their place, and bytes.
pub(crate) fn fleet(bytes: &[u8]) {
    /// Hosts of one kind need to be four to be judged.
    const HOSTS: usize = 6;
    let mut input = Input(bytes);
    let failed = serde_json::json!({
        "schema": "tiermark/failed-host/1", "host": "node1", "how": "failed", "exit": 1, "message": "x", "at": null
    });
    let hosts: Vec<Vec<u8>> = (0..HOSTS)
        .map(|_| match input.byte() % 8 {
            0 => edited(failed.clone(), &mut input).to_string().into_bytes(),
            1 => input.0.to_vec(),
            seed => edited(DOCUMENTS[usize::from(seed % 3)].clone(), &mut input).to_string().into_bytes(),
        })
        .collect();
    tiermark_cli::testing::fleet(&hosts);
}

/// The seed with its lines changed, or bare bytes, in a file that only its owner may write.
fn file(name: &str, seed: &str, bytes: &[u8]) -> PathBuf {
    let mut input = Input(bytes);
    let content = if input.byte() % 4 == 0 { input.0.to_vec() } else { edited_lines(seed, &mut input) };
    let path = PLACE.path().join(name);
    fs::write(&path, content).expect("/dev/shm can be written");
    path
}

/// Journals of runs that were killed.
pub(crate) fn journal(bytes: &[u8]) {
    let path = file("run.journal", include_str!("../seeds/journal.jsonl"), bytes);
    if let Ok(run) = tiermark_history::recover(&path) {
        tiermark_cli::testing::show_killed(run);
    }
}

/// The two files of the index of runs, whose places in the second may be anywhere.
pub(crate) fn index(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (heads, figures) = (include_str!("../seeds/index.jsonl"), include_str!("../seeds/figures.jsonl"));
    let of_figures = input.byte() % 2 == 0;
    let changed = if input.byte() % 4 == 0 {
        input.0.to_vec()
    } else {
        edited_lines(if of_figures { figures } else { heads }, &mut input)
    };
    let (heads, figures) =
        if of_figures { (heads.as_bytes(), &changed[..]) } else { (&changed[..], figures.as_bytes()) };
    let store = Store::at(PLACE.path().join("runs"));
    let _ = tiermark_history::testing::read_index(&store, [heads, figures], 64).expect("/dev/shm can be written");
}

/// Capacity runs to go on with.
pub(crate) fn saved(bytes: &[u8]) {
    let path = file("run.jsonl", include_str!("../seeds/saved.jsonl"), bytes);
    if let Ok(saved) = SavedRun::open(&path, true) {
        let pending = saved.pending();
        let _ = (pending.tiers.len(), pending.scenario.searches().len(), saved.is_whole());
    }
}

/// Recordings of `watch`.
pub(crate) fn recording(bytes: &[u8]) {
    let mut input = Input(bytes);
    let changed = if input.byte() % 4 == 0 {
        input.0.to_vec()
    } else {
        edited_lines(include_str!("../seeds/recording.jsonl"), &mut input)
    };
    let lines = tiermark_history::lines::Lines::of_bytes(changed);
    super::watched::show(&tiermark_watch::samples(&lines).unwrap_or_default());
}

/// What a guest may answer.
pub(crate) fn guest(bytes: &[u8]) {
    let mut input = Input(bytes);
    let size = input.below(64).max(1);
    let mut lines = Lines::default();
    for piece in input.0.chunks(size) {
        lines.push(piece);
        while let Ok(Some(_)) = lines.take::<Reply>() {}
    }
}

/// A journal with a change of every kind, as the program writes it.
static CHANGES: LazyLock<String> = LazyLock::new(|| {
    let directory = PLACE.path().join("seed");
    let state = StateDir::at(&directory);
    let root = Nothing::new().0;
    let mut journal =
        Journal::create(&state, JournalHeader::new(&root, "a seed", "2026-11-24T12:00:00Z")).expect("a journal");
    let text = str::to_owned;
    let changes = vec![
        Change::Knob {
            path: text("proc/sys/vm/swappiness"),
            syntax: tiermark_undo::Syntax::Number,
            old: text("60"),
            new: text("1"),
        },
        Change::Cgroup { path: text("sys/fs/cgroup/tiermark-7"), top: None },
        Change::Swap { path: text("var/tmp/tiermark.swap"), remove_file: true, file_system: None },
        Change::SwapHeader { path: text("dev/vdb"), uuid: text("1-2-3"), device: Some(text("wwid:naa.1")) },
        Change::Zram { number: 0, sure: true, size: Some(1 << 30), sequence: Some(9) },
        Change::Process { pid: 7, start_ticks: 77, what: text("a server") },
        Change::Command {
            stop: text("virsh destroy vm1"),
            what: text("vm1"),
            check: Some(text("virsh domstate vm1")),
            own: true,
        },
    ];
    journal.note(changes).expect("a note");
    let written = fs::read_to_string(journal.path()).expect("a journal");
    journal.keep();
    written
});

/// Journals of changes: what is pending, and taking it back on a system where every change succeeds and nothing is
/// done.
pub(crate) fn changes(bytes: &[u8]) {
    let directory = PLACE.path().join("state");
    fs::create_dir_all(&directory).expect("/dev/shm can be written");
    let file = file("state/1.changes", &CHANGES, bytes);
    private(&file).expect("/dev/shm can be written");
    let state = StateDir::at(&directory);
    let mut system = Nothing::new();
    let _ = (pending(&state, &system.0), is_noted(&state, "/dev/vdb"));
    let force = bytes.last().is_some_and(|byte| byte % 2 == 0);
    if let Ok(restored) = restore_all(&state, &mut system, &Asked { force, forget: vec!["/dev/vdb".to_owned()] }) {
        let _ = (
            restored.incomplete(),
            terminal(&tiermark_report::listings::change_rows(&restored.rows, ""), &tiermark_page::Style::default()),
        );
    }
    let _ = fs::remove_file(file);
}

fn private(path: &std::path::Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
}

/// A system in memory on which nothing is ever done.
struct Nothing(Root);

impl Nothing {
    fn new() -> Self {
        let stat = format!("7 (redis) S {} 77 0\n", ["0"; 18].join(" "));
        Self(Root::from_files(
            "a fuzzed machine",
            [
                ("proc/sys/kernel/random/boot_id", "boot-1\n"),
                ("proc/sys/vm/swappiness", "1\n"),
                ("proc/7/stat", stat.as_str()),
                ("proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 1024 0 9\n"),
                ("proc/meminfo", "MemTotal: 16384000 kB\nMemAvailable: 12000000 kB\n"),
                ("sys/block/zram0/disksize", "1073741824\n"),
                ("sys/fs/cgroup/tiermark-7/cgroup.procs", ""),
            ],
        ))
    }
}

impl SystemWriter for Nothing {
    fn root(&self) -> &Root {
        &self.0
    }
    fn write(&mut self, _: &str, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn may_write(&self, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn remove_dir(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn remove_file(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn wipe_swap_header(&mut self, _: &str, _: &str) -> io::Result<bool> {
        Ok(true)
    }
    fn swap_header(&self, _: &str) -> io::Result<Option<String>> {
        Ok(None)
    }
    fn swapoff(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }
    fn stop(&mut self, _: u32, _: u64, _: bool) -> Result<bool, String> {
        Ok(true)
    }
    fn run(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }
    fn wait(&mut self, _: Duration) {}
}
