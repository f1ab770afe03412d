//! What the values of a series are counted in: cycles of the core, of L1 and L2, so that the clock of each hour is no
//! change of them.

use tiermark_model::{Interval, PerCycle, RunFigure, Unit};

/// What the values of a series are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Time, as they were measured.
    Time,
    /// Cycles of the core.
    Cycles(Unit),
}

impl Scale {
    /// Cycles, where every value has them and in one unit: a series of both kinds would have steps of its own.
    pub(crate) fn of<'a>(series: impl Iterator<Item = &'a RunFigure>) -> Self {
        let is_sound = |of: &PerCycle| of.value.is_finite() && of.value > 0.0;
        let mut units = series.map(|figure| figure.per_cycle.filter(is_sound).map(|of| of.unit));
        let first = units.next().flatten();
        first.filter(|_| units.all(|unit| unit == first)).map_or(Self::Time, Self::Cycles)
    }

    /// The value of a figure.
    pub(crate) fn value(self, figure: &RunFigure) -> f64 {
        figure.value * self.factor(figure)
    }

    /// Its interval.
    pub(crate) fn interval(self, figure: &RunFigure) -> Option<Interval> {
        let factor = self.factor(figure);
        figure.interval.map(|of| Interval { low: of.low * factor, high: of.high * factor, ..of })
    }

    /// Its unit.
    pub(crate) fn unit(self, figure: &RunFigure) -> Unit {
        match self {
            Self::Time => figure.unit,
            Self::Cycles(unit) => unit,
        }
    }

    fn factor(self, figure: &RunFigure) -> f64 {
        figure.per_cycle.filter(|_| self != Self::Time).map_or(1.0, |of| of.value / figure.value)
    }
}
