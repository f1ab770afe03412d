//! Views of tiermark's documents: pure functions from data to pages. Nothing here reads, writes or measures.
//!
//! Views of runs and machines stand at the root; those of [`judgements`], [`listings`] and tenants ([`tenant_views`])
//! in modules of their own. [`html`] makes pages for a browser, [`redact`] copies of documents without the names in them.

#![forbid(unsafe_code)]

mod answer;
mod c2c;
mod cold;
mod curve_profile;
mod curves;
mod expectation;
mod findings;
mod header;
pub mod html;
pub mod judgements;
mod kernels;
mod ladder;
mod limits;
pub mod listings;
mod loaded;
mod machine;
mod matrix;
mod order;
mod os;
mod parts;
mod phrases;
mod pivot;
mod points;
mod published;
mod reasons;
pub mod redact;
mod refusals;
mod remark;
mod residency;
mod run;
mod scan;
mod selection;
mod shapes;
mod shown;
mod sizes;
mod soak;
mod steps;
mod summary;
mod survey;
mod tally;
pub mod tenant_views;
mod time_spent;
mod traffic;

pub use curve_profile::curve_profile;
pub(crate) use expectation::found_places;
pub use expectation::{checked_number, judged_expectation};
pub use header::{counts as machine_counts, labels_line, machine_line};
pub use ladder::rows_so_far;
pub use loaded::curves as loaded_curves;
pub use machine::{contradictions, kinds_of_modules, machine};
pub use order::grouped;
pub use refusals::trouble;
pub use remark::notes as notes_text;
pub use run::{numbers, rules, run};
pub use summary::{RunSummary, shown_grades};
pub use survey::{RUN_VIEWS, RunView, figure_name, run_view, run_view_options, verdict};
