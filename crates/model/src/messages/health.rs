//! Messages about the system's health: errors of memory, and throttling for heat.

use super::rows::messages;
use crate::written::count_of;
use crate::{Bytes, Share};

/// Places that a sentence names.
const NAMED: usize = 8;

messages! {
    Warning corrected_errors_grew(errors: u64, places: &[String]):
        { format!("memory corrected {} during the run: {}", count_of(errors, "error"), listed(places)) },
        "a module with such errors may fail soon; each correction delays accesses",
        "see `ras-mc-ctl --error-count` or the board's event log; reseat the module, or replace it if the errors \
            return";

    Warning uncorrected_errors_grew(errors: u64, places: &[String]):
        { format!("memory had {} that could not be corrected during the run: {}", count_of(errors, "error"), listed(places)) },
        "data may be lost: do not trust programs that used this memory",
        "replace the module; see the board's event log and `dmesg`";

    /// `pages`: those whose errors could not be corrected, of `nodes`; without them only `bytes` are known.
    Warning memory_poisoned_during_run(pages: Option<u64>, nodes: &str, bytes: Option<Bytes>):
        { format!("the kernel took {} during the run", poisoned(pages, nodes, bytes)) },
        "data were lost: do not use this memory",
        { POISONED_CURE };

    Warning throttled(core: Option<u64>, package: Option<u64>, ms: Option<u64>, cpus: &str):
        {
            let cores = core.filter(|events| *events > 0).map(|events| format!("cores {}", count_of(events, "time")));
            let package = package.filter(|events| *events > 0);
            let packages = package.map(|events| format!("whole processors {}", count_of(events, "time")));
            let all: Vec<String> = cores.into_iter().chain(packages).collect();
            let cpus = if cpus.is_empty() { String::new() } else { format!(" (cpus {cpus})") };
            format!("heat throttled {} during the run{cpus}", all.join(" and "))
        },
        {
            let time = ms.filter(|ms| *ms > 0).map_or_else(String::new, |ms| format!(" for {ms} ms in all"));
            format!("the core clock was lower{time}: caches and single cores may be faster than these numbers")
        },
        "check fans, airflow and power limits, let the machine cool and run again";

    /// The cpu quota of a control group. `share`: of the time of one cpu.
    Warning quota_stopped(times: u64, file: &str, share: Option<Share>):
        {
            let share = share.map_or_else(String::new, |share| format!(", {share} of the time"));
            format!("a cpu quota stopped this program {} during the run{share}: {file}", count_of(times, "time"))
        },
        "stops are left out of the figures: each is of the time that the quota allows",
        "for programs that run without a pause expect that much less, or raise the quota";

    Note errors_counted(corrected: Option<u64>, uncorrected: Option<u64>, soft: &[String], hard: &[String]):
        {
            let kinds = [(corrected, "corrected", soft), (uncorrected, "not corrected", hard)];
            let counts = kinds.into_iter().filter_map(|(count, kind, places)| match count? {
                0 => Some(format!("0 {kind}")),
                count => Some(format!("{count} {kind} ({})", listed(places))),
            });
            counts.collect::<Vec<_>>().join(", ")
        };

    /// As above, since boot.
    Note memory_poisoned(pages: Option<u64>, nodes: &str, bytes: Option<Bytes>):
        { poisoned(pages, nodes, bytes) };

    Note memory_poisoned_cure():
        { format!("{POISONED_CURE}; after a reboot the kernel uses these pages again") };

    Note errors_cure(soft: &[String], hard: &[String]):
        {
            let replace = format!("replace the module at {} (`dmesg` and the board's event log name it)", listed(hard));
            let watch = format!(
                "reseat or replace the module at {} if the number of errors grows; a measuring command warns if it \
                    grows during the run",
                listed(soft)
            );
            let cures = [(hard, replace), (soft, watch)].into_iter().filter(|(places, _)| !places.is_empty());
            cures.map(|(_, cure)| cure).collect::<Vec<_>>().join("; ")
        };

    Note throttling_counted(core: Option<u64>, package: Option<u64>):
        {
            let kinds = [(core, "cores"), (package, "whole processors")];
            let counts = kinds.into_iter().filter_map(|(count, of)| Some(format!("{of} {}", count_of(count?, "time"))));
            counts.collect::<Vec<_>>().join(", ")
        };
}

const POISONED_CURE: &str =
    "replace the module: `dmesg`, `ras-mc-ctl --errors` and the board's event log show the address, and often the slot";

/// What was taken out of use.
fn poisoned(pages: Option<u64>, nodes: &str, bytes: Option<Bytes>) -> String {
    let of = if nodes.contains(['-', ',']) { "nodes" } else { "node" };
    match (pages.filter(|pages| *pages > 0), bytes) {
        (Some(pages), bytes) => {
            let all = bytes.map_or_else(String::new, |bytes| format!(" ({bytes} in all)"));
            format!("{} of {of} {nodes} out of use after uncorrected memory errors{all}", count_of(pages, "page"))
        }
        (None, Some(bytes)) => format!("{bytes} out of use after memory errors"),
        (None, None) => "memory out of use after errors".to_owned(),
    }
}

/// The first places, and how many more there are.
fn listed(places: &[String]) -> String {
    let more = places.len().saturating_sub(NAMED);
    let named = places.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match (named.is_empty(), more) {
        (true, _) => "place not reported".to_owned(),
        (false, 0) => named,
        (false, more) => format!("{named} and {more} more"),
    }
}
