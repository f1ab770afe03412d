//! Compressed memory as a swap device of its own.

use std::path::Path;
use std::thread;
use std::time::Duration;

use tiermark_model::Refusal;
use tiermark_tune::{Change, Syntax};

use super::Raised;
use crate::system::System;

const CONTROL: &str = "sys/class/zram-control";
/// Whoever makes device nodes (devtmpfs, udev) needs a moment.
const STEP: Duration = Duration::from_millis(20);
const STEPS: u32 = 100;

/// Adds a device, sets its algorithm before its size as the kernel wants it, and swaps to it.
pub(super) fn raise(algorithm: Option<&str>, size: u64, priority: u16, system: &mut System) -> Result<Raised, Refusal> {
    let number = add(system)?;
    let dir = format!("sys/block/zram{number}");
    if let Some(wanted) = algorithm {
        choose(&dir, wanted, system)?;
    }
    system.write(&format!("{dir}/disksize"), &size.to_string())?;
    let path = format!("/dev/zram{number}");
    wait_for(&path)?;
    system.note([Change::Swap { path: path.trim_start_matches('/').to_owned(), remove_file: false }])?;
    system.swap_on(&path, priority)?;
    Ok(Raised { device: Some(format!("zram{number}")), areas: vec![path], room: size, ..Raised::default() })
}

/// A new device's number. It is noted before it is there, and again once it is known to be ours.
fn add(system: &mut System) -> Result<u32, Refusal> {
    let none = |why: String| Refusal::new("the tier zram", why, "load the module: modprobe zram; or choose swap:PATH");
    if system.root().list(CONTROL).unwrap_or_default().is_empty() {
        return Err(none(format!("the kernel has no /{CONTROL}")));
    }
    let number = Change::next_zram(system.root());
    system.note([Change::Zram { number, sure: false }])?;
    let text = system.root().read(&format!("{CONTROL}/hot_add")).map_err(|why| none(why.to_string()))?;
    let number = text.as_deref().and_then(|text| text.trim().parse().ok());
    let number = number.ok_or_else(|| none(format!("/{CONTROL}/hot_add gives no device; it is root's")))?;
    system.note([Change::Zram { number, sure: true }])?;
    Ok(number)
}

fn choose(dir: &str, wanted: &str, system: &mut System) -> Result<(), Refusal> {
    let file = format!("{dir}/comp_algorithm");
    let text = system.root().read(&file).ok().flatten().unwrap_or_default();
    let offered = Syntax::Choice.parse(&text).map(|reading| reading.options).unwrap_or_default();
    if !offered.iter().any(|name| name == wanted) {
        return Err(Refusal::new(
            format!("the tier zram:{wanted}"),
            format!("this kernel compresses with {}", offered.join(", ")),
            "choose one of those",
        ));
    }
    system.write(&file, wanted)
}

fn wait_for(path: &str) -> Result<(), Refusal> {
    for _ in 0..STEPS {
        if Path::new(path).exists() {
            return Ok(());
        }
        thread::sleep(STEP);
    }
    Err(Refusal::new(
        format!("the device {path}"),
        "the kernel has it, and no node for it appeared",
        "run outside of a container, or with its /dev mounted",
    ))
}
