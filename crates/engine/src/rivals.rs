//! Kernels for the same job, compared with the first of them in pairs.

use tiermark_model::{Interval, KernelId, KernelInfo, RIVALRY, Rival, Role, Step, StoreKind, Window};
use tiermark_stats::{APART_SECONDS, Between};

use crate::accounting::StepAccounting;
use crate::analyse::{Deductions, ShotResult, analyse};
use crate::clock::mean_clock;
use crate::host::{Fault, Rig};

/// How far both shots of a kernel may be apart where only their core matters, on logarithms: undisturbed ones differ by
/// 0.3 %, and what disturbs them is work on the other hardware thread, which comes and goes within a comparison.
const ALIKE: f64 = 0.02;

/// Comparisons in L1 and L2 that do not count because they have no clock. After that many, comparisons count without a
/// clock unless so many had one: beside an always busy hardware thread, and in an emulator, none has one.
const WAITS_FOR_CLOCK: usize = RIVALRY.most / 2;
const ENOUGH_WITH_CLOCK: usize = 2;

/// A shot of a comparison.
struct Compared {
    /// The mean over the clean windows of its second half: 0 if no window was clean.
    rate: f64,
    /// The same per cycle, over those whose clock is known.
    per_cycle: Option<f64>,
    /// The pings before and after it.
    pings: [Vec<f64>; 2],
}

impl Compared {
    fn of(result: &ShotResult, pings: [Vec<f64>; 2]) -> Self {
        // The first windows may be of lines that the shot before left in nearer caches.
        let steady = &result.windows[result.windows.len() / 2..];
        let mean = |field: fn(&Window) -> Option<f64>| {
            let all: Vec<f64> = steady.iter().filter(|window| window.clean).filter_map(field).collect();
            (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
        };
        let per_cycle = mean(|window| Some(window.value()? / mean_clock(window)?));
        Self { rate: mean(Window::value).unwrap_or_default(), per_cycle, pings }
    }
}

/// The rivals of a step, and how they compare so far.
///
/// The first is what the plan prefers, the same on every machine of one model. Another is taken where it is better in
/// pairs of shots in a row, A B B A, on several visits at two moments and more: the median of the ratios decides, once
/// their quartiles agree. A single shot of each would be decided by the state of the machine (two cpus on one core:
/// half). One that is taken is what the rest are compared with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rivals {
    first: Option<KernelId>,
    others: Vec<Other>,
    /// The one that is taken, so far.
    taken: Option<usize>,
}

#[derive(Debug, Clone)]
struct Other {
    kernel: KernelId,
    /// The ratio of its reference to the first kernel.
    against: f64,
    /// Comparisons made, those that say nothing included.
    rounds: usize,
    pairs: Vec<ComparedPair>,
    /// Comparisons that had a clock.
    with_clock: usize,
    /// Its ratio to the first, once it needs no further comparison.
    ended: Option<f64>,
}

/// A comparison.
#[derive(Debug, Clone, Copy)]
struct ComparedPair {
    /// When it was, seconds.
    at: f64,
    /// The rival's rate over that of its reference in the shot before, and in the shot after.
    ratios: [f64; 2],
}

/// Whether a rival is better than its reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Too little is known; whether it leads so far.
    Unknown {
        leads: bool,
    },
    Better,
    NoBetter,
}

impl Other {
    fn of(kernel: &KernelId) -> Self {
        Self { kernel: kernel.clone(), against: 1.0, rounds: 0, pairs: Vec::new(), with_clock: 0, ended: None }
    }

    /// Its rate over that of its reference: the median of all pairs.
    fn ratio(&self) -> Option<f64> {
        tiermark_stats::median(&self.ratios())
    }

    /// Its rate over that of the first kernel.
    fn to_first(&self) -> Option<f64> {
        // Without a clean window of its own there is nothing to compare.
        self.ended.or(self.ratio().map(|ratio| ratio * self.against)).filter(|ratio| *ratio > 0.0)
    }

    /// Half of the 95 % interval of the logarithm of its ratio to its reference, by the spread of the comparisons: both
    /// ratios of one are of one moment.
    fn half(&self) -> Option<f64> {
        let logs: Vec<f64> = self.pairs.iter().map(|pair| (pair.ratios[0] * pair.ratios[1]).ln() / 2.0).collect();
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        let deviation = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let half = tiermark_stats::student_quantile(n - 1.0, 0.05)? * deviation / n.sqrt();
        half.is_finite().then_some(half)
    }

    /// Whether a comparison counts, with or without a clock.
    fn counts(&mut self, has_clock: bool) -> bool {
        self.with_clock += usize::from(has_clock);
        has_clock || (self.with_clock < ENOUGH_WITH_CLOCK && self.rounds >= WAITS_FOR_CLOCK)
    }

    /// The ratios of all pairs, rising.
    fn ratios(&self) -> Vec<f64> {
        let mut ratios: Vec<f64> = self.pairs.iter().flat_map(|pair| pair.ratios).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        ratios
    }

    /// Its standing, whatever the moments of the comparisons.
    fn standing_by_ratios(&self) -> Standing {
        let (count, ratios) = (self.pairs.len(), self.ratios());
        let is_last = self.rounds >= RIVALRY.most;
        let at = |q: f64| tiermark_stats::quantile(&ratios, q);
        let (Some(low), Some(middle), Some(high)) = (at(0.25), at(0.5), at(0.75)) else {
            return if is_last { Standing::NoBetter } else { Standing::Unknown { leads: false } };
        };
        let [.., last] = RIVALRY.worse;
        let worse = RIVALRY.worse.get(count - 1).copied().unwrap_or(last);
        // A rival without any clean window may have been unlucky once.
        let is_unlucky = count == 1 && middle <= 0.0;
        let least = 1.0 + RIVALRY.better;
        let leads = middle > least;
        if middle < worse && !is_unlucky {
            return Standing::NoBetter;
        }
        if count >= 2 && ratios[0] > RIVALRY.clear {
            return Standing::Better;
        }
        match (low > least, high < least) {
            _ if count < RIVALRY.rounds && !is_last => Standing::Unknown { leads },
            (true, _) => Standing::Better,
            (_, true) => Standing::NoBetter,
            _ if is_last => {
                if leads {
                    Standing::Better
                } else {
                    Standing::NoBetter
                }
            }
            _ => Standing::Unknown { leads },
        }
    }

    /// Its standing. It is not better before it was at two moments.
    fn standing(&self) -> Standing {
        match self.standing_by_ratios() {
            Standing::Better if !self.is_of_two_moments() => Standing::Unknown { leads: true },
            standing => standing,
        }
    }

    fn is_of_two_moments(&self) -> bool {
        let ends = self.pairs.first().zip(self.pairs.last());
        ends.is_some_and(|(first, last)| last.at - first.at >= APART_SECONDS)
    }

    /// Whether another comparison says nothing before the next moment.
    fn waits(&self, now: f64) -> bool {
        let is_near = self.pairs.first().is_some_and(|first| now - first.at < APART_SECONDS);
        is_near && self.standing_by_ratios() == Standing::Better
    }

    /// Whether the rival needs no further comparison.
    fn is_decided(&self) -> bool {
        self.ended.is_some() || !matches!(self.standing(), Standing::Unknown { .. })
    }

    /// Whether it was never compared, or only while the state of the machine changed, which says nothing.
    fn is_unknown(&self) -> bool {
        self.ended.is_none() && self.pairs.is_empty()
    }

    fn leads(&self) -> bool {
        self.ended.is_none() && self.standing() == Standing::Unknown { leads: true }
    }
}

impl Rivals {
    pub(crate) fn of(step: &Step) -> Self {
        match step.setup.threads.first().map(|thread| &thread.role) {
            // A point shows a shape: it takes the kernel of the figure that is nearest in size.
            Some(Role::Stream { kernel, .. }) if step.labels.is_point() => {
                Self { first: Some(kernel.clone()), ..Self::default() }
            }
            Some(Role::Stream { kernel, rivals }) => {
                Self { first: Some(kernel.clone()), others: rivals.iter().map(Other::of).collect(), ..Self::default() }
            }
            _ => Self::default(),
        }
    }

    /// Begins with another kernel than the plan's: what an earlier run of the machine chose, or one thread of this run.
    /// Nothing changes once comparisons were made.
    pub(crate) fn begin_with(&mut self, kernel: &KernelId) {
        if self.others.iter().any(|other| other.rounds > 0) {
            return;
        }
        let known = self.others.iter_mut().find(|other| other.kernel == *kernel);
        if let Some((other, first)) = known.zip(self.first.as_mut()) {
            std::mem::swap(&mut other.kernel, first);
        }
    }

    /// Drops rivals that were clearly slower with one thread, except the fastest of each kind of store: several threads
    /// share the memory channels, so that stores with less traffic may win there. `alone`: the results with one thread.
    /// Nothing is dropped once comparisons were made.
    pub(crate) fn narrow(&mut self, alone: &[Rival], kernels: &[KernelInfo]) {
        if alone.is_empty() || self.others.iter().any(|other| other.rounds > 0) {
            return;
        }
        let [.., near] = RIVALRY.worse;
        let kind = |id: &KernelId| kernels.iter().find(|kernel| kernel.id == *id).map(|kernel| kernel.store_kind);
        let ratio = |id: &KernelId| alone.iter().find(|rival| rival.kernel == *id).and_then(|rival| rival.ratio);
        let best = |kind_of: Option<Option<StoreKind>>| {
            let alike = alone.iter().filter(|rival| kind_of.is_none_or(|wanted| kind(&rival.kernel) == wanted));
            alike.filter_map(|rival| rival.ratio).fold(0.0, f64::max)
        };
        let stays =
            |id: &KernelId| ratio(id).is_none_or(|ratio| ratio >= near * best(None) || ratio >= best(Some(kind(id))));
        self.others.retain(|other| stays(&other.kernel));
    }

    /// Whether further comparisons are wanted before the step is measured.
    pub(crate) fn undecided(&self) -> bool {
        self.others.iter().any(|other| !other.is_decided())
    }

    /// A rival that may be better: it leads, where the comparisons were too few to take it, or nothing is known of it.
    pub(crate) fn open(&self) -> Option<&KernelId> {
        let leads = self.others.iter().find(|other| other.leads());
        leads.or_else(|| self.others.iter().find(|other| other.is_unknown())).map(|other| &other.kernel)
    }

    /// Whether there is a choice at all.
    pub(crate) fn any(&self) -> bool {
        !self.others.is_empty()
    }

    /// The kernel to measure: the first, unless another is better.
    pub(crate) fn winner(&self) -> Option<&KernelId> {
        self.taken.map(|taken| &self.others[taken].kernel).or(self.first.as_ref())
    }

    /// How they compare, the first with 1; nothing where there is no choice. `taken` is the number of the kernel that is
    /// taken, with its interval by this run alone: times the ratio it is that of each other.
    pub(crate) fn rivals(&self, taken: Option<f64>, within: Option<Interval>) -> Vec<Rival> {
        let Some(first) = self.first.as_ref().filter(|_| self.any()) else { return Vec::new() };
        let winner = self.taken.map(|taken| &self.others[taken]);
        let (to_first, half) = winner.map_or((Some(1.0), Some(0.0)), |winner| (winner.to_first(), winner.half()));
        let rival = |kernel: &KernelId, ratio: Option<f64>, half: Option<f64>| {
            let less = to_first.zip(ratio).map(|(winner, own)| winner / own);
            let value = taken.zip(less).map(|(value, less)| value / less);
            let interval = within.zip(taken.zip(less.zip(half))).and_then(|(within, (value, (less, half)))| {
                let of = Between { value, low: within.low.min(value), high: within.high.max(value) };
                let to = Between { value: less, low: less / half.exp(), high: less * half.exp() };
                let Between { low, high, .. } = tiermark_stats::ratio(of, to)?;
                Some(Interval { low, high, ..within })
            });
            Rival { kernel: kernel.clone(), ratio, value, interval }
        };
        let other = |(index, other): (usize, &Other)| {
            let half = match other.ended {
                _ if self.taken == Some(index) => Some(0.0),
                // It was compared with another reference than the one that is taken now.
                Some(_) => other.half().zip(half).map(|(own, winner)| own.hypot(winner)),
                None => other.half(),
            };
            rival(&other.kernel, other.to_first(), half)
        };
        let others = self.others.iter().enumerate().map(other);
        std::iter::once(rival(first, Some(1.0), half)).chain(others).collect()
    }

    /// How those compare that need no further comparison, the first with 1; the others without a ratio.
    pub(crate) fn decided(&self) -> Vec<Rival> {
        let is_open =
            |kernel: &KernelId| self.others.iter().any(|other| other.kernel == *kernel && !other.is_decided());
        let known = |rival: Rival| Rival { ratio: rival.ratio.filter(|_| !is_open(&rival.kernel)), ..rival };
        self.rivals(None, None).into_iter().map(known).collect()
    }

    /// Compares one rival with the winner so far, and gives its index: a rival that leads, else the one with the fewest
    /// comparisons. Rivals in `left_out` are skipped, and those that only another moment can decide. `None` if no other
    /// is left; the rig then keeps its kernel.
    ///
    /// # Errors
    /// The rig's [`Fault`].
    pub(crate) fn compare(
        &mut self,
        rig: &mut dyn Rig,
        accounting: &StepAccounting,
        deductions: Deductions<'_>,
        now: f64,
        left_out: &[usize],
    ) -> Result<Option<usize>, Fault> {
        let Some(best) = self.winner().cloned() else { return Ok(None) };
        let is_due = |other: &Other| !other.is_decided() && !other.waits(now);
        let undecided =
            (0..self.others.len()).filter(|index| !left_out.contains(index) && is_due(&self.others[*index]));
        let next = |index: &usize| (!self.others[*index].leads(), self.others[*index].rounds);
        let Some(index) = undecided.min_by_key(next) else { return Ok(None) };
        let rival = self.others[index].kernel.clone();
        let accounting = StepAccounting { parts: Vec::new(), ..accounting.clone() };
        let mut shot = |kernel: &KernelId, again: bool| -> Result<Compared, Fault> {
            if !again {
                rig.select(kernel)?;
            }
            let shot = rig.shot(RIVALRY.shot)?;
            Ok(Compared::of(&analyse(&shot, &accounting, deductions), shot.pings))
        };
        let shots = [shot(&best, false)?, shot(&rival, false)?, shot(&rival, true)?, shot(&best, false)?];
        // Per cycle where all four have a clock: in the order A B B A a clock that moves is in both alike, nearly.
        let has_clock = shots.iter().all(|shot| shot.per_cycle.is_some());
        let rates = shots.each_ref().map(|shot| shot.per_cycle.filter(|_| has_clock).unwrap_or(shot.rate));
        // A shot without a clean window was interrupted, and says nothing of its kernel.
        let is_known = rates.iter().all(|rate| *rate > 0.0);
        let [a, b, c, d] = rates;
        let is_alike = !accounting.is_of_core || [a / d, b / c].iter().all(|ratio| ratio.ln().abs() <= ALIKE);
        // Another kernel may be the better one beside a busy hardware thread.
        let counts = !accounting.is_of_core || self.others[index].counts(has_clock);
        let is_one_state = counts && is_alike && one_state(&shots.map(|shot| shot.pings).concat());
        let pair = ComparedPair { at: now, ratios: [b / a, c / d] };
        self.compared(index, (is_one_state && is_known).then_some(pair));
        Ok(Some(index))
    }

    /// Takes in a comparison of a rival; `None` where it says nothing.
    fn compared(&mut self, index: usize, pair: Option<ComparedPair>) {
        let other = &mut self.others[index];
        other.rounds += 1;
        other.pairs.extend(pair);
        if other.standing() != Standing::Better {
            return;
        }
        let ratio = other.ratio().unwrap_or(1.0);
        let against = other.against * ratio;
        self.taken = Some(index);
        // Decided comparisons stay so; the rest goes on with the new reference.
        for (at, other) in self.others.iter_mut().enumerate().filter(|(_, other)| other.ended.is_none()) {
            if at == index || other.is_decided() {
                other.ended = other.ratio().map(|ratio| ratio * other.against);
            } else {
                other.against = against;
                other.pairs.iter_mut().flat_map(|pair| &mut pair.ratios).for_each(|of| *of /= ratio);
            }
        }
    }
}

/// Whether pairs of cpus answered about as quickly each time: then the machine was in one state.
fn one_state(pings: &[Vec<f64>]) -> bool {
    /// Round trips of one state scatter by less; those of two lie further apart.
    const APART: f64 = 1.6;
    /// Share of the pairs of cpus that must be steady. Many threads have 16 pairs or more, and some are interrupted in
    /// one of eight pings.
    const MOST: f64 = 0.75;
    let pairs = pings.first().map_or(0, Vec::len);
    let is_steady = |pair: &usize| {
        let of_pair = || pings.iter().map(|pings| pings.get(*pair).copied().unwrap_or_default());
        let (least, most) = (of_pair().fold(f64::MAX, f64::min), of_pair().fold(0.0, f64::max));
        least > 0.0 && most < APART * least
    };
    (0..pairs).filter(is_steady).count() as f64 >= MOST * pairs as f64
}

#[cfg(test)]
mod tests;
