//! Disturbances of a shot, and the sum over shots.

use tiermark_model::Disturbance;

use super::track::Track;
use crate::host::Shot;
use crate::interruptions::Interruptions;

/// A visit is stalled if gaps take over this many times the explained time, and at least this share of the visit more.
const UNEXPLAINED: f64 = 2.0;
const UNEXPLAINED_SHARE: f64 = 0.01;
/// Gaps of a stalled visit at least: one may be a rare interruption that no watch of the clock has seen yet.
const FEWEST_GAPS: usize = 2;

/// `is_of_core`: the work stays in caches of each thread's core, where memory does not stall.
pub(super) fn gaps(tracks: &[&Track<'_>], is_of_core: bool, interruptions: &Interruptions, account: &mut Disturbance) {
    let lost: f64 = tracks.iter().flat_map(|t| t.gaps.iter().map(|(a, b)| b - a - t.median_block)).sum();
    let all: f64 = tracks.iter().map(|t| t.end() - t.start()).sum();
    account.gap_share = if all > 0.0 { lost / all } else { 0.0 };
    account.stalled_share = if is_of_core { 0.0 } else { stalled(tracks, account.gap_share, interruptions) };
    account.stalled_shots = u64::from(account.stalled_share > 0.0);
    account.mostly_interrupted_shots = u64::from(tracks.iter().any(|track| track.is_mostly_interrupted));
    account.longest_gap_ns = tracks.iter().flat_map(|t| t.gaps.iter().map(|(a, b)| b - a)).fold(0.0, f64::max);
}

/// The share of the time of a visit in gaps that neither lost cpu time nor interruptions of an idle loop explain; 0 if
/// they may be chance. Only of chases and streams, which alone have borders.
fn stalled(tracks: &[&Track<'_>], gap_share: f64, interruptions: &Interruptions) -> f64 {
    let explained = |track: &&Track<'_>| {
        let guard = &track.shot.guard;
        let away = if guard.wall_ns > 0.0 { (1.0 - guard.cpu_ns / guard.wall_ns).max(0.0) } else { 0.0 };
        away + interruptions.long_share(guard.cpu)
    };
    let explained = tracks.iter().map(explained).sum::<f64>() / tracks.len() as f64;
    let gaps = tracks.iter().map(|track| track.gaps.len()).sum::<usize>();
    let is_more = gap_share > (UNEXPLAINED * explained).max(explained + UNEXPLAINED_SHARE);
    let has_borders = tracks.iter().all(|track| track.shot.border_ns.is_some());
    if has_borders && gaps >= FEWEST_GAPS && is_more { gap_share - explained } else { 0.0 }
}

pub(super) fn guards(shot: &Shot, account: &mut Disturbance) {
    account.shots = 1;
    let mut delay = None;
    let (mut cpu_ns, mut wall_ns) = (0.0, 0.0);
    for thread in &shot.threads {
        let guard = &thread.guard;
        account.involuntary_switches += guard.involuntary_switches;
        account.minor_faults += guard.minor_faults;
        account.major_faults += guard.major_faults;
        account.migrations += u64::from(guard.seen_on != [guard.cpu; 2]);
        cpu_ns += guard.cpu_ns;
        wall_ns += guard.wall_ns;
        delay = guard.run_delay_ns.map(|d| d + delay.unwrap_or(0.0)).or(delay);
    }
    account.unsettled_shots = u64::from(shot.threads.iter().any(|thread| !thread.settling.is_settled));
    account.settle_seconds = shot.settling_seconds();
    account.run_delay_ns = delay;
    account.cpu_share = (wall_ns > 0.0).then(|| cpu_ns / wall_ns);
}

/// Adds the account of another shot.
pub fn merge(total: &mut Disturbance, shot: &Disturbance) {
    let weight = total.shots as f64 / (total.shots + shot.shots).max(1) as f64;
    let mean = |a: f64, b: f64| a * weight + b * (1.0 - weight);
    total.gap_share = mean(total.gap_share, shot.gap_share);
    total.cpu_share = match (total.cpu_share, shot.cpu_share) {
        (Some(a), Some(b)) => Some(mean(a, b)),
        (a, b) => a.or(b),
    };
    total.run_delay_ns = match (total.run_delay_ns, shot.run_delay_ns) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    };
    total.windows += shot.windows;
    total.clean_windows += shot.clean_windows;
    total.shots += shot.shots;
    total.shots_set_aside += shot.shots_set_aside;
    total.longest_gap_ns = total.longest_gap_ns.max(shot.longest_gap_ns);
    total.involuntary_switches += shot.involuntary_switches;
    total.minor_faults += shot.minor_faults;
    total.major_faults += shot.major_faults;
    total.migrations += shot.migrations;
    total.unsettled_shots += shot.unsettled_shots;
    total.mostly_interrupted_shots += shot.mostly_interrupted_shots;
    total.stalled_share = mean(total.stalled_share, shot.stalled_share);
    total.stalled_shots += shot.stalled_shots;
    total.settle_seconds += shot.settle_seconds;
}
