//! The published experiments on simulated machines like their authors': the table of the article and its conclusion are
//! in the text of 80 columns, on the page, and in the CSV.

use crate::common::User;

/// What a plan shows: as text without line breaks, the lines of the text, as a page, and as rows of CSV.
struct Shown {
    words: String,
    lines: Vec<String>,
    page: String,
    rows: Vec<Vec<String>>,
}

fn shown(plan: &[&str]) -> Shown {
    let user = User::new();
    let text = user.run(&[&["run"], plan, &["-q"]].concat()).expect(0).out;
    let page = user.run(&["report", "last", "--html=-"]).expect(0).out;
    let csv = user.run(&["show", "last", "--format=csv"]).expect(0).out;
    Shown {
        words: words(&text),
        lines: text.lines().map(str::to_owned).collect(),
        page,
        rows: csv.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect(),
    }
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Shown {
    /// The numbers of a row of the first table that has one beginning so.
    fn row(&self, begins: &str) -> Vec<f64> {
        let line = self.lines.iter().find(|line| line.trim_start().starts_with(begins));
        let line = line.unwrap_or_else(|| panic!("{begins}: {}", self.lines.join("\n")));
        line.trim_start()[begins.len()..].split_whitespace().filter_map(|word| word.parse().ok()).collect()
    }

    /// Values of the CSV, of a metric and of rows with these words.
    fn values(&self, metric: &str, with: &[&str]) -> Vec<f64> {
        let column = |name: &str| self.rows[0].iter().position(|head| head == name).unwrap();
        let (what, value) = (column("metric"), column("value"));
        let fits =
            |row: &&Vec<String>| row[what] == metric && with.iter().all(|word| row.iter().any(|cell| cell == word));
        self.rows.iter().filter(fits).filter_map(|row| row[value].parse().ok()).collect()
    }

    /// The headline of a cache is the latency that its geometry has.
    fn has_one_latency_of(&self, tier: &str) {
        let [headline, geometry] = [self.row(tier)[1], self.values("geometry.latency", &[tier])[0]];
        assert!((headline - geometry).abs() < 0.01, "one latency of one cache: {headline}, {geometry}");
    }

    /// What is in the text, stands on the page too.
    fn says(&self, sentence: &str) {
        assert!(self.words.contains(sentence), "{sentence}: {}", self.words);
        assert!(words(&self.page).contains(sentence), "{sentence} is not on the page");
    }

    /// The line of the text that begins so stands before that of another.
    fn comes_before(&self, first: &str, second: &str) {
        let at = |begins: &str| self.lines.iter().position(|line| line.starts_with(begins));
        assert!(at(first).is_some() && at(first) < at(second), "{first}, {second}: {}", self.lines.join("\n"));
    }
}

/// Article 0: readers beside the memory and on the other socket, in GB/s of lines, beside channel and link.
#[test]
fn link_saturation_counts_lines_and_names_the_link() {
    let of = shown(&[
        "link-saturation",
        "--simulate",
        "synth:sockets=2,cores=4,mem=8G",
        "--sim-memory=10.2",
        "--sim-link=8.3",
        "--peak=10.7GB/s",
        "--link-rate=9.6GB/s",
    ]);
    of.comes_before("Rate of whole lines by threads: read.line8", "Figures published");
    let (local, remote) = (of.row("local, node 0"), of.row("remote, node 0"));
    // Threads, GB/s of lines, GB/s used, share of the channels (and of the link), passes, seconds.
    assert!((local[1] / 10.2 - 1.0).abs() < 0.05 && (remote[1] / 8.3 - 1.0).abs() < 0.05, "{local:?} {remote:?}");
    assert!((remote[1] / remote[2] - 8.0).abs() < 0.1 && (remote[4] - 86.0).abs() < 3.0, "{remote:?}");
    assert!(remote[5] >= 1.0 && remote[6] > 0.0, "passes and seconds: {remote:?}");
    of.says("its memory is the limit.");
    of.says("the link is the limit.");
    let rates = of.values("scale.lines", &["remote", "2"]);
    assert!(rates.iter().any(|rate| (rate / 8.3e9 - 1.0).abs() < 0.05), "{rates:?}");
    assert_eq!(of.values("scale.ceiling", &["link"]).len(), 1);
    assert!(of.words.contains("GB/s used") && of.words.contains("memory of each thread: "), "{}", of.words);
    // A link that is full at a quarter of its stated rate has another one.
    let server = ["--simulate", "synth:sockets=2,cores=16,smt=1,mem=16G", "--peak=560GB/s", "--link-rate=200GB/s"];
    let slow = shown(&[&["link-saturation"][..], &server].concat());
    slow.says("of what the link carries in theory, far below the 80 to 100 % that full ones reach: check --link-rate");
    assert!(!slow.words.contains("the link is the limit"), "{}", slow.words);
    // Shares of a stated rate that local readers exceed are of no use.
    let server = ["--simulate", "synth:sockets=2,cores=4,mem=8G", "--sim-memory=15", "--sim-link=8.3"];
    let wrong = shown(&[&["link-saturation", "--peak=8.53GB/s", "--link-rate=9.6GB/s"][..], &server].concat());
    assert!(!wrong.words.contains("of what the channels carry"), "{}", wrong.words);
    // A row for each measurement.
    assert_eq!(of.values("bandwidth", &["remote", "2"]).len(), 1);
    assert!(of.values("bandwidth.scaling", &[]).is_empty() && of.values("scale.latency", &[]).is_empty());
    // The published column counts lines as well.
    assert!(of.words.contains("published here one reader") && of.words.contains("GB/s of lines"), "{}", of.words);
    assert!(of.words.contains("6.60 8.3") && of.words.contains("8.00 10."), "{}", of.words);
}

/// Article 2: sequential and random reads and writes with local, remote and mixed memory.
#[test]
fn the_placement_matrix_is_one_table() {
    let server = "synth:sockets=2,cores=2,smt=2,mem=64G";
    let link = "--link-rate=12GB/s";
    let of = shown(&["placement-matrix", link, "--simulate", server, "--sim-memory=40", "--sim-link=12"]);
    of.comes_before("The same threads with local, remote and mixed memory", "Idle latency");
    for op in ["write.cached", "write.random8", "read", "read.random8"] {
        let row = of.row(&format!("node:0 {op} "));
        // Local, remote, mixed, its local and its remote part, remote and mixed of local.
        assert!(row.len() == 7 && row[1] < row[0], "{op}: {row:?}");
        assert!((row[3] + row[4] - row[2]).abs() < 0.05 * row[2], "the parts are the sum: {op}: {row:?}");
    }
    of.says("From the cpus of node:0, memory of node 1 gives this share of the local rate: write.cached");
    of.says("If half of the threads use remote memory, the rate (in % of the rate with all local memory) is");
    of.says("of what the link carries: the link is its limit.");
    assert!(!of.values("mixed.against_local", &["node:0"]).is_empty());
    let user = User::new();
    let short = ["run", "placement-matrix", "--max-time=4", "--simulate", server, "--sim-link=12", "-q"];
    let short = words(&user.run(&short).expect(5).out);
    assert_eq!(short.matches("mixed –: not measured, time budget used up").count(), 1, "{short}");
}

/// Article 3: block sizes, strides, pipes, processes and system calls.
#[test]
fn the_hierarchy_is_read_off_the_blocks() {
    let of = shown(&["hierarchy", "--simulate", "synth:sockets=1,cores=2,mem=8G"]);
    of.comes_before("Each level of the hierarchy", "Bandwidth by size");
    let [l1, l2, l3, memory] = ["L1", "L2", "L3", "DRAM"].map(|level| of.row(level));
    let last = |row: &[f64]| row[row.len() - 3];
    assert!(last(&l1) > last(&l2) && last(&l2) > last(&l3) && last(&l3) > last(&memory), "{l1:?} {memory:?}");
    of.says("Caches: L1 ~32 KiB, 8 ways");
    of.says("The system: getppid");
    assert!(of.words.contains("fork+exec") && of.words.contains("pipe "), "{}", of.words);
    assert_eq!(of.values("geometry.ways", &["L1"]), [8.0]);
    // The plan's strides end below a way of L2, and no stride of a page or more is prefetched.
    of.says("L2 ways: not resolved: with strides of up to 16 KiB");
    assert!(!of.words.contains("sets declared") && of.words.matches("prefetch-assisted").count() == 4, "{}", of.words);
    // The published curve at every block.
    let published = of.lines.iter().position(|line| line.starts_with("Figures published")).unwrap();
    let beside = of.lines[published..].iter().filter(|line| line.trim_start().starts_with("2.5 MiB")).count();
    assert!(beside >= 2, "a rate and a latency: {}", of.lines[published..].join("\n"));
}

/// A cache that is smaller than declared is measured over what it holds.
#[test]
fn levels_are_measured_over_footprints_that_they_carry() {
    let machine = "synth:sockets=1,cores=2,mem=8G";
    let of = shown(&["hierarchy", "--simulate", machine, "--sim-caches=32K/8,256K/8"]);
    let l2 = of.row("L2");
    assert!(l2[0] == 192.0 && l2[1] < 5.0, "{l2:?}");
    of.has_one_latency_of("L2");
}

/// Article 4: local and remote latency by stride and footprint, side by side with their ratio.
#[test]
fn numa_latency_says_what_distance_costs() {
    for node in ["0", "1"] {
        let server = "synth:sockets=2,cores=4,mem=16G";
        let of = shown(&["numa-latency", "--cpu-node", node, "--simulate", server]);
        of.comes_before("Latency by distance, ns", "Figures published");
        let (local, remote) = (
            of.row(&format!("stride:64 local, node {node}")),
            of.row(&format!("remote, node {}", 1 - node.parse::<u32>().unwrap())),
        );
        assert_eq!((local.len(), remote.len()), (9, 9), "every footprint: {local:?} {remote:?}");
        assert!(local[8] > local[7] && local[0] < 2.0, "{local:?}");
        of.says(&format!(
            "Up to 8 MiB, which the caches hold, the cpus of node {node} reach memory of node {}",
            1 - node.parse::<u32>().unwrap()
        ));
        of.says("random most, since prefetchers cannot guess the next line.");
        // The published table has all of its columns.
        assert!(of.lines.iter().all(|line| line.chars().count() <= 80), "{}", of.lines.join("\n"));
        for figure in ["stride 1,", "stride 32,", "stride 64,", "random,"] {
            assert!(of.words.contains(figure), "{figure}: {}", of.words);
        }
        let ratios = of.values("latency.far", &["random", "134217728"]);
        assert!(ratios.len() == 1 && ratios[0] > 1.5, "{ratios:?}");
        let user_said = of.values("latency", &["stride:64", "local", &format!("node:{node}")]);
        assert_eq!(user_said.len(), 9, "rows say their cpus and the distance");
    }
}

/// The lesson of distance is in `explain`, with the numbers.
#[test]
fn distance_is_a_lesson() {
    let user = User::new();
    let server = "synth:sockets=2,cores=4,mem=16G";
    user.run(&["run", "numa-latency", "--cpu-node=0", "--simulate", server, "-q"]).expect(0);
    let text = words(&user.run(&["explain", "last"]).expect(0).out);
    assert!(text.contains("beyond them an access to it takes longer than to local memory"), "{text}");
}
