//! Telling strings that say something from placeholders.

/// Placeholders that firmware writes for unknown values (compared in lower case).
const PLACEHOLDERS: &[&str] = &[
    "",
    "not specified",
    "not available",
    "not provided",
    "unknown",
    "none",
    "n/a",
    "no dimm",
    "undefined",
    "to be filled by o.e.m.",
    "default string",
    "system product name",
    "system manufacturer",
    "0000",
    "jedec id:",
];

/// The trimmed text, unless it is a placeholder.
pub(super) fn meaningful(bytes: &[u8]) -> Option<String> {
    let text: String = bytes.iter().map(|b| if (0x20..0x7f).contains(b) { char::from(*b) } else { ' ' }).collect();
    let text = text.trim();
    (!PLACEHOLDERS.contains(&text.to_ascii_lowercase().as_str())).then(|| text.to_owned())
}
