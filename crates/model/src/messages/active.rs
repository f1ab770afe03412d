//! Messages about the measurements of `watch --active`.

use super::rows::messages;
use crate::units::Bytes;

messages! {
    Refusal active_memory_scarce(most: Bytes, caches: Bytes):
        "memory in watch --active",
        "a tenth of the available memory would be {most} for each of two cells, which is not twice the {caches} of \
            caches",
        "free memory, or watch without memory latency and bandwidth";

    Refusal active_failed(cell: &str, why: &str):
        { format!("{cell} in watch --active") }, { why }, "the other measurements go on";

    /// A footprint within the declared size of a cache takes as long as memory.
    Refusal active_level_is_memory(tier: &str, declared: Bytes):
        { format!("{tier} in watch --active") },
        { format!("no footprint within the {declared} that are declared is faster than memory: other programs or \
            guests use all of it, or this machine has none") },
        "watch at a quieter hour; `tiermark survey` shows where the curve leaves each cache";

    /// A budget of which reading the system leaves too little. Percent of a cpu: what it takes, the budget, one that
    /// would do.
    Refusal active_budget_spent(interval: f64, percent: [f64; 3], needed: f64):
        "visits in watch --active",
        { format!("reading the system every {interval} s takes {:.2} % of a cpu{}", percent[0], spent(percent)) },
        { longer_or_more(needed, percent[2]) };

    Note active_capability_later(budget: f64, interval: f64):
        "capabilities are not known yet: each needs 60 undisturbed windows in 5 visits, at --budget 1% and \
            --interval 1s about a minute for caches and several for memory (here {budget}% and {interval}s)";

    Note active_without_record(figures: &str, commands: &str):
        "no saved run of this machine has a trusted number of {figures}, which would be the record: run {commands} \
            while the machine is idle";
}

/// The highest budget that the command takes, in percent of a cpu.
const MOST_BUDGET: f64 = 20.0;

/// An interval or a budget that would do.
fn longer_or_more(interval: f64, percent: f64) -> String {
    let more = format!(", or --budget {}%", (percent * 10.0).round() / 10.0);
    format!("use --interval {interval} or longer{}", if percent > MOST_BUDGET { "" } else { &more })
}

/// What is wrong with a share of the budget, in percent.
fn spent([share, budget, _]: [f64; 3]) -> String {
    if share > budget {
        format!(", so the budget of {budget} % does not hold and no cell is visited")
    } else {
        format!(" of the budget of {budget} %, so cells are rarely visited")
    }
}
