//! The core clock of each thread during a window.

use tiermark_model::{CoreClock, THREADS_KEPT};

use crate::host::{Shot, ThreadShot};

/// Clocks before and after a window that differ by less are one: the noise of two chains on a timer of 25 MHz, 40 µs
/// each.
const STEADY: f64 = 0.004;
/// Clocks that differ by more have no common value: a step of 100 MHz at 3 GHz is 3 %.
const MOVED: f64 = 0.02;

/// Share of many threads whose clock has to be known for the mean of all to be.
const KNOWN: f64 = 0.5;

/// The clock of each counted thread; of more threads than a document keeps, the mean of those that are known, if these
/// are half of them.
pub(super) fn of(members: &[usize], shot: &Shot, span: (f64, f64)) -> Vec<Option<CoreClock>> {
    let clocks: Vec<Option<CoreClock>> = members.iter().map(|index| clock(shot.threads.get(*index)?, span)).collect();
    if clocks.len() <= THREADS_KEPT {
        return clocks;
    }
    let known: Vec<CoreClock> = clocks.iter().copied().flatten().collect();
    let mean = || CoreClock {
        hz: known.iter().map(|clock| clock.hz).sum::<f64>() / known.len() as f64,
        is_steady: known.iter().all(|clock| clock.is_steady),
    };
    vec![(known.len() as f64 >= KNOWN * clocks.len() as f64).then(mean)]
}

/// The clock of a thread: the looks before and after the window, if both saw it and it moved by little.
fn clock(thread: &ThreadShot, (from, to): (f64, f64)) -> Option<CoreClock> {
    let before = thread.looks.iter().rev().find(|look| look.at_ns <= from).or(thread.looks.first())?.hz?;
    let after = thread.looks.iter().find(|look| look.at_ns >= to).or(thread.looks.last())?.hz?;
    let apart = (after / before).ln().abs();
    (apart <= MOVED).then(|| CoreClock { hz: f64::midpoint(before, after), is_steady: apart <= STEADY })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::ClockLook;

    fn shot(looks: &[&[(f64, Option<f64>)]]) -> Shot {
        let look = |(at_ns, ghz): &(f64, Option<f64>)| ClockLook {
            at_ns: *at_ns,
            hz: ghz.map(|ghz| ghz * 1e9),
            throughput: None,
        };
        let thread = |looks: &&[(f64, Option<f64>)]| ThreadShot {
            looks: looks.iter().map(look).collect(),
            ..ThreadShot::default()
        };
        Shot { threads: looks.iter().map(thread).collect(), ..Shot::default() }
    }

    #[test]
    fn a_window_has_the_clock_that_both_sides_agree_on() {
        let looks = [(0.0, Some(3.0)), (100.0, Some(3.006)), (200.0, Some(3.05)), (300.0, Some(3.2)), (400.0, None)];
        let shot = shot(&[&looks]);
        let seen = |from: f64| of(&[0], &shot, (from, from + 100.0))[0].map(|clock| (clock.hz / 1e9, clock.is_steady));
        assert_eq!([0.0, 100.0, 200.0, 300.0].map(seen), [Some((3.003, true)), Some((3.028, false)), None, None]);
        // Without looks inside, those at both ends count.
        assert_eq!(of(&[0], &shot, (0.0, 300.0)), [None]);
    }

    #[test]
    fn threads_have_their_own_clocks_and_many_have_one() {
        let own: [&[(f64, Option<f64>)]; 2] = [&[(0.0, Some(3.0)), (9.0, Some(3.0))], &[(0.0, None), (9.0, Some(3.0))]];
        assert_eq!(of(&[0, 1], &shot(&own), (1.0, 2.0)).iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
        let many: Vec<[(f64, Option<f64>); 2]> =
            (0..10).map(|index| [(0.0, Some(3.0 + f64::from(index % 2) / 10.0)); 2]).collect();
        let many: Vec<&[(f64, Option<f64>)]> = many.iter().map(<[_; 2]>::as_slice).collect();
        let members: Vec<usize> = (0..10).collect();
        let clocks = of(&members, &shot(&many), (0.0, 0.0));
        assert!(
            matches!(clocks[..], [Some(CoreClock { hz, is_steady: true })] if (hz - 3.05e9).abs() < 1.0),
            "{clocks:?}"
        );
    }
}
