//! Where readings come from.

use std::collections::BTreeMap;

use rustix::time::{ClockId, clock_gettime};
use tiermark_machine::files::counters;
use tiermark_machine::{CpuTimes, OpenFile, Root, own_group, pressure, zram};
use tiermark_model::NodeId;

use crate::groups::Groups;
use crate::programs::Programs;
use crate::reading::{NodeReading, Pressures, Reading};

/// Directory of the nodes.
const NODES: &str = "sys/devices/system/node";
/// Directory of the block devices.
const BLOCK: &str = "sys/block";
/// Nodes that are read at most: `MAX_NUMNODES` of the kernel.
const MOST_NODES: usize = 1024;
/// zram devices that are read at most; hot_add makes as many as one asks for.
const MOST_ZRAM: usize = 64;
/// Readings between two looks for nodes and devices that came: to list a directory costs as much as to read several
/// files. At the usual second a new node is shown after 5 s.
const LOOK_EVERY: u64 = 5;

/// Reads the counters of a system again and again.
#[derive(Debug)]
pub struct Source {
    root: Root,
    psi: PressureFiles,
    group: Option<(String, PressureFiles)>,
    stat: OpenFile,
    meminfo: OpenFile,
    vmstat: OpenFile,
    swaps: OpenFile,
    nodes: BTreeMap<NodeId, NodeFiles>,
    zram: BTreeMap<String, OpenFile>,
    groups: Option<Groups>,
    most_groups: usize,
    programs: Option<Programs>,
    readings: u64,
}

/// The files of pressure of the system or of a group.
#[derive(Debug)]
struct PressureFiles {
    memory: OpenFile,
    cpu: OpenFile,
    io: OpenFile,
}

/// The files of a node.
#[derive(Debug)]
struct NodeFiles {
    meminfo: OpenFile,
    numastat: OpenFile,
    vmstat: OpenFile,
}

impl Source {
    /// The system below a root.
    pub fn new(root: &Root) -> Self {
        let file = |path: &str| OpenFile::new(root, path);
        let group = own_group(root).map(|(path, directory)| {
            let group_file = |name: &str| file(&format!("{directory}/{name}.pressure"));
            (path, PressureFiles { memory: group_file("memory"), cpu: group_file("cpu"), io: group_file("io") })
        });
        let psi_file = |name: &str| file(&format!("proc/pressure/{name}"));
        Self {
            psi: PressureFiles { memory: psi_file("memory"), cpu: psi_file("cpu"), io: psi_file("io") },
            group,
            stat: file("proc/stat"),
            meminfo: file("proc/meminfo"),
            vmstat: file("proc/vmstat"),
            swaps: file("proc/swaps"),
            nodes: BTreeMap::new(),
            zram: BTreeMap::new(),
            groups: None,
            most_groups: 0,
            programs: None,
            readings: 0,
            root: root.clone(),
        }
    }

    /// The same with the groups and the programs that use most, at most so many of each kind in a sample.
    pub fn with_groups(self, most: usize) -> Self {
        let groups = (most > 0).then(|| Groups::new(&self.root, most));
        let programs = (most > 0).then(|| Programs::new(&self.root, most));
        Self { groups, most_groups: most, programs, ..self }
    }

    /// Reads everything now.
    pub fn read(&mut self) -> Reading {
        let began = seconds(ClockId::ThreadCPUTime);
        if self.readings.is_multiple_of(LOOK_EVERY) {
            self.look();
        }
        self.readings += 1;
        let mut reading = Reading { at: seconds(ClockId::Boottime), ..Reading::default() };
        reading.psi = self.psi.read();
        reading.group = self.group.as_mut().map(|(path, files)| (path.clone(), files.read()));
        reading.cpu = self.stat.text().and_then(CpuTimes::of_all);
        if let Some(text) = self.meminfo.text() {
            reading.meminfo(text);
        }
        if let Some(text) = self.vmstat.text() {
            reading.vmstat(text);
        }
        if let Some(text) = self.swaps.text() {
            reading.swaps(text);
        }
        // A node or device that went away has no file, and so no row.
        reading.nodes = self.nodes.iter_mut().filter_map(|(id, files)| Some((*id, files.read()?))).collect();
        let device = |(name, file): (&String, &mut OpenFile)| {
            let sizes = zram(file.text()?).ok()?;
            // One that was not set up has no pages and no pool.
            (sizes.memory > 0 || sizes.original > 0).then(|| (name.clone(), sizes))
        };
        reading.zram = self.zram.iter_mut().filter_map(device).collect();
        if let Some(groups) = &mut self.groups {
            (reading.groups, reading.most_groups) = (groups.read(), self.most_groups);
        }
        if let Some(programs) = &mut self.programs {
            reading.programs = programs.read(reading.at, || seconds(ClockId::ThreadCPUTime));
        }
        if self.root.is_live() {
            reading.own_seconds = Some(seconds(ClockId::ProcessCPUTime));
            reading.read_seconds = Some(seconds(ClockId::ThreadCPUTime) - began);
        }
        reading
    }

    /// Looks for nodes and devices, and closes the files of those that went away.
    fn look(&mut self) {
        if let Some(groups) = &mut self.groups {
            groups.look();
        }
        let root = &self.root;
        let ids: Vec<NodeId> = root.numbered(NODES, "node").unwrap_or_default().into_iter().take(MOST_NODES).collect();
        self.nodes.retain(|id, _| ids.binary_search(id).is_ok());
        for id in ids {
            let file = |name: &str| OpenFile::new(root, format!("{NODES}/node{id}/{name}"));
            let files = || NodeFiles { meminfo: file("meminfo"), numastat: file("numastat"), vmstat: file("vmstat") };
            self.nodes.entry(id).or_insert_with(files);
        }
        let devices: Vec<String> = root
            .numbered(BLOCK, "zram")
            .unwrap_or_default()
            .into_iter()
            .take(MOST_ZRAM)
            .map(|number| format!("zram{number}"))
            .collect();
        self.zram.retain(|name, _| devices.contains(name));
        for name in devices {
            let path = format!("{BLOCK}/{name}/mm_stat");
            self.zram.entry(name).or_insert_with(|| OpenFile::new(root, path));
        }
    }
}

impl PressureFiles {
    /// A file that makes no sense is treated as missing.
    fn read(&mut self) -> Pressures {
        let stalls = |file: &mut OpenFile| pressure(file.text()?).ok();
        Pressures { memory: stalls(&mut self.memory), cpu: stalls(&mut self.cpu), io: stalls(&mut self.io) }
    }
}

impl NodeFiles {
    /// What the node reports; `None` if it has no `meminfo`.
    fn read(&mut self) -> Option<NodeReading> {
        let mut reading = NodeReading::default();
        reading.meminfo(self.meminfo.text()?);
        reading.numa = self.numastat.text().and_then(|text| counters(text).ok()).unwrap_or_default();
        reading.vm = self.vmstat.text().and_then(|text| counters(text).ok()).unwrap_or_default();
        Some(reading)
    }
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
