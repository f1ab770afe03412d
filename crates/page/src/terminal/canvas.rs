//! The dots of a plot: braille, or stars in ASCII.

use crate::plot::letter;
use crate::style::{Ink, Style};

/// What stands for a series where something is of none.
const DIM: usize = usize::MAX;

/// A grid of cells of 2 × 4 dots.
pub(super) struct Canvas {
    columns: usize,
    rows: usize,
    unicode: bool,
    /// Braille dots, the letter that covers them, and the series drawn last.
    cells: Vec<(u8, Option<char>, usize)>,
}

impl Canvas {
    pub(super) fn new(columns: usize, rows: usize, unicode: bool) -> Self {
        Self { columns, rows, unicode, cells: vec![(0, None, 0); columns * rows] }
    }

    fn dot(&mut self, (x, y): (usize, usize), series: usize) {
        // Unicode numbers the dots of a braille cell down the left column, then the right, with the fourth row added
        // later.
        const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        if let Some(cell) = self.cells.get_mut(y / 4 * self.columns + x / 2) {
            cell.0 |= BITS[x % 2][y % 4];
            cell.2 = series;
        }
    }

    /// A straight line of dots.
    pub(super) fn segment(&mut self, from: (usize, usize), to: (usize, usize), series: usize) {
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
        for i in 0..=steps {
            let share = i as f64 / steps as f64;
            let between = |a: usize, b: usize| (a as f64 + (b as f64 - a as f64) * share).round() as usize;
            self.dot((between(from.0, to.0), between(from.1, to.1)), series);
        }
    }

    /// A dotted line across, with a name at its right end. Curves are drawn over it.
    pub(super) fn level(&mut self, y: usize, name: &str) {
        let row = y / 4;
        let from = self.columns.saturating_sub(name.chars().count() + 1);
        for column in 0..self.columns {
            if column.is_multiple_of(2) && column < from {
                self.dot((2 * column, y), DIM);
            }
        }
        for (at, letter) in name.chars().enumerate().filter(|(at, _)| from + at < self.columns) {
            if let Some(cell) = self.cells.get_mut(row * self.columns + from + at) {
                *cell = (0, Some(letter), DIM);
            }
        }
    }

    /// Writes the letter of a series over its last point, or above or below it where another letter stands.
    pub(super) fn letter(&mut self, (x, y): (usize, usize), series: usize) {
        let (column, row) = (x / 2, y / 4);
        let free = (0..self.rows)
            .flat_map(|away| [row.checked_sub(away), Some(row + away)])
            .flatten()
            .filter(|r| *r < self.rows)
            .map(|r| r * self.columns + column)
            .find(|&at| self.cells[at].1.is_none());
        if let Some(at) = free {
            self.cells[at].1 = Some(letter(series));
            self.cells[at].2 = series;
        }
    }

    /// The letter of a series at each of its points, over whatever is there.
    pub(super) fn letters(&mut self, dots: &[(usize, usize)], series: usize) {
        for (x, y) in dots {
            if let Some(cell) = self.cells.get_mut(y / 4 * self.columns + x / 2) {
                (cell.1, cell.2) = (Some(letter(series)), series);
            }
        }
    }

    pub(super) fn row(&self, row: usize, style: &Style) -> String {
        let mut out = String::new();
        for (dots, letter, series) in &self.cells[row * self.columns..(row + 1) * self.columns] {
            let shown = match letter {
                Some(letter) => *letter,
                None if *dots == 0 => ' ',
                None if self.unicode => char::from_u32(0x2800 + u32::from(*dots)).unwrap_or('*'),
                None => '*',
            };
            let ink = match *series {
                _ if shown == ' ' => Ink::Plain,
                DIM => Ink::Dim,
                series => Ink::Series(series),
            };
            out.push_str(&style.paint(ink, shown.encode_utf8(&mut [0; 4])));
        }
        out
    }
}
