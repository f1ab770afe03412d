//! Which labels: what words, comparisons and copies have or leave out.

use super::{Key, Labels};

/// Some of the labels, each named by its accessor: `LabelSet::NONE.op().page()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelSet(u64);

impl LabelSet {
    /// No label.
    pub const NONE: Self = Self(0);

    /// One label.
    pub(crate) const fn of(key: Key) -> Self {
        Self(1 << key as u64)
    }

    /// The labels of both.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// The same, with the labels of others only if they are meant.
    #[must_use]
    pub const fn and_if(self, is_meant: bool, others: Self) -> Self {
        if is_meant { self.and(others) } else { self }
    }

    /// The labels that are not among others.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether a label is among them by its name in documents.
    #[must_use]
    pub fn has_name(self, name: &str) -> bool {
        Key::named(name).is_some_and(|key| self.has(key))
    }

    pub(super) const fn has(self, key: Key) -> bool {
        self.0 & Self::of(key).0 != 0
    }

    /// The labels that are the same in some measurements, or missing in all of them.
    #[must_use]
    pub fn shared<'a>(among: impl IntoIterator<Item = &'a Labels>) -> Self {
        let among: Vec<&Labels> = among.into_iter().collect();
        let is_shared = |key: Key| among.windows(2).all(|pair| pair[0].label(key) == pair[1].label(key));
        Key::ALL.iter().fold(Self::NONE, |shared, key| shared.and_if(is_shared(*key), Self::of(*key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_some_measurements_share_is_the_same_in_all_or_missing() {
        let read = Labels::new().with_op("read").with_page("thp").with_threads(1);
        let write = Labels::new().with_op("write").with_page("thp");
        let shared = LabelSet::shared([&read, &write]);
        assert_eq!(read.clone().only(shared), Labels::new().with_page("thp"));
        assert!(shared.has_name("node") && !shared.has_name("op") && !shared.has_name("threads"));
        assert_eq!(read.clone().without(LabelSet::NONE.op().threads()), read.only(shared));
    }
}
