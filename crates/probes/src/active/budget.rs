//! Cpu time that the measurements may use.

/// Time that is saved up at most, in intervals: measurements that wait longer would come all at once.
const SAVED: f64 = 2.0;
/// Intervals of debt at most: a long screen or a slow disk must not stop the measurements for good.
const OWED: f64 = 20.0;

/// The cpu time that may be used, saved up over time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CpuBudget {
    /// Share of one cpu.
    budget: f64,
    /// Seconds between samples.
    interval: f64,
    /// Seconds of cpu time; below 0, more was used than came in.
    seconds: f64,
}

impl CpuBudget {
    /// Holds the cpu time of one interval.
    pub(super) fn new(budget: f64, interval: f64) -> Self {
        Self { budget, interval, seconds: budget * interval }
    }

    /// Puts in what so much time gives, and takes out what the program used for other things. `dearest` is the cpu time
    /// of the dearest measurement, which can always be saved up.
    pub(super) fn earn(&mut self, passed: f64, other: f64, dearest: f64) {
        let each = self.budget * self.interval;
        self.seconds = (self.seconds + self.budget * passed - other).clamp(-OWED * each, (SAVED * each).max(dearest));
    }

    /// Whether something of this cost can be paid.
    pub(super) fn affords(&self, cost: f64) -> bool {
        self.seconds >= cost
    }

    /// Takes out what was used.
    pub(super) fn spend(&mut self, cost: f64) {
        self.seconds -= cost;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever things cost, the budget is kept over time, up to what was saved at first and the last thing's
        /// surprise.
        #[test]
        fn the_budget_is_kept(
            costs in proptest::collection::vec(0.0..0.02f64, 1..8), other in 0.0..0.003f64, budget in 0.001..0.05f64,
        ) {
            let (mut purse, mut used, mut next) = (CpuBudget::new(budget, 1.0), 0.0, 0);
            let dearest = costs.iter().copied().fold(0.0, f64::max);
            const SECONDS: u32 = 500;
            for second in 0..SECONDS {
                if second > 0 {
                    purse.earn(1.0, other, dearest);
                    used += other;
                }
                for _ in 0..costs.len() {
                    let cost = costs[next % costs.len()];
                    if !purse.affords(cost) {
                        break;
                    }
                    purse.spend(cost);
                    used += cost;
                    next += 1;
                }
            }
            let all = f64::from(SECONDS) * budget;
            prop_assert!(used <= all.max(f64::from(SECONDS) * other + OWED * budget) + SAVED * budget + dearest, "{} of {}", used, all);
            // What can be paid is done.
            prop_assert!(other >= budget * 0.9 || next > 0);
        }
    }
}
