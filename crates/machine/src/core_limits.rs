//! What cores can do at most by design: latency and width of L1 and L2. One row a core of servers.
//!
//! Numbers are those of the vendor's documents, else of published measurements; a number without a source is left out.
//! Where sources differ, the row has the lower latency and the higher rate, since it is a limit.

use tiermark_model::{CoreLimits, CpuModel};

/// A core: which processors have it, and its limits.
struct CoreFamily {
    /// The kernel's vendors, or Arm implementers by name.
    vendors: &'static [&'static str],
    /// CPUID family; `None` for Arm.
    family: Option<u32>,
    /// CPUID models or Arm parts, first and last.
    models: &'static [(u32, u32)],
    name: &'static str,
    /// Cycles of L1 and of L2.
    latency: (Option<f64>, Option<f64>),
    /// Bytes a cycle: loads from L1, stores to L1, L2 to the core.
    bytes: (Option<f64>, Option<f64>, Option<f64>),
    source: &'static str,
}

type Cores = (&'static [&'static str], Option<u32>, &'static [(u32, u32)]);

const fn row(
    (vendors, family, models): Cores,
    name: &'static str,
    latency: (Option<f64>, Option<f64>),
    bytes: (Option<f64>, Option<f64>, Option<f64>),
    source: &'static str,
) -> CoreFamily {
    CoreFamily { vendors, family, models, name, latency, bytes, source }
}

const fn intel(models: &'static [(u32, u32)]) -> Cores {
    (&["GenuineIntel"], Some(6), models)
}

const fn amd(family: u32, models: &'static [(u32, u32)]) -> Cores {
    (&["AuthenticAMD"], Some(family), models)
}

const fn arm(models: &'static [(u32, u32)]) -> Cores {
    (&["Arm"], None, models)
}

/// All cores. The models of AMD's families are divided as in Linux `arch/x86/kernel/cpu/amd.c`.
#[rustfmt::skip]
const ROWS: &[CoreFamily] = &[
    row(intel(&[(0x3c, 0x3c), (0x3f, 0x3f), (0x45, 0x46), (0x3d, 0x3d), (0x47, 0x47), (0x4f, 0x4f), (0x56, 0x56)]),
        "Haswell, Broadwell", (Some(4.0), Some(11.0)), (Some(64.0), Some(32.0), Some(64.0)),
        "Intel Optimization Reference Manual (248966), Haswell microarchitecture, table of cache parameters"),
    // Cascade Lake and Cooper Lake have the same core under the same model number, as later steppings.
    row(intel(&[(0x55, 0x55)]),
        "Skylake server", (Some(4.0), Some(14.0)), (Some(128.0), Some(64.0), Some(64.0)),
        "Intel Optimization Reference Manual (248966), Skylake server microarchitecture, table of cache parameters"),
    row(intel(&[(0x6a, 0x6a), (0x6c, 0x6c)]),
        "Sunny Cove", (Some(5.0), Some(14.0)), (Some(128.0), Some(64.0), Some(64.0)),
        "Intel Optimization Reference Manual (248966), Ice Lake client microarchitecture, table of cache parameters; \
         latency of the server's larger L2: Chips and Cheese 2023, A Peek at Sapphire Rapids"),
    // Chases measure 16 cycles of L2.
    row(intel(&[(0x8f, 0x8f), (0xcf, 0xcf)]),
        "Golden Cove", (Some(5.0), Some(15.0)), (Some(128.0), Some(64.0), Some(64.0)),
        "Intel Optimization Reference Manual (248966), Golden Cove microarchitecture; Rotem et al., Hot Chips 33 \
         (2021)"),
    row(intel(&[(0xad, 0xae)]),
        "Redwood Cove", (Some(5.0), Some(16.0)), (Some(128.0), Some(64.0), Some(64.0)),
        "Intel Optimization Reference Manual (248966), Redwood Cove microarchitecture (changes to Golden Cove); \
         latencies and widths of L1 as measured on Granite Rapids: jia.je 2025, Intel Redwood Cove"),
    row(intel(&[(0xaf, 0xaf)]),
        "Crestmont", (Some(3.0), None), (Some(32.0), Some(32.0), Some(64.0)),
        "Intel Optimization Reference Manual (248966), Gracemont and Crestmont microarchitectures; L2, of all cores \
         that share it: Chips and Cheese 2024, Meteor Lake's E-Cores"),
    row(amd(0x17, &[(0x00, 0x2f), (0x50, 0x5f)]),
        "Zen 1", (Some(4.0), Some(12.0)), (Some(32.0), Some(16.0), Some(32.0)),
        "AMD Software Optimization Guide 55723 (family 17h), L1 data cache, L2 cache, load-store unit; width of L2: \
         Clark, Hot Chips 28 (2016)"),
    row(amd(0x17, &[(0x30, 0x4f), (0x60, 0x7f), (0x90, 0x91), (0xa0, 0xaf)]),
        "Zen 2", (Some(4.0), Some(12.0)), (Some(64.0), Some(32.0), Some(32.0)),
        "AMD Software Optimization Guide 56305 (family 17h models 30h and greater), L1 data cache, L2 cache, \
         load-store unit; width of L2: Chips and Cheese 2021, Deep Diving Neoverse N1 (31.6 measured)"),
    row(amd(0x19, &[(0x00, 0x0f), (0x20, 0x5f)]),
        "Zen 3", (Some(4.0), Some(12.0)), (Some(64.0), Some(32.0), Some(32.0)),
        "AMD Software Optimization Guide 56665 (family 19h), L1 data cache, L2 cache, load-store unit; width of L2: \
         Evers et al., IEEE Micro 42(3), 2022"),
    row(amd(0x19, &[(0x10, 0x1f), (0x60, 0xaf)]),
        "Zen 4", (Some(4.0), Some(14.0)), (Some(64.0), Some(32.0), Some(32.0)),
        "AMD Software Optimization Guide 57647 (Zen 4), L1 data cache, L2 cache, load-store unit; width of L2: Chips \
         and Cheese 2024, Ryzen Z1 (32 measured)"),
    // Mobile processors (models 20h and 60h) have half the data path, and are left out.
    row(amd(0x1a, &[(0x00, 0x1f), (0x40, 0x4f), (0x70, 0x7f)]),
        "Zen 5", (Some(4.0), Some(14.0)), (Some(128.0), Some(64.0), Some(64.0)),
        "AMD Software Optimization Guide 58455 (Zen 5), L1 data cache, L2 cache, load-store unit; width of L2: Cohen \
         and Subramony, Hot Chips 36 (2024)"),
    // 11 cycles with 1 MiB of L2. L1 has a write path of 32 bytes, store pipes have 16.
    row(arm(&[(0xd0c, 0xd0c)]),
        "Neoverse N1", (Some(4.0), Some(9.0)), (Some(32.0), Some(16.0), Some(32.0)),
        "Pellegrini et al., The Arm Neoverse N1 Platform (2019), latencies; Neoverse N1 Technical Reference Manual \
         100616, section 7.1; stores: Pellegrini, Hot Chips 33 (2021), which doubles them for N2"),
    row(arm(&[(0xd40, 0xd40)]),
        "Neoverse V1", (Some(4.0), Some(10.0)), (Some(64.0), Some(32.0), None),
        "Arm, SW defined cars (Teratec 2021), Neoverse V1; Chips and Cheese 2022, Graviton 3 (L1 latency)"),
    row((&["Arm", "Microsoft"], None, &[(0xd49, 0xd49)]),
        "Neoverse N2", (Some(4.0), Some(13.0)), (Some(48.0), Some(32.0), Some(64.0)),
        "Pellegrini, Hot Chips 33 (2021), widths; Neoverse N2 Software Optimization Guide, load instructions (L1 \
         latency); Chips and Cheese 2023, ARM's Neoverse N2 (L2 latency)"),
    row(arm(&[(0xd4f, 0xd4f)]),
        "Neoverse V2", (Some(4.0), Some(10.0)), (Some(48.0), Some(32.0), Some(128.0)),
        "Bruce, Hot Chips 35 (2023); Neoverse V2 Technical Reference Manual 102375, L1 data memory system; L1 latency: \
         Neoverse V2 Software Optimization Guide 109898, load instructions"),
    row((&["Ampere"], None, &[(0xac3, 0xac4)]),
        "AmpereOne", (Some(4.0), Some(11.0)), (Some(32.0), Some(16.0), Some(64.0)),
        "Chips and Cheese 2024, AmpereOne at Hot Chips 2024"),
];

/// Names that QEMU gives to its processor models, whatever the host's processor is.
const EMULATED: &[&str] =
    &["Intel Xeon Processor (", "Intel Core Processor (", "AMD EPYC Processor", "AMD EPYC-", "QEMU "];

/// The limits of the cores of a processor; `None` for a core that is not in the table, and where a hypervisor shows a
/// model of its own instead of the processor's.
pub(crate) fn of(cpu: &CpuModel) -> Option<CoreLimits> {
    let (vendor, model) = (cpu.vendor.as_deref()?, cpu.model?);
    let name = cpu.name.as_deref().unwrap_or_default();
    if EMULATED.iter().any(|emulated| name.starts_with(emulated)) {
        return None;
    }
    let holds = |row: &&CoreFamily| {
        row.vendors.contains(&vendor)
            && row.family == cpu.family
            && row.models.iter().any(|(low, high)| (*low..=*high).contains(&model))
    };
    ROWS.iter().find(holds).map(limits)
}

fn limits(row: &CoreFamily) -> CoreLimits {
    CoreLimits {
        name: row.name.to_owned(),
        latency_l1_cycles: row.latency.0,
        load_bytes_per_cycle: row.bytes.0,
        store_bytes_per_cycle: row.bytes.1,
        latency_l2_cycles: row.latency.1,
        l2_bytes_per_cycle: row.bytes.2,
        source: row.source.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(vendor: &str, family: Option<u32>, model: u32, name: &str) -> CpuModel {
        let (vendor, name) = (Some(vendor.to_owned()), Some(name.to_owned()));
        CpuModel { vendor, name, family, model: Some(model), ..CpuModel::default() }
    }

    fn name_of(cpu: &CpuModel) -> Option<String> {
        of(cpu).map(|limits| limits.name)
    }

    /// Processors as captured machines and kernel logs show them.
    #[test]
    fn known_processors_have_their_core() {
        for (vendor, family, model, name, core) in [
            ("GenuineIntel", Some(6), 79, "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "Haswell, Broadwell"),
            ("GenuineIntel", Some(6), 85, "Intel(R) Xeon(R) Silver 4108 CPU @ 1.80GHz", "Skylake server"),
            ("GenuineIntel", Some(6), 85, "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz", "Skylake server"),
            ("GenuineIntel", Some(6), 106, "Intel(R) Xeon(R) Silver 4314 CPU @ 2.40GHz", "Sunny Cove"),
            ("GenuineIntel", Some(6), 143, "Intel(R) Xeon(R) Platinum 8488C", "Golden Cove"),
            ("GenuineIntel", Some(6), 207, "Intel(R) Xeon(R) processor", "Golden Cove"),
            ("GenuineIntel", Some(6), 173, "Intel(R) Xeon(R) 6980P", "Redwood Cove"),
            ("GenuineIntel", Some(6), 175, "Intel(R) Xeon(R) 6780E", "Crestmont"),
            ("AuthenticAMD", Some(23), 1, "AMD EPYC 7601 32-Core Processor", "Zen 1"),
            ("AuthenticAMD", Some(23), 49, "AMD EPYC 7742 64-Core Processor", "Zen 2"),
            ("AuthenticAMD", Some(25), 1, "AMD EPYC 7313 16-Core Processor", "Zen 3"),
            ("AuthenticAMD", Some(25), 17, "AMD EPYC 9654 96-Core Processor", "Zen 4"),
            ("AuthenticAMD", Some(25), 160, "AMD EPYC 9754 128-Core Processor", "Zen 4"),
            ("AuthenticAMD", Some(26), 2, "AMD EPYC 9755 128-Core Processor", "Zen 5"),
            ("Arm", None, 0xd0c, "Ampere(R) Altra(R) Processor", "Neoverse N1"),
            ("Arm", None, 0xd40, "AWS Graviton3", "Neoverse V1"),
            ("Microsoft", None, 0xd49, "Azure Cobalt 100", "Neoverse N2"),
            ("Arm", None, 0xd4f, "Neoverse-V2", "Neoverse V2"),
            ("Ampere", None, 0xac3, "Ampere-1", "AmpereOne"),
        ] {
            assert_eq!(name_of(&cpu(vendor, family, model, name)).as_deref(), Some(core), "{name}");
        }
    }

    #[test]
    fn families_end_where_the_next_begins() {
        let amd = |family, model| name_of(&cpu("AuthenticAMD", Some(family), model, "AMD"));
        let cases = [(23, 0x2f, "Zen 1"), (23, 0x30, "Zen 2"), (25, 0x0f, "Zen 3"), (25, 0x10, "Zen 4")];
        let more = [(25, 0x1f, "Zen 4"), (25, 0x20, "Zen 3"), (25, 0x5f, "Zen 3"), (25, 0x60, "Zen 4")];
        for (family, model, core) in cases.into_iter().chain(more).chain([(26, 0x00, "Zen 5"), (26, 0x44, "Zen 5")]) {
            assert_eq!(amd(family, model).as_deref(), Some(core), "{family} {model:#x}");
        }
        // Half the data path; the next core; no AMD core.
        assert_eq!((amd(26, 0x24), amd(26, 0x50), amd(24, 0)), (None, None, None));
    }

    #[test]
    fn unknown_and_hidden_processors_have_none() {
        for hidden in [
            cpu("GenuineIntel", Some(6), 0xff, "Intel(R) Xeon(R)"),
            cpu("GenuineIntel", Some(15), 85, "Intel(R) Xeon(TM)"),
            cpu("GenuineIntel", Some(6), 6, "QEMU Virtual CPU version 2.5+"),
            cpu("GenuineIntel", Some(6), 85, "Intel Xeon Processor (Cascadelake)"),
            cpu("GenuineIntel", Some(6), 60, "Intel Core Processor (Haswell, no TSX)"),
            cpu("AuthenticAMD", Some(23), 49, "AMD EPYC-Rome Processor"),
            cpu("AuthenticAMD", Some(23), 1, "AMD EPYC Processor (with IBPB)"),
            cpu("Arm", None, 0xd0b, "Cortex-A76"),
            cpu("HiSilicon", None, 0xd0c, "unknown"),
            CpuModel { model: None, ..cpu("GenuineIntel", Some(6), 85, "Intel(R) Xeon(R)") },
            CpuModel::default(),
        ] {
            assert_eq!(of(&hidden), None, "{hidden:?}");
        }
    }

    #[test]
    fn every_row_has_a_source_and_plausible_numbers() {
        for row in ROWS {
            let limits = limits(row);
            assert!(limits.source.len() > 20 && limits.source.contains(char::is_numeric), "{}", limits.name);
            let l1 = limits.latency_l1_cycles.unwrap();
            assert!((3.0..=6.0).contains(&l1), "{limits:?}");
            assert!(limits.latency_l2_cycles.is_none_or(|l2| (2.0 * l1..=20.0).contains(&l2)), "{limits:?}");
            let (load, store) = (limits.load_bytes_per_cycle.unwrap(), limits.store_bytes_per_cycle.unwrap());
            assert!((32.0..=128.0).contains(&load) && load % 16.0 == 0.0, "{limits:?}");
            assert!((16.0..=load).contains(&store) && store % 16.0 == 0.0, "{limits:?}");
            let l2 = limits.l2_bytes_per_cycle;
            assert!(l2.is_none_or(|l2| [32.0, 64.0, 128.0].contains(&l2)), "{limits:?}");
            assert!(row.models.iter().all(|(low, high)| low <= high), "{}", limits.name);
        }
    }

    #[test]
    fn no_processor_has_two_rows() {
        for (at, row) in ROWS.iter().enumerate() {
            for other in &ROWS[at + 1..] {
                let same = row.family == other.family && row.vendors.iter().any(|v| other.vendors.contains(v));
                let meet = |(a, b): &(u32, u32)| other.models.iter().any(|(low, high)| a <= high && low <= b);
                assert!(!(same && row.models.iter().any(meet)), "{} and {}", row.name, other.name);
            }
        }
    }
}
