//! Runs side by side: what moved comes first, what cannot be told stands with its reason.

mod damage;
mod words;

use std::hash::Hash;

use tiermark_model::{
    Against, ChangeVerdict, ComparedFamily, ComparedFigure, ComparedNumber, ComparedRun, Comparison, Doubt, Fact,
    Quantity, count_of,
};
use tiermark_page::{
    ABSENT, Cell, Detail, Ink, Page, Table, Text, bullet, clean, glued, heading, hertz, labelled, number, paragraph,
    percent, rate_unit, space, text,
};

use crate::grouped;
pub use damage::{Damage, by_damage};
pub use words::{change, cure, name as compared_name, plain, signed};
use words::{conditions, graded_text, judged_name, size_of, tally, whole_name};

/// Rows of a table, and names in a list, beyond which the rest is counted.
const LISTED: usize = 6;

/// Renders a comparison.
pub fn compare(comparison: &Comparison, detail: Detail) -> Page {
    let mut out = damage::summary(comparison, detail);
    for other in &comparison.others {
        if !out.is_empty() {
            out += space();
        }
        out += against(comparison, other, detail);
    }
    out
}

/// Renders a run beside the first of a comparison.
pub fn against(comparison: &Comparison, other: &Against, detail: Detail) -> Page {
    let mut out = labelled("first", described_first(comparison));
    out += labelled("other", described(&other.run));
    out += other_machine(comparison, other);
    out.extend(clock_text(other).map(|text| labelled("clock", &text)));
    out.extend(interruptions_text(other).map(|text| labelled("interrupted", &text)));
    out.extend(differing(other).map(|text| labelled("differs", &text)));
    let moved = moved(other);
    let worse = moved.iter().any(|figure| figure.verdict == ChangeVerdict::Worse);
    let ink = if worse { Ink::Bad } else { Ink::Good };
    out += space() + paragraph("", tally(&other.figures), ink);
    if !moved.is_empty() {
        out += heading("Changed, the largest change first");
        out += table(&moved, detail);
    }
    out += families(other);
    out += same(comparison, other, detail);
    if comparison.by_role {
        out += shares(other, detail);
    }
    out += facts(other);
    out += unsure(other, detail);
    out += not_comparable(other, detail);
    out += notes(comparison, other);
    out
}

/// Whether a figure is the core clock, which has a line of its own and no verdict.
fn is_clock(figure: &ComparedFigure) -> bool {
    figure.quantity == Quantity::CoreClock
}

/// The core clock of both runs: `2.900 GHz, then 3.200 GHz (+10.3 %)`.
fn clock_text(other: &Against) -> Option<String> {
    let hertz_of = |number: &Option<ComparedNumber>| Some(hertz(number.as_ref()?.value?));
    other.figures.iter().filter(|figure| is_clock(figure)).find_map(|figure| {
        let (first, second) = (hertz_of(&figure.first)?, hertz_of(&figure.other)?);
        Some(format!("{first}, then {second} ({})", words::signed(figure.change?)))
    })
}

/// Whether a figure describes the conditions of a run (core clock, interruptions) and is shown in a line of its own
/// instead of a table. A condition that became better or worse is shown in the tables, as any other figure.
fn is_beside(figure: &ComparedFigure) -> bool {
    figure.quantity.is_condition() && !figure.verdict.has_moved()
}

/// The conditions that differ for several numbers, with how many: `pages: thp → base, for all 29 numbers compared`.
fn differing(other: &Against) -> Option<String> {
    let compared = || other.figures.iter().filter(|figure| is_compared(figure));
    let all = compared().count();
    let of_each = compared().flat_map(|figure| &figure.differs).map(|one| (one.to_string(), ()));
    let several = grouped(of_each).into_iter().filter(|(_, figures)| figures.len() > 1);
    let words = several.map(|(one, figures)| match figures.len() {
        count if count == all => format!("{}, for all {all} numbers compared", clean(&one)),
        count => format!("{}, for {count} of {all} numbers compared", clean(&one)),
    });
    let words: Vec<String> = words.take(LISTED).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

fn is_compared(figure: &ComparedFigure) -> bool {
    !is_beside(figure) && !matches!(figure.verdict, ChangeVerdict::NotComparable(_))
}

/// The interruptions of both runs: `2.3 % of the time, then 2.9 %; longer than 20 µs 0.5 %, then 0.4 %`.
fn interruptions_text(other: &Against) -> Option<String> {
    let both = |quantity: Quantity| {
        let figure = other.figures.iter().find(|figure| figure.quantity == quantity)?;
        Some([figure.first.as_ref()?.value?, figure.other.as_ref()?.value?])
    };
    let [first, second] = both(Quantity::InterruptionsShare)?.map(percent);
    let long = both(Quantity::InterruptionsLongShare).map(|shares| shares.map(percent));
    let long = long.map(|[first, second]| format!("; longer than 20\u{a0}µs {first}, then {second}"));
    let rate = both(Quantity::InterruptionsRate)
        .map(|[first, second]| format!("; {first:.0} times a second, then {second:.0}"))
        .unwrap_or_default();
    Some(format!("{first} of the time, then {second}{}{rate}", long.unwrap_or_default()))
}

/// What makes any change one of machines.
fn other_machine(comparison: &Comparison, other: &Against) -> Page {
    let mut warnings = Vec::new();
    if comparison.first.simulated || other.run.simulated {
        warnings.push(SIMULATED);
    }
    if other.facts.iter().any(|fact| fact.fact == Fact::CpuModel) && !comparison.by_role {
        warnings.push("the processors differ: `--machines` compares tiers by their role, whatever their sizes");
    }
    warnings.into_iter().map(|text| bullet("!", Ink::Warn, text, None)).collect()
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
    let host = run.host.as_ref().map_or_else(String::new, |host| format!(", {host}"));
    format!("{}{id}: {} of {}{host}{cpu}{simulated}{part}", run.name, run.title, run.started)
}

/// The name of a run with its host, unless the name holds it.
pub fn named_run(run: &ComparedRun) -> String {
    let host = run.host.as_ref().filter(|host| !run.name.contains(host.as_str()));
    host.map_or_else(|| run.name.clone(), |host| format!("{} ({host})", run.name))
}

/// The run that others are compared with, and how many more of its baseline.
fn described_first(comparison: &Comparison) -> String {
    let more = match comparison.more_first.len() {
        0 => String::new(),
        count => format!("; values are means with {count} more of the baseline"),
    };
    described(&comparison.first) + &more
}

/// The name of a family of numbers, with the conditions that differ.
pub fn family_name(family: &ComparedFamily) -> String {
    let differs = conditions(&family.differs);
    let differs = if differs.is_empty() { differs } else { format!(", {differs}") };
    bare_family_name(family) + &differs
}

fn bare_family_name(family: &ComparedFamily) -> String {
    let what =
        if family.quantity == Quantity::Bandwidth { "rates".to_owned() } else { family.quantity.name().to_owned() };
    format!("{} {what}, the mean of {}", family.tier, family.figures)
}

/// Families whose mean moved.
fn families(other: &Against) -> Page {
    let moved: Vec<&ComparedFamily> = other.families.iter().filter(|family| family.verdict.has_moved()).collect();
    if moved.is_empty() {
        return Page::new();
    }
    let change = |family: &ComparedFamily| words::signed_within(family.change, Some(family.interval));
    let table =
        Table::of(&moved).texts("", |family| bare_family_name(family)).numbers("change", |family| change(family));
    let table = table.texts("", |family| verdict(&family.verdict));
    let has_others = moved.iter().any(|family| !family.differs.is_empty());
    let differs = |family: &&ComparedFamily| conditions(&family.differs);
    heading("Changed as a family") + table.when(has_others, |table| table.texts("what differs", differs)).table()
}

fn verdict(verdict: &ChangeVerdict) -> Cell {
    let ink = match verdict {
        ChangeVerdict::Better => Ink::Good,
        ChangeVerdict::Worse => Ink::Bad,
        _ => Ink::Plain,
    };
    Cell::inked(verdict.name(), ink)
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
fn table(figures: &[&ComparedFigure], detail: Detail) -> Page {
    let table = Table::of(figures).texts("", |figure| judged_name(figure, detail));
    let table = table.numbers("first", |figure| graded_text(figure.first.as_ref(), figure));
    let table = table.numbers("other", |figure| graded_text(figure.other.as_ref(), figure));
    let table = table.texts("", |figure| Cell::inked(Text::unit(figure.unit), Ink::Dim));
    let table = table.numbers("change", |figure| change(figure)).texts("", |figure| verdict(&figure.verdict));
    let has_others = figures.iter().any(|figure| !figure.differs.is_empty());
    let differs = |figure: &&ComparedFigure| conditions(&figure.differs);
    table.when(has_others, |table| table.texts("what differs", differs)).table().into()
}

/// Numbers that did not change: counted above, listed where asked for, between machines, and where the runs chose
/// different kernels.
fn same(comparison: &Comparison, other: &Against, detail: Detail) -> Page {
    let is_listed = |figure: &&ComparedFigure| detail.is_all() || comparison.by_role || figure.kernel.is_some();
    let same = other.figures.iter().filter(|figure| figure.verdict == ChangeVerdict::Same);
    let same: Vec<&ComparedFigure> = same.filter(is_listed).collect();
    if same.is_empty() {
        return Page::new();
    }
    let title = format!("The same within {}", plain(comparison.threshold));
    heading(&title) + table(&same, detail)
}

/// Between machines: footprints, and rates by the cores and sockets in use.
fn shares(other: &Against, detail: Detail) -> Page {
    let rows: Vec<SharesRow<'_>> = other.figures.iter().filter_map(SharesRow::of).collect();
    if rows.is_empty() {
        return Page::new();
    }
    let rate = |row: &SharesRow<'_>, rate: Option<f64>| {
        rate.filter(|_| row.is_shared).map(|rate| number(rate, row.figure.unit).into()).unwrap_or_default()
    };
    let changed = |row: &SharesRow<'_>, change: Option<f64>| {
        change.filter(|_| row.is_shared).map(words::signed).unwrap_or_default()
    };
    let table = Table::of(&rows).texts("", |row| whole_name(row.figure, detail));
    let table = table.under("footprint", |table| {
        table.numbers("first", |row| size_of(row.first)).numbers("other", |row| size_of(row.other))
    });
    let table = table.under("a core", |table| {
        let table = table.numbers("first", |row| -> Text { rate(row, row.first.per_core) });
        let table = table.numbers("other", |row| -> Text { rate(row, row.other.per_core) });
        table.numbers("change", |row| changed(row, row.figure.change_per_core))
    });
    let table = table.under("a socket", |table| {
        let table = table.numbers("first", |row| -> Text { rate(row, row.first.per_socket) });
        let table = table.numbers("other", |row| -> Text { rate(row, row.other.per_socket) });
        table.numbers("change", |row| changed(row, row.figure.change_per_socket))
    });
    let title = text!["Footprints of a thread, and ", rate_unit(), " by cores and sockets in use"];
    heading(title) + table.table()
}

/// A number with both of its values.
struct SharesRow<'a> {
    figure: &'a ComparedFigure,
    first: &'a ComparedNumber,
    other: &'a ComparedNumber,
    /// Whether the rate is of more than one core: for one core, the rate per core is the rate itself.
    is_shared: bool,
}

impl<'a> SharesRow<'a> {
    /// `None` where there is nothing to show.
    fn of(figure: &'a ComparedFigure) -> Option<Self> {
        let (first, other) = (figure.first.as_ref()?, figure.other.as_ref()?);
        let is_shared = [first, other].iter().any(|number| number.per_core != number.value);
        let rates = [first.per_core, other.per_core, first.per_socket, other.per_socket];
        let has_rates = is_shared && rates.iter().any(Option::is_some);
        let is_shown = has_rates || [first, other].iter().any(|number| number.size.is_some());
        (is_shown && !matches!(figure.verdict, ChangeVerdict::NotComparable(_))).then_some(Self {
            figure,
            first,
            other,
            is_shared,
        })
    }
}

/// What differs between the machines and programs: the first place to look for a cause.
fn facts(other: &Against) -> Page {
    if other.facts.is_empty() {
        return heading("Machine and program") + paragraph("  ", "No recorded fact differs.", Ink::Plain);
    }
    let table = Table::of(&other.facts).texts("", |fact| fact.fact.name());
    let table = table.texts("first", |fact| fact.first.as_deref().unwrap_or("not reported"));
    let table = table.texts("other", |fact| fact.other.as_deref().unwrap_or("not reported"));
    heading("Machine and program: what differs") + table.table()
}

/// Numbers of which neither a change nor its absence is shown, by the reason and by the conditions that differ.
fn unsure(other: &Against, detail: Detail) -> Page {
    let why = |figure: &ComparedFigure| match &figure.verdict {
        ChangeVerdict::Unsure(doubt) => Some((doubt.to_string(), conditions(&figure.differs))),
        _ => None,
    };
    let one = |((why, differs), figures): ((String, String), Vec<&ComparedFigure>)| {
        let why = hidden_loss(&figures)
            .map_or(why.clone(), |loss| format!("{why}: a loss under {} cannot be seen", plain(loss)));
        let why = if differs.is_empty() { why } else { format!("{why} ({differs})") };
        bullet("?", Ink::Dim, format!("{why}: {}", listed(&figures, detail)), None)
    };
    listing("Unsure", by_reason(other, why).into_iter().map(one).collect())
}

/// Numbers that do not describe one thing, by the reason: all of them in detail, else how many, and most of them why.
fn not_comparable(other: &Against, detail: Detail) -> Page {
    let why = |figure: &ComparedFigure| match &figure.verdict {
        ChangeVerdict::NotComparable(obstacle) => Some((obstacle.to_string(), words::cure(obstacle))),
        _ => None,
    };
    let reason =
        |(why, cure): &(String, Option<&str>)| cure.map_or_else(|| why.clone(), |cure| format!("{why}; {cure}"));
    let groups = by_reason(other, why);
    if detail.is_all() {
        let one = |(why, figures): &(_, Vec<&ComparedFigure>)| {
            bullet(ABSENT, Ink::Dim, format!("{}: {}", reason(why), listed(figures, detail)), None)
        };
        return listing("Not comparable", groups.iter().map(one).collect());
    }
    let all: usize = groups.iter().map(|(_, figures)| figures.len()).sum();
    // Of equal counts, the first.
    let Some((main, figures)) = groups.iter().rev().max_by_key(|(_, figures)| figures.len()) else {
        return Page::new();
    };
    let most = if figures.len() == all { String::new() } else { format!("; {} of them", figures.len()) };
    let text = format!("{}{most}: {}; -v lists them", count_of(all as u64, "number"), reason(main));
    listing("Not comparable", bullet(ABSENT, Ink::Dim, text, None))
}

/// A list below its heading; empty without lines.
fn listing(title: &str, lines: Page) -> Page {
    if lines.is_empty() { lines } else { heading(title) + lines }
}

/// Numbers without a conclusion, by the reason.
fn by_reason<T: Hash + Eq + Clone>(
    other: &Against,
    why: impl Fn(&ComparedFigure) -> Option<T>,
) -> Vec<(T, Vec<&ComparedFigure>)> {
    let judged = other.figures.iter().filter(|figure| !is_beside(figure));
    grouped(judged.filter_map(|figure| Some((why(figure)?, figure))))
}

/// The names of numbers with their changes; unless in detail, the first.
fn listed(figures: &[&ComparedFigure], detail: Detail) -> String {
    let listed = detail.listed(LISTED).min(figures.len());
    let named = |figure: &&ComparedFigure| match figure.change {
        Some(_) => format!("{} {}", judged_name(figure, detail), glued(&change(figure))),
        None => judged_name(figure, detail),
    };
    let mut names: Vec<String> = figures[..listed].iter().map(named).collect();
    if figures.len() > listed {
        names.push(format!("and {} more", figures.len() - listed));
    }
    names.join(", ")
}

/// The largest loss that wide intervals hide; `None` of numbers that are unsure for another reason.
fn hidden_loss(figures: &[&ComparedFigure]) -> Option<f64> {
    let hidden = |figure: &&ComparedFigure| {
        let interval = figure.interval.filter(|_| figure.verdict == ChangeVerdict::Unsure(Doubt::WideInterval))?;
        let loss = if figure.less_is_better()? { interval.high } else { -interval.low };
        (loss.is_finite() && loss > 0.0).then_some(loss)
    };
    figures.iter().filter_map(hidden).reduce(f64::max)
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
