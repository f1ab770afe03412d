//! When a thread looks for answers again and again instead of sleeping until there is one.

use tiermark_model::load::Spin;

/// How long it looks after the last answer, and how long before a request is due sleeping ends, ns. Waking up takes 5
/// to 50 µs, more on a virtual cpu, and a timer's slack as much.
const WINDOW: u64 = 60_000;
/// Longest row of sleeps after looking in vain, as a power of two: then looking costs less than a thousandth of the
/// time.
const MOST_MISSES: u32 = 10;

/// One thread's spinning.
///
/// With [`Spin::Auto`] a thread spins only while this pays: where answers arrive sooner than a sleeping thread wakes,
/// and the server runs on another cpu (a server that shares this one cannot answer meanwhile). Both are found out by
/// trying. A spell without an answer doubles the number of sleeps before the next spell, an answer within one resets
/// it: answers may come in bursts, as from a server that writes them together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spinner {
    mode: Spin,
    spell: Spell,
    /// Whether nothing came in it.
    is_in_vain: bool,
    /// Spells in vain, one after the other.
    misses: u32,
    /// Sleeps that come before the next spell.
    sleeps: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spell {
    Over,
    /// It begins with the next look: what came before takes its time to be worked on.
    Begins,
    /// Until this time, ns on the monotonic clock.
    Lasts(u64),
}

impl Spinner {
    /// The state of a thread whose tenants run a closed loop, or an open one.
    pub(crate) fn new(mode: Spin, is_closed: bool) -> Self {
        // In an open loop the time of the next request is known, and between answers there may be nothing to do for
        // long.
        let mode = if mode == Spin::Auto && !is_closed { Spin::Never } else { mode };
        Self { mode, spell: Spell::Over, is_in_vain: true, misses: 0, sleeps: 0 }
    }

    /// How long before a request is due sleeping ends, ns.
    pub(crate) fn early(&self) -> u64 {
        if self.mode == Spin::Always { WINDOW } else { 0 }
    }

    /// Something came, while it was looked for or slept.
    pub(crate) fn came(&mut self) {
        if self.mode == Spin::Never {
            return;
        }
        if self.spell == Spell::Over {
            self.sleeps = self.sleeps.saturating_sub(1);
        } else {
            self.misses = 0;
            self.is_in_vain = false;
        }
        if self.sleeps == 0 {
            self.spell = Spell::Begins;
        }
    }

    /// Whether to look once more at `now`, ns on the monotonic clock, rather than sleep.
    pub(crate) fn looks(&mut self, now: u64) -> bool {
        match self.spell {
            Spell::Over => return false,
            Spell::Begins => self.spell = Spell::Lasts(now.saturating_add(WINDOW)),
            Spell::Lasts(until) if now < until => {}
            Spell::Lasts(_) => {
                self.spell = Spell::Over;
                if std::mem::replace(&mut self.is_in_vain, true) && self.mode == Spin::Auto {
                    self.misses = (self.misses + 1).min(MOST_MISSES);
                    self.sleeps = 1 << self.misses;
                }
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a closed loop whose server takes `answer` ns; returns the time spent spinning and the number of sleeps in
    /// `rounds` answers.
    fn of(mode: Spin, answer: u64, rounds: usize) -> (u64, usize) {
        let (mut spinner, mut now, mut looked, mut slept) = (Spinner::new(mode, true), 0, 0, 0);
        for _ in 0..rounds {
            let comes = now + answer;
            while now < comes {
                if spinner.looks(now) {
                    looked += 1000;
                    now += 1000;
                } else {
                    slept += 1;
                    now = comes;
                }
            }
            spinner.came();
        }
        (looked, slept)
    }

    #[test]
    fn answers_that_come_soon_are_waited_for_awake() {
        let (looked, slept) = of(Spin::Auto, 25_000, 1000);
        assert_eq!((looked, slept), (999 * 25_000, 1));
        assert_eq!(of(Spin::Always, 25_000, 1000), (looked, slept));
        assert_eq!(of(Spin::Never, 25_000, 1000), (0, 1000));
    }

    #[test]
    fn answers_that_take_long_are_slept_for() {
        // A network's 200 µs, and a server that answers only once this thread sleeps: 1 ms stands for it.
        for answer in [200_000, 1_000_000] {
            let (looked, slept) = of(Spin::Auto, answer, 100_000);
            let share = looked as f64 / (100_000 * answer) as f64;
            assert!(share < 1e-3, "{share} of the time for answers that take {answer} ns");
            assert_eq!(slept, 100_000);
            // With `Always` it spins after every answer.
            assert_eq!(of(Spin::Always, answer, 1000), (999 * WINDOW, 1000));
        }
    }

    #[test]
    fn a_pause_after_a_burst_is_no_reason_to_sleep_in_the_next() {
        let (mut spinner, mut now, mut slept) = (Spinner::new(Spin::Auto, true), 0, 0);
        for answer in 0..10_000 {
            // Twenty answers 10 µs apart, then a millisecond of nothing.
            let comes = now + if answer % 20 == 0 { 1_000_000 } else { 10_000 };
            while now < comes {
                if spinner.looks(now) {
                    now += 1000;
                } else {
                    slept += 1;
                    now = comes;
                }
            }
            spinner.came();
        }
        assert_eq!(slept, 10_000 / 20);
    }

    #[test]
    fn a_server_that_becomes_faster_is_noticed() {
        let mut spinner = Spinner::new(Spin::Auto, true);
        spinner.came();
        for _ in 0..1 << 14 {
            while spinner.looks(u64::MAX - 1) && spinner.looks(u64::MAX) {}
            spinner.came();
        }
        let waits = (0..2 << MOST_MISSES).position(|_| {
            let looks = spinner.looks(0);
            spinner.came();
            looks
        });
        assert!(waits.is_some_and(|waits| waits <= 1 << MOST_MISSES), "{waits:?}");
        assert!(spinner.looks(0), "one answer in time is enough");
    }

    #[test]
    fn an_open_loop_sleeps_unless_told() {
        for (mode, early, looks) in [(Spin::Auto, 0, false), (Spin::Never, 0, false), (Spin::Always, WINDOW, true)] {
            let mut spinner = Spinner::new(mode, false);
            spinner.came();
            assert_eq!((spinner.early(), spinner.looks(0)), (early, looks), "{mode:?}");
        }
        assert_eq!(Spinner::new(Spin::Auto, true).early(), 0);
    }
}
