//! From a request to a saved, rendered run.

use std::io;

use rustix::process::{getpriority_process, setpriority_process};
use tiermark_engine::admit::Fresh;
use tiermark_engine::{Host, PlannedExperiment, admit};
use tiermark_history::{Journal, Store};
use tiermark_machine::Root;
use tiermark_model::messages::setup as says;
use tiermark_model::{
    Exit, Experiment, IdSet, Machine, Plan, PlanPage, RUN_SCHEMA, Refusal, Request, Run, RunCounters, Warning,
};
use tiermark_probes::survey;
use tiermark_tune::doctor;

use crate::agreed::agreed;
use crate::args::{CounterUse, PlaceArgs, RunArgs, Simulation};
use crate::busy::{Watch, disturbs_measurement};
use crate::counters::refuse_contradiction;
use crate::dry::Planned;
use crate::exports::{Export, HTML};
use crate::finish::{Sinks, finish};
use crate::health::HealthWatch;
use crate::output::{self, Destination, Failure, complain_once};
use crate::record::OwnRecord;
use crate::signals::Stop;
use crate::sinks::{EventLines, JournalSink, Listeners, Progress, Talk};
use crate::target::Target;
use crate::{counted, dry, duration_warning, environment, health, limited, orphans, target, version};

/// A request, and why it cannot be made of this machine at all, where that is known before it is planned.
pub(crate) type Asked = (Request, Option<Refusal>);

/// The requests of a command to a machine, with a seed.
pub(crate) type Requests<'a> = dyn Fn(&Machine, u64) -> Result<Vec<Asked>, Failure> + 'a;

/// Requests of which nothing is refused yet.
pub(crate) fn asked(requests: Vec<Request>) -> Vec<Asked> {
    requests.into_iter().map(|request| (request, None)).collect()
}

/// The requests and options of one command.
pub(crate) struct Job<'a> {
    /// The command's name.
    pub(crate) title: &'a str,
    /// Its common arguments.
    pub(crate) args: &'a RunArgs,
    /// The machine to run on.
    pub(crate) simulation: &'a Simulation,
    /// Makes the requests for a machine and a seed.
    pub(crate) requests: &'a Requests<'a>,
    /// Files to write beside the document.
    pub(crate) exports: Vec<Export<'a>>,
    /// The page of the plan whose experiments the requests are: `--max-time` is then for all of them together, shared
    /// out as they are expected to take. `None` for a command of its own.
    pub(crate) plan: Option<PlanPage>,
}

/// Seed of simulated runs: they are to be the same each time.
const SIMULATED_SEED: u64 = 1;
/// Drawn seeds stay below 2³², so that every reader of JSON keeps them exactly.
pub(crate) const SEED_MASK: u64 = 0xffff_ffff;

/// How a job ended.
pub(crate) struct Ended {
    pub(crate) exit: Exit,
    /// The run; `None` if it never began.
    pub(crate) run: Option<Run>,
}

/// Runs a job from the plan to the exit code.
///
/// # Errors
/// As [`conduct`].
pub(crate) fn run(job: &Job<'_>) -> Result<Exit, Failure> {
    conduct(job, true).map(|ended| ended.exit)
}

/// Runs a job, and prints its report if that is wanted.
///
/// # Errors
/// A [`Failure`] for whatever ends it before there is a result.
pub(crate) fn conduct<'a>(job: &Job<'a>, report: bool) -> Result<Ended, Failure> {
    let (place, result) = (&job.args.place, &job.args.result);
    let page = result.html.as_deref().map(|place| Export { layout: &HTML, place });
    let exports: Vec<Export<'a>> = job.exports.iter().copied().chain(page).collect();
    one_to_stdout(job.args, &exports)?;
    refuse_contradiction(&place.control.counting)?;
    let simulated = job.simulation.simulate.is_some();
    // A simulated run is over before anyone could interrupt it: signals keep their usual effect.
    let stop = if simulated { Stop::default() } else { Stop::listen().map_err(Failure::tool)? };
    let drawn = if simulated { SIMULATED_SEED } else { environment::random() & SEED_MASK };
    let seed = place.control.seed.unwrap_or(drawn);
    let Target { host, root } = target::open(job.simulation, seed, place.max_mem, stop.flag())?;
    let plans = all_plans(job, host.as_ref(), seed)?;
    let made = plans.iter().filter_map(|(request, planned)| Some((request, &planned.as_ref().ok()?.plan)));
    let long = duration_warning::warning(&made.collect::<Vec<_>>());
    if let Some(warning) = long.iter().find(|_| !result.quiet) {
        output::warn(warning);
    }
    if place.control.dry_run {
        let exit = dry::run(plans, host.as_ref(), job.simulation.simulate.as_deref(), job.args)?;
        return Ok(Ended { exit, run: None });
    }
    let refused: Vec<&Refusal> = plans.iter().filter_map(|(_, plan)| plan.as_ref().err()).collect();
    if refused.len() == plans.len() {
        complain_once(refused);
        return Ok(Ended { exit: Exit::Refused, run: None });
    }
    let watch = if simulated { None } else { look_around(scope_of(&plans).as_ref(), host.as_ref(), place)? };
    let (mut host, counters) = count(job, host, &root)?;
    let store = environment::store();
    let health = HealthWatch::begin(&root, host.machine());
    let head = head(job, host.as_ref(), &root, seed, watch.is_some());
    let mut run = Run { plan: job.plan.clone(), health: health.begun(), counters, ..head };
    run.warnings.extend(long);
    // Files are opened before anything is measured: a name that cannot be written must not cost a run.
    let document = result.json.as_deref().map(Destination::open).transpose()?;
    let opened = |export: &Export<'a>| Destination::open(export.place).map(|place| (place, *export));
    let exports = exports.iter().map(opened).collect::<Result<Vec<_>, Failure>>()?;
    let mut listeners = listeners(job.args, &store, &run, &plans, &stop)?;
    let record = match simulated {
        true => OwnRecord::default(),
        false => OwnRecord::open(job.args, &store, &host.lab().machine),
    };
    for planned in plans {
        run.experiments.push(experiment(planned, host.as_mut(), &record, &mut listeners));
        if host.stopped() {
            break;
        }
    }
    agreed(&mut run.experiments, host.lab(), listeners.lines.as_mut());
    run.seconds = host.now();
    run.complete = !host.stopped();
    run.health = health.ended();
    run.warnings.extend(run.health.iter().flat_map(health::warnings));
    run.warnings.extend(watch.iter().flat_map(Watch::warnings));
    run.warnings.extend(tiermark_model::memory_not_kept(&run.experiments));
    listeners.progress = None;
    record.keep(job.args, &store, &run);
    let stopped_by = match stop.exit() {
        // A simulated user stops a run as Ctrl-C does.
        None if host.stopped() && simulated => Some(Exit::Interrupted),
        exit => exit,
    };
    let exit = finish(job.args, &store, &run, Sinks { document, exports, report, listeners }, stopped_by)?;
    Ok(Ended { exit, run: Some(run) })
}

/// Puts counters of memory traffic beside the host, and compares them with known streams.
fn count(job: &Job<'_>, mut host: Box<dyn Host>, root: &Root) -> Result<(Box<dyn Host>, Option<RunCounters>), Failure> {
    let counting = &job.args.place.control.counting;
    match (counting.when, job.simulation) {
        (CounterUse::Off, _) => Ok((host, None)),
        (_, Simulation { simulate: Some(_), sim_counters: Some(_), .. }) => {
            let counters = counted::simulated(host.as_mut());
            counted::refuse_useless(counting, &counters)?;
            Ok((host, Some(counters)))
        }
        (when, simulation) => {
            let named = counting.source.counters_from.is_some();
            if simulation.simulate.is_some() && when != CounterUse::Require && !named {
                return Ok((host, None));
            }
            let (host, counters) = counted::beside(host, root, counting)?;
            counted::refuse_useless(counting, &counters)?;
            Ok((host, Some(counters)))
        }
    }
}

/// Refuses outputs that would get into each other's way.
fn one_to_stdout(args: &RunArgs, exports: &[Export<'_>]) -> Result<(), Failure> {
    let result = &args.result;
    let own = [("json", result.json.as_deref()), ("jsonl", result.jsonl.as_deref())];
    let others = exports.iter().map(|export| (export.layout.option, Some(export.place)));
    let to_stdout = own.into_iter().chain(others).filter(|(_, place)| *place == Some("-"));
    let to_stdout: Vec<String> = to_stdout.map(|(option, _)| format!("--{option}")).collect();
    if to_stdout.len() > 1 {
        let options = to_stdout.join(" and ");
        return Err(Failure::usage(format!(
            "{options} would all write to standard output; give all but one a file: --json=FILE"
        )));
    }
    if args.place.control.dry_run && result.json.as_deref().is_some_and(|file| file != "-") {
        return Err(Failure::usage("a plan is printed, not saved: use --json=- --dry-run"));
    }
    Ok(())
}

/// Plans all requests of a job, with its share of the time for each.
fn all_plans(job: &Job<'_>, host: &dyn Host, seed: u64) -> Result<Vec<Planned>, Failure> {
    let place = &job.args.place;
    let requests = (job.requests)(host.machine(), seed)?;
    let mut plans = plans(&requests, host)?;
    if let Some(seconds) = place.max_time.filter(|_| job.plan.is_some()) {
        plans = self::plans(&shared(&plans, seconds), host)?;
    }
    if job.plan.is_some() {
        for (request, plan) in &mut plans {
            // The plan names a node that is not here.
            let named = request.scope.mem_node.is_some() || request.params.get("targets").is_some_and(|t| !t.is_null());
            if let (Err(refusal), true) = (plan, named) {
                *refusal = of_a_plan(refusal.clone(), place);
            }
        }
    }
    Ok(plans)
}

/// The cpus that the requests may use, all together; `None` where one of them may use every cpu.
fn scope_of(plans: &[Planned]) -> Option<IdSet> {
    plans.iter().try_fold(IdSet::new(), |all, (request, _)| Some(all.union(request.scope.cpus.as_ref()?)))
}

/// The requests with their shares of the time, by what their plans are expected to take.
fn shared(plans: &[Planned], seconds: f64) -> Vec<Asked> {
    let whole: f64 = plans.iter().map(expected_seconds).sum();
    let share = |planned: &Planned| {
        let (mut request, refused) = (planned.0.clone(), planned.1.as_ref().err().cloned());
        request.scope.max_seconds = Some(seconds * expected_seconds(planned) / whole.max(f64::MIN_POSITIVE));
        (request, refused)
    };
    plans.iter().map(share).collect()
}

/// Seconds that a request is expected to take: 0 if it is refused.
fn expected_seconds((_, planned): &Planned) -> f64 {
    planned.as_ref().map_or(0.0, |planned| planned.plan.expected_seconds())
}

/// A refusal of a part of a plan: a cure that is an option only helps if the user gave that option.
pub(crate) fn of_a_plan(refusal: Refusal, given: &PlaceArgs) -> Refusal {
    let options = [
        ("--cpus", given.cpus.is_some()),
        ("--mem-node", given.mem_node.is_some()),
        ("--pages", !given.pages.is_empty()),
        ("--max-mem", given.max_mem.is_some()),
    ];
    let names = |option: &&str| refusal.options.iter().any(|named| named == option);
    let cited = |own: bool| options.iter().any(|(option, given)| *given == own && names(option));
    if !cited(false) || cited(true) {
        return refusal;
    }
    refusal.cured_by("this machine cannot run this part of the plan; --allow-partial skips it")
}

/// Plans every request, before anything is measured or refused for another reason.
fn plans(asked: &[Asked], host: &dyn Host) -> Result<Vec<Planned>, Failure> {
    let plan = |(request, refused): &Asked| -> Result<Planned, Failure> {
        let planned = match refused {
            Some(refusal) => Err(refusal.clone()),
            None => planned(request, host)?,
        };
        let possible = planned.and_then(|planned| possible(&planned.plan, host.machine()).map(|()| planned));
        Ok((request.clone(), possible))
    };
    asked.iter().map(plan).collect()
}

/// Whether the machine has room for any step of a plan.
///
/// # Errors
/// The [`Refusal`] of the first step, if the machine has room for none.
fn possible(plan: &Plan, machine: &Machine) -> Result<(), Refusal> {
    let fresh = Fresh::discovered(machine);
    let mut first = None;
    for step in &plan.steps {
        match admit::admit(&step.setup, machine, &fresh) {
            Ok(()) => return Ok(()),
            Err(refusal) => first = first.or(Some(refusal)),
        }
    }
    first.map_or(Ok(()), Err)
}

/// A request with its plan, or why it is refused.
///
/// # Errors
/// A [`Failure`] for a name that no probe has.
pub(crate) fn planned(request: &Request, host: &dyn Host) -> Result<Result<PlannedExperiment, Refusal>, Failure> {
    let probe = tiermark_probes::find(&request.probe);
    let probe = probe.ok_or_else(|| Failure::tool(format!("no probe '{}'", request.probe)))?;
    let study = limited::open(probe, request, host.lab());
    Ok(study.and_then(|study| PlannedExperiment::new(study, request, probe.method)))
}

/// Lowers the priority if requested, and checks whether other work keeps the cpus in scope busy.
fn look_around(cpus: Option<&IdSet>, host: &dyn Host, place: &PlaceArgs) -> Result<Option<Watch>, Failure> {
    if let Some(nice) = place.control.nice {
        let lowered = getpriority_process(None).and_then(|now| setpriority_process(None, now + nice));
        lowered.map_err(|e: rustix::io::Errno| {
            Failure::from(says::priority_refused(nice, &io::Error::from(e).to_string()))
        })?;
    }
    let cpus = cpus.unwrap_or(&host.machine().allowed_cpus);
    Ok(Watch::begin(cpus, place.control.force, disturbs_measurement)?)
}

/// The run document without its experiments.
fn head(job: &Job<'_>, host: &dyn Host, root: &Root, seed: u64, watched: bool) -> Run {
    let (started, id) = environment::started_and_id();
    let machine = host.machine().clone();
    let problems = doctor::problems(root, &machine);
    let mut warnings: Vec<Warning> = problems.iter().map(health::problem).collect();
    warnings.extend(survey::warnings(&machine));
    if watched {
        // Other work during the run replaces the load average, which still shows work that ended a minute ago.
        warnings.retain(|w| w.code != "busy");
    }
    Run {
        schema: RUN_SCHEMA.to_owned(),
        id,
        title: job.title.to_owned(),
        tool: version::tool(),
        command: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
        started,
        seconds: 0.0,
        complete: false,
        seed,
        plan: None,
        simulated: job.simulation.simulate.clone(),
        machine,
        problems: Some(problems),
        health: None,
        counters: None,
        bench: host.bench().clone(),
        experiments: Vec::new(),
        warnings,
    }
}

/// Sets up all sinks of a run.
fn listeners(args: &RunArgs, store: &Store, run: &Run, plans: &[Planned], stop: &Stop) -> Result<Listeners, Failure> {
    let mut listeners = Listeners::default();
    if let Some(place) = &args.result.jsonl {
        let mut lines = EventLines::open(place, stop.flag())?;
        lines.head(run);
        listeners.lines = Some(lines);
    }
    if !args.result.no_save {
        orphans::adopt(store, args.result.quiet);
        match Journal::create(store, run) {
            Ok(journal) => {
                journal.notice().into_iter().for_each(|refusal| output::remark(args, refusal));
                listeners.journal = Some(JournalSink(journal));
            }
            Err(refusal) => output::remark(args, &refusal),
        }
    }
    if args.view.verbose > 0 {
        listeners.talk = Some(Talk);
    } else if !args.result.quiet && !args.result.no_progress {
        listeners.progress =
            Progress::new(plans.iter().map(expected_seconds).collect(), output::style(&args.view).unicode);
    }
    Ok(listeners)
}

/// Runs one request. One that is refused as a whole is part of the document, with its reason.
pub(crate) fn experiment(
    (request, planned): Planned,
    host: &mut dyn Host,
    record: &OwnRecord,
    listeners: &mut Listeners,
) -> Experiment {
    match planned {
        Ok(planned) => planned.run(host, record, listeners),
        Err(refusal) => {
            let method = tiermark_probes::find(&request.probe).map_or(0, |probe| probe.method);
            Experiment::new(request, method, Plan { refused: vec![refusal], ..Plan::default() })
        }
    }
}
