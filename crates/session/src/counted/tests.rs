//! The bracket around a shot, with a rig and a source whose bytes are known.

use std::io;

use tiermark_counters::{Of, Reading};
use tiermark_engine::{ThreadShot, run_experiment};
use tiermark_machine::synth::Synth;
use tiermark_model::{BoxKind, BoxPlace, CounterCheck, Effort, Request, Scope, testing};

use super::fakes::{FakeHost, FakeWorld};
use super::*;

/// Bytes that memory moves in a second while nothing is measured.
const IDLE: f64 = 1e8;
/// What the rig does before its first stamps, and what it does between them, in bytes.
const LEAD: f64 = 4e6;
const STREAMED: f64 = 1e8;
/// Time of a shot with its start and end, in seconds.
const SPAN: f64 = 5e-3;

/// What memory moved so far, and the time.
#[derive(Default)]
struct Memory {
    bytes: f64,
    now: f64,
    reads: u64,
    /// Readings from which on the second channel can no longer be read.
    loses_at: Option<u64>,
}

type Shared = Rc<RefCell<Memory>>;

struct Source(Shared);

impl CounterSource for Source {
    fn id(&self) -> CounterSourceId {
        CounterSourceId::Perf
    }

    fn sees(&self) -> Vec<CounterSight> {
        vec![CounterSight::Reads]
    }

    fn read(&mut self) -> io::Result<Snapshot> {
        let mut memory = self.0.borrow_mut();
        memory.reads += 1;
        // Each moment is some time after the one before.
        memory.now += 1e-4;
        memory.bytes += IDLE * 1e-4;
        let place = |channel: usize| BoxPlace {
            socket: Some(0),
            node: None,
            kind: BoxKind::Channel,
            unit: format!("channel {channel}"),
        };
        let reading = |channel: usize| Reading {
            id: channel,
            place: place(channel),
            of: Of::Both,
            count: (memory.bytes / 2.0) as u64,
            each: 1.0,
            bits: 64,
            enabled_ns: 0,
            running_ns: 0,
            least: 0.0,
        };
        let lost = memory.loses_at.is_some_and(|at| memory.reads >= at);
        let channels = if lost { 0..1 } else { 0..2 };
        let lost = if lost { vec![place(1)] } else { Vec::new() };
        Ok(Snapshot { at: Duration::from_secs_f64(memory.now), readings: channels.map(reading).collect(), lost })
    }
}

impl FakeWorld for Memory {
    fn now(&self) -> f64 {
        self.now
    }

    fn rest(&mut self, seconds: f64) {
        self.now += seconds;
    }

    fn shot(&mut self, threads: usize, _: Duration) -> Shot {
        self.now += SPAN;
        self.bytes += (LEAD + STREAMED) * threads as f64 + IDLE * SPAN;
        let stamps_ns: Vec<f64> = (0..=100).map(|block| f64::from(block) * 2e4).collect();
        let per_block = STREAMED / 100.0;
        let thread = ThreadShot { per_block, stamps_ns, unstamped: Some(LEAD), ..ThreadShot::default() };
        Shot { threads: vec![thread; threads], ..Shot::default() }
    }
}

/// The traffic of a stream of reads.
fn counted(loses_at: Option<u64>) -> StepTraffic {
    let machine = Synth { cores_per_node: 2, ..Synth::default() }.machine().unwrap();
    let kernels = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    let memory = Rc::new(RefCell::new(Memory { loses_at, ..Memory::default() }));
    let bench = Bench { kernels, ..Bench::default() };
    let inner = Box::new(FakeHost(Lab::new(machine, bench), Rc::clone(&memory)));
    let root = Root::from_files("test", [("proc/stat".to_owned(), String::new())]);
    let mut host = Counted::new(inner, Box::new(Source(memory)), &root);
    let params = serde_json::json!({"ops": ["read/avx2"], "sizes": [1_u64 << 30], "threads": [2]});
    let scope = Scope { max_seconds: Some(1.0), ..Scope::default() };
    let request = Request { scope, effort: Effort::Quick, params, ..testing::request("bandwidth") };
    let probe = tiermark_probes::find("bandwidth").unwrap();
    let experiment = run_experiment(probe, &request, &mut host, &mut ()).unwrap();
    experiment.observations.into_iter().find_map(|seen| seen.traffic).unwrap()
}

#[test]
fn what_precedes_the_stamps_and_what_is_idle_do_not_amplify() {
    let seen = counted(None);
    let factor = seen.amplification().unwrap();
    assert!((factor - 1.0).abs() < 1e-3, "{factor}: {seen:?}");
    assert_eq!(seen.counted.boxes.len(), 2);
}

#[test]
fn shots_in_which_a_box_was_not_counted_do_not_count() {
    let seen = counted(Some(20));
    let factor = seen.amplification().unwrap();
    assert!((factor - 1.0).abs() < 1e-3, "{factor}: the whole of the shots before");
    assert!(!seen.counted.marks.is_empty() && seen.counted.missing.is_empty());
}

#[test]
fn counts_that_are_required_must_be_of_use() {
    let fault = says::nothing_counted();
    let counters = |source, faults: &[Note]| RunCounters {
        source,
        sees: vec![CounterSight::Reads, CounterSight::LowerBound],
        passed_over: [CounterSourceId::Perf, CounterSourceId::Core]
            .map(|source| PassedOver { source, refusal: says::not_this_machine(source.name()) })
            .into(),
        check: Some(CounterCheck { known: 1.0, counted: None, faults: faults.to_vec(), links: None }),
        notes: Vec::new(),
    };
    let refused =
        |required, named, counters: &RunCounters| refuse_useless(required, named, counters).err().unwrap_or_default();
    let (none, wrong) =
        (counters(CounterSourceId::None, &[]), counters(CounterSourceId::Perf, std::slice::from_ref(&fault)));
    let (auto, require) = (false, true);
    // All that were tried.
    assert_eq!(refused(require, false, &none).len(), 2);
    assert_eq!((refused(auto, true, &none).len(), refused(auto, false, &none).len()), (2, 0));
    let [only] = &refused(require, false, &wrong)[..] else { panic!("not refused") };
    assert!(only.code == "counts_of_no_use" && only.why.contains(&fault.text), "{only}");
    assert!(refused(auto, false, &wrong).is_empty() && refused(auto, true, &wrong).is_empty());
    // A lower bound is of use.
    assert!(refused(require, false, &counters(CounterSourceId::Core, &[])).is_empty());
}
