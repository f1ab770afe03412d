//! What follows from several searches together.

use tiermark_model::Warning;
use tiermark_model::capacity::{Answer, CAPACITY_SCHEMA, Capacity, Case, CostTable, Ended, Outcome, ProbeRecord};

use crate::cost::{BASE, Prices};
use crate::saved::{Known, Saved};
use crate::scenario::Part;

/// The number of tenants of an answer that is one.
#[must_use]
pub fn exactly(answer: &Answer) -> Option<u32> {
    if let Answer::Exactly { tenants, .. } = answer { Some(*tenants) } else { None }
}

/// The tenants that fit for sure: the lower end of an interval, none where not even one fits.
#[must_use]
pub fn surely(answer: &Answer) -> u32 {
    match answer {
        Answer::Exactly { tenants, .. } | Answer::AtLeast { tenants } => *tenants,
        Answer::Between { low, .. } => *low,
        Answer::None { .. } => 0,
    }
}

/// Sets for each case its tenants over those of [`BASE`] under the same load, where both are single numbers.
pub fn over_dram(cases: &mut [Case]) {
    let bases: Vec<(String, Option<u32>)> =
        cases.iter().filter(|case| case.tier == BASE).map(|case| (case.load.clone(), exactly(&case.answer))).collect();
    for case in cases.iter_mut() {
        let base = bases.iter().find(|(load, _)| *load == case.load).and_then(|(_, tenants)| *tenants);
        let ratio = exactly(&case.answer).zip(base).map(|(tenants, base)| f64::from(tenants) / f64::from(base));
        case.over_dram = ratio.filter(|_| case.tier != BASE);
    }
}

/// What tenants cost in these cases, as seen from a day (`2026-11-21`). Where an answer is no single number, the tenants that fit
/// for sure are taken, and that is remarked on.
#[must_use]
pub fn costs(prices: &Prices, cases: &[Case], today: &str) -> CostTable {
    let answers: Vec<(String, String, u32)> =
        cases.iter().map(|case| (case.tier.clone(), case.load.clone(), surely(&case.answer))).collect();
    let mut table = prices.table(&answers, today);
    let vague = cases.iter().filter(|case| exactly(&case.answer).is_none() && surely(&case.answer) > 0);
    table.remarks.extend(vague.map(|case| {
        format!("{}, {}: reckoned with {} tenants, which fit for sure", case.tier, case.load, surely(&case.answer))
    }));
    table
}

/// What a run found out, as far as it got: searches that have begun, and those that could not be made.
#[must_use]
pub fn document(saved: &Saved, warnings: Vec<Warning>) -> Capacity {
    let scenario = &saved.begun.scenario;
    let parts = scenario.parts();
    let begun = parts.iter().zip(&saved.cases).filter(|(_, known)| !known.probes.is_empty());
    let mut cases: Vec<Case> = begun.map(|(part, known)| case(part, known)).collect();
    over_dram(&mut cases);
    Capacity {
        schema: CAPACITY_SCHEMA.to_owned(),
        scenario: scenario.name.clone(),
        workload: scenario.workload(),
        level: scenario.level.to_string(),
        cases,
        cost: None,
        refused: saved.cases.iter().filter_map(|known| known.refused.clone()).collect(),
        warnings,
    }
}

fn case(part: &Part<'_>, known: &Known) -> Case {
    let unfinished = || {
        let passed = known.probes.iter().filter(|p| p.outcome == Outcome::Pass).map(|p| p.tenants).max().unwrap_or(0);
        let failed = known.probes.iter().filter(|p| p.outcome == Outcome::Fail).map(|p| p.tenants).min();
        let high = failed.map_or(passed, |failed| failed.saturating_sub(1)).max(passed);
        Answer::Between { low: passed.min(high), high, why: "the search was stopped before its end".to_owned() }
    };
    Case {
        tier: part.tier.to_string(),
        load: part.load(),
        answer: known.answer.clone().unwrap_or_else(unfinished),
        over_dram: None,
        ended_by: ended_by(&known.probes),
        curve: known.curve.clone(),
        probes: known.probes.clone(),
    }
}

/// What ran out where it first failed: of the fewest tenants that failed, the last probe that says so.
fn ended_by(probes: &[ProbeRecord]) -> Option<Ended> {
    let failed = || probes.iter().filter(|probe| probe.outcome == Outcome::Fail);
    let fewest = failed().map(|probe| probe.tenants).min()?;
    failed().rev().filter(|probe| probe.tenants == fewest).find_map(|probe| probe.ended_by.clone())
}

#[cfg(test)]
mod tests {
    use tiermark_model::capacity::Votes;

    use super::*;

    fn case(tier: &str, load: &str, answer: Answer) -> Case {
        let (curve, probes) = (Vec::new(), Vec::new());
        Case { tier: tier.into(), load: load.into(), answer, over_dram: None, ended_by: None, curve, probes }
    }

    fn exact(tenants: u32) -> Answer {
        Answer::Exactly { tenants, votes: Votes::default(), beyond: Votes::default() }
    }

    fn cases() -> Vec<Case> {
        let between = Answer::Between { low: 100, high: 110, why: "x".into() };
        vec![
            case("swap:/x", "a", exact(108)),
            case("dram", "a", exact(31)),
            case("zram", "a", between),
            case("dram", "b", Answer::None { why: "x".into() }),
            case("swap:/x", "b", exact(9)),
        ]
    }

    #[test]
    fn tiers_are_held_against_dram_under_the_same_load() {
        let mut cases = cases();
        over_dram(&mut cases);
        let ratios: Vec<Option<f64>> = cases.iter().map(|case| case.over_dram).collect();
        assert!((ratios[0].unwrap() - 3.484).abs() < 0.001);
        assert_eq!(ratios[1..], [None, None, None, None]);
    }

    #[test]
    fn costs_take_what_fits_for_sure_and_say_so() {
        let prices = crate::cost::read(
            "currency = \"EUR\"\ndate = \"2026-11-01\"\nsource = \"offer\"\nmonths = 0\n[part]\nserver = { price = 100 }\n\
             ssd = { price = 39.35 }\n[tier.dram]\nserver = 1\n[tier.swap]\nserver = 1\nssd = 1\n[tier.zram]\nserver = 1\n",
        )
        .unwrap();
        let table = costs(&prices, &cases(), "2026-11-21");
        let rows: Vec<(&str, u32)> = table.rows.iter().map(|row| (row.tier.as_str(), row.tenants)).collect();
        assert_eq!(rows, [("dram", 31), ("swap:/x", 108), ("zram", 100), ("swap:/x", 9)]);
        assert!((table.rows[1].against.unwrap().saving - 0.6).abs() < 0.001 && table.rows[3].against.is_none());
        assert_eq!(
            table.remarks,
            [
                "dram holds no tenant (b), so that none has a cost",
                "zram, a: reckoned with 100 tenants, which fit for sure"
            ]
        );
    }
}
