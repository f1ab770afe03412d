//! The lines that monitors write, and their cells.

use std::io::{self, Read};

/// Bytes of the longest line: a header of pcm-memory for 8 sockets of 12 channels has 8 KiB.
pub(crate) const MOST_LINE: usize = 1 << 16;

/// The trimmed cells of a line. Old versions of PCM separate with semicolons. A mark of the byte order at the beginning
/// of a file, as editors write it, is no part of a cell.
pub(crate) fn cells(line: &str) -> Vec<&str> {
    let line = line.trim_start_matches('\u{feff}');
    let separator = if line.contains(';') { ';' } else { ',' };
    let line = line.trim_end_matches(['\r', '\n']);
    line.split(separator).map(str::trim).collect()
}

/// The group above each column: one that is not named belongs to the group before it, as PCM wrote until 2021.
pub(crate) fn groups(cells: &[&str]) -> Vec<String> {
    let mut last = "";
    let mut filled = Vec::with_capacity(cells.len());
    for cell in cells {
        last = if cell.is_empty() { last } else { cell };
        filled.push(last.to_owned());
    }
    filled
}

/// Gigabytes, or megabytes a second, that no machine moves: a larger number is that of a counter that makes no sense,
/// and its bytes overflow.
const MOST_AMOUNT: f64 = 1e9;

/// A number that is 0 or more; an empty cell is 0, as PCM writes it. Between semicolons the decimal sign may be a
/// comma.
pub(crate) fn amount(cell: &str) -> Option<f64> {
    if cell.is_empty() {
        return Some(0.0);
    }
    let number = cell.replacen(',', ".", 1).parse().ok();
    number.filter(|number: &f64| (0.0..=MOST_AMOUNT).contains(number))
}

/// Bytes of a piece of a file.
const MOST_BYTES: u64 = 1 << 22;
/// Pieces that one call reads, 1 GiB: what is behind them is read by the next calls. What the file held before the
/// first call must be read by then, because it is no traffic of now.
const MOST_PIECES: usize = 256;

/// The whole lines of a text that comes in pieces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pieces {
    partial: String,
    /// Whether the end of a line is awaited that is too long.
    skipping: bool,
}

impl Pieces {
    /// Takes a piece, and gives the lines that are whole with it. The last line counts once it has its end.
    pub(crate) fn take(&mut self, text: &str, mut each: impl FnMut(&str)) {
        self.partial.push_str(text);
        let text = std::mem::take(&mut self.partial);
        let mut rest = text.as_str();
        while let Some((line, more)) = rest.split_once('\n') {
            if !std::mem::take(&mut self.skipping) && line.len() <= MOST_LINE {
                each(line);
            }
            rest = more;
        }
        // A line that does not end is no line of this file, and neither is its end.
        self.skipping |= rest.len() > MOST_LINE;
        if !self.skipping {
            rest.clone_into(&mut self.partial);
        }
    }

    /// Ends the last line here if it is whole without its end.
    pub(crate) fn end_if(&mut self, is_whole: impl FnOnce(&str) -> bool) {
        if is_whole(&self.partial) {
            self.partial.clear();
        }
    }
}

/// A file that another program writes, read as it grows.
pub(crate) struct Growing<R>(R);

impl<R: Read> Growing<R> {
    pub(crate) fn new(file: R) -> Self {
        Self(file)
    }

    /// The text that was added, in pieces. Monitors write ASCII; a byte that is none spoils its own line only.
    pub(crate) fn each(&mut self, mut piece: impl FnMut(&str)) -> io::Result<()> {
        for _ in 0..MOST_PIECES {
            let mut bytes = Vec::new();
            (&mut self.0).take(MOST_BYTES).read_to_end(&mut bytes)?;
            piece(&String::from_utf8_lossy(&bytes));
            if (bytes.len() as u64) < MOST_BYTES {
                break;
            }
        }
        Ok(())
    }
}
