//! A block device to swap to: only one with nothing on it.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

use rustix::fs::OFlags;
use tiermark_model::{Bytes, Refusal};
use tiermark_tune::{Change, resolve_device};

use super::Raised;
use crate::system::{LABEL, System};

/// Bytes at both ends in which file systems, partition tables, RAID and volume managers have their signatures.
const ENDS: u64 = 1 << 20;
/// Bytes of the first page that a swap area's header takes, and where its label stands (include/linux/swap.h).
const HEADER: usize = 4096;
const LABEL_AT: usize = 1024 + 4 * 3 + 16;

/// Whether a path is a block device.
pub(super) fn is(path: &str) -> bool {
    fs::metadata(path).is_ok_and(|about| about.file_type().is_block_device())
}

/// Swaps to a device that nobody uses and nothing is on.
pub(super) fn raise(path: &str, priority: u16, system: &mut System) -> Result<Raised, Refusal> {
    // The kernel's own name: a link of by-id is what people give, and not what /proc/swaps says.
    let real = fs::canonicalize(path).map_err(|why| unusable(path, &why.to_string(), "check the name"))?;
    let real = real.display().to_string();
    let room = empty(&real)?;
    let device = resolve_device(system.root(), &real)?;
    system.note([Change::Swap { path: real.trim_start_matches('/').to_owned(), remove_file: false }])?;
    system.swap_on(&real, priority)?;
    Ok(Raised { device: Some(device), areas: vec![real], room, ..Raised::default() })
}

/// Its size, where it is nobody's.
fn empty(path: &str) -> Result<u64, Refusal> {
    // With O_EXCL the kernel refuses a block device that is mounted, swapped to, or part of another one.
    let open = OpenOptions::new().read(true).custom_flags(OFlags::EXCL.bits() as i32).open(path);
    let mut file = open.map_err(|why| match why.kind() {
        io::ErrorKind::ResourceBusy => {
            unusable(path, "it is in use: mounted, swapped to, or part of another device", "name one that is not")
        }
        io::ErrorKind::PermissionDenied => unusable(path, "this user may not open it", "run as root"),
        _ => unusable(path, &why.to_string(), "check the device"),
    })?;
    let looked = (|| {
        let size = file.seek(SeekFrom::End(0))?;
        Ok((size, blank(&mut file, size)?))
    })();
    let (size, blank) = looked.map_err(|why: io::Error| unusable(path, &why.to_string(), "check the device"))?;
    match blank {
        _ if size < 2 * ENDS => Err(unusable(path, &format!("it has only {}", Bytes(size)), "name a larger one")),
        true => Ok(size),
        false => Err(unusable(
            path,
            "something is on it: its first or last 1 MiB is not all zeros",
            format!("if nothing on it is needed: wipefs --all {path} && blkdiscard --zeroout --length 1M {path}"),
        )),
    }
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

fn unusable(path: &str, why: &str, cure: impl Into<String>) -> Refusal {
    Refusal::new(format!("the tier swap:{path}"), why, cure)
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
        // In the middle lies what a discarded file left; nothing has its signature there.
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
    fn files_are_no_devices() {
        assert!(!is("/etc/passwd") && !is("/nonexistent"));
    }
}
