//! The core clock, and what L1 and L2 do in a cycle of it.

use tiermark_model::{CoreLimits, Experiment, Finding, Interval, Labels, PerCycle, Quantity, Run, Unit};
use tiermark_page::{Detail, Ink, Page, paragraph, space};

use super::figures::{Figure, Survey, TierRow};
use super::interruptions::interruptions;
use super::marks::sign;
use crate::ladder::OPS;

/// A 10th percentile of the clock below this share of the 90th is worth a warning.
const FELL: f64 = 0.8;

/// `Core clock 4.33 GHz (p10 4.21, p90 4.33)`; `None` without a value.
fn clock(finding: &Finding) -> Option<String> {
    let hz = finding.value?;
    let ghz = |hz: f64| format!("{:.2}", hz / 1e9);
    let range = finding.interval.map(|Interval { low, high, .. }| format!(" (p10 {}, p90 {})", ghz(low), ghz(high)));
    Some(format!("Core clock {}\u{a0}GHz{}", ghz(hz), range.unwrap_or_default()))
}

/// The warning that the clock fell; `None` if it did not.
fn fell(finding: &Finding) -> Option<String> {
    let Interval { low, high, .. } = finding.interval.filter(|clock| clock.low < FELL * clock.high)?;
    Some(format!(
        "The core clock fell: {:.2}\u{a0}GHz or less for a tenth of the time, {:.2}\u{a0}GHz at the 90th percentile. \
         Power limits, heat and other cores lower it.",
        low / 1e9,
        high / 1e9
    ))
}

fn lines(finding: &Finding, more: &str) -> Page {
    let Some(clock) = clock(finding) else { return Page::new() };
    let fell = fell(finding).map(|text| paragraph("", &text, Ink::Warn)).unwrap_or_default();
    paragraph("", format!("{clock}{more}"), Ink::Plain) + fell
}

/// The lines below the ladder; empty where the clock is not known.
pub(super) fn cycles(survey: &Survey<'_>, detail: Detail) -> Page {
    let Some(found) = survey.findings().find(|f| f.metric == Quantity::CoreClock) else { return Page::new() };
    let limits = survey.run.machine.core_limits.as_ref().filter(|_| detail.is_all());
    let tiers: Vec<String> = survey.rows.iter().filter_map(|row| tier(row, limits)).collect();
    let more = match (tiers.is_empty(), limits) {
        (true, _) => String::new(),
        (false, None) => format!("; one core per cycle: {}", tiers.join("; ")),
        (false, Some(limits)) => {
            format!("; one core per cycle, of what {} can do at best: {}", limits.name, tiers.join("; "))
        }
    };
    lines(found, &more)
}

/// The core clock and the interruptions in reports of other commands, where details are wanted. They are conditions of
/// the figures, none of them.
pub(crate) fn conditions(found: &[&Finding], experiments: &[&Experiment], run: &Run, detail: Detail) -> Page {
    if !detail.is_all() || super::is_survey(run) {
        return Page::new();
    }
    let clock = found.iter().find(|found| found.metric == Quantity::CoreClock);
    let said = clock.map(|clock| lines(clock, "")).unwrap_or_default() + interruptions(experiments, run, detail);
    if said.is_empty() { said } else { space() + said }
}

/// `L1 4.00 cycles, read 125.7 B, write 63.9 B`; `None` for a tier that the core does not clock.
fn tier(row: &TierRow<'_>, limits: Option<&CoreLimits>) -> Option<String> {
    let each = row.latency.iter().chain(row.rates[0].iter().flatten());
    let parts: Vec<String> = each.filter_map(|figure| part(figure, &row.name, limits)).collect();
    (!parts.is_empty()).then(|| format!("{} {}", row.name, parts.join(", ")))
}

/// A figure per cycle, with the core's published limit.
fn part(figure: &Figure<'_>, tier: &str, limits: Option<&CoreLimits>) -> Option<String> {
    // A figure that is withheld has no cycles either.
    let PerCycle { value, unit } = figure.seen?.per_cycle.filter(|_| figure.finding.value.is_some())?;
    let op = OPS.into_iter().find(|op| figure.finding.labels.is(Labels::OP, op));
    let limit = limits.and_then(|limits| limit(limits, tier, op));
    let sign = sign(figure);
    Some(match (unit, op) {
        (Unit::Cycles, _) => {
            let limit = limit.map(|cycles| format!(" (at least {cycles})")).unwrap_or_default();
            format!("{sign}{value:.2}\u{a0}cycles{limit}")
        }
        (_, op) => {
            let limit = limit.map(|bytes| format!(" of {bytes}")).unwrap_or_default();
            format!("{} {sign}{value:.1}{limit}\u{a0}B", op.unwrap_or_default()).trim_start().to_owned()
        }
    })
}

/// The limit of a latency (no operation) or of a rate. Of copies, which load and store at once, none is published.
fn limit(limits: &CoreLimits, tier: &str, op: Option<&str>) -> Option<f64> {
    match (tier, op) {
        ("L1", None) => limits.latency_l1_cycles,
        ("L1", Some("read")) => limits.load_bytes_per_cycle,
        ("L1", Some("write")) => limits.store_bytes_per_cycle,
        ("L2", None) => limits.latency_l2_cycles,
        ("L2", Some("read")) => limits.l2_bytes_per_cycle,
        _ => None,
    }
}
