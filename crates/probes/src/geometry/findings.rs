//! Results of the solver, as findings beside the declarations of the system.

use tiermark_model::messages::shapes;
use tiermark_model::{
    Bytes, Cache, ChainLayout, Finding, Grade, Labels, Machine, Nanoseconds, Note, Observation, PageKind, Quantity,
    Reason, Tier, Unit, WhyNot, carried,
};

use super::solve::{FULL, Level, Strided, Ways, line, neighbours, off_step, placed_at_random, ways};
use super::solver_input::{AGREE, GeometryCurves};
use crate::chasing::{bounds, resting_on};
use crate::ground::{Says, grounded};
use crate::ladder::derived;

/// Levels whose ways are looked for; slices of last levels are hashed.
const RESOLVED: usize = 2;
/// Strides that a table needs to say anything: two that agree on the ways, and a smaller one that bounds the size of a
/// way.
const LEAST_STRIDES: usize = 3;
/// Largest ratio of the two footprints between which a level of a table ends: doubled ones, the first of which may lie
/// a tenth above the capacity.
const MOST_APART: f64 = 2.25;

/// A cache of one core that ends beyond so many times its declared size: the curve rises there to what lies behind the
/// next level, which does not show.
const MOST_DECLARED: f64 = 1.5;

/// All findings but those about sharing.
pub(super) fn geometry(seen: &GeometryCurves<'_>, machine: &Machine) -> Vec<Finding> {
    let mut found = Vec::new();
    let line_bytes = lines(seen, machine, &mut found);
    levels(seen, seen.levels.len(), machine, line_bytes, &mut found);
    found.extend(missing(seen, machine));
    found
}

/// What a table of strides and footprints says: the line, and of each level the size, the time and the ways. Nothing
/// where it has fewer strides than agree on ways, no random rows, or footprints too far apart to show where levels end.
pub(super) fn of_table(seen: &GeometryCurves<'_>, machine: &Machine) -> Vec<Finding> {
    let mut found = Vec::new();
    let is_sparse = |(_, level): &(Tier, Level)| {
        level.size.high.is_none_or(|high| high as f64 > MOST_APART * level.size.low as f64)
    };
    // The end of a level is a share of the way to the next one: that must be known as well.
    let shown = match seen.levels.iter().position(is_sparse) {
        Some(sparse) => sparse.saturating_sub(1),
        None => seen.levels.len(),
    };
    if seen.strided.len() < LEAST_STRIDES || shown == 0 {
        return found;
    }
    let line_bytes = line_of_table(seen, machine, &mut found);
    levels(seen, shown, machine, line_bytes, &mut found);
    found
}

/// Size, time and ways of the first so many levels.
fn levels(
    seen: &GeometryCurves<'_>,
    shown: usize,
    machine: &Machine,
    line_bytes: Option<u64>,
    found: &mut Vec<Finding>,
) {
    let mut above: Option<u64> = None;
    for (index, (tier, level)) in seen.levels.iter().take(shown).enumerate() {
        let view = LevelView::new(seen, machine, *tier, level);
        let solved = if index < RESOLVED { ways(&seen.strided, level.ns, level.next_ns) } else { None };
        // As many nodes as the level above holds never reach this one.
        let hidden = solved.is_some_and(|w| above.is_some_and(|above| w.ways.value <= above));
        let solved = solved.filter(|_| !hidden);
        let ways = solved.map(|solved| view.ways(&solved, line_bytes));
        // Ways that are no number make no size.
        let is_number = ways.iter().flatten().next().is_some_and(|ways| ways.value.is_some());
        let size = view.size(solved.filter(|_| is_number));
        found.extend(view.time(size.as_ref(), index.checked_sub(1).map(|above| seen.levels[above].1)));
        found.extend(size);
        match ways {
            Some(ways) => found.extend(ways),
            None => found.extend(view.unresolved(index, hidden, above)),
        }
        above = solved.map(|w| w.ways.value).or(above);
    }
}

/// A bound of the line: at a footprint beyond L1, the smallest stride within a page that pays as much as random
/// accesses fetches a line each time. Prefetchers help smaller ones, or their words share a line: rising chains do not
/// tell which. From a page on no stride says anything about lines, since prefetchers end at pages. Returns it where the
/// system declares no other.
fn line_of_table(seen: &GeometryCurves<'_>, machine: &Machine, found: &mut Vec<Finding>) -> Option<u64> {
    let (_, first) = seen.levels.first()?;
    let beyond = first.size.high?;
    let at = |bytes: u64| -> Vec<(u64, f64, &Observation)> {
        let here = |c: &Strided| Some((c.stride, seen.at(ChainLayout::Scatter(c.stride), bytes)?));
        let all = seen.strided.iter().filter(|c| c.stride < ChainLayout::PREFETCHED_BELOW).filter_map(here);
        all.filter_map(|(stride, o)| Some((stride, o.value?, o))).collect()
    };
    // Of the footprints beyond L1 that the most strides have, the smallest: L2 answers.
    let footprints = seen.curve.iter().filter(|(bytes, _)| *bytes > beyond);
    let (rows, random) =
        footprints.map(|(bytes, ns)| (at(*bytes), *ns)).min_by_key(|(r, _)| std::cmp::Reverse(r.len()))?;
    // Two, so that without random rows the smallest is compared with another.
    let full = rows.iter().map(|(_, ns, _)| *ns).fold(random, f64::max);
    let (bytes, _, o) = *rows.iter().filter(|_| rows.len() > 1).find(|(_, ns, _)| *ns > FULL * full)?;
    let declared = seen.cpu.and_then(|cpu| machine.cache_of(cpu, 1)).and_then(|c| c.line_bytes);
    // A bound above the declared size adds nothing to it.
    if declared.is_some_and(|declared| u64::from(declared) < bytes) {
        return declared.map(u64::from);
    }
    let mut finding = resting_on(&[o], Quantity::GeometryLine, Labels::new(), Some(bytes as f64), Unit::Bytes);
    finding.notes.push(shapes::line_at_most(Bytes(bytes), bytes == rows[0].0));
    if let Some(declared) = declared {
        finding.labels = finding.labels.with_declared_number(u64::from(declared));
        finding.notes.extend((u64::from(declared) > bytes).then(|| shapes::another_line_declared(declared)));
    }
    found.push(finding);
    Some(bytes).filter(|bytes| declared.is_none_or(|declared| u64::from(declared) == *bytes))
}

/// Pairs of words: their distance, ns, and the step.
type Pairs<'a> = [(u64, f64, &'a Observation)];

fn numbers(pairs: &Pairs<'_>) -> Vec<(u64, f64)> {
    pairs.iter().map(|(apart, ns, _)| (*apart, *ns)).collect()
}

/// The line and its neighbours; returns the line's size, where it was found.
fn lines(seen: &GeometryCurves<'_>, machine: &Machine, found: &mut Vec<Finding>) -> Option<u64> {
    let [cached, memory] = seen.pairs();
    let declared = seen.cpu.and_then(|cpu| machine.cache_of(cpu, 1)).and_then(|c| c.line_bytes);
    let line = line_of_pairs(&cached, declared.map(u64::from));
    let bytes = line.as_ref().and_then(|line| line.value).map(|bytes| bytes as u64);
    found.extend(line);
    found.extend(bytes.and_then(|bytes| neighbours_of_pairs(&memory, bytes)));
    bytes
}

/// Where the first of two words decides: behind another one.
fn decides(apart: u64, pairs: &Pairs<'_>) -> Option<usize> {
    pairs.iter().position(|(own, ..)| *own == apart).filter(|at| *at > 0)
}

fn line_of_pairs(cached: &Pairs<'_>, declared: Option<u64>) -> Option<Finding> {
    let bytes = line(&numbers(cached)).filter(|line| !line.at_most)?.bytes;
    let at = decides(bytes, cached)?;
    let (near, far) = (&cached[at - 1], &cached[at]);
    let off = off_step(&numbers(cached), bytes);
    let is_off = |apart: &u64| off.contains(apart);
    // A bound may lie off the step, and then the line is one too; a time that is certain may not.
    let decide = cached.iter().enumerate().filter(|(i, (apart, ..))| *i + 1 == at || *i == at || is_off(apart));
    let decide: Vec<&Observation> = decide.map(|(_, (_, _, o))| *o).collect();
    let mut line = resting_on(&decide, Quantity::GeometryLine, Labels::new(), Some(bytes as f64), Unit::Bytes);
    if cached.iter().any(|(apart, _, o)| is_off(apart) && o.verdict.grade == Grade::Trusted) {
        line.value = None;
        line.verdict.suspect(Reason::NotOneStep { off: off.len() as u64, of: cached.len() as u64 });
    }
    line.notes.push(shapes::line_from_words(Bytes(near.0), near.1.into(), Bytes(far.0), far.1.into()));
    if let Some(declared) = declared {
        // One slow time can pass for another line. Rarely does the system declare a wrong one.
        if declared != bytes {
            line.verdict.suspect(Reason::AnotherLine { declared: Bytes(declared) });
        }
        line.labels = line.labels.with_declared_number(declared);
    }
    line.evidence = cached.iter().map(|(_, _, o)| o.step.clone()).collect();
    Some(line)
}

fn neighbours_of_pairs(memory: &Pairs<'_>, line: u64) -> Option<Finding> {
    if memory.is_empty() {
        return None;
    }
    let reach = neighbours(&numbers(memory), line);
    let value = reach.unwrap_or(line);
    // The two points that decide: the first that pays in full, and the one before it.
    let decide: Vec<&Observation> = match decides(value, memory) {
        Some(at) => vec![memory[at - 1].2, memory[at].2],
        None => memory.iter().map(|(_, _, o)| *o).collect(),
    };
    let mut found = resting_on(&decide, Quantity::GeometryNeighbours, Labels::new(), Some(value as f64), Unit::Bytes);
    found.notes.push(reach.map(Bytes).map_or_else(shapes::lines_come_alone, shapes::lines_come_together));
    found.evidence = memory.iter().map(|(_, _, o)| o.step.clone()).collect();
    Some(found)
}

/// A level and everything that is said about it.
struct LevelView<'a> {
    seen: &'a GeometryCurves<'a>,
    tier: Tier,
    level: &'a Level,
    declared: Option<&'a Cache>,
    /// The declared size, of a cache that one core has for itself.
    own_bytes: Option<u64>,
    /// Whether a hypervisor declares it.
    guest: bool,
    /// Size of a base page, bytes. Huge pages of a guest may be base pages of its host, so they do not count.
    page_bytes: u64,
    /// The points between which the level ends.
    edge: Vec<&'a Observation>,
}

impl<'a> LevelView<'a> {
    fn new(seen: &'a GeometryCurves<'a>, machine: &'a Machine, tier: Tier, level: &'a Level) -> Self {
        let number = tier.level();
        let declared = seen.cpu.zip(number).and_then(|(cpu, number)| machine.cache_of(cpu, number));
        let at = |bytes: u64| {
            let here = |(layout, o): &&(ChainLayout, &'a Observation)| {
                *layout == seen.curve_layout && o.labels.size().is_some_and(|s| s.0 == bytes)
            };
            seen.chases.iter().find(here).map(|(_, o)| *o)
        };
        // The low bound may lie a tenth below the last point on the level.
        let last = seen.curve.iter().map(|(x, _)| *x).rfind(|x| level.size.high.is_some_and(|high| *x < high));
        let edge = last.and_then(at).into_iter().chain(level.size.high.and_then(at)).collect();
        let guest = machine.system.hypervisor.is_some();
        let is_near = number.is_some_and(|number| usize::from(number) <= RESOLVED);
        let own = declared.filter(|cache| is_near && machine.one_per_core(&cache.cpus).len() <= 1);
        let own_bytes = own.and_then(|cache| cache.bytes);
        Self { seen, tier, level, declared, own_bytes, guest, page_bytes: machine.page_bytes, edge }
    }

    fn labels(&self) -> Labels {
        Labels::new().with_tier(self.tier)
    }

    /// The size: exact where ways and their size are known and agree with the curve, between two footprints elsewhere.
    fn size(&self, solved: Option<Ways>) -> Option<Finding> {
        let Level { size: bounded, .. } = *self.level;
        let high = bounded.high?;
        let near = |bytes: u64| bytes as f64 >= AGREE * bounded.low as f64 && bytes as f64 * AGREE <= high as f64;
        // Where ways do not show, pages may lie at random, and the curve leaves a level before its capacity.
        // Some systems declare none where they do not know them.
        let random = self.declared.filter(|cache| solved.is_none() && self.has_colours(cache));
        let random = random.and_then(|cache| cache.ways).filter(|ways| *ways > 0);
        let random = random.map_or(1.0, |ways| placed_at_random(u64::from(ways)));
        let by_ways = solved.and_then(|w| w.size());
        let exact = by_ways.filter(|bytes| near(*bytes));
        // The curve bounds it all the same: nothing measured the way.
        let likeliest = solved.filter(|_| by_ways.is_none()).and_then(|w| w.only_size(near));
        let ends = (high as f64 / random) as u64;
        // The curve does not tell the declared size from any other between its bounds.
        let declared = self.declared.and_then(|cache| cache.bytes).filter(|bytes| (bounded.low..=ends).contains(bytes));
        let likeliest = likeliest.or(declared);
        let value = exact.or(likeliest).unwrap_or((bounded.value as f64 / random) as u64);
        let mut found = resting_on(&self.edge, Quantity::GeometrySize, self.labels(), Some(value as f64), Unit::Bytes);
        match (exact, by_ways) {
            (Some(_), _) => found.interval = bounds(value, Some(value)),
            (None, by_ways) => {
                found.interval = bounds(bounded.low, Some(ends));
                let lies_at_random = (random < 1.0).then_some(value);
                found.notes.push(shapes::tenth_misses(Bytes(bounded.low), Bytes(high), lies_at_random));
                found.notes.extend(by_ways.map(|bytes| shapes::ways_say(Bytes(bytes))));
            }
        }
        if let Some(bytes) = self.declared.and_then(|c| c.bytes) {
            found.labels = found.labels.with_declared_number(bytes);
            let agrees =
                if exact.is_some() { bytes == value } else { near(bytes) || near((bytes as f64 * random) as u64) };
            if !agrees {
                found.notes.push(shapes::another_size_declared(Bytes(bytes), Bytes(value), self.guest));
            }
        }
        if exact.is_none() && self.own_bytes.is_some_and(|bytes| value as f64 > MOST_DECLARED * bytes as f64) {
            let (low, high) = (Bytes(bounded.low), Some(Bytes(high)));
            found.verdict.suspect(Reason::NotResolved { low, high, why: WhyNot::Irregular });
        }
        let curve = self.seen.chases.iter().filter(|(layout, _)| *layout == self.seen.curve_layout);
        let curve: Vec<&Observation> = curve.map(|(_, o)| *o).collect();
        Some(grounded(found, &curve, curve.len(), Says::Bend))
    }

    /// Whether page placement decides which sets a line uses. A page at least as large as a way covers all sets.
    fn has_colours(&self, cache: &Cache) -> bool {
        let way = cache.bytes.zip(cache.ways).map(|(bytes, ways)| bytes / u64::from(ways.max(1)));
        way.is_none_or(|way| way > self.page_bytes)
    }

    /// Latency over the largest footprint within the level that the level above does not answer in part; that of the
    /// plateau where there is no such footprint.
    fn time(&self, size: Option<&Finding>, above: Option<Level>) -> Option<Finding> {
        let low = self.level.size.low;
        let size = size.and_then(|size| size.value).map_or(low, |bytes| bytes as u64);
        // Beyond what the core's own cache holds, another level answers a part.
        let size = self.own_bytes.filter(|own| size as f64 > MOST_DECLARED * *own as f64).unwrap_or(size);
        let above = above.map_or(0, |above| above.size.value);
        let within = carried(above, size, low);
        let at = |bytes: u64| self.seen.at(self.seen.curve_layout, bytes);
        let point = self.seen.curve.iter().rfind(|(bytes, _)| within.contains(bytes));
        let (o, ns) = match point {
            Some((bytes, ns)) => (at(*bytes)?, *ns),
            None => (at(self.seen.curve.iter().map(|(bytes, _)| *bytes).rfind(|bytes| *bytes <= low)?)?, self.level.ns),
        };
        Some(derived(o, Quantity::GeometryLatency, self.labels(), ns, Unit::Ns))
    }

    fn ways(&self, solved: &Ways, line: Option<u64>) -> Vec<Finding> {
        let decides = self.conflicts(solved);
        let mut found =
            resting_on(&decides, Quantity::GeometryWays, self.labels(), Some(solved.ways.value as f64), Unit::Count);
        found.interval = bounds(solved.ways.low, solved.ways.high);
        if let Some(ways) = self.declared.and_then(|c| c.ways) {
            found.labels = found.labels.with_declared_number(u64::from(ways));
            if u64::from(ways) != solved.ways.value {
                found.notes.push(shapes::other_ways_declared(ways, u64::from(ways) > solved.ways.value));
            }
        }
        let mut out = vec![grounded(found, &decides, decides.len(), Says::Level)];
        if let (Some(way), Some(line)) = (solved.way_bytes.filter(|_| out[0].value.is_some()), line) {
            let mut sets =
                resting_on(&decides, Quantity::GeometrySets, self.labels(), Some((way / line) as f64), Unit::Count);
            sets.notes.push(shapes::way_in_lines(Bytes(way), line));
            if let Some(declared) = self.declared.and_then(|c| c.sets) {
                sets.labels = sets.labels.with_declared_number(u64::from(declared));
            }
            out.push(sets);
        }
        out
    }

    /// The chains that fit and those that do not, at the distances that show the ways.
    fn conflicts(&self, solved: &Ways) -> Vec<&'a Observation> {
        let from = solved.way_bytes.unwrap_or(solved.repeats);
        let telling = self.seen.strided.iter().filter(|c| c.stride >= from);
        let around = |curve: &Strided| {
            let fit = solved.ways.value * curve.stride;
            let sizes = || curve.points.iter().map(|(bytes, _)| *bytes);
            let (last, first) =
                (sizes().filter(|bytes| *bytes <= fit).max(), sizes().filter(|bytes| *bytes > fit).min());
            let at = |bytes: u64| self.seen.at(ChainLayout::Scatter(curve.stride), bytes);
            [last.and_then(at), first.and_then(at)]
        };
        telling.flat_map(around).flatten().collect()
    }

    /// Why the ways are not resolved.
    fn unresolved(&self, index: usize, hidden: bool, above: Option<u64>) -> Option<Finding> {
        let mut found = resting_on(&self.edge, Quantity::GeometryWays, self.labels(), None, Unit::Count);
        let page = self.edge.first().and_then(|o| o.labels.page()?.parse::<PageKind>().ok());
        // Lines meet in one set from the size of a way on.
        let stride = self.seen.strided.iter().map(|curve| curve.stride).max().unwrap_or(1);
        let least = self.level.size.low.div_ceil(stride);
        found.notes.push(match above {
            _ if index >= RESOLVED => shapes::ways_hashed(),
            Some(above) if hidden => shapes::ways_hidden(above),
            _ if page == Some(PageKind::Base) => shapes::ways_need_huge_pages(),
            _ if least > above.unwrap_or(1) => shapes::ways_need_strides(Bytes(stride), least),
            _ => shapes::ways_do_not_show(),
        });
        if let Some(ways) = self.declared.and_then(|c| c.ways) {
            found.labels = found.labels.with_declared_number(u64::from(ways));
        }
        Some(found)
    }
}

/// Declared levels that do not show.
fn missing(seen: &GeometryCurves<'_>, machine: &Machine) -> Vec<Finding> {
    let Some(cpu) = seen.cpu else { return Vec::new() };
    let Some((_, last)) =
        seen.chases.iter().filter(|(l, _)| *l == ChainLayout::Random).max_by_key(|(_, o)| o.labels.size())
    else {
        return Vec::new();
    };
    let shown = |level: u8| seen.levels.iter().any(|(tier, _)| *tier == Tier::Cache(level));
    let hidden = machine.data_caches().filter(|c| c.cpus.contains(cpu) && !shown(c.level));
    hidden
        .map(|cache| {
            let labels = Labels::new().with_tier(Tier::Cache(cache.level));
            let labels = cache.bytes.into_iter().fold(labels, |labels, bytes| labels.with_declared_number(bytes));
            let mut found = resting_on(&[last], Quantity::GeometrySize, labels, None, Unit::Bytes);
            found.verdict.suspect(Reason::NoPlateau { level: cache.level, bytes: cache.bytes.map(Bytes) });
            found.with_notes([climb(seen)])
        })
        .collect()
}

/// The curve beyond the last visible level.
fn climb(seen: &GeometryCurves<'_>) -> Note {
    let from = seen.levels.last().map_or(0, |(_, level)| level.size.low);
    let behind: Vec<&(u64, f64)> = seen.curve.iter().filter(|(x, _)| *x >= from).collect();
    let mut steps: Vec<(Bytes, Nanoseconds)> = Vec::new();
    // Octave by octave, which is enough to see a climb.
    let mut next = from;
    for (bytes, ns) in behind {
        if *bytes >= next {
            steps.push((Bytes(*bytes), Nanoseconds(*ns)));
            next = bytes * 2;
        }
    }
    shapes::level_not_seen(&steps)
}
