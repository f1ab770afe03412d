//! The view of `selftest --continuous`: visits beside a continuous run.

use tiermark_model::{Bytes, Grade, Unit, Verdict};
use tiermark_page::{ABSENT, Cell, Ink, Page, Table, TableOf, grade_mark, graded, nanoseconds, paragraph, space};

/// Tolerance on both sides of the continuous runs, as a part of 1.
pub const TOLERANCE: f64 = 0.05;

/// The 2nd percentile and the median of the blocks of a continuous run, ns per access.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// The 2nd percentile.
    pub low: f64,
    /// The median.
    pub median: f64,
}

/// Where a figure of visits lies beside the continuous runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lies {
    /// Below the lower 2nd percentile by more than [`TOLERANCE`].
    Below,
    /// Between the two.
    Within,
    /// Above the higher median by more than [`TOLERANCE`].
    Above,
}

/// One size, measured both ways.
#[derive(Debug, Clone, PartialEq)]
pub struct ContinuousRow {
    /// Footprint of the chase.
    pub size: Bytes,
    /// The continuous runs before and after the visits.
    pub levels: [Level; 2],
    /// What the visits found, ns; `None` if they found no number.
    pub value: Option<f64>,
    /// The median visit, ns.
    pub now: Option<f64>,
    /// Verdict of that number.
    pub verdict: Verdict,
}

impl ContinuousRow {
    /// Where the figure of the visits lies; `None` without a figure.
    pub fn lies(&self) -> Option<Lies> {
        let value = self.value?;
        let [before, after] = self.levels;
        Some(if value < before.low.min(after.low) * (1.0 - TOLERANCE) {
            Lies::Below
        } else if value > before.median.max(after.median) * (1.0 + TOLERANCE) {
            Lies::Above
        } else {
            Lies::Within
        })
    }

    /// Whether its figure is trusted.
    pub fn is_trusted(&self) -> bool {
        self.value.is_some() && self.verdict.grade == Grade::Trusted
    }

    /// Whether its figure is trusted and lies outside of the continuous runs.
    pub fn is_wrong(&self) -> bool {
        self.is_trusted() && self.lies() != Some(Lies::Within)
    }

    /// The figure over the lower of the two medians, which other work disturbed less.
    fn ratio(&self) -> Option<f64> {
        let [before, after] = self.levels;
        Some(self.value? / before.median.min(after.median))
    }
}

/// Renders the rows, and a sentence that says whether all trusted figures agree with the continuous runs. `setup` says
/// what both ways have in common.
pub fn continuous(rows: &[ContinuousRow], setup: &str) -> Page {
    let shown = |value: Option<f64>| value.map_or_else(|| ABSENT.to_owned(), nanoseconds);
    let ratio = |row: &ContinuousRow| row.ratio().map_or_else(|| ABSENT.to_owned(), |ratio| format!("{ratio:.2}"));
    let table = Table::of(rows).numbers("size", |row| row.size.to_string()).under("before", |table| level(table, 0));
    let table = table.under("visits", |table| {
        let figure = |row: &ContinuousRow| graded(row.value.map(nanoseconds), &row.verdict, Unit::Ns);
        table.figures("figure", figure).numbers("median", |row| shown(row.now))
    });
    let table = table.under("after", |table| level(table, 1)).numbers("ratio", ratio).texts("position", lies).table();
    let head =
        format!("Latency of one chase in visits of 2 ms, and of a continuous chase before and after, ns; {setup}.");
    let (text, ink) = sentence(rows);
    paragraph("", &head, Ink::Plain)
        + space()
        + table
        + space()
        + paragraph("", "p2: the 2nd percentile of blocks of 0.25 ms. ratio: figure / lower median.", Ink::Dim)
        + paragraph("", marks(rows), Ink::Dim)
        + paragraph("", &text, ink)
}

/// The columns of a continuous run.
fn level(table: TableOf<'_, ContinuousRow>, at: usize) -> TableOf<'_, ContinuousRow> {
    let table = table.numbers("p2", |row| nanoseconds(row.levels[at].low));
    table.numbers("median", |row| nanoseconds(row.levels[at].median))
}

fn lies(row: &ContinuousRow) -> Cell {
    let (word, ink) = match row.lies() {
        None => ("missing", Ink::Dim),
        Some(Lies::Within) => ("within", Ink::Plain),
        Some(Lies::Below) => ("below", Ink::Warn),
        Some(Lies::Above) => ("above", Ink::Warn),
    };
    if row.is_wrong() { Cell::inked(format!("{word}, fails"), Ink::Bad) } else { Cell::inked(word, ink) }
}

/// What the marks in the table mean; empty where all figures are trusted.
fn marks(rows: &[ContinuousRow]) -> String {
    let has = |grade| rows.iter().any(|row| row.verdict.grade == grade);
    let bound = "≤ is a bound";
    let marks = [
        (Grade::Bound, format!("{bound} (visits never seen undisturbed, or too few)")),
        (Grade::Suspect, format!("{} is doubtful", grade_mark(Grade::Suspect))),
        (Grade::Invalid, format!("{} is withheld", grade_mark(Grade::Invalid))),
    ];
    let used: Vec<String> = marks.into_iter().filter(|(grade, _)| has(*grade)).map(|(_, text)| text).collect();
    if used.is_empty() { String::new() } else { format!("{}. Only trusted figures are judged.", used.join(", ")) }
}

fn sentence(rows: &[ContinuousRow]) -> (String, Ink) {
    let range = "between the 2nd percentile - 5 % and the median + 5 % of the continuous runs";
    let trusted = rows.iter().filter(|row| row.is_trusted()).count();
    let wrong: Vec<String> = rows.iter().filter(|row| row.is_wrong()).map(|row| row.size.to_string()).collect();
    match (trusted, wrong.len()) {
        (0, _) => ("No figure is trusted, so none is judged. Run again when other work has ended.".into(), Ink::Warn),
        (1, 0) => (format!("The only trusted figure lies {range}."), Ink::Good),
        (_, 0) => (format!("All {trusted} trusted figures lie {range}."), Ink::Good),
        (_, outside) => {
            let verb = if outside == 1 { "does" } else { "do" };
            let text = format!("{outside} of {trusted} trusted figures {verb} not lie {range}: {}.", wrong.join(", "));
            (text, Ink::Bad)
        }
    }
}

#[cfg(test)]
mod tests {
    use tiermark_model::Reason;

    use super::*;
    use tiermark_page::{Style, terminal};

    fn row(value: Option<f64>, verdict: Verdict) -> ContinuousRow {
        let levels = [Level { low: 100.0, median: 120.0 }, Level { low: 110.0, median: 140.0 }];
        ContinuousRow { size: Bytes(1 << 23), levels, value, now: value.map(|value| value * 1.1), verdict }
    }

    fn bound() -> Verdict {
        let mut verdict = Verdict::trusted();
        verdict.bound(Reason::NotSharp { share: 0.02 });
        verdict
    }

    #[test]
    fn the_range_reaches_from_the_lower_percentile_to_the_higher_median() {
        let of = |value| row(Some(value), Verdict::trusted()).lies();
        let expected = [(94.9, Lies::Below), (95.1, Lies::Within), (146.9, Lies::Within), (147.1, Lies::Above)];
        assert_eq!(expected.map(|(value, _)| of(value)), expected.map(|(_, lies)| Some(lies)));
        assert_eq!(row(None, Verdict::trusted()).lies(), None);
    }

    #[test]
    fn only_a_trusted_figure_can_be_wrong() {
        assert!(row(Some(200.0), Verdict::trusted()).is_wrong());
        assert!(row(Some(50.0), Verdict::trusted()).is_wrong());
        assert!(!row(Some(120.0), Verdict::trusted()).is_wrong());
        assert!(!row(Some(200.0), bound()).is_wrong());
        assert!(!row(None, Verdict::trusted()).is_wrong());
    }

    #[test]
    fn the_sentence_counts_trusted_figures() {
        let fine = || row(Some(120.0), Verdict::trusted());
        let loose = || row(Some(300.0), bound());
        let wrong = || row(Some(300.0), Verdict::trusted());
        let said = |rows: &[ContinuousRow]| sentence(rows).0;
        assert!(said(&[fine(), fine(), loose()]).starts_with("All 2 trusted figures lie between "));
        assert!(said(&[fine()]).starts_with("The only trusted figure lies between "));
        assert!(said(&[loose()]).starts_with("No figure is trusted"));
        let one = said(&[fine(), wrong(), loose()]);
        assert!(one.starts_with("1 of 2 trusted figures does not lie ") && one.ends_with(": 8 MiB."), "{one}");
        let two = said(&[wrong(), wrong()]);
        assert!(two.starts_with("2 of 2 trusted figures do not lie ") && two.ends_with(": 8 MiB, 8 MiB."), "{two}");
    }

    #[test]
    fn a_table() {
        let mut withheld = Verdict::trusted();
        withheld.invalid(Reason::NotSharp { share: 0.0 });
        let rows = [
            row(Some(121.0), Verdict::trusted()),
            row(Some(300.0), bound()),
            row(Some(300.0), Verdict::trusted()),
            row(None, withheld),
        ];
        insta::assert_snapshot!(terminal(&continuous(&rows, "pages of 4 KiB, cpu 1"), &Style::default()));
    }
}
