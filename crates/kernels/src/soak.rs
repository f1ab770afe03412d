//! Memory that is written with a pattern and compared with it, a page at a time, at the speed of memory.
//!
//! A page holds a table of words, each combined (exclusive or) with the key of the page: the words of a pattern then
//! need no arithmetic, and one load from the first-level cache for each of memory.

/// Words of a page.
pub const WORDS: usize = 512;
/// The words of a page with the key 0.
pub type Table = [u64; WORDS];

/// Writes the words of a page, past the caches where the processor can. The stores are complete after
/// [`crate::cache::drain`].
///
/// # Panics
/// If the page has not [`WORDS`] words, or does not begin at a line.
pub fn write(page: &mut [u64], table: &Table, key: u64) {
    let page: &mut Table = page.try_into().unwrap_or_else(|_| panic!("a page has {WORDS} words"));
    assert!(page.as_ptr().addr().is_multiple_of(64), "a page begins at a line");
    arch::write(page, table, key);
}

/// Whether a page holds other words than [`write()`] wrote.
///
/// # Panics
/// If the page has not [`WORDS`] words.
#[must_use]
pub fn differs(page: &[u64], table: &Table, key: u64) -> bool {
    let page: &Table = page.try_into().unwrap_or_else(|_| panic!("a page has {WORDS} words"));
    arch::differs(page, table, key)
}

/// Copies a page, past the caches where the processor can.
///
/// # Panics
/// If one of them has not [`WORDS`] words, or the one that is written does not begin at a line.
pub fn copy(to: &mut [u64], from: &[u64]) {
    let from: &Table = from.try_into().unwrap_or_else(|_| panic!("a page has {WORDS} words"));
    write(to, from, 0);
}

/// Tries a wrong word again: what memory has when it is read once more, and what it has after the right word was written.
pub fn tried_again(word: &mut u64, right: u64) -> [u64; 2] {
    let at: *mut u64 = word;
    let read = || {
        // SAFETY: a reference's own address: mapped, aligned, initialised, and nobody else's.
        unsafe {
            crate::cache::flush(at.cast_const().cast(), size_of::<u64>());
            std::ptr::read_volatile(at)
        }
    };
    let again = read();
    // SAFETY: as above.
    unsafe { std::ptr::write_volatile(at, right) };
    [again, read()]
}

/// The same in plain Rust: what compilers make of it for any processor.
mod portable {
    use super::Table;

    #[cfg_attr(target_arch = "x86_64", allow(dead_code, reason = "the oracle of tests"))]
    pub(super) fn write(page: &mut Table, table: &Table, key: u64) {
        for (word, of) in page.iter_mut().zip(table) {
            *word = of ^ key;
        }
    }

    #[inline(always)]
    pub(super) fn differs(page: &Table, table: &Table, key: u64) -> bool {
        page.iter().zip(table).fold(0, |bits, (word, of)| bits | (word ^ of ^ key)) != 0
    }
}

#[cfg(target_arch = "x86_64")]
mod arch {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_load_si128, _mm_set1_epi64x, _mm_stream_si128, _mm_xor_si128, _mm256_loadu_si256,
        _mm256_set1_epi64x, _mm256_stream_si256, _mm256_xor_si256,
    };
    use std::sync::LazyLock;

    use super::{Table, portable};

    static HAS_AVX2: LazyLock<bool> = LazyLock::new(|| std::arch::is_x86_feature_detected!("avx2"));

    pub(super) fn write(page: &mut Table, table: &Table, key: u64) {
        if *HAS_AVX2 {
            // SAFETY: the processor has AVX2.
            unsafe { write_avx2(page, table, key) }
        } else {
            write_sse2(page, table, key);
        }
    }

    /// A table at the boundary that loads of vectors want.
    #[repr(align(64))]
    struct Aligned(Table);

    fn write_sse2(page: &mut Table, table: &Table, key: u64) {
        let table = Aligned(*table);
        let to: *mut __m128i = page.as_mut_ptr().cast();
        let from: *const __m128i = table.0.as_ptr().cast();
        for index in 0..size_of::<Table>() / 16 {
            // SAFETY: SSE2 is part of x86-64; both are inside their page, and aligned to 16 bytes (the caller's page
            // begins at a line).
            unsafe {
                let words = _mm_xor_si128(_mm_load_si128(from.add(index)), _mm_set1_epi64x(key.cast_signed()));
                _mm_stream_si128(to.add(index), words);
            }
        }
    }

    #[target_feature(enable = "avx2")]
    fn write_avx2(page: &mut Table, table: &Table, key: u64) {
        let key = _mm256_set1_epi64x(key.cast_signed());
        let to: *mut __m256i = page.as_mut_ptr().cast();
        let from: *const __m256i = table.as_ptr().cast();
        for index in 0..size_of::<Table>() / 32 {
            // SAFETY: both are inside their page; the caller's page begins at a line, and loads need no boundary.
            unsafe {
                let words = _mm256_xor_si256(_mm256_loadu_si256(from.add(index)), key);
                _mm256_stream_si256(to.add(index), words);
            }
        }
    }

    pub(super) fn differs(page: &Table, table: &Table, key: u64) -> bool {
        if *HAS_AVX2 {
            // SAFETY: the processor has AVX2.
            unsafe { differs_avx2(page, table, key) }
        } else {
            portable::differs(page, table, key)
        }
    }

    #[target_feature(enable = "avx2")]
    fn differs_avx2(page: &Table, table: &Table, key: u64) -> bool {
        portable::differs(page, table, key)
    }
}

#[cfg(not(target_arch = "x86_64"))]
use portable as arch;

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Page(Table);

    fn table() -> Table {
        let mut table = [0; WORDS];
        crate::rng::fill_data(&mut table, 7);
        table
    }

    #[test]
    fn a_page_holds_its_table_combined_with_its_key() {
        let (mut page, mut twin) = (Page([1; WORDS]), [2; WORDS]);
        for key in [0, u64::MAX, 0x1234_5678_9abc_def0] {
            write(&mut page.0, &table(), key);
            crate::cache::drain();
            portable::write(&mut twin, &table(), key);
            assert_eq!(page.0, twin);
            assert!(!differs(&page.0, &table(), key) && differs(&page.0, &table(), key ^ 1));
        }
        let mut copied = Page([0; WORDS]);
        copy(&mut copied.0, &page.0);
        crate::cache::drain();
        assert_eq!(copied.0, page.0);
    }

    #[test]
    fn sound_memory_keeps_what_is_written_again() {
        let mut word = 5;
        assert_eq!((tried_again(&mut word, 7), word), ([5, 7], 7));
    }

    #[test]
    fn each_bit_of_a_page_is_compared() {
        let mut page = Page(table());
        for index in 0..WORDS {
            for bit in [0, 1, 31, 32, 63] {
                page.0[index] ^= 1 << bit;
                assert!(differs(&page.0, &table(), 0), "word {index}, bit {bit}");
                page.0[index] ^= 1 << bit;
            }
        }
        assert!(!differs(&page.0, &table(), 0));
    }
}
