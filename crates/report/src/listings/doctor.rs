//! A check-up on one screen.

use tiermark_model::{CheckRow, Checkup, Health, count_of};
use tiermark_page::{ABSENT, Cell, Detail, Ink, Page, Table, bullet, heading, paragraph, space};

use crate::phrases::sentence;

/// Renders what is wrong with its cure, then what to know when reading numbers, then in short what is in order and what
/// the system does not report; every check in its group where all is asked for.
pub fn doctor(checkup: &Checkup, detail: Detail) -> Page {
    let mut out = paragraph("", format!("tiermark doctor · {}", checkup.machine), Ink::Head);
    out += reasons("Problems: numbers would mislead", checkup, Health::Problem);
    out += reasons("Notes for reading the numbers", checkup, Health::Note);
    out += if detail.is_all() { every_check(checkup) } else { in_order(checkup) };
    out + space() + tally(checkup, detail)
}

/// A table of each group.
fn every_check(checkup: &Checkup) -> Page {
    let table = |group: &[CheckRow]| {
        let marked = |(mark, ink)| Cell::inked(mark, ink);
        let value_ink = |check: &CheckRow| if check.health == Health::NotHere { Ink::Dim } else { Ink::Plain };
        let table = Table::of(group).texts("", |check| marked(mark(check.health))).texts("", |check| &check.name);
        let table = table.texts("", |check| Cell::inked(&check.value, value_ink(check)));
        heading(&group[0].group) + table.table()
    };
    checkup.checks.chunk_by(|a, b| a.group == b.group).map(table).collect()
}

/// The names of what is in order, a line for each group.
fn in_order(checkup: &Checkup) -> Page {
    let is_ok = |check: &&CheckRow| check.health == Health::Ok;
    let (sign, ink) = mark(Health::Ok);
    let line = |group: &[CheckRow]| {
        let names: Vec<&str> = group.iter().filter(is_ok).map(|check| check.name.as_str()).collect();
        let text = format!("{}: {}", group[0].group, names.join(", "));
        (!names.is_empty()).then(|| bullet(sign, ink, &text, None))
    };
    let lines: Page = checkup.checks.chunk_by(|a, b| a.group == b.group).filter_map(line).collect();
    if lines.is_empty() { lines } else { heading("In order") + lines }
}

/// How many checks say what.
fn tally(checkup: &Checkup, detail: Detail) -> Page {
    let count = |health| checkup.count(health);
    let (problems, notes) = (count(Health::Problem), count(Health::Note));
    let settings = checkup.checks.iter().filter(|check| check.health == Health::Problem && check.is_setting).count();
    let settings = match settings {
        0 => String::new(),
        n => format!(" ({}, which `tiermark check` does not count)", count_of(n as u64, "setting")),
    };
    let all = if detail.is_all() { "" } else { "; -v lists every check with its value" };
    let text = format!(
        "{}{settings}, {}, {} in order, {} not reported by this system{all}",
        count_of(problems as u64, "problem"),
        count_of(notes as u64, "note"),
        count(Health::Ok),
        count(Health::NotHere)
    );
    paragraph("", &text, if problems > 0 { Ink::Bad } else { Ink::Good })
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
        let text = format!("{}: {}. {}", check.name, check.value, sentence(check.why.as_str()));
        bullet(mark, ink, &text, check.cure.as_deref())
    };
    heading(title) + rows.iter().map(one).collect::<Page>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_page::{Style, terminal};

    /// A check-up of two groups, in which one setting is wrong and most is not reported.
    fn checkup() -> Checkup {
        let row = |group: &str, name: &str, value: &str, health: Health| CheckRow {
            name: name.to_owned(),
            group: group.to_owned(),
            value: value.to_owned(),
            health,
            affects: None,
            why: "it unmaps pages".to_owned(),
            cure: (health == Health::Problem).then(|| "turn it off".to_owned()),
            is_setting: false,
        };
        let checks = vec![
            row("Cpus", "SMT", "none", Health::Ok),
            row("Cpus", "turbo", "not reported", Health::NotHere),
            row("Cpus", "governor", "not reported", Health::NotHere),
            row("Memory", "NUMA balancing", "on", Health::Problem),
            row("Memory", "swap", "none", Health::Ok),
            row("Memory", "zswap", "off", Health::Ok),
        ];
        Checkup { machine: "a processor".to_owned(), checks }
    }

    #[test]
    fn what_is_wrong_comes_first_and_what_is_not_reported_takes_one_line() {
        let shown = terminal(&doctor(&checkup(), Detail::Usual), &Style::default());
        insta::assert_snapshot!(shown, @r"
        tiermark doctor · a processor

        Problems: numbers would mislead
          ✘ NUMA balancing: on. It unmaps pages
            → turn it off

        In order
          ✔ Cpus: SMT
          ✔ Memory: swap, zswap

        1 problem, 0 notes, 3 in order, 2 not reported by this system; -v lists every
        check with its value
        ");
        let all = terminal(&doctor(&checkup(), Detail::All), &Style::default());
        for check in checkup().checks {
            assert!(all.contains(&format!("{}  ", check.name)), "{all}");
        }
    }
}
