//! Kernels that do the same job, held against the first of them in pairs.

use tiermark_model::{KernelId, RIVALRY, Rival, Role, Step};
use tiermark_stats::median;

use crate::analyse::analyse;
use crate::host::{Fault, Rig};
use crate::roll::Roll;

/// The best window of a shot, and the pings around it.
type Best = (f64, [Vec<f64>; 2]);

/// The rivals of a step, and how they compare so far.
///
/// The first is what the plan prefers, the same on every machine of one model. Another is taken where it is clearly better in the same
/// moments: shots of both, A B B A, on several visits. A single shot of each would be decided by the state of the machine (two cpus on
/// one core: half).
#[derive(Debug, Clone, Default)]
pub(crate) struct Rivals {
    first: Option<KernelId>,
    others: Vec<Other>,
}

#[derive(Debug, Clone)]
struct Other {
    kernel: KernelId,
    /// Its rate over the first one's, one a comparison.
    ratios: Vec<f64>,
    /// Comparisons made, those without a clean window included.
    rounds: usize,
}

impl Other {
    fn ratio(&self) -> Option<f64> {
        median(&self.ratios)
    }

    /// Whether it was better each time: one that only was on the whole may owe it to the moment.
    fn is_better(&self) -> bool {
        self.ratios.len() >= RIVALRY.rounds && self.ratios.iter().all(|ratio| *ratio > 1.0 + RIVALRY.better)
    }

    /// Whether it needs no further comparison: once it was not better, it cannot win any more.
    fn is_decided(&self) -> bool {
        let lost = self.ratios.iter().any(|ratio| *ratio <= 1.0 + RIVALRY.better);
        lost || self.ratios.len() >= RIVALRY.rounds || self.rounds >= RIVALRY.tries
    }
}

impl Rivals {
    pub(crate) fn of(step: &Step) -> Self {
        match step.setup.threads.first().map(|thread| &thread.role) {
            Some(Role::Stream { kernel, rivals }) => {
                let other = |kernel: &KernelId| Other { kernel: kernel.clone(), ratios: Vec::new(), rounds: 0 };
                Self { first: Some(kernel.clone()), others: rivals.iter().map(other).collect() }
            }
            _ => Self::default(),
        }
    }

    /// Whether further comparisons are wanted before the step is measured.
    pub(crate) fn undecided(&self) -> bool {
        self.others.iter().any(|other| !other.is_decided())
    }

    /// A rival that may be better, where the comparisons were too few to know.
    pub(crate) fn open(&self) -> Option<&KernelId> {
        self.others.iter().find(|other| !other.is_decided()).map(|other| &other.kernel)
    }

    /// Whether there is a choice at all.
    pub(crate) fn any(&self) -> bool {
        !self.others.is_empty()
    }

    /// The kernel to measure: the first, unless another was better in every comparison.
    pub(crate) fn winner(&self) -> Option<&KernelId> {
        let better = self.others.iter().filter(|other| other.is_better());
        let best = better.max_by(|a, b| a.ratio().unwrap_or_default().total_cmp(&b.ratio().unwrap_or_default()));
        best.map(|other| &other.kernel).or(self.first.as_ref())
    }

    /// How they compare, the first with 1; nothing where there is no choice.
    pub(crate) fn told(&self) -> Vec<Rival> {
        let Some(first) = self.first.as_ref().filter(|_| self.any()) else { return Vec::new() };
        let rival = |kernel: &KernelId, ratio| Rival { kernel: kernel.clone(), ratio, value: None };
        let others = self.others.iter().map(|other| rival(&other.kernel, other.ratio()));
        std::iter::once(rival(first, Some(1.0))).chain(others).collect()
    }

    /// One comparison of the rival that is still in and was compared least.
    ///
    /// # Errors
    /// The rig's [`Fault`].
    pub(crate) fn compare(&mut self, rig: &mut dyn Rig, roll: &Roll, stamp_ns: f64) -> Result<(), Fault> {
        let Some(first) = &self.first else { return Ok(()) };
        let roll = Roll { parts: Vec::new(), ..roll.clone() };
        // The best window of a shot, since what else ran meanwhile only takes from it, and the pings around the shot.
        let mut best = |kernel: &KernelId, again: bool| -> Result<Option<Best>, Fault> {
            if !again {
                rig.select(kernel)?;
            }
            let shot = rig.shot(RIVALRY.shot)?;
            let best = analyse(&shot, &roll, stamp_ns).clean().reduce(f64::max);
            Ok(best.map(|best| (best, shot.pings)))
        };
        let undecided = self.others.iter_mut().filter(|other| !other.is_decided());
        let Some(other) = undecided.min_by_key(|other| other.rounds) else { return Ok(()) };
        let shots = [best(first, false)?, best(&other.kernel, false)?, best(&other.kernel, true)?, best(first, false)?];
        other.rounds += 1;
        if let [Some(a), Some(b), Some(c), Some(d)] = shots
            && one_state(&[a.1, b.1, c.1, d.1].concat())
        {
            other.ratios.push((b.0 + c.0) / (a.0 + d.0));
        }
        Ok(())
    }
}

/// Whether every pair of cpus answered about as quickly each time: then the machine was in one state.
fn one_state(pings: &[Vec<f64>]) -> bool {
    /// Round trips of one state scatter by less; those of two lie further apart.
    const APART: f64 = 1.6;
    let pairs = pings.first().map_or(0, Vec::len);
    (0..pairs).all(|pair| {
        let of_pair = || pings.iter().map(|pings| pings.get(pair).copied().unwrap_or_default());
        let (least, most) = (of_pair().fold(f64::MAX, f64::min), of_pair().fold(0.0, f64::max));
        least > 0.0 && most < APART * least
    })
}
