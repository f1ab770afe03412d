//! Errors of memory and throttling of cpus: counted before a run, and after it.

use tiermark_machine::{HealthCounts, Root};
use tiermark_model::messages::health as says;
use tiermark_model::messages::system::doctor_problem;
use tiermark_model::{CheckRow, ErrorKind, Machine, RunHealth, Warning};

/// The counters at the beginning of a run. They are read at both ends and never in between, when that would disturb.
pub struct HealthWatch<'a> {
    root: &'a Root,
    machine: Machine,
    before: HealthCounts,
}

impl<'a> HealthWatch<'a> {
    /// Reads the counters for the first time.
    pub fn begin(root: &'a Root, machine: &Machine) -> Self {
        Self { root, machine: machine.clone(), before: HealthCounts::read(root, machine) }
    }

    /// What is known while the run goes on; `None` if the system counts nothing.
    pub fn begun(&self) -> Option<RunHealth> {
        self.before.run(None, &self.machine)
    }

    /// Reads the counters for the second time.
    pub fn ended(&self) -> Option<RunHealth> {
        self.before.run(Some(&HealthCounts::read(self.root, &self.machine)), &self.machine)
    }
}

/// The warning of a problem that the check-up finds.
pub(crate) fn problem(row: &CheckRow) -> Warning {
    doctor_problem(&row.name, &row.found(), &row.why, row.cure.as_deref().unwrap_or_default())
}

/// Warnings of what grew during a run, the worst first.
pub fn warnings(health: &RunHealth) -> Vec<Warning> {
    let grown = |kind| health.errors_grown(kind).filter(|errors| *errors > 0);
    let kinds = [
        (ErrorKind::Uncorrected, says::uncorrected_errors_grew as fn(u64, &[String]) -> Warning),
        (ErrorKind::Corrected, says::corrected_errors_grew),
    ];
    let errors = kinds.into_iter().filter_map(|(kind, warn)| Some(warn(grown(kind)?, &health.growing(kind))));
    errors.chain(throttling(health)).collect()
}

fn throttling(health: &RunHealth) -> Option<Warning> {
    let (cores, whole) =
        (health.throttled(|p| p.cores, |count| count.grew), health.throttled(|p| p.whole, |count| count.grew));
    let times = [health.throttled(|p| p.cores_ms, |c| c.grew), health.throttled(|p| p.whole_ms, |c| c.grew)];
    let ms = times.into_iter().flatten().max();
    (cores.max(whole) > Some(0)).then(|| says::throttled(cores, whole, ms, &health.throttled_cpus().to_string()))
}

#[cfg(test)]
mod tests {
    use tiermark_model::{HealthCount, MemoryErrors, Throttling};

    use super::*;

    /// A controller whose counters grew by these numbers, and a package whose cores and whole were throttled so often.
    fn grown(corrected: u64, uncorrected: u64, cores: u64, whole: u64) -> RunHealth {
        let count = |by: u64| Some(HealthCount::new(5, Some(5 + by)));
        let memory = MemoryErrors {
            place: "mc0".to_owned(),
            corrected: count(corrected),
            uncorrected: count(uncorrected),
            ..MemoryErrors::default()
        };
        let cpus = if cores > 0 { "0-1".parse().unwrap() } else { tiermark_model::IdSet::new() };
        let throttling = Throttling { cores: count(cores), whole: count(whole), cpus, ..Throttling::default() };
        RunHealth { memory: Some(vec![memory]), throttling: Some(vec![throttling]) }
    }

    #[test]
    fn what_grew_is_a_warning_that_names_where() {
        let codes = |health: &RunHealth| warnings(health).into_iter().map(|w| w.code).collect::<Vec<_>>();
        assert_eq!(codes(&grown(0, 0, 0, 0)), Vec::<tiermark_model::Code>::new());
        assert_eq!(codes(&RunHealth::default()), Vec::<tiermark_model::Code>::new());
        let all = grown(2, 1, 3, 0);
        let worst_first =
            [says::codes::uncorrected_errors_grew, says::codes::corrected_errors_grew, says::codes::throttled];
        assert_eq!(codes(&all), worst_first);
        let said = warnings(&all);
        assert_eq!(said[1].state, "memory corrected 2 errors during the run: mc0");
        assert_eq!(said[2].state, "heat throttled cores 3 times during the run (cpus 0-1)");
        assert_eq!(warnings(&grown(0, 0, 0, 1))[0].state, "heat throttled whole processors 1 time during the run");
    }
}
