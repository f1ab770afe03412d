//! Names that stand in place of names.

use std::hash::Hasher;

use tiermark_model::{HOST_LABEL, RunLabels};

use crate::redact::GONE;

/// Makes pseudonyms: a name has the same one in every document, by the same key. Nobody can test a guess of a name
/// without the key: a plain hash of `node07` would be found in no time.
#[derive(Clone, Copy)]
pub struct Pseudonyms {
    key: [u64; 2],
}

impl Pseudonyms {
    /// Pseudonyms by a key, which is secret.
    pub fn new(key: [u64; 2]) -> Self {
        Self { key }
    }

    /// The pseudonym of a host: `host-3fa29c1b`.
    pub fn host(&self, name: &str) -> String {
        self.of(HOST_LABEL, name)
    }

    /// Gives all labels pseudonyms as values.
    pub(crate) fn labels(&self, labels: &mut RunLabels) {
        labels.iter_mut().for_each(|(key, value)| *value = self.of(key, value));
    }

    /// A label as it was typed (`rack=3`), with a pseudonym as its value.
    pub(crate) fn typed_label(&self, label: &str) -> String {
        label.split_once('=').map_or_else(|| GONE.to_owned(), |(key, value)| format!("{key}={}", self.of(key, value)))
    }

    /// The pseudonym of a name of a kind. What was taken out before has none.
    fn of(&self, kind: &str, name: &str) -> String {
        if name == GONE {
            return GONE.to_owned();
        }
        // The algorithm must stay the same over versions, and depend on a key: `DefaultHasher` promises neither.
        #[expect(deprecated, reason = "SipHash-2-4 with a key, which nothing else in the standard library is")]
        let mut hasher = std::hash::SipHasher::new_with_keys(self.key[0], self.key[1]);
        for part in [kind, name] {
            hasher.write(part.as_bytes());
            hasher.write_u8(0);
        }
        format!("{kind}-{:08x}", hasher.finish() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_pseudonym_by_a_key() {
        let names = Pseudonyms::new([1, 2]);
        // As earlier versions made it: documents that were shared before are compared with later ones.
        assert_eq!(names.host("node07"), "host-9c3c85e4");
        assert_ne!(names.host("node07"), names.host("node08"));
        assert_ne!(names.host("node07"), Pseudonyms::new([1, 3]).host("node07"));
        assert_eq!(names.host(GONE), GONE);
        let mut labels =
            RunLabels::from([("host".to_owned(), "node07".to_owned()), ("rack".to_owned(), "3".to_owned())]);
        names.labels(&mut labels);
        assert_eq!(labels["host"], names.host("node07"));
        assert_eq!(format!("rack={}", labels["rack"]), names.typed_label("rack=3"));
    }
}
