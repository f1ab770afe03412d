//! The pages of made documents, and what a redacted copy has left.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod common;
mod html;
mod listings;
mod redact;
mod survey;
mod views;

use tiermark_model::{Machine, Run};
use tiermark_page::{Detail, Style, terminal};

/// The page of a run, as a terminal shows it.
fn page(run: &Run, detail: Detail, style: &Style) -> String {
    terminal(&tiermark_report::run(run, &tiermark_expect::check_by_rules_of_thumb(run), detail), style)
}

/// The page of a machine, as a terminal shows it.
fn machine_page(machine: &Machine, detail: Detail, style: &Style) -> String {
    terminal(&tiermark_report::machine(machine, detail), style)
}
