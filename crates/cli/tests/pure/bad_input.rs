//! Bad input and bad luck: one clear sentence with what, why and cure, and the documented exit code.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;

use crate::common::User;

const MACHINE: &str = "synth:sockets=2,cores=2,smt=1,mem=4G";

/// Every command line and its exit code; a snapshot has the sentences.
const CASES: &[(&[&str], i32)] = &[
    (&["bandwidth", "--op", "reed"], 2),
    (&["bandwidth", "--op", "read/avx9", "--sizes", "1M"], 2),
    (&["latency", "--sizes", "0"], 2),
    (&["latency", "--sizes", "64"], 4),
    (&["latency", "--sizes", "1.3"], 2),
    (&["latency", "--sizes", "12Q"], 2),
    (&["latency", "--sizes", "900G"], 4),
    (&["latency", "--sizes", "64M", "--max-mem", "1M"], 4),
    (&["latency", "--layout", "spiral"], 2),
    (&["latency", "--chains", "33"], 2),
    (&["latency", "--cpus", "99"], 4),
    (&["latency", "--cpus", "node:7"], 4),
    (&["latency", "--cpus", "3-1"], 2),
    (&["latency", "--cpus", "banana"], 2),
    (&["latency", "--cpus", ""], 2),
    (&["latency", "--mem-node", "0,1"], 2),
    (&["latency", "--cpu-node", "97"], 4),
    (&["load", "-h", "127.0.0.1"], 2),
    (&["load", "-h", "db1", "-p", "7000"], 2),
    (&["bandwidth", "--op", "2:1"], 2),
    (&["tune", "--only", "swappiness"], 2),
    (&["tune", "--only", "foo"], 2),
    (&["survey", "--seed", "x"], 2),
    (&["survey", "--nice", "x"], 2),
    (&["scale", "--touch-cpu", "x"], 2),
    (&["load", "--target", "a", "--late-after", "x"], 2),
    (&["run"], 2),
    (&["capacity"], 2),
    (&["latency", "--sizes", "1M", "--mem-node", "5"], 4),
    (&["latency", "--sizes", "1M", "--pages", "1G"], 4),
    (&["latency", "--pages", "1G"], 4),
    (&["latency", "--pages", "3M"], 2),
    (&["bandwidth", "--threads", "0"], 2),
    (&["bandwidth", "--threads", "9", "--sizes", "1M"], 4),
    (&["latency", "--precision", "-1"], 2),
    (&["latency", "--max-time", "soon"], 2),
    (&["latency", "--width", "39"], 2),
    (&["latency", "--wait", "--force"], 2),
    (&["latency", "--wait=soon"], 2),
    (&["os", "--only", "frok+exit"], 2),
    (&["os", "--only", "getppid;stat"], 2),
    (&["os", "--only", "proceses"], 2),
    (&["os", "--only", ""], 2),
    (&["os", "--format", "mlc"], 2),
    (&["os", "--pages", "thp", "--only", "getppid"], 2),
    (&["os", "--pages", "thp", "--only", "getppid", "--dry-run"], 2),
    (&["os", "--pages", "1G", "--only", "fork+exit"], 4),
    (&["help", "frok+exit"], 2),
    (&["survey", "--quick", "--full"], 2),
    (&["latency", "--json", "--jsonl"], 2),
    (&["frob"], 2),
    (&["help", "frob"], 2),
    (&["list", "frob"], 2),
    (&["show", "nope"], 2),
    (&["show", "/nonexistent/x.json"], 2),
    (&["show", "last"], 2),
    (&["show", "/etc/passwd"], 2),
    (&["compare", "last"], 2),
    (&["compare", "nope", "last"], 2),
    (&["compare", "last", "--baseline", "nope"], 2),
    (&["compare", "a", "b", "--fail-over", "much"], 2),
    (&["baseline", "set", "../x"], 2),
    (&["baseline", "remove", "nope"], 2),
    (&["machine", "--root", "/nonexistent"], 2),
    (&["machine", "--root", "/etc/passwd"], 2),
    (&["latency", "--json=/nonexistent/x.json", "--sizes=32K", "--quick"], 2),
    (&["latency", "--json=x.json", "--dry-run"], 2),
    (&["latency", "--sizes", "1T", "--dry-run"], 4),
    (&["latency", "--sizes", "1M", "--pages", "1G", "--dry-run"], 4),
    (&["latency", "--jsonl=/nonexistent/x.jsonl"], 2),
];

#[test]
fn a_beginning_stands_for_all_that_begin_so_and_says_which() {
    let user = User::new();
    let plan = |arguments: &[&str]| {
        user.run(&[&["os", "--dry-run", "--quick", "--simulate", MACHINE][..], arguments].concat()).expect(0)
    };
    let forks = plan(&["--only", "fork+exe", "--pages", "THP"]);
    assert_eq!(forks.err, "tiermark: --only fork+exe: fork+exec, fork+exec tiny\n");
    let ids = |ran: &crate::common::Ran| -> Vec<String> {
        let steps = ran.json()[0]["plan"]["steps"].as_array().unwrap().clone();
        steps.iter().map(|step| step["labels"]["op"].as_str().unwrap().to_owned()).collect()
    };
    let steps = ids(&plan(&["--only", "fork+exe", "--json"]));
    assert!(steps.iter().all(|op| op.starts_with("fork+exec")), "{steps:?}");
    assert!(steps.contains(&"fork+exec tiny".to_owned()), "{steps:?}");
    assert_eq!(plan(&["--only", "fork+exe", "-q"]).err, "");
    // A group has its primitives with it; one name says nothing.
    assert_eq!(plan(&["--only", "fault"]).err, "");
    assert!(plan(&["--only", "proc"]).err.starts_with("tiermark: --only proc: processes, process switch pipe, "));
    assert_eq!(plan(&["--only", "ALL"]).out, plan(&[]).out);
    let help = user.run(&["help", "fork"]).expect(0).out;
    assert!(help.contains("fork+exec") && !help.contains("vfork"), "{help}");
}

#[test]
fn each_gets_a_sentence_and_its_exit_code() {
    let mut sentences = String::new();
    for (arguments, code) in CASES {
        let user = User::new();
        let ran = user.run(&[arguments, &["--simulate", MACHINE][..]].concat());
        assert_eq!(ran.code, Some(*code), "{arguments:?} said:\n{}", ran.err);
        let said = ran.err.replace(&user.home.path().display().to_string(), "HOME");
        sentences += &format!("tiermark {}\n{}\n", arguments.join(" "), said.trim_end());
    }
    insta::assert_snapshot!("sentences", sentences);
}

#[test]
fn each_refusal_is_told_once() {
    for more in [&["--mem-node=7"][..], &["--max-mem=1K"], &["--mem-node=7", "--dry-run"]] {
        let ran = User::new().run(&[&["survey", "--simulate", MACHINE], more].concat()).expect(4);
        let mut lines: Vec<&str> = ran.err.lines().collect();
        let all = lines.len();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), all, "{}", ran.err);
        assert_eq!(ran.out, "");
    }
}

#[test]
fn a_dry_run_leaves_documents_alone_and_tells_what_would_be_refused() {
    let user = User::new();
    let run = |more: &[&str]| user.run(&[&["latency", "--simulate", MACHINE, "--dry-run"], more].concat());
    fs::write(user.path("keep.json"), "kept").unwrap();
    for more in [&["--json=keep.json"][..], &["--json=keep.json", "--mem-node=7"]] {
        run(more).expect(2);
        assert_eq!(fs::read_to_string(user.path("keep.json")).unwrap(), "kept");
    }
    let plan = run(&["--sizes=1M,1T", "--json=-"]).expect(5).json();
    let refused = &plan[0]["plan"]["refused"];
    assert_eq!((plan[0]["plan"]["steps"].as_array().unwrap().len(), refused.as_array().unwrap().len()), (1, 1));
    assert_eq!(refused[0]["data"]["wanted"], 1_u64 << 40, "{refused}");
    run(&["--sizes=1M,1T", "--allow-partial"]).expect(0);
    let plan = run(&["--sizes=1T", "--json=-"]).expect(4).json();
    assert_eq!((&plan[0]["simulated"], plan[0]["plan"]["refused"].as_array().unwrap().len()), (&MACHINE.into(), 1));
}

#[test]
fn memory_less_nodes_are_refused_by_name() {
    let user = User::new();
    let tree = "synth:sockets=2,cores=2,smt=1,mem=0,cxl=4G";
    let plan = user.run(&["latency", "--sizes=1M", "--mem-node=0", "--simulate", tree, "--dry-run", "--json=-"]);
    let refused = plan.expect(4).json()[0]["plan"]["refused"][0].take();
    assert_eq!((&refused["code"], &refused["data"]["node"]), (&"node_unusable".into(), &0.into()), "{refused}");
}

#[test]
fn garbage_trees_and_documents_never_panic() {
    let user = User::new();
    for (name, bytes) in [
        ("empty.tar", &b""[..]),
        ("garbage.tar.gz", b"\x1f\x8b\x08garbage"),
        ("noise.tar", &[0xa5; 4096]),
        ("list.json", b"[1,2,3]"),
        ("future.json", br#"{"schema":"tiermark/run/9"}"#),
        ("short.json", br#"{"schema":"tiermark/run/4","id":"#),
        ("old.json", br#"{"schema":"tiermark/run/3","id":"a"}"#),
        ("wrong.json", br#"{"schema":"tiermark/run/4","id":5}"#),
        ("binary.json", &[0xff, 0xfe, 0x00, 0x7b]),
    ] {
        let path = user.path(name);
        fs::write(&path, bytes).unwrap();
        let path = path.display().to_string();
        for arguments in [["machine", "--root", &path], ["show", &path, "--json"]] {
            let ran = user.run(&arguments);
            let said = format!("{arguments:?}: {:?}\n{}", ran.code, ran.err);
            assert!(matches!(ran.code, Some(1 | 2)), "{said}");
            assert!(ran.err.starts_with("tiermark: error: ") && ran.err.lines().count() == 1, "{said}");
        }
    }
    fs::create_dir_all(user.path("tree/sys/devices/system/cpu")).unwrap();
    fs::write(user.path("tree/sys/devices/system/cpu/online"), b"0-\xff\x00zzz\n").unwrap();
    assert!(matches!(user.run(&["machine", "--root", "tree"]).code, Some(0 | 2)));
}

#[test]
fn a_store_that_cannot_be_written_costs_a_warning_not_the_run() {
    let user = User::new();
    // A file where the directory should be stops even root.
    fs::write(user.path("runs"), b"in the way").unwrap();
    let ran = user.run(&["latency", "--simulate", MACHINE, "--quick", "--sizes=32K"]).expect(0);
    assert!(ran.err.contains("warning") && ran.err.contains("TIERMARK_HOME"), "{}", ran.err);
    let beside = fs::read_dir(user.home.path()).unwrap().flatten().map(|e| e.file_name().into_string().unwrap());
    let saved: Vec<String> = beside.filter(|n| n.starts_with("tiermark-") && n.ends_with(".json")).collect();
    assert_eq!(saved.len(), 1, "the document goes to the current directory");
    assert!(ran.err.contains(&saved[0]), "{}", ran.err);
}

#[test]
fn nowhere_to_save_is_a_failure_that_still_shows_the_result() {
    let user = User::new();
    fs::write(user.path("runs"), b"in the way").unwrap();
    let gone = user.path("gone");
    fs::create_dir(&gone).unwrap();
    fs::set_permissions(&gone, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = user.command(&["latency", "--simulate", MACHINE, "--quick", "--sizes=32K"]);
    command.current_dir("/proc").env("TMPDIR", "/proc");
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("/proc") && err.contains("--json=-"), "{err}");
    assert!(out.contains("32 KiB"), "{out}");
}

/// A limit of the size of files stands for a disk that fills: it is smaller than any document.
#[test]
fn a_document_that_finds_no_room_leaves_the_one_before() {
    let user = User::new();
    let limited = |arguments: &[&str]| {
        let plain = user.command(arguments);
        let mut shell = std::process::Command::new("/bin/sh");
        shell
            .args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""])
            .arg(plain.get_program())
            .args(plain.get_args());
        shell.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        crate::common::Ran::from(shell.current_dir(user.home.path()).output().unwrap())
    };
    // Eight nodes: the table of a smaller machine fits into the limit.
    let machine = "synth:sockets=8,cores=2,smt=1,mem=4G";
    let simulated = ["--simulate", machine, "--quick", "--no-save"];
    for (command, file) in
        [(vec!["latency", "--sizes=32K", "--json=kept"], "kept"), (vec!["loaded-latency", "--csv=kept"], "kept")]
    {
        let path = user.path(file);
        fs::write(&path, "old\n").unwrap();
        let ran = limited(&[&command[..], &simulated].concat());
        assert_eq!(ran.code, Some(1), "{command:?}: {}", ran.err);
        assert!(ran.err.contains("'kept'"), "{}", ran.err);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old\n", "{command:?}");
        let left = fs::read_dir(user.home.path()).unwrap().flatten().map(|entry| entry.file_name());
        assert_eq!(left.filter(|name| name.to_string_lossy().contains("tmp")).count(), 0);
    }
}

#[test]
fn a_document_replaces_the_file_behind_a_link_and_keeps_its_mode() {
    let user = User::new();
    let (file, link) = (user.path("file.json"), user.path("link.json"));
    fs::write(&file, "old\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let words = ["latency", "--sizes=32K", "--simulate", MACHINE, "--quick", "--no-save", "--json=link.json"];
    user.run(&words).expect(0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&file).unwrap().starts_with('{'));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
}

/// Commands of terminals in a document, of both sets of control characters, and text that runs backwards.
#[test]
fn what_a_document_holds_does_not_command_a_terminal() {
    let user = User::new();
    let made = ["latency", "--sizes=32K", "--simulate", MACHINE, "--quick", "--no-save", "--json=made.json"];
    user.run(&made).expect(0);
    let text = fs::read_to_string(user.path("made.json")).unwrap();
    let title = "\"purpose\": \"";
    assert!(text.contains("tiermark") && text.contains(title) || text.contains("\"command\""), "{text}");
    let evil = text.replacen("\"--quick\"", "\"--quick\u{9b}31m\u{202e}\\u001b]0;x\\u0007\"", 1);
    assert_ne!(evil, text);
    fs::write(user.path("evil.json"), evil).unwrap();
    for arguments in
        [&["show", "evil.json"][..], &["show", "evil.json", "--json"], &["show", "evil.json", "--format", "mlc"]]
    {
        let ran = user.run(arguments).expect(0);
        let obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!ran.out.contains(obeyed) && !ran.err.contains(obeyed), "{arguments:?}: {:?}", ran.out);
    }
    let shown = user.run(&["show", "evil.json", "--json"]).json();
    assert!(shown["command"].to_string().contains("\u{9b}31m\u{202e}"), "its meaning is kept: {}", shown["command"]);
}

#[test]
fn a_full_disk_is_said() {
    let user = User::new();
    let arguments = ["latency", "--simulate", MACHINE, "--quick", "--sizes=32K", "--json=/dev/full"];
    let ran = user.run(&arguments).expect(1);
    assert!(ran.err.contains("/dev/full"), "{}", ran.err);
    assert_eq!(user.saved("json").len(), 1, "the store has the run all the same");
    let mut command = user.command(&["list", "kernels"]);
    command.stdout(fs::File::options().write(true).open("/dev/full").unwrap());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.starts_with(b"tiermark: error: "));
}

#[test]
fn a_file_that_cannot_be_written_costs_no_report() {
    let user = User::new();
    for file in ["--json=/dev/full", "--jsonl=/dev/full"] {
        let arguments = ["latency", "--simulate", MACHINE, "--quick", "--sizes=32K", "--no-save", file];
        let ran = user.run(&arguments).expect(1);
        assert!(ran.err.contains("/dev/full"), "{}", ran.err);
        assert!(ran.out.contains("32 KiB"), "{}", ran.out);
    }
}

#[test]
fn files_are_opened_first_and_cut_last() {
    let user = User::new();
    let run = |more: &[&str]| user.run(&[&["latency", "--simulate", MACHINE, "--quick", "--no-save"], more].concat());
    // What cannot be opened is told before anything is measured: no event, no report.
    let ran = run(&["--sizes=32K", "--json=/nonexistent/x", "--jsonl=events"]).expect(2);
    assert!(ran.out.is_empty() && !user.path("events").exists(), "{}", ran.out);
    // A refused run leaves an older document alone; a measured one replaces all of it.
    fs::write(user.path("run.json"), vec![b' '; 1 << 20]).unwrap();
    run(&["--sizes=64M", "--max-mem=1M", "--json=run.json"]).expect(4);
    assert_eq!(fs::metadata(user.path("run.json")).unwrap().len(), 1 << 20);
    run(&["--sizes=32K", "--json=run.json"]).expect(0);
    let text = fs::read_to_string(user.path("run.json")).unwrap();
    assert!(text.starts_with('{') && text.ends_with("}\n"), "{} bytes", text.len());
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let user = User::new();
    for arguments in [
        &["list", "kernels"][..],
        &["schema"],
        &["completions", "bash"],
        &["help", "latency"],
        &["survey", "--quick", "--simulate", MACHINE],
        &["survey", "--quick", "--simulate", MACHINE, "--json"],
        &["survey", "--quick", "--simulate", MACHINE, "--jsonl"],
    ] {
        let mut child = user.start(arguments);
        let mut first = String::new();
        // The reader takes one line, or none, and goes.
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), err.contains("error")), (Some(0), false), "{arguments:?}: {err}");
    }
}
