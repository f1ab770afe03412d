//! The kernel's own names of events, compared with the events of the family.

use tiermark_machine::EventSource;

use crate::family::Count;
use crate::finding::Finding;
use crate::format::{Words, encode, terms};

/// How the event that the kernel names in sysfs differs from ours; `None` if it is the same, or sysfs names no event.
pub(crate) fn compare(pmu: &EventSource, count: &Count, words: &Words) -> Option<Finding> {
    let has = |name: &&String| pmu.events.contains_key(name.as_str());
    if let Some(partial) = count.partial_alias.as_ref().filter(has)
        && count.alias.as_ref().filter(has).is_none()
    {
        return Some(Finding::PartialAlias { pmu: pmu.name.clone(), alias: partial.clone() });
    }
    let alias = count.alias.as_ref()?;
    let named = terms(pmu.events.get(alias)?).ok()?;
    let named = encode(pmu, named.iter().map(|(name, value)| (name.as_str(), *value))).ok()?;
    (named != *words).then(|| Finding::AliasDiffers { pmu: pmu.name.clone(), alias: alias.clone() })
}
