//! The description of a machine: files that cannot be read or parsed.

use super::rows::messages;
use crate::units::Bytes;

const MODULES: &str = "memory modules (SMBIOS)";
const TREATED_AS_ABSENT: &str = "check the file; it is treated as absent";

messages! {
    /// A file that this user may not read.
    Refusal file_denied(path: &str, error: &str):
        "{path}", "{error}", "run as root to read the file";

    /// A file that cannot be read for another reason.
    Refusal file_unreadable(path: &str, error: &str):
        "{path}", "{error}", "";

    /// A file of every kernel that is missing, is empty, or lacks what it always has.
    Refusal file_without(path: &str, what: &str):
        "{path}", "the file is missing, or has no {what}", "mount /proc, or capture the machine again: tiermark \
            machine --capture";

    /// A file whose text the kernel would not write there; `text` is its beginning.
    Refusal file_malformed(path: &str, text: &str, problem: &str):
        "{path}", "'{text}' {problem}", { TREATED_AS_ABSENT };

    /// A file that is too large for a machine's description, or a directory that is not such a tree.
    Refusal file_unusable(error: &str):
        "a file of this machine", "{error}", "it is treated as absent";

    /// Files beyond those that are named one by one.
    Refusal more_files_unusable(count: usize):
        "{count} more files of this machine", "they cannot be read or make no sense", "check the tree; they are \
            treated as absent";

    /// A kernel that describes no cache.
    Refusal caches_not_described(directory: &str):
        "cache sizes and sharing", "the kernel describes no cache in {directory}/cpu*/cache",
        "the firmware (ACPI PPTT or device tree) must describe them; latency steps still show them when measured";

    /// A last-level cache without a size, or with an impossible one.
    Refusal last_cache_size_unknown(level: u8):
        "the size of L{level}", "neither the kernel nor /proc/cpuinfo states a possible size",
        "DRAM is measured over 512 MiB or more if that much memory is free; the latency curve of `tiermark latency` \
            shows the size";

    /// A processor whose last cache that is described is a core's own.
    Refusal last_cache_not_described(level: u8):
        "caches behind L{level}", "the kernel describes no such cache, but there may be one, as on many Arm servers \
            and in guests",
        "DRAM is measured over 512 MiB or more if that much memory is free; the latency curve of `tiermark latency` \
            shows the size";

    /// Ways, sets and lines of a cache that do not multiply to its size.
    Refusal ways_unknown(level: u8, ways: u32, sets: u32, line: u32, size: Bytes):
        "the ways of L{level}", "{ways} ways x {sets} sets x {line} bytes are not its {size}",
        "the ways are left out; `tiermark geometry` measures those of a core's own caches";

    /// Huge pages of several nodes of which only the sum is known.
    Refusal node_huge_pages_unknown():
        "huge page pools of each node", "the kernel reports only the totals of the machine", "the totals are shown \
            with the first node";

    /// A machine without an SMBIOS table.
    Refusal modules_not_described(path: &str):
        { MODULES }, "there is no {path}, as in many virtual machines and on boards without SMBIOS",
        "no action is needed; the theoretical peak is not reported";

    /// An SMBIOS table that this user may not read.
    Refusal modules_unreadable(path: &str, error: &str):
        { MODULES }, "{path}: {error}", "run `tiermark machine` as root once";

    /// An SMBIOS table that ends too early.
    Refusal modules_cut_off(path: &str):
        { MODULES }, "{path} breaks off in the middle", "update the firmware; the modules before the break are left \
            out, for others may be behind it";

    /// A file that is not a well-formed SMBIOS table.
    Refusal modules_malformed(path: &str, error: &str):
        { MODULES }, "{path}: {error}", { TREATED_AS_ABSENT };

    /// Memory modules of a guest.
    Refusal modules_made_up(hypervisor: &str):
        "the theoretical peak of the memory channels", "the memory modules of a {hypervisor} guest are its \
            hypervisor's invention",
        "run `tiermark machine` on the host; shares of the peak are left out";

    /// Memory modules without a speed.
    Refusal peak_unknown():
        "the theoretical peak of the memory channels", "not every memory module states its speed, as on virtual boards",
        "shares of the peak are left out";

    /// A tree that states no base page size, of an architecture that has several; without the architecture where that
    /// is unknown too.
    Refusal page_size_unknown(architecture: Option<&str>):
        "the base page size",
        {
            match architecture {
                None => "no file states it, nor the architecture".to_owned(),
                Some(architecture) => format!("no file states it, and {architecture} has several"),
            }
        },
        "4 KiB is assumed; a capture by `tiermark machine --capture` states it";

    /// Memory of a node in blocks that are offline.
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

    /// A block device that this system does not have.
    Refusal disk_unknown(device: &str, present: &[String]):
        "the device '{device}'",
        {
            let present = if present.is_empty() { "none".to_owned() } else { present.join(", ") };
            format!("this system has no block device of that name; it has {present}")
        },
        "name a block device with --device, as vda or /dev/disk/by-id/NAME";
}
