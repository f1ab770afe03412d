//! A soak of memory in a guest: two nodes, memory that the kernel takes away, and a limit that is lowered meanwhile.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

use serde_json::Value;

use crate::checks::{Left, guest_with, observations};

/// Options of every run here.
const SOAK: &str = "--force --no-save --max-mem 64M";
/// A run in the background, and a wait until it has mapped its memory and then some seconds.
const BEHIND: &str = "behind() { name=$1; shift; \"$@\" > $name.txt 2>&1 & started=$!; }
     soaks() { for i in $(seq 120); do grep -qx 1000 /proc/$started/oom_score_adj && break; sleep 0.5; done; sleep $1; }
     ended() { wait $started; echo $name exit $?; }\n";

/// What a run has of its soak.
#[track_caller]
fn soak(left: &Left, name: &str) -> Value {
    let run = left.json(&format!("{name}.json"));
    let [only] = observations(&run)[..] else { panic!("{run}") };
    assert!(only["soak"].is_object(), "{only}");
    only["soak"].clone()
}

/// That memory was compared, and no word was wrong.
#[track_caller]
fn assert_compared(soak: &Value) {
    assert_eq!((&soak["wrong_words"], &soak["proven"]), (&Value::from(0), &Value::from(true)), "{soak}");
    for node in soak["memory"].as_array().unwrap() {
        assert!(node["covered"].as_u64() > Some(0) && node["covered"] == node["held"], "{soak}");
    }
}

#[test]
#[ignore = "boots a guest: ./test"]
fn both_nodes_are_held_and_compared_and_a_lower_limit_ends_it() {
    let left = guest_with(
        "2node",
        &["--swap", "64", "--share", "setpriv"],
        &format!(
            "{BEHIND}
             behind both tiermark soak {SOAK} --time 30s --json=both.json
             soaks 10; cat /proc/$started/numa_maps > both.maps; grep VmLck /proc/$started/status > both.locked; ended
             chmod 777 /out
             (ulimit -l 64; export HOME=/tmp
              run other /usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups tiermark soak {SOAK} --time 5s)
             mkdir /sys/fs/cgroup/soak
             behind limited sh -c 'echo 0 > /sys/fs/cgroup/soak/cgroup.procs
                                   exec tiermark soak {SOAK} --time 60s --json=limited.json'
             soaks 10; echo 192M > /sys/fs/cgroup/soak/memory.max; ended"
        ),
    );
    let both = soak(&left, "both");
    assert_eq!(left.code("both"), 0, "{}", left.text("both.txt"));
    assert_compared(&both);
    assert_eq!(both["memory"].as_array().unwrap().len(), 2, "{both}");
    let phases = both["phases"].as_array().unwrap();
    let copied = phases.iter().find(|phase| phase["between"] == "copied").unwrap_or_else(|| panic!("{both}"));
    assert!(copied["whole"].as_u64() > Some(0), "{copied}");
    assert_bound(&left, &both);
    // A user who may not lock so much memory is told which limit forbids it.
    let said = left.text("other.txt");
    assert!(left.code("other") == 4 && said.contains("ulimit -l"), "{said}");
    let limited = soak(&left, "limited");
    assert_compared(&limited);
    assert_eq!(limited["ended"]["code"], "memory_wanted", "{limited}");
    let said = left.text("limited.txt");
    assert!(left.code("limited") == 5 && said.contains("Incomplete: only "), "{said}");
}

/// The kernel has the pages of each node's memory on that node, and has locked them.
fn assert_bound(left: &Left, soak: &Value) {
    let maps = left.text("both.maps");
    let pages = |line: &str, node: usize| -> u64 {
        let count = line.split(' ').find_map(|word| word.strip_prefix(&format!("N{node}="))?.parse().ok());
        count.unwrap_or_default()
    };
    for node in 0..2 {
        let bound = maps.lines().filter(|line| line.contains(&format!("bind:{node}")));
        let (own, other) = bound
            .fold((0, 0), |(own, other), line| (own + pages(line, node) * 4096, other + pages(line, 1 - node) * 4096));
        assert!(other == 0 && Some(own) >= soak["memory"][node]["held"].as_u64(), "node {node}:\n{maps}");
    }
    let locked = left.text("both.locked");
    let kib: u64 = locked.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kib >= 48 << 10, "{locked}");
}

/// A kernel of Debian's cloud has no `hard_offline_page`.
#[test]
#[ignore = "boots a guest: ./test"]
fn a_page_that_the_kernel_takes_away_is_reported_and_the_run_goes_on() {
    // A page amid the largest mapping, once it is there: first one that a touch finds gone, then one that the kernel
    // signals at once.
    let left = guest_with(
        "1node",
        &["--kernel", "generic"],
        &format!(
            "{BEHIND}
             entry() {{ dd if=/proc/$started/pagemap bs=8 skip=$page count=1 2>/dev/null | od -An -tx8 | tr -d ' '; }}
             amid() {{
                 most=0
                 while read -r range mode _ _ inode _; do
                     from=$((0x${{range%-*}})); bytes=$((0x${{range#*-}} - from))
                     [ $mode = rw-p ] && [ $inode = 0 ] && [ $bytes -gt $most ] || continue
                     most=$bytes; page=$(((from + bytes / $1) / 4096))
                 done < /proc/$started/maps
             }}
             poison() {{
                 for i in $(seq 60); do amid $1; [ $((0x$(entry))) -lt 0 ] && break; sleep 0.5; done
                 printf 'poisoned 0x%x\\n' $((page * 4096))
                 echo $(((0x$(entry) & 0x7fffffffffffff) * 4096)) > /sys/devices/system/memory/hard_offline_page
             }}
             behind lost tiermark soak {SOAK} --time 30s --json=lost.json
             soaks 2; poison 2; sleep 5
             echo 1 > /proc/sys/vm/memory_failure_early_kill; poison 4; ended"
        ),
    );
    let poisoned: Vec<&str> = left.out.lines().filter_map(|line| line.strip_prefix("poisoned ")).collect();
    let lost = soak(&left, "lost");
    assert_eq!(poisoned.len(), 2, "{}", left.out);
    let pages = lost["lost"].as_array().unwrap();
    let addresses: Vec<&str> = pages.iter().map(|page| page["address"].as_str().unwrap()).collect();
    assert_eq!(addresses, poisoned, "{}\n{}", left.out, left.text("lost.txt"));
    assert!(pages.iter().all(|page| page["bytes"] == 4096), "{lost}");
    assert_compared(&lost);
    let said = left.text("lost.txt");
    assert!(left.code("lost") == 3 && said.contains("2 pages lost on node 0") && said.contains(poisoned[0]), "{said}");
}
