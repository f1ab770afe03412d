//! Memory: filled once, visited at several places, and not made for ever.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::*;
use tiermark_engine::soak::SoakRig;
use tiermark_engine::{Fault, Filled, Rig, Shot};
use tiermark_model::{PlacementProof, Purpose};

/// A rig that notes which kernels it was told to run.
struct Noting(Box<dyn Rig>, Rc<RefCell<Vec<KernelId>>>);

impl Rig for Noting {
    fn placement(&mut self) -> PlacementProof {
        self.0.placement()
    }

    fn assign(&mut self, roles: &[Role]) -> Result<(), Fault> {
        self.0.assign(roles)
    }

    fn owns_memory(&self) -> bool {
        self.0.owns_memory()
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

    fn furnish(&mut self, setups: &[&Setup]) -> Filled {
        self.0.furnish(setups)
    }

    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Rig>, Refusal> {
        self.1 += 1;
        let noted = Rc::default();
        self.2.push(Rc::clone(&noted));
        Ok(Box::new(Noting(self.0.prepare(setup)?, noted)))
    }

    fn soak(&mut self, setup: &Setup) -> Result<Box<dyn SoakRig>, Refusal> {
        self.0.soak(setup)
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
    Step { labels: step.labels.clone().with_purpose(Purpose::Curve), ..step }
}

#[test]
fn memory_is_filled_once_and_all_places_are_there_at_once() {
    let steps = vec![
        read("a", 64 * MIB, "read/plain", &[]),
        read("b", 16 * MIB, "read/fast", &[]),
        chase("c", 32 * MIB),
        chase("d", MIB),
    ];
    let mut host = Counted::new(SimHost::new(machine(), kernels(), SimOptions::default()));
    let mut log = Log::default();
    let ran = measured(&Given(steps, vec![chase("later", 2 * MIB)]), Some(20.0), &mut host, &mut log);
    let filled: Vec<&String> = log.0.iter().filter(|line| line.starts_with("filled")).collect();
    assert_eq!(filled, [&format!("filled {}", 96 * MIB)], "the largest streams and the largest chain");
    assert_eq!(host.1, 15, "three places of each step, however often it is visited");
    for observation in &ran.observations {
        assert_eq!(observation.allocations, 3);
        assert!(observation.visits.len() >= 12 && observation.placement.as_ref().unwrap().pages >= 3);
    }
    let value = |index: usize| ran.observations[index].value.unwrap();
    assert!(value(1) > value(0), "each with its own kernel");
}

#[test]
fn memory_that_is_soon_made_has_its_places_from_the_first_visits_on() {
    let (observed, _) = seen(&Given(vec![read("a", 64 * MIB, "read/plain", &[])], Vec::new()), 20.0, u64::MAX);
    let first: Vec<u32> = observed[0].visits.list.iter().map(|visit| visit.allocation).take(6).collect();
    assert_eq!(first, [0, 1, 2, 0, 1, 2]);
}

#[test]
fn steps_on_one_piece_of_memory_take_turns_on_it() {
    let piece = |step: Step| Step { labels: step.labels.clone().with_region(7), ..step };
    let read = read("read", 64 * MIB, "read/plain", &[]);
    let chase = chase("chase", 64 * MIB);
    let setup = Setup { regions: chase.setup.regions.clone(), ..read.setup.clone() };
    let once = |step: Step| Step { stop: StopRule { allocations: 1, ..STOP }, ..step };
    let steps = [piece(chase), piece(Step { setup, ..read })].map(once).to_vec();
    let (observed, made) = seen(&Given(steps, Vec::new()), 20.0, u64::MAX);
    assert_eq!(made, 1);
    assert!(observed.iter().all(|seen| seen.value.is_some() && seen.placement.is_some()), "{observed:?}");
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
    // Its first visits see two moments, which a choice needs.
    let figure = Step { stop: StopRule { min_visits: 600, ..STOP }, ..figure };
    let (observed, _) = seen(&Given(vec![point("before"), figure], vec![point("after")]), 20.0, u64::MAX);
    // A point that was seen before anything was compared keeps its kernel: no visit is lost.
    for (observation, kernel) in observed.iter().zip(["read/plain", "read/fast", "read/fast"]) {
        assert_eq!(observation.labels.kernel(), Some(kernel), "{}", observation.step);
        assert!(observation.visits.len() >= 12);
    }
    assert_eq!([0, 1, 2].map(|index| observed[index].rivals.len()), [0, 2, 0]);
}

#[test]
fn memory_of_other_kinds_is_kept_while_it_fits_and_else_made_for_each_visit() {
    let zeros = |id: &str| {
        let mut step = read(id, 64 * MIB, "read/plain", &[]);
        step.setup.regions[0].layout = Layout::Zeros;
        step
    };
    let steps = || vec![zeros("a"), zeros("b")];
    let (observed, made) = seen(&Given(steps(), Vec::new()), 20.0, 400 * MIB);
    assert_eq!((made, observed[0].allocations), (6, 3));
    let (observed, made) = seen(&Given(steps(), Vec::new()), 20.0, 100 * MIB);
    let visits: usize = observed.iter().map(|seen| seen.visits.len()).sum();
    assert!(made > 6 && made <= visits, "{made} of {visits}");
    assert!(observed.iter().all(|seen| seen.value.is_some() && seen.visits.len() >= 12), "{observed:?}");
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
