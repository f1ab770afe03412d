//! Memory devices (type 17) and the arrays they sit in (type 16).

use std::collections::BTreeMap;

use tiermark_model::Dimm;

use super::Structure;

/// Array use 3: system memory.
const SYSTEM_MEMORY: u8 = 3;
/// Array location A4h: a CXL card. Cards of other kinds (risers of large servers among them) hold modules of the
/// processors' channels.
const CXL_CARD: u8 = 0xa4;
/// Memory type 9: flash; never main memory, and listed without an array on some boards.
const FLASH: u8 = 0x09;

/// Slots of an array at most: the largest servers have some 400 in all.
const MOST_SLOTS: usize = 1024;

/// A memory array.
pub(super) struct Array {
    location: u8,
    purpose: u8,
    /// Slots that it has, with a device of type 17 or without one.
    slots: usize,
}

/// All memory arrays, by handle.
pub(super) fn arrays(all: &[Structure<'_>]) -> BTreeMap<u16, Array> {
    let array = |s: &Structure<'_>| {
        let slots = s.word(0x0d).map_or(0, usize::from);
        Some((s.handle, Array { location: s.byte(0x04)?, purpose: s.byte(0x05)?, slots }))
    };
    all.iter().filter(|s| s.kind == 16).filter_map(array).collect()
}

/// Slots of the processors' channels that no device describes.
pub(super) fn unlisted_slots(all: &[Structure<'_>], arrays: &BTreeMap<u16, Array>) -> usize {
    let of_channels = |array: &Array| array.purpose == SYSTEM_MEMORY && array.location != CXL_CARD;
    let mut listed: BTreeMap<u16, usize> = BTreeMap::new();
    for handle in all.iter().filter(|s| s.kind == 17).filter_map(|s| s.word(0x04)) {
        *listed.entry(handle).or_default() += 1;
    }
    let listed = |handle: &u16| listed.get(handle).copied().unwrap_or_default();
    let plausible = arrays.iter().filter(|(_, array)| of_channels(array) && array.slots <= MOST_SLOTS);
    plausible.map(|(handle, array)| array.slots.saturating_sub(listed(handle))).sum()
}

/// A slot of system memory.
pub(super) enum Slot {
    /// Of a channel of a processor.
    Channel(Dimm),
    /// Of a CXL card.
    Cxl(Dimm),
}

/// The slot that a device describes; `None` for devices of arrays that are not system memory.
pub(super) fn slot(s: &Structure<'_>, arrays: &BTreeMap<u16, Array>) -> Option<Slot> {
    let array = s.word(0x04).and_then(|handle| arrays.get(&handle));
    if array.is_some_and(|array| array.purpose != SYSTEM_MEMORY) || s.byte(0x12) == Some(FLASH) {
        return None;
    }
    let on_card = array.is_some_and(|array| array.location == CXL_CARD);
    let device = device(s);
    Some(if on_card || is_named_cxl(&device) { Slot::Cxl(device) } else { Slot::Channel(device) })
}

/// Whether the board calls a slot one of CXL, as `PCIe Slot 5 CXL` and `CXL0`: firmware may list it in the array of the
/// processors' slots.
fn is_named_cxl(dimm: &Dimm) -> bool {
    let is_cxl = |word: &str| word.to_ascii_lowercase().starts_with("cxl");
    [&dimm.locator, &dimm.bank]
        .into_iter()
        .flatten()
        .any(|name| name.split(|c: char| !c.is_ascii_alphanumeric()).any(is_cxl))
}

fn device(s: &Structure<'_>) -> Dimm {
    let (populated, bytes) = size(s);
    let mut dimm = Dimm {
        locator: s.string(0x10),
        bank: s.string(0x11),
        populated,
        form: s.byte(0x0e).and_then(form).map(str::to_owned),
        ..Dimm::default()
    };
    // Firmware repeats the board's figures for empty slots; they describe no module.
    if populated {
        dimm.bytes = bytes;
        dimm.kind = s.byte(0x12).and_then(kind).map(str::to_owned);
        dimm.rated_transfers = speed(s, 0x15, 0x54);
        dimm.configured_transfers = speed(s, 0x20, 0x58);
        if states_clock(&dimm) {
            (dimm.configured_transfers, dimm.states_clock) = (dimm.rated_transfers, true);
        }
        dimm.data_width = s.word(0x0a).and_then(|bits| data_bits(bits.into()));
        dimm.ranks = s.byte(0x1b).map(|b| u32::from(b & 0x0f)).filter(|ranks| *ranks != 0);
        dimm.manufacturer = s.string(0x17);
        dimm.part = s.string(0x1a);
    }
    dimm
}

/// Whether a module is there, and its bytes. 0 is an empty slot, 0xffff an unknown size, 0x7fff refers to the
/// extended field in MiB; bit 15 switches from MiB to KiB.
fn size(s: &Structure<'_>) -> (bool, Option<u64>) {
    match s.word(0x0c) {
        None | Some(0) => (false, None),
        Some(0xffff) => (true, None),
        Some(0x7fff) => {
            // Bit 31 is reserved.
            let mib = s.dword(0x1c).map(|mib| u64::from(mib & 0x7fff_ffff)).filter(|mib| *mib != 0);
            (true, mib.map(|mib| mib << 20))
        }
        Some(kib) if kib & 0x8000 != 0 => (true, Some(u64::from(kib & 0x7fff) << 10)),
        Some(mib) => (true, Some(u64::from(mib) << 20)),
    }
}

/// Transfers per second; 0 is unknown, 0xffff refers to the extended field.
fn speed(s: &Structure<'_>, at: usize, extended: usize) -> Option<f64> {
    let megatransfers = match s.word(at)? {
        0 => return None,
        0xffff => s.dword(extended).map(|mt| mt & 0x7fff_ffff).filter(|mt| *mt != 0)?,
        mt => u32::from(mt),
    };
    plausible(f64::from(megatransfers) * 1e6)
}

/// Whether the configured speed is a clock in MHz, as old firmware writes it: half of the rated speed, and less than the
/// slowest memory of the type has. The memory then runs as rated: two transfers a cycle.
fn states_clock(dimm: &Dimm) -> bool {
    // The slowest standard speeds: JESD79 (DDR), JESD79-2 to JESD79-5.
    let slowest = match dimm.kind.as_deref() {
        Some("DDR") => 200e6,
        Some("DDR2") => 400e6,
        Some("DDR3") => 800e6,
        Some("DDR4") => 1600e6,
        Some("DDR5") => 3200e6,
        _ => return false,
    };
    // Both are rounded to whole numbers: DDR4-2133 has 1,067 MHz.
    let is_half = |(stated, rated): (f64, f64)| stated < slowest && (2.0 * stated - rated).abs() <= 1e6;
    dimm.configured_transfers.zip(dimm.rated_transfers).is_some_and(is_half)
}

/// A speed that memory can have, in transfers per second: from SDRAM of 100 MT/s, the slowest whose modules have the
/// 64 bits that are counted, to 20 000 MT/s, half as much again as the fastest that is standardised (MRDIMM, 12 800).
pub(super) fn plausible(transfers: f64) -> Option<f64> {
    (100e6..=20e9).contains(&transfers).then_some(transfers)
}

/// Most bits of a channel whose width may count those of ECC.
const WIDEST_WITH_ECC: u32 = 160;

/// Bits of data of a width that may count those of ECC, an eighth or a quarter of a power of two (72 and 80 of 64, 40 of
/// 32). Wider memory is a package of many channels, and not always a power of two (480 bits beside a Grace). `None` where
/// no memory has it: whole bytes, and at most the 1024 bits of a stack of HBM.
pub(super) fn data_bits(width: u32) -> Option<u32> {
    if !(8..=STACK_BITS).contains(&width) {
        return None;
    }
    let data = 1 << width.ilog2();
    let has_ecc = width <= WIDEST_WITH_ECC && [data / 8, data / 4].contains(&(width - data));
    match has_ecc {
        true => Some(data),
        false => Some(width).filter(|width| width.is_multiple_of(8)),
    }
}

/// Bits of a stack of HBM (JESD235, JESD238): 8 channels of 128, or 16 of 64.
pub(super) const STACK_BITS: u32 = 1024;

/// Whether memory is a stack on the package of a processor. Firmware states the bits of one of its channels.
pub(super) fn is_stack(dimm: &Dimm) -> bool {
    dimm.kind.as_deref().is_some_and(|kind| kind.starts_with("HBM"))
}

fn form(code: u8) -> Option<&'static str> {
    Some(match code {
        0x03 => "SIMM",
        0x04 => "SIP",
        0x05 => "Chip",
        0x06 => "DIP",
        0x07 => "ZIP",
        0x08 => "Proprietary Card",
        0x09 => "DIMM",
        0x0a => "TSOP",
        0x0b => "Row Of Chips",
        0x0c => "RIMM",
        0x0d => "SODIMM",
        0x0e => "SRIMM",
        0x0f => "FB-DIMM",
        0x10 => "Die",
        0x11 => "CAMM",
        _ => return None,
    })
}

/// Name of a logical non-volatile device: it shares a channel with DRAM and is not counted in its peak.
pub(super) const NON_VOLATILE: &str = "Logical non-volatile device";

fn kind(code: u8) -> Option<&'static str> {
    Some(match code {
        0x03 => "DRAM",
        0x07 => "RAM",
        0x0f => "SDRAM",
        0x11 => "RDRAM",
        0x12 => "DDR",
        0x13 => "DDR2",
        0x14 => "DDR2 FB-DIMM",
        0x18 => "DDR3",
        0x19 => "FBD2",
        0x1a => "DDR4",
        0x1b => "LPDDR",
        0x1c => "LPDDR2",
        0x1d => "LPDDR3",
        0x1e => "LPDDR4",
        0x1f => NON_VOLATILE,
        0x20 => "HBM",
        0x21 => "HBM2",
        0x22 => "DDR5",
        0x23 => "LPDDR5",
        0x24 => "HBM3",
        _ => return None,
    })
}
