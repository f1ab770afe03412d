//! What a soak of memory leaves to be said at the end of a run.

use std::collections::BTreeMap;

use tiermark_model::messages::soak as says;
use tiermark_model::{HealthCount, Run, RunHealth, Soak, Throttling, Warning, WrongKind};

/// The counters of health that the soaks of a run have read.
pub(crate) fn health(run: &Run) -> Option<RunHealth> {
    let states = run.observations().filter_map(|seen| Some(seen.soak.as_deref()?.samples.last()?.state));
    let times = states.filter_map(|state| state.throttled).reduce(u64::saturating_add)?;
    let cores = Some(HealthCount::new(0, Some(times)));
    Some(RunHealth { throttling: Some(vec![Throttling { cores, ..Throttling::default() }]), ..RunHealth::default() })
}

/// Warnings of wrong memory and of a loss of speed.
pub(crate) fn warnings(soak: &Soak) -> Vec<Warning> {
    let mut kinds: BTreeMap<WrongKind, u64> = BTreeMap::new();
    soak.wrong.iter().for_each(|word| *kinds.entry(word.kind()).or_default() += 1);
    let kinds: Vec<String> = kinds.iter().map(|(kind, words)| format!("{words} {kind}")).collect();
    let kinds = if kinds.is_empty() { "by the kernel's account".to_owned() } else { kinds.join(", ") };
    let wrong = soak.has_errors().then(|| says::words_wrong(soak.wrong_words, soak.lost.len() as u64, &kinds));
    let slower = soak.slowdown.map(|slow| {
        says::slowed_down(slow.from / 60.0, slow.share(), slow.before.into(), slow.after.into(), slow.throttled)
    });
    wrong.into_iter().chain(slower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Slowdown;

    #[test]
    fn a_sound_soak_leaves_nothing_to_say() {
        assert_eq!(warnings(&Soak::default()), []);
        let slowdown = Some(Slowdown { from: 840.0, before: 100e9, after: 89e9, throttled: Some(1240) });
        let texts: Vec<String> =
            warnings(&Soak { wrong_words: 3, slowdown, ..Soak::default() }).into_iter().map(|w| w.text).collect();
        assert!(texts[0].starts_with("3 words wrong"), "{texts:?}");
        assert!(texts[1].starts_with("11 % slower from minute 14.0 on (100"), "{texts:?}");
        assert!(texts[1].contains("throttled 1,240 times") || texts[1].contains("throttled 1240 times"), "{texts:?}");
    }
}
