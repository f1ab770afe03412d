use super::*;
use crate::traffic::traffic;

const OUTPUT: &str = "\
STRUCT,Info,1,,
TABLE,Group 1 Raw,MEM,1,
Event,Counter,HWThread 0,HWThread 36
CAS_COUNT_RD,MBOX0C0,340000000,120000
TABLE,Group 1 Metric,MEM,3,
Metric,HWThread 0,HWThread 36,
Runtime (RDTSC) [s],2.0,2.0,
Memory read data volume [GBytes],21.5,0.5,
Memory write data volume [GBytes],1,0,
TABLE,Group 1 Metric STAT,MEM,1,
Metric,TrafficSum,Min,Max,Avg
";

/// A machine whose sockets are not known.
fn whole(seconds: f64, bytes: &[(Of, f64)]) -> Likwid {
    Likwid { seconds, bytes: bytes.iter().map(|(of, bytes)| ((None, *of), *bytes)).collect() }
}

/// What an output counted.
fn likwid_of(text: &str) -> Option<Likwid> {
    let mut groups = Groups::default();
    text.lines().filter_map(|line| groups.line(line)).reduce(|mut sum, more| {
        sum.add(&more);
        sum
    })
}

fn file_of(text: &[u8]) -> LikwidFile<&[u8]> {
    LikwidFile::new(text, BTreeMap::new())
}

/// Threads on two sockets: each counts its own memory.
#[test]
fn a_socket_that_stays_at_zero_is_in_no_sum() {
    let sockets = || [(0, 0), (36, 1)].into();
    let seen = |text: &str| {
        let mut file = LikwidFile::new(text.as_bytes(), sockets());
        let end = file.read().unwrap();
        traffic(&Snapshot::default(), &end)
    };
    let both = seen(&OUTPUT.replace("[GBytes],1,0,", "[GBytes],1,0.5,"));
    assert_eq!((both.sockets()[&1].read, both.whole().total), (Some(0.5e9), Some(23.5e9)));
    let dead = seen(&OUTPUT.replace("21.5,0.5", "21.5,0"));
    assert_eq!((dead.boxes.len(), dead.whole().total), (1, None));
    assert!(
        matches!(&dead.marks[..], [tiermark_model::CounterMark::Silent { place, counts: CounterSight::Total, .. }] if place.socket == Some(1)),
        "{:?}",
        dead.marks
    );
    // A thread of another machine: no socket is known.
    assert_eq!(LikwidFile::new(OUTPUT.as_bytes(), [(0, 0)].into()).read().unwrap().readings.len(), 2);
}

/// The total of likwid does not stand in for a part that could not be counted.
#[test]
fn a_metric_without_a_number_is_named_and_counts_nothing() {
    let more = "Memory data volume [GBytes],23,0.5,\nTABLE";
    for (good, wrong) in [("21.5,0.5", "21.5,nan"), ("21.5,0.5", "-,-"), ("21.5,0.5", "-21.5,0.5")] {
        let text =
            OUTPUT.replace(",MEM,3", ",MEM,4").replacen(good, wrong, 1).replace(",0,\nTABLE", &format!(",0,\n{more}"));
        let error = file_of(text.as_bytes()).read().unwrap_err().to_string();
        assert!(error.contains("'Memory read data volume [GBytes]'"), "{error}");
        // After an output that counted, too.
        let error = file_of(format!("{OUTPUT}{text}").as_bytes()).read().unwrap_err().to_string();
        assert!(error.contains("'Memory read data volume [GBytes]'"), "{error}");
    }
}

#[test]
fn threads_are_added_and_never_multiplied() {
    assert_eq!(likwid_of(OUTPUT), Some(whole(2.0, &[(Of::Read, 22e9), (Of::Write, 1e9)])));
    let sum = traffic(&Snapshot::default(), &likwid_of(OUTPUT).unwrap().snapshot()).whole();
    assert_eq!((sum.read, sum.write, sum.total), (Some(22e9), Some(1e9), Some(23e9)));
}

#[test]
fn outputs_of_one_file_are_added() {
    let end = OUTPUT.find("Memory write").unwrap();
    // A second output, and a third that is half written.
    let text = format!("{OUTPUT}{OUTPUT}{}", &OUTPUT[..end + 30]);
    let mut file = file_of(text.as_bytes());
    let before = whole(0.0, &[(Of::Read, 0.0), (Of::Write, 0.0)]).snapshot();
    let seen = traffic(&before, &file.read().unwrap());
    assert_eq!((seen.seconds, seen.whole().read, seen.whole().write), (4.0, Some(44e9), Some(2e9)));
}

#[test]
fn half_an_output_has_no_numbers() {
    let end = OUTPUT.find("Memory write").unwrap();
    assert_eq!(likwid_of(&OUTPUT[..end]), None);
    assert_eq!(likwid_of("TABLE,Group 1 Metric,MEM,3\nRuntime (RDTSC) [s],nan\n"), None);
}

/// The output of a group with other metrics of memory.
fn output(group: &str, volume: &str) -> String {
    let text = OUTPUT
        .replace(",MEM,3", ",MEM,2")
        .replace(",MEM,", &format!(",{group},"))
        .replace("Memory write data volume [GBytes]", volume);
    text.lines().filter(|line| !line.starts_with("Memory read")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn reads_and_writes_together_count_where_they_are_all() {
    let both = output("MEM", BOTH);
    assert_eq!(likwid_of(&both), Some(whole(2.0, &[(Of::Both, 1e9)])));
    let text = format!("{both}{both}");
    let mut file = file_of(text.as_bytes());
    let snapshot = file.read().unwrap();
    assert_eq!((file.sees(), file.groups_without_memory()), (vec![CounterSight::Total], None));
    let before = whole(0.0, &[(Of::Both, 0.0)]).snapshot();
    assert_eq!(traffic(&before, &snapshot).whole().total, Some(2e9));
    // All three: the total is no third part.
    let all =
        OUTPUT.replace("Memory write", "Memory write data volume [GBytes],1,0,\nMemory data volume [GBytes],23,0\nx");
    assert_eq!(likwid_of(&all), likwid_of(OUTPUT));
}

#[test]
fn groups_without_memory_are_named() {
    // A part of the channels is not the traffic.
    let part = output("MEM1", "Memory data volume (channels 0-3) [GBytes]");
    let mut file = file_of(part.as_bytes());
    assert!(file.read().is_ok());
    assert_eq!(file.groups_without_memory().as_deref(), Some("MEM1"));
    // Half a table may go on with more.
    let mut half = file_of(&part.as_bytes()[..part.find("Memory data").unwrap()]);
    assert!(half.read().is_ok() && half.groups_without_memory().is_none() && half.has_tables());
    // The next output has begun: that before has no more groups.
    let two = format!("{part}{part}");
    let error = file_of(two.as_bytes()).read().unwrap_err().to_string();
    assert!(error.contains("MEM1") && error.contains("-g MEM"), "{error}");
    // Another group of the same output counts it.
    let end = OUTPUT.find("TABLE").unwrap();
    let both = format!("{part}{}{part}", &OUTPUT[end..]);
    let mut file = file_of(both.as_bytes());
    assert!(file.read().is_ok());
    assert_eq!(file.groups_without_memory(), None);
}

#[test]
fn threads_whose_sockets_are_not_known_and_that_count_nothing_are_named() {
    let said = |text: &str, sockets: BTreeMap<u32, u32>| {
        let mut file = LikwidFile::new(text.as_bytes(), sockets);
        file.read().unwrap();
        file.notes().into_iter().find(|note| note.code == says::codes::likwid_sockets_unknown).map(|note| note.text)
    };
    let dead = OUTPUT.replace("21.5,0.5", "21.5,0");
    let named = said(&dead, BTreeMap::new()).unwrap();
    assert!(named.starts_with("1 of 2 threads of likwid counted memory"), "{named}");
    assert_eq!((said(&dead, [(0, 0), (36, 1)].into()), said(OUTPUT, BTreeMap::new())), (None, None));
}
