//! Queues of the devices that hold swap.

use tiermark_model::Reach;

use crate::advice_input::AdviceInput;
use crate::knob::{Advice, Knob};
use tiermark_undo::Syntax::{Choice, Number};

pub(super) const KNOBS: &[Knob] = &[
    Knob::block("queue/scheduler", "queue/scheduler", Choice, "order of requests to the device").swap_tier(Advice::To(
        &["mq-deadline"],
        "reads go before writes: page faults wait for reads, no task waits for swap writes",
    )),
    Knob::block("queue/nr_requests", "queue/nr_requests", Number, "requests under way at once")
        .swap_tier(Advice::To(&["64"], "a short queue, so that a read does not wait behind many writes")),
    Knob::block("device/queue_depth", "device/queue_depth", Number, "requests that a SCSI device takes at once")
        .reach(Reach::Check)
        .swap_tier(Advice::Keep("queue/nr_requests bounds the queue of any device")),
    Knob::block("queue/max_sectors_kb", "queue/max_sectors_kb", Number, "the longest request, KiB")
        .swap_tier(Advice::To(&["32"], "short writes, so that a read behind one does not wait long")),
    Knob::block("queue/nomerges", "queue/nomerges", Number, "whether neighbouring requests are joined: 0 yes, 2 no")
        .swap_tier(Advice::To(&["0"], "joined writes leave the device free for reads"))
        .default(&["0"]),
    Knob::fact("device node", "sys/block/NAME/device/numa_node", nodes, "the node that each device is attached to")
        .swap_tier(Advice::Keep(
            "a device for each socket, on the socket's own lanes and not behind the chipset, spreads the load",
        )),
    Knob::file(
        "nvme io_queue_depth",
        "sys/module/nvme/parameters/io_queue_depth",
        Number,
        "the longest queue of NVMe devices",
    )
    .reach(Reach::Reboot)
    .swap_tier(Advice::By(nvme_depth)),
];

/// The depth that the published test used, by the boot option: the driver has no other time at which it reads it.
fn nvme_depth(_: &AdviceInput<'_>) -> Option<(String, String)> {
    let why = format!(
        "the driver reads it only when it starts: nvme.io_queue_depth=64, {}; queue/nr_requests has the same effect \
            at once",
        super::boot::HOW
    );
    Some(("64".to_owned(), why))
}

/// The node of each device looked at, where it says; -1 is "no matter".
fn nodes(input: &AdviceInput<'_>) -> Vec<(Option<String>, String)> {
    let node = |device: String| {
        // An NVMe namespace hangs below its controller, and that below the PCI device.
        let read = |below: &str| input.root.text(&format!("sys/block/{device}/{below}/numa_node"));
        let text = read("device").or_else(|| read("device/device"))?;
        let value = match text.trim().parse::<i32>().ok()? {
            n if n < 0 => "any node".to_owned(),
            n => format!("node {n}"),
        };
        Some((Some(device), value))
    };
    input.devices().into_iter().filter_map(node).collect()
}
