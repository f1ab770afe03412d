//! The C library's own functions on memory, called where they are: never inlined, never replaced by the compiler.

use std::ffi::c_void;
use std::hint::black_box;

type Copy = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;
type Set = unsafe extern "C" fn(*mut c_void, i32, usize) -> *mut c_void;
type Malloc = unsafe extern "C" fn(usize) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);

/// The C library's functions, where they are: looked up once, so that what hides them from the compiler is no part of a
/// call.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    copy: Copy,
    set: Set,
    malloc: Malloc,
    free: Free,
}

impl Library {
    /// Looks the functions up.
    pub fn find() -> Self {
        Self {
            copy: black_box(libc::memcpy),
            set: black_box(libc::memset),
            malloc: black_box(libc::malloc),
            free: black_box(libc::free),
        }
    }

    /// Where its functions are.
    pub fn places(&self) -> [(&'static str, usize); 4] {
        [
            ("memcpy", self.copy as usize),
            ("memset", self.set as usize),
            ("malloc", self.malloc as usize),
            ("free", self.free as usize),
        ]
    }

    /// memcpy.
    #[inline]
    pub fn memcpy(&self, to: &mut [u8], from: &[u8]) {
        assert!(to.len() == from.len(), "memcpy of {} bytes to {}", from.len(), to.len());
        // SAFETY: both have that length, and a mutable slice overlaps no other.
        unsafe { (self.copy)(to.as_mut_ptr().cast(), from.as_ptr().cast(), to.len()) };
    }

    /// memset.
    #[inline]
    pub fn memset(&self, to: &mut [u8], byte: u8) {
        // SAFETY: it has that length.
        unsafe { (self.set)(to.as_mut_ptr().cast(), byte.into(), to.len()) };
    }

    /// malloc, and free at once. Whether there was memory.
    #[inline]
    pub fn malloc_free(&self, bytes: usize) -> bool {
        // SAFETY: takes a number only.
        let got = unsafe { (self.malloc)(bytes) };
        // SAFETY: what malloc gave, once; free takes null as well.
        unsafe { (self.free)(got) };
        !got.is_null()
    }
}

/// The C library's name and version.
#[cfg(target_env = "gnu")]
pub fn library() -> String {
    // SAFETY: returns a constant text with a zero at its end.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    format!("glibc {}", version.to_string_lossy())
}

/// The C library's name; musl reports no version.
#[cfg(target_env = "musl")]
pub fn library() -> String {
    if cfg!(target_feature = "crt-static") {
        "musl, which is linked into this binary: the system's own C library is another".to_owned()
    } else {
        "musl".to_owned()
    }
}

/// A C library that is not known.
#[cfg(not(any(target_env = "gnu", target_env = "musl")))]
pub fn library() -> String {
    "a C library that does not give its name".to_owned()
}

/// An address in the C library, of a function that no other library replaces.
pub fn library_place() -> usize {
    black_box(libc::getauxval as unsafe extern "C" fn(libc::c_ulong) -> libc::c_ulong) as usize
}

/// Gives memory back that the C library keeps for later allocations, as far as it knows a way to: a fork copies the
/// tables of all there is.
pub fn give_back_kept() {
    #[cfg(target_env = "gnu")]
    // SAFETY: frees nothing that is in use, takes locks of its own, and may be called at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn what_was_freed_goes_back_to_the_kernel() {
        if !crate::testing::in_own_process("os::cmem::tests::what_was_freed_goes_back_to_the_kernel") {
            return;
        }
        const PIECE: usize = 64 << 10;
        const PIECES: usize = 512;
        let resident = || {
            let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
            pages.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
        };
        let mut pieces: Vec<Vec<u8>> = (0..PIECES).map(|_| vec![1; PIECE]).collect();
        // The last one stays: what lies below it is no end of a heap that would be given back by itself.
        let last = pieces.pop();
        drop(pieces);
        let before = resident();
        give_back_kept();
        assert!(resident() + PIECES * PIECE / 2 < before, "{before} B, then {} B", resident());
        drop(last);
    }
}
