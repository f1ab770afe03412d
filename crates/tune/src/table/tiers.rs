//! Memory of several speeds: nodes, demotion, zswap, the page scanner's choice, DAMON.

use tiermark_model::Reach;

use crate::advice_input::AdviceInput;
use crate::knob::{Advice, Knob};
use tiermark_undo::Syntax::{Number, Switch, Word};

pub(super) const KNOBS: &[Knob] = &[
    Knob::file(
        "kernel.numa_balancing",
        "proc/sys/kernel/numa_balancing",
        Number,
        "moving pages to the node that uses them: 0 off, 1 between nodes, 2 between tiers",
    )
    .swap_tier(Advice::By(balancing))
    .latency(Advice::To(&["0"], "no page faults that only record which node uses a page")),
    Knob::file(
        "numa/demotion_enabled",
        "sys/kernel/mm/numa/demotion_enabled",
        Switch,
        "whether reclaim moves pages to a slower node before it swaps",
    )
    .swap_tier(Advice::By(demotion)),
    Knob::file(
        "kernel.numa_balancing_promote_rate_limit_MBps",
        "proc/sys/kernel/numa_balancing_promote_rate_limit_MBps",
        Number,
        "the most memory that is moved back from a slower node, MB a second",
    )
    .default(&["65536"]),
    Knob::fact(
        "memory tiers",
        "sys/devices/virtual/memory_tiering",
        memory_tiers,
        "which nodes the kernel treats as equally fast",
    ),
    Knob::file(
        "weighted_interleave",
        "sys/kernel/mm/mempolicy/weighted_interleave/node*",
        Number,
        "successive pages that a node gets when a program interleaves by weight",
    )
    .reach(Reach::Check)
    .swap_tier(Advice::Keep("`tiermark matrix` places pages by weight itself, and shows which weights are fastest")),
    Knob::file(
        "lru_gen/enabled",
        "sys/kernel/mm/lru_gen/enabled",
        Number,
        "the multi-generational choice of pages to reclaim",
    )
    .swap_tier(Advice::Keep("neither this nor the older lists are better everywhere: measure both")),
    Knob::file(
        "lru_gen/min_ttl_ms",
        "sys/kernel/mm/lru_gen/min_ttl_ms",
        Number,
        "age below which no page is reclaimed: a program is killed first",
    )
    .swap_tier(Advice::To(&["0"], "a tenant should become slow rather than be killed"))
    .default(&["0"]),
    Knob::file("zswap/enabled", "sys/module/zswap/parameters/enabled", Switch, "compressed memory in front of swap")
        .swap_tier(Advice::Keep("zswap is a tier: compare runs with and without it")),
    Knob::file("zswap/compressor", "sys/module/zswap/parameters/compressor", Word, "how zswap compresses")
        .swap_tier(Advice::Keep("lz4 is fast, zstd is small: measure with values like your own")),
    Knob::file(
        "zswap/max_pool_percent",
        "sys/module/zswap/parameters/max_pool_percent",
        Number,
        "the share of memory that zswap may take",
    )
    .default(&["20"]),
    Knob::file(
        "zswap/accept_threshold_percent",
        "sys/module/zswap/parameters/accept_threshold_percent",
        Number,
        "how far a full zswap must empty before it takes pages again",
    )
    .default(&["90"]),
    Knob::file(
        "zswap/shrinker_enabled",
        "sys/module/zswap/parameters/shrinker_enabled",
        Switch,
        "whether zswap writes cold pages to the device before it is full",
    )
    .swap_tier(Advice::Keep("it makes room for pages in use, and writes more")),
    Knob::fact("DAMON", "sys/kernel/mm/damon/admin/kdamonds", damon, "threads that watch which pages are in use")
        .swap_tier(Advice::Keep("tiermark never stops it; it clears the accessed bits that reclaim reads"))
        .latency(Advice::Keep("tiermark never stops it; it clears accessed bits, which costs page walks")),
];

fn balancing(input: &AdviceInput<'_>) -> Option<(String, String)> {
    let (value, why) = match input.has_slow_node() {
        true => ("2", "pages in use come back from the slower node"),
        false => ("0", "it competes with reclaim for the same lists of pages"),
    };
    Some((value.to_owned(), why.to_owned()))
}

fn demotion(input: &AdviceInput<'_>) -> Option<(String, String)> {
    let why = "cold pages go to the slower node, which is faster than a swap device";
    input.has_slow_node().then(|| ("true".to_owned(), why.to_owned()))
}

fn memory_tiers(input: &AdviceInput<'_>) -> Vec<(Option<String>, String)> {
    let nodes = input.machine.nodes.iter();
    let tier =
        |node: &tiermark_model::Node| Some((Some(format!("node {}", node.id)), format!("tier {}", node.memory_tier?)));
    nodes.filter_map(tier).collect()
}

fn damon(input: &AdviceInput<'_>) -> Vec<(Option<String>, String)> {
    let state = input.machine.system.damon_running.map(|on| if on { "running" } else { "not running" });
    state.map(|state| (None, state.to_owned())).into_iter().collect()
}
