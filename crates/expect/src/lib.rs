//! Judges a saved run by expectations: `read.dram.all >= 0.75 x peak`. Pure: a document in, a document out.
//!
//! [`Expectation::parse`] reads one expectation, [`Expectations::read`] a file of them; [`AUTO`] is the file of built-in rules of
//! thumb. [`Comparison`] is their language, for names of another crate too. [`check`] judges a run. A number that is
//! not known exactly is a range, and ranges are compared: an expectation passes if it holds for the whole range, fails
//! if it holds nowhere in it, and is not judged otherwise. Texts are the same or not.
//!
//! The rules of [`explain`], which name causes, use the same language.

#![forbid(unsafe_code)]

pub mod explain;
mod expression;
mod figures;
mod file;
mod judge;
mod location;
mod missing;
mod names;
mod needs;
mod range;
mod run_values;
mod system;
mod system_name;
mod term;
mod token;

use tiermark_model::{Check, NamedFigure, Run};

pub use expression::{Comparison, Expectation, Named};
pub use file::{Entry, Expectations};
pub use judge::check;
pub use needs::Need;

/// The file of the built-in rules of thumb, each with its source.
pub const AUTO: &str = include_str!("auto.toml");
/// The name of that file among files of expectations.
pub const BUILT_IN: &str = "auto";

/// Judges a run by the built-in rules of thumb.
#[must_use]
pub fn check_by_rules_of_thumb(run: &Run) -> Check {
    // A test reads every rule.
    check("", run, &Expectations::read(BUILT_IN, AUTO).unwrap_or_default(), false)
}

/// Every figure of a run that an expectation can name. If the run does not have a figure, its value is the reason.
#[must_use]
pub fn figures(run: &Run) -> Vec<NamedFigure> {
    run_values::RunValues::of(run).all()
}
