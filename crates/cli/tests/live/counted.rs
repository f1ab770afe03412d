//! Traffic of a measurement on this machine, by a file that another program writes meanwhile.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::common::{User, document};
use serde_json::Value;

/// The header of `pcm-memory -csv` on two sockets of two channels.
const HEAD: &str = ",,SKT0,SKT0,SKT0,SKT0,SKT1,SKT1,SKT1,SKT1\n\
    Date,Time,Ch0Read,Ch0Write,Ch1Read,Ch1Write,Ch0Read,Ch0Write,Ch1Read,Ch1Write\n";

/// A line of now, of channels near what any can carry: the traffic is seen beside that of any machine.
fn line() -> String {
    let of_day = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() % 86_400_000;
    let (seconds, ms) = (of_day / 1000, of_day % 1000);
    let time = format!("{:02}:{:02}:{:02}.{ms:03}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("2026-01-02,{time},60000.00,20000.00,60000.00,20000.00,30000.00,10000.00,30000.00,10000.00\n")
}

#[test]
fn cells_have_the_traffic_of_a_file_that_grows() {
    let user = User::new();
    let path = user.path("memory.csv");
    std::fs::write(&path, HEAD.to_owned() + &line()).unwrap();
    let is_over = AtomicBool::new(false);
    let matrix = |more: &[&str]| {
        let command = ["matrix", "--quick", "--force", "--allow-partial", "--op=read", "--threads=one", "--sizes=64M"];
        let counting = ["--counters-from=pcm-memory=memory.csv", "--seconds=1", "--max-mem=256M", "--width=80"];
        user.run(&[&command[..], &counting, more].concat())
    };
    let (ran, plan) = thread::scope(|scope| {
        scope.spawn(|| {
            // Until the run is over, and not for ever.
            for _ in 0..600 {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                thread::sleep(Duration::from_millis(300));
                let mut file = std::fs::File::options().append(true).open(&path).unwrap();
                file.write_all(line().as_bytes()).unwrap();
            }
        });
        let plan = matrix(&["--dry-run"]);
        let ran = matrix(&["--json=run.json"]);
        is_over.store(true, Ordering::Relaxed);
        (ran, plan)
    });
    let plan = plan.expect(0).out;
    assert!(plan.contains("pcm-memory counts in intervals of its own"), "{plan}");
    let ran = ran.measured();
    let run = document(&user.path("run.json"));
    assert_eq!(run["counters"]["source"], "pcm-memory");
    let cells = run["experiments"][0]["observations"].as_array().unwrap();
    let counted: Vec<&Value> = cells.iter().filter(|cell| cell["value"].is_number()).collect();
    assert!(!counted.is_empty(), "{}", ran.out);
    for cell in counted {
        let traffic = &cell["traffic"]["counted"];
        // Two whole lines of 0.3 s at least; the time is that of lines.
        assert!(traffic["seconds"].as_f64().unwrap() > 0.5, "{cell}");
        let boxes = traffic["boxes"].as_array().unwrap();
        assert!(boxes.len() == 4 && boxes[0]["place"]["node"].is_number(), "{traffic}");
        let read: f64 = boxes.iter().map(|own| own["read"].as_f64().unwrap()).sum();
        let rate = read / traffic["seconds"].as_f64().unwrap();
        assert!((rate / 180e9 - 1.0).abs() < 1e-3, "{rate}: as the lines state it, whatever this machine does");
        assert!(cell["traffic"]["useful"].as_f64().unwrap() > 0.0, "{cell}");
    }
    let at = ran.out.find("Traffic of memory, counted by pcm-memory").unwrap_or_else(|| panic!("{}", ran.out));
    for words in ["intervals of its own", "of each node", "node 0", "written"] {
        assert!(ran.out[at..].contains(words), "{words} in:\n{}", ran.out);
    }
    assert!(ran.out[at..].lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
}

#[test]
fn numbers_of_milliseconds_refuse_such_a_file() {
    let user = User::new();
    std::fs::write(user.path("memory.csv"), HEAD.to_owned() + &line()).unwrap();
    for command in ["latency", "survey"] {
        let said = user.run(&[command, "--counters-from=pcm-memory=memory.csv"]).expect(2).err;
        assert!(said.contains(command) && said.contains("`matrix`"), "{said}");
    }
}
