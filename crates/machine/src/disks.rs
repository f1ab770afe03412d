//! Block devices by the names that people give.

use std::path::Path;

use crate::Root;
use tiermark_model::Refusal;
use tiermark_model::messages::machine as messages;

/// The whole device (`vda`) behind a name such as `vda`, `/dev/vda1` or `/dev/disk/by-id/…`.
///
/// # Errors
/// A [`Refusal`] that lists what there is.
pub fn resolve_disk(root: &Root, asked: &str) -> Result<String, Refusal> {
    let found = name(root, asked).and_then(|name| disk_of(root, &name));
    found.ok_or_else(|| {
        let known = root.list("sys/block").unwrap_or_default();
        messages::disk_unknown(asked, &known)
    })
}

/// The kernel's name of a device node; links such as those in by-id are followed.
fn name(root: &Root, asked: &str) -> Option<String> {
    let plain = asked.strip_prefix("/dev/").unwrap_or(asked);
    if !plain.contains('/') && !plain.is_empty() {
        return Some(plain.to_owned());
    }
    // Elsewhere than on the running system there are no device nodes.
    let real = std::fs::canonicalize(asked).ok().filter(|_| root.is_live() && asked.starts_with("/dev/"))?;
    Some(Path::new(&real).file_name()?.to_str()?.to_owned())
}

/// The whole device that a device or partition belongs to.
pub fn disk_of(root: &Root, name: &str) -> Option<String> {
    if name.contains('/') || name.starts_with('.') {
        return None;
    }
    let disks = root.list("sys/block").unwrap_or_default();
    if disks.iter().any(|disk| disk == name) {
        return Some(name.to_owned());
    }
    let has = |disk: &String| {
        name.starts_with(disk.as_str())
            && root.list(&format!("sys/block/{disk}")).is_ok_and(|names| names.iter().any(|n| n == name))
    };
    disks.into_iter().find(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_belong_to_their_disk_and_others_are_refused_with_what_there_is() {
        let root = Root::from_files(
            "test",
            [
                ("sys/block/nvme0n1/nvme0n1p2/size", "1"),
                ("sys/block/nvme0n1/queue/nr_requests", "1"),
                ("sys/block/vda/x", ""),
            ],
        );
        for (asked, disk) in
            [("vda", "vda"), ("/dev/vda", "vda"), ("/dev/nvme0n1p2", "nvme0n1"), ("nvme0n1", "nvme0n1")]
        {
            assert_eq!(resolve_disk(&root, asked).unwrap(), disk);
        }
        for asked in ["", "vda9", "queue", "..", "/dev/disk/by-id/x", "../vda", "/etc/passwd"] {
            let refused = resolve_disk(&root, asked).unwrap_err();
            assert_eq!(refused, messages::disk_unknown(asked, &["nvme0n1".to_owned(), "vda".to_owned()]));
        }
    }
}
