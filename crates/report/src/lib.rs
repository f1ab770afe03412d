//! Views of tiermark's documents: pure functions from data to text. Nothing here reads, writes or measures.

#![forbid(unsafe_code)]

mod c2c;
mod curves;
mod findings;
mod header;
mod json;
mod kernels;
mod ladder;
mod lists;
mod machine;
mod number;
mod plan;
mod plot;
mod reasons;
mod redact;
mod run;
mod selftest;
mod style;
mod table;
mod text;

pub use json::json;
pub use lists::{ProbeLine, about, kernels, probes};
pub use machine::machine;
pub use plan::plan;
pub use redact::redact;
pub use run::{run, trouble};
pub use selftest::{Check, selftest};
pub use style::Style;
