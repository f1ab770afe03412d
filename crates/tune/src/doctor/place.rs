//! Guest or not, container or not, limits of this process, what can be seen of the board, programs that are needed.

use tiermark_model::Bytes;

use super::{Check, Found, Patient};

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "hypervisor",
        why: "a guest's caches, nodes and modules are what the hypervisor declares, and others may share them",
        look: hypervisor,
    },
    Check { name: "container", why: "limits and filters of a container are not the machine's", look: container },
    Check { name: "cpu quota", why: "whoever has used it up stands still for tens of milliseconds", look: quota },
    Check {
        name: "memory limit",
        why: "at the limit the kernel reclaims or kills, however much memory the machine has",
        look: limit,
    },
    Check { name: "cpus allowed", why: "only these are measured", look: allowed },
    Check { name: "microcode", why: "it changes what mitigations cost: record it", look: microcode },
    Check {
        name: "BIOS",
        why: "interleaving, prefetchers and power limits are set there: record its version",
        look: bios,
    },
    Check {
        name: "memory modules",
        why: "without them the theoretical peak, and a channel left empty, cannot be told",
        look: modules,
    },
    Check { name: "redis-server", why: "tenants of capacity runs are real servers", look: redis },
    Check { name: "zram", why: "compressed memory can be tried as a tier where the kernel has it", look: zram },
];

fn hypervisor(patient: &Patient<'_>) -> Found {
    match &patient.machine.system.hypervisor {
        None => Found::ok("none seen"),
        Some(name) => Found::note(format!("{name} guest"), ""),
    }
}

fn container(patient: &Patient<'_>) -> Found {
    match &patient.machine.system.container {
        None => Found::ok("none seen"),
        Some(name) => Found::note(name, ""),
    }
}

fn quota(patient: &Patient<'_>) -> Found {
    match patient.machine.system.cgroup.as_ref().map(|group| group.cpu_quota) {
        None => Found::not_here("no control groups seen"),
        Some(None) => Found::ok("none"),
        Some(Some(cpus)) => {
            let cure =
                "lift it for the run: cpu.max of the group to max, docker run without --cpus, or a pod with whole cpus";
            Found::problem(format!("{cpus:.2} cpus"), cure)
        }
    }
}

fn limit(patient: &Patient<'_>) -> Found {
    let system = &patient.machine.system;
    match system.cgroup.as_ref().map(|group| (group.memory_limit, group.memory_used)) {
        None => Found::not_here("no control groups seen"),
        Some((Some(limit), used)) if system.memory_bytes.is_none_or(|all| limit < all) => {
            let used = used.map_or_else(String::new, |used| format!(", {} used", Bytes(used)));
            Found::note(
                format!("{}{used}", Bytes(limit)),
                "half of what is left of it is used by default; --max-mem for less",
            )
        }
        Some(_) => Found::ok("none"),
    }
}

fn allowed(patient: &Patient<'_>) -> Found {
    let machine = patient.machine;
    let (allowed, all) = (machine.allowed_cpus.len(), machine.cpus.len());
    match allowed < all {
        true => Found::note(format!("{} of {all}: {}", allowed, machine.allowed_cpus), "taskset or cpusets set this"),
        false => Found::ok("all"),
    }
}

fn microcode(patient: &Patient<'_>) -> Found {
    match &patient.machine.cpu_model.microcode {
        None => Found::not_here("not told"),
        Some(revision) => Found::ok(revision),
    }
}

fn bios(patient: &Patient<'_>) -> Found {
    patient.machine.system.bios.as_ref().map_or_else(|| Found::not_here("not told"), Found::ok)
}

fn modules(patient: &Patient<'_>) -> Found {
    let populated = patient.machine.dimms.iter().filter(|dimm| dimm.populated).count();
    if populated > 0 {
        return Found::ok(format!("{populated} of {} slots filled", patient.machine.dimms.len()));
    }
    // The table is there for root only, and in many guests not at all.
    match patient.root.read_bytes("sys/firmware/dmi/tables/DMI") {
        Err(_) => Found::note("not readable", "sudo tiermark machine shows them"),
        Ok(_) => Found::not_here("not told"),
    }
}

/// Where programs are.
const PATH: [&str; 6] = ["usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin"];

fn redis(patient: &Patient<'_>) -> Found {
    let names = ["redis-server", "valkey-server"];
    let found = PATH.iter().find_map(|dir| {
        let here = patient.root.list(dir).ok()?;
        let name = names.iter().find(|name| here.iter().any(|h| h == *name))?;
        Some(format!("/{dir}/{name}"))
    });
    match found {
        Some(path) => Found::ok(path),
        None if !patient.root.is_live() => Found::not_here("not told"),
        None => Found::note("not found", "apt-get install redis-server, or valkey-server"),
    }
}

fn zram(patient: &Patient<'_>) -> Found {
    match patient.root.list("sys/class/zram-control").is_ok_and(|names| !names.is_empty()) {
        true => Found::ok("in the kernel"),
        false if !patient.root.is_live() => Found::not_here("not told"),
        false => Found::not_here("not loaded: modprobe zram, where the kernel has it"),
    }
}
