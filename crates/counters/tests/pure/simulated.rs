//! A simulated memory system drives the counters of a stand-in for the kernel: what goes in comes out of the real
//! derivation, and what is wrong with counters is found.

use std::time::Duration;
use tiermark_model::{CounterMark, StepTraffic, Traffic, TrafficSum, amplification};

use crate::common::{EACCES, Fake, cpus, intel, open, source};
use proptest::prelude::*;
use tiermark_counters::{
    CounterSource, Fault, Finding, KnownCrossing, KnownStream, Of, PerfSource, check_known, check_links, traffic,
};
use tiermark_machine::Root;

const IMC: &[(&str, &str)] = &[("event", "config:0-7"), ("umask", "config:8-15")];
const UPI: &[(&str, &str)] = &[("event", "config:0-7"), ("umask", "config:8-15,32-43,45-55")];
/// DDR4-3200: ticks of the channel's clock in a second.
const DCLK: u64 = 1_600_000_000;
/// 11.2 GT/s: ticks of the link's clock in a second.
const UPI_CLOCK: u64 = 1_400_000_000;
const LINE: f64 = 64.0;

/// Two sockets of Ice Lake: 2 channels of each are here, numbered as types 10 and 11, and a link, type 20.
fn ice_lake() -> Root {
    let mut files = cpus(2, 4);
    files.extend(source("uncore_imc_0", 10, "0,4", IMC, &[]));
    files.extend(source("uncore_imc_1", 11, "0,4", IMC, &[]));
    files.extend(source("uncore_upi_0", 20, "0,4", UPI, &[]));
    Root::from_files("ice lake", files)
}

/// The memory system: what a second of a program makes it carry.
struct Memory {
    fake: Fake,
    source: PerfSource,
}

impl Memory {
    fn new() -> Self {
        let fake = Fake::default();
        let source = open(&ice_lake(), intel(0x6a), &fake).unwrap();
        let memory = Self { fake, source };
        memory.kernel(8);
        memory
    }

    /// The work of the kernel, which a socket always has: so many lines, read and written by each channel.
    fn kernel(&self, lines: u64) {
        for (channel, cpu) in [(10, 0), (11, 0), (10, 4), (11, 4)] {
            for event in [0x0f04, 0x3004] {
                self.count(channel, event, cpu, lines);
            }
        }
    }

    fn count(&self, kind: u32, config: u64, cpu: u32, more: u64) {
        let mut kernel = self.fake.0.borrow_mut();
        let count = kernel.counts.entry((kind, [config, 0, 0, 0], cpu)).or_default();
        *count = count.wrapping_add(more);
    }

    /// A second, in which these lines are read and written, spread over both channels of a socket.
    fn second(&self, socket: u32, read: u64, write: u64) {
        let cpu = socket * 4;
        for channel in [10, 11] {
            self.count(channel, 0x0f04, cpu, read / 2);
            self.count(channel, 0x3004, cpu, write / 2);
        }
        self.pass();
    }

    fn pass(&self) {
        for cpu in [0, 4] {
            self.count(10, 0, cpu, DCLK);
            self.count(11, 0, cpu, DCLK);
            self.count(20, 0x0001, cpu, UPI_CLOCK);
        }
        self.fake.0.borrow_mut().now += Duration::from_secs(1);
    }

    /// The traffic of what happens.
    fn during(&mut self, happens: impl FnOnce(&Self)) -> Traffic {
        let before = self.source.read().unwrap();
        happens(self);
        traffic(&before, &self.source.read().unwrap())
    }
}

fn near(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() <= 1e-6 * expected.abs().max(1.0))
}

#[test]
fn bytes_by_channel_socket_and_node() {
    let mut memory = Memory::new();
    let seen = memory.during(|memory| {
        memory.second(0, 200_000_000, 100_000_000);
        memory.second(1, 20_000_000, 2);
    });
    assert_eq!((seen.seconds, seen.boxes.len(), seen.links.len()), (2.0, 4, 2));
    let socket =
        |bytes: (f64, f64)| TrafficSum { read: Some(bytes.0), write: Some(bytes.1), total: Some(bytes.0 + bytes.1) };
    assert_eq!(seen.sockets()[&0], socket((12.8e9, 6.4e9)));
    assert_eq!(seen.nodes()[&1], socket((1.28e9, 128.0)));
    assert_eq!(seen.whole(), socket((14.08e9, 6.4e9 + 128.0)));
    assert_eq!(seen.sockets()[&0].writes_per_read(), Some(0.5));
    // 75 million bursts of 4 ticks on each channel, in two seconds.
    let busy = seen.boxes.iter().find(|own| own.place.socket == Some(0)).unwrap();
    assert!(near(busy.utilisation(), 150e6 * 4.0 / (2.0 * DCLK as f64)));
    assert!(seen.marks.is_empty());
}

#[test]
fn payload_of_a_link_and_its_share_of_two_bytes_a_transfer() {
    let mut memory = Memory::new();
    let lines = 100_000_000;
    let seen = memory.during(|memory| {
        // Nine data slots a line.
        memory.count(20, 0x0f03, 0, 9 * lines);
        memory.pass();
    });
    let link = &seen.links[0];
    assert!(near(link.received, lines as f64 * LINE) && near(link.sent, 0.0));
    assert!(near(link.most, 11.2e9 * 2.0));
    assert!(near(link.shares(1.0).received, lines as f64 * LINE / 22.4e9));
}

#[test]
fn more_than_a_link_can_carry_is_no_traffic() {
    let mut memory = Memory::new();
    let seen = memory.during(|memory| {
        memory.count(20, 0x0f03, 0, 9 * 1_000_000_000_000);
        memory.pass();
    });
    assert_eq!((seen.links.len(), seen.missing.len()), (1, 1), "that of the other socket is left");
    assert!(matches!(&seen.marks[..], [CounterMark::Impossible { .. }]), "{:?}", seen.marks);
}

#[test]
fn a_channel_that_counts_the_impossible_is_missing_unless_it_is_not_there() {
    let seen = |clock: u64| {
        let mut memory = Memory::new();
        memory.during(|memory| {
            memory.count(10, 0x0f04, 0, 1_000_000);
            memory.count(10, 0, 0, DCLK);
            memory.count(11, 0x0f04, 0, u64::MAX / 4);
            memory.count(11, 0, 0, clock);
            memory.fake.0.borrow_mut().now += Duration::from_secs(1);
        })
    };
    // A channel that is there: the sum of its socket would lack it.
    let there = seen(DCLK);
    assert_eq!((there.missing.len(), there.sockets()[&0].read), (1, None));
    assert_eq!(there.sockets()[&1].read, Some(0.0));
    // One without modules, whose clock stands still or is junk as well.
    for clock in [0, u64::MAX / 8] {
        let absent = seen(clock);
        assert_eq!((absent.missing.len(), absent.sockets()[&0].read), (0, Some(64e6)), "{clock}");
        assert!(matches!(&absent.marks[..], [CounterMark::Impossible { .. }]), "{:?}", absent.marks);
    }
}

proptest! {
    #[test]
    fn known_amplification_in_and_the_same_out(useful in 1u64..200_000_000, read in 0u64..150_000_000, write in 0u64..150_000_000) {
        let mut memory = Memory::new();
        let seen = memory.during(|memory| memory.second(0, 2 * read, 2 * write)).sockets()[&0];
        let amplified = |lines: u64| 2.0 * lines as f64 / useful as f64;
        prop_assert!(near(amplification(seen.read, useful as f64 * LINE), amplified(read)));
        prop_assert!(near(amplification(seen.write, useful as f64 * LINE), amplified(write)));
        prop_assert!(read == 0 || near(seen.writes_per_read(), write as f64 / read as f64));
    }
}

#[test]
fn what_an_idle_machine_does_is_taken_away() {
    let mut memory = Memory::new();
    let idle = memory.during(|memory| memory.second(0, 1_000_000, 200_000));
    let busy = memory.during(|memory| {
        memory.second(0, 101_000_000, 200_000);
        memory.second(0, 1_000_000, 100_000);
    });
    let rest = busy.minus(&idle).sockets()[&0];
    assert!(near(rest.read, 100e6 * LINE) && rest.write == Some(0.0), "{rest:?}");
}

#[test]
fn counters_that_take_turns_are_scaled_and_marked() {
    let mut memory = Memory::new();
    memory.fake.0.borrow_mut().shares.insert(10, 0.25);
    let seen = memory.during(|memory| {
        memory.kernel(8);
        memory.second(0, 100_000_000, 8);
    });
    assert!(near(seen.sockets()[&0].read, 100e6 * LINE));
    let shares = seen
        .marks
        .iter()
        .filter(|m| matches!(m, CounterMark::Multiplexed { share, .. } if (share - 0.25).abs() < 1e-6));
    assert_eq!(shares.count(), 2, "{:?}", seen.marks);
    // A shot is shorter than turns are: what its counters had of them says nothing of the whole.
    let mut step = StepTraffic::default();
    step.add(&StepTraffic { useful: Some(100e6 * LINE), counted: seen, joules: None });
    assert_eq!((step.amplification(), step.useful, step.counted.marks.len()), (None, None, 2));
    memory.fake.0.borrow_mut().shares.insert(10, 0.0);
    let never = traffic(&memory.source.read().unwrap(), &{
        memory.second(0, 2, 0);
        memory.source.read().unwrap()
    });
    assert!(never.marks.iter().any(|mark| matches!(mark, CounterMark::NeverCounted { .. })), "{:?}", never.marks);
}

#[test]
fn a_cpu_that_goes_offline_is_named_and_not_counted_as_silence() {
    let mut memory = Memory::new();
    let before = memory.source.read().unwrap();
    memory.fake.0.borrow_mut().unplugged.insert(4);
    memory.second(0, 100, 0);
    let seen = traffic(&before, &memory.source.read().unwrap());
    assert_eq!(seen.marks.iter().filter(|mark| matches!(mark, CounterMark::Lost { .. })).count(), 3);
    assert!(!seen.sockets().contains_key(&1) && seen.sockets().contains_key(&0));
    // Offline from the beginning.
    let mut files = cpus(1, 4);
    files.extend(source("uncore_imc_0", 10, "0,4", IMC, &[]));
    let one = open(&Root::from_files("one", files), intel(0x6a), &Fake::default()).unwrap();
    assert_eq!(one.findings(), [Finding::CpuOffline { pmu: "uncore_imc_0".to_owned(), cpu: 4 }]);
}

#[test]
fn a_counter_that_wraps_goes_on_and_one_that_was_set_back_does_not() {
    let mut memory = Memory::new();
    memory.count(10, 0x0f04, 0, u64::MAX - 10);
    let seen = memory.during(|memory| memory.second(0, 200, 0));
    assert_eq!(seen.sockets()[&0].read, Some(200.0 * LINE));
    // A counter of 32 bits, as those of client processors, in a snapshot of any source.
    let mut before = memory.source.read().unwrap();
    before.readings.retain(|reading| reading.place.kind != tiermark_model::BoxKind::Link);
    let mut after = before.clone();
    for (begin, end) in before.readings.iter_mut().zip(&mut after.readings) {
        (begin.bits, end.bits, begin.count, end.count) = (32, 32, u64::from(u32::MAX) - 9, 90);
        (begin.of, end.of, end.enabled_ns, end.running_ns) = (Of::Both, Of::Both, 0, 0);
        (begin.enabled_ns, begin.running_ns) = (0, 0);
    }
    after.at += Duration::from_secs(1);
    // Read, write and clock of four boxes became three counts each: 100 wrapped counts of each.
    let whole = traffic(&before, &after).whole().total.unwrap();
    assert_eq!(whole, 4.0 * 100.0 * (LINE + LINE + 2.0));
    for end in &mut after.readings {
        end.count = 0xffff_0000;
    }
    let (mut high, mut low) = (after.clone(), after);
    high.at = Duration::ZERO;
    low.readings.iter_mut().for_each(|reading| reading.count = 0x8000_0000);
    let back = traffic(&high, &low);
    assert!(back.boxes.is_empty() && back.marks.iter().all(|mark| matches!(mark, CounterMark::WentBack { .. })));
}

/// The faults of a second, with what the counters say of a stream of 100 million lines read on socket 0.
fn faults(channels: Option<usize>, happens: impl FnOnce(&Memory)) -> Vec<Fault> {
    let mut memory = Memory::new();
    let idle = memory.during(|memory| {
        memory.kernel(2);
        memory.pass();
    });
    let seen = memory.during(|memory| {
        memory.kernel(2);
        happens(memory);
    });
    check_known(
        &seen.minus(&idle),
        &KnownStream { socket: 0, read: 100e6 * LINE, write: 0.0, channels },
        &memory.source.sees(),
    )
}

#[test]
fn counters_are_compared_with_a_known_stream() {
    assert_eq!(faults(Some(2), |memory| memory.second(0, 100_000_000, 0)), []);
    // Page walks and prefetches.
    assert_eq!(faults(None, |memory| memory.second(0, 107_000_000, 300_000)), []);
    for (lines, factor) in [(50, 0.5), (200, 2.0), (34, 1.0 / 3.0), (290, 3.0)] {
        let found = faults(None, |memory| memory.second(0, lines * 1_000_000, 0));
        assert!(matches!(found[..], [Fault::Factor { of: Of::Read, factor: f, .. }] if f == factor), "{found:?}");
    }
    let off = faults(None, |memory| memory.second(0, 140_000_000, 0));
    assert!(matches!(off[..], [Fault::Off { of: Of::Read, .. }]), "{off:?}");
    // The stream was counted on the other socket.
    assert_eq!(faults(None, |memory| memory.second(1, 100_000_000, 0)), [Fault::Nothing]);
}

#[test]
fn silent_and_phantom_channels_are_named() {
    let unit = |fault: &Fault| match fault {
        Fault::Silent { place } | Fault::Phantom { place } => Some((place.socket, place.unit.clone())),
        _ => None,
    };
    let name = |unit: &str| Some((Some(0), unit.to_owned()));
    // A channel whose clock ticks counts nothing.
    let silent = faults(Some(2), |memory| {
        memory.count(10, 0x0f04, 0, 100_000_000);
        memory.pass();
    });
    assert!(matches!(silent[..], [Fault::Silent { .. }]) && unit(&silent[0]) == name("uncore_imc_1"), "{silent:?}");
    // A channel without a clock: absent, unless modules are known to be there.
    let absent = |memory: &Memory| {
        memory.count(10, 0x0f04, 0, 100_000_000);
        memory.count(10, 0, 0, DCLK);
        memory.fake.0.borrow_mut().now += Duration::from_secs(1);
    };
    assert_eq!(faults(None, absent), []);
    assert_eq!(faults(Some(2), absent), [Fault::FewBoxes { boxes: 1, channels: 2 }]);
    // A channel of three has no box.
    let three = faults(Some(3), |memory| memory.second(0, 100_000_000, 0));
    assert_eq!(three, [Fault::FewBoxes { boxes: 2, channels: 3 }]);
    // What was seen on absent channels: 1.8e19.
    let junk = faults(Some(1), |memory| {
        absent(memory);
        memory.count(11, 0x0f04, 0, u64::MAX / 4);
    });
    assert!(matches!(junk[..], [Fault::Phantom { .. }]) && unit(&junk[0]) == name("uncore_imc_1"), "{junk:?}");
    // Traffic on a channel whose clock stands still.
    let still = faults(None, |memory| {
        absent(memory);
        memory.count(11, 0x0f04, 0, 10_000_000);
    });
    assert_eq!(still.iter().filter_map(unit).next(), name("uncore_imc_1"), "{still:?}");
    // A clock that stands still everywhere is an event that the processor lacks, and says nothing of the bytes.
    let none = faults(Some(2), |memory| {
        memory.count(10, 0x0f04, 0, 50_000_000);
        memory.count(11, 0x0f04, 0, 50_000_000);
        memory.fake.0.borrow_mut().now += Duration::from_secs(1);
    });
    assert_eq!(none, []);
}

/// What the check says of links that count so many of the slots of 100 million lines, sent and received.
fn between_sockets(sent: u64, received: u64) -> tiermark_model::LinkCheck {
    let mut memory = Memory::new();
    let mut streams = Vec::new();
    for (from, to) in [(0, 1), (1, 0)] {
        let seen = memory.during(|memory| {
            memory.count(20, 0x0f02, from * 4, sent * 1_000_000);
            memory.count(20, 0x0f03, to * 4, received * 1_000_000);
            memory.pass();
        });
        streams.push((seen, KnownCrossing { from, to, bytes: 100e6 * LINE }));
    }
    check_links(&streams).unwrap()
}

#[test]
fn links_are_compared_with_streams_between_two_sockets() {
    // Nine slots a line, and some lines that prefetchers brought for nothing.
    let right = between_sockets(900, 930);
    let ratios = [&right.sent, &right.received].map(|way| way.as_ref().unwrap().ratio);
    assert!(near(Some(ratios[0]), 1.0) && near(Some(ratios[1]), 93.0 / 90.0), "{ratios:?}");
    assert!([&right.sent, &right.received].iter().all(|way| way.as_ref().unwrap().fault.is_none()));
    // One message class of three; and a link that counts nothing.
    let wrong = between_sockets(300, 0);
    let faults = [&wrong.sent, &wrong.received].map(|way| way.as_ref().unwrap().fault.as_ref().unwrap());
    assert_eq!(faults.map(|fault| fault.code.as_str()), ["counts_by_factor", "counts_off"]);
    assert!(faults[0].text.contains("bytes sent over links"), "{}", faults[0].text);
    // Twice on one socket and nothing on the other are wrong, although their sum is right.
    let stream = |from: u32, to: u32, sent: f64| {
        let mut memory = Memory::new();
        let mut seen = memory.during(Memory::pass);
        seen.links.iter_mut().for_each(|link| (link.sent, link.received) = (Some(sent), Some(1e9)));
        (seen, KnownCrossing { from, to, bytes: 1e9 })
    };
    let uneven = check_links(&[stream(0, 1, 2e9), stream(1, 0, 0.0)]).unwrap();
    assert!(uneven.sent.unwrap().fault.is_some() && uneven.received.unwrap().fault.is_none());
    // A direction that is wrong is left out, and the other is not.
    let mut memory = Memory::new();
    let half = tiermark_model::LinkCheck { received: right.received, ..wrong };
    let mut seen = memory.during(|memory| memory.count(20, 0x0f03, 0, 9_000));
    seen.remove_wrong(&half);
    assert!(seen.links.iter().all(|link| link.sent.is_none()) && near(seen.links[0].received, 64_000.0), "{seen:?}");
    // A link that was not counted, and counters without links.
    seen.missing = vec![seen.links.remove(0).place];
    let crossing = KnownCrossing { from: 1, to: 0, bytes: 1e9 };
    assert_eq!(check_links(&[(seen, crossing)]), None);
    assert_eq!(check_links(&[(Traffic::default(), crossing)]), None);
}

/// Granite Rapids: a burst of either sub-channel is counted by an event of its own.
#[test]
fn both_sub_channels_of_granite_rapids_are_counted() {
    let mut files = cpus(1, 4);
    let alias = [("cas_count_read", "event=0x05,umask=0xcf"), ("cas_count_write", "event=0x05,umask=0xf0")];
    files.extend(source("uncore_imc_0", 10, "0", IMC, &alias));
    let fake = Fake::default();
    let mut source = open(&Root::from_files("granite", files), intel(0xad), &fake).unwrap();
    assert_eq!(source.findings().len(), 2);
    let before = source.read().unwrap();
    for config in [0xcf05, 0xcf06] {
        fake.0.borrow_mut().counts.insert((10, [config, 0, 0, 0], 0), 50_000_000);
    }
    for config in [0xf005, 0xf006] {
        fake.0.borrow_mut().counts.insert((10, [config, 0, 0, 0], 0), 1);
    }
    // DDR5-6400: its bursts use an eighth of the clock's ticks, at 4 each.
    fake.0.borrow_mut().counts.insert((10, [0xff, 0, 0, 0], 0), 3_200_000_000);
    fake.0.borrow_mut().now += Duration::from_secs(1);
    let seen = traffic(&before, &source.read().unwrap());
    assert_eq!(seen.whole().read, Some(100e6 * LINE));
    assert!(near(seen.boxes[0].utilisation(), 0.125));
    let stream = KnownStream { socket: 0, read: 100e6 * LINE, write: 0.0, channels: None };
    assert_eq!(check_known(&seen, &stream, &source.sees()), []);
}

#[test]
fn a_box_with_few_counters_gets_several_groups() {
    let fake = Fake::default();
    fake.0.borrow_mut().most = Some(2);
    let mut files = cpus(1, 4);
    files.extend(source("uncore_imc_0", 10, "0", IMC, &[]));
    let mut source = open(&Root::from_files("few", files), intel(0x6a), &fake).unwrap();
    assert_eq!(fake.0.borrow().groups.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(source.read().unwrap().readings.len(), 3);
}

#[test]
fn who_may_not_count_learns_why() {
    let fake = Fake::default();
    fake.0.borrow_mut().refuses = [10, 11, 20].map(|kind| (kind, EACCES)).into();
    let refusal = open(&ice_lake(), intel(0x6a), &fake).err().unwrap();
    assert_eq!(refusal.code, "denied");
    assert!(refusal.cure.contains("cap_perfmon"), "{refusal}");
}
