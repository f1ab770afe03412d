use proptest::prelude::*;

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

#[test]
fn threads_are_added_and_never_multiplied() {
    assert_eq!(likwid_of(OUTPUT), Some(Likwid { seconds: 2.0, volume: Volume::Split { read: 22e9, write: 1e9 } }));
    let (before, after) = likwid_of(OUTPUT).unwrap().snapshots();
    let sum = traffic(&before, &after).whole();
    assert_eq!((sum.read, sum.write, sum.total), (Some(22e9), Some(1e9), Some(23e9)));
}

#[test]
fn outputs_of_one_file_are_added() {
    let end = OUTPUT.find("Memory write").unwrap();
    // A second output, and a third that is half written.
    let text = format!("{OUTPUT}{OUTPUT}{}", &OUTPUT[..end + 30]);
    let mut file = LikwidFile::new(text.as_bytes());
    let (before, after) = (Likwid::default().snapshots().1, file.read().unwrap());
    let seen = traffic(&before, &after);
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
    assert_eq!(likwid_of(&both), Some(Likwid { seconds: 2.0, volume: Volume::Both(1e9) }));
    let text = format!("{both}{both}");
    let mut file = LikwidFile::new(text.as_bytes());
    let snapshot = file.read().unwrap();
    assert_eq!((file.sees(), file.groups_without_memory()), (vec![CounterSight::Total], None));
    let before = Likwid { volume: Volume::Both(0.0), ..Likwid::default() }.snapshots().1;
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
    let mut file = LikwidFile::new(part.as_bytes());
    assert!(file.read().is_ok());
    assert_eq!(file.groups_without_memory().as_deref(), Some("MEM1"));
    // Half a table may go on with more.
    let mut half = LikwidFile::new(&part.as_bytes()[..part.find("Memory data").unwrap()]);
    assert!(half.read().is_ok() && half.groups_without_memory().is_none() && half.has_tables());
    // The next output has begun: that before has no more groups.
    let two = format!("{part}{part}");
    let error = LikwidFile::new(two.as_bytes()).read().unwrap_err().to_string();
    assert!(error.contains("MEM1") && error.contains("-g MEM"), "{error}");
    // Another group of the same output counts it.
    let end = OUTPUT.find("TABLE").unwrap();
    let both = format!("{part}{}{part}", &OUTPUT[end..]);
    let mut file = LikwidFile::new(both.as_bytes());
    assert!(file.read().is_ok());
    assert_eq!(file.groups_without_memory(), None);
}

proptest! {
    #[test]
    fn any_text(cut in 0..OUTPUT.len(), text in ".{0,60}") {
        let _ = (likwid_of(&text), likwid_of(&format!("{}{text}", &OUTPUT[..cut])));
    }
}
