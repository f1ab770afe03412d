//! Control groups of our own: a parent that stands for the server's DRAM, and one below it for each tenant.
//!
//! Only groups that this run made are written to, killed or removed: a name that exists already is refused.

mod files;

use std::io;
use std::process::Command;
use std::thread;
use std::time::Duration;

use tiermark_machine::Root;
use tiermark_machine::files::pids;
use tiermark_model::messages::tenants as messages;
use tiermark_model::{Bytes, Note, Refusal};
use tiermark_undo::bounded;

use crate::evidence::GroupPaths;
pub use files::{Disk, Files};

/// Between two attempts at removing a group: the kernel refuses while a process that ended is not yet taken down.
const BETWEEN: Duration = Duration::from_millis(10);
/// How long that is waited for where nothing can have been inside.
const BRIEFLY: Duration = Duration::from_secs(1);
/// Limits are rounded to pages, of at most 64 KiB.
const PAGE: u64 = 64 << 10;

/// How long the kernel may take to make room for a lower limit.
const LOWERING: Duration = Duration::from_secs(2);

/// Sets the limit of a group's memory; whether the kernel took it. Version 1 swaps out within the call for as long as
/// that gets anywhere, which is for ever where tenants bring back as much meanwhile: so a process of its own makes the
/// call, and is ended where it takes too long.
pub fn set_limit(paths: &GroupPaths, bytes: u64) -> bool {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "echo \"$1\" > \"$2\"", "tiermark-limit", &bytes.to_string()]);
    shell.arg(format!("/{}", paths.limit_file()));
    bounded(shell, LOWERING).is_ok()
}

/// Where control groups are, as paths below the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layout {
    /// Version 2 holds the memory controller.
    V2(String),
    /// Version 1 does.
    V1 {
        /// Mount point of the memory controller, below the root.
        memory: String,
        /// That of cpuacct.
        cpu: Option<String>,
        /// Version 2 beside it, which reports pressure even without controllers.
        unified: Option<String>,
    },
}

impl Layout {
    /// Finds out where the memory controller is.
    ///
    /// # Errors
    /// A [`Refusal`] where none is mounted.
    pub fn find(root: &Root) -> Result<Self, Refusal> {
        let mounts = root.text("proc/self/mounts").unwrap_or_default();
        let mount_point = |kind: &str, option: Option<&str>| {
            mounts.lines().find_map(|line| {
                let words: Vec<&str> = line.split(' ').collect();
                let [_, point, found, options, ..] = words[..] else { return None };
                let has = option.is_none_or(|option| options.split(',').any(|o| o == option));
                (found == kind && has).then(|| point.trim_start_matches('/').to_owned())
            })
        };
        let unified = mount_point("cgroup2", None);
        if let Some(memory) = mount_point("cgroup", Some("memory")) {
            return Ok(Self::V1 { memory, cpu: mount_point("cgroup", Some("cpuacct")), unified });
        }
        let controllers = |dir: &String| root.text(&format!("{dir}/cgroup.controllers"));
        let has_memory = |dir: &String| controllers(dir).is_some_and(|c| c.split_whitespace().any(|c| c == "memory"));
        unified.filter(has_memory).map(Self::V2).ok_or_else(messages::no_memory_controller)
    }

    /// Directories of a group of that name, the one of memory first.
    pub fn directories(&self, name: &str) -> Vec<String> {
        let mounts = match self {
            Self::V2(mount) => vec![mount],
            Self::V1 { memory, cpu, unified } => {
                [Some(memory), cpu.as_ref(), unified.as_ref()].into_iter().flatten().collect()
            }
        };
        mounts.into_iter().map(|mount| format!("{mount}/{name}")).collect()
    }

    fn is_v2(&self) -> bool {
        matches!(self, Self::V2(_))
    }
}

/// The memory that all tenants may take together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of memory.
    pub memory: u64,
    /// Whether more than that may be swapped out; otherwise the kernel kills one of them.
    pub swap: bool,
}

/// A control group that this program made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantGroup {
    name: String,
    directories: Vec<String>,
}

impl TenantGroup {
    /// Its directory in every hierarchy, below the root, that of memory first.
    pub fn directories(&self) -> &[String] {
        &self.directories
    }
}

/// The parent and its tenants. To be removed with [`Groups::remove`]; dropping it leaves them, since processes may
/// still run in them.
#[derive(Debug)]
pub struct Groups<F: Files> {
    files: F,
    layout: Layout,
    parent: TenantGroup,
    children: Vec<TenantGroup>,
}

/// Whether what children take counts for their parent, in version 1.
const HIERARCHY: &str = "memory.use_hierarchy";

impl<F: Files> Groups<F> {
    /// Makes the parent with its budget; what was made is undone where that fails.
    ///
    /// # Errors
    /// A [`Refusal`] where the name is taken, groups may not be made, or the limits do not hold.
    pub fn create(files: F, layout: Layout, name: &str, budget: Budget) -> Result<Self, Refusal> {
        let parent = make(&files, &layout, name)?;
        let groups = Self { files, layout, parent, children: Vec::new() };
        match groups.limit(budget) {
            Ok(()) => Ok(groups),
            Err(refusal) => {
                // The refused limit is the error that the user needs.
                let _ = take_away(&groups.files, &groups.parent, &mut { BRIEFLY });
                Err(refusal)
            }
        }
    }

    /// Makes a group for a tenant.
    ///
    /// # Errors
    /// As for [`Groups::create`].
    pub fn child(&mut self, name: &str) -> Result<TenantGroup, Refusal> {
        let child = make(&self.files, &self.layout, &format!("{}/{name}", self.parent.name))?;
        self.children.push(child.clone());
        Ok(child)
    }

    /// Puts a process into a group, in every hierarchy, as tenants do themselves.
    #[cfg(test)]
    fn admit(&self, group: &TenantGroup, pid: u32) -> Result<(), Refusal> {
        for directory in &group.directories {
            let path = format!("{directory}/cgroup.procs");
            let refused = |error| refused(&messages::setting_limit(&path, &pid.to_string()), &error);
            self.files.write(&path, &pid.to_string()).map_err(refused)?;
        }
        Ok(())
    }

    /// Where a tenant's counters are, or those of all together.
    pub fn paths(&self, group: Option<&TenantGroup>) -> GroupPaths {
        let directories = &group.unwrap_or(&self.parent).directories;
        let within = |mount: &Option<String>| {
            let mount = mount.as_ref()?;
            directories.iter().find(|dir| dir.starts_with(&format!("{mount}/"))).cloned()
        };
        match &self.layout {
            Layout::V2(_) => GroupPaths::V2(directories[0].clone()),
            Layout::V1 { cpu, unified, .. } => {
                GroupPaths::V1 { memory: directories[0].clone(), cpu: within(cpu), pressure: within(unified) }
            }
        }
    }

    /// Processes of all tenants.
    pub fn processes(&self) -> Vec<u32> {
        let procs = |group: &TenantGroup| {
            self.files.read(&format!("{}/cgroup.procs", group.directories[0])).unwrap_or_default()
        };
        let text: Vec<String> = self.children.iter().chain([&self.parent]).map(procs).collect();
        text.iter().flat_map(|text| pids(text)).collect()
    }

    /// Removes all groups. Their processes must have been ended; that they are taken down is waited for, as long as
    /// `patience` for all groups together: seconds where they hold gigabytes.
    ///
    /// # Errors
    /// A [`Refusal`] that names the first group that could not be removed; the others are removed all the same.
    pub fn remove(self, patience: Duration) -> Result<(), Refusal> {
        let mut left = patience;
        let mut failed = None;
        for group in self.children.iter().rev() {
            failed = failed.or(take_away(&self.files, group, &mut left).err());
        }
        // It is busy for good while it has a group.
        if failed.is_some() {
            left = Duration::ZERO;
        }
        let parent = take_away(&self.files, &self.parent, &mut left);
        failed.map_or(parent, Err)
    }

    fn set(&self, file: &str, value: &str) -> io::Result<()> {
        self.files.write(&format!("{}/{file}", self.parent.directories[0]), value)
    }

    /// Sets the budget and reads it back.
    fn limit(&self, budget: Budget) -> Result<(), Refusal> {
        let bytes = budget.memory.to_string();
        let mut steps: Vec<(&str, &str)> = Vec::new();
        if self.layout.is_v2() {
            // Tenants get counters of their own.
            steps.push(("cgroup.subtree_control", "+memory"));
            steps.push(("memory.max", &bytes));
            steps.push(("memory.swap.max", if budget.swap { "max" } else { "0" }));
        } else {
            // Before Linux 5.11 the limit of a parent binds its children only where it is said, and before the first
            // child.
            let flat = self.files.read(&format!("{}/{HIERARCHY}", self.parent.directories[0]));
            if flat.is_ok_and(|text| text.trim() == "0") {
                steps.push((HIERARCHY, "1"));
            }
            steps.push(("memory.limit_in_bytes", &bytes));
            if !budget.swap {
                steps.push(("memory.memsw.limit_in_bytes", &bytes));
            }
        }
        for (file, value) in steps {
            self.set(file, value).map_err(|error| {
                let action = messages::setting_limit(file, value);
                // The kernel has these files only where it counts swap.
                match error.kind() == io::ErrorKind::NotFound && file.contains("memsw") {
                    true => messages::swap_accounting_off(&action.text, &error.to_string()),
                    false => refused(&action, &error),
                }
            })?;
            let path = format!("{}/{file}", self.parent.directories[0]);
            let found = self.files.read(&path).unwrap_or_default();
            if let (Ok(wanted), found) = (value.parse::<u64>(), found.trim())
                && !found.parse::<u64>().is_ok_and(|found| found.abs_diff(wanted) < PAGE)
            {
                return Err(messages::limit_changed(&path, Bytes(wanted), found));
            }
        }
        Ok(())
    }
}

/// The refusal of the kernel, with its usual cure.
fn refused(action: &Note, error: &io::Error) -> Refusal {
    let (action, text) = (&action.text, error.to_string());
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            messages::control_group_denied(action, &text)
        }
        io::ErrorKind::NotFound => messages::controller_off(action, &text),
        io::ErrorKind::AlreadyExists => messages::control_group_exists(action, &text),
        _ => messages::control_group_failed(action, &text),
    }
}

/// Makes a group in every hierarchy; where one refuses, the others are removed again.
fn make(files: &impl Files, layout: &Layout, name: &str) -> Result<TenantGroup, Refusal> {
    let mut group = TenantGroup { name: name.to_owned(), directories: Vec::new() };
    for directory in layout.directories(name) {
        if let Err(error) = files.make(&directory) {
            // The group holds only groups of this run so far.
            let _ = take_away(files, &group, &mut { BRIEFLY });
            return Err(refused(&messages::making_group(&directory), &error));
        }
        group.directories.push(directory);
    }
    Ok(group)
}

/// Removes a group from every hierarchy; while its processes still end, tries again until `left` is used up.
fn take_away(files: &impl Files, group: &TenantGroup, left: &mut Duration) -> Result<(), Refusal> {
    let mut failed = None;
    for directory in &group.directories {
        failed = loop {
            match files.remove(directory) {
                Ok(()) => break failed,
                Err(error) if error.kind() == io::ErrorKind::NotFound => break failed,
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy && !left.is_zero() => {
                    *left = left.saturating_sub(BETWEEN);
                    thread::sleep(BETWEEN);
                }
                Err(error) => {
                    break Some(messages::control_group_busy(directory, &error.to_string()));
                }
            }
        };
    }
    failed.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests;
