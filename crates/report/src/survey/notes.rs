//! At most five notes, each with what to do.

use std::collections::BTreeMap;

use tiermark_model::{Check, CheckResult, Drift, Grade, Reason, Refusal, Run, SlowPlaces, StateKind, Tier, Warning};
use tiermark_page::{Detail, Ink, Page, Text, paragraph, percent, space, text};

use super::figures::{Figure, Survey};
use super::marks::{declared, in_its_unit, is_shared_tier, plain, with_unit};
use super::result::{at, below_record, failed, is_time, not_resolved, why_not_resolved};
use super::states::{GUTTER, StepNames, labelled, states};
use super::words;
use crate::expectation::judged_expectation;
use crate::order::{distinct, grouped};
use crate::phrases::sentence;

/// More notes are not read.
const MOST: usize = 5;
/// A state is worth a note from this share of the time on.
const OFTEN: f64 = 0.05;
/// A change of level is worth a note from here on.
const DRIFTS: f64 = 0.03;

/// Something to know, and what to do about it.
struct Note {
    text: Text,
    todo: String,
}

fn note(text: impl Into<Text>, todo: impl Into<String>) -> Note {
    Note { text: text.into(), todo: todo.into() }
}

/// The section; empty without notes. What weighs most comes first.
pub(crate) fn section(survey: &Survey<'_>, judged: &Check, detail: Detail) -> Page {
    let notes: Vec<Note> = expectations(survey, judged, detail)
        .into_iter()
        .chain(refused(survey.run))
        .chain(doubts(survey))
        .chain(machine(survey))
        .chain(of_states(survey))
        .chain(drift(survey.run))
        .chain(slow_places(survey))
        .collect();
    if notes.is_empty() {
        return Page::new();
    }
    let prefix = format!("{}• ", " ".repeat(GUTTER));
    let listed = detail.listed(MOST).min(notes.len());
    let mut out = Page::new();
    for Note { text, todo } in notes.iter().take(listed) {
        let todo = if todo.is_empty() { String::new() } else { format!(" →\u{a0}{todo}") };
        out += paragraph(&prefix, text![text, ".", todo], Ink::Plain);
    }
    if notes.len() > listed {
        let more = format!("{} more: tiermark show -v", notes.len() - listed);
        out += paragraph(&prefix, &more, Ink::Plain);
    }
    space() + labelled("Notes", out)
}

/// A few names, and how many there are.
fn some(names: &[String]) -> String {
    const NAMED: usize = 3;
    let listed = if names.len() <= NAMED { names.len() } else { 2 };
    let more = names.len() - listed;
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names[..listed].join("; "))
}

/// Expectations that failed, but the first, which is in the result, and why none of a figure was judged.
fn expectations(survey: &Survey<'_>, judged: &Check, detail: Detail) -> Vec<Note> {
    let expectation_note = |result: &CheckResult| {
        let why = result.why.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
        note(judged_expectation(result) + why, "`tiermark explain` names causes")
    };
    let mut notes: Vec<Note> = failed(judged).skip(1).map(expectation_note).collect();
    if detail.is_all()
        && judged.missing().next().is_some()
        && survey.figures().any(|figure| figure.finding.value.is_some())
    {
        let of_figures = judged.missing().filter(|result| result.measured);
        let why = distinct(of_figures.flat_map(|result| &result.reasons).map(|reason| reason.text.clone()));
        notes.push(note(format!("Nothing to compare with: {}", some(&why)), "`tiermark check` lists what is missing"));
    }
    notes
}

/// Figures without a number, in doubt, or below their record, and tiers without a size.
fn doubts(survey: &Survey<'_>) -> Vec<Note> {
    let doubted = survey.figures().filter_map(|figure| {
        let why = match figure.grade() {
            Grade::Suspect => words::Why::InDoubt,
            _ if figure.is_withheld() => words::Why::Withheld,
            _ => return None,
        };
        let reason = words::main_reason(&figure.finding.verdict.reasons);
        Some(((why, reason.plain()), (reason, figure.name())))
    });
    let mut groups = grouped(doubted);
    groups.sort_by_key(|((why, _), _)| *why);
    let word = |why: words::Why| match why {
        words::Why::Withheld => "Withheld",
        _ => "In doubt",
    };
    let mut notes: Vec<Note> = Vec::new();
    for ((why, _), figures) in groups {
        let (mut reasons, names): (Vec<Text>, Vec<String>) = figures.into_iter().unzip();
        let text = text![format!("{}: {}: ", word(why), some(&names)), reasons.swap_remove(0)];
        notes.push(note(text, why.help(survey.run)));
    }
    if let Some((figure, record, date)) = below_record(survey) {
        let all = survey
            .figures()
            .filter(|f| f.finding.verdict.reasons.iter().any(|r| matches!(r, Reason::BelowRecord { .. })));
        let others = all.count().saturating_sub(1);
        let others = match others {
            0 => String::new(),
            1 => " (one more figure is below its record)".to_owned(),
            others => format!(" ({others} more figures are below their records)"),
        };
        let record = plain(record, figure.finding.unit).with_unit();
        let than = if is_time(&figure) { "above" } else { "below" };
        let name = format!("{}{}", figure.name(), at(survey.run, figure.finding));
        let (than, of) = (format!(", {than} the "), format!(" of {date}{others}"));
        let text = text![name, " is ", with_unit(&figure), than, record, of];
        let clocks = figure.finding.verdict.reasons.iter().find_map(Reason::record_clocks);
        let help = clocks.map_or_else(|| words::Why::BelowRecord.help(survey.run), words::slower_clock);
        notes.insert(notes.len().min(1), note(text, help));
    }
    if let Some(finding) = not_resolved(survey) {
        let tier = finding.labels.tier_of_node().unwrap_or_default();
        let place = at(survey.run, finding);
        let declared = declared(&tier, &survey.run.machine).map_or_else(String::new, |of| format!("; {of} declared"));
        let text = text![format!("The size of {tier}{place} is not resolved: "), why_not_resolved(finding), declared];
        notes.push(note(text, words::longer(survey.run)));
    }
    notes
}

/// What disturbed the run, and settings of the machine that affect its figures.
fn machine(survey: &Survey<'_>) -> Vec<Note> {
    let warning_note = |warning: &Warning| note(sentence(&warning.text), warning.cure.clone().unwrap_or_default());
    survey.run.warnings.iter().map(warning_note).collect()
}

/// Requested parts that were not measured, by reason.
fn refused(run: &Run) -> Vec<Note> {
    let of_steps = run.observations().filter(|o| !o.labels.is_point()).filter_map(|o| o.refusal.as_ref());
    let refused = run.experiments.iter().flat_map(|e| &e.plan.refused).chain(of_steps);
    let names = StepNames::of(run);
    let what = |of: &Refusal| if names.has(&of.what) { names.name(&of.what) } else { of.what.clone() };
    let text = |((why, cure), whats): ((&String, &String), Vec<String>)| {
        note(format!("Not measured: {}: {why}", some(&distinct(whats))), cure)
    };
    grouped(refused.map(|of| ((&of.why, &of.cure), what(of)))).into_iter().map(text).collect()
}

/// What states mean for the programs of a machine.
fn of_states(survey: &Survey<'_>) -> Vec<Note> {
    let run = survey.run;
    let all = states(run);
    let often = |fits: &dyn Fn(&StateKind) -> bool| all.iter().find(|s| s.share >= OFTEN && fits(&s.state));
    let guest = run.machine.system.hypervisor.is_some();
    let cache = words::last_cache(&run.machine);
    let mut notes = Vec::new();
    let near = often(&|s| matches!(s, StateKind::Near));
    let apart = often(&|s| matches!(s, StateKind::Apart { .. }));
    if let (Some(near), Some(apart)) = (near, apart) {
        let pings = near.ping_ns.zip(apart.ping_ns).map(|(near, apart)| {
            format!(": threads that exchange data wait {near:.0} ns on one {cache}, {apart:.0} ns on two")
        });
        let text =
            format!("{} moves your cpus{}", if guest { "The host" } else { "Something" }, pings.unwrap_or_default());
        notes.push(note(text, steady(guest)));
    }
    if often(&|s| matches!(s, StateKind::OneCore)).is_some() {
        let text = "At times two cpus share one core: each then runs at about half speed";
        notes.push(note(text, steady(guest)));
    }
    if let Some(sibling) = often(&|s| matches!(s, StateKind::Sibling)) {
        let text = format!(
            "A neighbour ran on the other hardware thread of your core {} of the time",
            words::share(sibling.share)
        );
        notes.push(note(
            text,
            if guest {
                "dedicated cpus (whole cores) prevent this"
            } else {
                "keep that thread idle, or switch SMT off"
            },
        ));
    }
    let slowed = slowed(survey);
    if let (Some(shared), Some(figure)) = (often(&|s| matches!(s, StateKind::Shared)), slowed) {
        let of_time = words::share(shared.share);
        let who =
            format!("Other programs or guests use your {cache} and DRAM {of_time} of the time: {} was ", figure.name());
        let best = figure.best().map(|best| text![", ", in_its_unit(&figure, best), " at best"]).unwrap_or_default();
        let text = text![who, with_unit(&figure), best];
        notes.push(note(text, "plan with the typical value, not with the best"));
    }
    notes
}

fn steady(guest: bool) -> &'static str {
    match guest {
        true => "no setting in a guest prevents it; dedicated cpus do",
        false => "bind programs to cpus (taskset, numactl)",
    }
}

/// The figure of a shared tier whose best is furthest from what programs typically got.
fn slowed<'a>(survey: &Survey<'a>) -> Option<Figure<'a>> {
    let loss = |figure: &Figure<'_>| {
        let (best, value) = (figure.best()?, figure.finding.value?);
        Some(if is_time(figure) { value / best } else { best / value })
    };
    let shared = survey.rows.iter().filter(|row| is_shared_tier(&row.name, &survey.run.machine));
    let figures = shared.flat_map(|row| row.figures()).filter(|figure| loss(figure).is_some_and(f64::is_finite));
    figures.max_by(|a, b| loss(a).unwrap_or(0.0).total_cmp(&loss(b).unwrap_or(0.0)))
}

/// `L1 read, one core, rose by 5.4 %`.
fn changed(names: &StepNames<'_>, drift: &Drift) -> String {
    let name = names.name(&drift.step);
    let comma = if name.contains(", ") { "," } else { "" };
    format!("{name}{comma} {}", words::changed(drift.change))
}

/// Changes of level while it ran: those of one moment together.
fn drift(run: &Run) -> Vec<Note> {
    let mut moments: BTreeMap<Option<u64>, Vec<&Drift>> = BTreeMap::new();
    let all = run.experiments.iter().flat_map(|e| &e.drift);
    for drift in all.filter(|d| d.change.is_finite() && d.change.abs() >= DRIFTS) {
        moments.entry(drift.at_seconds.filter(|s| s.is_finite()).map(|s| s.round() as u64)).or_default().push(drift);
    }
    let names = StepNames::of(run);
    let text = |drifts: &[&Drift]| {
        let changes: Vec<String> = drifts.iter().map(|d| changed(&names, d)).collect();
        match drifts.first().and_then(|d| d.at_seconds) {
            Some(at) => format!("At {:.1} s {}", at, some(&changes)),
            None => format!("From the start to the end {}", some(&changes)),
        }
    };
    let todo = "run again to see which of the two levels is typical";
    moments.values().map(|drifts| note(text(drifts), todo)).collect()
}

/// Places in memory at which a core's own caches are slower, figure by figure. The first level is found by the part of
/// an address that pages do not change, and pages in one piece crowd no sets.
fn slow_places(survey: &Survey<'_>) -> Vec<Note> {
    let is_guest = survey.run.machine.system.hypervisor.is_some();
    let slow_text = |figure: Figure<'_>| {
        let labels = &figure.finding.labels;
        let may_be_small = is_guest || labels.page() == Some("base");
        let is_beyond = labels.tier().and_then(Tier::level).is_some_and(|level| level > 1);
        let SlowPlaces { slow, of, share } = figure.seen?.slow_places.filter(|_| may_be_small && is_beyond)?;
        let reach = if slow == 1 { "reaches" } else { "reach as little as" };
        Some(format!("{slow} of {of} places in memory {reach} {} of {}", percent(share), figure.name()))
    };
    let slow: Vec<String> = survey.figures().filter_map(slow_text).collect();
    if slow.is_empty() {
        return Vec::new();
    }
    vec![note(
        text![some(&slow), ": small pages crowd some sets of the cache there (page colours)"],
        "huge pages avoid it, if the host backs them with huge pages of its own",
    )]
}
