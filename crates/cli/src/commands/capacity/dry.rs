//! `--dry-run`: the scenario as a file, its changes, about how long it takes, and which parts this machine can run.

use tiermark_capacity::estimate::{TimeRange, spoken};
use tiermark_capacity::offer::{Offer, offers};
use tiermark_capacity::result::quota_of;
use tiermark_capacity::run::{Admission, has_memory, intended};
use tiermark_capacity::saved::{Pending, RunSetup};
use tiermark_capacity::scenario::{Backend, Scenario, SearchCase, Tier};
use tiermark_capacity::tier::check;
use tiermark_machine::Root;
use tiermark_model::capacity::tenants;
use tiermark_model::messages::tiers::codes;
use tiermark_model::{Bytes, Cgroup, Exit, Note, RateUnit, Refusal};
use tiermark_undo::pending;

use super::asked::{asked, programs, setup};
use super::gate::{Checks, directory, prices, state};
use crate::args::CapacityArgs;
use crate::busy::{Watch, disturbs_tenants};
use crate::output::{Failure, print, style};
use crate::{environment, target};

/// Shows what a run would do, and what would prevent it; measures and changes nothing.
pub(super) fn run(args: &CapacityArgs) -> Result<Exit, Failure> {
    let (scenario, setup) = (asked(args)?, setup(args)?);
    let checks = Checks::run(args, &Pending::all(&scenario, &setup), prices(&scenario))?;
    let machine = target::this_machine()?;
    let zswap = machine.system.zswap;
    let busy = Watch::begin(&machine.allowed_cpus, args.force, disturbs_tenants).err();
    let (searches, all) = searches(&scenario, &setup, &checks.admission);
    let mut sections = vec![
        (format!("Searches, {}, {}:", scenario.searches().len(), in_all(&scenario, all)), searches),
        ("Changes, noted in the journal and taken back at the end:".to_owned(), intended(&scenario, zswap)),
        ("How the run works:".to_owned(), how(args, &scenario, &setup)),
        (
            "On this machine, in its present state:".to_owned(),
            here(&scenario, &checks.admission, busy.as_ref(), machine.system.cgroup.as_ref()),
        ),
    ];
    let offered = offered(&scenario, &setup, &checks.admission, all);
    if !offered.is_empty() {
        sections.insert(1, ("What fits in an hour here, by adding options:".to_owned(), offered));
    }
    let text = toml::to_string(&scenario).map_err(Failure::tool)?;
    print(&format!("{text}\n{}", tiermark_report::comments(&sections, &style(&args.view))))?;
    checks.wrong().map_or(Ok(Exit::Done), Err)
}

/// The longest run that needs no smaller one beside it, s.
const AN_HOUR: f64 = 3600.0;

/// Smaller runs of the same question, where this one takes longer than an hour.
fn offered(scenario: &Scenario, setup: &RunSetup, admission: &Admission, all: TimeRange) -> Vec<String> {
    let client = setup.client();
    if all.most <= AN_HOUR && has_memory(scenario, &client, &Root::live()) {
        return Vec::new();
    }
    // A tier without a device of its own is as large as the scenario makes it.
    let room = |tier: &Tier, small: &Scenario| {
        let known = admission.tiers.iter().find(|(one, _)| one == tier).and_then(|(_, preflight)| preflight.room);
        match known {
            Some(room) if room != scenario.tier_bytes() => Some(room),
            _ => (*tier != Tier::Dram).then(|| small.tier_bytes()),
        }
    };
    let root = Root::live();
    let full = |tier: &Tier, small: &Scenario| {
        check(tier, &small.wanted(), &root).refused.iter().any(|refusal| refusal.code == codes::disk_full)
    };
    let takes = |small: &Scenario| {
        let sum = |sum: TimeRange, case: &SearchCase<'_>| {
            sum.and(small.estimate(case.tier, room(case.tier, small), setup.threads).about)
        };
        let all = small.searches().iter().fold(small.sizing_takes(setup.threads), sum);
        let fits = has_memory(small, &client, &root) && !small.tiers.iter().any(|tier| full(tier, small));
        fits.then_some(all.most)
    };
    let tenants = |tier: &Tier| scenario.estimate(tier, room(tier, scenario), setup.threads).tenants;
    let most = scenario.tiers.iter().map(tenants).max().unwrap_or(1);
    let offers = offers(scenario, most, AN_HOUR, &takes);
    if offers.is_empty() {
        return vec!["nothing, even with tenants of a thousandth of the size: name your own with --records".to_owned()];
    }
    let line = |offer: &Offer| {
        let what = if offer.searches { "the search" } else { "one number of tenants on each tier" };
        format!("{what}, {}: {}", TimeRange { least: offer.seconds, most: offer.seconds }, offer.options.join(" "))
    };
    offers.iter().map(line).collect()
}

/// Each search with about how it goes, and how long all of them take.
fn searches(scenario: &Scenario, setup: &RunSetup, admission: &Admission) -> (Vec<String>, TimeRange) {
    let mut all = scenario.sizing_takes(setup.threads);
    let mut lines = Vec::new();
    for case in scenario.searches() {
        let preflight = admission.tiers.iter().find(|(tier, _)| tier == case.tier);
        let room = preflight.and_then(|(_, preflight)| preflight.room);
        if preflight.is_some_and(|(_, preflight)| !preflight.refused.is_empty()) {
            lines.push(format!("{}, {}: cannot run here (see below)", case.tier, case.requests));
            continue;
        }
        let estimate = scenario.estimate(case.tier, room, setup.threads);
        all = all.and(estimate.about);
        let holds = match scenario.backend {
            _ if scenario.limits.tenants.is_some() => tenants(estimate.tenants),
            Backend::External => format!("up to {} servers", estimate.tenants),
            _ if estimate.is_capped => {
                format!("up to {}, by most-tenants: memory may hold more", tenants(estimate.tenants))
            }
            _ => format!("memory holds about {}", tenants(estimate.tenants)),
        };
        let (load, about) = (case.requests, estimate.about);
        let trials = if estimate.trials == 1 { "1 trial".to_owned() } else { format!("{} trials", estimate.trials) };
        lines.push(format!("{}, {load}: {holds}, {trials}, {about}", case.tier));
    }
    (lines, all)
}

/// How long all searches take, and what bounds it.
fn in_all(scenario: &Scenario, all: TimeRange) -> String {
    match scenario.limits.total_seconds {
        None => format!("{all} in all, less if the service level ends a search before memory does"),
        Some(most) if all.most > most => {
            format!("{all} in all, more than --max-time allows ({}): --resume continues", spoken(most))
        }
        Some(most) => format!("{all} in all, at most {} (--max-time)", spoken(most)),
    }
}

/// How the run is made, as options say, and where nothing is said.
fn how(args: &CapacityArgs, scenario: &Scenario, setup: &RunSetup) -> Vec<String> {
    let mut lines = programs(scenario, setup);
    match scenario.backend {
        Backend::Process => {
            lines.push(match setup.first_port {
                Some(port) => format!("servers listen on 127.0.0.1, from port {port} on"),
                None => "servers listen on 127.0.0.1, on free ports".to_owned(),
            });
        }
        Backend::Qemu => {}
        Backend::External => lines.extend(elsewhere(args, setup)),
    }
    let threads = if setup.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", setup.threads) };
    let cpus: Vec<String> = setup.cpus.iter().map(ToString::to_string).collect();
    let place = match cpus.is_empty() {
        true if setup.threads == 1 => "on any cpu".to_owned(),
        true => "on any cpus".to_owned(),
        false if cpus.len() == 1 => format!("on cpu {}", cpus[0]),
        false => format!("on cpus {}", cpus.join(", ")),
    };
    lines.push(format!("client: {threads}, {place}; it waits up to {} s for an answer", setup.timeout_seconds));
    let floor = Bytes(scenario.limits.memory_floor.0);
    lines.push(format!("the run keeps {floor} of the machine's memory free (memory-floor)"));
    let kept =
        |path: Result<String, Refusal>| path.unwrap_or_else(|_| "no directory: set TIERMARK_HOME or HOME".to_owned());
    lines.push(format!("results are saved in {}", kept(directory().map(|dir| environment::quoted(&dir)))));
    lines
        .push(format!("the journal of changes is in {}", kept(state().map(|state| environment::quoted(state.path())))));
    lines
}

/// Servers elsewhere: what they may hold.
fn elsewhere(args: &CapacityArgs, setup: &RunSetup) -> Vec<String> {
    let mut lines = Vec::new();
    lines.push(match setup.overwrites {
        true => "servers may hold keys already (--overwrite)".to_owned(),
        false => "servers that hold keys already are refused".to_owned(),
    });
    let password = if args.password.is_some() { "is given (and never saved)" } else { "is not given" };
    lines.push(format!("their password {password}"));
    lines
}

/// Which parts of it this machine can run; `busy` is why no run may begin beside the work of others at this moment.
fn here(scenario: &Scenario, admission: &Admission, busy: Option<&Refusal>, own: Option<&Cgroup>) -> Vec<String> {
    let mut lines: Vec<String> = admission
        .refused
        .iter()
        .map(|refusal| format!("the run is refused: {}: {}", refusal.what, refusal.why))
        .collect();
    lines.extend(
        busy.map(|refusal| format!("at this moment the run is refused: {} (--force begins anyway)", refusal.why)),
    );
    let is_refused = !lines.is_empty();
    lines.extend(own.and_then(|group| quota_of(group, None)).map(|warning| warning.text));
    if scenario.backend == Backend::External {
        if !is_refused {
            lines.push("the run is possible, as far as can be checked in advance".to_owned());
        }
        return lines;
    }
    for (tier, preflight) in &admission.tiers {
        lines.push(match (preflight.refused.as_slice(), preflight.unchecked.as_slice()) {
            ([], []) => format!("{tier} is available"),
            ([], unchecked) => {
                format!(
                    "{tier} is available, as far as can be checked in advance: {}",
                    Note::joined(unchecked, RateUnit::Si)
                )
            }
            (refused, _) => {
                let why: Vec<&str> = refused.iter().map(|refusal| refusal.why.as_str()).collect();
                format!("{tier} is not available: {}", why.join("; "))
            }
        });
    }
    let left = state().map(|state| pending(&state, &Root::live())).unwrap_or_default();
    if left.iter().any(|held| !held.at_work) {
        lines.push(
            "changes of an earlier command or a killed run are still in effect; a run first takes back those of \
                killed runs"
                .to_owned(),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use tiermark_capacity::scenario::built_in;
    use tiermark_model::LimitFiles;
    use tiermark_model::messages::capacity::machine_busy;

    use super::*;

    #[test]
    fn a_busy_machine_is_a_line_of_its_state() {
        let mut scenario = Scenario::read(built_in()[1].1).unwrap();
        let busy = machine_busy(1.8, 2, "cc 1.7");
        for backend in [Backend::Process, Backend::External] {
            scenario.backend = backend;
            let lines = here(&scenario, &Admission::default(), Some(&busy), None).join("\n");
            assert!(
                lines.contains("at this moment the run is refused: other work keeps 1.8 of 2 cpus busy: cc 1.7"),
                "{lines}"
            );
            assert!(lines.contains("--force") && !lines.contains("the run is possible"), "{lines}");
            let idle = here(&scenario, &Admission::default(), None, None).join("\n");
            assert!(!idle.contains("refused"), "{idle}");
            let files = LimitFiles { quota: Some("/cg/cpu.max".into()), ..LimitFiles::default() };
            let group = Cgroup { cpu_quota: Some(0.4), files, ..Cgroup::default() };
            let limited = here(&scenario, &Admission::default(), None, Some(&group)).join("\n");
            assert!(limited.contains("the cgroup allows 0.4 cpus (/cg/cpu.max)"), "{limited}");
            assert_eq!(limited.contains("the run is possible"), idle.contains("the run is possible"), "{limited}");
        }
    }
}
