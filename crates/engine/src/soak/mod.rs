//! Memory that is written, read back and compared, for as long as the plan says.
//!
//! Phases follow each other ([`schedule`]): all threads write their share of the memory, something happens, and each
//! thread reads what another one wrote. What the host has to do is one pass at a time ([`SoakRig`]).

mod pattern;
mod schedule;
mod shares;
mod slow;
mod watch;

use tiermark_model::messages::soak as says;
use tiermark_model::{
    Bytes, LostPage, Metric, Observation, Reason, Refusal, Role, Soak, SoakBetween, SoakPhase, SoakRole, SoakSample,
    SoakState, SoakWork, SoakedNode, Step, ValueKind, Verdict, WrongWord,
};

use crate::event::Sink;
use crate::host::{Fault, Host};
pub use pattern::{PAGE_BYTES, Pattern, WORDS};
pub use shares::{BLOCK, Chunk, Half, copies, partner, shares};
use watch::Watch;

/// Share of what is left of the time that the first pass may write for: what is written must be read.
const FIRST_WRITE: f64 = 0.7;
/// Share of what is left of the time that later passes may write for.
const LATER_WRITE: f64 = 0.5;
/// Seconds that lines are hammered in one phase, at least and at most, and the share of the time that it may take: few
/// lines are compared meanwhile.
const HAMMER_SECONDS: [f64; 2] = [1.0, 10.0];
const HAMMER_SHARE: f64 = 0.03;
/// The share of the time that halves may rest, but for the first time: the other half is only read meanwhile.
const REST_SHARE: f64 = 0.3;
/// Seconds to wait where there is nothing to read meanwhile.
const REST_STEP: f64 = 0.2;
/// A phase is not begun in the last seconds: it would compare nothing.
const LAST_SECONDS: f64 = 0.5;
/// The bit that the program flips itself.
const PROOF_BIT: u8 = 17;

/// The memory of a soak, and a thread on each cpu, ready for passes.
pub trait SoakRig {
    /// The memory of each node that may be held, before anything was written.
    fn memory(&self) -> Vec<SoakedNode>;

    /// All threads do one work, each on its share, until it is done, the time is over or `tick` returns false. `tick` is
    /// called a few times a second, and once at the end.
    ///
    /// # Errors
    /// A [`Fault`] when a thread failed.
    fn pass(&mut self, pass: &Pass, tick: &mut dyn FnMut(&Moved<'_>) -> bool) -> Result<Passed, Fault>;

    /// Flips a bit of the first word of a node's memory that was written, as a fault of memory would. Returns its
    /// offset; `None` where nothing of the node was written.
    ///
    /// # Errors
    /// A [`Fault`] when the memory cannot be reached.
    fn flip(&mut self, part: usize, bit: u8) -> Result<Option<u64>, Fault>;

    /// The state of the machine now.
    fn state(&self) -> SoakState;

    /// Memory that is free for others now; `None` where the system does not say.
    fn free(&self) -> Option<Bytes>;
}

/// One work of all threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pass {
    /// What they do.
    pub work: SoakWork,
    /// What they write, or compare with.
    pub pattern: Pattern,
    /// What happened since it was written.
    pub between: SoakBetween,
    /// What they read of each share; all other work is on whole shares.
    pub half: Half,
    /// When they end at the latest, seconds of [`Host::now`].
    pub until: f64,
}

/// How far a pass is.
pub struct Moved<'a> {
    /// Seconds of [`Host::now`].
    pub now: f64,
    /// Bytes of each node so far.
    pub bytes: &'a [u64],
    /// Words found wrong so far.
    pub wrong_words: u64,
    /// The first of those that were found since the tick before.
    pub wrong: &'a [WrongWord],
    /// Pages that were taken away since the tick before.
    pub lost: &'a [LostPage],
    /// The state of the machine; takes some ms.
    pub state: &'a dyn Fn() -> SoakState,
    /// Memory that is free for others now; `None` where the system does not say.
    pub free: &'a dyn Fn() -> Option<Bytes>,
}

/// What a pass did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Passed {
    /// Bytes of each node.
    pub bytes: Vec<u64>,
    /// Whether it reached the end of what it was to do.
    pub is_whole: bool,
}

/// The role of a step that is a soak.
pub(crate) fn role(step: &Step) -> Option<SoakRole> {
    step.setup.threads.iter().find_map(|thread| match thread.role {
        Role::Soak(role) => Some(role),
        _ => None,
    })
}

/// Carries a soak out, until `deadline` (seconds of [`Host::now`]). Listeners get the observation
/// meanwhile, at least each minute.
pub(crate) fn soak(host: &mut dyn Host, step: &Step, deadline: f64, sink: &mut dyn Sink) -> Observation {
    let role = role(step).unwrap_or_default();
    let rig = match host.soak(&step.setup) {
        Ok(rig) => rig,
        Err(refusal) => return refused(step, refusal),
    };
    let watch = Watch::new(host, sink, step, rig.memory(), deadline);
    let mut soaking = Soaking { rig, watch, role, seed: step.setup.seed, is_taken: false, rested: 0.0 };
    if let Err(fault) = soaking.run() {
        soaking.watch.soak.ended.get_or_insert_with(|| says::failed(&fault.0));
    }
    let Soaking { mut watch, rig, .. } = soaking;
    watch.close_samples(rig.state());
    let seconds = watch.seconds();
    let mut soak = watch.soak;
    conclude(&mut soak);
    observation(step, soak, seconds)
}

fn refused(step: &Step, refusal: Refusal) -> Observation {
    let mut seen = Observation::new(&*step.id, step.labels.clone(), step.metric);
    seen.verdict.invalid(Reason::Refused { refusal: refusal.clone() });
    Observation { refusal: Some(refusal), ..seen }
}

/// What follows from the samples of a soak: whether it became slower, and the rates of each node.
fn conclude(soak: &mut Soak) {
    soak.slowdown = slow::slowdown(&soak.samples);
    let rate =
        |soak: &Soak, node: usize, work: SoakWork| tiermark_stats::median(&soak.rates(node, work).collect::<Vec<_>>());
    for node in 0..soak.memory.len() {
        let (read, written) = (rate(soak, node, SoakWork::Read), rate(soak, node, SoakWork::Write));
        (soak.memory[node].read, soak.memory[node].written) = (read, written);
    }
}

/// The observation of a soak that has taken so many seconds.
fn observation(step: &Step, soak: Soak, seconds: f64) -> Observation {
    let mut verdict = Verdict::trusted();
    if soak.proven == Some(false) && !soak.has_errors() {
        let node = soak.memory.first().map(|node| node.node).unwrap_or_default();
        verdict.invalid(Reason::Refused { refusal: says::comparison_unproven(node) });
    }
    let read = soak.samples.iter().filter(|sample| sample.work == SoakWork::Read);
    let rates: Vec<f64> = read.map(SoakSample::rate).collect();
    // One that was too short for a sample has its mean over all that it did.
    let mean = (soak.checked() > 0 && seconds > 0.0).then(|| soak.checked() as f64 / seconds);
    Observation {
        value: tiermark_stats::median(&rates).or(mean),
        kind: ValueKind::Typical,
        unit: Metric::Bandwidth.unit(),
        allocations: 1,
        seconds,
        verdict,
        soak: Some(Box::new(soak)),
        ..Observation::new(&*step.id, step.labels.clone(), step.metric)
    }
}

/// A soak that is under way.
struct Soaking<'a> {
    rig: Box<dyn SoakRig>,
    watch: Watch<'a>,
    role: SoakRole,
    seed: u64,
    /// Whether all of the memory was written once.
    is_taken: bool,
    /// Seconds that halves were left at rest.
    rested: f64,
}

impl Soaking<'_> {
    fn run(&mut self) -> Result<(), Fault> {
        for number in 0.. {
            let (pattern, between) = schedule::phase(number, self.seed);
            let left = self.watch.left();
            if left < LAST_SECONDS || self.watch.is_over() {
                break;
            }
            let is_possible = match between {
                SoakBetween::Rested => self.may_rest(left),
                SoakBetween::Hammered => {
                    self.is_due(self.watch.spent(SoakWork::Hammer), HAMMER_SECONDS[0], HAMMER_SHARE)
                }
                SoakBetween::Nothing | SoakBetween::Copied => true,
            };
            // Others may still fit where one does not.
            if !is_possible {
                continue;
            }
            self.phase(number == 0, pattern, between)?;
            if self.watch.soak.memory.iter().all(|node| node.held.0 == 0) {
                return Err(Fault("the system gave no memory".to_owned()));
            }
        }
        Ok(())
    }

    /// Whether what took so many seconds may take some more: it never did, or keeps to its share of the time.
    fn is_due(&self, spent: f64, seconds: f64, share: f64) -> bool {
        spent == 0.0 || spent + seconds <= share * (self.watch.seconds() + seconds)
    }

    /// Whether there is time for a phase in which both halves rest.
    fn may_rest(&self, left: f64) -> bool {
        let rest = 2.0 * f64::from(self.role.rest_seconds);
        self.is_due(self.rested, rest, REST_SHARE) && left >= rest + 2.0 * self.watch.writing_seconds
    }

    /// Writes, waits or works, reads back.
    fn phase(&mut self, is_first: bool, pattern: Pattern, between: SoakBetween) -> Result<(), Fault> {
        let began = self.watch.now();
        let mut phase =
            SoakPhase { pattern: pattern.kind, between, times: 1, whole: 0, checked: 0, seconds: 0.0, wrong_words: 0 };
        // Where the time did not suffice for all of the memory, the rest is taken later.
        let work = if self.is_taken { SoakWork::Write } else { SoakWork::Take };
        let share = if is_first { FIRST_WRITE } else { LATER_WRITE };
        let until = began + share * self.watch.left();
        let half = Half::Both;
        let written = self.pass(Pass { work, pattern, between, half, until })?;
        self.watch.writing_seconds = self.watch.now() - began;
        if !self.is_taken {
            self.is_taken = written.is_whole;
            self.watch.hold(&written.bytes);
        }
        let planted = if is_first { self.prove()? } else { 0 };
        let (wrong, checked) = (self.watch.soak.wrong_words, self.watch.soak.checked());
        let until_rested = self.rested + 2.0 * f64::from(self.role.rest_seconds);
        let Some(between) = self.between(pattern, between, written.is_whole)? else { return Ok(()) };
        phase.between = between;
        let has_rested = between != SoakBetween::Rested || self.rested >= until_rested;
        let until = self.watch.deadline;
        let read = self.read(Pass { work: SoakWork::Read, pattern, between, half, until })?;
        if is_first {
            // Of each node that was written.
            let nodes = written.bytes.iter().filter(|bytes| **bytes > 0).count();
            self.watch.judge_proof(planted > 0 && planted == nodes, read.is_whole);
        }
        if read.is_whole {
            // Once more, by a cpu far away: it comes another way.
            self.read(Pass { work: SoakWork::ReadFar, pattern, between, half, until })?;
        }
        let is_held = self.watch.soak.memory.iter().all(|node| node.held >= node.planned);
        phase.whole = u32::from(is_held && written.is_whole && has_rested && read.is_whole);
        phase.checked = self.watch.soak.checked() - checked;
        phase.seconds = self.watch.now() - began;
        phase.wrong_words = self.watch.soak.wrong_words - wrong;
        self.watch.note(phase);
        Ok(())
    }

    /// What happens between writing and reading: what it was in the end; `None` where the time was over in its middle.
    fn between(
        &mut self,
        pattern: Pattern,
        between: SoakBetween,
        is_whole: bool,
    ) -> Result<Option<SoakBetween>, Fault> {
        match between {
            // What is copied must be there as a whole.
            SoakBetween::Copied if !is_whole => return Ok(Some(SoakBetween::Nothing)),
            SoakBetween::Copied => {
                let until = self.watch.deadline;
                let copied = self.pass(Pass { work: SoakWork::Copy, pattern, between, half: Half::Both, until })?;
                if !copied.is_whole {
                    return Ok(None);
                }
                // Shares of one chunk have no halves.
                if copied.bytes.iter().all(|bytes| *bytes == 0) {
                    return Ok(Some(SoakBetween::Nothing));
                }
            }
            SoakBetween::Hammered => {
                let due = HAMMER_SHARE * self.watch.seconds() - self.watch.spent(SoakWork::Hammer);
                let seconds = due.clamp(HAMMER_SECONDS[0], HAMMER_SECONDS[1]);
                let until = self.watch.deadline.min(self.watch.now() + seconds);
                self.pass(Pass { work: SoakWork::Hammer, pattern, between, half: Half::Both, until })?;
            }
            SoakBetween::Rested => {
                self.rest(pattern, Half::Second)?;
                self.rest(pattern, Half::First)?;
            }
            SoakBetween::Nothing => {}
        }
        Ok(Some(between))
    }

    /// Leaves one half at rest while the other is read again and again: nothing cools down, and no time is lost.
    fn rest(&mut self, pattern: Pattern, resting: Half) -> Result<(), Fault> {
        let half = if resting == Half::First { Half::Second } else { Half::First };
        let began = self.watch.now();
        let until = (began + f64::from(self.role.rest_seconds)).min(self.watch.deadline);
        while self.watch.now() < until && !self.watch.is_over() {
            let between = SoakBetween::Rested;
            let read = self.read(Pass { work: SoakWork::Read, pattern, between, half, until })?;
            if read.bytes.iter().all(|bytes| *bytes == 0) {
                self.watch.wait(REST_STEP.min(until - self.watch.now()));
            }
        }
        self.rested += self.watch.now() - began;
        Ok(())
    }

    fn read(&mut self, pass: Pass) -> Result<Passed, Fault> {
        let read = self.pass(pass)?;
        self.watch.compared(&read.bytes);
        Ok(read)
    }

    fn pass(&mut self, pass: Pass) -> Result<Passed, Fault> {
        let Self { rig, watch, .. } = self;
        watch.begin(pass.work);
        let passed = rig.pass(&pass, &mut |moved| watch.tick(moved))?;
        watch.end(&passed, &|| rig.state());
        Ok(passed)
    }

    /// Flips a bit in the memory of each node: a comparison that does not find it proves nothing. Of how many.
    fn prove(&mut self) -> Result<usize, Fault> {
        let mut planted = 0;
        for part in 0..self.watch.soak.memory.len() {
            if let Some(offset) = self.rig.flip(part, PROOF_BIT)? {
                self.watch.plant(part, offset, 1 << PROOF_BIT);
                planted += 1;
            }
        }
        Ok(planted)
    }
}
