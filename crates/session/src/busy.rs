//! Use of the cpus by other programs: checked before a run, and measured over all of it.

use std::thread;
use std::time::Duration;

use tiermark_machine::{ProcessTime, Root};
use tiermark_model::messages::capacity::machine_busy;
use tiermark_model::messages::load::load_beside_others;
use tiermark_model::messages::run as says;
use tiermark_model::messages::soak::memory_is_used;
use tiermark_model::{Bytes, IdSet, Machine, Refusal, Warning};
use tiermark_tune::doctor::{BUSY_NOTE, BUSY_PROBLEM, Busy, CpuSnapshot, STEAL_NOTE, STEAL_PROBLEM};

/// Time watched before a run: 20 ticks of the slowest usual accounting, 100 a second. The load average would still show
/// a compiler that ended a minute ago.
const WATCHED: Duration = Duration::from_millis(200);

/// Looks in a row that must find the cpus idle after one that found them busy.
const SEEN_IDLE: u32 = 2;

/// The cpus of a run from its beginning on. Counters are read at both ends and never in between, when that would
/// disturb.
pub struct OtherWork {
    cpus: IdSet,
    begun: CpuSnapshot,
}

impl OtherWork {
    /// Watches for a moment whether there is room for a run; `None` where the system does not say.
    ///
    /// # Errors
    /// `message` of the use of the cpus, if more than half of them are busy and `force` is false.
    pub fn begin<E>(cpus: &IdSet, force: bool, message: fn(&Busy, &IdSet) -> E) -> Result<Option<Self>, E> {
        Self::begin_after(&Root::live(), cpus, force, message, |_| false)
    }

    /// As [`OtherWork::begin`], but watches again for as long as `wait` returns true, which waits in between. Work that
    /// was seen has to be gone in [`SEEN_IDLE`] looks one after the other: a build has short pauses.
    ///
    /// # Errors
    /// As [`OtherWork::begin`], once `wait` returns false.
    pub fn begin_after<E>(
        root: &Root,
        cpus: &IdSet,
        force: bool,
        message: fn(&Busy, &IdSet) -> E,
        mut wait: impl FnMut(&Busy) -> bool,
    ) -> Result<Option<Self>, E> {
        let mut last: Option<Busy> = None;
        let mut idle = 0;
        loop {
            let Some(before) = CpuSnapshot::take(root, cpus) else { return Ok(None) };
            thread::sleep(WATCHED);
            let Some(begun) = CpuSnapshot::take(root, cpus) else { return Ok(None) };
            match begun.since(&before).filter(|busy| !force && is_too_busy(busy)) {
                Some(busy) => (last, idle) = (Some(busy), 0),
                None => idle += 1,
            }
            let Some(busy) = last.as_ref().filter(|_| idle < SEEN_IDLE) else {
                return Ok(Some(Self { cpus: cpus.clone(), begun }));
            };
            if !wait(busy) {
                return Err(message(busy, cpus));
            }
        }
    }

    /// Use of the cpus by other programs since the beginning; `None` where the system does not say.
    fn seen(&self) -> Option<Busy> {
        CpuSnapshot::take(&Root::live(), &self.cpus)?.since(&self.begun)
    }

    /// The programs that used the cpus most since the beginning; empty where none is known.
    pub fn programs(&self) -> String {
        self.seen().map(|busy| busy.names()).unwrap_or_default()
    }

    /// Use of the cpus by other programs since then, as a warning.
    pub fn warnings(&self) -> Vec<Warning> {
        self.seen().map(|busy| warnings(&busy)).unwrap_or_default()
    }
}

/// Whether more than half of the cpus are busy.
fn is_too_busy(busy: &Busy) -> bool {
    busy.share() > BUSY_PROBLEM
}

/// Whether programs hold so much memory that a run which takes nearly all the rest could end them: they may need more.
///
/// # Errors
/// A [`Refusal`] that names them.
pub fn memory_of_others(root: &Root, machine: &Machine) -> Result<(), Refusal> {
    /// A program that has less is not worth a question: this part of all memory.
    const WORTH: u64 = 20;
    /// Together they have at least this part of it.
    const MUCH: u64 = 5;
    /// Programs that are named.
    const NAMED: usize = 3;
    let Some(total) = machine.system.memory_bytes else { return Ok(()) };
    let own = std::process::id();
    let bytes = |process: &ProcessTime| process.resident_pages.saturating_mul(machine.page_bytes);
    let mut large: Vec<ProcessTime> = ProcessTime::all(root);
    large.retain(|process| process.pid != own && bytes(process) >= total / WORTH);
    large.sort_by_key(|process| std::cmp::Reverse(bytes(process)));
    let used: u64 = large.iter().map(bytes).sum();
    if used < total / MUCH {
        return Ok(());
    }
    let name = |process: &ProcessTime| format!("{} ({})", process.name, Bytes(bytes(process)));
    let names: Vec<String> = large.iter().take(NAMED).map(name).collect();
    Err(memory_is_used(&names.join(", "), Bytes(used), Bytes(total)))
}

/// Why a measurement of memory is not begun beside this.
pub fn disturbs_measurement(busy: &Busy, cpus: &IdSet) -> Refusal {
    let steal = Some(busy.steal).filter(|share| *share >= STEAL_NOTE);
    says::cpus_busy(busy.busy, busy.cpus as u64, &cpus.to_string(), &busy.names(), steal)
}

/// Why a run of tenants is not begun beside this.
pub fn disturbs_tenants(busy: &Busy, _cpus: &IdSet) -> Refusal {
    machine_busy(busy.share() * busy.cpus as f64, busy.cpus as u64, &busy.names())
}

/// The warning of `load` about busy cpus. It is no refusal: a user may want to load servers beside other work.
pub fn disturbs_client(busy: &Busy, _cpus: &IdSet) -> Warning {
    load_beside_others(busy.share() * busy.cpus as f64, busy.cpus as u64, &busy.names())
}

fn warnings(busy: &Busy) -> Vec<Warning> {
    if busy.busy > BUSY_NOTE * busy.cpus as f64 {
        let steal = Some(busy.steal).filter(|share| *share >= STEAL_NOTE);
        return vec![says::busy(busy.busy, busy.cpus as u64, &busy.names(), steal)];
    }
    Some(busy.steal).filter(|share| *share > STEAL_PROBLEM).map(says::steal).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn busy(busy: f64, steal: f64) -> Busy {
        Busy { cpus: 4, busy, steal, top: vec![("rustc".into(), 1.62), ("stress-ng".into(), 0.9)], whole: true }
    }

    #[test]
    fn beyond_one_half_a_run_is_refused_by_name() {
        let cpus: IdSet = "0-3".parse().unwrap();
        assert!(!is_too_busy(&busy(2.0, 0.0)) && is_too_busy(&busy(2.5, 0.0)));
        let refusal = disturbs_measurement(&busy(2.5, 0.0), &cpus);
        assert_eq!(
            refusal.why,
            "other work keeps 2.5 of 4 cpus (0-3) busy: rustc 1.6, stress-ng 0.9; a run would measure that work and \
                slow it down"
        );
        assert!(refusal.options.contains(&"--force".to_owned()), "{refusal}");
        // Stolen time counts as well.
        assert!(is_too_busy(&busy(1.0, 0.4)));
        let refusal = disturbs_measurement(&busy(1.0, 0.4), &cpus);
        assert_eq!(refusal.data["stolen"], 0.4, "{refusal}");
        let refusal = disturbs_tenants(&busy(2.5, 0.0), &cpus);
        assert!(
            refusal.why.starts_with("other work keeps 2.5 of 4 cpus busy: rustc 1.6, stress-ng 0.9; "),
            "{refusal}"
        );
        assert!(refusal.options.contains(&"--force".to_owned()), "{refusal}");
        let warning = disturbs_client(&busy(2.5, 0.0), &cpus);
        let text = "2.5 of the client's 4 cpus busy when the run began, by rustc 1.6, stress-ng 0.9: ";
        assert!(warning.text.starts_with(text) && warning.cure.unwrap().contains("--client-cpus"), "{}", warning.text);
    }

    /// A machine of one cpu whose time moves on while it is read: `is_busy` says what the cpu does.
    fn moving(directory: &std::path::Path, is_busy: &AtomicBool, ends: &AtomicBool) {
        let (mut used, mut idle) = (0_u64, 0_u64);
        while !ends.load(Ordering::Relaxed) {
            // Idle time is counted for more than passes, so that no delay of this thread looks like work.
            if is_busy.load(Ordering::Relaxed) {
                used += 1;
            } else {
                idle += 1000;
            }
            let line = format!("{used} 0 0 {idle} 0 0 0 0 0 0");
            let next = directory.join("proc/next");
            fs::write(&next, format!("cpu  {line}\ncpu0 {line}\n")).unwrap();
            fs::rename(next, directory.join("proc/stat")).unwrap();
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_run_begins_when_the_other_work_ends() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("proc")).unwrap();
        fs::write(directory.path().join("proc/cpuinfo"), "").unwrap();
        let root = Root::at(directory.path()).unwrap();
        let (is_busy, ends) = (AtomicBool::new(true), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| moving(directory.path(), &is_busy, &ends));
            while CpuSnapshot::take(&root, &IdSet::new()).is_none() {
                thread::sleep(Duration::from_millis(5));
            }
            let cpus: IdSet = "0".parse().unwrap();
            let begin = |wait: &mut dyn FnMut(&Busy) -> bool| {
                OtherWork::begin_after(&root, &cpus, false, disturbs_measurement, wait)
            };
            let refusal = begin(&mut |_| false).err().unwrap();
            assert!(refusal.why.starts_with("other work keeps 1.0 of 1 cpu (0) busy"), "{refusal}");
            assert!(OtherWork::begin_after(&root, &cpus, true, disturbs_measurement, |_| false).is_ok(), "forced");
            let mut looks = 0;
            let begun = begin(&mut |busy| {
                looks += 1;
                assert!(busy.busy > 0.9, "{busy:?}");
                is_busy.store(looks < 3, Ordering::Relaxed);
                looks < 10
            });
            // Three looks find work, and of the two that find none the first is not enough.
            assert!(begun.unwrap().is_some());
            assert_eq!(looks, 4);
            ends.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn programs_that_hold_a_fifth_of_the_memory_are_named() {
        let stat = |pid: u32, name: &str, pages: u64| {
            let text = format!("{pid} ({name}) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 100 0 {pages} 0\n");
            (format!("proc/{pid}/stat"), text)
        };
        let gib = |count: u64| count << 18;
        let system = tiermark_model::System { memory_bytes: Some(64 << 30), ..tiermark_model::System::default() };
        let machine = Machine { system, page_bytes: 4096, ..Machine::default() };
        let root = |redis: u64| {
            Root::from_files("test", [stat(7, "redis-server", gib(redis)), stat(8, "qemu", gib(4)), stat(9, "sh", 10)])
        };
        assert!(memory_of_others(&root(8), &machine).is_ok(), "12 of 64 GiB");
        let refusal = memory_of_others(&root(16), &machine).unwrap_err();
        assert!(refusal.why.ends_with("redis-server (16 GiB), qemu (4 GiB)"), "{refusal}");
        assert!(refusal.options.contains(&"--force".to_owned()));
    }

    #[test]
    fn a_tenth_is_a_warning() {
        assert_eq!(warnings(&busy(0.4, 0.1)), []);
        let texts = |all: Vec<Warning>| all.into_iter().map(|w| (w.code, w.text)).collect::<Vec<_>>();
        let text = "other work kept 0.9 of 4 cpus busy during the run: rustc 1.6, stress-ng 0.9";
        assert_eq!(texts(warnings(&busy(0.9, 0.0))), [(says::codes::busy, text.to_owned())]);
        let text = format!("{text}; the hypervisor gave 3 % of the cpus' time to other guests");
        assert_eq!(texts(warnings(&busy(0.9, 0.03))), [(says::codes::busy, text)]);
        let text = "the hypervisor gave 20 % of the cpus' time to other guests during the run";
        assert_eq!(texts(warnings(&busy(0.1, 0.2))), [(says::codes::steal, text.to_owned())]);
    }
}
