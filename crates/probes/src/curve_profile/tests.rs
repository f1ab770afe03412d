use super::*;
use proptest::prelude::*;
use tiermark_machine::synth::Synth;
use tiermark_model::{
    BoxPlace, BoxTraffic, CounterCheck, CounterSight, CounterSourceId, Distance, Labels, Metric, PartResult,
    ProfilePart, StepTraffic, Unit,
};

/// Pauses, useful GB/s and ns of a machine that bends near 100 GB/s.
const POINTS: [(u64, f64, f64); 6] = [
    (30_000, 5.0, 100.0),
    (1_500, 40.0, 104.0),
    (400, 80.0, 112.0),
    (200, 100.0, 130.0),
    (100, 110.0, 220.0),
    (0, 112.0, 400.0),
];

fn labels(purpose: Purpose, mix: &str, reads: u64) -> Labels {
    let labels = Labels::new().with_purpose(purpose).with_place(Distance::Local).with_mix(mix);
    labels.with_reads(reads)
}

/// The points of a mix whose rates are scaled; with counts of so many bytes a useful byte.
fn points(mix: &str, reads: u64, scale: f64, counted: Option<f64>) -> Vec<Observation> {
    let point = |(pause, rate, ns): (u64, f64, f64)| {
        let mut seen = Observation::new("s", labels(Purpose::Load, mix, reads).with_pause(pause), Metric::Latency);
        let rate = rate * scale * 1e9;
        seen.value = Some(ns);
        seen.parts = vec![PartResult {
            name: "load".into(),
            unit: Unit::BytesPerSecond,
            value: Some(rate),
            min: None,
            max: None,
        }];
        // Counters run longer than the time of the rate: threads start, and are pinged.
        let useful = 2.0 * rate;
        seen.traffic = counted.map(|counted| StepTraffic {
            useful: Some(useful),
            counted: traffic(3.0, &[(0, useful * counted * 0.75, useful * counted * 0.25)]),
            ..StepTraffic::default()
        });
        seen
    };
    let mut idle = Observation::new(
        "i",
        Labels::new().with_purpose(Purpose::Unloaded).with_place(Distance::Local),
        Metric::Latency,
    );
    idle.value = Some(90.0);
    POINTS.into_iter().map(point).chain([idle]).collect()
}

/// Bytes read and written by node.
fn traffic(seconds: f64, nodes: &[(u32, f64, f64)]) -> Traffic {
    let own = |(node, read, write): &(u32, f64, f64)| BoxTraffic {
        place: BoxPlace { socket: Some(0), node: Some(*node), kind: BoxKind::Channel, unit: "c".into() },
        read: Some(*read),
        write: Some(*write),
        total: read + write,
        local: None,
        transfers: None,
    };
    Traffic { seconds, boxes: nodes.iter().map(own).collect(), ..Traffic::default() }
}

fn sample(seconds: f64, nodes: &[(u32, f64, f64)]) -> WatchSample {
    WatchSample { traffic: Some(traffic(seconds, nodes)), ..WatchSample::default() }
}

/// Counters of a run that saw a known stream as it was.
fn trusted() -> RunCounters {
    RunCounters {
        source: CounterSourceId::Perf,
        sees: vec![CounterSight::Reads, CounterSight::Writes],
        passed_over: Vec::new(),
        check: Some(CounterCheck { known: 1.0, counted: Some(1.0), faults: Vec::new(), links: None }),
        notes: Vec::new(),
    }
}

/// The curves of a run whose counters can be trusted, on a machine of two nodes.
fn curves_of(observations: &[Observation]) -> Result<ProfileCurves, Refusal> {
    curves("r", &observations.iter().collect::<Vec<_>>(), Some(&trusted()), 2)
}

/// The same points of all nodes at once.
fn of_system(mut observations: Vec<Observation>) -> Vec<Observation> {
    for seen in &mut observations {
        seen.labels = seen.labels.clone().with_place(Distance::System);
    }
    observations
}

fn machine(sockets: u32, nodes_per_socket: u32) -> Machine {
    Synth { sockets, nodes_per_socket, ..Synth::default() }.machine().unwrap()
}

fn placed(on: &ProfileCurves, sample: &WatchSample) -> Option<ProfilePoint> {
    place(on, sample, &machine(2, 1))
}

#[test]
fn a_run_without_counts_has_useful_bytes_and_the_share_of_its_mix() {
    let all = [points("read", 100, 1.0, None), points("1:1", 50, 0.8, None), points("1:1.nt", 50, 0.7, None)].concat();
    let on = curves_of(&all).unwrap();
    assert_eq!((on.axis, on.place.as_str(), on.curves.len()), (ProfileAxis::Useful, "local", 3));
    let of = |mix: &str| on.curves.iter().find(|curve| curve.mix == mix).unwrap();
    // Of 1:1 two lines are read for one that is written: the store reads its line.
    assert_eq!([of("read"), of("1:1.nt")].map(|curve| curve.read_share), [1.0, 0.5]);
    assert!((of("1:1").read_share - 2.0 / 3.0).abs() < 1e-12);
    let read = of("read");
    assert_eq!((read.points.first(), read.points.last()), (Some(&(0.0, 90.0)), Some(&(112e9, 400.0))));
    let knee = read.knee.unwrap();
    assert!(knee.low < knee.at && knee.at < knee.high && (80e9..=110e9).contains(&knee.at), "{knee:?}");
}

#[test]
fn counted_bytes_are_the_axis_where_every_point_has_them() {
    let on = curves_of(&points("1:1", 50, 1.0, Some(1.5))).unwrap();
    assert_eq!((on.axis, on.curves[0].read_share), (ProfileAxis::Counted, 0.75));
    assert_eq!(on.curves[0].points.last(), Some(&(168e9, 400.0)));
    let mixed = [points("1:1", 50, 1.0, Some(1.5)), points("read", 100, 1.0, None)].concat();
    assert_eq!(curves_of(&mixed).unwrap().axis, ProfileAxis::Useful);
}

#[test]
fn a_program_is_on_the_curve_of_the_nearest_mix() {
    let all = [points("read", 100, 1.0, None), points("1:1", 50, 0.5, None)].concat();
    let on = curves_of(&all).unwrap();
    let at = |read: f64, write: f64| placed(&on, &sample(2.0, &[(0, 2.0 * read * 1e9, 2.0 * write * 1e9)])).unwrap();
    let reads = at(40.0, 0.0);
    assert_eq!((on.curves[reads.curve].mix.as_str(), reads.ns, reads.part), ("read", 104.0, ProfilePart::Below));
    assert_eq!((reads.seconds, reads.bytes_per_second, reads.read_share), (2.0, 40e9, Some(1.0)));
    let writes = at(20.0, 20.0);
    assert_eq!((on.curves[writes.curve].mix.as_str(), writes.other, writes.ns), ("1:1", None, 112.0));
    let past = at(130.0, 0.0);
    assert_eq!((past.ns, past.beyond, past.part), (400.0, true, ProfilePart::Past));
    assert!(past.head_room < 0.0);
    assert_eq!(placed(&on, &sample(0.0, &[(0, 0.0, 0.0)])), None, "no time has passed");
    assert_eq!(placed(&on, &WatchSample::default()), None, "nothing is counted");
}

#[test]
fn between_two_mixes_latency_is_interpolated_in_the_share_of_reads() {
    let all = [points("read", 100, 1.0, None), points("1:1", 50, 0.5, None), points("1:1.nt", 50, 0.5, None)].concat();
    let on = curves_of(&all).unwrap();
    let at = |read: f64| placed(&on, &sample(1.0, &[(0, read * 40e9, (1.0 - read) * 40e9)])).unwrap();
    // At 40 GB/s, curves of all reads and of two thirds of them have 104 and 112 ns, and their knees lie 1:2.
    let [reads, mixed] = [1.0, 2.0 / 3.0].map(at);
    assert_eq!((reads.other, reads.ns), (None, 104.0));
    assert!((mixed.ns - 112.0).abs() < 1e-9);
    for (share, weight) in [(0.95, 0.15), (0.75, 0.25)] {
        let point = at(share);
        let other = point.other.unwrap();
        let mixes = [point.curve, other.curve].map(|curve| on.curves[curve].mix.clone());
        assert_eq!(mixes, if share > 0.9 { ["read", "1:1"] } else { ["1:1", "read"] });
        assert!((other.weight - weight).abs() < 1e-9, "{other:?}");
        let part = (1.0 - share) * 3.0;
        // Both curves have one shape: so has what lies between, which ends between their ends.
        let end = |at: usize| on.curves[at].points.last().unwrap().0;
        let between = end(reads.curve) + part * (end(mixed.curve) - end(reads.curve));
        let (ns, _) = on.curves[reads.curve].latency(40e9 * end(reads.curve) / between).unwrap();
        assert!((point.ns - ns).abs() < 1e-9 && (104.0..112.0).contains(&point.ns), "{point:?}");
        let room = reads.head_room + part * (mixed.head_room - reads.head_room);
        assert!((point.head_room - room).abs() < 1.0, "{point:?}");
        let said = notes(&on, &[point]).into_iter().next().unwrap();
        assert!(said.code == "between_curves" && said.to_string().contains("(1:1 and read)"), "{said}");
    }
    // Where reads are not counted, and beyond the last mix, one curve is used.
    assert_eq!(at(0.3).other, None);
}

#[test]
fn traffic_before_the_command_is_named_and_that_of_a_busy_machine_is_doubted() {
    let on = curves_of(&points("read", 100, 1.0, None)).unwrap();
    let codes = |rate: f64| {
        let notes = idle_notes(&on, &traffic(0.5, &[(0, rate / 2.0, 0.0)]), &machine(2, 1));
        notes.into_iter().map(|note| note.code.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(codes(0.1e9), ["idle_subtracted"]);
    assert_eq!(codes(30e9), ["idle_subtracted", "busy_before_command"]);
    assert!(idle_notes(&on, &Traffic::default(), &machine(2, 1)).is_empty());
}

#[test]
fn of_several_nodes_the_one_with_the_least_head_room_is_placed() {
    let on = curves_of(&points("read", 100, 1.0, None)).unwrap();
    let point = placed(&on, &sample(1.0, &[(0, 10e9, 0.0), (1, 80e9, 0.0)])).unwrap();
    assert_eq!((point.node, point.bytes_per_second, point.ns), (Some(1), 80e9, 112.0));
}

#[test]
fn curves_of_local_memory_are_preferred_and_those_of_all_nodes_are_divided() {
    let local = [points("read", 100, 1.0, None), points("1:1", 50, 0.8, None)].concat();
    let system = of_system(points("read", 100, 2.0, None));
    let on = curves_of(&[system.clone(), local].concat()).unwrap();
    assert_eq!((on.place.as_str(), on.curves.len()), ("local", 2), "the mixes of a node are kept");
    let divided = curves_of(&system).unwrap();
    let read = &on.curves.iter().find(|curve| curve.mix == "read").unwrap();
    assert_eq!((divided.place.as_str(), &divided.curves[0].points), ("system", &read.points));
    assert_eq!(divided.curves[0].knee, read.knee);
    // A program that fills one of two nodes is at the end of its curve, whichever curves the run has.
    let sample = sample(1.0, &[(0, 0.0, 0.0), (1, 112e9, 0.0)]);
    let points = [&on, &divided].map(|on| placed(on, &sample).unwrap());
    assert_eq!([&points[0], &points[1]].map(|point| (point.node, point.ns)), [(Some(1), 400.0); 2]);
    let codes: Vec<String> = notes(&divided, &points).into_iter().map(|note| note.code.to_string()).collect();
    assert_eq!(codes, ["curve_of_all_nodes"]);
}

#[test]
fn traffic_of_a_socket_is_that_of_its_only_node() {
    let on = curves_of(&points("read", 100, 1.0, None)).unwrap();
    let mut sample = sample(1.0, &[(0, 10e9, 0.0), (1, 80e9, 0.0)]);
    for (socket, own) in (0..).zip(&mut sample.traffic.as_mut().unwrap().boxes) {
        (own.place.node, own.place.socket) = (None, Some(socket));
    }
    let at = |machine: &Machine, sample: &WatchSample| place(&on, sample, machine).map(|point| (point.node, point.ns));
    assert_eq!(at(&machine(2, 1), &sample), Some((Some(1), 112.0)));
    assert!(!lacks_nodes(&sample, &machine(2, 1)));
    // Two nodes a socket: the sum of both is on the curve of neither.
    assert_eq!(at(&machine(2, 2), &sample), None);
    assert!(lacks_nodes(&sample, &machine(2, 2)) && !lacks_nodes(&WatchSample::default(), &machine(2, 2)));
    // Nor is the sum of a machine of two sockets, unless it has one node.
    sample.traffic.as_mut().unwrap().boxes.iter_mut().for_each(|own| own.place.socket = None);
    assert_eq!(at(&machine(2, 1), &sample), None);
    assert_eq!(at(&machine(1, 1), &sample).map(|(node, _)| node), Some(Some(0)));
}

#[test]
fn a_mix_without_a_near_curve_is_told() {
    let on = curves_of(&points("read", 100, 1.0, None)).unwrap();
    let codes = |read: f64, write: f64| {
        let point = placed(&on, &sample(1.0, &[(0, read, write)])).unwrap();
        notes(&on, &[point]).into_iter().map(|note| note.code.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(codes(95e9, 5e9), [""; 0]);
    assert_eq!(codes(60e9, 40e9), ["mix_far_from_curve"]);
}

#[test]
fn counts_that_cannot_be_trusted_are_no_axis() {
    let seen = points("1:1", 50, 1.0, Some(1.5));
    let seen: Vec<&Observation> = seen.iter().collect();
    let axis = |counters: Option<&RunCounters>| curves("r", &seen, counters, 1).unwrap().axis;
    let mut partial = trusted();
    partial.sees.push(CounterSight::LowerBound);
    let unchecked = RunCounters { check: None, ..trusted() };
    assert_eq!([Some(&partial), Some(&unchecked), None].map(axis), [ProfileAxis::Useful; 3]);
    assert_eq!(axis(Some(&trusted())), ProfileAxis::Counted);
}

#[test]
fn a_run_without_curve_is_refused() {
    let latency = Observation::new("s", Labels::new().with_place(Distance::Local), Metric::Latency);
    assert_eq!(curves_of(&[latency]).unwrap_err().code.as_str(), "run_without_curve");
    let one: Vec<Observation> = points("read", 100, 1.0, None).into_iter().take(1).collect();
    assert!(curves_of(&one).is_err(), "one point is no curve");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn more_traffic_of_a_mix_is_never_faster(rates in prop::collection::vec(0.0f64..200e9, 2..20)) {
        let on = curves_of(&points("read", 100, 1.0, None)).unwrap();
        let mut rates = rates;
        rates.sort_by(f64::total_cmp);
        let placed: Vec<ProfilePoint> =
            rates.iter().filter_map(|rate| placed(&on, &sample(1.0, &[(0, *rate, 0.0)]))).collect();
        prop_assert_eq!(placed.len(), rates.len());
        prop_assert!(placed.windows(2).all(|pair| pair[0].ns <= pair[1].ns && pair[0].head_room >= pair[1].head_room));
        prop_assert!(placed.windows(2).all(|pair| pair[0].part <= pair[1].part));
    }
}
