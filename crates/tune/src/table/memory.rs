//! Reclaim and swap.

use crate::advice_input::AdviceInput;
use crate::knob::{Advice, Knob};
use tiermark_undo::Syntax::Number;

pub(super) const KNOBS: &[Knob] = &[
    Knob::file("vm.page-cluster", "proc/sys/vm/page-cluster", Number, "pages read ahead from swap, as a power of two")
        .swap_tier(Advice::To(
            &["0"],
            "a random access needs one page, but waits until the pages read ahead with it are there; no effect on \
             zram, which never reads ahead",
        ))
        .default(&["3"]),
    Knob::file(
        "vm.watermark_scale_factor",
        "proc/sys/vm/watermark_scale_factor",
        Number,
        "how much memory kswapd keeps free, in hundredths of a percent",
    )
    .swap_tier(Advice::To(
        &["400"],
        "kswapd begins at 4 % free memory instead of 0.1 %, so fewer page faults have to reclaim memory themselves; \
         no effect on the limits of control groups",
    ))
    .default(&["10"]),
    Knob::file(
        "vm.min_free_kbytes",
        "proc/sys/vm/min_free_kbytes",
        Number,
        "memory that only the kernel's own urgent requests may take, KiB",
    )
    .swap_tier(Advice::Keep(
        "leave it as it is: vm.watermark_scale_factor makes kswapd begin earlier without a \
        larger reserve",
    )),
    Knob::file(
        "vm.watermark_boost_factor",
        "proc/sys/vm/watermark_boost_factor",
        Number,
        "reclaim ahead of need after memory was fragmented",
    )
    .latency(Advice::To(&["0"], "this reclaim runs in bursts, and evicts pages in use"))
    .default(&["15000"]),
    Knob::file(
        "vm.swappiness",
        "proc/sys/vm/swappiness",
        Number,
        "balance of reclaim between program pages and file \
        cache",
    )
    .swap_tier(Advice::By(swappiness))
    .default(&["60"]),
    Knob::file(
        "vm.zone_reclaim_mode",
        "proc/sys/vm/zone_reclaim_mode",
        Number,
        "reclaim on a node before memory of \
        another node is used",
    )
    .swap_tier(Advice::To(&["0"], "memory of another node is faster than any swap"))
    .latency(Advice::To(&["0"], "an allocation takes another node's memory rather than wait for reclaim"))
    .default(&["0"]),
    Knob::file(
        "vm.compaction_proactiveness",
        "proc/sys/vm/compaction_proactiveness",
        Number,
        "how eagerly memory is moved together in the background",
    )
    .latency(Advice::To(&["0"], "a thread that uses a page waits while the page is moved"))
    .default(&["20"]),
    Knob::file("vm.stat_interval", "proc/sys/vm/stat_interval", Number, "seconds between updates of memory statistics")
        .latency(Advice::To(&["10"], "each cpu is interrupted for them once in ten seconds rather than every second"))
        .default(&["1"]),
    Knob::file(
        "vm.overcommit_memory",
        "proc/sys/vm/overcommit_memory",
        Number,
        "whether programs may reserve more \
        memory than there is",
    )
    .swap_tier(Advice::Keep("a database that forks to save needs 1; other databases need no change"))
    .default(&["0"]),
    Knob::fact("swap priorities", "proc/swaps", priorities, "which swap area is filled first").swap_tier(Advice::Keep(
        "areas of equal priority share the load in turn; others are filled one after the \
            other",
    )),
];

/// Swap in memory is cheaper than reading files again.
fn swappiness(input: &AdviceInput<'_>) -> Option<(String, String)> {
    let why = "assumes that swap in memory is twice as fast as the disk of files: 133 and 67 of 200 (kernel \
        documentation, sysctl/vm)";
    let old =
        "swap in memory is faster than the disk of files; this kernel accepts at most 100 (Linux 5.8 and later: 200)";
    let (value, why) = if input.kernel_before(5, 8) { ("100", old) } else { ("133", why) };
    input.swaps_to_memory().then(|| (value.to_owned(), why.to_owned()))
}

fn priorities(input: &AdviceInput<'_>) -> Vec<(Option<String>, String)> {
    let area = |swap: &tiermark_model::Swap| (Some(swap.path.clone()), swap.priority.to_string());
    input.machine.system.swaps.iter().map(area).collect()
}
