//! The knobs of a system beside what a profile advises, and what became of changes.

use tiermark_model::{ChangeOutcome, ChangeRow, HeldChanges, KnobRow, Reach, Standing, Tuning};
use tiermark_page::{Detail, Ink, Page, bullet, clean, heading, items, left, paragraph, space, width};

/// Renders the knobs: what would be changed first, then what needs more than this program, then the rest in a few
/// lines.
pub fn tuning(tuning: &Tuning, detail: Detail) -> Page {
    let title = format!("tiermark tune · profile {}: {}", tuning.profile, tuning.purpose);
    let mut out = paragraph("", &title, Ink::Head);
    let differs = |reach: Reach| -> Vec<&KnobRow> {
        tuning.knobs.iter().filter(|row| row.standing == Standing::Differs && row.reach == reach).collect()
    };
    out += section("Changed by --apply", &differs(Reach::Live), detail);
    out += section("Changed by --apply, where named with --device", &differs(Reach::Unnamed), detail);
    out += section("By a reboot; never changed by tiermark", &differs(Reach::Reboot), detail);
    out += section("Shown only, never changed", &differs(Reach::Check), detail);
    let with_standing = |standing: Standing| tuning.knobs.iter().filter(move |row| row.standing == standing);
    out += remarks(with_standing(Standing::Free), detail);
    out += list("As advised", with_standing(Standing::AsAdvised));
    out += list("No advice", with_standing(Standing::Free).filter(|row| row.reason.is_none()));
    let mut absent: Vec<String> = with_standing(Standing::NotHere).map(|row| row.name.clone()).collect();
    absent.dedup();
    out += inline("Not on this system", &absent);
    for row in with_standing(Standing::Unseen) {
        let why = row.reason.as_deref().unwrap_or("it cannot be read");
        out += bullet("!", Ink::Warn, format!("{}: {why}", label(row)), None);
    }
    out += held(&tuning.held, detail);
    out += closing(tuning);
    out
}

/// A knob with the device, cpu or size that it is of.
fn label(row: &KnobRow) -> String {
    row.on.as_ref().map_or_else(|| row.name.clone(), |on| format!("{} {on}", row.name))
}

fn section(title: &str, rows: &[&KnobRow], detail: Detail) -> Page {
    if rows.is_empty() {
        return Page::new();
    }
    let labels: Vec<String> = rows.iter().map(|row| clean(&label(row))).collect();
    let longest = labels.iter().map(|text| width(text)).max().unwrap_or_default();
    let mut out = heading(title);
    for (row, label) in rows.iter().zip(&labels) {
        let (now, advised) = (row.value.as_deref().unwrap_or_default(), row.advice.as_deref().unwrap_or_default());
        let values = format!("{now} → {advised}");
        out += paragraph(&format!("  {}  ", left(label, longest)), &values, Ink::Plain);
        out += paragraph("      ", reason(row, detail), Ink::Dim);
    }
    out
}

/// Why; with what the knob does and where it is, where more is to be shown.
fn reason(row: &KnobRow, detail: Detail) -> String {
    let why = row.reason.clone().unwrap_or_default();
    if !detail.is_all() {
        return why;
    }
    let file = row.files.first().map_or_else(String::new, |file| format!(", /{file}"));
    let more = row.files.len().saturating_sub(1);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{why} ({}{file}{more})", row.about)
}

/// Knobs that stay as they are, with a remark.
fn remarks<'a>(rows: impl Iterator<Item = &'a KnobRow>, detail: Detail) -> Page {
    let one = |row: &KnobRow| {
        let text = format!("{} {}: {}", label(row), row.value.as_deref().unwrap_or_default(), reason(row, detail));
        bullet("-", Ink::Dim, &text, None)
    };
    let text: Page = rows.filter(|row| row.reason.is_some()).map(one).collect();
    if text.is_empty() { text } else { heading("Not changed, with a remark") + text }
}

fn list<'a>(title: &str, rows: impl Iterator<Item = &'a KnobRow>) -> Page {
    let named: Vec<String> =
        rows.map(|row| format!("{} {}", label(row), row.value.as_deref().unwrap_or_default())).collect();
    inline(title, &named)
}

fn inline(title: &str, named: &[String]) -> Page {
    if named.is_empty() {
        return Page::new();
    }
    heading(title) + paragraph("  ", items(named), Ink::Plain)
}

/// Changes that are still in place.
fn held(held: &[HeldChanges], detail: Detail) -> Page {
    if held.is_empty() {
        return Page::new();
    }
    let mut out = heading("Earlier changes, not taken back yet");
    for changes in held {
        const LISTED: usize = 6;
        let listed = detail.listed(LISTED).min(changes.changes.len());
        let more = changes.changes.len() - listed;
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!(
            "{}, {}, process {}{}: {}{more}",
            changes.what,
            changes.started,
            changes.pid,
            if changes.at_work { ", which is running" } else { "" },
            changes.changes[..listed].join(", ")
        );
        let cure = (!changes.at_work).then_some("tiermark tune --restore");
        out += bullet("!", Ink::Warn, &text, cure);
    }
    out
}

fn closing(tuning: &Tuning) -> Page {
    let live = tuning.knobs.iter().filter(|row| row.standing == Standing::Differs && row.reach == Reach::Live);
    let files: usize = live.map(|row| row.files.len()).sum();
    let text = match files {
        0 => "Nothing to change.".to_owned(),
        n => format!(
            "{n} file{} differ{} from the advice. Nothing was changed: --apply does it, as root, until the next \
             reboot or --restore.",
            if n == 1 { "" } else { "s" },
            if n == 1 { "s" } else { "" }
        ),
    };
    space() + paragraph("", &text, Ink::Plain)
}

/// Renders changes made or taken back, one a line with the reason if one was not simply done, and the closing sentence.
pub fn change_rows(rows: &[ChangeRow], closing: &str) -> Page {
    let mut out = Page::new();
    for row in rows {
        let (mark, ink, word) = match row.outcome {
            ChangeOutcome::Done => ("✔", Ink::Good, ""),
            ChangeOutcome::Already => ("✔", Ink::Dim, ": it was so already, not written"),
            ChangeOutcome::Gone => ("✔", Ink::Dim, ""),
            ChangeOutcome::Left => ("!", Ink::Warn, ": not changed"),
            ChangeOutcome::Failed => ("✘", Ink::Bad, ": failed"),
        };
        let values = match (&row.from, &row.to) {
            (Some(from), Some(to)) => format!(" {from} → {to}"),
            (None, Some(to)) => format!(" → {to}"),
            _ => String::new(),
        };
        let why = row.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        out += bullet(mark, ink, format!("{}{values}{word}{why}", row.what), None);
    }
    out + paragraph("", closing, Ink::Plain)
}
