//! From times to shapes: lines, caches and translation buffers out of the curves of chases. Numbers in, geometry out.

use tiermark_stats::tiers;

/// Share of the way to the next level at which a curve has left one: a line more than there are ways misses at least
/// once a round whatever is replaced, which with 20 ways is 1 access in 21.
const LEAVING: f64 = 0.04;
/// As above where a footprint is read off a curve that may bend slowly: with hits in proportion to capacity/footprint,
/// the mark is at 1.11 times the capacity.
const LEAVING_SOFT: f64 = 0.1;
/// A level's own waves: nothing below this share of it counts as having left it. A plateau of footprints holds some
/// hits of the level above, so chains that have none lie up to a fifteenth over it.
const WAVES: f64 = 0.08;
/// Times of a level by which a footprint may be above it and still be said to fit in it. Behind a level whose next one
/// has no plateau stands memory: a tenth of the way there is many times the level, and lies far beyond its end.
const MOST_ABOVE: f64 = 3.0;
/// Times of a level that the next one takes at least: L2 of all cores takes twice as long as L1, or longer.
const NEXT_LEVEL: f64 = 1.5;
/// Distances that pay at least this share of the full price pay in full: prefetched neighbours cost about half.
pub(super) const FULL: f64 = 0.85;

/// A whole number that lies from `low` to `high`, with the likeliest between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// The likeliest.
    pub value: u64,
    /// The least it can be.
    pub low: u64,
    /// The most it can be; `None` where the curve ended before.
    pub high: Option<u64>,
}

impl Count {
    /// Whether only one number is possible.
    pub fn exact(self) -> bool {
        self.high == Some(self.low)
    }
}

/// Times of chains with one node every `stride` bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Strided {
    /// Bytes from node to node.
    pub stride: u64,
    /// Footprint in bytes and ns an access, in any order.
    pub points: Vec<(u64, f64)>,
}

/// Where a curve leaves a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The last x still on the level.
    pub fits: u64,
    /// The first x beyond; `None` where the curve ends on the level.
    pub misses: Option<u64>,
}

/// Where a curve leaves the level of `level` ns on its way to `next` ns. One wild point is passed over: it takes two in
/// a row, or the last, to leave. `None` where it never was on the level.
pub fn edge(points: &[(u64, f64)], level: f64, next: f64) -> Option<Edge> {
    edge_at(points, level, next, LEAVING)
}

fn edge_at(points: &[(u64, f64)], level: f64, next: f64, share: f64) -> Option<Edge> {
    let step = next - level;
    let mark = level + (share * step).max(WAVES * level).min((MOST_ABOVE - 1.0) * level).min(step / 2.0);
    let mut points = points.to_vec();
    points.sort_by_key(|(x, _)| *x);
    let beyond = |i: usize| points.get(i).is_none_or(|(_, y)| *y > mark);
    match (0..points.len()).find(|&i| beyond(i) && beyond(i + 1)) {
        Some(0) => None,
        Some(first) => Some(Edge { fits: points[first - 1].0, misses: Some(points[first].0) }),
        None => points.last().map(|(x, _)| Edge { fits: *x, misses: None }),
    }
}

/// One level of a footprint curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Its plateau, ns.
    pub ns: f64,
    /// End of the level behind it.
    pub next_ns: f64,
    /// Its capacity in bytes.
    pub size: Count,
}

/// The levels of a curve of (footprint, ns) and their capacities.
///
/// A level ends where the curve has gone a tenth of the way to the next. Where it then jumps (strict
/// least-recently-used replacement) the capacity lies between the two points of the jump; where it bends (random
/// replacement, or pages that collide by chance), the mark is 11 % beyond the capacity, and the bounds allow for that.
pub fn levels(points: &[(u64, f64)]) -> Vec<Level> {
    let curve: Vec<(f64, f64)> = points.iter().map(|(x, y)| (*x as f64, *y)).collect();
    let found = tiers(&curve);
    let top = {
        let mut sorted = points.to_vec();
        sorted.sort_by_key(|(x, _)| *x);
        let last: Vec<f64> = sorted.iter().rev().take(3).map(|(_, y)| *y).collect();
        tiermark_stats::median(&last)
    };
    let mut levels = Vec::new();
    for (index, (plateau, _)) in found.plateaus.iter().zip(&found.boundaries).enumerate() {
        let Some(next_ns) = found.plateaus.get(index + 1).map(|p| p.value).or(top) else { continue };
        levels.extend(level(points, plateau.value, next_ns));
    }
    levels
}

/// The level of `ns`, where the curve leaves it for `next_ns`.
fn level(points: &[(u64, f64)], ns: f64, next_ns: f64) -> Option<Level> {
    let Edge { fits, misses } = edge_at(points, ns, next_ns, LEAVING_SOFT)?;
    let misses = misses?;
    let half = f64::midpoint(ns, next_ns);
    let jumps = points.iter().any(|(x, y)| *x == misses && *y > half);
    let low = if jumps { fits } else { (fits as f64 * (1.0 - LEAVING_SOFT)) as u64 };
    let size = Count { value: u64::midpoint(low, misses), low, high: Some(misses) };
    Some(Level { ns, next_ns, size })
}

/// Two levels where the curve shows one: a level that is only a few times as large as the one before it has no plateau
/// in a curve that bends, but strided chains show the size of the first. The second's time is that of the curve
/// half-way between, an upper bound: where that is hardly above the first, there is one level.
pub fn split(points: &[(u64, f64)], whole: &Level, first: u64) -> Option<[Level; 2]> {
    let between = (first as f64 * whole.size.low as f64).sqrt() as u64;
    let (_, ns) = points.iter().filter(|(x, _)| *x >= between).min_by_key(|(x, _)| *x)?;
    if *ns < NEXT_LEVEL * whole.ns {
        return None;
    }
    let second = level(points, *ns, whole.next_ns).filter(|second| second.size.low > first)?;
    let size = Count { value: first, low: first, high: Some(first) };
    Some([Level { ns: whole.ns, next_ns: *ns, size }, second])
}

/// The share of a level's capacity at which a tenth of the accesses miss when pages lie at random: a page takes the
/// sets of one colour, and a colour that got more pages than there are ways misses them all. With λ pages a colour on
/// average (Poisson) the share of accesses to such colours is P(X ≥ ways), since k·p(k)/λ = p(k − 1). Page colouring:
/// Kessler & Hill, "Page placement algorithms for large real-indexed caches", ACM TOCS 10(4), 1992.
pub fn placed_at_random(ways: u64) -> f64 {
    let crowded = |mean: f64| {
        let (mut term, mut below) = ((-mean).exp(), 0.0);
        for k in 0..ways {
            below += term;
            term *= mean / (k + 1) as f64;
        }
        1.0 - below
    };
    let (mut low, mut high) = (0.0, ways as f64);
    // A bisection to well below a percent.
    for _ in 0..20 {
        let mean = f64::midpoint(low, high);
        if crowded(mean) < LEAVING_SOFT { low = mean } else { high = mean }
    }
    low / ways.max(1) as f64
}

/// How a cache level is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ways {
    /// Lines that one set holds.
    pub ways: Count,
    /// Bytes after which the sets repeat, which is the size of a way; `None` where the strides do not show it.
    pub way_bytes: Option<u64>,
    /// The smallest stride that shows the ways.
    pub repeats: u64,
}

impl Ways {
    /// The size of the level, where both numbers are known.
    pub fn size(&self) -> Option<u64> {
        self.way_bytes.map(|way| way * self.ways.value)
    }

    /// The size of a level whose ways are known and whose way is not: a way is the stride that shows the ways, or a
    /// half, a quarter, … of it. `None` unless a single one of these is near.
    pub fn only_size(&self, near: impl Fn(u64) -> bool) -> Option<u64> {
        let ways = std::iter::successors(Some(self.repeats), |way| Some(way / 2).filter(|way| *way > 0));
        let mut sizes = ways.map(|way| way * self.ways.value).filter(|bytes| near(*bytes));
        sizes.next().filter(|_| sizes.next().is_none())
    }
}

/// Ways and their size out of strided curves, for the level of `level` ns above one of `next` ns.
///
/// Nodes a way's size apart, or a multiple, meet in one set: as many stay as there are ways, whatever the stride.
/// Nearer nodes spread over several sets, and more stay. So the ways are the fewest nodes that at least two strides
/// allow and none excludes: each stride gives the most nodes that fit and the fewest that do not. The larger stride of
/// two must fit bytes that already miss at the smaller one; otherwise both may show one capacity, and no sets. The size
/// of a way is the smallest of these strides. Sets are taken to be a power of two and not hashed; otherwise the strides
/// (powers of two) never agree on a small number, and nothing is said.
pub fn ways(curves: &[Strided], level: f64, next: f64) -> Option<Ways> {
    let mut edges: Vec<(u64, Edge)> = Vec::new();
    for curve in curves.iter().filter(|c| c.stride > 0) {
        let nodes: Vec<(u64, f64)> = curve.points.iter().map(|(bytes, ns)| (bytes / curve.stride, *ns)).collect();
        edges.extend(edge(&nodes, level, next).map(|edge| (curve.stride, edge)));
    }
    edges.sort_by_key(|(stride, _)| *stride);
    let agreeing = |nodes: u64| {
        let can_be = move |e: &Edge| e.fits <= nodes && e.misses.is_some_and(|misses| nodes < misses);
        edges.iter().filter(move |(_, e)| can_be(e))
    };
    let is_refuted = |nodes: u64| edges.iter().any(|(_, e)| e.misses.is_some_and(|misses| misses <= nodes));
    let conflict = |nodes: u64| {
        let misses_at = |(stride, e): &(u64, Edge)| e.misses.map_or(u64::MAX, |misses| misses.saturating_mul(*stride));
        let least = agreeing(nodes).map(misses_at).min();
        least.is_some_and(|least| agreeing(nodes).any(|(stride, e)| e.fits.saturating_mul(*stride) >= least))
    };
    let counts = edges.iter().map(|(_, e)| e.fits);
    let fewest = counts.filter(|nodes| !is_refuted(*nodes) && conflict(*nodes)).min()?;
    let (repeats, _) = *agreeing(fewest).next()?;
    let most = agreeing(fewest).filter_map(|(_, e)| e.misses).min().map(|misses| misses - 1);
    let below = edges.iter().rfind(|(stride, e)| *stride < repeats && e.fits > fewest);
    let possible = |way: u64| {
        below.is_none_or(|(stride, e)| {
            let size = fewest * way;
            // Nodes that fill all sets leave no room for a line of others, which evicts one after the other.
            size >= e.fits * stride && e.misses.is_none_or(|misses| size <= misses * stride)
        })
    };
    let least = below.map_or(repeats, |(stride, _)| stride + 1);
    let mut candidates = std::iter::successors(Some(repeats), |way| Some(way / 2)).take_while(|way| *way >= least);
    let way_bytes = below.and_then(|_| candidates.find(|way| possible(*way)));
    Some(Ways { ways: Count { value: fewest, low: fewest, high: most }, way_bytes, repeats })
}

/// The size of a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Its size, bytes.
    pub bytes: u64,
    /// Even the smallest distance paid in full: the line is this long or shorter.
    pub at_most: bool,
}

/// Share of the step from words of one line to words of two by which a time may miss both. The step is 15 % of the time
/// or more, so that the 5 % to which times are measured are within it.
const OFF_STEP: f64 = 1.0 / 3.0;

/// The line size out of (distance, ns): words nearer than a line come together, so the time rises once they are a line
/// apart.
pub fn line(points: &[(u64, f64)]) -> Option<Line> {
    let (points, full) = by_distance(points)?;
    let (nearest, cheapest) = *points.first()?;
    if cheapest > FULL * full {
        return Some(Line { bytes: nearest, at_most: true });
    }
    let half = f64::midpoint(cheapest, full);
    let (bytes, _) = points.into_iter().find(|(_, ns)| *ns > half)?;
    Some(Line { bytes, at_most: false })
}

/// The distances whose times lie on neither side of the step at a line of `bytes`: words of one line all pay the same,
/// and so do words of two.
pub fn off_step(points: &[(u64, f64)], bytes: u64) -> Vec<u64> {
    let Some((points, full)) = by_distance(points) else { return Vec::new() };
    let cheapest = points.first().map_or(full, |(_, ns)| *ns);
    let most = OFF_STEP * (full - cheapest);
    let off = |apart: u64, ns: f64| (ns - if apart < bytes { cheapest } else { full }).abs() > most;
    points.into_iter().filter(|(apart, ns)| off(*apart, *ns)).map(|(apart, _)| apart).collect()
}

/// How far neighbours of a line come with it: the first distance that pays in full, where that is beyond the line. For
/// memory that is too large for the caches, so that what is not brought along has to be fetched.
pub fn neighbours(points: &[(u64, f64)], line: u64) -> Option<u64> {
    let (points, full) = by_distance(points)?;
    let (reach, _) = points.into_iter().find(|(apart, ns)| *apart >= line && *ns > FULL * full)?;
    (reach > line).then_some(reach)
}

/// Points by distance, and what the farthest pay. A word farther away never comes sooner, and disturbance only adds
/// time: each distance pays at most what any beyond it does.
fn by_distance(points: &[(u64, f64)]) -> Option<(Vec<(u64, f64)>, f64)> {
    let mut points = points.to_vec();
    points.sort_by_key(|(apart, _)| *apart);
    let mut least = f64::INFINITY;
    for (_, ns) in points.iter_mut().rev() {
        least = least.min(*ns);
        *ns = least;
    }
    let far: Vec<f64> = points.iter().rev().take(2).map(|(_, ns)| *ns).collect();
    let full = tiermark_stats::median(&far).filter(|_| points.len() >= 3)?;
    Some((points, full))
}

/// One level of address translation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Buffer {
    /// Pages it holds.
    pub entries: Count,
    /// Additional time of an access that misses it and hits the next level (behind the last level: walks), ns.
    pub miss_ns: f64,
}

/// Cost of address translation, by pages.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Translation {
    /// The levels found, the nearest first.
    pub buffers: Vec<Buffer>,
    /// The most pages that were tried.
    pub tried: u64,
    /// The most pages whose walks were measured.
    pub walk_pages: Option<u64>,
    /// What translation costs where nearly every access walks, ns; `None` where the curve does not go beyond the second
    /// level.
    pub walk_ns: Option<f64>,
}

/// Levels of translation out of (pages, ns of lines one a page, ns of as many lines side by side). The difference is
/// what translation costs: both chains hold the same number of lines, spread alike over the sets of the caches.
pub fn translation(points: &[(u64, f64, f64)]) -> Translation {
    let floor = points.iter().map(|(_, _, packed)| *packed).fold(f64::INFINITY, f64::min);
    // Costs are added to the fastest access: without such a scale a level near 0 cannot be separated from noise.
    let curve: Vec<(u64, f64)> =
        points.iter().map(|(pages, apart, packed)| (*pages, floor + (apart - packed).max(0.0))).collect();
    let tried = curve.iter().map(|(pages, _)| *pages).max().unwrap_or(0);
    // A core has two levels; steps behind them are page tables that leave the caches, and belong to the walk.
    let buffers = levels(&curve).into_iter().take(2).map(|level| {
        let Edge { fits, misses } =
            edge_at(&curve, level.ns, level.next_ns, LEAVING_SOFT).unwrap_or(Edge { fits: 0, misses: None });
        // A jump lies between two points. A bend comes of sets that fill unevenly: it begins before the capacity, at
        // which half of the accesses find their set too full.
        let half = f64::midpoint(level.ns, level.next_ns);
        let halfway = curve.iter().filter(|(pages, ns)| *pages > fits && *ns > half).map(|(pages, _)| *pages).min();
        // No cache misses at less than half of its size.
        let halfway = halfway.map(|pages| pages.min(2 * fits.max(1)));
        let most = misses.map(|misses| halfway.unwrap_or(misses).max(misses) - 1);
        let value = roundest(fits, most.unwrap_or(fits));
        Buffer { entries: Count { value, low: fits, high: most }, miss_ns: level.next_ns - level.ns }
    });
    let buffers: Vec<Buffer> = buffers.collect();
    let walked = buffers.get(1).map(|second| walks(&curve, second.entries.value));
    let (walk_pages, walk_ns) = walked.flatten().map_or((None, None), |(pages, ns)| (Some(pages), Some(ns - floor)));
    Translation { buffers, tried, walk_pages, walk_ns }
}

/// Where nearly every access walks and the lines still fit the caches they fitted before: the median time from a third
/// more pages than the last level holds to three times as many, and the most of those pages.
fn walks(curve: &[(u64, f64)], entries: u64) -> Option<(u64, f64)> {
    let beyond = curve.iter().filter(|(pages, _)| *pages * 3 >= entries * 4 && *pages <= entries * 3);
    let beyond: Vec<&(u64, f64)> = beyond.collect();
    let most = beyond.iter().map(|(pages, _)| *pages).max()?;
    let times: Vec<f64> = beyond.iter().map(|(_, ns)| *ns).collect();
    Some((most, tiermark_stats::median(&times)?))
}

/// The number from `low` to `high` that the largest power of two divides: what is built in hardware is a few ways of
/// sets that are a power of two.
pub fn roundest(low: u64, high: u64) -> u64 {
    let multiple = |shift: u32| low.max(1).div_ceil(1 << shift) << shift;
    (0..u64::BITS - 1).rev().map(multiple).find(|n| *n >= low && *n <= high).unwrap_or(low)
}

#[cfg(test)]
#[path = "solve_tests.rs"]
mod tests;
