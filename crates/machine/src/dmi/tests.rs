use proptest::prelude::*;

use super::*;

/// A structure: type, handle, formatted bytes behind the header, strings.
fn structure(kind: u8, handle: u16, body: &[u8], strings: &[&str]) -> Vec<u8> {
    let mut bytes = vec![kind, (body.len() + 4) as u8];
    bytes.extend(handle.to_le_bytes());
    bytes.extend(body);
    for string in strings {
        bytes.extend(string.as_bytes());
        bytes.push(0);
    }
    if strings.is_empty() {
        bytes.push(0);
    }
    bytes.push(0);
    bytes
}

/// The body of a type 17 of version 3.3: size field, extended size, speed and extended speed.
fn device(size: u16, extended_mib: u32, speed: u16, extended_speed: u32) -> Vec<u8> {
    let mut b = vec![0u8; 0x5c - 4];
    let mut put = |at: usize, bytes: &[u8]| b[at - 4..at - 4 + bytes.len()].copy_from_slice(bytes);
    put(0x04, &0x10u16.to_le_bytes());
    put(0x08, &80u16.to_le_bytes());
    put(0x0a, &64u16.to_le_bytes());
    put(0x0c, &size.to_le_bytes());
    put(0x0e, &[0x09]);
    put(0x10, &[1, 2]);
    put(0x12, &[0x22]);
    put(0x15, &speed.to_le_bytes());
    put(0x17, &[3, 4, 5, 6, 2]);
    put(0x1c, &extended_mib.to_le_bytes());
    put(0x20, &speed.to_le_bytes());
    put(0x54, &extended_speed.to_le_bytes());
    put(0x58, &extended_speed.to_le_bytes());
    b
}

const STRINGS: &[&str] = &["CPU0_DIMM_A1", "NODE 0", "Samsung", "SERIAL77", "ASSET88", "M321"];

fn table() -> Vec<u8> {
    let mut t = structure(0, 0, &[1, 2, 0, 0, 3], &["Vendor", "1.2", "01/01/2026"]);
    let mut system = vec![1, 2, 0, 3];
    system.extend([0xaa; 16]);
    t.extend(structure(1, 1, &system, &["Maker", "Box 9", "SERIAL66"]));
    t.extend(structure(3, 3, &[1, 2, 3, 4, 5], &["Maker", "x", "v", "SERIAL55", "TAG"]));
    t.extend(structure(16, 0x10, &[3, 3, 6], &[]));
    t.extend(structure(16, 0x11, &[3, 4, 3], &[]));
    t.extend(structure(17, 0x20, &device(0x7fff, 65536, 0xffff, 8800), STRINGS));
    t.extend(structure(17, 0x21, &device(0, 0, 4800, 0), STRINGS));
    let mut flash = device(2, 0, 0, 0);
    flash[0] = 0x11;
    t.extend(structure(17, 0x22, &flash, STRINGS));
    t.extend(structure(127, 0x7f, &[], &[]));
    t
}

#[test]
fn reads_modules_slots_and_identity() {
    let dmi = parse_dmi(&table()).unwrap();
    assert_eq!((dmi.vendor.as_deref(), dmi.product.as_deref()), (Some("Maker"), Some("Box 9")));
    assert_eq!((dmi.bios_vendor.as_deref(), dmi.bios_version.as_deref()), (Some("Vendor"), Some("1.2")));
    assert_eq!((dmi.dimms.len(), dmi.other_devices, dmi.truncated), (2, 1, false));
    let dimm = &dmi.dimms[0];
    assert_eq!(dimm.bytes, Some(64 << 30));
    assert_eq!((dimm.rated_transfers, dimm.configured_transfers), (Some(8.8e9), Some(8.8e9)));
    assert_eq!((dimm.kind.as_deref(), dimm.form.as_deref(), dimm.ranks), (Some("DDR5"), Some("DIMM"), Some(2)));
    assert_eq!((dimm.part.as_deref(), dimm.manufacturer.as_deref()), (Some("M321"), Some("Samsung")));
    let empty = &dmi.dimms[1];
    assert!(!empty.populated);
    assert_eq!((empty.bytes, empty.configured_transfers, empty.locator.is_some()), (None, None, true));
    let peak = theoretical_peak(&dmi.dimms, dmi.unlisted_slots, 1, None);
    // Two slots with the same names: nothing tells channels apart, and the one module counts once anyway.
    assert_eq!(peak.map(|p| p.bytes_per_second), Some(8.8e9 * 8.0));
}

#[test]
fn modules_on_cxl_cards_are_in_no_channel() {
    let mut table = structure(16, 0x10, &[3, 3, 6], &[]);
    table.extend(structure(16, 0x30, &[0xa4, 3, 6], &[]));
    table.extend(structure(17, 0x20, &device(0x7fff, 65536, 4800, 0), STRINGS));
    for (handle, size) in [(0x21, 0x7fff), (0x22, 0)] {
        let mut on_card = device(size, 131_072, 5600, 0);
        on_card[..2].copy_from_slice(&0x30u16.to_le_bytes());
        table.extend(structure(17, handle, &on_card, &["CXL 0", "CARD 0", "Samsung", "SERIAL77", "ASSET88", "M321"]));
    }
    let dmi = parse_dmi(&table).unwrap();
    let bytes = |dimms: &[Dimm]| dimms.iter().map(|dimm| dimm.bytes).collect::<Vec<_>>();
    assert_eq!((bytes(&dmi.dimms), bytes(&dmi.cxl_modules)), (vec![Some(64 << 30)], vec![Some(128 << 30)]));
    assert_eq!(dmi.other_devices, 0);
    let peak = theoretical_peak(&dmi.dimms, dmi.unlisted_slots, 1, None).unwrap();
    assert_eq!(peak.bytes_per_second, 4800e6 * 8.0);
    assert_eq!(parse_dmi(&redact(&table)).unwrap().cxl_modules.len(), 1, "a capture has them too");
}

#[test]
fn slots_that_the_board_calls_cxl_are_in_no_channel() {
    for (locator, bank) in [("CXL Slot 1", "BANK 0"), ("PCIe Slot 5 CXL", ""), ("CXL0", ""), ("Slot_7", "CXL")] {
        let mut table = structure(16, 0x10, &[3, 3, 6], &[]);
        table.extend(structure(17, 0x20, &device(0x7fff, 65536, 4800, 0), STRINGS));
        let names = [locator, bank, "Samsung", "SERIAL77", "ASSET88", "M321"]
            .map(|name| if name.is_empty() { "x" } else { name });
        table.extend(structure(17, 0x21, &device(0x7fff, 131_072, 5600, 0), &names));
        let dmi = parse_dmi(&table).unwrap();
        assert_eq!((dmi.dimms.len(), dmi.cxl_modules.len()), (1, 1), "{locator}, {bank}");
    }
}

#[test]
fn a_configured_speed_of_half_the_rated_one_that_no_memory_has_is_a_clock() {
    let speeds = |kind: u8, rated: u16, configured: u16| {
        let mut body = device(4096, 0, rated, 0);
        body[0x12 - 4] = kind;
        body[0x20 - 4..0x22 - 4].copy_from_slice(&configured.to_le_bytes());
        let dimm = parse_dmi(&structure(17, 0x20, &body, STRINGS)).unwrap().dimms.remove(0);
        (dimm.configured_transfers.map(|transfers| transfers / 1e6), dimm.states_clock)
    };
    let (ddr3, ddr4, ddr5) = (0x18, 0x1a, 0x22);
    assert_eq!(speeds(ddr4, 2400, 1200), (Some(2400.0), true));
    assert_eq!(speeds(ddr4, 2133, 1067), (Some(2133.0), true));
    assert_eq!(speeds(ddr3, 1333, 667), (Some(1333.0), true));
    assert_eq!(speeds(ddr4, 3200, 1600), (Some(1600.0), false), "a speed of DDR4");
    assert_eq!(speeds(ddr4, 2400, 1333), (Some(1333.0), false), "not half");
    assert_eq!(speeds(ddr5, 4800, 4400), (Some(4400.0), false));
}

#[test]
fn widths_without_the_bits_of_ecc() {
    let of = |widths: &[u32]| widths.iter().map(|width| memory::data_bits(*width)).collect::<Vec<_>>();
    assert_eq!(of(&[64, 72, 80, 40, 36, 144]), [Some(64), Some(64), Some(64), Some(32), Some(32), Some(128)]);
    assert_eq!(of(&[480, 512, 192, 1024, 16]), [Some(480), Some(512), Some(192), Some(1024), Some(16)]);
    assert_eq!(of(&[0, 7, 65, 2048, 42568]), [None; 5]);
}

#[test]
fn sizes_of_all_encodings() {
    for (field, extended, bytes) in [
        (0x0400, 0, Some(1 << 30)),
        (0x8400, 0, Some(1 << 20)),
        (0xffff, 0, None),
        (0x7fff, 0x8000_0001, Some(1 << 20)),
        (0x7fff, 0, None),
    ] {
        let dmi = parse_dmi(&structure(17, 0, &device(field, extended, 0, 0), STRINGS)).unwrap();
        assert_eq!((dmi.dimms[0].populated, dmi.dimms[0].bytes), (true, bytes), "{field:#x}");
        assert_eq!(dmi.dimms[0].configured_transfers, None);
    }
}

#[test]
fn sockets_without_a_processor_are_not_counted() {
    let socket = |kind: u8, status: u8| {
        let mut body = vec![0u8; 0x19 - 4];
        (body[0x05 - 4], body[0x18 - 4]) = (kind, status);
        structure(4, 0x40, &body, &[])
    };
    let all: Vec<u8> = [(3, 0x41), (3, 0x41), (3, 0x00), (6, 0x41)].iter().flat_map(|(k, s)| socket(*k, *s)).collect();
    assert_eq!(parse_dmi(&all).unwrap().sockets, 2, "an empty socket and a graphics processor");
}

#[test]
fn slots_that_no_device_describes_are_those_that_arrays_state_beside() {
    let array = |location: u8, slots: u16| {
        let mut body = vec![location, 3, 6, 0, 0, 0, 0, 0xfe, 0xff];
        body.extend(slots.to_le_bytes());
        structure(16, 0x10, &body, &[])
    };
    let unlisted = |location: u8, slots: u16| {
        let mut all = array(location, slots);
        (0x20..0x24).for_each(|handle| all.extend(structure(17, handle, &device(4096, 0, 4800, 0), STRINGS)));
        parse_dmi(&all).unwrap().unlisted_slots
    };
    assert_eq!((unlisted(3, 8), unlisted(3, 4), unlisted(3, 2)), (4, 0, 0));
    assert_eq!((unlisted(0xa4, 8), unlisted(3, 0xffff)), (0, 0), "of a card of CXL, and nonsense");
}

#[test]
fn nonsense_is_not_read() {
    for (width, speed, bits, transfers) in [
        (72u16, 2933u16, Some(64), Some(2933e6)),
        (40, 4800, Some(32), Some(4800e6)),
        (42568, 32768, None, None),
        (1, 66, None, None),
    ] {
        let mut body = device(0x4000, 0, speed, 0);
        body[0x0a - 4..0x0c - 4].copy_from_slice(&width.to_le_bytes());
        let dimm = &parse_dmi(&structure(17, 0, &body, STRINGS)).unwrap().dimms[0];
        assert_eq!((dimm.data_width, dimm.configured_transfers), (bits, transfers), "{width} bits, {speed} MT/s");
    }
}

#[test]
fn redaction_keeps_what_is_read_and_drops_what_identifies() {
    let table = table();
    let redacted = redact(&table);
    assert_eq!(redacted.len(), table.len());
    assert_eq!(parse_dmi(&redacted), parse_dmi(&table));
    for secret in ["SERIAL", "ASSET", "TAG"] {
        assert!(!String::from_utf8_lossy(&redacted).contains(secret), "{secret}");
    }
    assert!(!redacted.windows(4).any(|w| w == [0xaa; 4]), "the UUID stays out");
}

#[test]
fn an_empty_string_among_others_ends_no_structure() {
    let mut t = structure(17, 0x20, &device(0x7fff, 65536, 0xffff, 8800), &["DIMM 1", "", "Vendor", "S1", "T1", "P-1"]);
    t.extend(structure(17, 0x21, &device(0x7fff, 65536, 0xffff, 8800), STRINGS));
    t.extend(structure(127, 0x7f, &[], &[]));
    let dmi = parse_dmi(&t).unwrap();
    assert_eq!((dmi.dimms.len(), dmi.truncated), (2, false));
    assert_eq!((dmi.dimms[0].locator.as_deref(), dmi.dimms[0].bank.as_deref()), (Some("DIMM 1"), None));
    let hidden = String::from_utf8_lossy(&redact(&t)).into_owned();
    assert!(!hidden.contains("S1") && hidden.contains("P-1"), "{hidden}");
}

#[test]
fn damaged_tables_yield_what_is_whole() {
    let table = table();
    let dmi = parse_dmi(&table[..table.len() - 20]).unwrap();
    assert!(dmi.truncated);
    assert_eq!(dmi.dimms.len(), 2);
    assert_eq!(parse_dmi(&[]), Err(NoStructure(0)));
}

proptest! {
    #[test]
    fn one_wrong_byte_does_no_harm(at in 0usize..400, byte in any::<u8>()) {
        let mut table = table();
        let at = at % table.len();
        table[at] = byte;
        if let Ok(dmi) = parse_dmi(&table) {
            let _ = theoretical_peak(&dmi.dimms, dmi.unlisted_slots, 1, None);
            // A string that is both name and serial number is blanked: only the shape must survive.
            let redacted = parse_dmi(&redact(&table)).map(|d| (d.dimms.len(), d.other_devices));
            prop_assert_eq!(redacted, Ok((dmi.dimms.len(), dmi.other_devices)));
        }
    }
}
