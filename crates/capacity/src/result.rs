//! What follows from several searches together.

use tiermark_model::capacity::{
    Answer, CAPACITY_SCHEMA, Capacity, Case, CostTable, Ended, Evidence, Outcome, QuotaUse, TrialRecord,
};
use tiermark_model::messages::capacity as says;
use tiermark_model::{Cgroup, Exit, Machine, Note, Tool, Warning};

use crate::cost::{BASE, Fitting, Prices};
use crate::saved::{SavedRun, SearchState};
use crate::scenario::SearchCase;
use crate::search::Search;

/// Sets the ratio of each case's tenants to those of [`BASE`] under the same load. Both must be single numbers, and the
/// server must have limited both.
pub fn over_dram(cases: &mut [Case]) {
    let exact = |case: &Case| match (&case.answer, not_of_server(case)) {
        (Answer::Exactly { tenants, .. }, None) => Some(*tenants),
        _ => None,
    };
    let bases: Vec<(String, Option<u32>)> =
        cases.iter().filter(|case| case.tier == BASE).map(|case| (case.load.clone(), exact(case))).collect();
    for case in cases.iter_mut() {
        let base = bases.iter().find(|(load, _)| *load == case.load).and_then(|(_, tenants)| *tenants);
        let ratio = exact(case).zip(base).map(|(tenants, base)| f64::from(tenants) / f64::from(base));
        case.over_dram = ratio.filter(|_| case.tier != BASE);
    }
}

/// Why the client or other programs, and not the server, ended a search; `None` if the server did.
fn not_of_server(case: &Case) -> Option<&Note> {
    case.ended_by.as_ref().filter(|by| !by.resource.is_of_server()).map(|by| &by.why)
}

/// The tenants that a case is priced with.
///
/// # Errors
/// Why it has no price: none fits, more or fewer may fit, or the server did not limit the run, so that it may hold
/// more.
fn priced(case: &Case) -> Result<u32, Note> {
    let Case { tier, load, answer, .. } = case;
    match (answer, not_of_server(case)) {
        (_, Some(why)) => Err(says::no_price_of_client(tier, load, why)),
        (Answer::Exactly { tenants, .. }, None) => Ok(*tenants),
        (Answer::None { .. }, None) => Err(says::no_tenant_to_price(tier, load)),
        (Answer::Fixed { tenants, outcome: Outcome::Fail }, None) => {
            Err(says::no_price_of_failure(tier, load, *tenants))
        }
        (open, None) => Err(says::no_price_of_interval(tier, load, &open.in_words())),
    }
}

/// What tenants cost in these cases, as seen from a day (`2026-11-21`). An answer that is no single number of the
/// server's tenants has no cost, which is remarked on.
pub fn costs(prices: &Prices, cases: &[Case], today: &str) -> CostTable {
    let fitting = |case: &Case| Fitting { tier: case.tier.clone(), load: case.load.clone(), tenants: priced(case) };
    prices.table(&cases.iter().map(fitting).collect::<Vec<_>>(), today)
}

/// The document of a run that may have ended early: the searches that began, and the refusals of those that could not
/// begin. `programs` names the programs that used most cpu time, and says since when; empty if they are not known.
pub fn document(
    saved: &SavedRun,
    about: (Tool, Machine),
    mut warnings: Vec<Warning>,
    programs: (&str, &str),
) -> Capacity {
    let scenario = &saved.begun.scenario;
    let parts = scenario.searches();
    let begun = parts.iter().zip(&saved.cases).filter(|(_, known)| !known.trials.is_empty());
    let mut cases: Vec<Case> = begun.map(|(searched, known)| case(searched, known)).collect();
    over_dram(&mut cases);
    warnings.extend(left_open(&parts, &saved.cases));
    let (tool, machine) = about;
    warnings.extend(disturbed(&cases, programs, machine.system.cgroup.as_ref()));
    Capacity {
        schema: CAPACITY_SCHEMA.to_owned(),
        id: saved.path().file_stem().map(|id| id.to_string_lossy().into_owned()).unwrap_or_default(),
        tool,
        started: saved.begun.started.clone(),
        seed: saved.begun.seed,
        labels: saved.begun.setup.labels.clone(),
        machine,
        health: None,
        scenario: scenario.name.clone(),
        workload: scenario.workload(),
        level: scenario.level.to_string(),
        limits: scenario.level.limits.iter().filter_map(|limit| limit.of_time()).collect(),
        most_tenants: Some(scenario.limits.most_tenants),
        cases,
        cost: None,
        refused: saved.cases.iter().filter_map(|known| known.refused.clone()).collect(),
        warnings,
    }
}

/// The exit code of a run: `Refused` if nothing could be measured; `Partial` if a search is missing, was refused or has
/// no single answer.
#[must_use]
pub fn exit(document: &Capacity, saved: &SavedRun) -> Exit {
    let is_open =
        |case: &Case| matches!(case.answer, Answer::Between { .. } | Answer::Fixed { outcome: Outcome::Unclear, .. });
    match saved.is_whole() {
        true if document.cases.is_empty() => Exit::Refused,
        true if document.refused.is_empty() && !document.cases.iter().any(is_open) => Exit::Done,
        _ => Exit::Partial,
    }
}

/// Searches that have no answer yet: those that were stopped, and those that never began.
fn left_open(parts: &[SearchCase<'_>], cases: &[SearchState]) -> Option<Warning> {
    let open = parts.iter().zip(cases).filter(|(_, known)| known.is_open());
    let (begun, others): (Vec<_>, Vec<_>) = open.partition(|(_, known)| !known.trials.is_empty());
    let named = |of: Vec<(&SearchCase<'_>, &SearchState)>| -> Vec<String> {
        of.into_iter().map(|(searched, _)| searched.to_string()).collect()
    };
    let (begun, others) = (named(begun), named(others));
    (!begun.is_empty() || !others.is_empty()).then(|| says::unfinished(&begun, &others))
}

/// Share of the cpus' time that others may take, and of the requests that the client may be late with, before a reader
/// has to know.
const OTHERS: f64 = 0.10;
const LATE: f64 = 0.01;

/// What makes answers worth less: other programs on the cpus, a cpu quota, and a client that was late for another
/// reason. Each with its worst case.
fn disturbed(cases: &[Case], (programs, since): (&str, &str), own: Option<&Cgroup>) -> Vec<Warning> {
    let evidence = || cases.iter().flat_map(|case| case.trials.iter().filter_map(|trial| trial.evidence.as_ref()));
    let worst = |share: &dyn Fn(&Evidence) -> Option<f64>, most: f64| {
        evidence().filter_map(share).max_by(f64::total_cmp).filter(|share| *share > most)
    };
    let others = worst(&Evidence::others_cpu, OTHERS);
    let others = others.map(|share| says::others_busy(share.into(), programs, since));
    let enforced = evidence().filter_map(|seen| seen.quota.as_ref()).max_by_key(|quota| quota.throttled);
    let quota = own.and_then(|group| quota_of(group, enforced));
    let is_stopped = enforced.is_some_and(QuotaUse::is_enforced);
    let late = worst(&|e| e.late_sends, LATE).filter(|_| !is_stopped).map(|share| says::late(share.into()));
    others.into_iter().chain(quota).chain(late).collect()
}

/// A warning of a cpu quota: the one that a trial saw enforced most often, else the smallest that holds for a control
/// group; `None` without a quota.
pub fn quota_of(group: &Cgroup, enforced: Option<&QuotaUse>) -> Option<Warning> {
    Some(match enforced {
        Some(QuotaUse { cpus, file, throttled }) => says::cpu_quota(*cpus, file, Some(*throttled)),
        None => says::cpu_quota(group.cpu_quota?, group.files.quota.as_deref()?, None),
    })
}

fn case(searched: &SearchCase<'_>, known: &SearchState) -> Case {
    let answer = known.answer.clone().unwrap_or_else(|| stopped(known));
    let ended_by = ended_by(&known.trials, answer.fits());
    Case {
        tier: searched.tier.to_string(),
        load: searched.requests.to_string(),
        answer,
        over_dram: None,
        ended_by,
        settings: known.settings.clone(),
        curve: known.curve.clone(),
        trials: known.trials.clone(),
    }
}

/// What the trials of a search that did not come to its end leave: what the search itself makes of them.
fn stopped(known: &SearchState) -> Answer {
    let search = known.limits.and_then(|limits| Search::resume(limits, &known.trials).ok());
    let why = says::search_stopped;
    let nothing = || Answer::Between { low: 0, high: None, why: why() };
    search.map_or_else(nothing, |search| search.given_up(why()))
}

/// The resource that ended a search. Of the trials of more tenants than fit, those of the fewest tenants count that
/// failed or that something else than the server spoilt. The last failure among them that names a resource decides; if
/// there is none, the last unclear trial does. Failures of tenants that fit do not count, because passes outvoted them.
fn ended_by(trials: &[TrialRecord], fit: u32) -> Option<Ended> {
    let is_spoilt = |trial: &TrialRecord| trial.ended_by.as_ref().is_some_and(|by| !by.resource.is_of_server());
    let ends = |trial: &&TrialRecord| trial.tenants > fit && (trial.outcome == Outcome::Fail || is_spoilt(trial));
    let fewest = trials.iter().filter(ends).map(|trial| trial.tenants).min()?;
    let last = |outcome: Outcome| {
        let at_fewest = trials.iter().rev().filter(ends).filter(|trial| trial.tenants == fewest);
        at_fewest.filter(|trial| trial.outcome == outcome).find_map(|trial| trial.ended_by.clone())
    };
    last(Outcome::Fail).or_else(|| last(Outcome::Unclear))
}

#[cfg(test)]
mod tests {
    use tiermark_model::capacity::{Phase, Resource, Votes};
    use tiermark_model::{Code, LimitFiles};

    use tiermark_model::messages::trials;

    use super::*;
    use crate::budget::Budgets;
    use crate::search::Limits;

    fn case(tier: &str, load: &str, answer: Answer) -> Case {
        let (settings, curve, trials) = (Vec::new(), Vec::new(), Vec::new());
        Case { tier: tier.into(), load: load.into(), answer, over_dram: None, ended_by: None, settings, curve, trials }
    }

    fn trial(tenants: u32, phase: Phase, outcome: Outcome) -> TrialRecord {
        tiermark_model::testing::trial(1, tenants, phase, outcome)
    }

    fn exact(tenants: u32) -> Answer {
        Answer::Exactly { tenants, votes: Votes::default(), beyond: Votes::default() }
    }

    fn cases() -> Vec<Case> {
        let between = Answer::Between { low: 100, high: Some(110), why: says::search_stopped() };
        vec![
            case("swap:/x", "a", exact(108)),
            case("dram", "a", exact(31)),
            case("zram", "a", between),
            case("dram", "b", Answer::None { why: says::one_tenant_failed(2, 2) }),
            case("swap:/x", "b", exact(9)),
        ]
    }

    #[test]
    fn what_ended_it_is_told_of_the_first_edge() {
        let trial = |tenants, outcome, resource| {
            let ended_by = Some(Ended { resource, why: trials::nothing_measured() });
            TrialRecord { ended_by, ..trial(tenants, Phase::Bisection, outcome) }
        };
        let mut trials = vec![
            trial(9, Outcome::Fail, Resource::MemoryTier),
            trial(7, Outcome::Fail, Resource::Cpu),
            trial(6, Outcome::Unclear, Resource::Cpu),
        ];
        assert_eq!(ended_by(&trials, 0).map(|ended| ended.resource), Some(Resource::Cpu));
        trials.push(trial(6, Outcome::Unclear, Resource::Client));
        assert_eq!(ended_by(&trials, 0).map(|ended| ended.resource), Some(Resource::Client));
        // What failed decides, whatever came after it.
        trials.insert(0, trial(6, Outcome::Fail, Resource::MemoryTier));
        assert_eq!(ended_by(&trials, 0).map(|ended| ended.resource), Some(Resource::MemoryTier));
        assert_eq!(ended_by(&[], 0), None);
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
    fn what_disturbed_a_run_and_what_is_left_of_it_is_told() {
        let with = |cpu, tenants, client, late| Evidence {
            cpu: Some(cpu),
            tenants_cpu: Some(tenants),
            client_share: Some(client),
            late_sends: Some(late),
            ..Evidence::default()
        };
        let told_in = |own: Option<Cgroup>, evidence: Evidence| {
            let mut one = case("dram", "x", Answer::AtLeast { tenants: 1 });
            let evidence = Some(evidence);
            one.trials = vec![TrialRecord { evidence, ..trial(1, Phase::Baseline, Outcome::Pass) }];
            disturbed(&[one], ("cc 0.7", "since it was resumed"), own.as_ref())
                .into_iter()
                .map(|warning| warning.code)
                .collect::<Vec<_>>()
        };
        let told = |evidence: Evidence| told_in(None, evidence);
        assert_eq!(told(with(1.0, 0.05, 0.06, 0.021)), ["others_busy", "late"]);
        // What a quota delays needs no cpus of its own.
        let files = LimitFiles { quota: Some("/cg/cpu.max".into()), ..LimitFiles::default() };
        let group = || Some(Cgroup { cpu_quota: Some(0.4), files: files.clone(), ..Cgroup::default() });
        let late = |throttled| {
            let quota = QuotaUse { cpus: 0.4, file: "/cg/cpu.max".into(), throttled };
            Evidence { quota: Some(quota), ..with(0.2, 0.1, 0.1, 0.021) }
        };
        assert_eq!(told_in(group(), late(10)), ["cpu_quota"]);
        for times in [0, 9] {
            assert_eq!(told_in(group(), late(times)), ["cpu_quota", "late"]);
        }
        let above = QuotaUse { cpus: 2.0, file: "/cpu.max".into(), throttled: 30 };
        let said = quota_of(&group().unwrap(), Some(&above)).unwrap().text;
        assert!(said.contains("2 cpus (/cpu.max)") && said.contains("30 times"), "one group's size and count: {said}");
        assert_eq!(told(with(0.2, 0.1, 0.05, 0.009)), Vec::<Code>::new());
        assert_eq!(told(Evidence { cpu: Some(1.0), ..Evidence::default() }), Vec::<Code>::new());
        let text = crate::scenario::built_in().iter().find(|(name, _)| *name == "mini").unwrap().1;
        let scenario = crate::scenario::Scenario::read(text).unwrap();
        let answered = SearchState { answer: Some(Answer::AtLeast { tenants: 1 }), ..SearchState::default() };
        let open = left_open(&scenario.searches(), &[answered.clone(), SearchState::default()]).unwrap();
        assert_eq!(open.data["open"], serde_json::json!([]));
        assert_eq!(open.data["not_begun"], serde_json::json!(["zram (100 % GET, uniform)"]));
        let begun = known(&[(1, Phase::Baseline, Outcome::Pass)]);
        let open = left_open(&scenario.searches(), &[begun, SearchState::default()]).unwrap();
        assert_eq!(open.data["open"], serde_json::json!(["dram (100 % GET, uniform)"]));
        assert_eq!(open.data["not_begun"], serde_json::json!(["zram (100 % GET, uniform)"]));
        assert_eq!(left_open(&scenario.searches(), &[answered.clone(), answered]), None);
    }

    /// What is known of a search that made trials of so many tenants, and was stopped.
    fn known(trials: &[(u32, Phase, Outcome)]) -> SearchState {
        let budgets =
            Budgets { dram: 8, reserve: 0, footprint: 1, tier: 0, ratio: 1.0, cpus: 1.0, cpu_per_tenant: None };
        let limits = Limits { arithmetic: budgets.arithmetic(), most_tenants: 100, only: None, most_trials: 100 };
        let record = |(number, (tenants, phase, outcome)): (u32, &(u32, Phase, Outcome))| TrialRecord {
            number,
            ..trial(*tenants, *phase, *outcome)
        };
        let trials = (1..).zip(trials).map(record).collect();
        SearchState { limits: Some(limits), trials, ..SearchState::default() }
    }

    #[test]
    fn a_search_that_was_stopped_says_what_its_trials_say_and_no_more() {
        use Outcome::{Fail, Pass};
        use Phase::{Baseline, Ramp, Start, Verification};
        // The eight that passed at first failed in full.
        let way = [(1, Baseline, Pass), (8, Start, Pass), (9, Ramp, Fail), (9, Verification, Fail)];
        let back = [(9, Verification, Fail), (8, Verification, Fail)];
        let said = |known: &SearchState| match stopped(known) {
            Answer::Between { low, high, why } => {
                assert_eq!(why.code, says::codes::search_stopped);
                (low, high)
            }
            other => panic!("{other:?}"),
        };
        let doubtful = known(&[way.as_slice(), &back].concat());
        assert_eq!(said(&doubtful), (1, Some(8)));
        assert_eq!(said(&known(&way)), (8, Some(8)));
        assert_eq!(said(&known(&way[..2])), (8, None), "nothing has failed yet");
        // Saved trials without the limits that led to them.
        assert_eq!(said(&SearchState { limits: None, ..doubtful.clone() }), (0, None));
        assert_eq!(said(&known(&[(5, Start, Pass)])), (0, None));
    }

    #[test]
    fn what_was_outvoted_did_not_end_it() {
        let trial = |tenants, outcome, resource| {
            let ended_by = Some(Ended { resource, why: trials::client_busy(1.0.into()) });
            TrialRecord { ended_by, ..trial(tenants, Phase::Ramp, outcome) }
        };
        let trials = [
            trial(4, Outcome::Fail, Resource::Client),
            trial(8, Outcome::Fail, Resource::Cpu),
            trial(6, Outcome::Fail, Resource::MemoryTier),
        ];
        let resource = |fit| ended_by(&trials, fit).map(|ended| ended.resource);
        assert_eq!(resource(5), Some(Resource::MemoryTier));
        assert_eq!((resource(0), resource(9)), (Some(Resource::Client), None));
    }

    #[test]
    fn only_a_number_that_the_server_limits_has_a_price() {
        let prices = crate::cost::read(
            "currency = \"EUR\"\ndate = \"2026-11-01\"\nsource = \"offer\"\nmonths = 0\n[part]\nserver = { price = 100 }\n\
             ssd = { price = 39.35 }\n[tier.dram]\nserver = 1\n[tier.swap]\nserver = 1\nssd = 1\n[tier.zram]\nserver = 1\n",
        )
        .unwrap();
        let table = costs(&prices, &cases(), "2026-11-21");
        let rows: Vec<(&str, u32)> = table.rows.iter().map(|row| (row.tier.as_str(), row.tenants)).collect();
        assert_eq!(rows, [("dram", 31), ("swap:/x", 108), ("swap:/x", 9)]);
        assert!((table.rows[1].against.unwrap().saving - 0.6).abs() < 0.001 && table.rows[2].against.is_none());
        assert_eq!(
            table.remarks,
            [
                says::no_tenant_to_price("dram", "b"),
                says::no_price_of_interval("zram", "a", "100 to 110 tenants"),
                says::base_not_exact("dram", "b"),
            ]
        );
        let mut vague = cases();
        vague[1].answer = Answer::AtLeast { tenants: 31 };
        let why = trials::requests_sent_late(0.04.into());
        vague[0].ended_by = Some(Ended { resource: Resource::Client, why: why.clone() });
        let table = costs(&prices, &vague, "2026-11-21");
        assert_eq!(table.rows.len(), 1, "{table:?}");
        assert!(table.remarks.contains(&says::no_price_of_interval("dram", "a", "31 tenants or more")), "{table:?}");
        assert!(table.remarks.contains(&says::no_price_of_client("swap:/x", "a", &why)), "{table:?}");
        let mut fixed = cases();
        fixed[0].answer = Answer::Fixed { tenants: 12, outcome: Outcome::Pass };
        fixed[1].answer = Answer::Fixed { tenants: 12, outcome: Outcome::Fail };
        let table = costs(&prices, &fixed, "2026-11-21");
        assert_eq!(table.rows.len(), 1, "{table:?}");
        for said in
            [says::no_price_of_interval("swap:/x", "a", "12 tenants: pass"), says::no_price_of_failure("dram", "a", 12)]
        {
            assert!(table.remarks.contains(&said), "{said}: {table:?}");
        }
        over_dram(&mut vague);
        assert!(vague.iter().all(|case| case.over_dram.is_none()), "{vague:?}");
    }
}
