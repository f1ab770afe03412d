//! Private anonymous mappings that no other code uses, and that the kernel merges with no other.

use std::ffi::c_void;
use std::ptr;

use rustix::io;
use rustix::mm::{self, Advice, MapFlags, MprotectFlags, ProtFlags};

use super::mapped::Mapped;
use crate::page_bytes;

/// Gaps of the address space that are plugged at most until the kernel finds the one that is meant.
const PLUGS: usize = 64;

/// The bytes of a base page.
fn page() -> io::Result<usize> {
    page_bytes().map_or(Err(io::Errno::INVAL), |bytes| Ok(bytes as usize))
}

/// Memory in a kernel area of its own: what lies on both sides cannot be touched, so that no change of its own joins it
/// to a neighbour or splits one. Nothing points into it: it is only touched through its methods.
#[derive(Debug)]
pub struct GuardedArea {
    /// With a closed page at each end.
    whole: Mapped,
    page: usize,
    writable: bool,
}

impl GuardedArea {
    /// Maps whole pages; none of them is there yet.
    pub fn map(pages: usize) -> io::Result<Self> {
        let page = page()?;
        let mut room = Self { whole: Mapped::closed((pages + 2) * page)?, page, writable: false };
        room.protect(true)?;
        Ok(room)
    }

    fn start(&self) -> *mut c_void {
        self.whole.start.wrapping_byte_add(self.page)
    }

    fn bytes(&self) -> usize {
        self.whole.bytes - 2 * self.page
    }

    /// Writes one byte to every page.
    #[inline]
    pub fn touch(&mut self) {
        assert!(self.writable, "a room that may not be written");
        for at in (0..self.bytes()).step_by(self.page) {
            // SAFETY: inside the open part of the mapping, which is writable and has no other user.
            unsafe { self.start().cast::<u8>().add(at).write_volatile(1) };
        }
    }

    /// Lets it be written, or only read.
    #[inline]
    pub fn protect(&mut self, writable: bool) -> io::Result<()> {
        let flags = if writable { MprotectFlags::READ | MprotectFlags::WRITE } else { MprotectFlags::READ };
        // SAFETY: all between the closed pages and nothing else; no reference into it exists.
        unsafe { mm::mprotect(self.start(), self.bytes(), flags) }?;
        self.writable = writable;
        Ok(())
    }

    /// Gives the pages back: they will be zeros when they are next touched.
    #[inline]
    pub fn forget(&mut self) -> io::Result<()> {
        // SAFETY: no reference into the mapping exists, so no code sees the contents change.
        unsafe { mm::madvise(self.start(), self.bytes(), Advice::LinuxDontNeed) }
    }
}

/// A hole of the address space between two closed pages, into which the kernel maps by itself what is just as long.
#[derive(Debug)]
pub struct Hole {
    _ends: [Mapped; 2],
    /// What keeps the kernel from gaps that it would find before.
    _plugs: Vec<Mapped>,
    /// Where to map; null where the kernel comes to the hole by itself.
    wish: *mut c_void,
    bytes: usize,
}

// SAFETY: the hint is an address that no code dereferences; the rest may be sent.
unsafe impl Send for Hole {}

impl Hole {
    /// A hole for mappings of so many bytes: whole pages.
    pub fn new(bytes: usize) -> io::Result<Self> {
        let page = page()?;
        let whole = Mapped::closed(bytes + 2 * page)?;
        let hole = whole.start.wrapping_byte_add(page);
        // SAFETY: a part of the mapping made just now, which no code touches.
        unsafe { mm::munmap(hole, bytes) }?;
        let whole = std::mem::ManuallyDrop::new(whole);
        let ends = [whole.start, hole.wrapping_byte_add(bytes)].map(|start| Mapped { start, bytes: page });
        let (mut plugs, mut found) = (Vec::new(), false);
        while !found && plugs.len() < PLUGS {
            let trial = Mapped::open(bytes, MapFlags::PRIVATE)?;
            found = trial.start == hole;
            if !found {
                plugs.push(trial);
            }
        }
        if !found {
            plugs.clear();
        }
        Ok(Self { _ends: ends, _plugs: plugs, wish: if found { ptr::null_mut() } else { hole }, bytes })
    }

    /// Maps memory into it that can be written, and unmaps it.
    #[inline]
    pub fn map_and_unmap(&self) -> io::Result<()> {
        self.map().map(drop)
    }

    #[inline]
    fn map(&self) -> io::Result<Mapped> {
        Mapped::new(self.wish, self.bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How the kernel area that holds these bytes and no others can be used; none where there is no such area.
    fn area(start: *mut c_void, bytes: usize) -> Option<String> {
        let range = format!("{:x}-{:x} ", start.addr(), start.addr() + bytes);
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.lines().find_map(|line| line.strip_prefix(&range)?.get(..4).map(str::to_owned))
    }

    #[test]
    fn a_room_stays_one_area_of_its_own_whatever_is_done_to_it() {
        // Side by side, where the kernel would join them.
        let mut rooms: Vec<GuardedArea> = (0..8).map(|_| GuardedArea::map(1).unwrap()).collect();
        for room in &mut rooms {
            room.touch();
        }
        for writable in [false, true, false, true] {
            for room in &mut rooms {
                room.protect(writable).unwrap();
            }
            for room in &mut rooms {
                let wanted = if writable { "rw-p" } else { "r--p" };
                assert_eq!(area(room.start(), page().unwrap()).as_deref(), Some(wanted));
            }
        }
        for room in &mut rooms {
            room.forget().unwrap();
            assert_eq!(area(room.start(), page().unwrap()).as_deref(), Some("rw-p"));
        }
    }

    #[test]
    fn what_is_mapped_into_a_hole_is_joined_to_nothing() {
        // Other tests map and unmap meanwhile: one of them may be in the hole at a time.
        let alone = || {
            let hole = Hole::new(16 * page().unwrap()).unwrap();
            (0..10).all(|_| {
                let mapped = hole.map().unwrap();
                area(mapped.start, mapped.bytes).as_deref() == Some("rw-p")
            })
        };
        assert!((0..100).any(|_| alone()), "never was a mapping an area of its own");
    }
}
