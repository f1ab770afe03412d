//! What is noted of a soak while it goes on: bytes, errors, samples, and what listeners get of it.

use tiermark_model::messages::soak as says;
use tiermark_model::{
    Bytes, LostPage, NodeId, Soak, SoakPhase, SoakSample, SoakState, SoakWork, SoakedNode, Step, WrongWord,
};

use super::{Moved, Passed, conclude, observation, role};
use crate::event::{Event, Sink};
use crate::host::Host;

/// Seconds of a sample at least, as a share of the time that is over, and as a share of all of it: a server may become
/// hot in its first minute, and a curve on a page has some hundred points.
const LEAST_SECONDS: f64 = 1.0;
const OF_THE_PAST: f64 = 1.0 / 60.0;
const OF_THE_WHOLE: f64 = 1.0 / 300.0;
/// Seconds between two observations that listeners get, at least and at most, and their share of the time: what a kill
/// may lose.
const REPORT_SECONDS: [f64; 2] = [2.0, 60.0];
const REPORT_SHARE: f64 = 0.1;
/// Seconds between two looks at the memory that is free for others.
const LOOK_EVERY: f64 = 1.0;
/// Kinds of work, as [`SoakWork`] numbers them.
const WORKS: usize = SoakWork::Hammer as usize + 1;

/// Bytes and seconds of a kind of work that are in no sample yet.
#[derive(Debug, Clone, Default)]
struct Open {
    bytes: Vec<u64>,
    seconds: f64,
}

/// A word in which the program flipped bits.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Planted {
    node: NodeId,
    offset: u64,
    bits: u64,
}

/// A soak as it is seen.
pub(super) struct Watch<'a> {
    host: &'a mut dyn Host,
    sink: &'a mut dyn Sink,
    step: &'a Step,
    pub(super) soak: Soak,
    began: f64,
    pub(super) deadline: f64,
    /// Seconds that writing all of it took last.
    pub(super) writing_seconds: f64,
    /// Words in which the program flipped bits itself, until they are found.
    planted: Vec<Planted>,
    /// Wrong words of the passes before this one, and those of this one that the program itself made.
    wrong_before: u64,
    own_words: u64,
    /// Memory that is to be left for others.
    least_free: Bytes,
    work: SoakWork,
    /// Bytes of the pass at the last tick, and when that was.
    last: (Vec<u64>, f64),
    open: [Open; WORKS],
    /// Pages that were lost before memory was written last.
    lost_before: usize,
    /// Seconds of each kind of work so far.
    spent: [f64; WORKS],
    reported: f64,
    looked: f64,
    report_seconds: f64,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        host: &'a mut dyn Host,
        sink: &'a mut dyn Sink,
        step: &'a Step,
        memory: Vec<SoakedNode>,
        deadline: f64,
    ) -> Self {
        let began = host.now();
        let report_seconds = (REPORT_SHARE * (deadline - began)).clamp(REPORT_SECONDS[0], REPORT_SECONDS[1]);
        Self {
            host,
            sink,
            step,
            soak: Soak { memory, ..Soak::default() },
            began,
            deadline,
            writing_seconds: 0.0,
            planted: Vec::new(),
            wrong_before: 0,
            own_words: 0,
            least_free: role(step).unwrap_or_default().least_free,
            work: SoakWork::default(),
            last: (Vec::new(), began),
            open: Default::default(),
            lost_before: 0,
            spent: [0.0; WORKS],
            reported: began,
            looked: began,
            report_seconds,
        }
    }

    pub(super) fn now(&self) -> f64 {
        self.host.now()
    }

    /// Seconds since it began.
    pub(super) fn seconds(&self) -> f64 {
        self.now() - self.began
    }

    /// Seconds that a kind of work took so far.
    pub(super) fn spent(&self, work: SoakWork) -> f64 {
        self.spent[work as usize]
    }

    /// Seconds that are left.
    pub(super) fn left(&self) -> f64 {
        self.deadline - self.now()
    }

    /// Whether nothing more is to be done.
    pub(super) fn is_over(&self) -> bool {
        self.soak.ended.is_some() || self.host.stopped()
    }

    pub(super) fn begin(&mut self, work: SoakWork) {
        self.work = work;
        self.last = (vec![0; self.soak.memory.len()], self.now());
        (self.wrong_before, self.own_words) = (self.soak.wrong_words, 0);
        if matches!(work, SoakWork::Take | SoakWork::Write) {
            self.lost_before = self.soak.lost.len();
        }
    }

    /// A look at a pass; whether it is to go on.
    pub(super) fn tick(&mut self, moved: &Moved<'_>) -> bool {
        self.count(moved.bytes, moved.now);
        if self.work == SoakWork::Take {
            self.sample_if_due(moved.state);
        }
        let found = self.found(moved.wrong);
        self.soak.wrong_words = (self.wrong_before + moved.wrong_words).saturating_sub(self.own_words);
        let lost = self.lost(moved.lost);
        self.tell(&found, &lost);
        if self.host.stopped() {
            self.soak.ended.get_or_insert_with(says::stopped_by_user);
        }
        if self.now() - self.looked >= LOOK_EVERY {
            self.looked = self.now();
            self.look((moved.free)());
        }
        if self.now() - self.reported >= self.report_seconds {
            self.reported = self.now();
            self.report();
        }
        self.soak.ended.is_none()
    }

    /// Ends it where others need the memory.
    fn look(&mut self, free: Option<Bytes>) {
        let least = self.least_free;
        if let Some(free) = free.filter(|free| *free < least) {
            self.soak.ended.get_or_insert_with(|| says::memory_wanted(free, least));
        }
    }

    /// Notes wrong words, and returns those that are new and no doing of the program itself.
    fn found(&mut self, wrong: &[WrongWord]) -> Vec<WrongWord> {
        let mut others = Vec::new();
        for word in wrong {
            let is_here = |own: &Planted| own.node == word.node && own.offset == word.offset;
            let own = self.planted.iter().position(is_here).map(|at| self.planted.swap_remove(at));
            // Memory that changed other bits of the same word is at fault all the same.
            match own.is_some_and(|own| own.bits == word.bits()) {
                true => self.own_words += 1,
                false => others.extend(self.soak.met(word).then(|| word.clone())),
            }
        }
        others
    }

    /// Notes pages that were taken away, each once since memory was written: several threads may have touched it. Returns
    /// those that are new.
    fn lost(&mut self, pages: &[LostPage]) -> Vec<LostPage> {
        let at = self.seconds();
        let before = self.soak.lost.len();
        for page in pages {
            if self.soak.lost[self.lost_before..].iter().all(|known| known.address != page.address) {
                self.soak.lost.push(LostPage { at, ..page.clone() });
            }
        }
        self.soak.lost[before..].to_vec()
    }

    /// The end of a pass. Rates are those of whole passes: nodes that are done earlier would make the last part of one
    /// look slow.
    pub(super) fn end(&mut self, passed: &Passed, state: &dyn Fn() -> SoakState) {
        if passed.is_whole || self.work == SoakWork::Take {
            self.sample_if_due(state);
        } else {
            self.open[self.work as usize] = Open::default();
        }
    }

    fn sample_if_due(&mut self, state: &dyn Fn() -> SoakState) {
        let whole = self.deadline - self.began;
        let due = (OF_THE_PAST * self.seconds()).min(OF_THE_WHOLE * whole).max(LEAST_SECONDS);
        if self.open[self.work as usize].seconds >= due {
            self.sample(self.work, state());
        }
    }

    /// Adds what was moved since the last tick to the sample that is open.
    fn count(&mut self, bytes: &[u64], now: f64) {
        let open = &mut self.open[self.work as usize];
        open.bytes.resize(bytes.len(), 0);
        for ((sum, now), before) in open.bytes.iter_mut().zip(bytes).zip(&self.last.0) {
            *sum += now.saturating_sub(*before);
        }
        open.seconds += now - self.last.1;
        self.spent[self.work as usize] += now - self.last.1;
        self.last = (bytes.to_vec(), now);
    }

    /// Closes a sample.
    fn sample(&mut self, work: SoakWork, state: SoakState) {
        let Open { bytes, seconds } = std::mem::take(&mut self.open[work as usize]);
        let rates = bytes.iter().map(|bytes| *bytes as f64 / seconds).collect();
        self.soak.samples.push(SoakSample { at: self.seconds(), seconds, work, rates, state });
    }

    /// Closes what is open at the end, if it lasted long enough to say something.
    pub(super) fn close_samples(&mut self, state: SoakState) {
        const WORTH: f64 = 0.2;
        for work in [SoakWork::Take, SoakWork::Write, SoakWork::Read, SoakWork::ReadFar, SoakWork::Copy] {
            if self.open[work as usize].seconds > WORTH {
                self.sample(work, state);
            }
        }
    }

    /// Does nothing for so many seconds.
    pub(super) fn wait(&mut self, seconds: f64) {
        self.host.rest(seconds.max(0.0));
    }

    /// Notes how much memory a pass took of each node.
    pub(super) fn hold(&mut self, written: &[u64]) {
        let is_first = self.soak.phases.is_empty();
        for (node, bytes) in self.soak.memory.iter_mut().zip(written) {
            node.held = if is_first { Bytes(*bytes) } else { node.held.max(Bytes(*bytes)) };
        }
    }

    /// Notes that a bit was flipped, which the comparison must find.
    pub(super) fn plant(&mut self, part: usize, offset: u64, bits: u64) {
        self.planted.push(Planted { node: self.soak.memory[part].node, offset, bits });
    }

    /// Notes whether the bits that the program flipped were found. Where the memory was not read as a whole, those that
    /// were not found may still be.
    pub(super) fn judge_proof(&mut self, was_planted: bool, is_whole: bool) {
        let found = self.planted.is_empty();
        self.soak.proven = (was_planted && (found || is_whole)).then_some(found);
    }

    /// Notes what a pass compared of each node.
    pub(super) fn compared(&mut self, read: &[u64]) {
        for (node, bytes) in self.soak.memory.iter_mut().zip(read) {
            node.checked += bytes;
            node.covered = node.covered.max(Bytes(*bytes));
        }
    }

    /// Notes a phase that was run.
    pub(super) fn note(&mut self, phase: SoakPhase) {
        let same = |other: &&mut SoakPhase| other.pattern == phase.pattern && other.between == phase.between;
        match self.soak.phases.iter_mut().find(same) {
            Some(before) => {
                before.times += phase.times;
                before.whole += phase.whole;
                before.checked += phase.checked;
                before.seconds += phase.seconds;
                before.wrong_words += phase.wrong_words;
            }
            None => self.soak.phases.push(phase),
        }
    }

    fn report(&mut self) {
        let mut soak = self.soak.clone();
        soak.ended.get_or_insert_with(says::not_at_its_end);
        conclude(&mut soak);
        let observation = observation(self.step, soak, self.seconds());
        self.sink.event(&Event::Observed { observation: &observation });
    }

    /// Tells listeners how far it is.
    fn tell(&mut self, wrong: &[WrongWord], lost: &[LostPage]) {
        let whole = self.deadline - self.began;
        let last = self.soak.samples.iter().rev().find(|sample| sample.work == self.work);
        let rate = last.map(SoakSample::rate).filter(|rate| *rate > 0.0);
        let (remaining_seconds, done) = (self.left().max(0.0), (self.seconds() / whole).min(1.0));
        let (step, work, errors) = (self.step, self.work, self.soak.wrong_words);
        self.sink.event(&Event::Soaking { step, work, rate, wrong, lost, errors, remaining_seconds, done });
    }
}
