//! What processors have by design: memory channels, and links between sockets. One row a family.
//!
//! The most that any model of the family has: what a board wires may be less.

use tiermark_model::{CpuModel, TheoreticalPeak};

/// Bytes a transfer of a link carries in one direction: 16 data lanes of QPI and xGMI. A UPI transfer carries more
/// bits, of which the data of a line is 2 bytes each (64 bytes take 10 slots of 3 in a flit of 5/6 of 8 transfers).
const LINK_BYTES: f64 = 2.0;

/// A family of processors.
pub(crate) struct Family {
    /// The kernel's vendor; empty where the name alone decides.
    vendor: &'static str,
    /// CPUID family.
    family: u32,
    /// CPUID models, first and last.
    models: &'static [(u32, u32)],
    /// The marketing name must contain one of these, in which `#` is any digit; empty if any name fits.
    names: &'static [&'static str],
    /// What people call it.
    pub(crate) called: &'static str,
    /// Memory channels of 64 bits a socket; `None` if they differ between models, and this row's names do not tell.
    pub(crate) channels: Option<u32>,
    /// Links to other sockets; `None` for a family of single sockets, or where it is not known.
    links: Option<Links>,
    /// Where this is from.
    #[cfg_attr(not(test), expect(dead_code, reason = "the evidence of a row, for who reads the table"))]
    source: &'static str,
}

/// Links of one processor to others.
struct Links {
    kind: &'static str,
    /// How many can go to other sockets.
    count: u32,
    /// Billions of transfers a second.
    transfers: f64,
}

const fn links(kind: &'static str, count: u32, transfers: f64) -> Option<Links> {
    Some(Links { kind, count, transfers })
}

/// In place of a number of channels: models of the family differ in it.
const DIFFER: u32 = 0;

/// A family told by CPUID.
const fn row(
    (vendor, family): (&'static str, u32),
    models: &'static [(u32, u32)],
    (called, channels): (&'static str, u32),
    links: Option<Links>,
    source: &'static str,
) -> Family {
    let channels = if channels == DIFFER { None } else { Some(channels) };
    Family { vendor, family, models, names: &[], called, channels, links, source }
}

impl Family {
    /// Only the models with one of these in their name.
    const fn named(self, names: &'static [&'static str]) -> Self {
        Self { names, ..self }
    }

    fn holds(&self, cpu: &CpuModel) -> bool {
        let name = cpu.name.as_deref().unwrap_or_default();
        let is_model = self.vendor.is_empty()
            || cpu.vendor.as_deref() == Some(self.vendor)
                && cpu.family == Some(self.family)
                && cpu.model.is_some_and(|model| self.models.iter().any(|(low, high)| (*low..=*high).contains(&model)));
        is_model && (self.names.is_empty() || self.names.iter().any(|part| has(name, part)))
    }
}

/// Whether a name has a part, in any case: some processors shout theirs.
fn has(name: &str, part: &str) -> bool {
    let fits =
        |(have, want): (&u8, &u8)| if *want == b'#' { have.is_ascii_digit() } else { have.eq_ignore_ascii_case(want) };
    name.as_bytes().windows(part.len()).any(|window| window.iter().zip(part.as_bytes()).all(fits))
}

const INTEL: (&str, u32) = ("GenuineIntel", 6);
const ZEN1: (&str, u32) = ("AuthenticAMD", 23);
const ZEN3: (&str, u32) = ("AuthenticAMD", 25);
const ZEN5: (&str, u32) = ("AuthenticAMD", 26);
const ARM: (&str, u32) = ("", 0);

const ARK: &str = "Intel's product pages (ark.intel.com)";
const AMD: &str = "AMD's product pages";
const E7: &[&str] = &["E7-", "E7 "];
/// Of the smaller socket, for two processors at most.
const EN: &[&str] = &["E5-14##", "E5-24##"];
const SCALABLE: &[&str] = &["Platinum ", "Gold ", "Silver ", "Bronze "];

/// All families, the more special row before the more general one.
#[rustfmt::skip]
const FAMILIES: &[Family] = &[
    // The second QPI link of these goes to the I/O hub.
    row(INTEL, &[(0x1a, 0x1a), (0x2c, 0x2c)], ("Nehalem-EP, Westmere-EP at 4.8 GT/s", 3), links("QPI", 1, 4.8), ARK)
        .named(&["E5502", "E5503", "E5504", "E5506", "E5507", "L5506", "E5603", "E5606", "E5607", "L5609"]),
    row(INTEL, &[(0x1a, 0x1a), (0x2c, 0x2c)], ("Nehalem-EP, Westmere-EP at 5.86 GT/s", 3), links("QPI", 1, 5.86), ARK)
        .named(&["E552", "E553", "E554", "L552", "L553", "E562", "E563", "E564", "L561", "L563", "L564"]),
    row(INTEL, &[(0x1a, 0x1a), (0x2c, 0x2c)], ("Nehalem-EP, Westmere-EP", 3), links("QPI", 1, 6.4),
        "Xeon 5600 datasheet, volume 1 (Intel 323369)"),
    row(INTEL, &[(0x2e, 0x2f)], ("Nehalem-EX, Westmere-EX", 8), links("QPI", 3, 6.4),
        "Xeon E7 datasheet, volume 1 (Intel 325119): 4 buffered links of 2 channels"),
    row(INTEL, &[(0x2d, 0x2d)], ("Sandy Bridge-EN", 3), links("QPI", 1, 8.0), ARK).named(EN),
    row(INTEL, &[(0x2d, 0x2d)], ("Sandy Bridge-EP", 4), links("QPI", 2, 8.0),
        "Xeon E5 datasheet, volume 1 (Intel 326508)"),
    row(INTEL, &[(0x3e, 0x3e)], ("Ivy Bridge-EX", 8), links("QPI", 3, 8.0), ARK).named(E7),
    row(INTEL, &[(0x3e, 0x3e)], ("Ivy Bridge-EN", 3), links("QPI", 1, 8.0), ARK).named(EN),
    row(INTEL, &[(0x3e, 0x3e)], ("Ivy Bridge-EP", 4), links("QPI", 2, 8.0),
        "Xeon E5 v2 datasheet, volume 1 (Intel 329187)"),
    row(INTEL, &[(0x3f, 0x3f)], ("Haswell-EX", 8), links("QPI", 3, 9.6), ARK).named(E7),
    row(INTEL, &[(0x3f, 0x3f)], ("Haswell-EN", 3), links("QPI", 1, 8.0), ARK).named(EN),
    row(INTEL, &[(0x3f, 0x3f)], ("Haswell-EP", 4), links("QPI", 2, 9.6),
        "Xeon E5 v3 datasheet, volume 1 (Intel 330783)"),
    row(INTEL, &[(0x4f, 0x4f)], ("Broadwell-EX", 8), links("QPI", 3, 9.6), ARK).named(E7),
    row(INTEL, &[(0x4f, 0x4f)], ("Broadwell-EP", 4), links("QPI", 2, 9.6),
        "Xeon E5 v4 datasheet, volume 1 (Intel 333809)"),
    row(INTEL, &[(0x56, 0x56)], ("Broadwell-DE", 2), None, ARK),
    row(INTEL, &[(0x55, 0x55)], ("Cascade Lake-AP", 12), links("UPI", 4, 10.4), ARK)
        .named(&["Platinum 92"]),
    row(INTEL, &[(0x55, 0x55)], ("Cooper Lake", 6), links("UPI", 6, 10.4), ARK)
        .named(&["H CPU", "HL CPU"]),
    row(INTEL, &[(0x55, 0x55)], ("Skylake-SP, Cascade Lake-SP", 6), links("UPI", 3, 10.4), ARK).named(SCALABLE),
    row(INTEL, &[(0x55, 0x55)], ("Xeon W-3100, W-3200", 6), None, ARK).named(&["W-31##", "W-32##"]),
    row(INTEL, &[(0x55, 0x55)], ("Xeon W-2100, W-2200, Core X", 4), None, ARK).named(&["W-21##", "W-22##", "Core(TM)"]),
    row(INTEL, &[(0x55, 0x55)], ("Xeon D-2100", 4), None, ARK).named(&["D-21##"]),
    row(INTEL, &[(0x55, 0x55)], ("Skylake, Cascade Lake", DIFFER), links("UPI", 3, 10.4), ARK),
    row(INTEL, &[(0x6a, 0x6a)], ("Ice Lake-SP", 8), links("UPI", 3, 11.2), ARK),
    row(INTEL, &[(0x6c, 0x6c)], ("Xeon D-2700, D-2800", 4), None, ARK).named(&["D-27##", "D-28##"]),
    row(INTEL, &[(0x6c, 0x6c)], ("Xeon D-1746TER", 3), None, ARK).named(&["D-1746TER"]),
    row(INTEL, &[(0x6c, 0x6c)], ("Ice Lake-D", DIFFER), None, ARK),
    row(INTEL, &[(0x8f, 0x8f)], ("Sapphire Rapids", 8), links("UPI", 4, 16.0), ARK).named(SCALABLE),
    row(INTEL, &[(0x8f, 0x8f)], ("Xeon Max", 8), links("UPI", 4, 16.0), ARK).named(&["Max 94##"]),
    row(INTEL, &[(0x8f, 0x8f)], ("Xeon w-2400, w-2500", 4), None, ARK).named(&["w#-24##", "w#-25##"]),
    row(INTEL, &[(0x8f, 0x8f)], ("Xeon w-3400, w-3500", 8), None, ARK).named(&["w#-34##", "w#-35##"]),
    row(INTEL, &[(0x8f, 0x8f)], ("Sapphire Rapids", DIFFER), links("UPI", 4, 16.0), ARK),
    row(INTEL, &[(0xcf, 0xcf)], ("Emerald Rapids", 8), links("UPI", 4, 20.0), ARK),
    row(INTEL, &[(0xad, 0xad)], ("Xeon 6900P", 12), links("UPI", 6, 24.0), ARK).named(&["69##P"]),
    row(INTEL, &[(0xad, 0xad)], ("Xeon 6500P, 6700P", 8), links("UPI", 4, 24.0), ARK).named(&["65##P", "67##P"]),
    row(INTEL, &[(0xad, 0xad)], ("Granite Rapids", DIFFER), links("UPI", 6, 24.0), ARK),
    row(INTEL, &[(0xae, 0xae)], ("Granite Rapids-D", DIFFER), None, ARK),
    row(INTEL, &[(0xaf, 0xaf)], ("Xeon 6900E", 12), links("UPI", 4, 24.0), ARK).named(&["69##E"]),
    row(INTEL, &[(0xaf, 0xaf)], ("Xeon 6700E", 8), links("UPI", 4, 24.0), ARK).named(&["67##E"]),
    row(INTEL, &[(0xaf, 0xaf)], ("Sierra Forest", DIFFER), links("UPI", 4, 24.0), ARK),
    // Desktop and mobile processors, and the Xeons made of them, from Lynnfield to Lunar Lake.
    row(INTEL, &[(0x1e, 0x1e), (0x25, 0x25), (0x2a, 0x2a), (0x3a, 0x3a), (0x3c, 0x3d), (0x45, 0x47), (0x4e, 0x4e),
        (0x5e, 0x5e), (0x7e, 0x7e), (0x8c, 0x8e), (0x97, 0x97), (0x9a, 0x9a), (0x9e, 0x9e), (0xa5, 0xa7), (0xaa, 0xaa),
        (0xb7, 0xb7), (0xba, 0xba), (0xbd, 0xbd), (0xbf, 0xbf), (0xc5, 0xc6)], ("client processor", 2), None, ARK),
    row(ZEN1, &[(0x00, 0x01)], ("EPYC 3100, 3200", 2), None, AMD).named(&["EPYC 31##", "EPYC 32##"]),
    row(ZEN1, &[(0x00, 0x01)], ("EPYC 3300, 3400", 4), None, AMD).named(&["EPYC 33##", "EPYC 34##"]),
    row(ZEN1, &[(0x00, 0x01)], ("EPYC 7001", 8), links("xGMI", 4, 10.6),
        "Beck et al., ISSCC 2018 (Zeppelin): four links of 16 lanes").named(&["EPYC 7"]),
    row(ZEN1, &[(0x00, 0x01), (0x08, 0x08)], ("Threadripper 1000, 2000", 4), None, AMD).named(&["Threadripper"]),
    row(ZEN1, &[(0x00, 0x01), (0x08, 0x08)], ("client processor", 2), None, AMD).named(&["Ryzen"]),
    row(ZEN1, &[(0x00, 0x01)], ("Zen", DIFFER), links("xGMI", 4, 10.6), AMD),
    row(ZEN1, &[(0x30, 0x3f)], ("EPYC 7002", 8), links("xGMI", 4, 18.0), "AMD EPYC 7002 data sheet").named(&["EPYC"]),
    row(ZEN1, &[(0x30, 0x3f)], ("Threadripper PRO 3000", 8), None, AMD).named(&["Threadripper PRO"]),
    row(ZEN1, &[(0x30, 0x3f)], ("Threadripper 3000", 4), None, AMD).named(&["Threadripper"]),
    row(ZEN1, &[(0x30, 0x3f)], ("Zen 2", DIFFER), links("xGMI", 4, 18.0), AMD),
    row(ZEN1, &[(0x11, 0x20), (0x60, 0x7f)], ("client processor", 2), None, AMD),
    row(ZEN3, &[(0x00, 0x0f)], ("EPYC 7003", 8), links("xGMI", 4, 18.0), "AMD EPYC 7003 data sheet"),
    row(ZEN3, &[(0x10, 0x1f), (0xa0, 0xaf)], ("EPYC 9004", 12), links("xGMI", 4, 32.0),
        "AMD EPYC 9004 data sheet").named(&["EPYC 9"]),
    row(ZEN3, &[(0xa0, 0xaf)], ("EPYC 8004", 6), None, AMD).named(&["EPYC 8"]),
    row(ZEN3, &[(0x10, 0x1f)], ("Threadripper PRO 7000", 8), None, AMD).named(&["Threadripper PRO"]),
    row(ZEN3, &[(0x10, 0x1f)], ("Threadripper 7000", 4), None, AMD).named(&["Threadripper"]),
    row(ZEN3, &[(0x10, 0x1f), (0xa0, 0xaf)], ("Zen 4", DIFFER), links("xGMI", 4, 32.0), AMD),
    row(ZEN3, &[(0x20, 0x5f), (0x60, 0x8f)], ("client processor", 2), None, AMD),
    row(ZEN5, &[(0x00, 0x1f)], ("EPYC 9005", 12), links("xGMI", 4, 32.0), "AMD EPYC 9005 data sheet")
        .named(&["EPYC 9"]),
    row(ZEN5, &[(0x00, 0x1f)], ("Threadripper PRO 9000", 8), None, AMD).named(&["Threadripper PRO"]),
    row(ZEN5, &[(0x00, 0x1f)], ("Threadripper 9000", 4), None, AMD).named(&["Threadripper"]),
    row(ZEN5, &[(0x00, 0x1f)], ("Zen 5", DIFFER), links("xGMI", 4, 32.0), AMD),
    row(ZEN5, &[(0x70, 0x7f)], ("Strix Halo", 4), None, AMD),
    row(ZEN5, &[(0x20, 0x6f)], ("client processor", 2), None, AMD),
    // Parts of Arm cores go into many chips: firmware's name of the chip decides.
    row(ARM, &[], ("Altra", 8), None, "Ampere Altra data sheet").named(&["Ampere(R) Altra(R)"]),
    row(ARM, &[], ("AmpereOne", 12), None, "Ampere's product pages").named(&["AmpereOne"]),
    row(ARM, &[], ("Kunpeng 920", 8), None, "HiSilicon's product pages").named(&["Kunpeng 920", "Kunpeng-920"]),
];

/// The family of a processor, where the table has it.
pub(crate) fn of(model: &CpuModel) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.holds(model))
}

/// What the links between two sockets carry at most in one direction; `None` for one socket, or an unknown family.
///
/// With two sockets all links may go to the other one. With more, how they are wired is the board's: no two sockets
/// have more than the links that are left when each other socket has one.
pub(crate) fn link(model: &CpuModel, sockets: usize) -> Option<TheoreticalPeak> {
    let others = u32::try_from(sockets).ok()?.checked_sub(2)?;
    let family = of(model)?;
    let links = family.links.as_ref()?;
    let count = links.count.saturating_sub(others).max(1);
    let noun = if count == 1 { "link" } else { "links" };
    let wired = if links.count > 1 { "; the most that can be wired: an upper bound" } else { "" };
    let how = format!(
        "{count} {} {noun} x {} GT/s x {LINK_BYTES} bytes, {}{wired}",
        links.kind, links.transfers, family.called
    );
    Some(TheoreticalPeak {
        bytes_per_second: f64::from(count) * links.transfers * 1e9 * LINK_BYTES,
        how,
        upper_bound: true,
        channels: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(vendor: &str, family: u32, model: u32, name: &str) -> CpuModel {
        CpuModel {
            vendor: Some(vendor.into()),
            family: Some(family),
            model: Some(model),
            name: Some(name.into()),
            ..CpuModel::default()
        }
    }

    /// The published experiment's server: one link of 4.8 GT/s, 9.6 GB/s each way.
    #[test]
    fn the_published_link_is_in_the_table() {
        let e5606 = cpu("GenuineIntel", 6, 0x2c, "Intel(R) Xeon(R) CPU           E5606  @ 2.13GHz");
        let link = link(&e5606, 2).unwrap();
        assert!((link.bytes_per_second - 9.6e9).abs() < 1.0, "{link:?}");
        assert!(!link.how.contains("upper bound"), "{link:?}");
        assert_eq!(of(&e5606).and_then(|family| family.channels), Some(3));
    }

    #[test]
    fn links_need_two_sockets_and_a_known_family() {
        let icelake = cpu("GenuineIntel", 6, 0x6a, "Intel(R) Xeon(R) Silver 4314 CPU @ 2.40GHz");
        let rate = |sockets| link(&icelake, sockets).map(|link| (link.bytes_per_second / 1e8).round() / 10.0);
        assert_eq!((rate(1), rate(2), rate(4)), (None, Some(67.2), Some(22.4)));
        assert_eq!(link(&cpu("GenuineIntel", 6, 0xff, "x"), 2), None);
        assert_eq!(link(&CpuModel::default(), 2), None);
    }

    #[test]
    fn the_special_row_comes_before_the_general_one() {
        for (cpu, called, channels) in [
            (cpu("GenuineIntel", 6, 62, "Intel(R) Xeon(R) CPU E7-2890 v2 @ 2.80GHz"), "Ivy Bridge-EX", 8),
            (cpu("GenuineIntel", 6, 62, "Intel(R) Xeon(R) CPU E5-4640 v2 @ 2.20GHz"), "Ivy Bridge-EP", 4),
            (cpu("GenuineIntel", 6, 85, "Intel(R) Xeon(R) Gold 6330H CPU @ 2.00GHz"), "Cooper Lake", 6),
            (cpu("GenuineIntel", 6, 85, "Intel(R) Xeon(R) Platinum 8253 CPU"), "Skylake-SP, Cascade Lake-SP", 6),
            (cpu("AuthenticAMD", 25, 17, "AMD EPYC 9654 96-Core Processor"), "EPYC 9004", 12),
            (cpu("Arm", 0, 0xd0c, "Ampere(R) Altra(R) Processor"), "Altra", 8),
        ] {
            let family = of(&cpu).unwrap();
            assert_eq!((family.called, family.channels), (called, Some(channels)), "{:?}", cpu.name);
        }
        assert_eq!(of(&cpu("Arm", 0, 0xd0c, "Neoverse-N1")).map(|family| family.called), None);
        assert!(FAMILIES.iter().all(|family| !family.source.is_empty()));
    }

    /// Products of one CPUID model that have several numbers of channels.
    #[test]
    fn the_name_decides_where_one_model_has_several_counts() {
        let (intel, amd) = (("GenuineIntel", 6), ("AuthenticAMD", 23));
        for ((vendor, family), model, name, channels) in [
            (intel, 0xad, "Intel(R) Xeon(R) 6747P", Some(8)),
            (intel, 0xad, "Intel(R) Xeon(R) 6972P", Some(12)),
            (intel, 0xad, "Intel(R) Xeon(R) 698X", None),
            (intel, 0xad, "Genuine Intel(R) 0000%@", None),
            (intel, 0xaf, "Intel(R) Xeon(R) 6780E", Some(8)),
            (intel, 0x8f, "Intel(R) Xeon(R) w7-2475X", Some(4)),
            (intel, 0x8f, "Intel(R) Xeon(R) w9-3475X", Some(8)),
            (intel, 0x8f, "INTEL(R) XEON(R) GOLD 6430", Some(8)),
            (intel, 0x8f, "Intel(R) Xeon(R) CPU Max 9480", Some(8)),
            (intel, 0x55, "Intel(R) Xeon(R) W-2255 CPU @ 3.70GHz", Some(4)),
            (intel, 0x55, "Intel(R) Xeon(R) W-3275 CPU @ 2.50GHz", Some(6)),
            (intel, 0x55, "Intel(R) Core(TM) i9-10980XE CPU @ 3.00GHz", Some(4)),
            (intel, 0x55, "Intel(R) Xeon(R) D-2146NT CPU @ 2.30GHz", Some(4)),
            (intel, 0x55, "Genuine Intel(R) CPU 0000%@", None),
            (intel, 0x6c, "Intel(R) Xeon(R) D-1746TER CPU @ 2.00GHz", Some(3)),
            (intel, 0x6c, "Intel(R) Xeon(R) D-2796NT CPU @ 2.00GHz", Some(4)),
            (intel, 0x2d, "Intel(R) Xeon(R) CPU E5-2420 0 @ 1.90GHz", Some(3)),
            (intel, 0x2d, "Intel(R) Xeon(R) CPU E5-2680 0 @ 2.70GHz", Some(4)),
            (amd, 1, "AMD EPYC 3251 8-Core Processor", Some(2)),
            (amd, 1, "AMD EPYC 3451 16-Core Processor", Some(4)),
            (amd, 1, "AMD EPYC 7551 32-Core Processor", Some(8)),
            (amd, 1, "AMD Ryzen Threadripper 1950X 16-Core Processor", Some(4)),
            (amd, 49, "AMD Ryzen Threadripper 3960X 24-Core Processor", Some(4)),
            (amd, 49, "AMD Ryzen Threadripper PRO 3995WX 64-Cores", Some(8)),
            (("AuthenticAMD", 25), 160, "AMD EPYC 8324P 32-Core Processor", Some(6)),
            (("AuthenticAMD", 25), 160, "AMD EPYC 9754 128-Core Processor", Some(12)),
            (("AuthenticAMD", 25), 24, "AMD Ryzen Threadripper 7970X 32-Cores", Some(4)),
            (("AuthenticAMD", 26), 8, "AMD Ryzen Threadripper PRO 9975WX 32-Cores", Some(8)),
            (("AuthenticAMD", 26), 8, "AMD Ryzen Threadripper 9970X 32-Cores", Some(4)),
        ] {
            let found = of(&cpu(vendor, family, model, name)).and_then(|family| family.channels);
            assert_eq!(found, channels, "{name}");
        }
    }
}
