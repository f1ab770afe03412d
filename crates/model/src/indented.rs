//! Documents as text for people.

use serde::Serialize;

/// A document as indented JSON. It is written once without spaces and then laid out, so that the program holds the code
/// that writes each type only once.
///
/// # Errors
/// What JSON does not have.
pub fn indented(document: &impl Serialize) -> serde_json::Result<String> {
    let written = serde_json::to_vec(document)?;
    let mut out = Vec::with_capacity(written.len() * 2);
    let mut from = serde_json::Deserializer::from_slice(&written);
    serde_transcode::transcode(&mut from, &mut serde_json::Serializer::pretty(&mut out))?;
    String::from_utf8(out).map_err(serde::ser::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_is_what_serde_writes_with_spaces() {
        let document = json!({
            "z": [1, -2, 0.1, 1e300, 5e-324, 1.0, u64::MAX, i64::MIN, null, true],
            "a": { "empty": {}, "list": [], "text": "é\n\"\u{1f}" },
        });
        assert_eq!(indented(&document).unwrap(), serde_json::to_string_pretty(&document).unwrap());
    }
}
