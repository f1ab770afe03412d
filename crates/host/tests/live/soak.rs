//! A soak of memory of this machine, with faults planted between writing and reading in every phase.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tiermark_engine::soak::{Half, Moved, Pass, Passed, SoakRig};
use tiermark_engine::{Fault, Host, Lab, PlannedExperiment, Rig, Study};
use tiermark_host::LinuxHost;
use tiermark_model::*;

use crate::common::host;

/// The words that were made wrong, by phase: how often.
type Planted = Rc<RefCell<BTreeMap<String, u64>>>;

/// A host whose memory has a fault before each read, but not in the first phase: there the soak plants its own.
struct Faulty(LinuxHost, Planted, bool);

struct FaultyRig {
    rig: Box<dyn SoakRig>,
    planted: Planted,
    plants: bool,
    reads: u64,
}

fn name(pattern: SoakPattern, between: SoakBetween) -> String {
    format!("{pattern}, {between}")
}

impl SoakRig for FaultyRig {
    fn memory(&self) -> Vec<SoakedNode> {
        self.rig.memory()
    }

    fn pass(&mut self, pass: &Pass, tick: &mut dyn FnMut(&Moved<'_>) -> bool) -> Result<Passed, Fault> {
        if matches!(pass.work, SoakWork::Read | SoakWork::ReadFar) {
            self.reads += 1;
            // The word is in the first half.
            if self.plants && self.reads > 2 && pass.half != Half::Second {
                self.rig.flip(0, 40)?.unwrap();
                *self.planted.borrow_mut().entry(name(pass.pattern.kind, pass.between)).or_default() += 1;
            }
        }
        self.rig.pass(pass, tick)
    }

    fn flip(&mut self, part: usize, bit: u8) -> Result<Option<u64>, Fault> {
        self.rig.flip(part, bit)
    }

    fn state(&self) -> SoakState {
        self.rig.state()
    }

    fn free(&self) -> Option<Bytes> {
        self.rig.free()
    }
}

impl Host for Faulty {
    fn lab(&self) -> &Lab {
        self.0.lab()
    }

    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Rig>, Refusal> {
        self.0.prepare(setup)
    }

    fn soak(&mut self, setup: &Setup) -> Result<Box<dyn SoakRig>, Refusal> {
        let rig = self.0.soak(setup)?;
        Ok(Box::new(FaultyRig { rig, planted: Rc::clone(&self.1), plants: self.2, reads: 0 }))
    }

    fn keep_bytes(&self) -> u64 {
        self.0.keep_bytes()
    }

    fn now(&self) -> f64 {
        self.0.now()
    }

    fn rest(&mut self, seconds: f64) {
        self.0.rest(seconds);
    }

    fn cpu_seconds(&self) -> Option<f64> {
        self.0.cpu_seconds()
    }

    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}

/// A plan of one soak.
struct OneSoak(Plan);

impl Study for OneSoak {
    fn plan(&self) -> Result<Plan, Refusal> {
        Ok(self.0.clone())
    }

    fn derive(&self, _: &[Observation]) -> Vec<Finding> {
        Vec::new()
    }
}

fn soaked(mut host: Faulty, seconds: f64, bytes: u64) -> Soak {
    let role = SoakRole { rest_seconds: 1, least_free: Bytes(0) };
    let threads = host.machine().allowed_cpus.iter().take(4).map(|cpu| ThreadSetup::new(cpu, Role::Soak(role), 0));
    let setup = Setup {
        regions: vec![crate::common::region(bytes, PageKind::Thp, Layout::Data)],
        threads: threads.collect(),
        seed: 3,
    };
    let stop = StopRule { precision: 1.0, allocations: 1, min_visits: 1, max_visits: 1, shot_seconds: seconds };
    let labels = Labels::new().with_purpose(Purpose::Soak);
    let step = Step { id: "soak".into(), labels, phase: 0, metric: Metric::Bandwidth, setup, stop };
    let plan = Plan { steps: vec![step], max_seconds: seconds, ..Plan::default() };
    let planned = PlannedExperiment::new(Box::new(OneSoak(plan)), &testing::request("soak"), 1).unwrap();
    let experiment = planned.run(&mut host, &(), &mut ());
    experiment.observations[0].soak.as_deref().expect("a soak").clone()
}

#[test]
fn faults_between_writing_and_reading_are_found_in_every_phase() {
    let planted = Planted::default();
    let soak = soaked(Faulty(host(), Rc::clone(&planted), true), 20.0, 192 << 20);
    assert_eq!(soak.proven, Some(true));
    assert!(soak.phases.len() >= 7, "{:#?}", soak.phases);
    for phase in &soak.phases {
        let name = name(phase.pattern, phase.between);
        // The last read may have been cut off by the end of the time.
        let planted = planted.borrow().get(&name).copied().unwrap_or_default();
        let missing = planted - phase.wrong_words;
        assert!(
            phase.wrong_words <= planted && missing <= 2 * u64::from(phase.times - phase.whole),
            "{name}: {phase:?}"
        );
        assert!(phase.whole > 0 && (phase.wrong_words > 0 || planted == 0), "{name}: {phase:?}");
    }
    for word in &soak.wrong {
        assert_eq!((word.offset, word.bits(), word.kind()), (0, 1 << 40, WrongKind::Lost));
        assert_eq!(word.again, word.found);
    }
}

#[test]
fn memory_of_this_machine_keeps_what_is_written() {
    let soak = soaked(Faulty(host(), Planted::default(), false), 4.0, 64 << 20);
    assert_eq!((soak.wrong_words, soak.proven, soak.ended.as_ref()), (0, Some(true), None), "{soak:#?}");
    let [node] = soak.memory.as_slice() else { panic!("{:?}", soak.memory) };
    assert!(node.held == Bytes(64 << 20) && node.covered == node.held && node.times() > 2.0, "{node:?}");
}

#[test]
#[ignore = "takes an hour: ./test --long"]
fn an_hour_on_this_machine_has_no_error() {
    let soak = soaked(Faulty(host(), Planted::default(), false), 3600.0, 2 << 30);
    assert_eq!((soak.wrong_words, soak.lost.len(), soak.proven, soak.ended.as_ref()), (0, 0, Some(true), None));
    assert!(soak.phases.iter().all(|phase| phase.wrong_words == 0) && soak.phases.len() == 8, "{:?}", soak.phases);
}
