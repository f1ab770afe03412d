//! `tiermark load`: requests to Redis servers, at a rate or as fast as they are answered.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use indicatif::ProgressBar;
use tiermark_capacity::scenario::Pacing;
use tiermark_engine::admit::Fresh;
use tiermark_history::SavedPlace;
use tiermark_history::lines::{Appender, Survives};
use tiermark_load::{
    Address, ClientSetup, Job, Latencies, Length, Outcome, Pace, Phase, Snapshot, Target, TenantResult, ValueShape,
    Watch as Watcher, Workload, client_bytes, fill, run as load,
};
use tiermark_model::load::{LoadMix, LoadRun};
use tiermark_model::messages::load as says;
use tiermark_model::{Bytes, Exit, Machine, Refusal, Warning};
use tiermark_session::{OtherWork, disturbs_client};

use crate::args::LoadArgs;
use crate::output::{self, Destination, Failure, print, rendered, style, tell};
use crate::signals::Stop;
use crate::sinks::line_that_moves;
use crate::target;
use crate::{environment, finish, start, version};

/// Default limit of requests under way on a connection of an open loop: more than with any server that keeps up.
const OPEN_DEPTH: usize = 1000;

/// Runs the command.
pub(crate) fn run(args: &LoadArgs) -> Result<Exit, Failure> {
    if args.asked.fill_only && args.start.at.is_some() {
        return Err(Failure::usage("--at is when measuring starts, and --fill-only measures nothing: leave one out"));
    }
    let place = args.json.as_deref().map(Destination::open).transpose()?;
    let tables = Table::open(args)?;
    let stop = Stop::listen().map_err(Failure::tool)?;
    let mut job = match job(args, &stop) {
        Ok(job) => job,
        Err(failure) => return stop.exit().ok_or(failure),
    };
    let machine = target::this_machine().ok();
    admit(&job, &machine.as_ref().map(Fresh::discovered).unwrap_or_default())?;
    job.warnings.extend(beside(args, machine.as_ref()));
    if !args.quiet {
        tell_before(args, &job);
    }
    // Until it is saved: a run that is killed is listed as one without an end.
    let _begun = (!args.no_save).then(|| Begun::note(&job)).flatten();
    match carry_out(args, &mut job, &stop) {
        // It was stopped while it connected: the document says how far it came.
        Err(refusal) if refusal.code == says::codes::load_stopped && stop.exit().is_some() => {}
        other => other?,
    }
    let stopped = stop.exit();
    let document = job.document(std::env::args(), stopped.is_none());
    let (saved, exit_of_saving) = save(args, &document)?;
    let places = || place.iter().chain(tables.iter().map(|table| &table.place));
    let on_stdout = places().any(|place| matches!(place, Destination::Stdout));
    if let Some(place) = place {
        place.write(&output::json(&document)?)?;
    }
    tables.into_iter().try_for_each(|table| table.write(job.measured.as_ref()))?;
    if !on_stdout {
        print(&rendered(&args.view, |style| tiermark_report::tenant_views::load(&document, style)))?;
    } else if !args.quiet {
        document.doubts.iter().for_each(|doubt| tell(format_args!("tiermark: warning: {doubt}")));
    }
    if let Some(saved) = saved.filter(|_| !args.quiet) {
        let again = if saved.by_id { document.id.clone() } else { environment::quoted(&saved.path) };
        tell(finish::place_text(&saved.path.display().to_string(), &again, style(&args.view).width));
    }
    let exit = stopped.unwrap_or_else(|| document.exit());
    Ok(if exit == Exit::Done { exit_of_saving } else { exit })
}

/// A file that says what is run, for as long as the run has no document.
struct Begun {
    path: PathBuf,
    /// Holds the lock by which others see that the run goes on.
    _lines: Appender,
}

impl Begun {
    /// Writes the document as it is before the run; `None` where none can be.
    fn note(job: &Job) -> Option<Self> {
        let path = environment::load_runs().directory()?.join(format!("{}.jsonl", job.id));
        let lines = Appender::create(&path, Survives::Kill, &job.document(std::env::args(), false)).ok()?;
        Some(Self { path, _lines: lines })
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        // A file that stays is listed as that of a killed run.
        let _ = fs::remove_file(&self.path);
    }
}

/// Saves the document, if anything was filled or measured.
fn save(args: &LoadArgs, document: &LoadRun) -> Result<(Option<SavedPlace>, Exit), Failure> {
    if args.no_save || document.fill.is_none() && document.measured.is_none() {
        return Ok((None, Exit::Done));
    }
    let text = output::json(document)?;
    Ok(finish::saved_or_reported(environment::load_runs().save_as(&document.id, text.as_bytes()), ""))
}

/// A distribution of latencies that is written by percentile (`--hgrm`).
struct Table {
    place: Destination,
    /// The file's name as the user wrote it.
    name: String,
    what: &'static str,
    latencies: fn(&TenantResult) -> &Latencies,
}

impl Table {
    /// Those that were asked for, with files that can be written.
    fn open(args: &LoadArgs) -> Result<Vec<Self>, Failure> {
        type Of = fn(&TenantResult) -> &Latencies;
        let asked: [(&Option<String>, &'static str, Of); 2] = [
            (&args.hgrm, "Response times", |seen| &seen.response),
            (&args.hgrm_service, "Service times", |seen| &seen.service),
        ];
        let to_stdout = |name: &Option<String>| usize::from(name.as_deref() == Some("-"));
        if to_stdout(&args.json) + asked.iter().map(|(name, ..)| to_stdout(name)).sum::<usize>() > 1 {
            let what = "--json, --hgrm and --hgrm-service would write to standard output together";
            return Err(Failure::usage(format!("{what}; give all but one a file: --hgrm FILE")));
        }
        let named = asked.into_iter().filter_map(|(name, what, latencies)| Some((name.clone()?, what, latencies)));
        named
            .map(|(name, what, latencies)| Ok(Self { place: Destination::open(&name)?, name, what, latencies }))
            .collect()
    }

    /// Writes the distribution of all tenants together.
    fn write(self, measured: Option<&Outcome>) -> Result<(), Failure> {
        let Some(measured) = measured else {
            tell(format_args!("tiermark: warning: nothing was measured: '{}' is not written", self.name));
            return Ok(());
        };
        let mut all = Latencies::new();
        measured.tenants.iter().for_each(|seen| all.merge((self.latencies)(seen)));
        let tenants = tiermark_model::count_of(measured.tenants.len() as u64, "tenant");
        self.place.write(&all.hgrm(&format!("{} of {tenants}", self.what)))
    }
}

/// Refuses a client that needs more memory than there is, as far as the system says.
fn admit(job: &Job, free: &Fresh) -> Result<(), Refusal> {
    let (tenants, workload) = (job.targets.len() as u64, &job.workload);
    let needed = client_bytes(tenants, workload, job.client.threads).usual;
    let group = free.group.as_ref().map(|(left, _)| *left);
    match free.available.into_iter().chain(group).min() {
        Some(left) if needed > left => Err(says::client_memory_short(
            tenants,
            workload.connections as u64,
            Bytes(workload.value.sizes.largest() as u64),
            Bytes(needed),
            Bytes(left),
        )),
        _ => Ok(()),
    }
}

/// Other work on the client's cpus; `None` where it leaves room, or nothing is measured.
fn beside(args: &LoadArgs, machine: Option<&Machine>) -> Option<Warning> {
    let cpus = args.client.client_cpus.as_ref().or(machine.map(|machine| &machine.allowed_cpus))?;
    if args.client.force || args.asked.fill_only { None } else { OtherWork::begin(cpus, false, disturbs_client).err() }
}

/// Says what a user can still change before the run has taken its time.
fn tell_before(args: &LoadArgs, job: &Job) {
    let (threads, servers) = (args.client.threads.unwrap_or(1) as u64, job.targets.len() as u64);
    if threads > servers {
        tell(format_args!("tiermark: note: {}", says::client_threads_idle(threads, servers)));
    }
    job.warnings.iter().for_each(output::warn);
}

/// Fills, warms up and measures, as far as was asked and nothing stops it.
fn carry_out(args: &LoadArgs, job: &mut Job, stop: &Stop) -> Result<(), Refusal> {
    let (flag, asked) = (stop.flag(), &args.asked);
    let mut bar = Bar::new(args.quiet);
    let Job { targets, workload, client, .. } = &*job;
    let going = || stop.exit().is_none();
    if asked.fill || asked.fill_only {
        let all = workload.keys as f64 * targets.len() as f64;
        let mut report = |snapshot: &Snapshot| bar.tell("filling", snapshot, Some(snapshot.done() as f64 / all));
        let mut watch = Watcher { stop: &flag, each_second: &mut report };
        let filled = fill(targets, workload, client, &mut watch)?;
        let lost = filled.tenants.iter().all(|tenant| tenant.fault.is_some());
        job.filled = Some(filled);
        if lost {
            return Ok(());
        }
    }
    if asked.fill_only || !going() {
        return Ok(());
    }
    if let Some(at) = args.start.at {
        match start::wait(at, stop, args.quiet) {
            Ok(late) => job.warnings.extend(late),
            // The signal that ended the wait decides the exit code.
            Err(_) => return Ok(()),
        }
    }
    let Job { targets, workload, client, warmup, .. } = &*job;
    if *warmup > 0.0 {
        let length = Length::Time(Duration::from_secs_f64(*warmup));
        let warming = Workload { length, ..workload.clone() };
        let mut report = |snapshot: &Snapshot| bar.tell("warming up", snapshot, None);
        let mut watch = Watcher { stop: &flag, each_second: &mut report };
        load(targets, &warming, Phase::WarmUp(0), client, &mut watch)?;
    }
    if going() {
        let share = |snapshot: &Snapshot| match workload.length {
            Length::Time(time) => snapshot.seconds / time.as_secs_f64(),
            Length::Requests(requests) => snapshot.done() as f64 / (requests as f64 * targets.len() as f64),
        };
        let mut report = |snapshot: &Snapshot| bar.tell("measuring", snapshot, Some(share(snapshot)));
        let mut watch = Watcher { stop: &flag, each_second: &mut report };
        job.measured = Some(load(targets, workload, Phase::Measure(0), client, &mut watch)?);
    }
    Ok(())
}

/// The load that options ask for.
fn job(args: &LoadArgs, stop: &Stop) -> Result<Job, Failure> {
    let (started, id) = environment::started_and_id();
    let of_group = args.inventory.servers(stop)?.into_iter().map(|(host, address)| (Some(host), address));
    let named = args.targets.iter().map(|address| (None, address.clone()));
    let target = |(host, address): (Option<String>, Address)| Target {
        address,
        host,
        user: args.user.clone(),
        password: args.password.clone(),
        number: None,
    };
    Ok(Job {
        id,
        started,
        tool: version::tool(),
        targets: named.chain(of_group).map(target).collect(),
        workload: workload(args),
        client: client(args),
        warmup: args.pace.warmup,
        histograms: args.histograms,
        labels: args.labels.by_key()?,
        warnings: Vec::new(),
        filled: None,
        measured: None,
    })
}

fn workload(args: &LoadArgs) -> Workload {
    let (pace, asked) = (&args.pace, &args.asked);
    Workload {
        pace: pace.rps.map_or(Pace::Closed, |rate| match pace.pacing {
            Pacing::Open => Pace::Open { arrivals: pace.arrivals.into(), rate },
            Pacing::Closed => Pace::Paced { rate },
        }),
        length: pace.requests.map_or(Length::Time(Duration::from_secs_f64(pace.duration)), Length::Requests),
        connections: pace.connections,
        depth: pace.pipeline_depth.unwrap_or(match (pace.rps, pace.pacing) {
            (Some(_), Pacing::Open) => OPEN_DEPTH,
            _ => 1,
        }),
        first_key: asked.keys.first,
        keys: asked.keys.count,
        key_prefix: asked.key_prefix.clone(),
        key_digits: asked.key_digits,
        key_dist: asked.key_dist,
        key_order: asked.key_order.into(),
        mix: LoadMix { get_percent: asked.gets, brief: asked.gets_brief },
        value: ValueShape {
            sizes: asked.value_size.clone(),
            order: asked.value_order.into(),
            compressible: asked.value_compress,
        },
        verify: asked.verify,
        seed: asked.seed.unwrap_or_else(environment::random),
    }
}

fn client(args: &LoadArgs) -> ClientSetup {
    let client = &args.client;
    let cpus: Vec<usize> = client.client_cpus.iter().flat_map(|cpus| cpus.iter()).map(|cpu| cpu as usize).collect();
    ClientSetup {
        threads: client.threads.unwrap_or(cpus.len().max(1)),
        cpus,
        spin: client.spin.into(),
        timeout: Duration::from_secs_f64(client.timeout),
        late_after: Duration::from_micros(u64::from(client.late_after)),
    }
}

/// Seconds between progress lines if standard error is no terminal: a log only needs to show that the load still runs.
const BETWEEN_LINES: f64 = 10.0;

/// A line on the terminal, a second old at most; elsewhere one that stays, now and then.
struct Bar {
    bar: Option<ProgressBar>,
    lines: Lines,
}

/// When a line is due where each stays.
#[derive(Debug, Default)]
struct Lines {
    what: &'static str,
    last_line: f64,
}

impl Lines {
    /// Whether one is due so many seconds after something began: each part of a run has its own.
    fn due(&mut self, what: &'static str, seconds: f64) -> bool {
        if what != self.what {
            *self = Self { what, last_line: 0.0 };
        }
        let due = seconds - self.last_line >= BETWEEN_LINES;
        if due {
            self.last_line = seconds;
        }
        due
    }
}

impl Bar {
    fn new(quiet: bool) -> Self {
        Self { bar: (!quiet).then(line_that_moves), lines: Lines::default() }
    }

    /// Prints progress; returns true to continue.
    fn tell(&mut self, what: &'static str, snapshot: &Snapshot, share: Option<f64>) -> bool {
        if let Some(bar) = &self.bar {
            let share = share.map_or_else(String::new, |share| format!(" {:.0} %", share.min(1.0) * 100.0));
            let rate = snapshot.done() as f64 / snapshot.seconds;
            let text = format!("{what}{share}: {:.0} s, {rate:.0} requests/s", snapshot.seconds);
            if !bar.is_hidden() {
                bar.set_message(text);
                bar.tick();
            } else if self.lines.due(what, snapshot.seconds) {
                tell(text);
            }
        }
        true
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_gets_a_line_now_and_then_of_each_part() {
        let mut lines = Lines::default();
        let due: Vec<bool> = [1.0, 9.9, 10.1, 11.0, 20.2].map(|seconds| lines.due("filling", seconds)).to_vec();
        assert_eq!(due, [false, false, true, false, true]);
        assert!(!lines.due("measuring", 5.0) && lines.due("measuring", 10.0));
    }
}
