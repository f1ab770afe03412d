//! Outputs of other monitors that open and do not count as expected: read, or refused by the true cause. Where the
//! shared fixtures are missing, their tests say so and pass.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use crate::common::{fixtures, form};
use tiermark_counters::{
    CounterSource, Followed, LikwidFile, Monitored, PCM, PCM_MEMORY, PcmFile, Snapshot, form_of, traffic,
};
use tiermark_model::messages::counters::codes;
use tiermark_model::{CounterMark, CounterSight, CounterSourceId, Traffic};

/// Seconds, and gigabytes read and written, of a whole file.
fn moved(end: &Snapshot) -> (f64, f64, f64) {
    let mut start = end.clone();
    start.readings.iter_mut().for_each(|reading| reading.count = 0);
    start.at = Duration::ZERO;
    let whole = traffic(&start, end).whole();
    (end.at.as_secs_f64(), whole.read.unwrap_or_default() / 1e9, whole.write.unwrap_or_default() / 1e9)
}

fn field(name: &str) -> Option<Vec<u8>> {
    Some(std::fs::read(fixtures("field")?.join(name)).unwrap())
}

#[test]
fn regions_of_the_marker_api_count_as_the_program_does() {
    for name in ["02-likwid-marker/perf_data.csv", "02-likwid-marker/same-without-marker.csv"] {
        let Some(text) = field(name) else { return };
        let mut file = LikwidFile::new(text.as_slice(), BTreeMap::new());
        let (seconds, read, write) = moved(&file.read().unwrap());
        assert_eq!((seconds, file.refusal(name)), (2.0, None), "{name}");
        assert!((read - 49.2).abs() < 1e-3 && (write - 42.8264).abs() < 1e-3, "{name}: {read} {write}");
    }
}

/// An output of likwid with regions.
fn regions(names: &[&str], group: &str) -> String {
    let table = |name: &&str| {
        format!(
            "TABLE,Region {name},Group 1 Raw,{group},1,\nRegion Info,HWThread 0,\nTABLE,Region {name},Group 1 Metric,{group},3,\n\
             Metric,HWThread 0,\nRuntime (RDTSC) [s],1.5,\nMemory read data volume [GBytes],2,\n\
             Memory write data volume [GBytes],1,\n"
        )
    };
    format!("STRUCT,Info,3,\n{}", names.iter().map(table).collect::<String>())
}

#[test]
fn all_regions_are_added() {
    let text = regions(&["init", "kernel"], "MEM");
    assert_eq!(moved(&LikwidFile::new(text.as_bytes(), BTreeMap::new()).read().unwrap()), (3.0, 4.0, 2.0));
    // Another group of the same regions counts the same traffic again.
    let both = text.clone() + regions(&["init"], "MEM_DP").split_once('\n').unwrap().1;
    assert_eq!(moved(&LikwidFile::new(both.as_bytes(), BTreeMap::new()).read().unwrap()), (3.0, 4.0, 2.0));
}

#[test]
fn metrics_without_a_number_are_the_cause_and_not_the_user() {
    let Some(text) = field("03-likwid-nan/nan.csv") else { return };
    let text = String::from_utf8(text).unwrap();
    for cell in ["nan", "-", "-1.5", "inf"] {
        let text = text.replace("nan", cell);
        let mut file = LikwidFile::new(text.as_bytes(), BTreeMap::new());
        let error = file.read().unwrap_err().to_string();
        assert!(error.contains(&format!("'Memory read data volume [GBytes]' is '{cell}'")), "{error}");
        let refusal = file.refusal("out.csv").unwrap();
        assert_eq!(refusal.code, codes::likwid_uncounted);
        assert!(!refusal.to_string().contains("-g MEM"), "{refusal}");
    }
}

#[test]
fn counts_of_zero_are_no_counts() {
    let zeros = regions(&["kernel"], "MEM").replace(",2,", ",0,").replace("[GBytes],1,", "[GBytes],0,");
    let file = Box::new(LikwidFile::new(zeros.as_bytes(), BTreeMap::new()));
    let mut file = Monitored::new(form(CounterSourceId::Likwid), file, "out.csv", None);
    let error = file.read_at(Duration::ZERO).unwrap_err().to_string();
    assert!(error.contains("likwid-perfctr counted nothing at all"), "{error}");
    let head = ",,SKT0,SKT0,System\nDate,Time,Ch0Read,Ch0Write,Memory\n";
    let line = |second: u32, read: &str| format!("2026-01-02,00:00:0{second}.000,{read},0.00,0.00\n");
    let of = |reads: [&str; 3]| {
        let lines: String = reads.iter().zip(1..).map(|(read, second)| line(second, read)).collect();
        let text = format!("{head}{lines}");
        let file = Box::new(PcmFile::new(text.as_bytes(), &PCM_MEMORY));
        let mut file = Monitored::new(form(CounterSourceId::PcmMemory), file, "pcm.csv", None);
        file.read_at(Duration::ZERO).map(|end| moved(&end)).map_err(|error| error.to_string())
    };
    assert!(of(["0.00"; 3]).unwrap_err().contains("pcm-memory counted nothing at all"));
    assert_eq!(of(["0.00", "0.00", "500"]), Ok((2.0, 0.5, 0.0)));
    // A line with a cell that is no number is damaged, or all of them are.
    assert_eq!(of(["100", "-1", "500"]), Ok((2.0, 1.0, 0.0)));
    let error = of(["-1", "N/A", "-"]).unwrap_err();
    assert!(error.starts_with("'SKT0 Ch0Read' is '-', which is no count"), "{error}");
}

#[test]
fn a_socket_without_numbers_is_left_out_and_named_while_the_others_count() {
    let of = |second_socket: [&str; 5]| {
        let line = |(cell, second): (&&str, u32)| format!("2026-01-02,00:00:0{second}.000,500.00,0.00,{cell},0.00\n");
        let lines: String = second_socket.iter().zip(1..).map(line).collect();
        let text = format!(",,SKT0,SKT0,SKT1,SKT1\nDate,Time,Ch0Read,Ch0Write,Ch0Read,Ch0Write\n{lines}");
        let mut file = PcmFile::new(text.as_bytes(), &PCM_MEMORY);
        let end = file.read().unwrap();
        let left_out = file.notes().into_iter().find(|note| note.code == codes::socket_left_out);
        (moved(&end), left_out.map(|note| note.text))
    };
    let named = |cell: &str| {
        let cause = "pcm-memory could not read all its counters; run it as root, and stop other programs that use the \
                     counters";
        Some(format!("traffic of socket 1 is missing: 'SKT1 Ch0Read' is '{cell}', which is no count: {cause}"))
    };
    assert_eq!(of(["-1.00"; 5]), ((4.0, 2.0, 0.0), named("-1.00")));
    // Lines 2 to 4 begin without its counts: one or two may be damaged.
    let (counted, note) = of(["1.00", "1.00", "N/A", "N/A", "N/A"]);
    assert_eq!((counted, note), ((4.0, 2.0, 0.0), named("N/A")));
    assert_eq!(of(["-1", "100.00", "100.00", "100.00", "100.00"]), ((4.0, 2.4, 0.0), None), "the first line");
    assert_eq!(of(["100.00", "-1", "100.00", "100.00", "100.00"]), ((4.0, 2.4, 0.0), None), "one damaged line");
}

#[test]
fn pcm_of_before_2021_is_read_as_that_of_now() {
    for name in ["06-pcm-old-csv/pcm-old.csv", "06-pcm-old-csv/pcm-new.csv"] {
        let Some(text) = field(name) else { return };
        let mut file = PcmFile::new(text.as_slice(), &PCM);
        assert_eq!(moved(&file.read().unwrap()), (3.0, 60.0, 30.0), "{name}");
        assert_eq!(file.notes().len(), 1, "{name}: nothing is left out");
    }
}

#[test]
fn traffic_of_persistent_memory_is_said_to_be_left_out() {
    let Some(text) = field("24-pcm-memory-pmm/pcm-memory.csv") else { return };
    let mut file = PcmFile::new(text.as_slice(), &PCM_MEMORY);
    let (seconds, read, write) = moved(&file.read().unwrap());
    assert!((read / seconds - 47.0634).abs() < 1e-3 && (write / seconds - 18.7604).abs() < 1e-3, "{read} {write}");
    let left_out = file.notes().into_iter().find(|note| note.code == codes::other_memory_left_out).unwrap();
    assert!(left_out.text.contains("Ch0PMM_Read"), "{left_out}");
}

const HEAD: &str = ",,SKT0,SKT0,System\nDate,Time,Ch0Read,Ch0Write,Memory\n";

/// What a file of pcm-memory with these lines gives: its bytes, or why it does not count.
fn memory_of(lines: &str) -> Result<(f64, f64, f64), String> {
    let text = format!("{HEAD}{lines}");
    let file = Box::new(PcmFile::new(text.as_bytes(), &PCM_MEMORY));
    let mut file = Monitored::new(form(CounterSourceId::PcmMemory), file, "pcm.csv", None);
    file.read_at(Duration::ZERO).map(|end| moved(&end)).map_err(|error| error.to_string())
}

#[test]
fn cut_lines_and_decimal_commas_are_the_cause_that_is_named() {
    let cut = memory_of("2026-01-02,00:00:01.000,5.00\n2026-01-02,00:00:02.000,5.00\n").unwrap_err();
    assert!(cut.contains("a line has 3 cells, its header 5: the line is cut"), "{cut}");
    let commas = memory_of("2026-01-02,00:00:01.000,5,00,5,00,10,00\n").unwrap_err();
    assert!(commas.contains("the decimal sign is a comma"), "{commas}");
    let time = memory_of("2026-01-02,00.00.01,5.00,5.00,10.00\n").unwrap_err();
    assert!(time.contains("'00.00.01' is no time of the day"), "{time}");
    // Between semicolons a comma is a decimal sign.
    let rows = "2026-01-02;00:00:01,000;0,0;0;0\n2026-01-02;00:00:02,000;500,5;5,0;0\n";
    let text = HEAD.replace(',', ";") + rows;
    let mut file = PcmFile::new(text.as_bytes(), &PCM_MEMORY);
    assert_eq!(moved(&file.read().unwrap()), (1.0, 0.5005, 0.005));
}

#[test]
fn a_file_with_a_header_only_says_that_it_has_no_counts() {
    let pending = |notes: Vec<tiermark_model::Note>| notes.iter().any(|note| note.code == codes::no_counts_yet);
    let line = "2026-01-02,00:00:01.000,5.00,5.00,10.00\n";
    for (lines, is_pending) in [("", true), (line, true), (&[line, &line.replace("01.0", "02.0")].concat(), false)] {
        let text = format!("{HEAD}{lines}");
        let mut file = PcmFile::new(text.as_bytes(), &PCM_MEMORY);
        file.read().unwrap();
        assert_eq!(pending(file.notes()), is_pending, "{lines}");
    }
    let mut likwid =
        LikwidFile::new(&b"STRUCT,Info,3,\nTABLE,Group 1 Metric,MEM,3,\nMetric,HWThread 0,\n"[..], BTreeMap::new());
    likwid.read().unwrap();
    assert!(pending(likwid.notes()) && likwid.refusal("out.csv").is_none());
}

#[test]
fn a_line_of_pcm_that_is_damaged_takes_its_time_with_it() {
    let line = |second: u32, read: &str| format!("2026-01-02,00:00:0{second}.000,{read},1,\n");
    let of = |third: &str| {
        let lines = [line(1, "1"), line(2, "10"), line(3, third), line(4, "10")].concat();
        let text = format!("System,,Socket 0,Socket 0,\nDate,Time,READ,WRITE,\n{lines}");
        moved(&PcmFile::new(text.as_bytes(), &PCM).read().unwrap())
    };
    assert_eq!((of("10"), of("x"), of("1e300")), ((3.0, 30.0, 3.0), (2.0, 20.0, 2.0), (2.0, 20.0, 2.0)));
}

#[test]
fn values_that_no_memory_moves_are_no_part_of_a_sum() {
    let lines = |read: &str| {
        let line = |second: u32| format!("2026-01-02,00:00:0{second}.000,{read},5,0\n");
        (1..4).map(line).collect::<String>()
    };
    let overflow = memory_of(&lines("1e300")).unwrap_err();
    assert!(overflow.contains("'SKT0 Ch0Read' is '1e300', which is no count"), "{overflow}");
    // More than any memory carries: there is no sum without it.
    let text = format!(
        "{}{}",
        HEAD.replace("Ch0Write,", "Ch0Write,Ch1Read,Ch1Write,").replace("SKT0,S", "SKT0,SKT0,SKT0,S"),
        lines("9e7").replace(",5,0", ",5,100,5,0")
    );
    let end = PcmFile::new(text.as_bytes(), &PCM_MEMORY).read().unwrap();
    let mut start = end.clone();
    start.readings.iter_mut().for_each(|reading| reading.count = 0);
    start.at = Duration::ZERO;
    let seen = traffic(&start, &end);
    assert_eq!((seen.boxes.len(), seen.missing.len(), seen.whole().total), (1, 1, None), "{seen:?}");
}

#[test]
fn faults_of_an_output_of_likwid_are_named_as_they_are() {
    let good = regions(&["kernel"], "MEM");
    let refused = |text: &str| {
        let mut file = LikwidFile::new(text.as_bytes(), BTreeMap::new());
        let error = file.read().unwrap_err().to_string();
        let refusal = file.refusal("out.csv").unwrap();
        assert!(!refusal.to_string().contains("-g MEM"), "{refusal}");
        (refusal.code.clone(), refusal.why.clone(), error)
    };
    let (code, why, error) = refused(&good.replace("[s],1.5", "[s],0"));
    assert_eq!(code, codes::likwid_no_time);
    assert!(why.contains("the time of the group MEM is 0") && error == why, "{why}; {error}");
    let (code, why, _) = refused(&good.replace("[GBytes],2,", "[GBytes],2,25,"));
    assert_eq!(code, codes::likwid_row_width);
    assert!(why.contains("2 values for 1 thread: the decimal sign is a comma"), "{why}");
    let (_, why, _) = refused(&good.replace("Metric,HWThread 0,", "Metric,HWThread 0,HWThread 1,"));
    assert!(why.contains("the line is cut"), "{why}");
    // A region that the program never entered is no fault of the others.
    let two = format!("{good}{}", regions(&["never"], "MEM").split_once('\n').unwrap().1.replace("[s],1.5", "[s],0"));
    assert_eq!(moved(&LikwidFile::new(two.as_bytes(), BTreeMap::new()).read().unwrap()), (1.5, 2.0, 1.0));
}

/// A file of pcm-memory for two sockets of two channels, with these cells in each of three lines.
fn two_sockets(cells: &str) -> String {
    let line = |second: u32| format!("2026-01-02,00:00:0{second}.000,{cells}\n");
    let lines: String = (1..4).map(line).collect();
    let sockets = ["SKT0", "SKT0", "SKT0", "SKT0", "SKT1", "SKT1", "SKT1", "SKT1"].join(",");
    let names = ["Ch0Read,Ch0Write,Ch1Read,Ch1Write"; 2].join(",");
    format!(",,{sockets}\nDate,Time,{names}\n{lines}")
}

fn seen(mut file: impl CounterSource) -> Traffic {
    traffic(&Snapshot::default(), &file.read().unwrap())
}

/// What stays at 0, by socket and unit.
fn silent(seen: &Traffic) -> Vec<(u32, String, CounterSight)> {
    let silent = |mark: &CounterMark| match mark {
        CounterMark::Silent { place, counts, .. } => Some((place.socket.unwrap(), place.unit.clone(), *counts)),
        _ => None,
    };
    seen.marks.iter().filter_map(silent).collect()
}

#[test]
fn a_place_that_stays_at_zero_beside_others_is_in_no_sum() {
    let of = |cells: &str| seen(PcmFile::new(two_sockets(cells).as_bytes(), &PCM_MEMORY));
    let (all, reads) = (CounterSight::Total, CounterSight::Reads);
    let socket = of("5000,2500,5000,2500,0,0,0,0");
    assert_eq!(silent(&socket), [(1, "Ch0".to_owned(), all), (1, "Ch1".to_owned(), all)]);
    assert_eq!((socket.boxes.len(), socket.whole().total), (2, None), "0 is no traffic of the second socket");
    assert_eq!(socket.sockets()[&0].total, Some(30e9));
    let channel = of("5000,2500,0,0,5000,2500,5000,2500");
    assert_eq!(silent(&channel), [(0, "Ch1".to_owned(), all)]);
    // Beside another of its socket it has no modules, and adds nothing.
    assert_eq!((channel.sockets()[&0].total, channel.sockets()[&1].total), (Some(15e9), Some(30e9)));
    assert_eq!(silent(&of("0,2500,0,2500,5000,2500,5000,2500")).len(), 2);
    assert_eq!(silent(&of("0,2500,0,2500,0,2500,0,2500"))[0], (0, "Ch0".to_owned(), reads));
    // Little traffic is rounded to 0, and an idle socket hardly writes.
    assert_eq!(silent(&of("50,25,50,25,0,0,0,0")), []);
    assert_eq!(silent(&of("5000,2500,5000,2500,20,0,20,0")), []);
    // Counts that began late.
    let late = two_sockets("5000,2500,5000,2500,0,0,0,0");
    let late = format!("{late}2026-01-02,00:00:04.000,5000,2500,5000,2500,1,1,1,1\n");
    assert_eq!(silent(&seen(PcmFile::new(late.as_bytes(), &PCM_MEMORY))), []);
    let pcm = "System,,Socket 0,Socket 0,Socket 1,Socket 1,\nDate,Time,READ,WRITE,READ,WRITE,\n";
    let line = |second: u32| format!("2026-01-02,00:00:0{second}.000,10.00,5.00,0.00,0.00,\n");
    let pcm = format!("{pcm}{}{}", line(1), line(2));
    assert_eq!(silent(&seen(PcmFile::new(pcm.as_bytes(), &PCM))), [(1, "Mem".to_owned(), all)]);
}

/// What is said of the last of these rows, of a second each.
fn last_of(rows: &[&str]) -> Traffic {
    let head = two_sockets("").lines().take(2).map(|line| format!("{line}\n")).collect::<String>();
    let upto = |rows: &[&str]| {
        let row = |(second, cells): (usize, &&str)| format!("2026-01-02,00:00:0{second}.000,{cells}\n");
        let text = format!("{head}{}", rows.iter().enumerate().map(row).collect::<String>());
        PcmFile::new(text.as_bytes(), &PCM_MEMORY).read().unwrap()
    };
    traffic(&upto(&rows[..rows.len() - 1]), &upto(rows))
}

#[test]
fn a_place_that_counted_and_is_at_zero_beside_others_is_in_no_sum() {
    let busy = "5000,2500,5000,2500,5000,2500,5000,2500";
    let all = CounterSight::Total;
    let socket = last_of(&[busy, busy, "5000,2500,5000,2500,0.00,0.00,0.00,0.00"]);
    assert_eq!(silent(&socket), [(1, "Ch0".to_owned(), all), (1, "Ch1".to_owned(), all)]);
    assert_eq!((socket.whole().total, socket.sockets()[&0].total), (None, Some(15e9)));
    // It has modules, so there is no sum of its socket.
    let channel = last_of(&[busy, busy, "5000,2500,0,0,5000,2500,5000,2500"]);
    assert_eq!(silent(&channel), [(0, "Ch1".to_owned(), all)]);
    assert_eq!((channel.sockets()[&0].total, channel.sockets()[&1].total), (None, Some(15e9)));
    let writes = last_of(&[busy, busy, "5000,0,5000,2500,5000,2500,5000,2500"]);
    assert_eq!(silent(&writes), [(0, "Ch0".to_owned(), CounterSight::Writes)]);
    // An idle socket moves some bytes, and a quiet machine few.
    assert_eq!(silent(&last_of(&[busy, busy, "5000,2500,5000,2500,0.01,0.01,0.02,0"])), []);
    assert_eq!(silent(&last_of(&[busy, busy, "50,25,50,25,0,0,0,0"])), []);
}

/// Two decimals of GB hide the traffic of an idle socket.
#[test]
fn a_socket_that_counted_may_be_idle_where_its_source_rounds() {
    let of = |rows: &[&str]| {
        let row = |(second, cells): (usize, &&str)| format!("2026-01-02,00:00:0{second}.000,{cells},\n");
        let head = "System,,Socket 0,Socket 0,Socket 1,Socket 1,\nDate,Time,READ,WRITE,READ,WRITE,\n";
        let text = format!("{head}{}", rows.iter().enumerate().map(row).collect::<String>());
        PcmFile::new(text.as_bytes(), &PCM).read().unwrap()
    };
    let rows = ["10.00,5.00,0.01,0.00", "10.00,5.00,0.01,0.00", "10.00,5.00,0.00,0.00"];
    let seen = traffic(&of(&rows[..2]), &of(&rows));
    assert_eq!((silent(&seen), seen.whole().total), (vec![], Some(15e9)));
}

#[test]
fn a_channel_that_counts_more_than_any_is_impossible() {
    let busy = "5000,2500,5000,2500,5000,2500,5000,2500";
    let seen = last_of(&[busy, busy, "5000,2500,900000,2500,5000,2500,5000,2500"]);
    let [CounterMark::Impossible { place, rate }] = &seen.marks[..] else { panic!("{:?}", seen.marks) };
    assert_eq!((place.socket, place.unit.as_str(), *rate), (Some(0), "Ch1", 902.5e9));
    assert_eq!((seen.whole().total, seen.sockets()[&1].total), (None, Some(15e9)));
}

/// The note with this code of a file with two sockets, whose System states these reads and writes.
fn note_of(stated: &str, third: &str, code: &tiermark_model::Code) -> Option<String> {
    let row = |second: u32, cells: &str| format!("2026-01-02,00:00:0{second}.000,{cells},{stated}\n");
    let busy = "5000,2500,5000,2500,5000,2500,5000,2500";
    let head = ",,SKT0,SKT0,SKT0,SKT0,SKT1,SKT1,SKT1,SKT1,System,System,System\nDate,Time,Ch0Read,Ch0Write,Ch1Read,\
                Ch1Write,Ch0Read,Ch0Write,Ch1Read,Ch1Write,Read,Write,Memory\n";
    let text = format!("{head}{}{}{}{}", row(1, busy), row(2, busy), row(3, third), row(4, busy));
    let mut file = PcmFile::new(text.as_bytes(), &PCM_MEMORY);
    file.read().unwrap();
    file.notes().into_iter().find(|note| note.code == *code).map(|note| note.text)
}

#[test]
fn sums_of_a_file_that_its_parts_contradict_are_named() {
    let busy = "5000,2500,5000,2500,5000,2500,5000,2500";
    let said = |stated: &str| note_of(stated, busy, &codes::sums_differ);
    assert_eq!((said("20000,10000,30000"), said("20200,10100,30300")), (None, None));
    // A sum that is no number says nothing.
    assert_eq!((said("nan,nan,nan"), said("23000,-,33000")), (None, None));
    let wrong = said("23000,10000,33000").unwrap();
    assert!(wrong.contains("states 33.0 GB/s") && wrong.contains("add up to 30.0 GB/s"), "{wrong}");
    let line = |second: u32| format!("2026-01-02,00:00:0{second}.000,12,5,10,5,\n");
    let head = "System,,System,System,Socket 0,Socket 0,\nDate,Time,READ,WRITE,READ,WRITE,\n";
    let pcm = format!("{head}{}{}", line(1), line(2));
    let mut file = PcmFile::new(pcm.as_bytes(), &PCM);
    file.read().unwrap();
    assert!(file.notes().iter().any(|note| note.text.contains("states 17.0 GB/s")), "{:?}", file.notes());
}

/// Memory on the package is in the sum of all, or beside it.
#[test]
fn sums_may_hold_the_memory_on_the_package() {
    let said = |stated: &str| {
        let head = ",,SKT0,SKT0,SKT0,SKT0,System,System,System\n\
                    Date,Time,Ch0Read,Ch0Write,EDC_Ch0Read,EDC_Ch0Write,Read,Write,Memory\n";
        let row = |second: u32| format!("2026-01-02,00:00:0{second}.000,1000,400,200000,80000,{stated}\n");
        let text = format!("{head}{}{}", row(1), row(2));
        let mut file = PcmFile::new(text.as_bytes(), &PCM_MEMORY);
        file.read().unwrap();
        file.notes().into_iter().find(|note| note.code == codes::sums_differ).map(|note| note.text)
    };
    assert_eq!((said("201000,80400,281400"), said("1000,400,1400")), (None, None));
    assert!(said("90000,400,90400").is_some());
}

/// A socket of `pcm -csv`, which writes two decimals of GB: its 0 may be true, so that its figures stay.
#[test]
fn a_socket_of_pcm_that_stops_midway_is_named() {
    let row = |(second, cells): (usize, &&str)| format!("2026-01-02,00:00:0{second}.000,{cells},\n");
    let head = "System,,Socket 0,Socket 0,Socket 1,Socket 1,\nDate,Time,READ,WRITE,READ,WRITE,\n";
    let said = |rows: &[&str]| {
        let text = format!("{head}{}", rows.iter().enumerate().map(row).collect::<String>());
        let mut file = PcmFile::new(text.as_bytes(), &PCM);
        file.read().unwrap();
        file.notes().into_iter().find(|note| note.code == codes::socket_reads_zero).map(|note| note.text)
    };
    let (on, off) = ("9.00,4.00,8.00,4.00", "9.00,4.00,0.00,0.00");
    let note = said(&[on, on, on, off, off, off, off]).unwrap();
    assert!(note.contains("socket 1 since 00:00:03") && note.contains("or the socket is idle"), "{note}");
    assert_eq!((said(&[on, on, off, off, off, on]), said(&[on, on, on])), (None, None));
}

#[test]
fn lines_without_counts_are_one_note_with_their_number() {
    let busy = "5000,2500,5000,2500,5000,2500,5000,2500";
    let said = |third: &str| note_of("20000,10000,30000", third, &codes::lines_skipped);
    assert_eq!(said(busy), None);
    let nan = said(&busy.replacen("5000", "nan", 1)).unwrap();
    assert!(nan.starts_with("1 line of pcm-memory without counts") && nan.contains("'SKT0 Ch0Read' is 'nan'"), "{nan}");
    assert!(said("5000,2500").unwrap().contains("the line is cut"));
}

#[test]
fn what_is_counted_in_part_is_in_no_sum() {
    for (columns, titles, values, socket) in [
        ("Socket 0,", "READ,", "10.00,", 0),
        ("Socket 0,Socket 0,Socket 1,", "READ,WRITE,READ,", "10.00,5.00,10.00,", 1),
    ] {
        let line = |second: u32| format!("2026-01-02,00:00:0{second}.000,{values}\n");
        let text = format!("System,,{columns}\nDate,Time,{titles}\n{}{}", line(1), line(2));
        let seen = seen(PcmFile::new(text.as_bytes(), &PCM));
        let [CounterMark::Partial { place, counts }] = &seen.marks[..] else { panic!("{:?}", seen.marks) };
        assert_eq!((place.socket, *counts, seen.whole().total), (Some(socket), CounterSight::Reads, None));
    }
}

#[test]
fn lines_without_time_between_them_count_nothing_and_say_so() {
    let of = |seconds: [u32; 5]| {
        let line = |second: &u32| format!("2026-01-02,00:00:{second:02}.000,5,5,10\n");
        memory_of(&seconds.iter().map(line).collect::<String>())
    };
    assert!(of([9, 9, 9, 9, 9]).unwrap_err().contains("stands still"));
    assert!(of([9, 8, 7, 6, 5]).unwrap_err().contains("runs backwards"));
    // A clock that is set back once, and lines that come twice.
    assert!(of([9, 10, 4, 5, 6]).is_ok() && of([1, 1, 2, 2, 3]).is_ok());
}

#[test]
fn unusual_cells_are_read_or_named() {
    let cells = |header: &str, cells: &str| {
        let line = |second: u32| format!("2026-01-02;00:00:0{second}.000;{cells}\n");
        let text = format!("{header}{}{}", line(1), line(2));
        let read = PcmFile::new(text.as_bytes(), &PCM_MEMORY).read().map(|end| moved(&end));
        read.map_err(|error| error.to_string())
    };
    let head = HEAD.replace(',', ";");
    assert_eq!(cells(";;SKT0;SKT0\nDate;Time;Mem Read (GB/s);Mem Write (GB/s)\n", "5;1"), Ok((1.0, 5.0, 1.0)));
    assert_eq!(cells(&format!("\u{feff}{head}"), "5000;1000;6000"), Ok((1.0, 5.0, 1.0)));
    let thousands = cells(&head, "5,000.00;1,000.00;6,000.00").unwrap_err();
    assert!(thousands.contains("separator of thousands"), "{thousands}");
    let empty = cells(&head, ";;").unwrap_err();
    assert!(empty.contains("are empty"), "{empty}");
}

#[test]
fn the_form_of_a_text_is_known() {
    let pcm = "System,,Socket 0,\nDate,Time,READ,\n";
    let form_of = |text: &str| form_of(text).map(|kind| kind.id);
    assert_eq!(form_of(&two_sockets("1,1,1,1,1,1,1,1")), Some(CounterSourceId::PcmMemory));
    assert_eq!(form_of(pcm), Some(CounterSourceId::Pcm));
    assert_eq!(form_of("STRUCT,Info,3,\nCPU name:,Intel,\n"), Some(CounterSourceId::Likwid));
    assert_eq!(form_of("1.0,<not counted>,MiB,uncore_imc_1/cas_count_read/\n"), None);
}

/// A monitor whose file is rotated writes into another file of the same name, or into the same one from its beginning.
#[test]
fn a_file_that_is_replaced_or_emptied_is_read_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pcm.csv");
    let line = |second: u32| format!("2026-01-02,00:00:0{second}.000,5000,1000,6000\n");
    let write = |text: String| std::fs::write(&path, text).unwrap();
    write(format!("{HEAD}{}{}", line(1), line(2)));
    let mut file = PcmFile::new(Followed::open(&path).unwrap(), &PCM_MEMORY);
    assert_eq!(moved(&file.read().unwrap()), (1.0, 5.0, 1.0));
    // Half a line, then another file.
    std::fs::File::options().append(true).open(&path).unwrap().write_all(b"2026-01-02,00:00:0").unwrap();
    assert_eq!(moved(&file.read().unwrap()), (1.0, 5.0, 1.0));
    std::fs::rename(&path, folder.path().join("pcm.csv.1")).unwrap();
    assert_eq!(moved(&file.read().unwrap()), (1.0, 5.0, 1.0), "there is no file of the name yet");
    write(format!("{HEAD}{}", line(3)));
    assert_eq!(moved(&file.read().unwrap()), (2.0, 10.0, 2.0));
    // Emptied and written anew: shorter than what was read of it.
    write(line(4));
    assert_eq!(moved(&file.read().unwrap()), (3.0, 15.0, 3.0));
}
