//! The machine's record, and the work of others during a run, on this machine.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::{User, document, findings};
use serde_json::Value;

/// One number of this machine, in a second or two.
const QUICK: [&str; 6] = ["latency", "--quick", "--force", "--sizes=16K", "--max-time=6", "--json=run.json"];

/// The one number of a real run, with the names of the reasons for its verdict.
fn number(user: &User, more: &[&str]) -> (f64, String, Vec<String>) {
    user.run(&[&QUICK[..], more].concat()).expect(0);
    let run = document(&user.path("run.json"));
    let seen = &run["experiments"][0]["observations"][0];
    let reasons = seen["verdict"]["reasons"].as_array().unwrap().iter();
    let reasons = reasons.map(|reason| reason["reason"].as_str().unwrap().to_owned()).collect();
    (seen["value"].as_f64().unwrap(), seen["verdict"]["grade"].as_str().unwrap().to_owned(), reasons)
}

/// The file of the record, where there is one.
fn record(user: &User) -> Option<Value> {
    let path = user.path("record.json");
    path.exists().then(|| document(&path))
}

#[test]
fn a_run_below_the_record_of_its_machine_is_a_bound() {
    let user = User::new();
    number(&user, &["--no-record"]);
    number(&user, &["--no-save"]);
    assert_eq!(record(&user), None, "neither writes it");
    let trusted = (0..3).any(|_| number(&user, &[]).1 == "trusted");
    let Some(mut book) = record(&user).filter(|_| trusted) else {
        eprintln!("skipped: this machine gave no trusted number of its first cache");
        return;
    };
    let cells = book["machines"][0]["cells"].as_object_mut().unwrap();
    assert_eq!(cells.len(), 1);
    // Somebody was alone on this machine once.
    let best = cells.values_mut().next().unwrap();
    let value = best["value"].as_f64().unwrap() / 2.0;
    best["value"] = value.into();
    let cycles = best["per_cycle"]["value"].as_f64().unwrap() / 2.0;
    best["per_cycle"]["value"] = cycles.into();
    std::fs::write(user.path("record.json"), book.to_string()).unwrap();
    for more in [&[][..], &["--no-save"]] {
        // Beside a busy hardware thread a number is not per cycle, as the record is.
        let clocked = |_| Some(number(&user, more)).filter(|(.., reasons)| !reasons.contains(&"no_clock".to_owned()));
        let Some((_, grade, reasons)) = (0..5).find_map(clocked) else {
            eprintln!("skipped: the other hardware thread was busy");
            return;
        };
        assert_eq!((grade.as_str(), reasons.last().unwrap().as_str()), ("bound", "below_record"));
    }
    let run = document(&user.path("run.json"));
    let finding = &findings(&run)[0];
    assert_eq!(finding["verdict"]["grade"], "bound", "derived after it was held: {finding}");
    assert!(!number(&user, &["--no-record"]).2.contains(&"below_record".to_owned()));
    let cells = |book: &Value| book["machines"][0]["cells"].clone();
    assert_eq!(cells(&record(&user).unwrap()), cells(&book), "nothing was better");
    // The saved run says it again.
    let again = user.run(&["show", "last", "--reanalyse", "--json"]).expect(0).json();
    let is_figure = |found: &&Value| {
        let metric = found["metric"].as_str().unwrap();
        metric != "core.clock" && !metric.starts_with("interruptions")
    };
    let figures = findings(&again).iter().filter(is_figure).count();
    assert_eq!(figures, 1);
    // Whatever is in the file, no run fails of it.
    std::fs::write(user.path("record.json"), "{ damaged").unwrap();
    let ran = user.run(&QUICK).expect(0);
    assert!(ran.err.contains("record.json.damaged"), "{}", ran.err);
    assert_eq!(std::fs::read(user.path("record.json.damaged")).unwrap(), b"{ damaged");
}

/// Programs that keep a cpu busy, until they are dropped.
struct Others(Vec<Child>);

impl Others {
    /// Several of one name, so that it is among the first wherever this runs; `None` where none can be bound to a cpu.
    fn on(cpu: u32) -> Option<Self> {
        let busy = || {
            let mut command = Command::new("taskset");
            command.args(["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
        };
        let others = Self((0..3).map_while(|_| busy()).collect());
        thread::sleep(Duration::from_millis(100));
        (others.0.len() == 3).then_some(others)
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The last cpu that this process may use.
fn a_cpu() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.trim().rsplit([',', '-']).next().unwrap().parse().unwrap()
}

#[test]
fn other_work_is_refused_and_warned_of_by_name() {
    let cpu = a_cpu();
    let Some(_others) = Others::on(cpu) else {
        eprintln!("skipped: no taskset here");
        return;
    };
    let user = User::new();
    let cpus = format!("--cpus={cpu}");
    let one = ["latency", "--quick", "--sizes=16K", "--max-time=3", "--json=run.json", &cpus];
    let refused = user.run(&one).expect(4).err;
    for part in ["sh ", "--cpus", "--force"] {
        assert!(refused.contains(part), "'{part}' is missing: {refused}");
    }
    // What judges a new server does not judge it beside other work either, unless the user insists.
    let judged = user.run(&["check", "--run", "--", "--quick", "-q", &cpus]).expect(4);
    assert!(judged.err.contains("sh ") && judged.err.contains("--force") && judged.out.is_empty(), "{}", judged.err);
    user.run(&[&one[..], &["--force"]].concat());
    let run = document(&user.path("run.json"));
    let warnings = run["warnings"].as_array().unwrap();
    let busy = warnings.iter().find(|warning| warning["code"] == "busy").expect("a warning");
    assert_eq!(busy["data"]["cpus"], 1, "{busy}");
    assert!(busy["data"]["programs"].as_str().unwrap().contains("sh "), "{busy}");
}
