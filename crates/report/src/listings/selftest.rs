//! The views of the self-test: its checks, and visits beside continuous runs (`selftest --continuous`).

use tiermark_model::continuous::{ContinuousCheck, Position};
use tiermark_model::{Grade, Unit};
use tiermark_page::{
    ABSENT, Cell, Ink, Page, Table, grade_ink, grade_mark, graded, nanoseconds, paragraph, percent, space,
};

/// One check of the self-test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Name of the check.
    pub name: String,
    /// Its result, with the unit.
    pub value: String,
    /// Whether it passed.
    pub pass: bool,
    /// The expected result, or the reason of a failure and the cure.
    pub detail: String,
}

/// Renders the checks, and a line that counts them.
pub fn selftest(checks: &[Check]) -> Page {
    let outcome = |check: &Check| {
        let (grade, word) = if check.pass { (Grade::Trusted, "ok") } else { (Grade::Invalid, "FAILED") };
        Cell::inked(format!("{} {word}", grade_mark(grade)), grade_ink(grade))
    };
    let ink = |check: &Check| if check.pass { Ink::Dim } else { Ink::Plain };
    let table = Table::of(checks).texts("", outcome).texts("check", |check| &check.name);
    let table = table.numbers("result", |check| &check.value);
    let table = table.texts("detail", |check| Cell::inked(&check.detail, ink(check))).table().indent(0);
    let failed = checks.iter().filter(|c| !c.pass).count();
    let ink = if failed == 0 { Ink::Good } else { Ink::Bad };
    let text = format!("{} of {} checks passed", checks.len() - failed, checks.len());
    table + space() + paragraph("", &text, ink)
}

/// A value in the unit of the row.
fn shown(row: &ContinuousCheck, value: f64) -> String {
    if row.is_in_cycles { format!("{value:.3}") } else { nanoseconds(value) }
}

/// Renders the rows, and a sentence that says whether all judged figures agree with the continuous runs. `setup` says
/// what both ways have in common.
pub fn continuous(rows: &[ContinuousCheck], setup: &str) -> Page {
    let or_absent = |text: Option<String>| text.unwrap_or_else(|| ABSENT.to_owned());
    let reference = |at: usize| {
        move |row: &ContinuousCheck| {
            let states: Vec<String> = row.references[at].iter().map(|value| shown(row, *value)).collect();
            or_absent(Some(states.join("–")).filter(|text| !text.is_empty()))
        }
    };
    let figure = |row: &ContinuousCheck| graded(row.figure.map(|value| shown(row, value)), &row.verdict, Unit::Ns);
    let ratio = |row: &ContinuousCheck| or_absent(row.ratio().map(|ratio| format!("{ratio:.3}")));
    let table = Table::of(rows).numbers("size", |row| row.size.to_string());
    let table = table.texts("unit", |row| if row.is_in_cycles { "cycles" } else { "ns" });
    let table = table.numbers("before", reference(0)).figures("visits", figure).numbers("after", reference(1));
    let table = table.texts("grade", |row| row.verdict.grade.in_words()).numbers("ratio", ratio);
    let table = table.numbers("±", |row| percent(row.tolerance)).texts("position", position).table();
    let head = format!(
        "Latency of one chase in visits of 2 ms, and of a continuous chase before and after, cut into the same \
         blocks; {setup}."
    );
    let (text, ink) = sentence(rows);
    paragraph("", &head, Ink::Plain)
        + space()
        + table
        + space()
        + paragraph("", "ratio: visits / nearest continuous run; ±: how far from 1 it may be.", Ink::Dim)
        + paragraph("", marks(rows), Ink::Dim)
        + paragraph("", &text, ink)
}

fn position(row: &ContinuousCheck) -> Cell {
    let (word, ink) = match row.position() {
        None if row.figure.is_none() => ("no figure", Ink::Dim),
        None => ("no continuous run", Ink::Dim),
        Some(Position::Within) => ("within", Ink::Plain),
        Some(Position::Below) => ("below", Ink::Warn),
        Some(Position::Above) => ("above", Ink::Warn),
    };
    if row.fails() { Cell::inked(format!("{word}, fails"), Ink::Bad) } else { Cell::inked(word, ink) }
}

/// What the marks in the table mean; empty where all figures are judged.
fn marks(rows: &[ContinuousCheck]) -> String {
    let has = |grade| rows.iter().any(|row| row.verdict.grade == grade);
    let marks = [
        (Grade::Bound, "≤ is a bound (too few moments, or not settled)".to_owned()),
        (Grade::Suspect, format!("{} is doubtful", grade_mark(Grade::Suspect))),
        (Grade::Invalid, format!("{} is withheld", grade_mark(Grade::Invalid))),
    ];
    let mut used: Vec<String> = marks.into_iter().filter(|(grade, _)| has(*grade)).map(|(_, text)| text).collect();
    if rows.iter().any(|row| !row.is_judged()) {
        used.push("only trusted figures, and shared figures in ns, are judged".into());
    }
    if used.is_empty() { String::new() } else { format!("{}.", used.join("; ")) }
}

fn sentence(rows: &[ContinuousCheck]) -> (String, Ink) {
    let judged = rows.iter().filter(|row| row.is_judged()).count();
    let differ: Vec<String> = rows.iter().filter(|row| row.differs()).map(|row| row.size.to_string()).collect();
    let ink = if rows.iter().any(ContinuousCheck::fails) { Ink::Bad } else { Ink::Warn };
    match (judged, differ.len()) {
        (0, _) => ("No figure could be judged. Run again when other work has ended.".into(), Ink::Warn),
        (1, 0) => ("The only judged figure agrees with the continuous runs.".into(), Ink::Good),
        (_, 0) => (format!("All {judged} judged figures agree with the continuous runs."), Ink::Good),
        (_, outside) => {
            let verb = if outside == 1 { "differs" } else { "differ" };
            (
                format!("{outside} of {judged} judged figures {verb} from the continuous runs: {}.", differ.join(", ")),
                ink,
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::testing::{check_in_cycles, continuous_check};
    use tiermark_page::{Style, terminal};

    #[test]
    fn the_sentence_counts_judged_figures() {
        let fine = || continuous_check(Some(121.0), Grade::Trusted);
        let moved = || continuous_check(Some(300.0), Grade::Shared);
        let loose = || continuous_check(Some(300.0), Grade::Bound);
        let said = |rows: &[ContinuousCheck]| sentence(rows);
        assert_eq!(said(&[fine(), fine(), loose()]).0, "All 2 judged figures agree with the continuous runs.");
        assert_eq!(said(&[fine()]).0, "The only judged figure agrees with the continuous runs.");
        assert!(said(&[loose()]).0.starts_with("No figure could be judged"));
        let (one, ink) = said(&[fine(), moved(), loose()]);
        assert_eq!(one, "1 of 2 judged figures differs from the continuous runs: 8 MiB.");
        assert_eq!(ink, Ink::Warn);
        let (two, ink) = said(&[fine(), moved(), continuous_check(Some(300.0), Grade::Trusted)]);
        assert!(two.ends_with("3 judged figures differ from the continuous runs: 8 MiB, 8 MiB."), "{two}");
        assert_eq!(ink, Ink::Bad);
    }

    #[test]
    fn a_table() {
        let rows = [
            check_in_cycles(4.001, Grade::Trusted),
            continuous_check(Some(121.0), Grade::Trusted),
            continuous_check(Some(300.0), Grade::Bound),
            continuous_check(Some(90.0), Grade::Shared),
            ContinuousCheck {
                references: [vec![15.0, 110.0], Vec::new()],
                ..continuous_check(Some(17.0), Grade::Shared)
            },
            continuous_check(Some(300.0), Grade::Trusted),
            continuous_check(None, Grade::Invalid),
        ];
        insta::assert_snapshot!(terminal(&continuous(&rows, "pages of 4 KiB, cpu 1"), &Style::default()));
    }
}
