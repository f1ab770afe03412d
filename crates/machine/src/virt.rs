//! Is this machine a guest, and is this process in a container?

use tiermark_model::{CpuModel, DisputedFact};

use crate::identity::Identity;
use crate::reader::Reader;

/// CPUID hypervisor signatures (leaf 0x4000_0000) and the hypervisors that use them; words are one space apart here.
const SIGNATURES: &[(&str, &str)] = &[
    ("KVMKVMKVM", "KVM"),
    ("Linux KVM Hv", "KVM"),
    ("Microsoft Hv", "Hyper-V"),
    ("VMwareVMware", "VMware"),
    ("XenVMMXenVMM", "Xen"),
    ("bhyve bhyve", "bhyve"),
    ("TCGTCGTCGTCG", "QEMU (TCG)"),
    ("ACRNACRNACRN", "ACRN"),
    ("lrpepyh vr", "Parallels"),
    ("VBoxVBoxVBox", "VirtualBox"),
    ("Jailhouse", "Jailhouse"),
    ("QNXQVMBSQG", "QNX"),
    ("OpenBSDVMM58", "OpenBSD vmm"),
    ("___ NVMM ___", "NVMM"),
    ("Apple VZ", "Apple Virtualization"),
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
    ("cloud-hypervisor", "KVM (Cloud Hypervisor)"),
    ("alibaba cloud ecs", "KVM (Alibaba Cloud)"),
    ("vserver", "KVM"),
    ("bhyve", "bhyve"),
    ("apple virtualization", "Apple Virtualization"),
];

/// The vendor that Rosetta shows to x86 programs, which it translates for the cores of an Apple machine.
const TRANSLATED_BY_ROSETTA: &str = "VirtualApple";

/// Clock sources that only guests have.
const CLOCKS: &[(&str, &str)] =
    &[("kvm-clock", "KVM"), ("hyperv_clocksource", "Hyper-V"), ("xen", "Xen"), ("hyperv", "Hyper-V")];

/// The name of a partition of POWER; captures replace it.
pub(crate) const PARTITION: &str = "proc/device-tree/ibm,partition-name";
/// What s390 says of the machine, and its line of the hypervisor.
pub(crate) const SYSINFO: &str = "proc/sysinfo";
pub(crate) const CONTROL_PROGRAM: &str = "VM00 Control Program";

/// What is between this system and the hardware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hypervisor {
    pub(crate) name: String,
    /// Whether this system is its control domain, which has the firmware's tables of the board.
    pub(crate) sees_board: bool,
}

/// The hypervisor below this system; `None` on bare metal, or if nothing identifies it.
pub(crate) fn hypervisor(
    reader: &Reader<'_>,
    cpu: &CpuModel,
    board: &Identity,
    clocks: &[String],
    signature: Option<&str>,
) -> Option<Hypervisor> {
    let name = control_domain(reader);
    let sees_board = name.is_some();
    let name = name.or_else(|| guest_of(reader, cpu, board, clocks, signature))?;
    Some(Hypervisor { name, sees_board })
}

/// The name of a domain that controls its hypervisor: Xen's has `control_d` among its capabilities, else the feature
/// 11 (`XENFEAT_dom0` of Xen's public header features.h), and a root cell of Jailhouse its driver.
fn control_domain(reader: &Reader<'_>) -> Option<String> {
    const DOM0: u64 = 1 << 11;
    let features = || {
        let text = reader.word("sys/hypervisor/properties/features")?;
        u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
    };
    let can_control = reader.word("proc/xen/capabilities").is_some_and(|text| text.contains("control_d"));
    if can_control || features().is_some_and(|bits| bits & DOM0 != 0) {
        return Some("Xen dom0".to_owned());
    }
    let is_root = reader.word("sys/devices/jailhouse/enabled").is_some_and(|text| text == "1");
    is_root.then(|| "Jailhouse root cell".to_owned())
}

/// The hypervisor that this system is a guest of.
fn guest_of(
    reader: &Reader<'_>,
    cpu: &CpuModel,
    board: &Identity,
    clocks: &[String],
    signature: Option<&str>,
) -> Option<String> {
    if cpu.vendor.as_deref() == Some(TRANSLATED_BY_ROSETTA) {
        return Some("Apple Virtualization (x86 code translated by Rosetta)".to_owned());
    }
    if let Some(signature) = signature.map(|s| s.trim_end_matches('\0')).filter(|s| !s.is_empty()) {
        let words = signature.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = SIGNATURES.iter().find(|(bytes, _)| *bytes == words);
        return Some(
            name.map_or_else(|| format!("hypervisor '{}'", printable(signature)), |(_, name)| (*name).to_owned()),
        );
    }
    let flagged = cpu.flags.iter().any(|flag| flag == "hypervisor");
    let x86 = cpu.flags.iter().any(|flag| flag == "fpu");
    let kernel = || from_kernel(reader);
    let clock = || {
        let has = |name: &str| clocks.iter().any(|clock| clock.starts_with(name));
        CLOCKS.iter().find(|(name, _)| has(name)).map(|(_, hypervisor)| (*hypervisor).to_owned())
    };
    let named = || kernel().or_else(|| from_board(board, x86)).or_else(clock);
    match (x86, flagged) {
        // x86 says so itself, but a hypervisor can hide the flag: then what only guests have shows it.
        (true, false) => kernel().or_else(|| {
            let board = from_board(board, x86).filter(|_| !is_also_bare_metal(board));
            let by_board = board.map(|name| ("the board (/sys/class/dmi/id)", name));
            let (view, name) = by_board.or_else(|| Some(("the clock sources", clock()?)))?;
            let flags = "/proc/cpuinfo, which lacks the flag hypervisor";
            reader.contradict(DisputedFact::Hypervisor, (view, &name), (flags, &"none"));
            Some(name)
        }),
        (true, true) => Some(named().unwrap_or_else(|| "unnamed hypervisor".to_owned())),
        (false, _) => named(),
    }
}

/// The hypervisor that the kernel itself names: Xen's driver, which paravirtual guests without a board have too, the
/// device tree of Arm and POWER, and the machine's own description on s390.
fn from_kernel(reader: &Reader<'_>) -> Option<String> {
    let known = |text: String| {
        let words = [("xen", "Xen"), ("kvm", "KVM"), ("z/VM", "z/VM"), ("KVM/Linux", "KVM")];
        words.iter().find(|(word, _)| text.contains(word)).map(|(_, name)| (*name).to_owned())
    };
    let driver = reader.word("sys/hypervisor/type").filter(|kind| kind != "none");
    driver
        .map(|kind| if kind == "xen" { "Xen".to_owned() } else { kind })
        .or_else(|| reader.word("proc/device-tree/hypervisor/compatible").and_then(known))
        .or_else(|| reader.word(PARTITION).map(|_| "PowerVM".to_owned()))
        .or_else(|| {
            let text = reader.lines(SYSINFO)?;
            text.lines().find(|line| line.starts_with(CONTROL_PROGRAM)).and_then(|line| known(line.to_owned()))
        })
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

/// The user-space kernel of containers.
pub(crate) const GVISOR: &str = "gVisor";

/// The program that answers system calls in place of a Linux kernel, by the release and version that it makes up:
/// gVisor's version has one date on all platforms, later ones name it in the release; WSL 1 has another spelling than
/// the kernel of WSL 2.
pub(crate) fn kernel_program(reader: &Reader<'_>, cpu: &CpuModel, release: Option<&str>) -> Option<String> {
    const GVISOR_VERSION: &str = "#1 SMP Sun Jan 10 15:06:54 PST 2016";
    let release = release.unwrap_or_default();
    let version = reader.word("proc/version").unwrap_or_default();
    let is_uml = [&cpu.vendor, &cpu.name].into_iter().flatten().any(|name| name.contains("User Mode Linux"));
    let signs = [
        (release.contains("gvisor") || version.contains(GVISOR_VERSION), GVISOR),
        (release.ends_with("-Microsoft"), "WSL 1"),
        (version.contains("BrandZ"), "an lx zone of illumos"),
        (version.contains("freebsd"), "FreeBSD's Linux emulation"),
        (is_uml, "User Mode Linux"),
    ];
    signs.into_iter().find(|(is_it, _)| *is_it).map(|(_, name)| name.to_owned())
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
            ("fpu hypervisor", &none, &vec![], Some("bhyve bhyve "), Some("bhyve")),
            ("fpu hypervisor", &none, &vec![], Some(" lrpepyh  vr"), Some("Parallels")),
            ("fpu hypervisor", &board("FreeBSD", "BHYVE"), &vec![], None, Some("bhyve")),
            ("fpu hypervisor", &board("innotek GmbH", "VirtualBox"), &vec![], None, Some("VirtualBox")),
            ("asimd", &board("Hetzner", "vServer"), &vec![], None, Some("KVM")),
            ("fpu", &none, &clocks, None, Some("KVM")),
        ] {
            let found = hypervisor(&reader, &flags(cpu), identity, clocks, signature);
            assert_eq!(found.map(|found| (found.name, found.sees_board)), name.map(|name| (name.to_owned(), false)));
        }
    }

    #[test]
    fn control_domains_and_guests_without_a_board() {
        let found = |files: &[(&str, &str)], cpu: &str| {
            let root = Root::from_files("test", files.iter().copied());
            let found = hypervisor(&Reader::new(&root), &flags(cpu), &Identity::default(), &[], None)?;
            Some((found.name, found.sees_board))
        };
        let named = |name: &str, sees_board| Some((name.to_owned(), sees_board));
        let xen = ("sys/hypervisor/type", "xen\n");
        let by = |path, text| found(&[xen, (path, text)], "fpu hypervisor");
        assert_eq!(by("proc/xen/capabilities", "control_d\n"), named("Xen dom0", true));
        assert_eq!(by("sys/hypervisor/properties/features", "00002ffd\n"), named("Xen dom0", true));
        assert_eq!(by("sys/hypervisor/properties/features", "000026fd\n"), named("Xen", false));
        assert_eq!(by("proc/xen/capabilities", "\n"), named("Xen", false));
        assert_eq!(found(&[xen], "fpu"), named("Xen", false), "a paravirtual guest without the flag");
        assert_eq!(found(&[("sys/devices/jailhouse/enabled", "1\n")], "fpu"), named("Jailhouse root cell", true));
        assert_eq!(found(&[("proc/device-tree/hypervisor/compatible", "linux,kvm\0")], "asimd"), named("KVM", false));
        assert_eq!(found(&[("proc/device-tree/ibm,partition-name", "lpar1\0")], "asimd"), named("PowerVM", false));
        assert_eq!(found(&[("proc/sysinfo", "VM00 Control Program: z/VM 7.3.0\n")], "asimd"), named("z/VM", false));
        assert_eq!(found(&[], "fpu"), None);
    }

    #[test]
    fn x86_code_on_an_apple_machine_is_translated() {
        let root = Root::from_files("test", [("x", "")]);
        let reader = Reader::new(&root);
        let cpu = CpuModel { vendor: Some("VirtualApple".to_owned()), ..flags("fpu sse2") };
        let found = hypervisor(&reader, &cpu, &Identity::default(), &[], None).unwrap();
        assert_eq!(found.name, "Apple Virtualization (x86 code translated by Rosetta)");
        assert!(reader.contradictions().is_empty());
    }

    #[test]
    fn programs_in_place_of_a_kernel() {
        let of = |release: &str, version: &str| {
            let root = Root::from_files("test", [("proc/version", version)]);
            kernel_program(&Reader::new(&root), &CpuModel::default(), Some(release))
        };
        let version = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016";
        assert_eq!(of("4.4.0", version).as_deref(), Some("gVisor"));
        assert_eq!(of("4.19.0-gvisor", "").as_deref(), Some("gVisor"));
        assert_eq!(of("4.4.0-19041-Microsoft", "").as_deref(), Some("WSL 1"));
        assert_eq!(of("5.15.90.1-microsoft-standard-WSL2", "Linux version 5.15.90.1"), None);
        assert_eq!(of("4.4.0-210-generic", "Linux version 4.4.0-210-generic (buildd@lcy01) #242-Ubuntu SMP"), None);
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
