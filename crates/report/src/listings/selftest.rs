//! The view of the self-test.

use tiermark_model::Grade;
use tiermark_page::{Cell, Ink, Page, Table, grade_ink, grade_mark, paragraph, space};

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
