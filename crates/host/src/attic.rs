//! Memory of earlier allocations, kept for a while so that the next one gets other physical pages.
//!
//! A kernel hands out first what was given back last: without this, "fresh" allocations of one step would all be the same
//! pages, and what differs between pages (which channel, which node of the host below a guest) would never show.

use std::collections::VecDeque;
use std::sync::Arc;

use tiermark_model::PageKind;

use crate::region::Region;
use crate::sys::Advice;

/// Regions kept, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Attic {
    kept: VecDeque<Arc<Region>>,
    /// Bytes kept at most.
    most: usize,
}

impl Attic {
    pub(crate) fn new(most: usize) -> Self {
        Self { kept: VecDeque::new(), most }
    }

    /// Takes regions over; the oldest go when there are too many. Reserved huge pages are too scarce to be kept.
    pub(crate) fn keep(&mut self, regions: Vec<Arc<Region>>) {
        for region in &regions {
            // A fork copies the tables of all memory: what is kept here would be measured as if it belonged to the step that forks.
            let _ = region.mapping.advise(Advice::DontFork);
        }
        self.kept.extend(regions.into_iter().filter(|region| !matches!(region.page, PageKind::Huge(_))));
        while self.bytes() > self.most {
            self.kept.pop_front();
        }
    }

    /// Gives everything back.
    pub(crate) fn clear(&mut self) {
        self.kept.clear();
    }

    fn bytes(&self) -> usize {
        self.kept.iter().map(|region| region.mapping.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Bytes, IdSet, Layout, Machine, MemPolicy, RegionSetup};

    use crate::region::Order;

    #[test]
    fn what_is_kept_is_no_part_of_children() {
        let setup = RegionSetup {
            bytes: Bytes(1 << 20),
            policy: MemPolicy::Bind,
            nodes: IdSet::new(),
            page: PageKind::Base,
            layout: Layout::Data,
        };
        let order = Order { setup: &setup, target: IdSet::new(), streams: 1, note: None };
        let region = Arc::new(Region::map(&order, &Machine::default()).unwrap());
        let (start, end) = (region.mapping.address(), region.mapping.address() + region.mapping.len());
        // The guard below, the memory, the guard above: whether children have them.
        let inherited = || {
            let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let areas = [format!("-{start:x} "), format!("{start:x}-"), format!("{end:x}-")];
            areas.map(|area| {
                let from = maps.lines().position(|line| line.contains(&area) && !line.starts_with("VmFlags")).unwrap();
                let flags = maps.lines().skip(from).find(|line| line.starts_with("VmFlags:")).unwrap();
                !flags.contains(" dc")
            })
        };
        assert_eq!(inherited(), [true; 3]);
        let mut attic = Attic::new(1 << 30);
        attic.keep(vec![region]);
        assert_eq!(inherited(), [false; 3]);
    }
}
