//! Freed memory from 16 MiB on, kept mapped for the next regions.
//!
//! A host that gives a guest memory only when it is touched takes 3 to 4 s for each GiB (KVM, host pages of 4 KiB), and
//! takes back what the guest frees: memory that stays mapped is there at once.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tiermark_engine::admit::Fresh;
use tiermark_model::{IdSet, MemPolicy, PageKind};
use tiermark_system::{Keeper, Mapping};

use super::Order;

/// Least bytes to keep. Smaller memory is quick to make, and each allocation of it needs different pages: their
/// addresses matter in caches.
const LEAST: usize = 16 << 20;

/// Properties that two regions must share for one to get the other's memory: page size and node.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kind {
    page: PageKind,
    node: IdSet,
}

impl Kind {
    /// `None` if smaller than [`LEAST`] or spread over nodes: such a region is mapped anew.
    fn of(order: &Order<'_>, len: usize) -> Option<Self> {
        let is_simple = order.setup.policy == MemPolicy::Bind && order.target.len() < 2 && len >= LEAST;
        is_simple.then(|| Self { page: order.setup.page, node: order.target.clone() })
    }
}

#[derive(Debug, Default)]
struct Inventory {
    spare: Vec<(Kind, Mapping)>,
    /// Memory in use, by address: bytes, and the kind under which it is kept afterwards.
    lent: BTreeMap<usize, (Kind, usize)>,
    /// Bytes of spare memory given to regions so far.
    reused: u64,
    /// Set when the kernel has refused to split memory: before Linux 5.7, and in some sandboxes.
    cannot_split: bool,
}

impl Inventory {
    fn spare_bytes(&self) -> usize {
        self.spare.iter().map(|(_, mapping)| mapping.bytes()).sum()
    }

    fn bytes(&self) -> usize {
        self.spare_bytes() + self.lent.values().map(|(_, len)| *len).sum::<usize>()
    }

    /// Unmaps spare memory, the oldest first, until so many bytes more stay within the limit.
    fn make_room(&mut self, bytes: usize, most: usize) {
        while !self.spare.is_empty() && self.bytes().saturating_add(bytes) > most {
            self.spare.remove(0);
        }
    }

    /// The smallest spare mapping of `kind` that fits: whole, or its last `len` bytes.
    fn take(&mut self, kind: &Kind, len: usize, align: usize) -> Option<Mapping> {
        let fits = |whole: usize| if self.cannot_split { whole == len } else { whole >= len };
        let fitting = self.spare.iter().enumerate().filter(|(_, (of, spare))| of == kind && fits(spare.bytes()));
        let (at, whole) = fitting.map(|(at, (_, spare))| (at, spare.bytes())).min_by_key(|(_, whole)| *whole)?;
        if whole == len {
            return Some(self.spare.remove(at).1);
        }
        let Ok(mapping) = self.spare[at].1.split_off(len, align) else {
            self.cannot_split = true;
            return None;
        };
        if whole - len < LEAST {
            self.spare.remove(at);
        }
        Some(mapping)
    }
}

/// Memory of regions that are gone.
#[derive(Debug)]
pub(crate) struct Stock {
    inventory: Mutex<Inventory>,
    /// Limit on bytes in use plus spare; bytes in use alone may exceed it.
    most: usize,
    this: Weak<Stock>,
}

impl Stock {
    /// An empty stock.
    pub(crate) fn new(most: u64) -> Arc<Self> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Arc::new_cyclic(|this| Self { inventory: Mutex::default(), most, this: Weak::clone(this) })
    }

    /// Memory for a region: from the stock where it has some, else new, for which spare memory makes room.
    pub(super) fn mapping(
        &self,
        order: &Order<'_>,
        len: usize,
        align: usize,
        new: impl Fn() -> io::Result<Mapping>,
    ) -> io::Result<Mapping> {
        let mut inventory = self.inventory();
        if let Some(mapping) = Kind::of(order, len).and_then(|kind| inventory.take(&kind, len, align)) {
            inventory.reused += len as u64;
            return Ok(mapping);
        }
        inventory.make_room(len, self.most);
        new().or_else(|error| {
            // Address space or the commit limit may be short.
            if inventory.spare.is_empty() {
                return Err(error);
            }
            inventory.spare.clear();
            new()
        })
    }

    /// Has a mapping come back when it is not used any more, if it is one to keep.
    pub(super) fn lend(&self, order: &Order<'_>, mapping: &mut Mapping) {
        let Some(kind) = Kind::of(order, mapping.bytes()) else { return };
        self.inventory().lent.insert(mapping.address(), (kind, mapping.bytes()));
        let this: Weak<dyn Keeper> = Weak::<Self>::clone(&self.this);
        mapping.kept_by(this);
    }

    /// Bytes of spare memory given to regions so far.
    pub(crate) fn reused_bytes(&self) -> u64 {
        self.inventory().reused
    }

    /// Counts spare memory as free, which it is for the next region.
    pub(crate) fn add_to(&self, fresh: &mut Fresh) {
        let inventory = self.inventory();
        let spare = inventory.spare_bytes() as u64;
        fresh.available = fresh.available.map(|bytes| bytes.saturating_add(spare));
        fresh.address_space = fresh.address_space.map(|bytes| bytes.saturating_add(spare));
        fresh.group = fresh.group.take().map(|(bytes, path)| (bytes.saturating_add(spare), path));
        for (kind, mapping) in &inventory.spare {
            for node in kind.node.iter() {
                fresh.nodes.entry(node).and_modify(|bytes| *bytes = bytes.saturating_add(mapping.bytes() as u64));
            }
        }
    }

    /// Unmaps all memory that no region uses.
    pub(crate) fn clear(&self) {
        self.inventory().spare.clear();
    }

    fn inventory(&self) -> MutexGuard<'_, Inventory> {
        // Whole also after a panic under the lock: each change is one call.
        self.inventory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeper for Stock {
    fn keep(&self, mapping: Mapping, is_spoilt: bool) {
        let mut inventory = self.inventory();
        if let Some((kind, _)) = inventory.lent.remove(&mapping.address()).filter(|_| !is_spoilt) {
            // No step uses the memory now: the kernel may swap it.
            mapping.unlock();
            inventory.spare.push((kind, mapping));
            inventory.make_room(0, self.most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{ChainLayout, Layout, Machine, testing};

    use crate::region::{Region, page_size};

    fn region(stock: &Arc<Stock>, bytes: usize, page: PageKind) -> Region {
        let setup = testing::region(bytes as u64, page, Layout::Chain(ChainLayout::Random));
        let order = Order { setup: &setup, target: IdSet::new(), streams: 1, note: None, offset: 0 };
        Region::map(&order, &Machine::default(), Some(stock)).unwrap()
    }

    fn spare(stock: &Stock) -> Vec<usize> {
        let mut sizes: Vec<usize> = stock.inventory().spare.iter().map(|(_, mapping)| mapping.bytes()).collect();
        sizes.sort_unstable();
        sizes
    }

    /// The contents survive: pages are moved, and none is made.
    #[test]
    fn memory_that_was_given_back_is_split_and_keeps_its_pages() {
        let stock = Stock::new(u64::MAX);
        drop((region(&stock, 2 * LEAST, PageKind::Base), region(&stock, LEAST, PageKind::Base)));
        drop(region(&stock, LEAST + 4096, PageKind::Base));
        if stock.inventory().cannot_split {
            return;
        }
        stock.clear();
        let first = region(&stock, 4 * LEAST, PageKind::Base);
        first.mapping.fill(3 * LEAST, LEAST, |words| words.fill(7));
        drop(first);
        assert_eq!(spare(&stock), [4 * LEAST]);
        let reused = stock.reused_bytes();
        let second = region(&stock, LEAST, PageKind::Base);
        assert_eq!(second.mapping.fill(0, LEAST, |words| words.iter().filter(|word| **word == 7).count()), LEAST / 8);
        assert_eq!((spare(&stock), stock.reused_bytes() - reused), (vec![3 * LEAST], LEAST as u64));
        // The remainder can be used as well, and both parts merge again.
        let third = region(&stock, 3 * LEAST, PageKind::Base);
        third.mapping.fill(0, 3 * LEAST, |words| words.fill(1));
        drop((second, third));
        assert_eq!(spare(&stock), [LEAST, 3 * LEAST]);
        stock.clear();
        assert_eq!(stock.inventory().bytes(), 0);
    }

    #[test]
    fn pages_of_another_size_small_memory_and_a_rest_too_small_stay_out() {
        let stock = Stock::new(u64::MAX);
        let page = page_size(PageKind::Base, &Machine::default());
        drop(region(&stock, LEAST + page, PageKind::Base));
        drop(region(&stock, LEAST, PageKind::Thp));
        drop(region(&stock, LEAST / 2, PageKind::Base));
        assert_eq!(spare(&stock), [LEAST, LEAST + page]);
        let again = region(&stock, LEAST, PageKind::Base);
        if !stock.inventory().cannot_split {
            drop(again);
            assert_eq!(spare(&stock), [LEAST, LEAST], "the page left over is unmapped");
        }
    }

    #[test]
    fn no_more_is_kept_than_may_be() {
        let stock = Stock::new(5 * LEAST as u64);
        drop(region(&stock, 3 * LEAST, PageKind::Base));
        let other = region(&stock, 3 * LEAST, PageKind::Thp);
        assert_eq!((spare(&stock), stock.inventory().bytes()), (vec![], 3 * LEAST));
        drop(other);
        // A piece larger than the limit of the stock is not kept, nor is one with wrong pages.
        drop(region(&stock, 6 * LEAST, PageKind::Base));
        assert!(spare(&stock).is_empty());
        let spoilt = region(&stock, LEAST, PageKind::Base);
        spoilt.mapping.spoil();
        drop(spoilt);
        assert_eq!(stock.inventory().bytes(), 0);
        // Spare memory counts as free.
        let other = region(&stock, LEAST, PageKind::Base);
        drop(region(&stock, 2 * LEAST, PageKind::Thp));
        let mut fresh = Fresh { available: Some(1), ..Fresh::default() };
        stock.add_to(&mut fresh);
        assert_eq!(fresh.available, Some(2 * LEAST as u64 + 1));
        // A region outlives the host.
        drop(stock);
        drop(other);
    }
}
