//! Views of what the program can do and will do, and of the system's settings: plans, lists, pages of help, check-ups.
//! Pure functions from documents to pages.

mod comments;
mod counter_sources;
mod doctor;
mod lists;
mod page;
mod plan;
mod selftest;
mod tuning;

pub use comments::comments;
pub use counter_sources::counter_sources;
pub use doctor::doctor;
pub use lists::{
    Equivalent, ProbeLine, RunLine, equivalents, groups, kernels, names, plan_page, primitive, primitives, probes, runs,
};
pub use page::page;
pub use plan::plan;
pub use selftest::{Check, continuous, selftest};
pub use tuning::{change_rows, tuning};
