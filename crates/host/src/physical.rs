//! Physical addresses of this process's pages, from the kernel's page map (Documentation/admin-guide/mm/pagemap.rst).

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::region::Region;

/// Smaller memory has pages from anywhere: where they lie says nothing.
const LEAST: usize = 64 << 20;
/// Pages looked at.
const SAMPLE: usize = 1024;
/// Bytes of an entry of the page map.
const ENTRY: u64 = 8;
/// Bits of an entry with the number of the page frame; zeros without CAP_SYS_ADMIN.
const FRAME: u64 = (1 << 55) - 1;
/// The bit of a page that is in memory.
const PRESENT: u64 = 1 << 63;

/// The lowest and the highest physical address of the pages of large memory; `None` where they cannot be read, or no
/// page is there.
pub(crate) fn range(region: &Region) -> Option<[u64; 2]> {
    if region.mapping.bytes() < LEAST {
        return None;
    }
    let page = rustix::param::page_size();
    let map = File::open("/proc/self/pagemap").ok()?;
    let pages = region.used / page;
    let at = |number: usize| {
        let mut entry = [0; ENTRY as usize];
        let address = region.mapping.address() + number * page;
        map.read_exact_at(&mut entry, (address / page) as u64 * ENTRY).ok()?;
        physical(u64::from_ne_bytes(entry), page as u64)
    };
    let seen: Option<Vec<u64>> = (0..pages).step_by((pages / SAMPLE).max(1)).map(at).collect();
    let seen = seen?;
    Some([*seen.iter().min()?, *seen.iter().max()? + page as u64 - 1])
}

/// The physical address of a virtual one of this process; `None` where it cannot be read.
pub(crate) fn of(address: u64) -> Option<u64> {
    let page = rustix::param::page_size() as u64;
    let mut entry = [0; ENTRY as usize];
    File::open("/proc/self/pagemap").ok()?.read_exact_at(&mut entry, address / page * ENTRY).ok()?;
    Some(physical(u64::from_ne_bytes(entry), page)? + address % page)
}

/// The physical address of the page of an entry.
fn physical(entry: u64, page: u64) -> Option<u64> {
    let frame = entry & FRAME;
    (entry & PRESENT != 0 && frame != 0).then_some(frame * page)
}

/// The range of both.
pub(crate) fn union(a: Option<[u64; 2]>, b: Option<[u64; 2]>) -> Option<[u64; 2]> {
    let ([low, high], [other_low, other_high]) = (a?, b?);
    Some([low.min(other_low), high.max(other_high)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_an_address_only_where_the_kernel_tells_it() {
        assert_eq!(physical(PRESENT | 0x1234, 4096), Some(0x0123_4000));
        // Other bits are no part of it: exclusively mapped, soft-dirty.
        assert_eq!(physical(PRESENT | 1 << 56 | 1 << 55 | 7, 4096), Some(7 << 12));
        assert_eq!((physical(PRESENT, 4096), physical(0x1234, 4096)), (None, None));
    }

    #[test]
    fn ranges_of_several_regions_are_one() {
        assert_eq!(union(Some([5, 9]), Some([1, 6])), Some([1, 9]));
        assert_eq!(union(Some([5, 9]), None), None);
    }
}
