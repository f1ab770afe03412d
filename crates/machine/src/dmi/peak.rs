//! The theoretical peak of the memory channels.

use std::collections::BTreeMap;

use tiermark_model::{CpuModel, Dimm, MemoryChannels, TheoreticalPeak};

use super::channels::{self, Channel};
use super::memory;
use crate::processors;

/// Data bits of a channel: DDR to DDR4 have one channel of 64 bits, DDR5 modules two of 32.
const MODULE_BITS: u32 = 64;
/// Data bits of the two channels that a pair of modules serves.
const PAIR_BITS: u32 = 128;

/// The most memory channels that a machine can have, by its processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channels {
    /// Of all sockets, each of 64 bits.
    pub count: u32,
    /// Whose they are: `8 of each Ice Lake-SP`.
    pub whose: String,
}

impl Channels {
    /// Those of so many processors; `None` for a processor whose channels the table of families does not tell.
    pub fn of(model: &CpuModel, sockets: usize) -> Option<Self> {
        let family = processors::of(model)?;
        let each = family.channels?;
        let count = each.checked_mul(u32::try_from(sockets).ok()?)?;
        (count > 0).then(|| Self { count, whose: format!("{each} of each {}", family.called) })
    }

    /// All of them at the speed of the fastest of some channels.
    fn all(&self, channels: &BTreeMap<Channel, Rate>) -> BTreeMap<Channel, Rate> {
        let fastest = channels.values().map(|(speed, _)| *speed).fold(0.0, f64::max);
        (0..self.count as usize).map(|n| (Channel::unnamed(n), (fastest, f64::from(MODULE_BITS) / 8.0))).collect()
    }

    /// Their number where all channels that modules fill have one width: 8 of 16 bits (LPDDR) are 2 of 64. `None` where
    /// widths differ.
    fn of_width(&self, filled: &BTreeMap<Channel, Rate>) -> Option<u32> {
        let mut widths = filled.values().map(|(_, bytes)| (bytes * 8.0) as u32);
        let width = widths.next().filter(|width| *width > 0)?;
        widths.all(|other| other == width).then(|| self.count.saturating_mul(MODULE_BITS) / width)
    }

    /// What they carry at most at that speed.
    fn bound(&self, channels: &BTreeMap<Channel, Rate>) -> f64 {
        sum(&self.all(channels))
    }
}

/// A channel: transfers per second, bytes a transfer.
type Rate = (f64, f64);

/// The peak of all populated channels: transfers per second × bytes a transfer, summed over channels.
///
/// Modules that share a channel count once where slot names tell which do; else every module counts as its own channel,
/// up to the `most` that so many `processors` have, and `how` calls the result an upper bound. `unlisted` are the
/// board's slots beside those of `dimms`. `None` where no module says how fast it runs.
pub fn theoretical_peak(
    dimms: &[Dimm],
    unlisted: usize,
    processors: usize,
    most: Option<&Channels>,
) -> Option<TheoreticalPeak> {
    let modules: Vec<(usize, &Dimm)> = dimms
        .iter()
        .enumerate()
        .filter(|(_, dimm)| dimm.populated && dimm.kind.as_deref() != Some(memory::NON_VOLATILE))
        .collect();
    // The memory on the package of a processor has channels of its own, which the table does not count.
    let stacked = modules.iter().any(|(_, dimm)| memory::is_stack(dimm));
    let most = most.filter(|_| !stacked);
    let of_their_own = rates(&modules, Channel::unnamed)?;
    let by_slot = channels::by_slot(dimms);
    let named = by_slot.as_ref().and_then(|keys| rates(&modules, |index| keys[index].clone()));
    // Names that make more channels than there can be were misread.
    let named = named.filter(|channels| most.is_none_or(|most| sum(channels) <= most.bound(channels)));
    let count = match (&named, &by_slot) {
        (Some(named), Some(by_slot)) => {
            let listed = channels::of_processors(by_slot, dimms, processors).len();
            let most = most.and_then(|most| most.of_width(named));
            of_board(named.len(), listed, unlisted, most)
        }
        _ => at_most(&modules, dimms.len() + unlisted, most),
    };
    let (channels, basis) = match (named, most) {
        (Some(named), _) if named.len() == modules.len() => {
            (named, format!("{} modules, each on its own channel", modules.len()))
        }
        (Some(named), _) => (named, format!("{} modules, channels told by slot names", modules.len())),
        (None, Some(most)) if sum(&of_their_own) > most.bound(&of_their_own) => {
            let basis = format!("all channels assumed, {}, for slot names do not tell: an upper bound", most.whose);
            (most.all(&of_their_own), basis)
        }
        (None, _) => {
            let basis = "one channel per module assumed, for slot names do not tell: an upper bound";
            (of_their_own, basis.to_owned())
        }
    };
    let how = format!("{}; {basis}{}", describe(&channels), remarks(&modules));
    let upper_bound = count.is_none_or(|count| count.at_most);
    Some(TheoreticalPeak { bytes_per_second: sum(&channels), how, upper_bound, channels: count })
}

/// How the speeds and widths of modules are known, where firmware does not state them as they are.
fn remarks(modules: &[(usize, &Dimm)]) -> String {
    let any = |holds: fn(&Dimm) -> bool| modules.iter().any(|(_, dimm)| holds(dimm));
    let is_rated = |dimm: &Dimm| dimm.configured_transfers.and_then(memory::plausible).is_none();
    [
        (any(is_rated), "; rated speed where firmware does not state the configured one"),
        (any(|dimm| dimm.states_clock), "; firmware states the clock in MHz, half of the MT/s"),
        (any(memory::is_stack), "; each stack of HBM has 1024 bits"),
    ]
    .into_iter()
    .filter_map(|(holds, remark)| holds.then_some(remark))
    .collect()
}

/// The channels of a board whose slot names tell them: those that both the board and the processors have can be filled.
/// Slots without a name may be of the processors' other channels; without these they tell nothing.
fn of_board(filled: usize, listed: usize, unlisted: usize, most: Option<u32>) -> Option<MemoryChannels> {
    let on_board = u32::try_from(listed + unlisted).ok()?;
    let most = match most {
        Some(most) => most.min(on_board),
        None if unlisted == 0 => on_board,
        None => return None,
    };
    Some(MemoryChannels { populated: u32::try_from(filled).ok()?, most: Some(most), at_most: false })
}

/// What counting proves where slot names do not tell: modules fill at most as many channels as there are modules.
/// Only memory in DIMMs shows it: other forms serve several channels.
fn at_most(modules: &[(usize, &Dimm)], slots: usize, most: Option<&Channels>) -> Option<MemoryChannels> {
    let most = most?.count.min(u32::try_from(slots).ok()?);
    let populated = u32::try_from(modules.len()).ok()?;
    let proves = populated < most && modules.iter().all(|(_, dimm)| is_dimm(dimm));
    proves.then_some(MemoryChannels { populated, most: Some(most), at_most: true })
}

/// Channels by name, from the channel of each module; `None` if there is no module, or a module has no speed.
fn rates(modules: &[(usize, &Dimm)], name: impl Fn(usize) -> Channel) -> Option<BTreeMap<Channel, Rate>> {
    let mut channels: BTreeMap<Channel, Rate> = BTreeMap::new();
    for (index, dimm) in modules {
        let stated = [dimm.configured_transfers, dimm.rated_transfers];
        let speed = stated.into_iter().flatten().find_map(memory::plausible)?;
        let channel = channels.entry(name(*index)).or_insert((speed, f64::from(width_bits(dimm)) / 8.0));
        // All modules of a channel run at the speed of the slowest.
        channel.0 = channel.0.min(speed);
    }
    (!channels.is_empty()).then_some(channels)
}

fn sum(channels: &BTreeMap<Channel, Rate>) -> f64 {
    channels.values().map(|(speed, bytes)| speed * bytes).sum()
}

/// Whether memory is a module of one channel; so is one whose form firmware does not state.
fn is_dimm(dimm: &Dimm) -> bool {
    let is_package = dimm.kind.as_deref().is_some_and(|kind| kind.starts_with("LPDDR"))
        && dimm.data_width.is_some_and(|bits| bits > PAIR_BITS);
    !is_package && dimm.form.as_deref().is_none_or(|form| form.ends_with("DIMM"))
}

/// A module's bits; those of memory that is soldered are as firmware states them.
fn width_bits(dimm: &Dimm) -> u32 {
    if memory::is_stack(dimm) {
        return memory::STACK_BITS;
    }
    // Firmware states one of the two sub-channels of a DDR5 module, both channels that a pair serves, or nonsense.
    dimm.data_width.filter(|_| !is_dimm(dimm)).and_then(memory::data_bits).unwrap_or(MODULE_BITS)
}

/// `8 channels x 4800 MT/s x 8 bytes`, with one term for each speed and width.
fn describe(channels: &BTreeMap<Channel, Rate>) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Modules by locator and bank, all of one speed and width.
    fn modules(count: u32, name: impl Fn(u32) -> (String, String), width: u32) -> Vec<Dimm> {
        let module = |index| {
            let (locator, bank) = name(index);
            Dimm {
                locator: Some(locator),
                bank: Some(bank),
                populated: true,
                form: Some("DIMM".into()),
                configured_transfers: Some(3.2e9),
                data_width: Some(width),
                ..Dimm::default()
            }
        };
        (0..count).map(module).collect()
    }

    fn unnamed(count: u32) -> Vec<Dimm> {
        modules(count, |n| (format!("DIMM {n}"), String::new()), 64)
    }

    fn gigabytes(dimms: &[Dimm], most: Option<u32>) -> Option<f64> {
        let most = most.map(|count| Channels { count, whose: "8 of each Ice Lake-SP".into() });
        theoretical_peak(dimms, 0, 2, most.as_ref()).map(|peak| peak.bytes_per_second / 1e9)
    }

    #[test]
    fn a_channel_carries_64_bits_of_data_whatever_its_modules_say() {
        for width in [64, 72, 80, 32, 40, 8, 128, 42568] {
            let pair = modules(2, |n| (format!("DIMM_{}1", ['A', 'B'][n as usize]), String::new()), width);
            assert_eq!(gigabytes(&pair, None), Some(51.2), "{width} bits");
        }
        let soldered = |width| {
            let chips = modules(4, |n| (format!("Channel{n}"), String::new()), width).into_iter();
            chips.map(|chip| Dimm { form: Some("Row Of Chips".into()), ..chip }).collect::<Vec<_>>()
        };
        assert_eq!((gigabytes(&soldered(16), None), gigabytes(&soldered(40), None)), (Some(25.6), Some(51.2)));
    }

    #[test]
    fn a_package_has_the_bits_that_firmware_states_and_a_stack_those_of_its_kind() {
        // Beside a Grace: one device of 480 bits, or of 512 in a form that it does not have.
        let grace = |width, form: &str| {
            let one = modules(1, |_| ("LP5x_0".into(), "LP5x_0".into()), width).into_iter();
            one.map(|dimm| Dimm { kind: Some("LPDDR5".into()), form: Some(form.into()), ..dimm }).collect::<Vec<_>>()
        };
        assert_eq!(gigabytes(&grace(480, "Die"), None), Some(192.0));
        assert_eq!(gigabytes(&grace(512, "SODIMM"), None), Some(204.8));
        assert_eq!(gigabytes(&grace(64, "SODIMM"), None), Some(25.6));
        let stacks = modules(4, |n| (format!("CPU0_HBMIO{n}"), String::new()), 64).into_iter();
        let stacks: Vec<Dimm> = stacks.map(|dimm| Dimm { kind: Some("HBM2".into()), ..dimm }).collect();
        let peak = theoretical_peak(&stacks, 0, 1, None).unwrap();
        assert_eq!((peak.bytes_per_second, peak.upper_bound), (4.0 * 409.6e9, true));
        assert!(peak.how.ends_with("each stack of HBM has 1024 bits"), "{}", peak.how);
    }

    #[test]
    fn channels_of_few_bits_are_more_than_those_of_64() {
        let name = |n: u32| (format!("Controller{}-Channel{}", n / 4, char::from(b'A' + (n % 4) as u8)), String::new());
        let chips = modules(8, name, 16).into_iter();
        let kind = |dimm: Dimm| Dimm { kind: Some("LPDDR5".into()), form: Some("Row Of Chips".into()), ..dimm };
        let chips: Vec<Dimm> = chips.map(kind).collect();
        let most = Channels { count: 2, whose: "2 of each Lunar Lake".into() };
        let peak = theoretical_peak(&chips, 0, 1, Some(&most)).unwrap();
        assert_eq!(peak.bytes_per_second, 51.2e9);
        assert_eq!(peak.channels, Some(MemoryChannels { populated: 8, most: Some(8), at_most: false }));
    }

    #[test]
    fn speeds_that_no_memory_has_are_not_counted() {
        let mut dimms = unnamed(1);
        dimms[0].configured_transfers = Some(32768e6);
        assert_eq!(gigabytes(&dimms, None), None);
        dimms[0].rated_transfers = Some(2.4e9);
        assert_eq!(gigabytes(&dimms, None), Some(19.2));
        assert!(theoretical_peak(&dimms, 0, 1, None).unwrap().how.contains("rated speed"));
    }

    #[test]
    fn processors_bound_what_slot_names_leave_open() {
        assert_eq!((gigabytes(&unnamed(32), None), gigabytes(&unnamed(32), Some(16))), (Some(819.2), Some(409.6)));
        assert_eq!(gigabytes(&unnamed(8), Some(16)), Some(204.8), "fewer modules than channels");
        // Banks that make a channel of each slot: 24 of a machine that has 8.
        let misread = modules(24, |n| (String::new(), format!("CHANNEL {n}")), 64);
        assert_eq!((gigabytes(&misread, None), gigabytes(&misread, Some(8))), (Some(614.4), Some(204.8)));
        let mut stacked = unnamed(32);
        stacked[0].kind = Some("HBM2".into());
        // 31 x 25.6 + 409.6.
        assert_eq!(gigabytes(&stacked, Some(16)), Some(1203.2), "memory on the package has channels of its own");
    }

    #[test]
    fn only_channels_that_board_and_processors_both_have_can_be_filled() {
        let letter = |n: u32| char::from(b'A' + n as u8);
        let board = |slots: u32, filled: u32| {
            let mut all = modules(slots, |n| (format!("DIMM_{}1", letter(n)), String::new()), 64);
            all.iter_mut().skip(filled as usize).for_each(|dimm| dimm.populated = false);
            all
        };
        let of = |dimms: &[Dimm], unlisted: usize, most: Option<u32>| {
            let most = most.map(|count| Channels { count, whose: String::new() });
            let found = theoretical_peak(dimms, unlisted, 1, most.as_ref()).unwrap().channels;
            found.map(|found| (found.populated, found.most.unwrap(), found.at_most))
        };
        let channels = |dimms: &[Dimm], most: u32| of(dimms, 0, Some(most));
        assert_eq!(channels(&board(8, 8), 12), Some((8, 8, false)), "every slot is filled");
        assert_eq!(channels(&board(8, 7), 12), Some((7, 8, false)));
        assert_eq!(channels(&board(8, 4), 4), Some((4, 4, false)), "a board for a larger processor");
        // Names that tell no channels: counting does, where there are fewer modules than channels.
        let unread = |slots: u32, filled: u32| {
            let mut all = board(slots, filled);
            all.iter_mut().enumerate().for_each(|(n, dimm)| dimm.locator = Some(format!("A{n}")));
            all
        };
        assert_eq!(channels(&unread(16, 7), 8), Some((7, 8, true)));
        assert_eq!((channels(&unread(16, 8), 8), channels(&unread(7, 7), 8)), (None, None));
        let mut soldered = unread(8, 1);
        soldered[0].form = Some("Row Of Chips".into());
        assert_eq!(channels(&soldered, 2), None, "one package may have several channels");
        // Firmware that lists the filled slots only.
        assert_eq!(of(&board(4, 4), 4, Some(8)), Some((4, 8, false)));
        assert_eq!((of(&board(4, 4), 4, None), of(&board(4, 4), 0, None)), (None, Some((4, 4, false))));
        assert_eq!(of(&unread(4, 4), 4, Some(8)), Some((4, 8, true)));
    }

    #[test]
    fn a_socket_without_a_module_has_empty_channels_if_it_has_a_processor() {
        let mut dimms =
            modules(16, |n| (format!("CPU{}_DIMM_{}1", n / 8, char::from(b'A' + (n % 8) as u8)), String::new()), 64);
        dimms.iter_mut().skip(8).for_each(|dimm| dimm.populated = false);
        let most = |processors| theoretical_peak(&dimms, 0, processors, None).unwrap().channels.unwrap().most;
        assert_eq!((most(1), most(2)), (Some(8), Some(16)));
    }
}
