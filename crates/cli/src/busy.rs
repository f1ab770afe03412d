//! How busy the machine is right now: the load average still shows a compiler that ended a minute ago.

use std::fs;
use std::thread;
use std::time::Duration;

use tiermark_model::{IdSet, Refusal, Warning};

/// Time watched: 20 ticks of the slowest usual accounting, 100 a second.
const WATCHED: Duration = Duration::from_millis(200);
/// Share of the cpus that other work may take before a reader should know.
const WARN: f64 = 0.1;
/// Share beyond which a run would both disturb that work and measure little of use. Not at [`WARN`] already: on two cpus a
/// tenth is one daemon, and below one half the stamps show what was disturbed, so that the verdicts tell the truth.
const REFUSE: f64 = 0.5;

/// Jiffies of each cpu, idle and in all, as /proc/stat counts them.
fn ticks(text: &str, cpus: &IdSet) -> (u64, u64) {
    let (mut idle, mut total) = (0, 0);
    for line in text.lines() {
        let mut fields = line.split_ascii_whitespace();
        let cpu = fields.next().and_then(|name| name.strip_prefix("cpu")).and_then(|id| id.parse().ok());
        if !cpu.is_some_and(|cpu| cpus.contains(cpu)) {
            continue;
        }
        // user nice system idle iowait irq softirq steal; guest time is already in user.
        for (at, value) in fields.take(8).filter_map(|f| f.parse::<u64>().ok()).enumerate() {
            total += value;
            idle += if at == 3 || at == 4 { value } else { 0 };
        }
    }
    (idle, total)
}

/// How many of the given cpus other work keeps busy; `None` where the system does not say.
pub(crate) fn busy_cpus(cpus: &IdSet) -> Option<f64> {
    let read = || fs::read_to_string("/proc/stat").ok().map(|text| ticks(&text, cpus));
    let before = read()?;
    thread::sleep(WATCHED);
    let after = read()?;
    let (idle, total) = (after.0.checked_sub(before.0)?, after.1.checked_sub(before.1)?);
    (total > 0).then(|| (1.0 - idle as f64 / total as f64).clamp(0.0, 1.0) * cpus.len() as f64)
}

/// What to make of that many busy cpus.
///
/// # Errors
/// A [`Refusal`] when more than half are busy and the user did not insist.
pub(crate) fn judge(busy: f64, cpus: &IdSet, force: bool) -> Result<Option<Warning>, Refusal> {
    let share = busy / cpus.len().max(1) as f64;
    if share > REFUSE && !force {
        return Err(Refusal::new(
            "measuring now",
            format!(
                "other work keeps {busy:.1} of the {} cpus ({cpus}) busy, and a run would slow it down",
                cpus.len()
            ),
            "wait until it is quieter, choose idle cpus with --cpus, or insist with --force",
        ));
    }
    Ok((share > WARN).then(|| Warning {
        code: "busy".into(),
        text: format!("other work kept {busy:.1} of {} cpus busy just before the run", cpus.len()),
        cure: Some("measure on a quiet machine, or trust the verdicts".into()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_idle_time_of_the_cpus_in_scope() {
        let text = "cpu  9 9 9 9\ncpu0 1 2 3 40 5 6 7 8 9 9\ncpu1 100 0 0 0 0 0 0 0 0 0\nintr 5\n";
        assert_eq!(ticks(text, &"0".parse().unwrap()), (45, 72));
        assert_eq!(ticks(text, &"0-1".parse().unwrap()), (45, 172));
        assert_eq!(ticks("garbage\ncpu0 x", &"0".parse().unwrap()), (0, 0));
    }

    #[test]
    fn warns_then_refuses_then_obeys() {
        let cpus: IdSet = "0-3".parse().unwrap();
        assert_eq!(judge(0.2, &cpus, false), Ok(None));
        assert_eq!(judge(1.0, &cpus, false).unwrap().unwrap().code, "busy");
        assert!(judge(3.0, &cpus, false).unwrap_err().cure.contains("--force"));
        assert!(judge(3.0, &cpus, true).unwrap().is_some());
    }
}
