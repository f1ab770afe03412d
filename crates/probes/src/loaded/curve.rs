//! Findings of a curve of latency over bandwidth.

use tiermark_model::messages::memory;
use tiermark_model::{
    Finding, Grade, Interval, LabelSet, LatencyTarget, Observation, PageKind, Purpose, Quantity, Unit, Verdict,
};

use super::curve_spec::CurveSpec;
use super::pauses::{LoadPoint, by_pressure, knee_of, monotone, rising};
use crate::ground::{Says, grounded};
use crate::ladder::{derived, with_purpose};

/// Bandwidth lost at full pressure counts as overload beyond this share: twice what a point may be off.
const LOST: f64 = 0.04;

/// A curve's points with the observations behind them, in order of rising pressure; points without numbers are skipped.
pub(super) fn points_of<'a>(family: &CurveSpec, observations: &'a [Observation]) -> Vec<(LoadPoint, &'a Observation)> {
    let unloaded = with_purpose(observations, Purpose::Unloaded)
        .filter(|o| family.site.owns(o))
        .filter_map(|o| Some((LoadPoint { pause: None, rate: 0.0, latency: o.value? }, o)));
    let loaded = observations.iter().filter(|o| family.owns(o)).filter_map(|o| {
        let pause = o.labels.pause().and_then(|p| u32::try_from(p).ok())?;
        let rate = tiermark_model::LoadPoint::of(o)?.rate;
        Some((LoadPoint { pause: Some(pause), rate, latency: o.value? }, o))
    });
    let mut points: Vec<(LoadPoint, &Observation)> = unloaded.chain(loaded).collect();
    points.sort_by_key(|(p, _)| p.pause.map_or((0, 0), |pause| (1, u32::MAX - pause)));
    points
}

/// A curve with what finds its observations again.
struct Reading<'a> {
    family: &'a CurveSpec,
    page: PageKind,
    points: Vec<(LoadPoint, &'a Observation)>,
}

/// All findings of one curve.
pub(super) fn findings(
    family: &CurveSpec,
    page: PageKind,
    target_ns: Option<f64>,
    observations: &[Observation],
) -> Vec<Finding> {
    let reading = Reading { family, page, points: points_of(family, observations) };
    let mut findings: Vec<Finding> = Vec::new();
    if family.curve {
        findings.extend(reading.unloaded());
        findings.extend(reading.knee());
        findings.extend(reading.most());
        findings.extend(reading.saturated());
        findings.extend(target_ns.and_then(|target| reading.at_target(target)));
        findings.extend(reading.overload());
    }
    findings.extend(
        with_purpose(observations, Purpose::Peak)
            .filter(|o| family.site.owns(o) && o.labels.mix() == Some(&family.traffic.name()))
            .filter_map(|o| reading.peak(o)),
    );
    findings
}

impl Reading<'_> {
    fn plain(&self) -> Vec<LoadPoint> {
        self.points.iter().map(|(point, _)| *point).collect()
    }

    /// A finding that rests on some points: the worst of their verdicts, all of them as evidence.
    fn finding(&self, quantity: Quantity, value: Option<f64>, unit: Unit, on: &[LoadPoint]) -> Finding {
        let seen: Vec<&Observation> =
            self.points.iter().filter(|(p, _)| on.iter().any(|q| q.pause == p.pause)).map(|(_, o)| *o).collect();
        Finding {
            samples: seen.iter().map(|o| o.visits.len() as u64).sum(),
            verdict: seen.iter().fold(Verdict::trusted(), |verdict, o| verdict.and(&o.verdict)),
            evidence: seen.iter().map(|o| o.step.clone()).collect(),
            ..Finding::new(quantity, self.family.labels(Purpose::Loaded, self.page), value, unit)
        }
    }

    fn unloaded(&self) -> Option<Finding> {
        let (point, seen) = self.points.iter().find(|(p, _)| p.pause.is_none())?;
        let found = self.finding(Quantity::LoadedUnloaded, Some(point.latency), Unit::Ns, &[*point]);
        Some(Finding { interval: seen.interval, ..found })
    }

    /// The bandwidth at which latency begins to rise steeply; without a bend, a finding with the reason.
    fn knee(&self) -> Option<Finding> {
        let points = self.plain();
        let rising = rising(&points);
        // One point is no curve.
        let [first, .., last] = rising[..] else { return None };
        let Some(knee) = knee_of(&points) else {
            let found = self.finding(Quantity::LoadedKnee, None, Unit::BytesPerSecond, &rising);
            return Some(found.with_notes([memory::no_knee_under_load(
                last.rate.into(),
                first.latency.into(),
                last.latency.into(),
            )]));
        };
        let at = rising.iter().position(|p| p.pause == knee.pause)?;
        let beside = &rising[at.saturating_sub(1)..(at + 2).min(rising.len())];
        // It is one of the measured points: its neighbours say how well it is resolved.
        let interval =
            beside.first().zip(beside.last()).map(|(a, b)| Interval { low: a.rate, high: b.rate, level: 1.0 });
        // Without the idle one, as Kneedle had them.
        let points = rising.iter().filter(|p| p.pause.is_some()).count();
        let note = memory::knee_under_load(
            knee.latency.into(),
            points,
            beside[0].rate.into(),
            beside[beside.len() - 1].rate.into(),
        );
        let found = self.finding(Quantity::LoadedKnee, Some(knee.rate), Unit::BytesPerSecond, beside);
        let found = Finding { interval, ..found.with_notes([note]) };
        let loaded: Vec<&Observation> =
            self.points.iter().filter(|(point, _)| point.pause.is_some()).map(|(_, seen)| *seen).collect();
        Some(grounded(found, &loaded, loaded.len(), Says::Bend))
    }

    /// The most that the injectors moved beside the chaser.
    fn most(&self) -> Option<Finding> {
        let most = self.plain().into_iter().filter(|p| p.pause.is_some()).max_by(|a, b| a.rate.total_cmp(&b.rate))?;
        let found = self.finding(Quantity::LoadedMost, Some(most.rate), Unit::BytesPerSecond, &[most]);
        Some(found.with_notes([memory::by_the_injectors()]))
    }

    /// The latency without any pause.
    fn saturated(&self) -> Option<Finding> {
        if self.family.traffic.always_pauses() {
            return None;
        }
        let (full, seen) = self.points.iter().find(|(p, _)| p.pause == Some(0))?;
        let found = self.finding(Quantity::LoadedSaturated, Some(full.latency), Unit::Ns, &[*full]);
        Some(Finding { interval: seen.interval, ..found.with_notes([memory::without_pauses(full.rate.into())]) })
    }

    /// The bandwidth up to which latency stays below a target, between measured points on a straight line.
    fn at_target(&self, target: f64) -> Option<Finding> {
        let points = monotone(&rising(&self.plain()));
        let (first, last) = (*points.first()?, *points.last()?);
        let labels = |f: Finding| Finding { labels: f.labels.with_statistic(LatencyTarget(target)), ..f };
        if first.latency > target {
            let note = match first.pause {
                None => memory::target_missed_idle(first.latency.into()),
                Some(_) => memory::target_missed_under_load(first.latency.into(), first.rate.into()),
            };
            let found = self.finding(Quantity::LoadedAtTarget, None, Unit::BytesPerSecond, &[first]);
            return Some(labels(found.with_notes([note])));
        }
        let Some(pair) = points.windows(2).find(|p| p[1].latency > target) else {
            let found = self.finding(Quantity::LoadedAtTarget, Some(last.rate), Unit::BytesPerSecond, &[last]);
            return Some(labels(found.with_notes([memory::curve_ends_below_target(last.latency.into())])));
        };
        let share = (target - pair[0].latency) / (pair[1].latency - pair[0].latency);
        let rate = pair[0].rate + share * (pair[1].rate - pair[0].rate);
        Some(labels(self.finding(Quantity::LoadedAtTarget, Some(rate), Unit::BytesPerSecond, pair)))
    }

    /// The share of the most bandwidth that is lost where pressure is highest; only where it is more than noise.
    fn overload(&self) -> Option<Finding> {
        let ordered = by_pressure(&self.plain());
        let most = ordered.iter().copied().max_by(|a, b| a.rate.total_cmp(&b.rate))?;
        let last = *ordered.last().filter(|p| p.pause.is_some())?;
        let lost = 1.0 - last.rate / most.rate;
        (lost > LOST).then(|| {
            let found = self.finding(Quantity::LoadedOverload, Some(lost), Unit::Ratio, &[most, last]);
            found.with_notes([memory::bandwidth_falls(most.rate.into(), last.rate.into())])
        })
    }

    /// The most that all cores moved, without a chaser.
    fn peak(&self, seen: &Observation) -> Option<Finding> {
        let value = seen.value.filter(|_| seen.verdict.grade != Grade::Invalid)?;
        let how = seen.labels.clone().only(LabelSet::NONE.threads().kernel());
        let labels = self.family.labels(Purpose::Loaded, self.page).and(how);
        let found = derived(seen, Quantity::LoadedPeak, labels, value, Unit::BytesPerSecond);
        Some(Finding { interval: seen.interval, ..found.with_notes([memory::all_cores_untimed()]) })
    }
}
