//! Runs side by side: what moved comes first, what cannot be told stands with its reason.

mod markdown;
mod words;

use tiermark_model::{
    Against, ChangeVerdict, ComparedFamily, ComparedFigure, ComparedNumber, ComparedRun, Comparison, Fact, Quantity,
    Unit,
};
use tiermark_page::{Align, Cell, Ink, Page, Style, Table, bullet, glued, heading, labelled, paragraph, space, value};

use crate::order::grouped;
pub use markdown::compare_markdown;
pub(crate) use words::{change, name, plain};
use words::{graded_text, size_of, tally, unit_of, whole_name};

/// Changes of what programs got that are shown: the survey shows it from this difference to the capability on.
const TENANCY: f64 = 0.1;
/// Rows of a table, and names in a list, beyond which the rest is counted.
const LISTED: usize = 6;

/// Renders a comparison.
pub fn compare(comparison: &Comparison, style: &Style) -> Page {
    let mut out = Page::new();
    for other in &comparison.others {
        if !out.is_empty() {
            out += space();
        }
        out += against(comparison, other, style);
    }
    out
}

pub(crate) fn against(comparison: &Comparison, other: &Against, style: &Style) -> Page {
    let mut out = labelled("first", described_first(comparison));
    out += labelled("other", described(&other.run));
    out += other_machine(comparison, other);
    out.extend(clock_text(other, style).map(|text| labelled("clock", &text)));
    let moved = moved(other);
    let worse = moved.iter().any(|figure| figure.verdict == ChangeVerdict::Worse);
    let ink = if worse { Ink::Bad } else { Ink::Good };
    out += space() + paragraph("", tally(&other.figures), ink);
    if !moved.is_empty() {
        out += heading("Changed, the largest change first");
        out += table(&moved, style);
    }
    out += families(other, style);
    out += same(comparison, other, style);
    if comparison.by_role {
        out += shares(other, style);
    }
    out += facts(other);
    out += tenancy(other, style);
    out += reasons("Unsure", "?", other, style);
    out += reasons("Not comparable", style.absent(), other, style);
    out += notes(comparison, other);
    out
}

/// Whether a figure is the core clock, which has a line of its own and no verdict.
fn is_clock(figure: &ComparedFigure) -> bool {
    figure.metric == Quantity::CoreClock
}

/// The core clock of both runs: `2.900 GHz, then 3.200 GHz (+10.3 %)`.
fn clock_text(other: &Against, style: &Style) -> Option<String> {
    let hertz = |number: &Option<ComparedNumber>| Some(value(number.as_ref()?.value?, Unit::Hz, style));
    other.figures.iter().filter(|figure| is_clock(figure)).find_map(|figure| {
        let (first, second) = (hertz(&figure.first)?, hertz(&figure.other)?);
        Some(format!("{first}, then {second} ({})", words::signed(figure.change?)))
    })
}

/// The name of a number, as the tables have it.
pub fn compared_name(figure: &ComparedFigure) -> String {
    name(figure, &Style::default())
}

/// What makes any change one of machines.
fn other_machine(comparison: &Comparison, other: &Against) -> Page {
    let mut said = Vec::new();
    if comparison.first.simulated || other.run.simulated {
        said.push(SIMULATED);
    }
    if other.facts.iter().any(|fact| fact.fact == Fact::CpuModel) && !comparison.by_role {
        said.push("the processors differ: `--machines` compares tiers by their role, whatever their sizes");
    }
    said.into_iter().map(|text| bullet("!", Ink::Warn, text, None)).collect()
}

/// What a reader of numbers from a simulated machine must know.
const SIMULATED: &str = "SIMULATED: numbers from a model, nothing was measured";

/// The line that says that a run is of a simulated machine; empty for a real one.
pub(crate) fn simulated(run: &ComparedRun) -> Page {
    if run.simulated { bullet("!", Ink::Warn, SIMULATED, None) } else { Page::new() }
}

/// A run in one line.
pub(crate) fn described(run: &ComparedRun) -> String {
    let cpu = run.cpu.as_ref().map_or_else(String::new, |cpu| format!(", {cpu}"));
    let simulated = if run.simulated { ", simulated" } else { "" };
    let part = if run.complete { "" } else { ", not complete" };
    // A name may be the id itself.
    let id = if run.name == run.id { String::new() } else { format!(" ({})", run.id) };
    format!("{}{id}: {} of {}{cpu}{simulated}{part}", run.name, run.title, run.started)
}

/// The run that others are compared with, and how many more of its baseline.
fn described_first(comparison: &Comparison) -> String {
    let more = match comparison.more_first.len() {
        0 => String::new(),
        count => format!("; values are means with {count} more of the baseline"),
    };
    described(&comparison.first) + &more
}

/// The name of a family of numbers.
pub fn family_name(family: &ComparedFamily) -> String {
    let what = if family.metric == Quantity::Bandwidth { "rates".to_owned() } else { family.metric.name().to_owned() };
    format!("{} {what}, the mean of {}", family.tier, family.figures)
}

/// Families whose mean moved.
fn families(other: &Against, style: &Style) -> Page {
    let moved: Vec<&ComparedFamily> = other.families.iter().filter(|family| family.verdict.has_moved()).collect();
    if moved.is_empty() {
        return Page::new();
    }
    let mut table = Table::new().column("", Align::Left).column("change", Align::Right).column("", Align::Left);
    for family in moved {
        let half = (family.interval.high - family.change).max(family.change - family.interval.low) * 100.0;
        let changed = words::signed(family.change);
        let text = format!("{} {}{half:.1} %", changed.trim_end_matches(" %"), style.glyph("±", "+-"));
        let ink = if family.verdict == ChangeVerdict::Worse { Ink::Bad } else { Ink::Good };
        table.row(vec![Cell::new(family_name(family)), Cell::new(text), Cell::inked(family.verdict.name(), ink)]);
    }
    heading("Changed as a family") + table
}

/// The scatter between runs that the tests assume: each family by a history, or the default; `None` if nothing was
/// tested.
fn scatter(other: &Against) -> Option<String> {
    let least = other.scatter.iter().map(|one| one.sd).reduce(f64::min)?;
    let most = other.scatter.iter().map(|one| one.sd).fold(least, f64::max);
    let span = if plain(least) == plain(most) { plain(least) } else { format!("{} to {}", plain(least), plain(most)) };
    let runs = other.scatter.iter().map(|one| one.runs).max().unwrap_or(0);
    let source = match runs {
        0 => "assumed; five saved runs of the machine replace it".to_owned(),
        _ if other.scatter.iter().any(|one| one.runs == 0) => format!("from {runs} runs, else assumed"),
        _ => format!("from {runs} runs of the machine"),
    };
    Some(format!(", if its numbers scatter by {span} from run to run ({source})"))
}

/// The numbers that moved, the largest change first.
fn moved(other: &Against) -> Vec<&ComparedFigure> {
    let mut moved: Vec<&ComparedFigure> = other.figures.iter().filter(|figure| figure.verdict.has_moved()).collect();
    let by = |figure: &ComparedFigure| figure.change.map_or(0.0, |change| (1.0 + change).ln().abs());
    moved.sort_by(|a, b| by(b).total_cmp(&by(a)));
    moved
}

/// Numbers of both runs, their change and the verdict.
fn table(figures: &[&ComparedFigure], style: &Style) -> Page {
    let mut table = Table::new().column("", Align::Left).column("first", Align::Right).column("other", Align::Right);
    table = table.column("", Align::Left).column("change", Align::Right).column("", Align::Left);
    for figure in figures {
        let ink = match figure.verdict {
            ChangeVerdict::Better => Ink::Good,
            ChangeVerdict::Worse => Ink::Bad,
            _ => Ink::Plain,
        };
        table.row(vec![
            Cell::new(name(figure, style)),
            Cell::new(graded_text(figure.first.as_ref(), figure, style)),
            Cell::new(graded_text(figure.other.as_ref(), figure, style)),
            Cell::inked(unit_of(figure, style), Ink::Dim),
            Cell::new(change(figure, style)),
            Cell::inked(figure.verdict.name(), ink),
        ]);
    }
    table.into()
}

/// Numbers that did not change: counted above, listed where asked for, and between machines.
fn same(comparison: &Comparison, other: &Against, style: &Style) -> Page {
    let same: Vec<&ComparedFigure> =
        other.figures.iter().filter(|figure| figure.verdict == ChangeVerdict::Same).collect();
    if same.is_empty() || !(style.verbose || comparison.by_role) {
        return Page::new();
    }
    let title = format!("The same within {}", plain(comparison.threshold));
    heading(&title) + table(&same, style)
}

/// Between machines: footprints, and rates by the cores and sockets in use.
fn shares(other: &Against, style: &Style) -> Page {
    let mut table = Table::new().column("", Align::Left);
    table = table.columns_under("footprint", &["first", "other"], Align::Right);
    for heading in ["a core", "a socket"] {
        table = table.columns_under(heading, &["first", "other", "change"], Align::Right);
    }
    for figure in &other.figures {
        let (Some(first), Some(second)) = (&figure.first, &figure.other) else { continue };
        if matches!(figure.verdict, ChangeVerdict::NotComparable(_)) {
            continue;
        }
        // One core's share of what one core gets is no news.
        let is_shared = [first, second].iter().any(|number| number.per_core != number.value);
        let rate = |rate: Option<f64>| {
            rate.filter(|_| is_shared).map_or_else(String::new, |rate| value(rate, figure.unit, style))
        };
        let changed = |change: Option<f64>| change.filter(|_| is_shared).map_or_else(String::new, words::signed);
        let cells = [
            size_of(first),
            size_of(second),
            rate(first.per_core),
            rate(second.per_core),
            changed(figure.change_per_core),
            rate(first.per_socket),
            rate(second.per_socket),
            changed(figure.change_per_socket),
        ];
        if cells.iter().all(String::is_empty) {
            continue;
        }
        let cells = cells.into_iter().map(Cell::new);
        table.row([Cell::new(whole_name(figure, style))].into_iter().chain(cells).collect());
    }
    if table.is_empty() {
        return Page::new();
    }
    heading(&format!("Footprints of a thread, and {} by cores and sockets in use", style.rate_unit())) + table
}

/// What differs between the machines and programs: the first place to look for a cause.
fn facts(other: &Against) -> Page {
    if other.facts.is_empty() {
        return heading("Machine and program") + paragraph("  ", "No recorded fact differs.", Ink::Plain);
    }
    let mut table = Table::new().column("", Align::Left).column("first", Align::Left).column("other", Align::Left);
    for fact in &other.facts {
        let text = |text: &Option<String>| Cell::new(text.as_deref().unwrap_or("not reported"));
        table.row(vec![Cell::new(fact.fact.name()), text(&fact.first), text(&fact.other)]);
    }
    heading("Machine and program: what differs") + table
}

/// What programs got, where it changed much.
fn tenancy(other: &Against, style: &Style) -> Page {
    let much = |figure: &&ComparedFigure| figure.now.is_some_and(|now| now.change.abs() > TENANCY);
    let mut changed: Vec<&ComparedFigure> = other.figures.iter().filter(much).collect();
    let by = |figure: &ComparedFigure| figure.now.map_or(0.0, |now| (1.0 + now.change).ln().abs());
    changed.sort_by(|a, b| by(b).total_cmp(&by(a)));
    if changed.is_empty() {
        return Page::new();
    }
    let listed = if style.verbose { changed.len() } else { LISTED.min(changed.len()) };
    let mut table = Table::new().column("", Align::Left).column("first", Align::Right).column("other", Align::Right);
    table = table.column("", Align::Left).column("change", Align::Right);
    for figure in &changed[..listed] {
        let Some(now) = figure.now else { continue };
        table.row(vec![
            Cell::new(whole_name(figure, style)),
            Cell::new(value(now.first.median, figure.unit, style)),
            Cell::new(value(now.other.median, figure.unit, style)),
            Cell::inked(unit_of(figure, style), Ink::Dim),
            Cell::new(words::signed(now.change)),
        ]);
    }
    let title = format!("Now: what programs got while the runs went on, changes over {}", plain(TENANCY));
    heading(&title) + table + rest(changed.len() - listed)
}

fn rest(count: usize) -> Page {
    if count == 0 {
        return Page::new();
    }
    paragraph("  ", format!("and {count} more (-v lists all)"), Ink::Dim)
}

/// Numbers without a conclusion, by the reason.
fn reasons(verdict: &str, mark: &str, other: &Against, style: &Style) -> Page {
    let why = |figure: &ComparedFigure| match &figure.verdict {
        ChangeVerdict::Unsure(doubt) if verdict == "Unsure" => Some(doubt.to_string()),
        ChangeVerdict::NotComparable(obstacle) if verdict != "Unsure" => Some(obstacle.to_string()),
        _ => None,
    };
    let judged = other.figures.iter().filter(|figure| !is_clock(figure));
    let groups = grouped(judged.filter_map(|figure| Some((why(figure)?, figure))));
    if groups.is_empty() {
        return Page::new();
    }
    let one = |(why, figures): (String, Vec<&ComparedFigure>)| {
        let listed = if style.verbose { figures.len() } else { LISTED.min(figures.len()) };
        let named = |figure: &&ComparedFigure| match figure.change {
            Some(_) => format!("{} {}", name(figure, style), glued(&change(figure, style))),
            None => name(figure, style),
        };
        let mut names: Vec<String> = figures[..listed].iter().map(named).collect();
        if figures.len() > listed {
            names.push(format!("and {} more", figures.len() - listed));
        }
        bullet(mark, Ink::Dim, &format!("{why}: {}", names.join(", ")), None)
    };
    heading(verdict) + groups.into_iter().map(one).collect::<Page>()
}

/// How to read the verdicts, and what limits them here.
fn notes(comparison: &Comparison, other: &Against) -> Page {
    let text = format!(
        "Better, worse: changed by more than {}, and by more than runs scatter. An unchanged machine shows a change \
         in at most {} of comparisons{}. `tiermark help compare` explains.",
        plain(comparison.threshold),
        plain(comparison.level),
        scatter(other).unwrap_or_default()
    );
    space() + paragraph("", &text, Ink::Dim)
}

#[cfg(test)]
mod tests;
