//! Settings of the system, and the limits of this process on it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::IdSet;
use crate::units::{MIB, total};

/// Settings of the system that affect measurements.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct System {
    /// Bytes a second that a thread gets at the first touch of memory, by a measurement of a few milliseconds; `None`
    /// where nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_touch: Option<f64>,
    /// Host name; redacted on request.
    pub hostname: Option<String>,
    /// Distribution (`PRETTY_NAME` of os-release).
    pub distribution: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Product name and vendor from DMI, where readable.
    pub product: Option<String>,
    /// BIOS version from DMI.
    pub bios: Option<String>,
    /// Hypervisor the machine is a guest of (`KVM`, …); `None` on bare metal or where unknown.
    pub hypervisor: Option<String>,
    /// Whether the firmware's tables are those of the board although there is a hypervisor: this system is its control
    /// domain (Xen dom0), whose cpus and memory are a part of the machine's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sees_board: bool,
    /// The program that answers system calls in place of a Linux kernel (gVisor); `None` for a kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_program: Option<String>,
    /// Container runtime this process is in.
    pub container: Option<String>,
    /// cgroup version this process's limits come from (1, 2), and its path.
    pub cgroup: Option<Cgroup>,
    /// Total memory in bytes (`MemTotal`).
    pub memory_bytes: Option<u64>,
    /// Available memory in bytes (`MemAvailable`) at discovery.
    pub available_bytes: Option<u64>,
    /// Transparent huge page mode: the selected word (`always`, `madvise`, `never`).
    pub thp: Option<String>,
    /// THP defrag mode.
    pub thp_defrag: Option<String>,
    /// Bytes of a PMD-sized huge page, from `hpage_pmd_size`.
    pub thp_bytes: Option<u64>,
    /// Mode of each multi-size THP, by bytes (`inherit`, `always`, `never`, `madvise`).
    pub mthp: BTreeMap<u64, String>,
    /// Automatic NUMA balancing (0 off, 1 on, 2 tiering).
    pub numa_balancing: Option<u32>,
    /// KSM run state (0 stopped, 1 running, 2 unmerging).
    pub ksm: Option<u32>,
    /// DAMON kernel threads running.
    pub damon_running: Option<bool>,
    /// Files below `/` that started the running DAMON threads, and that stop them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damon_by: Vec<String>,
    /// Swap areas, of `/proc/swaps`.
    pub swaps: Vec<Swap>,
    /// All swap, where no file lists the areas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlisted_swap: Option<UnlistedSwap>,
    /// Bytes of used swap slots whose pages are also in memory (`SwapCached`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swap_cached: Option<u64>,
    /// Whether zswap is enabled.
    pub zswap: Option<bool>,
    /// What zswap holds of the pages of used slots (`Zswapped`, `Zswap`); `None` where it holds nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zswapped: Option<CompressedPages>,
    /// cpufreq governor, when the same on all cpus, else the list of those in use.
    pub governor: Option<String>,
    /// A limit of the core clock below the highest that the cores have; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_limit: Option<ClockLimit>,
    /// SMT control (`on`, `off`, `forceoff`, `notsupported`, `notimplemented`).
    pub smt_control: Option<String>,
    /// Cpus without a timer tick while one program runs on them (nohz_full).
    #[serde(default, skip_serializing_if = "IdSet::is_empty")]
    pub tickless_cpus: IdSet,
    /// Current clocksource.
    pub clocksource: Option<String>,
    /// Clock sources available.
    pub clocksources: Vec<String>,
    /// One-minute load average at discovery.
    pub load1: Option<f64>,
    /// `perf_event_paranoid`.
    pub perf_event_paranoid: Option<i32>,
    /// CPU vulnerability mitigations, by name.
    pub mitigations: BTreeMap<String, String>,
    /// Idle states of the cpus; a guest's system may leave them to the hypervisor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
}

const THP_DIR: &str = "/sys/kernel/mm/transparent_hugepage";

impl System {
    /// What this system is to its hypervisor: `KVM guest`, `Xen dom0`; `None` on bare metal, or where unknown.
    pub fn guest(&self) -> Option<String> {
        let name = self.hypervisor.as_ref()?;
        Some(if self.sees_board { name.clone() } else { format!("{name} guest") })
    }

    /// The hypervisor that made the firmware's tables up: modules, sockets, the board.
    pub fn board_maker(&self) -> Option<&str> {
        self.hypervisor.as_deref().filter(|_| !self.sees_board)
    }

    /// The mode of transparent huge pages of the size that one entry of the page tables maps (2 MiB on x86-64): that of
    /// this size, where the kernel has one for it and it does not inherit the mode of all sizes. `None` for a kernel
    /// without them.
    pub fn thp_mode(&self) -> Option<&str> {
        self.own_thp_mode().or(self.thp.as_deref())
    }

    /// Whether programs can have transparent huge pages of that size.
    pub fn has_thp(&self) -> bool {
        self.thp_mode().is_some_and(|mode| mode != "never")
    }

    /// The file that sets [`Self::thp_mode`].
    pub fn thp_file(&self) -> String {
        match self.own_thp_mode() {
            Some(_) => format!("{THP_DIR}/hugepages-{}kB/enabled", self.huge_bytes() >> 10),
            None => format!("{THP_DIR}/enabled"),
        }
    }

    /// Bytes of all swap, and those in use; `None` where no file reports them.
    pub fn swap_sums(&self) -> Option<(u64, u64)> {
        match self.unlisted_swap {
            Some(UnlistedSwap { bytes, used_bytes }) => Some((bytes?, used_bytes?)),
            None => {
                let sum = |field: fn(&Swap) -> u64| total(self.swaps.iter().map(field));
                Some((sum(|area| area.bytes), sum(|area| area.used_bytes)))
            }
        }
    }

    fn own_thp_mode(&self) -> Option<&str> {
        self.mthp.get(&self.huge_bytes()).map(String::as_str).filter(|mode| *mode != "inherit")
    }

    fn huge_bytes(&self) -> u64 {
        self.thp_bytes.unwrap_or(2 * MIB)
    }
}

/// What the kernel does against a fault of the processor, as a file of `/sys/devices/system/cpu/vulnerabilities` states
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mitigation<'a> {
    /// A mitigation, and which.
    Active(&'a str),
    /// The fault remains, but calls into the kernel include what is named (`Vulnerable: Safe RET, no microcode`).
    Partial(&'a str),
    /// The fault remains, and nothing is done.
    None,
}

impl<'a> Mitigation<'a> {
    /// Whether the text of such a file says that the processor is not affected.
    #[must_use]
    pub fn is_unneeded(state: &str) -> bool {
        state.starts_with("Not affected")
    }

    /// Of the text of such a file; `None` for a processor that is not affected, and for text that no kernel writes.
    pub fn of(state: &'a str) -> Option<Self> {
        let state = state.strip_prefix("KVM: ").unwrap_or(state);
        if let Some(how) = state.strip_prefix("Mitigation") {
            return Some(Self::Active(how.trim_start_matches([':', ';', ',']).trim()));
        }
        // Behind a colon stands what the kernel does; behind other signs, states of what it does not use (`; SMT
        // vulnerable`).
        match state.strip_prefix("Vulnerable")?.strip_prefix(':').map(str::trim) {
            None | Some("") => Some(Self::None),
            Some(how) if how.eq_ignore_ascii_case("no microcode") => Some(Self::None),
            Some(how) => Some(Self::Partial(how)),
        }
    }
}

/// Idle states, as the kernel chooses among them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Idle {
    /// The driver (`intel_idle`, `acpi_idle`, `haltpoll`).
    pub driver: Option<String>,
    /// The governor that chooses a state (`menu`, `teo`, `haltpoll`).
    pub governor: Option<String>,
    /// States of the first cpu, lightest first; none where the driver has none of its own.
    pub states: Vec<IdleState>,
}

/// An idle state of the cpus, from cpuidle.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleState {
    /// Its name (`POLL`, `C1`, `C6`).
    pub name: String,
    /// Declared time to leave the state, microseconds.
    pub latency_us: Option<u64>,
    /// Whether it is switched off.
    pub disabled: bool,
}

/// Control group limits that apply to this process.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cgroup {
    /// 1 or 2.
    pub version: u32,
    /// Path of the process's own group in the (memory) hierarchy.
    pub path: String,
    /// The memory limit along the path that leaves least, in bytes; `None` means no limit.
    pub memory_limit: Option<u64>,
    /// Whether that limit throttles (`memory.high`) instead of killing (`memory.max`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limit_throttles: bool,
    /// Times that the kernel throttled because of `memory.high` of a group on the way up from the process's own: the
    /// most of these groups (`high` of `memory.events.local`, else of `memory.events`, which counts the groups below
    /// too). Without such a limit, those of the process's own group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_throttled: Option<u64>,
    /// Processes that the kernel killed because the group that carries the limit had reached it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_kills: Option<u64>,
    /// Memory used in the group that carries the limit, without the file cache that the kernel gives up before anything
    /// else.
    pub memory_used: Option<u64>,
    /// The smallest cpu quota along the path in whole cpus (1.5 = 150 ms every 100 ms); `None` means no quota.
    pub cpu_quota: Option<f64>,
    /// All cpu quotas along the path, from the process's own group upwards: a larger quota of a group above may stop
    /// the process more often, because other groups use it too. Empty in older documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_quotas: Vec<CpuQuota>,
    /// Whether groups above those that are mounted here may limit memory further: their limits apply, and cannot be
    /// seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub memory_unseen_above: bool,
    /// The same of cpu quotas.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quota_unseen_above: bool,
    /// Limits of reserved huge pages along the path: of each page size, the one that leaves least.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub huge_limits: Vec<HugeLimit>,
    /// The files that set these limits: of the process's own group, or of a group above it.
    #[serde(default, skip_serializing_if = "LimitFiles::is_empty")]
    pub files: LimitFiles,
}

impl Cgroup {
    /// Bytes left below the memory limit; `None` without a limit.
    pub fn memory_left(&self) -> Option<u64> {
        Some(self.memory_limit?.saturating_sub(self.memory_used.unwrap_or_default()))
    }

    /// Reserved huge pages of a size that the process may still have; no bound without a limit.
    pub fn huge_pages_left(&self, page_bytes: u64) -> u64 {
        let limit = self.huge_limits.iter().find(|limit| limit.page_bytes == page_bytes);
        limit.map_or(u64::MAX, |limit| limit.left() / page_bytes.max(1))
    }

    /// The files of all limits.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let huge = self.huge_limits.iter_mut().map(|limit| &mut limit.file);
        self.files.each_mut().chain(self.cpu_quotas.iter_mut().map(|quota| &mut quota.file)).chain(huge)
    }
}

/// A limit of reserved huge pages of one size.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HugeLimit {
    /// Size of one page, bytes.
    pub page_bytes: u64,
    /// What the group may have, bytes.
    pub bytes: u64,
    /// What it has, bytes.
    pub used_bytes: u64,
    /// The file that sets the limit.
    pub file: String,
}

impl HugeLimit {
    /// Bytes left below the limit.
    pub fn left(&self) -> u64 {
        self.bytes.saturating_sub(self.used_bytes)
    }
}

/// A cpu quota of a control group.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuQuota {
    /// The file that sets it.
    pub file: String,
    /// Whole cpus that it allows.
    pub cpus: f64,
    /// Periods in which the kernel stopped the group for this quota since the group exists (`nr_throttled` of
    /// `cpu.stat`); `None` where the system does not count them.
    pub throttled: Option<u64>,
    /// Time for which it stopped the group, added up over cpus, µs (`throttled_usec`); `None` as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_us: Option<u64>,
}

/// The file of each limit of control groups; `None` where there is no such limit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LimitFiles {
    /// Of `memory_limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// The `memory.high` that throttled most often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttling: Option<String>,
    /// Of `cpu_quota`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<String>,
    /// The cpuset that allows fewer cpus than there are, where no affinity of the process allows still fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// The same for memory nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<String>,
}

impl LimitFiles {
    /// The container's own file that shows the limit of memory, where no group's does: it is set outside.
    #[must_use]
    pub fn of_container(&self) -> Option<&str> {
        self.memory.as_deref().filter(|file| file.starts_with("/proc/"))
    }
}

impl LimitFiles {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn each_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let Self { memory, throttling, quota, cpus, nodes } = self;
        [memory, throttling, quota, cpus, nodes].into_iter().flatten()
    }
}

/// A limit of the core clock.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockLimit {
    /// The clock it allows, as a share of the highest that the cores have; of several cores, the lowest share.
    pub share: f64,
    /// The files that set it; a star stands for the number of each cpu.
    pub files: String,
    /// What these files hold without a limit.
    pub full: String,
    /// Whether the firmware sets it (`bios_limit`, ACPI `_PPC`): the files then keep to it, whatever is written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_firmware: bool,
}

impl ClockLimit {
    /// What lifts it.
    pub fn cure(&self) -> String {
        if self.by_firmware {
            return "the firmware sets this limit (bios_limit): raise the power or clock limit in its setup".to_owned();
        }
        format!("echo {} | tee {}", self.full, self.files)
    }
}

/// All swap by `/proc/meminfo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnlistedSwap {
    /// Bytes of all areas (`SwapTotal`).
    pub bytes: Option<u64>,
    /// Bytes in use (`SwapTotal` without `SwapFree`).
    pub used_bytes: Option<u64>,
}

/// A swap area.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Swap {
    /// Device or file.
    pub path: String,
    /// `partition`, `file`, …
    pub kind: String,
    /// Size, bytes.
    pub bytes: u64,
    /// Bytes in use.
    pub used_bytes: u64,
    /// Priority: areas of a higher one are filled first.
    pub priority: i32,
    /// What a zram device holds: less than `used_bytes`, which counts slots, where pages are read back or freed; `None`
    /// for other areas, and where the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compressed: Option<CompressedPages>,
}

/// Pages that are compressed in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompressedPages {
    /// Bytes before compression.
    pub stored_bytes: u64,
    /// Bytes of memory that hold them.
    pub memory_bytes: u64,
}

impl Swap {
    /// The number of the zram device that it is. The kernel prints the path of the area as this process sees it: in a
    /// mount namespace without `/dev` of the host, `/dev/zram0` is `/zram0`.
    pub fn zram(&self) -> Option<u32> {
        let name = self.path.trim_end_matches(" (deleted)").rsplit('/').next()?;
        name.strip_prefix("zram").filter(|_| self.kind != "file")?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_have_the_mode_of_their_size_unless_it_inherits() {
        let of = |all: &str, own: Option<&str>| {
            let mthp = own.map(|mode| (2 * MIB, mode.to_owned())).into_iter().collect();
            let system = System { thp: Some(all.into()), thp_bytes: Some(2 * MIB), mthp, ..System::default() };
            (system.thp_mode().map(str::to_owned), system.has_thp(), system.thp_file().replace(THP_DIR, ""))
        };
        let expected = |mode: &str, has: bool, file: &str| (Some(mode.to_owned()), has, file.to_owned());
        assert_eq!(of("always", Some("never")), expected("never", false, "/hugepages-2048kB/enabled"));
        assert_eq!(of("never", Some("always")), expected("always", true, "/hugepages-2048kB/enabled"));
        assert_eq!(of("never", Some("inherit")), expected("never", false, "/enabled"));
        assert_eq!(of("madvise", None), expected("madvise", true, "/enabled"));
        assert!(!System::default().has_thp());
    }

    #[test]
    fn a_zram_area_is_one_under_any_path() {
        let of = |path: &str, kind: &str| Swap { path: path.into(), kind: kind.into(), ..Swap::default() }.zram();
        assert_eq!(of("/dev/zram3", "partition"), Some(3));
        // Seen from a mount namespace without the host's /dev.
        assert_eq!((of("/zram3", "partition"), of("/zram0 (deleted)", "partition")), (Some(3), Some(0)));
        assert_eq!(
            (of("/dev/sda2", "partition"), of("/data/zram3", "file"), of("/zram", "partition")),
            (None, None, None)
        );
    }
}
