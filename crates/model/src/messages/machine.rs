//! The description of a machine: files that cannot be read or parsed.

use super::rows::messages;
use crate::units::Bytes;

const MODULES: &str = "memory modules (SMBIOS)";
const TREATED_AS_ABSENT: &str = "check the file; it is treated as absent";

messages! {
    Refusal file_denied(path: &str, error: &str):
        "{path}", "{error}", "run as root to read the file";

    Refusal file_unreadable(path: &str, error: &str):
        "{path}", "{error}", "";

    /// A file of every kernel that is missing, is empty, or lacks what it always has.
    Refusal file_without(path: &str, what: &str) options ["--capture"]:
        "{path}", "the file is missing, or has no {what}", "mount /proc, or capture the machine again: tiermark \
            machine --capture";

    /// A file whose text the kernel would not write there; `text` is its beginning.
    Refusal file_malformed(path: &str, text: &str, problem: &str):
        "{path}", "'{text}' {problem}", { TREATED_AS_ABSENT };

    Refusal file_unusable(error: &str):
        "a file of this machine", "{error}", "it is treated as absent";

    Refusal more_files_unusable(count: usize):
        "{count} more files of this machine", "they cannot be read or make no sense", "check the tree; they are \
            treated as absent";

    Refusal caches_not_described(directory: &str):
        "cache sizes and sharing", "the kernel describes no cache in {directory}/cpu*/cache",
        "the firmware (ACPI PPTT or device tree) must describe them; latency steps still show them when measured";

    Refusal last_cache_size_unknown(level: u8):
        "the size of L{level}", "neither the kernel nor /proc/cpuinfo states a possible size",
        "DRAM is measured over 512 MiB or more if that much memory is free; the latency curve of `tiermark latency` \
            shows the size";

    Refusal last_cache_not_described(level: u8):
        "caches behind L{level}", "the kernel describes no such cache, but there may be one, as on many Arm servers \
            and in guests",
        "DRAM is measured over 512 MiB or more if that much memory is free; the latency curve of `tiermark latency` \
            shows the size";

    Refusal ways_unknown(level: u8, ways: u32, sets: u32, line: u32, size: Bytes):
        "the ways of L{level}", "{ways} ways x {sets} sets x {line} bytes are not its {size}",
        "the ways are left out; `tiermark geometry` measures those of a core's own caches";

    Refusal node_huge_pages_unknown():
        "huge page pools of each node", "the kernel reports only the totals of the machine", "the totals are shown \
            with the first node";

    /// Control groups above those that are mounted here.
    Refusal limits_above_unseen(memory: bool, quota: bool) options ["--max-mem"]:
        {
            let of = [(memory, "memory"), (quota, "cpu time")].into_iter().filter(|(unseen, _)| *unseen);
            format!("{} limits of parent control groups", of.map(|(_, of)| of).collect::<Vec<_>>().join(" and "))
        },
        "only a part of the hierarchy is mounted here",
        "read them on the host, or set --max-mem below the limit of the job or pod";

    /// The control domain of a hypervisor.
    Refusal domain_is_a_part(name: &str):
        "all cpus and memory of the machine", "this system is {name}, which sees only its own cpus and memory; the listed modules are those of the whole machine",
        "the hypervisor's own tool shows them (Xen: xl info)";

    /// A program in place of the Linux kernel.
    Refusal kernel_is_program(name: &str):
        "the Linux kernel", "{name} answers system calls in its place, and makes up what it shows of the machine",
        "figures of `os` are those of {name}: run outside of it to measure the kernel";

    Refusal modules_not_described(path: &str):
        { MODULES }, "there is no {path}, as in many virtual machines and on boards without SMBIOS",
        "no action is needed; the theoretical peak is not reported";

    Refusal modules_unreadable(path: &str, error: &str):
        { MODULES }, "{path}: {error}", "run `tiermark machine` as root once";

    Refusal modules_cut_off(path: &str):
        { MODULES }, "{path} breaks off in the middle", "update the firmware; the modules before the break are left \
            out, for others may be behind it";

    Refusal modules_malformed(path: &str, error: &str):
        { MODULES }, "{path}: {error}", { TREATED_AS_ABSENT };

    Refusal modules_made_up(hypervisor: &str):
        "the theoretical peak of the memory channels", "the memory modules of a {hypervisor} guest are its \
            hypervisor's invention",
        "run `tiermark machine` on the host; shares of the peak are left out";

    Refusal peak_unknown():
        "the theoretical peak of the memory channels", "not every memory module states its speed, as on virtual boards",
        "shares of the peak are left out";

    /// A tree that states no base page size, of an architecture that has several; without the architecture where that
    /// is unknown too.
    Refusal page_size_unknown(architecture: Option<&str>) options ["--capture"]:
        "the base page size",
        {
            match architecture {
                None => "no file states it, nor the architecture".to_owned(),
                Some(architecture) => format!("no file states it, and {architecture} has several"),
            }
        },
        "4 KiB is assumed; a capture by `tiermark machine --capture` states it";

    Note memory_offline(node: u32, bytes: Bytes):
        "{bytes} of node {node}";

    /// What brings such memory online. `chmem` counts in MiB where it is given no unit. The kernel takes a block offline
    /// for errors of its memory only where an administrator or a service tells it to.
    Note memory_online_cure(bytes: u64):
        {
            format!(
                "look at the blocks with `lsmem`, then bring them online: sudo chmem -e {}M, unless they were taken \
                    offline because of memory errors",
                bytes >> 20
            )
        };

    Refusal disk_unknown(device: &str, present: &[String]) options ["--device"]:
        "the device '{device}'",
        {
            let present = if present.is_empty() { "none".to_owned() } else { present.join(", ") };
            format!("this system has no block device of that name; it has {present}")
        },
        "name a block device with --device, as vda or /dev/disk/by-id/NAME";
}
