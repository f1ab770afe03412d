//! One request to several guests at once, and their messages until all have answered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tiermark_load::{ClientSetup, Outcome, Phase, Snapshot, TenantResult};
use tiermark_model::messages::tenants as says;
use tiermark_model::{Note, Refusal};

use super::machine::Machine;
use crate::backend::LoadSpec;
use crate::guest::protocol::{Job, Reply, Request};

/// How often guests are listened to: their answers are not timed here.
const POLL: Duration = Duration::from_millis(20);
/// Messages of a guest that are read in one turn; it sends one a second.
const AT_ONCE: u32 = 16;
/// Time between two reports of progress.
const PULSE: Duration = Duration::from_secs(1);
/// A guest speaks every second while it works; one whose memory is all elsewhere may need long, beyond what its client
/// waits for an answer.
const SILENCE: Duration = Duration::from_secs(60);
/// How long a guest may take to end a job, from the request to end it.
const ENDING: Duration = Duration::from_secs(30);

/// How one guest's part of a request ended.
enum GuestResult {
    Done(Box<Outcome>),
    /// The guest ended, refused, restarted or fell silent, with the reason.
    Lost(Note),
}

/// A request to several guests, until all have answered or are gone.
pub(super) struct Call<'a> {
    machines: &'a mut [Machine],
    answers: Vec<Option<GuestResult>>,
    latest: Vec<Option<Snapshot>>,
    refused: Option<Refusal>,
    /// When the guests were told to end the request; `None` before that.
    ended: Option<Instant>,
    patience: Duration,
}

impl<'a> Call<'a> {
    /// Sends a phase, or the request to fill, to machines; the first of them has this number.
    pub(super) fn begin(machines: &'a mut [Machine], first: u32, spec: &LoadSpec<'_>, phase: Option<Phase>) -> Self {
        let client = ClientSetup { threads: 1, cpus: Vec::new(), ..spec.client.clone() };
        let patience = SILENCE + client.timeout;
        let job = Job { workload: spec.workload.clone(), client, number: u64::from(first), phase };
        let jobs = (0..).map(|at| Request::Run(Box::new(Job { number: job.number + at, ..job.clone() })));
        let answers =
            machines.iter_mut().zip(jobs).map(|(machine, job)| machine.ask(&job).err().map(GuestResult::Lost));
        let answers: Vec<_> = answers.collect();
        let latest = vec![None; answers.len()];
        Self { machines, answers, latest, refused: None, ended: None, patience }
    }

    /// Waits for all answers. `told` is called each second with what the guests see, once all do, and how many have
    /// ended; it ends the job with `false`, as does the flag.
    ///
    /// # Errors
    /// The first [`Refusal`] that a guest answered with.
    pub(super) fn finish(
        mut self,
        stop: &AtomicBool,
        report: &mut dyn FnMut(Option<&Snapshot>, u32) -> bool,
    ) -> Result<Outcome, Refusal> {
        let mut next = Instant::now() + PULSE;
        while self.listen() > 0 {
            let mut goes_on = true;
            if Instant::now() >= next {
                next += PULSE;
                let ended = self.machines.iter_mut().filter_map(Machine::exited).count() as u32;
                goes_on = report(together(&self.latest).as_ref(), ended);
            }
            if !goes_on || stop.load(Ordering::Relaxed) || self.refused.is_some() {
                self.stop();
            }
            thread::sleep(POLL);
        }
        let stopped = self.ended.is_some();
        match self.refused {
            Some(refusal) => Err(refusal),
            None => Ok(merged(self.answers.into_iter().flatten(), stopped)),
        }
    }

    /// Reads all waiting replies, and returns how many machines have not answered.
    fn listen(&mut self) -> usize {
        let late = self.ended.is_some_and(|since| since.elapsed() > ENDING);
        for ((machine, answer), latest) in self.machines.iter_mut().zip(&mut self.answers).zip(&mut self.latest) {
            // A machine that never stops talking does not keep the others, and the guards, from their turn.
            for _ in 0..AT_ONCE {
                if answer.is_some() {
                    break;
                }
                match machine.hear() {
                    Ok(Some(Reply::Pulse(snapshot))) => *latest = Some(snapshot),
                    Ok(Some(Reply::Done(outcome))) => *answer = Some(GuestResult::Done(outcome)),
                    Ok(Some(Reply::Refused(refusal))) => {
                        *answer = Some(GuestResult::Lost(says::guest_refuses(&refusal.to_string())));
                        self.refused.get_or_insert(refusal);
                    }
                    Ok(Some(Reply::Ready)) => *answer = Some(GuestResult::Lost(says::guest_restarted())),
                    Ok(None) if late || machine.silent() > self.patience => {
                        *answer = Some(GuestResult::Lost(says::guest_silent(machine.silent().as_secs_f64())));
                    }
                    Ok(None) => break,
                    Err(why) => *answer = Some(GuestResult::Lost(why)),
                }
            }
        }
        self.answers.iter().filter(|answer| answer.is_none()).count()
    }

    /// Sends the request to end to the machines that still work, once.
    fn stop(&mut self) {
        if self.ended.is_some() {
            return;
        }
        self.ended = Some(Instant::now());
        for (machine, answer) in self.machines.iter_mut().zip(&mut self.answers).filter(|(_, answer)| answer.is_none())
        {
            *answer = machine.ask(&Request::Stop).err().map(GuestResult::Lost);
        }
    }
}

/// What guests see of their runs, as of one: their times differ by as much as their lines are late, so that the mean of
/// them belongs to the sum of what they have done. `None` until all have said something.
fn together(latest: &[Option<Snapshot>]) -> Option<Snapshot> {
    let all: Vec<&Snapshot> = latest.iter().map(Option::as_ref).collect::<Option<_>>()?;
    let seconds = all.iter().map(|one| one.seconds).sum::<f64>() / all.len() as f64;
    Some(Snapshot {
        seconds,
        tenants: all.iter().flat_map(|one| one.tenants.iter().copied()).collect(),
        client_silent: all.iter().map(|one| one.client_silent).fold(0.0, f64::max),
    })
}

/// All answers as those of one client with a thread in each guest.
fn merged(answers: impl Iterator<Item = GuestResult>, stopped: bool) -> Outcome {
    let mut all = Outcome { tenants: Vec::new(), thread_cpu: Vec::new(), wall: 0.0, stopped, started_ms: None };
    let lost = |why: Note| TenantResult { fault: Some(why), ..TenantResult::default() };
    for answer in answers {
        match answer {
            GuestResult::Done(mut one) if one.tenants.len() == 1 => {
                all.tenants.append(&mut one.tenants);
                all.thread_cpu.append(&mut one.thread_cpu);
                all.wall = all.wall.max(one.wall);
                all.stopped |= one.stopped;
            }
            GuestResult::Done(one) => {
                all.tenants.push(lost(says::guest_tenants_wrong(one.tenants.len())));
            }
            GuestResult::Lost(why) => all.tenants.push(lost(why)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tiermark_load::TenantNow;

    use super::*;

    fn snapshot(seconds: f64, done: u64) -> Snapshot {
        Snapshot { seconds, tenants: vec![TenantNow { done, ..TenantNow::default() }], client_silent: seconds / 100.0 }
    }

    #[test]
    fn guests_are_seen_as_one_once_all_have_spoken() {
        assert_eq!(together(&[Some(snapshot(1.0, 5)), None]), None);
        let all = together(&[Some(snapshot(1.0, 100)), Some(snapshot(2.0, 200))]).unwrap();
        assert_eq!((all.seconds, all.done(), all.client_silent), (1.5, 300, 0.02));
    }

    #[test]
    fn answers_keep_their_places_and_what_is_lost_says_why() {
        let tenant = TenantResult { done: 9, ..TenantResult::default() };
        let one = |tenants| {
            GuestResult::Done(Box::new(Outcome {
                tenants,
                thread_cpu: vec![0.5],
                wall: 2.0,
                stopped: false,
                started_ms: None,
            }))
        };
        let gone = GuestResult::Lost(says::guest_hung_up());
        let all = merged([gone, one(vec![tenant.clone()]), one(vec![])].into_iter(), false);
        let faults: Vec<Option<Note>> = all.tenants.iter().map(|tenant| tenant.fault.clone()).collect();
        assert_eq!(faults, [Some(says::guest_hung_up()), None, Some(says::guest_tenants_wrong(0))]);
        assert_eq!((all.tenants[1].done, all.wall, all.thread_cpu.len(), all.stopped), (9, 2.0, 1, false));
    }

    #[test]
    fn a_guest_that_never_stops_talking_leaves_the_others_their_turn() {
        let (mut machines, mut guests): (Vec<Machine>, Vec<_>) = (0..2).map(|_| Machine::made_up()).unzip();
        let pulse = crate::guest::protocol::line(&Reply::Pulse(snapshot(1.0, 5))).unwrap();
        (0..3 * AT_ONCE).for_each(|_| guests[0].write_all(&pulse).unwrap());
        guests[1].write_all(&pulse).unwrap();
        let (answers, latest) = (vec![None, None], vec![None; 2]);
        let mut call = Call { machines: &mut machines, answers, latest, refused: None, ended: None, patience: SILENCE };
        assert_eq!(call.listen(), 2);
        assert!(call.latest.iter().all(Option::is_some));
        assert!(matches!(machines[0].hear(), Ok(Some(Reply::Pulse(_)))), "the rest waits for the next turn");
        assert!(matches!(machines[1].hear(), Ok(None)));
        machines.iter_mut().for_each(Machine::end_made_up);
    }
}
