//! The steps of a loaded-latency request.

use tiermark_engine::accounting::MEDIAN;
use tiermark_model::messages::plan as says;
use tiermark_model::messages::rules;
use tiermark_model::{
    Bytes, ChainLayout, CpuId, Distance, Effort, IdSet, LOAD_PART, Layout, MemPolicy, Metric, Note, Observation, Plan,
    Purpose, Refusal, RegionSetup, Role, Scope, Setup, Step, StopRule, ThreadSetup, Tier,
};

use super::LoadedParams;
use super::curve::points_of;
use super::curve_spec::{CurveSpec, LoadSite, Traffic};
use super::pauses::{FIRST, next};
use crate::chasing::Chase;
use crate::footprints::memory_cap;
use crate::memory_kinds::{far_unmeasured, quiet_cpu};
use crate::mix::Mix;
use crate::places::{Placement, places, whole_system};
use crate::steps::{one_cpu, scope_cpus, setup, stream_role};
use crate::task::Task;
use crate::traffic;

/// Wanted half-width of the interval: of every point, and of the rate of all cores.
const PRECISION: f64 = 0.02;

pub(super) struct LoadedStudy {
    pub(super) task: Task,
    pub(super) params: LoadedParams,
    /// Every curve that can be measured, the most important first, and the refusals of the others.
    pub(super) families: Vec<CurveSpec>,
    refused: Vec<Refusal>,
}

impl LoadedStudy {
    pub(super) fn new(mut task: Task, params: LoadedParams) -> Result<Self, Refusal> {
        if let Some(chaser) = params.chaser_cpu {
            let only: IdSet = [chaser].into_iter().collect();
            // It need not be among the cpus that inject.
            task.cpus = task.cpus.union(&scope_cpus(&Scope { cpus: Some(only), ..Scope::default() }, task.machine())?);
        }
        let (families, refused) = (Vec::new(), Vec::new());
        let mut study = Self { task, params, families, refused };
        if study.groups_are_fixed() && !study.params.delays.is_empty() {
            return Err(says::groups_have_delays());
        }
        (study.families, study.refused) = study.all_families();
        Ok(study)
    }

    /// Whether every group of threads has its own delay: there is one load then, and no curve.
    fn groups_are_fixed(&self) -> bool {
        let groups = &self.params.traffic;
        !groups.is_empty() && groups.iter().all(|group| group.delay.is_some())
    }

    /// The pauses of all points, where the user named them: as delays, or of each group its own.
    fn fixed(&self) -> Option<&[u32]> {
        match self.params.delays.as_slice() {
            [] if self.groups_are_fixed() => Some(&[0]),
            [] => None,
            delays => Some(delays),
        }
    }

    /// The pauses that are known before anything is measured.
    fn first(&self) -> &[u32] {
        self.fixed().unwrap_or(&FIRST)
    }

    /// Points of a curve, when it is done.
    fn points(&self) -> usize {
        if let Some(delays) = self.fixed() {
            return 1 + delays.len();
        }
        match self.task.effort() {
            Effort::Quick => 15,
            // Halving the gaps beside the knee until they are as near as its noise takes so many.
            Effort::Standard => 23,
            Effort::Full => 26,
        }
    }

    fn mixes(&self, distance: Distance) -> Vec<Mix> {
        if !self.params.mixes.is_empty() {
            return self.params.mixes.clone();
        }
        let names: &[&str] = match (self.task.effort(), distance) {
            (Effort::Quick, _) => &["read"],
            (Effort::Standard, Distance::Local) => &["read", "2:1", "1:1", "write", "write.nt"],
            (Effort::Standard, Distance::System) => &["read"],
            (Effort::Standard, _) => &["read", "1:1"],
            (Effort::Full, Distance::System) => &["read", "1:1"],
            (Effort::Full, _) => return Mix::usual().collect(),
        };
        names.iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// Mixes of which only the peak rate of a place's cores is measured: on the widest place, if the user named no mix,
    /// those of a whole system.
    fn peaks_only(&self, distance: Distance, widest: Distance) -> Vec<Mix> {
        if distance != widest || !self.params.mixes.is_empty() || self.task.effort() == Effort::Quick {
            return Vec::new();
        }
        let curves = self.mixes(distance);
        let all = Mix::of_a_system().into_iter().filter(|mix| mix.kernels(&self.task.lab.bench).is_ok());
        all.filter(|mix| !curves.contains(mix)).collect()
    }

    /// The places, the threads' own memory first.
    fn places(&self) -> Vec<Placement> {
        let scope = &self.task.request.scope;
        // It is about the node of the chaser.
        let beside = self.params.chaser_cpu.and_then(|cpu| self.task.machine().node_of(cpu));
        let beside = beside.and_then(|node| self.task.machine().node(node)).filter(|_| scope.cpus.is_none());
        let crew = beside.map_or_else(|| self.task.cpus.clone(), |node| self.task.cpus.intersection(&node.cpus));
        let mut places = places(self.task.machine(), &crew, scope);
        if self.task.effort() == Effort::Quick {
            places.truncate(1);
        } else {
            let system = whole_system(self.task.machine(), &self.task.cpus, scope);
            places.splice(1..1, system);
        }
        places
    }

    /// Every curve that can be measured, and the refusals of the others.
    fn all_families(&self) -> (Vec<CurveSpec>, Vec<Refusal>) {
        let (mut families, mut refused) = (Vec::new(), Vec::new());
        if !self.params.traffic.is_empty() {
            let traffic = Traffic::Groups(self.params.traffic.clone());
            match self.site_of_groups() {
                Ok(site) => families.push(CurveSpec { traffic, site, curve: true }),
                Err(refusal) => refused.push(refusal),
            }
            return (families, refused);
        }
        let places = self.places();
        let system = places.iter().any(|place| place.distance == Distance::System);
        let widest = if system { Distance::System } else { Distance::Local };
        for place in places {
            let site = match self.site(place) {
                Ok(site) => site,
                Err(refusal) => {
                    refused.push(refusal);
                    continue;
                }
            };
            for mix in self.mixes(site.place.distance) {
                match mix.kernels(&self.task.lab.bench) {
                    Ok(_) => families.push(CurveSpec { traffic: Traffic::Mix(mix), site: site.clone(), curve: true }),
                    Err(op) => refused.push(says::no_kernel_for_mix(&mix.to_string(), op)),
                }
            }
            let peaks = self.peaks_only(site.place.distance, widest);
            let peak = |mix| CurveSpec { traffic: Traffic::Mix(mix), site: site.clone(), curve: false };
            families.extend(peaks.into_iter().map(peak));
        }
        (families, refused)
    }

    /// Threads and footprints of a place.
    fn site(&self, place: Placement) -> Result<LoadSite, Refusal> {
        let machine = self.task.machine();
        let name = format!("loaded latency, {} memory", place.distance);
        let chaser = self.params.chaser_cpu.map_or_else(|| one_cpu(machine, &place.cpus, &name), Ok)?;
        let core = machine.cpu(chaser).map(|c| c.core);
        let cores = machine.one_per_core(&place.cpus);
        let order = machine.cores_first(&place.cpus);
        let injectors: Vec<CpuId> =
            order.into_iter().filter(|cpu| cores.contains(*cpu) && machine.cpu(*cpu).map(|c| c.core) != core).collect();
        if injectors.is_empty() {
            return Err(says::no_core_for_load(&name, &place.cpus));
        }
        let others: IdSet = injectors.iter().copied().collect();
        let chain = self.task.dram_bytes(&[chaser], place.node)?.0;
        let wanted = self.task.dram_bytes(&injectors, place.node)?.0;
        // Chaser and injectors are there at once.
        let cap = memory_cap(machine, &place.cpus, place.node, &self.task.request.scope);
        let most = cap.bytes.saturating_sub(chain) / injectors.len() as u64 / (2 << 20) * (2 << 20);
        let least = 2 * machine.reachable_cache_bytes(&others).max(4 << 20) / injectors.len() as u64;
        let load = wanted.min(most);
        if load < least.min(wanted) {
            let all = chain.saturating_add(least.min(wanted).saturating_mul(injectors.len() as u64));
            return Err(says::no_room_for_load(&name, Bytes(cap.bytes), &cap.why, &cap.cure(all)));
        }
        Ok(LoadSite { place, chaser, injectors, chain: Bytes(chain), load: Bytes(load) })
    }

    /// The chaser and the cpus of the groups.
    fn site_of_groups(&self) -> Result<LoadSite, Refusal> {
        let (machine, groups) = (self.task.machine(), &self.params.traffic);
        let inject = traffic::cpus(groups)?;
        let left = self.task.cpus.difference(&inject);
        let chosen = self.params.chaser_cpu.map_or_else(|| quiet_cpu(machine, &left), Some);
        let chaser =
            chosen.filter(|cpu| left.contains(*cpu)).ok_or_else(|| says::no_cpu_beside_groups(&self.task.cpus))?;
        let only: IdSet = [chaser].into_iter().collect();
        let node = self.task.node();
        let distance = node.map_or(Distance::Local, |node| Placement::distance(machine, &only, node));
        let chain = Bytes(self.task.dram_bytes(&[chaser], node)?.0);
        // So that a mistake in a group is told, and no curve only lacks its points.
        let (regions, _) = traffic::load(groups, &self.task, 0)?;
        let load = regions.iter().map(|region| region.bytes).max().unwrap_or_default();
        let place = Placement { distance, cpus: inject.union(&only), node };
        Ok(LoadSite { place, chaser, injectors: inject.iter().collect(), chain, load })
    }

    /// All steps that are known before anything is measured.
    pub(super) fn fill(&self, plan: &mut Plan) {
        plan.refused.extend(self.refused.iter().cloned());
        if self.task.node().is_none() && self.task.effort() > Effort::Quick {
            let cpu = self.params.chaser_cpu.or_else(|| quiet_cpu(self.task.machine(), &self.task.cpus));
            plan.rules.extend(cpu.into_iter().flat_map(|cpu| far_unmeasured(self.task.machine(), cpu)));
        }
        let mut known: Vec<Placement> = Vec::new();
        for (index, family) in self.families.iter().enumerate() {
            let phase = u8::try_from(index).unwrap_or(u8::MAX);
            if !known.contains(&family.site.place) {
                known.push(family.site.place.clone());
                plan.rules.push(self.rule(&family.site));
                plan.steps.push(Step { phase, ..self.unloaded(&family.site) });
            }
            plan.steps.extend(self.peak(family).map(|step| Step { phase, ..step }));
            if !family.curve {
                continue;
            }
            plan.steps
                .extend(self.first().iter().filter_map(|p| self.point(family, *p)).map(|step| Step { phase, ..step }));
            let later = (self.points() - self.first().len() - 1) as f64;
            plan.later_seconds += self.point(family, 1).map_or(0.0, |step| step.expected_seconds()) * later;
        }
        if plan.later_seconds > 0.0 {
            plan.later.push(rules::load_follows((self.points() - FIRST.len() - 1) as u64));
        }
    }

    fn rule(&self, site: &LoadSite) -> Note {
        let injectors: IdSet = site.injectors.iter().copied().collect();
        let distance = site.place.distance.to_string();
        let (chaser, chain, load) = (site.chaser, site.chain, site.load);
        if !self.params.traffic.is_empty() {
            return rules::groups_under_load(chaser, chain, &traffic::work(&self.params.traffic), &injectors);
        }
        match self.fixed() {
            None => rules::curve_under_load(&distance, chaser, chain, &injectors, load, self.points()),
            Some(delays) => rules::delays_under_load(&distance, chaser, chain, &injectors, load, delays),
        }
    }

    /// Points where the curves move most.
    pub(super) fn denser(&self, observations: &[Observation]) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.fixed().is_some() {
            return steps;
        }
        for family in self.families.iter().filter(|family| family.curve) {
            let points: Vec<_> = points_of(family, observations).iter().map(|(point, _)| *point).collect();
            let tried = observations.iter().filter(|o| family.owns(o)).count() + 1;
            let room = self.points().saturating_sub(tried);
            steps.extend(next(&points, room).into_iter().filter_map(|pause| self.point(family, pause)));
        }
        steps
    }

    /// The chaser alone: a point of the curve like the others, so a median, of as many visits in the same moments. Of
    /// moments of its own, or as an edge, it would be lower than the others by more than the load.
    fn unloaded(&self, site: &LoadSite) -> Step {
        let labels = site.labels(Purpose::Unloaded, self.task.page()).with_size(site.chain.0).with_cpus(site.chaser);
        let labels = labels.with_statistic(MEDIAN);
        let chase = Chase::of_memory(site.chaser, site.chain.0, site.place.node, self.task.page());
        let setup = chase.setup(self.task.request.seed);
        let precision = self.task.precision(PRECISION);
        let stop = StopRule { precision, ..point_stop(self.task.effort()) };
        Step { id: site.id("unloaded"), labels, phase: 0, metric: Metric::Latency, setup, stop }
    }

    /// All cores, the chaser's too, load the memory and no access is timed: the most that this mix moves.
    fn peak(&self, family: &CurveSpec) -> Option<Step> {
        let (site, Traffic::Mix(mix)) = (&family.site, &family.traffic) else { return None };
        let cpus: Vec<CpuId> = std::iter::once(site.chaser).chain(site.injectors.iter().copied()).collect();
        let all: IdSet = cpus.iter().copied().collect();
        let (bytes, _) = self.task.dram_bytes(&cpus, site.place.node).ok()?;
        let role = match stream_role(&mix.rivals(&self.task.lab.bench)) {
            Some(role) => role,
            None => Role::Load { kernels: mix.kernels(&self.task.lab.bench).ok()?, pause_ns: 0 },
        };
        let mut labels = family.labels(Purpose::Peak, self.task.page());
        if matches!(site.place.distance, Distance::Local | Distance::System) {
            labels = labels.with_tier(Tier::Dram);
        }
        labels = labels.with_size(bytes).with_threads(cpus.len() as u64).with_cpus(&all);
        let layout = mix.layout();
        let setup =
            setup(&cpus, Bytes(bytes), site.place.node, self.task.page(), layout, &role, self.task.request.seed);
        let stop = self.task.headline(PRECISION);
        Some(Step { id: family.id("peak"), labels, phase: 0, metric: Metric::Bandwidth, setup, stop })
    }

    /// A point of the curve: the chaser beside injectors that pause so long after each piece.
    fn point(&self, family: &CurveSpec, pause_ns: u32) -> Option<Step> {
        let site = &family.site;
        let nodes: IdSet = site.place.node.into_iter().collect();
        let region = |bytes: Bytes, layout: Layout| RegionSetup {
            bytes,
            policy: MemPolicy::Bind,
            nodes: nodes.clone(),
            page: self.task.page(),
            layout,
        };
        let mut regions = vec![region(site.chain, Layout::Chain(ChainLayout::Groups))];
        let mut threads = vec![ThreadSetup::new(site.chaser, Role::Chase { chains: 1 }, 0)];
        match &family.traffic {
            Traffic::Mix(mix) => {
                let role = Role::Load { kernels: mix.kernels(&self.task.lab.bench).ok()?, pause_ns };
                for cpu in &site.injectors {
                    threads.push(ThreadSetup::new(*cpu, role.clone(), regions.len()));
                    regions.push(region(site.load, mix.layout()));
                }
            }
            Traffic::Groups(groups) => {
                let (more, load) = traffic::load(groups, &self.task, pause_ns).ok()?;
                threads.extend(load.into_iter().map(|thread| ThreadSetup { region: thread.region + 1, ..thread }));
                regions.extend(more);
            }
        }
        threads[1..].iter_mut().for_each(|thread| LOAD_PART.clone_into(&mut thread.part));
        let all: IdSet = threads.iter().map(|t| t.cpu).collect();
        let labels = family
            .labels(Purpose::Load, self.task.page())
            .with_pause(u64::from(pause_ns))
            .with_threads(site.injectors.len() as u64)
            .with_cpus(all);
        Some(Step {
            id: family.id(&format!("pause{pause_ns}")),
            labels,
            phase: 0,
            metric: Metric::Latency,
            setup: Setup { regions, threads, seed: self.task.request.seed },
            stop: StopRule { precision: self.task.precision(PRECISION), ..point_stop(self.task.effort()) },
        })
    }
}

/// When a point is good enough.
fn point_stop(effort: Effort) -> StopRule {
    let (allocations, min_visits, max_visits) = effort.choose([(1, 8, 24), (2, 12, 60), (3, 24, 200)]);
    // The generators reach their steady state within a millisecond; the chaser needs blocks of it.
    StopRule { precision: PRECISION, allocations, min_visits, max_visits, shot_seconds: 0.004 }
}
