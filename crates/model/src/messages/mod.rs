//! Refusals, warnings and notes, with their data and their sentences.
//!
//! A row has a name (the code that documents keep), the data, and its sentences: `"…"` is a format string over the
//! data, `{ … }` an expression. The macro makes a function of it with one argument for each datum. Documents keep the
//! code, the data and the sentences. The rows of one subject are in one module, so that its messages can be read
//! together.

mod in_unit;
mod rows;

use crate::refusal::Note;
use crate::units::RateUnit;

pub mod active;
pub mod capacity;
pub mod check;
pub mod counters;
pub mod curve_profile;
pub mod documents;
pub mod explain;
pub mod files;
pub mod fleet;
pub mod health;
pub mod load;
pub mod machine;
pub mod memory;
pub mod plan;
pub mod rules;
pub mod run;
pub mod scan;
pub mod scenario;
mod server_errors;
pub mod setup;
pub mod shapes;
pub mod soak;
pub mod subprocess;
pub mod system;
pub mod tenants;
pub mod tiers;
pub mod trials;
pub mod undo;

/// The cure where a file of this user cannot be written.
const HOME: &str = "free space there, or set TIERMARK_HOME to a directory that can be written";

/// All codes there are. Each names one message.
pub const CODES: &[&[crate::Code]] = &[
    active::codes::ALL,
    capacity::codes::ALL,
    check::codes::ALL,
    counters::codes::ALL,
    documents::codes::ALL,
    explain::codes::ALL,
    files::codes::ALL,
    fleet::codes::ALL,
    health::codes::ALL,
    machine::codes::ALL,
    load::codes::ALL,
    memory::codes::ALL,
    curve_profile::codes::ALL,
    plan::codes::ALL,
    rules::codes::ALL,
    run::codes::ALL,
    scan::codes::ALL,
    scenario::codes::ALL,
    setup::codes::ALL,
    shapes::codes::ALL,
    soak::codes::ALL,
    subprocess::codes::ALL,
    system::codes::ALL,
    tenants::codes::ALL,
    tiers::codes::ALL,
    trials::codes::ALL,
    undo::codes::ALL,
];

impl Note {
    /// The sentence with its rates in `unit`. A note whose data do not fit the current message keeps its sentence.
    pub fn in_unit(&self, unit: RateUnit) -> String {
        let rooms = [memory::in_unit, shapes::in_unit, counters::in_unit, curve_profile::in_unit, scan::in_unit];
        let other = || rooms.iter().find_map(|room| room(self, unit));
        (unit != RateUnit::Si).then(other).flatten().unwrap_or_else(|| self.text.clone())
    }

    /// The sentences of these notes in one line, with semicolons between them and rates in a unit.
    pub fn joined(notes: &[Self], unit: RateUnit) -> String {
        notes.iter().map(|note| note.in_unit(unit)).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_code_names_one_message() {
        let all: Vec<&str> = CODES.iter().flat_map(|room| room.iter()).map(crate::Code::as_str).collect();
        let known: BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(known.len(), all.len(), "{all:?}");
    }

    #[test]
    fn documents_keep_code_data_and_sentences() {
        let refusal = run::curve_point_skipped("read/64K");
        let document = serde_json::to_value(&refusal).unwrap();
        assert_eq!(document["code"], "curve_point_skipped");
        assert_eq!(document["data"]["step"], "read/64K");
        assert_eq!(document["what"], "read/64K");
        assert_eq!(serde_json::from_value::<crate::Refusal>(document).unwrap(), refusal);
    }
}
