//! Files of a few megabytes that were made to take gigabytes or hours: each is read by a process whose memory and time
//! are limited.

mod corpora;

use std::fmt::Write as _;
use std::fs;
use std::io::{BufWriter, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::common::{Ran, User};
use serde_json::{Value, json};

/// KiB of memory, shared libraries and reserved addresses included, that a capture may take: what docs/SECURITY.md
/// says.
const CAPTURE_KIB: usize = 512 << 10;
/// KiB that the program takes for a document beside ten times its length.
const PROGRAM_KIB: usize = 64 << 10;
/// Seconds of a processor. Ten are said to be enough; an unoptimised program on a slow machine takes some times as
/// many, and what repeats itself takes hours.
const SECONDS: usize = 60;

/// Runs the program with limits.
fn limited(user: &User, kib: usize, arguments: &[&str]) -> Ran {
    let plain = user.command(arguments);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!("ulimit -v {kib}; ulimit -t {SECONDS}; exec \"$0\" \"$@\"")]);
    shell.arg(plain.get_program()).args(plain.get_args()).current_dir(user.home.path()).stdin(Stdio::null());
    shell.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ran::from(shell.output().unwrap())
}

/// A compressed archive that is being written.
struct Archive {
    gzip: Child,
    tar: BufWriter<ChildStdin>,
}

impl Archive {
    fn create(user: &User) -> Self {
        let file = fs::File::create(user.path("capture.tar.gz")).unwrap();
        let gzip = Command::new("/usr/bin/gzip").arg("-1").stdin(Stdio::piped()).stdout(file).spawn();
        let mut gzip = gzip.expect("gzip is on every system that unpacks captures");
        let tar = BufWriter::with_capacity(1 << 20, gzip.stdin.take().unwrap());
        Self { gzip, tar }
    }

    /// One record: `0` is a file, `2` a link, `K` the long target of the next link, `L` the long name of the next
    /// record.
    fn record(&mut self, kind: u8, name: &[u8], link: &[u8], content: &[u8]) {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name);
        header[100..107].copy_from_slice(b"0000644");
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[148..156].fill(b' ');
        header[156] = kind;
        header[157..157 + link.len()].copy_from_slice(link);
        header[257..265].copy_from_slice(b"ustar  \0");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        self.tar.write_all(&header).unwrap();
        self.tar.write_all(content).unwrap();
        self.tar.write_all(&[0; 512][..content.len().next_multiple_of(512) - content.len()]).unwrap();
    }

    fn file(&mut self, path: &str, text: &str) {
        self.long_name(path);
        self.record(b'0', &path.as_bytes()[..path.len().min(100)], b"", text.as_bytes());
    }

    fn link(&mut self, path: &str, target: &str) {
        self.long_name(path);
        self.record(b'2', &path.as_bytes()[..path.len().min(100)], target.as_bytes(), b"");
    }

    fn long_name(&mut self, path: &str) {
        if path.len() > 100 {
            self.record(b'L', b"", b"", path.as_bytes());
        }
    }

    fn end(mut self) {
        self.tar.write_all(&[0; 1024]).unwrap();
        drop(self.tar);
        assert!(self.gzip.wait().unwrap().success());
    }
}

const CPU: &str = "sys/devices/system/cpu";
const ONE_CPU: &str = "processor\t: 0\n";

/// Links whose targets no kernel has, of bytes that are no text.
fn long_links(archive: &mut Archive) {
    archive.file("proc/cpuinfo", ONE_CPU);
    for number in 0..25_000 {
        archive.record(b'K', b"", b"", &[0xff; 8190]);
        archive.link(&format!("sys/{number}"), "x");
    }
}

/// Links of the longest targets that a kernel can have.
fn many_links(archive: &mut Archive) {
    archive.file("proc/cpuinfo", ONE_CPU);
    for number in 0..12_000 {
        archive.record(b'K', b"", b"", &[0xff; 4000]);
        archive.link(&format!("sys/{number}"), "x");
    }
}

/// Cpus with numbers that no kernel gives, with sets of them.
fn high_ids(archive: &mut Archive) {
    for id in 1_044_000..1_048_000 {
        archive.file(&format!("{CPU}/cpu{id}/topology/core_cpus_list"), &format!("{id}\n"));
        archive.file(&format!("{CPU}/cpu{id}/topology/package_cpus_list"), &format!("{id}\n"));
    }
}

/// As many files as a capture may have, deep in directories, with as many bytes, below a directory that is cut off.
fn deep(archive: &mut Archive) {
    archive.file("host/proc/cpuinfo", ONE_CPU);
    let text = "x".repeat(80);
    for number in 0..490_000 {
        archive.file(&format!("host/sys/devices{}/{number}", "/d".repeat(30)), &text);
    }
}

/// A list of a few bytes that is thousands of ranges of the cpus that are there.
fn holes(archive: &mut Archive) {
    for id in (0..16_000).step_by(2) {
        archive.file(&format!("{CPU}/cpu{id}/topology/core_cpus_list"), &format!("0-{}\n", 16_000 + id));
        archive.file(&format!("{CPU}/cpu{id}/topology/package_cpus_list"), &format!("0-{}\n", 32_000 + id));
    }
}

/// A list of half a million ranges for each cpu.
fn strides(archive: &mut Archive) {
    for id in 0..1000 {
        archive.file(&format!("{CPU}/cpu{id}/topology/core_cpus_list"), "0-1048575:1/2\n");
    }
}

/// One large file, and one large directory, that links show thousands of times.
fn shown_again(archive: &mut Archive) {
    archive.file("big", &"performance ".repeat(1 << 20));
    for number in 0..30_000 {
        archive.file(&format!("caches/index{number}/level"), "1\n");
    }
    for id in 0..2000 {
        archive.link(&format!("{CPU}/cpu{id}/cpufreq/scaling_governor"), "/big");
        archive.link(&format!("{CPU}/cpu{id}/cache"), "/caches");
    }
}

/// Links through many directories, for paths that are looked at for each cpu.
fn detours(archive: &mut Archive) {
    let name = "n".repeat(90);
    archive.file(&format!("{name}/{name}/x"), "1\n");
    let around = format!("/{}x", format!("{name}/../").repeat(40));
    for id in 0..4000 {
        archive.record(b'K', b"", b"", around.replace("/x", &format!("/{CPU}/t{id}")).as_bytes());
        archive.link(&format!("{CPU}/cpu{id}/topology"), "x");
        archive.record(b'K', b"", b"", around.as_bytes());
        archive.link(&format!("{CPU}/t{id}"), "x");
    }
}

/// Files whose lines or words are far more than any kernel writes.
fn long_tables(archive: &mut Archive) {
    let mut fields = "processor : 0\nflags : ".to_owned() + &"a ".repeat(4 << 20);
    (0..500_000).for_each(|number| writeln!(fields, "\n{number}:").unwrap());
    archive.file("proc/cpuinfo", &fields);
    archive.file("proc/self/cgroup", &format!("0::{}\n", "/a".repeat(500_000)));
    archive.file("proc/self/mountinfo", &format!("1 1 0:1 / /m rw - cgroup2 c {}\n", ",".repeat(8 << 20)));
    archive.file("proc/swaps", &format!("head\n{}", "/a b 8 0 1\n".repeat(1 << 20)));
    archive.file("sys/firmware/dmi/tables/DMI", &"\x11\x04\0\0\0\0".repeat(1 << 20));
    let mut spots = String::new();
    (0..4 << 20).for_each(|at| write!(spots, "{},", at * 97 % 1_000_000).unwrap());
    archive.file(&format!("{CPU}/online"), &spots[..15 << 20]);
    archive.file(&format!("{CPU}/present"), &spots[..120_000]);
}

/// Reads a capture within the limits; gives the exit code.
fn read(write: fn(&mut Archive)) -> Option<i32> {
    let user = User::new();
    let mut archive = Archive::create(&user);
    write(&mut archive);
    archive.end();
    let ran = limited(&user, CAPTURE_KIB, &["machine", "--root", "capture.tar.gz"]);
    let start = ran.err.chars().take(500).collect::<String>();
    assert!(ran.out.len() + ran.err.len() < 1 << 20, "{start}");
    assert!(matches!(ran.code, Some(0 | 2)), "{:?}: {start}", ran.code);
    ran.code
}

#[test]
fn links_longer_than_any_kernels_are_left_out() {
    assert_eq!(read(long_links), Some(0));
}

#[test]
fn links_that_fill_a_capture_are_refused() {
    assert_eq!(read(many_links), Some(2));
}

#[test]
fn sets_cost_what_they_hold_and_not_their_highest_number() {
    assert_eq!(read(high_ids), Some(0));
}

#[test]
fn a_capture_within_all_limits_is_read() {
    assert_eq!(read(deep), Some(0));
}

#[test]
fn sets_that_grow_when_they_are_cut_to_the_cpus_are_counted() {
    assert_eq!(read(holes), Some(2));
}

#[test]
fn strides_are_no_kernels() {
    assert_eq!(read(strides), Some(0));
}

#[test]
fn what_links_show_again_is_counted() {
    assert_eq!(read(shown_again), Some(2));
}

#[test]
fn detours_of_links_take_no_hours() {
    assert_eq!(read(detours), Some(0));
}

#[test]
fn tables_longer_than_any_kernels_are_cut() {
    assert_eq!(read(long_tables), Some(0));
}

/// A document of this program with one more cache for each list of cpus.
fn document(lists: &[String]) -> Vec<u8> {
    let text = include_str!("../../../../history/tests/fixtures/run-4.json");
    let mut run: Value = serde_json::from_str(text).unwrap();
    let caches = run["machine"]["caches"].as_array_mut().unwrap();
    caches.extend(lists.iter().map(|cpus| json!({ "level": 1, "kind": "data", "cpus": cpus })));
    serde_json::to_vec(&run).unwrap()
}

#[test]
fn a_document_takes_ten_times_its_length_at_most() {
    let odd = |from: usize| (from..from + 40).map(|n| (2 * n).to_string()).collect::<Vec<_>>().join(",");
    let cases: [(&str, Vec<String>, i32); 4] = [
        ("high ids", vec!["1048575".to_owned(); 8000], 0),
        ("wide", vec!["0,1048575".to_owned(); 8000], 0),
        ("ranges", (0..20_000).map(odd).collect(), 0),
        // A few bytes would be half a million ranges.
        ("strides", vec!["0-1048575:1/2".to_owned(); 8000], 2),
    ];
    for (name, lists, code) in cases {
        let user = User::new();
        let document = document(&lists);
        fs::write(user.path("run.json"), &document).unwrap();
        let ran = limited(&user, PROGRAM_KIB + 10 * document.len() / 1024, &["show", "run.json"]);
        assert_eq!(ran.code, Some(code), "{name}: {}", ran.err.chars().take(500).collect::<String>());
    }
}

/// The largest machine that a kernel can be built for.
#[test]
fn a_machine_of_8192_cpus_is_read_and_planned_for() {
    let user = User::new();
    let machine = "synth:sockets=64,cores=64,smt=2,mem=4G";
    // Of the steps of a survey some are refused: too many threads share a cache.
    for (arguments, code) in [(&["machine", "--root"][..], 0), (&["survey", "--dry-run", "--simulate"], 5)] {
        let ran = limited(&user, CAPTURE_KIB, &[arguments, &[machine]].concat());
        assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.err);
    }
}
