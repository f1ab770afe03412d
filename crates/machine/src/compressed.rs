//! Memory that holds compressed pages: zram and zswap.

use crate::files::{Malformed, kilobytes};

/// Sizes of a zram device, from `mm_stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Zram {
    /// Bytes before compression.
    pub original: u64,
    /// Bytes after compression.
    pub compressed: u64,
    /// Bytes of memory in use, with fragments and tables.
    pub memory: u64,
    /// Pages of one repeated word, which take no memory.
    pub same_pages: u64,
    /// Pages that did not compress; `None` before Linux 5.0.
    pub huge_pages: Option<u64>,
}

/// `/sys/block/zramN/mm_stat`.
///
/// # Errors
/// [`Malformed`] for fewer fields than any kernel has.
pub fn zram(text: &str) -> Result<Zram, Malformed> {
    // original compressed memory limit most same compacted huge; the limit may be negative in old kernels.
    let fields: Vec<Option<u64>> = text.split_ascii_whitespace().map(|f| f.parse().ok()).collect();
    let field = |at: usize| fields.get(at).copied().flatten();
    let needed = |at: usize| field(at).ok_or_else(|| Malformed::line(text));
    Ok(Zram {
        original: needed(0)?,
        compressed: needed(1)?,
        memory: needed(2)?,
        same_pages: needed(5)?,
        huge_pages: field(7),
    })
}

/// Bytes that were written back to the backing device of a zram device, which `original` counts too: the first field of
/// `/sys/block/zramN/bd_stat`, in units of 4 KiB.
pub(crate) fn written_back(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(4096)
}

/// Sizes of zswap, from `/proc/meminfo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Zswap {
    /// Bytes of memory in use.
    pub memory: u64,
    /// Bytes before compression.
    pub original: u64,
}

/// `Zswap` and `Zswapped` of `/proc/meminfo`; `None` before Linux 5.19.
///
/// # Errors
/// [`Malformed`] with the first line that cannot be parsed.
pub fn zswap(text: &str) -> Result<Option<Zswap>, Malformed> {
    let (memory, original) = (kilobytes(text, "Zswap")?, kilobytes(text, "Zswapped")?);
    Ok(memory.zip(original).map(|(memory, original)| Zswap { memory, original }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_of_old_and_new_kernels() {
        let old = zram("1 1 2 -1 1 0 0").unwrap();
        assert_eq!((old.original, old.memory, old.huge_pages), (1, 2, None));
        assert!(zram("1 2 3").is_err());
        assert_eq!(zswap("MemFree: 1 kB\n"), Ok(None));
        assert_eq!(zswap("Zswap: 2 kB\nZswapped: 5 kB\n"), Ok(Some(Zswap { memory: 2048, original: 5120 })));
    }
}
