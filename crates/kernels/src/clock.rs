//! Time stamps, and a chain of known length that shows the core's clock.

#[cfg(target_arch = "aarch64")]
use crate::arm::clock as arch;
#[cfg(target_arch = "x86_64")]
use crate::x86::clock as arch;

/// The processor's time stamp counter: work before the stamp has finished, work after it has not begun. Stores may
/// still be on their way to memory. Ticks are of the counter's own rate, not of the core's clock; the caller
/// calibrates it.
#[inline(always)]
pub fn stamp() -> u64 {
    arch::stamp()
}

/// Runs a chain of at least `n` dependent single-cycle additions and returns how many it ran (the next multiple of
/// 128). Its time over that number is the length of one core cycle.
#[inline(always)]
pub fn alu_chain(n: u64) -> u64 {
    arch::alu_chain(n)
}

/// Runs a chain of at least `n` dependent 64-bit integer multiplications and returns how many it ran (the next multiple
/// of 128). How long a multiplication takes compared with an addition is a constant of the core: another ratio to
/// [`alu_chain`] shows that the other hardware thread of the core is busy, or that the clock changed between the
/// chains.
#[inline(always)]
pub fn mul_chain(n: u64) -> u64 {
    arch::mul_chain(n)
}

/// What [`throughput`] loads from: 512 bytes.
#[repr(C, align(64))]
pub(crate) struct Lines([u64; 64]);

/// Operations of a round of [`throughput`].
const ROUND: u64 = 24;

/// Runs at least `n` independent operations (additions and loads from L1), and returns how many it ran (the next
/// multiple of 24): eight chains of additions that do not depend on each other, and a load from the first level after
/// every two additions. How many the core does in a cycle is a constant of it. Fewer show work on its other hardware
/// thread that chains like [`alu_chain`] leave room for.
// One copy: how the loop lies in memory must not differ from caller to caller.
#[inline(never)]
pub fn throughput(n: u64) -> u64 {
    // On the stack of the thread, whose lines it has in its first level: nothing that is measured is touched.
    let lines = Lines([1; 64]);
    let rounds = n.div_ceil(ROUND).max(1);
    arch::throughput(rounds, &lines);
    rounds * ROUND
}

/// Waits for `n` turns of a loop that takes one cycle or two a turn and touches no memory.
#[inline(always)]
pub fn spin(n: u64) {
    arch::spin(n);
}

#[cfg(test)]
mod tests {
    use super::*;

    type Chain = fn(u64) -> u64;

    const CHAINS: [(&str, Chain); 2] = [("additions", alu_chain), ("multiplications", mul_chain)];

    #[test]
    fn chains_run_whole_rounds() {
        for (name, chain) in CHAINS {
            assert_eq!((chain(0), chain(1), chain(129)), (128, 128, 256), "{name}");
        }
    }

    #[test]
    fn independent_operations_run_in_whole_rounds() {
        assert_eq!((throughput(0), throughput(24), throughput(25)), (24, 24, 48));
    }

    #[test]
    fn chains_take_time_in_proportion_to_their_length() {
        for (name, chain) in CHAINS {
            let shortest = |n| {
                let time = || {
                    let start = stamp();
                    let ran = chain(n);
                    assert_eq!(ran, n);
                    stamp() - start
                };
                (0..200).map(|_| time()).min().unwrap()
            };
            // The shortest of many: undisturbed at both lengths. Twice off either way covers a clock that changes in
            // between, an emulator, and the cost of the stamps.
            let ratio = shortest(1 << 16) as f64 / shortest(1 << 14) as f64;
            assert!((2.0..8.0).contains(&ratio), "four times the chain of {name} took {ratio} times as long");
        }
    }
}
