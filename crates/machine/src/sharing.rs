//! Which cpus share a cache. The kernel says so up to three times: by the id of the instance, by a mask and by a list.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tiermark_model::{CacheKind, Cpu, CpuId, DisputedFact, IdSet};

use crate::reader::Reader;

/// A cache as one cpu sees it.
pub(crate) struct CacheView {
    pub(crate) cpu: CpuId,
    pub(crate) core: u32,
    pub(crate) socket: u32,
    pub(crate) dir: String,
    pub(crate) level: u8,
    pub(crate) kind: CacheKind,
}

/// Caches beyond this level may serve several packages (the L4 of a mainframe's drawer).
const LAST_OF_A_PACKAGE: u8 = 3;

/// The cpus that share each cache, by each cpu of it.
type Claims = BTreeMap<(u8, CacheKind, CpuId), IdSet>;

/// The cpus that share each cache: those with the same id, by which the kernel allocates cache (resctrl), where ids can
/// mean that; else the mask if all its members report the same, else the list likewise, else (some firmware shows empty
/// sets) the threads of the core. No cache up to L3 serves two packages: of a set that spans them, each has its part.
///
/// The mask comes before the list: it is older, and kernels before 5.16 cut long lists at one page.
pub(crate) fn sharers(reader: &Reader<'_>, cpus: &[Cpu], views: &[CacheView]) -> Vec<IdSet> {
    let online: IdSet = cpus.iter().map(|cpu| cpu.id).collect();
    let mut cores: BTreeMap<u32, IdSet> = BTreeMap::new();
    for cpu in cpus {
        cores.entry(cpu.core).or_default().insert(cpu.id);
    }
    let sets = |read: &dyn Fn(&str) -> Option<IdSet>| -> Claims {
        let claim = |view: &CacheView| Some((key(view), reader.among(&read(&view.dir)?, &online)));
        views.iter().filter_map(claim).collect()
    };
    let mut named = [
        ("the cache ids", by_id(reader, views)),
        ("shared_cpu_map", sets(&|dir| reader.id_mask(&format!("{dir}/shared_cpu_map")))),
        ("shared_cpu_list", sets(&|dir| reader.id_list(&format!("{dir}/shared_cpu_list")))),
    ];
    let [(_, ids), (_, masks), (_, lists)] = &mut named;
    let unsound = Unsound::of(reader, views, ids);
    // Ids that count within one kind of cores mean nothing; those that span packages say something that is wrong.
    ids.retain(|(level, ..), _| !unsound.sizes.contains(level));
    let sound: Claims = ids
        .iter()
        .filter(|((level, ..), _)| !unsound.packages.contains(level))
        .map(|(key, cpus)| (*key, cpus.clone()))
        .collect();
    let mut settled: Vec<Option<IdSet>> = vec![None; views.len()];
    let sources = [&sound, &*masks, &*lists];
    // A source that is whole comes before one that holds for some of a level's caches: parts of two would overlap.
    for whole in [true, false] {
        sources.iter().for_each(|claims| settle(views, claims, &mut settled, whole));
    }
    let open = cpus_of(views, &settled, false);
    let threads = |view: &CacheView| {
        let open = open.get(&(view.level, view.kind)).cloned().unwrap_or_default();
        cores.get(&view.core).map(|core| core.intersection(&open)).unwrap_or_default()
    };
    let mut packages: BTreeMap<u32, IdSet> = BTreeMap::new();
    for cpu in cpus {
        packages.entry(cpu.socket).or_default().insert(cpu.id);
    }
    let of_package = |view: &CacheView, cpus: IdSet| match packages.get(&view.socket) {
        Some(package) if view.level <= LAST_OF_A_PACKAGE => cpus.intersection(package),
        _ => cpus,
    };
    let shared = |(view, cpus): (&CacheView, Option<IdSet>)| of_package(view, cpus.unwrap_or_else(|| threads(view)));
    let found: Vec<IdSet> = views.iter().zip(settled).map(shared).collect();
    dispute(reader, views, &found, &named);
    found
}

fn key(view: &CacheView) -> (u8, CacheKind, CpuId) {
    (view.level, view.kind, view.cpu)
}

/// The cpus with the same id, of each level and kind of which every cpu has an id.
fn by_id(reader: &Reader<'_>, views: &[CacheView]) -> Claims {
    let mut instances: BTreeMap<(u8, CacheKind), Option<BTreeMap<u32, IdSet>>> = BTreeMap::new();
    let mut ids: Vec<Option<u32>> = Vec::new();
    for view in views {
        let id = reader.number::<u32>(&format!("{}/id", view.dir));
        let of_level = instances.entry((view.level, view.kind)).or_insert_with(|| Some(BTreeMap::new()));
        match id {
            Some(id) => of_level.iter_mut().for_each(|all| all.entry(id).or_default().insert(view.cpu)),
            None => *of_level = None,
        }
        ids.push(id);
    }
    let claim = |(view, id): (&CacheView, Option<u32>)| {
        let cpus = instances.get(&(view.level, view.kind))?.as_ref()?.get(&id?)?;
        Some((key(view), cpus.clone()))
    };
    views.iter().zip(ids).filter_map(claim).collect()
}

/// Levels at which ids cannot mean instances of a cache.
#[derive(Default)]
struct Unsound {
    /// One id joins cpus of several packages.
    packages: BTreeSet<u8>,
    /// One id joins caches of several sizes, as the ids of processors with two kinds of cores do.
    sizes: BTreeSet<u8>,
}

impl Unsound {
    fn of(reader: &Reader<'_>, views: &[CacheView], ids: &Claims) -> Self {
        type Instance = (u32, Option<u64>);
        let mut instances: HashMap<(u8, CacheKind, &IdSet), Instance> = HashMap::new();
        let mut found = Self::default();
        for view in views {
            let Some(cpus) = ids.get(&key(view)) else { continue };
            let (package, size) = (view.socket, reader.size(&format!("{}/size", view.dir)));
            let first = instances.entry((view.level, view.kind, cpus)).or_insert((package, size));
            if first.0 != package {
                found.packages.insert(view.level);
            }
            if first.1 != size {
                found.sizes.insert(view.level);
            }
        }
        found
    }
}

/// The cpus of each level and kind whose cache is settled, or is not.
fn cpus_of(views: &[CacheView], settled: &[Option<IdSet>], is_settled: bool) -> BTreeMap<(u8, CacheKind), IdSet> {
    let mut cpus: BTreeMap<(u8, CacheKind), IdSet> = BTreeMap::new();
    for (view, _) in views.iter().zip(settled).filter(|(_, settled)| settled.is_some() == is_settled) {
        cpus.entry((view.level, view.kind)).or_default().insert(view.cpu);
    }
    cpus
}

/// Settles the views that are open by claims that all their members make, and that leave out what is settled; with
/// `whole`, only at levels of which every cache has such a claim.
fn settle(views: &[CacheView], claims: &Claims, settled: &mut [Option<IdSet>], whole: bool) {
    let taken = cpus_of(views, settled, true);
    // Every member of a set needs the same comparison; its result is kept.
    let mut answers: HashMap<(u8, CacheKind, &IdSet), bool> = HashMap::new();
    let mut consistent: Vec<Option<&IdSet>> = Vec::with_capacity(views.len());
    let mut partial: BTreeSet<(u8, CacheKind)> = BTreeSet::new();
    for view in views {
        let claim_of = |cpu: CpuId| claims.get(&(view.level, view.kind, cpu));
        let is_free = |claim: &IdSet| {
            let taken = taken.get(&(view.level, view.kind));
            taken.is_none_or(|taken| claim.intersection(taken).is_empty())
                && claim.iter().all(|cpu| claim_of(cpu) == Some(claim))
        };
        let claim = claim_of(view.cpu).filter(|claim| claim.contains(view.cpu));
        let claim =
            claim.filter(|claim| *answers.entry((view.level, view.kind, *claim)).or_insert_with(|| is_free(claim)));
        if claim.is_none() {
            partial.insert((view.level, view.kind));
        }
        consistent.push(claim);
    }
    for ((view, claim), settled) in views.iter().zip(consistent).zip(settled).filter(|(_, settled)| settled.is_none()) {
        if !(whole && partial.contains(&(view.level, view.kind))) {
            *settled = claim.cloned();
        }
    }
}

/// Names the first cpu of each level whose cache has other views than the one that is used, which may be its package.
fn dispute(reader: &Reader<'_>, views: &[CacheView], found: &[IdSet], named: &[(&'static str, Claims)]) {
    let mut met: BTreeSet<(u8, &str)> = BTreeSet::new();
    for (view, used) in views.iter().zip(found) {
        let says = |claims: &Claims| claims.get(&key(view)).cloned();
        let source = named.iter().find(|(_, claims)| says(claims).as_ref() == Some(used));
        let is_cut = named.iter().any(|(_, claims)| says(claims).is_some_and(|all| used.is_subset(&all)));
        let otherwise = if is_cut { "its package" } else { "the threads of its core" };
        let source = source.map_or(otherwise, |(name, _)| *name);
        let fact = DisputedFact::CacheCpus { level: view.level, cpu: view.cpu };
        let mut reported: Vec<IdSet> = vec![used.clone()];
        for (name, claims) in named {
            if let Some(other) =
                says(claims).filter(|other| !reported.contains(other) && met.insert((view.level, name)))
            {
                reader.contradict(fact, (source, used), (name, &other));
                reported.push(other);
            }
        }
    }
}
