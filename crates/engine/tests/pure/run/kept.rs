//! Memory: shared by steps, given up by points first, and not made for ever.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::*;
use tiermark_engine::{Fault, Rig, Shot};
use tiermark_model::{PlacementProof, Purpose};

/// A rig that notes which kernels it was told to run.
struct Noting(Box<dyn Rig>, Rc<RefCell<Vec<KernelId>>>);

impl Rig for Noting {
    fn placement(&mut self) -> PlacementProof {
        self.0.placement()
    }

    fn select(&mut self, kernel: &KernelId) -> Result<(), Fault> {
        self.1.borrow_mut().push(kernel.clone());
        self.0.select(kernel)
    }

    fn shot(&mut self, budget: Duration) -> Result<Shot, Fault> {
        self.0.shot(budget)
    }
}

/// A simulated machine that counts what is prepared and notes the kernels of each rig.
struct Counted(SimHost, usize, Vec<Rc<RefCell<Vec<KernelId>>>>);

impl Counted {
    fn new(sim: SimHost) -> Self {
        Self(sim, 0, Vec::new())
    }
}

impl Host for Counted {
    fn lab(&self) -> &Lab {
        self.0.lab()
    }

    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Rig>, Refusal> {
        self.1 += 1;
        let noted = Rc::default();
        self.2.push(Rc::clone(&noted));
        Ok(Box::new(Noting(self.0.prepare(setup)?, noted)))
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

/// What was seen, and how often memory was made.
fn seen(given: &Given, seconds: f64, keep_bytes: u64) -> (Vec<Observation>, usize) {
    let mut host = Counted::new(SimHost::new(machine(), kernels(), SimOptions { keep_bytes, ..SimOptions::default() }));
    let ran = measured(given, Some(seconds), &mut host, &mut Log::default());
    (ran.observations, host.1)
}

fn read(id: &str, bytes: u64, kernel: &str, rivals: &[&str]) -> Step {
    let rivals = rivals.iter().map(|rival| KernelId::from(*rival)).collect();
    step(id, Metric::Bandwidth, bytes, PageKind::Thp, Role::Stream { kernel: kernel.into(), rivals }, STOP)
}

fn chase(id: &str, bytes: u64) -> Step {
    step(id, Metric::Latency, bytes, PageKind::Thp, Role::Chase { chains: 1 }, STOP)
}

fn point(step: Step) -> Step {
    Step { labels: step.labels.clone().purpose(Purpose::Curve), ..step }
}

#[test]
fn large_memory_is_shared_by_streams_and_small_memory_is_not() {
    for (bytes, prepared) in [(64 * MIB, 3), (MIB, 6)] {
        let steps = vec![read("a", bytes, "read/plain", &[]), read("b", bytes, "read/fast", &[])];
        let (observed, made) = seen(&Given(steps, Vec::new()), 20.0, u64::MAX);
        assert_eq!(made, prepared, "{bytes}");
        for (observation, kernel) in observed.iter().zip(["read/plain", "read/fast"]) {
            assert_eq!((observation.allocations, observation.labels.get(Labels::KERNEL)), (3, Some(kernel)));
            let placed = observation.placement.as_ref().expect("a proof");
            assert!(placed.pages >= 3 && observation.disturbance.allocations_remade == 0, "{placed:?}");
        }
        assert!(observed[1].value > observed[0].value, "each with its own kernel");
    }
}

#[test]
fn chains_of_other_threads_or_layouts_have_memory_of_their_own() {
    let two = step("two", Metric::Latency, 64 * MIB, PageKind::Thp, Role::Chase { chains: 2 }, STOP);
    let base = step("base", Metric::Latency, 64 * MIB, PageKind::Base, Role::Chase { chains: 1 }, STOP);
    let read = read("read", 64 * MIB, "read/plain", &[]);
    let (_, made) = seen(&Given(vec![chase("one", 64 * MIB), two, base, read], Vec::new()), 20.0, u64::MAX);
    assert_eq!(made, 12);
}

#[test]
fn a_chase_beside_streams_keeps_the_streams_of_its_own() {
    // Thread 1 streams beside the chase of thread 0, each step with another kernel.
    let beside = |id: &str, kernel: &str| {
        let mut step = chase(id, 64 * MIB);
        step.setup.regions.push(RegionSetup { layout: Layout::Data, ..step.setup.regions[0].clone() });
        let stream = Role::Stream { kernel: kernel.into(), rivals: Vec::new() };
        step.setup.threads.push(ThreadSetup::new(1, stream, 1));
        step
    };
    let machine = Machine {
        cpus: vec![Cpu { node: Some(0), ..Cpu::default() }, Cpu { id: 1, node: Some(0), ..Cpu::default() }],
        allowed_cpus: "0-1".parse().unwrap(),
        ..machine()
    };
    let mut host = Counted::new(SimHost::new(machine, kernels(), SimOptions::default()));
    let given = Given(vec![beside("a", "read/plain"), beside("b", "read/fast")], Vec::new());
    measured(&given, Some(5.0), &mut host, &mut Log::default());
    assert_eq!(host.1, 6, "no memory is shared");
}

#[test]
fn readers_share_with_readers_only() {
    let writes = |id: &str| KernelInfo { id: id.into(), write_per_line: 64, read_per_line: 0, ..kernels()[0].clone() };
    let all = [kernels(), vec![writes("write/plain")]].concat();
    let mut host = Counted::new(SimHost::new(machine(), all, SimOptions::default()));
    let steps = [("r", "read/plain"), ("w", "write/plain"), ("f", "read/fast")];
    let steps = steps.map(|(id, kernel)| read(id, 64 * MIB, kernel, &[])).to_vec();
    measured(&Given(steps, Vec::new()), Some(20.0), &mut host, &mut Log::default());
    assert_eq!(host.1, 6, "three for both reads, three for the write");
}

#[test]
fn a_figure_begins_with_the_visits_of_the_point_that_did_the_same() {
    let (observed, _) =
        seen(&Given(vec![point(chase("point", 64 * MIB))], vec![chase("figure", 64 * MIB)]), 20.0, u64::MAX);
    let [point, figure] = &observed[..] else { panic!("{observed:?}") };
    let first = |seen: &Observation| seen.visits.list[..12].iter().map(|visit| visit.at).collect::<Vec<f64>>();
    assert_eq!(first(point), first(figure));
    assert!(figure.visits.len() > 12 && figure.value.is_some());
}

#[test]
fn points_take_the_kernel_of_the_figure_next_in_size() {
    let rivals = ["read/fast"];
    let point = |id: &str| point(read(id, 64 * MIB, "read/plain", &rivals));
    let figure = read("figure", 256 * MIB, "read/plain", &rivals);
    let (observed, _) = seen(&Given(vec![point("before"), figure], vec![point("after")]), 20.0, u64::MAX);
    // A point that was seen before anything was compared keeps its kernel: no visit is lost.
    for (observation, kernel) in observed.iter().zip(["read/plain", "read/fast", "read/fast"]) {
        assert_eq!(observation.labels.get(Labels::KERNEL), Some(kernel), "{}", observation.step);
        assert!(observation.visits.len() >= 12);
    }
    assert_eq!([0, 1, 2].map(|index| observed[index].rivals.len()), [0, 2, 0]);
}

#[test]
fn points_give_their_memory_up_before_figures_do() {
    let steps = vec![point(chase("point", 60 * MIB)), chase("figure", 30 * MIB)];
    let (observed, _) = seen(&Given(steps, Vec::new()), 20.0, 100 * MIB);
    assert_eq!((observed[1].allocations, observed[1].disturbance.allocations_remade), (3, 0));
    assert!(observed[0].value.is_some(), "{:?}", observed[0]);
}

#[test]
fn no_second_allocation_is_made_where_making_takes_most_of_the_time() {
    let of = |seconds: f64| seen(&Given(vec![chase("a", 512 * MIB)], Vec::new()), seconds, u64::MAX).0[0].allocations;
    assert_eq!((of(20.0), of(1.2)), (3, 1));
}

/// Selecting a kernel costs a calibration.
#[test]
fn a_kernel_is_selected_once_where_nothing_is_compared() {
    let mut host = Counted::new(SimHost::new(machine(), kernels(), SimOptions::default()));
    let given = Given(vec![read("a", MIB, "read/plain", &["read/fast"])], Vec::new());
    measured(&given, Some(5.0), &mut host, &mut Log::default());
    let most = host.2.iter().map(|noted| noted.borrow().len()).max();
    // A comparison (A B B A) ends on its first kernel, which the visit selects again; visits without a comparison
    // select none.
    let again = |noted: &Vec<KernelId>| noted.windows(2).filter(|pair| pair[0] == pair[1]).count();
    let compared = host.2.iter().map(|noted| again(&noted.borrow())).sum::<usize>();
    assert!(most > Some(0) && compared <= 40, "{compared} of {most:?}");
}

#[test]
fn where_memory_is_short_a_point_is_made_for_all_its_visits() {
    let sizes = [512, 516, 520].map(|mib| mib * MIB);
    let once = |step: Step| Step { stop: StopRule { allocations: 1, ..STOP }, ..step };
    let points = sizes.map(|bytes| once(point(chase(&bytes.to_string(), bytes)))).to_vec();
    for (keep_bytes, most) in [(700 * MIB, 2u64), (u64::MAX, 1)] {
        let (observed, made) = seen(&Given(points.clone(), Vec::new()), 20.0, keep_bytes);
        // The first is visited once while there is room, and gives way to the next.
        assert!(made as u64 <= 3 * most, "{keep_bytes}: {made}");
        for observation in &observed {
            assert!(
                observation.value.is_some() && observation.disturbance.allocations_remade < most,
                "{observation:?}"
            );
            assert!(observation.visits.len() >= STOP.min_visits as usize);
        }
    }
}
