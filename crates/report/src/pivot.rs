//! Tables with a row and a column for each of two labels.

use std::collections::HashMap;

use tiermark_model::{Finding, Labels, Quantity};
use tiermark_page::{Cell, Table};

use crate::order::{distinct, first, grouped};

/// Findings of a quantity.
pub(crate) fn with_quantity<'a>(findings: &[&'a Finding], quantity: &Quantity) -> Vec<&'a Finding> {
    findings.iter().copied().filter(|f| f.quantity == *quantity).collect()
}

/// A label as text, or an empty string where the finding has no such label.
pub(crate) fn label<'a, T: ToString>(finding: &'a Finding, of: impl Fn(&'a Labels) -> Option<T>) -> String {
    of(&finding.labels).map_or_else(String::new, |label| label.to_string())
}

/// Things with a row and a column of a table each, both in order of first appearance.
pub(crate) struct Pivot<'a, T> {
    /// Each with the first thing of each column.
    rows: Vec<(String, HashMap<String, &'a T>)>,
    pub(crate) columns: Vec<String>,
}

impl<'a, T> Pivot<'a, T> {
    pub(crate) fn new(things: &'a [T], row: &dyn Fn(&T) -> String, column: &dyn Fn(&T) -> String) -> Self {
        let rows = grouped(things.iter().map(|thing| (row(thing), (column(thing), thing))));
        Self {
            rows: rows.into_iter().map(|(name, of)| (name, first(of))).collect(),
            columns: distinct(things.iter().map(column)),
        }
    }

    pub(crate) fn table(&self, corner: &str, cell: &dyn Fn(&T) -> Cell) -> Table {
        let table = Table::of(&self.rows).texts(corner, |(name, _)| name);
        let columns = table.each(&self.columns, |table, column| {
            table.figures(column, |(_, of)| of.get(column).map(|thing| cell(thing)))
        });
        columns.table()
    }
}
