//! One fuzzer for all parsers of what comes from outside; `TARGET` in the environment names one of [`TARGETS`].

#![no_main]

// As the tests of the workspace have it: its modules then lie beside it.
#[path = "targets.rs"]
mod targets;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use targets::TARGETS;

static CHOSEN: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("TARGET").unwrap_or_default();
    let known = || TARGETS.map(|(name, _)| name).join(", ");
    TARGETS.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("TARGET is one of {}", known())).1
});

fuzz_target!(|bytes: &[u8]| CHOSEN(bytes));
