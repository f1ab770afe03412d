//! One fuzzer for all parsers of what comes from outside; `TARGET` in the environment names one of [`TARGETS`].

#![no_main]

mod documents;
mod input;
mod machines;
mod texts;

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

/// A target by its name.
type Target = (&'static str, fn(&[u8]));

/// Every target. To add one: a function of bytes, and its row.
const TARGETS: [Target; 17] = [
    ("lists", machines::lists),
    ("tree", machines::tree),
    ("smbios", machines::smbios),
    ("capture", machines::capture),
    ("archive", machines::archive),
    ("kconfig", machines::kconfig),
    ("evidence", machines::evidence),
    ("run", documents::run),
    ("journal", documents::journal),
    ("changes", documents::changes),
    ("saved", documents::saved),
    ("guest", documents::guest),
    ("curves", texts::curves),
    ("plan", texts::plan),
    ("tenants", texts::tenants),
    ("resp", texts::resp),
    ("traffic", texts::traffic),
];

static CHOSEN: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("TARGET").unwrap_or_default();
    let known = || TARGETS.map(|(name, _)| name).join(", ");
    TARGETS.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("TARGET is one of {}", known())).1
});

fuzz_target!(|bytes: &[u8]| CHOSEN(bytes));
