//! Fills tenants and runs workloads on them: threads, the common start, the watcher.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, Scope};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tiermark_model::Refusal;
use tiermark_model::load::Spin;
use tiermark_model::messages::load as says;

use crate::buffers::{Buffers, Part};
use crate::clock;
use crate::conn::Conn;
use crate::cpus::pin;
use crate::keys::Keys;
use crate::live::{Live, Snapshot};
use crate::request_spec::RequestSpec;
use crate::seed::{Phase, seed};
use crate::tally::TenantResult;
use crate::target::{Client, Target};
use crate::tenant::{Source, Tenant, TenantPace};
use crate::values::Values;
use crate::worker::{Shared, ThreadUse, Worker};
use crate::workload::{ClientSetup, Length, Pace, Workload};

/// Requests under way while filling: enough to keep a server busy, few enough for its buffers.
const FILL_DEPTH: usize = 64;
/// Bytes of values under way while filling, unless a single one is larger.
const FILL_BYTES: usize = 4 << 20;
/// Time for all threads to be ready after the last has said so, ns.
const GET_READY: u64 = 5_000_000;
/// Time between two calls of the watcher.
const WATCH: Duration = Duration::from_secs(1);
/// How often a request to stop is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// The results of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Each tenant, in the order of the targets.
    pub tenants: Vec<TenantResult>,
    /// Cpu time of each of the client's threads, s.
    pub thread_cpu: Vec<f64>,
    /// Wall time of the longest of them, s.
    pub wall: f64,
    /// Whether it was stopped before its end.
    pub stopped: bool,
    /// When its first requests were due, ms since 1970 by the system's clock; `None` if that is not known.
    #[serde(default)]
    pub started_ms: Option<i64>,
}

impl Outcome {
    /// Cpu time of the client for one answer, s. `None` without an answer.
    pub fn cpu_per_request(&self) -> Option<f64> {
        let done: u64 = self.tenants.iter().map(|tenant| tenant.done).sum();
        (done > 0).then(|| self.thread_cpu.iter().sum::<f64>() / done as f64)
    }
}

/// The watcher of a run: stops it, and gets a snapshot each second.
pub struct Watch<'a> {
    /// Ends the run within a tenth of a second once it is set.
    pub stop: &'a AtomicBool,
    /// Called every second; `false` ends the run.
    pub each_second: &'a mut dyn FnMut(&Snapshot) -> bool,
}

/// Writes all keys of the workload to every target, in order, as fast as each takes them. A target that refuses one is
/// given up, with a [`TenantResult::fault`].
///
/// # Errors
/// A [`Refusal`] when the workload makes no sense, a target cannot be connected to, or the client cannot work here.
pub fn fill(
    targets: &[Target],
    workload: &Workload,
    client: &ClientSetup,
    watch: &mut Watch<'_>,
) -> Result<Outcome, Refusal> {
    let filling = Workload {
        pace: Pace::Closed,
        length: Length::Requests(workload.keys),
        connections: 1,
        depth: (FILL_BYTES / workload.value.sizes.largest().max(1)).clamp(1, FILL_DEPTH),
        ..workload.clone()
    };
    // The fill is not timed.
    let client = ClientSetup { spin: Spin::Never, ..client.clone() };
    carry_out(targets, &filling, None, &client, watch)
}

/// Runs the workload on every target at once, from a common start. A target that closes the connection, sends what is
/// no answer or none in time is given up, with a [`TenantResult::fault`]; the others go on.
///
/// # Errors
/// As [`fill`].
pub fn run(
    targets: &[Target],
    workload: &Workload,
    phase: Phase,
    client: &ClientSetup,
    watch: &mut Watch<'_>,
) -> Result<Outcome, Refusal> {
    carry_out(targets, workload, Some(phase), client, watch)
}

/// Runs a phase of a workload, or fills.
fn carry_out(
    targets: &[Target],
    workload: &Workload,
    phase: Option<Phase>,
    client: &ClientSetup,
    watch: &mut Watch<'_>,
) -> Result<Outcome, Refusal> {
    workload.check()?;
    client.check()?;
    if targets.is_empty() {
        return Err(says::no_target());
    }
    let threads = client.threads.min(targets.len());
    let buffers = Buffers::new(targets.len());
    let mut dealt: Vec<Vec<Tenant>> = (0..threads).map(|_| Vec::new()).collect();
    for (index, target) in targets.iter().enumerate() {
        let conns =
            connections(target, workload, client.timeout, watch.stop, &buffers.part(workload.largest_request()))?;
        let stagger = index as f64 / targets.len() as f64;
        // Filling is neither a warm-up nor a measurement; its values come from a stream of their own.
        let number = target.number.unwrap_or(index as u64);
        let seed = seed(workload.seed, number, phase.unwrap_or(Phase::WarmUp(u32::MAX)));
        let left = match workload.length {
            Length::Requests(requests) => Some(requests),
            Length::Time(_) => None,
        };
        let pace = TenantPace::new(workload.pace, workload.depth, left, stagger, seed);
        let (source, spec) = (source(workload, phase)?, request_spec(workload, phase, client));
        dealt[index % threads].push(Tenant::new(index, conns, source, spec, pace));
    }
    let end = match workload.length {
        Length::Time(time) => u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX / 4),
        Length::Requests(_) => u64::MAX / 4,
    };
    let live = Live::new(targets.len(), threads, clock::now());
    let stop = AtomicBool::new(false);
    let timeout = u64::try_from(client.timeout.as_nanos()).unwrap_or(u64::MAX);
    let shared = Shared { stop: &stop, live: &live, spin: client.spin, timeout };
    thread::scope(|scope| run_clients(scope, dealt, &shared, client, end, watch))
}

/// Connects to a tenant, until it is to stop.
fn connections(
    target: &Target,
    workload: &Workload,
    timeout: Duration,
    stop: &AtomicBool,
    memory: &Part,
) -> Result<Vec<Conn>, Refusal> {
    // One byte more than a value has, so that a longer one is seen to be another.
    let keep = if workload.verify { workload.value.sizes.largest() + 1 } else { 0 };
    let connect = |_| Ok(Conn::new(Client::connect(target, timeout, stop)?.into_stream(), keep, memory));
    (0..workload.connections).map(connect).collect()
}

/// Which requests a phase makes.
fn source(workload: &Workload, phase: Option<Phase>) -> Result<Source, Refusal> {
    let Some(phase) = phase else { return Ok(Source::Fill { next: workload.first_key }) };
    let mut keys = Keys::new(workload.key_dist, workload.key_order, workload.first_key, workload.keys)?;
    if matches!(phase, Phase::WarmUp(_)) {
        // The measurement begins with the first key, which the warm-up leaves alone if it is short.
        keys.begin_in_the_middle();
    }
    Ok(Source::Drawn { keys, mix: workload.mix })
}

fn request_spec(workload: &Workload, phase: Option<Phase>, client: &ClientSetup) -> RequestSpec {
    RequestSpec {
        prefix: workload.key_prefix.clone().into_bytes(),
        digits: workload.key_digits,
        value: Values::new(workload.value.clone(), workload.first_key, workload.keys),
        verify: workload.verify && phase.is_some(),
        stops_on_error: phase.is_none(),
        late_after: u64::try_from(client.late_after.as_nanos()).unwrap_or(u64::MAX),
    }
}

type Returned = std::io::Result<(Vec<(usize, TenantResult)>, ThreadUse)>;

/// Starts the threads together, watches them and collects their results.
fn run_clients<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    dealt: Vec<Vec<Tenant>>,
    shared: &'env Shared<'env>,
    client: &'env ClientSetup,
    end: u64,
    watch: &mut Watch<'_>,
) -> Result<Outcome, Refusal> {
    let (ready, all_ready) = mpsc::channel();
    let (done, all_done) = mpsc::channel();
    let mut gates = Vec::new();
    for (number, tenants) in dealt.into_iter().enumerate() {
        let (gate, opened) = mpsc::channel::<u64>();
        gates.push(gate);
        let (ready, done) = (ready.clone(), done.clone());
        let cpu = (!client.cpus.is_empty()).then(|| client.cpus[number % client.cpus.len()]);
        let body = move || {
            let worker = cpu.map_or(Ok(()), pin).and_then(|()| Worker::new(number, shared, tenants));
            // The receiver is gone if another thread has already failed.
            let _ = ready.send(worker.as_ref().map(|_| ()).map_err(ToString::to_string));
            if let (Ok(worker), Ok(start)) = (worker, opened.recv()) {
                let _ = done.send(worker.run(start, end));
            }
        };
        thread::Builder::new().name(format!("load-{number}")).spawn_scoped(scope, body).map_err(|e| no_thread(&e))?;
    }
    drop((ready, done));
    for _ in 0..gates.len() {
        let answer = all_ready.recv().map_err(|_| no_thread(&"it ended"))?;
        answer.map_err(|error| no_thread(&error))?;
    }
    let start = clock::now() + GET_READY;
    let started_ms = Timestamp::now().as_millisecond() + (GET_READY / 1_000_000) as i64;
    for gate in &gates {
        gate.send(start).map_err(|_| no_thread(&"it ended"))?;
    }
    let outcome = supervise(&all_done, gates.len(), shared, start, watch);
    if outcome.is_err() {
        // The other threads are waited for, so they have to know.
        shared.stop.store(true, Ordering::Relaxed);
    }
    outcome.map(|outcome| Outcome { started_ms: Some(started_ms), ..outcome })
}

fn supervise(
    all_done: &mpsc::Receiver<Returned>,
    threads: usize,
    shared: &Shared<'_>,
    start: u64,
    watch: &mut Watch<'_>,
) -> Result<Outcome, Refusal> {
    let mut returned = Vec::new();
    let mut next_look = start + WATCH.as_nanos() as u64;
    let mut stopped = false;
    while returned.len() < threads {
        match all_done.recv_timeout(LOOK) {
            Ok(one) => returned.push(one.map_err(|error| no_thread(&error))?),
            Err(RecvTimeoutError::Disconnected) => return Err(no_thread(&"it ended without a result")),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let goes_on = if clock::now() >= next_look {
            // A second that took longer is not made up for: each rate is that of one real second.
            let now = clock::now();
            next_look = now + WATCH.as_nanos() as u64;
            (watch.each_second)(&shared.live.snapshot(start, now))
        } else {
            true
        };
        if returned.len() < threads && (!goes_on || watch.stop.load(Ordering::Relaxed)) {
            stopped = true;
            shared.stop.store(true, Ordering::Relaxed);
        }
    }
    let (mut tenants, used): (Vec<_>, Vec<_>) = returned.into_iter().unzip();
    let mut tenants: Vec<(usize, TenantResult)> = tenants.drain(..).flatten().collect();
    tenants.sort_by_key(|(index, _)| *index);
    let second = clock::SECOND as f64;
    Ok(Outcome {
        tenants: tenants.into_iter().map(|(_, result)| result).collect(),
        thread_cpu: used.iter().map(|used| used.cpu as f64 / second).collect(),
        wall: used.iter().map(|used| used.wall).max().unwrap_or(0) as f64 / second,
        stopped,
        started_ms: None,
    })
}

fn no_thread(error: &dyn std::fmt::Display) -> Refusal {
    says::client_thread_refused(&error.to_string())
}
