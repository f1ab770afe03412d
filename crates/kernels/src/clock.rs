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

/// Waits for `n` turns of a loop that takes one cycle or two a turn and touches no memory.
#[inline(always)]
pub fn spin(n: u64) {
    arch::spin(n);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_runs_whole_rounds() {
        assert_eq!((alu_chain(0), alu_chain(1), alu_chain(129)), (128, 128, 256));
    }

    #[test]
    fn the_chain_takes_time_in_proportion_to_its_length() {
        let shortest = |n| {
            let time = || {
                let start = stamp();
                let ran = alu_chain(n);
                assert_eq!(ran, n);
                stamp() - start
            };
            (0..200).map(|_| time()).min().unwrap()
        };
        // The shortest of many: undisturbed at both lengths. Twice off either way covers a clock that changes in between,
        // an emulator, and the cost of the stamps.
        let ratio = shortest(1 << 16) as f64 / shortest(1 << 14) as f64;
        assert!((2.0..8.0).contains(&ratio), "four times the chain took {ratio} times as long");
    }
}
