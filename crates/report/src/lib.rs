//! Views of tiermark's documents: pure functions from data to pages. Nothing here reads, writes or measures.

#![forbid(unsafe_code)]

mod c2c;
mod capacity;
mod check;
mod cold;
mod comments;
mod compare;
mod continuous;
mod counter_sources;
mod curve_profile;
mod curves;
mod doctor;
mod explain;
mod findings;
mod header;
mod history;
mod html;
mod json;
mod kernels;
mod ladder;
mod limits;
mod lists;
mod load;
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

pub use capacity::{capacity, capacity_line, numbers as tenants};
pub use check::{check, named_figures};
pub use comments::comments;
pub use compare::{compare, compared_name, family_name};
pub use continuous::{ContinuousRow, Level, Lies, TOLERANCE, continuous};
pub use counter_sources::counter_sources;
pub use curve_profile::curve_profile;
pub use doctor::doctor;
pub use explain::{explain_rules, explanation};
pub use history::{FigureNames, history, history_of_figures, history_unreadable, history_words};
pub use html::{Sheet, html};
pub use json::json;
pub use lists::{
    Equivalent, FigureLine, ProbeLine, RunLine, RunSummary, equivalents, groups, kernels, names, plan_page, primitive,
    primitives, probes, runs, shown_grades, watch_figures,
};
pub use load::{load, load_title, load_warnings, load_workload};
pub use loaded::{MessPoint, curves as loaded_curves};
pub use machine::machine;
pub use matrix::{measured as measured_pair, node as node_of};
pub use page::page;
pub use plan::plan;
pub use redact::{redact, redact_capacity, redact_load, without_commands};
pub use refusals::trouble;
pub use run::{numbers, run};
pub use selftest::{Check, selftest};
pub use survey::{RUN_VIEWS, RunView, run_view, run_view_options};
pub use tuning::{change_rows, tuning};
