//! Sources of counters, and the choice among them.

use std::io;

use tiermark_machine::Root;
use tiermark_machine::files::ProcessStat;
use tiermark_model::messages::counters as says;
use tiermark_model::{CounterSight, CounterSourceId, CounterSourceInfo, Note, Refusal};

use crate::snapshot::Snapshot;

/// Something that counts traffic.
pub trait CounterSource {
    /// Which source it is.
    fn id(&self) -> CounterSourceId;

    /// What it sees. It sees nothing else.
    fn sees(&self) -> Vec<CounterSight>;

    /// What was found when it was opened, and what its counts lack.
    fn notes(&self) -> Vec<Note> {
        Vec::new()
    }

    /// Whether a snapshot has all that was counted until the call. Other sources are behind by up to an interval of
    /// their own, of about a second: they cannot say what moved in a few milliseconds.
    fn is_immediate(&self) -> bool {
        true
    }

    /// The counts now. The time of files that other programs write is that of their last line: bytes belong to that
    /// time, not to the time of the call. A source without readings at first is taken to count from 0 when it has some.
    ///
    /// # Errors
    /// What keeps the source from being read.
    fn read(&mut self) -> io::Result<Snapshot>;
}

/// The source of a machine without any: it has no counts, which is not the same as counts of 0.
#[derive(Debug, Clone, Copy, Default)]
pub struct Null;

impl CounterSource for Null {
    fn id(&self) -> CounterSourceId {
        CounterSourceId::None
    }

    fn sees(&self) -> Vec<CounterSight> {
        Vec::new()
    }

    fn read(&mut self) -> io::Result<Snapshot> {
        Ok(Snapshot::default())
    }
}

/// A source that may open.
pub struct Candidate<'a> {
    /// Which source it is.
    pub id: CounterSourceId,
    /// Opens it.
    pub open: Box<dyn FnOnce() -> Result<Box<dyn CounterSource>, Refusal> + 'a>,
}

/// The source that was chosen, and why those before it were not.
pub struct Chosen {
    /// The first that opened; [`Null`] if none did.
    pub source: Box<dyn CounterSource>,
    /// Those that were tried before it.
    pub refused: Vec<(CounterSourceId, Refusal)>,
}

impl Chosen {
    /// What was found when the source was opened, what its counts lack, and programs that may set the same counters.
    pub fn notes(&self, root: &Root) -> Vec<Note> {
        let mut notes = self.source.notes();
        if self.source.id() == CounterSourceId::Perf {
            notes.extend(other_monitors(root).into_iter().map(|(pid, name)| says::other_monitor(pid, &name)));
        }
        notes
    }

    /// The source among those that were tried, and whether it opened.
    pub fn info(&self, id: CounterSourceId) -> CounterSourceInfo {
        let refused = self.refused.iter().find(|(own, _)| *own == id).map(|(_, refusal)| refusal.clone());
        let (opens, sees, notes) = match self.source.id() == id {
            true => (true, self.source.sees(), self.source.notes()),
            false => (false, Vec::new(), Vec::new()),
        };
        CounterSourceInfo { source: id, opens: Some(opens), sees, boxes: Vec::new(), refused, notes }
    }
}

/// Opens candidates in their order until one opens.
pub fn first_that_opens(candidates: Vec<Candidate<'_>>) -> Chosen {
    let mut refused = Vec::new();
    for Candidate { id, open } in candidates {
        match open() {
            Ok(source) => return Chosen { source, refused },
            Err(refusal) => refused.push((id, refusal)),
        }
    }
    Chosen { source: Box::new(Null), refused }
}

/// Programs that use the same registers behind the kernel's back, by the start of their names.
const MONITORS: [&str; 6] = ["pcm", "likwid-", "vtune", "emon", "sep", "amplxe"];
/// Processes that are looked at: a large server has some ten thousand.
const MOST_PROCESSES: usize = 100_000;

/// Running programs that may set the same counters back while they are read: pid and name.
pub fn other_monitors(root: &Root) -> Vec<(u32, String)> {
    let pids = root.numbered("proc", "").unwrap_or_default().into_iter().take(MOST_PROCESSES);
    let named = pids.filter_map(|pid| {
        let text = root.text(&format!("proc/{pid}/stat"))?;
        let name = ProcessStat::parse(&text)?.name.to_owned();
        is_monitor(&name).then_some((pid, name))
    });
    named.collect()
}

/// Whether a program of this name sets counters itself. `sep` is a whole word: other names begin like it.
fn is_monitor(name: &str) -> bool {
    MONITORS.iter().any(|monitor| {
        let rest = name.strip_prefix(monitor);
        rest.is_some_and(|rest| monitor.ends_with('-') || rest.is_empty() || rest.starts_with(['-', '.']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_opens_is_chosen_and_the_others_say_why() {
        let refusal = || tiermark_model::messages::counters::no_pmu();
        let refused = |id| Candidate { id, open: Box::new(move || Err(refusal())) };
        let opens = |id| Candidate { id, open: Box::new(|| Ok(Box::new(Null) as Box<dyn CounterSource>)) };
        let chosen = first_that_opens(vec![
            refused(CounterSourceId::Perf),
            opens(CounterSourceId::Resctrl),
            refused(CounterSourceId::Likwid),
        ]);
        assert_eq!(chosen.refused, [(CounterSourceId::Perf, refusal())]);
        let mut none = first_that_opens(vec![refused(CounterSourceId::Perf)]).source;
        assert_eq!((none.id(), none.sees().len()), (CounterSourceId::None, 0));
        assert!(none.read().unwrap().readings.is_empty(), "no count is no 0");
    }

    #[test]
    fn monitors_are_named() {
        let stat = |name: &str| format!("1 ({name}) S 1 1");
        let names = ["pcm-memory", "pcm", "likwid-perfctr", "pcmanfm", "sep", "separate", "bash"];
        let files = names.iter().enumerate().map(|(pid, name)| (format!("proc/{pid}/stat"), stat(name)));
        let found = other_monitors(&Root::from_files("test", files));
        let found: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(found, ["pcm-memory", "pcm", "likwid-perfctr", "sep"]);
    }
}
