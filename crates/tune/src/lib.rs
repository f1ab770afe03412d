//! The system's knobs with values and advice, and a check-up of the machine.
//!
//! Everything is read through a [`Root`](tiermark_machine::Root), so that all of it can be tested on trees of files.
//! Nothing is changed here: [`changes`] says which files are to be written, and [`tiermark_undo::apply`] writes them.

#![forbid(unsafe_code)]

mod advice_input;
mod changes;
mod cpu_use;
mod derived;
pub mod doctor;
mod kconfig;
mod knob;
mod rows;
mod settings;
mod table;

pub use advice_input::AdviceInput;
pub use changes::{changes, services};
pub use derived::{Derived, Fact};
pub use kconfig::KernelConfig;
pub use knob::{Advice, Knob, KnobSource, Profile};
pub use rows::knob_rows;
pub use settings::settings;
pub use table::all as knobs;
