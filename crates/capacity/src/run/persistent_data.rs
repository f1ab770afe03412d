//! Tenants that keep their data from trial to trial, since nothing stops them: how this limits an answer.

use tiermark_model::capacity::{Answer, Outcome, TrialRecord};
use tiermark_model::messages::capacity as messages;

/// An answer of servers that are never empty again. That they hold so many is so all the more; that one more fails says
/// little where trials of still more were made before it.
pub(super) fn answer(answer: Answer, trials: &[TrialRecord]) -> Answer {
    let Answer::Exactly { tenants, .. } = answer else { return answer };
    let mut most = 0;
    let fair = trials.iter().filter(|trial| {
        let first = trial.tenants >= most;
        most = most.max(trial.tenants);
        first && trial.outcome == Outcome::Fail
    });
    let more = tenants + 1;
    let left = |before| messages::failed_after_more(more, before);
    match fair.map(|trial| trial.tenants).min() {
        Some(failed) if failed == more => answer,
        Some(failed) => Answer::Between { low: tenants, high: Some(failed - 1), why: left(Some(failed)) },
        None => Answer::Between { low: tenants, high: None, why: left(None) },
    }
}

#[cfg(test)]
mod tests {
    use tiermark_model::capacity::{Phase, Votes};
    use tiermark_model::testing;

    use super::*;

    fn trial(tenants: u32, outcome: Outcome) -> TrialRecord {
        TrialRecord { fresh: false, ..testing::trial(1, tenants, Phase::Ramp, outcome) }
    }

    #[test]
    fn only_what_failed_on_the_way_up_is_an_edge() {
        let (pass, fail) = (Outcome::Pass, Outcome::Fail);
        let five = Answer::Exactly { tenants: 5, votes: Votes::default(), beyond: Votes::default() };
        let reached = [trial(4, pass), trial(6, fail), trial(5, pass), trial(6, fail)];
        assert_eq!(answer(five.clone(), &reached), five);
        let passed_by = [trial(4, pass), trial(8, fail), trial(6, fail), trial(5, pass), trial(6, fail)];
        let between = answer(five, &passed_by);
        assert!(matches!(between, Answer::Between { low: 5, high: Some(7), .. }), "{between:?}");
        let not_told = [trial(4, pass), trial(8, Outcome::Unclear), trial(6, fail), trial(5, pass), trial(6, fail)];
        let open = answer(Answer::Exactly { tenants: 5, votes: Votes::default(), beyond: Votes::default() }, &not_told);
        assert!(matches!(open, Answer::Between { low: 5, high: None, .. }), "{open:?}");
        let more = Answer::AtLeast { tenants: 3 };
        assert_eq!(answer(more.clone(), &[trial(9, fail)]), more);
    }
}
