//! Guest or not, container or not, limits of this process, what can be seen of the board, programs that are needed.

use tiermark_model::{Affected, Bytes, Contradiction, CpuQuota, DisputedFact, IdSet, Machine, count_of};

use super::{Check, CheckInput, CheckResult};

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "hypervisor",
        hypervisor,
        "a guest's caches, nodes and modules are what the hypervisor declares, and others may share them",
    ),
    Check::new(
        "container",
        |input| match &input.machine.system.kernel_program {
            Some(name) => CheckResult::note(
                format!("{name}, a program that answers system calls in place of the Linux kernel"),
                "figures of `os` and all facts of the machine are its own: measure outside of it",
            ),
            None => CheckResult::seen(input.machine.system.container.clone()),
        },
        "limits and filters of a container are not the machine's",
    ),
    Check::new("cpu quota", quota, "a process that has used up its quota is stopped for tens of milliseconds"),
    Check::new(
        "memory limit",
        limit,
        "at the limit the kernel reclaims memory or kills processes, even if the machine has free memory",
    ),
    Check::new("cpus allowed", allowed, "runs use only these cpus"),
    Check::new(
        "microcode",
        |input| {
            let cpu = &input.machine.cpu_model;
            let cure =
                "update the microcode of all cpus: with the firmware, or early at boot (initramfs), then boot again";
            match cpu.microcode.clone().filter(|_| !cpu.microcodes.is_empty()) {
                Some(several) => CheckResult::note(format!("differs: {several}"), cure),
                None => CheckResult::reported(&cpu.microcode),
            }
        },
        "it changes what mitigations cost: compare only runs with the same version",
    ),
    Check::new(
        "BIOS",
        |input| CheckResult::reported(&input.machine.system.bios),
        "it sets interleaving, prefetchers and power limits: compare only runs with the same version",
    ),
    Check::new(
        "facts of the machine",
        facts,
        "where two views of one fact exclude each other, what rests on it may be wrong",
    ),
    Check::new("redis-server", redis, "tenants of capacity runs are real servers"),
    Check::new("zram", zram, "compressed memory can be tried as a tier where the kernel has it"),
];

fn hypervisor(input: &CheckInput<'_>) -> CheckResult {
    let system = &input.machine.system;
    match (system.guest(), &system.kernel_program) {
        (Some(name), _) if system.sees_board => CheckResult::note(
            format!("{name}: it sees the memory modules of the whole board, but only its own cpus and memory"),
            "",
        ),
        (None, Some(program)) => CheckResult::note(format!("not seen: {program} shows none"), ""),
        (name, _) => CheckResult::seen(name),
    }
}

fn quota(input: &CheckInput<'_>) -> CheckResult {
    let Some(group) = &input.machine.system.cgroup else { return CheckResult::not_here("no control groups seen") };
    let Some(cpus) = group.cpu_quota else {
        return if group.quota_unseen_above { CheckResult::note(UNSEEN_ABOVE, "") } else { CheckResult::ok("none") };
    };
    let allowed = input.machine.allowed_cpus.len();
    let has_stopped = |quota: &&CpuQuota| quota.throttled.is_some_and(|times| times > 0);
    let limits = |quota: &&CpuQuota| quota.cpus < allowed as f64 || has_stopped(quota);
    let limiting: Vec<&CpuQuota> = group.cpu_quotas.iter().filter(limits).collect();
    if limiting.is_empty() {
        return CheckResult::ok(format!("{cpus:.2} cpus, of which {allowed} may be used"));
    }
    let limit = |quota: &&CpuQuota| {
        let times = quota.throttled.filter(|times| *times > 0);
        let stopped = times.map_or_else(String::new, |times| format!("; stopped {} so far", times_of(times)));
        format!("{:.2} cpus by {}{stopped}", quota.cpus, quota.file)
    };
    let value = limiting.iter().map(limit).collect::<Vec<_>>().join("; ");
    let lifted = |quota: &&CpuQuota| {
        format!("echo {} > {}", if quota.file.ends_with("cpu.max") { "max" } else { "-1" }, quota.file)
    };
    let cure = of_group(
        input,
        "cpu time without a quota: docker run without --cpus, a pod without a cpu limit",
        format!("for the run: {}", limiting.iter().map(lifted).collect::<Vec<_>>().join("; ")),
    );
    if cpus >= allowed as f64 {
        // Other processes of the group use its quota up, or bursts of more threads than cpus within a period.
        let cure = format!("other processes of the group use its quota too: {cure}");
        return CheckResult::note(format!("{value}; {allowed} cpus may be used"), cure);
    }
    // One thread works for a while in each period, however small the quota: its figures are of that time.
    CheckResult::problem(Affected::AllCores, value, cure)
}

const UNSEEN_ABOVE: &str = "none visible: limits of parent control groups cannot be read here";
const STAY_BELOW: &str = "set --max-mem below the memory limit of the job or pod; read this limit on the host or in the \
    job's definition";

fn limit(input: &CheckInput<'_>) -> CheckResult {
    let system = &input.machine.system;
    let Some(group) = &system.cgroup else { return CheckResult::not_here("no control groups seen") };
    let throttled = group.memory_throttled.filter(|times| *times > 0);
    let throttled = throttled.map(|times| format!("throttled {} so far", times_of(times)));
    let Some(limit) = group.memory_limit.filter(|limit| system.memory_bytes.is_none_or(|all| *limit < all)) else {
        return match throttled {
            None if group.memory_unseen_above => CheckResult::note(UNSEEN_ABOVE, STAY_BELOW),
            None => CheckResult::ok("none"),
            Some(throttled) => CheckResult::note(format!("none now; {throttled}"), "memory.high of the group was set"),
        };
    };
    let file = group.files.memory.as_deref().unwrap_or_default();
    let throttles = if group.limit_throttles { ", which throttles" } else { "" };
    let used = group.memory_used.map(|used| format!("{} used", Bytes(used)));
    let killed = group.memory_kills.filter(|kills| *kills > 0);
    let killed = killed.map(|kills| format!("{} for lack of memory so far", count_of(kills, "kill")));
    let above = group.memory_unseen_above.then(|| "limits of parent control groups cannot be read here".to_owned());
    let is_of_container = group.files.of_container().is_some();
    let whose = if is_of_container { ", the container's" } else { "" };
    let parts = [Some(format!("{}{whose} by {file}{throttles}", Bytes(limit))), used, throttled.clone(), killed, above];
    let value = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let cure = "a run uses at most half of the rest; --max-mem sets another limit";
    let change = match group.version {
        // What a container's own file shows is set outside of it.
        _ if is_of_container => "give the container more memory".to_owned(),
        // What only statistics show is a limit of a group that is not mounted here.
        1 if file.ends_with("/memory.stat") => {
            "for the run: raise the limit of the group above, which is not mounted here".to_owned()
        }
        1 => format!("for the run: echo -1 > {file}"),
        _ => format!("for the run: echo max > {file}"),
    };
    if group.memory_left().is_some_and(|left| left / 2 < least_dram(input.machine)) {
        let more = of_group(input, "more memory: docker run --memory, the memory limit of the pod", change);
        let cure = format!("end what uses the memory of the group, or {more}");
        return CheckResult::problem(Affected::Memory, format!("{value}: too little is left to measure DRAM"), cure);
    }
    match throttled {
        None => CheckResult::note(value, cure),
        Some(_) => {
            let throttling = group.files.throttling.as_deref().unwrap_or(file);
            let more = of_group(
                input,
                "more memory: docker run --memory-reservation and --memory, the memory limit of the pod",
                format!("for the run: echo max > {throttling}"),
            );
            CheckResult::problem(Affected::Memory, value, format!("{more}; or keep footprints small with --max-mem"))
        }
    }
}

/// The least memory with which any cpu's DRAM can be measured, as the probes require it.
fn least_dram(machine: &Machine) -> u64 {
    let least_bytes = |cpu: u32| machine.least_dram_bytes(&IdSet::from_iter([cpu]));
    machine.allowed_cpus.iter().map(least_bytes).min().unwrap_or_default()
}

/// How to change a limit of a control group. A container sees the files of its own, and may not write them.
fn of_group(input: &CheckInput<'_>, asked: &str, change: String) -> String {
    match input.machine.system.container {
        Some(_) => format!("ask whoever runs the container for {asked}"),
        None => change,
    }
}

fn times_of(times: u64) -> String {
    count_of(times, "time")
}

/// What to do about facts that contradict each other where nothing more is known of them.
const MISLED: &str = "numbers depend on the view marked '(used)'; in a container, run tiermark on the host; in a \
    guest, compare with the host";

/// Where the modules hold more than the kernel has: the word of the command line that leaves it out, else who may.
fn lacking_memory(input: &CheckInput<'_>) -> Option<String> {
    let is_of_modules = |found: &Contradiction| found.fact == DisputedFact::Modules;
    let only = input.machine.contradictions.iter().all(is_of_modules);
    let dram = tiermark_machine::dmi::bytes_of_dram(&input.machine.dimms)?;
    (only && input.machine.system.memory_bytes? < dram).then(|| {
        let line = input.root.text("proc/cmdline").unwrap_or_default();
        let limit = line.split_whitespace().find(|word| ["mem=", "memmap="].iter().any(|key| word.starts_with(key)));
        match limit {
            Some(word) => format!("boot without {word} on the kernel command line, which leaves memory unused"),
            None => {
                "the firmware may have mapped a faulty module out: find it in the board's event log, and reseat or \
replace it; or the firmware may reserve memory for mirroring or graphics: see the firmware's setup"
                    .to_owned()
            }
        }
    })
}

fn facts(input: &CheckInput<'_>) -> CheckResult {
    let found = &input.machine.contradictions;
    if found.is_empty() {
        return CheckResult::ok("agree");
    }
    let contradictions: Vec<String> = found.iter().map(ToString::to_string).collect();
    let value = format!("contradict each other: {}", contradictions.join("; "));
    match found.iter().any(|contradiction| contradiction.fact.misleads()) {
        true => CheckResult::problem(Affected::All, value, lacking_memory(input).unwrap_or_else(|| MISLED.to_owned())),
        false => CheckResult::note(
            value,
            "no number depends on it: the kernel enforces the view that is used, and footprints follow free memory, \
                not totals",
        ),
    }
}

fn allowed(input: &CheckInput<'_>) -> CheckResult {
    let machine = input.machine;
    let (allowed, all) = (machine.allowed_cpus.len(), machine.cpus.len());
    match allowed < all {
        true => {
            let set_by = machine.system.cgroup.as_ref().and_then(|group| group.files.cpus.clone());
            let set_by = set_by.unwrap_or_else(|| "the affinity of this process (taskset, CPUAffinity=)".to_owned());
            let more = match &machine.beyond_affinity {
                more if more.is_empty() => String::new(),
                more => format!("; --cpus may name {more} too"),
            };
            let value = format!("{allowed} of {all}: {}", machine.allowed_cpus);
            // The uppermost group has no file that sets its cpus.
            let sets = match set_by.ends_with(".isolated") {
                true => format!("{set_by} lists those that isolated groups keep to themselves"),
                false => format!("{set_by} sets this"),
            };
            CheckResult::note(value, format!("{sets}{more}"))
        }
        false => CheckResult::ok("all"),
    }
}

/// Where programs are.
const PATH: [&str; 6] = ["usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin"];

fn redis(input: &CheckInput<'_>) -> CheckResult {
    let names = ["redis-server", "valkey-server"];
    let found = PATH.iter().find_map(|dir| {
        let here = input.root.list(dir).ok()?;
        let name = names.iter().find(|name| here.iter().any(|h| h == *name))?;
        Some(format!("/{dir}/{name}"))
    });
    match found {
        Some(path) => CheckResult::ok(path),
        None if !input.root.is_live() => CheckResult::not_reported(),
        None => CheckResult::note("not found", "apt-get install redis-server, or valkey-server"),
    }
}

fn zram(input: &CheckInput<'_>) -> CheckResult {
    let areas = input.machine.system.swaps.iter().filter(|area| area.zram().is_some());
    let used: Vec<String> = areas.map(|area| format!("{} ({})", area.path, Bytes(area.bytes))).collect();
    if !used.is_empty() {
        return CheckResult::ok(format!("in use as swap: {}", used.join(", ")));
    }
    match input.root.list("sys/class/zram-control").is_ok_and(|names| !names.is_empty()) {
        true => CheckResult::ok("in the kernel"),
        false if !input.root.is_live() => CheckResult::not_reported(),
        false => CheckResult::not_here("not loaded: modprobe zram, where the kernel has it"),
    }
}
