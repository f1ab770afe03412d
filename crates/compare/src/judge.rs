//! The verdict on a number of two runs.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use tiermark_model::{
    ChangeVerdict, ComparedFigure, ComparedNumber, ConditionDifference, Doubt, FEWEST_JUDGED, Grade, Interval, Labels,
    Obstacle,
};
use tiermark_stats::{Between, ratio};

use crate::evidence::{Places, Weighed};
use crate::numbers::Number;
use crate::others::Tested;
use crate::scatter::{Family, Noise};
use crate::{LEVEL, Rules, evidence, kernels};

/// The confidence level of every interval.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// Two numbers, before the p-values of all are known.
pub(crate) struct ComparedPair {
    figure: ComparedFigure,
    test: Option<Test>,
}

/// Numbers with one mean: a family, under conditions that differ in the same way.
pub(crate) type Members<'n> = (&'n Family, &'n [ConditionDifference]);

/// What decides about a pair.
struct Test {
    family: Family,
    /// The conditions that differ, without the kernel: each operation has its own.
    differs: Vec<ConditionDifference>,
    /// Whether its family has a tier and it is no point of a curve: then it counts for the mean of the family.
    is_of_family: bool,
    /// The other value over the first.
    ratio: Between,
    /// How many runs the first value is the mean of.
    runs: usize,
    places: Places,
    /// The scatter between runs that the intervals of both contain, where both say it.
    between_runs: Option<f64>,
    /// The only change that the numbers can show; `None` where both are trusted.
    only: Option<ChangeVerdict>,
}

impl ComparedPair {
    /// Numbers with the same coordinates, or one that only one run has. `more`: the number in further first runs.
    pub(crate) fn new(
        first: Option<&Number<'_>>,
        more: &[&Number<'_>],
        other: Option<&Number<'_>>,
        rules: Rules,
    ) -> Self {
        let kernel = match (first, other) {
            (Some(a), Some(b)) => kernels::common(a, b, rules),
            _ => first.and_then(Number::kernel),
        };
        let mut pair = Self { figure: figure(first, other, kernel), test: None };
        let Some(a) = first else { return pair };
        let mean = mean_of_runs(a, more, kernel, rules, |_| Some(1.0));
        if let (Some((mean, runs)), Some(first)) = (mean, &mut pair.figure.first) {
            first.value = Some(mean.value);
            first.interval = Some(Interval { low: mean.low, high: mean.high, level: CONFIDENCE });
            first.runs = Some(runs as u64);
        }
        let Some(b) = other else { return pair };
        if let (true, Some(was), Some(is)) = (a.finding.quantity.is_of_faults(), a.finding.value, b.finding.value) {
            pair.figure.change = Some((is - was) / was.max(1.0));
            let verdict = match is.total_cmp(&was) {
                Ordering::Less => ChangeVerdict::Better,
                Ordering::Equal => ChangeVerdict::Same,
                Ordering::Greater => ChangeVerdict::Worse,
            };
            // An invalid run cannot show fewer faults.
            let why = obstacle(a, b, rules).filter(|_| verdict != ChangeVerdict::Worse);
            pair.figure.verdict = why.map_or(verdict, ChangeVerdict::NotComparable);
            return pair;
        }
        // The mean that is judged: per cycle where both numbers are.
        let judged = cycles(a, b).map_or(mean, |_| mean_of_runs(a, more, kernel, rules, |number| number.in_cycles()));
        if let (Some((mean, _)), Some((judged, _)), Some(value)) = (mean, judged, b.value_of(kernel)) {
            let own = value * cycles(a, b).map_or(1.0, |[_, own]| own);
            let change = own / judged.value;
            pair.figure.change = Some(change - 1.0).filter(|c| c.is_finite());
            pair.figure.clock_change = cycles(a, b).map(|_| value / mean.value / change - 1.0);
        }
        let (first, other) = (probe(a), probe(b));
        if first != other {
            let why = Obstacle::Probe { first: first.to_owned(), other: other.to_owned() };
            pair.figure.verdict = ChangeVerdict::NotComparable(why);
            return pair;
        }
        let direction = pair.figure.less_is_better();
        let Some(less_is_better) = direction.filter(|_| pair.figure.change.is_some()) else {
            let why = if direction.is_none() { Obstacle::NoDirection } else { Obstacle::Missing };
            pair.figure.verdict = ChangeVerdict::NotComparable(why);
            return pair;
        };
        let is_of_the_hour = pair.figure.is_of_the_hour();
        let found = is_of_the_hour.then_some(Obstacle::OfTheHour).or_else(|| obstacle(a, b, rules));
        if let Some(obstacle) = found {
            pair.figure.verdict = ChangeVerdict::NotComparable(obstacle);
            return pair;
        }
        if is_of_few(a) && is_of_few(b) {
            pair.figure.verdict = ChangeVerdict::NotComparable(Obstacle::FewEvents);
            return pair;
        }
        match test(a, judged, b, kernel, less_is_better) {
            Ok(test) => pair.test = Some(test),
            Err(doubt) => pair.figure.verdict = ChangeVerdict::Unsure(doubt),
        }
        pair
    }

    /// The same with the reason for which only one run has the number, if there is one.
    pub(crate) fn because(mut self, why: Option<Obstacle>) -> Self {
        if let Some(why) = why {
            self.figure.verdict = ChangeVerdict::NotComparable(why);
        }
        self
    }

    /// The family of a tested number, how its allocations differ, and the scatter between runs in its intervals.
    pub(crate) fn offsets(&self) -> Option<(&Family, &[f64], Option<f64>)> {
        let between_runs = |test: &Test| test.between_runs.filter(|_| test.only.is_none());
        self.test.as_ref().map(|test| (&test.family, test.places.offsets.as_slice(), between_runs(test)))
    }

    /// The family that it counts for, with the conditions that differ, and whether less is better; `None` of bounds.
    pub(crate) fn family(&self) -> Option<(Members<'_>, bool)> {
        let test = self.test.as_ref().filter(|test| test.only.is_none() && test.is_of_family)?;
        Some(((&test.family, &test.differs), self.figure.less_is_better()?))
    }

    /// The difference with its p-value, without Holm's correction. `None` if nothing was tested.
    pub(crate) fn weighed(&self, noises: &BTreeMap<Family, Noise>) -> Option<Weighed> {
        let test = self.test.as_ref()?;
        let noise = noises.get(&test.family)?;
        let scatter = noise.usual.at_least(test.between_runs);
        let of_places = test.places.known + test.places.of_edges * noise.places;
        let own = evidence::variance(test.ratio) + if noise.scatter.runs == 0 { of_places } else { 0.0 };
        evidence::weighed(test.ratio.value.ln(), own, 1.0 + 1.0 / test.runs as f64, 1, scatter)
    }

    /// The figure with its verdict, by the p-value that counts for all numbers.
    pub(crate) fn judged(self, tested: Option<Tested>, p_value: Option<f64>, threshold: f64) -> ComparedFigure {
        let Self { mut figure, test } = self;
        figure.p_value = p_value;
        let (Some(Test { ratio, only, .. }), Some(tested)) = (test, tested) else { return figure };
        let wide = interval(ratio, tested.alone);
        let decisive = tested.against.map_or(wide, |against| interval(ratio, against));
        let is_beyond = |ratio: f64| (ratio - 1.0).abs() > threshold;
        let is_apart = if ratio.value > 1.0 { decisive.low > 1.0 } else { decisive.high < 1.0 };
        let is_rare = p_value.is_some_and(|p| p <= LEVEL);
        let direction = match figure.less_is_better() == Some(ratio.value < 1.0) {
            true => ChangeVerdict::Better,
            false => ChangeVerdict::Worse,
        };
        figure.verdict = match only {
            // A bound says on one side only where the number is.
            Some(only) if only != direction => ChangeVerdict::Unsure(Doubt::OpenBound),
            // Nor is it known how far: near a bound there are few windows.
            Some(_) if is_apart && is_rare && is_beyond(wide.low) && is_beyond(wide.high) => direction,
            None if is_beyond(ratio.value) && is_apart && is_rare => direction,
            Some(_) => ChangeVerdict::Unsure(Doubt::OpenBound),
            None if is_beyond(ratio.value) => ChangeVerdict::Unsure(Doubt::MayBeChance),
            // Of what these runs measured: that the hardware is the same within the threshold takes more runs.
            None if is_beyond(ratio.low) || is_beyond(ratio.high) => ChangeVerdict::Unsure(Doubt::WideInterval),
            None => ChangeVerdict::Same,
        };
        let shows_alone = tested.shows_alone && figure.verdict.has_moved();
        // A change that may be chance is not shown with an interval that says otherwise.
        let differs = figure.verdict.has_moved() || wide.low > 1.0 || wide.high < 1.0;
        figure.is_against_family = tested.against.is_some() && differs && !shows_alone;
        let shown = if figure.is_against_family { decisive } else { wide };
        figure.interval = Some(Interval { low: shown.low - 1.0, high: shown.high - 1.0, level: CONFIDENCE });
        figure
    }
}

/// The interval of a change as it is tested: of the ratio, or of what is left of it without what its family shares.
fn interval(ratio: Between, tested: Weighed) -> Between {
    let left = tested.difference.exp() / ratio.value;
    let ratio = Between { value: ratio.value * left, low: ratio.low * left, high: ratio.high * left };
    evidence::widened(ratio, (tested.whole - evidence::variance(ratio)).max(0.0))
}

/// The mean of a number over runs of a baseline, by one kernel, in units of so many of its own, and their count; `None`
/// of one run. Bounds have no mean.
fn mean_of_runs(
    first: &Number<'_>,
    more: &[&Number<'_>],
    kernel: Option<&str>,
    rules: Rules,
    unit: fn(&Number<'_>) -> Option<f64>,
) -> Option<(Between, usize)> {
    let is_comparable = |number: &&&Number<'_>| !number.is_open() && obstacle(first, number, rules).is_none();
    let more: Vec<&&Number<'_>> = more.iter().filter(is_comparable).collect();
    if more.is_empty() || first.is_open() || rules.by_role {
        return None;
    }
    let all = [first].into_iter().chain(more.into_iter().copied());
    let all: Vec<Between> = all.filter_map(|number| evidence::between(number, kernel, unit(number)?)).collect();
    Some((evidence::mean(&all)?, all.len()))
}

/// Whether it is of too few interruptions to be judged.
fn is_of_few(number: &Number<'_>) -> bool {
    number.finding.quantity.is_of_interruptions() && number.finding.samples < FEWEST_JUDGED
}

/// The present name of a number's probe.
fn probe<'a>(number: &Number<'a>) -> &'a str {
    &number.experiment.request.probe
}

/// The parts of both numbers that are compared: of private caches what one core gets, where the cores differ in number.
fn parts(a: &Number<'_>, b: &Number<'_>) -> Option<[f64; 2]> {
    let (first, other) = a.private_cores().zip(b.private_cores()).filter(|(first, other)| first != other)?;
    Some([1.0 / first as f64, 1.0 / other as f64])
}

/// Factors that take both numbers to cycles of the core; `None` unless both are per cycle.
fn cycles(a: &Number<'_>, b: &Number<'_>) -> Option<[f64; 2]> {
    Some([a.in_cycles()?, b.in_cycles()?])
}

/// Both numbers by one kernel, without a verdict; of one that only one run has, that.
fn figure(first: Option<&Number<'_>>, other: Option<&Number<'_>>, kernel: Option<&str>) -> ComparedFigure {
    let missing = if first.is_some() { Obstacle::OnlyInFirst } else { Obstacle::OnlyInOther };
    let labels = first.or(other).map_or_else(Labels::new, Number::labels);
    let shown = first.or(other).map(|number| (number.experiment, number.finding));
    let name = first.or(other).and_then(|number| number.name);
    let parts = first.zip(other).and_then(|(a, b)| parts(a, b));
    let described = |number: Option<&Number<'_>>| number.map(|number| number.described(kernel));
    let cycles = first.zip(other).and_then(|(a, b)| cycles(a, b));
    let is_sound = |value: &f64| value.is_finite() && *value > 0.0;
    let judged = |number: &Number<'_>| number.judged(kernel).map(|(value, _)| value).filter(is_sound);
    let change = first.zip(other).and_then(|(a, b)| Some(judged(b)? / judged(a)? - 1.0));
    let chosen = first.and_then(Number::kernel).zip(other.and_then(Number::kernel));
    let is_choice = chosen.is_some_and(|(first, other)| first != other);
    let differs = first
        .zip(other)
        .map_or_else(Vec::new, |(a, b)| a.differs(b).into_iter().chain(kernels::differs(a, b, kernel)).collect());
    let (first, other) = (described(first), described(other));
    let change_of = |field: fn(&ComparedNumber) -> Option<f64>| {
        let sound = |number: &Option<ComparedNumber>| field(number.as_ref()?).filter(is_sound);
        sound(&first).zip(sound(&other)).map(|(a, b)| b / a - 1.0)
    };
    let change_per_core = change_of(|number| number.per_core);
    let change_per_socket = change_of(|number| number.per_socket);
    // Of the value, what is left when the change per cycle is taken out is the clock's.
    let clock_change = cycles.filter(|_| change.is_some()).map(|[first, other]| first / other - 1.0);
    let change = change.map(|of| (1.0 + of) / (1.0 + clock_change.unwrap_or(0.0)) - 1.0);
    ComparedFigure {
        probe: shown.map(|(e, _)| e.request.probe.clone()).unwrap_or_default(),
        quantity: shown.map_or_else(|| String::new().into(), |(_, finding)| finding.quantity.clone()),
        labels,
        name: name.map(|name| name.to_string()),
        unit: shown.map_or(tiermark_model::Unit::Count, |(_, finding)| finding.unit),
        change: if parts.is_some() { change_per_core } else { change },
        is_per_core: parts.is_some(),
        clock_change,
        change_per_core,
        change_per_socket,
        first,
        other,
        kernel: kernel.filter(|_| is_choice).map(str::to_owned),
        differs,
        is_against_family: false,
        interval: None,
        p_value: None,
        verdict: ChangeVerdict::NotComparable(missing),
    }
}

/// Why two numbers do not describe one thing, or must not be compared.
fn obstacle(a: &Number<'_>, b: &Number<'_>, rules: Rules) -> Option<Obstacle> {
    let (first, other) = (a.experiment.method, b.experiment.method);
    if first != other {
        return Some(Obstacle::Method { first, other });
    }
    if a.is_of_a_place() || b.is_of_a_place() {
        return Some(Obstacle::Place);
    }
    let grade = a.finding.verdict.grade.max(b.finding.verdict.grade);
    match grade {
        Grade::Invalid => return Some(Obstacle::Missing),
        Grade::Suspect => return Some(Obstacle::Suspect),
        Grade::Trusted | Grade::Shared | Grade::Bound => {}
    }
    a.basis().obstacle(&b.basis(), rules.by_role)
}

fn test(
    a: &Number<'_>,
    mean: Option<(Between, usize)>,
    b: &Number<'_>,
    kernel: Option<&str>,
    less_is_better: bool,
) -> Result<Test, Doubt> {
    if a.is_open() && b.is_open() {
        return Err(Doubt::BothBounds);
    }
    let cycles = cycles(a, b).filter(|_| parts(a, b).is_none());
    let [part_a, part_b] = parts(a, b).or(cycles).unwrap_or([1.0; 2]);
    let (first, other) = (evidence::between(a, kernel, part_a), evidence::between(b, kernel, part_b));
    let (first, runs) = mean.map_or((first, 1), |(mean, runs)| (Some(mean), runs));
    let (Some(first), Some(other)) = (first, other) else { return Err(Doubt::NoInterval) };
    let ratio = ratio(other, first).ok_or(Doubt::NoInterval)?;
    let only = match (a.is_open(), b.is_open()) {
        // The hardware is at least as good as a bound.
        (false, true) => Some(ChangeVerdict::Better),
        (true, false) => Some(ChangeVerdict::Worse),
        _ => None,
    };
    let labels = &b.finding.labels;
    let family = Family::of(&b.finding.quantity, labels, cycles.is_some());
    let is_of_family = !family.tier.is_empty() && !labels.is_point();
    let places = Places::of(a, b, less_is_better);
    let assumed = evidence::between_runs(a).zip(evidence::between_runs(b));
    let between_runs = assumed.map(|(a, b)| a.hypot(b) / std::f64::consts::SQRT_2);
    Ok(Test { family, differs: a.differs(b), is_of_family, ratio, runs, places, between_runs, only })
}
