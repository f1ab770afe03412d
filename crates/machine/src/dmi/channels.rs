//! Which modules share a memory channel, by their slot names.

use std::collections::{BTreeMap, BTreeSet};

use tiermark_model::Dimm;

/// Slots a channel has at most on any server board; a larger number behind the letter is not a slot's.
const MAX_SLOTS_PER_CHANNEL: u32 = 3;

/// A memory channel, by the names of its slots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Channel {
    /// The processor that has it; empty where names do not say.
    pub(super) socket: String,
    /// What its slots share, and no slot of another channel of the processor has.
    name: String,
}

impl Channel {
    /// One that only its number tells from others.
    pub(super) fn unnamed(number: usize) -> Self {
        Self { socket: String::new(), name: number.to_string() }
    }
}

/// How slots are named: what identifies the channel in a slot's locator and bank.
type Pattern = fn(&str, &str) -> Option<Channel>;

/// Patterns seen on real boards, most explicit first.
const PATTERNS: &[Pattern] = &[channel_word, core_and_dimm, dimm_letter, dimm_digits];

/// The channel of each slot, by one pattern that fits all of them; `None` where no pattern does.
///
/// A pattern fits when it reads every slot, and no two slots with the same names or more than three land in one
/// channel.
pub(super) fn by_slot(dimms: &[Dimm]) -> Option<Vec<Channel>> {
    PATTERNS.iter().find_map(|pattern| {
        let keys: Vec<Channel> = dimms
            .iter()
            .map(|d| {
                let (locator, bank) = (d.locator.as_deref().unwrap_or_default(), d.bank.as_deref().unwrap_or_default());
                pattern(locator, bank)
            })
            .collect::<Option<_>>()?;
        let mut slots: BTreeMap<&Channel, Vec<&Dimm>> = BTreeMap::new();
        for (key, dimm) in keys.iter().zip(dimms) {
            let taken = slots.entry(key).or_default();
            let same_names = |other: &&Dimm| other.locator == dimm.locator && other.bank == dimm.bank;
            if taken.iter().any(same_names) || taken.len() as u32 >= MAX_SLOTS_PER_CHANNEL {
                return None;
            }
            taken.push(dimm);
        }
        Some(keys)
    })
}

/// The channels of so many processors, by the channels of all slots: a board for more processors lists the slots of a
/// socket without one too, and there only sockets with a module count.
pub(super) fn of_processors<'a>(channels: &'a [Channel], dimms: &[Dimm], processors: usize) -> BTreeSet<&'a Channel> {
    let sockets: BTreeSet<&str> = channels.iter().map(|channel| channel.socket.as_str()).collect();
    let filled = || channels.iter().zip(dimms).filter(|(_, dimm)| dimm.populated).map(|(channel, _)| channel);
    let in_use: BTreeSet<&str> = match sockets.len() > processors {
        true => filled().map(|channel| channel.socket.as_str()).collect(),
        false => sockets,
    };
    channels.iter().filter(|channel| in_use.contains(channel.socket.as_str())).collect()
}

/// Lower-case text in which every run of other characters is one space.
fn words(text: &str) -> String {
    let spaced: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `NODE 0 CHANNEL 1 DIMM 0`, `P0 CHANNEL A`, `P0_Node1_Channel2_Dimm0`, `Controller0-ChannelA-DIMM0`: all up to
/// the channel's designator, and the processor that the other name may hold.
fn channel_word(locator: &str, bank: &str) -> Option<Channel> {
    let (named, other) = (words(bank), words(locator));
    let (named, other) = if named.contains("channel") { (named, other) } else { (other, named) };
    let at = named.find("channel")? + "channel".len();
    let rest = named[at..].trim_start();
    let designator: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
    if designator.is_empty() || designator.starts_with("dimm") {
        return None;
    }
    let before = without_slot(&named[..at]);
    // Where both names have one, they may count processors from 0 and from 1.
    let socket = processor(&other).or_else(|| processor(before)).unwrap_or_default();
    Some(Channel { socket, name: format!("{before} {designator}") })
}

/// `a0 node0 channel` without its first word, which is the slot's own: a letter, no processor's, and digits.
fn without_slot(text: &str) -> &str {
    let Some((first, rest)) = text.split_once(' ').filter(|(_, rest)| rest.starts_with("node")) else { return text };
    let letter = first.trim_end_matches(|c: char| c.is_ascii_digit());
    if letter.len() == 1 && letter.len() < first.len() && !PROCESSORS.contains(&letter) { rest } else { text }
}

/// `CPU0_C3D1`: channel 3, slot 1.
fn core_and_dimm(locator: &str, _: &str) -> Option<Channel> {
    let text = words(locator);
    let (before, last) = text.rsplit_once(' ')?;
    let (channel, slot) = last.strip_prefix('c')?.split_once('d')?;
    let number = |text: &str| text.parse::<u32>().ok();
    number(channel)?;
    number(slot)?;
    Some(Channel { socket: processor(before).unwrap_or_default(), name: format!("{before} {channel}") })
}

/// `CPU0_DIMM_A1`, `P1-DIMMB2`, `DIMM_P0_C1`, `DIMM A1` in a bank that names the processor: the letter.
///
/// Names without the word DIMM (`A1` to `A12`) are not read: there the letter is the socket.
fn dimm_letter(locator: &str, bank: &str) -> Option<Channel> {
    let text = words(locator);
    let at = text.find("dimm")?;
    let tail = text[at + "dimm".len()..].trim_start();
    let last = tail.rsplit(' ').next()?;
    let letter = last.chars().next().filter(char::is_ascii_alphabetic)?;
    let slot: u32 = last[1..].parse().ok()?;
    if slot > MAX_SLOTS_PER_CHANNEL {
        return None;
    }
    let before = format!("{} {}", &text[..at], &tail[..tail.len() - last.len()]);
    // Firmware may leave out the bank of an empty slot.
    let socket = processor(before.trim()).or_else(|| processor(&words(bank))).unwrap_or_default();
    Some(Channel { socket, name: format!("{} {letter}", before.trim()) })
}

/// `DIMM010`: socket 0, channel 1, slot 0, as on boards with Kunpeng processors.
fn dimm_digits(locator: &str, _: &str) -> Option<Channel> {
    let text = words(locator);
    let digits = text.split(' ').next()?.strip_prefix("dimm")?;
    let [socket, channel, slot] =
        <[u8; 3]>::try_from(digits.as_bytes()).ok()?.map(|digit| char::from(digit).to_digit(10));
    (slot? < MAX_SLOTS_PER_CHANNEL).then_some(Channel { socket: socket?.to_string(), name: channel?.to_string() })
}

/// Words for a processor, before its number.
const PROCESSORS: &[&str] = &["cpu", "p", "proc", "socket"];

/// The part of a name that says which processor: `cpu 1`, `cpu1`, `p0`, `proc 2`, `socket 1`; not the `p1` that ends
/// `dimm p1`: that is the first slot of channel P.
fn processor(text: &str) -> Option<String> {
    let text = text.rsplit_once("dimm p").filter(|(_, slot)| !slot.contains(' ')).map_or(text, |(before, _)| before);
    let mut names = text.split(' ').peekable();
    while let Some(name) = names.next() {
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
        if !PROCESSORS.contains(&letters) {
            continue;
        }
        let digits = &name[letters.len()..];
        if !digits.is_empty() {
            return Some(format!("{letters}{digits}"));
        }
        if let Some(next) = names.peek().filter(|next| next.bytes().all(|b| b.is_ascii_digit())) {
            return Some(format!("{letters}{next}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(names: &[(&str, &str)]) -> Vec<Dimm> {
        names
            .iter()
            .map(|(locator, bank)| Dimm {
                locator: Some((*locator).to_owned()),
                bank: Some((*bank).to_owned()),
                ..Dimm::default()
            })
            .collect()
    }

    fn count(names: &[(&str, &str)]) -> Option<usize> {
        by_slot(&slots(names)).map(|keys| keys.into_iter().collect::<std::collections::BTreeSet<_>>().len())
    }

    #[test]
    fn names_of_real_boards() {
        for (names, channels) in [
            ([("DIMM_A1", "NODE 0 CHANNEL 0 DIMM 0"), ("DIMM_A2", "NODE 0 CHANNEL 0 DIMM 1")], Some(1)),
            ([("DIMM 0", "P0 CHANNEL A"), ("DIMM 0", "P1 CHANNEL A")], Some(2)),
            ([("P1-DIMMA1", "P0_Node0_Channel0_Dimm0"), ("P1-DIMMD1", "P0_Node1_Channel0_Dimm0")], Some(2)),
            ([("CPU0_C0D0", "NODE 0"), ("CPU0_C0D1", "NODE 0")], Some(1)),
            ([("CPU0_DIMM_A1", "NODE 0"), ("CPU1_DIMM_A1", "NODE 4")], Some(2)),
            ([("DIMM_P0_A0", "Bank 1"), ("DIMM_P0_A1", "Bank 2")], Some(1)),
            ([("DIMM A1", "Primary Main Board/CPU 0"), ("DIMM A1", "Primary Main Board/CPU 1")], Some(2)),
            ([("ChannelA-DIMM0", "BANK 0"), ("ChannelB-DIMM0", "BANK 2")], Some(2)),
            ([("CPU1_DIMM_A1", "CHANNEL 0"), ("CPU2_DIMM_A1", "CHANNEL 0")], Some(2)),
            ([("DIMM_P1", "NODE 3 CHANNEL 3 DIMM 0"), ("DIMM_P2", "NODE 3 CHANNEL 3 DIMM 1")], Some(1)),
            ([("DIMM_P0_A0", "CHANNEL A"), ("DIMM_P1_A0", "CHANNEL A")], Some(2)),
            ([("DIMM_A1", "A0_Node0_Channel0_Dimm0"), ("DIMM_A2", "A1_Node0_Channel0_Dimm1")], Some(1)),
            ([("DIMM_A1", "A0_Node0_Channel0_Dimm0"), ("DIMM_E1", "E0_Node1_Channel0_Dimm0")], Some(2)),
            ([("DIMM_P0_A0", "P0 A"), ("DIMM_P0_A1", "")], Some(1)),
            ([("DIMM_P0_A0", ""), ("DIMM_P0_H1", "")], Some(2)),
            ([("P0_NODE0_CHANNEL0_DIMM0", ""), ("P0_NODE0_CHANNEL1_DIMM0", "")], Some(2)),
            ([("DIMM000 J11", ""), ("DIMM001 J12", "")], Some(1)),
            ([("DIMM010", ""), ("DIMM110", "")], Some(2)),
            ([("DIMM001", ""), ("DIMM003", "")], None),
            ([("A1", ""), ("A2", "")], None),
            ([("DIMM 5", "CPU 1"), ("DIMM 6", "CPU 1")], None),
            ([("DIMM A1", ""), ("DIMM A8", "")], None),
            ([("DIMM 0", "P0 CHANNEL A"), ("DIMM 0", "P0 CHANNEL A")], None),
            ([("", ""), ("", "")], None),
        ] {
            assert_eq!(count(&names), channels, "{names:?}");
        }
    }
}
