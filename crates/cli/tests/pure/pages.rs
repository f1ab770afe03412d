//! Help, lists, schema, completions, man pages, versions.

use std::fs;
use std::path::Path;

use crate::common::User;

#[test]
fn versions_say_what_was_built() {
    let user = User::new();
    let line = user.run(&["--version"]).expect(0).out;
    assert!(line.starts_with(concat!("tiermark ", env!("CARGO_PKG_VERSION"), " (")), "{line}");
    assert!(line.contains("rustc"), "{line}");
    let tool = user.run(&["--version", "--json"]).expect(0).json();
    assert_eq!(tool["version"], env!("CARGO_PKG_VERSION"));
    for field in ["target", "rustc", "libc"] {
        assert!(tool[field].as_str().is_some_and(|t| line.contains(t)), "{field}: {tool}");
    }
}

#[test]
fn the_schemas_printed_and_committed_are_those_of_the_types() {
    for (name, schema) in tiermark_model::schemas() {
        let [_, kind, number] = name.split('/').collect::<Vec<_>>()[..] else { panic!("{name}") };
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schema/{kind}-{number}.json"));
        let generated = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("TIERMARK_BLESS").is_some() {
            // The program holds the new ones once it is built again.
            fs::write(&path, &generated).unwrap();
            continue;
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        // Not assert_eq: two whole schemas in a failure's message help nobody.
        assert!(
            committed == generated,
            "{} is not what the types say; if the change is meant (adding fields only!), write it again with:\n  \
             TIERMARK_BLESS=1 cargo test -p tiermark --test pure pages::",
            path.display()
        );
        let printed = |arguments: &[&str]| User::new().run(arguments).expect(0).out;
        assert!(printed(&["schema", kind]) == committed, "the program has another schema of {name}");
        assert!(kind != "run" || printed(&["schema"]) == committed, "the first of them is that of runs");
    }
}

/// One command runs the main job from a fresh clone, one passes the tests.
#[test]
fn the_readme_is_short_and_begins_with_two_commands() {
    const README: &str = include_str!("../../../../README.md");
    assert!(README.len() <= 9 << 10, "{} bytes", README.len());
    let commands: Vec<&str> = README.lines().filter(|line| line.starts_with("    ")).take(2).map(str::trim).collect();
    let begins = ["cargo run --release -- survey", "./test"];
    assert!(commands.iter().zip(begins).all(|(line, command)| line.starts_with(command)), "{commands:?}");
}

/// README, `help` and the page have one table of exit codes.
#[test]
fn the_exit_codes_are_the_same_everywhere() {
    const README: &str = include_str!("../../../../README.md");
    let table = tiermark_model::Exit::table();
    let rows: Vec<String> = table.iter().map(|(codes, meaning)| format!("| {codes} | {meaning} |")).collect();
    assert!(README.contains(&format!("| code | meaning |\n|---|---|\n{}\n\n", rows.join("\n"))), "{rows:?}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let user = User::new();
    for help in [&["--help"][..], &["help"], &["help", "exit", "codes"]] {
        let said = words(&user.run(help).expect(0).out);
        for (codes, meaning) in &table {
            let plain = |text: &str| text.replace(['`', '|'], "");
            assert!(words(&plain(&said)).contains(&words(&plain(&format!("{codes} {meaning}")))), "{codes}: {said}");
        }
    }
}

#[test]
fn probes_have_help_with_sources_and_published_tables() {
    let user = User::new();
    for probe in ["latency", "bandwidth"] {
        let page = user.run(&["help", probe]).expect(0).out;
        assert!(page.contains("Sources"), "{page}");
        assert!(user.run(&["list", "probes"]).expect(0).out.contains(probe));
    }
    // The tables of two published experiments, as a user would ask for them; help is wrapped to the terminal.
    let help = |name| {
        let text = user.run(&["help", name]).expect(0).out + &user.run(&[name, "--help"]).expect(0).out;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for (command, options) in
        [("bandwidth", "--threads one --sizes 4K,"), ("latency", "--layout stride:64,random --cpu-node 0 --mem-node 1")]
    {
        assert!(help(command).contains(options), "{command}: {options}");
    }
}

#[test]
fn help_reads_quoted_words_and_names_the_simulated_machine() {
    let user = User::new();
    let help = |topic: &[&str]| user.run(&[&["help"], topic].concat()).expect(0).out;
    assert_eq!(help(&["mlc -X -b500m"]), help(&["mlc", "-X", "-b500m"]));
    assert!(user.run(&["--help"]).expect(0).out.contains("--simulate TREE"));
    // The option of each command that measures, and the topic that has its values.
    for command in ["survey", "latency", "os"] {
        let long = user.run(&[command, "--help"]).expect(0).out;
        assert!(long.contains("--simulate TREE") && long.contains("tiermark help synth"), "{command}: {long}");
    }
    let synth = help(&["synth"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(synth.contains("keys sockets, nodes, cores"), "{synth}");
    // More than the options.
    for (command, word) in [("selftest", "portable twin"), ("baseline", "better or worse")] {
        let page = help(&[command]);
        assert!(page.contains(word) && !page.contains("Usage:"), "{command}: {page}");
    }
}

#[test]
fn primitives_have_help() {
    let user = User::new();
    let simulated = ["--simulate", "synth:cores=2"];
    let help = |topic: &[&str]| user.run(&[&["help"], topic, &simulated[..]].concat()).expect(0).out;
    let page = help(&["fork+exit"]);
    insta::assert_snapshot!("help_fork_exit", page);
    // By its beginning, in any case, and without quotes around its spaces; a command of the same beginning is none.
    let page = help(&["Process", "switch", "pipe"]);
    assert!(page.starts_with("process switch pipe: "), "{page}");
    assert_eq!(help(&["GETPP"]), help(&["getppid"]));
    // One that needs two nodes says why there is nothing here.
    user.run(&["help", "move_pages"]).expect(0);
    let group = help(&["channels"]);
    for (primitive, is_there) in [("pipe ping-pong", true), ("tcp loopback", true), ("getppid", false)] {
        assert_eq!(group.contains(primitive), is_there, "{primitive}: {group}");
    }
}

#[test]
fn completions_and_man_pages_cover_every_command() {
    let user = User::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = user.run(&["completions", shell]).expect(0).out;
        assert!(script.contains("survey") && script.contains("mem-node"), "{shell}");
    }
    user.run(&["man", "pages"]).expect(0);
    for page in ["tiermark.1", "tiermark-survey.1", "tiermark-latency.1", "tiermark-machine.1"] {
        let text = fs::read_to_string(user.path("pages").join(page)).unwrap();
        assert!(text.contains(".TH"), "{page}");
    }
    // A page of one command is what users of man(1) expect: no directory is made of its name by chance.
    let refused = user.run(&["man", "latency"]).expect(2);
    assert!(refused.err.contains("./latency"), "{}", refused.err);
    assert!(!user.path("latency").exists());
    user.run(&["man", "./latency"]).expect(0);
    user.run(&["man", "latency"]).expect(0);
    let survey = fs::read_to_string(user.path("pages/tiermark-survey.1")).unwrap();
    assert!(survey.contains("allow\\-partial") && !survey.contains("sim\\-noise"), "hidden flags stay hidden");
}

#[test]
fn lists_are_for_programs_too() {
    let user = User::new();
    user.run(&["latency", "--quick", "--sizes=32K", "--simulate=synth:cores=2", "-q"]).expect(0);
    let none = user.run(&["list", "--json"]).expect(0).json();
    assert_eq!((&none["schema"], &none["what"]), (&"tiermark/list/1".into(), &serde_json::Value::Null));
    for (what, key) in
        [("runs", "/id"), ("probes", "/id"), ("kernels", "/kernel/id"), ("primitives", "/id"), ("commands", "/name")]
    {
        assert!(none["items"].as_array().unwrap().iter().any(|item| item["name"] == what), "{none}");
        let list = user.run(&["list", what, "--json", "--simulate=synth:cores=2"]).expect(0).json();
        assert_eq!(list["what"], what);
        let items = list["items"].as_array().unwrap();
        assert!(
            !items.is_empty() && items.iter().all(|item| item.pointer(key).is_some_and(|id| id.is_string())),
            "{list}"
        );
    }
    let capacity = user.run(&["list", "capacity", "--json"]).expect(0).json();
    assert_eq!(capacity["items"], serde_json::json!([]));
}

#[test]
fn colour_is_written_when_asked_for_and_never_into_a_pipe() {
    let user = User::new();
    let arguments = ["machine", "--simulate", "synth:cores=2"];
    assert!(!user.run(&arguments).expect(0).out.contains('\x1b'));
    assert!(user.run(&[&arguments[..], &["--color=always"]].concat()).expect(0).out.contains('\x1b'));
    let forced = |name: &str| {
        let mut command = user.command(&arguments);
        command.env("CLICOLOR_FORCE", "1").env(name, "1");
        String::from_utf8(command.output().unwrap().stdout).unwrap().contains('\x1b')
    };
    assert!(forced("CLICOLOR_FORCE"));
    assert!(!forced("NO_COLOR"), "NO_COLOR wins");
}

#[test]
fn text_is_ascii_when_asked_for_or_when_the_locale_is() {
    let user = User::new();
    let arguments = ["latency", "--simulate", "synth:cores=2", "--quick", "--sizes=32K,1M", "--no-save"];
    assert!(!user.run(&arguments).expect(0).out.is_ascii());
    assert!(user.run(&[&arguments[..], &["--ascii"]].concat()).expect(0).out.is_ascii());
    let mut plain = user.command(&arguments);
    assert!(plain.env("LC_ALL", "C").output().unwrap().stdout.is_ascii());
}
