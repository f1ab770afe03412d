//! Saved runs over time: a line for each run, and for each figure its values, its trend and the changes of its level.

mod figure;
mod names;

use tiermark_model::{
    FactDifference, FigureChange, FigureHistory, FigurePoint, Grade, History, HistoryRun, Interval, Unit, count_of,
};
use tiermark_page::{
    Cell, Detail, Ink, Page, Table, Text, bound_sign, bullet, glued, heading, number, paragraph, seconds, text,
};

use crate::grouped;
pub use figure::history_of_figures;
use figure::{CHANGES, OPEN, spark};
use names::FigureNames;
pub(crate) use names::distinct_names;

/// Changes that are listed where not all are asked for.
const LISTED: usize = 6;

/// Renders the runs of a history and its figures in brief.
pub fn history(history: &History, detail: Detail) -> Page {
    let mut out = runs(&history.runs, history.all_machines);
    let earlier = history.total.saturating_sub(history.runs.len() as u64);
    if earlier > 0 {
        out += paragraph("", format!("and {earlier} earlier (--limit all lists them)"), Ink::Dim);
    }
    out += elsewhere(history);
    out += history_unreadable(history, detail);
    let names = FigureNames::of(&history.figures);
    out += figures(history, &names);
    let changed = history.figures.iter().filter(|figure| figure.apart.is_none());
    let changed = changed.flat_map(|figure| figure.changes.iter().map(move |change| (figure, change)));
    out += changes(changed, &names, detail);
    out
}

/// Other saved runs, with how to list them.
fn elsewhere(history: &History) -> Page {
    let mut notes = Vec::new();
    if history.elsewhere > 0 {
        let whose = if history.host.is_some() { "hosts" } else { "machines (--all)" };
        notes.push(format!("{} of other {whose}", history.elsewhere));
    }
    if history.simulated > 0 {
        notes.push(format!("{} on simulated machines", history.simulated));
    }
    if history.unnamed > 0 {
        notes.push(format!("{} without a host name (--all)", history.unnamed));
    }
    if notes.is_empty() {
        return Page::new();
    }
    paragraph("", format!("Not listed: {}", notes.join(", ")), Ink::Dim)
}

/// Renders the runs whose documents cannot be read, with the reasons; empty where there are none.
pub fn history_unreadable(history: &History, detail: Detail) -> Page {
    if history.unreadable.is_empty() {
        return Page::new();
    }
    let one = |run: &HistoryRun| format!("{}: {}", run.id, run.problem.as_deref().unwrap_or("no reason is known"));
    let listed = detail.listed(LISTED);
    let lines = history.unreadable.iter().take(listed).map(|run| bullet("!", Ink::Bad, one(run), None));
    let mut out = heading("Unreadable documents, of any machine and time") + lines.collect::<Page>();
    let more = history.unreadable.len().saturating_sub(listed);
    if more > 0 {
        out += paragraph("  ", format!("and {more} more (-v lists all)"), Ink::Dim);
    }
    out
}

fn runs(runs: &[HistoryRun], all_machines: bool) -> Page {
    // Ids are copied: what is flush right is never broken.
    let table = Table::of(runs).numbers("when (UTC)", |run| when(&run.started));
    let table = table.numbers("run", |run| Cell::inked(&run.id, Ink::Head)).texts("what", |run| &run.title);
    let table = table.numbers("took", |run| seconds(run.seconds));
    let trusted = |run: &HistoryRun| match run.grades.total() {
        0 => "no number".to_owned(),
        total => format!("{} of {total}", run.grades.trusted),
    };
    let table = table.numbers("trusted", trusted);
    let host = |run: &HistoryRun| run.host.clone().unwrap_or_default();
    let table = table.when(all_machines, |table| table.texts("host", host));
    let machine = if all_machines { "machine" } else { "" };
    table.texts(machine, |run| remarks(run, all_machines)).table().indent(0).into()
}

fn remarks(run: &HistoryRun, all_machines: bool) -> String {
    let cpu = run.cpu.clone().filter(|_| all_machines);
    let simulated = run.simulated.as_ref().filter(|_| all_machines).map(|_| "simulated".to_owned());
    let part = (!run.complete).then(|| "incomplete".to_owned());
    [cpu, simulated, part].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `2026-11-25 13:14` of RFC 3339; any other text as it is.
fn when(started: &str) -> String {
    match (started.get(..10), started.get(10..11), started.get(11..16)) {
        (Some(day), Some("T"), Some(minute)) => format!("{day} {minute}"),
        _ => started.to_owned(),
    }
}

/// The day of RFC 3339.
fn day(started: &str) -> &str {
    started.get(..10).unwrap_or(started)
}

/// A line for each figure.
fn figures(history: &History, names: &FigureNames<'_>) -> Page {
    let shown: Vec<&FigureHistory> = history.figures.iter().filter(|figure| figure.apart.is_none()).collect();
    if shown.is_empty() {
        return paragraph("", format!("Verdict: none. {}", unjudged(history)), Ink::Plain);
    }
    let newest = |figure: &FigureHistory| figure.points.last().map(|point| valued(point, None, figure.unit));
    let table = Table::of(&shown).texts("", |figure| names.name(figure));
    let table = table.numbers("newest", |figure| newest(figure).unwrap_or_default());
    let table = table.texts("", |figure| Cell::inked(Text::unit(figure.unit), Ink::Dim));
    let table = table.numbers("runs", |figure| figure.points.len().to_string());
    let table = table.texts("over time", |figure| spark(figure)).texts("", |figure| conclusion(figure)).table();
    let mut out = heading("Figures of tiers, over these and earlier runs");
    out += paragraph("  ", format!("Verdict: {}", verdict(&shown)), Ink::Plain) + table;
    let mut notes = Vec::new();
    if shown.iter().any(|figure| figure.points.iter().any(|point| !point.counts)) {
        notes.push(format!("{OPEN} a bound: left out of trends and changes"));
    }
    if shown.iter().any(|figure| !figure.changes.is_empty()) {
        notes.push(format!("{CHANGES} a change of level"));
    }
    let apart: usize =
        history.figures.iter().filter(|figure| figure.apart.is_some()).map(|figure| figure.points.len()).sum();
    if apart > 0 {
        notes.push(format!("{apart} values are not comparable with the newest: `tiermark history FIGURE` says why"));
    }
    if shown.iter().any(|figure| is_shared(figure)) {
        notes.push(
            "(shared) has values that are medians over runs during which others used the same cache, memory or core"
                .to_owned(),
        );
    }
    if shown.iter().any(|figure| is_unsure(figure)) {
        notes.push(
            "unsure: the oldest and newest values differ, which may be chance among so many figures; \
             `tiermark history FIGURE` judges one alone"
                .to_owned(),
        );
    }
    if !notes.is_empty() {
        out += paragraph("  ", notes.join("; "), Ink::Dim);
    }
    out
}

/// Whether its ends differ and no change or trend was found.
fn is_unsure(figure: &FigureHistory) -> bool {
    let is_open = !is_changed(figure) && !is_short(figure);
    is_open && ends_apart(figure).is_some_and(|apart| apart.abs() > APART)
}

/// Why no figure is judged.
fn unjudged(history: &History) -> &'static str {
    match history.all_machines {
        true => "Changes are those of one host: add --host NAME.",
        false => "No run has a figure of a tier: `tiermark survey` measures them.",
    }
}

/// What all figures say together.
fn verdict(shown: &[&FigureHistory]) -> String {
    let count = |is_so: fn(&FigureHistory) -> bool| shown.iter().filter(|figure| is_so(figure)).count();
    let (changed, unsure, short) = (count(is_changed), count(is_unsure), count(is_short));
    let most = shown.iter().map(|figure| counted(figure).count()).max().unwrap_or_default();
    let figures = count_of(shown.len() as u64, "figure");
    let verdict = match (changed, unsure) {
        (0, 0) if short == shown.len() => return too_few(most),
        (0, 0) => format!("no change seen in {figures}"),
        (0, _) => format!("{unsure} of {figures} unsure"),
        (_, 0) => format!("{changed} of {figures} changed"),
        _ => format!("{changed} of {figures} changed, {unsure} unsure"),
    };
    if short == 0 { verdict } else { format!("{verdict}, {short} with too few runs") }
}

fn is_changed(figure: &FigureHistory) -> bool {
    !figure.changes.is_empty() || figure.trend.is_some()
}

/// Whether values that count are shared.
fn is_shared(figure: &FigureHistory) -> bool {
    counted(figure).any(|point| point.grade == Grade::Shared)
}

fn too_few(runs: usize) -> String {
    format!("too few runs: {runs}, {FEWEST_VALUES} are needed")
}

/// What its values say together.
fn conclusion(figure: &FigureHistory) -> Cell {
    let mut words = Vec::new();
    let mut worse = false;
    if let Some(change) = figure.changes.last() {
        words.push(format!("{} on {}", signed(change.change), day(&change.started)));
        worse |= is_worse(figure, change.change);
    }
    if let Some(trend) = &figure.trend {
        words.push(format!("trend {} since {}", signed(trend.change), day(&trend.started)));
        worse |= is_worse(figure, trend.change);
    }
    let unsure = ends_apart(figure).filter(|_| is_unsure(figure));
    let ink = match (figure.less_is_better(), is_changed(figure)) {
        (_, false) => Ink::Dim,
        (Some(_), true) if worse => Ink::Bad,
        (Some(_), true) => Ink::Good,
        // A clock is neither good nor bad.
        (None, true) => Ink::Plain,
    };
    if !is_changed(figure) {
        words.push(match unsure {
            Some(apart) => format!("unsure: {}", signed(apart)),
            None if is_short(figure) => too_few(counted(figure).count()),
            None => "no change".to_owned(),
        });
    }
    let shared = if is_shared(figure) { " (shared)" } else { "" };
    Cell::inked(words.join(" · ") + shared, ink)
}

/// Values that a change or a trend of a figure alone needs (`compare::FEWEST` on each side).
const FEWEST_VALUES: usize = 10;

/// Whether a figure has too few values to show a change.
fn is_short(figure: &FigureHistory) -> bool {
    counted(figure).count() < FEWEST_VALUES
}

/// The values that trend and changes use.
fn counted(figure: &FigureHistory) -> impl Iterator<Item = &FigurePoint> {
    figure.points.iter().filter(|point| point.counts)
}

/// Change between the oldest and the newest values that is not called none: `compare` takes less for no change.
const APART: f64 = 0.03;

/// How far the middle of the newest values lies from that of the oldest, relative.
fn ends_apart(figure: &FigureHistory) -> Option<f64> {
    let values: Vec<f64> = counted(figure).map(|point| point.value).collect();
    let middle = |values: &[f64]| tiermark_stats::upper_median(values.to_vec());
    let few = values.len().min(FEWEST_VALUES / 2);
    let (oldest, newest) = (middle(&values[..few])?, middle(&values[values.len() - few..])?);
    Some(newest / oldest - 1.0)
}

fn is_worse(figure: &FigureHistory, change: f64) -> bool {
    figure.less_is_better().is_some_and(|less| less == (change > 0.0))
}

/// The value with the sign of its bound.
fn valued(point: &FigurePoint, interval: Option<Interval>, unit: Unit) -> Text {
    let sign = bound_sign(unit).filter(|_| point.grade == Grade::Bound).unwrap_or_default();
    text![sign, number(point.value, unit).within(interval)]
}

/// `+4.1 %`.
fn signed(change: f64) -> String {
    let percent = change * 100.0;
    if percent.abs() < 1e5 { format!("{percent:+.1} %") } else { format!("{percent:+.1e} %") }
}

/// Changes of level, those between the same two runs together, the newest first, with the facts that differ.
fn changes<'a>(
    found: impl Iterator<Item = (&'a FigureHistory, &'a FigureChange)>,
    names: &FigureNames<'_>,
    detail: Detail,
) -> Page {
    let mut groups =
        grouped(found.map(|(figure, change)| ((&change.started, &change.last, &change.run), (figure, change))));
    if groups.is_empty() {
        return Page::new();
    }
    groups.sort_by(|(a, _), (b, _)| b.cmp(a));
    let listed = detail.listed(LISTED).min(groups.len());
    let mut out = heading("Changes of level, the newest first");
    for ((started, last, run), members) in &groups[..listed] {
        let one = |(figure, change): &(&FigureHistory, &FigureChange)| {
            let [before, after] = [change.before, change.after].map(|of| number(of, figure.unit));
            let signed = glued(&format!(" ({})", signed(change.change)));
            text![names.name(figure), " ", before, " → ", after, " ", Text::unit(figure.unit), signed]
        };
        let members_text = Text::joined(members.iter().map(one), ", ");
        let text = text![format!("{}, between {last} and {run}: ", day(started)), members_text];
        let worse = members.iter().any(|(figure, change)| is_worse(figure, change.change));
        let facts = facts(&members[0].1.facts);
        out += bullet("•", if worse { Ink::Bad } else { Ink::Good }, text, Some(&facts));
    }
    if groups.len() > listed {
        out += paragraph("  ", format!("and {} more (-v lists all)", groups.len() - listed), Ink::Dim);
    }
    out
}

/// What differs between the machine and the program of two runs.
fn facts(differences: &[FactDifference]) -> String {
    if differences.is_empty() {
        return "no recorded fact of the machine or the program differs".to_owned();
    }
    let value = |of: &Option<String>| of.clone().unwrap_or_else(|| "not reported".to_owned());
    let one = |fact: &FactDifference| format!("{} {} → {}", fact.fact.name(), value(&fact.first), value(&fact.other));
    format!("differs: {}", differences.iter().map(one).collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests;
