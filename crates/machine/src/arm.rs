//! Arm implementers and their 64-bit cores, by the numbers of the main id register (MIDR).
//!
//! Numbers: Linux `arch/arm64/include/asm/cputype.h`, util-linux `lscpu`, and the technical reference manuals.

/// An Arm implementer: its number, its name, and its parts by number.
type Implementer = (u32, &'static str, &'static [(u32, &'static str)]);

/// All that are known, by rising number.
pub(crate) const IMPLEMENTERS: &[Implementer] = &[
    (0x41, "Arm", ARM),
    (0x42, "Broadcom", &[(0x100, "Brahma-B53"), (0x516, "Vulcan")]),
    (0x43, "Cavium", CAVIUM),
    (0x46, "Fujitsu", &[(0x001, "A64FX"), (0x003, "MONAKA")]),
    (0x48, "HiSilicon", &[(0xd01, "TaiShan v110"), (0xd02, "TaiShan v120"), (0xd06, "HIP12"), (0xd40, "Cortex-A76")]),
    (0x4e, "NVIDIA", &[(0x000, "Denver"), (0x003, "Denver 2"), (0x004, "Carmel"), (0x010, "Olympus")]),
    (0x50, "APM", &[(0x000, "X-Gene")]),
    (0x51, "Qualcomm", &[(0x001, "Oryon"), (0xc00, "Falkor"), (0xc01, "Saphira")]),
    (0x61, "Apple", APPLE),
    (0x6d, "Microsoft", &[(0xd49, "Azure Cobalt 100")]),
    (0x70, "Phytium", PHYTIUM),
    (0xc0, "Ampere", &[(0xac3, "Ampere-1"), (0xac4, "Ampere-1A"), (0xac5, "Ampere-1B")]),
];

const ARM: &[(u32, &str)] = &[
    (0xd02, "Cortex-A34"),
    (0xd03, "Cortex-A53"),
    (0xd04, "Cortex-A35"),
    (0xd05, "Cortex-A55"),
    (0xd06, "Cortex-A65"),
    (0xd07, "Cortex-A57"),
    (0xd08, "Cortex-A72"),
    (0xd09, "Cortex-A73"),
    (0xd0a, "Cortex-A75"),
    (0xd0b, "Cortex-A76"),
    (0xd0c, "Neoverse-N1"),
    (0xd0d, "Cortex-A77"),
    (0xd0e, "Cortex-A76AE"),
    (0xd40, "Neoverse-V1"),
    (0xd41, "Cortex-A78"),
    (0xd42, "Cortex-A78AE"),
    (0xd43, "Cortex-A65AE"),
    (0xd44, "Cortex-X1"),
    (0xd46, "Cortex-A510"),
    (0xd47, "Cortex-A710"),
    (0xd48, "Cortex-X2"),
    (0xd49, "Neoverse-N2"),
    (0xd4a, "Neoverse-E1"),
    (0xd4b, "Cortex-A78C"),
    (0xd4c, "Cortex-X1C"),
    (0xd4d, "Cortex-A715"),
    (0xd4e, "Cortex-X3"),
    (0xd4f, "Neoverse-V2"),
    (0xd80, "Cortex-A520"),
    (0xd81, "Cortex-A720"),
    (0xd82, "Cortex-X4"),
    (0xd83, "Neoverse-V3AE"),
    (0xd84, "Neoverse-V3"),
    (0xd85, "Cortex-X925"),
    (0xd87, "Cortex-A725"),
    (0xd88, "Cortex-A520AE"),
    (0xd89, "Cortex-A720AE"),
    (0xd8a, "C1-Nano"),
    (0xd8b, "C1-Pro"),
    (0xd8c, "C1-Ultra"),
    (0xd8e, "Neoverse-N3"),
    (0xd8f, "Cortex-A320"),
    (0xd90, "C1-Premium"),
];

const CAVIUM: &[(u32, &str)] = &[
    (0x0a0, "ThunderX"),
    (0x0a1, "ThunderX"),
    (0x0a2, "ThunderX-81XX"),
    (0x0a3, "ThunderX-83XX"),
    (0x0af, "ThunderX2"),
    (0x0b0, "OcteonTX2"),
    (0x0b1, "OcteonTX2-98XX"),
    (0x0b2, "OcteonTX2-96XX"),
    (0x0b3, "OcteonTX2-95XX"),
    (0x0b4, "OcteonTX2-95XXN"),
    (0x0b5, "OcteonTX2-95XXMM"),
    (0x0b6, "OcteonTX2-95XXO"),
    (0x0b8, "ThunderX3-T110"),
];

const APPLE: &[(u32, &str)] = &[
    (0x022, "Icestorm-M1"),
    (0x023, "Firestorm-M1"),
    (0x024, "Icestorm-M1-Pro"),
    (0x025, "Firestorm-M1-Pro"),
    (0x028, "Icestorm-M1-Max"),
    (0x029, "Firestorm-M1-Max"),
    (0x032, "Blizzard-M2"),
    (0x033, "Avalanche-M2"),
    (0x034, "Blizzard-M2-Pro"),
    (0x035, "Avalanche-M2-Pro"),
    (0x038, "Blizzard-M2-Max"),
    (0x039, "Avalanche-M2-Max"),
];

const PHYTIUM: &[(u32, &str)] = &[
    (0x303, "FTC310"),
    (0x660, "FTC660"),
    (0x661, "FTC661"),
    (0x662, "FTC662"),
    (0x663, "FTC663"),
    (0x664, "FTC664"),
    (0x862, "FTC862"),
];
