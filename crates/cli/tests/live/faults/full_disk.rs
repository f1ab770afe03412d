//! A disk of 1 MiB that is really full: what was on it stays whole, and what could not be written is said with a cure.
//!
//! The disk is a tmpfs that only the test's own processes see, in a mount namespace of their own; it is gone with them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::redis::Redis;
use crate::common::{Ran, User};

/// What each script begins with: the disk, a function that fills it but for so many bytes, one that keeps what a
/// command says, and one that keeps what is on the disk.
const BEGIN: &str = r#"
mount -t tmpfs -o size=1M tiermark-test "$DISK"
fill() { dd if=/dev/zero of="$DISK/filler" bs=4k 2>/dev/null || true; truncate -s "-$1" "$DISK/filler"; }
run() {
    name=$1; shift; code=0
    "$@" > "$OUT/$name.out" 2> "$OUT/$name.err" || code=$?
    echo $code > "$OUT/$name.code"
}
keep() { cp -r "$DISK" "$OUT/$1"; rm -f "$OUT/$1/filler"; }
"#;

/// Runs a script beside such a disk; `None`, and why the test is skipped, where that cannot be had.
fn beside_a_small_disk(user: &User, script: &str) -> Option<()> {
    let namespaces = Command::new("unshare").args(["-m", "mount", "-t", "tmpfs", "tiermark-test", "/mnt"]).output();
    if !namespaces.is_ok_and(|tried| tried.status.success()) {
        crate::common::skipped(format_args!("a disk of its own needs root, and the right to mount"));
        return None;
    }
    let (disk, out) = (user.path("disk"), user.path("out"));
    [&disk, &out].into_iter().for_each(|directory| fs::create_dir(directory).unwrap());
    let program = user.command(&[]);
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-euc"]).arg(format!("{BEGIN}{script}"));
    command.env("TIERMARK", program.get_program()).env("DISK", &disk).env("OUT", &out).env("TMPDIR", &out);
    command.env("TIERMARK_HOME", disk.join("home")).env("TIERMARK_STATE", disk.join("state"));
    let ran = Ran::from(command.current_dir(user.home.path()).output().unwrap()).expect(0);
    assert!(ran.err.is_empty(), "{}", ran.err);
    Some(())
}

/// What a command of the script said.
fn said(user: &User, name: &str) -> Ran {
    let read = |what: &str| fs::read_to_string(user.path("out").join(format!("{name}.{what}"))).unwrap();
    Ran { code: read("code").trim().parse().ok(), out: read("out"), err: read("err") }
}

/// All files below a directory, with what they hold.
fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap()));
        }
    }
    found.sort();
    found
}

/// What went wrong, where, and what to do about it.
#[track_caller]
fn is_told(ran: &Ran, place: &str) {
    let told = format!("{}{}", ran.out, ran.err).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(place) && told.contains("space"), "{place}: {told}");
}

#[test]
fn the_documents_of_runs_on_a_full_disk_stay_as_they_are() {
    let user = User::new();
    let script = format!(
        "measure() {{ run $1 \"$TIERMARK\" latency --simulate {}/../machine/tests/trees/vm.tar.gz --sizes 32K \
             --quick --max-time 1 \
                      \"--json=$DISK/wanted.json\"; }}
         measure before; keep before; fill 0; measure full; keep full",
        env!("CARGO_MANIFEST_DIR")
    );
    let Some(()) = beside_a_small_disk(&user, &script) else { return };
    said(&user, "before").measured();
    let full = said(&user, "full").expect(1);
    is_told(&full, "wanted.json");
    let [before, full] = ["before", "full"].map(|name| files(&user.path("out").join(name)));
    assert!(before.len() == 2 && before == full, "{:?}", full.iter().map(|(name, _)| name).collect::<Vec<_>>());
}

#[test]
fn a_capacity_run_whose_disk_fills_up_goes_on_when_there_is_space_again() {
    let user = User::new();
    let Some(redis) = Redis::start(&[]) else { return };
    let script = format!(
        "search() {{ run $1 \"$TIERMARK\" capacity --force --scenario=mini --backend=external --tiers=dram \
             --records=2000 --rps=1000 --target={} \
                     --overwrite --warmup=0 --measure=0.5s --iterations=1 --quiet; }}
         fill 0; search none; keep none
         rm \"$DISK/filler\"; fill 8192; search full; keep full
         rm \"$DISK/filler\"; run resumed \"$TIERMARK\" capacity --force --resume --quiet; keep resumed",
        redis.target
    );
    let Some(()) = beside_a_small_disk(&user, &script) else { return };
    // Without a line to begin with nothing is measured.
    is_told(&said(&user, "none").expect(4), "jsonl");
    assert_eq!(files(&user.path("out").join("none")), []);
    // Two blocks take what the run begins with, and not all of its trials.
    let full = said(&user, "full").expect(5);
    is_told(&full, "jsonl");
    assert!(full.err.contains("--resume="), "{}", full.err);
    let left = files(&user.path("out").join("full"));
    let [(name, text)] = &left[..] else { panic!("{left:?}") };
    assert!(name.ends_with(".jsonl") && text.ends_with(b"}\n"), "{name}");
    let is_whole = |line: &[u8]| serde_json::from_slice::<serde_json::Value>(line).is_ok();
    assert!(text.trim_ascii_end().split(|byte| *byte == b'\n').all(is_whole), "{}", String::from_utf8_lossy(text));
    let resumed = said(&user, "resumed");
    assert!(matches!(resumed.code, Some(0 | 5)), "{:?} {}", resumed.code, resumed.err);
    let whole = files(&user.path("out").join("resumed"));
    assert!(whole.len() == 2 && whole.iter().any(|(_, now)| now.starts_with(text)), "what was there goes on");
}

#[test]
fn a_full_disk_keeps_nobody_from_taking_changes_back() {
    let Some((_lock, before)) = crate::faults::tuning::real() else { return };
    let user = User::new();
    let script = "apply() { run $1 \"$TIERMARK\" tune --profile latency --only $2 --apply; }
         apply first vm.stat_interval; keep first; fill 0; apply second vm.compaction_proactiveness; keep second
         run restored \"$TIERMARK\" tune --restore; keep restored";
    let Some(()) = beside_a_small_disk(&user, script) else { return };
    let after = crate::faults::tuning::values();
    said(&user, "first").expect(0);
    // What cannot be noted is not changed, and the note that is there stays whole.
    is_told(&said(&user, "second").expect(4), "journal");
    let [first, second] = ["first", "second"].map(|name| files(&user.path("out").join(name)));
    assert!(first.len() == 1 && first == second, "{second:?}");
    said(&user, "restored").expect(0);
    assert_eq!((files(&user.path("out").join("restored")), after), (Vec::new(), before));
}
