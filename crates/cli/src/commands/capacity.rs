//! `tiermark capacity`: how many tenants fit within a service level, on each kind of memory.

mod asked;
mod dry;
mod gate;
mod progress;
mod scenario;

use std::io::{self, Write};
use std::path::Path;

use tiermark_capacity::result;
use tiermark_capacity::run::{self, Event};
use tiermark_capacity::saved::SavedRun;
use tiermark_capacity::scenario::Backend;
use tiermark_lines::write_whole;
use tiermark_machine::Root;
use tiermark_model::capacity::{Answer, Capacity, Outcome};
use tiermark_model::messages::capacity as says;
use tiermark_model::{Exit, Warning};
use tiermark_page::terminal;

use crate::args::{CapacityArgs, Simulation};
use crate::busy::Watch;
use crate::environment;
use crate::health::{self, HealthWatch};
use crate::output::{self, Destination, Failure, complain_once, print, style, tell};
use crate::signals::Stop;
use crate::{target, version};
use gate::Begun;
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
    if args.dry_run {
        return dry::run(args);
    }
    let place = args.json.as_deref().map(Destination::open).transpose()?;
    let stop = Stop::listen_to_the_end().map_err(Failure::tool)?;
    let Begun { mut saved, prices, watch } = gate::begin(args)?;
    let (root, machine) = (Root::live(), target::this_machine()?);
    let health = HealthWatch::begin(&root, &machine);
    let mut warnings = match carry_out(args, &mut saved, &stop) {
        Ok(warnings) => warnings,
        Err(failure) => {
            // A resumed run has the results of its first checks.
            if args.resume.is_none() {
                saved.discard();
            }
            return Err(failure);
        }
    };
    let health = health.ended();
    warnings.extend(health.iter().flat_map(health::warnings));
    let about = (version::tool(), target::this_machine()?);
    let programs = watch.as_ref().filter(|_| has_own_servers(&saved)).map(Watch::programs).unwrap_or_default();
    // Where servers are elsewhere, no trial shows what other programs used of the client's machine.
    let is_client_alone = saved.begun.scenario.backend == Backend::External;
    warnings.extend(watch.iter().filter(|_| is_client_alone).flat_map(Watch::warnings));
    // The parts of a run before that had other programs beside them.
    let since = if args.resume.is_some() { "since the run was resumed" } else { "over the whole run" };
    let mut document = Capacity { health, ..result::document(&saved, about, warnings, (&programs, since)) };
    if let Some(prices) = prices {
        document.cost =
            Some(result::costs(&prices, &document.cases, saved.begun.started.get(..DAY).unwrap_or_default()));
    }
    finish(args, place, &document, &saved, &stop)
}

/// Whether all servers are children of this process, so that other programs can be told from them.
fn has_own_servers(saved: &SavedRun) -> bool {
    saved.begun.scenario.backend != Backend::External && saved.begun.setup.removes.is_none()
}

/// Characters of an RFC 3339 time that are its day.
const DAY: usize = "2026-11-21".len();

/// Makes the searches; results are in `saved`, however the run ends.
fn carry_out(args: &CapacityArgs, saved: &mut SavedRun, stop: &Stop) -> Result<Vec<Warning>, Failure> {
    let (state, flag) = (gate::state()?, stop.flag());
    let environment = asked::environment(args, &saved.begun.scenario, &state, &flag)?;
    let (mut bar, mut warnings) = (Bar::new(args.quiet), Vec::new());
    let mut told = |event: &Event<'_>| {
        if let Event::Warning(warning) = event {
            warnings.push((*warning).clone());
        }
        bar.tell(event);
    };
    let ended = run::execute(saved, &environment, &mut told);
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
    let json = output::json(&tiermark_report::without_commands(document))?;
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
        print(&terminal(&tiermark_report::capacity(document, &style(&args.view)), &style(&args.view)))?;
    }
    if !args.quiet && (was_kept.is_ok() || !saved.is_whole()) {
        tell(match saved.is_whole() {
            true => format!("Saved as {path}"),
            false => format!("Not finished: tiermark capacity --resume={path}"),
        });
    }
    Ok(stop.exit().unwrap_or_else(|| exit(document, saved)))
}

fn exit(document: &Capacity, saved: &SavedRun) -> Exit {
    let open =
        |answer: &Answer| matches!(answer, Answer::Between { .. } | Answer::Fixed { outcome: Outcome::Unclear, .. });
    match () {
        () if document.cases.is_empty() && saved.is_whole() => Exit::Refused,
        () if saved.is_whole() && document.refused.is_empty() && !document.cases.iter().any(|c| open(&c.answer)) => {
            Exit::Done
        }
        () => Exit::Partial,
    }
}
