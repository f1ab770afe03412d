//! Faults and mappings. Each body compares the system's own count of faults with its touches, and fails if they differ.

mod major;
mod mapped_read;
mod minor;
mod populate;
#[cfg(test)]
mod tests;
mod touch;
mod unmap;
mod user;

use tiermark_machine::Root;
use tiermark_model::{MIB, Machine, OsGroup, PageKind, Refusal, Sweep};

pub(super) use major::measured_store;

use crate::body::{Make, Order, Primitive};
use crate::failure::{Failure, refused_by, unavailable};
use tiermark_system::os::{Area, Tell};

const fn row(id: &'static str, text: &'static str, make: Make) -> Primitive {
    Primitive::new(OsGroup::Faults, id, text, make)
}

const fn by_page(id: &'static str, text: &'static str, make: Make) -> Primitive {
    row(id, text, make).over(|machine| vec![Sweep::Pages(pages(machine))])
}

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[
    by_page(
        "fault anonymous",
        "the first write to a page of anonymous memory of the process. The page was freed a moment before \
         (MADV_DONTNEED; huge pages by munmap), so the kernel may zero it in the caches",
        minor::anonymous,
    ),
    row(
        "fault shared",
        "the first write to a page of shared anonymous memory (MAP_SHARED): the kernel takes a page, zeroes it and \
         puts it into the page cache",
        minor::shared,
    ),
    row(
        "fault file read",
        "the first read of a page of a file in memory (memfd); the page is in the page cache. One fault maps the \
         neighbouring pages too (fault-around, usually 16 pages), and only the first page counts",
        minor::file_read,
    ),
    row(
        "fault file write",
        "the first write to a page of a shared mapping of such a file: the kernel maps one page, and neither copies \
         nor zeroes",
        minor::file_write,
    ),
    row(
        "fault file copy",
        "the first write to a page of a private mapping of such a file: the kernel takes a page and copies the page \
         of the file to it",
        minor::file_copy,
    ),
    row(
        "fault mTHP",
        "the first write to a mapping that is exactly as long as a huge page of this size, so that no larger page \
         fits. Sizes that are off in /sys/kernel/mm/transparent_hugepage/hugepages-*/enabled are left out",
        minor::mthp,
    )
    .over(|machine| vec![Sweep::Bytes(minor::mthp_sizes(machine))])
    .unless(minor::no_mthp),
    row(
        "fault hugetlb",
        "the first write to a reserved huge page. The kernel makes this write (in clock_gettime, which is part of \
         the time), so that an empty pool gives an error instead of a signal",
        minor::hugetlb,
    )
    .over(|machine| vec![Sweep::Pages(pools(machine))])
    .unless(no_pools),
    row(
        "MAP_POPULATE",
        "each base page of a mapping of 512 pages that mmap fills before it returns. The time includes the mapping \
         itself. Transparent huge pages are off for the process meanwhile (PR_SET_THP_DISABLE)",
        populate::by_mmap,
    ),
    by_page(
        "MADV_POPULATE_WRITE",
        "each page of one call that fills 512 base pages or 8 huge pages. The pages were freed a moment before \
         (MADV_DONTNEED), so the kernel zeroes them in the caches as far as they fit",
        populate::by_madvise,
    ),
    by_page(
        "copy-on-write",
        "the first write to a page that is shared with a forked child, which only sleeps. For a transparent huge page \
         the kernel splits the mapping and copies only the base page that is written",
        minor::copy_on_write,
    ),
    row(
        "mmap read",
        "mmap of a file in memory (memfd), a byte of each page read, and munmap: one fault maps several pages \
            (fault-around)",
        mapped_read::mmap_read,
    )
    .over(|_| vec![Sweep::Bytes(mapped_read::SIZES.to_vec())]),
    row(
        "munmap",
        "unmaps a mapping whose base pages are all present. The kernel frees the pages and makes every cpu that \
         runs a thread of the process drop their translations: by interrupts on x86, by broadcast on Arm and new \
         AMD processors. A hypervisor may leave out cpus that do not run, or do this for the guest. The other \
         threads only spin, each on its cpu",
        unmap::munmap,
    )
    .over(|_| vec![Sweep::Bytes(populate::unmapped_bytes()), Sweep::Bystanders]),
    row(
        "zeroing",
        "the bytes a second that the kernel zeroes when MADV_POPULATE_WRITE fills transparent huge pages, with \
         one fault for each page and little else. The kernel reuses pages that were freed a moment before. Of \
         four times the largest cache (64 to 512 MiB) most have left the caches; 2 MiB are zeroed in the caches \
         (hot)",
        populate::zeroing,
    )
    .bandwidth()
    .over(|machine| vec![Sweep::Bytes(populate::zeroed_bytes(machine))])
    .unless(no_thp),
    row(
        "major fault",
        "reads pages of a temporary file, which posix_fadvise has dropped from the page cache, in random order \
         and without read-ahead (MADV_RANDOM). The number is the device's latency and the fault. The pages cannot \
         be compressed. In a guest the host may still cache them. File systems of a network, of FUSE and in \
         memory are refused",
        major::from_file,
    )
    .unless(major::no_disk),
    row(
        "swap-in",
        "reads pages that MADV_PAGEOUT has swapped out, one in each 256 KiB, in random order. At least 9 of 10 \
         faults are major. The pages cannot be compressed: zram and zswap keep them uncompressed, or pass them on",
        major::swap_in,
    )
    .unless(major::no_swap),
    row(
        "userfaultfd",
        "the first write to a page that another thread provides: the fault, its message (poll, read), UFFDIO_COPY \
         of a page, and the wake-up of the waiting thread",
        user::round_trip,
    )
    .over(|_| vec![Sweep::Partner])
    .unless(user::no_userfaultfd),
];

/// Base pages, and transparent huge pages where the system has them on.
fn pages(machine: &Machine) -> Vec<PageKind> {
    let huge = no_thp(machine).is_none().then_some(PageKind::Thp);
    [PageKind::Base].into_iter().chain(huge).collect()
}

/// Why there are no transparent huge pages.
fn no_thp(machine: &Machine) -> Option<Refusal> {
    let system = &machine.system;
    match system.thp_mode() {
        Some("never") => {
            let cure = format!("echo madvise > {}", system.thp_file());
            Some(unavailable("transparent huge pages", "they are off", &cure))
        }
        Some(_) => None,
        None => Some(unavailable("transparent huge pages", "the kernel has none", "a kernel that is built with them")),
    }
}

/// Sizes of the pools that have free pages.
fn pools(machine: &Machine) -> Vec<PageKind> {
    let pools = machine.nodes.iter().flat_map(|node| &node.huge_pages);
    let mut sizes: Vec<u64> = pools.filter(|pool| pool.available() > 0).map(|pool| pool.page_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().map(PageKind::Huge).collect()
}

/// Why there are no reserved huge pages.
fn no_pools(machine: &Machine) -> Option<Refusal> {
    // Pages that the pool has are in use, and stay so.
    let pools_of = machine.nodes.iter().flat_map(|node| &node.huge_pages).filter(|pool| pool.page_bytes == 2 * MIB);
    let size = pools_of.fold(8u64, |sum, pool| sum.saturating_add(pool.total));
    let cure = || format!("reserve some: echo {size} > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
    pools(machine).is_empty().then(|| unavailable("fault hugetlb", "no pool of huge pages has a free one", &cure()))
}

/// Bytes of a base page.
fn base_page() -> usize {
    static BYTES: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *BYTES.get_or_init(|| tiermark_system::page_bytes().map_or(4096, |bytes| bytes as usize))
}

/// Bytes of a page of the requested kind.
fn page_of(order: &Order<'_>) -> Result<usize, Refusal> {
    match order.call.page.unwrap_or(PageKind::Base) {
        PageKind::Base => Ok(base_page()),
        PageKind::Thp => thp_page(order),
        PageKind::Huge(bytes) => Ok(bytes as usize),
    }
}

/// Bytes of a transparent huge page.
fn thp_page(order: &Order<'_>) -> Result<usize, Refusal> {
    let bytes = Root::live().value("sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    bytes.filter(|bytes: &usize| bytes.is_power_of_two()).ok_or_else(|| {
        unavailable(
            &order.call.primitive.0,
            "the kernel has no transparent huge pages",
            "a kernel that is built with them",
        )
    })
}

/// Private zeros that begin at a page of that kind.
fn aligned(order: &Order<'_>, bytes: usize, page: usize, kind: PageKind) -> Result<Area, Refusal> {
    let mut area = Area::aligned(bytes, page).map_err(memory_refused(order))?;
    let advised = area.tell(if kind == PageKind::Base { Tell::BasePages } else { Tell::HugePages });
    match advised {
        // A kernel without huge pages refuses both, and gives none.
        Err(error) if kind != PageKind::Base => Err(memory_refused(order)(error)),
        _ => Ok(area),
    }
}

/// Takes all pages of an area away. Where they are to be transparent huge pages of so many bytes, the area is mapped
/// anew: where small ones were once, the kernel has a table for them, and before Linux 6.14 it keeps that when the
/// pages go, so that no huge one ever fits again.
fn taken_away(area: &mut Area, page: usize, kind: PageKind) -> Result<(), Failure> {
    if kind != PageKind::Thp {
        return area.tell(Tell::Forget).map_err(Failure::of("madvise"));
    }
    let mut fresh = Area::aligned(area.bytes(), page).map_err(Failure::of("mmap"))?;
    fresh.tell(Tell::HugePages).map_err(Failure::of("madvise"))?;
    *area = fresh;
    Ok(())
}

/// The refusal of memory.
fn memory_refused<E: Into<Failure>>(order: &Order<'_>) -> impl Fn(E) -> Refusal {
    let id = order.call.primitive.0.clone();
    move |error| refused_by(&id, error, "allow more memory and address space (ulimit -v), and more files")
}
