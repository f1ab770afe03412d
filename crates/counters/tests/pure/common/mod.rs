//! A stand-in for the kernel's counters, and machines to open them on.

#![allow(dead_code, clippy::unwrap_used, reason = "helpers of several tests, which are no tests themselves")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use tiermark_counters::{Backend, FileForm, GroupCounts, GroupId, PerfEvent, PerfSource, SOURCES, families};
use tiermark_machine::{EVENT_SOURCES, LiveFacts, Root, discover, event_sources};
use tiermark_model::{CounterSourceId, CpuModel, Machine, Refusal};

/// EACCES, EINVAL.
pub(crate) const EACCES: i32 = 13;
pub(crate) const EINVAL: i32 = 22;

/// Number of the event of a fixed counter: it does not use one of the general counters, of which a box has few.
const FIXED: u64 = 0xff;

/// What the stand-in does and has seen.
#[derive(Default)]
pub(crate) struct Kernel {
    /// Every event that was opened, with the leader of its group.
    pub(crate) opened: Vec<(PerfEvent, Option<GroupId>)>,
    pub(crate) groups: Vec<Vec<PerfEvent>>,
    /// Errors by number of the type.
    pub(crate) refuses: BTreeMap<u32, i32>,
    /// Types whose boxes have no fixed counter, which is the event 0xff.
    pub(crate) without_fixed: BTreeSet<u32>,
    /// Counters of a group at most.
    pub(crate) most: Option<usize>,
    /// Counts by type, words and cpu.
    pub(crate) counts: BTreeMap<(u32, [u64; 4], u32), u64>,
    /// Share of the time that groups of a type have their turn.
    pub(crate) shares: BTreeMap<u32, f64>,
    /// Cpus whose counters the kernel no longer reads.
    pub(crate) unplugged: BTreeSet<u32>,
    pub(crate) now: Duration,
}

/// The stand-in.
#[derive(Clone, Default)]
pub(crate) struct Fake(pub(crate) Rc<RefCell<Kernel>>);

impl Backend for Fake {
    fn open(&mut self, event: &PerfEvent, group: Option<GroupId>) -> io::Result<GroupId> {
        let mut kernel = self.0.borrow_mut();
        if let Some(errno) = kernel.refuses.get(&event.kind) {
            return Err(io::Error::from_raw_os_error(*errno));
        }
        let id = group.unwrap_or(GroupId(kernel.groups.len()));
        if group.is_none() {
            kernel.groups.push(Vec::new());
        }
        if kernel.without_fixed.contains(&event.kind) && event.words[0] == FIXED {
            return Err(io::Error::from_raw_os_error(EINVAL));
        }
        let general = kernel.groups[id.0].iter().filter(|event| event.words[0] != FIXED).count();
        if event.words[0] != FIXED && kernel.most.is_some_and(|most| general >= most) {
            return Err(io::Error::from_raw_os_error(EINVAL));
        }
        kernel.groups[id.0].push(*event);
        kernel.opened.push((*event, group));
        Ok(id)
    }

    fn read(&mut self, group: GroupId) -> io::Result<GroupCounts> {
        let kernel = self.0.borrow();
        let members = &kernel.groups[group.0];
        if kernel.unplugged.contains(&members[0].cpu) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let share = kernel.shares.get(&members[0].kind).copied().unwrap_or(1.0);
        let enabled_ns = kernel.now.as_nanos() as u64;
        let seen = |event: &PerfEvent| kernel.counts.get(&(event.kind, event.words, event.cpu)).copied().unwrap_or(0);
        let part = |count: u64| if share < 1.0 { (count as f64 * share) as u64 } else { count };
        let counts = members.iter().map(|event| part(seen(event))).collect();
        Ok(GroupCounts { enabled_ns, running_ns: (enabled_ns as f64 * share) as u64, counts })
    }

    fn now(&self) -> Duration {
        self.0.borrow().now
    }
}

/// Files of a machine with sockets of so many cpus each.
pub(crate) fn cpus(sockets: u32, each: u32) -> Vec<(String, String)> {
    let mut files = vec![("sys/devices/system/cpu/online".to_owned(), format!("0-{}", sockets * each - 1))];
    for cpu in 0..sockets * each {
        let at = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        files.push((format!("{at}/physical_package_id"), (cpu / each).to_string()));
        files.push((format!("{at}/core_id"), (cpu % each).to_string()));
    }
    for socket in 0..sockets {
        let at = format!("sys/devices/system/node/node{socket}");
        files.push((format!("{at}/cpulist"), format!("{}-{}", socket * each, (socket + 1) * each - 1)));
    }
    files.push(("sys/devices/system/node/online".to_owned(), format!("0-{}", sockets - 1)));
    files
}

/// Files of an event source: its number, its cpus, formats and events as `name=text` lines.
pub(crate) fn source(
    name: &str,
    kind: u32,
    cpus: &str,
    formats: &[(&str, &str)],
    events: &[(&str, &str)],
) -> Vec<(String, String)> {
    let at = |file: &str| format!("{EVENT_SOURCES}/{name}/{file}");
    let mut files = vec![(at("type"), kind.to_string()), (at("cpumask"), cpus.to_owned())];
    files.extend(formats.iter().map(|(term, text)| (at(&format!("format/{term}")), (*text).to_owned())));
    files.extend(events.iter().map(|(event, text)| (at(&format!("events/{event}")), (*text).to_owned())));
    files
}

/// A processor by CPUID.
pub(crate) fn cpu(vendor: &str, family: u32, model: u32) -> CpuModel {
    let (vendor, name) = (Some(vendor.to_owned()), Some("a processor".to_owned()));
    CpuModel { vendor, name, family: Some(family), model: Some(model), ..CpuModel::default() }
}

pub(crate) fn intel(model: u32) -> CpuModel {
    cpu("GenuineIntel", 6, model)
}

/// A machine read from a tree, with a processor that the tree does not name.
pub(crate) fn machine(root: &Root, model: CpuModel) -> Machine {
    Machine { cpu_model: model, ..discover(root, &LiveFacts::default()).unwrap() }
}

/// Opens the counters of a tree.
pub(crate) fn open(root: &Root, model: CpuModel, fake: &Fake) -> Result<PerfSource, Refusal> {
    PerfSource::open(root, &machine(root, model), &families(), Box::new(fake.clone()))
}

/// The form of a source's files.
pub(crate) fn form(id: CounterSourceId) -> &'static FileForm {
    SOURCES.iter().find(|kind| kind.id == id).and_then(|kind| kind.file()).unwrap()
}

/// The number of an event source's type.
pub(crate) fn kind(root: &Root, name: &str) -> u32 {
    event_sources(root).iter().find(|source| source.name == name).and_then(|source| source.kind).unwrap()
}

/// Opened events of a source, as config words and cpu.
pub(crate) fn of_source(fake: &Fake, kind: u32) -> Vec<([u64; 4], u32)> {
    let kernel = fake.0.borrow();
    kernel.opened.iter().filter(|(event, _)| event.kind == kind).map(|(event, _)| (event.words, event.cpu)).collect()
}

/// A folder of fixtures: made ones are here, captures of other projects are beside the workspace where someone has
/// them.
#[allow(clippy::print_stdout, reason = "says which tests did not run")]
pub(crate) fn fixtures(name: &str) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = [here.join("tests/fixtures"), here.join("../../../shared/fixtures")]
        .into_iter()
        .map(|all| all.join(name))
        .find(|dir| dir.is_dir());
    if found.is_none() {
        println!("skipped: there are no fixtures of {name}");
    }
    found
}
