//! How long plans and steps are expected to take.

use std::time::Duration;

use crate::page::PageKind;
use crate::plan::{Plan, Step};
use crate::setup::{Layout, RegionSetup, Role};
use crate::units::total;

/// Starting workers, calibrating and proving an allocation, whatever its size (measured: 4 to 8 ms).
const START_SECONDS: f64 = 5e-3;
/// What a visit takes beside its shot: warming the caches, the clock's checks, the threads' cpus answering each other
/// (measured: 0.3 to 1 ms).
const BETWEEN_SECONDS: f64 = 0.7e-3;
/// Bytes a second at which one thread faults in, fills, permutes and proves its memory: huge pages (measured: 1.2 to
/// 2.4 GB/s) and base pages (0.4 to 0.8 GB/s).
const PREPARE_HUGE: f64 = 1.5e9;
const PREPARE_BASE: f64 = 0.5e9;
/// Bytes a second at which a thread reads memory that is not in its caches (measured: 5 to 15 GB/s).
const READ_FIRST: f64 = 8e9;
/// Bytes a second at which memory that a process only holds is filled and given back: nothing is permuted (measured on
/// a Zen 5 guest: 256 MiB in 0.30 s on base pages, 0.34 s on huge ones).
const PREPARE_RESIDENT: f64 = 0.85e9;

/// How rival kernels are compared with the first: in pairs, A B B A, on several visits.
#[derive(Debug, Clone, Copy)]
pub struct Rivalry {
    /// Length of a shot: some windows, and several of the millisecond blocks that string instructions need.
    pub shot: Duration,
    /// Comparisons that decide, where the ratios agree.
    pub rounds: usize,
    /// Comparisons at most.
    pub most: usize,
    /// A rival is better only by more than this share.
    pub better: f64,
    /// Above this ratio in all pairs of two comparisons it is taken: non-temporal stores of large memory, for one, are twice
    /// as fast.
    pub clear: f64,
    /// Below these ratios it is out after one comparison, after two, and after any more: a single one may be spoiled.
    pub worse: [f64; 3],
}

/// The rivalry. Quartiles decide: where each comparison decided by itself, a neighbour on the other hardware thread let
/// the same machine take one kernel in one run and another, 7 % faster, in the next.
pub const RIVALRY: Rivalry = Rivalry {
    shot: Duration::from_micros(1200),
    rounds: 3,
    most: 20,
    better: 0.03,
    clear: 1.25,
    worse: [0.5, 0.7, 0.85],
};

impl Rivalry {
    /// Seconds it takes, where many rivals are out after a comparison or two.
    fn seconds(&self, rivals: usize) -> f64 {
        let comparison = 4.0 * (self.shot.as_secs_f64() + BETWEEN_SECONDS);
        comparison * (rivals as f64 * 2.5 + self.rounds as f64)
    }
}

impl Step {
    /// Whether its threads call the operating system. The memory of the process is part of the cost of such calls, so
    /// these steps keep no memory between visits.
    pub fn is_os(&self) -> bool {
        self.setup.threads.iter().any(|thread| matches!(thread.role, Role::Os(_)))
    }

    /// Whether it is a soak.
    pub fn is_soak(&self) -> bool {
        self.setup.threads.iter().any(|thread| matches!(thread.role, Role::Soak(_)))
    }

    /// Seconds that an allocation takes to be prepared: chains, memory of its own, and what operations make for
    /// themselves.
    pub fn prepare_seconds(&self) -> f64 {
        START_SECONDS + self.memory_seconds()
    }

    /// Seconds in which its threads fill all of its regions, each its own.
    pub fn filling_seconds(&self) -> f64 {
        self.seconds_to_fill(|_| true)
    }

    /// Seconds that the memory of an allocation takes.
    fn memory_seconds(&self) -> f64 {
        // Plain memory is filled before the first visit, and only chains are written into it.
        let is_filled = self.setup.is_plain();
        let is_made = |region: &RegionSetup| !is_filled || matches!(region.layout, Layout::Chain(_));
        self.seconds_to_fill(is_made) + self.making_seconds()
    }

    fn seconds_to_fill(&self, is_of: impl Fn(&RegionSetup) -> bool) -> f64 {
        // Once: a step may have as many regions as it has threads, thousands.
        let is_os = self.is_os();
        let bytes_per_second = |page| match page {
            _ if is_os => PREPARE_RESIDENT,
            PageKind::Base => PREPARE_BASE,
            _ => PREPARE_HUGE,
        };
        let regions = self.setup.regions.iter().filter(|region| is_of(region));
        let prepare: f64 = regions.map(|region| region.bytes.0 as f64 / bytes_per_second(region.page)).sum();
        // Each thread prepares its own.
        let threads = self.setup.threads.len().max(1) as f64;
        prepare / threads
    }

    /// Seconds of one visit to an allocation that is there.
    pub fn visit_seconds(&self) -> f64 {
        self.stop.shot_seconds.max(self.operation_seconds()) + self.first_seconds() + BETWEEN_SECONDS
    }

    /// Seconds in which its threads read other memory before a visit, all at the same time.
    fn first_seconds(&self) -> f64 {
        let read = self.setup.threads.iter().filter_map(|thread| self.setup.regions.get(thread.reads_first?));
        read.map(|region| region.bytes.0 as f64 / READ_FIRST).fold(0.0, f64::max)
    }

    /// Seconds that the comparisons of its rival kernels take.
    pub fn rivalry_seconds(&self) -> f64 {
        match self.setup.threads.first().map(|thread| &thread.role) {
            Some(Role::Stream { rivals, .. }) if !rivals.is_empty() && !self.labels.is_point() => {
                RIVALRY.seconds(rivals.len())
            }
            _ => 0.0,
        }
    }

    /// Seconds of so many visits, with all that they take besides.
    pub fn seconds_of(&self, visits: u32) -> f64 {
        self.seconds_of_each([visits])[0]
    }

    /// The same of several numbers of visits: the memory of thousands of threads is added up once.
    fn seconds_of_each<const N: usize>(&self, visits: [u32; N]) -> [f64; N] {
        // The time of a soak has all in it.
        if self.is_soak() {
            return visits.map(|visits| f64::from(visits) * self.stop.shot_seconds);
        }
        let (prepare, visit, rivalry) = (self.prepare_seconds(), self.visit_seconds(), self.rivalry_seconds());
        let is_os = self.is_os();
        visits.map(|visits| {
            let prepared = if is_os { visits } else { self.stop.allocations.min(visits) };
            f64::from(prepared) * prepare + f64::from(visits) * visit + rivalry
        })
    }

    /// Seconds the step takes at least: as few visits as its rule allows.
    pub fn expected_seconds(&self) -> f64 {
        self.seconds_of(self.stop.min_visits)
    }
}

impl Plan {
    /// Seconds the plan is expected to take, with the steps that are added later: half way between the fewest visits
    /// and the most, as the more of them are made the noisier the machine is, until the time is up; and the time of
    /// counting after them.
    pub fn expected_seconds(&self) -> f64 {
        let (least, likely) = self.known_seconds();
        // What comes later repeats as often as what is known.
        let repeated = if least > 0.0 { likely / least } else { 1.0 };
        (likely + self.later_seconds * repeated).min(self.max_seconds) + self.counting_seconds
    }

    /// The part of [`Self::expected_seconds`] that steps added later are expected to take.
    pub fn later_expected_seconds(&self) -> f64 {
        (self.expected_seconds() - self.counting_seconds - self.known_seconds().1).max(0.0)
    }

    /// Seconds in which all cpus fill the memory of the known steps: of each kind of page as much as the largest step of
    /// streams and the largest of chains need.
    fn filling_seconds(&self) -> f64 {
        let need = |step: &Step, page: PageKind, chains: bool| {
            let is_of =
                |region: &&RegionSetup| region.page == page && matches!(region.layout, Layout::Chain(_)) == chains;
            total(step.setup.regions.iter().filter(is_of).map(|region| region.bytes.0))
        };
        let plain: Vec<&Step> = self.steps.iter().filter(|step| step.setup.is_plain()).collect();
        let most = |page, chains| plain.iter().map(|step| need(step, page, chains)).max().unwrap_or_default() as f64;
        let seconds = |(page, rate)| (most(page, false) + most(page, true)) / rate;
        let one_cpu: f64 = [(PageKind::Base, PREPARE_BASE), (PageKind::Thp, PREPARE_HUGE)].map(seconds).iter().sum();
        one_cpu / self.cpus().len().max(1) as f64
    }

    /// Seconds of the known steps: at least, and half way to the most.
    fn known_seconds(&self) -> (f64, f64) {
        let step_seconds = |step: &Step| step.seconds_of_each([step.stop.min_visits, step.stop.max_visits]);
        let add = |[least, most]: [f64; 2], [less, more]: [f64; 2]| [least + less, most + more];
        let [least, most] = self.steps.iter().map(step_seconds).fold([self.filling_seconds(); 2], add);
        (least, f64::midpoint(least, most.min(self.max_seconds).max(least)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::KernelId;
    use crate::plan::StopRule;
    use crate::setup::{Setup, ThreadSetup};
    use crate::testing;
    use crate::units::Metric;

    fn step(rivals: usize, page: PageKind) -> Step {
        let region = testing::region(150_000_000, page, Layout::Data);
        let kernel = || KernelId("read/avx2".into());
        let role = Role::Stream { kernel: kernel(), rivals: (0..rivals).map(|_| kernel()).collect() };
        Step {
            setup: Setup {
                regions: vec![region; 2],
                threads: (0..2).map(|i| ThreadSetup::new(i, role.clone(), i as usize)).collect(),
                seed: 0,
            },
            stop: StopRule { precision: 0.02, allocations: 3, min_visits: 10, max_visits: 100, shot_seconds: 0.002 },
            ..testing::step("a", Metric::Bandwidth)
        }
    }

    #[test]
    fn a_step_takes_its_preparation_visits_and_rivals() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} and {b}");
        // Plain memory is filled once for all steps, before them.
        near(step(0, PageKind::Thp).expected_seconds(), 3.0 * 0.005 + 10.0 * 0.0027);
        let own = |page| {
            let mut step = step(0, page);
            step.setup.regions.iter_mut().for_each(|region| region.layout = Layout::Zeros);
            step
        };
        near(own(PageKind::Thp).expected_seconds(), 3.0 * (0.005 + 0.1) + 10.0 * 0.0027);
        near(own(PageKind::Base).expected_seconds(), 3.0 * (0.005 + 0.3) + 10.0 * 0.0027);
        near(step(11, PageKind::Thp).rivalry_seconds(), (11.0 * 2.5 + 3.0) * 4.0 * 0.0019);
        // Allocations that are never visited are not made.
        near(own(PageKind::Thp).seconds_of(2), 2.0 * (0.005 + 0.1) + 2.0 * 0.0027);
    }

    #[test]
    fn later_steps_repeat_like_those_known() {
        let mut plan =
            Plan { steps: vec![step(0, PageKind::Thp)], later_seconds: 1.0, max_seconds: 100.0, ..Plan::default() };
        // Both regions, by two cpus.
        let filling = 0.1;
        let (least, most) = (filling + plan.steps[0].seconds_of(10), filling + plan.steps[0].seconds_of(100));
        let likely = f64::midpoint(least, most);
        assert!((plan.expected_seconds() - (likely + likely / least)).abs() < 1e-9);
        assert!((plan.later_expected_seconds() - likely / least).abs() < 1e-9);
        plan.max_seconds = 0.3;
        assert_eq!(plan.expected_seconds(), 0.3);
        // The known steps repeat first.
        assert!((plan.later_expected_seconds() - (0.3 - f64::midpoint(least, 0.3))).abs() < 1e-9);
    }
}
