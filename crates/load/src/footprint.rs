//! How much memory the client itself needs.

use crate::buffers::{MOST_BUFFERED, UNCOUNTED};
use crate::conn::{MOST_UNWRITTEN, Pending};
use crate::workload::Workload;

/// Two distributions of latencies ([`Latencies::ready`](crate::Latencies)), which every tenant has from its start.
const DISTRIBUTIONS: u64 = 2 * (216 << 10);
/// Memory of a connection in the kernel (its socket's buffers grow to some megabytes only where a server does not read)
/// and around its queue.
const CONNECTION: u64 = 64 << 10;
/// Code, stacks of threads, tables of keys, results of earlier trials.
const BASE: u64 = 64 << 20;
/// How much more than usual a client may hold: results of all iterations are kept beside each other, and allocators
/// round up.
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

/// What a client of so many tenants needs for a workload, with so many threads.
pub fn client_bytes(tenants: u64, workload: &Workload, threads: usize) -> ClientBytes {
    let value = workload.value.sizes.largest() as u64;
    let request = workload.largest_request() as u64;
    let queue = (workload.depth * size_of::<Pending>()) as u64;
    // A value that is checked is kept until it is whole.
    let checked = if workload.verify { value + 1 } else { 0 };
    let connections = tenants.saturating_mul(workload.connections as u64);
    // Beyond what all may hold together, each thread may have made one request more.
    let together = (MOST_BUFFERED as u64).saturating_add((threads as u64).saturating_mul(request));
    let buffered = |each: u64| connections.saturating_mul(each.saturating_sub(UNCOUNTED as u64)).min(together);
    let connection = CONNECTION + request.min(UNCOUNTED as u64) + queue + checked;
    let usual = BASE
        .saturating_add(tenants.saturating_mul(DISTRIBUTIONS))
        .saturating_add(connections.saturating_mul(connection))
        .saturating_add(buffered(request));
    let unwritten = buffered(request.saturating_add(MOST_UNWRITTEN as u64));
    let most = usual.saturating_mul(MARGIN).saturating_add(unwritten.saturating_mul(2)).saturating_add(MARGIN_BYTES);
    ClientBytes { usual, most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_needs_half_a_megabyte_a_tenant_and_what_is_under_way() {
        let workload = Workload::default();
        let of = |tenants| client_bytes(tenants, &workload, 1);
        let each = (of(1001).usual - of(1).usual) / 1000;
        assert!((500 << 10..700 << 10).contains(&each), "{each}");
        let large = Workload { value: crate::ValueShape::of(16 << 20, 0.0), ..workload.clone() };
        let more = client_bytes(1, &large, 1);
        assert!(more.usual - of(1).usual == (16 << 20) - 1024 && more.most < 2 << 30, "{more:?}");
        assert_eq!(of(u64::MAX).most, u64::MAX);
    }

    /// A thousand connections of values of 16 MiB: 16 GiB, if each might hold its own at once.
    #[test]
    fn many_connections_share_what_requests_may_take() {
        let value = crate::ValueShape::of(16 << 20, 0.0);
        let many = Workload { value, connections: 1000, depth: 1, ..Workload::default() };
        let of = |workload: &Workload, threads| client_bytes(1, workload, threads);
        let one = of(&many, 1);
        assert!(one.usual < 512 << 20 && one.most < 4 << 30, "{one:?}");
        assert!((32 << 20..34 << 20).contains(&(of(&many, 3).usual - one.usual)));
        // Each may be in the middle of an answer that is kept.
        assert!(of(&Workload { verify: true, ..many }, 1).usual > 16_000 << 20);
    }
}
