//! Cells of the lines that monitors write.

/// Bytes of the longest line: a header of pcm-memory for 8 sockets of 12 channels has 8 KiB.
pub(crate) const MOST_LINE: usize = 1 << 16;

/// The trimmed cells of a line. Old versions of PCM separate with semicolons.
pub(crate) fn cells(line: &str) -> Vec<&str> {
    let separator = if line.contains(';') { ';' } else { ',' };
    let line = line.trim_end_matches(['\r', '\n']);
    line.split(separator).map(str::trim).collect()
}

/// A number that is 0 or more; an empty cell is 0, as PCM writes it.
pub(crate) fn amount(cell: &str) -> Option<f64> {
    if cell.is_empty() {
        return Some(0.0);
    }
    cell.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}
