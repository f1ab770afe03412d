//! What processors have by design: memory channels, and links between sockets. One row a family.
//!
//! The most that any model of the family has: what a board wires may be less.

use tiermark_model::{CpuModel, TheoreticalPeak};

/// Bytes a transfer of a link carries in one direction: 16 data lanes of QPI and xGMI. A UPI transfer carries more bits,
/// of which the data of a line is 2 bytes each (64 bytes take 10 slots of 3 in a flit of 5/6 of 8 transfers).
const LINK_BYTES: f64 = 2.0;

/// A family of processors.
pub(crate) struct Family {
    /// The kernel's vendor; empty where the name alone decides.
    vendor: &'static str,
    /// CPUID family.
    family: u32,
    /// CPUID models, first and last.
    models: &'static [(u32, u32)],
    /// The marketing name must contain one of these; empty if any name fits.
    names: &'static [&'static str],
    /// What people call it.
    pub(crate) called: &'static str,
    /// Memory channels of 64 bits a socket.
    pub(crate) channels: u32,
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

/// A family told by CPUID.
const fn row(
    (vendor, family): (&'static str, u32),
    models: &'static [(u32, u32)],
    (called, channels): (&'static str, u32),
    links: Option<Links>,
    source: &'static str,
) -> Family {
    Family { vendor, family, models, names: &[], called, channels, links, source }
}

impl Family {
    /// Only the models with one of these in their name.
    const fn named(self, names: &'static [&'static str]) -> Self {
        Self { names, ..self }
    }

    fn holds(&self, cpu: &CpuModel) -> bool {
        let name = cpu.name.as_deref().unwrap_or_default();
        let told = self.vendor.is_empty()
            || cpu.vendor.as_deref() == Some(self.vendor)
                && cpu.family == Some(self.family)
                && cpu.model.is_some_and(|model| self.models.iter().any(|(low, high)| (*low..=*high).contains(&model)));
        told && (self.names.is_empty() || self.names.iter().any(|part| name.contains(part)))
    }
}

const INTEL: (&str, u32) = ("GenuineIntel", 6);
const ZEN1: (&str, u32) = ("AuthenticAMD", 23);
const ZEN3: (&str, u32) = ("AuthenticAMD", 25);
const ZEN5: (&str, u32) = ("AuthenticAMD", 26);
const ARM: (&str, u32) = ("", 0);

const ARK: &str = "Intel's product pages (ark.intel.com)";
const E7: &[&str] = &["E7-", "E7 "];

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
    row(INTEL, &[(0x2d, 0x2d)], ("Sandy Bridge-EP", 4), links("QPI", 2, 8.0),
        "Xeon E5 datasheet, volume 1 (Intel 326508)"),
    row(INTEL, &[(0x3e, 0x3e)], ("Ivy Bridge-EX", 8), links("QPI", 3, 8.0), ARK).named(E7),
    row(INTEL, &[(0x3e, 0x3e)], ("Ivy Bridge-EP", 4), links("QPI", 2, 8.0),
        "Xeon E5 v2 datasheet, volume 1 (Intel 329187)"),
    row(INTEL, &[(0x3f, 0x3f)], ("Haswell-EX", 8), links("QPI", 3, 9.6), ARK).named(E7),
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
    row(INTEL, &[(0x55, 0x55)], ("Skylake-SP, Cascade Lake-SP", 6), links("UPI", 3, 10.4), ARK),
    row(INTEL, &[(0x6a, 0x6a)], ("Ice Lake-SP", 8), links("UPI", 3, 11.2), ARK),
    row(INTEL, &[(0x6c, 0x6c)], ("Ice Lake-D", 4), None, ARK),
    row(INTEL, &[(0x8f, 0x8f)], ("Sapphire Rapids", 8), links("UPI", 4, 16.0), ARK),
    row(INTEL, &[(0xcf, 0xcf)], ("Emerald Rapids", 8), links("UPI", 4, 20.0), ARK),
    row(INTEL, &[(0xad, 0xad)], ("Granite Rapids", 12), links("UPI", 6, 24.0), ARK),
    row(INTEL, &[(0xae, 0xae)], ("Granite Rapids-D", 8), None, ARK),
    row(INTEL, &[(0xaf, 0xaf)], ("Sierra Forest", 12), links("UPI", 4, 24.0), ARK),
    // Desktop and mobile processors, and the Xeons made of them, from Lynnfield to Lunar Lake.
    row(INTEL, &[(0x1e, 0x1e), (0x25, 0x25), (0x2a, 0x2a), (0x3a, 0x3a), (0x3c, 0x3d), (0x45, 0x47), (0x4e, 0x4e),
        (0x5e, 0x5e), (0x7e, 0x7e), (0x8c, 0x8e), (0x97, 0x97), (0x9a, 0x9a), (0x9e, 0x9e), (0xa5, 0xa7), (0xaa, 0xaa),
        (0xb7, 0xb7), (0xba, 0xba), (0xbd, 0xbd), (0xbf, 0xbf), (0xc5, 0xc6)], ("client processor", 2), None, ARK),
    row(ZEN1, &[(0x00, 0x01)], ("EPYC 7001", 8), links("xGMI", 4, 10.6),
        "Beck et al., ISSCC 2018 (Zeppelin): four links of 16 lanes"),
    row(ZEN1, &[(0x30, 0x3f)], ("EPYC 7002", 8), links("xGMI", 4, 18.0), "AMD EPYC 7002 data sheet"),
    row(ZEN1, &[(0x11, 0x20), (0x60, 0x7f)], ("client processor", 2), None, "AMD's product pages"),
    row(ZEN3, &[(0x00, 0x0f)], ("EPYC 7003", 8), links("xGMI", 4, 18.0), "AMD EPYC 7003 data sheet"),
    row(ZEN3, &[(0x10, 0x1f), (0xa0, 0xaf)], ("EPYC 9004", 12), links("xGMI", 4, 32.0),
        "AMD EPYC 9004 data sheet"),
    row(ZEN3, &[(0x20, 0x5f), (0x60, 0x8f)], ("client processor", 2), None, "AMD's product pages"),
    row(ZEN5, &[(0x00, 0x1f)], ("EPYC 9005", 12), links("xGMI", 4, 32.0), "AMD EPYC 9005 data sheet"),
    row(ZEN5, &[(0x70, 0x7f)], ("Strix Halo", 4), None, "AMD's product pages"),
    row(ZEN5, &[(0x20, 0x6f)], ("client processor", 2), None, "AMD's product pages"),
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
        assert_eq!(of(&e5606).map(|family| family.channels), Some(3));
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
            assert_eq!((family.called, family.channels), (called, channels), "{:?}", cpu.name);
        }
        assert_eq!(of(&cpu("Arm", 0, 0xd0c, "Neoverse-N1")).map(|family| family.called), None);
        assert!(FAMILIES.iter().all(|family| !family.source.is_empty() && family.channels > 0));
    }
}
