//! Hosts of a kind against their peers: the differences of figures and of families, and which are beyond chance.
//!
//! Each value is tested against the spread of all ([`spread`](crate::fleet::spread)). A family is judged by the mean of the differences of its figures,
//! in which the noise of single figures cancels. The p-values of a host are one (Bonferroni), and false discoveries are
//! controlled over all hosts; figures of odd hosts are then judged at a level that allows for having been chosen
//! (Benjamini & Bogomolov, "Selective Inference on Multiple Families of Hypotheses", Journal of the Royal Statistical
//! Society B 76(1), 2014).

use std::collections::{BTreeMap, HashMap};

use tiermark_model::Quantity;
use tiermark_stats::{benjamini_hochberg, student_two_sided};

use crate::fleet::catalogue::{Catalogue, Figure, Reading};
use crate::fleet::groups::OddGroup;
use crate::fleet::spread::{FamilyScatter, Spread, Usual, Value, tested};
use crate::fleet::{FEWEST, LEVEL};
use crate::{Scatter, THRESHOLD};

/// Cache sizes that differ by no more than this count as equal: a latency curve shows a size to within some 10 %.
const SIZE_THRESHOLD: f64 = 0.125;

/// The relative difference up to which two values of a quantity are the same in practice.
pub(crate) fn threshold(quantity: &Quantity) -> f64 {
    if *quantity == Quantity::TierSize { SIZE_THRESHOLD } else { THRESHOLD }
}

/// A value of a host, where its figure has a column.
pub(crate) struct Cell {
    pub(crate) reading: Reading,
    /// Its difference from the median.
    pub(crate) off: f64,
    /// p-value of the difference; 1 where it means nothing in practice, and of a bound.
    pub(crate) p_value: f64,
}

/// A figure over the hosts of a kind.
pub(crate) struct Column {
    /// The place of the figure in the catalogue, as most hosts measured it.
    pub(crate) figure: usize,
    pub(crate) median: f64,
    pub(crate) sd: f64,
    pub(crate) sharp: usize,
    /// The cells, by the host's place in the kind.
    pub(crate) cells: BTreeMap<usize, Cell>,
}

/// The mean difference of a host in a family.
pub(crate) struct Mean {
    pub(crate) figures: usize,
    pub(crate) off: f64,
    pub(crate) p_value: f64,
}

/// A group of hosts against others in a family: both means, and the p-value of their difference.
pub(crate) struct GroupTest {
    pub(crate) means: [f64; 2],
    pub(crate) p_value: f64,
}

/// A kind with its differences.
pub(crate) struct Judged {
    pub(crate) columns: Vec<Column>,
    /// For each family the means, by the host's place in the kind.
    pub(crate) families: BTreeMap<String, BTreeMap<usize, Mean>>,
    /// For each family the scatter of its means.
    scatter: BTreeMap<String, FamilyScatter>,
    /// The groups that are worse than their peers; set by [`mark`](crate::fleet::groups::mark).
    pub(crate) grouped: Vec<OddGroup>,
    /// The p-value of each host by itself; `None` of one without a tested figure.
    own: Vec<Option<f64>>,
    /// The same over all hosts; set by [`select`].
    pub(crate) p_values: Vec<Option<f64>>,
    /// The level at which the tests of an odd host are made, and its p-value over all hosts; set by [`select`].
    pub(crate) levels: Vec<Option<f64>>,
}

/// Judges the readings of the hosts of a kind; `runs`: runs that a reading is of, 2 for a change.
pub(crate) fn judged(hosts: &[&[Reading]], catalogue: &Catalogue, is_guest: bool, runs: f64) -> Judged {
    let columns = columns(hosts, catalogue, &Prior { is_guest, runs });
    let (mut families, mut scatter) = (BTreeMap::new(), BTreeMap::new());
    for (family, members) in by_family(&columns, catalogue) {
        let usual = Prior { is_guest, runs }.usual(&catalogue.figures[members[0].figure], members.len());
        let (means, found) = means(&members, usual);
        families.insert(family.clone(), means);
        scatter.insert(family, found);
    }
    let own: Vec<Option<f64>> = (0..hosts.len()).map(|host| host_p(host, &columns, &families)).collect();
    let levels = vec![None; hosts.len()];
    Judged { columns, families, scatter, grouped: Vec::new(), p_values: own.clone(), own, levels }
}

/// What one machine measured twice is known to differ by.
struct Prior {
    is_guest: bool,
    runs: f64,
}

impl Prior {
    /// What the mean of so many numbers of a figure's family differs by.
    fn usual(&self, figure: &Figure, numbers: usize) -> Usual {
        let scatter = match figure.is_in_cycles() {
            true => Scatter::in_cycles(),
            false => Scatter::of_quantity(&figure.how.quantity, self.is_guest),
        };
        let small = (1.0 + threshold(&figure.how.quantity)).ln();
        Usual { variance: scatter.variance(numbers) * self.runs, small }
    }
}

/// The columns: the figures that enough hosts have sharp values of, in the order of the catalogue.
fn columns(hosts: &[&[Reading]], catalogue: &Catalogue, prior: &Prior) -> Vec<Column> {
    let mut by_key: BTreeMap<usize, Vec<(usize, Reading)>> = BTreeMap::new();
    for (host, readings) in hosts.iter().enumerate() {
        for reading in *readings {
            by_key.entry(catalogue.figures[reading.figure].key).or_default().push((host, *reading));
        }
    }
    by_key.into_values().filter_map(|readings| column(&readings, catalogue, prior)).collect()
}

fn column(readings: &[(usize, Reading)], catalogue: &Catalogue, prior: &Prior) -> Option<Column> {
    let mut ways: HashMap<usize, usize> = HashMap::new();
    for (_, reading) in readings.iter().filter(|(_, reading)| !reading.is_open) {
        *ways.entry(reading.figure).or_default() += 1;
    }
    let figure = ways.into_iter().max_by_key(|(figure, count)| (*count, std::cmp::Reverse(*figure)))?.0;
    let fits = |reading: &Reading| catalogue.are_comparable(figure, reading.figure);
    let fitting: Vec<(usize, Reading)> = readings.iter().filter(|(_, reading)| fits(reading)).copied().collect();
    let (sharp, open): (Vec<_>, Vec<_>) = fitting.into_iter().partition(|(_, reading)| !reading.is_open);
    if sharp.len() < FEWEST {
        return None;
    }
    let values: Vec<Value> = sharp.iter().map(|(_, of)| Value { at: of.ln, variance: of.variance }).collect();
    let tested = tested(&values, prior.usual(&catalogue.figures[figure], 1));
    let median = tested.centre;
    let cell = |((host, reading), p_value): ((usize, Reading), f64)| {
        // One long interruption is chance, on whichever host it falls; its peers may all have had none.
        let p_value = if reading.is_of_few { 1.0 } else { p_value };
        (host, Cell { reading, off: reading.ln - median, p_value })
    };
    let cells = sharp.iter().copied().zip(tested.p_values).chain(open.into_iter().map(|open| (open, 1.0)));
    Some(Column { figure, median, sd: tested.sd, sharp: sharp.len(), cells: cells.map(cell).collect() })
}

fn by_family<'c>(columns: &'c [Column], catalogue: &Catalogue) -> BTreeMap<String, Vec<&'c Column>> {
    let mut families: BTreeMap<String, Vec<&Column>> = BTreeMap::new();
    for column in columns {
        families.entry(catalogue.figures[column.figure].family.clone()).or_default().push(column);
    }
    families
}

/// The means of a family of columns, and their scatter. `usual`: of a mean.
fn means(columns: &[&Column], usual: Usual) -> (BTreeMap<usize, Mean>, FamilyScatter) {
    let mut sums: BTreeMap<usize, (usize, Value)> = BTreeMap::new();
    for column in columns {
        for (host, cell) in column.cells.iter().filter(|(_, cell)| !cell.reading.is_open) {
            let (count, sum) = sums.entry(*host).or_default();
            *count += 1;
            *sum = Value { at: sum.at + cell.off, variance: sum.variance + cell.reading.variance };
        }
    }
    let mean = |(count, sum): &(usize, Value)| {
        let n = *count as f64;
        Value { at: sum.at / n, variance: sum.variance / (n * n) }
    };
    let values: Vec<Value> = sums.values().map(mean).collect();
    let tested = tested(&values, usual);
    let counts = sums.values().map(|(count, _)| *count);
    let found = counts.zip(values.iter().zip(tested.p_values));
    let means = found.map(|(figures, (of, p_value))| Mean { figures, off: of.at, p_value });
    let mut means: BTreeMap<usize, Mean> = sums.keys().copied().zip(means).collect();
    let of_few = |host: &usize| columns.iter().all(|of| of.cells.get(host).is_none_or(|cell| cell.reading.is_of_few));
    means.iter_mut().filter(|(host, _)| of_few(host)).for_each(|(_, mean)| mean.p_value = 1.0);
    (means, FamilyScatter { usual, means: values })
}

/// The p-value of a host: half of the chance of an error is for its families, half for its single figures.
fn host_p(host: usize, columns: &[Column], families: &BTreeMap<String, BTreeMap<usize, Mean>>) -> Option<f64> {
    let of_families: Vec<f64> = families.values().filter_map(|means| Some(means.get(&host)?.p_value)).collect();
    let of_figures: Vec<f64> = figures_of(host, columns).map(|cell| cell.p_value).collect();
    let least = |p_values: &[f64]| {
        let least = p_values.iter().copied().reduce(f64::min)?;
        Some((2.0 * least * p_values.len() as f64).min(1.0))
    };
    least(&of_families).into_iter().chain(least(&of_figures)).reduce(f64::min)
}

fn figures_of(host: usize, columns: &[Column]) -> impl Iterator<Item = &Cell> {
    columns.iter().filter_map(move |column| column.cells.get(&host)).filter(|cell| !cell.reading.is_open)
}

impl Judged {
    /// How many figures of a host were tested.
    pub(crate) fn tested(&self, host: usize) -> usize {
        figures_of(host, &self.columns).count()
    }

    /// How many families of a host were tested.
    pub(crate) fn families_of(&self, host: usize) -> usize {
        self.families.values().filter(|means| means.contains_key(&host)).count()
    }

    /// Whether a test of a host is beyond chance, among its tests of one sort.
    fn is_beyond(&self, host: usize, p_value: f64, tests: usize) -> bool {
        self.levels[host].is_some_and(|level| 2.0 * tests as f64 * p_value <= level)
    }

    /// Whether the mean of a family of a host is beyond chance, by itself or with its group.
    pub(crate) fn is_odd_family(&self, host: usize, family: &str, mean: &Mean) -> bool {
        let is_grouped = self.grouped.iter().any(|group| group.family == family && group.hosts.contains(&host));
        is_grouped || self.is_beyond(host, mean.p_value, self.families_of(host))
    }

    /// Whether a host is odd by its own figures.
    pub(crate) fn is_odd_alone(&self, host: usize) -> bool {
        self.levels[host].is_some()
    }

    /// How far from its peers one host must be in each family, on logarithms, to be found in [`POWER`] of the cases, if no
    /// other of `hosts` was odd.
    pub(crate) fn visible(&self, hosts: usize) -> impl Iterator<Item = (&String, f64)> {
        let tests = 2.0 * (self.families.len() * hosts.max(1)) as f64;
        self.scatter.iter().filter_map(move |(family, of)| Some((family, of.visible(LEVEL / tests)?)))
    }

    /// The means of a group of hosts and of other hosts in a family, with the p-value of their difference: by a t test,
    /// whose variance is moderated as that of single hosts. Hosts that are odd by themselves do not count, unless they
    /// are most of the group. `None` of too few hosts.
    pub(crate) fn against(&self, family: &str, group: &[usize], others: &[usize]) -> Option<GroupTest> {
        let means = self.families.get(family)?;
        let offs = |hosts: &[usize], all: bool| -> Vec<f64> {
            let counts = hosts.iter().filter(|host| all || !self.is_odd_alone(**host));
            counts.filter_map(|host| means.get(host).map(|mean| mean.off)).collect()
        };
        let odd = group.iter().filter(|host| self.is_odd_alone(**host)).count();
        let (own, peers) = (offs(group, 2 * odd > group.len()), offs(others, false));
        if own.len() < 2 || peers.len() < 2 {
            return None;
        }
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        let squares = |of: &[f64]| of.iter().map(|at| (at - mean(of)).powi(2)).sum::<f64>();
        let both = [mean(&own), mean(&peers)];
        let (difference, n) = (both[0] - both[1], own.len() + peers.len());
        // The mean of both groups takes one value more than that of all.
        let sd = ((squares(&own) + squares(&peers)) / (n - 2) as f64).sqrt();
        let usual = self.scatter.get(family)?.usual;
        let spread = Spread::new(0.0, sd, n - 1, 1.0, usual.variance);
        let variance = spread.variance * (1.0 / own.len() as f64 + 1.0 / peers.len() as f64);
        let p_value = student_two_sided(difference / variance.sqrt(), spread.degrees)?;
        // A difference that is none in practice is a test all the same.
        Some(GroupTest { means: both, p_value: if difference.abs() <= usual.small { 1.0 } else { p_value } })
    }

    /// Whether a figure of a host is beyond chance.
    pub(crate) fn is_odd_figure(&self, host: usize, cell: &Cell) -> bool {
        self.is_beyond(host, cell.p_value, self.tested(host))
    }
}

/// Chooses the odd hosts of all kinds. Those of a group that is worse are odd as a group: among many odd hosts, the rate
/// of false discoveries would allow for some sound ones.
pub(crate) fn select(kinds: &mut [Judged]) {
    let is_chosen = |kind: &Judged, host: usize| kind.grouped.iter().all(|group| !group.hosts.contains(&host));
    let of_kind = |kind: &Judged| -> Vec<(usize, f64)> {
        let tested = kind.own.iter().enumerate().filter_map(|(host, p_value)| Some((host, (*p_value)?)));
        tested.filter(|(host, _)| is_chosen(kind, *host)).collect()
    };
    let tested: Vec<Vec<(usize, f64)>> = kinds.iter().map(of_kind).collect();
    let all: Vec<f64> = tested.iter().flatten().map(|(_, p_value)| *p_value).collect();
    let mut adjusted = benjamini_hochberg(&all).into_iter();
    let odd = adjusted.clone().filter(|p| *p <= LEVEL).count();
    let level = LEVEL * odd as f64 / all.len().max(1) as f64;
    for (kind, hosts) in kinds.iter_mut().zip(&tested) {
        for ((host, _), found) in hosts.iter().zip(&mut adjusted) {
            kind.p_values[*host] = Some(found);
            kind.levels[*host] = (found <= LEVEL).then_some(level);
        }
    }
}
