//! Control groups of others that have pages in swap: whether these fit under their limits once swap is taken away.

use tiermark_machine::Root;
use tiermark_machine::files;
use tiermark_model::Bytes;

/// Groups that are looked at: a host with a thousand containers has some thousand.
const MOST_GROUPS: usize = 20_000;

/// A group whose pages in swap have no room under its limit.
pub(super) struct TooSmall {
    pub(super) group: String,
    pub(super) swapped: Bytes,
    pub(super) room: Bytes,
}

/// The files of a group: limit, what counts against it, and what is in swap. Version 1 has the sum of memory and swap instead of the last.
const VERSIONS: [(&str, [&str; 3], bool); 2] = [
    ("sys/fs/cgroup", ["memory.max", "memory.current", "memory.swap.current"], false),
    ("sys/fs/cgroup/memory", ["memory.limit_in_bytes", "memory.usage_in_bytes", "memory.memsw.usage_in_bytes"], true),
];

/// The first group, except `ours` and those below them, whose pages in swap do not fit under its limit. Which area they are in the kernel
/// does not say.
pub(super) fn without_room(root: &Root, ours: &[String]) -> Option<TooSmall> {
    VERSIONS.iter().find_map(|(top, files, sum)| {
        let is_ours = |path: &String| ours.iter().any(|ours| path == ours || path.starts_with(&format!("{ours}/")));
        let mut open = vec![(*top).to_owned()];
        for _ in 0..MOST_GROUPS {
            let path = open.pop()?;
            if is_ours(&path) {
                continue;
            }
            if let Some(found) = too_small(root, &path, files, *sum) {
                return Some(found);
            }
            let below = root.list(&path).unwrap_or_default().into_iter().map(|name| format!("{path}/{name}"));
            open.extend(below.filter(|path| root.list(path).is_ok_and(|names| !names.is_empty())));
        }
        None
    })
}

fn too_small(root: &Root, path: &str, [limit, current, swap]: &[&str; 3], sum: bool) -> Option<TooSmall> {
    let number = |file: &str| files::number(&root.text(&format!("{path}/{file}"))?).ok();
    // "max" is no limit.
    let (limit, current, swap) = (number(limit)?, number(current)?, number(swap)?);
    let swapped = if sum { swap.saturating_sub(current) } else { swap };
    let room = limit.saturating_sub(current);
    (swapped > room).then(|| TooSmall { group: path.to_owned(), swapped: Bytes(swapped), room: Bytes(room) })
}
