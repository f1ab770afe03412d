//! A complete run, with a value in every field.

use tiermark_model::Run;

pub(crate) fn example_run() -> Run {
    tiermark_history::parse(include_bytes!("../../fixtures/run-4-whole.json"), "the example").unwrap()
}
