//! `tiermark capacity`: how many tenants fit within a service level, on each kind of memory.

mod progress;
mod scenario;

use std::path::PathBuf;
use std::time::Duration;

use tiermark_capacity::backend::{Commands, GuestFiles, Places};
use tiermark_capacity::conduct::{Event, Means, conduct, intended, unfinished};
use tiermark_capacity::cost::Prices;
use tiermark_capacity::result;
use tiermark_capacity::saved::{Begun, Saved};
use tiermark_capacity::scenario::{Backend, Scenario};
use tiermark_load::{ClientSetup, Target};
use tiermark_machine::Root;
use tiermark_model::capacity::{Answer, Capacity};
use tiermark_model::{Exit, Refusal, Warning};
use tiermark_tune::{Live, StateDir, restore_those};

use crate::args::{CapacityArgs, Simulation};
use crate::output::{Failure, Place, complain_once, print, style, tell};
use crate::shell;
use crate::signals::Stop;
use progress::Bar;

/// What the journals of capacity runs begin with, by which what a killed one left is known.
const WHAT: &str = "tiermark capacity";

/// Runs the command.
pub(crate) fn run(args: &CapacityArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    if simulation.simulate.is_some() {
        return Err(Failure::usage("tenants are real servers: there is no simulation of them"));
    }
    if args.list {
        return print(&scenario::list()).map(|()| Exit::Done);
    }
    if args.dry_run {
        return dry_run(args);
    }
    let place = args.json.as_deref().map(Place::open).transpose()?;
    let stop = Stop::listen().map_err(Failure::tool)?;
    let (mut saved, prices) = begin(args)?;
    let warnings = match carry_out(args, &mut saved, &stop) {
        Ok(warnings) => warnings,
        Err(failure) => {
            // A run that goes on holds what was found out before.
            if args.resume.is_none() {
                saved.discard();
            }
            return Err(failure);
        }
    };
    let mut document = result::document(&saved, warnings);
    if let Some(prices) = prices {
        document.cost = Some(result::costs(&prices, &document.cases, &saved.begun.started[..DAY]));
    }
    finish(args, place, &document, &saved, &stop)
}

/// The run, and prices: those that make no sense are told before hours of measuring.
fn begin(args: &CapacityArgs) -> Result<(Saved, Option<Prices>), Failure> {
    let prices = |scenario: &Scenario| scenario.prices.as_deref().map(scenario::prices).transpose();
    if let Some(file) = &args.resume {
        let file = match file {
            Some(file) => file.clone(),
            None => unfinished(&directory()?)?,
        };
        let saved = Saved::open(&file)?;
        let prices = prices(&saved.begun.scenario)?;
        may_run(&saved.begun.scenario)?;
        return Ok((saved, prices));
    }
    let scenario = asked(args)?;
    let prices = prices(&scenario)?;
    may_run(&scenario)?;
    let (started, id) = shell::started_and_id();
    let seed = scenario.seed.unwrap_or_else(shell::random);
    Ok((Saved::create(&directory()?, &id, Begun::new(started, seed, scenario))?, prices))
}

/// Whether this user may have tenants of that kind.
fn may_run(scenario: &Scenario) -> Result<(), Refusal> {
    if scenario.backend == Backend::External || rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(Refusal::new(
        "tenants in control groups",
        "only root may make them here",
        "run with sudo, or name servers that run already: --backend external --target HOST:PORT,...",
    ))
}

/// Characters of an RFC 3339 time that are its day.
const DAY: usize = "2026-11-21".len();

/// The scenario that was named, with what options change, checked as a whole.
fn asked(args: &CapacityArgs) -> Result<Scenario, Failure> {
    let name = args.plan.as_deref().unwrap_or_default();
    let mut scenario = scenario::read(name)?;
    args.change(&mut scenario);
    let problems = scenario.problems();
    match problems.is_empty() {
        true => Ok(scenario),
        false => Err(Failure::Mistakes(problems.iter().map(ToString::to_string).collect())),
    }
}

/// Where runs are saved while they go on.
fn directory() -> Result<PathBuf, Refusal> {
    let store = shell::store();
    let runs = store.directory().and_then(std::path::Path::parent).map(|data| data.join("capacity"));
    runs.ok_or_else(|| {
        let why = "no directory for it is known, and a killed run could not be taken up again";
        Refusal::new("saving the run", why, "set TIERMARK_HOME or HOME")
    })
}

/// What would be done.
fn dry_run(args: &CapacityArgs) -> Result<Exit, Failure> {
    let scenario = asked(args)?;
    let text = toml::to_string(&scenario).map_err(Failure::tool)?;
    let mut out = format!("{text}\n# {} searches:\n", scenario.parts().len());
    for part in scenario.parts() {
        out.push_str(&format!("#   {}, {}\n", part.tier, part.load()));
    }
    out.push_str("# Made for them, noted first, and taken back at the end:\n");
    for line in intended(&scenario) {
        out.push_str(&format!("#   {line}\n"));
    }
    print(&out).map(|()| Exit::Done)
}

fn state() -> Result<StateDir, Refusal> {
    shell::state().ok_or_else(|| {
        Refusal::new("changing the system", "no directory for the journal is known", "set TIERMARK_HOME or HOME")
    })
}

/// Takes back what a killed run of this kind left.
fn take_back(state: &StateDir, quiet: bool) -> Result<(), Failure> {
    let mut hands = Live::new(Root::live());
    let restored = restore_those(state, &mut hands, false, &|what| what.starts_with(WHAT))?;
    if !quiet && !restored.deeds.is_empty() {
        tell("tiermark: a run that was killed had left something; it is taken back now");
    }
    match restored.incomplete() {
        true => Err(Failure::Refused(Refusal::new(
            "beginning a run",
            "what a killed run left could not all be taken back",
            "see `tiermark tune --restore`",
        ))),
        false => Ok(()),
    }
}

/// Makes the searches; what is found is in `saved`, whatever ends it.
fn carry_out(args: &CapacityArgs, saved: &mut Saved, stop: &Stop) -> Result<Vec<Warning>, Failure> {
    let state = &state()?;
    if saved.begun.scenario.backend != Backend::External {
        take_back(state, args.quiet)?;
    }
    let flag = stop.flag();
    let own = std::env::current_exe().map_err(Failure::tool)?.display().to_string();
    let places = Places {
        server: saved.begun.scenario.tenant.server.clone(),
        wrapper: args.tenants.wrap.iter().flat_map(|words| words.split_whitespace()).map(str::to_owned).collect(),
        placer: vec![own, tiermark_host::PLACE.to_owned()],
        first_port: args.tenants.first_port,
    };
    let commands = Commands { start: args.tenants.start.clone(), stop: args.tenants.stop.clone() };
    let guest = GuestFiles { kernel: args.tenants.guest_kernel.clone(), agent: args.tenants.guest_agent.clone() };
    let targets = targets(args, &saved.begun.scenario)?;
    let means = Means { state, places, guest, targets, commands, client: client(args), stop: &flag };
    let (mut bar, mut warnings) = (Bar::new(args.quiet), Vec::new());
    let mut told = |event: &Event<'_>| {
        if let Event::Remark(about, text) = event {
            warnings.push(Warning { code: (*about).to_owned(), text: (*text).to_owned(), cure: None });
        }
        bar.tell(event);
    };
    let ended = conduct(saved, &means, &mut told);
    drop(bar);
    match ended {
        // What was found is told before what went wrong in the end.
        Err(refusal) if saved.cases.iter().any(|case| !case.probes.is_empty() || case.refused.is_some()) => {
            warnings.push(Warning { code: "ended".to_owned(), text: refusal.to_string(), cure: None });
        }
        other => other?,
    }
    Ok(warnings)
}

fn targets(args: &CapacityArgs, scenario: &Scenario) -> Result<Vec<Target>, Failure> {
    let target = |text: &String| {
        let address = text.parse().map_err(|why| Failure::usage(format!("'{text}': {why}")))?;
        Ok(Target { password: args.tenants.password.clone(), ..Target::new(address) })
    };
    scenario.targets.iter().map(target).collect()
}

fn client(args: &CapacityArgs) -> ClientSetup {
    let cpus: Vec<usize> = args.client_cpus.iter().flat_map(|cpus| cpus.iter()).map(|cpu| cpu as usize).collect();
    let timeout = Duration::from_secs(60);
    ClientSetup { threads: args.threads.unwrap_or(cpus.len().max(1)), cpus, timeout, ..ClientSetup::default() }
}

/// Shows and keeps the document.
fn finish(
    args: &CapacityArgs,
    place: Option<Place>,
    document: &Capacity,
    saved: &Saved,
    stop: &Stop,
) -> Result<Exit, Failure> {
    let json = serde_json::to_string_pretty(document).map_err(Failure::tool)?;
    let kept = saved.path().with_extension("json");
    if let Err(error) = std::fs::write(&kept, &json) {
        tell(format_args!("tiermark: warning: the result could not be kept as {}: {error}", kept.display()));
    }
    let on_stdout = matches!(place, Some(Place::Stdout));
    if let Some(place) = place {
        place.write(&json)?;
    }
    complain_once(&document.refused);
    if !on_stdout {
        print(&tiermark_report::capacity(document, &style(&args.view)))?;
    }
    if !args.quiet {
        let path = shell::quoted(if saved.is_whole() { &kept } else { saved.path() });
        tell(match saved.is_whole() {
            true => format!("Kept as {path}"),
            false => format!("Not finished: tiermark capacity --resume={path}"),
        });
    }
    Ok(stop.exit().unwrap_or_else(|| exit(document, saved)))
}

fn exit(document: &Capacity, saved: &Saved) -> Exit {
    let single = |answer: &Answer| !matches!(answer, Answer::Between { .. });
    match () {
        () if document.cases.is_empty() => Exit::Refused,
        () if saved.is_whole() && document.refused.is_empty() && document.cases.iter().all(|c| single(&c.answer)) => {
            Exit::Done
        }
        () => Exit::Partial,
    }
}
