//! Many pages in one call.

use tiermark_model::{KIB, MIB, Machine, PageKind, Refusal};
use tiermark_system::Clock;
use tiermark_system::os::{Area, BasePagesOnly, Shows, Tell};
use tiermark_system::thread_usage;

use super::touch::{STRIKES, since};
use super::{aligned, base_page, page_of, taken_away, thp_page};
use crate::body::{Body, Order, Prepared, beyond_caches};
use crate::failure::{Failure, refused_by};

/// Base pages of one call.
const PAGES: usize = 512;
/// Huge pages of one call.
const HUGE_PAGES: usize = 8;

/// One call that brings pages of an area which has none, so often.
struct Populate {
    area: Area,
    /// Pages that it brings: operations, where pages are counted.
    pages: usize,
    kind: PageKind,
    /// Least operations of a call.
    grain: u64,
    /// Bytes of an operation, where bytes are counted: whole pages.
    bytes: Option<u64>,
    clock: Clock,
}

impl Populate {
    /// One call that had as many faults as pages; what does not count of the time.
    fn once(&mut self) -> Result<u64, Failure> {
        let (mut idle, mut strikes) = (0, 0);
        loop {
            let began = self.clock.now();
            let page = self.area.bytes() / self.pages;
            taken_away(&mut self.area, page, self.kind)?;
            let before = thread_usage();
            let start = self.clock.now();
            self.area.tell(Tell::Populate).map_err(Failure::of("madvise(MADV_POPULATE_WRITE)"))?;
            let end = self.clock.now();
            match proven(before, self.pages) {
                Ok(()) => return Ok(idle + (start - began) + (self.clock.now() - end)),
                // Memory was in pieces for a moment: this does not count.
                Err(why) => {
                    strikes += 1;
                    if strikes == STRIKES {
                        return Err(why);
                    }
                    idle += self.clock.now() - began;
                }
            }
        }
    }
}

/// Whether a call had as many faults as pages.
fn proven(before: tiermark_system::Usage, pages: usize) -> Result<(), Failure> {
    let faults = since(before).minor_faults as usize;
    // The thread has a fault of its own now and then.
    if (pages..=pages + pages / 16 + 4).contains(&faults) {
        Ok(())
    } else {
        Err(format!("{pages} pages were brought by {faults} faults").into())
    }
}

impl Body for Populate {
    fn least(&self) -> u64 {
        self.grain
    }

    fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        (0..times / self.grain).try_fold(0, |idle, _| Ok(idle + self.once()?))
    }
}

/// Whether the kernel has MADV_POPULATE_WRITE: a kernel without it returns EINVAL, as for many other mistakes.
fn known(order: &Order<'_>) -> Result<(), Refusal> {
    let tried = Area::map(Shows::Private, base_page()).and_then(|mut area| area.tell(Tell::Populate));
    let cure = "use Linux 5.14 or later, which has MADV_POPULATE_WRITE";
    tried.map_err(|error| refused_by(&order.call.primitive.0, error, cure))
}

/// MADV_POPULATE_WRITE, by pages.
pub(super) fn by_madvise(order: &Order<'_>) -> Prepared {
    known(order)?;
    let kind = order.call.page.unwrap_or(PageKind::Base);
    let (page, pages) = (page_of(order)?, if kind == PageKind::Base { PAGES } else { HUGE_PAGES });
    let area = aligned(order, pages * page, page, kind)?;
    Ok(Box::new(Populate { area, pages, kind, grain: pages as u64, bytes: None, clock: *order.clock }))
}

/// The same by bytes, of huge pages: hardly anything but zeroing.
pub(super) fn zeroing(order: &Order<'_>) -> Prepared {
    known(order)?;
    let page = thp_page(order)?;
    let bytes = (order.call.bytes.unwrap_or(64 * MIB) as usize).next_multiple_of(page);
    let area = aligned(order, bytes, page, PageKind::Thp)?;
    let (pages, kind) = (bytes / page, PageKind::Thp);
    Ok(Box::new(Populate { area, pages, kind, grain: 1, bytes: Some(bytes as u64), clock: *order.clock }))
}

/// MAP_POPULATE, by pages.
struct MapPopulated {
    page: usize,
    clock: Clock,
}

impl Body for MapPopulated {
    fn least(&self) -> u64 {
        PAGES as u64
    }

    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        let began = self.clock.now();
        // The mapping cannot be advised before it is populated.
        let only = BasePagesOnly::new().map_err(Failure::of("prctl(PR_SET_THP_DISABLE)"))?;
        let mut idle = self.clock.now() - began;
        for _ in 0..times / self.least() {
            let began = self.clock.now();
            let before = thread_usage();
            idle += self.clock.now() - began;
            let area = Area::map(Shows::Populated, PAGES * self.page).map_err(Failure::of("mmap"))?;
            let began = self.clock.now();
            proven(before, PAGES)?;
            drop(area);
            idle += self.clock.now() - began;
        }
        let began = self.clock.now();
        drop(only);
        Ok(idle + (self.clock.now() - began))
    }
}

/// MAP_POPULATE.
pub(super) fn by_mmap(order: &Order<'_>) -> Prepared {
    Ok(Box::new(MapPopulated { page: base_page(), clock: *order.clock }))
}

/// Bytes that are zeroed at a time: more than caches keep, and as little as they keep for sure.
pub(super) fn zeroed_bytes(machine: &Machine) -> Vec<u64> {
    vec![beyond_caches(machine, 64 * MIB, 512 * MIB), 2 * MIB]
}

/// Bytes that are unmapped at a time, one page among them.
pub(super) fn unmapped_bytes() -> Vec<u64> {
    let page = base_page() as u64;
    let mut sizes = vec![64 * KIB, page, 2 * MIB, 32 * MIB];
    if page >= 64 * KIB {
        sizes.remove(0);
    }
    sizes
}
