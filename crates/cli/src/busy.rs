//! How busy the machine is right now: the load average still shows a compiler that ended a minute ago.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use tiermark_model::{IdSet, Refusal, Warning};
use tiermark_tune::CpuTimes;
use tiermark_tune::doctor::{BUSY_NOTE, BUSY_PROBLEM};

/// Time watched: 20 ticks of the slowest usual accounting, 100 a second.
const WATCHED: Duration = Duration::from_millis(200);

/// How many of the given cpus other work keeps busy; `None` where the system does not say.
pub(crate) fn busy_cpus(cpus: &IdSet) -> Option<f64> {
    let read = || Some((Instant::now(), CpuTimes::parse(&fs::read_to_string("/proc/stat").ok()?, cpus)));
    let (began, before) = read()?;
    thread::sleep(WATCHED);
    let (ended, after) = read()?;
    let shares = after.since(&before, ended.duration_since(began).as_secs_f64())?;
    Some(shares.busy * cpus.len() as f64)
}

/// What to make of that many busy cpus.
///
/// # Errors
/// A [`Refusal`] when more than half are busy and the user did not insist.
pub(crate) fn judge(busy: f64, cpus: &IdSet, force: bool) -> Result<Option<Warning>, Refusal> {
    let share = busy / cpus.len().max(1) as f64;
    if share > BUSY_PROBLEM && !force {
        return Err(Refusal::new(
            "measuring now",
            format!(
                "other work keeps {busy:.1} of the {} cpus ({cpus}) busy, and a run would slow it down",
                cpus.len()
            ),
            "wait until it is quieter, choose idle cpus with --cpus, or insist with --force",
        ));
    }
    Ok((share > BUSY_NOTE).then(|| Warning {
        code: "busy".into(),
        text: format!("other work kept {busy:.1} of {} cpus busy just before the run", cpus.len()),
        cure: Some("measure on a quiet machine, or trust the verdicts".into()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warns_then_refuses_then_obeys() {
        let cpus: IdSet = "0-3".parse().unwrap();
        assert_eq!(judge(0.2, &cpus, false), Ok(None));
        assert_eq!(judge(1.0, &cpus, false).unwrap().unwrap().code, "busy");
        assert!(judge(3.0, &cpus, false).unwrap_err().cure.contains("--force"));
        assert!(judge(3.0, &cpus, true).unwrap().is_some());
    }
}
