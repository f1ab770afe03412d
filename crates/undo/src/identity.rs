//! What a disk and a file system are, whatever their names: names change with the order in which devices are found, and mounts come and go.

use std::fs;
use std::path::Path;

use rustix::fs::statvfs;
use tiermark_machine::Root;

/// Files of a block device in sysfs with what identifies it, best first: the id of SCSI and NVMe disks, serial numbers of virtio and NVMe
/// disks, the ids of device mapper and RAID, the file of a loop device.
const IDENTITIES: [&str; 7] =
    ["wwid", "device/wwid", "serial", "device/serial", "dm/uuid", "md/uuid", "loop/backing_file"];

/// The identity of the block device with this path below the root, with the number of the partition; `None` where the kernel has none.
pub(crate) fn device(root: &Root, path: &str) -> Option<String> {
    let node = fs::canonicalize(root.on_disk(path).ok()??).ok()?;
    of_name(root, node.file_name()?.to_str()?)
}

/// The identity of the block device with this name.
pub(crate) fn of_name(root: &Root, name: &str) -> Option<String> {
    let dir = format!("sys/class/block/{name}");
    let id = |dir: &str| IDENTITIES.iter().find_map(|file| root.word(&format!("{dir}/{file}")));
    let Some(partition) = root.word(&format!("{dir}/partition")) else { return id(&dir) };
    let disk = tiermark_machine::disk_of(root, name)?;
    Some(format!("{}, partition {partition}", id(&format!("sys/class/block/{disk}"))?))
}

/// The names of all block devices but floppies and optical drives, which take seconds to open.
pub(crate) fn devices(root: &Root) -> Vec<String> {
    let mut names = root.list("sys/class/block").unwrap_or_default();
    names.retain(|name| !["fd", "sr"].iter().any(|slow| name.starts_with(slow)));
    names
}

/// The identity of the file system that holds the directory of a path below the root; `None` where the directory is absent, or the file
/// system has no identity.
pub(crate) fn file_system(root: &Root, path: &str) -> Option<String> {
    let directory = Path::new(path).parent().and_then(Path::to_str).unwrap_or_default();
    let id = statvfs(&root.on_disk(directory).ok()??).ok()?.f_fsid;
    (id != 0).then(|| format!("{id:x}"))
}
