//! Reads recorded windows.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use tiermark_model::Visits;
use tiermark_stats::{Side, VisitWindows};

/// Visits of a step from which it counts: the figures of a survey have 48 to 72, the points of a curve 8.
const VISITS: usize = 40;

/// The visits of a run: by cell, with the side that disturbance cannot reach.
pub(crate) type Cells = BTreeMap<String, (Side, Vec<VisitWindows>)>;

pub(crate) fn read(file: &str) -> Cells {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let document: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    let experiments = document["experiments"].as_array().into_iter().flatten();
    let mut cells = Cells::new();
    for step in experiments.flat_map(|experiment| experiment["observations"].as_array().into_iter().flatten()) {
        let Ok(visits) = serde_json::from_value::<Visits>(step["visits"].clone()) else { continue };
        if visits.len() < VISITS {
            continue;
        }
        let side = if step["metric"] == "latency" { Side::Low } else { Side::High };
        let of_visit = |visit: tiermark_model::Visit| {
            let clean = visit.windows.iter().filter(|window| window.clean);
            VisitWindows { at: visit.at, values: clean.filter_map(tiermark_model::Window::value).collect() }
        };
        let name = step["step"].as_str().unwrap_or_default().to_owned();
        cells.insert(name, (side, visits.list.into_iter().map(of_visit).collect()));
    }
    cells
}
