//! From a request to a saved, rendered run.

use std::io;

use jiff::SignedDuration;
use rustix::process::{getpriority_process, setpriority_process};
use tiermark_counters::{Beside, SourceChoice};
use tiermark_engine::Host;
use tiermark_history::{Journal, Store};
use tiermark_machine::Root;
use tiermark_model::messages::setup as says;
use tiermark_model::{Exit, IdSet, Machine, PlanPage, Request, Run, RunLabels, Warning};
use tiermark_probes::survey;
use tiermark_session::counted::{self, CountedHost};
use tiermark_session::{
    Asked, Begun, Head, OtherWork, OwnRecord, Prepared, disturbs_measurement, memory_of_others, prepare,
};

use crate::args::{CounterUse, PlaceArgs, RunArgs, Simulation};
use crate::counters::{open_counters, refuse_contradiction};
use crate::finish::{Sinks, finish};
use crate::layouts::{Export, HTML};
use crate::output::{self, Destination, Failure, complain_once, remark, tell};
use crate::parse::MostMemory;
use crate::signals::Stop;
use crate::sinks::{EventLines, FirstRows, JournalSink, Listeners, Progress, Talk};
use crate::target::Target;
use crate::{dry, environment, saved, start, target, version};

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

impl Job<'_> {
    /// Whether the first values of its tiers are shown before it ends: a survey and a plan are read as a whole.
    fn answers_first(&self, is_quiet: bool) -> bool {
        !is_quiet && self.plan.is_none() && self.title != survey::PROBE.id
    }
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
    let labels = result.labels.by_key()?;
    let simulated = job.simulation.simulate.is_some();
    // A simulated run is over before anyone could interrupt it: signals keep their usual effect.
    let stop = if simulated { Stop::default() } else { Stop::listen().map_err(Failure::tool)? };
    let drawn = if simulated { SIMULATED_SEED } else { environment::random() & SEED_MASK };
    let seed = place.control.seed.unwrap_or(drawn);
    let (mut target, mut prepared) = planned(job, seed, &stop)?;
    if let Some(warning) = prepared.long_run().filter(|_| !result.quiet) {
        output::warn(warning);
    }
    if place.control.dry_run {
        let exit = dry::run(prepared, target.host.lab(), job.simulation.simulate.as_deref(), job.args)?;
        return Ok(Ended { exit, run: None });
    }
    if let Some(refused) = prepared.refused() {
        complain_once(refused);
        return Ok(Ended { exit: Exit::Refused, run: None });
    }
    if let Some(run) = prepared.not_short().filter(|_| !result.quiet) {
        let rounded = |seconds: f64| SignedDuration::from_secs(seconds.round() as i64);
        let quick = run.quick.filter(|_| job.plan.is_none());
        let quick = quick.map(|quick| format!("; `tiermark {} --quick` takes {:#}", job.title, rounded(quick)));
        let (whole, quick) = (rounded(run.seconds), quick.unwrap_or_default());
        tell(format_args!("tiermark: this run takes about {whole:#}; --max-time shortens it{quick}"));
    }
    // Files are opened before anything is measured: a name that cannot be written must not cost a run.
    let document = result.document().map(Destination::open).transpose()?;
    let opened = |export: &Export<'a>| Destination::open(export.place).map(|place| (place, *export));
    let exports = exports.iter().map(opened).collect::<Result<Vec<_>, Failure>>()?;
    let (mut late, is_quiet) = (None, result.quiet || result.no_progress);
    if let Some(at) = place.control.start.at {
        match start::wait(at, &stop, is_quiet) {
            Ok(warning) => late = warning,
            Err(exit) => return Ok(Ended { exit, run: None }),
        }
    }
    let mut other_work = None;
    if !simulated {
        if prepared.soaks() && !place.control.force {
            memory_of_others(&target.root, target.host.machine())?;
        }
        other_work = look_around(prepared.cpus().as_ref(), target.host.as_ref(), place, &stop, is_quiet)?;
    }
    if place.control.start.at.is_some() || place.control.waiting.wait.is_some() {
        // The machine as it is now; the host's time begins when it is opened.
        (target, prepared) = planned(job, seed, &stop)?;
    }
    let Target { host, root } = target;
    let CountedHost { mut host, counters, intervals } = count(job, host, &root)?;
    let begun = prepared.begin(head(job, seed, labels, late), host.as_ref(), &root, counters, other_work);
    let store = environment::store();
    let mut listeners = listeners(job.args, &store, &begun, &stop)?;
    if job.answers_first(is_quiet) {
        listeners.rows = Some(FirstRows::new(begun.run(), output::style(&job.args.view)));
    }
    let mut record = OwnRecord::default();
    if !simulated && !result.no_record {
        let (own, notice) = OwnRecord::open(&store, &host.lab().machine, !result.no_save);
        notice.iter().for_each(|refusal| remark(job.args, refusal));
        record = own;
    }
    let (run, revisions) = begun.measure(host.as_mut(), &record, &mut listeners, intervals);
    listeners.progress = None;
    if let Some(lines) = &mut listeners.lines {
        revisions.iter().for_each(|revision| lines.revised(&run, revision));
    }
    if !result.no_save
        && let Err(refusal) = record.keep(&store, &run)
    {
        remark(job.args, &refusal);
    }
    let stopped_by = match stop.exit() {
        // A simulated user stops a run as Ctrl-C does.
        None if host.stopped() && simulated => Some(Exit::Interrupted),
        exit => exit,
    };
    let exit = finish(job.args, &store, &run, Sinks { document, exports, report, listeners }, stopped_by)?;
    Ok(Ended { exit, run: Some(run) })
}

/// Opens the machine, and plans what a job asks of it.
fn planned(job: &Job<'_>, seed: u64, stop: &Stop) -> Result<(Target, Prepared), Failure> {
    let place = &job.args.place;
    let target = target::open(job.simulation, seed, place.max_mem.and_then(MostMemory::bytes), stop.flag())?;
    let together = place.max_time.filter(|_| job.plan.is_some());
    let prepared = prepare(&(job.requests)(target.host.machine(), seed)?, together, target.host.lab());
    let prepared = prepared.map_err(|probe| Failure::tool(format!("no probe '{probe}'")))?;
    let prepared = if job.plan.is_some() { prepared.of_a_plan(&given(place)) } else { prepared };
    Ok((target, beside_intervals(job, prepared)?))
}

/// Puts counters of memory traffic beside the host, and compares them with known streams.
fn count(job: &Job<'_>, mut host: Box<dyn Host>, root: &Root) -> Result<CountedHost, Failure> {
    let counting = &job.args.place.control.counting;
    let (required, named) = (counting.when == CounterUse::Require, counting.source.counters_from.is_some());
    let simulated = job.simulation.simulate.is_some();
    let counted = if counting.when == CounterUse::Off {
        return Ok(CountedHost { host, counters: None, intervals: None });
    } else if simulated && job.simulation.sim_counters.is_some() {
        let counters = Some(counted::simulated(host.as_mut()));
        CountedHost { host, counters, intervals: None }
    } else if simulated && !required && !named {
        return Ok(CountedHost { host, counters: None, intervals: None });
    } else {
        let chosen = open_counters(root, host.machine(), counting, Beside::Shots)?;
        counted::beside(host, root, chosen)
    };
    let useless = counted.counters.as_ref().map_or(Ok(()), |own| counted::refuse_useless(required, named, own));
    useless.map_err(|refusals| Failure::Wrong(Vec::new(), refusals))?;
    Ok(counted)
}

/// Plans the time of a source that counts in intervals of its own, where the user names one.
///
/// # Errors
/// A [`Failure`] of usage if the job has numbers that do not run for seconds.
fn beside_intervals(job: &Job<'_>, prepared: Prepared) -> Result<Prepared, Failure> {
    let named = job.args.place.control.counting.source.counters_from.as_ref().map(SourceChoice::id);
    let Some(source) = named.filter(|source| source.has_intervals()) else { return Ok(prepared) };
    prepared.beside_intervals(source).map_err(|probe| {
        let name = source.name();
        Failure::usage(format!(
            "--counters-from {name}: its intervals of about a second are too long for '{probe}'; `matrix`, \
             `scale`, `bandwidth`, `run placement-matrix` and `watch` can use it"
        ))
    })
}

/// Refuses outputs that would get into each other's way.
fn one_to_stdout(args: &RunArgs, exports: &[Export<'_>]) -> Result<(), Failure> {
    let result = &args.result;
    let own = [("json", result.document()), ("jsonl", result.jsonl.as_deref())];
    let others = exports.iter().map(|export| (export.layout.name, Some(export.place)));
    let to_stdout = own.into_iter().chain(others).filter(|(_, place)| *place == Some("-"));
    let to_stdout: Vec<String> = to_stdout.map(|(option, _)| format!("--{option}")).collect();
    if to_stdout.len() > 1 {
        let options = to_stdout.join(" and ");
        return Err(Failure::usage(format!(
            "{options} would all write to standard output; give all but one a file: --json=FILE"
        )));
    }
    if args.place.control.dry_run && result.document().is_some_and(|file| file != "-") {
        return Err(Failure::usage("a plan is printed, not saved: use --json=- --dry-run"));
    }
    Ok(())
}

/// Which of these options the user gave: a refusal of a part of a plan may name them as its cure.
pub(crate) fn given(place: &PlaceArgs) -> Vec<&'static str> {
    let options = [
        ("--cpus", place.cpus.is_some()),
        ("--mem-node", place.mem_node.is_some()),
        ("--pages", !place.pages.is_empty()),
        ("--max-mem", place.max_mem.is_some()),
    ];
    options.into_iter().filter(|(_, given)| *given).map(|(option, _)| option).collect()
}

/// Lowers the priority if requested, and checks whether other work keeps the cpus in scope busy; with --wait until it
/// does not.
fn look_around(
    cpus: Option<&IdSet>,
    host: &dyn Host,
    place: &PlaceArgs,
    stop: &Stop,
    quiet: bool,
) -> Result<Option<OtherWork>, Failure> {
    if let Some(nice) = place.control.nice {
        let lowered = getpriority_process(None).and_then(|now| setpriority_process(None, now + nice));
        lowered.map_err(|e: rustix::io::Errno| {
            Failure::from(says::priority_refused(nice, &io::Error::from(e).to_string()))
        })?;
    }
    let cpus = cpus.unwrap_or(&host.machine().allowed_cpus);
    let control = &place.control;
    start::room(cpus, (control.force, control.waiting.wait), disturbs_measurement, stop, quiet)
}

/// The parts of the document that are known before the machine is discovered.
fn head(job: &Job<'_>, seed: u64, labels: RunLabels, late: Option<Warning>) -> Head {
    let (started, id) = environment::started_and_id();
    Head {
        id,
        title: job.title.to_owned(),
        tool: version::tool(),
        command: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
        started,
        seed,
        labels,
        late,
        plan: job.plan.clone(),
        simulated: job.simulation.simulate.clone(),
    }
}

/// Sets up all sinks of a run.
fn listeners(args: &RunArgs, store: &Store, begun: &Begun<'_>, stop: &Stop) -> Result<Listeners, Failure> {
    let mut listeners = Listeners { keeps_blocks: args.result.keeps_blocks(), ..Listeners::default() };
    if let Some(place) = &args.result.jsonl {
        let mut lines = EventLines::open(place, stop.flag())?;
        lines.head(begun.run());
        listeners.lines = Some(lines);
    }
    if !args.result.no_save {
        saved::adopt(store, args.result.quiet);
        match Journal::create(store, begun.run()) {
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
        listeners.progress = Progress::new(begun.expected_seconds(), output::style(&args.view).unicode);
    }
    Ok(listeners)
}
