//! What took much of a run's time besides the visits to its figures.

use tiermark_model::{Run, TimeSpent};
use tiermark_page::seconds;

/// The share of a run's time from which on a part of it is said.
const MUCH: f64 = 0.25;

/// `Filling 1.86 GiB of memory took 2.1 s of 9.0 s.`, and the same of whatever else took a quarter of the time; `None`
/// where nothing did.
pub(crate) fn time_spent(run: &Run) -> Option<String> {
    let spent = run.experiments.iter().filter_map(|experiment| experiment.time).reduce(TimeSpent::and)?;
    let parts = [
        (spent.filling, format!("Filling {} of memory", spent.filled)),
        (spent.placing, "Making chains and memory for figures".to_owned()),
        (spent.settling, "Settling caches before visits".to_owned()),
        (spent.comparing, "Comparing kernels".to_owned()),
        (spent.curves, "Points of curves by size".to_owned()),
        (spent.waiting, "Waiting to visit steps at another moment".to_owned()),
        (spent.other(), "Estimates and plans between visits".to_owned()),
    ];
    let is_much = |part: f64| part > 0.0 && part >= MUCH * run.seconds;
    let long = parts.iter().filter(|(part, _)| is_much(*part));
    let sentences = long.map(|(part, what)| format!("{what} took {} of {}.", seconds(*part), seconds(run.seconds)));
    Some(sentences.collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use tiermark_model::{Bytes, Experiment, MIB, testing};

    use super::*;

    fn said(run_seconds: f64, parts: &[TimeSpent]) -> Option<String> {
        let experiment = |time: &TimeSpent| {
            let request = testing::request("latency");
            Experiment { time: Some(*time), ..testing::experiment(request) }
        };
        let experiments = parts.iter().map(experiment).collect();
        time_spent(&Run { seconds: run_seconds, experiments, ..Run::default() })
    }

    #[test]
    fn what_took_a_quarter_is_said_and_visits_to_figures_are_not() {
        let usual = TimeSpent { whole: 8.0, figures: 8.0, ..TimeSpent::default() };
        assert_eq!(said(8.0, &[usual]), None);
        assert_eq!(said(8.0, &[]), None);
        let filled = TimeSpent { figures: 6.0, filling: 2.0, filled: Bytes(1900 * MIB), ..usual };
        assert_eq!(said(8.0, &[filled]).as_deref(), Some("Filling 1.86 GiB of memory took 2.0 s of 8.0 s."));
        assert_eq!(said(8.0, &[TimeSpent { filling: 1.9, ..filled }]), None);
        // Parts of several experiments are added up, and nothing is known to have taken what is left of the whole.
        let half = TimeSpent { whole: 4.0, figures: 1.0, settling: 1.5, curves: 0.5, ..TimeSpent::default() };
        let whole = "Settling caches before visits took 3.0 s of 8.0 s. Estimates and plans between visits took 2.0 s \
                     of 8.0 s.";
        assert_eq!(said(8.0, &[half, half]).as_deref(), Some(whole));
        assert_eq!(said(f64::NAN, &[half]), None, "a document may say anything");
    }
}
