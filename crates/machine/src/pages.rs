//! Facts that only system calls give, for captured machines: what the capture states, and what can be inferred.

use tiermark_model::System;
use tiermark_model::messages::machine as messages;

use crate::reader::Reader;

/// Our own captures carry the facts that only system calls give, as `name value` lines.
pub(crate) const FACTS: &str = "tiermark-facts";
/// What archives of hwloc carry of the kind, as `Name: value` lines.
const HWLOC_FACTS: &str = "proc/hwloc-nofile-info";

/// The base page size in bytes: what the capture states, else what the architecture and its huge page size imply.
pub(crate) fn base_page(reader: &Reader<'_>, arch: Option<&str>, system: &System) -> u64 {
    if let Some(bytes) = stated(reader, FACTS, "page_bytes ").or_else(|| stated(reader, HWLOC_FACTS, "PageSize: ")) {
        return bytes;
    }
    match (arch.unwrap_or_default(), system.thp_bytes) {
        ("x86_64" | "i686" | "s390x", _) => 4 << 10,
        // A page of page-table entries (8 bytes each) maps one huge page.
        ("aarch64", Some(0x0020_0000)) => 4 << 10,
        ("aarch64", Some(0x0200_0000)) => 16 << 10,
        ("aarch64", Some(0x2000_0000)) => 64 << 10,
        (arch, _) => {
            reader.refuse(messages::page_size_unknown(Some(arch).filter(|arch| !arch.is_empty())));
            4 << 10
        }
    }
}

/// The architecture that an archive of hwloc states, in the words of `uname -m`.
pub(crate) fn stated_arch(reader: &Reader<'_>) -> Option<String> {
    let text = reader.lines(HWLOC_FACTS)?;
    text.lines().find_map(|line| line.strip_prefix("Architecture: ")).map(|arch| arch.trim().to_owned())
}

/// The CPUID hypervisor signature that a capture states.
pub(crate) fn stated_hypervisor(reader: &Reader<'_>) -> Option<String> {
    let text = reader.lines(FACTS)?;
    text.lines().find_map(|line| line.strip_prefix("hypervisor ")).map(str::to_owned)
}

/// A page size in a file of `name value` lines.
fn stated(reader: &Reader<'_>, path: &str, name: &str) -> Option<u64> {
    let text = reader.lines(path)?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?.trim();
    let bytes = value.parse::<u64>().ok().filter(|b| b.is_power_of_two() && (1 << 10..=1 << 20).contains(b));
    reader.meant(path, value, "is not a page size", bytes)
}
