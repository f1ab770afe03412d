//! Labels in words, as every report has them.

use super::{Key, Label, LabelSet, Labels};
use crate::purpose::Purpose;
use crate::setup::ChainLayout;
use crate::units::Bytes;

/// What people name first comes first; the rest follows by name.
const FIRST: [Key; 12] = [
    Key::Tier,
    Key::Node,
    Key::Size,
    Key::Mix,
    Key::Op,
    Key::Place,
    Key::Relation,
    Key::From,
    Key::To,
    Key::Layout,
    Key::Kernel,
    Key::Page,
];
/// The labels that are amounts of memory.
const BYTES: LabelSet = LabelSet::NONE.size().resident().capacity().working_set().after();
/// The labels whose name comes before their value.
const NAMED: LabelSet = LabelSet::NONE.node().nodes().cpus().from().weights().against().to();

impl Labels {
    /// All labels but some, in words.
    #[must_use]
    pub fn words(&self, without: LabelSet) -> String {
        self.worded(without, true)
    }

    /// Some labels in words.
    #[must_use]
    pub fn words_of(&self, labels: LabelSet) -> String {
        self.clone().only(labels).words(LabelSet::NONE)
    }

    /// All labels but some, without a mark where the prefetcher takes part.
    #[must_use]
    pub fn words_unmarked(&self, without: LabelSet) -> String {
        self.worded(without, false)
    }

    fn worded(&self, without: LabelSet, mark_prefetched: bool) -> String {
        let without = without.and(self.implied(without));
        let all = self.iter().map(|(name, label)| (Key::named(name), label));
        let mut shown: Vec<(Option<Key>, &Label)> =
            all.filter(|(key, _)| !key.is_some_and(|key| without.has(key))).collect();
        shown.sort_by_key(|(key, _)| FIRST.iter().position(|first| Some(*first) == *key).unwrap_or(FIRST.len()));
        let is_of_shape = self.is_for(Purpose::Shape);
        let words = shown.into_iter().map(|(key, label)| match (key, label) {
            (Some(Key::Layout), Label::Text(layout)) if is_of_shape => made_up(layout),
            (Some(Key::Layout), Label::Text(layout)) if mark_prefetched => marked(layout),
            (Some(key), _) => worded(key, label),
            (None, Label::Text(text)) => text.clone(),
            (None, Label::Whole(n)) => n.to_string(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Labels that others say, where those are not left out.
    fn implied(&self, without: LabelSet) -> LabelSet {
        // A kernel's name begins with its operation.
        let kernel_op = self.kernel().and_then(|kernel| kernel.split_once('/')).map(|(op, _)| op);
        let in_kernel = !without.has(Key::Kernel) && kernel_op.is_some() && self.op() == kernel_op;
        // Some tiers are named after their node.
        let in_tier = self.tier_says_node() && !without.has(Key::Tier);
        // `write of zeros` says so.
        let in_op = self.op().zip(self.data()).is_some_and(|(op, data)| op.ends_with(data));
        // The name of a primitive implies its group, and its numbers imply that it is one.
        (LabelSet::NONE.group().and_if(self.group().is_some(), LabelSet::NONE.purpose()))
            .and_if(in_kernel, LabelSet::NONE.op())
            .and_if(in_tier, LabelSet::NONE.node())
            .and_if(in_op, LabelSet::NONE.data())
            // Both cpus are named.
            .and_if(self.to_cpu().is_some(), LabelSet::NONE.cpus())
    }
}

/// A label in words.
fn worded(key: Key, label: &Label) -> String {
    let text = match label {
        Label::Text(text) => text.clone(),
        Label::Whole(n) if BYTES.has(key) => Bytes(*n).to_string(),
        Label::Whole(n) => n.to_string(),
    };
    match (key, label) {
        (Key::Threads, Label::Whole(1)) => "1 thread".to_owned(),
        (Key::Threads, _) => format!("{text} threads"),
        (Key::Chains, Label::Whole(1)) => "1 chain".to_owned(),
        (Key::Chains, _) => format!("{text} chains"),
        (Key::Pairs, Label::Whole(1)) => "1 pair".to_owned(),
        (Key::Pairs, _) => format!("{text} pairs"),
        (Key::Resident, _) => format!("{text} resident"),
        (Key::Capacity, _) => format!("holding {text}"),
        (Key::WorkingSet, _) => format!("on {text}"),
        (Key::After, _) => format!("after {text} of other memory"),
        (Key::Count | Key::PairsAll, _) => format!("of {text}"),
        (Key::Region, _) => format!("region {text}"),
        (Key::Reads, _) => format!("{text} % reads"),
        (Key::Remote, _) => format!("{text} % remote"),
        (Key::Pause, _) => format!("pause {text} ns"),
        (Key::Used, _) => format!("used {text}"),
        (Key::Wait, Label::Whole(ns)) => format!("after {}", milliseconds(*ns as f64)),
        (Key::From, Label::Whole(_)) => format!("cpu {text}"),
        _ if NAMED.has(key) => format!("{} {text}", key.name()),
        _ => text,
    }
}

/// A layout, with a mark where the prefetcher takes part: its numbers must not be read as the latency of memory.
fn marked(layout: &str) -> String {
    let is_prefetched = layout.parse().is_ok_and(ChainLayout::is_prefetched);
    if is_prefetched { format!("{layout} prefetch-assisted") } else { layout.to_owned() }
}

/// A layout that only a search for a shape uses (`scatter:2101312`), by its description.
fn made_up(layout: &str) -> String {
    match layout.parse() {
        Ok(ChainLayout::Scatter(step)) => format!("one line every {}, in random order", Bytes(step)),
        Ok(ChainLayout::Pair(block)) => format!("pairs of lines {} apart", Bytes(block)),
        _ => layout.to_owned(),
    }
}

/// A time in ms with as many digits as are needed.
#[must_use]
pub fn milliseconds(ns: f64) -> String {
    let ms = ns / 1e6;
    match ms {
        v if v >= 9.95 => format!("{v:.0} ms"),
        v if (v * 10.0).fract().abs() < 1e-6 || v >= 0.95 => format!("{v:.1} ms").replace(".0 ", " "),
        v => format!("{v:.2} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tier::Tier;

    #[test]
    fn what_the_operation_says_is_not_said_again() {
        let stored = |op: &str| Labels::new().with_tier(Tier::Dram).with_op(op).with_data("zeros");
        assert_eq!(stored("write of zeros").words(LabelSet::NONE), "DRAM write of zeros");
        assert_eq!(stored("write").words(LabelSet::NONE), "DRAM write zeros");
    }
}
