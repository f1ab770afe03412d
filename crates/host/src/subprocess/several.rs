//! Workers that are processes: one for each thread of a setup, with memory of its own, started together by a gate in
//! memory that all have.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tiermark_engine::{Fault, Rig, Shot, ThreadShot};
use tiermark_model::messages::setup as says;
use tiermark_model::{KernelId, PlacementProof, Refusal, Role, Setup};
use tiermark_primitives::{able, no_more};
use tiermark_system::shared_file;

use super::call::{Limits, Subprocess};
use super::{Ask, Job, LIMIT, brief, itself, whole};
use crate::gate::StartGate;
use crate::region::{Order, stop_refusal};
use crate::resources::Resources;

/// The subject of a refusal of a process.
const WHAT: &str = "a worker's process";

/// Whether the workers of a setup are processes: each asks for it, and has memory of its own.
pub(crate) fn runs_in_processes(setup: &Setup) -> bool {
    let suits = |role: &Role| matches!(role, Role::Stream { .. } | Role::Load { .. } | Role::Chase { .. });
    let own = setup
        .threads
        .iter()
        .enumerate()
        .all(|(at, thread)| thread.process && thread.region == at && suits(&thread.role));
    own && setup.threads.len() > 1 && setup.regions.len() == setup.threads.len()
}

/// A rig whose workers are processes.
#[derive(Debug)]
pub(crate) struct ProcessesRig {
    workers: Vec<Subprocess>,
    gate: StartGate,
    seed: u64,
    /// Number of the next shot, unlike any other of this means.
    shots: u64,
}

impl ProcessesRig {
    /// Starts a process for each thread, and waits until the memory of all is made.
    ///
    /// # Errors
    /// A [`Refusal`] of one of them, or without a process.
    pub(crate) fn prepare(resources: &mut Resources, setup: &Setup, orders: &[Order<'_>]) -> Result<Self, Refusal> {
        able(WHAT)?;
        resources.prepared += 1;
        let file = shared_file(StartGate::BYTES as u64).map_err(|error| no_more(WHAT, &error))?;
        let gate = StartGate::shared(orders.len(), &file).map_err(|error| no_more(WHAT, &error))?;
        let limits = Limits { still: LIMIT, whole: whole(setup) };
        let machine = brief(&resources.lab.machine);
        let mut rig = Self { workers: Vec::new(), gate, seed: setup.seed, shots: resources.prepared << 32 };
        for (index, order) in orders.iter().enumerate() {
            let started = file.try_clone().and_then(|file| {
                Subprocess::start(&mut itself(), Stdio::from(file), Arc::clone(&resources.stopped), limits)
            });
            let mut worker = started.map_err(|error| no_more(WHAT, &error))?;
            let job = Job::new(resources, setup, index, order, orders.len());
            worker.tell(&machine).and_then(|()| worker.tell(&job)).map_err(of_worker)?;
            rig.workers.push(worker);
        }
        for prepared in rig.answers::<Result<(), Refusal>>() {
            match prepared {
                _ if resources.stopped.load(Relaxed) => return Err(stop_refusal()),
                Ok(prepared) => prepared?,
                Err(lost) => return Err(of_worker(lost)),
            }
        }
        Ok(rig)
    }

    /// What each worker answers. Those that wait for one that has ended are let out.
    fn answers<A: DeserializeOwned>(&mut self) -> Vec<Result<A, Refusal>> {
        let mut answers = Vec::with_capacity(self.workers.len());
        for at in 0..self.workers.len() {
            let (before, rest) = self.workers.split_at_mut(at);
            let Some((this, after)) = rest.split_first_mut() else { break };
            let gate = &self.gate;
            let answer = this.answer(&|| {
                if before.iter().chain(&*after).any(Subprocess::has_ended) {
                    gate.break_open();
                }
            });
            if answer.is_err() {
                self.gate.break_open();
            }
            answers.push(answer);
        }
        answers
    }

    /// Asks all workers the same.
    fn ask<A: DeserializeOwned>(&mut self, what: &Ask) -> Vec<Result<A, Refusal>> {
        for worker in &mut self.workers {
            // Why it was not sent is the answer.
            let _ = worker.tell(what);
        }
        self.answers()
    }
}

/// Why a worker does not answer.
fn of_worker(lost: Refusal) -> Refusal {
    Refusal { what: WHAT.to_owned(), ..lost }
}

fn fault(at: usize, lost: &Refusal) -> Fault {
    Fault(format!("{WHAT} {at}: {} ({})", lost.why, lost.cure))
}

impl Rig for ProcessesRig {
    fn placement(&mut self) -> PlacementProof {
        self.seed = self.seed.wrapping_add(1);
        let proofs: Result<Vec<PlacementProof>, Refusal> =
            self.ask(&Ask::Placement { seed: self.seed }).into_iter().collect();
        match proofs {
            Ok(proofs) => together(proofs),
            Err(lost) => PlacementProof { how: says::placement_lost(&lost.why), ..PlacementProof::default() },
        }
    }

    fn select(&mut self, kernel: &KernelId) -> Result<(), Fault> {
        let done: Vec<Result<Result<(), String>, Refusal>> = self.ask(&Ask::Select { kernel: kernel.clone() });
        done.into_iter().enumerate().try_for_each(|(at, done)| done.map_err(|lost| fault(at, &lost))?.map_err(Fault))
    }

    fn shot(&mut self, budget: Duration) -> Result<Shot, Fault> {
        self.shots += 1;
        let ask = Ask::Shot { budget_ns: budget.as_secs_f64() * 1e9, number: self.shots };
        let shots: Vec<Result<Result<ThreadShot, String>, Refusal>> = self.ask(&ask);
        // A process that is gone is why the others were let out.
        if let Some((at, lost)) = shots.iter().enumerate().find_map(|(at, shot)| Some((at, shot.as_ref().err()?))) {
            return Err(fault(at, lost));
        }
        let threads = shots.into_iter().flatten().collect::<Result<Vec<_>, _>>().map_err(Fault)?;
        Ok(Shot { threads, ..Shot::default() })
    }
}

/// The proofs of all workers as one: each has as much memory as any other, at least of those that were looked at.
fn together(proofs: Vec<PlacementProof>) -> PlacementProof {
    let mut all = PlacementProof::default();
    let (mut on_target, mut page_share) = (Some(0.0), Some(1.0f64));
    for proof in proofs {
        on_target = on_target.zip(proof.on_target).map(|(sum, share)| sum + share * proof.pages as f64);
        page_share = page_share.zip(proof.page_share).map(|(least, share)| least.min(share));
        all.pages += proof.pages;
        proof.by_node.into_iter().for_each(|(node, pages)| *all.by_node.entry(node).or_default() += pages);
        for note in proof.notes {
            if !all.notes.contains(&note) {
                all.notes.push(note);
            }
        }
        (all.how, all.page) = (proof.how, proof.page);
    }
    all.on_target = on_target.filter(|_| all.pages > 0).map(|on| on / all.pages as f64);
    all.page_share = page_share;
    all
}

#[cfg(test)]
mod tests {
    use rustix::process::{Signal, kill_process};
    use tiermark_engine::Host;
    use tiermark_machine::{Root, discover};
    use tiermark_model::{Bytes, IdSet, Layout, MemPolicy, PageKind, RegionSetup, ThreadSetup};
    use tiermark_system::live_facts;

    use super::*;
    use crate::{LinuxHost, Options};

    const SHOT: Duration = Duration::from_millis(2);

    fn host() -> LinuxHost {
        LinuxHost::new(discover(&Root::live(), &live_facts()).unwrap(), Options::default()).unwrap()
    }

    /// Two workers, on two cpus where there are so many.
    fn setup(host: &LinuxHost, kernel: &str, layout: Layout) -> Setup {
        let cpus = host.machine().allowed_cpus.iter().take(2).collect::<Vec<_>>().into_iter().cycle().take(2);
        let (nodes, page) = (IdSet::new(), PageKind::Base);
        let region = RegionSetup { bytes: Bytes(4 << 20), policy: MemPolicy::Bind, nodes, page, layout };
        let role = Role::Stream { kernel: KernelId::from(kernel), rivals: Vec::new() };
        let thread = |(at, cpu)| ThreadSetup { process: true, ..ThreadSetup::new(cpu, role.clone(), at) };
        Setup { regions: vec![region; 2], threads: cpus.enumerate().map(thread).collect(), seed: 7 }
    }

    #[test]
    fn processes_start_at_one_gate_with_memory_of_their_own() {
        let mut host = host();
        for (kernel, layout, other) in [
            ("read/portable", Layout::Data, "write/portable"),
            ("write.random8/portable", Layout::Permuted, "read.random/portable"),
        ] {
            let setup = setup(&host, kernel, layout);
            assert!(runs_in_processes(&setup));
            let mut rig = host.prepare(&setup).unwrap();
            // Both have four MiB on base pages.
            assert!(rig.placement().pages >= 128);
            for kernel in [kernel, other] {
                rig.select(&KernelId::from(kernel)).unwrap();
                let shot = rig.shot(SHOT).unwrap();
                assert_eq!(shot.threads.len(), 2);
                for (thread, asked) in shot.threads.iter().zip(&setup.threads) {
                    assert_eq!(thread.guard.seen_on, [asked.cpu; 2]);
                    // By the clock of one gate: all began after it opened, and none ended before its budget.
                    let (first, last) = (thread.stamps_ns[0], thread.stamps_ns[thread.stamps_ns.len() - 1]);
                    assert!(first > 0.0 && last >= SHOT.as_nanos() as f64, "{first} {last}");
                }
            }
            assert!(rig.select(&KernelId::from("read/abacus")).is_err());
        }
    }

    #[test]
    fn a_process_that_ends_lets_the_others_out() {
        let mut host = host();
        let setup = setup(&host, "read/portable", Layout::Data);
        let orders = crate::check::setup(&setup, &host.resources.lab.machine).unwrap();
        let mut rig = ProcessesRig::prepare(&mut host.resources, &setup, &orders).unwrap();
        kill_process(rig.workers[1].child.pid(), Signal::KILL).unwrap();
        let fault = rig.shot(SHOT).unwrap_err();
        assert!(fault.0.starts_with(&format!("{WHAT} 1: it ended")), "{fault}");
    }

    #[test]
    fn threads_that_share_memory_are_no_processes() {
        let shared = |mut setup: Setup| {
            setup.threads[1].region = 0;
            setup
        };
        let plain = |mut setup: Setup| {
            setup.threads[1].process = false;
            setup
        };
        let setup = || setup(&host(), "read/portable", Layout::Data);
        assert!(!runs_in_processes(&shared(setup())) && !runs_in_processes(&plain(setup())));
    }
}
