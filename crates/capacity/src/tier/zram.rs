//! Compressed memory as a swap device of its own.

use std::path::Path;
use std::thread;
use std::time::Duration;

use tiermark_machine::Root;
use tiermark_model::messages::tiers as messages;
use tiermark_model::{Refusal, nearest};
use tiermark_undo::{Change, Syntax};

use super::{ActiveTier, Preflight, TierSizes, leave_floor_for_pool};
use crate::evidence::Pools;
use crate::system::System;

const CONTROL: &str = "sys/class/zram-control";
/// devtmpfs or udev needs a moment to make a device node.
const STEP: Duration = Duration::from_millis(20);
const STEPS: u32 = 100;

/// Whether a device for this run can be added. The kernel lists its compression algorithms only on a device.
pub(super) fn preflight(algorithm: Option<&str>, wanted: &TierSizes, root: &Root) -> Preflight {
    let mut found = Preflight { room: Some(wanted.size), ..Preflight::default() };
    found.hold(leave_floor_for_pool("zram", wanted, root));
    if root.list(CONTROL).unwrap_or_default().is_empty() {
        found.refused.push(absent(root));
        return found;
    }
    let Some(algorithm) = algorithm else { return found };
    let devices = root.numbered("sys/block", "zram").unwrap_or_default();
    let algorithms = devices.iter().find_map(|n| root.text(&format!("sys/block/zram{n}/comp_algorithm")));
    match algorithms {
        Some(text) => {
            found.hold(offered(&text, algorithm));
        }
        None => found.unchecked.push(messages::zram_algorithm_unchecked(algorithm)),
    }
    found
}

/// The kernel has no zram, as far as can be seen: a module may have it.
fn absent(root: &Root) -> Refusal {
    let release = root.text("proc/sys/kernel/osrelease").unwrap_or_default();
    let listed = root.text(&format!("lib/modules/{}/modules.dep", release.trim()));
    match listed.is_some_and(|listed| listed.contains("/zram.ko")) {
        true => messages::zram_not_loaded(CONTROL),
        false => messages::zram_missing(CONTROL),
    }
}

/// Adds a device, sets its algorithm before its size as the kernel wants it, and swaps to it.
pub(super) fn activate(
    algorithm: Option<&str>,
    wanted: &TierSizes,
    priority: u16,
    system: &mut System,
) -> Result<ActiveTier, Refusal> {
    preflight(algorithm, wanted, system.root()).sure()?;
    let number = add(wanted.size, system)?;
    let dir = format!("sys/block/zram{number}");
    if let Some(wanted) = algorithm {
        choose(&dir, wanted, system)?;
    }
    system.write(&format!("{dir}/disksize"), &wanted.size.to_string())?;
    // However little values compress, the machine's memory beside the floor is not used up: the preflight found as
    // much.
    system.write(&format!("{dir}/mem_limit"), &wanted.most_compressed().to_string())?;
    let path = format!("/dev/zram{number}");
    wait_for(&path)?;
    system.note([Change::swap_device(path.trim_start_matches('/'))])?;
    system.swap_on(&path, priority, None)?;
    let name = format!("zram{number}");
    let pools = Pools { zram: vec![name.clone()], ..Pools::default() };
    Ok(ActiveTier { devices: vec![name], areas: vec![path], room: wanted.size, pools, ..ActiveTier::default() })
}

/// A new device's number. It is noted before it is there, and again once it is known to be ours.
fn add(size: u64, system: &mut System) -> Result<u32, Refusal> {
    let none = |why: String| messages::zram_not_added(&why);
    let number = Change::next_zram(system.root());
    system.note([Change::Zram { number, sure: false, size: None, sequence: None }])?;
    let text = system.root().read(&format!("{CONTROL}/hot_add")).map_err(|why| none(why.to_string()))?;
    let number = text.as_deref().and_then(|text| text.trim().parse().ok());
    let number = number.ok_or_else(|| none(format!("/{CONTROL}/hot_add gives no device number")))?;
    let sequence = system.root().value(&format!("sys/block/zram{number}/diskseq"));
    system.note([Change::Zram { number, sure: true, size: Some(size), sequence }])?;
    Ok(number)
}

fn choose(dir: &str, wanted: &str, system: &mut System) -> Result<(), Refusal> {
    let file = format!("{dir}/comp_algorithm");
    let text = system.root().text(&file).unwrap_or_default();
    offered(&text, wanted)?;
    system.write(&file, wanted)
}

/// Whether an algorithm is among those of a device's file: `lzo [lz4] zstd`.
fn offered(text: &str, wanted: &str) -> Result<(), Refusal> {
    let offered = Syntax::Choice.parse(text).map(|reading| reading.options).unwrap_or_default();
    if offered.iter().any(|name| name == wanted) {
        return Ok(());
    }
    let near = nearest(wanted, &offered.iter().map(String::as_str).collect::<Vec<_>>());
    Err(messages::zram_algorithm_missing(wanted, &offered, &near))
}

fn wait_for(path: &str) -> Result<(), Refusal> {
    for _ in 0..STEPS {
        if Path::new(path).exists() {
            return Ok(());
        }
        thread::sleep(STEP);
    }
    Err(messages::device_node_missing(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: TierSizes = TierSizes { size: 64 << 10, dram: 64 << 10, floor: 0 };

    fn machine(more: &[(&str, &str)]) -> Root {
        let memory = [("proc/meminfo", "MemAvailable:    1000 kB\n"), ("proc/sys/kernel/osrelease", "6.1.0\n")];
        Root::from_files("test", memory.iter().chain(more).copied())
    }

    #[test]
    fn an_algorithm_is_held_against_a_device_that_is_there() {
        let control = ("sys/class/zram-control/hot_add", "1\n");
        let here = machine(&[control, ("sys/block/zram3/comp_algorithm", "[lzo-rle] lzo lz4\n")]);
        assert_eq!(preflight(Some("lz4"), &WANTED, &here), Preflight { room: Some(64 << 10), ..Preflight::default() });
        let wrong = preflight(Some("lz4x"), &WANTED, &here).refused;
        assert_eq!(wrong[0].data["offered"], serde_json::json!(["lzo-rle", "lzo", "lz4"]));
        assert!(wrong[0].text("near").is_some_and(|near| near.contains("'lz4'")), "{wrong:?}");
        assert_eq!(preflight(Some("lz4x"), &WANTED, &here).sure(), Err(wrong[0].clone()));
        let unchecked = preflight(Some("lz5"), &WANTED, &machine(&[control]));
        assert_eq!(unchecked.unchecked, [messages::zram_algorithm_unchecked("lz5")]);
        assert!(unchecked.refused.is_empty(), "{unchecked:?}");
    }

    #[test]
    fn a_module_that_is_not_loaded_is_no_kernel_without_zram() {
        let listed = ("lib/modules/6.1.0/modules.dep", "kernel/drivers/block/zram/zram.ko: kernel/mm/zsmalloc.ko\n");
        let code = |more: &[(&str, &str)]| preflight(None, &WANTED, &machine(more)).refused[0].code.clone();
        assert_eq!([code(&[listed]), code(&[])], [messages::codes::zram_not_loaded, messages::codes::zram_missing]);
        // Everything at once: too little memory as well.
        let greedy = TierSizes { dram: 2 << 20, ..WANTED };
        assert_eq!(preflight(Some("x"), &greedy, &machine(&[])).refused.len(), 2);
    }
}
