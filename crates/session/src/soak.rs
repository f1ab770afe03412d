//! What a soak of memory leaves to be said at the end of a run.

use std::collections::{BTreeMap, BTreeSet};

use tiermark_model::messages::soak as says;
use tiermark_model::{HealthCount, NodeId, Run, Soak, Throttling, Warning, WrongKind};

/// How often processors were throttled in the soaks of a run.
pub(crate) fn throttling(run: &Run) -> Option<Throttling> {
    let states = run.observations().filter_map(|seen| Some(seen.soak.as_deref()?.samples.last()?.state));
    let times = states.filter_map(|state| state.throttled).reduce(u64::saturating_add)?;
    Some(Throttling { cores: Some(HealthCount::new(0, Some(times))), ..Throttling::default() })
}

/// Warnings of wrong memory and of a loss of speed.
pub(crate) fn warnings(soak: &Soak) -> Vec<Warning> {
    let mut kinds: BTreeMap<WrongKind, BTreeSet<(NodeId, u64)>> = BTreeMap::new();
    for word in &soak.wrong {
        kinds.entry(word.kind()).or_default().insert((word.node, word.offset));
    }
    let kinds: Vec<String> = kinds.iter().map(|(kind, words)| format!("{} {kind}", words.len())).collect();
    let wrong = (soak.wrong_words > 0).then(|| says::words_wrong(soak.places(), &kinds.join(", ")));
    let lost = (!soak.lost.is_empty()).then(|| says::pages_lost(soak.lost.len() as u64));
    let slower = soak.slowdown.map(|slow| {
        says::slowed_down(&slow.since(), slow.share(), slow.before.into(), slow.after.into(), slow.throttled)
    });
    lost.into_iter().chain(wrong).chain(slower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Bytes, Hex, LostPage, Slowdown};

    #[test]
    fn a_sound_soak_leaves_nothing_to_say() {
        assert_eq!(warnings(&Soak::default()), []);
        let slowdown = Some(Slowdown { from: 840.0, before: 100e9, after: 89e9, throttled: Some(1240) });
        let page = LostPage { at: 1.0, node: 0, offset: 0, address: Hex(4096), bytes: Bytes(4096) };
        let texts: Vec<String> = warnings(&Soak { wrong_words: 3, lost: vec![page], slowdown, ..Soak::default() })
            .into_iter()
            .map(|w| w.text)
            .collect();
        assert!(texts[0].starts_with("1 page lost") && texts[1].contains("wrong ("), "{texts:?}");
        assert!(texts[2].starts_with("11 % slower from minute 14 on (100"), "{texts:?}");
        assert!(texts[2].contains("throttled 1,240 times") || texts[2].contains("throttled 1240 times"), "{texts:?}");
    }
}
