//! What people see while tenants are counted: the tree of probes, and what goes on below it.

use indicatif::{ProgressBar, ProgressDrawTarget};
use tiermark_capacity::conduct::Event;
use tiermark_model::Bytes;
use tiermark_model::capacity::{Answer, CurvePoint, Outcome, ProbeRecord};

/// Lines on standard error: one that stays for each probe, and on a terminal one that moves.
pub(super) struct Bar {
    bar: Option<ProgressBar>,
    doing: String,
}

impl Bar {
    pub(super) fn new(quiet: bool) -> Self {
        // It draws nothing where standard error is no terminal, and has no thread of its own.
        let bar = (!quiet).then(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()));
        Self { bar, doing: String::new() }
    }

    /// Tells of an event.
    pub(super) fn tell(&mut self, event: &Event<'_>) {
        match event {
            Event::Sizing => self.doing = "one tenant, to see what it takes".to_owned(),
            Event::Sized(Some(footprint)) => self.line(&format!("a tenant takes {}", Bytes(footprint.bytes))),
            Event::Sized(None) => {}
            Event::Case { number, of, part, made } => {
                let again = if *made > 0 { format!(" ({made} probes were made before)") } else { String::new() };
                self.line(&format!("{number}/{of} {}, {}{again}", part.tier, part.load()));
            }
            Event::Probe(ask) => self.doing = format!("{} tenants ({})", ask.tenants, ask.phase),
            Event::Progress(progress) => {
                let of = progress.of.map_or_else(String::new, |of| format!(" of {of:.0}"));
                let rate = progress.rate.map_or_else(String::new, |rate| format!(", {rate:.0} requests/s"));
                let stage = progress.stage.words();
                self.moving(&format!("{}: {stage}, {:.0}{of} s{rate}", self.doing, progress.seconds));
            }
            Event::Probed(record, point) => self.line(&probed(record, *point)),
            Event::Answer(answer) => self.line(&format!("  = {}", answered(answer))),
            Event::Refused(refusal) => self.line(&format!("  ! {refusal}")),
            Event::Remark(_, text) => self.line(&format!("  ! {text}")),
        }
    }

    fn line(&self, text: &str) {
        let Some(bar) = &self.bar else { return };
        if bar.is_hidden() {
            crate::output::tell(text);
        } else {
            bar.println(text);
        }
    }

    fn moving(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.to_owned());
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

fn probed(record: &ProbeRecord, point: Option<&CurvePoint>) -> String {
    let outcome = match record.outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "fail",
        Outcome::Unclear => "unclear",
    };
    let times = point.map_or_else(String::new, |point| {
        format!(", average {:.0} µs, P99 {:.0} µs", point.average_ns / 1e3, point.p99_ns / 1e3)
    });
    let how = if record.fresh { "" } else { " +" };
    format!(
        "  {:>2} {:>4} tenants{how:<2} {:<12} {outcome}{times}: {}",
        record.number, record.tenants, record.phase, record.said
    )
}

fn answered(answer: &Answer) -> String {
    match answer {
        Answer::Exactly { tenants, .. } => format!("{tenants} tenants"),
        Answer::Between { low, high, why } => format!("{low} to {high} tenants: {why}"),
        Answer::AtLeast { tenants } => format!("{tenants} tenants or more"),
        Answer::None { why } => format!("none: {why}"),
    }
}
