//! The memory of requests that sockets have not taken yet, of all connections of a run together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that all connections may hold together: what a link of 20 Gbit/s takes in a tenth of a second, after which a
/// thread looks at the latest whether there is room again.
pub(crate) const MOST_BUFFERED: usize = 256 << 20;
/// Bytes that each connection may hold besides, and that are not counted: small requests go to and fro in them.
pub(crate) const UNCOUNTED: usize = 64 << 10;

/// Counts the bytes that the connections of a run hold. Half of the room belongs to the tenants in equal parts, so that
/// servers that read nothing leave the others theirs; the other half is for whoever needs it.
#[derive(Debug, Clone)]
pub(crate) struct Buffers {
    /// Bytes that tenants hold beyond their own parts.
    common: Arc<AtomicUsize>,
    most_common: usize,
    /// Bytes that each tenant may hold, whatever others do.
    own: usize,
}

impl Buffers {
    /// Room for the requests of so many tenants.
    pub(crate) fn new(tenants: usize) -> Self {
        Self::of(MOST_BUFFERED, tenants)
    }

    /// Room for so many bytes, of so many tenants.
    pub(crate) fn of(most: usize, tenants: usize) -> Self {
        let own = most / 2 / tenants.max(1);
        Self { common: Arc::default(), most_common: most - own * tenants, own }
    }

    /// The part of a tenant whose largest request takes so many bytes.
    pub(crate) fn part(&self, request: usize) -> Part {
        Part { all: self.clone(), held: Arc::default(), request }
    }

    fn beyond_own(&self, bytes: usize) -> usize {
        bytes.saturating_sub(self.own)
    }
}

/// What a tenant may hold of them.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    all: Buffers,
    /// Bytes that its connections hold.
    held: Arc<AtomicUsize>,
    request: usize,
}

impl Part {
    /// The share of a connection, which holds nothing yet.
    pub(crate) fn share(&self) -> Share {
        Share { part: self.clone(), bytes: 0 }
    }

    /// Whether so many bytes more may be taken: of its own, or while the common room is not full. The last request that
    /// was made there may have gone beyond its limit, in each thread.
    fn has_room_for(&self, more: usize) -> bool {
        self.held() + more <= self.all.own || self.all.common.load(Ordering::Relaxed) < self.all.most_common
    }

    /// Whether another request finds no room.
    pub(crate) fn is_full(&self) -> bool {
        !self.has_room_for(self.request.saturating_sub(UNCOUNTED))
    }

    /// Whether it holds all that is its own: it waits for its own server, and not for those of others.
    pub(crate) fn is_used_up(&self) -> bool {
        self.held() >= self.all.own
    }

    /// Bytes that it holds.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }
}

/// What one connection holds of them. It is given back with the connection.
#[derive(Debug)]
pub(crate) struct Share {
    part: Part,
    bytes: usize,
}

impl Share {
    /// The part of its tenant.
    pub(crate) fn part(&self) -> &Part {
        &self.part
    }

    /// Whether a request more in a buffer would take memory that it may not take.
    pub(crate) fn is_barred(&self, length: usize, capacity: usize) -> bool {
        let needed = length + self.part.request;
        // A buffer that grows becomes twice as large at least.
        let grown = if needed > capacity { needed.max(2 * capacity) } else { capacity };
        let more = grown.saturating_sub(UNCOUNTED).saturating_sub(self.bytes);
        more > 0 && !self.part.has_room_for(more)
    }

    /// The connection has a buffer of so many bytes.
    pub(crate) fn holds(&mut self, bytes: usize) {
        let bytes = bytes.saturating_sub(UNCOUNTED);
        let all = &self.part.all;
        // One thread serves a tenant: nobody else changes what it holds.
        let before = self.part.held();
        let after = before - self.bytes + bytes;
        self.part.held.store(after, Ordering::Relaxed);
        let (was, is) = (all.beyond_own(before), all.beyond_own(after));
        if is > was {
            all.common.fetch_add(is - was, Ordering::Relaxed);
        } else if is < was {
            all.common.fetch_sub(was - is, Ordering::Relaxed);
        }
        self.bytes = bytes;
    }

    /// Whether a buffer that is empty is to be given back: others want the room. Those that are kept leave half of it
    /// to them.
    pub(crate) fn is_wanted(&self) -> bool {
        let all = &self.part.all;
        self.bytes > 0 && all.common.load(Ordering::Relaxed) > all.most_common / 2
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.holds(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1 << 10;

    /// A tenant of requests of 100 KiB, and a connection that holds so many KiB of what is counted.
    fn holding(all: &Buffers, kib: usize) -> Share {
        let mut share = all.part(100 * KIB).share();
        share.holds(UNCOUNTED + kib * KIB);
        share
    }

    #[test]
    fn what_connections_hold_is_counted_once_and_comes_back() {
        // 256 KiB of its own for each tenant, 512 for both.
        let all = Buffers::of(1 << 20, 2);
        let common = || all.common.load(Ordering::Relaxed) / KIB;
        let (mut one, mut other) = (holding(&all, 0), holding(&all, 200));
        assert_eq!((one.part.held(), other.part.held(), common(), one.is_wanted()), (0, 200 * KIB, 0, false));
        one.holds(UNCOUNTED + 600 * KIB);
        assert_eq!((common(), one.is_wanted()), (344, true));
        other.holds(UNCOUNTED + 500 * KIB);
        assert_eq!((common(), one.part.is_full(), other.is_wanted()), (588, true, true));
        other.holds(UNCOUNTED + 1);
        assert_eq!((common(), one.part.is_full(), one.part.is_used_up()), (344, false, true));
        drop(one);
        assert_eq!((common(), other.is_wanted(), other.part.held()), (0, false, 1), "there is room for it");
    }

    #[test]
    fn what_others_hold_leaves_a_tenant_its_own() {
        let all = Buffers::of(1 << 20, 2);
        let (greedy, mut modest) = (holding(&all, 256 + 512), holding(&all, 0));
        let full = UNCOUNTED + (256 + 512) * KIB;
        assert!(greedy.is_barred(full, full) && greedy.part.is_used_up());
        // Two requests of 100 KiB are within its 256, three are not.
        assert!(!modest.is_barred(100 * KIB, 100 * KIB) && !modest.part.is_full());
        modest.holds(UNCOUNTED + 240 * KIB);
        assert!(modest.is_barred(304 * KIB, 304 * KIB) && modest.part.is_full() && !modest.part.is_used_up());
        assert!(!modest.is_barred(0, 304 * KIB), "there is room in what it holds");
        drop(greedy);
        assert!(!modest.is_barred(304 * KIB, 304 * KIB));
    }
}
