//! The counters that guard a trial. If one cannot be read, the trial ends: no guard could stop it before the system
//! suffers.

use tiermark_machine::Root;
use tiermark_machine::files::kilobytes;
use tiermark_model::Swap;

use super::{available, parse};

/// What keeps a system going, at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Vitals {
    /// Bytes of memory that the machine has.
    pub total: u64,
    /// Bytes that can be had without swapping.
    pub available: u64,
    /// Areas that are swapped to; none where the kernel cannot swap.
    pub swaps: Vec<Swap>,
    /// Bytes of memory that this process holds.
    pub client: u64,
}

impl Vitals {
    /// Reads them.
    ///
    /// # Errors
    /// A sentence that names the file that is missing or makes no sense.
    pub fn read(root: &Root) -> Result<Self, String> {
        let available = available(root).map_err(|why| why.to_string())?;
        let total =
            root.parsed("proc/meminfo", |text| kilobytes(text, "MemTotal")).map_err(|why| why.to_string())?.flatten();
        let swaps = root.parsed("proc/swaps", parse::swaps).map_err(|why| why.to_string())?;
        // Pages: all, in memory, shared, …
        let resident = root.text("proc/self/statm").and_then(|text| text.split_whitespace().nth(1)?.parse().ok());
        let resident: u64 = resident.ok_or("proc/self/statm has no number of resident pages")?;
        Ok(Self {
            total: total.ok_or("proc/meminfo has no line MemTotal")?,
            available: available.ok_or("proc/meminfo has no line MemAvailable")?,
            swaps: swaps.unwrap_or_default(),
            client: resident.saturating_mul(rustix::param::page_size() as u64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_an_error_and_never_plenty() {
        let files = [
            ("proc/meminfo", "MemTotal: 9 kB\nMemAvailable: 1000 kB\n"),
            ("proc/swaps", "Filename Type Size Used Priority\n/dev/zram1 partition 100 40 9\n"),
            ("proc/self/statm", "900 3 1 0 0 0 0\n"),
        ];
        let with = |path: &str, text: &str| {
            Vitals::read(&Root::from_files("test", files.map(|file| if file.0 == path { (path, text) } else { file })))
        };
        let read = with("", "").unwrap();
        assert_eq!((read.total, read.available), (9 << 10, 1000 << 10));
        assert_eq!(read.client, 3 * rustix::param::page_size() as u64);
        assert_eq!((read.swaps[0].bytes, read.swaps[0].used_bytes), (100 << 10, 40 << 10));
        for (path, text) in [
            ("proc/meminfo", "MemTotal: 9 kB\n"),
            ("proc/meminfo", "MemAvailable: 9 kB\n"),
            ("proc/meminfo", "MemAvailable: lots kB\n"),
            ("proc/meminfo", ""),
            ("proc/swaps", "Filename Type Size Used Priority\n/dev/zram1 partition x y 9\n"),
            ("proc/self/statm", "900\n"),
        ] {
            let error = with(path, text).unwrap_err();
            assert!(error.contains(path), "{path} with {text:?}: {error}");
        }
        assert!(Vitals::read(&Root::from_files("test", [("proc/meminfo", "MemAvailable: 1 kB\n")])).is_err());
    }
}
