//! Numbers that run once more beside counters with intervals of their own, long enough for whole intervals.
//!
//! A visit takes 2 ms, an interval of such a source about a second. So each number runs once more after the visits,
//! without a pause, and has the traffic of the intervals that lie wholly within that time. Programs may buffer the lines
//! of a file for many intervals: the time of the day in a line says when its interval ended.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tiermark_counters::{CounterSource, Doubt, Interval, Snapshot, name_nodes, traffic};
use tiermark_engine::{Event, Host, PlannedExperiment, Rig, Sink};
use tiermark_model::messages::{counters as says, rules};
use tiermark_model::{
    BlockTimes, CounterSourceId, Experiment, KernelId, Machine, Metric, Note, Observation, Role, Step, StepTraffic,
    Tier,
};

use super::known::useful;
use crate::prepare::{NOT_SHORT, NotShort, Prepared};

/// Probes whose numbers are of streams that can run for seconds.
const PROBES: [&str; 3] = ["matrix", "scale", "bandwidth"];
/// Seconds for which a number runs again, without `--seconds`.
const SECONDS: f64 = 3.0;
/// Intervals that a number runs for at least: two of them are whole, wherever they begin.
const WHOLE: f64 = 3.0;
/// The usual interval, in seconds, and the longest for which a number runs longer.
const USUAL: f64 = 1.0;
const LONGEST: f64 = 10.0;
/// Time of a shot: its start and end take little of it.
const SHOT: Duration = Duration::from_millis(100);
/// Shots of a number at most, if shots take no time.
const MOST_SHOTS: u32 = 10_000;
/// Intervals that are kept at most.
const MOST_INTERVALS: usize = 100_000;
/// Seconds after which no counts are expected: pcm fills 8 KiB with lines of 500 bytes in 16 s unless it flushes each.
const PATIENCE: f64 = 30.0;
/// Seconds between two looks at a file while nothing runs.
const LOOK: f64 = 0.1;
/// Time zones differ by whole quarters of an hour, so that a time of the day is known up to these seconds.
const QUARTER: f64 = 900.0;
/// Seconds that a line may be late, and that its time may be ahead of ours.
const LATE: f64 = 300.0;
const AHEAD: f64 = 1.0;

/// What is to be known of a source as it is opened, but for its intervals and for counts that have not come yet: both
/// are said with the counts.
pub(super) fn notes_of(source: &dyn CounterSource) -> Vec<Note> {
    let is_late = |note: &Note| note.code == says::codes::counts_come_late;
    let own = source.doubts().into_iter().filter(|(doubt, note)| *doubt == Doubt::Source && !is_late(note));
    own.map(|(_, note)| note).collect()
}

/// Whether a step is one of these numbers: a stream in memory that is no point of a curve.
fn is_number(step: &Step) -> bool {
    let is_stream = step.setup.threads.iter().all(|thread| matches!(thread.role, Role::Stream { .. }));
    let is_of_memory = step.labels.tier().is_none_or(|tier| tier == Tier::Dram);
    step.metric == Metric::Bandwidth && is_stream && is_of_memory && !step.labels.is_point()
}

/// Seconds that a number runs for, if intervals take so long.
fn seconds_each(asked: Option<f64>, interval: f64) -> f64 {
    asked.unwrap_or(SECONDS).max(WHOLE * interval)
}

impl Prepared {
    /// The same with the time and a rule of numbers that run once more beside a source with intervals of its own.
    ///
    /// # Errors
    /// The name of the first probe whose numbers do not run for seconds.
    pub fn beside_intervals(mut self, source: CounterSourceId) -> Result<Self, String> {
        let other = self.planned.iter().find(|(request, _)| !PROBES.contains(&request.probe.as_str()));
        if let Some((request, _)) = other {
            return Err(request.probe.clone());
        }
        for (request, planned) in &mut self.planned {
            let Ok(PlannedExperiment { plan, .. }) = planned else { continue };
            let seconds = seconds_each(request.scope.step_seconds, USUAL);
            let numbers = || plan.steps.iter().filter(|step| is_number(step));
            let counting: f64 = numbers().map(|step| seconds + step.prepare_seconds()).sum();
            plan.rules.push(rules::counted_once_more(source.name(), numbers().count() as u64, seconds));
            plan.counting_seconds = counting;
            // The limit of the user is one for both.
            if request.scope.max_seconds.is_some() {
                plan.max_seconds = (plan.max_seconds - counting).max(plan.max_seconds / 2.0);
            }
        }
        let seconds: f64 = self.expected_seconds().iter().sum();
        let is_said = seconds > NOT_SHORT && self.long_run().is_none();
        self.not_short = is_said.then_some(NotShort { seconds, quick: None });
        Ok(self)
    }
}

/// The time in which a number ran, by the host's clock, and its useful bytes.
#[derive(Debug, Clone, Copy)]
struct Window {
    from: f64,
    to: f64,
    useful: f64,
}

/// Counters with intervals of their own.
pub struct IntervalCounts {
    source: Box<dyn CounterSource>,
    /// Unix time when the host's clock was 0.
    epoch: f64,
    /// The ends of intervals by the host's clock, with the counts then.
    ends: Vec<(f64, Snapshot)>,
    /// The time of the newest counts, in the source's own time.
    newest: Option<Duration>,
    /// The newest interval, in seconds.
    interval: Option<f64>,
    /// Intervals whose time is not that of this machine's clock.
    elsewhere: u64,
    /// Why the source could not be read last; `None` if it could.
    error: Option<String>,
    /// Whether the first number ran for long enough, and nothing came.
    is_silent: bool,
    /// Whether the user's limit left no time for a number.
    is_late: bool,
    /// When counting began, by the host's clock.
    began: f64,
    /// Numbers without traffic.
    without: u64,
}

impl IntervalCounts {
    /// A source beside a host.
    pub(crate) fn beside(source: Box<dyn CounterSource>, host: &dyn Host) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::new(source, now.as_secs_f64() - host.now())
    }

    /// A source beside a host whose clock was 0 at a Unix time.
    pub(crate) fn new(source: Box<dyn CounterSource>, epoch: f64) -> Self {
        Self {
            source,
            epoch,
            ends: Vec::new(),
            newest: None,
            interval: None,
            elsewhere: 0,
            error: None,
            is_silent: false,
            is_late: false,
            began: 0.0,
            without: 0,
        }
    }

    /// Runs the numbers of an experiment once more, and gives each the traffic of its time.
    pub fn count(&mut self, experiment: &mut Experiment, host: &mut dyn Host, sink: &mut dyn Sink) {
        if !PROBES.contains(&experiment.request.probe.as_str()) {
            return;
        }
        let asked = experiment.request.scope.step_seconds;
        let numbers = numbers(experiment);
        self.began = host.now();
        // What was counted so far is of other work.
        self.newest = self.source.read().ok().map(|counts| counts.at);
        let mut windows: Vec<(usize, Window)> = Vec::new();
        for (nth, (index, step, kernel)) in numbers.iter().enumerate() {
            if host.stopped() || self.is_silent {
                break;
            }
            let seconds = seconds_each(asked, self.interval.unwrap_or(USUAL));
            let remaining_seconds = (numbers.len() - nth) as f64 * (seconds + step.prepare_seconds());
            sink.event(&Event::Counting { step, source: self.source.id(), remaining_seconds });
            if !self.has_time(seconds + step.prepare_seconds(), experiment, host) {
                self.is_late = true;
                break;
            }
            windows.extend(self.run(step, kernel.as_ref(), asked, host).map(|window| (*index, window)));
            // Only the first number ran for as long as counts may be late.
            self.is_silent = !windows.is_empty() && self.interval.is_none() && self.ends.is_empty();
        }
        if let Some((_, last)) = windows.last().filter(|_| !host.stopped()) {
            self.wait_for(last.to, host);
        }
        let mut counted = 0;
        for (index, window) in windows {
            let seen = &mut experiment.observations[index];
            seen.traffic = self.traffic_of(&window, host.machine());
            if seen.traffic.is_some() {
                counted += 1;
                let observation = &Observation { block_times: BlockTimes::default(), ..seen.clone() };
                sink.event(&Event::Observed { observation });
            }
        }
        self.without += numbers.len() as u64 - counted;
        self.ends.clear();
    }

    /// Whether so many seconds are left of the user's limit of an experiment.
    fn has_time(&self, seconds: f64, experiment: &Experiment, host: &dyn Host) -> bool {
        let spent = experiment.time.map_or(0.0, |time| time.whole) + host.now() - self.began;
        experiment.request.scope.max_seconds.is_none_or(|most| spent + seconds <= most)
    }

    /// Why numbers have no traffic, each cause once, and what is wrong with the counts.
    pub fn notes(&self) -> Vec<Note> {
        let source = self.source.id().name();
        let cause = match &self.error {
            _ if self.without == 0 => None,
            Some(error) => Some(says::counts_failed_meanwhile(source, self.without, error)),
            // Lines of another clock are the cause, and are said below.
            None if self.is_silent && self.elsewhere > 0 => None,
            None if self.is_silent => Some(says::numbers_without_lines(source, self.without)),
            None if self.is_late => Some(says::numbers_without_time(source, self.without)),
            None => Some(says::intervals_too_long(source, self.without)),
        };
        let elsewhere = (self.elsewhere > 0).then(|| says::lines_of_another_clock(source, self.elsewhere));
        let doubts =
            self.source.doubts().into_iter().filter(|(doubt, _)| matches!(doubt, Doubt::Counts | Doubt::Whole));
        cause.into_iter().chain(elsewhere).chain(doubts.map(|(_, note)| note)).collect()
    }

    /// Runs a number without a pause; `None` if that is not possible here, its useful bytes are not known, or the user
    /// stopped it.
    fn run(
        &mut self,
        step: &Step,
        kernel: Option<&KernelId>,
        asked: Option<f64>,
        host: &mut dyn Host,
    ) -> Option<Window> {
        let mut rig = host.prepare(&step.setup).ok()?;
        kernel.map_or(Ok(()), |kernel| rig.select(kernel)).ok()?;
        // The first shot brings the lines that the fill left in caches back to memory.
        shoot(rig.as_mut())?;
        self.look(host.now());
        let from = host.now();
        let mut window = Window { from, to: from, useful: 0.0 };
        for _ in 0..MOST_SHOTS {
            window.useful += shoot(rig.as_mut())?;
            window.to = host.now();
            self.look(window.to);
            let ran = window.to - window.from;
            let is_enough = match self.interval {
                Some(interval) => ran >= seconds_each(asked, interval),
                None => ran >= PATIENCE,
            };
            if is_enough || host.stopped() {
                break;
            }
        }
        (!host.stopped()).then_some(window)
    }

    /// Takes the intervals that ended since the last look.
    fn look(&mut self, now: f64) {
        match self.source.intervals() {
            Ok(all) => {
                self.error = None;
                all.into_iter().for_each(|interval| self.take(interval, now));
            }
            Err(error) => self.error = Some(error.to_string()),
        }
    }

    fn take(&mut self, Interval { of_day, counts }: Interval, now: f64) {
        let before = self.newest.replace(counts.at);
        if before == Some(counts.at) || self.ends.len() >= MOST_INTERVALS {
            return;
        }
        let Some(end) = self.end_of(of_day, now) else {
            self.elsewhere += 1;
            return;
        };
        // Of the first counts nobody knows when they began.
        let took = before.filter(|before| *before > Duration::ZERO && *before < counts.at);
        let took = took.map(|before| (counts.at - before).as_secs_f64().min(LONGEST));
        // One long gap is no long interval.
        self.interval = took.or(self.interval);
        self.ends.push((end, counts));
    }

    /// When an interval ended by the host's clock: `now`, if its source does not say. `None` if the time of its source
    /// cannot be that of this machine.
    fn end_of(&self, of_day: Option<f64>, now: f64) -> Option<f64> {
        let Some(of_day) = of_day else { return Some(now) };
        let late = (self.epoch + now - of_day + AHEAD).rem_euclid(QUARTER) - AHEAD;
        (late <= LATE).then_some(now - late)
    }

    /// Waits for counts of a moment that has passed: they may be late.
    fn wait_for(&mut self, moment: f64, host: &mut dyn Host) {
        for _ in 0..(PATIENCE / LOOK) as u32 {
            self.look(host.now());
            let is_there = self.ends.last().is_some_and(|(end, _)| *end >= moment);
            if is_there || self.is_silent || host.stopped() {
                return;
            }
            host.rest(LOOK);
        }
    }

    /// The traffic of the intervals that lie wholly within a time; `None` if no interval does.
    fn traffic_of(&self, window: &Window, machine: &Machine) -> Option<StepTraffic> {
        let mut within = self.ends.iter().filter(|(end, _)| (window.from..=window.to).contains(end));
        let ((_, first), (_, last)) = (within.next()?, within.next_back()?);
        let mut counted = traffic(first, last);
        name_nodes(&mut counted, machine);
        let useful = window.useful / (window.to - window.from) * counted.seconds;
        (counted.seconds > 0.0).then_some(StepTraffic { useful: Some(useful), counted, joules: None })
    }
}

/// The numbers of an experiment that were measured: where they are among the observations, their steps, and the
/// kernels that won where several were compared.
fn numbers(experiment: &Experiment) -> Vec<(usize, Step, Option<KernelId>)> {
    let steps = &experiment.plan.steps;
    let number = |(index, seen): (usize, &Observation)| {
        let step = steps.iter().find(|step| step.id == seen.step).filter(|step| is_number(step))?;
        seen.value?;
        let is_rival = |role: &Role| matches!(role, Role::Stream { rivals, .. } if !rivals.is_empty());
        let has_rivals = step.setup.threads.iter().any(|thread| is_rival(&thread.role));
        let kernel = seen.labels.kernel().filter(|_| has_rivals).map(|kernel| KernelId(kernel.into()));
        Some((index, step.clone(), kernel))
    };
    experiment.observations.iter().enumerate().filter_map(number).collect()
}

/// The useful bytes of a shot.
fn shoot(rig: &mut dyn Rig) -> Option<f64> {
    useful(&rig.shot(SHOT).ok()?)
}
