//! A check-up on one screen.

use tiermark_model::{CheckRow, Checkup, Health};
use tiermark_page::{Align, Cell, Ink, Page, Style, Table, bullet, heading, paragraph, space};

/// Renders every check in its group, then what matters, why, and what cures it.
pub fn doctor(checkup: &Checkup, style: &Style) -> Page {
    let mut out = paragraph("", format!("tiermark doctor · {}", checkup.machine), Ink::Head);
    for group in checkup.checks.chunk_by(|a, b| a.group == b.group) {
        let mut table = Table::new().column("", Align::Left).column("", Align::Left).column("", Align::Left);
        for check in group {
            let (mark, ink) = mark(check.health, style);
            let value = Cell::inked(&check.value, if check.health == Health::NotHere { Ink::Dim } else { Ink::Plain });
            table.row(vec![Cell::inked(mark, ink), Cell::new(&check.name), value]);
        }
        out += heading(&group[0].group);
        out += table;
    }
    out += reasons("Problems: numbers would mislead", checkup, Health::Problem, style);
    out += reasons("Notes for reading the numbers", checkup, Health::Note, style);
    let count = |health| checkup.count(health);
    let (problems, notes) = (count(Health::Problem), count(Health::Note));
    let plural = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let settings = checkup.checks.iter().filter(|check| check.health == Health::Problem && check.is_setting).count();
    let settings = match settings {
        0 => String::new(),
        n => format!(" ({}, which `tiermark check` does not count)", plural(n, "setting")),
    };
    let text = format!(
        "{}{settings}, {}, {} in order, {} not reported by this system",
        plural(problems, "problem"),
        plural(notes, "note"),
        count(Health::Ok),
        count(Health::NotHere)
    );
    let ink = if problems > 0 { Ink::Bad } else { Ink::Good };
    out += space() + paragraph("", &text, ink);
    out
}

fn mark(health: Health, style: &Style) -> (&'static str, Ink) {
    match health {
        Health::Ok => (style.glyph("✔", "+"), Ink::Good),
        Health::Note => ("!", Ink::Warn),
        Health::Problem => (style.glyph("✘", "x"), Ink::Bad),
        Health::NotHere => (style.absent(), Ink::Dim),
    }
}

fn reasons(title: &str, checkup: &Checkup, health: Health, style: &Style) -> Page {
    let rows: Vec<&CheckRow> = checkup.checks.iter().filter(|check| check.health == health).collect();
    if rows.is_empty() {
        return Page::new();
    }
    let (mark, ink) = mark(health, style);
    let one = |check: &&CheckRow| {
        let text = format!("{} {}: {}", check.name, short(&check.value), check.why);
        bullet(mark, ink, &text, check.cure.as_deref())
    };
    heading(title) + rows.iter().map(one).collect::<Page>()
}

/// The value stands in full above.
fn short(value: &str) -> &str {
    value.split([':', ';']).next().unwrap_or(value)
}
