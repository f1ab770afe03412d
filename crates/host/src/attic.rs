//! Memory of earlier allocations, kept for a while so that the next one gets other physical pages.
//!
//! A kernel hands out first what was given back last: without this, "fresh" allocations of one step would all be the same
//! pages, and what differs between pages (which channel, which node of the host below a guest) would never show.

use std::collections::VecDeque;
use std::sync::Arc;

use tiermark_model::PageKind;

use crate::region::Region;

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
