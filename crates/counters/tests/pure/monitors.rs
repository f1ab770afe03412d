//! Monitoring groups, and the output of other monitors.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use crate::common::{cpus, fixtures, form, intel, machine};
use tiermark_counters::{
    CounterSource, GroupFiles, LikwidFile, Monitored, PCM_MEMORY, PcmFile, PcmTable, Resctrl, Snapshot,
    examine_resctrl, traffic,
};
use tiermark_machine::Root;
use tiermark_model::{CounterSight, CounterSourceId, IdSet, Machine};

const GROUPS: &str = "/sys/fs/resctrl/mon_groups";

/// The file system of monitoring groups: a new directory has the kernel's files.
#[derive(Clone, Default)]
struct Files(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    groups: BTreeSet<String>,
    data: BTreeMap<String, String>,
    /// Cpus of groups.
    cpus: BTreeMap<String, String>,
    written: Vec<(String, String)>,
    running: Vec<u32>,
    full: bool,
}

impl GroupFiles for Files {
    fn make(&mut self, path: &str) -> io::Result<()> {
        // ENOSPC: every monitor is in use.
        if self.0.borrow().full {
            return Err(io::Error::from_raw_os_error(28));
        }
        self.0.borrow_mut().groups.insert(path.to_owned());
        Ok(())
    }

    fn remove(&mut self, path: &str) -> io::Result<()> {
        if self.0.borrow_mut().groups.remove(path) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn write(&mut self, path: &str, text: &str) -> io::Result<()> {
        self.0.borrow_mut().written.push((path.to_owned(), text.to_owned()));
        Ok(())
    }

    fn read(&self, path: &str) -> io::Result<String> {
        if let Some(cpus) = path.strip_suffix("/cpus_list").and_then(|group| self.0.borrow().cpus.get(group).cloned()) {
            return Ok(cpus);
        }
        let (_, file) = path.split_once("/mon_data/").ok_or(io::ErrorKind::NotFound)?;
        self.0.borrow().data.get(file).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let state = self.0.borrow();
        if path == GROUPS {
            return Ok(state.groups.iter().map(|group| group.rsplit('/').next().unwrap().to_owned()).collect());
        }
        let domains: BTreeSet<&str> = state.data.keys().map(|file| file.split('/').next().unwrap()).collect();
        Ok(domains.into_iter().map(str::to_owned).collect())
    }

    fn is_running(&self, pid: u32) -> bool {
        self.0.borrow().running.contains(&pid)
    }
}

impl Files {
    fn put(&self, domain: &str, total: &str, local: &str) {
        let data = &mut self.0.borrow_mut().data;
        data.insert(format!("{domain}/mbm_total_bytes"), total.to_owned());
        data.insert(format!("{domain}/mbm_local_bytes"), local.to_owned());
    }
}

/// Two sockets whose caches are numbered 0 and 8.
fn two_caches() -> (Root, Machine) {
    let mut files = cpus(2, 2);
    for cpu in 0..4 {
        files.push((format!("sys/devices/system/cpu/cpu{cpu}/cache/index3/id"), (cpu / 2 * 8).to_string()));
    }
    let root = Root::from_files("caches", files);
    let machine = machine(&root, intel(0x8f));
    (root, machine)
}

#[test]
fn a_group_of_our_own_counts_and_goes_away() {
    let (root, machine) = two_caches();
    let files = Files::default();
    files.put("mon_L3_00", "1000", "600");
    files.put("mon_L3_08", "Unavailable", "Error");
    let groups = ["pcm0", "tiermark-7", "tiermark-9", "tiermark-x"].map(|name| format!("{GROUPS}/{name}"));
    files.0.borrow_mut().groups = groups.clone().into();
    files.0.borrow_mut().running = vec![9];
    let cpus: IdSet = [0, 1].into_iter().collect();
    let mut source = Resctrl::open(files.clone(), &root, 42, &cpus, &machine).unwrap();
    let own = format!("{GROUPS}/tiermark-42");
    assert_eq!(files.0.borrow().written, [(format!("{own}/cpus_list"), "0-1\n".to_owned())]);
    let before = source.read().unwrap();
    files.put("mon_L3_00", "5000", "1600");
    files.put("mon_L3_08", "4", "4");
    let middle = source.read().unwrap();
    let seen = traffic(&before, &middle);
    // The second cache had no count at the beginning: its machine has no sum.
    let [only] = &seen.boxes[..] else { panic!("{seen:?}") };
    assert_eq!((only.place.socket, only.total, only.local, only.read), (Some(0), 4000.0, Some(1000.0), None));
    assert_eq!((seen.missing.len(), seen.whole().total, seen.sockets()[&0].total), (1, None, Some(4000.0)));
    files.put("mon_L3_08", "14", "6");
    let seen = traffic(&middle, &source.read().unwrap());
    assert_eq!((seen.whole().read, seen.whole().total), (None, Some(10.0)));
    // Some processors count the total alone.
    files.0.borrow_mut().data.remove("mon_L3_08/mbm_local_bytes");
    let before = source.read().unwrap();
    files.put("mon_L3_08", "34", "");
    files.0.borrow_mut().data.remove("mon_L3_08/mbm_local_bytes");
    let seen = traffic(&before, &source.read().unwrap());
    assert_eq!((seen.boxes[1].total, seen.boxes[1].local), (20.0, None));
    drop(source);
    // That of a process that ended is gone too; those of others and of a running one are not.
    let left: Vec<String> = files.0.borrow().groups.iter().cloned().collect();
    assert_eq!(left, [&groups[0], &groups[2], &groups[3]].map(Clone::clone));
}

#[test]
fn without_monitors_nothing_is_left_behind() {
    let (root, machine) = two_caches();
    let files = Files::default();
    files.0.borrow_mut().full = true;
    let refused = Resctrl::open(files.clone(), &root, 42, &IdSet::new(), &machine).err().unwrap();
    assert_eq!(refused.code, "monitoring_group_refused");
    files.0.borrow_mut().full = false;
    // A cpu is in one group only: it would leave that of another program.
    files.0.borrow_mut().groups.insert(format!("{GROUPS}/pcm0"));
    files.0.borrow_mut().cpus.insert(format!("{GROUPS}/pcm0"), "1-3\n".to_owned());
    let refused = Resctrl::open(files.clone(), &root, 42, &[0, 1].into_iter().collect(), &machine).err().unwrap();
    assert!(refused.why.contains("the group pcm0"), "{refused}");
    files.0.borrow_mut().groups.clear();
    let refused = Resctrl::open(files.clone(), &root, 42, &IdSet::new(), &machine).err().unwrap();
    assert_eq!(refused.code, "no_bandwidth_monitoring");
    assert!(files.0.borrow().groups.is_empty());
}

#[test]
fn machines_without_monitoring_say_why() {
    let (root, mut machine) = two_caches();
    assert_eq!(examine_resctrl(&root, &machine).unwrap_err().code, "no_bandwidth_monitoring");
    machine.cpu_model.flags.push("cqm_mbm_total".to_owned());
    assert_eq!(examine_resctrl(&root, &machine).unwrap_err().code, "resctrl_not_mounted");
    let features = [("sys/fs/resctrl/info/L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\n")];
    assert_eq!(examine_resctrl(&Root::from_files("mounted", features), &machine), Ok(()));
}

/// The domains of a real EPYC and of other machines: their numbers have gaps.
#[test]
fn domains_of_the_shared_fixtures() {
    let Some(folder) = fixtures("goresctrl") else { return };
    let directory = tempfile::tempdir().unwrap();
    let archive = folder.join("goresctrl-test-data.tar.gz");
    assert!(Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(directory.path()).status().unwrap().success());
    let (root, machine) = two_caches();
    let mut trees = 0;
    for tree in std::fs::read_dir(directory.path().join("data")).unwrap().map(|tree| tree.unwrap().path()) {
        let Ok(domains) = std::fs::read_dir(tree.join("mon_data")) else { continue };
        let files = Files::default();
        let mut counts = Vec::new();
        for domain in domains.map(|domain| domain.unwrap().path()) {
            let text = |file: &str| std::fs::read_to_string(domain.join(file)).ok();
            let (Some(total), Some(local)) = (text("mbm_total_bytes"), text("mbm_local_bytes")) else { continue };
            counts.push(total.trim().parse::<u64>().unwrap());
            files.put(&domain.file_name().unwrap().to_string_lossy(), &total, &local);
        }
        if counts.is_empty() {
            continue;
        }
        trees += 1;
        let mut source = Resctrl::open(files, &root, 1, &IdSet::new(), &machine).unwrap();
        let snapshot = source.read().unwrap();
        let totals = snapshot.readings.iter().filter(|reading| reading.of == tiermark_counters::Of::Both);
        let mut totals: Vec<u64> = totals.map(|reading| reading.count).collect();
        totals.sort_unstable();
        counts.sort_unstable();
        assert_eq!(totals, counts, "{}", tree.display());
    }
    assert!(trees > 0);
}

const MEMORY: &str = "\
,,SKT0,SKT0,SKT0,SKT0,SKT0,SKT0,SKT0,SKT0,System,System,System
Date,Time,Ch0Read,Ch0Write,Ch1Read,Ch1Write,Mem Read (MB/s),Mem Write (MB/s),P. Write (T/s),Memory (MB/s),Read,Write,Memory
2026-01-02,23:59:59.000,  100.00,   10.00,,,  100.00,   10.00,         7,  110.00,    100.00,     10.00,    110.00
2026-01-02,00:00:00.500,  200.00,   20.00,    4.00,,  204.00,   20.00,         7,  224.00,    204.00,     20.00,    224.00
";

#[test]
fn pcm_memory_by_channel_over_midnight() {
    let mut file = PcmFile::new(MEMORY.as_bytes(), &PCM_MEMORY);
    let end = file.read().unwrap();
    let mut start = end.clone();
    start.readings.iter_mut().for_each(|reading| reading.count = 0);
    start.at = std::time::Duration::ZERO;
    let seen = traffic(&start, &end);
    assert_eq!((seen.seconds, seen.boxes.len()), (1.5, 2));
    // 1.5 s at the rates of the second line; an empty cell is 0.
    assert_eq!((seen.whole().read, seen.whole().write), (Some(1.5 * 204e6), Some(1.5 * 20e6)));
    assert_eq!(seen.sockets().keys().collect::<Vec<_>>(), [&0]);
}

#[test]
fn a_line_counts_once_it_is_whole() {
    let mut pieces = PcmTable::new(&PCM_MEMORY);
    let rows: usize = MEMORY.as_bytes().chunks(7).map(|piece| pieces.feed(std::str::from_utf8(piece).unwrap())).sum();
    assert_eq!(rows, 2);
    let mut cut = PcmTable::new(&PCM_MEMORY);
    assert_eq!(cut.feed(&MEMORY[..MEMORY.len() - 3]), 1);
    assert_eq!(cut.feed(&MEMORY[MEMORY.len() - 3..]), 1);
    assert_eq!(cut.snapshot(), pieces.snapshot());
    // A line of another width, and one with a cell that is no number.
    assert_eq!(cut.feed("2026-01-02,00:00:01.500,1,2\n"), 0);
    assert_eq!(cut.feed(&MEMORY.lines().last().unwrap().replace("204.00", "x")), 0);
}

#[test]
fn the_end_of_a_line_without_end_is_no_line() {
    let mut memory = PcmTable::new(&PCM_MEMORY);
    memory.feed(MEMORY);
    let row = MEMORY.lines().last().unwrap();
    let long = "x".repeat(1 << 17);
    assert_eq!((memory.feed(&long), memory.feed(&format!("{row}\n"))), (0, 0));
    assert_eq!(memory.feed(&format!("{row}\n")), 1);
}

#[test]
fn pcm_memory_of_the_shared_fixtures() {
    let Some(folder) = fixtures("synthetic") else { return };
    // Files, channels (or sockets, where channels are left out) and lines.
    for (name, boxes) in [
        ("pcm-memory-icx-2s", 16),
        ("pcm-memory-icx-2s-4of8ch", 16),
        ("pcm-memory-gnr-2s-12ch", 24),
        ("pcm-memory-spr-2s-cxl", 16),
        ("pcm-memory-icx-2s-nc", 2),
    ] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.csv"))).unwrap();
        // The sum of all channels is that of PCM's last column.
        let mut memory = PcmTable::new(&PCM_MEMORY);
        let head: usize = text.split_inclusive('\n').take(3).map(|line| memory.feed(line)).sum();
        let mut rows = head;
        for line in text.split_inclusive('\n').skip(3) {
            let before = memory.snapshot();
            rows += memory.feed(line);
            let whole: f64 = line.trim().rsplit(',').next().unwrap().trim().parse().unwrap();
            let seen = traffic(&before, &memory.snapshot());
            let sum: f64 = seen.boxes.iter().map(|of| of.total).sum::<f64>() / seen.seconds / 1e6;
            assert!((sum - whole).abs() < 0.3, "{name}: {sum} and {whole}");
        }
        assert_eq!((head, rows), (1, 4), "{name}");
        assert_eq!(memory.snapshot().readings.len(), 2 * boxes, "{name}");
    }
    let likwid = std::fs::read(folder.join("likwid-mem-icx-2s.csv")).unwrap();
    let end = LikwidFile::new(likwid.as_slice(), BTreeMap::new()).read().unwrap();
    let whole = traffic(&Snapshot::default(), &end).whole();
    let (read, write) = (whole.read.unwrap(), whole.write.unwrap());
    assert!((read - 21.7677e9).abs() < 1e5 && (write - 0.7738e9).abs() < 1e5, "{whole:?}");
}

#[test]
fn a_header_says_what_is_seen() {
    use CounterSight as Sight;
    let sees = |text: &str| {
        let mut file = PcmFile::new(text.as_bytes(), &PCM_MEMORY);
        file.read().unwrap();
        file.sees()
    };
    assert_eq!(sees(MEMORY), [Sight::Reads, Sight::Writes, Sight::Channels]);
    let without_channels = MEMORY.replace("Ch0", "Other").replace("Ch1", "Other");
    assert_eq!(sees(&without_channels), [Sight::Reads, Sight::Writes]);
    // One socket has no links.
    let mut one =
        PcmFile::new("System,,Socket 0,Socket 0,\nDate,Time,READ,WRITE,\n".as_bytes(), &tiermark_counters::PCM);
    one.read().unwrap();
    assert_eq!(one.sees(), [Sight::Reads, Sight::Writes]);
}

/// A file that another program writes.
#[derive(Clone, Default)]
struct Grows(Rc<RefCell<VecDeque<u8>>>);

impl io::Read for Grows {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().read(into)
    }
}

#[test]
fn a_file_that_no_longer_grows_is_named() {
    let written = Grows::default();
    written.0.borrow_mut().extend(MEMORY.bytes());
    let old = Duration::from_secs(7200);
    let mut file = Monitored::new(
        form(CounterSourceId::PcmMemory),
        Box::new(PcmFile::new(written.clone(), &PCM_MEMORY)),
        "pcm.csv",
        Some(old),
    );
    let is_old = |note: &tiermark_model::Note| note.text.contains("pcm.csv was last written 120 minutes ago");
    assert!(file.notes().iter().any(is_old), "{:?}", file.notes());
    let mut at = |seconds| file.read_at(Duration::from_secs(seconds)).map_err(|error| error.to_string());
    assert!(at(0).is_ok() && at(59).is_ok());
    let quiet = at(61).unwrap_err();
    assert_eq!(quiet, "no new line in pcm.csv for 61 s; is pcm-memory still running?");
    // It goes on.
    written.0.borrow_mut().extend(MEMORY.lines().last().unwrap().replace("00.500", "01.500").bytes().chain([b'\n']));
    assert!(at(70).is_ok() && at(120).is_ok() && at(131).is_err());
    // What likwid counts comes when its program ends.
    let likwid = Box::new(LikwidFile::new(&b"STRUCT,Info,3\n"[..], BTreeMap::new()));
    let mut likwid = Monitored::new(form(CounterSourceId::Likwid), likwid, "out", Some(Duration::ZERO));
    assert!(likwid.read_at(Duration::ZERO).is_ok() && likwid.read_at(old).is_ok() && likwid.notes().len() == 2);
    assert!(likwid.notes()[1].text.contains("no counts yet"));
}
