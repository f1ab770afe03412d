//! Primitives of the operating system in a guest: what takes several nodes, a pool, swap, or a control group that is
//! full.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

use std::collections::BTreeSet;

use serde_json::Value;

use crate::checks::{Left, guest_with, label, observations, shots};

/// Options of every run here.
const OS: &str = "--quick --force --no-save -q --seconds 0.001 --max-time 20";

#[test]
#[ignore = "boots a guest: ./test"]
fn what_the_operating_system_adds() {
    let pool = "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages";
    let left = guest_with(
        "2node",
        &["--swap", "64"],
        &format!(
            "run numa tiermark os {OS} --allow-partial --only numa --json=numa.json
             echo 8 > {pool}
             run pool tiermark os {OS} --only 'fault hugetlb' --json=pool.json
             echo 0 > {pool}
             run dry tiermark os {OS} --only 'fault hugetlb'
             run sizes tiermark os {OS} --only 'fault mTHP'
             echo 0 > /proc/sys/vm/page-cluster
             run swapped tiermark os {OS} --only swap-in --json=swapped.json
             swapoff /dev/vda
             run unswapped tiermark os {OS} --only swap-in
             cd /sys/fs/cgroup; mkdir none few some small; cd /out
             echo 2 > /sys/fs/cgroup/none/pids.max; echo 3 > /sys/fs/cgroup/few/pids.max; echo 8 > /sys/fs/cgroup/some/pids.max
             echo 96M > /sys/fs/cgroup/small/memory.max
             within() {{ (echo 0 > /sys/fs/cgroup/$1/cgroup.procs; shift; run \"$@\"); }}
             within none none tiermark os {OS} --only processes
             within few few tiermark os {OS} --only processes --json=few.json
             within some some tiermark os {OS} --allow-partial --only vfork+exit,'fork+exec tiny','process switch pipe',pipe --json=some.json
             within small small tiermark os {OS} --allow-partial --only faults,'fork+exit','fork+exit written',pipe --json=small.json
             for name in none few some small; do echo $name holds $(cat /sys/fs/cgroup/$name/pids.current); done
             grep oom_kill /sys/fs/cgroup/small/memory.events
             lives() {{ [ -e /proc/$1/stat ] && ! grep -q ') Z ' /proc/$1/stat; }}
             below() {{ for one in $(cat /proc/$1/task/*/children 2>/dev/null); do echo $one; below $one; done; }}
             killed() {{
                 tiermark os --full --force --no-save -q --max-time 60 --only \"$2\" & started=$!; least=$1
                 for i in $(seq 300); do made=$(below $started); set -- $made; [ $# -ge $least ] && break; sleep 0.1; done
                 echo made $#: $made
                 kill -KILL $started; wait $started
                 for i in $(seq 100); do for one in $made; do lives $one && sleep 0.1; done; done
                 for one in $made; do lives $one && echo $one lives on; done
             }}
             killed 1 'shared memory ping-pong'
             killed 2 fork+exec
             for one in /proc/[0-9]*; do readlink $one/exe; done | grep tiermark | sed 's/^/still /'
             echo the end"
        ),
    );
    moved_between_nodes(&left);
    pages_of_every_kind(&left);
    full_groups(&left);
    // Nobody is left, whatever ended a run.
    let counts = left.out.lines().filter_map(|line| line.strip_prefix("made ")?.split(':').next()?.parse().ok());
    let made: Vec<u32> = counts.collect();
    // A partner; a subprocess and its child.
    assert!(made.len() == 2 && made[0] >= 1 && made[1] >= 2, "{}", left.out);
    assert!(!left.out.contains("lives on") && !left.out.contains("still "), "{}", left.out);
    assert!(left.out.contains("the end"), "{}", left.out);
}

/// Every operation is there for every pair of nodes; where it was done, its body asked the kernel each time where the
/// pages were.
fn moved_between_nodes(left: &Left) {
    assert_ran(left, "numa");
    let run = left.json("numa.json");
    let (mut planned, mut moved) = (BTreeSet::new(), BTreeSet::new());
    for observation in observations(&run) {
        let op = label(observation, "op").to_owned();
        planned.insert((op.clone(), label(observation, "from").to_owned(), node(observation)));
        // The first of each come first; of the others, a host that is very busy may leave out some.
        let why = observation["refusal"]["why"].as_str().unwrap_or_default();
        assert!(done(observation) || why.contains("time"), "{observation}");
        if done(observation) {
            moved.insert(op);
        }
    }
    let ops = ["mbind", "migrate_pages", "move_pages"];
    let pairs = |op: &str| [("0", 1), ("1", 0)].map(|(from, to)| (op.to_owned(), from.to_owned(), to));
    assert_eq!(planned, ops.iter().flat_map(|op| pairs(op)).collect());
    assert_eq!(moved, ops.iter().map(|op| (*op).to_owned()).collect());
    // Of so many operations, at least one could be judged, however busy the host is.
    assert!(observations(&run).into_iter().any(shots), "not one shot counted");
}

fn node(observation: &Value) -> u64 {
    observation["labels"]["node"].as_u64().unwrap()
}

/// Whether it was done, even if every shot of it was disturbed: an operation that fails is a fault in its verdict.
fn done(observation: &Value) -> bool {
    let reasons = observation["verdict"]["reasons"].as_array().unwrap();
    observation["disturbance"]["shots"].as_u64() > Some(0) && !reasons.iter().any(|reason| reason["reason"] == "broken")
}

/// That a run came to its end, even if none of its numbers is sure enough to be shown.
#[track_caller]
fn assert_ran(left: &Left, name: &str) {
    assert!([0, 4].contains(&left.code(name)), "{}", left.text(&format!("{name}.txt")));
}

/// Reserved huge pages and pages in the swap fault where there are some; where there are none, what would help is said.
fn pages_of_every_kind(left: &Left) {
    for (name, page) in [("pool", "2M"), ("swapped", "")] {
        assert_ran(left, name);
        let run = left.json(&format!("{name}.json"));
        let [only] = observations(&run)[..] else { panic!("{name}: {run}") };
        assert!(only["refusal"].is_null() && done(only) && label(only, "page") == page, "{only}");
    }
    // A kernel that knows other sizes has them off.
    let cures =
        [("dry", "nr_hugepages"), ("unswapped", "swapon"), ("sizes", "transparent huge pages|Linux 6.8|/enabled")];
    for (name, cure) in cures {
        let said = left.text(&format!("{name}.txt"));
        assert_eq!(left.code(name), 4, "{said}");
        assert!(cure.split('|').any(|words| said.contains(words)), "{said}");
    }
}

/// Control groups that are full: of processes, of threads, of memory. The shell takes one of each group's processes.
fn full_groups(left: &Left) {
    for name in ["none", "few", "some", "small"] {
        assert!(left.out.contains(&format!("{name} holds 0")), "{}", left.out);
    }
    // Not one thread: nothing is measured. One, and no child: what needs none is.
    let said = left.text("none.txt");
    assert!(left.code("none") == 4 && said.contains("a thread:") && said.contains("pids.max"), "{said}");
    let said = left.text("few.txt");
    assert!([4, 5].contains(&left.code("few")) && said.contains("pids.max") && !said.contains("panicked"), "{said}");
    for observation in observations(&left.json("few.json")) {
        let needs_none = label(observation, "op") == "swapcontext pair";
        let cure = observation["refusal"]["cure"].as_str().unwrap_or_default();
        let as_meant = if needs_none { done(observation) } else { cure.contains("pids.max") };
        assert!(as_meant || late(observation), "{observation}");
    }
    // Few are enough: a worker, a watch and one child at a time.
    assert_ran(left, "some");
    let some = left.json("some.json");
    let as_meant = |o: &Value| late(o) || o["refusal"].is_null() && done(o);
    assert!(observations(&some).into_iter().all(as_meant), "{}", left.text("some.txt"));
    // What does not fit into the memory is left out beforehand, and nobody is killed for it.
    assert_ran(left, "small");
    assert!(left.out.contains("oom_kill 0"), "{}", left.out);
    let small = left.json("small.json");
    let rules = small["experiments"][0]["plan"]["rules"].to_string();
    assert!(
        rules.contains("fork+exit written")
            && rules.contains("points that need twice their memory")
            && rules.contains("the free part of the cgroup's limit"),
        "{rules}"
    );
    for observation in observations(&small) {
        assert!(done(observation) || late(observation), "{observation}");
    }
    assert!(observations(&small).into_iter().any(done), "{}", left.text("small.txt"));
}

/// Whether the machine was too busy for it: it emulates slowly, or keeps a thread from its cpu.
fn late(observation: &Value) -> bool {
    let code = observation["refusal"]["code"].as_str().unwrap_or_default();
    let reasons = observation["verdict"]["reasons"].as_array().unwrap();
    // The same of a partner that was kept away when shots had begun.
    let mut faults = reasons.iter().filter_map(|reason| reason["fault"].as_str());
    ["no_time_left", "curve_point_skipped", "partner_starved"].contains(&code)
        || faults.any(|fault| fault.contains("kept its second thread from the cpu"))
}
