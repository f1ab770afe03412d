//! Faults that are planted in the memory of a simulated machine.

use std::str::FromStr;

use tiermark_model::Hex;

/// What is wrong with the memory of a simulated machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SimMemory {
    /// Its faults.
    pub faults: Vec<SimFault>,
    /// Seconds after which its processors are too hot, and the share of the rate that they then lose.
    pub hot: Option<(f64, f64)>,
    /// Seconds after which others need the memory.
    pub wanted_at: Option<f64>,
}

/// A fault of memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SimFault {
    /// A bit of one word.
    Bit {
        /// Offset of the word in all memory of the soak.
        offset: u64,
        /// Number of the bit in the word.
        bit: u8,
        /// What it does.
        kind: BitFault,
    },
    /// A bit of addresses of memory that has no effect: both words of a pair are one.
    ShortedLine {
        /// Number of the bit of the address.
        line: u8,
    },
    /// A page that the kernel takes away.
    Poisoned {
        /// Its offset in all memory of the soak.
        offset: u64,
    },
}

/// What a faulty bit does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BitFault {
    /// It flips once, in this second.
    Flips(f64),
    /// It has this value for ever.
    Stuck(bool),
    /// The first read after each write finds it flipped, the next one does not.
    OnTheWay,
    /// It flips when it was not written or read for so many seconds.
    Rests(f64),
}

impl FromStr for SimFault {
    type Err = String;

    /// `OFFSET.BIT:flips@SECOND`, `OFFSET.BIT:stuck0`, `OFFSET.BIT:stuck1`, `OFFSET.BIT:once`,
    /// `OFFSET.BIT:rests@SECONDS`, `line:BIT`, `poisoned:OFFSET`; offsets are hexadecimal.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong =
            || format!("'{text}' is no fault of memory: 0x1000.3:stuck1, 0x8.0:rests@10, line:20, poisoned:0x1000");
        let offset = |text: &str| text.parse::<Hex>().map(|offset| offset.0 / 8 * 8).map_err(|_| wrong());
        let (place, kind) = text.split_once(':').ok_or_else(wrong)?;
        match place {
            "line" => {
                return Ok(Self::ShortedLine {
                    line: kind.parse().ok().filter(|l| (3..48).contains(l)).ok_or_else(wrong)?,
                });
            }
            "poisoned" => return Ok(Self::Poisoned { offset: offset(kind)? / 4096 * 4096 }),
            _ => {}
        }
        let (at, bit) = place.split_once('.').ok_or_else(wrong)?;
        let bit: u8 = bit.parse().ok().filter(|bit| *bit < 64).ok_or_else(wrong)?;
        let seconds = |text: &str| text.parse::<f64>().ok().filter(|s| *s >= 0.0).ok_or_else(wrong);
        let kind = match kind.split_once('@') {
            Some(("flips", at)) => BitFault::Flips(seconds(at)?),
            Some(("rests", least)) => BitFault::Rests(seconds(least)?),
            None if kind == "stuck0" => BitFault::Stuck(false),
            None if kind == "stuck1" => BitFault::Stuck(true),
            None if kind == "once" => BitFault::OnTheWay,
            _ => return Err(wrong()),
        };
        Ok(Self::Bit { offset: offset(at)?, bit, kind })
    }
}

/// A word that has a fault.
#[derive(Debug, Clone)]
pub(super) struct FaultyWord {
    pub(super) offset: u64,
    pub(super) bit: u8,
    pub(super) kind: BitFault,
    /// What should be there; `None` before it was written.
    pub(super) expected: Option<u64>,
    /// What is there.
    pub(super) cell: u64,
    /// When it was written or read last, seconds.
    pub(super) used_at: f64,
    /// Whether it was not read since it was written.
    pub(super) is_fresh: bool,
    /// Whether a bit that flips once has flipped.
    pub(super) has_flipped: bool,
}

impl FaultyWord {
    pub(super) fn new(offset: u64, bit: u8, kind: BitFault) -> Self {
        Self { offset, bit, kind, expected: None, cell: 0, used_at: 0.0, is_fresh: false, has_flipped: false }
    }

    pub(super) fn write(&mut self, word: u64, now: f64) {
        (self.expected, self.cell, self.used_at, self.is_fresh) = (Some(word), word, now, true);
        // What is written after the moment of a flip is right.
        self.has_flipped |= matches!(self.kind, BitFault::Flips(at) if at <= now);
    }

    pub(super) fn read(&mut self, now: f64) -> u64 {
        let bit = 1 << self.bit;
        match self.kind {
            BitFault::Flips(at) if at <= now && !self.has_flipped => {
                (self.cell, self.has_flipped) = (self.cell ^ bit, true);
            }
            BitFault::Rests(least) if now - self.used_at >= least => self.cell ^= bit,
            _ => {}
        }
        let is_fresh = std::mem::take(&mut self.is_fresh);
        self.used_at = now;
        match self.kind {
            BitFault::Stuck(value) => self.cell & !bit | u64::from(value) << self.bit,
            BitFault::OnTheWay if is_fresh => self.cell ^ bit,
            _ => self.cell,
        }
    }
}
