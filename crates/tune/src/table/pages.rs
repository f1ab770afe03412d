//! Huge pages and merged pages.

use crate::knob::{Advice, Knob};
use tiermark_undo::Syntax::{Choice, Number};

const NO_SPLIT: &str = "the kernel need not assemble huge pages and split them again before it swaps them; programs \
    that opt out, as Redis since 6.2, see no change, but the memory of guests does";

pub(super) const KNOBS: &[Knob] = &[
    Knob::file(
        "transparent_hugepage/enabled",
        "sys/kernel/mm/transparent_hugepage/enabled",
        Choice,
        "which programs get huge pages without reserving them",
    )
    .swap_tier(Advice::To(&["never"], NO_SPLIT))
    .latency(Advice::To(
        &["madvise"],
        "programs that request huge pages (madvise) get them; other programs do not wait for compaction",
    )),
    Knob::file(
        "transparent_hugepage/defrag",
        "sys/kernel/mm/transparent_hugepage/defrag",
        Choice,
        "whether a page fault waits while the kernel frees a huge page",
    )
    .swap_tier(Advice::To(&["never"], "no page fault waits for compaction, which competes with reclaim"))
    .latency(Advice::To(&["madvise", "defer+madvise", "never"], "only programs that request huge pages (madvise) wait"))
    .default(&["madvise"]),
    Knob::file(
        "transparent_hugepage sizes",
        "sys/kernel/mm/transparent_hugepage/hugepages-*kB/enabled",
        Choice,
        "which programs get huge pages of each size",
    )
    .swap_tier(Advice::To(&["never", "inherit"], NO_SPLIT)),
    Knob::file(
        "transparent_hugepage/shrink_underused",
        "sys/kernel/mm/transparent_hugepage/shrink_underused",
        Number,
        "whether huge pages that are mostly zeros are split when memory is short",
    )
    .default(&["1"]),
    Knob::service("ksmtuned", "ksmtuned.service", "the service that starts merging when memory is short")
        .swap_tier(Advice::To(&["stopped"], "it starts KSM again; random data has no equal pages"))
        .latency(Advice::To(&["stopped"], "it starts KSM again")),
    Knob::file(
        "ksm/run",
        "sys/kernel/mm/ksm/run",
        Number,
        "merging of equal pages: 0 stopped, 1 running, 2 taken apart",
    )
    .swap_tier(Advice::To(&["0"], "random data has no equal pages, and looking for them costs cpu and cache"))
    .latency(Advice::To(&["0"], "a write to a merged page takes a fault and a copy"))
    .default(&["0"]),
];
