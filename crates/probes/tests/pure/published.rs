//! Published figures, given to the code that derives findings: it must come to the published conclusions.

use tiermark_engine::{Host, Probe, ThreadShot};
use tiermark_machine::synth::Synth;
use tiermark_model::messages::memory::codes;
use tiermark_model::*;
use tiermark_probes::{matrix, scale};
use tiermark_sim::{Ceilings, SimHost, SimOptions};

/// Two Xeon E5606: sockets of four cores; one channel of DDR3-1066 on each, or two on one of them; a link of 9.6 GB/s.
const CHANNEL: f64 = 8.528e9;
const LINK: f64 = 9.6e9;

/// What a probe finds on such a server, where `rate` gives the rate that was measured in a step, in bytes a second.
fn derived(probe: &Probe, params: serde_json::Value, rate: impl Fn(&Step) -> Option<f64>) -> Vec<Finding> {
    let machine =
        Synth { sockets: 2, smt: 1, l3_bytes: 8 << 20, node_bytes: 4 << 30, ..Synth::default() }.machine().unwrap();
    let kernels = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    let host = SimHost::new(machine, kernels, SimOptions::default());
    let lab = host.lab();
    let request = Request { params, ..testing::request(probe.id) };
    let observed = |step: &Step| {
        let value = Some(rate(step)?);
        let kernel = step.setup.threads[0].role.kernels().next();
        let labels = kernel.into_iter().fold(step.labels.clone(), |labels, id| labels.with_kernel(id));
        Some(Observation { value, ..Observation::new(step.id.clone(), labels, step.metric) })
    };
    let steps = probe.plan(&request, lab).unwrap().steps;
    probe.open(&request, lab).unwrap().derive(&steps.iter().filter_map(observed).collect::<Vec<_>>())
}

/// What `scale` finds where these rates of whole lines, in GB/s, were measured with one thread, two and so on.
fn found(peak: f64, local: &[f64], remote: &[f64]) -> Vec<Finding> {
    let params = serde_json::json!({ "ops": ["read.line8"], "peak": peak, "link_rate": LINK });
    derived(&scale::PROBE, params, |step| {
        let threads = usize::try_from(step.labels.threads()?).ok()?;
        let rates = if step.labels.place() == Some(Distance::Local) { local } else { remote };
        // The kernel uses 8 bytes of each line.
        Some(rates.get(threads - 1)? * 1e9 / 8.0)
    })
}

fn ceiling<'a>(findings: &'a [Finding], place: &str) -> &'a Finding {
    let fits = |f: &&Finding| f.quantity == Quantity::ScaleCeiling && f.labels.place_name() == Some(place);
    findings.iter().find(fits).unwrap_or_else(|| panic!("no ceiling, {place}: {findings:#?}"))
}

/// A share in percent, and the rate it is of.
fn share(findings: &[Finding], place: &str, of: &str) -> Option<(f64, f64)> {
    let fits = |f: &&Finding| {
        f.quantity == Quantity::ScaleShare && f.labels.place_name() == Some(place) && f.labels.statistic() == Some(of)
    };
    let found = findings.iter().find(fits)?;
    Some(((found.value? * 100.0).round(), found.notes[0].data["bytes_per_second"].as_f64()?))
}

/// One reader beside the memory had 8.0 GB/s, 95 % of the channel by its counter: the channel is the limit. One reader
/// across the link had 6.8, of which nothing follows yet.
#[test]
fn one_reader_fills_the_channel() {
    let findings = found(CHANNEL, &[8.0], &[6.8]);
    let local = ceiling(&findings, "local");
    assert!(local.labels.limit() == Some("memory") && local.noted(&codes::channels_are_full).is_some(), "{local:#?}");
    assert_eq!(share(&findings, "local", "of theoretical peak"), Some((94.0, CHANNEL)));
    assert_eq!(share(&findings, "local", "of link"), None, "no link is crossed");
    let wasted = local.noted(&codes::lines_wasted).unwrap();
    let rates = ["touched", "used"].map(|name| wasted.data[name].as_f64().map(|rate| (rate / 1e6).round()));
    assert_eq!(rates, [Some(8000.0), Some(1000.0)]);
    let remote = ceiling(&findings, "remote");
    assert!(remote.labels.statistic() == Some("at least") && remote.labels.limit().is_none(), "{remote:#?}");
}

/// With both modules on one socket, readers of the other one had 6.6, 8.3 and 8.3 GB/s: the second reader fills the
/// link, at 86 % of what it carries one way, and the channels are half idle.
#[test]
fn readers_across_the_link_fill_it() {
    for local in [&[][..], &[8.0]] {
        let findings = found(2.0 * CHANNEL, local, &[6.6, 8.3, 8.3]);
        let remote = ceiling(&findings, "remote");
        assert!(remote.labels.limit() == Some("link"), "{remote:#?}");
        assert!(remote.noted(&codes::link_is_nearest).is_some(), "{remote:#?}");
        assert_eq!(share(&findings, "remote", "of link"), Some((86.0, LINK)));
        assert_eq!(share(&findings, "remote", "of theoretical peak"), Some((49.0, 2.0 * CHANNEL)));
        let knee = findings.iter().find(|f| f.quantity == Quantity::ScaleKnee).unwrap();
        assert_eq!(knee.value, Some(2.0));
    }
    // Had the memory one channel, it would be the nearer ceiling.
    let findings = found(CHANNEL, &[], &[6.6, 8.3, 8.3]);
    assert_eq!(ceiling(&findings, "remote").labels.limit(), Some("memory"));
}

/// The same server as a matrix: rates of the other node are held against the link too.
#[test]
fn cells_of_a_matrix_are_shares_of_channel_and_link() {
    let ops = ["read", "write.cached", "write.nt", "read.random8/x86"];
    let params = serde_json::json!({ "ops": ops, "peak": CHANNEL, "link_rate": LINK });
    let rate = |step: &Step| {
        let rate = if step.labels.op()?.starts_with("write.cached") { 4.0e9 } else { 8.0e9 };
        let rate = if step.labels.op() == Some("read.random8/x86") { 1.0e9 } else { rate };
        (step.metric == Metric::Bandwidth).then_some(rate)
    };
    let findings = derived(&matrix::PROBE, params, rate);
    let share = |op: &str, node: u32, of: &str| {
        let fits = |f: &&Finding| {
            f.quantity == Quantity::MatrixShare
                && f.labels.op() == Some(op)
                && f.labels.from() == Some("node:0")
                && f.labels.node() == Some(node)
                && f.labels.statistic() == Some(of)
        };
        findings.iter().find(fits).and_then(|f| f.value).map(|share| (share * 100.0).round())
    };
    let shares = |op, node| (share(op, node, "of theoretical peak"), share(op, node, "of link"));
    assert_eq!(shares("read", 0), (Some(94.0), None));
    assert_eq!(shares("read", 1), (Some(94.0), Some(83.0)));
    assert_eq!(shares("write.nt", 1), (Some(94.0), Some(83.0)), "one way, without a read");
    assert_eq!(shares("write.cached", 1), (Some(94.0), Some(42.0)), "read first, and sent back: once each way");
    assert_eq!(shares("read.random8/x86", 1), (Some(94.0), Some(83.0)), "a whole line for 8 bytes");
}

/// Bytes per ns of ten cores and their siblings, whose memory is on the nodes of these threads in turn.
fn rate(machine: &Machine, options: &SimOptions, op: &str, far: &[bool]) -> f64 {
    let crew: Vec<CpuId> = machine.cores_first(&machine.nodes[0].cpus);
    let kernels: Vec<KernelInfo> = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    let is_known = |id: &KernelId| kernels.iter().any(|kernel| kernel.id == *id);
    let mut variants = ["sse2", "x86", "portable"].map(|set| KernelId(format!("{op}/{set}").into())).into_iter();
    let kernel = variants.find(is_known).unwrap();
    let layout = if op.contains("random") { Layout::Permuted } else { Layout::Data };
    let region = |far: &bool| RegionSetup {
        bytes: Bytes(GIB),
        policy: MemPolicy::Bind,
        nodes: [u32::from(*far)].into_iter().collect(),
        page: PageKind::Thp,
        layout,
    };
    let role = Role::Stream { kernel, rivals: Vec::new() };
    let setup = Setup {
        regions: crew.iter().enumerate().map(|(i, _)| region(&far[i % far.len()])).collect(),
        threads: crew.iter().enumerate().map(|(i, cpu)| ThreadSetup::new(*cpu, role.clone(), i)).collect(),
        seed: 1,
    };
    let mut host = SimHost::new(machine.clone(), kernels, options.clone());
    let shot = host.prepare(&setup).unwrap().shot(std::time::Duration::from_millis(5)).unwrap();
    let of = |t: &ThreadShot| {
        t.per_block * (t.stamps_ns.len() - 1) as f64 / (t.stamps_ns[t.stamps_ns.len() - 1] - t.stamps_ns[0])
    };
    shot.threads.iter().map(of).sum()
}

/// The shape of the published placement matrix: reads are limited by the link when remote, mixed placement helps
/// writes, not reads, and words at random are an eighth of their lines.
#[test]
fn placements_have_the_published_shape() {
    let synth =
        Synth { sockets: 2, cores_per_node: 10, cores_per_llc: 10, smt: 2, node_bytes: 32 << 30, ..Synth::default() };
    let machine = synth.machine().unwrap();
    // As much as ten cores and their siblings can ask of it, so that reads are theirs to limit and stores are not.
    let ceilings = Ceilings { node: Some(225e9), ..Ceilings::default() };
    for seed in 0..20 {
        let noise = if seed % 2 == 0 { 0.002 } else { 0.01 };
        let options = SimOptions { seed, noise, ceilings: ceilings.clone(), ..SimOptions::default() };
        let rates = |op: &str| [&[false][..], &[true], &[false, true]].map(|far| rate(&machine, &options, op, far));
        let [read, write, words] = ["read", "write", "read.random8"].map(rates);
        assert!((read[1] / 56.0 - 1.0).abs() < 0.02, "seed {seed}: the link limits remote reads: {read:?}");
        assert!(read[0] > 2.0 * read[1] && read[2] < read[0], "seed {seed}: {read:?}");
        assert!(write[2] > 1.08 * write[0], "seed {seed}: two memories share the writes: {write:?}");
        assert!(write[0] < 0.5 * read[0] && write[1] < write[0], "seed {seed}: a store reads and writes: {write:?}");
        assert!(words.iter().zip(&read).all(|(words, read)| *words < 0.14 * read), "seed {seed}: {words:?} {read:?}");
    }
}

/// A link or memory that is full carries three quarters of its theoretical rate and more: one that levels off at a
/// quarter of it met something else, or the stated rate is wrong.
#[test]
fn what_levels_off_far_below_its_stated_rate_has_no_limit() {
    for (local, remote, place) in
        [(&[7.0, 14.0, 15.0][..], &[2.4, 2.5, 2.5][..], "remote"), (&[3.0, 3.4, 3.4], &[], "local")]
    {
        let findings = found(2.0 * CHANNEL, local, remote);
        let found = ceiling(&findings, place);
        assert_eq!(found.labels.limit(), Some("unclear"), "{found:#?}");
        assert!(found.noted(&codes::saturates_far_below).is_some(), "{found:#?}");
    }
}
