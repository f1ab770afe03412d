//! The program inside guests with several NUMA nodes (`tests/numa-vm`): discovery, placement, refusals. Their speeds
//! mean nothing.
//!
//! Ignored by default, since a guest takes some seconds and a kernel image; `./test` runs them where they can be had.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod checks;
#[path = "../common/mod.rs"]
mod common;
mod os;
mod soak;
mod tenants;
mod tiers;

use checks::{
    BASE, Expected, Left, SMALL, assert_matrix, assert_nodes, assert_proven, assert_share, guest, label, observations,
    pages, shots,
};
use serde_json::Value;

#[test]
#[ignore = "boots a guest: ./test"]
fn two_nodes_and_every_policy() {
    let left = guest(
        "2node",
        &format!(
            "run machine tiermark machine --json
             run matrix tiermark matrix {BASE} --sizes 4M --op latency,read/avx2,2:1,read.random/avx2 --json=matrix.json
             run policies tiermark matrix {BASE} --sizes 8M --op read/avx2 --policy bind,mixed --interleave all \\
                 --weighted-interleave 0:3,1:1 --json=policies.json
             run huge tiermark matrix {SMALL} --sizes 8M --op read/avx2 --pages thp --policy interleave,weighted --interleave all \\
                 --weighted-interleave 0:1,1:3 --json=thp.json
             printf 'name = \"small\"\ntitle = \"small\"\n' > small.toml
             printf '[[experiment]]\nprobe = \"latency\"\nsizes = [\"64K\"]\nmem-node = \"far\"\n' >> small.toml
             printf '[[experiment]]\nprobe = \"matrix\"\nsizes = [\"1M\"]\nop = [\"latency\"]\nquick = true\n' >> small.toml
             run plan tiermark run small.toml --force --no-save -q --json=plan.json
             for plan in numa-latency link-saturation placement-matrix; do
                 run $plan tiermark run $plan --force --no-save -q --allow-partial --seconds 0.001 --max-time 12 --max-mem 96M --json=$plan.json
             done
             cd /sys/fs/cgroup; mkdir one; echo 0 > one/cpuset.mems; echo 0-3 > one/cpuset.cpus; cd /out
             (echo 0 > /sys/fs/cgroup/one/cgroup.procs
              run fenced tiermark latency --quick --force --no-save --sizes 1M --mem-node 1
              run columns tiermark matrix {BASE} --sizes 1M --op latency --json=fenced.json
              run interleaved tiermark matrix {BASE} --sizes 1M --op read/avx2 --cpu-node 0 --policy interleave --interleave 0,1)
             echo 8 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages
             run pool tiermark matrix --quick --force --no-save -q --sizes 4M --op latency,read/avx2 --pages 2M --threads one --json=pool.json
             run over tiermark latency --quick --force --no-save --sizes 64M --pages 2M --mem-node 1
             mkdir /sys/fs/cgroup/huge; echo 4194304 > /sys/fs/cgroup/huge/hugetlb.2MB.max
             (echo 0 > /sys/fs/cgroup/huge/cgroup.procs
              run within tiermark latency --quick --force --no-save -q --seconds 0.001 --sizes 4M --pages 2M --mem-node 1 --json=within.json
              run limited tiermark latency --quick --force --no-save --sizes 8M --pages 2M --mem-node 1)"
        ),
    );
    assert_nodes(&left.json("machine.txt"), &[("0-1", 1024, &[10, 21]), ("2-3", 1024, &[21, 10])]);
    let matrix = left.json("matrix.json");
    for op in ["latency", "read/avx2", "2:1", "read.random/avx2"] {
        assert_matrix(&matrix, op, &["node:0", "node:1"], &[0, 1]);
    }
    assert_policies(&left.json("policies.json"));
    // A huge page is dealt out whole: of 4 one lies on node 0.
    let thp = left.json("thp.json");
    let dealt = |policy: &str| {
        observations(&thp).into_iter().find(|o| label(o, "policy") == policy && label(o, "from") == "node:0").unwrap()
    };
    assert_share(dealt("interleave"), 0, 0.5);
    assert_share(dealt("weighted"), 0, 0.25);
    let plan = left.json("plan.json");
    let far = observations(&plan).into_iter().find(|o| label(o, "layout") == "random").unwrap();
    assert!(pages(far).keys().eq(&[1]), "the far node of cpus on node 0: {}", far["placement"]);
    assert_eq!(observations(&plan).len(), 1 + 4);
    for plan in ["numa-latency", "link-saturation", "placement-matrix"] {
        // Figures that an emulated core has no time for make it 5.
        assert!([0, 5].contains(&left.code(plan)), "{plan}: {}", left.text(&format!("{plan}.txt")));
        assert_plan(&left.json(&format!("{plan}.json")));
    }
    assert_fenced(&left);
    assert_pool(&left);
}

/// A plan ran to its end: every experiment measured something, and every number of memory is of pages that were proven.
fn assert_plan(run: &Value) {
    assert!(run["stopped"].is_null(), "{}", run["stopped"]);
    for experiment in run["experiments"].as_array().unwrap() {
        let seen = experiment["observations"].as_array().unwrap();
        let measured: Vec<&Value> = seen.iter().filter(|o| shots(o)).collect();
        assert!(!measured.is_empty(), "{}: {}", experiment["request"]["probe"], experiment["plan"]["refused"]);
        measured.into_iter().filter(|o| o["value"].is_number()).for_each(assert_proven);
        // The far half of a comparison is of the far node.
        if experiment["request"]["scope"]["mem_node"].as_u64() == Some(1) {
            seen.iter().filter(|o| o["value"].is_number()).for_each(|o| assert!(pages(o).keys().eq(&[1]), "{o}"));
        }
    }
}

/// Interleaved, weighted and mixed memory lies where it was asked for.
fn assert_policies(run: &Value) {
    let of = |policy: &str| -> Vec<&Value> {
        observations(run).into_iter().filter(|o| label(o, "policy") == policy).collect()
    };
    of("interleave").into_iter().for_each(|observation| assert_share(observation, 0, 0.5));
    of("weighted").into_iter().for_each(|observation| assert_share(observation, 0, 0.75));
    for observation in of("mixed") {
        assert_eq!(observation["placement"]["on_target"].as_f64(), Some(1.0));
        assert_share(observation, 0, 0.5);
        let names: Vec<&str> =
            observation["parts"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["local", "remote"]);
    }
    // From node 0, node 1 and all; mixed only where there are rows; each thread's own memory only for all.
    let local = of("local");
    assert_eq!((of("interleave").len(), of("weighted").len(), of("mixed").len(), local.len()), (3, 3, 2, 1));
    assert_share(local[0], 0, 0.5);
    let own = local[0]["placement"]["on_target"].as_f64();
    assert_eq!(own, Some(1.0), "threads of both nodes on their own: {}", local[0]["placement"]);
    // The guest's kernel is older than weighted interleaving, and says so with what helps.
    let refused = run["experiments"][0]["plan"]["refused"].to_string();
    let old = refused.contains("weighted interleave") && refused.contains("newer kernel");
    assert!(old || !of("kernel weights").is_empty(), "{refused}");
}

/// A node outside the cpuset is refused with what helps, and the matrix is that of the nodes inside.
fn assert_fenced(left: &Left) {
    assert_eq!(left.code("fenced"), 4);
    let said = left.text("fenced.txt");
    assert!(said.contains("cpuset.mems") && said.contains("--mem-node"), "{said}");
    assert_matrix(&left.json("fenced.json"), "latency", &["node:0", "node:1"], &[0]);
    assert_eq!(left.code("interleaved"), 4);
    assert!(left.text("interleaved.txt").contains("cpuset.mems"), "{}", left.text("interleaved.txt"));
}

/// Reserved huge pages of node 1 are used there; node 0 has none and refuses, and nothing dies of SIGBUS: not where the
/// pool is too small, and not where a cgroup gives fewer pages than the pool has.
fn assert_pool(left: &Left) {
    let run = left.json("pool.json");
    for observation in observations(&run) {
        match observation["labels"]["node"].as_u64() {
            Some(1) => {
                assert_proven(observation);
                assert!(pages(observation).keys().eq(&[1]), "{}", observation["placement"]);
                assert_eq!(observation["placement"]["page_share"].as_f64(), Some(1.0), "{}", observation["placement"]);
            }
            _ => {
                let refusal = observation["refusal"].to_string();
                assert!(refusal.contains("node 0") && refusal.contains("nr_hugepages"), "{refusal}");
            }
        }
    }
    assert_eq!(observations(&run).len(), 8);
    assert_eq!((left.code("pool"), left.code("over"), left.code("limited")), (5, 4, 4));
    // Its one number may be too unsure to be shown on a busy host; its pages were there.
    let within = left.json("within.json");
    assert_eq!(within["experiments"][0]["plan"]["refused"].as_array().unwrap().len(), 0);
    for observation in observations(&within) {
        assert!(observation["refusal"].is_null() && shots(observation), "{observation}");
        assert_proven(observation);
    }
    let said = left.text("over.txt");
    assert!(said.contains("8 are free on node 1") && said.contains("nr_hugepages"), "{said}");
    let said = left.text("limited.txt");
    assert!(said.contains("hugetlb") && said.contains("cgroup"), "{said}");
}

#[test]
#[ignore = "boots a guest: ./test"]
fn four_nodes_of_two_sockets() {
    let left = guest(
        "4node",
        &format!(
            "run machine tiermark machine --json
             run matrix tiermark matrix {BASE} --sizes 2M --op latency --json=matrix.json
             run sockets tiermark matrix {BASE} --sizes 2M --op read/avx2 --from socket --mem-node 0,3 --json=sockets.json
             run spread tiermark matrix {BASE} --sizes 4M --op read/avx2 --policy interleave --interleave 1,2-3 --cpu-node 0 --json=spread.json"
        ),
    );
    let machine = left.json("machine.txt");
    let nodes: [Expected<'_>; 4] = [
        ("0-1", 512, &[10, 12, 32, 32]),
        ("2-3", 512, &[12, 10, 32, 32]),
        ("4-5", 512, &[32, 32, 10, 12]),
        ("6-7", 512, &[32, 32, 12, 10]),
    ];
    assert_nodes(&machine, &nodes);
    let sockets: Vec<u64> =
        machine["cpus"].as_array().unwrap().iter().map(|cpu| cpu["socket"].as_u64().unwrap()).collect();
    assert_eq!(sockets, [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_matrix(&left.json("matrix.json"), "latency", &["node:0", "node:1", "node:2", "node:3"], &[0, 1, 2, 3]);
    assert_matrix(&left.json("sockets.json"), "read/avx2", &["socket:0", "socket:1"], &[0, 3]);
    let spread = left.json("spread.json");
    let only = observations(&spread)[0];
    (1..=3).for_each(|node| assert_share(only, node, 1.0 / 3.0));
}

#[test]
#[ignore = "boots a guest: ./test"]
fn shared_lines_have_their_home_where_it_was_asked() {
    // One cpu of each of three nodes: two in one socket, one in the other.
    let left = guest(
        "4node",
        &format!(
            "run c2c tiermark c2c {BASE} --cpus 0,2,4 --json=c2c.json
             run elsewhere tiermark c2c {BASE} --cpus 0,2 --mem-node 3 --json=elsewhere.json
             run alone tiermark c2c {BASE} --cpus 5"
        ),
    );
    let run = left.json("c2c.json");
    let node_of = |cpu: &Value| cpu.as_u64().map(|cpu| cpu / 2);
    let mut homes: Vec<(String, String)> = Vec::new();
    for seen in observations(&run).into_iter().filter(|o| o["placement"].is_object()) {
        let labels = &seen["labels"];
        let home = labels["node"].as_u64().or(node_of(&labels["from"])).unwrap_or(0);
        assert!(pages(seen).keys().eq([&home]), "{}: {}", seen["step"], seen["placement"]);
        assert_eq!(seen["placement"]["on_target"].as_f64(), Some(1.0), "{seen}");
        if label(seen, "purpose") == "home" {
            homes.push((label(seen, "relation").to_owned(), label(seen, "home").to_owned()));
        }
    }
    homes.sort();
    let wanted = [("remote", "second"), ("remote", "third"), ("socket", "second"), ("socket", "third")];
    assert_eq!(homes, wanted.map(|(relation, home)| (relation.to_owned(), home.to_owned())));
    let proven = |o: &&Value| o["placement"].is_object();
    assert!(observations(&left.json("elsewhere.json")).into_iter().filter(proven).all(|o| pages(o).keys().eq([&3])));
    assert_eq!(left.code("alone"), 4);
}

#[test]
#[ignore = "boots a guest: ./test"]
fn eight_nodes_of_two_sockets() {
    let left = guest(
        "8node",
        &format!(
            "run machine tiermark machine --json\nrun matrix tiermark matrix {BASE} --sizes 1M --op latency \
                --json=matrix.json"
        ),
    );
    let near = |id: u64, to: u64| match (id == to, id / 4 == to / 4) {
        (true, _) => 10,
        (false, true) => 12,
        (false, false) => 32,
    };
    let rows: Vec<(String, Vec<u64>)> =
        (0..8).map(|id| (format!("{}-{}", 2 * id, 2 * id + 1), (0..8).map(|to| near(id, to)).collect())).collect();
    let nodes: Vec<Expected<'_>> =
        rows.iter().map(|(cpus, distances)| (cpus.as_str(), 256, distances.as_slice())).collect();
    assert_nodes(&left.json("machine.txt"), &nodes);
    let names: Vec<String> = (0..8).map(|id| format!("node:{id}")).collect();
    let rows: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_matrix(&left.json("matrix.json"), "latency", &rows, &[0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
#[ignore = "boots a guest: ./test"]
fn memory_without_cpus() {
    let left = guest(
        "cxl",
        &format!(
            "run machine tiermark machine --json
             run matrix tiermark matrix {BASE} --sizes 2M --op latency,read/avx2 --json=matrix.json
             run rows tiermark matrix {BASE} --sizes 2M --op latency --cpu-node 2
             run spread tiermark matrix {BASE} --sizes 4M --op read/avx2 --cpu-node 0 --policy weighted,mixed --weighted-interleave 0:3,2:1 --json=spread.json"
        ),
    );
    let machine = left.json("machine.txt");
    // 2,048 MiB over three nodes in whole pieces of 128.
    assert_nodes(&machine, &[("0-1", 640, &[10, 20, 40]), ("2-3", 640, &[20, 10, 40]), ("", 640, &[40, 40, 10])]);
    let hmat = &machine["nodes"][2]["hmat"][0];
    let firmware = (hmat["read_latency_ns"].as_f64(), hmat["read_bandwidth"].as_f64(), hmat["initiators"].as_str());
    assert_eq!(firmware, (Some(250.0), Some(30_720e6), Some("0")), "{hmat}");
    let matrix = left.json("matrix.json");
    for op in ["latency", "read/avx2"] {
        assert_matrix(&matrix, op, &["node:0", "node:1"], &[0, 1, 2]);
    }
    assert_eq!(left.code("rows"), 4);
    assert!(left.text("rows.txt").contains("no cpus"), "{}", left.text("rows.txt"));
    let spread = left.json("spread.json");
    let weighted = observations(&spread).into_iter().find(|o| label(o, "policy") == "weighted").unwrap();
    assert_share(weighted, 2, 0.25);
    let mixed: Vec<u64> = observations(&spread)
        .into_iter()
        .filter(|o| label(o, "policy") == "mixed")
        .map(|o| o["labels"]["node"].as_u64().unwrap())
        .collect();
    // The other socket's memory, and that without cpus.
    assert_eq!(mixed, [1, 2]);
}

#[test]
#[ignore = "boots a guest: ./test"]
fn far_memory_that_came_as_a_device() {
    // Soft-reserved memory that a driver gave to the kernel: movable, of a memory tier of its own, as on real CXL
    // machines.
    let left = guest(
        "cxlhot",
        &format!(
            "run machine tiermark machine --json
             run matrix tiermark matrix {BASE} --sizes 2M --op latency --json=matrix.json
             run spread tiermark matrix {BASE} --sizes 4M --op read/avx2 --cpu-node 0 --policy weighted --weighted-interleave 0:3,2:1 --json=spread.json
             run quick tiermark run quick --force --no-save -q --allow-partial --seconds 0.001 --max-time 12 --max-mem 96M --json=quick.json
             run far tiermark latency {BASE} --sizes 4M --mem-node far --json=far.json"
        ),
    );
    let machine = left.json("machine.txt");
    assert_nodes(&machine, &[("0-1", 2048, &[10, 20, 40]), ("2-3", 2048, &[20, 10, 40]), ("", 2048, &[40, 40, 10])]);
    let tier = |node: usize| machine["nodes"][node]["memory_tier"].as_u64().unwrap();
    assert!(tier(0) == tier(1) && tier(2) > tier(0), "far memory is of a lower tier: {}", machine["nodes"]);
    assert_matrix(&left.json("matrix.json"), "latency", &["node:0", "node:1"], &[0, 1, 2]);
    let spread = left.json("spread.json");
    assert_share(observations(&spread).into_iter().find(|o| label(o, "policy") == "weighted").unwrap(), 2, 0.25);
    // Figures that an emulated core has no time for make it 5.
    assert!([0, 5].contains(&left.code("quick")), "{}", left.text("quick.txt"));
    assert_plan(&left.json("quick.json"));
    let far = left.json("far.json");
    assert!(pages(observations(&far)[0]).keys().eq(&[2]), "{}", observations(&far)[0]["placement"]);
}

#[test]
#[ignore = "boots a guest: ./test"]
fn a_node_without_memory() {
    let left = guest(
        "nomem",
        &format!(
            "run machine tiermark machine --json
             run matrix tiermark matrix {BASE} --sizes 2M --op latency,read/avx2 --json=matrix.json
             run absent tiermark matrix {BASE} --sizes 2M --op latency --mem-node 1
             run policies tiermark matrix {BASE} --sizes 2M --op read/avx2 --policy interleave"
        ),
    );
    let machine = left.json("machine.txt");
    assert_nodes(&machine, &[("0-1", 2048, &[10, 21]), ("2-3", 0, &[21, 10])]);
    let matrix = left.json("matrix.json");
    for op in ["latency", "read/avx2"] {
        assert_matrix(&matrix, op, &["node:0", "node:1"], &[0]);
    }
    for (step, why) in [("absent", "has no memory"), ("policies", "two nodes")] {
        assert_eq!(left.code(step), 4, "{step}");
        assert!(left.text(&format!("{step}.txt")).contains(why), "{}", left.text(&format!("{step}.txt")));
    }
}
