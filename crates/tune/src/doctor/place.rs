//! Guest or not, container or not, limits of this process, what can be seen of the board, programs that are needed.

use tiermark_model::Bytes;

use super::{Check, CheckInput, CheckResult};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "hypervisor",
        why: "a guest's caches, nodes and modules are what the hypervisor declares, and others may share them",
        examine: hypervisor,
    },
    Check { name: "container", why: "limits and filters of a container are not the machine's", examine: container },
    Check {
        name: "cpu quota",
        why: "a process that has used up its quota is stopped for tens of milliseconds",
        examine: quota,
    },
    Check {
        name: "memory limit",
        why: "at the limit the kernel reclaims memory or kills processes, even if the machine has free memory",
        examine: limit,
    },
    Check { name: "cpus allowed", why: "runs use only these cpus", examine: allowed },
    Check {
        name: "microcode",
        why: "it changes what mitigations cost: compare only runs with the same version",
        examine: microcode,
    },
    Check {
        name: "BIOS",
        why: "it sets interleaving, prefetchers and power limits: compare only runs with the same version",
        examine: bios,
    },
    Check {
        name: "memory modules",
        why: "without them neither the theoretical peak nor an empty memory channel can be determined",
        examine: modules,
    },
    Check { name: "redis-server", why: "tenants of capacity runs are real servers", examine: redis },
    Check { name: "zram", why: "compressed memory can be tried as a tier where the kernel has it", examine: zram },
];

fn hypervisor(input: &CheckInput<'_>) -> CheckResult {
    match &input.machine.system.hypervisor {
        None => CheckResult::ok("none seen"),
        Some(name) => CheckResult::note(format!("{name} guest"), ""),
    }
}

fn container(input: &CheckInput<'_>) -> CheckResult {
    match &input.machine.system.container {
        None => CheckResult::ok("none seen"),
        Some(name) => CheckResult::note(name, ""),
    }
}

fn quota(input: &CheckInput<'_>) -> CheckResult {
    match input.machine.system.cgroup.as_ref().map(|group| group.cpu_quota) {
        None => CheckResult::not_here("no control groups seen"),
        Some(None) => CheckResult::ok("none"),
        Some(Some(cpus)) => {
            let cure =
                "lift it for the run: cpu.max of the group to max, docker run without --cpus, or a pod with whole cpus";
            CheckResult::problem(format!("{cpus:.2} cpus"), cure)
        }
    }
}

fn limit(input: &CheckInput<'_>) -> CheckResult {
    let system = &input.machine.system;
    match system.cgroup.as_ref().map(|group| (group.memory_limit, group.memory_used)) {
        None => CheckResult::not_here("no control groups seen"),
        Some((Some(limit), used)) if system.memory_bytes.is_none_or(|all| limit < all) => {
            let used = used.map_or_else(String::new, |used| format!(", {} used", Bytes(used)));
            CheckResult::note(
                format!("{}{used}", Bytes(limit)),
                "a run uses at most half of the rest; --max-mem sets another limit",
            )
        }
        Some(_) => CheckResult::ok("none"),
    }
}

fn allowed(input: &CheckInput<'_>) -> CheckResult {
    let machine = input.machine;
    let (allowed, all) = (machine.allowed_cpus.len(), machine.cpus.len());
    match allowed < all {
        true => {
            CheckResult::note(format!("{} of {all}: {}", allowed, machine.allowed_cpus), "taskset or cpusets set this")
        }
        false => CheckResult::ok("all"),
    }
}

fn microcode(input: &CheckInput<'_>) -> CheckResult {
    match &input.machine.cpu_model.microcode {
        None => CheckResult::not_reported(),
        Some(revision) => CheckResult::ok(revision),
    }
}

fn bios(input: &CheckInput<'_>) -> CheckResult {
    input.machine.system.bios.as_ref().map_or_else(CheckResult::not_reported, CheckResult::ok)
}

fn modules(input: &CheckInput<'_>) -> CheckResult {
    let populated = input.machine.dimms.iter().filter(|dimm| dimm.populated).count();
    if populated > 0 {
        return CheckResult::ok(format!("{populated} of {} slots filled", input.machine.dimms.len()));
    }
    // The table is there for root only, and in many guests not at all.
    match input.root.read_bytes("sys/firmware/dmi/tables/DMI") {
        Err(_) => CheckResult::note("not readable", "sudo tiermark machine shows them"),
        Ok(_) => CheckResult::not_reported(),
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
    match input.root.list("sys/class/zram-control").is_ok_and(|names| !names.is_empty()) {
        true => CheckResult::ok("in the kernel"),
        false if !input.root.is_live() => CheckResult::not_reported(),
        false => CheckResult::not_here("not loaded: modprobe zram, where the kernel has it"),
    }
}
