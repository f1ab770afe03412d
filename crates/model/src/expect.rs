//! How long plans and steps are expected to take.

use std::time::Duration;

use crate::plan::{Plan, Step, StopRule};
use crate::setup::{PageKind, Role};

/// Starting workers, calibrating and proving an allocation, whatever its size (measured: 4 to 8 ms).
const START_SECONDS: f64 = 5e-3;
/// Bytes a second at which one thread faults in, fills, permutes and proves its memory: huge pages (measured: 1.2 to 2.4 GB/s) and
/// base pages (0.4 to 0.8 GB/s).
const PREPARE_HUGE: f64 = 1.5e9;
const PREPARE_BASE: f64 = 0.5e9;
/// Bytes a second at which memory that a process only holds is filled and given back: nothing is permuted (measured on a Zen 5 guest: 256 MiB in
/// 0.30 s on base pages, 0.34 s on huge ones).
const PREPARE_RESIDENT: f64 = 0.85e9;

/// How rival kernels are held against each other, on the first allocation of a step.
#[derive(Debug, Clone, Copy)]
pub struct Tournament {
    /// Rounds of the first heat, in which all take part.
    pub heat_rounds: usize,
    /// Length of a shot in it: some windows.
    pub heat_shot: Duration,
    /// A kernel this much slower than the best is out after one round.
    pub cut: f64,
    /// So many of the best meet in the final.
    pub finalists: usize,
    /// Rounds of the final.
    pub final_rounds: usize,
    /// Length of a shot in it: several of the millisecond blocks that string instructions need.
    pub final_shot: Duration,
}

/// The tournament.
pub const TOURNAMENT: Tournament = Tournament {
    heat_rounds: 2,
    heat_shot: Duration::from_millis(3),
    cut: 0.8,
    finalists: 3,
    final_rounds: 3,
    final_shot: Duration::from_millis(8),
};

impl Tournament {
    /// Seconds it takes at most, with the time between shots.
    fn seconds(&self, kernels: usize) -> f64 {
        /// Choosing a kernel, the clock's check before and after (measured).
        const BETWEEN: f64 = 0.5e-3;
        let shots =
            |rounds: usize, kernels: usize, shot: Duration| (rounds * kernels) as f64 * (shot.as_secs_f64() + BETWEEN);
        shots(self.heat_rounds, kernels, self.heat_shot)
            + shots(self.final_rounds, kernels.min(self.finalists), self.final_shot)
    }
}

impl StopRule {
    /// Fresh allocations after which a number that scatters this much between them is good enough: Student's interval of their
    /// median, as the rule itself is held (Kalibera & Jones 2013, §6).
    pub fn likely_allocations(&self, scatter: f64) -> u32 {
        let reached = |n: u32| student(n) * scatter / f64::from(n).sqrt() <= self.precision;
        (self.min_allocations..=self.max_allocations).find(|n| reached(*n)).unwrap_or(self.max_allocations)
    }
}

/// The 97.5 % quantile of Student's t for so many samples.
fn student(samples: u32) -> f64 {
    const BY_SAMPLES: [f64; 15] =
        [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131];
    let index = (samples as usize).saturating_sub(2);
    BY_SAMPLES.get(index).copied().unwrap_or(2.0)
}

impl Step {
    /// Seconds of one allocation: preparing fresh memory, and what operations make for themselves, and shots on it.
    pub fn allocation_seconds(&self) -> f64 {
        let is_os = self.setup.threads.iter().any(|thread| matches!(thread.role, Role::Os(_)));
        let bytes_per_second = |page| match page {
            _ if is_os => PREPARE_RESIDENT,
            PageKind::Base => PREPARE_BASE,
            _ => PREPARE_HUGE,
        };
        let regions = self.setup.regions.iter();
        let prepare: f64 = regions.map(|region| region.bytes.0 as f64 / bytes_per_second(region.page)).sum();
        // Each thread prepares its own.
        let threads = self.setup.threads.len().max(1) as f64;
        let shots = f64::from(self.stop.shots) * self.stop.shot_seconds;
        START_SECONDS + prepare / threads + self.making_seconds() + shots
    }

    /// Seconds that its rival kernels take to be held against each other.
    pub fn tournament_seconds(&self) -> f64 {
        match self.setup.threads.first().map(|thread| &thread.role) {
            Some(Role::Stream { rivals, .. }) if !rivals.is_empty() => TOURNAMENT.seconds(1 + rivals.len()),
            _ => 0.0,
        }
    }

    /// Seconds the step takes at least: as few allocations as its rule allows.
    pub fn expected_seconds(&self) -> f64 {
        self.likely_seconds(0.0)
    }

    /// Seconds the step is expected to take where fresh allocations scatter this much.
    pub fn likely_seconds(&self, scatter: f64) -> f64 {
        f64::from(self.stop.likely_allocations(scatter)) * self.allocation_seconds() + self.tournament_seconds()
    }
}

impl Plan {
    /// Seconds the plan is expected to take, with the steps that are added later.
    pub fn expected_seconds(&self) -> f64 {
        let least: f64 = self.steps.iter().map(Step::expected_seconds).sum();
        let likely: f64 = self.steps.iter().map(|step| step.likely_seconds(self.scatter)).sum();
        // What comes later repeats as often as what is known.
        let repeated = if least > 0.0 { likely / least } else { 1.0 };
        (likely + self.later_seconds * repeated).min(self.max_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::KernelId;
    use crate::labels::Labels;
    use crate::plan::Metric;
    use crate::setup::{Layout, MemPolicy, RegionSetup, Setup, ThreadSetup};
    use crate::units::Bytes;

    fn step(rivals: usize, page: PageKind) -> Step {
        let region = RegionSetup {
            bytes: Bytes(150_000_000),
            policy: MemPolicy::Bind,
            nodes: crate::idset::IdSet::new(),
            page,
            layout: Layout::Data,
        };
        let kernel = || KernelId("read/avx2".into());
        let role = Role::Stream { kernel: kernel(), rivals: (0..rivals).map(|_| kernel()).collect() };
        Step {
            id: "a".into(),
            labels: Labels::new(),
            phase: 0,
            metric: Metric::Bandwidth,
            setup: Setup {
                regions: vec![region; 2],
                threads: (0..2).map(|i| ThreadSetup::new(i, role.clone(), i as usize)).collect(),
                seed: 0,
            },
            stop: StopRule { precision: 0.02, shots: 3, min_allocations: 3, max_allocations: 10, shot_seconds: 0.02 },
        }
    }

    #[test]
    fn scatter_asks_for_allocations() {
        let rule = step(0, PageKind::Thp).stop;
        let precise = |precision| StopRule { precision, ..rule };
        let after = |scatter| [0.05, 0.02, 0.01].map(|precision| precise(precision).likely_allocations(scatter));
        assert_eq!(after(0.0), [3, 3, 3]);
        // t(4) * 0.013 / sqrt(5) = 1.6 %; of 1 % even t(8) * 0.013 / sqrt(9) is just reached.
        assert_eq!(after(0.013), [3, 5, 9]);
        assert_eq!(after(0.5), [10, 10, 10]);
    }

    #[test]
    fn a_step_takes_its_preparation_shots_and_tournament() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} and {b}");
        near(step(0, PageKind::Thp).expected_seconds(), 3.0 * (0.005 + 0.1 + 0.06));
        near(step(0, PageKind::Base).expected_seconds(), 3.0 * (0.005 + 0.3 + 0.06));
        let tournament = 2.0 * 12.0 * 0.0035 + 3.0 * 3.0 * 0.0085;
        near(step(11, PageKind::Thp).expected_seconds(), step(0, PageKind::Thp).expected_seconds() + tournament);
        near(
            step(1, PageKind::Thp).expected_seconds(),
            step(0, PageKind::Thp).expected_seconds() + 4.0 * 0.0035 + 6.0 * 0.0085,
        );
    }

    #[test]
    fn later_steps_repeat_like_those_known() {
        let mut plan =
            Plan { steps: vec![step(0, PageKind::Thp)], later_seconds: 1.0, max_seconds: 100.0, ..Plan::default() };
        let least = step(0, PageKind::Thp).expected_seconds();
        assert!((plan.expected_seconds() - least - 1.0).abs() < 1e-9);
        plan.scatter = 0.013;
        assert!((plan.expected_seconds() - (least + 1.0) * 5.0 / 3.0).abs() < 1e-9);
        plan.max_seconds = 0.5;
        assert_eq!(plan.expected_seconds(), 0.5);
    }
}
