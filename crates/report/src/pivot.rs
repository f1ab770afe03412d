//! Tables with a row and a column for each of two labels.

use std::collections::HashMap;

use tiermark_model::{Finding, Label, Quantity};
use tiermark_page::{Align, Cell, Table};

use crate::order::{distinct, first};

/// Findings of a metric.
pub(crate) fn of<'a>(findings: &[&'a Finding], metric: &Quantity) -> Vec<&'a Finding> {
    findings.iter().copied().filter(|f| f.metric == *metric).collect()
}

/// The text or number of a label, or an empty string where the finding has no such label.
pub(crate) fn label(finding: &Finding, key: &str) -> String {
    match finding.labels.0.get(key) {
        Some(Label::Text(text)) => text.clone(),
        Some(Label::Whole(n)) => n.to_string(),
        None => String::new(),
    }
}

/// A table with a row and a column for each of two labels, in order of first appearance.
pub(crate) struct Pivot<'a> {
    rows: Vec<String>,
    pub(crate) columns: Vec<String>,
    /// By row and column, the first of each.
    cells: HashMap<(String, String), &'a Finding>,
}

impl<'a> Pivot<'a> {
    pub(crate) fn new(
        findings: &[&'a Finding],
        row: &dyn Fn(&Finding) -> String,
        column: &dyn Fn(&Finding) -> String,
    ) -> Self {
        Self {
            rows: distinct(findings.iter().map(|f| row(f))),
            columns: distinct(findings.iter().map(|f| column(f))),
            cells: first(findings.iter().map(|f| ((row(f), column(f)), *f))),
        }
    }

    pub(crate) fn table(&self, corner: &str, cell: &dyn Fn(&Finding) -> Cell) -> Table {
        let columns = self.columns.iter();
        let mut table =
            columns.fold(Table::new().column(corner, Align::Left), |t, c| t.column(&format!("{c} "), Align::Right));
        for row in &self.rows {
            let found = |column: &String| self.cells.get(&(row.clone(), column.clone()));
            let cells = self.columns.iter().map(|c| found(c).map_or_else(Cell::default, |f| cell(f)));
            table.row(std::iter::once(Cell::new(row)).chain(cells).collect());
        }
        table
    }
}
