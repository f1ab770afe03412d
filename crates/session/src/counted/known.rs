//! Counts beside streams whose bytes are known: whether the counters of this machine make sense.

use std::time::Duration;

use tiermark_counters::{BoxNodes, Fault, KnownCrossing, KnownStream, check_known, check_links, nodes_of};
use tiermark_engine::{Host, Rig, Shot, ThreadShot};
use tiermark_model::{
    Bytes, CounterCheck, CounterSight, CpuId, IdSet, KernelInfo, Layout, LinkCheck, Machine, MemPolicy, Node, PageKind,
    RegionSetup, Role, Setup, StepTraffic, StoreKind, ThreadSetup, Traffic,
};

/// Threads of a stream: enough to be far above the background, few enough that no channel is full.
const THREADS: usize = 4;
/// Memory of each thread: with several of them beyond the last-level cache of most processors.
const BYTES: u64 = 128 << 20;
/// Memory that a stream needs at least, in parts of the last-level cache: what the cache keeps of it, an eighth, does
/// not reach memory.
const CACHES: u64 = 8;
/// Shots of a stream, and the time of each.
const SHOTS: usize = 20;
const SHOT: Duration = Duration::from_millis(10);

/// A stream of ordinary loads, and one of ordinary stores: each on the memory of each socket.
const OPS: [&str; 2] = ["read", "write"];

/// Compares the counters of a host, which see this, with streams on each socket. `None` if no stream could be run.
pub(crate) fn check(host: &mut dyn Host, sees: &[CounterSight]) -> Option<CounterCheck> {
    let mut check = CounterCheck { known: 0.0, counted: None, faults: Vec::new(), links: None };
    let mut ran = false;
    for socket in host.machine().sockets().iter().collect::<Vec<_>>() {
        let (mut known, mut counted) = ((0.0, 0.0), Traffic::default());
        // All nodes of the socket: a channel of another one would be silent.
        let nodes = nodes_of_socket(host.machine(), socket);
        let streams: Option<Vec<_>> = OPS.iter().map(|op| stream(host, socket, nodes.clone(), op)).collect();
        // A correct count of reads does not show that writes are counted. No stream runs on a socket without allowed
        // cpus or memory.
        let Some(streams) = streams else { continue };
        for (kernel, seen) in streams {
            let useful = seen.useful.unwrap_or(0.0);
            let (read, written) = kernel.traffic();
            known = (known.0 + read * useful, known.1 + written * useful);
            counted.add(&seen.counted);
        }
        ran = true;
        let channels = channels_of_socket(host.machine());
        let stream = KnownStream { socket, read: known.0, write: known.1, channels };
        check.faults.extend(check_known(&counted, &stream, sees).iter().map(Fault::note));
        check.known += stream.seen_by(&counted);
        let own = counted.sum(|place| place.socket.is_none_or(|own| own == socket)).total;
        check.counted = own.map(|own| own + check.counted.unwrap_or(0.0)).or(check.counted);
    }
    // Without counts of links the streams would be for nothing.
    if ran && [CounterSight::LinkSent, CounterSight::LinkReceived].iter().any(|link| sees.contains(link)) {
        check.links = links(host);
    }
    ran.then_some(check)
}

/// Compares the links between two sockets with streams of each through the memory of the other. `None` if no way is
/// counted, or there are not exactly two sockets: the road between two of more may lead over a third.
fn links(host: &mut dyn Host) -> Option<LinkCheck> {
    let sockets: Vec<u32> = host.machine().sockets().iter().collect();
    let [one, other] = sockets[..] else { return None };
    let mut streams = Vec::new();
    for (from, to) in [(one, other), (other, one)] {
        let nodes = nodes_of_socket(host.machine(), from);
        let (_, seen) = stream(host, to, nodes, OPS[0])?;
        streams.push((seen.counted, KnownCrossing { from, to, bytes: seen.useful? }));
    }
    check_links(&streams)
}

/// The channels with modules of one socket, where they are known and spread evenly.
fn channels_of_socket(machine: &Machine) -> Option<usize> {
    let channels = machine.real_peak()?.channels.filter(|channels| !channels.at_most)?;
    let populated = channels.populated as usize;
    let sockets = machine.processors();
    populated.is_multiple_of(sockets).then_some(populated / sockets)
}

/// The nodes of the boxes of sockets that have several, from a stream to the memory of each.
pub(crate) fn nodes(host: &mut dyn Host) -> BoxNodes {
    let mut streams = Vec::new();
    for socket in host.machine().sockets().iter().collect::<Vec<_>>() {
        let nodes = nodes_of_socket(host.machine(), socket);
        for node in nodes.iter().filter(|_| nodes.len() > 1) {
            let seen = stream(host, socket, [node].into_iter().collect(), OPS[0]);
            streams.extend(seen.map(|(_, seen)| (node, seen.counted)));
        }
    }
    nodes_of(&streams)
}

/// The nodes with cpus of a socket and memory.
fn nodes_of_socket(machine: &Machine, socket: u32) -> IdSet {
    let cpus: IdSet = machine.cpus.iter().filter(|cpu| cpu.socket == socket).map(|cpu| cpu.id).collect();
    let own = machine.nodes.iter().filter(|node| has_memory(node) && !node.cpus.intersection(&cpus).is_empty());
    own.map(|node| node.id).collect()
}

/// Streams through memory of some nodes of a socket from its own cpus. `None` if that cannot be set up here.
fn stream(host: &mut dyn Host, socket: u32, nodes: IdSet, op: &str) -> Option<(KernelInfo, StepTraffic)> {
    let machine = host.machine();
    let cpus: IdSet = machine.cpus.iter().filter(|cpu| cpu.socket == socket).map(|cpu| cpu.id).collect();
    let cpus = machine.one_per_core(&cpus.intersection(&machine.allowed_cpus));
    let cpus: Vec<CpuId> = cpus.iter().take(THREADS).collect();
    if nodes.is_empty() || cpus.is_empty() {
        return None;
    }
    let cache = machine.data_caches().filter_map(|cache| cache.bytes).max().unwrap_or(0);
    let bytes = BYTES.max(CACHES * cache / cpus.len() as u64);
    let plain = |kernel: &&KernelInfo| {
        kernel.id.op() == op && kernel.plain && matches!(kernel.store_kind, StoreKind::None | StoreKind::Cached)
    };
    let kernel = host.bench().kernels.iter().filter(plain).max_by_key(|kernel| kernel.isa)?.clone();
    let region = RegionSetup {
        bytes: Bytes(bytes),
        policy: if nodes.len() > 1 { MemPolicy::Interleave } else { MemPolicy::Bind },
        nodes,
        page: PageKind::Thp,
        layout: Layout::Data,
    };
    let role = Role::Stream { kernel: kernel.id.clone(), rivals: Vec::new() };
    let threads = cpus.iter().enumerate().map(|(index, cpu)| ThreadSetup::new(*cpu, role.clone(), index)).collect();
    let setup = Setup { regions: vec![region; cpus.len()], threads, seed: 1 };
    let (idle, watts) = (host.bench().idle_traffic.clone(), host.bench().idle_watts);
    let mut rig = host.prepare(&setup).ok()?;
    // The first shot brings the lines that the fill left in caches back to memory.
    shoot(rig.as_mut())?;
    let mut sum = StepTraffic::default();
    for _ in 0..SHOTS {
        sum.add(&shoot(rig.as_mut())?);
    }
    Some((kernel, sum.without_idle(idle.as_ref(), watts)))
}

/// A shot with its useful bytes.
fn shoot(rig: &mut dyn Rig) -> Option<StepTraffic> {
    let shot = rig.shot(SHOT).ok()?;
    Some(StepTraffic { useful: Some(useful(&shot)?), ..shot.traffic? })
}

/// The useful bytes of a shot of streams; `None` if they are not known.
pub(super) fn useful(shot: &Shot) -> Option<f64> {
    let done = |own: &ThreadShot| Some(own.per_block * own.stamps_ns.len().saturating_sub(1) as f64 + own.unstamped?);
    shot.threads.iter().map(done).sum()
}

fn has_memory(node: &Node) -> bool {
    node.memory_bytes.is_some_and(|bytes| bytes > 0)
}
