//! Numbers beside a program that writes a line of counts every second or so, on a host whose time the test moves.

use std::io;

use tiermark_counters::{Interval, Of, Reading};
use tiermark_engine::{ThreadShot, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_model::{BoxKind, BoxPlace, Effort, Experiment, Request, Scope, testing};

use super::fakes::{FakeHost, FakeWorld};
use super::*;

/// Useful bytes a second of all threads, and bytes on the channels for each of them.
const USEFUL: f64 = 1e10;
const FACTOR: f64 = 2.0;
/// Bytes a second on the channels while memory is filled, and the seconds that it takes.
const FILLING: f64 = 5e10;
const FILL: f64 = 1.7;
/// Unix time at the start.
const EPOCH: f64 = 1_000_000_000.25;

/// The time, and what the channels carried by then.
#[derive(Default)]
struct World {
    now: f64,
    carried: f64,
    /// All that was carried at each moment at which its rate changed.
    past: Vec<(f64, f64)>,
}

impl World {
    fn pass(&mut self, seconds: f64, rate: f64) {
        self.past.push((self.now, self.carried));
        (self.now, self.carried) = (self.now + seconds, self.carried + seconds * rate);
    }

    /// Bytes that were carried up to a moment.
    fn at(&self, moment: f64) -> f64 {
        let ends = self.past.iter().skip(1).copied().chain([(self.now, self.carried)]);
        let piece = self.past.iter().zip(ends).find(|((from, _), (to, _))| (*from..=*to).contains(&moment));
        let Some(((from, before), (to, after))) = piece else { return 0.0 };
        before + (after - before) * (moment - from) / (to - from).max(1e-12)
    }
}

type Shared = Rc<RefCell<World>>;

/// A program that counts in intervals, and writes its lines so many seconds late.
struct Program {
    world: Shared,
    interval: f64,
    late: f64,
    /// What its time of the day differs by.
    zone: f64,
    written: u32,
}

impl Program {
    /// The next lines that are in the file.
    fn lines(&mut self) -> Vec<Interval> {
        let world = self.world.borrow();
        let mut lines = Vec::new();
        // A buffer is full after some lines: they come together.
        let reached = if self.late > 0.0 { (world.now / self.late).floor() * self.late } else { world.now };
        while self.interval > 0.0 && f64::from(self.written + 1) * self.interval <= reached {
            self.written += 1;
            let end = f64::from(self.written) * self.interval;
            let place = BoxPlace { socket: Some(0), node: None, kind: BoxKind::Channel, unit: "Ch0".into() };
            let reading = |id, of, count| Reading {
                id,
                place: place.clone(),
                of,
                count,
                each: 1.0,
                bits: 64,
                enabled_ns: 0,
                running_ns: 0,
                least: 0.0,
            };
            let half = (world.at(end) / 2.0) as u64;
            let readings = vec![reading(0, Of::Read, half), reading(1, Of::Write, half)];
            let counts = Snapshot { at: Duration::from_secs_f64(end), readings, lost: Vec::new() };
            let of_day = (EPOCH + end + self.zone).rem_euclid(86_400.0);
            lines.push(Interval { of_day: Some(of_day), counts });
        }
        lines
    }
}

impl CounterSource for Program {
    fn id(&self) -> CounterSourceId {
        CounterSourceId::PcmMemory
    }

    fn sees(&self) -> Vec<CounterSight> {
        vec![CounterSight::Reads, CounterSight::Writes]
    }

    fn is_immediate(&self) -> bool {
        false
    }

    fn read(&mut self) -> io::Result<Snapshot> {
        Ok(self.lines().pop().map(|line| line.counts).unwrap_or_default())
    }

    fn intervals(&mut self) -> io::Result<Vec<Interval>> {
        Ok(self.lines())
    }
}

impl FakeWorld for World {
    fn now(&self) -> f64 {
        self.now
    }

    fn rest(&mut self, seconds: f64) {
        self.pass(seconds, FILLING);
    }

    fn fill(&mut self) {
        self.pass(FILL, FILLING);
    }

    fn shot(&mut self, threads: usize, budget: Duration) -> Shot {
        let seconds = budget.as_secs_f64();
        self.pass(seconds, FACTOR * USEFUL);
        let stamps_ns: Vec<f64> = (0..=100).map(|block| f64::from(block) * seconds * 1e7).collect();
        let per_block = USEFUL * seconds / (100 * threads) as f64;
        let thread = ThreadShot { per_block, stamps_ns, unstamped: Some(0.0), ..ThreadShot::default() };
        Shot { threads: vec![thread; threads], ..Shot::default() }
    }
}

/// An experiment of two numbers beside such a program, what is said of the counts, and the seconds that counting took.
fn counted(interval: f64, late: f64, zone: f64) -> (Experiment, Vec<Note>, f64) {
    counted_within(None, interval, late, zone)
}

/// The same with so many seconds for the experiment and its counts.
fn counted_within(most: Option<f64>, interval: f64, late: f64, zone: f64) -> (Experiment, Vec<Note>, f64) {
    let machine = Synth { cores_per_node: 2, ..Synth::default() }.machine().unwrap();
    let kernels = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    let world = Shared::default();
    let mut host = FakeHost(Lab::new(machine, Bench { kernels, ..Bench::default() }), Rc::clone(&world));
    let params = serde_json::json!({"ops": ["read/avx2"], "sizes": [1_u64 << 30, 1_u64 << 29], "threads": [2]});
    let scope = Scope { max_seconds: Some(5.0), ..Scope::default() };
    let request = Request { scope, effort: Effort::Quick, params, ..testing::request("bandwidth") };
    let probe = tiermark_probes::find("bandwidth").unwrap();
    let mut experiment = run_experiment(probe, &request, &mut host, &mut ()).unwrap();
    experiment.request.scope.step_seconds = Some(1.0);
    experiment.request.scope.max_seconds = most;
    let began = host.now();
    let program = Program { world, interval, late, zone, written: 0 };
    let mut counts = IntervalCounts::new(Box::new(program), EPOCH);
    counts.count(&mut experiment, &mut host, &mut ());
    (experiment, counts.notes(), host.now() - began)
}

#[test]
fn whole_intervals_within_a_number_are_its_traffic() {
    // In another time zone, and with a buffer that is full after 16 lines.
    for (interval, late, zone) in [(1.0, 0.0, 0.0), (1.3, 0.0, 20_700.0), (1.0, 16.0, -36_000.0), (0.5, 0.0, 0.0)] {
        let (experiment, notes, took) = counted(interval, late, zone);
        assert!(notes.is_empty(), "{notes:?}");
        let seen: Vec<_> = experiment.observations.iter().filter_map(|seen| seen.traffic.as_ref()).collect();
        assert_eq!(seen.len(), 2, "{:?}", experiment.observations);
        for traffic in seen {
            // What fills memory before a number is in no interval of its own.
            let factor = traffic.amplification().unwrap();
            assert!((factor / FACTOR - 1.0).abs() < 1e-6, "{factor} at {interval} s, {late} s late");
            assert!(traffic.counted.seconds > 1.9 * interval, "{traffic:?}");
            assert_eq!(traffic.counted.nodes().keys().collect::<Vec<_>>(), [&0], "{traffic:?}");
        }
        assert!(took < 2.0 * (FILL + 10.0) + 2.0 * late, "{took} s");
    }
}

#[test]
fn what_gives_no_counts_is_said_once_with_its_cause() {
    use tiermark_model::messages::counters::codes;
    let said = |interval, zone| {
        let (experiment, notes, took) = counted(interval, 0.0, zone);
        assert!(experiment.observations.iter().all(|seen| seen.traffic.is_none()));
        assert!(took < 120.0, "{took} s");
        notes.iter().map(|note| note.code.clone()).collect::<Vec<_>>()
    };
    assert_eq!(said(0.0, 0.0), [codes::numbers_without_lines]);
    assert_eq!(said(25.0, 0.0), [codes::intervals_too_long]);
    assert_eq!(said(1.0, 450.0), [codes::lines_of_another_clock]);
    let (_, notes, took) = counted_within(Some(5.0), 1.0, 0.0, 0.0);
    assert_eq!(notes.iter().map(|note| note.code.clone()).collect::<Vec<_>>(), [codes::numbers_without_time]);
    assert!(took < 1.0, "{took} s");
}

#[test]
fn numbers_of_streams_alone_are_planned_with_their_time() {
    let machine = Synth { cores_per_node: 2, ..Synth::default() }.machine().unwrap();
    let kernels = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    let lab = Lab::new(machine, Bench { kernels, ..Bench::default() });
    let planned = |probe: &str, params| {
        let request = Request { effort: Effort::Quick, params, ..testing::request(probe) };
        crate::prepare(&[(request, None)], None, &lab).unwrap()
    };
    let matrix = || planned("matrix", serde_json::json!({"ops": ["latency", "read"]}));
    let before = matrix().expected_seconds()[0];
    let beside = matrix().beside_intervals(CounterSourceId::Pcm).ok().unwrap();
    let (_, plan) = &beside.planned[0];
    let plan = &plan.as_ref().ok().unwrap().plan;
    let streams = plan.steps.iter().filter(|step| step.metric == tiermark_model::Metric::Bandwidth).count() as f64;
    assert!(streams > 0.0 && (streams as usize) < plan.steps.len());
    assert!(plan.counting_seconds >= 3.0 * streams, "{}", plan.counting_seconds);
    assert!((beside.expected_seconds()[0] - before - plan.counting_seconds).abs() < 1e-9);
    assert!(plan.rules.last().unwrap().text.contains("pcm counts in intervals"), "{:?}", plan.rules);
    let refused = planned("latency", serde_json::json!({})).beside_intervals(CounterSourceId::Pcm);
    assert_eq!(refused.err().as_deref(), Some("latency"));
}
