//! Labels that a user gives to a document, and the name of the host that they may hold.

use std::collections::BTreeMap;

use crate::messages::run as says;
use crate::{Machine, Refusal};

/// Labels of a document (`--label rack=7`), by key.
pub type RunLabels = BTreeMap<String, String>;

/// Key of the label that names the host.
pub const HOST_LABEL: &str = "host";

/// Most characters of a key.
const LONGEST_KEY: usize = 64;
/// Most characters of a value.
const LONGEST_VALUE: usize = 200;

/// A label as it is typed: `KEY=VALUE`.
///
/// # Errors
/// A [`Refusal`] of text without `=`, and of a key or a value that no label can have.
pub fn parse_label(text: &str) -> Result<(String, String), Refusal> {
    let (key, value) = text.split_once('=').ok_or_else(|| says::label_without_value(text))?;
    let in_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if key.is_empty() || key.len() > LONGEST_KEY || !key.bytes().all(in_key) {
        return Err(says::label_key(key, LONGEST_KEY));
    }
    if value.is_empty() || value.chars().count() > LONGEST_VALUE || value.chars().any(char::is_control) {
        return Err(says::label_value(key, LONGEST_VALUE));
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// Labels by key.
///
/// # Errors
/// A [`Refusal`] of a key that two labels have.
pub fn labels_by_key(all: impl IntoIterator<Item = (String, String)>) -> Result<RunLabels, Refusal> {
    let mut labels = RunLabels::new();
    for (key, value) in all {
        if labels.contains_key(&key) {
            return Err(says::label_twice(&key));
        }
        labels.insert(key, value);
    }
    Ok(labels)
}

/// The host of a document: its label, else the name that the machine reported; `None` if neither is there.
pub(crate) fn host<'a>(labels: &'a RunLabels, machine: Option<&'a Machine>) -> Option<&'a str> {
    let reported = || machine?.system.hostname.as_deref();
    labels.get(HOST_LABEL).map(String::as_str).or_else(reported).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;

    #[test]
    fn a_label_has_a_key_and_a_value() {
        let owned = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(parse_label("rack=7"), Ok(owned("rack", "7")));
        assert_eq!(parse_label("asset-id.x_1=a = b, ü"), Ok(owned("asset-id.x_1", "a = b, ü")));
        let code = |text: &str| parse_label(text).map_err(|refusal| refusal.code);
        assert_eq!(code("rack"), Err(says::codes::label_without_value));
        let long = "k".repeat(LONGEST_KEY + 1);
        for key in ["", "a b", "ü", "a/b", long.as_str()] {
            assert_eq!(code(&format!("{key}=1")), Err(says::codes::label_key), "{key}");
        }
        let long = "ü".repeat(LONGEST_VALUE + 1);
        for value in ["", "a\nb", "\u{1b}[31m", long.as_str()] {
            assert_eq!(code(&format!("rack={value}")), Err(says::codes::label_value), "{value}");
        }
        assert!(parse_label(&format!("{}={}", "k".repeat(LONGEST_KEY), "ü".repeat(LONGEST_VALUE))).is_ok());
        let twice = labels_by_key([owned("rack", "7"), owned("rack", "7")]).map_err(|refusal| refusal.code);
        assert_eq!(twice, Err(says::codes::label_twice));
    }

    #[test]
    fn the_label_is_the_host_before_the_name_that_the_machine_reports() {
        let mut run = Run::default();
        assert_eq!(run.host(), None);
        run.machine.system.hostname = Some("localhost".into());
        assert_eq!(run.host(), Some("localhost"));
        run.labels.insert(HOST_LABEL.into(), "node07".into());
        assert_eq!(run.host(), Some("node07"));
    }
}
