//! `watch`: lines, recordings, the endpoint, commands, and the screen in a pseudo-terminal.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::common::User;
use crate::common::terminal::{PATIENCE, Terminal, ended};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn samples_are_lines_of_text_json_or_csv() {
    let user = User::new();
    let watch = |format: &str| user.run(&["watch", "--interval=0.1", "--samples=3", format]).expect(0).out;
    let json = lines(&watch("--json"));
    assert_eq!(json.len(), 3);
    assert!(json.iter().all(|sample| sample["schema"] == "tiermark/watch/1"));
    assert_eq!((&json[0]["seconds"], &json[0]["vm"]["faults"]), (&Value::Null, &Value::Null));
    assert!(json[1]["seconds"].as_f64() > Some(0.0) && json[1]["vm"]["faults"].is_number());
    assert!(json[2]["nodes"][0]["total_bytes"].as_u64() > Some(0), "{}", json[2]);
    let csv = watch("--csv");
    let columns: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert!(columns.len() == 4 && columns.iter().all(|count| *count == columns[0]), "{csv}");
    // A pipe gets lines without being asked.
    let text = watch("--color=auto");
    let heads: Vec<&str> = text.lines().take(2).collect();
    assert!(text.lines().count() == 5 && heads[1].starts_with("time UTC") && heads[0].ends_with("some, %"), "{text}");
    assert_eq!(watch("--quiet"), "");
}

#[test]
fn what_a_system_does_not_report_is_null() {
    let user = User::new();
    let arguments = ["watch", "--simulate=synth:sockets=2,cores=2", "--interval=0.1", "--samples=2", "--json"];
    let sample = &lines(&user.run(&arguments).expect(0).out)[1];
    for absent in ["/psi/memory", "/group", "/cpu", "/vm/faults", "/zswap", "/nodes/0/hits", "/own/cpu_share"] {
        assert_eq!(sample.pointer(absent), Some(&Value::Null), "{absent} in {sample}");
    }
    assert!(sample["nodes"][1]["total_bytes"].is_u64() && sample["swaps"] == serde_json::json!([]), "{sample}");
}

#[test]
fn a_recording_gives_the_same_lines() {
    let user = User::new();
    let record = ["watch", "--interval=0.1", "--samples=3", "--record=night.jsonl"];
    let live = user.run(&[&record[..], &["--json"]].concat()).expect(0).out;
    let replay = |more: &[&str]| user.run(&[&["watch", "--replay=night.jsonl"], more].concat()).expect(0).out;
    assert_eq!(replay(&["--json"]), live);
    assert_eq!(replay(&["--json", "--samples=2"]).lines().count(), 2);
    assert_eq!(replay(&[]).lines().count(), 5);
    // A file is not replaced, and anything else is no recording.
    let said = user.run(&record).expect(2).err;
    assert!(said.contains("exists"), "{said}");
    std::fs::write(user.path("other"), "{}\n").unwrap();
    assert!(user.run(&["watch", "--replay=other"]).expect(2).err.contains("no recording"));
    // Nor is a recording a run, of whatever kind.
    std::fs::write(user.path("empty.jsonl"), "\n").unwrap();
    for (command, exit) in [("explain", 2), ("show", 2), ("check", 4)] {
        assert!(user.run(&[command, "night.jsonl"]).expect(exit).err.contains("tiermark watch --replay=night.jsonl"));
        assert!(user.run(&[command, "empty.jsonl"]).expect(exit).err.contains("neither a run"));
    }
    user.run(&["watch", "--replay=/no/such/file"]).expect(2);
    user.run(&["watch", "--replay=night.jsonl", "--prometheus=0"]).expect(2);
}

#[test]
fn a_command_is_watched_and_its_code_returned() {
    let user = User::new();
    let ran = user.run(&["watch", "--", "true"]).expect(0);
    assert!(ran.out.is_empty() && ran.err.contains("page faults") && ran.err.starts_with("true: "), "{}", ran.err);
    user.run(&["watch", "--", "false"]).expect(1);
    let ran = user.run(&["watch", "--interval=0.1", "--", "sh", "-c", "echo out; kill -9 $$"]).expect(128 + 9);
    assert_eq!(ran.out, "out\n");
    user.run(&["watch", "--", "/no/such/program"]).expect(127);
    user.run(&["watch", "--", "/dev/null"]).expect(126);
    user.run(&["watch", "--json", "--", "true"]).expect(2);
    let ran = user.run(&["watch", "--quiet", "--record=quiet.jsonl", "--", "true"]).expect(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str(), user.path("quiet.jsonl").exists()), ("", "", true));
    user.run(&["watch", "--quiet", "--json"]).expect(2);
}

#[test]
fn signals_are_passed_on_to_the_command() {
    let user = User::new();
    let script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    let mut child = user.start(&["watch", "--record=r.jsonl", "--", "sh", "-c", script]);
    let mut ready = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!((ended(&mut child), ready.as_str()), (Some(7), "ready\n"));
    assert!(std::fs::read_to_string(user.path("r.jsonl")).unwrap().lines().count() >= 3, "a head and two samples");
}

#[test]
fn the_endpoint_is_scraped() {
    let user = User::new();
    let mut child = user.start(&["watch", "--quiet", "--prometheus=0", "--interval=0.1"]);
    let mut told = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut told).unwrap();
    let address = told.split("http://").nth(1).unwrap().split('/').next().unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{told}");
    let get = |request: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let begun = Instant::now();
    let scraped = loop {
        let answer = get("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        if answer.contains("vm_faults") || begun.elapsed() > PATIENCE {
            break answer;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let (head, body) = scraped.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200") && head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    assert!(body.contains("tiermark_watch_nodes_free_bytes{node=\"0\"} ") && body.ends_with("# EOF\n"), "{body}");
    assert!(get("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(get("no request\r\n\r\n").starts_with("HTTP/1.1 400"));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(ended(&mut child), Some(143));
}

#[test]
fn the_screen_gives_the_terminal_back() {
    let user = User::new();
    let start = || {
        let mut terminal = Terminal::start(&user, &["watch", "--interval=0.1"]);
        terminal.until("\x1b[?1049h");
        terminal.until("cpus and swap");
        assert!(terminal.is_raw());
        terminal
    };
    let mut terminal = start();
    terminal.press("h");
    // Of a text over other text only the cells that differ are written.
    terminal.until("Ctrl-C");
    terminal.press("h ");
    terminal.until("PAUSED");
    terminal.press("q");
    assert_eq!(terminal.end(), Some(0));
    let mut terminal = start();
    terminal.press("\x03");
    assert_eq!(terminal.end(), Some(130));
    let terminal = start();
    kill_process(Pid::from_child(&terminal.child), Signal::TERM).unwrap();
    assert_eq!(terminal.end(), Some(143));
}

#[test]
fn a_recording_is_shown_on_the_screen() {
    let user = User::new();
    user.run(&["watch", "--interval=0.1", "--samples=3", "--record=night.jsonl", "--quiet"]).expect(0);
    let mut terminal = Terminal::start(&user, &["watch", "--replay=night.jsonl"]);
    terminal.until("replay of night.jsonl");
    terminal.until("3");
    terminal.press("q");
    assert_eq!(terminal.end(), Some(0));
}

/// Two sockets whose memory carries 60 GB/s, two thirds of them reads, and then nothing.
const COUNTED: [&str; 3] = ["watch", "--simulate=synth:sockets=2,cores=2", "--sim-traffic=60:75,0"];

#[test]
fn counters_give_traffic_by_socket_and_channel() {
    let user = User::new();
    let watch =
        |more: &[&str]| user.run(&[&COUNTED[..], &["--interval=0.1", "--samples=3"], more].concat()).expect(0).out;
    let json = lines(&watch(&["--json"]));
    assert!(json.iter().all(|sample| sample["counters"] == "simulated"), "{}", json[0]);
    assert_eq!((&json[0]["traffic"]["seconds"], &json[1]["traffic"]["seconds"]), (&0.0.into(), &1.0.into()));
    assert_eq!(json[1]["traffic"]["boxes"].as_array().unwrap().len(), 8);
    assert_eq!(json[1]["traffic"]["boxes"][0]["read"], 60e9 * 0.75 / 8.0);
    let csv = watch(&["--csv"]);
    let mut rows = csv.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let of = |row: &[String], name: &str| row[head.iter().position(|column| column == name).unwrap()].clone();
    let rows: Vec<_> = rows.collect();
    assert_eq!(of(&rows[0], "traffic_sockets.1.write_bytes"), "", "no time has passed");
    assert_eq!(of(&rows[1], "traffic_sockets.1.write_bytes"), "7500000000");
    assert_eq!(of(&rows[2], "traffic.total_bytes"), "0");
    let text = watch(&["--text"]);
    assert!(text.contains("\ntime UTC") && text.contains("mem/s read% chan%"), "{text}");
    assert!(text.lines().any(|line| line.ends_with("60G  75.0  19.5")), "{text}");
    assert!(!watch(&["--json", "--counters=off"]).contains("traffic"));
}

#[test]
fn a_recording_keeps_the_traffic() {
    let user = User::new();
    let record = [&COUNTED[..], &["--interval=0.1", "--samples=3", "--record=t.jsonl", "--json"]].concat();
    let live = user.run(&record).expect(0).out;
    assert_eq!(user.run(&["watch", "--replay=t.jsonl", "--json"]).expect(0).out, live);
    let mut terminal = Terminal::start(&user, &["watch", "--replay=t.jsonl"]);
    terminal.until("60.0 GB/s");
    terminal.press("q");
    assert_eq!(terminal.end(), Some(0));
}

/// The whole screen at the end of a recording of which nothing depends on this machine.
#[test]
fn the_screen_of_a_recording_is_what_it_was() {
    let user = User::new();
    let steady =
        ["watch", "--simulate=synth:sockets=2,cores=2", "--sim-traffic=60:75", "--interval=0.1", "--samples=3"];
    user.run(&[&steady[..], &["--record=t.jsonl", "--quiet"]].concat()).expect(0);
    // The time of day, the time between samples and what reading them cost differ from run to run.
    let recorded = std::fs::read_to_string(user.path("t.jsonl")).unwrap();
    let lines = recorded.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        for (key, value) in line.as_object_mut().into_iter().flatten() {
            match key.as_str() {
                "time" | "started" => *value = "2026-11-26T00:00:00.000Z".into(),
                "seconds" if value.is_number() => *value = 0.1.into(),
                "own" => value.as_object_mut().unwrap().values_mut().for_each(|cost| *cost = Value::Null),
                _ => {}
            }
        }
        line.to_string() + "\n"
    });
    std::fs::write(user.path("t.jsonl"), lines.collect::<String>()).unwrap();
    let mut terminal = Terminal::start(&user, &["watch", "--replay=t.jsonl"]);
    insta::assert_snapshot!("the_screen_of_a_recording", terminal.screen_with("3/3"));
    terminal.press("t");
    insta::assert_snapshot!("the_screen_of_its_traffic", terminal.screen_with("(simulated)"));
    terminal.press("q");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_command_is_summed_up_with_its_traffic() {
    let user = User::new();
    let ran = user.run(&[&COUNTED[..], &["--", "true"]].concat()).expect(0);
    let words = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("memory read 45 GB/s") && !words.contains("not counted"), "{}", ran.err);
}

#[test]
fn counts_that_no_stream_was_compared_with_are_said_to_be() {
    let user = User::new();
    let note = "are not compared with a known stream";
    let once = ["--interval=0.1", "--samples=1"];
    let run = |more: &[&str]| user.run(&[&COUNTED[..], more].concat()).expect(0).err;
    assert_eq!(run(&once).matches(note).count(), 1);
    assert_eq!(run(&[&once[..], &["--json"]].concat()).matches(note).count(), 0);
    let summary = run(&["--interval=0.1", "--", "sleep", "0.3"]);
    let summary = summary.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(summary.matches(note).count(), 1, "{summary}");
}

/// Where the screen has a page for it, lines have a note, once and before them.
#[test]
fn lines_without_traffic_say_why() {
    let user = User::new();
    let watch = |more: &[&str]| {
        let once = ["watch", "--simulate=synth:cores=2", "--interval=0.1", "--samples=2"];
        user.run(&[&once[..], more].concat()).expect(0).err
    };
    let note = "there is no column of memory traffic, because no source of counters opened: ";
    for columns in [&[][..], &["--text"], &["--csv"]] {
        let said = watch(columns);
        assert!(said.matches(note).count() == 1 && said.contains("`tiermark list counters`"), "{columns:?}: {said}");
    }
    for none in [&["--json"][..], &["--quiet"], &["--counters=off"]] {
        assert!(!watch(none).contains(note), "{none:?}");
    }
}

#[test]
fn counters_that_are_required_and_do_not_open_end_the_command() {
    let user = User::new();
    let tree = "--simulate=synth:cores=2";
    let said = user.run(&["watch", tree, "--counters=require", "--samples=1"]).expect(4).err;
    assert!(said.contains("tiermark list counters"), "{said}");
    let said = user.run(&["watch", tree, "--", "true"]).expect(0).err;
    assert!(said.contains("Memory traffic is not counted: `tiermark list counters`"), "{said}");
    user.run(&["watch", "--counters=always"]).expect(2);
}

#[test]
fn the_endpoint_has_each_channel() {
    let user = User::new();
    let mut child = user.start(&[&COUNTED[..], &["--quiet", "--prometheus=0", "--interval=0.1"]].concat());
    let mut told = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut told).unwrap();
    let address = told.split("http://").nth(1).unwrap().split('/').next().unwrap();
    let wanted =
        "tiermark_watch_memory_bytes_per_second{socket=\"1\",node=\"1\",channel=\"channel 3\",direction=\"read\"} ";
    let begun = Instant::now();
    let body = loop {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        if answer.contains(wanted) || begun.elapsed() > PATIENCE {
            break answer;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(body.contains(wanted) && body.contains("tiermark_watch_link_utilisation_ratio{"), "{body}");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(ended(&mut child), Some(143));
}

#[test]
fn a_simulated_machine_is_named_in_every_output() {
    let user = User::new();
    let watch = |more: &[&str]| user.run(&[&["watch", "--simulate=synth:cores=2", "--interval=0.1"], more].concat());
    let said = "! SIMULATED machine 'synth:cores=2'";
    let samples = ["--samples=1"];
    assert!(watch(&[&samples[..], &["--text"]].concat()).expect(0).out.starts_with(said));
    for quiet in ["--csv", "--quiet"] {
        let ran = watch(&[&samples[..], &[quiet]].concat()).expect(0);
        assert!(ran.err.contains(said) && !ran.out.contains("SIMULATED"), "{quiet}: {}", ran.err);
    }
    let ran = watch(&[&samples[..], &["--json", "--record=r.jsonl"]].concat()).expect(0);
    assert_eq!(lines(&ran.out)[0]["simulated"], "synth:cores=2");
    assert!(watch(&["--", "true"]).expect(0).err.contains(said));
    // Nor does a recording hide it.
    assert!(user.run(&["watch", "--replay=r.jsonl", "--text"]).expect(0).out.starts_with(said));
    let real = user.run(&["watch", "--samples=1", "--json"]).expect(0);
    assert!(lines(&real.out)[0].get("simulated").is_none() && !real.err.contains("SIMULATED"), "{}", real.out);
}

#[test]
fn a_recording_whose_last_line_is_cut_is_replayed_with_a_warning() {
    let user = User::new();
    let watch = |more: &[&str]| user.run(&[&["watch", "--interval=0.1", "--samples=3"], more].concat());
    let whole = watch(&["--record=r.jsonl", "--json"]).expect(0).out;
    let text = std::fs::read_to_string(user.path("r.jsonl")).unwrap();
    std::fs::write(user.path("cut.jsonl"), &text[..text.len() - 20]).unwrap();
    let ran = user.run(&["watch", "--replay=cut.jsonl", "--json"]).expect(0);
    let first_two: Vec<&str> = whole.lines().take(2).collect();
    assert_eq!(ran.out.lines().collect::<Vec<_>>(), first_two);
    assert!(ran.err.contains("'cut.jsonl' ends in a half-written line"), "{}", ran.err);
    assert_eq!(user.run(&["watch", "--replay=r.jsonl", "--json"]).expect(0).err, "");
    // A recording is a file in a directory that is there.
    assert!(watch(&["--record=-"]).expect(2).err.contains("--json prints the samples"));
    assert!(watch(&["--record=none/r.jsonl"]).expect(2).err.contains("No such file or directory"));
    assert!(!user.path("none").exists() && !user.path("-").exists());
}

#[test]
fn counters_that_contradict_each_other_or_are_none_are_refused() {
    let user = User::new();
    for command in ["watch", "latency"] {
        let said = user.run(&[command, "--counters=off", "--counters-from=perf"]).expect(2).err;
        assert!(said.contains("--counters off") && said.contains("--counters-from"), "{said}");
    }
    let watch = |file: &str| user.run(&["watch", "--samples=1", &format!("--counters-from=likwid={file}")]);
    std::fs::write(user.path("other"), "no output of likwid\n").unwrap();
    assert!(watch("other").expect(4).err.contains("no counts in the form of likwid"));
    // likwid writes when its program ends.
    std::fs::write(user.path("empty"), "").unwrap();
    watch("empty").expect(0);
    std::fs::write(user.path("likwid"), "STRUCT,Info,3\nCPU name:,Intel,,\n").unwrap();
    watch("likwid").expect(0);
}

#[test]
fn counters_that_are_required_and_never_count_end_the_watch_with_their_cause() {
    let user = User::new();
    let watch = &|file: &str, samples: &str| {
        let from = format!("--counters-from=pcm-memory={file}");
        user.run(&["watch", "-q", "--groups=0", "--interval=0.5", samples, "--counters=require", &from])
    };
    let line = |second: u32| format!("2026-01-02,00:00:{second:02}.000,5,5,10\n");
    let head = ",,SKT0,SKT0,System\nDate,Time,Ch0Read,Ch0Write,Memory\n";
    let back = [4, 3, 2, 1].map(line).concat();
    let cases = [
        ("empty", String::new(), "counted nothing during the watch: the file is empty"),
        ("still", format!("{head}{}", line(1)), "counted nothing during the watch: the file has no counts yet"),
        ("back", format!("{head}{back}"), "runs backwards"),
    ];
    std::thread::scope(|scope| {
        for (file, text, cause) in &cases {
            std::fs::write(user.path(file), text).unwrap();
            scope.spawn(move || {
                let said = watch(file, "--samples=13").expect(4).err;
                assert!(said.contains(cause), "{said}");
            });
        }
    });
    // So short a time shows nothing of a program that writes once a second.
    assert!(watch("still", "--samples=2").expect(0).err.contains("too short"));
    assert!(!watch("empty", "--samples=1").expect(0).err.contains("too short"));
}

#[test]
fn a_socket_that_stays_at_zero_is_named_once_and_has_no_figure() {
    let user = User::new();
    let line = |second: u32| format!("2026-01-02,00:00:{second:02}.000,5000,2500,0,0\n");
    let head = ",,SKT0,SKT0,SKT1,SKT1\nDate,Time,Ch0Read,Ch0Write,Ch0Read,Ch0Write\n";
    let file = user.path("pcm.csv");
    std::fs::write(&file, format!("{head}{}", line(0))).unwrap();
    let writer = std::thread::spawn(move || {
        for second in 1..40 {
            std::thread::sleep(std::time::Duration::from_millis(50));
            let mut file = std::fs::File::options().append(true).open(&file).unwrap();
            std::io::Write::write_all(&mut file, line(second).as_bytes()).unwrap();
        }
    });
    let from = "--counters-from=pcm-memory=pcm.csv";
    let ran = user.run(&["watch", "--json", "--groups=0", "--interval=0.3", "--samples=4", from]).expect(0);
    writer.join().unwrap();
    assert_eq!(ran.err.matches("Ch0 of socket 1 counted no reads and writes").count(), 1, "{}", ran.err);
    let last: serde_json::Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    let sockets: Vec<_> =
        last["traffic"]["boxes"].as_array().unwrap().iter().map(|own| &own["place"]["socket"]).collect();
    assert!(sockets == [0] && last["traffic"]["missing"][0]["socket"] == 1, "{last}");
}

/// A socket that dies, a line that is cut and a channel at 900 GB/s, one after the other.
#[test]
fn what_leaves_a_gap_in_the_traffic_is_said_once() {
    let user = User::new();
    let line = |second: u32| {
        let cells = match second {
            5 => "5000",
            10 => "900000,2500,5000,2500",
            20.. => "5000,2500,0.00,0.00",
            _ => "5000,2500,5000,2500",
        };
        format!("2026-01-02,00:00:{second:02}.000,{cells},10000,5000,15000\n")
    };
    let head = ",,SKT0,SKT0,SKT1,SKT1,System,System,System\n\
                Date,Time,Ch0Read,Ch0Write,Ch0Read,Ch0Write,Read,Write,Memory\n";
    let file = user.path("pcm.csv");
    std::fs::write(&file, format!("{head}{}", line(0))).unwrap();
    let writer = std::thread::spawn(move || {
        for second in 1..50 {
            std::thread::sleep(std::time::Duration::from_millis(100));
            let mut file = std::fs::File::options().append(true).open(&file).unwrap();
            std::io::Write::write_all(&mut file, line(second).as_bytes()).unwrap();
        }
    });
    let from = "--counters-from=pcm-memory=pcm.csv";
    let ran = user.run(&["watch", "--json", "--groups=0", "--interval=0.1", "--samples=40", from]).expect(0);
    writer.join().unwrap();
    for said in [
        "Ch0 of socket 1 counted no reads and writes while memory moved",
        "Ch0 of socket 0 counted 902.5 GB/s",
        "its parts add up to",
        "1 line of pcm-memory without counts",
    ] {
        assert_eq!(ran.err.matches(said).count(), 1, "{said}: {}", ran.err);
    }
}

/// Without a command behind it, `--` would start a watch without an end.
#[test]
fn a_command_that_is_missing_is_refused() {
    let user = User::new();
    for arguments in [&["watch", "--"][..], &["watch", "--active", "--"], &["watch", "--curve", "last", "--"]] {
        let said = user.run(arguments).expect(2).err;
        assert!(said.contains("name the command to watch") && said.contains("-- make -j8"), "{arguments:?}: {said}");
    }
}
