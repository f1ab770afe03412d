//! Every parser of what comes from outside, as a function of bytes.
//!
//! The fuzzer runs them (`fuzz/run`), and the tests of the workspace on the corpora, so that they are built with every
//! change.

mod documents;
mod input;
mod machines;
mod texts;
mod watched;

/// A target by its name.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// Every target. To add one: a function of bytes, and its row.
pub(crate) const TARGETS: [Target; 27] = [
    ("lists", machines::lists),
    ("tree", machines::tree),
    ("smbios", machines::smbios),
    ("capture", machines::capture),
    ("archive", machines::archive),
    ("kconfig", machines::kconfig),
    ("evidence", machines::evidence),
    ("samples", machines::samples),
    ("run", documents::run),
    ("index", documents::index),
    ("journal", documents::journal),
    ("changes", documents::changes),
    ("saved", documents::saved),
    ("fleet", documents::fleet),
    ("recording", documents::recording),
    ("guest", documents::guest),
    ("curves", texts::curves),
    ("plan", texts::plan),
    ("expectations", texts::expectations),
    ("tenants", texts::tenants),
    ("inventory", texts::inventory),
    ("resp", texts::resp),
    ("traffic", texts::traffic),
    ("pcm", texts::pcm),
    ("pcmcsv", texts::pcmcsv),
    ("likwid", texts::likwid),
    ("events", texts::events),
];
