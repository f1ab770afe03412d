//! A host and a rig for tests, on a world whose time and traffic the test knows.

use super::*;

/// What a test decides of the machine.
pub(super) trait FakeWorld: 'static {
    /// Seconds since the start.
    fn now(&self) -> f64;

    /// Lets time pass while nothing is measured.
    fn rest(&mut self, seconds: f64);

    /// Fills memory for a setup.
    fn fill(&mut self) {}

    /// A shot of so many threads.
    fn shot(&mut self, threads: usize, budget: Duration) -> Shot;
}

/// A host on such a world.
pub(super) struct FakeHost<W>(pub(super) Lab, pub(super) Rc<RefCell<W>>);

impl<W: FakeWorld> Host for FakeHost<W> {
    fn lab(&self) -> &Lab {
        &self.0
    }

    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Rig>, Refusal> {
        self.1.borrow_mut().fill();
        Ok(Box::new(FakeRig(setup.cpus().len(), Rc::clone(&self.1))))
    }

    fn soak(&mut self, _: &Setup) -> Result<Box<dyn SoakRig>, Refusal> {
        Err(tiermark_model::messages::soak::no_memory(0, "a host of tests"))
    }

    fn keep_bytes(&self) -> u64 {
        u64::MAX
    }

    fn now(&self) -> f64 {
        self.1.borrow().now()
    }

    fn rest(&mut self, seconds: f64) {
        self.1.borrow_mut().rest(seconds);
    }

    fn cpu_seconds(&self) -> Option<f64> {
        None
    }

    fn stopped(&self) -> bool {
        false
    }
}

/// A rig of so many threads on it.
struct FakeRig<W>(usize, Rc<RefCell<W>>);

impl<W: FakeWorld> Rig for FakeRig<W> {
    fn placement(&mut self) -> PlacementProof {
        PlacementProof {
            how: tiermark_model::messages::setup::placement_simulated(),
            pages: 1,
            by_node: [(0, 1)].into(),
            on_target: Some(1.0),
            page: "base".to_owned(),
            ..PlacementProof::default()
        }
    }

    fn select(&mut self, _: &KernelId) -> Result<(), Fault> {
        Ok(())
    }

    fn assign(&mut self, _: &[Role]) -> Result<(), Fault> {
        Ok(())
    }

    fn shot(&mut self, budget: Duration) -> Result<Shot, Fault> {
        Ok(self.1.borrow_mut().shot(self.0, budget))
    }
}
