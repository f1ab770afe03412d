//! Is this machine a guest, and is this process in a container?

use tiermark_model::{CpuModel, DisputedFact};

use crate::identity::Identity;
use crate::reader::Reader;

/// CPUID hypervisor signatures (leaf 0x4000_0000) and the hypervisors that use them.
const SIGNATURES: &[(&str, &str)] = &[
    ("KVMKVMKVM", "KVM"),
    ("Microsoft Hv", "Hyper-V"),
    ("VMwareVMware", "VMware"),
    ("XenVMMXenVMM", "Xen"),
    ("bhyve bhyve", "bhyve"),
    ("TCGTCGTCGTCG", "QEMU (TCG)"),
    ("ACRNACRNACRN", "ACRN"),
    (" lrpepyh vr", "Parallels"),
    ("VBoxVBoxVBox", "VirtualBox"),
];

/// The cloud whose bare-metal machines have the same name on their boards as its guests.
const ALSO_BARE_METAL: &str = "google compute engine";

/// Words in the board's vendor or product (lower case) of virtual boards.
const BOARDS: &[(&str, &str)] = &[
    ("qemu", "KVM/QEMU"),
    ("kvm", "KVM"),
    ("vmware", "VMware"),
    ("virtualbox", "VirtualBox"),
    ("innotek", "VirtualBox"),
    ("xen", "Xen"),
    ("bochs", "KVM/QEMU"),
    ("parallels", "Parallels"),
    (ALSO_BARE_METAL, "KVM (Google Compute Engine)"),
    ("openstack", "KVM (OpenStack)"),
    ("rhev", "KVM (RHEV)"),
    ("firecracker", "KVM (Firecracker)"),
];

/// Clock sources that only guests have.
const CLOCKS: &[(&str, &str)] =
    &[("kvm-clock", "KVM"), ("hyperv_clocksource", "Hyper-V"), ("xen", "Xen"), ("hyperv", "Hyper-V")];

/// The hypervisor that this machine is a guest of; `None` on bare metal, or if nothing identifies it.
pub(crate) fn hypervisor(
    reader: &Reader<'_>,
    cpu: &CpuModel,
    board: &Identity,
    clocks: &[String],
    signature: Option<&str>,
) -> Option<String> {
    if let Some(signature) = signature.map(|s| s.trim_end_matches('\0')).filter(|s| !s.is_empty()) {
        let name = SIGNATURES.iter().find(|(bytes, _)| *bytes == signature);
        return Some(
            name.map_or_else(|| format!("hypervisor '{}'", printable(signature)), |(_, name)| (*name).to_owned()),
        );
    }
    let flagged = cpu.flags.iter().any(|flag| flag == "hypervisor");
    let x86 = cpu.flags.iter().any(|flag| flag == "fpu");
    let named = reader
        .word("sys/hypervisor/type")
        .filter(|kind| kind != "none")
        .map(|kind| if kind == "xen" { "Xen".to_owned() } else { kind })
        .or_else(|| from_board(board, x86))
        .or_else(|| {
            let clock = |name: &str| clocks.iter().any(|c| c.starts_with(name));
            CLOCKS.iter().find(|(name, _)| clock(name)).map(|(_, hypervisor)| (*hypervisor).to_owned())
        });
    match (x86, flagged) {
        // x86 says so itself, but a hypervisor can hide the flag: then a board that only guests have shows it.
        (true, false) => from_board(board, x86).filter(|_| !is_also_bare_metal(board)).inspect(|name| {
            let flags = "/proc/cpuinfo, which lacks the flag hypervisor";
            reader.contradict(DisputedFact::Hypervisor, ("the board (/sys/class/dmi/id)", name), (flags, &"none"));
        }),
        (true, true) => Some(named.unwrap_or_else(|| "unnamed hypervisor".to_owned())),
        (false, _) => named,
    }
}

/// Vendor and product of the board in lower case.
fn names(board: &Identity) -> [String; 2] {
    [&board.vendor, &board.product].map(|name| name.as_deref().unwrap_or_default().to_lowercase())
}

fn is_also_bare_metal(board: &Identity) -> bool {
    names(board).iter().any(|name| name.contains(ALSO_BARE_METAL))
}

fn from_board(board: &Identity, x86: bool) -> Option<String> {
    let [vendor, product] = names(board);
    if vendor == "microsoft corporation" && product == "virtual machine" {
        return Some("Hyper-V".to_owned());
    }
    if vendor == "amazon ec2" && !product.contains(".metal") {
        return Some(if x86 && product.starts_with("hvm") { "Xen (EC2)" } else { "KVM (EC2 Nitro)" }.to_owned());
    }
    BOARDS.iter().find(|(word, _)| vendor.contains(word) || product.contains(word)).map(|(_, name)| (*name).to_owned())
}

fn printable(text: &str) -> String {
    text.chars().take(16).map(|c| if c.is_control() { '.' } else { c }).collect()
}

/// Words in the path of a control group or an overlay, and the container runtime that uses them.
const RUNTIMES: &[(&str, &str)] = &[
    ("kubepods", "Kubernetes"),
    ("libpod", "Podman"),
    ("containers/storage", "Podman"),
    ("docker", "Docker"),
    ("containerd", "containerd"),
    ("lxc", "LXC"),
    ("machine.slice", "systemd-nspawn"),
];

/// The container runtime this process is in.
pub(crate) fn container(reader: &Reader<'_>) -> Option<String> {
    let named = ["run/systemd/container", "run/host/container-manager"].iter().find_map(|path| reader.word(path));
    if named.is_some() {
        return named;
    }
    // `engine="podman-4.3.1"`; the file is empty for rootless builds.
    if let Some(text) = reader.lines("run/.containerenv") {
        let engine = text.lines().find_map(|line| line.strip_prefix("engine=")).map(|e| e.trim_matches('"').to_owned());
        return Some(engine.unwrap_or_else(|| "Podman".to_owned()));
    }
    let groups = reader.lines("proc/self/cgroup").unwrap_or_default();
    let paths = groups.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    let by_path =
        |path: &str| RUNTIMES.iter().find(|(word, _)| path.contains(word)).map(|(_, name)| (*name).to_owned());
    if let Some(name) = paths.into_iter().find_map(by_path) {
        return Some(name);
    }
    if reader.lines(".dockerenv").is_some() {
        return Some("Docker".to_owned());
    }
    // In a cgroup namespace all paths are "/"; the layers under the root directory still identify the runtime.
    let mounts = reader.lines("proc/self/mountinfo").unwrap_or_default();
    let root = mounts.lines().find(|line| line.split(' ').nth(4) == Some("/") && line.contains(" - overlay "));
    root.and_then(by_path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Root;

    fn flags(text: &str) -> CpuModel {
        CpuModel { flags: text.split(' ').map(str::to_owned).collect(), ..CpuModel::default() }
    }

    fn board(vendor: &str, product: &str) -> Identity {
        Identity { vendor: Some(vendor.to_owned()), product: Some(product.to_owned()), ..Identity::default() }
    }

    #[test]
    fn guests_and_bare_metal() {
        let root = Root::from_files("test", [("x", "")]);
        let reader = Reader::new(&root);
        let none = Identity::default();
        let clocks = vec!["kvm-clock".to_owned(), "tsc".to_owned()];
        for (cpu, identity, clocks, signature, name) in [
            ("fpu hypervisor", &none, &vec![], Some("KVMKVMKVM\0\0\0"), Some("KVM")),
            ("fpu hypervisor", &none, &vec![], Some("Strange"), Some("hypervisor 'Strange'")),
            ("fpu hypervisor", &none, &clocks, None, Some("KVM")),
            ("fpu hypervisor", &none, &vec![], None, Some("unnamed hypervisor")),
            ("fpu hypervisor", &board("Microsoft Corporation", "Virtual Machine"), &vec![], None, Some("Hyper-V")),
            ("fpu", &board("Amazon EC2", "c5.metal"), &vec![], None, None),
            ("asimd", &board("Amazon EC2", "m6g.large"), &vec![], None, Some("KVM (EC2 Nitro)")),
            ("asimd", &board("Amazon EC2", "m6g.metal"), &vec![], None, None),
            ("fpu", &board("Dell Inc.", "PowerEdge"), &vec![], None, None),
            ("fpu", &board("Google", "Google Compute Engine"), &vec![], None, None),
            ("fpu", &board("QEMU", "Standard PC (Q35 + ICH9, 2009)"), &vec![], None, Some("KVM/QEMU")),
            ("fpu", &board("Red Hat", "KVM"), &vec![], None, Some("KVM")),
        ] {
            assert_eq!(
                hypervisor(&reader, &flags(cpu), identity, clocks, signature).as_deref(),
                name,
                "{cpu} {identity:?}"
            );
        }
    }

    #[test]
    fn a_guest_whose_flag_is_hidden_contradicts_itself() {
        let root = Root::from_files("test", [("x", "")]);
        let said = |cpu: &str| {
            let reader = Reader::new(&root);
            hypervisor(&reader, &flags(cpu), &board("QEMU", "Standard PC"), &[], None);
            reader.contradictions().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            said("fpu"),
            ["hypervisor: KVM/QEMU by the board (/sys/class/dmi/id) (used), \
              none by /proc/cpuinfo, which lacks the flag hypervisor"]
        );
        assert!(said("fpu hypervisor").is_empty() && said("asimd").is_empty());
    }

    #[test]
    fn containers_by_what_they_leave_behind() {
        for (path, text, name) in [
            ("run/systemd/container", "lxc\n", Some("lxc")),
            ("run/.containerenv", "engine=\"podman-4.3.1\"\nname=\"x\"\n", Some("podman-4.3.1")),
            ("run/.containerenv", "", Some("Podman")),
            (".dockerenv", "", Some("Docker")),
            ("proc/self/cgroup", "4:memory:/kubepods/burstable/x\n", Some("Kubernetes")),
            ("proc/self/cgroup", "0::/user.slice\n", None),
            ("proc/self/mountinfo", "1 0 0:1 / / rw - overlay overlay rw,lowerdir=/var/lib/docker/x\n", Some("Docker")),
        ] {
            let root = Root::from_files("test", [(path, text)]);
            assert_eq!(container(&Reader::new(&root)).as_deref(), name, "{path} {text}");
        }
    }
}
