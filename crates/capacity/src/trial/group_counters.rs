//! What guards see of the tenants' control groups. Some kernels lack counters, from the first trial on; a counter that
//! goes away in the middle of a trial leaves a guard blind, which is not the same as calm.

use tiermark_machine::Root;
use tiermark_model::Warning;
use tiermark_model::messages::capacity as messages;

use crate::backend::Counted;
use crate::evidence::{GroupCounters, GroupPaths};

/// The tenants' groups at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Look {
    /// The group around all.
    pub(super) group: GroupCounters,
    /// Processes that the kernel killed for want of memory; `None` where it does not count them.
    pub(super) kills: Option<u64>,
}

impl Look {
    /// Reads them.
    ///
    /// # Errors
    /// A sentence that names a file that makes no sense.
    pub(super) fn at(root: &Root, counted: &Counted) -> Result<Self, String> {
        let read = |paths: &GroupPaths| GroupCounters::read(root, paths).map_err(|why| why.to_string());
        let group = read(&counted.all)?;
        let mut kills = group.oom_kills;
        // Version 1 counts a kill where the victim was, version 2 above it too.
        if let GroupPaths::V1 { .. } = counted.all {
            for paths in &counted.each {
                let more = read(paths)?.oom_kills;
                kills = kills.zip(more).map(|(sum, more)| sum.saturating_add(more));
            }
        }
        Ok(Self { group, kills })
    }

    /// Time that all tenants have waited for memory, µs; `None` where the kernel does not tell.
    pub(super) fn stalled(&self) -> Option<u64> {
        Some(self.group.memory_pressure?.full?.total_us)
    }
}

/// Which counters were there at any look of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sight {
    kills: bool,
    stalls: bool,
}

impl Sight {
    /// Takes a look down.
    ///
    /// # Errors
    /// A sentence that names the counter that was there before, and is not any more.
    pub(super) fn keeps(&mut self, look: &Look) -> Result<(), String> {
        let counters = [
            (&mut self.kills, look.kills.is_some(), "the number of processes killed for want of memory"),
            (&mut self.stalls, look.stalled().is_some(), "the time for which tenants waited for memory"),
        ];
        for (had, has, what) in counters {
            if *had && !has {
                return Err(format!("{what} is not there any more in the tenants' control groups"));
            }
            *had |= has;
        }
        Ok(())
    }
}

/// What no guard will see on this system.
pub(crate) fn unseen(root: &Root, counted: &Counted) -> Vec<Warning> {
    // What makes no sense ends the first trial.
    let Ok(look) = Look::at(root, counted) else { return Vec::new() };
    let kills = look.kills.is_none().then(messages::kills_not_counted);
    let stalls = look.stalled().is_none().then(messages::stalls_not_counted);
    kills.into_iter().chain(stalls).collect()
}

#[cfg(test)]
mod tests {
    use tiermark_machine::{Stall, Stalls};

    use super::*;

    const PRESSURE: &str =
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";

    fn version_1(each: &[&str]) -> Counted {
        let paths = |name: &str| GroupPaths::V1 { memory: name.to_owned(), cpu: None, pressure: None };
        Counted { all: paths("all"), each: each.iter().map(|name| paths(name)).collect() }
    }

    #[test]
    fn kills_are_counted_where_the_victims_were() {
        let files = [("all/memory.oom_control", "oom_kill 1\n"), ("a/memory.oom_control", "oom_kill 2\n")];
        let root = Root::from_files("test", files);
        assert_eq!(Look::at(&root, &version_1(&["a"])).unwrap().kills, Some(3));
        assert_eq!(Look::at(&root, &version_1(&["a", "gone"])).unwrap().kills, None, "of one nothing is known");
        let two = Root::from_files("test", [("g/memory.events", "oom_kill 4\n"), ("g/memory.pressure", PRESSURE)]);
        let all = Counted { all: GroupPaths::V2("g".to_owned()), each: vec![GroupPaths::V2("g/1".to_owned())] };
        let look = Look::at(&two, &all).unwrap();
        assert_eq!((look.kills, look.stalled()), (Some(4), Some(5)));
        assert_eq!((unseen(&two, &all), unseen(&root, &version_1(&["a"])).len()), (Vec::new(), 1));
        let malformed = Root::from_files("test", [("g/memory.events", "oom_kill many\n")]);
        assert!(Look::at(&malformed, &all).unwrap_err().contains("g/memory.events"));
    }

    #[test]
    fn what_was_there_must_stay_and_what_never_was_is_not_missed() {
        let stall = |total_us| Stall { avg10: 0.0, avg60: None, avg300: None, total_us };
        let stalled = |us: Option<u64>| GroupCounters {
            memory_pressure: Some(Stalls { some: stall(0), full: us.map(stall) }),
            ..GroupCounters::default()
        };
        let mut sight = Sight::default();
        assert_eq!(sight.keeps(&Look::default()), Ok(()));
        assert_eq!(sight.keeps(&Look { kills: Some(0), ..Look::default() }), Ok(()));
        assert!(sight.keeps(&Look::default()).unwrap_err().contains("killed"));
        let both = Look { kills: Some(0), group: stalled(Some(1)) };
        assert_eq!([sight.keeps(&both), sight.keeps(&both)], [Ok(()), Ok(())]);
        assert!(sight.keeps(&Look { group: stalled(None), ..both }).unwrap_err().contains("waited"));
    }
}
