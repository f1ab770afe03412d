//! Smaller runs that keep the question of a scenario and fit a given time.

use crate::scenario::{Scenario, Size};

/// Longest phases that are offered, s: shorter ones show less of rare delays.
const PHASES: [f64; 4] = [f64::INFINITY, 60.0, 30.0, 10.0];
/// How much smaller than asked for tenants and DRAM are offered.
const SCALES: [u64; 6] = [1, 4, 16, 64, 256, 1024];
/// Fewest records of a tenant that is offered.
const RECORDS: u64 = 1000;
const MIB: u64 = 1 << 20;

/// A smaller run.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// The options that make the scenario smaller, to be added to the command.
    pub options: Vec<String>,
    /// The most seconds that it is likely to take.
    pub seconds: f64,
    /// Whether it searches for the number of tenants, or measures one number.
    pub searches: bool,
}

/// The most faithful search, and the most faithful comparison at one number of tenants, that take at most `seconds`:
/// full size before smaller tenants, all loads before the first alone, long phases before short ones. `holds`: how many
/// tenants fit on each tier of a scenario. `takes` says how long a scenario takes, `None` where it cannot run here.
pub fn offers(
    scenario: &Scenario,
    holds: &dyn Fn(&Scenario) -> u32,
    seconds: f64,
    takes: &dyn Fn(&Scenario) -> Option<f64>,
) -> Vec<Offer> {
    let counted = |small: &mut Scenario, options: &mut Vec<String>| {
        let count = holds(small).max(1);
        small.limits.tenants = Some(count);
        options.insert(0, format!("--tenants {count}"));
    };
    let best = |is_counted: bool| {
        smaller(scenario).find_map(|(mut options, mut small)| {
            if is_counted {
                counted(&mut small, &mut options);
            }
            let takes = takes(&small).filter(|takes| *takes <= seconds)?;
            Some(Offer { options, seconds: takes, searches: small.limits.tenants.is_none() })
        })
    };
    // If the user set --tenants, that number stays.
    let kinds: &[bool] = if scenario.limits.tenants.is_none() { &[false, true] } else { &[false] };
    kinds.iter().filter_map(|is_counted| best(*is_counted)).collect()
}

/// Scenarios with the options that make them, the most faithful first.
fn smaller(scenario: &Scenario) -> impl Iterator<Item = (Vec<String>, Scenario)> {
    let with = move |scale: u64, first: bool, phase: f64| {
        let (mut small, mut options) = (scenario.clone(), Vec::new());
        if scale > 1 {
            options.push(scaled(&mut small, scale)?);
        }
        if first {
            options.extend(first_load(&mut small));
        }
        options.extend(shortened(&mut small, phase));
        small.problems().is_empty().then_some((options, small))
    };
    let loads = [false, true].into_iter().take(if scenario.searches().len() > scenario.tiers.len() { 2 } else { 1 });
    SCALES.into_iter().flat_map(move |scale| {
        loads.clone().flat_map(move |first| PHASES.into_iter().filter_map(move |phase| with(scale, first, phase)))
    })
}

/// Smaller tenants in as much less DRAM; `None` where too little would be left of either.
fn scaled(scenario: &mut Scenario, scale: u64) -> Option<String> {
    let less = |size: Size| Size(size.0 / scale / MIB * MIB);
    scenario.tenant.records /= scale;
    (scenario.dram_budget, scenario.reserve) = (less(scenario.dram_budget), less(scenario.reserve));
    scenario.tenant.vm_memory = None;
    if scenario.tenant.records < RECORDS || scenario.dram_budget.0 == 0 {
        return None;
    }
    let mut options = format!("--records {} --dram-budget {}M", scenario.tenant.records, scenario.dram_budget.0 / MIB);
    if scenario.reserve.0 > 0 {
        options.push_str(&format!(" --reserve {}M", scenario.reserve.0 / MIB));
    }
    if let Some(size) = scenario.tier_size {
        scenario.tier_size = Some(less(size));
        options.push_str(&format!(" --tier-size {}M", less(size).0 / MIB));
    }
    Some(options)
}

/// The first mix and the first distribution of keys alone.
fn first_load(scenario: &mut Scenario) -> Option<String> {
    let load = &mut scenario.load;
    load.mixes.truncate(1);
    load.keys.truncate(1);
    Some(format!("--gets {} --key-dist {}", load.mixes.first()?, load.keys.first()?))
}

/// Phases of at most so many seconds.
fn shortened(scenario: &mut Scenario, most: f64) -> Option<String> {
    let time = &mut scenario.time;
    let mut options = Vec::new();
    for (name, seconds) in
        [("--warmup", &mut time.warm_up), ("--settle", &mut time.settle), ("--measure", &mut time.measure)]
    {
        if *seconds > most {
            *seconds = most;
            options.push(format!("{name} {most}"));
        }
    }
    (!options.is_empty()).then(|| options.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::built_in;

    fn brief() -> Scenario {
        Scenario::read(built_in().iter().find(|(name, _)| *name == "brief").unwrap().1).unwrap()
    }

    #[test]
    fn what_keeps_most_of_the_question_is_offered_first() {
        let scenario = brief();
        let all = offers(&scenario, &|_| 108, f64::INFINITY, &|_| Some(1.0));
        assert_eq!(all[0], Offer { options: Vec::new(), seconds: 1.0, searches: true });
        assert_eq!((all[1].options.join(" ").as_str(), all[1].searches), ("--tenants 108", false));
        // Time that follows from the phases alone: they are made short.
        let phases = |scenario: &Scenario| Some(scenario.time.measure * scenario.searches().len() as f64);
        assert_eq!(offers(&scenario, &|_| 108, 400.0, &phases)[0].options, ["--warmup 60 --measure 60"]);
        assert_eq!(
            offers(&scenario, &|_| 108, 59.0, &phases)[0].options,
            ["--gets 100 --key-dist uniform", "--warmup 30 --measure 30"]
        );
        // Time that follows from the size: tenants are made small, with the DRAM for as many.
        let size = |scenario: &Scenario| Some(scenario.tenant.records as f64);
        let offer = &offers(&scenario, &|_| 108, 1e6, &size)[0];
        assert_eq!(offer.options, ["--records 825000 --dram-budget 49152M --reserve 3840M"]);
        assert_eq!(offers(&scenario, &|_| 108, 10.0, &size), [], "nothing is as small as that");
        assert_eq!(offers(&scenario, &|_| 108, f64::INFINITY, &|_| None), [], "nothing runs here");
    }

    #[test]
    fn a_number_that_was_asked_for_stays() {
        let mut scenario = brief();
        scenario.limits.tenants = Some(20);
        let phases = |scenario: &Scenario| Some(scenario.time.measure);
        let offers = offers(&scenario, &|_| 108, 60.0, &phases);
        assert_eq!(offers.len(), 1);
        assert_eq!(
            (offers[0].options.as_slice(), offers[0].searches),
            (&["--warmup 60 --measure 60".to_owned()][..], false)
        );
    }
}
