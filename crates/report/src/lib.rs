//! Views of tiermark's documents: pure functions from data to pages. Nothing here reads, writes or measures.

#![forbid(unsafe_code)]

mod c2c;
mod cold;
mod comments;
mod continuous;
mod counter_sources;
mod curve_profile;
mod curves;
mod doctor;
mod expectation;
mod findings;
mod header;
mod json;
mod kernels;
mod ladder;
mod limits;
mod lists;
mod loaded;
mod machine;
mod matrix;
mod order;
mod os;
mod page;
mod parts;
mod phrases;
mod pivot;
mod plan;
mod points;
mod published;
mod reasons;
mod redact;
mod refusals;
mod remark;
mod residency;
mod run;
mod scan;
mod selection;
mod selftest;
mod shapes;
mod shown;
mod steps;
mod survey;
mod tally;
mod traffic;
mod tuning;

pub use comments::comments;
pub use continuous::{ContinuousRow, Level, Lies, TOLERANCE, continuous};
pub use counter_sources::counter_sources;
pub use curve_profile::curve_profile;
pub use doctor::doctor;
pub use expectation::{checked_number, judged_expectation};
pub use findings::words as label_words;
pub use header::{counts as machine_counts, machine_line};
pub use json::json;
pub use lists::{
    Equivalent, FigureLine, ProbeLine, RunLine, RunSummary, equivalents, groups, kernels, names, plan_page, primitive,
    primitives, probes, runs, shown_grades, watch_figures,
};
pub use loaded::{MessPoint, curves as loaded_curves};
pub use machine::{contradictions, kinds_of_modules, machine};
pub use matrix::{measured as measured_pair, node as node_of};
pub use order::grouped;
pub use page::page;
pub use plan::plan;
pub use redact::{GONE, redact, redact_capacity, redact_load, without_commands};
pub use refusals::trouble;
pub use run::{numbers, rules, run};
pub use selftest::{Check, selftest};
pub use survey::{RUN_VIEWS, RunView, figure_name, run_view, run_view_options};
pub use tuning::{change_rows, tuning};
