//! Cpus that threads of the client are put on.

use std::io;
use std::thread;

use rustix::thread::{CpuSet, sched_setaffinity};
use tiermark_model::Refusal;
use tiermark_model::messages::load as says;

/// Where the kernel lists the cpus that there are.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Moves the calling thread to a cpu.
///
/// # Errors
/// The system's error.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// Whether threads may run on these cpus, found out by a thread that tries: a cpu may be there and this process be kept
/// off it.
///
/// # Errors
/// A [`Refusal`] that names those that it may not run on, and the cpus that there are.
pub(crate) fn check(cpus: &[usize]) -> Result<(), Refusal> {
    if cpus.is_empty() {
        return Ok(());
    }
    let may = |cpu: usize| cpu < CpuSet::MAX_CPU && pin(cpu).is_ok();
    let tried = thread::scope(|scope| {
        let tries = scope.spawn(|| cpus.iter().copied().filter(|cpu| !may(*cpu)).collect::<Vec<usize>>());
        tries.join().unwrap_or_default()
    });
    if tried.is_empty() {
        return Ok(());
    }
    let online = std::fs::read_to_string(ONLINE).unwrap_or_default();
    Err(refused(&tried, online.trim()))
}

fn refused(cpus: &[usize], online: &str) -> Refusal {
    let absent = online
        .parse::<tiermark_model::IdSet>()
        .is_ok_and(|online| cpus.iter().all(|cpu| u32::try_from(*cpu).is_ok_and(|cpu| !online.contains(cpu))));
    says::client_cpus_unusable(cpus, online, absent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_is_not_there_is_refused_with_those_that_are() {
        assert_eq!(check(&[]), Ok(()));
        let beyond = CpuSet::MAX_CPU;
        let told = check(&[beyond]).unwrap_err();
        let online = std::fs::read_to_string(ONLINE).unwrap();
        assert_eq!(told, says::client_cpus_unusable(&[beyond], online.trim(), true));
        // The calling thread keeps its affinity.
        let allowed = || rustix::thread::sched_getaffinity(None).unwrap().count();
        let before = allowed();
        let first = (0..beyond).find(|cpu| rustix::thread::sched_getaffinity(None).unwrap().is_set(*cpu)).unwrap();
        assert_eq!(check(&[first]), Ok(()));
        assert_eq!(allowed(), before);
    }

    #[test]
    fn a_cpu_that_others_have_is_told_from_one_that_is_not_there() {
        assert_eq!(refused(&[7], "0-1"), says::client_cpus_unusable(&[7], "0-1", true));
        assert_eq!(refused(&[1, 7], "0-1"), says::client_cpus_unusable(&[1, 7], "0-1", false));
        assert_eq!(refused(&[1], ""), says::client_cpus_unusable(&[1], "", true));
    }
}
