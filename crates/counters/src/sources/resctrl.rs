//! Memory bandwidth monitoring of `resctrl`: a monitoring group of our own, and those of others untouched.

use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

use tiermark_machine::Root;
use tiermark_model::messages::counters as says;
use tiermark_model::{
    BoxKind, BoxPlace, CounterSight, CounterSourceId, CounterSourceInfo, CpuId, IdSet, Machine, Refusal,
};

use crate::family::Of;
use crate::snapshot::{Reading, Snapshot};
use crate::source::{CounterSource, Opened, Place, Reads, SourceKind, SystemCounters, Tried, refused};

/// Where the file system is mounted.
const RESCTRL: &str = "/sys/fs/resctrl";
/// Start of the names of groups that this program makes.
const PREFIX: &str = "tiermark-";

/// What it sees.
const SEES: [CounterSight; 2] = [CounterSight::Total, CounterSight::LocalShare];

/// To open it changes the system, so that it is tried only if counters are required.
pub(super) static KIND: SourceKind = SourceKind {
    id: CounterSourceId::Resctrl,
    reads: Reads::System(SystemCounters {
        shots: Tried::IfRequired,
        samples: Tried::IfRequired,
        open: |place, _| open(place),
        examine,
    }),
};

fn open(Place { root, machine, .. }: Place<'_>) -> Opened {
    examine_resctrl(root, machine)?;
    let cpus = machine.cpus.iter().map(|cpu| cpu.id).collect();
    Ok(Box::new(Resctrl::open(SystemFiles, root, std::process::id(), &cpus, machine)?))
}

fn examine(place: Place<'_>) -> CounterSourceInfo {
    match examine_resctrl(place.root, place.machine) {
        Ok(()) => CounterSourceInfo { opens: None, ..refused(KIND.id, &SEES, says::group_not_made()) },
        Err(refusal) => refused(KIND.id, &SEES, refusal),
    }
}

/// The calls that monitoring groups need: tests have a stand-in, since only the kernel fills a new group with files.
pub trait GroupFiles {
    /// Makes a directory.
    ///
    /// # Errors
    /// The system's answer.
    fn make(&mut self, path: &str) -> io::Result<()>;

    /// Removes a directory, as the kernel does with its files.
    ///
    /// # Errors
    /// The system's answer.
    fn remove(&mut self, path: &str) -> io::Result<()>;

    /// Writes a file that exists.
    ///
    /// # Errors
    /// The system's answer.
    fn write(&mut self, path: &str, text: &str) -> io::Result<()>;

    /// Reads a file.
    ///
    /// # Errors
    /// The system's answer.
    fn read(&self, path: &str) -> io::Result<String>;

    /// The names in a directory, sorted.
    ///
    /// # Errors
    /// The system's answer.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;

    /// Whether a process is running.
    fn is_running(&self, pid: u32) -> bool;
}

/// The files of this system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemFiles;

impl GroupFiles for SystemFiles {
    fn make(&mut self, path: &str) -> io::Result<()> {
        std::fs::create_dir(path)
    }

    fn remove(&mut self, path: &str) -> io::Result<()> {
        std::fs::remove_dir(path)
    }

    fn write(&mut self, path: &str, text: &str) -> io::Result<()> {
        use std::io::Write;
        // Opened without O_CREAT: a file that the kernel does not have is an error.
        std::fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
    }

    fn read(&self, path: &str) -> io::Result<String> {
        std::fs::read_to_string(path)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names: Vec<String> =
            std::fs::read_dir(path)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn is_running(&self, pid: u32) -> bool {
        // The number may be another program's by now.
        let name = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/comm")).ok();
        name(&pid.to_string()).is_some_and(|other| name("self") == Some(other))
    }
}

/// Whether a machine has monitoring groups that count traffic; nothing is changed.
///
/// # Errors
/// A [`Refusal`] if the processor does not count, or the file system is not mounted.
pub fn examine_resctrl(root: &Root, machine: &Machine) -> Result<(), Refusal> {
    let counts = machine.cpu_model.flags.iter().any(|flag| flag == "cqm_mbm_total");
    let inside = RESCTRL.trim_start_matches('/');
    let features = root.text(&format!("{inside}/info/L3_MON/mon_features"));
    let total = features.as_deref().map(|text| text.lines().any(|line| line.trim() == "mbm_total_bytes"));
    match (counts, total) {
        (_, Some(true)) => Ok(()),
        (false, _) | (true, Some(false)) => Err(says::no_bandwidth_monitoring()),
        (true, None) => Err(says::resctrl_not_mounted(RESCTRL)),
    }
}

/// A domain of a group: the cpus of one last-level cache.
struct Domain {
    path: String,
    place: BoxPlace,
}

/// A monitoring group of our own.
pub struct Resctrl<F: GroupFiles> {
    files: F,
    group: String,
    domains: Vec<Domain>,
    from: Instant,
}

impl<F: GroupFiles> Resctrl<F> {
    /// Makes a group that counts the traffic of some cpus. Groups of this program whose process has ended are removed;
    /// no other group is touched.
    ///
    /// # Errors
    /// A [`Refusal`] if the group cannot be made, or has no counters.
    pub fn open(mut files: F, root: &Root, pid: u32, cpus: &IdSet, machine: &Machine) -> Result<Self, Refusal> {
        let groups = format!("{RESCTRL}/mon_groups");
        remove_old(&mut files, &groups);
        let group = format!("{groups}/{PREFIX}{pid}");
        let refused = |error: &io::Error| says::monitoring_group_refused(&group, &error.to_string());
        if let Some(other) = taken(&files, &groups, cpus) {
            return Err(says::monitoring_group_refused(&group, &format!("its cpus would leave the group {other}")));
        }
        files.make(&group).map_err(|error| refused(&error))?;
        let mut own = Self { files, group: group.clone(), domains: Vec::new(), from: Instant::now() };
        own.files.write(&format!("{group}/cpus_list"), &format!("{cpus}\n")).map_err(|error| refused(&error))?;
        own.domains = own.domains_of(root, machine).map_err(|error| refused(&error))?;
        if own.domains.is_empty() { Err(says::no_bandwidth_monitoring()) } else { Ok(own) }
    }

    /// The domains of the group. Their numbers are those of caches, and may have gaps.
    fn domains_of(&self, root: &Root, machine: &Machine) -> io::Result<Vec<Domain>> {
        let data = format!("{}/mon_data", self.group);
        let names = self.files.list(&data)?;
        let numbered = |name: &str| name.strip_prefix("mon_L3_")?.parse::<u32>().ok();
        let mut ids: Vec<(u32, String)> = names.into_iter().filter_map(|name| Some((numbered(&name)?, name))).collect();
        ids.sort_unstable();
        let caches = caches(root, machine);
        let domain = |(id, name): (u32, String)| {
            let cpu = caches.get(&id).and_then(|cpu| machine.cpus.iter().find(|own| own.id == *cpu));
            // The node is that of the cpus, not of the memory that they use.
            let (socket, node) = (cpu.map(|cpu| cpu.socket), None);
            let place = BoxPlace { socket, node, kind: BoxKind::Cache, unit: format!("L3 {id}") };
            Domain { path: format!("{data}/{name}"), place }
        };
        Ok(ids.into_iter().map(domain).collect())
    }
}

/// Removes the groups of processes of this program that were killed.
fn remove_old(files: &mut impl GroupFiles, groups: &str) {
    for name in files.list(groups).unwrap_or_default() {
        let pid = name.strip_prefix(PREFIX).and_then(|pid| pid.parse().ok());
        if pid.is_some_and(|pid| !files.is_running(pid)) {
            // If it cannot be removed, it only holds a number of a monitor.
            let _ = files.remove(&format!("{groups}/{name}"));
        }
    }
}

/// A group of another program that counts some of these cpus: a cpu is in one group only.
fn taken(files: &impl GroupFiles, groups: &str, cpus: &IdSet) -> Option<String> {
    let others = files.list(groups).unwrap_or_default();
    others.into_iter().find(|name| {
        let list = files.read(&format!("{groups}/{name}/cpus_list")).unwrap_or_default();
        let own = IdSet::from_plain_list(list.trim()).unwrap_or_default();
        own.iter().any(|cpu| cpus.contains(cpu))
    })
}

/// A cpu of each last-level cache, by the number of the cache, which is also that of the domain.
fn caches(root: &Root, machine: &Machine) -> BTreeMap<u32, CpuId> {
    let id = |cpu: CpuId| root.value(&format!("sys/devices/system/cpu/cpu{cpu}/cache/index3/id"));
    machine.cpus.iter().rev().filter_map(|cpu| Some((id(cpu.id)?, cpu.id))).collect()
}

impl<F: GroupFiles> CounterSource for Resctrl<F> {
    fn id(&self) -> CounterSourceId {
        CounterSourceId::Resctrl
    }

    fn sees(&self) -> Vec<CounterSight> {
        SEES.to_vec()
    }

    fn read(&mut self) -> io::Result<Snapshot> {
        let at = self.from.elapsed();
        let (mut readings, mut lost) = (Vec::new(), Vec::new());
        for (index, domain) in self.domains.iter().enumerate() {
            for (which, (file, of)) in
                [("mbm_total_bytes", Of::Both), ("mbm_local_bytes", Of::Local)].iter().enumerate()
            {
                let text = match self.files.read(&format!("{}/{file}", domain.path)) {
                    // Some processors count the total alone.
                    Err(error) if error.kind() == io::ErrorKind::NotFound && *of == Of::Local => continue,
                    text => text?,
                };
                // `Unavailable`, `Error` and `Unassigned` are no counts: a sum without them is none.
                let Ok(count) = text.trim().parse() else {
                    lost.push(domain.place.clone());
                    continue;
                };
                readings.push(Reading::of(2 * index + which, domain.place.clone(), *of, count));
            }
        }
        Ok(Snapshot { at, readings, lost })
    }
}

impl<F: GroupFiles> Drop for Resctrl<F> {
    fn drop(&mut self) {
        // If it cannot be removed, the next start removes it.
        let _ = self.files.remove(&self.group);
    }
}
