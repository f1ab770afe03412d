//! A block device to swap to: only one with nothing on it.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

use rustix::fs::OFlags;
use tiermark_machine::{Root, resolve_disk, swap_names};
use tiermark_model::messages::tiers as messages;
use tiermark_model::{Bytes, Refusal};
use tiermark_undo::{Change, ENDS};

use super::ActiveTier;
use crate::system::{LABEL, System};

/// Bytes of the first page that a swap area's header takes, and where its label stands (include/linux/swap.h).
const HEADER: usize = 4096;
const LABEL_AT: usize = 1024 + 4 * 3 + 16;

/// Whether a path is a block device.
pub(super) fn is(path: &str) -> bool {
    fs::metadata(path).is_ok_and(|about| about.file_type().is_block_device())
}

/// A device that is not in use and holds no data.
#[derive(Debug)]
pub(super) struct Empty {
    /// The device's path without links, as in `/proc/swaps`.
    real: String,
    /// Name of the disk that the device is on, as in `/proc/diskstats`.
    device: String,
    /// Size of the device, bytes.
    pub(super) room: u64,
}

/// Whether the device exists, is not in use, and holds no data.
pub(super) fn preflight(path: &str, root: &Root) -> Result<Empty, Refusal> {
    // The kernel's own name: a link of by-id is what people give, and not what /proc/swaps says.
    let real = fs::canonicalize(path).map_err(|why| messages::device_missing(path, &why.to_string()))?;
    let real = real.display().to_string();
    let room = empty(&real, root)?;
    let device = resolve_disk(root, &real)?;
    Ok(Empty { real, device, room })
}

/// Swaps to a device that is not in use and holds no data.
pub(super) fn activate(path: &str, priority: u16, system: &mut System) -> Result<ActiveTier, Refusal> {
    let Empty { real, device, room } = preflight(path, system.root())?;
    let uuid = system.root().word("proc/sys/kernel/random/uuid").ok_or_else(|| messages::no_uuid(path))?;
    // What mkswap and swapping write at the ends stays on the disk, and has to go away again.
    let below = real.trim_start_matches('/').to_owned();
    system.note([Change::swap_header(below.clone(), uuid.clone(), system.root()), Change::swap_device(below)])?;
    system.swap_on(&real, priority, Some(&uuid))?;
    Ok(ActiveTier { devices: vec![device], areas: vec![real], room, ..ActiveTier::default() })
}

/// Size in bytes of a device that is not in use and holds no data.
fn empty(path: &str, root: &Root) -> Result<u64, Refusal> {
    if let Some(of) = use_of(path, root) {
        return Err(messages::device_in_use(path, &of));
    }
    // With O_EXCL the kernel refuses a block device that is mounted, swapped to, or part of another one.
    let open = OpenOptions::new().read(true).custom_flags(OFlags::EXCL.bits() as i32).open(path);
    let mut file = open.map_err(|why| match why.kind() {
        io::ErrorKind::ResourceBusy => {
            messages::device_in_use(path, "the device, or a part of it, is part of another device")
        }
        io::ErrorKind::PermissionDenied => messages::device_denied(path),
        _ => messages::device_failed(path, &why.to_string()),
    })?;
    let read = (|| {
        let size = file.seek(SeekFrom::End(0))?;
        Ok((size, blank(&mut file, size)?))
    })();
    let (size, blank) = read.map_err(|why: io::Error| messages::device_failed(path, &why.to_string()))?;
    match blank {
        _ if size < 2 * ENDS => Err(messages::device_too_small(path, Bytes(size))),
        true => Ok(size),
        false => Err(messages::device_not_empty(path)),
    }
}

/// What uses a device, in words, from files that every user may read; `None` if nothing uses it.
fn use_of(path: &str, root: &Root) -> Option<String> {
    let text = |file: &str| root.text(file).unwrap_or_default();
    if swap_names(&text("proc/swaps")).any(|name| name == path) {
        return Some("the system swaps to it".to_owned());
    }
    // A disk is in use where a part of it is.
    let mounts = text("proc/self/mounts");
    let mut mounts = mounts.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mounted = mounts.find(|words| words.len() > 1 && is_part(words[0], path))?;
    Some(format!("{} is mounted on {}", mounted[0], mounted[1]))
}

/// Whether a device is that one or a partition of it: `sda1` of `sda`, `nvme0n1p2` of `nvme0n1`.
fn is_part(device: &str, of: &str) -> bool {
    device.strip_prefix(of).is_some_and(|rest| rest.trim_start_matches('p').chars().all(|c| c.is_ascii_digit()))
}

/// Whether both ends are zeros, but for the header of a swap area that this program made.
fn blank(file: &mut (impl Read + Seek), size: u64) -> io::Result<bool> {
    let mut ends = Vec::new();
    for start in [0, size.saturating_sub(ENDS)] {
        file.seek(SeekFrom::Start(start))?;
        let mut end = Vec::new();
        file.take(ENDS).read_to_end(&mut end)?;
        ends.push(end);
    }
    let [first, last] = &ends[..] else { return Ok(false) };
    let zeros = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    let header = first.len().min(HEADER);
    Ok(zeros(last) && zeros(&first[header..]) && (zeros(&first[..header]) || ours(&first[..header])))
}

/// Whether a first page is that of a swap area with this program's label.
fn ours(page: &[u8]) -> bool {
    let label = page.get(LABEL_AT..LABEL_AT + LABEL.len() + 1);
    page.ends_with(b"SWAPSPACE2") && label.is_some_and(|l| l.starts_with(LABEL.as_bytes()) && l.ends_with(b"\0"))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Cursor;

    use super::*;

    const SIZE: usize = 4 << 20;

    fn looks_blank(change: impl FnOnce(&mut Vec<u8>)) -> bool {
        let mut bytes = vec![0; SIZE];
        change(&mut bytes);
        blank(&mut Cursor::new(bytes), SIZE as u64).unwrap()
    }

    #[test]
    fn only_zeros_or_our_own_swap_area_are_nothing() {
        assert!(looks_blank(|_| ()));
        // The middle is not checked: it may hold data of a discarded file, and no format has its signature there.
        assert!(looks_blank(|bytes| bytes[SIZE / 2] = 1));
        for place in [0, 510, 0x438, 4095, 4096, 65_600, SIZE - 1, SIZE - 65_536] {
            assert!(!looks_blank(|bytes| bytes[place] = 1), "{place}");
        }
        let header = |label: &'static [u8]| {
            move |bytes: &mut Vec<u8>| {
                bytes[HEADER - 10..HEADER].copy_from_slice(b"SWAPSPACE2");
                bytes[LABEL_AT..LABEL_AT + label.len()].copy_from_slice(label);
            }
        };
        assert!(looks_blank(header(b"tiermark")));
        assert!(!looks_blank(header(b"tiermarkx")));
        assert!(!looks_blank(header(b"swap")));
    }

    #[test]
    fn what_mkswap_writes_is_known_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("area");
        File::create(&path).unwrap().set_len(SIZE as u64).unwrap();
        for (label, is_ours) in [(LABEL, true), ("other", false)] {
            let mkswap = ["/sbin/mkswap", "/usr/sbin/mkswap"].into_iter().find(|p| fs::metadata(p).is_ok()).unwrap();
            let done = std::process::Command::new(mkswap).args(["-L", label]).arg(&path).output().unwrap();
            assert!(done.status.success(), "{done:?}");
            assert_eq!(blank(&mut File::open(&path).unwrap(), SIZE as u64).unwrap(), is_ours, "{label}");
        }
    }

    #[test]
    fn who_uses_a_device_is_named() {
        let swaps = "Filename Type Size Used Priority\n/dev/vdb partition 1000 200 -2\n";
        let mounts = "proc /proc proc rw 0 0\n/dev/vda1 / ext4 rw 0 0\n";
        let root = Root::from_files("test", [("proc/swaps", swaps), ("proc/self/mounts", mounts)]);
        assert_eq!(use_of("/dev/vdb", &root).as_deref(), Some("the system swaps to it"));
        assert_eq!(use_of("/dev/vda", &root).as_deref(), Some("/dev/vda1 is mounted on /"));
        assert_eq!(use_of("/dev/vd", &root), None);
        assert!(is_part("/dev/nvme0n1p2", "/dev/nvme0n1") && !is_part("/dev/sdab", "/dev/sda"));
        assert!(
            empty("/dev/vda", &root).unwrap_err().text("user").is_some_and(|user| user.contains("mounted on /")),
            "also where it may not be opened"
        );
    }

    #[test]
    fn what_is_not_there_is_no_device_to_swap_to() {
        let refused = preflight("/dev/nonexistent", &Root::live()).unwrap_err();
        assert_eq!((refused.code.as_str(), refused.text("path")), ("device_missing", Some("/dev/nonexistent")));
    }

    #[test]
    fn files_are_no_devices() {
        assert!(!is("/etc/passwd") && !is("/nonexistent"));
    }
}
