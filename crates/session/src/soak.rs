//! What a soak of memory leaves to be said at the end of a run.

use std::collections::BTreeMap;

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
    // Each place counts once, by the worst that its words did.
    let mut places: BTreeMap<(NodeId, u64), WrongKind> = BTreeMap::new();
    for word in &soak.wrong {
        let worst = places.entry((word.node, word.offset)).or_insert(word.kind());
        *worst = word.kind().max(*worst);
    }
    let mut kinds: BTreeMap<WrongKind, usize> = BTreeMap::new();
    places.values().for_each(|kind| *kinds.entry(*kind).or_default() += 1);
    let kinds: Vec<String> = kinds.iter().map(|(kind, words)| format!("{words} {kind}")).collect();
    let is_all = soak.has_all_words();
    let wrong = (soak.wrong_words > 0).then(|| says::words_wrong(soak.places(), is_all, &kinds.join(", ")));
    let lost = (!soak.lost.is_empty()).then(|| says::pages_lost(soak.lost.len() as u64));
    let slower = soak.slowdown.map(|slow| {
        says::slowed_down(&slow.since(), slow.share(), slow.before.into(), slow.after.into(), slow.throttled)
    });
    lost.into_iter().chain(wrong).chain(slower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Bytes, Hex, LostPage, Slowdown, SoakBetween, SoakPattern, WrongWord};

    #[test]
    fn a_place_counts_once_by_the_worst_that_its_words_did() {
        let word = |offset, found, rewritten| WrongWord {
            at: 1.0,
            pattern: SoakPattern::Addresses,
            between: SoakBetween::Nothing,
            node: 0,
            offset,
            address: Hex(offset),
            physical: None,
            expected: Hex(0),
            found: Hex(found),
            again: Hex(found),
            rewritten: Hex(rewritten),
            cpu: 0,
            times: 1,
        };
        let mut soak = Soak { wrong: vec![word(8, 1, 0), word(8, 4, 4), word(16, 1, 0)], ..Soak::default() };
        for (times, text) in [(3, "2 words wrong ("), (9, "at least 2 words wrong (")] {
            soak.wrong_words = times;
            let text = format!("{text}1 {}, 1 {})", WrongKind::Lost, WrongKind::Stuck);
            assert!(warnings(&soak)[0].text.starts_with(&text), "{text}");
        }
    }

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
