//! The kernel of numbers of several runs: runs that chose different ones are held against each other by one that both
//! measured.

use std::borrow::Cow;
use std::collections::BTreeMap;

use tiermark_model::{Condition, ConditionDifference, Obstacle, RunFigure, RunFigures};
use tiermark_stats::ratio;

use crate::numbers::Number;
use crate::{OneRun, Rules, evidence};

/// The kernel by which two numbers are compared: that of both, else the one that both runs compared with theirs whose
/// ratio is known best. `None` where their own values are compared: between machines, each of which is taken at its
/// best, where no operation says what the kernels have in common, and where no kernel has a value in both.
pub(crate) fn common<'a>(a: &Number<'a>, b: &Number<'_>, rules: Rules) -> Option<&'a str> {
    let (first, other) = a.kernel().zip(b.kernel()).filter(|_| !rules.by_role)?;
    if first == other {
        return Some(first);
    }
    let width = |kernel: &&str| {
        let estimate = |number: &Number<'_>| evidence::between(number, Some(*kernel), 1.0);
        let found = estimate(b).zip(estimate(a)).and_then(|(of, to)| ratio(of, to));
        found.map_or(f64::INFINITY, |found| found.high / found.low)
    };
    let has_value = |kernel: &&str| [a, b].iter().all(|number| number.value_of(Some(*kernel)).is_some());
    let candidates = a.kernels().filter(has_value);
    candidates.min_by(|one, two| width(one).total_cmp(&width(two)))
}

/// What differs where two numbers are of the kernels that their runs chose.
pub(crate) fn differs(a: &Number<'_>, b: &Number<'_>, common: Option<&str>) -> Option<ConditionDifference> {
    let (first, other) = a.kernel().zip(b.kernel()).filter(|(first, other)| common.is_none() && first != other)?;
    let (first, other) = (first.to_owned(), other.to_owned());
    Some(ConditionDifference { condition: Condition::Kernel, first, other })
}

/// The figures of runs, which are given oldest first: each by the kernel that the newest run with this figure chose,
/// where its own run compared that kernel.
pub(crate) fn of_newest<'a>(runs: &[OneRun<'a>]) -> Vec<Cow<'a, RunFigures>> {
    let named = |figure: &'a RunFigure| Some((figure.key.as_str(), figure.kernel()?));
    // Of a key that several runs have, the newest is kept.
    let newest: BTreeMap<&str, &str> = runs.iter().flat_map(|run| run.about.figures.iter().filter_map(named)).collect();
    let other = |figure: &RunFigure| {
        let kernel = newest.get(figure.key.as_str()).filter(|kernel| figure.kernel() != Some(**kernel))?;
        figure.with_kernel(kernel)
    };
    let of_run = |run: &OneRun<'a>| {
        let mut about = Cow::Borrowed(run.about);
        for (at, figure) in run.about.figures.iter().enumerate() {
            if let Some(other) = other(figure) {
                about.to_mut().figures[at] = other;
            }
        }
        about
    };
    runs.iter().map(of_run).collect()
}

/// Why two figures of a history are of different kernels; `None` if they are of one, or a kernel is not named.
pub(crate) fn obstacle(first: &RunFigure, other: &RunFigure) -> Option<Obstacle> {
    let (first, other) = first.kernel().zip(other.kernel()).filter(|(first, other)| first != other)?;
    Some(Obstacle::Kernels { first: first.to_owned(), other: other.to_owned() })
}
