//! Major faults: a device has to be waited for.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::Advice;
use tiermark_kernels::rng::Rng;
use tiermark_machine::Root;
use tiermark_model::{KIB, MIB, Machine, Refusal};
use tiermark_system::os::{Area, Shows, Tell};

use super::touch::{Fault, Ground, Renew, Touch, Touches};
use super::{base_page, memory_refused};
use crate::body::{Order, Prepared};
use crate::failure::{Failure, unavailable};

/// Bytes of the file.
const FILE: usize = 8 * MIB as usize;
/// Pages that are swapped out at a time, and how far apart they are: nothing lies between them that could be read
/// ahead.
const SWAPPED: usize = 256;
const APART: usize = 256 * KIB as usize;
/// Of what pages hold: random bits.
const SEED: u64 = 4;
/// How often the kernel is told to swap pages out, and the time between.
const ASKED: usize = 200;
const PAUSE: Duration = Duration::from_millis(5);
/// File systems of which a page comes from no disk of this machine (statfs(2)): those in memory (tmpfs, ramfs,
/// hugetlbfs), and those of which another machine or program serves it, as long as that takes (NFS, CIFS, SMB 2, Ceph,
/// AFS, Coda, Lustre, GPFS, FUSE, 9p, VirtualBox's, VMware's).
const ELSEWHERE: [u64; 16] = [
    0x0102_1994,
    0x8584_58f6,
    0x9584_58f6,
    0x6969,
    0xff53_4d42,
    0xfe53_4d42,
    0x517b,
    0x00c3_6400,
    0x5346_414f,
    0x7375_7245,
    0x0bd0_0bd0,
    0x4750_4653,
    0x6573_5546,
    0x0102_1997,
    0x786f_4256,
    0xbacb_acbc,
];

const FILE_CURE: &str =
    "set TMPDIR to a directory on a disk with room for 8 MiB; allow posix_fadvise and mincore in the seccomp profile";

/// Whether pages of such a file system come from a device of this machine.
pub(super) fn is_disk(kind: u64) -> bool {
    !ELSEWHERE.contains(&(kind & u64::from(u32::MAX)))
}

/// Where a file can be had that is on a disk: the directory for temporary files, or the one for those that last.
pub(super) fn directories() -> Vec<PathBuf> {
    let on_disk = |path: &PathBuf| rustix::fs::statfs(path).is_ok_and(|at| is_disk(at.f_type as u64));
    [std::env::temp_dir(), PathBuf::from("/var/tmp")].into_iter().filter(on_disk).collect()
}

/// What the file of major faults lies on; `None` where there is no directory for it.
pub(crate) fn measured_store() -> Option<String> {
    let mounts = Root::live().text("proc/self/mountinfo").unwrap_or_default();
    let directory = directories().into_iter().next().and_then(|path| path.canonicalize().ok())?;
    Some(format!("{}, in {}", store(&mounts, &directory)?, directory.display()))
}

/// The file system of a directory and its device (proc_pid_mountinfo(5)): the innermost mount, of several at one place
/// the last.
pub(super) fn store(mounts: &str, directory: &Path) -> Option<String> {
    let mount = |line: &str| {
        let (own, system) = line.split_once(" - ")?;
        let point = own.split(' ').nth(4)?.to_owned();
        let mut system = system.split(' ');
        Some((point, system.next()?.to_owned(), system.next()?.to_owned()))
    };
    let around = mounts.lines().filter_map(mount).filter(|(point, ..)| directory.starts_with(point));
    let (_, kind, device) = around.max_by_key(|(point, ..)| point.len())?;
    Some(if device.starts_with('/') { format!("{kind} on {device}") } else { kind })
}

/// Why there is no file whose pages would have to be read.
pub(super) fn no_disk(_: &Machine) -> Option<Refusal> {
    let why = "the directories for temporary files are in memory, or of a network or user-space file system";
    directories().is_empty().then(|| unavailable("major fault", why, FILE_CURE))
}

/// A file without a name, which goes away when it is closed.
fn nameless(directory: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).mode(0o600);
    let file = options.custom_flags(libc::O_TMPFILE).open(directory);
    file.or_else(|_| {
        // A file system without such files: it has a name for a moment.
        let path = directory.join(format!("tiermark-{}-{:x}", std::process::id(), std::ptr::from_ref(&options).addr()));
        options.create_new(true).custom_flags(0);
        let file = options.open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(file)
    })
}

/// A file whose pages are on the disk. No two are alike and none can be compressed: a store that does so would have
/// nothing to read.
pub(super) fn stored(directory: &Path) -> std::io::Result<File> {
    let file = nameless(directory)?;
    let mut random = Rng::new(SEED);
    for at in (0..FILE).step_by(MIB as usize) {
        let piece: Vec<u8> = (0..MIB / 8).flat_map(|_| random.next_u64().to_ne_bytes()).collect();
        file.write_all_at(&piece, at as u64)?;
    }
    file.sync_all()?;
    Ok(file)
}

/// A page of a file that is not in the page cache.
pub(super) fn from_file(order: &Order<'_>) -> Prepared {
    let mut last = no_disk(&Machine::default());
    for directory in directories() {
        let file = stored(&directory).map_err(|error| {
            unavailable(&order.call.primitive.0, &format!("a file in {}: {error}", directory.display()), FILE_CURE)
        });
        match file.and_then(|file| of_file(order, file)) {
            Ok(body) => return Ok(body),
            Err(refusal) => last = Some(refusal),
        }
    }
    Err(last.unwrap_or_else(|| unavailable(&order.call.primitive.0, "there is no directory for it", FILE_CURE)))
}

fn of_file(order: &Order<'_>, file: File) -> Prepared {
    let mut area = Area::map(Shows::FileRead(&file), FILE).map_err(memory_refused(order))?;
    area.tell(Tell::Random).map_err(memory_refused(order))?;
    let renew: Renew = Box::new(move |ground| {
        // Pages that are mapped stay in the page cache.
        ground.area.tell(Tell::Forget).map_err(Failure::of("madvise"))?;
        rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).map_err(Failure::of("posix_fadvise"))?;
        let left = ground.area.resident(base_page()).map_err(Failure::of("mincore"))?;
        if left > 0 { Err(format!("{left} pages stayed in the page cache").into()) } else { Ok(()) }
    });
    let fault = Fault::Major { minor_percent: 0 };
    let ground = Ground { touch: Touch::Read, fault, brings: 1, scattered: true, ..Ground::written(area, base_page()) };
    Touches::start(ground, renew, order, FILE_CURE)
}

/// Why nothing is swapped in.
pub(super) fn no_swap(machine: &Machine) -> Option<Refusal> {
    let cure = "turn on a swap area (swapon); tiermark makes none for this";
    machine
        .system
        .swap_sums()
        .is_none_or(|(bytes, _)| bytes == 0)
        .then(|| unavailable("swap-in", "the system has no swap (/proc/swaps)", cure))
}

/// A page that was swapped out.
pub(super) fn swap_in(order: &Order<'_>) -> Prepared {
    let area = Area::map(Shows::Private, SWAPPED * APART).map_err(memory_refused(order))?;
    let mut ground = Ground {
        fault: Fault::Major { minor_percent: 10 },
        brings: 1,
        scattered: true,
        ..Ground::written(area, APART)
    };
    let _ = ground.area.tell(Tell::BasePages);
    let mut random = Rng::new(SEED);
    for place in (0..SWAPPED).map(|index| index * APART) {
        let page: Vec<u64> = (0..base_page() / 8).map(|_| random.next_u64()).collect();
        ground.area.write_words(place, &page);
    }
    // From now on they are only read, so that each is written to the swap once and no more.
    ground.touch = Touch::Read;
    let renew: Renew = Box::new(|ground| {
        for _ in 0..ASKED {
            ground.area.tell(Tell::PageOut).map_err(Failure::of("madvise(MADV_PAGEOUT)"))?;
            if ground.area.resident(base_page()).map_err(Failure::of("mincore"))? == 0 {
                return Ok(());
            }
            // A page that is being written stays in the swap cache, and is not read again from there: mapped once more,
            // it leaves.
            std::thread::sleep(PAUSE);
            ground.fill()?;
        }
        Err("pages stay in memory: the swap is full, or the control group may not use it".into())
    });
    let cure =
        "free swap space, memory.swap.max of the control group, and vm.page-cluster=0 where pages are read ahead";
    Touches::start(ground, renew, order, cure)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_is_on_a_disk_cannot_be_compressed() {
        let Some(directory) = directories().into_iter().next() else { return };
        let file = stored(&directory).unwrap();
        let mut seen = BTreeSet::new();
        let mut piece = vec![0u8; 64 * KIB as usize];
        for at in (0..8 * MIB).step_by(piece.len()) {
            file.read_exact_at(&mut piece, at).unwrap();
            // Words that come twice are what compressors and deduplication live on.
            seen.extend(piece.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())));
        }
        assert_eq!(seen.len() as u64, MIB, "words that differ");
    }

    #[test]
    fn file_systems_of_other_machines_and_programs_are_no_disk() {
        // NFS, FUSE, 9p, CIFS, Ceph, virtiofs is FUSE; ext4, xfs and btrfs are.
        for kind in [0x6969, 0x6573_5546, 0x0102_1997, 0xff53_4d42, 0x00c3_6400, 0x0102_1994] {
            assert!(!is_disk(kind), "{kind:x}");
        }
        for kind in [0xef53, 0x5846_5342, 0x9123_683e, 0x794c_7630] {
            assert!(is_disk(kind), "{kind:x}");
        }
    }

    #[test]
    fn the_store_of_a_directory_is_its_innermost_mount() {
        let mounts = "22 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n\
                      40 22 254:1 / /var rw shared:2 - xfs /dev/vdb rw\n\
                      41 22 0:30 / /tmp rw - overlay overlay rw\n";
        let of = |directory: &str| store(mounts, Path::new(directory));
        assert_eq!(of("/var/tmp").as_deref(), Some("xfs on /dev/vdb"));
        assert_eq!(of("/variable").as_deref(), Some("ext4 on /dev/vda"));
        assert_eq!(of("/tmp/x").as_deref(), Some("overlay"));
        assert_eq!(store("", Path::new("/tmp")), None);
    }
}
