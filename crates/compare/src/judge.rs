//! The verdict on a number of two runs.

use tiermark_model::{
    ChangeVerdict, ComparedFigure, ComparedNumber, Doubt, Grade, Interval, Labels, Obstacle, Tenancy, less_is_better,
    present_probe_id,
};
use tiermark_stats::{Between, ratio};

use crate::numbers::Number;
use crate::{LEVEL, Rules, evidence};

/// The confidence level of every interval.
const CONFIDENCE: f64 = 0.95;

/// Two numbers, before the p-values of all are known.
pub(crate) struct Pair {
    figure: ComparedFigure,
    test: Option<Test>,
}

/// What decides about a pair.
struct Test {
    /// The other value over the first.
    ratio: Between,
    p_value: Option<f64>,
    /// The only change that the numbers can show; `None` where both are trusted.
    only: Option<ChangeVerdict>,
}

impl Pair {
    /// Numbers with the same coordinates, or one that only one run has.
    pub(crate) fn new(first: Option<&Number<'_>>, other: Option<&Number<'_>>, rules: Rules) -> Self {
        let mut pair = Self { figure: figure(first, other), test: None };
        let (Some(a), Some(b)) = (first, other) else { return pair };
        let (first, other) = (probe(a), probe(b));
        if first != other {
            let why = Obstacle::Probe { first: first.to_owned(), other: other.to_owned() };
            pair.figure.verdict = ChangeVerdict::NotComparable(why);
            return pair;
        }
        pair.figure.now = tenancy(a, b);
        let direction = pair.figure.less_is_better();
        let Some(less_is_better) = direction.filter(|_| pair.figure.change.is_some()) else {
            let why = if direction.is_none() { Obstacle::NoDirection } else { Obstacle::Missing };
            pair.figure.verdict = ChangeVerdict::NotComparable(why);
            return pair;
        };
        let is_of_the_hour = pair.figure.metric.is_of_the_hour();
        if let Some(obstacle) = is_of_the_hour.then_some(Obstacle::OfTheHour).or_else(|| obstacle(a, b, rules)) {
            pair.figure.verdict = ChangeVerdict::NotComparable(obstacle);
            return pair;
        }
        match test(a, b, less_is_better) {
            Ok(test) => {
                let change = |of: f64| of - 1.0;
                let Between { low, high, .. } = test.ratio;
                pair.figure.interval = Some(Interval { low: change(low), high: change(high), level: CONFIDENCE });
                pair.test = Some(test);
            }
            Err(doubt) => pair.figure.verdict = ChangeVerdict::Unsure(doubt),
        }
        pair
    }

    /// The p-value of the difference between the two runs, without Holm's correction. `None` if nothing was tested.
    pub(crate) fn p_value(&self) -> Option<f64> {
        self.test.as_ref()?.p_value
    }

    /// The figure with its verdict, by the p-value that counts for all numbers.
    pub(crate) fn judged(self, p_value: Option<f64>, threshold: f64) -> ComparedFigure {
        let Self { mut figure, test } = self;
        figure.p_value = p_value;
        let Some(Test { ratio, only, .. }) = test else { return figure };
        let is_beyond = |ratio: f64| (ratio - 1.0).abs() > threshold;
        let is_apart = ratio.low > 1.0 || ratio.high < 1.0;
        let is_rare = p_value.is_some_and(|p| p <= LEVEL);
        let direction = match figure.less_is_better() == Some(ratio.value < 1.0) {
            true => ChangeVerdict::Better,
            false => ChangeVerdict::Worse,
        };
        figure.verdict = match only {
            // A bound says on one side only where the number is.
            Some(only) if only != direction => ChangeVerdict::Unsure(Doubt::OpenBound),
            // Nor is it known how far: near a bound there are few windows.
            Some(_) if is_apart && is_rare && is_beyond(ratio.low) && is_beyond(ratio.high) => direction,
            None if is_beyond(ratio.value) && is_apart && is_rare => direction,
            Some(_) => ChangeVerdict::Unsure(Doubt::OpenBound),
            None if is_beyond(ratio.value) => ChangeVerdict::Unsure(Doubt::MayBeChance),
            None if is_beyond(ratio.low) || is_beyond(ratio.high) => ChangeVerdict::Unsure(Doubt::WideInterval),
            None => ChangeVerdict::Same,
        };
        figure
    }
}

/// The present name of a number's probe.
fn probe<'a>(number: &Number<'a>) -> &'a str {
    present_probe_id(&number.experiment.request.probe)
}

/// The parts of both numbers that are compared: of private caches what one core gets, where the cores differ in number.
fn parts(a: &Number<'_>, b: &Number<'_>) -> Option<[f64; 2]> {
    let (first, other) = a.private_cores().zip(b.private_cores()).filter(|(first, other)| first != other)?;
    Some([1.0 / first as f64, 1.0 / other as f64])
}

/// Both numbers without a verdict; of one that only one run has, that.
fn figure(first: Option<&Number<'_>>, other: Option<&Number<'_>>) -> ComparedFigure {
    let missing = if first.is_some() { Obstacle::OnlyInFirst } else { Obstacle::OnlyInOther };
    let shown = first.or(other).map(|number| (number.experiment, number.finding));
    let parts = first.zip(other).and_then(|(a, b)| parts(a, b));
    let described = |number: Option<&Number<'_>>| number.map(Number::described);
    let (first, other) = (described(first), described(other));
    let change_of = |of: fn(&ComparedNumber) -> Option<f64>| {
        let sound = |number: &Option<ComparedNumber>| of(number.as_ref()?).filter(|v| v.is_finite() && *v > 0.0);
        sound(&first).zip(sound(&other)).map(|(a, b)| b / a - 1.0)
    };
    let change_per_core = change_of(|number| number.per_core);
    let change_per_socket = change_of(|number| number.per_socket);
    let change = change_of(|number| number.value);
    ComparedFigure {
        probe: shown.map(|(e, _)| present_probe_id(&e.request.probe).to_owned()).unwrap_or_default(),
        metric: shown.map_or_else(|| String::new().into(), |(_, finding)| finding.metric.clone()),
        labels: shown.map_or_else(Labels::new, |(_, finding)| finding.labels.clone()),
        unit: shown.map_or(tiermark_model::Unit::Count, |(_, finding)| finding.unit),
        change: if parts.is_some() { change_per_core } else { change },
        is_per_core: parts.is_some(),
        change_per_core,
        change_per_socket,
        first,
        other,
        interval: None,
        p_value: None,
        verdict: ChangeVerdict::NotComparable(missing),
        now: None,
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
        Grade::Trusted | Grade::Bound => {}
    }
    a.basis().obstacle(&b.basis(), rules.by_role)
}

fn test(a: &Number<'_>, b: &Number<'_>, less_is_better: bool) -> Result<Test, Doubt> {
    if a.is_open() && b.is_open() {
        return Err(Doubt::BothBounds);
    }
    let [part_a, part_b] = parts(a, b).unwrap_or([1.0; 2]);
    let (first, other) = (evidence::between(a.finding, part_a), evidence::between(b.finding, part_b));
    let (Some(first), Some(other)) = (first, other) else { return Err(Doubt::NoInterval) };
    let ratio = ratio(other, first).ok_or(Doubt::NoInterval)?;
    let only = match (a.is_open(), b.is_open()) {
        // The hardware is at least as good as a bound.
        (false, true) => Some(ChangeVerdict::Better),
        (true, false) => Some(ChangeVerdict::Worse),
        _ => None,
    };
    let p_value = match only {
        Some(_) => evidence::p_value_of_bound(ratio),
        None => evidence::p_value((a, part_a), (b, part_b), ratio, less_is_better),
    };
    Ok(Test { ratio, p_value, only })
}

/// What programs got, where the steps of both numbers say so.
fn tenancy(a: &Number<'_>, b: &Number<'_>) -> Option<Tenancy> {
    less_is_better(&a.finding.metric, a.finding.unit)?;
    let (first, other) = (a.seen?.now?, b.seen?.now?);
    let change = other.median / first.median - 1.0;
    change.is_finite().then_some(Tenancy { first, other, change })
}
