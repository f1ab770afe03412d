//! The theoretical peak of the memory channels.

use std::collections::BTreeMap;

use tiermark_model::{Dimm, TheoreticalPeak};

use super::{channels, memory};

/// Data bits of a channel where firmware does not say: DDR to DDR4 have one channel of 64 bits, DDR5 modules two of 32.
const MODULE_BITS: u32 = 64;

/// The peak of all populated channels: transfers per second × bytes a transfer, summed over channels.
///
/// Modules that share a channel count once if slot names show it; else every module counts as its own channel, and
/// `how` calls the result an upper bound. `None` if no module states its speed.
pub fn theoretical_peak(dimms: &[Dimm]) -> Option<TheoreticalPeak> {
    let slots = channels::by_slot(dimms);
    let modules: Vec<(usize, &Dimm)> = dimms
        .iter()
        .enumerate()
        .filter(|(_, dimm)| dimm.populated && dimm.kind.as_deref() != Some(memory::NON_VOLATILE))
        .collect();
    let mut rated = false;
    let mut channels: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for (index, dimm) in &modules {
        let speed = dimm.configured_transfers.or(dimm.rated_transfers).filter(|s| s.is_finite() && *s > 0.0)?;
        rated |= dimm.configured_transfers.is_none();
        let key = slots.as_ref().map_or_else(|| index.to_string(), |keys| keys[*index].clone());
        let bytes = f64::from(width_bits(dimm)) / 8.0;
        let channel = channels.entry(key).or_insert((speed, bytes));
        // All modules of a channel run at the speed of the slowest.
        channel.0 = channel.0.min(speed);
    }
    let bytes_per_second: f64 = channels.values().map(|(speed, bytes)| speed * bytes).sum();
    if channels.is_empty() {
        return None;
    }
    let mut how = describe(&channels);
    how.push_str(&match slots {
        Some(_) if modules.len() == channels.len() => format!("; {} modules, each on its own channel", modules.len()),
        Some(_) => format!("; {} modules, channels told by slot names", modules.len()),
        None => "; one channel per module assumed, for slot names do not tell: an upper bound".to_owned(),
    });
    if rated {
        how.push_str("; rated speed where firmware does not state the configured one");
    }
    Some(TheoreticalPeak { bytes_per_second, how })
}

fn width_bits(dimm: &Dimm) -> u32 {
    let module = dimm.form.as_deref().is_none_or(|form| form.ends_with("DIMM"));
    match dimm.data_width {
        // Some firmware states one of the two sub-channels of a DDR5 module.
        Some(32) | None if module => MODULE_BITS,
        Some(bits) => bits,
        None => MODULE_BITS,
    }
}

/// `8 channels x 4800 MT/s x 8 bytes`, with one term for each speed and width.
fn describe(channels: &BTreeMap<String, (f64, f64)>) -> String {
    let mut terms: BTreeMap<(u64, u64), usize> = BTreeMap::new();
    for (speed, bytes) in channels.values() {
        *terms.entry(((speed / 1e6).round() as u64, bytes.round() as u64)).or_default() += 1;
    }
    let terms: Vec<String> = terms
        .iter()
        .map(|((speed, bytes), count)| {
            let noun = if *count == 1 { "channel" } else { "channels" };
            format!("{count} {noun} x {speed} MT/s x {bytes} bytes")
        })
        .collect();
    terms.join(" + ")
}
