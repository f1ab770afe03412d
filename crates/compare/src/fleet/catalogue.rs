//! Figures as numbers: thousands of hosts have the same few dozen, whose names and labels are kept once.

use std::collections::HashMap;

use tiermark_model::{DRAM, FigureName, Grade, LATENCY, MemoryFigure, Quantity, RunFigure, Span, TierName, Unit};

use crate::obstacle;

/// Standard errors in half of a 95 % interval of a normal value.
const Z: f64 = 1.959_964;

/// A figure, measured in one way. Values of two of them are comparable if their keys agree and nothing else keeps them
/// apart.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    pub(crate) name: Option<FigureName>,
    pub(crate) family: String,
    /// What the values are counted in: of L1 and L2 cycles, where the run knew the clock.
    pub(crate) unit: Unit,
    /// The number of its key.
    pub(crate) key: usize,
    /// How it was measured: the first of its values.
    pub(crate) how: RunFigure,
}

impl Figure {
    /// Whether less of it is better; `None` where neither more nor less is.
    pub(crate) fn less_is_better(&self) -> Option<bool> {
        less_is_better(&self.how.quantity, self.unit)
    }

    pub(crate) fn is_in_cycles(&self) -> bool {
        self.unit != self.how.unit
    }

    /// Its name in expectations.
    pub(crate) fn expected(&self) -> Option<String> {
        let name = self.name?;
        let name = if self.is_in_cycles() { FigureName::PerCycle(name.tier()?) } else { name };
        Some(name.to_string())
    }
}

/// A value of a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// The place of its figure in the catalogue.
    pub(crate) figure: usize,
    /// Its logarithm.
    pub(crate) ln: f64,
    /// Variance of that by the interval of its run.
    pub(crate) variance: f64,
    /// Whether it is a bound that says on one side only where the figure is.
    pub(crate) is_open: bool,
    /// Whether it is of too few interruptions, which took little of the time, to tell hosts apart: its value is that of
    /// 20 of their length.
    pub(crate) is_of_few: bool,
}

/// All figures that some hosts have.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    pub(crate) figures: Vec<Figure>,
    keys: HashMap<(String, Unit), usize>,
    by_way: HashMap<Way, usize>,
}

/// What decides whether two values are of one [`Figure`].
#[derive(Debug, PartialEq, Eq, Hash)]
struct Way {
    key: usize,
    method: u32,
    bytes: Option<u64>,
    is_middle: Option<bool>,
    state: Option<String>,
    place: Option<String>,
}

impl Way {
    fn of(key: usize, figure: &RunFigure) -> Self {
        Self {
            key,
            method: figure.method,
            bytes: figure.labels.bytes(),
            is_middle: figure.is_middle,
            state: figure.state.map(|state| format!("{state:?}")),
            place: figure.cpus.as_ref().map(|place| format!("{place:?}")),
        }
    }
}

impl Catalogue {
    /// The reading of a figure of a run.
    pub(crate) fn read(&mut self, (name, figure): (Option<FigureName>, RunFigure)) -> Reading {
        let cycles = figure.per_cycle.filter(|of| of.value.is_finite() && of.value > 0.0);
        let (value, unit) = cycles.map_or((figure.value, figure.unit), |of| (of.value, of.unit));
        let half = figure.interval.map(|of| (of.high.max(figure.value) / of.low.min(figure.value)).ln() / 2.0);
        let half = half.filter(|half| half.is_finite()).unwrap_or(0.0);
        let (variance, is_open) = ((half / Z).powi(2), figure.is_open);
        let is_of_few = figure.quantity.is_of_interruptions() && figure.grade == Grade::Bound;
        Reading { figure: self.place(name, unit, figure), ln: value.ln(), variance, is_open, is_of_few }
    }

    fn place(&mut self, name: Option<FigureName>, unit: Unit, figure: RunFigure) -> usize {
        let next = self.keys.len();
        let key = *self.keys.entry((figure.key.clone(), unit)).or_insert(next);
        let place = self.figures.len();
        let at = *self.by_way.entry(Way::of(key, &figure)).or_insert(place);
        if at == place {
            // Pings differ between runs; the state that they show is compared.
            let how = RunFigure { pings: None, ..figure };
            self.figures.push(Figure { name, family: family(name, &how), unit, key, how });
        }
        at
    }

    /// Whether values of two figures are comparable.
    pub(crate) fn are_comparable(&self, one: usize, other: usize) -> bool {
        let (a, b) = (&self.figures[one], &self.figures[other]);
        one == other || (a.key == b.key && obstacle(&a.how, &b.how).is_none())
    }
}

/// Whether less of a quantity is better among hosts that ought to be alike: more of a clock, and of a cache, is.
pub(crate) fn less_is_better(quantity: &Quantity, unit: Unit) -> Option<bool> {
    match quantity {
        Quantity::CoreClock | Quantity::TierSize => Some(false),
        quantity => quantity.less_is_better(unit),
    }
}

/// The figures that are judged together: what a fault of one part of the machine changes alike.
fn family(name: Option<FigureName>, figure: &RunFigure) -> String {
    // Memory in groups and at random are one family.
    let tier_of = |name: TierName| match name.is_memory() {
        true => format!("{DRAM}{}", name.distance.suffix()),
        false => name.tier.to_owned(),
    };
    if figure.quantity == Quantity::CoreClock {
        return "clock".to_owned();
    }
    if figure.quantity.is_of_interruptions() {
        return figure.quantity.name().to_owned();
    }
    if let Some(name) = name.and_then(FigureName::tier) {
        let tier = tier_of(name);
        return match name.span {
            _ if name.op == LATENCY => format!("{tier}.latency"),
            Some(Span::All) => format!("{tier}.bandwidth.all"),
            _ => format!("{tier}.bandwidth.one"),
        };
    }
    let tier = figure.labels.tier_name().and_then(|tier| tier.split(' ').next()).unwrap_or(&figure.probe);
    if figure.quantity == Quantity::TierSize {
        return format!("{}.size", tier.to_lowercase());
    }
    format!("{}.{}", tier.to_lowercase(), figure.quantity)
}

/// What a family says of local memory; `None` of caches, and of memory of other nodes.
pub(crate) fn of_local_memory(family: &str) -> Option<MemoryFigure> {
    match family.strip_prefix(DRAM)? {
        ".latency" => Some(MemoryFigure::Latency),
        ".bandwidth.one" | ".bandwidth.all" => Some(MemoryFigure::Bandwidth),
        _ => None,
    }
}
