//! `tlb`: how many pages the data translation buffers hold, and what missing them costs.

use clap::Args;
use serde::{Deserialize, Serialize};
use tiermark_engine::{Lab, Probe, Study, Subject};
use tiermark_model::messages::plan as says;
use tiermark_model::messages::rules;
use tiermark_model::messages::shapes;
use tiermark_model::{
    Bytes, ChainLayout, CpuId, Cure, Effort, Finding, Interval, KIB, Labels, Observation, PageKind, Plan, Purpose,
    Quantity, Refusal, Request, Step, Tier, Unit,
};

use crate::chasing::{Chase, bounds, pages_to_be_had, quarters, resting_on, shape};
use crate::geometry::solve::{Buffer, Count, Translation, translation};
use crate::ground::{Says, grounded, is_usable};
use crate::ladder::with_purpose;
use crate::sizes::grid;
use crate::steps::{default_page, page_bytes};
use crate::task::Task;

/// Bytes of a line: each page's line lies one further than that of the page before it, so that the lines of all pages
/// spread over the sets of the caches as those of a packed chain do.
const LINE: u64 = 64;
/// Smaller pages that a hypervisor may split a page into: each page's line lies one of them further too, so that
/// entries for the pieces spread over the sets of the buffer as those of whole pages do.
const PIECES: [u64; 2] = [4 * KIB, 2 << 20];
/// Pages tried at least and at most: from fewer than any first level holds to four times the largest second level
/// built.
const FEWEST: u64 = 8;
const MOST: u64 = 16_384;
/// Bounds of a level that are this near to each other are not refined further.
const FINE: f64 = 1.012;
/// Time to narrow the bounds, beside the first points (measured).
const NARROWING: f64 = 0.15;

/// Parameters of the tlb probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct TlbParams {
    /// Page sizes; none means all available ones.
    #[arg(skip)]
    pub pages: Vec<PageKind>,
}

/// The probe of `tiermark tlb`; `docs/methods/tlb.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "tlb",
    method: 4,
    subject: Subject::Memory,
    summary: "Entries of each data TLB, and the cost of misses and walks",
    page: include_str!("../../../docs/methods/tlb.md"),
    aids: &[],
    study: |request, lab| Ok(Box::new(TlbStudy::new(request, lab)?)),
};

impl Study for TlbStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut plan = Plan::default();
        plan.rules.push(rules::packed_on(self.cpu, self.packed));
        for page in self.pages() {
            let Some(bytes) = page_bytes(page, self.task.machine()) else { continue };
            match self.most(page, bytes) {
                Ok((most, why)) => {
                    plan.rules.push(rules::pages_up_to(page, most, &why));
                    for pages in grid(FEWEST * KIB, most * KIB, self.per_octave(bytes)) {
                        plan.steps.extend(self.pair(page, bytes, pages.0 / KIB));
                    }
                }
                Err(refusal) => plan.refused.push(refusal),
            }
        }
        self.task.limit(&mut plan, self.task.effort().choose([15.0, 45.0, 300.0]));
        let mut plan = self.task.with_steps(plan, "allow more with --max-mem", &["--max-mem"])?;
        plan.later.push(rules::tlb_follows());
        plan.later_seconds = NARROWING * plan.steps.iter().map(Step::expected_seconds).sum::<f64>();
        Ok(plan)
    }

    fn refine(&self, observations: &[Observation]) -> Vec<Step> {
        let mut steps = Vec::new();
        for page in self.pages() {
            let Some(bytes) = page_bytes(page, self.task.machine()) else { continue };
            let seen = PageCurve::new(observations, page, bytes);
            for Buffer { entries, .. } in seen.solved.buffers {
                let Some(most) = entries.high.filter(|most| *most as f64 > entries.low as f64 * FINE) else { continue };
                for pages in quarters(entries.low, most + 1, 1) {
                    steps.extend(self.pair(page, bytes, pages));
                }
            }
        }
        steps
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for page in self.pages() {
            let Some(bytes) = page_bytes(page, self.task.machine()) else { continue };
            let seen = PageCurve::new(observations, page, bytes);
            if !seen.points.is_empty() {
                findings.extend(seen.findings());
            }
        }
        findings
    }
}

/// From the line in one page to the line in the next.
fn pitch(page_bytes: u64) -> u64 {
    page_bytes + PIECES.iter().filter(|piece| **piece < page_bytes).sum::<u64>() + LINE
}

struct TlbStudy {
    task: Task,
    cpu: CpuId,
    params: TlbParams,
    /// The page size of packed chains: the largest that costs nothing to have.
    packed: PageKind,
}

impl TlbStudy {
    fn new(request: &Request, lab: &Lab) -> Result<Self, Refusal> {
        let (task, params) = Task::new(request, lab)?;
        let cpu = task.one_cpu()?;
        let packed = default_page(&lab.machine);
        Ok(Self { task, cpu, params, packed })
    }

    /// The page sizes: the requested ones, or base pages, transparent huge pages, and reserved ones of which some are
    /// free.
    fn pages(&self) -> Vec<PageKind> {
        if let Some(page) = self.task.request.scope.page {
            return vec![page];
        }
        if !self.params.pages.is_empty() {
            return self.params.pages.clone();
        }
        pages_to_be_had(self.task.machine(), FEWEST)
    }

    /// Most pages that are tried, and what limits them.
    fn most(&self, page: PageKind, bytes: u64) -> Result<(u64, String), Refusal> {
        let cap = self.task.memory_cap(&[self.cpu], self.task.node());
        // Zeroing huge pages takes a second for some gigabytes, and every point takes three allocations.
        let patience = self.task.effort().choose([1u64 << 29, 2 << 30, 16 << 30]);
        let reserved = match page {
            PageKind::Huge(bytes) => {
                let nodes = self.task.machine().nodes.iter();
                let pools = nodes.flat_map(|node| node.huge_pages.iter().map(|pool| (pool, node.free_bytes)));
                let pools = pools.filter(|(pool, _)| pool.page_bytes == bytes);
                pools.map(|(pool, free)| pool.obtainable(free)).max().unwrap_or(0)
            }
            _ => u64::MAX,
        };
        // From there on the caches' own misses drown what translation costs.
        let second = self.task.machine().cache_of(self.cpu, 2).and_then(|c| c.bytes);
        let lines = second.map_or(MOST, |bytes| bytes / 2 / LINE).max(4 * FEWEST);
        let limits = [
            (lines, "their lines fill half of L2".to_owned()),
            (MOST, "four times the largest built".to_owned()),
            (cap.bytes / pitch(bytes), cap.why.clone()),
            (patience / pitch(bytes), format!("{} at this effort", Bytes(patience))),
            (reserved.saturating_sub(1), format!("{reserved} pages are free")),
        ];
        let (most, why) = limits.into_iter().min_by_key(|(most, _)| *most).unwrap_or_default();
        if most < 2 * FEWEST {
            let cure = match reserved < 2 * FEWEST {
                true => Cure::new("reserve more: nr_hugepages", &[]),
                false => cap.cure((2 * FEWEST).saturating_mul(pitch(bytes))),
            };
            return Err(says::too_few_pages(&page.to_string(), most, &why, &cure));
        }
        Ok((most, why))
    }

    /// Points an octave: fewer where each costs much memory.
    fn per_octave(&self, bytes: u64) -> u32 {
        match self.task.effort() {
            Effort::Full => 6,
            Effort::Quick => 3,
            Effort::Standard if bytes > 64 * KIB => 3,
            Effort::Standard => 4,
        }
    }

    /// Lines one a page, and as many side by side.
    fn pair(&self, page: PageKind, bytes: u64, pages: u64) -> [Step; 2] {
        let step = |pitch: u64, page: PageKind| {
            let layout = ChainLayout::Scatter(pitch);
            let (cpu, bytes, node) = (self.cpu, pages * pitch, self.task.node());
            let labels = Labels::new().with_purpose(Purpose::Shape);
            let chase = Chase { cpu, bytes, node, layout, page, chains: 1 };
            chase.step("tlb", labels, self.task.request.seed, shape(&self.task))
        };
        [step(pitch(bytes), page), step(LINE, self.packed)]
    }
}

/// Observations of one page size.
struct PageCurve<'a> {
    page: PageKind,
    /// Pages, and the observations of lines one a page and side by side.
    points: Vec<(u64, &'a Observation, &'a Observation)>,
    solved: Translation,
}

impl<'a> PageCurve<'a> {
    fn new(observations: &'a [Observation], page: PageKind, bytes: u64) -> Self {
        let apart = ChainLayout::Scatter(pitch(bytes)).to_string();
        let packed = ChainLayout::Scatter(LINE).to_string();
        let has_layout = |o: &&Observation, layout: &str| o.labels.layout() == Some(layout) && o.value.is_some();
        let mut points: Vec<(u64, &Observation, &Observation)> = with_purpose(observations, Purpose::Shape)
            .filter(|o| has_layout(o, &apart) && o.labels.page() == Some(page.to_string().as_str()))
            .filter_map(|o| {
                let pages = o.labels.size()?.0 / pitch(bytes);
                let same = |p: &&Observation| has_layout(p, &packed) && p.labels.size() == Some(Bytes(pages * LINE));
                Some((pages, o, with_purpose(observations, Purpose::Shape).find(same)?))
            })
            .collect();
        points.sort_by_key(|(pages, ..)| *pages);
        let numbers: Vec<(u64, f64, f64)> =
            points.iter().filter_map(|(pages, a, b)| Some((*pages, a.value?, b.value?))).collect();
        Self { page, points, solved: translation(&numbers) }
    }

    fn labels(&self, tier: Tier) -> Labels {
        Labels::new().with_tier(tier).with_page(self.page)
    }

    /// The two observations of a number of pages.
    fn at(&self, pages: u64) -> Vec<&'a Observation> {
        self.points.iter().filter(|(n, ..)| *n == pages).flat_map(|(_, a, b)| [*a, *b]).collect()
    }

    /// What an access costs more where lines lie one a page, from and to; `None` without intervals.
    fn cost(&self, pages: u64) -> Option<(f64, f64)> {
        let (_, apart, packed) = self.points.iter().find(|(n, ..)| *n == pages)?;
        let (apart, packed) = (apart.interval?, packed.interval?);
        Some((apart.low - packed.high, apart.high - packed.low))
    }

    /// The bounds of a level, if the points on both sides differ by more than their intervals; otherwise all pages that
    /// were tried.
    fn shown(&self, entries: Count) -> Option<Interval> {
        let beyond = entries.high.and_then(|most| self.cost(most + 1));
        match self.cost(entries.low).zip(beyond) {
            Some(((_, on_level), (beyond, _))) if beyond <= on_level => {
                bounds(self.points.first().map_or(0, |(pages, ..)| *pages), Some(self.solved.tried))
            }
            _ => bounds(entries.low, entries.high),
        }
    }

    /// What the whole curve says: where its points bend, or that they do not.
    fn grounded_whole(&self, found: Finding) -> Finding {
        let both =
            |(_, apart, packed): &&(u64, &'a Observation, &'a Observation)| is_usable(apart) && is_usable(packed);
        let points: Vec<&Observation> = self.points.iter().filter(both).map(|(_, apart, _)| *apart).collect();
        grounded(found, &points, self.points.len(), Says::Bend)
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let last = self.points.last().map_or_else(Vec::new, |(pages, ..)| self.at(*pages));
        for (index, buffer) in self.solved.buffers.iter().enumerate() {
            let Buffer { entries, miss_ns } = *buffer;
            let evidence: Vec<&Observation> = std::iter::once(entries.low)
                .chain(entries.high.map(|most| most + 1))
                .flat_map(|pages| self.at(pages))
                .collect();
            let labels = self.labels(Tier::Cache(index as u8 + 1));
            let value = Some(entries.value as f64);
            let mut found = resting_on(&evidence, Quantity::TlbEntries, labels.clone(), value, Unit::Count);
            found.interval = self.shown(entries);
            let found = self.grounded_whole(found);
            let is_known = found.value.is_some();
            findings.push(found);
            if !is_known {
                // What lies behind a level whose end is not known is not known either.
                return findings;
            }
            if index == 0 {
                findings.push(resting_on(&evidence, Quantity::TlbMiss, labels, Some(miss_ns), Unit::Ns));
            }
        }
        let tried = self.solved.tried;
        if self.solved.buffers.len() < 2 {
            // A TLB whose end was not reached holds at least the most pages tried.
            let labels = self.labels(Tier::Cache(self.solved.buffers.len() as u8 + 1)).with_statistic("at least");
            let mut found = resting_on(&last, Quantity::TlbEntries, labels, Some(tried as f64), Unit::Count);
            found.notes.push(shapes::no_step_up_to(tried));
            findings.push(self.grounded_whole(found));
        } else {
            let pages = self.solved.walk_pages.unwrap_or(tried);
            let labels = self.labels(Tier::Walk).with_length(pages);
            let evidence = self.at(pages);
            let mut found = resting_on(&evidence, Quantity::TlbWalk, labels, self.solved.walk_ns, Unit::Ns);
            found.notes.push(shapes::walk_adds(pages));
            findings.push(found);
        }
        findings
    }
}
