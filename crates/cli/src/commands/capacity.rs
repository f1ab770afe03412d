//! `tiermark capacity`: how many tenants fit within a service level, on each kind of memory.

mod progress;
mod scenario;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use tiermark_capacity::prepare::{Here, Job, Prepared, prepare, take_back};
use tiermark_capacity::preview::{expected, preview};
use tiermark_capacity::result;
use tiermark_capacity::run::{self, Event};
use tiermark_capacity::saved::{RunHeader, SavedRun};
use tiermark_capacity::scenario::Backend;
use tiermark_history::lines::write_whole;
use tiermark_machine::Root;
use tiermark_model::capacity::{Capacity, Setting};
use tiermark_model::messages::capacity as says;
use tiermark_model::messages::undo::no_journal_directory;
use tiermark_model::{Exit, Refusal, Warning};
use tiermark_session::{HealthWatch, NOT_SHORT, OtherWork, disturbs_tenants, health_warnings};
use tiermark_undo::StateDir;

use crate::args::{CapacityArgs, Simulation, View};
use crate::output::{self, Destination, Failure, complain_once, print, rendered, style, tell};
use crate::signals::Stop;
use crate::{environment, restoring, sanitise, start, target, version};
use progress::Bar;

/// Runs the command.
pub(crate) fn run(args: &CapacityArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    if simulation.simulate.is_some() {
        return Err(Failure::usage("capacity runs real servers and cannot be simulated"));
    }
    // A dry run of nothing shows what there is to try.
    if args.list || (args.dry_run && args.scenario.is_none()) {
        return print(&scenario::list()).map(|()| Exit::Done);
    }
    let place = args.json.as_deref().filter(|_| !args.dry_run).map(Destination::open).transpose()?;
    let stop = if args.dry_run { Stop::default() } else { Stop::listen_to_the_end().map_err(Failure::tool)? };
    let job = match scenario::job(args, &stop) {
        Ok(job) => job,
        Err(failure) => return stop.exit().ok_or(failure),
    };
    let (state, flag) = (environment::state().ok_or_else(no_journal_directory)?, stop.flag());
    let here = here(args, &state, &flag)?;
    if args.dry_run { dry_run(job, &here, &args.view) } else { measure(args, job, &here, &stop, place) }
}

/// What a run needs besides its job.
fn here<'a>(args: &CapacityArgs, state: &'a StateDir, stop: &'a AtomicBool) -> Result<Here<'a>, Failure> {
    let own = std::env::current_exe().map_err(Failure::tool)?.display().to_string();
    let placer = vec![own, tiermark_primitives::PLACE.to_owned()];
    Ok(Here { state, placer, password: args.password.clone(), settings, stop })
}

/// Settings of the system and of some block devices; empty if the machine cannot be described.
fn settings(devices: &[String]) -> Vec<Setting> {
    let machine = target::this_machine();
    machine.map_or_else(|_| Vec::new(), |machine| tiermark_tune::settings(&Root::live(), &machine, devices.to_vec()))
}

/// Shows what a run would do, and what would prevent it; measures and changes nothing.
fn dry_run(job: Job, here: &Here<'_>, view: &View) -> Result<Exit, Failure> {
    let prices = job.prices();
    let prepared = prepare(job, prices, here, is_root());
    let (machine, pending) = (target::this_machine()?, prepared.job.pending());
    let busy = OtherWork::begin(&machine.allowed_cpus, pending.setup.force, disturbs_tenants).err();
    let sections = preview(&prepared, here, &machine, busy.as_ref(), directory().ok().as_deref());
    let text = toml::to_string(pending.scenario).map_err(Failure::tool)?;
    print(&format!("{text}\n{}", tiermark_report::listings::comments(&sections, &style(view))))?;
    refuse_wrong(&prepared).map(|()| Exit::Done)
}

/// Reports everything at once that prevents a run.
fn refuse_wrong(prepared: &Prepared) -> Result<(), Failure> {
    let refused: Vec<Refusal> = prepared.admission.refusals().cloned().collect();
    if prepared.may_begin() { Ok(()) } else { Err(Failure::Wrong(prepared.mistakes.clone(), refused)) }
}

/// Carries out a job, and shows and keeps its document.
fn measure(
    args: &CapacityArgs,
    job: Job,
    here: &Here<'_>,
    stop: &Stop,
    place: Option<Destination>,
) -> Result<Exit, Failure> {
    let prices = job.prices();
    // With mistakes in the prices the run is refused below, so nothing is taken back.
    if prices.is_ok() {
        let (back, refused) = take_back(&job, here.state, is_root(), restoring::announce_commands);
        let back: Vec<String> = back.iter().map(|row| sanitise::line(&row.summary())).collect();
        if !args.quiet && !back.is_empty() {
            tell(format_args!("tiermark: taken back, left by a killed run: {}", back.join(", ")));
        }
        if !refused.is_empty() {
            return Err(Failure::Wrong(Vec::new(), refused));
        }
    }
    let prepared = prepare(job, prices, here, is_root());
    if let Err(failure) = refuse_wrong(&prepared) {
        // If a signal ended the checks, servers that were not reached are not a refusal.
        return stop.exit().ok_or(failure);
    }
    // Of a resumed run a part is done.
    let time = expected(&prepared);
    if time.most > NOT_SHORT && args.resume.is_none() && !args.quiet {
        tell(format_args!(
            "tiermark: this run takes {time}; --dry-run shows the time of each search, and shorter runs"
        ));
    }
    let mut late = None;
    if let Some(at) = args.start.at {
        match start::wait(at, stop, args.quiet) {
            Ok(warning) => late = warning,
            Err(exit) => return Ok(exit),
        }
    }
    let (root, machine) = (Root::live(), target::this_machine()?);
    let patience = (prepared.job.pending().setup.force, args.waiting.wait);
    let watch = start::room(&machine.allowed_cpus, patience, disturbs_tenants, stop, args.quiet)?;
    let mut saved = match prepared.job {
        Job::Resumed(saved) => saved,
        Job::New { scenario, setup } => {
            let (started, id) = environment::started_and_id();
            let seed = scenario.seed.unwrap_or_else(environment::random);
            SavedRun::create(&directory()?, &id, RunHeader::new(started, seed, scenario, setup))?
        }
    };
    let health = HealthWatch::begin(&root, &machine);
    let mut warnings = match carry_out(args, &mut saved, here) {
        Ok(warnings) => warnings,
        Err(failure) => {
            // A resumed run has the results of its first checks.
            if args.resume.is_none() {
                saved.discard();
            }
            return Err(failure.into());
        }
    };
    let health = health.ended();
    warnings.extend(late);
    warnings.extend(health.iter().flat_map(health_warnings));
    let programs = watch.as_ref().filter(|_| has_own_servers(&saved)).map(OtherWork::programs).unwrap_or_default();
    // Where servers are elsewhere, no trial shows what other programs used of the client's machine.
    let is_client_alone = saved.begun.scenario.backend == Backend::External;
    warnings.extend(watch.iter().filter(|_| is_client_alone).flat_map(OtherWork::warnings));
    // The parts of a run before that had other programs beside them.
    let since = if args.resume.is_some() { "since the run was resumed" } else { "over the whole run" };
    let about = (version::tool(), target::this_machine()?);
    let mut document = Capacity { health, ..result::document(&saved, about, warnings, (&programs, since)) };
    if let Some(prices) = prepared.prices {
        document.cost =
            Some(result::costs(&prices, &document.cases, saved.begun.started.get(..DAY).unwrap_or_default()));
    }
    finish(args, place, &document, &saved, stop)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Where runs are saved while they go on.
fn directory() -> Result<PathBuf, Refusal> {
    environment::capacity_runs().directory().map(Path::to_owned).ok_or_else(says::no_run_directory)
}

/// Whether all servers are children of this process, so that other programs can be told from them.
fn has_own_servers(saved: &SavedRun) -> bool {
    saved.begun.scenario.backend != Backend::External && saved.begun.setup.removes.is_none()
}

/// Characters of an RFC 3339 time that are its day.
const DAY: usize = "2026-11-21".len();

/// Makes the searches; results are in `saved`, however the run ends.
fn carry_out(args: &CapacityArgs, saved: &mut SavedRun, here: &Here<'_>) -> Result<Vec<Warning>, Refusal> {
    let environment = here.environment(&saved.begun.scenario);
    let (mut bar, mut warnings) = (Bar::new(args.quiet), Vec::new());
    let mut report = |event: &Event<'_>| {
        if let Event::Warning(warning) = event {
            warnings.push((*warning).clone());
        }
        bar.tell(event);
    };
    let ended = run::execute(saved, &environment, &mut report);
    drop(bar);
    match ended {
        // Results are shown before the error that ended the run.
        Err(refusal) if saved.cases.iter().any(|case| !case.trials.is_empty() || case.refused.is_some()) => {
            warnings.push(says::ended(&refusal.to_string()));
        }
        other => other?,
    }
    Ok(warnings)
}

/// Saves the document beside the saved run.
fn keep(path: &Path, json: &str) -> io::Result<()> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(io::ErrorKind::InvalidFilename.into());
    };
    write_whole(directory, name, |file| file.write_all(json.as_bytes())).map(drop)
}

/// Shows and keeps the document.
fn finish(
    args: &CapacityArgs,
    place: Option<Destination>,
    document: &Capacity,
    saved: &SavedRun,
    stop: &Stop,
) -> Result<Exit, Failure> {
    // Commands and their output may hold passwords: this user may see them, a reader of the document may not.
    let json = output::json(&tiermark_report::redact::without_commands(document))?;
    let kept = saved.path().with_extension("json");
    let was_kept = keep(&kept, &json);
    let path = environment::quoted(if saved.is_whole() && was_kept.is_ok() { &kept } else { saved.path() });
    if let Err(error) = &was_kept {
        tell(format_args!(
            "tiermark: warning: the result could not be saved as {}: {error}; free space there, then: tiermark \
             capacity --resume={path}",
            kept.display()
        ));
    }
    let on_stdout = matches!(place, Some(Destination::Stdout));
    if let Some(place) = place {
        place.write(&json)?;
    }
    complain_once(&document.refused);
    if !on_stdout {
        print(&rendered(&args.view, |style| tiermark_report::tenant_views::capacity(document, style)))?;
    }
    if !args.quiet && (was_kept.is_ok() || !saved.is_whole()) {
        tell(match saved.is_whole() {
            true => format!("Saved as {path}"),
            false => format!("Not finished: tiermark capacity --resume={path}"),
        });
    }
    Ok(stop.exit().unwrap_or_else(|| result::exit(document, saved)))
}
