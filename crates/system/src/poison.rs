//! Pages that the kernel takes away because their contents are lost: a touch then raises SIGBUS, and a handler puts an
//! empty page in its place, so that the program lives on and knows which page it was.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

use crate::check;
use crate::mem::Mapping;

/// Codes of SIGBUS for lost memory (`asm-generic/siginfo.h`): touched by this thread, or found meanwhile.
const BUS_MCEERR_AR: libc::c_int = 4;
const BUS_MCEERR_AO: libc::c_int = 5;
/// Mappings that are watched at once: as many as a server has nodes.
const MOST_RANGES: usize = 256;
/// Pages that are remembered; a server with more would have been taken out of service.
const MOST_PAGES: usize = 4096;
/// Bytes of the smallest page; the kernel tells larger ones.
const LEAST_BITS: usize = 12;

/// First address and length of each mapping that is watched; length 0 is a free place.
static RANGES: [[AtomicUsize; 2]; MOST_RANGES] = [const { [AtomicUsize::new(0), AtomicUsize::new(0)] }; MOST_RANGES];
/// Address of each page that was taken away, with the number of its address bits in the lowest ones.
static PAGES: [AtomicUsize; MOST_PAGES] = [const { AtomicUsize::new(0) }; MOST_PAGES];
/// How many there are.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// How many of them there were when memory was written last.
static SETTLED: AtomicUsize = AtomicUsize::new(0);
/// How many watch, and what the signal did before the first of them.
static BEFORE: Mutex<(u32, Option<libc::sigaction>)> = Mutex::new((0, None));

/// Watches a mapping for pages that are taken away, until it is dropped.
#[derive(Debug)]
pub struct PoisonWatch {
    place: usize,
}

/// A page that was taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoisonedPage {
    /// Its address.
    pub address: usize,
    /// Its bytes.
    pub bytes: usize,
}

/// The handler: calls only what POSIX lets a handler call (signal-safety(7)), and mmap, which is one system call.
extern "C" fn taken(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a filled record; a fault's begins with its address, and a `short` with the number of
    // address bits of the page follows that (`asm-generic/siginfo.h`).
    let (code, address, bits) = unsafe {
        let address = (*info).si_addr();
        let bits = ptr::read(info.cast::<u8>().add(24).cast::<libc::c_short>());
        ((*info).si_code, address as usize, bits)
    };
    let bits = usize::try_from(bits).unwrap_or(0).clamp(LEAST_BITS, 30);
    let page = address >> bits << bits;
    let is_within = |range: &[AtomicUsize; 2]| {
        let (first, length) = (range[0].load(SeqCst), range[1].load(SeqCst));
        page >= first && page + (1 << bits) <= first + length
    };
    if !matches!(code, BUS_MCEERR_AR | BUS_MCEERR_AO) || !RANGES.iter().any(is_within) {
        // Not ours: the touch is repeated, and does what it would have done without a handler.
        // SAFETY: takes numbers only.
        unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
        return;
    }
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page lies inside a mapping of this program, whose contents there are gone.
    let mapped = unsafe { libc::mmap(page as *mut libc::c_void, 1 << bits, access, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        // The touch would fail for ever.
        // SAFETY: takes numbers only.
        unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
        return;
    }
    note(page | bits);
}

/// Remembers a page, once between two writes of memory: several threads may find it gone at the same time.
fn note(word: usize) {
    for (place, page) in PAGES.iter().enumerate().skip(SETTLED.load(SeqCst)) {
        match page.compare_exchange(0, word, SeqCst, SeqCst) {
            Ok(_) => {
                COUNT.fetch_max(place + 1, SeqCst);
                return;
            }
            Err(before) if before == word => return,
            Err(_) => {}
        }
    }
}

impl PoisonWatch {
    /// Watches a mapping.
    ///
    /// # Errors
    /// Those of `sigaction`; `OutOfMemory` where too many are watched.
    pub fn new(mapping: &Mapping) -> io::Result<Self> {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        let free = |range: &[AtomicUsize; 2]| range[1].load(SeqCst) == 0;
        let place = RANGES.iter().position(free).ok_or(io::ErrorKind::OutOfMemory)?;
        if before.0 == 0 {
            before.1 = Some(install()?);
        }
        before.0 += 1;
        RANGES[place][0].store(mapping.address(), SeqCst);
        RANGES[place][1].store(mapping.bytes(), SeqCst);
        Ok(Self { place })
    }
}

impl Drop for PoisonWatch {
    fn drop(&mut self) {
        RANGES[self.place][1].store(0, SeqCst);
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        before.0 -= 1;
        if let (0, Some(action)) = (before.0, before.1) {
            // SAFETY: an action that `sigaction` gave; what it replaces is not asked for.
            unsafe { libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) };
        }
    }
}

fn install() -> io::Result<libc::sigaction> {
    // SAFETY: all-zero is a valid value: no flags, an empty mask.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    action.sa_sigaction = taken as extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) as usize;
    action.sa_flags = libc::SA_SIGINFO;
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: an action that is complete, and room for the one before.
    check(unsafe { libc::sigaction(libc::SIGBUS, &action, before.as_mut_ptr()) }.into())?;
    // SAFETY: the call that succeeded has filled it.
    Ok(unsafe { before.assume_init() })
}

/// How many pages were taken away so far.
#[must_use]
pub fn poisoned() -> usize {
    COUNT.load(Relaxed)
}

/// As [`poisoned`], where memory is about to be written again: a page that is taken away once more is another one.
pub fn settle_poisoned() -> usize {
    let count = poisoned();
    SETTLED.store(count, SeqCst);
    count
}

/// Those from a number on.
#[must_use]
pub fn poisoned_pages(from: usize) -> Vec<PoisonedPage> {
    let page = |place: &AtomicUsize| {
        let word = place.load(SeqCst);
        let bits = word & 0x3f;
        PoisonedPage { address: word >> bits << bits, bytes: 1 << bits }
    };
    PAGES.iter().take(poisoned()).skip(from).map(page).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record as the kernel fills it.
    fn record(code: libc::c_int, address: usize, bits: i16) -> libc::siginfo_t {
        // SAFETY: all-zero is a valid record; the places are those of the kernel's (`asm-generic/siginfo.h`).
        unsafe {
            let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
            let bytes = info.as_mut_ptr().cast::<u8>();
            ptr::write(bytes.add(8).cast::<libc::c_int>(), code);
            ptr::write(bytes.add(16).cast::<usize>(), address);
            ptr::write(bytes.add(24).cast::<libc::c_short>(), bits);
            info.assume_init()
        }
    }

    #[test]
    fn a_page_that_was_taken_away_is_an_empty_one_and_is_known() {
        let mapping = Mapping::reserve(1 << 20, 4096).unwrap();
        mapping.fill(0, 1 << 20, |words| words.fill(7));
        let watch = PoisonWatch::new(&mapping).unwrap();
        let before = poisoned();
        // Two threads touch it at the same time.
        for code in [BUS_MCEERR_AR, BUS_MCEERR_AO] {
            let mut info = record(code, mapping.address() + 8192 + 136, 12);
            taken(libc::SIGBUS, &raw mut info, ptr::null_mut());
        }
        assert_eq!(poisoned_pages(before), [PoisonedPage { address: mapping.address() + 8192, bytes: 4096 }]);
        mapping.fill(0, 1 << 20, |words| {
            assert!(words[1024..1536].iter().all(|word| *word == 0));
            assert_eq!((words[1023], words[1536]), (7, 7));
        });
        assert_eq!(settle_poisoned(), before + 1);
        let mut info = record(BUS_MCEERR_AR, mapping.address() + 8192, 12);
        taken(libc::SIGBUS, &raw mut info, ptr::null_mut());
        assert_eq!(poisoned_pages(before + 1), poisoned_pages(before)[..1]);
        // Another cause, or an address outside of the mapping: the page stays, and SIGBUS has its default action again.
        for mut info in [record(2, mapping.address(), 12), record(BUS_MCEERR_AR, 4096, 12)] {
            taken(libc::SIGBUS, &raw mut info, ptr::null_mut());
        }
        assert_eq!(poisoned(), before + 2);
        drop(watch);
    }
}
