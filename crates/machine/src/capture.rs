//! Writing down a machine: exactly the files that discovery reads, the counters of its health and its event sources,
//! without what identifies the machine.

use std::io::{self, Write};
use std::sync::PoisonError;

use flate2::Compression;
use flate2::write::GzEncoder;
use tiermark_model::{IdSet, Machine};

use crate::discover::LiveFacts;
use crate::discover::discover;
use crate::error::DiscoverError;
use crate::health::HealthCounts;
use crate::root::{Recording, Root};
use crate::{dmi, event_sources, identity, pages, perf_event_paranoid, system, virt};

/// The directory that wraps everything in the archive.
const TOP: &str = "machine";

/// Contents of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureSummary {
    /// Files written.
    pub files: usize,
    /// Bytes of their contents, uncompressed.
    pub bytes: u64,
    /// Omitted or replaced parts, in words.
    pub redacted: Vec<&'static str>,
}

/// Writes a `.tar.gz` of what discovery reads below a root, with the counters of its health and its event sources, from
/// which [`discover`] finds the same machine.
///
/// Serial numbers, asset tags and the system UUID never leave the machine, and the host name is replaced. The same
/// tree gives the same bytes.
///
/// # Errors
/// [`DiscoverError`] where the root describes no machine, or the output cannot be written.
pub fn capture(root: &Root, live: &LiveFacts, out: impl Write) -> Result<CaptureSummary, DiscoverError> {
    let (recorded, log) = root.recorded();
    let machine = discover(&recorded, live)?;
    // The counters are no part of the description; `doctor` reads them of a capture.
    HealthCounts::read(&recorded, &machine);
    // Nor are the event sources, which `list counters` reads of a capture.
    event_sources(&recorded);
    perf_event_paranoid(&recorded);
    let mut recording = std::mem::take(&mut *log.lock().unwrap_or_else(PoisonError::into_inner));
    let redacted = redact(&mut recording, &machine, live);
    write(&recording, out, redacted).map_err(|source| DiscoverError::Io { path: "the capture".to_owned(), source })
}

/// Removes data that identify the machine, and adds facts that only system calls give.
fn redact(recording: &mut Recording, machine: &Machine, live: &LiveFacts) -> Vec<&'static str> {
    let mut redacted = Vec::new();
    let files = &mut recording.files;
    if let Some(table) = files.get_mut(identity::TABLE) {
        *table = dmi::redact(table);
        redacted.push("SMBIOS serial numbers, asset tags and UUID blanked");
    }
    if files.contains_key(system::HOSTNAME) || live.uname.is_some() {
        files.insert(system::HOSTNAME.to_owned(), b"captured\n".to_vec());
        redacted.push("host name replaced");
    }
    let keep = |bytes: &[u8], wanted: &dyn Fn(&str) -> bool| -> Vec<u8> {
        let text = String::from_utf8_lossy(bytes);
        text.split_inclusive('\n').filter(|line| wanted(line)).collect::<String>().into_bytes()
    };
    if let Some(cpuinfo) = files.get_mut("proc/cpuinfo") {
        // Single-board computers print their serial number here.
        *cpuinfo = keep(cpuinfo, &|line| !line.starts_with("Serial"));
    }
    if machine.system.kernel_program.is_none() {
        // It names who built the kernel, and where.
        files.remove("proc/version");
    }
    if let Some(partition) = files.get_mut(virt::PARTITION) {
        *partition = b"captured\n".to_vec();
    }
    if let Some(sysinfo) = files.get_mut(virt::SYSINFO) {
        // Serial numbers and names of systems are beside it.
        *sysinfo = keep(sysinfo, &|line| line.starts_with(virt::CONTROL_PROGRAM));
    }
    for mounts in ["proc/self/mountinfo", "proc/mounts"] {
        if let Some(mounts) = files.get_mut(mounts) {
            *mounts = keep(mounts, &|line| {
                [" cgroup ", " cgroup2 ", " cpuset ", " - overlay ", " - fuse.lxcfs "]
                    .iter()
                    .any(|kind| line.contains(kind))
            });
        }
    }
    redacted.push("mounts other than control groups left out");
    // As the process has them: what discovery sets aside must be set aside again.
    let status = files.get("proc/self/status").map(|text| String::from_utf8_lossy(text).into_owned());
    let allowed = [
        ("Cpus_allowed_list", &live.allowed_cpus, &machine.allowed_cpus),
        ("Mems_allowed_list", &live.allowed_nodes, &machine.allowed_nodes),
    ];
    let line = |(name, live, found): (&str, &Option<IdSet>, &IdSet)| {
        let own =
            status.as_deref().unwrap_or_default().lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let stated = live.as_ref().map(ToString::to_string).or_else(|| Some(own?.trim().to_owned()));
        format!("{name}:\t{}\n", stated.unwrap_or_else(|| found.to_string()))
    };
    let status: String = allowed.into_iter().map(line).collect();
    files.insert("proc/self/status".to_owned(), status.into_bytes());
    let mut facts = format!("page_bytes {}\n", machine.page_bytes);
    if let Some(signature) = &live.hypervisor {
        facts.push_str(&format!("hypervisor {}\n", signature.replace('\n', " ")));
    }
    files.insert(pages::FACTS.to_owned(), facts.into_bytes());
    if let Some(uname) = &live.uname {
        files.insert("proc/sys/kernel/osrelease".to_owned(), format!("{}\n", uname.release).into_bytes());
        files.insert("proc/sys/kernel/arch".to_owned(), format!("{}\n", uname.machine).into_bytes());
    }
    redacted
}

fn write(recording: &Recording, out: impl Write, redacted: Vec<&'static str>) -> io::Result<CaptureSummary> {
    let mut archive = tar::Builder::new(GzEncoder::new(out, Compression::default()));
    let mut add = |path: &str, kind: tar::EntryType, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(bytes.len() as u64);
        // No owner and no time: the same machine gives the same archive.
        header.set_mode(if kind.is_dir() { 0o755 } else { 0o644 });
        header.set_mtime(0);
        archive.append_data(&mut header, format!("{TOP}/{path}"), bytes)
    };
    let mut bytes = 0;
    for name in recording.bare_names() {
        add(&format!("{name}/"), tar::EntryType::Directory, &[])?;
    }
    for (path, content) in &recording.files {
        add(path, tar::EntryType::Regular, content)?;
        bytes += content.len() as u64;
    }
    archive.into_inner()?.finish()?.flush()?;
    Ok(CaptureSummary { files: recording.files.len(), bytes, redacted })
}
