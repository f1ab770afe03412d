//! The document as JSON.

use tiermark_model::Run;

/// The run as one indented JSON document, with a newline at its end.
pub fn json(run: &Run) -> String {
    // A run is plain data with text keys, which always serialises; the error is still worth showing rather than hiding.
    let text = tiermark_model::indented(run);
    let mut text = text.unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }).to_string());
    text.push('\n');
    text
}
