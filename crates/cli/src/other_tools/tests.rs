use clap::Parser;

use super::*;
use crate::command_line::Cli;

/// Command lines of other tools, each with the command that it is here.
fn lines() -> impl Iterator<Item = (Vec<&'static str>, &'static str)> {
    let mut texts = include_str!("lines.txt").lines().filter(|text| !text.starts_with('#'));
    std::iter::from_fn(move || Some((texts.next()?.split(' ').collect(), texts.next()?.trim())))
}

#[test]
fn rows_are_whole() {
    for row in ROWS.iter() {
        let names: Vec<&String> = row.there.iter().chain(&row.tool).collect();
        assert!(names.iter().all(|name| !name.is_empty()), "{row:?}");
        assert!(row.here.is_empty() || row.here.starts_with("tiermark "), "{row:?}");
        for part in &row.rows {
            let is_said = part.here == "=" || !part.here.is_empty() || !part.note.is_empty();
            assert!(is_said && part.forms().all(|form| !form.key.is_empty()), "{part:?}");
        }
        let alone = row.there.first().filter(|_| !row.here.is_empty()).map(|name| name.split(' ').collect::<Vec<_>>());
        let here = alone.map(|words| line(&words).unwrap().equivalent(&words).here);
        assert!(here.is_none_or(|here| Cli::try_parse_from(here.split(' ')).is_ok()), "{row:?}");
    }
    let tools = tools();
    assert!((1..tools.len()).all(|at| !tools[..at].contains(&tools[at])), "the rows of a tool stand together");
}

#[test]
fn a_line_is_one_command_that_parses() {
    for (words, here) in lines() {
        let found = line(&words).unwrap_or_else(|| panic!("{words:?}"));
        assert_eq!(found.equivalent(&words).here, here, "{words:?}: {:?}", found.dropped);
        let own = here.split(" > ").next().unwrap_or_default();
        let parses = || Cli::try_parse_from(own.split(' ')).is_ok_and(|cli| cli.command.is_some());
        assert!(here == NONE || parses(), "{here}");
    }
}

/// Each row fits a line of the test, and there a word or a reason of its own is seen.
#[test]
fn each_row_is_tried() {
    let lines: Vec<_> = lines().collect();
    let is_tried = |form: &Form<'_>, words: &[&str]| match form.pattern {
        Some(pattern) if !values::is_name(form.key) => words.iter().enumerate().any(|(at, word)| {
            let next = words.get(at + 1).copied().filter(|_| *word == form.key);
            let joined = word.strip_prefix(form.key).map(|value| value.trim_start_matches('='));
            let values = [next, joined.filter(|value| !value.is_empty())];
            values.into_iter().flatten().any(|value| values::bound(pattern, value).is_some())
        }),
        Some(_) => words.len() > 1,
        None => words.contains(&form.key),
    };
    for row in ROWS.iter().filter(|row| !row.there.is_empty()) {
        let of = |words: &[&str]| {
            (0..words.len()).any(|at| program(&words[at..]).is_some_and(|(of, _)| std::ptr::eq(of, row)))
        };
        let own: Vec<_> = lines.iter().filter(|(words, _)| of(words)).collect();
        for part in &row.rows {
            let mut forms = part.forms();
            assert!(forms.any(|form| own.iter().any(|(words, _)| is_tried(&form, words))), "{:?}: {part:?}", row.there);
        }
    }
}

#[test]
fn nothing_is_dropped_without_a_word() {
    for (text, dropped) in [
        ("mlc --idle_latency --quux -b500m", &["--quux"][..]),
        ("mlc --loaded_latency -b500m -i 3", &["-b500m", "-i 3"]),
        ("mlc --idle_latency -b5x", &["-b5x"]),
        ("bw_mem 1m frd 7", &["7"]),
        ("numactl --cpubind=1 --membind=0 ./lat_mem_rd 128 64", &[]),
        ("memtester -p 0x100000 64M", &["-p 0x100000"]),
        ("perf bench mem memcpy -f default", &["-f default"]),
        ("perf bench numa mem -p 2 -t 4 -P 1024 -G 3 -s 60 -z", &["-G 3", "-z"]),
        ("likwid-bench -t load -w M0:2GB -w M1:2GB", &["-w M0:2GB"]),
        ("lat_proc -s 1 shell", &["-s", "1"]),
        ("likwid-bench -t load -w S0:1GB:2 -w S1:1GB:2", &["-w S0:1GB:2"]),
        ("likwid-bench -t peakflops -w S0:1GB:2", &["-t peakflops"]),
        ("perf stat -e dTLB-loads ./app 3", &["./app 3"]),
        ("sudo -u root mlc --idle_latency -Q", &["-Q", "-u root"]),
        ("pcm 1 -csv=x.csv -- ./app", &["-csv=x.csv"]),
        ("redis-benchmark -n 5 --threads 7", &["--threads 7"]),
        ("numademo 1m quux", &["quux"]),
        ("memtier_benchmark --ratio 1", &["--ratio 1"]),
        ("lscpu --all", &["--all"]),
        ("QUUX=1 mlc -i 2 --idle_latency", &["-i 2", "QUUX=1"]),
        ("QUUX=1 sudo perf stat ./app", &["QUUX=1"]),
    ] {
        let words: Vec<&str> = text.split(' ').collect();
        let mut found: Vec<String> = line(&words).unwrap().dropped.into_iter().map(|(text, _)| text).collect();
        found.sort();
        assert_eq!(found, dropped, "{text}");
    }
    for words in [&["frob", "-e"][..], &["-e"], &[], &["sudo", "./frob"], &["A=b"], &["sudo"], &["lmbench"]] {
        assert!(line(words).is_none(), "{words:?}");
    }
}

/// What is said of a word belongs to the command that is answered.
#[test]
fn notes_are_of_the_command() {
    let said = |text: &str| {
        let line = line(&text.split(' ').collect::<Vec<_>>()).unwrap();
        line.notes.into_iter().chain(line.dropped).map(|(_, why)| why).collect::<Vec<_>>().join("; ")
    };
    let total = |oper: &str| said(&format!("sysbench --test=memory --memory-oper={oper} --memory-total-size=9G run"));
    assert!(total("read").contains("--total"));
    for (line, why) in [
        ("likwid-bench -t load -w M0:2GB -w M1:2GB", "--cpus node:0,node:1"),
        ("likwid-bench -t load -w S0:1GB:4-0:S1", "arrays have no domains"),
        ("mlc --idle_latency -l128", "--layout stride:BYTES"),
        ("mlc --idle_latency --latency_matrix", "a command of its own"),
        ("stress-ng --stream 2 --vm 2 --vm-bytes 1G", "a command of its own"),
        ("stress-ng --cache 4", "residency"),
        ("stress-ng --stream 2 --metrics", "bogo"),
        ("perf stat -e LLC-load-misses,dTLB-load-misses -a sleep 10", "no misses of caches or TLBs"),
        ("lat_ctx -s 128 2 16 32", "2, 4 and 8 processes are measured; 2, 4 and 8 processes are measured"),
    ] {
        assert!(said(line).contains(why), "{line}: {}", said(line));
    }
    assert_eq!(said("lat_ctx -s 64 2 4 8"), "");
}

#[test]
fn words_of_a_topic_are_no_line() {
    for (text, is) in [
        ("idle latency", false),
        ("cache line", false),
        ("peak injection bandwidth", false),
        ("./stream", true),
        ("OMP_NUM_THREADS=8 stream", true),
        ("sysbench memory run", true),
        ("lat_mem_rd 64", true),
        ("mlc", false),
        ("", false),
    ] {
        assert_eq!(is_line(&text.split(' ').collect::<Vec<_>>()), is, "{text}");
    }
}

#[test]
fn words_of_other_tools_lead_on() {
    for (words, command) in [
        (&["stream"][..], "bandwidth --op copy,scale,add,triad"),
        (&["triad"], "--op triad"),
        (&["Scale"], "--op scale"),
        (&["idle"], "latency"),
        (&["--stride=64"], "--layout stride:64"),
        (&["--stride", "64"], "--layout stride:64"),
        (&["--size", "64M"], "latency --sizes 64M"),
        (&["--baseline"], "compare last --baseline good"),
        (&["--save-baseline"], "baseline set good"),
        (&["--all"], "run full"),
        (&["--idle_latency"], "latency"),
        (&["--latency_matrix"], "matrix"),
        (&["-d100"], "loaded-latency --delays 100"),
        (&["--delay"], "loaded-latency"),
        (&["--rw"], "--mix"),
        (&["-X"], "--threads cores"),
        (&["-b1g"], "latency --sizes 1g"),
        (&["-b1000"], "--sizes 1000K"),
        (&["free", "-h"], "watch"),
        (&["redis-cli"], NONE),
        (&["sysbench", "memory", "--memory-oper=none"], NONE),
        (&["amd", "uprof", "pcm"], "watch"),
        (&["-r"], "latency --layout random"),
        (&["-l64"], "--layout stride:64"),
        (&["-W2"], "--mix 1:1"),
        (&["-c3"], "latency --cpus 3"),
        (&["--idle_latency", "-c0"], "latency"),
        (&["dmidecode", "-t", "memory"], "machine"),
    ] {
        let found = here(words).map(|row| row.here).unwrap_or_default();
        assert!(found.contains(command), "{words:?}: {found}");
    }
    for word in ["frob", "", "0", "mem", "bench", "-t", "-d", "-x", "-e", "-E", "-W11", "pipe", "--"] {
        assert!(here(&[word]).is_none(), "{word}");
    }
}
