//! The service level: limits for tenants, and whether a trial kept them.
//!
//! Percentiles are taken of a tenant's requests, or of all requests together, and never averaged; the one exception
//! reproduces the brief's mean of P99s and is named so wherever it stands.

mod limits;

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;
use tiermark_model::Note;
use tiermark_model::capacity::Outcome;
use tiermark_model::messages::trials as says;
use tiermark_stats::{BEYOND, normal_beyond, quantile_ranks, share_interval};

use crate::steady::HitTrend;
use crate::table::table;
pub use limits::{Limit, Quantity, TenantAggregation};

table! {
    /// The service level: limits of response times, and the shares of requests that servers must answer and find.
    Level {
        /// Limits, all of which must hold.
        limits: Vec<Limit> = "list of \"average < 50us\", \"p99 < 300us\", \"max < 1s\", \"rate > 99.5%\", \
            \"hit rate > 90%\"";
        /// Whom the limits are for: every tenant, a share of them, all requests together, or means over the tenants.
        scope: TenantAggregation = "\"every\", \"quantile:0.95\", \"pooled\" or \"brief\"", serde(default);
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits: Vec<String> = self.limits.iter().map(ToString::to_string).collect();
        let whom = match self.scope {
            TenantAggregation::Every => "of every tenant".to_owned(),
            TenantAggregation::Quantile(share) => format!("of {} % of the tenants", share * 100.0),
            TenantAggregation::Pooled => "of all requests together".to_owned(),
            TenantAggregation::Brief => "as means over the tenants (the brief's)".to_owned(),
        };
        write!(f, "{} {whom}", limits.join(", "))
    }
}

/// What one tenant got in a trial.
#[derive(Debug, Clone, Copy)]
pub struct Served<'a> {
    /// Response times in ns, from the intended start.
    pub times: &'a Histogram<u64>,
    /// Requests answered over requests due by the schedule.
    pub achieved: f64,
    /// GETs that were answered.
    pub gets: u64,
    /// Those that found their key.
    pub hits: u64,
}

/// Whether a level was kept, and what decided it.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Whether the level was kept.
    pub outcome: Outcome,
    /// Why, with figures, of the limit that decided.
    pub decided_by: Note,
}

/// A quantity of one tenant, of all, or a mean over them.
#[derive(Debug, Clone, Copy)]
struct Figure {
    value: f64,
    /// Interval: 97.5 % sure of the end that shows that a limit is kept, and of all ends together that show that limits
    /// are missed: of times the lower, of shares the upper. One that cannot be had is infinite.
    interval: (f64, f64),
}

impl Figure {
    fn exact(value: f64) -> Self {
        Self { value, interval: (value, value) }
    }

    fn against(&self, limit: &Limit) -> Outcome {
        match self.interval {
            // The limit of a share is a minimum.
            (low, _) if limit.of.is_share() && low >= limit.at => Outcome::Pass,
            (_, high) if limit.of.is_share() && high >= limit.at => Outcome::Unclear,
            _ if limit.of.is_share() => Outcome::Fail,
            (_, high) if high <= limit.at => Outcome::Pass,
            (low, _) if low > limit.at => Outcome::Fail,
            _ => Outcome::Unclear,
        }
    }

    fn shown(&self, limit: &Limit) -> String {
        let value = limit.value(self.value);
        match self.interval {
            (low, high) if low == high => value,
            (low, high) if high.is_infinite() => {
                format!("{value} (at least {}: too few requests for an upper bound)", limit.value(low))
            }
            (low, high) => format!("{value} ({} to {})", limit.value(low), limit.value(high)),
        }
    }
}

/// Values at ranks (from 1, rising) of a histogram: the largest of the bucket, so that nothing is made smaller.
fn at_ranks<const N: usize>(times: &Histogram<u64>, ranks: [u64; N]) -> [f64; N] {
    let mut found = [times.max() as f64; N];
    let (mut seen, mut next) = (0, 0);
    for bucket in times.iter_recorded() {
        seen += bucket.count_at_value();
        while next < N && ranks[next] <= seen {
            found[next] = (bucket.value_iterated_to() as f64).min(times.max() as f64);
            next += 1;
        }
    }
    found
}

/// Times that a trial is judged: again after a longer measurement if the first was unclear. Both together are to be
/// wrong as seldom as one (Bonferroni).
pub(crate) const EVALUATIONS: f64 = 2.0;

/// A quantity of one tenant, of so many that are judged together; `None` where it answered no request.
///
/// That a percentile is above its limit, or a hit rate below, is to be wrong in 2.5 % of the cases for all of them together, not for each: of
/// a hundred tenants that keep a promise by little some would otherwise look as if they broke it, the more the more
/// there are (Bonferroni; Dunn 1961). That it is kept has to be shown of each anyhow.
fn figure(of: Quantity, served: &Served<'_>, together: usize) -> Option<Figure> {
    let times = served.times;
    if times.is_empty() && !of.is_share() {
        return None;
    }
    Some(match of {
        Quantity::Rate => Figure::exact(served.achieved),
        // Without GETs it may be anything.
        Quantity::HitRate if served.gets == 0 => Figure { value: 0.0, interval: (0.0, 1.0) },
        Quantity::HitRate => {
            let beyond = BEYOND / EVALUATIONS;
            let value = served.hits as f64 / served.gets as f64;
            let (low, _) = share_interval(served.hits, served.gets, beyond)?;
            let (_, high) = share_interval(served.hits, served.gets, beyond / together.max(1) as f64)?;
            Figure { value, interval: (low, high) }
        }
        Quantity::Average => {
            // By the central limit theorem; waits behind each other make it narrower than it should be.
            let (mean, error) = (times.mean(), times.stdev() / (times.len() as f64).sqrt());
            let below = normal_beyond(BEYOND / EVALUATIONS / together.max(1) as f64) * error;
            let above = normal_beyond(BEYOND / EVALUATIONS) * error;
            Figure { value: mean, interval: ((mean - below).max(0.0), mean + above) }
        }
        Quantity::Maximum => Figure::exact(times.max() as f64),
        Quantity::Percentile(percent) => {
            let (n, p) = (times.len(), percent / 100.0);
            let beyond = BEYOND / EVALUATIONS;
            let ranks = quantile_ranks(n, p, beyond)?;
            let lowest = quantile_ranks(n, p, beyond / together.max(1) as f64)?.low;
            // Nearest rank: the smallest value that at least p of the requests do not exceed.
            let rank = ((n as f64 * p).ceil() as u64).clamp(1, n);
            let [low, value, high] = at_ranks(times, [lowest.unwrap_or(1), rank, ranks.high.unwrap_or(n)]);
            let low = if lowest.is_some() { low } else { 0.0 };
            let high = if ranks.high.is_some() { high } else { f64::INFINITY };
            Figure { value, interval: (low, high) }
        }
    })
}

impl Level {
    /// Holds what tenants got against the limits.
    pub fn judge(&self, tenants: &[Served<'_>]) -> Judgement {
        if tenants.is_empty() {
            return Judgement { outcome: Outcome::Fail, decided_by: says::no_tenant_served() };
        }
        if let Some(silent) = tenants.iter().position(|t| t.times.is_empty()) {
            // Silent tenants count: the published test left them out, so that the others seemed to be all.
            return Judgement { outcome: Outcome::Fail, decided_by: says::tenant_silent(silent as u32 + 1) };
        }
        match self.scope {
            TenantAggregation::Every => self.of_share(tenants, 1.0),
            TenantAggregation::Quantile(share) => self.of_share(tenants, share),
            TenantAggregation::Pooled => self.of_all(tenants),
            TenantAggregation::Brief => self.of_means(tenants),
        }
    }

    /// The same, but unclear where only the hit rate decides and its trend leads across the limit: a cache that still
    /// fills would be called too small, and one that begins to evict large enough.
    pub fn judge_with_trend(&self, tenants: &[Served<'_>], trend: Option<HitTrend>) -> Judgement {
        let judged = self.judge(tenants);
        let (of_hits, others): (Vec<Limit>, Vec<Limit>) =
            self.limits.iter().partition(|limit| limit.of == Quantity::HitRate);
        let Some(HitTrend { now, ahead }) = trend else { return judged };
        let crosses = |limit: &&Limit| match judged.outcome {
            Outcome::Pass => now >= limit.at && ahead < limit.at,
            Outcome::Fail => now < limit.at && ahead >= limit.at,
            Outcome::Unclear => false,
        };
        let Some(limit) = of_hits.iter().find(crosses) else { return judged };
        let others = Self { limits: others, scope: self.scope };
        if !others.limits.is_empty() && others.judge(tenants).outcome == Outcome::Fail {
            return judged;
        }
        let decided_by = says::hit_rate_moves(&limit.to_string(), ahead.into(), &judged.decided_by);
        Judgement { outcome: Outcome::Unclear, decided_by }
    }

    /// From when on a request counts as late: half the lowest limit of a percentile, since a request that its client
    /// sent late by as much says little of the server; 1 ms at most, and 50 µs at least, which waking up may take.
    pub fn late_after(&self) -> Duration {
        let limit = self.tightest(|of| matches!(of, Quantity::Percentile(_))).unwrap_or(f64::INFINITY);
        Duration::from_nanos((limit / 2.0).clamp(50e3, 1e6) as u64)
    }

    /// The lowest limit of a time, ns, among those of some quantities.
    pub fn tightest(&self, among: impl Fn(Quantity) -> bool) -> Option<f64> {
        let times = self.limits.iter().filter(|limit| !limit.of.is_share() && among(limit.of));
        times.map(|limit| limit.at).reduce(f64::min)
    }

    /// Share of all requests of the schedule that is promised to be answered at least; 1 where nothing is said of that.
    pub fn promised_rate(&self) -> f64 {
        let rates = self.limits.iter().filter(|limit| limit.of == Quantity::Rate).map(|limit| limit.at);
        let rate = rates.reduce(f64::max).unwrap_or(1.0);
        // A quantile of tenants lets the other tenants get nothing.
        if let TenantAggregation::Quantile(share) = self.scope { rate * share } else { rate }
    }

    /// A share of the tenants, each of which must keep all limits.
    fn of_share(&self, tenants: &[Served<'_>], share: f64) -> Judgement {
        let judged: Vec<Judgement> =
            tenants.iter().enumerate().map(|(at, tenant)| self.of_one(at, tenant, tenants.len())).collect();
        let count = |outcome: Outcome| judged.iter().filter(|j| j.outcome == outcome).count();
        let (passed, unclear) = (count(Outcome::Pass), count(Outcome::Unclear));
        // Rounding up must not require one tenant more where the share is a whole number of tenants.
        let wanted = (tenants.len() as f64 * share - 1e-9).ceil() as usize;
        let outcome = match () {
            () if passed >= wanted => Outcome::Pass,
            () if passed + unclear < wanted => Outcome::Fail,
            () => Outcome::Unclear,
        };
        let example = judged.iter().find(|j| j.outcome == outcome);
        let enough = || says::enough_tenants(passed, tenants.len(), wanted);
        let decided_by = match (outcome, example) {
            (Outcome::Pass, _) if passed == tenants.len() => self.closest(tenants).unwrap_or_else(enough),
            (Outcome::Fail | Outcome::Unclear, Some(example)) => {
                let failed = outcome == Outcome::Fail;
                says::too_few_tenants(failed, count(outcome), tenants.len(), &example.decided_by)
            }
            _ => enough(),
        };
        Judgement { outcome, decided_by }
    }

    /// One tenant: the first limit that fails, else the first that is not clear.
    fn of_one(&self, at: usize, tenant: &Served<'_>, together: usize) -> Judgement {
        let figures = self.limits.iter().filter_map(|limit| Some((limit, figure(limit.of, tenant, together)?)));
        worst(figures, &says::of_tenant(at + 1))
    }

    fn of_all(&self, tenants: &[Served<'_>]) -> Judgement {
        let Some(times) = pooled(tenants) else {
            return Judgement { outcome: Outcome::Unclear, decided_by: says::histograms_not_merged() };
        };
        let mean = |field: fn(&Served<'_>) -> f64| tenants.iter().map(field).sum::<f64>() / tenants.len() as f64;
        let sum = |field: fn(&Served<'_>) -> u64| tenants.iter().map(field).sum();
        let all =
            Served { times: &times, achieved: mean(|t| t.achieved), gets: sum(|t| t.gets), hits: sum(|t| t.hits) };
        worst(
            self.limits.iter().filter_map(|limit| Some((limit, figure(limit.of, &all, 1)?))),
            &says::of_all_requests(),
        )
    }

    /// Means over the tenants of averages, percentiles and shares; the largest of the maxima. As the brief: no
    /// interval.
    fn of_means(&self, tenants: &[Served<'_>]) -> Judgement {
        let figures = self.limits.iter().filter_map(|limit| {
            let values: Vec<f64> = tenants.iter().filter_map(|t| figure(limit.of, t, 1)).map(|f| f.value).collect();
            let value = match limit.of {
                Quantity::Maximum => values.iter().copied().fold(0.0, f64::max),
                _ => values.iter().sum::<f64>() / values.len() as f64,
            };
            Some((limit, Figure::exact(value))).filter(|_| !values.is_empty())
        });
        worst(figures, &says::of_means())
    }

    /// The limit that passed with the least to spare; `None` for a level without limits.
    fn closest(&self, tenants: &[Served<'_>]) -> Option<Note> {
        let of_all = self.limits.iter().flat_map(|limit| tenants.iter().map(move |tenant| (limit, tenant)));
        let used = of_all.enumerate().filter_map(|(at, (limit, tenant))| {
            let found = figure(limit.of, tenant, tenants.len())?;
            let used = if limit.of.is_share() { limit.at / found.value } else { found.value / limit.at };
            Some((used, limit, found, at % tenants.len() + 1))
        });
        let (_, limit, found, tenant) = used.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(says::closest_to_limit(&limit.to_string(), found.value, &found.shown(limit), tenant))
    }
}

/// The first figure that fails, else the first that is not clear, else all of them.
fn worst<'a>(figures: impl Iterator<Item = (&'a Limit, Figure)>, whose: &Note) -> Judgement {
    let figures: Vec<(&Limit, Figure)> = figures.collect();
    for outcome in [Outcome::Fail, Outcome::Unclear] {
        if let Some((limit, figure)) = figures.iter().find(|(limit, figure)| figure.against(limit) == outcome) {
            let (low, high) = figure.interval;
            let (text, shown) = (limit.to_string(), figure.shown(limit));
            let decided_by = says::limit_decides(limit.of.into(), &text, figure.value, low, high, &shown, whose);
            return Judgement { outcome, decided_by };
        }
    }
    let shown: Vec<String> =
        figures.iter().map(|(limit, figure)| format!("{limit}: {}", figure.shown(limit))).collect();
    Judgement { outcome: Outcome::Pass, decided_by: says::limits_kept(&shown.join(", "), whose) }
}

/// All requests of all tenants; `None` for no tenant, or where the machine has no room for it.
pub fn pooled(tenants: &[Served<'_>]) -> Option<Histogram<u64>> {
    let (first, others) = tenants.split_first()?;
    let mut all = first.times.clone();
    all.auto(true);
    for other in others {
        all.add(other.times).ok()?;
    }
    Some(all)
}

#[cfg(test)]
mod tests;
