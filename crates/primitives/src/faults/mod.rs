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
use tiermark_model::{Machine, Metric, OsGroup, PageKind, Refusal, Sweep};

pub(super) use major::measured_store;

use super::{Failure, Order, Prepared, Primitive, refused_by, unavailable};
use tiermark_system::os::{Area, Tell};

const fn row(id: &'static str, text: &'static str, make: fn(&Order<'_>) -> Prepared) -> Primitive {
    Primitive {
        id,
        group: OsGroup::Faults,
        metric: Metric::Latency,
        text,
        sweeps: |_| Vec::new(),
        refuse: |_| None,
        subprocess: false,
        make,
    }
}

const fn by_page(id: &'static str, text: &'static str, make: fn(&Order<'_>) -> Prepared) -> Primitive {
    Primitive { sweeps: |machine| vec![Sweep::Pages(pages(machine))], ..row(id, text, make) }
}

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[
    by_page(
        "fault anonymous",
        "the first write to a page of the process's own zeros. The kernel has had the page a moment before (MADV_DONTNEED; huge ones by \
munmap), so that its zeroing may hit caches",
        minor::anonymous,
    ),
    row(
        "fault shared",
        "the first write to a page of shared zeros (MAP_SHARED): it is made, zeroed and put into the page cache",
        minor::shared,
    ),
    row(
        "fault file read",
        "the first read of a page of a file in memory (memfd), which is in the page cache: one fault maps its neighbours as well \
(fault-around, usually 16 pages), and only the first of them is counted",
        minor::file_read,
    ),
    row(
        "fault file write",
        "the first write to a page of a shared mapping of such a file: one page is mapped, nothing copied or zeroed",
        minor::file_write,
    ),
    row(
        "fault file copy",
        "the first write to a page of a private mapping of such a file: a page is made and copied to",
        minor::file_copy,
    ),
    Primitive {
        sweeps: |machine| vec![Sweep::Bytes(minor::mthp_sizes(machine))],
        refuse: minor::no_mthp,
        ..row(
            "fault mTHP",
            "the first write to memory that is just as long as a huge page of this size, each in a mapping of its own, so that no larger \
page fits. Sizes that /sys/kernel/mm/transparent_hugepage/hugepages-*/enabled has off are left out",
            minor::mthp,
        )
    },
    Primitive {
        sweeps: |machine| vec![Sweep::Pages(pools(machine))],
        refuse: no_pools,
        ..row(
            "fault hugetlb",
            "the first write to a reserved huge page, by a store of the kernel (clock_gettime, which is part of the time): a pool that \
runs dry is an error then, and no signal",
            minor::hugetlb,
        )
    },
    row(
        "MAP_POPULATE",
        "each base page of mappings of 512 that are there when mmap returns, the mapping itself among them; transparent huge pages are \
off for the process meanwhile (PR_SET_THP_DISABLE)",
        populate::by_mmap,
    ),
    by_page(
        "MADV_POPULATE_WRITE",
        "each page of one call for 512 base pages, or 8 huge ones, that are not there. The kernel has had them a moment before \
(MADV_DONTNEED): they are zeroed in caches, as far as those reach",
        populate::by_madvise,
    ),
    by_page(
        "copy-on-write",
        "the first write to a page that a forked child shares, which only sleeps. Of a transparent huge page only the base page \
that is written is copied, after the mapping has been split",
        minor::copy_on_write,
    ),
    Primitive {
        sweeps: |_| vec![Sweep::Bytes(mapped_read::SIZES.to_vec())],
        ..row(
            "mmap read",
            "mmap of a file in memory (memfd), a byte of each page read, and munmap: one fault maps several pages (fault-around)",
            mapped_read::mmap_read,
        )
    },
    Primitive {
        sweeps: |_| vec![Sweep::Bytes(populate::unmapped_bytes()), Sweep::Bystanders],
        ..row(
            "munmap",
            "of a mapping whose base pages are all there: freeing them, and having every cpu that runs a thread of the process forget \
their translations (by interrupts on x86, by broadcast on Arm and new AMD processors; a hypervisor may leave out cpus that do not run, or do it for the guest). The other \
threads only spin, each on its cpu",
            unmap::munmap,
        )
    },
    Primitive {
        metric: Metric::Bandwidth,
        sweeps: |machine| vec![Sweep::Bytes(populate::zeroed_bytes(machine))],
        refuse: no_thp,
        ..row(
            "zeroing",
            "MADV_POPULATE_WRITE of transparent huge pages: what the kernel zeroes a second, with one fault for each page and little else. \
It gets the pages back that it had a moment before: of four times the largest cache (64 to 512 MiB) most have left the caches, 2 MiB \
are zeroed in them (hot)",
            populate::zeroing,
        )
    },
    Primitive {
        refuse: major::no_disk,
        ..row(
            "major fault",
            "the read of a page of a temporary file that posix_fadvise has dropped from the page cache, in no order and with nothing \
read ahead (MADV_RANDOM): the device's latency and the fault. The pages cannot be compressed. In a guest the host may still have them \
cached; file systems of a network, of FUSE and in memory are refused",
            major::from_file,
        )
    },
    Primitive {
        refuse: major::no_swap,
        ..row(
            "swap-in",
            "the read of a page that MADV_PAGEOUT has swapped out, each in another 256 KiB, in no order; at least 9 of 10 are major. The \
pages cannot be compressed: zram and zswap keep them whole, or pass them on",
            major::swap_in,
        )
    },
    Primitive {
        sweeps: |_| vec![Sweep::Partner],
        refuse: user::no_userfaultfd,
        ..row(
            "userfaultfd",
            "the first write to a page that another thread brings: the fault, its message (poll, read), UFFDIO_COPY of a page, and the \
waking of the thread that waits",
            user::round_trip,
        )
    },
];

/// Base pages, and transparent huge pages where the system has them on.
fn pages(machine: &Machine) -> Vec<PageKind> {
    let huge = no_thp(machine).is_none().then_some(PageKind::Thp);
    [PageKind::Base].into_iter().chain(huge).collect()
}

/// Why there are no transparent huge pages.
fn no_thp(machine: &Machine) -> Option<Refusal> {
    let system = &machine.system;
    let own = system.thp_bytes.and_then(|bytes| system.mthp.get(&bytes)).filter(|mode| *mode != "inherit");
    match own.or(system.thp.as_ref()).map(String::as_str) {
        Some("never") => Some(unavailable(
            "transparent huge pages",
            "they are off",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        )),
        Some(_) => None,
        None => Some(unavailable("transparent huge pages", "the kernel has none", "a kernel that is built with them")),
    }
}

/// Sizes of the pools that have free pages.
fn pools(machine: &Machine) -> Vec<PageKind> {
    let pools = machine.nodes.iter().flat_map(|node| &node.huge_pages);
    let mut sizes: Vec<u64> = pools.filter(|pool| pool.free > 0).map(|pool| pool.page_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().map(PageKind::Huge).collect()
}

/// Why there are no reserved huge pages.
fn no_pools(machine: &Machine) -> Option<Refusal> {
    let cure = "reserve some: echo 8 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
    pools(machine).is_empty().then(|| unavailable("fault hugetlb", "no pool of huge pages has a free one", cure))
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
    let told = area.tell(if kind == PageKind::Base { Tell::BasePages } else { Tell::HugePages });
    match told {
        // A kernel without huge pages refuses both, and gives none.
        Err(error) if kind != PageKind::Base => Err(memory_refused(order)(error)),
        _ => Ok(area),
    }
}

/// Takes all pages of an area away. Where they are to be transparent huge pages of so many bytes, the area is mapped anew: where small ones
/// were once, the kernel has a table for them, and before Linux 6.14 it keeps that when the pages go, so that no huge one ever fits again.
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
