//! Whether a system is steady: a measurement during fill, swapping or warm-up decides nothing.

use tiermark_model::Note;
use tiermark_model::messages::trials as says;
use tiermark_stats::{mann_kendall, median, theil_sen};

/// Windows that are looked at, the last ones.
pub const WINDOWS: usize = 10;
/// Level of the test for a trend, over all series together.
const LEVEL: f64 = 0.05;
/// Relative standard deviation of a series that counts as steady.
const VARIATION: f64 = 0.10;
/// Relative standard deviation below which a trend does not matter.
const NOTHING: f64 = 0.01;
/// The same of a hit rate: a cache that is nearly warm gains some tenths of a percent a second for minutes.
const NOTHING_OF_HITS: f64 = 0.002;
/// How many times what chance alone makes of it a series may vary: one of few events, or the mean of few requests,
/// varies by more than a tenth without anything being unsteady.
const CHANCE: f64 = 2.0;

/// Points of the hit rate in time, at most: each may stand for several seconds.
const MOST_POINTS: usize = 100;

/// One second of all tenants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Mean response time in ns.
    pub response_ns: f64,
    /// Standard error of that mean, ns: what chance does to it.
    pub response_error: f64,
    /// Major page faults; `None` where they are not counted.
    pub faults: Option<f64>,
    /// Pages swapped out; `None` where they are not counted.
    pub swapped_out: Option<f64>,
    /// Resident bytes of the tenants; `None` where they are not known.
    pub resident: Option<f64>,
    /// GETs; `None` for a second without any.
    pub hits: Option<HitRate>,
}

/// GETs that found their key over all GETs of a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HitRate {
    /// 0 to 1.
    pub share: f64,
    /// Its standard error.
    pub error: f64,
}

impl HitRate {
    /// The hit rate of `gets` GETs, of which `misses` found no key; `None` without GETs.
    pub fn of(gets: u64, misses: u64) -> Option<Self> {
        // Both are counted while the client runs, a miss perhaps before its GET.
        let (n, share) = (gets as f64, gets.saturating_sub(misses) as f64 / gets as f64);
        (gets > 0).then(|| Self { share, error: (share * (1.0 - share) / n).sqrt() })
    }
}

/// Why the system is not steady; `None` if the last [`WINDOWS`] seconds show neither a trend nor too much variation in
/// response time, faults, swap-out, resident memory and hit rate. A variation of a tenth is allowed, or more if chance
/// alone varies more: by the standard error of a mean or a share, and by the root of a count (Poisson).
///
/// A trend is one by the Mann–Kendall test ([`mann_kendall`]); its level is divided by the number of series
/// (Bonferroni), so that a steady system is called unsteady once in twenty times. Neighbouring windows are not quite
/// independent, which makes the test stricter than its level.
pub fn restless(windows: &[Window]) -> Option<Note> {
    let Some(last) = windows.len().checked_sub(WINDOWS).map(|from| &windows[from..]) else {
        return Some(says::too_few_seconds(windows.len(), WINDOWS));
    };
    let typical =
        |errors: &mut dyn Iterator<Item = f64>| (errors.map(|e| e.powi(2)).sum::<f64>() / WINDOWS as f64).sqrt();
    let error = typical(&mut last.iter().map(|w| w.response_error));
    let hits_error = typical(&mut last.iter().filter_map(|w| Some(w.hits?.error)));
    let values = |value: &dyn Fn(&Window) -> Option<f64>| last.iter().map(value).collect::<Option<Vec<f64>>>();
    let series = [
        ("mean response time", Chance::Error(error), NOTHING, values(&|w| Some(w.response_ns))),
        ("major faults", Chance::Count, NOTHING, values(&|w| w.faults)),
        ("pages swapped out", Chance::Count, NOTHING, values(&|w| w.swapped_out)),
        ("resident memory", Chance::Error(0.0), NOTHING, values(&|w| w.resident)),
        ("hit rate", Chance::Error(hits_error), NOTHING_OF_HITS, values(&|w| Some(w.hits?.share))),
    ];
    // A series with gaps decides nothing.
    let level = LEVEL / series.iter().filter(|(.., values)| values.is_some()).count() as f64;
    series.into_iter().find_map(|(name, chance, nothing, values)| moving(name, &values?, chance, nothing, level))
}

/// A hit rate with a trend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HitTrend {
    /// The rate in the middle of what was seen, 0 to 1.
    pub now: f64,
    /// The rate after as many seconds again, if the trend goes on.
    pub ahead: f64,
}

/// The trend of the hit rate over these seconds: a cache that still fills, or begins to evict, has not reached its final
/// rate. `None` without a trend, or with too few seconds with GETs to see one.
pub fn hit_trend(windows: &[Window]) -> Option<HitTrend> {
    // The slope is of all pairs of points: a run of hours has as many points as one of minutes.
    let bin = windows.len().div_ceil(MOST_POINTS).max(1);
    let points = windows.chunks(bin).enumerate().filter_map(|(at, seconds)| {
        let shares: Vec<f64> = seconds.iter().filter_map(|window| Some(window.hits?.share)).collect();
        let middle = (at * bin) as f64 + seconds.len() as f64 / 2.0;
        (!shares.is_empty()).then(|| (middle, shares.iter().sum::<f64>() / shares.len() as f64))
    });
    let (seconds, shares): (Vec<f64>, Vec<f64>) = points.unzip();
    if shares.len() < WINDOWS {
        return None;
    }
    mann_kendall(&shares).filter(|trend| trend.p_value < LEVEL)?;
    let (now, slope) = (median(&shares)?, theil_sen(&seconds, &shares)?);
    // From the middle of what was seen to the end of as much again.
    let ahead = (now + slope * 1.5 * windows.len() as f64).clamp(0.0, 1.0);
    Some(HitTrend { now, ahead })
}

/// Variation of a series by chance alone.
#[derive(Debug, Clone, Copy)]
enum Chance {
    /// Events are counted: the standard deviation is the root of their number.
    Count,
    /// The standard deviation of each value, in the unit of the values.
    Error(f64),
}

/// The trend or variation for which a series is not steady; `None` if it is.
fn moving(name: &str, values: &[f64], chance: Chance, nothing: f64, level: f64) -> Option<Note> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let sigma = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    if !mean.is_finite() || !sigma.is_finite() {
        return Some(says::series_not_a_number(name));
    }
    // Nothing at all, throughout, is as steady as can be.
    if sigma == 0.0 {
        return None;
    }
    let trend = mann_kendall(values).filter(|trend| trend.p_value < level);
    let chance = CHANCE
        * match chance {
            Chance::Count => mean.abs().sqrt().recip(),
            Chance::Error(error) => error / mean.abs(),
        };
    let variation = sigma / mean.abs();
    if let Some(trend) = trend
        // The test has already allowed for chance. A trend of next to nothing does not change the result.
        && variation > nothing
    {
        return Some(says::series_trends(name, trend.s > 0.0, trend.p_value, n));
    }
    let most = VARIATION.max(chance);
    (variation >= most).then(|| says::series_varies(name, variation.into(), most.into()))
}

#[cfg(test)]
mod tests {
    use tiermark_stats::Rng;

    use super::*;

    fn windows(count: usize, of: impl Fn(f64) -> Window) -> Vec<Window> {
        (0..count).map(|second| of(second as f64)).collect()
    }

    fn quiet() -> Window {
        Window {
            response_ns: 50_000.0,
            response_error: 0.0,
            faults: Some(0.0),
            swapped_out: Some(0.0),
            resident: Some(5e8),
            hits: Some(HitRate { share: 1.0, error: 0.0 }),
        }
    }

    fn why(windows: &[Window]) -> String {
        match restless(windows) {
            None => "steady".into(),
            Some(why) => why.text,
        }
    }

    #[test]
    fn nothing_that_moves_is_steady() {
        assert_eq!(why(&windows(10, |_| quiet())), "steady");
        assert_eq!(why(&windows(9, |_| quiet())), "only 9 of 10 seconds were observed");
        // Only the last ten count: it warmed up before.
        let warmed = |s: f64| Window { response_ns: if s < 20.0 { 1e6 / (s + 1.0) } else { 5e4 }, ..quiet() };
        assert_eq!(why(&windows(30, warmed)), "steady");
    }

    #[test]
    fn what_moves_is_named() {
        let fills = |s: f64| Window { resident: Some(5e8 + 2e7 * s), ..quiet() };
        assert!(why(&windows(10, fills)).starts_with("resident memory still rises (Mann–Kendall p = 0.0000"));
        let swaps = |s: f64| Window { swapped_out: Some(10_000.0 / (s + 1.0)), ..quiet() };
        assert!(why(&windows(10, swaps)).starts_with("pages swapped out still falls"));
        let jumps = |s: f64| Window { response_ns: if (s as u32).is_multiple_of(2) { 4e4 } else { 6e4 }, ..quiet() };
        assert_eq!(why(&windows(10, jumps)), "mean response time varies by 21 %, where at most 10 % counts as steady");
        assert_eq!(
            why(&windows(10, |_| Window { response_ns: f64::NAN, ..quiet() })),
            "mean response time is not a number"
        );
    }

    /// A cache of 60 % in the end, that fills in a minute.
    #[test]
    fn a_hit_rate_that_still_moves_leads_somewhere() {
        let mut rng = Rng::new(7);
        let mut second = |share: f64| {
            let misses = (0..2_000).filter(|_| rng.unit() >= share).count() as u64;
            Window { hits: HitRate::of(2_000, misses), ..quiet() }
        };
        let mut fills = |from: u32| -> Vec<Window> {
            (from..from + 10).map(|s| second(0.6 * (1.0 - (-f64::from(s) / 20.0).exp()))).collect()
        };
        let (early, filled) = (fills(10), fills(200));
        assert!(why(&early).starts_with("hit rate still rises"), "{}", why(&early));
        let HitTrend { now, ahead } = hit_trend(&early).unwrap();
        assert!((0.25..0.4).contains(&now) && (0.4..0.7).contains(&ahead), "{now} {ahead}");
        assert_eq!((why(&filled).as_str(), hit_trend(&filled)), ("steady", None));
        // A second without GETs is left out; too few seconds show nothing.
        let mut gap = fills(10);
        gap.insert(4, Window { hits: None, ..quiet() });
        assert!(hit_trend(&gap).is_some_and(|trend| (0.4..0.7).contains(&trend.ahead)));
        assert_eq!(hit_trend(&early[1..]), None);
        assert_eq!(hit_trend(&windows(10, |_| Window { hits: None, ..quiet() })), None);
        assert_eq!((HitRate::of(0, 0), HitRate::of(1, 2).map(|hits| hits.share)), (None, Some(0.0)));
    }

    /// A day of seconds is looked at in as many points as minutes are.
    #[test]
    fn a_long_trend_costs_no_more_than_a_short_one() {
        let rising = |s: f64| Window { hits: HitRate::of(1_000_000, 500_000 - (s * 2.0) as u64), ..quiet() };
        let trend = hit_trend(&windows(86_400, rising)).unwrap();
        assert!((trend.now - 0.586).abs() < 0.01 && (trend.ahead - 0.845).abs() < 0.01, "{trend:?}");
    }

    #[test]
    fn means_of_few_requests_vary_by_chance() {
        let mut rng = Rng::new(5);
        // A hundred requests a second, of which one in fifty takes 3 ms.
        let mut second = || {
            let times: Vec<f64> = (0..100).map(|_| if rng.unit() < 0.02 { 3e6 } else { 1e5 }).collect();
            let mean = times.iter().sum::<f64>() / 100.0;
            let variance = times.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / 100.0;
            Window { response_ns: mean, response_error: (variance / 100.0).sqrt(), ..quiet() }
        };
        let runs: Vec<Vec<Window>> = (0..200).map(|_| (0..10).map(|_| second()).collect()).collect();
        let steady = |runs: &[Vec<Window>]| runs.iter().filter(|run| restless(run).is_none()).count();
        assert!(steady(&runs) >= 190, "{} of 200", steady(&runs));
        let certain = |w: &Window| Window { response_error: 0.0, ..*w };
        let certain: Vec<Vec<Window>> = runs.iter().map(|run| run.iter().map(certain).collect()).collect();
        assert!(steady(&certain) < 20, "else nothing is shown: {} of 200", steady(&certain));
    }

    #[test]
    fn what_chance_allows_hides_no_trend() {
        let mut rng = Rng::new(9);
        // Each mean is off by a tenth; in ten seconds it rises by nothing, or by four fifths.
        let mut steady = |rise: f64| {
            let runs = (0..200).filter(|_| {
                let second = |s: f64, rng: &mut Rng| {
                    let response_ns = 1e5 * (1.0 + rise * s / 9.0 + 0.1 * rng.normal());
                    Window { response_ns, response_error: 1e4, ..quiet() }
                };
                let windows: Vec<Window> = (0..10).map(|s| second(f64::from(s), &mut rng)).collect();
                restless(&windows).is_none()
            });
            runs.count()
        };
        let (rests, rises) = (steady(0.0), steady(0.8));
        assert!(rests >= 180 && rises <= 40, "{rests} and {rises} of 200");
    }

    #[test]
    fn what_is_not_counted_says_nothing() {
        let external = |_| Window { faults: None, swapped_out: None, resident: None, hits: None, ..quiet() };
        assert_eq!(why(&windows(10, external)), "steady");
    }

    #[test]
    fn a_steady_system_with_noise_is_called_so_and_one_that_drifts_is_not() {
        let mut rng = Rng::new(11);
        let mut steady = |drift: f64| {
            let runs = (0..500).filter(|_| {
                let windows: Vec<Window> = (0..10)
                    .map(|second| Window {
                        response_error: 5e4 * 0.03,
                        response_ns: 5e4 * (1.0 + drift * f64::from(second) + 0.03 * rng.normal()),
                        // A Poisson count of four, nearly.
                        faults: Some((4.0 + 2.0 * rng.normal()).max(0.0).round()),
                        swapped_out: Some((400.0 + 20.0 * rng.normal()).round()),
                        resident: Some(5e8),
                        hits: HitRate::of(1_000, (100.0 + 9.5 * rng.normal()).round() as u64),
                    })
                    .collect();
                restless(&windows).is_none()
            });
            runs.count()
        };
        assert!(steady(0.0) >= 450, "a steady one is refused once in twenty times or less");
        assert!(steady(0.05) <= 50, "5 % a second is no rest");
    }
}
