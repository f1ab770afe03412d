//! How text is shown: width, colour, glyphs, units.

use anstyle::{AnsiColor, Effects};
use tiermark_model::{Grade, RateUnit};

/// How a view is rendered. The caller finds out what the terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns available; text is laid out for 40 to 120 of them.
    pub width: usize,
    /// Whether ANSI colours are written. They never carry meaning alone.
    pub color: bool,
    /// Whether glyphs beyond ASCII are written.
    pub unicode: bool,
    /// Unit in which rates are shown.
    pub rate_unit: RateUnit,
}

/// How much a view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// What most readers want.
    #[default]
    Usual,
    /// Rules, curve points and details too.
    All,
}

impl Detail {
    /// Whether all is shown.
    #[must_use]
    pub fn is_all(self) -> bool {
        self == Self::All
    }

    /// How many of some are shown, where usually only so many are.
    #[must_use]
    pub fn listed(self, usual: usize) -> usize {
        if self.is_all() { usize::MAX } else { usual }
    }
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 80, color: false, unicode: true, rate_unit: RateUnit::Si }
    }
}

/// The part a piece of text plays; colours follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ink {
    /// Running text.
    #[default]
    Plain,
    /// Titles.
    Head,
    /// What explains.
    Dim,
    /// What is as it should be.
    Good,
    /// What is in doubt.
    Warn,
    /// What is wrong.
    Bad,
    /// A series of a plot.
    Series(usize),
}

impl Style {
    /// The same in a file: there is room, and there are all signs, whatever the terminal has.
    #[must_use]
    pub fn of_a_file(&self) -> Self {
        Self { color: false, unicode: true, width: 120, ..*self }
    }

    /// The same for prose: lines beyond some 100 columns are hard to read.
    #[must_use]
    pub fn of_prose(&self) -> Self {
        Self { width: self.width.min(100), ..*self }
    }

    /// The columns text is laid out for: longer lines than 120 read badly, fewer than 40 cannot hold a table.
    pub fn columns(&self) -> usize {
        self.width.clamp(40, 120)
    }

    /// Paints a text for its part.
    pub fn paint(&self, ink: Ink, text: &str) -> String {
        if !self.color || ink == Ink::Plain || text.is_empty() {
            return text.to_owned();
        }
        const SERIES: [AnsiColor; 6] =
            [AnsiColor::Cyan, AnsiColor::Yellow, AnsiColor::Magenta, AnsiColor::Green, AnsiColor::Blue, AnsiColor::Red];
        let style = match ink {
            Ink::Plain => anstyle::Style::new(),
            Ink::Head => anstyle::Style::new().effects(Effects::BOLD),
            Ink::Dim => anstyle::Style::new().effects(Effects::DIMMED),
            Ink::Good => AnsiColor::Green.on_default(),
            Ink::Warn => AnsiColor::Yellow.on_default(),
            Ink::Bad => AnsiColor::Red.on_default().effects(Effects::BOLD),
            Ink::Series(n) => SERIES[n % SERIES.len()].on_default(),
        };
        format!("{}{text}{}", style.render(), style.render_reset())
    }

    /// Chooses between a glyph and its ASCII stand-in.
    pub fn glyph(&self, glyph: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { glyph } else { ascii }
    }

    /// Unit beside a rate, or above a column of rates.
    pub(crate) fn rate_unit(&self) -> &'static str {
        match self.rate_unit {
            RateUnit::Si => "GB/s",
            RateUnit::Iec => "GiB/s",
            RateUnit::Both => "GB/s (GiB/s)",
        }
    }

    /// Bytes per second in one unit of a plot's axis, and the name of that unit.
    pub(crate) fn axis(&self) -> (f64, &'static str) {
        if self.rate_unit == RateUnit::Iec { ((1u64 << 30) as f64, "GiB/s") } else { (1e9, "GB/s") }
    }

    /// This style with rates in one unit.
    pub(crate) fn with_rates_in(&self, rate_unit: RateUnit) -> Self {
        Self { rate_unit, ..*self }
    }
}

/// The ink of a grade.
pub fn grade_ink(grade: Grade) -> Ink {
    match grade {
        Grade::Trusted => Ink::Good,
        Grade::Shared | Grade::Bound => Ink::Plain,
        Grade::Suspect => Ink::Warn,
        Grade::Invalid => Ink::Bad,
    }
}
