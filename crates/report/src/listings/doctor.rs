//! A check-up on one screen.

use tiermark_model::{CheckRow, Checkup, Health};
use tiermark_page::{ABSENT, Cell, Ink, Page, Table, bullet, heading, paragraph, space};

/// Renders every check in its group, then what matters, why, and what cures it.
pub fn doctor(checkup: &Checkup) -> Page {
    let mut out = paragraph("", format!("tiermark doctor · {}", checkup.machine), Ink::Head);
    for group in checkup.checks.chunk_by(|a, b| a.group == b.group) {
        let marked = |(mark, ink)| Cell::inked(mark, ink);
        let value_ink = |check: &CheckRow| if check.health == Health::NotHere { Ink::Dim } else { Ink::Plain };
        let table = Table::of(group).texts("", |check| marked(mark(check.health))).texts("", |check| &check.name);
        let table = table.texts("", |check| Cell::inked(&check.value, value_ink(check)));
        out += heading(&group[0].group) + table.table();
    }
    out += reasons("Problems: numbers would mislead", checkup, Health::Problem);
    out += reasons("Notes for reading the numbers", checkup, Health::Note);
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

fn mark(health: Health) -> (&'static str, Ink) {
    match health {
        Health::Ok => ("✔", Ink::Good),
        Health::Note => ("!", Ink::Warn),
        Health::Problem => ("✘", Ink::Bad),
        Health::NotHere => (ABSENT, Ink::Dim),
    }
}

fn reasons(title: &str, checkup: &Checkup, health: Health) -> Page {
    let rows: Vec<&CheckRow> = checkup.checks.iter().filter(|check| check.health == health).collect();
    if rows.is_empty() {
        return Page::new();
    }
    let (mark, ink) = mark(health);
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
