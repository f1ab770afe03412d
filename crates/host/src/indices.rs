//! Orders in which memory is walked: built once, kept for the next allocation.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tiermark_kernels::layout::{LayoutError, cycle, places};
use tiermark_model::messages::setup as says;
use tiermark_model::{ChainLayout, Refusal};
use tiermark_system::LineOrder;

use crate::region::{Region, stop_refusal};

/// Indices kept from one allocation to the next: 256 MiB of them cover 4 GiB of lines.
const CACHE_MOST: usize = 256 << 20;

/// The parameters of a cycle: layout, nodes, page bytes, seed.
type CycleKey = (ChainLayout, usize, usize, u64);

/// The last cycle and the last line order that were built: the next allocation of a step needs the same.
#[derive(Debug, Default)]
pub(crate) struct Indices {
    cycle: Option<(CycleKey, Arc<Vec<u32>>)>,
    order: Option<((usize, u64), LineOrder)>,
}

impl Indices {
    /// The cycle of a chain region, built where it is not the last one.
    ///
    /// # Errors
    /// [`LayoutError::Stopped`] when the user stopped it, or why the region has no such cycle.
    pub(crate) fn cycle(
        &mut self,
        chain: ChainLayout,
        region: &Region,
        seed: u64,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Arc<Vec<u32>>, LayoutError> {
        let nodes = places(chain, region.bytes)?;
        let key = (chain, nodes, region.page_bytes, seed);
        if let Some((_, next)) = self.cycle.as_ref().filter(|(have, _)| *have == key) {
            return Ok(Arc::clone(next));
        }
        // Given back before the next is built.
        self.cycle = None;
        let next = Arc::new(cycle(chain, nodes, region.page_bytes, seed, stopped)?);
        if size_of_val(next.as_slice()) <= CACHE_MOST {
            self.cycle = Some((key, Arc::clone(&next)));
        }
        Ok(next)
    }

    /// The order of so many lines, built where it is not the last one.
    ///
    /// # Errors
    /// A [`Refusal`] when the user stopped the run, or the order cannot be made.
    pub(crate) fn order(&mut self, lines: usize, seed: u64, stopped: &dyn Fn() -> bool) -> Result<LineOrder, Refusal> {
        let key = (lines, seed);
        if let Some((_, order)) = self.order.as_ref().filter(|(have, _)| *have == key) {
            return Ok(order.clone());
        }
        self.order = None;
        let refused = |why: String| {
            let real = || says::line_order_refused(&why);
            if stopped() { stop_refusal() } else { real() }
        };
        let order = LineOrder::new(lines, seed, stopped).map_err(refused)?;
        if lines * size_of::<u32>() <= CACHE_MOST {
            self.order = Some((key, order.clone()));
        }
        Ok(order)
    }
}

/// The indices, also after a panic of a thread that held them.
pub(crate) fn indices(shared: &Mutex<Indices>) -> MutexGuard<'_, Indices> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
