//! The state of the machine during a soak, as far as the system tells it.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use tiermark_machine::{HealthCounts, Root};
use tiermark_model::{Bytes, ErrorKind, Machine, SoakState};

use super::locked;
use crate::free_memory;

/// Where the kernel shows sensors (`Documentation/hwmon/sysfs-interface.rst`).
const SENSORS: &str = "sys/class/hwmon";
/// Drivers of the sensors of processors, and of those on memory modules.
const OF_CPUS: [&str; 3] = ["coretemp", "k10temp", "zenpower"];
const OF_MODULES: [&str; 2] = ["jc42", "spd5118"];
/// Sensors of one chip at most; their numbers may have gaps.
const MOST_SENSORS: u32 = 256;

/// Reads the state, and what was counted since it was made.
pub(super) struct StateReader {
    root: Root,
    machine: Arc<Machine>,
    before: HealthCounts,
    /// Interrupts of all cpus at the last look, and when it was.
    interrupts: Mutex<Option<(u64, Instant)>>,
    cpu_sensors: Vec<String>,
    module_sensors: Vec<String>,
}

impl StateReader {
    pub(super) fn new(root: &Root, machine: Arc<Machine>) -> Self {
        Self {
            before: HealthCounts::read(root, &machine),
            interrupts: Mutex::new(interrupts(root).map(|count| (count, Instant::now()))),
            cpu_sensors: sensors(root, &OF_CPUS),
            module_sensors: sensors(root, &OF_MODULES),
            root: root.clone(),
            machine,
        }
    }

    pub(super) fn read(&self) -> SoakState {
        let counted = self.before.run(Some(&HealthCounts::read(&self.root, &self.machine)), &self.machine);
        let throttled = counted.as_ref().and_then(|health| {
            let cores = health.throttled(|package| package.cores, |count| count.grew);
            let whole = health.throttled(|package| package.whole, |count| count.grew);
            cores.into_iter().chain(whole).reduce(u64::saturating_add)
        });
        SoakState {
            clock_hz: clock(&self.root, &self.machine),
            cpu_celsius: hottest(&self.root, &self.cpu_sensors),
            memory_celsius: hottest(&self.root, &self.module_sensors),
            throttled,
            corrected: counted.as_ref().and_then(|health| health.errors_grown(ErrorKind::Corrected)),
            free: self.free(),
            interrupts: self.interrupts_a_second(),
        }
    }

    pub(super) fn free(&self) -> Option<Bytes> {
        free_memory::spare(&self.root).map(Bytes)
    }

    fn interrupts_a_second(&self) -> Option<f64> {
        let now = (interrupts(&self.root)?, Instant::now());
        let before = locked(&self.interrupts).replace(now)?;
        let seconds = now.1.duration_since(before.1).as_secs_f64();
        (seconds > 0.0).then(|| now.0.saturating_sub(before.0) as f64 / seconds)
    }
}

/// Interrupts of all cpus since the system started.
fn interrupts(root: &Root) -> Option<u64> {
    let text = root.text("proc/stat")?;
    text.lines().find_map(|line| line.strip_prefix("intr "))?.split(' ').next()?.parse().ok()
}

/// The mean clock of some cpus, Hz: kernels before 5.18 take 10 ms to tell that of each.
fn clock(root: &Root, machine: &Machine) -> Option<f64> {
    const MOST: usize = 8;
    let khz = |cpu: u32| root.value::<f64>(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"));
    let each = machine.cpus.len().div_ceil(MOST).max(1);
    let clocks: Vec<f64> = machine.cpus.iter().step_by(each).filter_map(|cpu| khz(cpu.id)).collect();
    (!clocks.is_empty()).then(|| clocks.iter().sum::<f64>() / clocks.len() as f64 * 1e3)
}

/// The files of temperature of the chips with these drivers.
fn sensors(root: &Root, drivers: &[&str]) -> Vec<String> {
    let chips = root.list(SENSORS).unwrap_or_default().into_iter();
    let chips = chips.filter(|chip| {
        let name = root.text(&format!("{SENSORS}/{chip}/name")).unwrap_or_default();
        drivers.contains(&name.trim())
    });
    let files = |chip: String| {
        let file = move |number: u32| format!("{SENSORS}/{chip}/temp{number}_input");
        (1..=MOST_SENSORS).map(file).filter(|file| root.text(file).is_some()).collect::<Vec<_>>()
    };
    chips.flat_map(files).collect()
}

/// The highest temperature, °C.
fn hottest(root: &Root, files: &[String]) -> Option<f64> {
    let celsius = |file: &String| root.value::<f64>(file).map(|thousandths| thousandths / 1e3);
    files.iter().filter_map(celsius).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hottest_sensor_of_each_kind_counts() {
        let root = Root::from_files(
            "test",
            [
                ("sys/class/hwmon/hwmon0/name", "k10temp\n"),
                ("sys/class/hwmon/hwmon0/temp1_input", "61500\n"),
                ("sys/class/hwmon/hwmon0/temp2_input", "70250\n"),
                ("sys/class/hwmon/hwmon1/name", "spd5118\n"),
                ("sys/class/hwmon/hwmon1/temp1_input", "48000\n"),
                ("sys/class/hwmon/hwmon2/name", "nvme\n"),
                ("sys/class/hwmon/hwmon2/temp1_input", "90000\n"),
                ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3000000\n"),
                ("proc/stat", "cpu 1 2 3\nintr 1234 5 6\n"),
            ],
        );
        let cpu = tiermark_model::Cpu { id: 0, ..tiermark_model::Cpu::default() };
        let machine = Machine { cpus: vec![cpu], ..Machine::default() };
        let state = StateReader::new(&root, Arc::new(machine)).read();
        assert_eq!((state.cpu_celsius, state.memory_celsius, state.clock_hz), (Some(70.25), Some(48.0), Some(3e9)));
        assert_eq!((state.throttled, state.interrupts), (None, Some(0.0)));
    }
}
