//! `latency`: how long one access takes, by footprint, layout and page size.

use clap::Args;
use serde::{Deserialize, Serialize};
use tiermark_engine::{Lab, Probe, Study, Subject};
use tiermark_model::messages::memory;
use tiermark_model::messages::plan as says;
use tiermark_model::messages::rules;
use tiermark_model::{
    AFTER_FIGURES, Bytes, ChainLayout, CpuId, Effort, Finding, Labels, Metric, Note, Observation, PageKind, Plan,
    Purpose, Quantity, Reason, Refusal, Request, Step, StopRule, Tier, Unit, parse_footprint, parse_within,
};
use tiermark_stats::VISITS;

use crate::chasing::Chase;
use crate::cold;
use crate::edges::tier_sizes;
use crate::finder::{Finder, SEARCHED, after_figures};
use crate::found::{Found, still_rises};
use crate::geometry;
use crate::ladder::{derived, finding, overhead_note, with_purpose};
use crate::sizes::sweep;
use crate::steps::{check_size, default_page, denser_seconds, follow, phase};
use crate::task::Task;
use crate::tiers::Rung;

/// Bytes of a line, as chains are laid out.
const LINE: u64 = 64;
/// Wanted half-width of the interval of a headline latency.
const PRECISION: f64 = 0.01;

/// Parameters of the latency probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct LatencyParams {
    /// Footprints, as in 32K,2M,256M
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_footprint)]
    pub sizes: Vec<Bytes>,
    /// Chain layouts, such as stride:64 [default: random]
    ///
    /// random, page-random, groups, stride:BYTES, long, long:2-8.
    #[arg(long = "layout", value_name = "LIST", value_delimiter = ',')]
    pub layouts: Vec<ChainLayout>,
    /// Page sizes; none means the scope's.
    #[arg(skip)]
    pub pages: Vec<PageKind>,
    /// Independent chains followed at once, 1 to 32 [default: 1]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_within::<u8>(1..=32))]
    pub chains: Vec<u8>,
}

/// The probe of `tiermark latency`; `docs/methods/latency.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "latency",
    method: 4,
    subject: Subject::Memory,
    summary: "Time of one dependent access, by size, layout, page size",
    page: include_str!("../../../docs/methods/latency.md"),
    aids: &[],
    study: |request, lab| Ok(Box::new(LatencyStudy::new(request, lab)?)),
};

impl Study for LatencyStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut plan = Plan { rules: vec![rules::latency_on(self.cpu)], ..Plan::default() };
        if self.params.sizes.is_empty() {
            self.curve(&mut plan);
            let ladder = self.ladder(&Found::default(), &mut plan);
            follow(&ladder, &mut plan);
        } else {
            self.table(&mut plan)?;
        }
        // A figure of memory rests on points of the curve that wait for it.
        let beyond =
            plan.steps.iter().filter(|step| step.phase == AFTER_FIGURES && step.labels.bytes() > Some(SEARCHED));
        let beyond: f64 = beyond.map(|step| step.prepare_seconds() + step.filling_seconds()).sum();
        self.task.limit(&mut plan, self.task.effort().choose([3.5, 14.0 + beyond, 180.0]));
        plan.later_seconds += denser_seconds(self.task.effort(), &plan.steps);
        self.task.with_steps(plan, "name sizes: --sizes", &["--sizes"])
    }

    fn refine(&self, observations: &[Observation]) -> Vec<Step> {
        // The ladder is planned once: another look at the curve may say something else.
        let has_ladder = with_purpose(observations, Purpose::Ladder).any(|o| o.metric == Metric::Latency);
        if !self.params.sizes.is_empty() {
            return Vec::new();
        }
        if has_ladder {
            return self.finder.denser(observations);
        }
        self.finder.next(observations, |found| self.ladder(found, &mut Plan::default()))
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        let mut findings: Vec<Finding> = Vec::new();
        for purpose in [Purpose::Ladder, Purpose::Table] {
            findings
                .extend(with_purpose(observations, purpose).map(|o| still_rising(finding(o, notes(o)), observations)));
        }
        findings.extend(cold::findings(observations));
        findings.extend(tier_sizes(observations, self.task.machine()));
        findings.extend(tails(observations));
        findings.extend(geometry::of_table(observations, self.task.machine()));
        findings
    }
}

struct LatencyStudy {
    task: Task,
    params: LatencyParams,
    cpu: CpuId,
    /// The page sizes, layouts and chains that the user named, or the usual ones.
    pages: Vec<PageKind>,
    layouts: Vec<ChainLayout>,
    chains: Vec<u8>,
    finder: Finder,
}

impl LatencyStudy {
    fn new(request: &Request, lab: &Lab) -> Result<Self, Refusal> {
        let (task, params): (_, LatencyParams) = Task::new(request, lab)?;
        let cpu = task.one_cpu()?;
        let pages = or_usual(&params.pages, task.page());
        let (layouts, chains) = (or_usual(&params.layouts, ChainLayout::Random), or_usual(&params.chains, 1));
        let of_bytes = layouts.iter().find(|layout| layout.is_of_bytes());
        if let Some(layout) = of_bytes.filter(|_| chains.iter().any(|chains| *chains > 1)) {
            return Err(says::chain_of_bytes(&layout.to_string()));
        }
        let finder = Finder::new(&task, cpu, pages[0]);
        Ok(Self { task, params, cpu, pages, layouts, chains, finder })
    }

    /// Whether the request names its page sizes: then it is for no other.
    fn named(&self) -> bool {
        self.task.request.scope.page.is_some() || !self.params.pages.is_empty()
    }

    /// One step a tier, where the curve has found the tiers. A line of memory is taken with its translation at hand;
    /// beside it stand accesses at random over the whole footprint, on the pages of the others and on base pages: with
    /// what translation costs.
    fn ladder(&self, found: &Found, plan: &mut Plan) -> Vec<Step> {
        let ladder = self.finder.ladder(found);
        let stop = self.task.headline(PRECISION);
        let page = self.pages[0];
        let mut steps = Vec::new();
        for rung in &ladder.rungs {
            let layout = if rung.tier.is_memory() { ChainLayout::Groups } else { ChainLayout::Random };
            let mut rows = vec![(rung.tier, layout, page)];
            if rung.tier == Tier::Dram {
                rows.push((Tier::DramRandom, ChainLayout::Random, page));
            }
            if rung.tier == Tier::Dram && page != PageKind::Base && self.task.effort() > Effort::Quick && !self.named()
            {
                rows.push((Tier::DramRandom, ChainLayout::Random, PageKind::Base));
            }
            for (tier, layout, page) in rows {
                let labels = Labels::new().with_purpose(Purpose::Ladder).with_tier(tier);
                let chase = Chase { layout, ..Chase::of_memory(self.cpu, rung.bytes, rung.node, page) };
                // Memory on other pages is filled once more.
                let step = self.step(chase, labels, stop);
                steps.push(if page == self.pages[0] { step } else { after_figures(step) });
            }
        }
        if let Some(rung) = ladder.rungs.iter().find(|rung| rung.tier == Tier::Dram) {
            steps.extend(self.cold(rung));
        }
        plan.rules.extend(ladder.rules);
        plan.refused.extend(ladder.refused);
        steps
    }

    /// The same random accesses right after other work; `None` without time or memory for it.
    fn cold(&self, tier: &Rung) -> Option<Step> {
        let machine = self.task.machine();
        let read = cold::read_bytes(machine.all_cache_bytes(&[self.cpu].into_iter().collect()), tier.bytes);
        let cap = self.task.memory_cap(&[self.cpu], tier.node).bytes;
        if self.task.effort() == Effort::Quick || tier.bytes.saturating_add(read) > cap {
            return None;
        }
        let page = self.pages[0];
        // Reserved pages are scarce, and any will do for what is only read.
        let other = if let PageKind::Huge(_) = page { default_page(machine) } else { page };
        Some(after_figures(cold::step(&self.task, self.cpu, tier.bytes, tier.node, [page, other], read)))
    }

    /// The sweep from the smallest footprint to DRAM, for every requested layout, page size and number of chains.
    fn curve(&self, plan: &mut Plan) {
        let (per_octave, page_sweeps) = self.task.effort().choose([(1, 1), (2, 1), (4, 2)]);
        plan.steps.extend(self.finder.first().into_iter().chain(self.finder.rest()));
        let largest = match self.task.dram_bytes(&[self.cpu], self.task.node()) {
            Ok((bytes, _)) => bytes,
            Err(refusal) => {
                plan.refused.push(refusal);
                return;
            }
        };
        let mut pages = self.pages.clone();
        if page_sweeps > 1 && self.params.pages.is_empty() && pages[0] != PageKind::Base {
            pages.push(PageKind::Base);
        }
        for size in sweep(largest, per_octave) {
            for layout in &self.layouts {
                for page in &pages {
                    let stop = self.task.curve_point();
                    plan.steps.extend(self.of_chains(Purpose::Curve, size, *layout, *page, stop));
                }
            }
        }
    }

    /// A step for each number of chains.
    fn of_chains(
        &self,
        purpose: Purpose,
        size: Bytes,
        layout: ChainLayout,
        page: PageKind,
        stop: StopRule,
    ) -> impl Iterator<Item = Step> {
        self.chains.iter().map(move |chains| {
            let (cpu, node) = (self.cpu, self.task.node());
            let chase = Chase { cpu, bytes: size.0, node, layout, page, chains: *chains };
            self.step(chase, Labels::new().with_purpose(purpose), stop)
        })
    }

    /// Exactly the requested footprints. A footprint that is too short for one of several layouts is left out of that
    /// row.
    ///
    /// # Errors
    /// A [`Refusal`] for a size that makes no sense, or if no chain is long enough.
    fn table(&self, plan: &mut Plan) -> Result<(), Refusal> {
        let stop = self.task.headline(PRECISION);
        let mut short: Vec<(ChainLayout, Bytes, Refusal)> = Vec::new();
        for size in &self.params.sizes {
            check_size(*size)?;
            for layout in &self.layouts {
                if let Err(refusal) = self.check_chain(*size, *layout) {
                    short.push((*layout, *size, refusal));
                    continue;
                }
                for page in &self.pages {
                    plan.steps.extend(self.of_chains(Purpose::Table, *size, *layout, *page, stop));
                }
            }
        }
        if plan.steps.is_empty()
            && let Some((.., refusal)) = short.pop()
        {
            return Err(refusal);
        }
        for layout in &self.layouts {
            let sizes: Vec<Bytes> = short.iter().filter(|(of, ..)| of == layout).map(|(_, size, _)| *size).collect();
            plan.rules.extend((!sizes.is_empty()).then(|| rules::chains_too_short(&layout.to_string(), &sizes)));
        }
        Ok(())
    }

    /// Refuses chains that would not be chains: fewer nodes than two for each one followed.
    fn check_chain(&self, size: Bytes, layout: ChainLayout) -> Result<(), Refusal> {
        let pitch = layout.pitch();
        let (nodes, chains) = (size.0 / pitch, u64::from(self.chains.iter().copied().max().unwrap_or(1)));
        if nodes >= 2 * chains {
            return Ok(());
        }
        Err(says::chain_too_short(&layout.to_string(), size, nodes, Bytes(pitch), chains))
    }

    fn step(&self, chase: Chase, labels: Labels, stop: StopRule) -> Step {
        let phase = phase(&labels);
        Step { phase, ..chase.step("latency", labels, self.task.request.seed, stop) }
    }
}

/// What the user named, or the usual one.
fn or_usual<T: Clone>(named: &[T], usual: T) -> Vec<T> {
    if named.is_empty() { vec![usual] } else { named.to_vec() }
}

/// A latency of memory, doubted where twice its working set is clearly slower: then caches answer a part of it.
fn still_rising(mut found: Finding, observations: &[Observation]) -> Finding {
    let is_memory = found.labels.tier() == Some(Tier::DramRandom);
    let Some(size) = found.labels.bytes().filter(|_| is_memory && found.value.is_some()) else {
        return found;
    };
    let at = |near: u64| {
        let curve = with_purpose(observations, Purpose::Curve).filter(|o| o.labels.layout() == Some("random"));
        let points = curve.filter_map(|o| Some((crate::finder::point(o)?, o)));
        let nearest = points.min_by_key(|(point, _)| point.bytes.abs_diff(near));
        nearest.filter(|(point, _)| point.bytes.abs_diff(near) < near / 4)
    };
    // All visits to a point may fall within one second, and other work may slow down that whole second.
    let is_reproduced = |seen: &Observation| seen.edge.is_some_and(|edge| edge.reached >= VISITS as u64);
    if let (Some((once, _)), Some((twice, seen))) = (at(size), at(2 * size))
        && let Some(by) = still_rises(at(size / 2).map(|(half, _)| half).as_ref(), &once, &twice)
        && is_reproduced(seen)
    {
        found.verdict.suspect(Reason::StillRising { by });
    }
    found
}

fn notes(observation: &Observation) -> impl Iterator<Item = Note> {
    let layout = observation.labels.layout().and_then(|layout| layout.parse().ok());
    let stride = layout.and_then(|layout| if let ChainLayout::Stride(bytes) = layout { Some(bytes) } else { None });
    let in_line = stride.map(|bytes| LINE.div_ceil(bytes.max(1))).filter(|accesses| *accesses > 1);
    let chains = observation.labels.chains().filter(|n| *n > 1);
    let notes = [
        layout.is_some_and(ChainLayout::is_prefetched).then(memory::prefetch_assisted),
        in_line.map(memory::accesses_share_lines),
        chains.map(memory::several_chains),
        overhead_note(observation),
    ];
    notes.into_iter().flatten()
}

/// The tail of every rung of the ladder.
fn tails(observations: &[Observation]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for observation in with_purpose(observations, Purpose::Ladder) {
        let Some(tail) = &observation.tail else { continue };
        for (name, value) in &tail.quantiles {
            let labels = observation.labels.clone().with_statistic(name);
            let mut found = derived(observation, Quantity::LatencyTail, labels, *value, Unit::Ns);
            found.samples = tail.blocks;
            found.notes.push(memory::tail_of_blocks(tail.block_accesses));
            findings.push(found);
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use tiermark_model::{EdgeSeen, Grade, Interval, MIB};

    use super::*;
    use crate::geometry::fixtures::chase;

    #[test]
    fn twice_the_working_set_raises_doubt_only_if_it_was_slower_at_several_moments() {
        let seen = |purpose: Purpose, mib: u64, ns: f64, reached: u64| {
            let made = chase(purpose, ChainLayout::Random, mib * MIB, ns);
            let interval = Some(Interval { low: 0.99 * ns, high: 1.01 * ns, level: 0.9 });
            let edge = Some(EdgeSeen { share: 0.1, windows: 50, visits: 8, reached, within: None });
            let labels = made.labels.clone().with_tier(Tier::DramRandom);
            Observation { interval, edge, labels, ..made }
        };
        let grade = |reached: u64| {
            let figure = seen(Purpose::Ladder, 132, 171.0, 5);
            let curve = [
                seen(Purpose::Curve, 66, 165.0, 5),
                seen(Purpose::Curve, 132, 171.0, 5),
                seen(Purpose::Curve, 264, 209.0, reached),
            ];
            still_rising(finding(&figure, None), &curve).verdict.grade
        };
        assert_eq!([1, 2, 3].map(grade), [Grade::Trusted, Grade::Trusted, Grade::Suspect]);
    }
}
