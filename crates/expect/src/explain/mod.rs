//! Explains a saved run: what limits its rates, what its accesses cost, and what is wrong with its machine; of a run of
//! `capacity` or `load` what limited its tenants. Pure: a document in, a document out.
//!
//! A rule is a row of `rules.toml`: a condition in the language of expectations, a sentence, what to try, and the
//! source of its limits. A rule either names an expectation that fails, or compares numbers of a scene: a bandwidth,
//! two that belong together, the channels of a socket, a state of the machine. Only scenes are made in code.

mod boxes;
mod cells;
mod curves;
mod distances;
mod expected;
mod facts;
mod figures;
mod findings;
mod judge;
mod machine;
mod measured;
mod pairs;
mod rules;
mod tenants;

pub use judge::{explain, explain_capacity, explain_load, rests_on_figures, rules};
