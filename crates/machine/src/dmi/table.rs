//! The structure table: headers, formatted areas and strings.

/// End-of-table marker.
const END: u8 = 127;
/// A header: type, length, handle.
const HEADER: usize = 4;

/// One structure.
pub(super) struct Structure<'a> {
    pub(super) kind: u8,
    pub(super) handle: u16,
    formatted: &'a [u8],
    strings: &'a [u8],
    /// Offset in the table of the byte behind the structure.
    end: usize,
}

impl<'a> Structure<'a> {
    /// The structure at an offset, if it lies in the table whole.
    fn at(table: &'a [u8], start: usize) -> Option<Self> {
        let rest = table.get(start..)?;
        let length = usize::from(*rest.get(1)?);
        let formatted = rest.get(..length).filter(|formatted| formatted.len() >= HEADER)?;
        let tail = &rest[length..];
        let strings = end_of_strings(tail)?;
        Some(Self {
            kind: formatted[0],
            handle: u16::from_le_bytes([formatted[2], formatted[3]]),
            formatted,
            strings: &tail[..strings],
            end: start + length + strings + 2,
        })
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.formatted.get(at).copied()
    }

    pub(super) fn word(&self, at: usize) -> Option<u16> {
        Some(u16::from_le_bytes([self.byte(at)?, self.byte(at + 1)?]))
    }

    pub(super) fn dword(&self, at: usize) -> Option<u32> {
        Some(u32::from(self.word(at)?) | u32::from(self.word(at + 2)?) << 16)
    }

    /// The string whose number stands at an offset, unless it is one of the many ways to say nothing.
    pub(super) fn string(&self, at: usize) -> Option<String> {
        let index = usize::from(self.byte(at)?).checked_sub(1)?;
        meaningful(self.strings.split(|b| *b == 0).nth(index)?)
    }
}

/// Types that no structure has: those of the standard end before them, those of vendors begin behind them. Letters and
/// digits are among them.
const RESERVED: std::ops::Range<u8> = 48..126;

/// Length of the strings behind the formatted area. They end with an empty one; a structure without strings has two
/// zero bytes. Some firmware writes an empty string among the others: letters follow there, and no structure.
fn end_of_strings(tail: &[u8]) -> Option<usize> {
    let pair = |from: usize| Some(from + tail.get(from..)?.windows(2).position(|pair| pair == [0, 0])?);
    let mut end = pair(0)?;
    while end > 0 && tail.get(end + 2).is_some_and(|next| RESERVED.contains(next)) {
        end = pair(end + 2)?;
    }
    Some(end)
}

/// A table cut into structures.
pub(super) struct Table<'a> {
    /// All structures before the end marker.
    pub(super) all: Vec<Structure<'a>>,
    /// Whether the table broke off before its end marker.
    pub(super) truncated: bool,
    /// Offset behind the parsed structures, the end marker included.
    end: usize,
}

/// Cuts a table into structures, up to the end marker or the first damage.
pub(super) fn structures(table: &[u8]) -> Table<'_> {
    let mut all = Vec::new();
    let mut end = 0;
    while let Some(structure) = Structure::at(table, end) {
        end = structure.end;
        if structure.kind == END {
            return Table { all, truncated: false, end };
        }
        all.push(structure);
    }
    Table { truncated: end < table.len() || all.is_empty(), all, end }
}

/// Offsets of string numbers that identify one machine or module: serial numbers and asset tags by type.
const IDENTIFYING: &[(u8, &[usize])] = &[
    (1, &[0x07]),
    (2, &[0x07, 0x08]),
    (3, &[0x07, 0x08]),
    (4, &[0x20, 0x21]),
    (17, &[0x18, 0x19]),
    (22, &[0x07]),
    (39, &[0x08, 0x09]),
];
/// Types whose meaning is known and that hold nothing identifying in other places; all other structures are blanked.
const KEPT: &[u8] = &[0, 1, 4, 16, 17, 19];

/// A copy of a table without what identifies the machine: serial numbers, asset tags and the UUID are blanked, and so
/// is the whole content of structures this crate does not read. Lengths stay the same.
pub fn redact(table: &[u8]) -> Vec<u8> {
    let mut copy = table.to_vec();
    let Table { all, end, .. } = structures(table);
    let mut start = 0;
    for structure in &all {
        let length = structure.formatted.len();
        let strings = start + length..start + length + structure.strings.len();
        if KEPT.contains(&structure.kind) {
            if structure.kind == 1 {
                // The UUID: 16 bytes from 0x08.
                let end = length.min(0x18);
                copy[start + end.min(0x08)..start + end].fill(0);
            }
            for (_, fields) in IDENTIFYING.iter().filter(|(kind, _)| *kind == structure.kind) {
                for index in fields.iter().filter_map(|at| structure.byte(*at)) {
                    blank_string(&mut copy[strings.clone()], usize::from(index));
                }
            }
        } else {
            copy[start + HEADER..start + length].fill(0);
            copy[strings].iter_mut().filter(|b| **b != 0).for_each(|b| *b = b'x');
        }
        start = structure.end;
    }
    // The following bytes cannot be parsed, so they cannot be judged.
    copy[end..].fill(0);
    copy
}

fn blank_string(strings: &mut [u8], number: usize) {
    let Some(index) = number.checked_sub(1) else { return };
    if let Some(string) = strings.split_mut(|b| *b == 0).nth(index) {
        string.fill(b'x');
    }
}

/// Placeholders that firmware writes for unknown values (compared in lower case).
const PLACEHOLDERS: &[&str] = &[
    "",
    "not specified",
    "not available",
    "not provided",
    "unknown",
    "none",
    "n/a",
    "no dimm",
    "undefined",
    "to be filled by o.e.m.",
    "default string",
    "system product name",
    "system manufacturer",
    "0000",
    "jedec id:",
];

/// The trimmed text, unless it is a placeholder.
fn meaningful(bytes: &[u8]) -> Option<String> {
    let text: String = bytes.iter().map(|b| if (0x20..0x7f).contains(b) { char::from(*b) } else { ' ' }).collect();
    let text = text.trim();
    (!PLACEHOLDERS.contains(&text.to_ascii_lowercase().as_str())).then(|| text.to_owned())
}
