//! How much memory the client itself needs.

use crate::conn::{MOST_UNWRITTEN, Pending};
use crate::workload::Workload;

/// Two distributions of latencies ([`Latencies::ready`](crate::Latencies)), which every tenant has from its start.
const DISTRIBUTIONS: u64 = 2 * (216 << 10);
/// Memory of a connection in the kernel (its socket's buffers grow to some megabytes only where a server does not read)
/// and around its queue.
const CONNECTION: u64 = 64 << 10;
/// Code, stacks of threads, tables of keys, results of earlier trials.
const BASE: u64 = 64 << 20;
/// How much more than usual a client may hold: results of all iterations are kept beside each other, and allocators round up.
const MARGIN: u64 = 4;
/// Beside that whatever the number of tenants: images of guests are made in memory.
const MARGIN_BYTES: u64 = 1 << 30;

/// Memory of a client, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientBytes {
    /// Memory that it needs while servers answer.
    pub usual: u64,
    /// Memory that it never exceeds, even with servers that read nothing; more is a defect.
    pub most: u64,
}

/// Memory that a client of so many tenants needs for a workload.
#[must_use]
pub fn client_bytes(tenants: u64, workload: &Workload) -> ClientBytes {
    let request = workload.value.bytes as u64 + workload.key_prefix.len() as u64 + 64;
    let queue = (workload.depth * size_of::<Pending>()) as u64;
    let connection = CONNECTION.saturating_add(request).saturating_add(queue);
    let connections = tenants.saturating_mul(workload.connections as u64);
    let usual = BASE
        .saturating_add(tenants.saturating_mul(DISTRIBUTIONS))
        .saturating_add(connections.saturating_mul(connection));
    let unwritten = connections.saturating_mul(request.saturating_add(MOST_UNWRITTEN as u64));
    let most = usual.saturating_mul(MARGIN).saturating_add(unwritten.saturating_mul(2)).saturating_add(MARGIN_BYTES);
    ClientBytes { usual, most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_needs_half_a_megabyte_a_tenant_and_what_is_under_way() {
        let workload = Workload::default();
        let of = |tenants| client_bytes(tenants, &workload);
        let each = (of(1001).usual - of(1).usual) / 1000;
        assert!((500 << 10..700 << 10).contains(&each), "{each}");
        let large = Workload { value: crate::ValueShape { bytes: 16 << 20, compressible: 0.0 }, ..workload.clone() };
        let more = client_bytes(1, &large);
        assert!(more.usual - of(1).usual == (16 << 20) - 1024 && more.most < 2 << 30, "{more:?}");
        assert_eq!(of(u64::MAX).most, u64::MAX);
    }
}
