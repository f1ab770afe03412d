//! What a disk, a file system and a hierarchy of control groups are, whatever their names: names change with the order
//! in which devices are found, and mounts come and go.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{major, minor, statvfs};
use tiermark_machine::Root;

/// Files of a block device in sysfs with what identifies it, best first: the id of SCSI and NVMe disks, serial numbers
/// of virtio and NVMe disks, the ids of device mapper and RAID, the file of a loop device.
const IDENTITIES: [&str; 7] =
    ["wwid", "device/wwid", "serial", "device/serial", "dm/uuid", "md/uuid", "loop/backing_file"];

/// What identifies the block device at this path below the root, and the partition's number if it is a partition: of a
/// device without an identity its name and its size. `None` if the kernel reports neither, or nothing is at the path.
pub(crate) fn device(root: &Root, path: &str) -> Option<String> {
    let node = fs::canonicalize(root.on_disk(path).ok()??).ok()?;
    let name = node.file_name()?.to_str()?;
    let size = || Some(format!("{name} of {} sectors", root.word(&format!("sys/class/block/{name}/size"))?));
    of_name(root, name).or_else(size)
}

/// Whether the device at this path is known by more than its name and its size, which another disk may have after a
/// reboot.
pub(crate) fn is_persistent(root: &Root, path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| of_name(root, name).is_some())
}

/// An identifier of the block device with the kernel's name `name` (`sda1`).
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

/// The number that the kernel knows the first control group of a hierarchy by, which is mounted there: in another
/// cgroup namespace, where the same paths begin at another group, it is another. `None` if no hierarchy is mounted
/// there.
pub(crate) fn hierarchy(root: &Root, mount: &str) -> Option<u64> {
    root.on_disk(&format!("{mount}/cgroup.procs")).ok()??;
    Some(fs::metadata(root.on_disk(mount).ok()??).ok()?.ino())
}

/// What identifies the file system that holds the directory of a path below the root: the block device below it, else
/// the kernel's id of the file system (XFS makes that of the device's number, which changes with its name). `None` if
/// there is no such directory, or neither.
pub(crate) fn file_system(root: &Root, path: &str) -> Option<String> {
    let directory = Path::new(path).parent().and_then(Path::to_str).unwrap_or_default();
    let directory = root.on_disk(directory).ok()??;
    below(root, &directory).or_else(|| {
        let id = statvfs(&directory).ok()?.f_fsid;
        (id != 0).then(|| format!("{id:x}"))
    })
}

/// An identifier of the block device below a directory; `None` if there is none, as for btrfs and tmpfs.
fn below(root: &Root, directory: &Path) -> Option<String> {
    let id = fs::metadata(directory).ok()?.dev();
    let link = root.on_disk(&format!("sys/dev/block/{}:{}", major(id), minor(id))).ok()??;
    of_name(root, fs::canonicalize(link).ok()?.file_name()?.to_str()?)
}
