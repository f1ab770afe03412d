//! Moving memory between nodes. Each body reads from the kernel where every page is before and after, and fails if one
//! did not move.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use tiermark_model::{MIB, Machine, NodeId, OsGroup, Refusal, Sweep};
use tiermark_system::os::{Area, Child, Shows, Tell, migrate_pages, move_pages};
use tiermark_system::{Clock, page_bytes};

use crate::body::{Body, Make, Order, Prepared, Primitive};
use crate::failure::{Failure, no_more, refused_by, unavailable};

/// How long a child may take to write its memory.
const LIMIT: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

const fn row(id: &'static str, text: &'static str, make: Make) -> Primitive {
    Primitive::new(OsGroup::Numa, id, text, make).bandwidth().over(sweeps).unless(one_node)
}

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[
    row(
        "move_pages",
        "moves base pages of this process to the other node, all in one call (MPOL_MF_MOVE). The move back does not \
         count",
        by_list,
    ),
    row(
        "migrate_pages",
        "moves the memory that a child has written; the child sleeps. The call goes through all mappings of the \
         child, including those inherited from this process. CAP_SYS_NICE is dropped for the call, so that pages \
         shared with other processes do not move",
        of_child,
    ),
    row(
        "mbind",
        "moves the pages of a mapping by changing its policy to the other node (MPOL_BIND with MPOL_MF_MOVE and \
         MPOL_MF_STRICT)",
        by_policy,
    ),
];

fn sweeps(_: &Machine) -> Vec<Sweep> {
    vec![Sweep::Bytes(vec![16 * MIB, MIB]), Sweep::NodePairs]
}

/// Why nothing moves.
fn one_node(machine: &Machine) -> Option<Refusal> {
    let with_memory = || machine.nodes.iter().filter(|node| node.memory_bytes != Some(0));
    let allowed = with_memory().filter(|node| machine.allowed_nodes.contains(node.id)).count();
    let refused = |why, cure| Some(unavailable("moving memory between nodes", why, cure));
    match (with_memory().count(), allowed) {
        (0..2, _) => refused("there is only one node with memory", "a machine or a guest with several nodes of memory"),
        (_, 0..2) => refused("only one node may be used", "allow more (cpuset.mems of the control group)"),
        _ => None,
    }
}

fn refused<E: Into<Failure>>(order: &Order<'_>) -> impl Fn(E) -> Refusal {
    let id = order.call.primitive.0.clone();
    let cure = "allow both nodes (--mem-node, cpuset.mems), free memory there, and a seccomp profile with mbind and \
        move_pages";
    move |failure| refused_by(&id, failure, cure)
}

/// The nodes of a call, and an area whose pages come from the first.
fn bound(order: &Order<'_>) -> Result<(Area, NodeId, NodeId), Refusal> {
    let (from, to) = order.call.nodes.ok_or_else(|| refused(order)("no nodes were named"))?;
    let bytes = order.call.bytes.unwrap_or(16 * MIB) as usize;
    let mut area = Area::map(Shows::Private, bytes.next_multiple_of(base())).map_err(refused(order))?;
    // A kernel without huge pages refuses this, and gives none.
    let _ = area.tell(Tell::BasePages);
    area.bind(from, false).map_err(refused(order))?;
    Ok((area, from, to))
}

fn base() -> usize {
    page_bytes().map_or(4096, |bytes| bytes as usize)
}

fn fill(area: &mut Area) {
    (0..area.bytes()).step_by(base()).for_each(|offset| area.write(offset));
}

/// The pages of an area, of this process or of another that has it at the same place.
struct Pages {
    pid: Option<Pid>,
    addresses: Vec<usize>,
    status: Vec<i32>,
}

impl Pages {
    fn of(area: &Area, pid: Option<Pid>) -> Self {
        let addresses: Vec<usize> = (0..area.bytes()).step_by(base()).map(|offset| area.address() + offset).collect();
        Self { pid, status: vec![i32::MIN; addresses.len()], addresses }
    }

    /// Whether all are on a node.
    fn are_on(&mut self, node: NodeId) -> Result<(), Failure> {
        move_pages(self.pid, &self.addresses, None, &mut self.status).map_err(Failure::of("move_pages"))?;
        match self.status.iter().filter(|at| **at != node.cast_signed()).count() {
            0 => Ok(()),
            n => Err(format!("{n} of {} pages are not on node {node}", self.status.len()).into()),
        }
    }

    /// Sends all to a node.
    fn go(&mut self, nodes: &[i32]) -> Result<(), Failure> {
        move_pages(self.pid, &self.addresses, Some(nodes), &mut self.status).map_err(Failure::of("move_pages"))
    }
}

/// Memory that goes to a node, which counts, and back, which does not.
struct There<M> {
    mover: M,
    pages: Pages,
    from: NodeId,
    to: NodeId,
    clock: Clock,
}

/// How all pages are sent to a node.
trait Mover: Send {
    fn go(&mut self, pages: &mut Pages, from: NodeId, to: NodeId) -> Result<(), Failure>;
}

impl<M: Mover> Body for There<M> {
    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        let began = self.clock.now();
        let aside = NiceAside::new();
        self.pages.are_on(self.from)?;
        let mut idle = self.clock.now() - began;
        for _ in 0..times {
            self.mover.go(&mut self.pages, self.from, self.to)?;
            let began = self.clock.now();
            self.pages.are_on(self.to)?;
            self.mover.go(&mut self.pages, self.to, self.from)?;
            idle += self.clock.now() - began;
        }
        let began = self.clock.now();
        drop(aside);
        self.pages.are_on(self.from)?;
        Ok(idle + (self.clock.now() - began))
    }
}

impl<M: Mover + 'static> There<M> {
    fn start(mover: M, pages: Pages, nodes: (NodeId, NodeId), order: &Order<'_>) -> Prepared {
        let mut body = Self { mover, pages, from: nodes.0, to: nodes.1, clock: *order.clock };
        // Once, so that what the system will not do is refused.
        body.run(1).map_err(refused(order))?;
        Ok(Box::new(body))
    }
}

/// The calling thread without CAP_SYS_NICE: migrate_pages would take pages along that other processes share.
struct NiceAside(Option<CapabilitySets>);

impl NiceAside {
    fn new() -> Self {
        let before = capabilities(None).ok().filter(|sets| sets.effective.contains(CapabilitySet::SYS_NICE));
        let aside = before.filter(|sets| {
            let effective = sets.effective - CapabilitySet::SYS_NICE;
            set_capabilities(None, CapabilitySets { effective, ..*sets }).is_ok()
        });
        Self(aside)
    }
}

impl Drop for NiceAside {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            // It is still permitted, so that it can be taken up again.
            let _ = set_capabilities(None, before);
        }
    }
}

/// move_pages.
struct List {
    _area: Area,
    /// The node for each page: there, and back.
    there: Vec<i32>,
    back: Vec<i32>,
    to: NodeId,
}

impl Mover for List {
    fn go(&mut self, pages: &mut Pages, _: NodeId, to: NodeId) -> Result<(), Failure> {
        pages.go(if to == self.to { &self.there } else { &self.back })
    }
}

fn by_list(order: &Order<'_>) -> Prepared {
    let (mut area, from, to) = bound(order)?;
    fill(&mut area);
    let pages = Pages::of(&area, None);
    let all = |node: NodeId| vec![node.cast_signed(); pages.addresses.len()];
    let list = List { there: all(to), back: all(from), to, _area: area };
    There::start(list, pages, (from, to), order)
}

/// mbind.
impl Mover for Area {
    fn go(&mut self, _: &mut Pages, _: NodeId, to: NodeId) -> Result<(), Failure> {
        self.bind(to, true).map_err(Failure::of("mbind"))
    }
}

fn by_policy(order: &Order<'_>) -> Prepared {
    let (mut area, from, to) = bound(order)?;
    fill(&mut area);
    let pages = Pages::of(&area, None);
    There::start(area, pages, (from, to), order)
}

/// migrate_pages of a child.
struct Migrated {
    child: Child,
    /// Keeps the child's memory mapped; this process has none of it.
    _area: Area,
}

impl Mover for Migrated {
    fn go(&mut self, _: &mut Pages, from: NodeId, to: NodeId) -> Result<(), Failure> {
        // Pages that did not move may be shared; the nodes of the child's own pages are checked afterwards.
        migrate_pages(self.child.pid(), from, to).map(drop).map_err(Failure::of("migrate_pages"))
    }
}

fn of_child(order: &Order<'_>) -> Prepared {
    let (mut area, from, to) = bound(order)?;
    let no_child = |error: &io::Error| no_more("a child whose memory moves", error);
    let (ready, tell) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| no_child(&error.into()))?;
    let life = || {
        fill(&mut area);
        let _ = rustix::io::write(&tell, &[1]);
        loop {
            let _ = rustix::thread::nanosleep(&Timespec { tv_sec: 60, tv_nsec: 0 });
        }
    };
    // SAFETY: system calls, and writing to memory that is there already.
    #[allow(unsafe_code, reason = "a fork")]
    let child = unsafe { Child::fork(life) };
    let child = child.map_err(|error| no_child(&error))?;
    drop(tell);
    wait(&ready).map_err(refused(order))?;
    let pages = Pages::of(&area, Some(child.pid()));
    There::start(Migrated { child, _area: area }, pages, (from, to), order)
}

/// Waits until the child has written its memory.
fn wait(ready: &OwnedFd) -> Result<(), Failure> {
    match rustix::io::retry_on_intr(|| poll(&mut [PollFd::new(ready, PollFlags::IN)], Some(&LIMIT))) {
        Ok(0) => return Err("the child has not written its memory in 20 s".into()),
        Ok(_) => {}
        Err(error) => return Err(Failure::of("poll")(error)),
    }
    match rustix::io::read(ready, &mut [0u8; 1]) {
        Ok(1) => Ok(()),
        _ => Err("the child ended before it had written its memory: out of memory on the node?".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{CpuModel, Node, OsCall, System};
    use tiermark_system::testing::{gives_back, in_own_process};

    /// The body of a call of so many bytes.
    fn made(primitive: &Primitive, nodes: (NodeId, NodeId), bytes: u64) -> Prepared {
        let call = OsCall { bytes: Some(bytes), nodes: Some(nodes), ..OsCall::new(primitive.id.into()) };
        let (clock, _) = Clock::choose(&CpuModel::default(), &System::default());
        (primitive.make)(&Order { call: &call, cpu: 0, clock: &clock })
    }

    fn nodes() -> Vec<NodeId> {
        // Nodes that have memory, by the kernel's word.
        let list = std::fs::read_to_string("/sys/devices/system/node/has_memory").unwrap_or_default();
        list.trim().parse::<tiermark_model::IdSet>().map(|set| set.iter().collect()).unwrap_or_default()
    }

    #[test]
    fn memory_goes_to_the_other_node_and_back() {
        // With one node nothing moves: such a system has the tests of the setup below.
        let (Some(from), Some(to)) = (nodes().first().copied(), nodes().get(1).copied()) else { return };
        if !in_own_process("numa::tests::memory_goes_to_the_other_node_and_back") {
            return;
        }
        let capable = capabilities(None).unwrap();
        for primitive in PRIMITIVES {
            gives_back(primitive.id, || {
                for (from, to) in [(from, to), (to, from)] {
                    let mut body = made(primitive, (from, to), 16 * MIB).unwrap_or_else(|why| panic!("{why}"));
                    for times in [1, 3] {
                        body.run(times).unwrap_or_else(|why| panic!("{}: {why}", primitive.id));
                    }
                }
            });
        }
        assert_eq!(capabilities(None).unwrap(), capable, "what was put aside is back");
    }

    #[test]
    fn a_node_that_is_not_there_is_refused_and_nothing_stays() {
        if !in_own_process("numa::tests::a_node_that_is_not_there_is_refused_and_nothing_stays") {
            return;
        }
        let Some(here) = nodes().first().copied() else { return };
        let capable = capabilities(None).unwrap();
        for primitive in PRIMITIVES {
            gives_back(primitive.id, || {
                let Err(refusal) = made(primitive, (here, 1_000), 16 * MIB) else { panic!("{} moved", primitive.id) };
                assert!(!refusal.cure.is_empty() && refusal.what == primitive.id, "{refusal}");
            });
        }
        assert_eq!(capabilities(None).unwrap(), capable, "what was put aside is back");
    }

    #[test]
    fn pages_are_asked_for_where_they_are() {
        let nodes = nodes();
        let Some(here) = nodes.first().copied().filter(|_| nodes.len() == 1) else { return };
        let mut area = Area::map(Shows::Private, MIB as usize).unwrap();
        let mut pages = Pages::of(&area, None);
        assert_eq!(pages.addresses.len(), MIB as usize / base());
        assert!(pages.are_on(here).is_err(), "pages that were never touched are nowhere");
        fill(&mut area);
        pages.are_on(here).unwrap();
        assert!(pages.are_on(here + 1).unwrap_err().to_string().contains("of"));
        // A move to where they are is a success of the call.
        pages.go(&vec![here.cast_signed(); pages.addresses.len()]).unwrap();
    }

    #[test]
    fn one_node_is_a_refusal_and_two_are_not() {
        let node = |id| Node { id, memory_bytes: Some(MIB), ..Node::default() };
        let empty = Node { id: 1, memory_bytes: Some(0), ..Node::default() };
        let machine =
            |nodes, allowed: &str| Machine { nodes, allowed_nodes: allowed.parse().unwrap(), ..Machine::default() };
        assert!(one_node(&machine(vec![node(0), empty], "0-1")).unwrap().why.contains("only one node with memory"));
        assert_eq!(one_node(&machine(vec![node(0), node(1)], "0-1")), None);
        let fenced = one_node(&machine(vec![node(0), node(1)], "1")).unwrap();
        assert!(fenced.cure.contains("cpuset.mems"), "{fenced}");
    }
}
