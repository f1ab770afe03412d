//! The view of the self-test.

use tiermark_model::Grade;
use tiermark_page::{Align, Cell, Ink, Page, Style, Table, grade_ink, paragraph, space};

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
pub fn selftest(checks: &[Check], style: &Style) -> Page {
    let mut table = Table::new().indent(0).column("", Align::Left).column("check", Align::Left);
    table = table.column("result", Align::Right).column("detail", Align::Left);
    for check in checks {
        let grade = if check.pass { Grade::Trusted } else { Grade::Invalid };
        let word = if check.pass { "ok" } else { "FAILED" };
        table.row(vec![
            Cell::inked(format!("{} {word}", style.mark(grade)), grade_ink(grade)),
            Cell::new(&check.name),
            Cell::new(&check.value),
            Cell::inked(&check.detail, if check.pass { Ink::Dim } else { Ink::Plain }),
        ]);
    }
    let failed = checks.iter().filter(|c| !c.pass).count();
    let ink = if failed == 0 { Ink::Good } else { Ink::Bad };
    let text = format!("{} of {} checks passed", checks.len() - failed, checks.len());
    table + space() + paragraph("", &text, ink)
}
