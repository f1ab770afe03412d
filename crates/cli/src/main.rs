//! The program `tiermark`: everything is in the library of this crate, where fuzzing reaches it too.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    tiermark_cli::main()
}
