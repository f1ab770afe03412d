//! The view of `selftest --continuous`: visits beside continuous runs.

use tiermark_model::{Bytes, Grade, Unit, Verdict};
use tiermark_page::{ABSENT, Cell, Ink, Page, Table, grade_mark, graded, nanoseconds, paragraph, percent, space};

/// Where a figure of visits lies beside the continuous runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lies {
    /// Below the lower of them by more than the tolerance.
    Below,
    /// As one of them, or between the two.
    Within,
    /// Above the higher of them by more than the tolerance.
    Above,
}

/// One size, measured both ways.
#[derive(Debug, Clone, PartialEq)]
pub struct ContinuousRow {
    /// Footprint of the chase.
    pub size: Bytes,
    /// Whether its numbers are cycles of the core's clock; else they are ns.
    pub is_in_cycles: bool,
    /// What the continuous runs before and after the visits took: in each state of a cache that holds lines which were
    /// just read, and loses them later. Empty of one that was disturbed all the time.
    pub references: [Vec<f64>; 2],
    /// What the visits found; `None` if they found no number, or none in cycles.
    pub figure: Option<f64>,
    /// Verdict of that number.
    pub verdict: Verdict,
    /// How far the number may be from the continuous runs, as a share.
    pub tolerance: f64,
}

impl ContinuousRow {
    /// Where the figure of the visits lies; `None` without a figure, or without a continuous run.
    pub fn lies(&self) -> Option<Lies> {
        let ratio = self.ratio()?;
        Some(if ratio < 1.0 - self.tolerance {
            Lies::Below
        } else if ratio > 1.0 + self.tolerance {
            Lies::Above
        } else {
            Lies::Within
        })
    }

    /// The figure over the nearest of the continuous runs; 1 between both in one state. What lies between two states of
    /// a cache is neither.
    fn ratio(&self) -> Option<f64> {
        let figure = self.figure?;
        let states = self.references.iter().map(Vec::len).max()?;
        let in_state = |state: usize| {
            let references = self.references.iter().filter_map(|run| run.get(state).copied());
            let (low, high) = (references.clone().reduce(f64::min)?, references.reduce(f64::max)?);
            Some(figure / figure.clamp(low, high))
        };
        (0..states).filter_map(in_state).min_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()))
    }

    /// Whether its figure can be compared, and is said to be a number: of a core's own caches only a trusted one is the
    /// same at all times.
    pub fn is_judged(&self) -> bool {
        let is_number =
            if self.is_in_cycles { self.verdict.grade == Grade::Trusted } else { self.verdict.grade.is_number() };
        is_number && self.lies().is_some()
    }

    /// Whether it is judged and does not agree with the continuous runs.
    fn differs(&self) -> bool {
        self.is_judged() && self.lies() != Some(Lies::Within)
    }

    /// Whether a trusted figure does not agree. A shared one is what others left at its time, so that another time may
    /// differ.
    pub fn fails(&self) -> bool {
        self.differs() && self.verdict.grade == Grade::Trusted
    }

    fn shown(&self, value: f64) -> String {
        if self.is_in_cycles { format!("{value:.3}") } else { nanoseconds(value) }
    }
}

/// Renders the rows, and a sentence that says whether all judged figures agree with the continuous runs. `setup` says
/// what both ways have in common.
pub fn continuous(rows: &[ContinuousRow], setup: &str) -> Page {
    let or_absent = |text: Option<String>| text.unwrap_or_else(|| ABSENT.to_owned());
    let reference = |at: usize| {
        move |row: &ContinuousRow| {
            let states: Vec<String> = row.references[at].iter().map(|value| row.shown(*value)).collect();
            or_absent(Some(states.join("–")).filter(|text| !text.is_empty()))
        }
    };
    let figure = |row: &ContinuousRow| graded(row.figure.map(|value| row.shown(value)), &row.verdict, Unit::Ns);
    let ratio = |row: &ContinuousRow| or_absent(row.ratio().map(|ratio| format!("{ratio:.3}")));
    let table = Table::of(rows).numbers("size", |row| row.size.to_string());
    let table = table.texts("unit", |row| if row.is_in_cycles { "cycles" } else { "ns" });
    let table = table.numbers("before", reference(0)).figures("visits", figure).numbers("after", reference(1));
    let table = table.texts("grade", |row| row.verdict.grade.to_string()).numbers("ratio", ratio);
    let table = table.numbers("±", |row| percent(row.tolerance)).texts("position", lies).table();
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

fn lies(row: &ContinuousRow) -> Cell {
    let (word, ink) = match row.lies() {
        None if row.figure.is_none() => ("no figure", Ink::Dim),
        None => ("no continuous run", Ink::Dim),
        Some(Lies::Within) => ("within", Ink::Plain),
        Some(Lies::Below) => ("below", Ink::Warn),
        Some(Lies::Above) => ("above", Ink::Warn),
    };
    if row.fails() { Cell::inked(format!("{word}, fails"), Ink::Bad) } else { Cell::inked(word, ink) }
}

/// What the marks in the table mean; empty where all figures are judged.
fn marks(rows: &[ContinuousRow]) -> String {
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

fn sentence(rows: &[ContinuousRow]) -> (String, Ink) {
    let judged = rows.iter().filter(|row| row.is_judged()).count();
    let differ: Vec<String> = rows.iter().filter(|row| row.differs()).map(|row| row.size.to_string()).collect();
    let ink = if rows.iter().any(ContinuousRow::fails) { Ink::Bad } else { Ink::Warn };
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
    use tiermark_page::{Style, terminal};

    fn row(figure: Option<f64>, grade: Grade) -> ContinuousRow {
        let (references, verdict) = ([vec![100.0], vec![120.0]], Verdict { grade, ..Verdict::trusted() });
        ContinuousRow { size: Bytes(1 << 23), is_in_cycles: false, references, figure, verdict, tolerance: 0.05 }
    }

    fn in_cycles(figure: f64, grade: Grade) -> ContinuousRow {
        let references = [vec![4.0], vec![4.01]];
        let row = row(Some(figure), grade);
        ContinuousRow { size: Bytes(1 << 14), is_in_cycles: true, references, tolerance: 0.005, ..row }
    }

    #[test]
    fn the_range_reaches_from_the_lower_run_to_the_higher_and_the_tolerance_beyond() {
        let of = |value| row(Some(value), Grade::Trusted).lies();
        let expected = [(94.9, Lies::Below), (95.1, Lies::Within), (125.9, Lies::Within), (126.1, Lies::Above)];
        assert_eq!(expected.map(|(value, _)| of(value)), expected.map(|(_, lies)| Some(lies)));
        assert_eq!(row(None, Grade::Trusted).lies(), None);
        let mut one = row(Some(114.0), Grade::Trusted);
        one.references[1].clear();
        assert_eq!((one.ratio(), one.lies()), (Some(1.14), Some(Lies::Above)));
        one.references = [vec![100.0, 200.0], vec![101.0, 220.0]];
        assert_eq!(one.lies(), Some(Lies::Above), "between two states");
        one.figure = Some(210.0);
        assert_eq!(one.lies(), Some(Lies::Within), "in the second state of both");
        one.references[1].clear();
        one.references[0].clear();
        assert_eq!(one.lies(), None);
        let close = |value| in_cycles(value, Grade::Trusted).lies();
        assert_eq!(
            [close(3.979), close(3.981), close(4.03), close(4.031)].map(Option::unwrap),
            [Lies::Below, Lies::Within, Lies::Within, Lies::Above]
        );
    }

    #[test]
    fn a_trusted_figure_fails_and_a_shared_one_only_differs() {
        let of = |row: ContinuousRow| (row.is_judged(), row.differs(), row.fails());
        assert_eq!(of(row(Some(200.0), Grade::Trusted)), (true, true, true));
        assert_eq!(of(row(Some(50.0), Grade::Shared)), (true, true, false));
        assert_eq!(of(row(Some(110.0), Grade::Shared)), (true, false, false));
        assert_eq!(of(row(Some(200.0), Grade::Bound)), (false, false, false));
        assert_eq!(of(row(None, Grade::Trusted)), (false, false, false));
        assert_eq!(of(in_cycles(5.0, Grade::Trusted)), (true, true, true));
        assert_eq!(of(in_cycles(5.0, Grade::Shared)), (false, false, false));
    }

    #[test]
    fn the_sentence_counts_judged_figures() {
        let fine = || row(Some(121.0), Grade::Trusted);
        let moved = || row(Some(300.0), Grade::Shared);
        let loose = || row(Some(300.0), Grade::Bound);
        let said = |rows: &[ContinuousRow]| sentence(rows);
        assert_eq!(said(&[fine(), fine(), loose()]).0, "All 2 judged figures agree with the continuous runs.");
        assert_eq!(said(&[fine()]).0, "The only judged figure agrees with the continuous runs.");
        assert!(said(&[loose()]).0.starts_with("No figure could be judged"));
        let (one, ink) = said(&[fine(), moved(), loose()]);
        assert_eq!(one, "1 of 2 judged figures differs from the continuous runs: 8 MiB.");
        assert_eq!(ink, Ink::Warn);
        let (two, ink) = said(&[fine(), moved(), row(Some(300.0), Grade::Trusted)]);
        assert!(two.ends_with("3 judged figures differ from the continuous runs: 8 MiB, 8 MiB."), "{two}");
        assert_eq!(ink, Ink::Bad);
    }

    #[test]
    fn a_table() {
        let rows = [
            in_cycles(4.001, Grade::Trusted),
            row(Some(121.0), Grade::Trusted),
            row(Some(300.0), Grade::Bound),
            row(Some(90.0), Grade::Shared),
            ContinuousRow { references: [vec![15.0, 110.0], Vec::new()], ..row(Some(17.0), Grade::Shared) },
            row(Some(300.0), Grade::Trusted),
            row(None, Grade::Invalid),
        ];
        insta::assert_snapshot!(terminal(&continuous(&rows, "pages of 4 KiB, cpu 1"), &Style::default()));
    }
}
