//! The memory of requests that sockets have not taken yet, of all connections of a run together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that all connections may hold together: what a link of 20 Gbit/s takes in a tenth of a second, after which a
/// thread looks at the latest whether there is room again.
pub(crate) const MOST_BUFFERED: usize = 256 << 20;
/// Bytes that each connection may hold besides, and that are not counted: small requests go to and fro in them.
pub(crate) const UNCOUNTED: usize = 64 << 10;

/// Counts the bytes that the connections of a run hold.
#[derive(Debug, Clone)]
pub(crate) struct Buffers {
    held: Arc<AtomicUsize>,
    most: usize,
}

impl Default for Buffers {
    fn default() -> Self {
        Self::of(MOST_BUFFERED)
    }
}

impl Buffers {
    /// Room for so many bytes.
    pub(crate) fn of(most: usize) -> Self {
        Self { held: Arc::default(), most }
    }

    /// Whether no other request may be made. The last one that was may have gone beyond the limit, in each thread.
    pub(crate) fn are_full(&self) -> bool {
        self.held.load(Ordering::Relaxed) >= self.most
    }

    /// The part of a connection, which holds nothing yet.
    pub(crate) fn share(&self) -> Share {
        Share { all: self.clone(), bytes: 0 }
    }

    /// Bytes that are held.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }
}

/// What one connection holds of them. It is given back with the connection.
#[derive(Debug)]
pub(crate) struct Share {
    all: Buffers,
    bytes: usize,
}

impl Share {
    /// See [`Buffers::are_full`].
    pub(crate) fn is_barred(&self) -> bool {
        self.all.are_full()
    }

    /// The connection has a buffer of so many bytes.
    pub(crate) fn holds(&mut self, bytes: usize) {
        let bytes = bytes.saturating_sub(UNCOUNTED);
        if bytes > self.bytes {
            self.all.held.fetch_add(bytes - self.bytes, Ordering::Relaxed);
        } else if bytes < self.bytes {
            self.all.held.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
    }

    /// Whether a buffer that is empty is to be given back: others want the room. Those that are kept leave half of it
    /// to them.
    pub(crate) fn is_wanted(&self) -> bool {
        self.bytes > 0 && self.all.held.load(Ordering::Relaxed) > self.all.most / 2
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

    #[test]
    fn what_connections_hold_is_counted_once_and_comes_back() {
        let all = Buffers::of(1 << 20);
        let (mut one, mut other) = (all.share(), all.share());
        one.holds(UNCOUNTED);
        assert_eq!((all.held(), one.is_wanted()), (0, false));
        one.holds(UNCOUNTED + (600 << 10));
        other.holds(UNCOUNTED + (500 << 10));
        assert!(all.are_full() && one.is_barred() && other.is_wanted());
        other.holds(UNCOUNTED + 1);
        assert_eq!((all.held(), all.are_full()), ((600 << 10) + 1, false));
        drop(one);
        assert_eq!((all.held(), other.is_wanted()), (1, false), "there is room for it");
        drop(other);
        assert_eq!(all.held(), 0);
    }
}
