//! What a run would do, in words: its searches and about how long they take, its changes, and what this machine lacks
//! for it.

use std::path::{Path, PathBuf};

use tiermark_machine::Root;
use tiermark_model::capacity::tenants;
use tiermark_model::messages::tiers::codes;
use tiermark_model::{Bytes, Cgroup, Machine, Note, RateUnit, Refusal, shell_word};
use tiermark_undo::pending;

use crate::estimate::{TimeRange, spoken};
use crate::offer::{Offer, offers};
use crate::prepare::{Here, Prepared};
use crate::result::quota_of;
use crate::run::{Admission, has_memory, intended};
use crate::saved::{Pending, RunSetup};
use crate::scenario::{Backend, Scenario, SearchCase, Tier};
use crate::tier::check;

/// What a run would do and what would prevent it: sections, each a heading and its lines (some have no lines). `busy`:
/// the refusal because other programs are busy now. `runs`: the directory of saved runs, if there is one.
#[must_use]
pub fn preview(
    prepared: &Prepared,
    here: &Here<'_>,
    machine: &Machine,
    busy: Option<&Refusal>,
    runs: Option<&Path>,
) -> [(String, Vec<String>); 5] {
    let (Pending { scenario, setup, .. }, admission) = (prepared.job.pending(), &prepared.admission);
    let (searches, all) = searches(scenario, setup, admission);
    let has_left = pending(here.state, &Root::live()).iter().any(|held| !held.at_work);
    let quoted = |path: &Path| shell_word(&path.display().to_string());
    let runs = runs.map_or_else(|| "no directory: set TIERMARK_HOME or HOME".to_owned(), quoted);
    let mut how = how(scenario, setup, here.password.is_some());
    how.push(format!("results are saved in {runs}"));
    how.push(format!("the journal of changes is in {}", quoted(here.state.path())));
    [
        (format!("Searches, {}, {}:", scenario.searches().len(), in_all(scenario, all)), searches),
        ("What fits in an hour here, by adding options:".to_owned(), offered(scenario, setup, admission, all)),
        (
            "Changes, noted in the journal and taken back at the end:".to_owned(),
            intended(scenario, machine.system.zswap),
        ),
        ("How the run works:".to_owned(), how),
        (
            "On this machine, in its present state:".to_owned(),
            possible(scenario, admission, busy, machine.system.cgroup.as_ref(), has_left),
        ),
    ]
}

/// How long all searches of a run take together.
#[must_use]
pub fn expected(prepared: &Prepared) -> TimeRange {
    let Pending { scenario, setup, .. } = prepared.job.pending();
    let (_, all) = searches(scenario, setup, &prepared.admission);
    scenario.limits.total_seconds.map_or(all, |most| all.at_most(most))
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
    // The same number on each tier: as many as the smallest holds.
    let holds = |small: &Scenario| {
        let tenants = |tier: &Tier| small.estimate(tier, room(tier, small), setup.threads).tenants;
        small.tiers.iter().map(tenants).min().unwrap_or(1)
    };
    let offers = offers(scenario, &holds, AN_HOUR, &takes);
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
fn how(scenario: &Scenario, setup: &RunSetup, has_password: bool) -> Vec<String> {
    let mut lines = programs(scenario, setup);
    match scenario.backend {
        Backend::Process => {
            lines.push(match setup.first_port {
                Some(port) => format!("servers listen on 127.0.0.1, from port {port} on"),
                None => "servers listen on 127.0.0.1, on free ports".to_owned(),
            });
        }
        Backend::Qemu => {}
        Backend::External => {
            lines.push(match setup.overwrites {
                true => "servers may hold keys already (--overwrite)".to_owned(),
                false => "servers that hold keys already are refused".to_owned(),
            });
            let password = if has_password { "is given (and never saved)" } else { "is not given" };
            lines.push(format!("their password {password}"));
        }
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
    lines
}

/// Which tiers of the scenario this machine can run. `busy`: the refusal because other programs are busy now.
/// `has_left`: whether changes of earlier commands are still in effect.
fn possible(
    scenario: &Scenario,
    admission: &Admission,
    busy: Option<&Refusal>,
    own: Option<&Cgroup>,
    has_left: bool,
) -> Vec<String> {
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
    if has_left {
        lines.push(
            "changes of an earlier command or a killed run are still in effect; a run first takes back those of \
                killed runs"
                .to_owned(),
        );
    }
    lines
}

/// The programs and commands that a run names.
#[must_use]
pub fn programs(scenario: &Scenario, setup: &RunSetup) -> Vec<String> {
    let mut lines = Vec::new();
    if scenario.backend != Backend::External {
        lines.push(format!("server: {}", scenario.tenant.server));
    }
    if scenario.backend == Backend::Qemu {
        let file = |path: &Option<PathBuf>, none: &str| {
            path.as_ref().map_or_else(|| none.to_owned(), |path| path.display().to_string())
        };
        lines.push(format!("kernel of the guests: {}", file(&setup.guest.kernel, "the newest of /boot")));
        lines.push(format!("program inside of the guests: {}", file(&setup.guest.agent, "this one")));
    }
    if !setup.wrapper.is_empty() {
        lines.push(format!("each server runs behind: {}", setup.wrapper.join(" ")));
    }
    lines.extend(setup.removes.iter().map(|removes| format!("after each server runs: {removes}")));
    let run = |what: &str, command: &Option<String>| {
        command.as_ref().map(|command| format!("command that {what} a tenant: {command}"))
    };
    let commands = &setup.commands;
    let address = run("shows the address of", &commands.address);
    let words = [run("checks", &commands.check), run("starts", &commands.start), address, run("stops", &commands.stop)];
    lines.extend(words.into_iter().flatten());
    lines
}

#[cfg(test)]
mod tests {
    use tiermark_model::LimitFiles;
    use tiermark_model::messages::capacity::machine_busy;

    use super::*;
    use crate::scenario::built_in;

    #[test]
    fn a_busy_machine_is_a_line_of_its_state() {
        let mut scenario = Scenario::read(built_in()[1].1).unwrap();
        let busy = machine_busy(1.8, 2, "cc 1.7");
        for backend in [Backend::Process, Backend::External] {
            scenario.backend = backend;
            let lines = possible(&scenario, &Admission::default(), Some(&busy), None, false).join("\n");
            assert!(
                lines.contains("at this moment the run is refused: other work keeps 1.8 of 2 cpus busy: cc 1.7"),
                "{lines}"
            );
            assert!(lines.contains("--force") && !lines.contains("the run is possible"), "{lines}");
            let idle = possible(&scenario, &Admission::default(), None, None, false).join("\n");
            assert!(!idle.contains("refused"), "{idle}");
            let files = LimitFiles { quota: Some("/cg/cpu.max".into()), ..LimitFiles::default() };
            let group = Cgroup { cpu_quota: Some(0.4), files, ..Cgroup::default() };
            let limited = possible(&scenario, &Admission::default(), None, Some(&group), false).join("\n");
            assert!(limited.contains("the cgroup allows 0.4 cpus (/cg/cpu.max)"), "{limited}");
            assert_eq!(limited.contains("the run is possible"), idle.contains("the run is possible"), "{limited}");
        }
    }
}
