//! The core clock, and what L1 and L2 do in a cycle of it.

use tiermark_model::{CoreLimits, Experiment, Finding, Interval, LADDER_OPS, Machine, PerCycle, Quantity, Run, Unit};
use tiermark_page::{Detail, Ink, Page, mark_sign, paragraph, space};

use super::figures::Survey;
use super::interruptions::interruptions;
use crate::ladder::LadderRow;

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
    paragraph("", format!("{clock}{more}"), Ink::Plain) + warning(finding)
}

fn warning(finding: &Finding) -> Page {
    fell(finding).map(|text| paragraph("", &text, Ink::Warn)).unwrap_or_default()
}

/// The warning that the clock fell; empty if it did not.
pub(super) fn fallen(survey: &Survey<'_>) -> Page {
    survey.findings().find(|f| f.quantity == Quantity::CoreClock).map(warning).unwrap_or_default()
}

/// The lines below the ladder; empty where the clock is not known.
pub(super) fn cycles(survey: &Survey<'_>, detail: Detail) -> Page {
    let Some(found) = survey.findings().find(|f| f.quantity == Quantity::CoreClock) else { return Page::new() };
    let tiers = survey.rows.iter().filter_map(|row| {
        let one_core = row.latency.iter().chain(row.rates[0].iter().flatten()).map(|figure| figure.finding);
        tier(&row.name, one_core, &survey.run.machine, detail)
    });
    lines(found, &per_cycle(tiers, &survey.run.machine, detail))
}

/// The core clock and the interruptions in reports of other commands: the clock where figures are counted in its
/// cycles, both where details are wanted. They are conditions of the figures, none of them.
pub(crate) fn conditions(
    found: &[&Finding],
    ladder: &[LadderRow<'_>],
    experiments: &[&Experiment],
    run: &Run,
    detail: Detail,
) -> Page {
    if super::is_survey(run) {
        return Page::new();
    }
    let is_clocked = || experiments.iter().flat_map(|e| &e.observations).any(|seen| seen.per_cycle.is_some());
    let clock = found.iter().find(|found| found.quantity == Quantity::CoreClock);
    let tiers = ladder.iter().filter_map(|row| tier(&row.rung.name, row.of_one_core(), &run.machine, detail));
    let clock = clock.filter(|_| detail.is_all() || is_clocked());
    let mut page = clock.map(|clock| lines(clock, &per_cycle(tiers, &run.machine, detail))).unwrap_or_default();
    if detail.is_all() {
        page += interruptions(experiments, run, detail);
    }
    if page.is_empty() { page } else { space() + page }
}

/// The limits of the core, where they are shown.
fn limits(machine: &Machine, detail: Detail) -> Option<&CoreLimits> {
    machine.core_limits.as_ref().filter(|_| detail.is_all())
}

/// What stands behind the clock: the tiers per cycle, where there are any.
fn per_cycle(tiers: impl Iterator<Item = String>, machine: &Machine, detail: Detail) -> String {
    let tiers: Vec<String> = tiers.collect();
    match (tiers.is_empty(), limits(machine, detail)) {
        (true, _) => String::new(),
        (false, None) => format!("; one core per cycle: {}", tiers.join("; ")),
        (false, Some(limits)) => {
            format!("; one core per cycle, beside the limits of {}: {}", limits.name, tiers.join("; "))
        }
    }
}

/// `L1 4.00 cycles, read 125.7 B, write 63.9 B`; `None` for a tier that the core does not clock.
fn tier<'a>(
    name: &str,
    one_core: impl Iterator<Item = &'a Finding>,
    machine: &Machine,
    detail: Detail,
) -> Option<String> {
    let parts: Vec<String> = one_core.filter_map(|found| part(found, name, limits(machine, detail))).collect();
    (!parts.is_empty()).then(|| format!("{name} {}", parts.join(", ")))
}

/// A figure per cycle, with the core's published limit.
fn part(found: &Finding, tier: &str, limits: Option<&CoreLimits>) -> Option<String> {
    // A figure that is withheld has no cycles either.
    let PerCycle { value, unit } = found.per_cycle.filter(|_| found.value.is_some())?;
    let op = LADDER_OPS.into_iter().find(|op| found.labels.op() == Some(op));
    let limit = limits.and_then(|limits| limit(limits, tier, op));
    let sign = found.quoted().mark.map_or("", mark_sign);
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
