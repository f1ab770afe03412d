//! Reading lines.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::de::DeserializeOwned;

/// Larger files are refused, so that a wrong file cannot take the machine's memory. Ten hours of a run's observations
/// are less.
pub const MOST_BYTES: u64 = 1 << 30;

/// What a damaged line between whole ones means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damaged {
    /// The lines behind it make no sense without it: they are not read.
    Ends,
    /// Each line stands for itself: the lines behind it are read.
    Alone,
}

/// A line that is not what its writer wrote; shown as `line 7: expected value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLine {
    /// Its number; the first line of the file is 1.
    pub number: usize,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for DamagedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.number, self.why)
    }
}

/// The whole lines of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines {
    text: Vec<u8>,
    is_cut: bool,
}

impl Lines {
    /// Reads a file, without its lock: what its writer appends meanwhile may be missing.
    ///
    /// # Errors
    /// The system's answer, `FileTooLarge` beyond [`MOST_BYTES`].
    pub fn read(path: &Path) -> io::Result<Self> {
        Self::of(&File::open(path)?)
    }

    pub(crate) fn of(file: &File) -> io::Result<Self> {
        let mut text = Vec::new();
        // A file may grow meanwhile, and a device has no length.
        if file.metadata()?.len() > MOST_BYTES || file.take(MOST_BYTES + 1).read_to_end(&mut text)? as u64 > MOST_BYTES
        {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(Self::of_bytes(text))
    }

    /// The whole lines of these bytes of a file.
    pub fn of_bytes(mut text: Vec<u8>) -> Self {
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let is_cut = whole < text.len();
        text.truncate(whole);
        Self { text, is_cut }
    }

    /// Whether a line without an end is behind the whole ones: its writer was killed, or still writes it.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Bytes of the whole lines; 0 where no line is whole.
    pub fn bytes(&self) -> u64 {
        self.text.len() as u64
    }

    /// The first line, which says what the others are; empty where no line is whole.
    pub fn head(&self) -> &[u8] {
        self.numbered().next().map_or(b"", |(_, line)| line)
    }

    /// Hands each line behind the first to `take`, which may refuse it with the reason.
    ///
    /// # Errors
    /// The first damaged line: one that cannot be parsed, or that `take` refuses.
    pub fn each<T: DeserializeOwned>(
        &self,
        damaged: Damaged,
        mut take: impl FnMut(T) -> Result<(), String>,
    ) -> Result<(), DamagedLine> {
        let mut first = Ok(());
        for (number, line) in self.numbered().skip(1) {
            let read = serde_json::from_slice(line).map_err(|why| why.to_string());
            if let Err(why) = read.and_then(&mut take) {
                first = first.and(Err(DamagedLine { number, why }));
                if damaged == Damaged::Ends {
                    break;
                }
            }
        }
        first
    }

    /// Lines that hold anything.
    fn numbered(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let lines = self.text.split_inclusive(|byte| *byte == b'\n').enumerate();
        lines.filter(|(_, line)| !line.trim_ascii().is_empty()).map(|(at, line)| (at + 1, line))
    }
}
