//! Keys by which two measurements are the same cell of the same machine.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use tiermark_model::{Bytes, CpuModel, IdSet, KernelId, LabelSet, Machine, Role, Step};

/// Labels that say how or why something was measured, not what: the record is one for all of them. Of the cpus, their
/// number and how they lie to each other count.
const NOT_IDENTITY: LabelSet = LabelSet::NONE.purpose().kernel().cpus().to();
/// Footprints up to this are compared with the very same only. Those of memory depend on what happens to be free, so
/// that there a quarter of an octave is one cell; times and rates of memory change by about a percent over it.
const EXACT_BYTES: u64 = 32 << 20;
/// Reservations of the firmware and of the kernel change the memory seen from boot to boot, by less than this.
const MEMORY_STEP: u64 = 64 << 20;

/// Keys by which two runs are of one machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineKey {
    /// Hash of the machine's id with its cpu model: the id itself is confidential (machine-id(5)).
    pub machine: String,
    /// Vendor, family, model, stepping and name of the cpu.
    pub cpu: String,
    /// Cpus that the program may use.
    pub cpus: u64,
    /// Memory in bytes, rounded.
    pub memory_bytes: u64,
    /// Release of the kernel.
    pub kernel: String,
}

impl MachineKey {
    /// The key of a machine whose `/etc/machine-id` holds this text (empty if there is no such file).
    pub fn of(machine: &Machine, machine_id: &str) -> Self {
        let cpu = cpu_text(&machine.cpu_model);
        let memory = machine.system.memory_bytes.unwrap_or_default();
        Self {
            machine: format!("{:016x}", hash(&[machine_id.trim(), &cpu])),
            cpus: machine.allowed_cpus.len() as u64,
            memory_bytes: memory.saturating_add(MEMORY_STEP / 2) / MEMORY_STEP * MEMORY_STEP,
            kernel: machine.system.kernel.clone().unwrap_or_default(),
            cpu,
        }
    }

    /// Whether both are the same computer; its kernel, memory and number of cpus may differ.
    pub fn is_same_computer(&self, other: &Self) -> bool {
        self.machine == other.machine
    }
}

fn cpu_text(model: &CpuModel) -> String {
    let number = |n: Option<u32>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let text = |t: &Option<String>| t.clone().unwrap_or_else(|| "-".to_owned());
    let CpuModel { vendor, name, family, model, stepping, .. } = model;
    format!("{} {}/{}/{} {}", text(vendor), number(*family), number(*model), number(*stepping), text(name))
}

/// FNV-1a of 64 bits (Fowler, Noll & Vo). It need not resist anyone: 64 bits of a random id of 128 leave 2⁶⁴ ids that
/// it could be.
fn hash(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The name of a step's measurement, the same in every run; `None` if only cpu numbers distinguish it, as in a matrix
/// of cores (a hypervisor moves those), or the number of a piece of memory, which is another piece in each run.
pub(crate) fn name(probe: &str, method: u32, step: &Step, machine: &Machine) -> Option<String> {
    let is_piece = step.labels.region().is_some();
    if is_piece || step.labels.from_cpu().is_some() {
        return None;
    }
    let metric = match step.metric {
        tiermark_model::Metric::Latency => "latency",
        tiermark_model::Metric::Bandwidth => "bandwidth",
    };
    // Methods are counted probe by probe.
    let mut name = format!("{metric} {probe}/{method}");
    let size = step.labels.bytes().map(rounded);
    // A tier stands for a footprint: it is named where that is not.
    let without = NOT_IDENTITY.and_if(size.is_some(), LabelSet::NONE.tier());
    let labels = step.labels.clone().without(without);
    let labels = size.into_iter().fold(labels, |labels, size| labels.with_size(size.0));
    if !labels.is_empty() {
        let _ = write!(name, " {labels}");
    }
    if bypasses_caches(step) {
        name.push_str(" bypass");
    }
    name.push_str(&shape(step, machine));
    Some(name)
}

/// Whether kernels compete for a step whose stores bypass the caches (`write.nt`, `fill.rep`): what they reach is no
/// figure of a cache.
fn bypasses_caches(step: &Step) -> bool {
    let bypasses = |kernel: &KernelId| kernel.op().contains('.');
    step.setup.threads.iter().any(|thread| match &thread.role {
        Role::Stream { rivals, .. } => rivals.iter().any(bypasses),
        _ => false,
    })
}

/// The threads as they lie to each other, and the nodes of cpus and memory.
fn shape(step: &Step, machine: &Machine) -> String {
    let threads = &step.setup.threads;
    let cpus = || threads.iter().filter_map(|thread| machine.cpus.iter().find(|cpu| cpu.id == thread.cpu));
    let cores: BTreeSet<u32> = cpus().map(|cpu| cpu.core).collect();
    let caches: BTreeSet<Option<u32>> = cpus().map(|cpu| cpu.llc).collect();
    let nodes: IdSet = cpus().filter_map(|cpu| cpu.node).collect();
    let kinds: BTreeSet<String> =
        cpus().filter_map(|cpu| cpu.kind).map(|kind| format!("{kind:?}").to_lowercase()).collect();
    let memory: BTreeSet<String> = step.setup.regions.iter().map(|region| region.nodes.to_string()).collect();
    let list = |set: BTreeSet<String>| set.into_iter().collect::<Vec<_>>().join("+");
    let mut shape =
        format!(" on={}t/{}c/{}llc nodes={nodes} memory={}", threads.len(), cores.len(), caches.len(), list(memory));
    if !kinds.is_empty() {
        let _ = write!(shape, " kinds={}", list(kinds));
    }
    shape
}

fn rounded(bytes: u64) -> Bytes {
    if bytes <= EXACT_BYTES {
        return Bytes(bytes);
    }
    const PARTS: f64 = 4.0;
    let exponent = ((bytes as f64).log2() * PARTS).round() / PARTS;
    Bytes((exponent.exp2() as u64) >> 20 << 20)
}

#[cfg(test)]
mod tests {
    use tiermark_model::{Metric, Setup, ThreadSetup, testing};

    use super::*;
    use tiermark_model::Labels;

    /// A stream step of 8 MiB whose first kernel is `write/avx2`.
    fn stream(rivals: &[&str]) -> Step {
        let role =
            Role::Stream { kernel: "write/avx2".into(), rivals: rivals.iter().map(|id| KernelId::from(*id)).collect() };
        let setup = Setup { regions: Vec::new(), threads: vec![ThreadSetup::new(0, role, 0)], seed: 1 };
        let labels = Labels::new().with_op("write").with_size(8 << 20);
        Step { labels, setup, ..testing::step("a", Metric::Bandwidth) }
    }

    #[test]
    fn stores_that_bypass_the_caches_set_no_record_for_a_cache() {
        let of = |rivals: &[&str]| name("bandwidth", 4, &stream(rivals), &Machine::default()).unwrap();
        assert_eq!(of(&["write/sse2"]), of(&[]), "whichever ordinary kernels compete");
        assert_ne!(of(&["write/sse2", "write.nt/avx2"]), of(&["write/sse2"]));
        assert_ne!(of(&["fill.rep/stosb"]), of(&[]));
    }

    #[test]
    fn the_id_of_a_machine_is_not_in_its_key() {
        let id = "0123456789abcdef0123456789abcdef";
        let machine = Machine { allowed_cpus: "0-1".parse().unwrap(), ..Machine::default() };
        let key = MachineKey::of(&machine, &format!("{id}\n"));
        assert!(!serde_json::to_string(&key).unwrap().contains(&id[..8]), "{key:?}");
        assert_eq!(key, MachineKey::of(&machine, id));
        assert_ne!(key.machine, MachineKey::of(&machine, "1").machine);
        let mut other = machine.clone();
        other.cpu_model.stepping = Some(2);
        assert_ne!(key.machine, MachineKey::of(&other, id).machine, "hashed with the model");
    }

    #[test]
    fn every_part_of_the_key_makes_another_machine() {
        let machine = Machine { allowed_cpus: "0-1".parse().unwrap(), ..Machine::default() };
        let key = |change: &dyn Fn(&mut Machine)| {
            let mut machine = machine.clone();
            machine.system.memory_bytes = Some(4 << 30);
            change(&mut machine);
            MachineKey::of(&machine, "id")
        };
        let same = key(&|_| ());
        assert_eq!(same, key(&|m| m.system.memory_bytes = Some((4 << 30) - (1 << 20))), "reserved at boot");
        assert_ne!(same, key(&|m| m.system.memory_bytes = Some(8 << 30)));
        assert_ne!(same, key(&|m| m.system.memory_bytes = Some(u64::MAX)), "a document may hold any number");
        assert_ne!(same, key(&|m| m.allowed_cpus = "0-2".parse().unwrap()));
        assert_ne!(same, key(&|m| m.system.kernel = Some("6.12".into())));
        assert_ne!(same, key(&|m| m.cpu_model.name = Some("EPYC".into())));
        assert_ne!(same, key(&|m| m.cpu_model.family = Some(25)));
    }

    #[test]
    fn footprints_of_memory_need_not_be_equal() {
        let same = |a: u64, b: u64| rounded(a) == rounded(b);
        assert!(!same(32 << 10, 36 << 10) && !same(16 << 20, 17 << 20));
        assert!(same(1 << 30, (1 << 30) + (20 << 20)) && !same(1 << 30, 2 << 30) && !same(128 << 20, 192 << 20));
    }
}
