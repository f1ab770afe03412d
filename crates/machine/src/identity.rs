//! The board: SMBIOS's table where it can be read, the kernel's copies of its strings, and EDAC's labels.

use tiermark_model::Dimm;
use tiermark_model::messages::machine as messages;

use crate::dmi::{self, Dmi};
use crate::error::DiscoverError;
use crate::health::{EDAC_DIR, MOST_CONTROLLERS, MOST_SLOTS};
use crate::reader::Reader;

/// Where the kernel shows the firmware's table; readable for root only.
pub(crate) const TABLE: &str = "sys/firmware/dmi/tables/DMI";

/// Vendor, product and firmware of the board.
#[derive(Debug, Default)]
pub(crate) struct Identity {
    pub(crate) vendor: Option<String>,
    pub(crate) product: Option<String>,
    pub(crate) bios: Option<String>,
    pub(crate) processor: Option<String>,
    /// Sockets that hold a processor; 0 where firmware does not say.
    pub(crate) sockets: usize,
    pub(crate) dimms: Vec<Dimm>,
    /// Slots beside those in `dimms`.
    pub(crate) unlisted_slots: usize,
    /// Modules on CXL cards.
    pub(crate) cxl_modules: Vec<Dimm>,
}

/// Reads board, BIOS and memory modules.
pub(crate) fn read(reader: &Reader<'_>) -> Identity {
    let dmi = table(reader).unwrap_or_default();
    let id = |name: &str| reader.word(&format!("sys/class/dmi/id/{name}"));
    let bios = |vendor: Option<String>, version: Option<String>| match (vendor, version) {
        (Some(vendor), Some(version)) => Some(format!("{vendor} {version}")),
        (vendor, version) => version.or(vendor),
    };
    let mut identity = Identity {
        vendor: id("sys_vendor").or(dmi.vendor),
        product: id("product_name").or(dmi.product),
        bios: bios(id("bios_vendor"), id("bios_version")).or_else(|| bios(dmi.bios_vendor, dmi.bios_version)),
        processor: dmi.processor,
        sockets: dmi.sockets,
        dimms: dmi.dimms,
        unlisted_slots: dmi.unlisted_slots,
        cxl_modules: dmi.cxl_modules,
    };
    edac(reader, &mut identity.dimms);
    identity
}

/// Bytes of the firmware's table: a thousand memory modules take a quarter of it.
const MAX_TABLE_BYTES: usize = 1 << 20;

fn table(reader: &Reader<'_>) -> Option<Dmi> {
    let path = format!("/{TABLE}");
    let bytes = match reader.root().read_bytes(TABLE) {
        Ok(Some(bytes)) if bytes.len() > MAX_TABLE_BYTES => {
            let error = DiscoverError::TooLarge { path: TABLE.to_owned(), limit: MAX_TABLE_BYTES as u64 };
            reader.refuse(error.into_refusal());
            return None;
        }
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            reader.refuse(messages::modules_not_described(&path));
            return None;
        }
        Err(DiscoverError::Io { source, .. }) => {
            reader.refuse(messages::modules_unreadable(&path, &source.to_string()));
            return None;
        }
        Err(error) => {
            reader.refuse(error.into_refusal());
            return None;
        }
    };
    match dmi::parse_dmi(&bytes) {
        Ok(dmi) => {
            if dmi.truncated {
                // What is behind the break may be modules: channels without one cannot be told from those that are cut
                // off.
                reader.refuse(messages::modules_cut_off(&path));
                return Some(Dmi { dimms: Vec::new(), unlisted_slots: 0, cxl_modules: Vec::new(), sockets: 0, ..dmi });
            }
            Some(dmi)
        }
        Err(error) => {
            reader.refuse(messages::modules_malformed(&path, &error.to_string()));
            None
        }
    }
}

/// Labels that the kernel's error reporting has for slots: put beside the slot whose name they contain, if that is
/// one slot only. Without SMBIOS they are all that is known of the modules.
fn edac(reader: &Reader<'_>, dimms: &mut Vec<Dimm>) {
    let from_smbios = !dimms.is_empty();
    for controller in reader.numbered(EDAC_DIR, "mc").into_iter().take(MOST_CONTROLLERS) {
        for slot in reader.numbered(&format!("{EDAC_DIR}/mc{controller}"), "dimm").into_iter().take(MOST_SLOTS) {
            let at = |name: &str| format!("{EDAC_DIR}/mc{controller}/dimm{slot}/{name}");
            let Some(label) = reader.word(&at("dimm_label")) else { continue };
            if !from_smbios {
                let bytes =
                    reader.number::<u64>(&at("size")).and_then(|mib| mib.checked_mul(1 << 20)).filter(|b| *b != 0);
                let kind = reader
                    .word(&at("dimm_mem_type"))
                    .filter(|kind| kind != "Unknown")
                    .map(|kind| kind.rsplit('-').next().unwrap_or(&kind).to_owned());
                dimms.push(Dimm {
                    populated: bytes.is_some(),
                    bytes,
                    kind,
                    edac_label: Some(label),
                    ..Dimm::default()
                });
                continue;
            }
            let mut named = dimms.iter_mut().filter(|dimm| dimm.locator.as_deref().is_some_and(|l| names(&label, l)));
            if let (Some(dimm), None) = (named.next(), named.next()) {
                dimm.edac_label.get_or_insert(label);
            }
        }
    }
}

/// Whether a label names a slot: the slot's name as a whole, not as a part of a longer one (`A1` in `A12`).
fn names(label: &str, locator: &str) -> bool {
    label.match_indices(locator).any(|(at, found)| {
        let before = label[..at].chars().next_back();
        let after = label[at + found.len()..].chars().next();
        [before, after].into_iter().flatten().all(|c| !c.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Root;

    #[test]
    fn labels_go_to_the_slot_they_name() {
        let root = Root::from_files(
            "test",
            [
                ("sys/devices/system/edac/mc/mc0/dimm0/dimm_label", "CPU0_DIMM_A1\n"),
                ("sys/devices/system/edac/mc/mc0/dimm1/dimm_label", "CPU0_DIMM_A12\n"),
                ("sys/devices/system/edac/mc/mc0/dimm1/size", "16384\n"),
                ("sys/devices/system/edac/mc/mc0/dimm1/dimm_mem_type", "Registered-DDR5\n"),
            ],
        );
        let slot = |name: &str| Dimm { locator: Some(name.to_owned()), ..Dimm::default() };
        let mut dimms = vec![slot("DIMM_A1"), slot("DIMM_B1")];
        edac(&Reader::new(&root), &mut dimms);
        assert_eq!(dimms[0].edac_label.as_deref(), Some("CPU0_DIMM_A1"));
        assert_eq!(dimms[1].edac_label, None);
        let mut bare = Vec::new();
        edac(&Reader::new(&root), &mut bare);
        assert_eq!(bare.len(), 2);
        assert_eq!((bare[1].bytes, bare[1].kind.as_deref()), (Some(16 << 30), Some("DDR5")));
        assert!(!bare[0].populated);
    }
}
