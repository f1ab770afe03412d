//! Major faults: a device has to be waited for.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::Advice;
use tiermark_model::{KIB, MIB, Machine, Refusal};

use super::super::Order;
use super::touch::{Fault, Ground, Renew, Touch, Touches};
use super::{Made, base_page, memory_refused, unavailable, words};
use crate::sys::os::{Area, Shows, Tell};

/// Bytes of the file.
const FILE: usize = 8 * MIB as usize;
/// Pages that are swapped out at a time, and how far apart they are: nothing lies between them that could be read ahead.
const SWAPPED: usize = 256;
const APART: usize = 256 * KIB as usize;
/// How often the kernel is asked to swap out, and the time between.
const ASKED: usize = 200;
const PAUSE: Duration = Duration::from_millis(5);
/// File systems in memory (statfs(2)): tmpfs, ramfs, hugetlbfs.
const IN_MEMORY: [u64; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];

const FILE_CURE: &str =
    "set TMPDIR to a directory on a disk with room for 8 MiB; allow posix_fadvise and mincore in the seccomp profile";

/// Where a file can be had that is not in memory only: the directory for temporary files, or the one for those that last.
fn directories() -> Vec<PathBuf> {
    let on_disk = |path: &PathBuf| {
        let kind = rustix::fs::statfs(path).map(|at| (at.f_type as u64) & u64::from(u32::MAX));
        kind.is_ok_and(|kind| !IN_MEMORY.contains(&kind))
    };
    [std::env::temp_dir(), PathBuf::from("/var/tmp")].into_iter().filter(on_disk).collect()
}

/// Why there is no file whose pages would have to be read.
pub(super) fn no_disk(_: &Machine) -> Option<Refusal> {
    let why = "the directories for temporary files are in memory";
    directories().is_empty().then(|| unavailable("major fault", why, FILE_CURE))
}

/// A file without a name, which goes away when it is closed.
fn nameless(directory: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).mode(0o600);
    let made = options.custom_flags(libc::O_TMPFILE).open(directory);
    made.or_else(|_| {
        // A file system without such files: it has a name for a moment.
        let path = directory.join(format!("tiermark-{}-{:x}", std::process::id(), std::ptr::from_ref(&options).addr()));
        options.create_new(true).custom_flags(0);
        let file = options.open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(file)
    })
}

/// A file whose pages are on the disk.
fn stored(directory: &Path) -> std::io::Result<File> {
    let file = nameless(directory)?;
    let piece = vec![0x5a; MIB as usize];
    for at in (0..FILE).step_by(piece.len()) {
        file.write_all_at(&piece, at as u64)?;
    }
    file.sync_all()?;
    Ok(file)
}

/// A page of a file that is not in the page cache.
pub(super) fn from_file(order: &Order<'_>) -> Made {
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

fn of_file(order: &Order<'_>, file: File) -> Made {
    let mut area = Area::map(Shows::FileRead(&file), FILE).map_err(memory_refused(order))?;
    area.tell(Tell::Random).map_err(memory_refused(order))?;
    let renew: Renew = Box::new(move |ground| {
        // Pages that are mapped stay in the page cache.
        ground.area.tell(Tell::Forget).map_err(words("madvise"))?;
        rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).map_err(words("posix_fadvise"))?;
        let left = ground.area.resident(base_page()).map_err(|error| format!("mincore: {error}"))?;
        if left > 0 { Err(format!("{left} pages stayed in the page cache")) } else { Ok(()) }
    });
    let fault = Fault::Major { minor_percent: 0 };
    let ground = Ground { touch: Touch::Read, fault, brings: 1, scattered: true, ..Ground::written(area, base_page()) };
    Touches::start(ground, renew, order, FILE_CURE)
}

/// Why nothing is swapped in.
pub(super) fn no_swap(machine: &Machine) -> Option<Refusal> {
    let cure = "swap space that the system should have anyway (swapon); none is made here";
    machine.system.swaps.is_empty().then(|| unavailable("swap-in", "the system has no swap (/proc/swaps)", cure))
}

/// A page that was swapped out.
pub(super) fn swap_in(order: &Order<'_>) -> Made {
    let area = Area::map(Shows::Private, SWAPPED * APART).map_err(memory_refused(order))?;
    let mut ground = Ground {
        fault: Fault::Major { minor_percent: 10 },
        brings: 1,
        scattered: true,
        ..Ground::written(area, APART)
    };
    let _ = ground.area.tell(Tell::BasePages);
    ground.fill().map_err(|why| memory_refused(order)(io::Error::other(why)))?;
    // From now on they are only read, so that each is written to the swap once and no more.
    ground.touch = Touch::Read;
    let renew: Renew = Box::new(|ground| {
        for _ in 0..ASKED {
            ground.area.tell(Tell::PageOut).map_err(words("madvise(MADV_PAGEOUT)"))?;
            if ground.area.resident(base_page()).map_err(|error| format!("mincore: {error}"))? == 0 {
                return Ok(());
            }
            // A page that is being written stays in the swap cache, where it is not asked for again: mapped once more, it goes.
            std::thread::sleep(PAUSE);
            ground.fill()?;
        }
        Err("pages stay in memory: the swap is full, or the control group may not use it".to_owned())
    });
    let cure =
        "free swap space, memory.swap.max of the control group, and vm.page-cluster=0 where pages are read ahead";
    Touches::start(ground, renew, order, cure)
}
