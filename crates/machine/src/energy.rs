//! Energy of processors and their memory, as RAPL reports it (`/sys/class/powercap`).
//!
//! The files are readable by root only since Linux 5.10, because their steps tell what other programs compute.

use crate::Root;
use crate::open::OpenFile;

/// Directory of the zones.
const POWERCAP: &str = "sys/class/powercap";
/// Zones that are read at most: a package and its memory for each socket, of which machines have up to 32.
const MOST_ZONES: usize = 64;

/// A zone: a counter of microjoules that begins again beyond its range.
#[derive(Debug)]
struct Zone {
    energy: OpenFile,
    range_uj: u64,
}

/// The energy counters of a machine: of its packages, and of memory that they do not include, where there are counters
/// of it.
#[derive(Debug)]
pub struct Energy(Vec<Zone>);

impl Energy {
    /// The counters of a machine; `None` if it has none, or this user may not read them.
    pub fn open(root: &Root) -> Option<Self> {
        let mut zones = Vec::new();
        for number in root.numbered(POWERCAP, "intel-rapl:").unwrap_or_default() {
            let package = format!("{POWERCAP}/intel-rapl:{number}");
            // `psys` has the packages in it.
            if !name(root, &package).is_some_and(|name| name.starts_with("package")) {
                continue;
            }
            let parts = root.numbered(&package, &format!("intel-rapl:{number}:")).unwrap_or_default();
            let parts = parts.into_iter().map(|part| format!("{package}/intel-rapl:{number}:{part}"));
            // Cores are in their package, memory is beside it.
            let memory = parts.filter(|path| name(root, path).as_deref() == Some("dram")).collect::<Vec<_>>();
            zones.extend([package].into_iter().chain(memory));
        }
        zones.truncate(MOST_ZONES);
        let zone = |path: &String| {
            let energy = OpenFile::new(root, format!("{path}/energy_uj"));
            Some(Zone { energy, range_uj: root.value(&format!("{path}/max_energy_range_uj"))? })
        };
        // If one cannot be read, the sum is not known.
        let mut own = Self(zones.iter().map(zone).collect::<Option<_>>()?);
        own.read().map(|_| own)
    }

    /// Microjoules of each zone now; `None` if any cannot be read.
    pub fn read(&mut self) -> Option<Vec<u64>> {
        let all: Option<Vec<u64>> = self.0.iter_mut().map(|zone| zone.energy.text()?.trim().parse().ok()).collect();
        all.filter(|all| !all.is_empty())
    }

    /// Joules between two readings.
    pub fn joules(&self, before: &[u64], after: &[u64]) -> f64 {
        let zones = self.0.iter().zip(before).zip(after);
        let spent = zones.map(|((zone, before), after)| {
            after.checked_sub(*before).unwrap_or_else(|| (after + zone.range_uj).saturating_sub(*before))
        });
        spent.map(|uj| uj as f64 / 1e6).sum()
    }
}

fn name(root: &Root, zone: &str) -> Option<String> {
    root.text(&format!("{zone}/name")).map(|name| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages with their cores and memory, and the whole system.
    fn tree(uj: [u64; 5]) -> Root {
        let zones = ["0", "0/intel-rapl:0:0", "0/intel-rapl:0:1", "1", "2"];
        let names = ["package-0", "core", "dram", "package-1", "psys"];
        let files = zones.iter().zip(names).zip(uj).flat_map(|((zone, name), uj)| {
            let at = format!("{POWERCAP}/intel-rapl:{zone}");
            [
                (format!("{at}/name"), format!("{name}\n")),
                (format!("{at}/energy_uj"), format!("{uj}\n")),
                (format!("{at}/max_energy_range_uj"), "1000000\n".to_owned()),
            ]
        });
        Root::from_files("test", files)
    }

    #[test]
    fn packages_and_memory_are_added_and_nothing_twice() {
        let read = |uj| Energy::open(&tree(uj)).unwrap().read().unwrap();
        let (before, after) = ([1, 5, 10, 900_000, 7], [1_000_001, 6, 20, 100_000, 8]);
        let energy = Energy::open(&tree(before)).unwrap();
        assert_eq!(read(before), [1, 10, 900_000]);
        let joules = energy.joules(&read(before), &read(after));
        assert!((joules - (1.0 + 1e-5 + 0.2)).abs() < 1e-9, "the third began again: {joules}");
    }

    #[test]
    fn a_machine_without_counters_has_none() {
        assert!(Energy::open(&Root::from_files("test", [("proc/stat".to_owned(), String::new())])).is_none());
    }
}
