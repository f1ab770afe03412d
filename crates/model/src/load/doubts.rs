//! What the results of a load show to be wrong with them.

use super::{LoadLoop, LoadPart, LoadRun, LoadTenant, SlowServer};
use crate::messages::load as says;
use crate::refusal::Note;

/// Share of late requests or answers above which the client's delays affect the times.
pub const PUNCTUAL: f64 = 0.01;
/// Share of the requests due, below which a tenant does not keep up. Rounding at the end of a run takes a request or
/// two of thousands.
const KEEPS_UP: f64 = 0.995;

impl LoadTenant {
    /// Share of the requests due that the client sent late, although the connection could take them; `None` if no request
    /// was due.
    #[must_use]
    pub fn late_share(&self) -> Option<f64> {
        (self.scheduled > 0).then(|| self.late as f64 / self.scheduled as f64)
    }

    /// [`late_share`](Self::late_share), where it affects the times.
    fn sent_late(&self) -> Option<f64> {
        self.late_share().filter(|share| *share > PUNCTUAL)
    }

    /// Share of the answers that may have waited for the client, where it affects the times.
    fn read_late(&self) -> Option<f64> {
        (self.done > 0).then(|| self.late_answers as f64 / self.done as f64).filter(|share| *share > PUNCTUAL)
    }

    /// Whether its times have the client's own delay in them.
    #[must_use]
    pub fn is_client_late(&self) -> bool {
        self.sent_late().is_some() || self.read_late().is_some()
    }
}

impl LoadRun {
    /// The run with its `doubts`, which follow from its results.
    #[must_use]
    pub fn judged(self) -> Self {
        Self { doubts: doubts(&self), ..self }
    }
}

fn doubts(run: &LoadRun) -> Vec<Note> {
    let parts = [(true, &run.fill), (false, &run.measured)];
    let parts = parts.into_iter().filter_map(|(filling, part)| Some((filling, part.as_ref()?)));
    let mut doubts: Vec<Note> = parts.flat_map(|(filling, part)| lost(filling, part)).collect();
    if let Some(part) = &run.measured {
        doubts.extend(of_answers(&part.all));
        doubts.extend(of_times(part, run));
    }
    if !run.complete {
        doubts.push(says::load_stopped_early());
    }
    doubts
}

/// Tenants that were given up.
fn lost(filling: bool, part: &LoadPart) -> impl Iterator<Item = Note> {
    part.tenants.iter().zip(part.names()).filter_map(move |(tenant, name)| {
        let fault = tenant.fault.as_ref()?;
        Some(says::load_tenant_lost(filling, &name, tenant.answered_until(), &fault.text))
    })
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// Answers that are not what was requested.
fn of_answers(all: &LoadTenant) -> impl Iterator<Item = Note> {
    let errors = all.first_error.as_ref().map(|error| says::load_answers_failed(percent(all.errors, all.done), error));
    let unanswered = (all.unanswered > 0).then(|| says::load_unanswered(all.unanswered));
    let misses = (all.misses > 0).then(|| says::load_keys_missing(percent(all.misses, all.gets)));
    let wrong = all.mismatches.filter(|wrong| *wrong > 0).map(says::load_values_wrong);
    [errors, unanswered, misses, wrong].into_iter().flatten()
}

/// What is wrong with the times.
fn of_times(part: &LoadPart, run: &LoadRun) -> Vec<Note> {
    let all = &part.all;
    match run.workload.pacing {
        LoadLoop::Closed => return vec![says::load_closed_loop()],
        LoadLoop::Paced => {
            return vec![says::load_paced_loop(percent(all.scheduled.saturating_sub(all.sent), all.scheduled))];
        }
        LoadLoop::Open => {}
    }
    // A further thread needs a server of its own.
    let more_threads = run.client.threads < part.tenants.len();
    let more_cpu = if more_threads { "--threads, --client-cpus" } else { "--client-cpus" };
    let late_us = run.client.late_after_seconds * 1e6;
    let slow = part.slow_server();
    let slow = slow.map(|SlowServer { name, p99_ns, others_ns }| says::load_server_slow(&name, p99_ns, others_ns));
    let behind = all.achieved_share.filter(|share| *share < KEEPS_UP);
    let behind = behind.map(|share| says::load_not_kept_up(share * 100.0, all.overloads > 0));
    let sent = all.sent_late();
    let sent = sent.map(|share| says::load_sent_late(share * 100.0, late_us, all.starved > 0, more_cpu));
    let read = all.read_late().map(|share| says::load_read_late(share * 100.0, late_us, more_cpu));
    let held = (all.scheduled > 0).then(|| all.held as f64 / all.scheduled as f64).filter(|held| *held > PUNCTUAL);
    let held = held.map(|share| says::load_server_delayed(share * 100.0, late_us));
    [slow, behind, sent, read, held].into_iter().flatten().collect()
}
