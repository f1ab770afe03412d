//! TOML files that people write: every mistake with its line, its key and a suggestion, all at once.
//!
//! [`parse`] reads a file whose keys the caller walks, as those of plans, which are options of commands. [`read`] reads
//! a file that is a type, as scenarios and prices are.

mod mistakes;
mod node;
mod typed;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::encoding::to_utf8;
pub use mistakes::{Mistake, Mistakes, parse};
pub use typed::{Problem, read};

/// Bytes of the largest file: what people write is far smaller, and a device has no end.
const MOST_BYTES: u64 = 1 << 20;

/// The text of a configuration file.
///
/// # Errors
/// The system's answer; `FileTooLarge` beyond 1 MiB, `InvalidData` if it is neither UTF-8 nor UTF-16.
pub fn text_of(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    String::from_utf8(to_utf8(bytes)).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_an_end_are_refused() {
        assert_eq!(text_of(Path::new("/dev/zero")).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(text_of(Path::new("/dev/null")).unwrap(), "");
        assert!(text_of(Path::new("/")).is_err());
    }
}
