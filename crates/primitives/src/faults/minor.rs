//! Minor faults: of zeros, of the page cache, and of what a child shares.

use std::fs::File;

use rustix::fs::MemfdFlags;
use rustix::process::{WaitId, WaitIdOptions, waitid};
use tiermark_model::{KIB, MIB, Machine, PageKind, Refusal};
use tiermark_system::os::{Area, Child, Shows, Tell};
use tiermark_system::thread_usage;

use super::touch::{Fault, Ground, Renew, STRIKES, Touch, Touches, since};
use super::{aligned, base_page, memory_refused, page_of, taken_away};
use crate::body::{Order, Prepared};
use crate::failure::{Failure, unavailable};

/// Bytes of base pages that are touched before they are taken away again.
const ROUND: usize = 16 * MIB as usize;
/// The same of huge pages.
const HUGE_ROUND: usize = 32 * MIB as usize;
/// The pages that a child shares: as many as a fork takes not much longer for than for none.
const SHARED_ROUND: usize = 8 * MIB as usize;
/// Bytes that fault-around brings at most, whatever it is set to here: those of a table of translations.
const MOST_AROUND: usize = 2 * MIB as usize;

/// The cure if a fault brought smaller pages.
const HUGE_CURE: &str =
    "see /sys/kernel/mm/transparent_hugepage/enabled and defrag; memory may be too fragmented (vm.compact_memory)";

/// Takes the pages away.
fn forgotten() -> Renew {
    Box::new(|ground| ground.area.tell(Tell::Forget).map_err(Failure::of("madvise")))
}

/// Zeros of the process's own.
pub(super) fn anonymous(order: &Order<'_>) -> Prepared {
    let page = order.call.page.unwrap_or(PageKind::Base);
    let stride = page_of(order)?;
    let round = if page == PageKind::Base { ROUND } else { HUGE_ROUND.max(2 * stride) };
    let area = aligned(order, round, stride, page)?;
    let renew: Renew = Box::new(move |ground| taken_away(&mut ground.area, stride, page));
    Touches::start(Ground::written(area, stride), renew, order, HUGE_CURE)
}

/// Zeros that could be shared.
pub(super) fn shared(order: &Order<'_>) -> Prepared {
    let mut area = Area::map(Shows::Shared, ROUND).map_err(memory_refused(order))?;
    // A kernel without huge pages refuses this, and gives none.
    let _ = area.tell(Tell::BasePages);
    let renew: Renew = Box::new(|ground| ground.area.tell(Tell::Remove).map_err(Failure::of("madvise(MADV_REMOVE)")));
    Touches::start(
        Ground::written(area, base_page()),
        renew,
        order,
        "allow shared memory (kernel.shmmax, a tmpfs limit)",
    )
}

/// Multi-size huge pages of the requested size.
pub(super) fn mthp(order: &Order<'_>) -> Prepared {
    let size = order.call.bytes.unwrap_or(64 * KIB) as usize;
    let pieces = (HUGE_ROUND / size).clamp(16, 512);
    let mut area = Area::pieces(size, pieces).map_err(memory_refused(order))?;
    area.tell(Tell::HugePages).map_err(|error| {
        unavailable(&order.call.primitive.0, &error.to_string(), "a kernel with transparent huge pages")
    })?;
    let ground = Ground { brings: size, ..Ground::written(area, 2 * size) };
    Touches::start(ground, forgotten(), order, HUGE_CURE)
}

/// Why no size between base pages and huge pages can be had.
pub(super) fn no_mthp(machine: &Machine) -> Option<Refusal> {
    if !mthp_sizes(machine).is_empty() {
        return None;
    }
    let (why, cure) = match machine.system.mthp.keys().next() {
        None => ("the kernel has no huge pages of other sizes".to_owned(), "Linux 6.8 or later".to_owned()),
        Some(_) => {
            let huge = machine.system.thp_bytes.unwrap_or(2 * MIB);
            let sizes = machine.system.mthp.keys().filter(|bytes| **bytes < huge);
            let sizes: Vec<String> = sizes.map(|bytes| format!("{} kB", bytes >> 10)).collect();
            let off = format!("every size is off ({})", sizes.join(", "));
            (off, "echo madvise > /sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled".to_owned())
        }
    };
    Some(unavailable("fault mTHP", &why, &cure))
}

/// The sizes between base pages and huge pages that the system has on, 64 KiB first.
pub(super) fn mthp_sizes(machine: &Machine) -> Vec<u64> {
    let huge = machine.system.thp_bytes.unwrap_or(2 * MIB);
    let inherited = machine.system.thp.as_deref().is_some_and(|mode| mode != "never");
    let is_on = |mode: &str| matches!(mode, "always" | "madvise") || (mode == "inherit" && inherited);
    let on = machine.system.mthp.iter().filter(|(bytes, mode)| **bytes < huge && is_on(mode));
    let mut sizes: Vec<u64> = on.map(|(bytes, _)| *bytes).collect();
    sizes.sort_by_key(|bytes| (*bytes != 64 * KIB, *bytes));
    sizes
}

/// Reserved huge pages.
pub(super) fn hugetlb(order: &Order<'_>) -> Prepared {
    let page = page_of(order)?;
    let id = &order.call.primitive.0;
    let cure = format!(
        "reserve pages: raise /sys/kernel/mm/hugepages/hugepages-{0}kB/nr_hugepages by 8; and let the control group \
have them (hugetlb.*.max, cpuset.mems)",
        page >> 10
    );
    let map = move |pages: usize| Area::map(Shows::Huge(page), pages * page);
    let most = (HUGE_ROUND / page).clamp(1, 16);
    // As many as the pool has, since the mapping reserves them.
    let pages = (0..=most.ilog2()).rev().map(|log| 1usize << log).find(|pages| map(*pages).is_ok());
    let refused = |why: &str| unavailable(id, why, &cure);
    let pages = pages.ok_or_else(|| refused("the pool has no free page"))?;
    let area = map(pages).map_err(|error| refused(&error.to_string()))?;
    // Mapped anew each time: kernels before 5.18 take no pages of a pool away, and none gives their reservation back.
    let renew: Renew = Box::new(move |ground| {
        let small = Area::map(Shows::Private, base_page()).map_err(Failure::of("mmap"))?;
        drop(std::mem::replace(&mut ground.area, small));
        ground.area = map(pages).map_err(Failure::of("mmap of huge pages"))?;
        Ok(())
    });
    let ground = Ground { touch: Touch::Kernel, ..Ground::written(area, page) };
    Touches::start(ground, renew, order, &cure)
}

/// A file in memory, all its pages there.
fn cached(order: &Order<'_>, bytes: usize) -> Result<File, Refusal> {
    let filled = rustix::fs::memfd_create("tiermark", MemfdFlags::CLOEXEC).and_then(|file| {
        let piece = vec![0x5a; MIB as usize];
        for at in (0..bytes).step_by(piece.len()) {
            if rustix::io::pwrite(&file, &piece, at as u64)? != piece.len() {
                return Err(rustix::io::Errno::NOSPC);
            }
        }
        Ok(File::from(file))
    });
    filled.map_err(memory_refused(order))
}

/// The cure if touches of a file were fewer faults.
const FILE_CURE: &str = "base pages for files in memory (/sys/kernel/mm/transparent_hugepage/shmem_enabled: never), \
and fewer pages around a fault (/sys/kernel/debug/fault_around_bytes)";

/// Reads of a file's pages.
pub(super) fn file_read(order: &Order<'_>) -> Prepared {
    // What a fault brings also ends with its table of translations: only from the beginning of one are all alike.
    let whole = ROUND + MOST_AROUND;
    let mut area = Area::map(Shows::FileRead(&cached(order, whole)?), whole).map_err(memory_refused(order))?;
    area.narrow(ROUND, MOST_AROUND).map_err(memory_refused(order))?;
    let stride =
        around(&area).map_err(|failure| unavailable(&order.call.primitive.0, &failure.to_string(), FILE_CURE))?;
    let ground = Ground { touch: Touch::Read, brings: 1, ..Ground::written(area, stride) };
    Touches::start(ground, forgotten(), order, FILE_CURE)
}

/// How far it is from a fault to the next one that is not brought with it.
fn around(area: &Area) -> Result<usize, Failure> {
    let base = base_page();
    let before = thread_usage();
    std::hint::black_box(area.read(0));
    if since(before).minor_faults == 0 {
        return Err("the first touch was no fault".into());
    }
    let mut at = base;
    while at <= MOST_AROUND {
        let before = thread_usage();
        std::hint::black_box(area.read(at));
        if since(before).minor_faults > 0 {
            return Ok(at);
        }
        at *= 2;
    }
    Err(format!("a fault brings more than {MOST_AROUND} bytes around it").into())
}

/// First writes to a file's pages.
pub(super) fn file_write(order: &Order<'_>) -> Prepared {
    let area = Area::map(Shows::FileWrite(&cached(order, ROUND)?), ROUND).map_err(memory_refused(order))?;
    Touches::start(Ground::written(area, base_page()), forgotten(), order, FILE_CURE)
}

/// First writes to private pages that show a file.
pub(super) fn file_copy(order: &Order<'_>) -> Prepared {
    let area = Area::map(Shows::FileCopy(&cached(order, ROUND)?), ROUND).map_err(memory_refused(order))?;
    Touches::start(Ground::written(area, base_page()), forgotten(), order, FILE_CURE)
}

/// Writes to pages that a child shares.
pub(super) fn copy_on_write(order: &Order<'_>) -> Prepared {
    let page = order.call.page.unwrap_or(PageKind::Base);
    let stride = page_of(order)?;
    let area = aligned(order, SHARED_ROUND.max(4 * stride), stride, page)?;
    let mut child: Option<Child> = None;
    let renew: Renew = Box::new(move |ground| {
        // Gone before another comes, so that no page is shared by three.
        if let Some(child) = child.take() {
            alive(&child)?;
        }
        filled(ground, page)?;
        child = Some(Child::asleep().map_err(Failure::of("fork"))?);
        Ok(())
    });
    // Of a huge page only the base page that is written is copied, the others stay the child's as well.
    let ground = Ground { brings: 1, fault: Fault::Minor, ..Ground::written(area, stride) };
    let cure = match page {
        PageKind::Base => {
            "allow more processes (ulimit -u, pids.max of the control group), and fork in the seccomp profile"
        }
        _ => HUGE_CURE,
    };
    Touches::start(ground, renew, order, cure)
}

/// Whether a child still had its memory: without it, pages would not have been copied.
fn alive(child: &Child) -> Result<(), Failure> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::Pid(child.pid()), look) {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err("the child that shares the pages has ended: out of memory?".into()),
        Err(error) => Err(Failure::of("waitid")(error)),
    }
}

/// Writes all pages anew, until each is as large as a place.
fn filled(ground: &mut Ground, page: PageKind) -> Result<(), Failure> {
    for _ in 0..STRIKES {
        taken_away(&mut ground.area, ground.stride, page)?;
        ground.fill()?;
        if ground.smaller(ground.stride, 0, ground.places()) == 0 {
            return Ok(());
        }
    }
    Err(format!("pages of {} bytes cannot be had", ground.stride).into())
}
