//! SMBIOS: memory modules, board and firmware identity.
//!
//! Structure layouts follow the DMTF's DSP0134. Serial numbers, asset tags and the system UUID are never read.

mod channels;
mod memory;
mod peak;
mod table;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use tiermark_model::{Dimm, Machine};

use memory::Slot;
pub use peak::{Channels, theoretical_peak};
pub use table::redact;
use table::{Structure, Table, structures};

/// Nothing in so many bytes is an SMBIOS structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no SMBIOS structure in {0} bytes")]
pub struct NoStructure(pub usize);

/// The memory modules of an SMBIOS table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dmi {
    /// BIOS vendor (type 0).
    pub bios_vendor: Option<String>,
    /// BIOS version (type 0).
    pub bios_version: Option<String>,
    /// System manufacturer (type 1).
    pub vendor: Option<String>,
    /// System product (type 1).
    pub product: Option<String>,
    /// Processor version, the marketing name (type 4).
    pub processor: Option<String>,
    /// Sockets that hold a central processor (type 4).
    pub sockets: usize,
    /// Slots of system memory (type 17) in the processors' channels, filled or empty, in table order.
    pub dimms: Vec<Dimm>,
    /// Slots that the arrays of system memory have (type 16) beside those that are listed: some firmware lists filled
    /// slots only.
    pub unlisted_slots: usize,
    /// Modules on CXL cards.
    pub cxl_modules: Vec<Dimm>,
    /// Memory devices that are not system memory: flash, video, cache.
    pub other_devices: usize,
    /// Whether the table ended early or in the middle of a structure.
    pub truncated: bool,
}

/// Decodes a structure table (`/sys/firmware/dmi/tables/DMI`).
///
/// A damaged table yields what comes before the damage.
///
/// # Errors
/// [`NoStructure`] where not even one structure is whole.
pub fn parse_dmi(bytes: &[u8]) -> Result<Dmi, NoStructure> {
    let Table { all, truncated, .. } = structures(bytes);
    if all.is_empty() {
        return Err(NoStructure(bytes.len()));
    }
    let arrays = memory::arrays(&all);
    let mut dmi = Dmi { truncated, unlisted_slots: memory::unlisted_slots(&all, &arrays), ..Dmi::default() };
    for structure in &all {
        match structure.kind {
            0 => {
                dmi.bios_vendor = dmi.bios_vendor.or_else(|| structure.string(0x04));
                dmi.bios_version = dmi.bios_version.or_else(|| structure.string(0x05));
            }
            1 => {
                dmi.vendor = dmi.vendor.or_else(|| structure.string(0x04));
                dmi.product = dmi.product.or_else(|| structure.string(0x05));
            }
            4 => {
                dmi.processor = dmi.processor.or_else(|| structure.string(0x10));
                dmi.sockets += usize::from(holds_processor(structure));
            }
            17 => match memory::slot(structure, &arrays) {
                Some(Slot::Channel(dimm)) => dmi.dimms.push(dimm),
                Some(Slot::Cxl(dimm)) => dmi.cxl_modules.extend(Some(dimm).filter(|dimm| dimm.populated)),
                None => dmi.other_devices += 1,
            },
            _ => {}
        }
    }
    if let Some(channels) = channels::by_slot(&dmi.dimms) {
        for (dimm, channel) in dmi.dimms.iter_mut().zip(channels) {
            dimm.processor = Some(channel.socket).filter(|name| !name.is_empty());
        }
    }
    if dmi.dimms.is_empty() {
        // Firmware that describes no module leaves out the filled slots too.
        dmi.unlisted_slots = 0;
    }
    Ok(dmi)
}

/// Whether a module is persistent memory, which shares a channel with DRAM.
pub fn is_non_volatile(dimm: &Dimm) -> bool {
    dimm.kind.as_deref() == Some(memory::NON_VOLATILE)
}

/// Whether persistent memory is the machine's memory and DRAM its cache: the kernel manages more than the DRAM, and
/// none of it in nodes of its own.
pub fn is_memory_mode(machine: &Machine) -> bool {
    let has_some = machine.dimms.iter().any(|dimm| dimm.populated && is_non_volatile(dimm));
    let is_one = machine.nodes.iter().all(|node| !node.is_memory_only());
    let dram = bytes_of_dram(&machine.dimms);
    has_some && is_one && machine.system.memory_bytes.zip(dram).is_some_and(|(all, dram)| all > dram)
}

/// Bytes of all modules of DRAM; `None` if there is none, or firmware does not state the size of one.
pub fn bytes_of_dram(dimms: &[Dimm]) -> Option<u64> {
    bytes_of(dimms, |dimm| !is_non_volatile(dimm))
}

/// Bytes of all modules; `None` if a module does not state its size, or if there is no module.
pub fn bytes_of_all(dimms: &[Dimm]) -> Option<u64> {
    bytes_of(dimms, |_| true)
}

fn bytes_of(dimms: &[Dimm], counts: impl Fn(&Dimm) -> bool) -> Option<u64> {
    let mut sizes = dimms.iter().filter(|dimm| dimm.populated && counts(dimm)).map(|dimm| dimm.bytes);
    sizes.try_fold(0u64, |sum, bytes| Some(sum.saturating_add(bytes?))).filter(|sum| *sum > 0)
}

/// A slot of each memory channel without a module, by the board's names: of the slots of a channel, the one that other
/// channels fill. `None` where slot names do not show the channels. On a board for more processors than there are, only
/// of processors that have a module.
pub fn empty_channels(dimms: &[Dimm], processors: usize) -> Option<Vec<String>> {
    let channels = channels::by_slot(dimms)?;
    let slots = || channels.iter().zip(dimms);
    let own = channels::of_processors(&channels, dimms, processors);
    let filled: BTreeSet<_> = slots().filter(|(_, dimm)| dimm.populated).map(|(channel, _)| channel).collect();
    // The place of each slot in its channel, and the place that most modules have.
    let mut met: BTreeMap<_, usize> = BTreeMap::new();
    let place = |(channel, _): (_, &Dimm)| {
        let seen = met.entry(channel).or_default();
        *seen += 1;
        *seen
    };
    let places: Vec<usize> = slots().map(place).collect();
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    for (place, _) in places.iter().zip(dimms).filter(|(_, dimm)| dimm.populated) {
        *taken.entry(*place).or_default() += 1;
    }
    let usual = taken.iter().max_by_key(|(place, times)| (**times, Reverse(**place))).map(|(place, _)| *place);
    let mut empty: BTreeMap<_, (bool, usize)> = BTreeMap::new();
    for (at, (channel, _)) in slots().enumerate() {
        if own.contains(channel) && !filled.contains(channel) {
            let best = (Some(places[at]) != usual, at);
            empty.entry(channel).and_modify(|known| *known = (*known).min(best)).or_insert(best);
        }
    }
    let mut chosen: Vec<usize> = empty.into_values().map(|(_, at)| at).collect();
    chosen.sort_unstable();
    Some(chosen.into_iter().filter_map(|at| slot_name(&dimms[at], dimms)).collect())
}

/// The sizes of channels that have modules, smallest first, and the empty slots of those that are smaller than the
/// largest; `None` where slot names do not show the channels, or a size is not stated.
pub fn sizes_of_channels(dimms: &[Dimm]) -> Option<(BTreeSet<u64>, Vec<String>)> {
    let channels = channels::by_slot(dimms)?;
    let mut sizes: BTreeMap<_, u64> = BTreeMap::new();
    for (channel, dimm) in channels.iter().zip(dimms).filter(|(_, dimm)| dimm.populated) {
        let size = sizes.entry(channel).or_default();
        *size = size.saturating_add(dimm.bytes?);
    }
    let largest = sizes.values().copied().max()?;
    let is_smaller = |channel: &_| sizes.get(channel).is_some_and(|size| *size < largest);
    let empty = channels.iter().zip(dimms).filter(|(channel, dimm)| !dimm.populated && is_smaller(channel));
    let empty = empty.filter_map(|(_, dimm)| slot_name(dimm, dimms)).collect();
    Some((sizes.into_values().collect(), empty))
}

/// The name of a slot. Some boards give all slots one name, and tell them apart by the bank.
fn slot_name(dimm: &Dimm, dimms: &[Dimm]) -> Option<String> {
    let is_unique = dimms.iter().filter(|other| other.locator == dimm.locator).count() == 1;
    match &dimm.bank {
        Some(bank) if !is_unique => Some(format!("{} ({bank})", dimm.locator.as_ref()?)),
        _ => dimm.locator.clone(),
    }
}

/// Whether a processor of type 4 is a central one (3) and its socket populated (bit 6 of the status).
fn holds_processor(s: &Structure<'_>) -> bool {
    s.byte(0x05) == Some(3) && s.byte(0x18).is_some_and(|status| status & 0x40 != 0)
}

#[cfg(test)]
mod tests;
