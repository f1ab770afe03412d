//! The answer of a run, before its details: a table in the shape in which it is asked for, and what follows of it.

mod distances;
mod hierarchy;
mod placement;
mod ramps;

use tiermark_model::Run;
use tiermark_page::{Detail, Page};

/// The answers of a run; empty where its details are all there is.
pub(crate) fn answer(run: &Run, detail: Detail) -> Page {
    hierarchy::hierarchy(run)
        + distances::distances(run, detail)
        + ramps::ramps(run, detail)
        + placement::placement(run, detail)
}
