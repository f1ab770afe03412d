//! Sources that are not event sources of memory, each against a stand-in for what it asks.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use crate::common::{EACCES, EINVAL, Fake, cpu, cpus, fixtures, intel, kind, machine, of_source, open, source};
use tiermark_counters::{
    Backend, Beside, Cores, CounterSource, Fault, Hsmp, KnownStream, Mailbox, OPEN_FLAGS, Of, PCM, PcmFile, PcmTable,
    Place, READ_FORMAT, System, check_known, families, open_source, survey, traffic,
};
use tiermark_machine::Root;
use tiermark_model::{CounterSight, CounterSourceId, CpuModel, Machine};

/// The firmware of two sockets: peak and present rate in GB/s, the memory's clock in MHz.
#[derive(Clone)]
struct Port(Rc<RefCell<Firmware>>);

struct Firmware {
    rates: [(u32, u32); 2],
    clock: u32,
    now: Duration,
    asked: Vec<(u16, u32, u16)>,
    error: Option<i32>,
    /// The one that does not answer.
    dumb: Option<u16>,
}

impl Port {
    fn new() -> Self {
        let rates = [(460, 100), (460, 0)];
        Self(Rc::new(RefCell::new(Firmware {
            rates,
            clock: 2400,
            now: Duration::ZERO,
            asked: Vec::new(),
            error: None,
            dumb: None,
        })))
    }
}

impl Mailbox for Port {
    fn ask(&mut self, socket: u16, message: u32, words: u16) -> io::Result<[u32; 8]> {
        let mut firmware = self.0.borrow_mut();
        firmware.asked.push((socket, message, words));
        if firmware.dumb == Some(socket) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if let Some(errno) = firmware.error {
            return Err(io::Error::from_raw_os_error(errno));
        }
        let (most, used) = firmware.rates[usize::from(socket)];
        Ok(match message {
            0x14 => [most << 20 | used << 8 | (used * 100 / most), 0, 0, 0, 0, 0, 0, 0],
            _ => [1800, firmware.clock, 0, 0, 0, 0, 0, 0],
        })
    }

    fn now(&self) -> Duration {
        self.0.borrow().now
    }
}

fn two_sockets(model: CpuModel) -> (Root, Machine) {
    let root = Root::from_files("two sockets", cpus(2, 2));
    let machine = machine(&root, model);
    (root, machine)
}

fn genoa() -> CpuModel {
    cpu("AuthenticAMD", 25, 0x11)
}

#[test]
fn rates_of_the_firmware_are_added_up() {
    let (_, machine) = two_sockets(genoa());
    let port = Port::new();
    let mut source = Hsmp::open(&machine, Box::new(port.clone())).unwrap();
    assert_eq!(port.0.borrow().asked, [(0, 0x0f, 2), (0, 0x14, 1), (1, 0x0f, 2), (1, 0x14, 1)]);
    assert!(!source.is_immediate() && source.notes()[0].text.contains("rate"));
    let before = source.read().unwrap();
    for (used, seconds) in [(200, 1), (50, 3)] {
        port.0.borrow_mut().rates[0].1 = used;
        port.0.borrow_mut().now += Duration::from_secs(seconds);
        source.read().unwrap();
    }
    let seen = traffic(&before, &source.read().unwrap());
    assert_eq!((seen.seconds, seen.marks.len()), (4.0, 0));
    assert_eq!(seen.sockets()[&0].total, Some(350e9));
    assert_eq!((seen.sockets()[&1].total, seen.whole().read), (Some(0.0), None));
    let share = seen.boxes[0].utilisation().unwrap();
    assert!((share - 350.0 / (4.0 * 460.0)).abs() < 1e-6, "{share}");
    // A socket that does not answer once: the time is counted at the next answer, and only once.
    let before = source.read().unwrap();
    for dumb in [Some(1), None] {
        port.0.borrow_mut().dumb = dumb;
        port.0.borrow_mut().now += Duration::from_secs(1);
        assert_eq!(source.read().is_err(), dumb.is_some());
    }
    let seen = traffic(&before, &source.read().unwrap());
    assert_eq!(seen.sockets()[&0].total, Some(2.0 * 50e9));
}

#[test]
fn a_port_that_makes_no_sense_is_refused() {
    let (_, machine) = two_sockets(genoa());
    let refused = |change: &dyn Fn(&mut Firmware)| {
        let port = Port::new();
        change(&mut port.0.borrow_mut());
        Hsmp::open(&machine, Box::new(port)).err().map(|refusal| refusal.code.to_string())
    };
    // A peak in Gbit/s.
    assert_eq!(refused(&|firmware| firmware.rates[1].0 = 3686).as_deref(), Some("hsmp_implausible"));
    assert_eq!(refused(&|firmware| firmware.rates[1] = (1, 0)), None);
    // ENOMSG: a port of another version.
    assert_eq!(refused(&|firmware| firmware.error = Some(42)).as_deref(), Some("hsmp_refused"));
}

#[test]
fn pcm_by_socket_and_link() {
    let Some(folder) = fixtures("synthetic") else { return };
    let text = std::fs::read_to_string(folder.join("pcm-icx-2s-upi3.csv")).unwrap();
    let mut csv = PcmTable::new(&PCM);
    // The third line has no end and is whole; without its last cell it is half.
    assert_eq!(csv.feed(&text[..text.len() - 6]), 2);
    assert_eq!(csv.feed(&text[text.len() - 6..]), 1);
    let end = csv.snapshot();
    // What follows does not count it again.
    assert_eq!((csv.feed("\n"), csv.snapshot() == end), (0, true));
    let mut start = end.clone();
    start.readings.iter_mut().for_each(|reading| reading.count = 0);
    start.at = Duration::ZERO;
    let seen = traffic(&start, &end);
    assert!((seen.seconds - 1.198).abs() < 1e-9, "{}", seen.seconds);
    assert_eq!((seen.boxes.len(), seen.links.len()), (2, 6));
    let near = |value: Option<f64>, expected: f64| (value.unwrap() / expected - 1.0).abs() < 1e-6;
    let first = seen.sockets()[&0];
    assert!(near(first.read, (97.40 + 94.43) * 1e9) && near(first.write, (3.99 + 4.52) * 1e9), "{first:?}");
    let link =
        seen.links.iter().find(|link| (link.place.socket, link.place.unit.as_str()) == (Some(1), "UPI2")).unwrap();
    assert!(near(link.received, (15292.11 + 15417.03) * 1e6) && link.sent.is_none(), "{link:?}");
    // What was sent with overhead is no payload; its share is a mean over time.
    assert!(near(link.stated.sent_all, (17193.93 + 17974.12) * 1e6), "{link:?}");
    let shares = link.shares(seen.seconds);
    let over_time = |first: f64, second: f64| (first * 0.529 + second * 0.669) / 1.198;
    assert!(near(shares.sent_all, over_time(0.47, 0.50)) && near(shares.received, over_time(0.42, 0.43)), "{shares:?}");
    assert!(seen.over_links(1, |link| link.sent).is_none());
    // A share that is no number is not known, and its line counts all the same.
    let mut spoilt = PcmTable::new(&PCM);
    assert_eq!(spoilt.feed(&text.replace(" 47%", "nan%").replace(" 50%", "-2147483648%")), 3);
    let seen = traffic(&start, &spoilt.snapshot());
    assert_eq!((seen.links.len(), seen.marks.len()), (6, 0));
    let link =
        seen.links.iter().find(|link| (link.place.socket, link.place.unit.as_str()) == (Some(1), "UPI2")).unwrap();
    assert!(link.shares(seen.seconds).sent_all.is_none() && link.stated.sent_all.is_some(), "{link:?}");
    let mut pieces = PcmTable::new(&PCM);
    for piece in text.as_bytes().chunks(7) {
        pieces.feed(std::str::from_utf8(piece).unwrap());
    }
    assert_eq!(pieces.snapshot(), end);
    let mut file = PcmFile::new(text.as_bytes(), &PCM);
    assert_eq!((file.read().unwrap(), file.is_immediate()), (end, false));
}

#[test]
fn misses_of_cores_are_a_lower_bound() {
    let (root, machine) = two_sockets(intel(0x6a));
    let fake = Fake::default();
    let mut source = Cores::open(&root, &machine, Box::new(fake.clone())).unwrap();
    // LL, read and write, miss.
    let expected: Vec<([u64; 4], u32)> =
        (0..4).flat_map(|cpu| [([0x1_0002, 0, 0, 0], cpu), ([0x1_0102, 0, 0, 0], cpu)]).collect();
    assert_eq!(of_source(&fake, 3), expected);
    for (event, _) in &fake.0.borrow().opened {
        assert_eq!((event.read_format, event.flags), (READ_FORMAT, OPEN_FLAGS));
    }
    assert_eq!(source.sees(), [CounterSight::Reads, CounterSight::LowerBound]);
    assert!(source.notes()[0].text.contains("lower bound: loads and stores"));
    let before = source.read().unwrap();
    for (cpu, lines) in [(0, 100), (1, 20), (3, 7)] {
        fake.0.borrow_mut().counts.insert((3, [0x1_0002, 0, 0, 0], cpu), lines);
    }
    fake.0.borrow_mut().counts.insert((3, [0x1_0102, 0, 0, 0], 1), 5);
    fake.0.borrow_mut().now += Duration::from_secs(1);
    let seen = traffic(&before, &source.read().unwrap());
    let sockets = seen.sockets();
    assert_eq!((sockets[&0].read, sockets[&1].read), (Some(125.0 * 64.0), Some(7.0 * 64.0)));
    assert!(seen.nodes().is_empty(), "the nodes of the cores are not those of the memory");
    let whole = seen.whole();
    assert_eq!((whole.write, whole.total), (None, whole.read));
}

/// A stream of reads and one of stores, which read their lines first: 32 million lines of each socket are read, half of
/// them written. Cores that count `lines` of socket 0 are compared with it.
fn bound(lines: u64) -> (Vec<Fault>, f64) {
    let (root, machine) = two_sockets(intel(0x6a));
    let fake = Fake::default();
    let mut source = Cores::open(&root, &machine, Box::new(fake.clone())).unwrap();
    let before = source.read().unwrap();
    fake.0.borrow_mut().counts.insert((3, [0x1_0002, 0, 0, 0], 0), lines);
    fake.0.borrow_mut().now += Duration::from_secs(1);
    let seen = traffic(&before, &source.read().unwrap());
    let stream = KnownStream { socket: 0, read: 32e6 * 64.0, write: 16e6 * 64.0, channels: Some(8) };
    (check_known(&seen, &stream, &source.sees()), stream.seen_by(&seen))
}

#[test]
fn a_lower_bound_is_judged_as_one() {
    // Any part of the lines that were read, since prefetches are not seen; what was written is no part of the
    // comparison.
    for part in [300_000, 10_000_000, 16_000_000, 32_000_000, 34_000_000] {
        assert_eq!(bound(part), (vec![], 32e6 * 64.0), "{part}");
    }
    assert_eq!(bound(0).0, [Fault::Nothing]);
    assert!(matches!(bound(64_000_000).0[..], [Fault::Factor { of: Of::Read, factor: 2.0, .. }]));
    assert!(matches!(bound(45_000_000).0[..], [Fault::Off { of: Of::Read, .. }]));
}

#[test]
fn cores_that_do_not_count_say_why() {
    let (root, machine) = two_sockets(genoa());
    let refused = |errno: i32| {
        let fake = Fake::default();
        fake.0.borrow_mut().refuses.insert(3, errno);
        Cores::open(&root, &machine, Box::new(fake)).err().unwrap()
    };
    // ENOENT: as on EPYC.
    assert_eq!(refused(2).code, "no_core_misses");
    assert!(refused(EACCES).code == "cores_denied" && refused(EACCES).cure.contains("cap_perfmon"));
    // A core with one counter, or without the event for stores: the loads count.
    let fake = Fake::default();
    fake.0.borrow_mut().most = Some(1);
    let source = Cores::open(&root, &machine, Box::new(fake.clone())).unwrap();
    assert!(source.notes()[0].text.contains("lower bound: loads of") && fake.0.borrow().opened.len() == 4);
    assert_eq!(refused(EINVAL).code, "no_core_misses");
}

/// The controllers of two nodes; from version 2 of the driver, a name has the channel too.
fn kunpeng_boxes(v1: bool) -> [(&'static str, u32, &'static str); 2] {
    let names =
        if v1 { ["hisi_sccl1_ddrc0", "hisi_sccl3_ddrc0"] } else { ["hisi_sccl1_ddrc0_0", "hisi_sccl3_ddrc0_0"] };
    [(names[0], 10, "0"), (names[1], 11, "2")]
}

/// Two nodes on one socket, with a controller each.
fn kunpeng(format: &str) -> Root {
    let mut files = cpus(2, 2);
    files.retain(|(name, _)| !name.ends_with("physical_package_id"));
    files.extend(
        (0..4).map(|cpu| (format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"), "0".into())),
    );
    let v1 = format.ends_with('4');
    let event = |number: u32| format!("config=0x{number:x}");
    let (read, write) = if v1 { (event(1), event(0)) } else { (event(0x84), event(0x83)) };
    for (name, kind, cpu) in kunpeng_boxes(v1) {
        let events = [("flux_rd", read.as_str()), ("flux_wr", write.as_str())];
        files.extend(source(name, kind, cpu, &[("event", format)], &events));
    }
    files.extend(source("hisi_sccl1_hha0", 12, "0", &[("event", "config:0-7")], &[]));
    Root::from_files("kunpeng", files)
}

#[test]
fn hisilicon_by_the_version_of_its_event_source() {
    for (format, events) in [("config:0-4", [1, 0]), ("config:0-7", [0x84, 0x83])] {
        let root = kunpeng(format);
        let fake = Fake::default();
        let opened = open(&root, CpuModel::default(), &fake).unwrap();
        let expected = |cpu| events.map(|event| ([event, 0, 0, 0], cpu)).to_vec();
        for (name, _, cpu) in kunpeng_boxes(format.ends_with('4')) {
            assert_eq!(of_source(&fake, kind(&root, name)), expected(cpu.parse().unwrap()), "{format}");
        }
        assert_eq!((fake.0.borrow().opened.len(), opened.findings()), (4, &[][..]));
        let nodes: Vec<Option<u32>> = opened.opened().iter().map(|wanted| wanted.place.node).collect();
        assert_eq!(nodes, [Some(0), Some(0), Some(1), Some(1)], "a box belongs to the node of its die");
    }
}

/// Bytes of a count that are twice too few: the comparison with a known stream names it.
#[test]
fn a_wrong_size_of_a_count_is_found_and_said() {
    let root = kunpeng("config:0-4");
    let fake = Fake::default();
    let mut source = open(&root, CpuModel::default(), &fake).unwrap();
    let before = source.read().unwrap();
    for (kind, cpu) in [(10, 0), (11, 2)] {
        fake.0.borrow_mut().counts.insert((kind, [1, 0, 0, 0], cpu), 50_000_000);
        fake.0.borrow_mut().counts.insert((kind, [0, 0, 0, 0], cpu), 1);
    }
    fake.0.borrow_mut().now += Duration::from_secs(1);
    let seen = traffic(&before, &source.read().unwrap());
    let known = KnownStream { socket: 0, read: 6.4e9, write: 0.0, channels: Some(2) };
    let faults = check_known(&seen, &known, &source.sees());
    assert!(matches!(faults[..], [Fault::Factor { factor: 0.5, .. }]), "{faults:?}");
    let note = faults[0].note();
    assert_eq!(note.code, "counts_by_factor");
    assert!(note.text.starts_with("bytes read: 0.50 are counted for each byte"), "{}", note.text);
}

/// A machine with a port and cores that count, and nothing else.
struct Here(Port, Fake);

impl System for Here {
    fn perf(&self) -> Box<dyn Backend> {
        Box::new(self.1.clone())
    }

    fn hsmp(&self) -> io::Result<Box<dyn Mailbox>> {
        Ok(Box::new(self.0.clone()))
    }
}

#[test]
fn every_source_is_listed_in_the_order_of_preference() {
    let (root, machine) = two_sockets(genoa());
    let (families, here) = (families(), Here(Port::new(), Fake::default()));
    let place = Place { root: &root, machine: &machine, families: &families, system: Some(&here) };
    let all = survey(place);
    let named: Vec<(CounterSourceId, Option<bool>)> = all.iter().map(|info| (info.source, info.opens)).collect();
    use CounterSourceId as Id;
    assert_eq!(
        named,
        [
            (Id::Perf, Some(false)),
            (Id::Hsmp, Some(true)),
            (Id::Resctrl, Some(false)),
            (Id::PcmMemory, None),
            (Id::Pcm, None),
            (Id::Likwid, None),
            (Id::Core, Some(true)),
        ]
    );
    assert!(named.is_sorted_by_key(|(id, _)| *id));
    // A captured machine: nothing is opened.
    let captured = survey(Place { system: None, ..place });
    assert!(captured.iter().all(|info| info.opens != Some(true) && info.refused.is_some()));
}

#[test]
fn the_first_that_opens_is_chosen_and_the_others_say_why() {
    use CounterSourceId as Id;
    let (root, machine) = two_sockets(genoa());
    let (families, here) = (families(), Here(Port::new(), Fake::default()));
    let place = Place { root: &root, machine: &machine, families: &families, system: Some(&here) };
    let chosen = |named: Option<&str>, required, beside, place| {
        let chosen = open_source(named.map(|named| named.parse().unwrap()).as_ref(), required, beside, place);
        let refused: Vec<Id> = chosen.refused.into_iter().map(|(id, _)| id).collect();
        (chosen.source.map(|source| source.id()), refused)
    };
    assert_eq!(chosen(None, false, Beside::Samples, place), (Some(Id::Hsmp), vec![Id::Perf]));
    assert_eq!(chosen(None, true, Beside::Shots, place), (Some(Id::Core), vec![Id::Perf, Id::Resctrl]));
    assert_eq!(chosen(None, false, Beside::Shots, place), (None, vec![Id::Perf]));
    assert_eq!(chosen(Some("core"), false, Beside::Shots, place), (Some(Id::Core), vec![]));
    let captured = Place { system: None, ..place };
    let all = vec![Id::Perf, Id::Hsmp, Id::Resctrl, Id::Core];
    assert_eq!(chosen(None, true, Beside::Samples, captured), (None, all));
}
