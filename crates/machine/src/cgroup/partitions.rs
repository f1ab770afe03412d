//! Cpus that partitions of cpusets take away from the scheduler.

use tiermark_model::IdSet;

use super::{Mount, mounts};
use crate::Root;
use crate::reader::Reader;

/// Entries of directories that are looked at; partitions that lie behind them are not named.
const MOST_ENTRIES: usize = 1 << 16;
/// Groups below each other that are searched: partitions are made by hand, or by the manager of services.
const MOST_DEPTH: usize = 6;

/// Cpus that cpusets isolate, and the groups that do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IsolatedCpus {
    /// All of them (`cpuset.cpus.isolated` of the uppermost group).
    pub cpus: IdSet,
    /// The file that lists them.
    pub file: String,
    /// The groups that are isolated partitions: their directories.
    pub groups: Vec<String>,
}

/// The cpus that partitions isolate, on the running system or a captured one; none where version 2 is not mounted.
#[must_use]
pub fn isolated_cpus(root: &Root) -> IsolatedCpus {
    let reader = Reader::new(root);
    let is_whole = |mount: &Mount| mount.version == 2 && mount.root.trim_matches('/').is_empty();
    let Some(mount) = mounts(&reader).into_iter().find(is_whole) else { return IsolatedCpus::default() };
    let top = mount.point.trim_matches('/').to_owned();
    let file = format!("{top}/cpuset.cpus.isolated");
    let cpus = reader.id_list(&file).unwrap_or_default();
    match cpus.is_empty() {
        true => IsolatedCpus::default(),
        false => IsolatedCpus { cpus, file: format!("/{file}"), groups: partitions(root, top) },
    }
}

fn partitions(root: &Root, top: String) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = MOST_ENTRIES;
    let mut level = vec![top];
    for _ in 0..MOST_DEPTH {
        let mut below = Vec::new();
        for dir in level {
            let names = root.list(&dir).unwrap_or_default();
            for name in names.into_iter().take(left) {
                left -= 1;
                let group = format!("{dir}/{name}");
                // Only groups have the file, and only below groups that hand the controller down.
                let Some(state) = root.word(&format!("{group}/cpuset.cpus.partition")) else { continue };
                if state == "isolated" {
                    found.push(format!("/{group}"));
                }
                below.push(group);
            }
        }
        level = below;
    }
    found
}
