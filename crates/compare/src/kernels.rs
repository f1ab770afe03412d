//! The kernel of two numbers: runs that chose different ones are held against each other by one that both measured.

use tiermark_model::Obstacle;
use tiermark_stats::ratio;

use crate::numbers::Number;
use crate::{Rules, evidence};

/// The kernel by which two numbers are compared: that of both, else the one that both runs compared with theirs whose
/// ratio is known best. `Ok(None)` where their own values are compared: between machines, each of which is taken at its
/// best, and where no operation says what the kernels have in common.
///
/// # Errors
/// [`Obstacle::Kernels`] if the runs chose different kernels and no other has a value in both.
pub(crate) fn common<'a>(a: &Number<'a>, b: &Number<'_>, rules: Rules) -> Result<Option<&'a str>, Obstacle> {
    let Some((first, other)) = a.kernel().zip(b.kernel()).filter(|_| !rules.by_role) else { return Ok(None) };
    if first == other {
        return Ok(Some(first));
    }
    let width = |kernel: &&str| {
        let of = |number: &Number<'_>| evidence::between(number, Some(*kernel), 1.0);
        let found = of(b).zip(of(a)).and_then(|(of, to)| ratio(of, to));
        found.map_or(f64::INFINITY, |found| found.high / found.low)
    };
    let has_value = |kernel: &&str| [a, b].iter().all(|number| number.value_of(Some(*kernel)).is_some());
    let candidates = a.kernels().filter(has_value);
    let found = candidates.min_by(|one, two| width(one).total_cmp(&width(two)));
    found.map(Some).ok_or_else(|| Obstacle::Kernels { first: first.to_owned(), other: other.to_owned() })
}
