//! Large memory that was given back, kept for the regions that are mapped next.
//!
//! A host that gives a guest memory only when it is touched takes 3 to 4 s for each GiB (KVM, host pages of 4 KiB), and takes back what the
//! guest frees: memory that stays mapped is there at once.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tiermark_model::{IdSet, MemPolicy, PageKind};

use super::Order;
use crate::sys::{Keeper, Mapping};

/// Memory from this size on. Smaller memory is soon made, and each allocation of it shall be of other pages: where they lie matters in caches.
const LEAST: usize = 16 << 20;

/// What two regions must have in common for one to get the other's memory: pages of one size, from one node.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kind {
    page: PageKind,
    node: IdSet,
}

impl Kind {
    /// `None` where pages lie on several nodes by a rule: each such region is laid out anew.
    fn of(order: &Order<'_>, len: usize) -> Option<Self> {
        let is_simple = order.setup.policy == MemPolicy::Bind && order.target.len() < 2 && len >= LEAST;
        is_simple.then(|| Self { page: order.setup.page, node: order.target.clone() })
    }
}

#[derive(Debug, Default)]
struct Inventory {
    spare: Vec<(Kind, Mapping)>,
    /// What is in use, by address.
    lent: BTreeMap<usize, (Kind, usize)>,
}

impl Inventory {
    /// Bytes in use and spare.
    fn bytes(&self) -> usize {
        let spare = self.spare.iter().map(|(_, mapping)| mapping.len());
        self.lent.values().map(|(_, len)| *len).chain(spare).sum()
    }

    /// The smallest spare mapping that has as much of that kind, or its end.
    fn take(&mut self, kind: &Kind, len: usize, align: usize) -> Option<Mapping> {
        let fitting = self.spare.iter().enumerate().filter(|(_, (of, spare))| of == kind && spare.len() >= len);
        let (at, whole) = fitting.map(|(at, (_, spare))| (at, spare.len())).min_by_key(|(_, whole)| *whole)?;
        if whole == len {
            return Some(self.spare.swap_remove(at).1);
        }
        let Ok(mapping) = self.spare[at].1.split_off(len, align) else {
            // A kernel that cannot split memory will not do so next time either.
            self.spare.clear();
            return None;
        };
        if whole - len < LEAST {
            self.spare.swap_remove(at);
        }
        Some(mapping)
    }
}

/// Memory of regions that are gone.
#[derive(Debug)]
pub(crate) struct Stock {
    inventory: Mutex<Inventory>,
    /// Bytes in use and spare at most, except that a region may be larger.
    most: usize,
    this: Weak<Stock>,
}

impl Stock {
    /// An empty stock.
    pub(crate) fn new(most: u64) -> Arc<Self> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Arc::new_cyclic(|this| Self { inventory: Mutex::default(), most, this: Weak::clone(this) })
    }

    /// Memory for a region: from the stock where it has some, else mapped anew.
    pub(super) fn mapping(&self, order: &Order<'_>, len: usize, align: usize) -> io::Result<Mapping> {
        let Some(kind) = Kind::of(order, len) else { return Mapping::reserve(len, align) };
        let mut inventory = self.inventory();
        let mut mapping = match inventory.take(&kind, len, align) {
            Some(mapping) => mapping,
            None => {
                if inventory.bytes().saturating_add(len) > self.most {
                    inventory.spare.clear();
                }
                Mapping::reserve(len, align)?
            }
        };
        inventory.lent.insert(mapping.address(), (kind, len));
        let this: Weak<dyn Keeper> = Weak::<Self>::clone(&self.this);
        mapping.kept_by(this);
        Ok(mapping)
    }

    /// Unmaps all that nobody uses.
    pub(crate) fn clear(&self) {
        self.inventory().spare.clear();
    }

    fn inventory(&self) -> MutexGuard<'_, Inventory> {
        // Whole also after a panic under the lock: each change is one call.
        self.inventory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeper for Stock {
    fn keep(&self, mapping: Mapping) {
        let mut inventory = self.inventory();
        if let Some((kind, _)) = inventory.lent.remove(&mapping.address()) {
            inventory.spare.push((kind, mapping));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Bytes, ChainLayout, Layout, Machine, RegionSetup};

    use crate::region::{Region, page_size};

    fn region(stock: &Arc<Stock>, bytes: usize, page: PageKind) -> Region {
        let setup = RegionSetup {
            bytes: Bytes(bytes as u64),
            policy: MemPolicy::Bind,
            nodes: IdSet::new(),
            page,
            layout: Layout::Chain(ChainLayout::Random),
        };
        let order = Order { setup: &setup, target: IdSet::new(), streams: 1, note: None };
        Region::map(&order, &Machine::default(), Some(stock)).unwrap()
    }

    fn spare(stock: &Stock) -> Vec<usize> {
        let mut sizes: Vec<usize> = stock.inventory().spare.iter().map(|(_, mapping)| mapping.len()).collect();
        sizes.sort_unstable();
        sizes
    }

    /// What was written is still there: pages are moved, and none is made.
    #[test]
    fn memory_that_was_given_back_is_split_and_keeps_its_pages() {
        let stock = Stock::new(u64::MAX);
        let first = region(&stock, 4 * LEAST, PageKind::Base);
        first.mapping.fill(3 * LEAST, LEAST, |words| words.fill(7));
        drop(first);
        assert_eq!(spare(&stock), [4 * LEAST]);
        let second = region(&stock, LEAST, PageKind::Base);
        assert_eq!(second.mapping.fill(0, LEAST, |words| words.iter().filter(|word| **word == 7).count()), LEAST / 8);
        assert_eq!(spare(&stock), [3 * LEAST]);
        // What is left can be used as well, and both come back whole.
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
        drop(region(&stock, LEAST, PageKind::Base));
        assert_eq!(spare(&stock), [LEAST, LEAST], "the page left over is unmapped");
    }

    #[test]
    fn no_more_is_kept_than_may_be() {
        let stock = Stock::new(5 * LEAST as u64);
        drop(region(&stock, 3 * LEAST, PageKind::Base));
        let other = region(&stock, 3 * LEAST, PageKind::Thp);
        assert_eq!((spare(&stock), stock.inventory().bytes()), (vec![], 3 * LEAST));
        // A region outlives the host.
        drop(stock);
        drop(other);
    }
}
