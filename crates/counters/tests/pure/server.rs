//! A running pcm-sensor-server: what its page counts, and what is no count.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use proptest::prelude::*;
use tiermark_counters::{CounterSource, PcmServer, pcm_counts, traffic};
use tiermark_model::messages::counters::codes;
use tiermark_model::{CounterMark, CounterSight};

const PAGE: &str = "\
# HELP Measurement_Interval_in_us Measurement interval in us
Number_of_sockets 2
Instructions_Retired_Any{socket=\"0\",core=\"0\",thread=\"0\",source=\"core\"} 5
DRAM_Writes{socket=\"0\",aggregate=\"socket\",source=\"uncore\"} 1000
DRAM_Reads{socket=\"0\",aggregate=\"socket\",source=\"uncore\"} 18446744073709551614
DRAM_Reads{socket=\"1\",aggregate=\"socket\",source=\"uncore\"} 7
DRAM_Writes{socket=\"1\",aggregate=\"socket\",source=\"uncore\"} 0
DRAM_Reads{aggregate=\"system\",source=\"uncore\"} 3
Incoming_Data_Traffic_On_Link_0{aggregate=\"system\",source=\"uncore\",socket=\"0\"} 20
Outgoing_Data_And_Non_Data_Traffic_On_Link_0{aggregate=\"system\",source=\"uncore\",socket=\"0\"} 99
Utilization_Incoming_Data_Traffic_On_Link_0{aggregate=\"system\",source=\"uncore\",socket=\"0\"} 0.5
";

/// Serves these answers, one a connection, and returns its address.
fn serve(answers: Vec<String>) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = std::thread::spawn(move || {
        let mut requests = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).unwrap();
            requests.push(String::from_utf8_lossy(&request[..length]).into_owned());
            // A client that has seen enough may be gone.
            let _ = stream.write_all(answer.as_bytes());
        }
        requests
    });
    (address, serving)
}

fn page(text: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{text}", text.len())
}

#[test]
fn a_running_pcm_sensor_server() {
    let later = PAGE.replace("} 1000", "} 1500").replace("551614", "551615").replace("} 20", "} 2.0e3");
    let chunked =
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{PAGE}\r\n0\r\n\r\n", PAGE.len());
    let (address, serving) = serve(vec![page(PAGE), chunked, format!("HTTP/1.0 200 OK\r\n\r\n{later}")]);
    let mut source = PcmServer::open(&address).unwrap();
    let before = source.read().unwrap();
    let seen = traffic(&before, &source.read().unwrap());
    let requests = serving.join().unwrap();
    assert!(requests.iter().all(|request| request.starts_with("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:")));
    assert_eq!(source.sees(), [CounterSight::Reads, CounterSight::Writes, CounterSight::LinkReceived]);
    let first = seen.sockets()[&0];
    assert_eq!((first.read, first.write), (Some(1.0), Some(500.0)));
    assert_eq!((seen.boxes.len(), seen.links.len()), (2, 1));
    assert_eq!((seen.links[0].received, seen.links[0].sent), (Some(1980.0), None));
    // The server has ended.
    assert!(source.read().is_err());
}

#[test]
fn a_server_whose_counts_stand_still_counts_no_zeros() {
    let moved = PAGE.replace("} 1000", "} 1500");
    let links = PAGE.replace("} 20", "} 40");
    let (address, serving) = serve([PAGE, PAGE, &links, &moved, &moved, &moved].map(page).to_vec());
    let mut source = PcmServer::open(&address).unwrap();
    let mut at = |seconds| source.read_at(Duration::from_secs(seconds)).map_err(|error| error.to_string());
    let times = [at(1).unwrap(), at(2).unwrap(), at(3).unwrap(), at(13).unwrap()].map(|snapshot| snapshot.at.as_secs());
    assert_eq!(times, [0, 0, 3, 3], "no time passes for counts that do not change");
    let still = at(14).unwrap_err();
    assert!(still.contains("no count of memory of pcm-sensor-server has changed for 11 s"), "{still}");
    serving.join().unwrap();
}

#[test]
fn values_of_a_server_that_no_counter_has_leave_no_sum() {
    for value in ["1e30", "inf", "NaN", "-5", "18446744073709551616"] {
        let bad = PAGE.replace("} 1000", &format!("}} {value}"));
        let later = bad.replace("} 7", "} 8");
        let (address, serving) = serve([&bad, &bad, &later].map(|text| page(text)).to_vec());
        let mut source = PcmServer::open(&address).unwrap();
        assert!(source.notes().iter().any(|note| note.text.contains("Mem of socket 0 that no counter has")), "{value}");
        let mut at = |seconds| source.read_at(Duration::from_secs(seconds)).unwrap();
        let seen = traffic(&at(1), &at(2));
        assert_eq!((seen.whole().read, seen.sockets().len(), seen.missing.len()), (None, 1, 1), "{value}: {seen:?}");
        serving.join().unwrap();
    }
}

/// A page of two sockets after so many seconds, of which the second counts for so long.
fn counted_until(second: u64, last: u64) -> String {
    let of = |socket: u32, seconds: u64| {
        let line = |name: &str, rate: u64| format!("DRAM_{name}{{socket=\"{socket}\"}} {}\n", 1000 + rate * seconds);
        line("Reads", 10_000_000_000) + &line("Writes", 5_000_000_000)
    };
    of(0, second) + &of(1, second.min(last))
}

#[test]
fn a_socket_that_stops_or_leaves_the_page_is_in_no_sum() {
    let (both, stood) = (counted_until(1, 9), counted_until(2, 1));
    let gone = |second: u64| counted_until(second, 9).lines().take(2).collect::<Vec<_>>().join("\n");
    let (address, serving) = serve([&both, &both, &stood, &gone(3), &gone(4)].map(|text| page(text)).to_vec());
    let mut source = PcmServer::open(&address).unwrap();
    let at: Vec<_> = (1..5).map(|second| source.read_at(Duration::from_secs(second)).unwrap()).collect();
    serving.join().unwrap();
    let stopped = traffic(&at[0], &at[1]);
    assert!(matches!(&stopped.marks[..], [CounterMark::Silent { .. }]), "{:?}", stopped.marks);
    for seen in [stopped, traffic(&at[1], &at[2]), traffic(&at[2], &at[3])] {
        assert_eq!((seen.whole().total, seen.boxes.len()), (None, 1), "{seen:?}");
        assert!(seen.marks.iter().all(|mark| mark.place().socket == Some(1)) && seen.marks.len() == 1, "{seen:?}");
    }
}

#[test]
fn a_server_without_writes_has_no_sum() {
    let reads = |second| counted_until(second, 9).lines().step_by(2).collect::<Vec<_>>().join("\n");
    let (address, serving) = serve([reads(1), reads(1), reads(2)].map(|text| page(&text)).to_vec());
    let mut source = PcmServer::open(&address).unwrap();
    let seen =
        traffic(&source.read_at(Duration::from_secs(1)).unwrap(), &source.read_at(Duration::from_secs(2)).unwrap());
    serving.join().unwrap();
    assert_eq!((seen.marks.len(), seen.whole().total, source.sees()), (2, None, vec![CounterSight::Reads]));
}

#[test]
fn servers_without_counts_are_refused() {
    let zeros = "DRAM_Reads{socket=\"0\",aggregate=\"socket\"} 0\nDRAM_Writes{socket=\"0\",aggregate=\"socket\"} 0\n";
    for (answer, code, said) in [
        (page("# nothing\n"), codes::pcm_server_is_another, "no traffic of memory"),
        (page("<html>hi</html>\n"), codes::pcm_server_is_another, "is HTML"),
        (page(zeros), codes::pcm_server_counts_nothing, "counted nothing at all"),
        ("HTTP/1.1 503 Busy\r\n\r\n".to_owned(), codes::pcm_server_failed, "503 Busy"),
        ("\r\n".to_owned(), codes::pcm_server_failed, "no page"),
        (String::new(), codes::pcm_server_failed, "no page"),
    ] {
        let (address, serving) = serve(vec![answer]);
        let refusal = PcmServer::open(&address).err().unwrap();
        assert_eq!(refusal.code, code, "{refusal}");
        assert!(refusal.why.contains(said) && !refusal.cure.contains("as root"), "{refusal}");
        serving.join().unwrap();
    }
    // Nothing listens.
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refusal = PcmServer::open(&address.to_string()).err().unwrap();
    assert!(refusal.code == codes::pcm_server_refused && refusal.cure.contains("as root"), "{refusal}");
}

proptest! {
    #[test]
    fn any_page(cut in 0..PAGE.len(), text in "[-0-9.,=\"{}A-Za-z_ \n]{0,80}") {
        let counts = pcm_counts(&format!("{}{text}\n{PAGE}", &PAGE[..cut]));
        prop_assert!(counts.len() >= 5);
    }
}
