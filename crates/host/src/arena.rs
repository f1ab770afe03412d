//! The memory of a run: mapped, populated and filled once, before the first visit, by all cpus of the run on its node.
//! Setups whose memory is of the plain kind get slices of it.
//!
//! A host may give a guest memory only when it is touched, 0.4 GB a second and thread, and take back what the guest
//! frees: 70 fills of all sizes took 44 s of a minute where one fill by all cpus takes 2 (KVM, host pages of 4 KiB).

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use tiermark_engine::admit::{Fresh, admit};
use tiermark_engine::{Filled, nearest_memory_node};
use tiermark_kernels::layout::LINE;
use tiermark_kernels::rng::Rng;
use tiermark_model::{
    Bytes, CpuId, IdSet, Layout, Machine, MemPolicy, PageKind, RegionSetup, Role, Setup, ThreadSetup,
};
use tiermark_system::Mapping;

use crate::check;
use crate::region::{Order, Region, populate};

/// Places that are tried for a chain before one takes words of others.
const TRIES: usize = 32;
/// The words of a line, each of which may belong to another chain.
const WORDS: usize = LINE / 8;

/// The nodes and the kind of page of memory, and whether it is for chains: no stream writes to that.
type Kind = (IdSet, PageKind, bool);

/// Bytes that each setup needs of each kind of memory.
type Needs = BTreeMap<Kind, Vec<usize>>;

/// Memory of one kind.
#[derive(Debug)]
struct Ground {
    kind: Kind,
    whole: Arc<Region>,
    /// Chains that are there, each with its number among the regions of its setup and with its seed.
    chains: Mutex<Vec<(usize, u64, Weak<Region>)>>,
}

/// All memory of a run.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    grounds: Vec<Ground>,
}

impl Arena {
    /// Makes the memory that these setups need, as far as there is room, and gives back what they do not need. Memory
    /// that suffices stays.
    pub(crate) fn furnish(
        &mut self,
        setups: &[&Setup],
        machine: &Machine,
        most: u64,
        fresh: impl Fn() -> Fresh,
        stopped: &AtomicBool,
    ) -> Filled {
        let all = needs_of(setups, machine);
        let mut needs = all.clone();
        let mut cpus = IdSet::new();
        setups.iter().for_each(|setup| cpus = cpus.union(&setup.cpus()));
        let suffices = |ground: &Ground| all.get(&ground.kind).is_some_and(|needs| most_of(needs) <= ground.bytes());
        // What rigs use stays beside what takes its place.
        let is_used = |ground: &Ground| Arc::strong_count(&ground.whole) > 1;
        self.grounds.retain(|ground| suffices(ground) || (all.contains_key(&ground.kind) && is_used(ground)));
        needs.retain(|kind, _| !self.grounds.iter().any(|ground| ground.kind == *kind && suffices(ground)));
        let held: usize = self.grounds.iter().map(Ground::bytes).sum();
        let fresh = fresh();
        while !fits(&needs, machine, &fresh, most.saturating_sub(held as u64)) {
            // The largest is left out; of two, the chain, which may lie over streams.
            let Some(needs) = needs.values_mut().max_by_key(|needs| most_of(needs)) else { break };
            let largest = most_of(needs);
            needs.retain(|need| *need < largest);
        }
        let began = Instant::now();
        let seed = setups.first().map_or(0, |setup| setup.seed);
        let mut bytes = 0;
        for (kind, needs) in needs {
            let Some(ground) = Ground::make(kind, &needs, machine) else { continue };
            let cpus = cpus_near(&ground.kind.0, &cpus, machine);
            if populate(&ground.whole, seed, &cpus, stopped) {
                bytes += ground.whole.mapping.bytes() as u64;
                self.grounds.push(ground);
            }
        }
        Filled { bytes, seconds: began.elapsed().as_secs_f64() }
    }

    /// The regions of a setup, as slices; `None` where its memory is not there. `seed` decides where they lie.
    pub(crate) fn regions(&self, setup: &Setup, orders: &[Order<'_>], machine: &Machine) -> Option<Vec<Arc<Region>>> {
        if !setup.is_plain() {
            return None;
        }
        let mut own: BTreeMap<Kind, Vec<usize>> = BTreeMap::new();
        for (index, order) in orders.iter().enumerate() {
            own.entry(kind_of(order)).or_default().push(index);
        }
        let mut regions: Vec<Option<Arc<Region>>> = vec![None; orders.len()];
        let mut rng = Rng::new(setup.seed);
        for (kind, indices) in own {
            let orders: Vec<(usize, &Order<'_>)> = indices.iter().map(|index| (*index, &orders[*index])).collect();
            let bytes: usize = orders.iter().map(|(_, order)| slice_bytes(order, machine)).sum();
            let has_room = |ground: &&Ground| ground.bytes() >= bytes;
            // Where there was no room for large chains, they are written over what streams use.
            let of_streams = (kind.0.clone(), kind.1, false);
            let is_chain = kind.2;
            let kinds = [kind, of_streams];
            let mut fitting = kinds
                .iter()
                .flat_map(|kind| self.grounds.iter().filter(move |ground| ground.kind == *kind).filter(has_room));
            let ground = fitting.next()?;
            let placed = if is_chain {
                ground.place_chains(&orders, setup.seed, machine, &mut rng)
            } else {
                ground.place_streams(&orders, machine, &mut rng)
            };
            indices.iter().zip(placed).for_each(|(index, region)| regions[*index] = Some(region));
        }
        regions.into_iter().collect()
    }
}

/// The kind of memory of a region.
fn kind_of(order: &Order<'_>) -> Kind {
    (order.target.clone(), order.setup.page, matches!(order.setup.layout, Layout::Chain(_)))
}

fn most_of(needs: &[usize]) -> usize {
    needs.iter().copied().max().unwrap_or_default()
}

/// What setups need of each kind of memory.
fn needs_of(setups: &[&Setup], machine: &Machine) -> Needs {
    let mut all = Needs::new();
    for setup in setups.iter().filter(|setup| setup.is_plain()) {
        // One that cannot be had is refused where it is prepared.
        let Ok(orders) = check::setup(setup, machine) else { continue };
        let mut own: BTreeMap<Kind, usize> = BTreeMap::new();
        for order in &orders {
            *own.entry(kind_of(order)).or_default() += slice_bytes(order, machine);
        }
        own.into_iter().for_each(|(kind, bytes)| all.entry(kind).or_default().push(bytes));
    }
    all
}

/// Bytes of the slice of a region: whole base pages, with room for a chain that does not begin with the first word of
/// its lines.
fn slice_bytes(order: &Order<'_>, machine: &Machine) -> usize {
    let shift = if let Layout::Chain(_) = order.setup.layout { LINE } else { 0 };
    (order.used() + shift).next_multiple_of(crate::region::page_size(PageKind::Base, machine))
}

/// The memory of a ground, as a region.
fn whole((nodes, page, _): &Kind, needs: &[usize]) -> RegionSetup {
    let bytes = Bytes(most_of(needs) as u64);
    RegionSetup { bytes, policy: MemPolicy::Bind, nodes: nodes.clone(), page: *page, layout: Layout::Data }
}

/// Whether there is room for memory of all these kinds.
fn fits(needs: &Needs, machine: &Machine, fresh: &Fresh, most: u64) -> bool {
    let regions = needs.iter().map(|(kind, needs)| whole(kind, needs));
    let regions: Vec<RegionSetup> = regions.filter(|region| region.bytes.0 > 0).collect();
    let Some(cpu) = machine.allowed_cpus.first().filter(|_| !regions.is_empty()) else { return true };
    let threads = vec![ThreadSetup::new(cpu, Role::Chase { chains: 1 }, 0)];
    let setup = Setup { regions, threads, seed: 0 };
    setup.total_bytes().0 <= most && admit(&setup, machine, fresh).is_ok()
}

/// The cpus of a run that fill memory of a node: its own, or, where there are none, those that are nearest to it.
fn cpus_near(nodes: &IdSet, cpus: &IdSet, machine: &Machine) -> Vec<CpuId> {
    let is_near = |cpu: &CpuId| nearest_memory_node(*cpu, machine).is_none_or(|node| nodes.contains(node));
    let near: Vec<CpuId> = cpus.iter().filter(is_near).collect();
    if near.is_empty() { cpus.iter().collect() } else { near }
}

/// Where regions that lie side by side begin.
fn side_by_side(at: usize, lengths: &[usize]) -> Vec<usize> {
    lengths.iter().scan(at, |at, length| Some(std::mem::replace(at, *at + length))).collect()
}

impl Ground {
    /// Maps it; `None` where the system refuses, or nothing is needed.
    fn make(kind: Kind, needs: &[usize], machine: &Machine) -> Option<Self> {
        let setup = whole(&kind, needs);
        if setup.bytes.0 == 0 {
            return None;
        }
        let order = Order { setup: &setup, target: kind.0.clone(), streams: 1, note: None, offset: 0 };
        let whole = Region::map(&order, machine).map(Arc::new).ok()?;
        Some(Self { kind, whole, chains: Mutex::default() })
    }

    fn bytes(&self) -> usize {
        self.whole.mapping.bytes()
    }

    fn slice(&self, order: &Order<'_>, offset: usize, bytes: usize) -> Arc<Region> {
        Arc::new(Region::slice(&self.whole, order, Mapping::part(&self.whole.mapping, offset, bytes)))
    }

    /// An offset for regions of these lengths, drawn from those at which memory of their own might begin.
    fn draw(&self, lengths: &[usize], rng: &mut Rng) -> usize {
        let (total, largest) = (lengths.iter().sum::<usize>(), lengths.iter().copied().max().unwrap_or(1));
        let align = largest.next_power_of_two().clamp(self.whole.grain, self.whole.page_bytes);
        rng.below((self.bytes() - total) / align + 1) * align
    }

    /// Slices for streams of one setup, which fit, side by side at an offset that is drawn.
    fn place_streams(&self, orders: &[(usize, &Order<'_>)], machine: &Machine, rng: &mut Rng) -> Vec<Arc<Region>> {
        let lengths: Vec<usize> = orders.iter().map(|(_, order)| slice_bytes(order, machine)).collect();
        let offsets = side_by_side(self.draw(&lengths, rng), &lengths);
        orders
            .iter()
            .zip(offsets)
            .zip(&lengths)
            .map(|(((_, order), at), bytes)| self.slice(order, at, *bytes))
            .collect()
    }

    /// Slices for chains of one setup, which fit: those that are there already, or where the fewest chains end.
    fn place_chains(
        &self,
        orders: &[(usize, &Order<'_>)],
        seed: u64,
        machine: &Machine,
        rng: &mut Rng,
    ) -> Vec<Arc<Region>> {
        let mut chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        chains.retain(|(.., region)| region.strong_count() > 0);
        let there = orders.iter().map(|(index, order)| {
            let own = chains.iter().filter(|(number, of, _)| (*number, *of) == (*index, seed));
            let mut own = own.filter_map(|(.., region)| region.upgrade());
            own.find(|region| (region.bytes, region.layout) == (order.setup.bytes.0 as usize, order.setup.layout))
        });
        if let Some(there) = there.collect::<Option<Vec<_>>>() {
            return there;
        }
        let lengths: Vec<usize> = orders.iter().map(|(_, order)| slice_bytes(order, machine)).collect();
        let ended = |at: usize| {
            let each = orders.iter().zip(side_by_side(at, &lengths)).map(|((_, order), at)| match order.setup.layout {
                Layout::Chain(chain) => self.whole.mapping.chain_bytes_within(at, order.setup.bytes.0 as usize, chain),
                _ => 0,
            });
            each.sum::<usize>()
        };
        let (mut best, mut least) = (0, usize::MAX);
        for _ in 0..TRIES {
            let at = self.draw(&lengths, rng) + 8 * rng.below(WORDS);
            let bytes = ended(at);
            if bytes < least {
                (best, least) = (at, bytes);
            }
            if least == 0 {
                break;
            }
        }
        let placed = orders.iter().zip(side_by_side(best, &lengths)).map(|((index, order), at)| {
            let region = self.slice(order, at, order.setup.bytes.0 as usize);
            chains.push((*index, seed, Arc::downgrade(&region)));
            region
        });
        placed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tiermark_model::{ChainLayout, Cpu, KernelId, MIB, Node, testing};

    fn machine() -> Machine {
        let cpu = |id| Cpu { id, ..Cpu::default() };
        Machine {
            cpus: vec![cpu(0), cpu(1)],
            allowed_cpus: IdSet::from_iter([0, 1]),
            nodes: vec![Node { id: 0, memory_bytes: Some(4 << 30), ..Node::default() }],
            page_bytes: 4096,
            ..Machine::default()
        }
    }

    fn setup(bytes: u64, page: PageKind, layout: Layout, seed: u64) -> Setup {
        let role = match layout {
            Layout::Chain(_) => Role::Chase { chains: 1 },
            _ => Role::Stream { kernel: KernelId::from("read/portable"), rivals: Vec::new() },
        };
        let regions = vec![testing::region(bytes, page, layout)];
        Setup { regions, threads: vec![ThreadSetup::new(0, role, 0)], seed }
    }

    const CHAIN: Layout = Layout::Chain(ChainLayout::Random);

    fn made(setups: &[Setup], most: u64) -> (Arena, Filled) {
        let mut arena = Arena::default();
        let setups: Vec<&Setup> = setups.iter().collect();
        let filled = arena.furnish(&setups, &machine(), most, Fresh::default, &AtomicBool::new(false));
        (arena, filled)
    }

    fn slice(arena: &Arena, setup: &Setup) -> Option<Arc<Region>> {
        let machine = machine();
        let orders = check::setup(setup, &machine).unwrap();
        arena.regions(setup, &orders, &machine).map(|mut regions| regions.remove(0))
    }

    #[test]
    fn each_kind_of_page_is_filled_once_with_the_largest_needs() {
        let setups = [
            setup(MIB, PageKind::Thp, Layout::Data, 1),
            setup(8 * MIB, PageKind::Thp, Layout::Data, 1),
            setup(4 * MIB, PageKind::Thp, CHAIN, 1),
            setup(2 * MIB, PageKind::Base, CHAIN, 1),
            setup(64 * MIB, PageKind::Thp, Layout::Shared, 1),
        ];
        let (arena, filled) = made(&setups[..4], u64::MAX);
        assert_eq!(arena.grounds.len(), 3);
        assert!((14 * MIB..18 * MIB).contains(&filled.bytes) && filled.seconds > 0.0, "{filled:?}");
        // No page is empty, and none compresses.
        for ground in &arena.grounds {
            let bytes = ground.whole.mapping.bytes();
            let words: BTreeSet<u64> =
                ground.whole.mapping.fill(0, bytes, |words| words.iter().step_by(64).copied().collect());
            assert_eq!(words.len(), bytes / 512);
        }
        for setup in &setups[..4] {
            assert!(slice(&arena, setup).is_some());
        }
        let other = setup(16 * MIB, PageKind::Thp, Layout::Data, 1);
        assert!(slice(&arena, &other).is_none(), "larger than all that was planned");
    }

    #[test]
    fn memory_that_suffices_stays_and_what_is_not_needed_goes() {
        let large = [setup(8 * MIB, PageKind::Thp, Layout::Data, 1), setup(MIB, PageKind::Base, Layout::Data, 1)];
        let (mut arena, _) = made(&large, u64::MAX);
        let mut again = |setups: &[&Setup]| {
            let (machine, stopped) = (machine(), AtomicBool::new(false));
            let filled = arena.furnish(setups, &machine, u64::MAX, Fresh::default, &stopped);
            (filled.bytes, arena.grounds.len())
        };
        let small = setup(2 * MIB, PageKind::Thp, Layout::Data, 1);
        assert_eq!(again(&[&small]), (0, 1));
        let chained = setup(2 * MIB, PageKind::Thp, CHAIN, 1);
        let (filled, grounds) = again(&[&small, &chained]);
        assert!((2 * MIB..5 * MIB).contains(&filled) && grounds == 2, "only what was not there: {filled}");
        assert_eq!(again(&[]), (0, 0));
    }

    #[test]
    fn what_does_not_fit_is_left_out_the_largest_first() {
        let setups = [8, 4, 2].map(|mib| setup(mib * MIB, PageKind::Thp, Layout::Data, 1));
        let (arena, filled) = made(&setups, 5 * MIB);
        assert_eq!(filled.bytes, 4 * MIB);
        assert!(slice(&arena, &setups[0]).is_none() && slice(&arena, &setups[1]).is_some());
        assert_eq!(made(&setups, MIB).1.bytes, 0);
        let stopped =
            Arena::default().furnish(&[&setups[0]], &machine(), u64::MAX, Fresh::default, &AtomicBool::new(true));
        assert_eq!(stopped.bytes, 0, "a stop is heard");
    }

    #[test]
    fn allocations_lie_at_several_places_and_chains_beside_each_other() {
        let data = |seed| setup(64 << 10, PageKind::Thp, Layout::Data, seed);
        let chain = |seed, bytes| setup(bytes, PageKind::Thp, CHAIN, seed);
        let (arena, _) = made(&[setup(8 * MIB, PageKind::Thp, Layout::Data, 1), chain(1, 4 * MIB)], u64::MAX);
        let places: BTreeSet<usize> =
            (0..5).map(|seed| slice(&arena, &data(seed)).unwrap().mapping.address()).collect();
        assert!(places.len() >= 4, "{places:x?}");
        assert!(places.iter().all(|at| at % (64 << 10) == 0));
        // Eight chains over all lines of the part, and no more.
        let chains: Vec<Arc<Region>> = (0..8).map(|seed| slice(&arena, &chain(seed, 4 * MIB)).unwrap()).collect();
        for (seed, region) in chains.iter().enumerate() {
            region.fill(0, seed as u64, None, &|| false).unwrap();
        }
        assert!(chains.iter().filter(|region| !region.is_lost()).count() >= 5, "most find words of their own");
        let ninth = slice(&arena, &chain(9, 64 << 10)).unwrap();
        ninth.fill(0, 9, None, &|| false).unwrap();
        assert!(!ninth.is_lost());
        // A rig of another step on the same chain shares it.
        assert!(Arc::ptr_eq(&slice(&arena, &chain(3, 4 * MIB)).unwrap(), &chains[3]));
        let lost = chains.iter().find(|region| region.is_lost());
        if let Some(lost) = lost {
            lost.fill(0, 1, None, &|| false).unwrap();
            assert!(!lost.is_lost(), "it is made again where it was");
        }
    }
}
