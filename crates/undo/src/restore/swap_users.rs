//! Control groups of others that have pages in swap: whether these fit under their limits once swap is taken away.

use tiermark_machine::Root;
use tiermark_machine::files;
use tiermark_model::Bytes;

use super::group::NotedGroup;

/// Groups that are looked at: a host with a thousand containers has some thousand.
const MOST_GROUPS: usize = 20_000;

/// A group whose pages in swap have no room under its limit.
pub(super) struct TooSmall {
    pub(super) group: String,
    pub(super) swapped: Bytes,
    pub(super) room: Bytes,
}

/// Where one version of control groups has its files, and what they are called.
struct Version {
    top: &'static str,
    limit: &'static str,
    current: &'static str,
    /// Bytes in swap; version 1 has the sum of memory and swap instead.
    swap: &'static str,
    is_sum: bool,
    /// Lines of `memory.stat` with pages of files, which the kernel drops when it needs room.
    files: [&'static str; 2],
}

const VERSIONS: [Version; 2] = [
    Version {
        top: "sys/fs/cgroup",
        limit: "memory.max",
        current: "memory.current",
        swap: "memory.swap.current",
        is_sum: false,
        files: ["inactive_file", "active_file"],
    },
    Version {
        top: "sys/fs/cgroup/memory",
        limit: "memory.limit_in_bytes",
        current: "memory.usage_in_bytes",
        swap: "memory.memsw.usage_in_bytes",
        is_sum: true,
        files: ["total_inactive_file", "total_active_file"],
    },
];

/// The first group, except `ours` and those below them, under whose limit its pages in swap do not fit. At most `pages`
/// bytes of them come back; whose pages lie in which area the kernel does not say.
pub(super) fn without_room(root: &Root, ours: &[NotedGroup], pages: u64) -> Option<TooSmall> {
    if pages == 0 {
        return None;
    }
    VERSIONS.iter().find_map(|version| {
        let mut open = vec![version.top.to_owned()];
        for _ in 0..MOST_GROUPS {
            let path = open.pop()?;
            if ours.iter().any(|group| group.path == path) {
                continue;
            }
            if let Some(found) = version.too_small(root, &path, pages) {
                return Some(found);
            }
            // One that cannot be listed may have groups without room below it.
            let Ok(names) = root.list(&path) else {
                return Some(TooSmall { group: path, swapped: Bytes(pages), room: Bytes(0) });
            };
            let below = names.into_iter().map(|name| format!("{path}/{name}"));
            open.extend(below.filter(|path| root.list(path).is_ok_and(|names| !names.is_empty())));
        }
        None
    })
}

impl Version {
    /// Whether a group has too little room. What it does not count, as version 1 without swap accounting, may be all of
    /// `pages`; what it uses may be its limit.
    fn too_small(&self, root: &Root, path: &str, pages: u64) -> Option<TooSmall> {
        let read = |file: &str| root.read(&format!("{path}/{file}"));
        let number = |file: &str| files::number(&read(file).ok()??).ok();
        let limit = match read(self.limit) {
            // No file: the uppermost group. "max": no limit.
            Ok(text) => files::number(&text?).ok()?,
            Err(_) => 0,
        };
        let current = number(self.current).unwrap_or(limit);
        let swapped = match number(self.swap) {
            Some(sum) if self.is_sum => sum.saturating_sub(current),
            Some(swapped) => swapped,
            None => pages,
        };
        let stat = root.parsed(&format!("{path}/memory.stat"), files::counters).ok().flatten().unwrap_or_default();
        let dropped: u64 = self.files.iter().filter_map(|name| stat.get(*name)).sum();
        let room = limit.saturating_sub(current.saturating_sub(dropped));
        let swapped = swapped.min(pages);
        (swapped > room).then(|| TooSmall { group: path.to_owned(), swapped: Bytes(swapped), room: Bytes(room) })
    }
}
