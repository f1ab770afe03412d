//! Progress of a capacity run: the trials of each search, and the state of the one under way.

use indicatif::ProgressBar;
use tiermark_capacity::run::Event;
use tiermark_model::capacity::{Answer, CurvePoint, Outcome, TrialRecord, tenants};
use tiermark_model::{Bytes, format_time as time};

use crate::sinks::line_that_moves;

/// Lines on standard error: one that stays for each trial, and on a terminal one that moves.
pub(super) struct Bar {
    bar: Option<ProgressBar>,
    doing: String,
}

impl Bar {
    pub(super) fn new(quiet: bool) -> Self {
        Self { bar: (!quiet).then(line_that_moves), doing: String::new() }
    }

    /// Prints an event.
    pub(super) fn tell(&mut self, event: &Event<'_>) {
        match event {
            Event::Sizing => self.doing = "one tenant, to measure its memory".to_owned(),
            Event::Sized(Some(footprint)) => self.line(&format!("one tenant takes {}", Bytes(footprint.bytes))),
            Event::Sized(None) => {}
            Event::Case { number, of, case, trials } => {
                let again = if *trials > 0 { format!(" ({trials} trials are saved)") } else { String::new() };
                self.line(&format!("{number}/{of} {}, {}{again}", case.tier, case.requests));
            }
            Event::TrialBegins(ask) => self.doing = format!("{} ({})", tenants(ask.tenants), ask.phase),
            Event::Progress(progress) => {
                let total = progress.of.map_or_else(String::new, |total| format!(" of {total:.0}"));
                let rate = progress.rate.map_or_else(String::new, |rate| format!(", {rate:.0} requests/s"));
                let stage = progress.stage.words();
                self.moving(&format!("{}: {stage}, {:.0}{total} s{rate}", self.doing, progress.seconds));
            }
            Event::TrialEnded(record, point) => self.line(&result(record, *point)),
            Event::Answer(answer) => self.line(&format!("  = {}", answered(answer))),
            Event::Refused(refusal) => self.line(&format!("  ! {refusal}")),
            Event::TakingBack => self.moving("stopping the tenants and taking back all changes"),
            Event::Warning(warning) => self.line(&format!("  ! {}", warning.text)),
        }
    }

    fn line(&self, text: &str) {
        let Some(bar) = &self.bar else { return };
        if bar.is_hidden() {
            crate::output::tell(text);
        } else {
            bar.println(crate::sanitise::plain(text));
        }
    }

    fn moving(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(crate::sanitise::line(text));
            bar.tick();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn result(record: &TrialRecord, point: Option<&CurvePoint>) -> String {
    // Most levels apply to each tenant: the deciding figure is then of the worst, and the figures of all requests are
    // shown beside it.
    let all = point.map_or_else(String::new, |point| {
        let until = if point.ended_early { " until then" } else { "" };
        format!("; all requests together{until}: average {}, P99 {}", time(point.average_ns), time(point.p99_ns))
    });
    let how = if record.fresh { "fresh" } else { "added" };
    let who = format!("{} ({how})", tenants(record.tenants));
    let TrialRecord { number, phase, outcome, .. } = record;
    format!("  {number:>2}  {who:<18} {phase:<12} {outcome}: {}{all}", record.reason())
}

fn answered(answer: &Answer) -> String {
    match answer {
        Answer::Fixed { tenants: count, outcome: outcome @ (Outcome::Pass | Outcome::Fail) } => {
            let how = if *outcome == Outcome::Pass { "within" } else { "outside" };
            format!("{}: {how} the service level", tenants(*count))
        }
        other => other.why().map_or_else(|| other.in_words(), |why| format!("{}: {why}", other.in_words())),
    }
}

#[cfg(test)]
mod tests {
    use tiermark_model::capacity::{Ended, Phase, Resource};
    use tiermark_model::messages::trials as says;
    use tiermark_model::testing;

    use super::*;

    #[test]
    fn a_line_says_whose_percentiles_it_tells() {
        let record = TrialRecord {
            fresh: false,
            why: says::pass_unproven(1, 0, 3),
            decided_by: says::closest_to_limit("P99 < 1 ms", 1.2e6, "1.2 ms", 1),
            ..testing::trial(3, 1, Phase::Verification, Outcome::Fail)
        };
        let line = result(&record, None);
        assert_eq!(line, "   3  1 tenant (added)   verification fail: P99 < 1 ms: 1.2 ms of tenant 1 at worst");
        let ended_by = Some(Ended { resource: Resource::Client, why: says::requests_sent_late(0.021.into()) });
        let unclear = TrialRecord { outcome: Outcome::Unclear, ended_by, ..record.clone() };
        let said =
            "unclear: the load generator sent 2.1 % of the requests late; P99 < 1 ms: 1.2 ms of tenant 1 at worst";
        assert!(result(&unclear, None).ends_with(said), "{}", result(&unclear, None));
        let point = CurvePoint {
            tenants: 12,
            trial: 3,
            requests: 1000,
            average_ns: 250e3,
            p50_ns: 200e3,
            p90_ns: 400e3,
            p99_ns: 900e3,
            p99_9_ns: 1e6,
            max_ns: 2e6,
            brief_p99_ns: 900e3,
            achieved: 1.0,
            faults_per_request: None,
            outcome: Outcome::Fail,
            ended_early: false,
            min_ns: None,
            p95_ns: None,
            with_omitted: None,
            each: Vec::new(),
        };
        let line = result(&TrialRecord { tenants: 12, fresh: true, ..record }, Some(&point));
        assert!(
            line.contains("12 tenants (fresh) ") && line.ends_with("together: average 250 µs, P99 900 µs"),
            "{line}"
        );
        assert_eq!(answered(&Answer::AtLeast { tenants: 1 }), "1 tenant or more");
        let fixed = |tenants, outcome| answered(&Answer::Fixed { tenants, outcome });
        assert_eq!(fixed(1, Outcome::Pass), "1 tenant: within the service level");
        assert_eq!(fixed(2, Outcome::Fail), "2 tenants: outside the service level");
    }
}
