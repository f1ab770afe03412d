//! Timed loops as data: the work of each, declared beside its instructions.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Name of a kernel: operation, slash, variant (`read/avx512`, `write.nt/sse2`, `fill.rep/stosb`). Shared: a plan for
/// thousands of threads has several for each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct KernelId(pub Arc<str>);

impl KernelId {
    /// The operation: what comes before the slash.
    pub fn op(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(op, _)| op)
    }

    /// The variant: what comes after the slash.
    pub fn variant(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, variant)| variant)
    }
}

impl fmt::Display for KernelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl From<&str> for KernelId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

/// Instruction set a kernel is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Isa {
    /// Rust, compiled for the baseline; the oracle of the others.
    Portable,
    /// x86-64 general registers and string instructions.
    X86,
    /// x86-64 128-bit vectors.
    Sse2,
    /// x86-64 256-bit vectors.
    Avx2,
    /// x86-64 512-bit vectors.
    Avx512,
    /// aarch64 general registers and `dc zva`.
    Arm64,
    /// aarch64 128-bit vectors.
    Neon,
    /// aarch64 scalable vectors.
    Sve,
}

/// How a kernel's stores reach memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// No stores.
    None,
    /// Ordinary stores: a line not owned is read before it is written, unless the core elides that.
    Cached,
    /// Non-temporal stores: lines go out whole, not read first.
    NonTemporal,
    /// String or zeroing instructions (`rep stosb`, `rep movsb`, `dc zva`, `clzero`): the core chooses the protocol.
    Block,
}

/// How a kernel walks memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Rising addresses.
    Sequential,
    /// Lines in the order of a proven permutation.
    Random,
}

/// Properties of a kernel, as declared; tests compare its instructions with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelInfo {
    /// As `--op` takes it: `read/avx2`.
    pub id: KernelId,
    /// Instruction set.
    pub isa: Isa,
    /// How it walks memory.
    pub pattern: Pattern,
    /// Arrays it walks at once (read 1, copy 2, triad 3).
    pub streams: u8,
    /// Load instructions of the measured memory in one iteration of the loop.
    pub loads: u16,
    /// Store instructions in one iteration of the loop.
    pub stores: u16,
    /// Bytes of each stream that one iteration covers.
    pub unroll_bytes: u32,
    /// How stores reach memory.
    pub store_kind: StoreKind,
    /// Useful bytes read for every 64-byte line of span (0, 8, 64, 128).
    pub read_per_line: u16,
    /// Useful bytes written for every 64-byte line of span.
    pub write_per_line: u16,
    /// Whether it can store nothing but zeros (`clzero`, `dc zva`).
    #[serde(default)]
    pub zeros_only: bool,
    /// Whether it is the plain form of its operation (one stream, no software prefetch) for its ISA.
    pub plain: bool,
    /// One line for people.
    pub doc: String,
}

impl KernelInfo {
    /// Useful bytes (read + written) for every byte of span.
    pub fn useful_per_byte(&self) -> f64 {
        f64::from(self.read_per_line + self.write_per_line) / 64.0
    }

    /// Bytes of whole lines for each useful byte: 8 where it loads 8 bytes of each line.
    pub fn lines_for_each_byte(&self) -> f64 {
        (f64::from(self.streams) / self.useful_per_byte()).max(1.0)
    }

    /// Bytes that memory reads, and bytes that it writes, for each useful byte of data that no cache holds: whole
    /// lines, and with ordinary stores the line that is read before it is written.
    pub fn traffic(&self) -> (f64, f64) {
        let line = |bytes: u16| if bytes == 0 { 0.0 } else { f64::from(bytes.max(64)) };
        let (read, written) = (line(self.read_per_line), line(self.write_per_line));
        let useful = f64::from(self.read_per_line + self.write_per_line).max(1.0);
        // One stream that is read and written is updated in place: its reads are the lines it writes.
        let in_place = self.streams == 1 && self.read_per_line > 0;
        let owned = if self.store_kind == StoreKind::Cached && !in_place { written } else { 0.0 };
        ((read + owned) / useful, written / useful)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_stores_cost_a_read_and_a_write() {
        let kernel = |streams, read_per_line, write_per_line, store_kind| {
            KernelInfo {
                id: "k/k".into(),
                isa: Isa::Avx2,
                pattern: Pattern::Sequential,
                streams,
                loads: 0,
                stores: 0,
                unroll_bytes: 64,
                store_kind,
                read_per_line,
                write_per_line,
                zeros_only: false,
                plain: true,
                doc: String::new(),
            }
            .traffic()
        };
        assert_eq!(kernel(1, 64, 0, StoreKind::None), (1.0, 0.0));
        assert_eq!(kernel(1, 0, 64, StoreKind::Cached), (1.0, 1.0));
        assert_eq!(kernel(1, 0, 64, StoreKind::NonTemporal), (0.0, 1.0));
        assert_eq!(kernel(2, 64, 64, StoreKind::Cached), (1.0, 0.5));
        assert_eq!(kernel(1, 64, 64, StoreKind::Cached), (0.5, 0.5));
        assert_eq!(kernel(1, 8, 0, StoreKind::None), (8.0, 0.0));
    }
}
