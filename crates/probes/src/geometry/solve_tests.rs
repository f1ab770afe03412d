use super::*;
use crate::geometry::fixtures;
use crate::geometry::solver_input::GeometryCurves;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tiermark_model::{
    Cache, ChainLayout, Finding, Grade, KIB, MIB, Machine, Observation, Purpose, Quantity, Reason, Tier, testing,
};
use tiermark_stats::Rng;

/// A table in KiB of footprint.
fn table(stride: u64, points: &[(u64, f64)]) -> Strided {
    Strided { stride, points: points.iter().map(|(kib, ns)| (kib * KIB, *ns)).collect() }
}

/// The published table of a Core i5-2520M (L1d 32 KiB of 8 ways, L2 256 KiB, L3 3 MiB), ns by footprint and stride.
fn published() -> Vec<Strided> {
    vec![
        table(
            64,
            &[
                (1, 1.3378),
                (4, 1.3377),
                (16, 1.3377),
                (32, 1.3383),
                (48, 4.0309),
                (64, 4.042),
                (192, 4.1621),
                (320, 4.4299),
                (448, 4.5742),
                (576, 4.5899),
                (832, 4.5934),
            ],
        ),
        table(
            1024,
            &[
                (4, 1.3377),
                (16, 1.3377),
                (32, 1.3378),
                (48, 4.0224),
                (64, 4.0165),
                (192, 5.0334),
                (320, 7.9592),
                (448, 9.4245),
                (576, 9.3969),
                (832, 9.3978),
            ],
        ),
        table(
            4096,
            &[
                (16, 1.3378),
                (32, 1.3378),
                (48, 4.0213),
                (64, 4.0081),
                (192, 4.411),
                (320, 8.3806),
                (448, 9.3628),
                (576, 9.3761),
                (832, 9.402),
            ],
        ),
        table(
            8192,
            &[
                (32, 1.3377),
                (64, 1.3377),
                (128, 3.9894),
                (160, 4.0225),
                (192, 4.0188),
                (224, 4.0159),
                (256, 4.0203),
                (768, 10.2517),
                (1280, 9.8813),
                (1792, 9.5965),
                (2304, 9.562),
                (3328, 22.1316),
                (4352, 47.4912),
                (6400, 53.9158),
            ],
        ),
        table(
            16384,
            &[
                (32, 1.3377),
                (64, 1.3377),
                (128, 1.3378),
                (160, 3.7897),
                (192, 3.9955),
                (224, 3.9894),
                (256, 4.0241),
                (768, 7.8793),
                (1280, 8.572),
                (1792, 8.7727),
                (2304, 8.8267),
                (3328, 13.4926),
                (4352, 49.6144),
                (6400, 59.0048),
            ],
        ),
    ]
}

#[test]
fn the_published_table_gives_its_l1() {
    let curves = published();
    // The times of the levels are the solver's own as well, out of the row of lines side by side.
    let l1 = levels(&curves[0].points)[0];
    assert!((l1.ns - 1.3377).abs() < 0.001 && (4.0..4.7).contains(&l1.next_ns), "{l1:?}");
    assert_eq!((l1.size.low, l1.size.high), (32 * KIB, Some(48 * KIB)));
    let found = ways(&curves, l1.ns, l1.next_ns).unwrap();
    assert_eq!(found.ways.value, 8);
    // 8 and 10 lines were tried at a stride of 16 KiB, and none between.
    assert_eq!((found.ways.low, found.ways.high), (8, Some(9)));
    assert_eq!((found.way_bytes, found.size()), (Some(4096), Some(32 * KIB)));
    // At 64 KiB, where every line misses L1: what each stride pays.
    let at = |curve: &Strided, kib: u64| curve.points.iter().find(|(bytes, _)| *bytes == kib * KIB).map(|(_, ns)| *ns);
    let pays: Vec<(u64, f64)> = curves.iter().filter_map(|c| Some((c.stride, at(c, 192)?))).collect();
    let line = line(&pays).unwrap();
    // 64 bytes pay in full, and nothing shorter was measured.
    assert_eq!(line, Line { bytes: 64, at_most: true });
    assert_eq!(found.way_bytes.unwrap() / line.bytes, 64, "sets");
    // The knees of the strides from 4 KiB on are at 8 lines each.
    for curve in &curves[2..] {
        assert_eq!(edge(&curve.points, 1.3378, 4.02).unwrap().fits, 8 * curve.stride, "stride {}", curve.stride);
    }
}

#[test]
fn the_published_table_becomes_findings() {
    let row = |curve: &Strided| {
        let chase =
            |(bytes, ns): &(u64, f64)| fixtures::chase(Purpose::Table, ChainLayout::Stride(curve.stride), *bytes, *ns);
        curve.points.iter().map(chase).collect::<Vec<_>>()
    };
    let mut observations: Vec<Observation> = published().iter().flat_map(row).collect();
    let found = |observations: &[Observation], quantity: Quantity| {
        let all = crate::geometry::of_table(observations, &Machine::default());
        let l1 = |f: &Finding| f.quantity == quantity && f.labels.tier_name().is_none_or(|tier| tier == "L1");
        all.into_iter().find(l1).and_then(|f| f.value)
    };
    let said = [
        (Quantity::GeometrySize, 32.0 * KIB as f64),
        (Quantity::GeometryWays, 8.0),
        (Quantity::GeometryLine, 64.0),
        (Quantity::GeometrySets, 64.0),
    ];
    for (metric, value) in &said {
        assert_eq!(found(&observations, metric.clone()), Some(*value), "{metric}");
    }
    // With random rows beside them, those are the footprint curve.
    let random = [(4, 1.34), (16, 1.34), (32, 1.34), (48, 4.0), (64, 4.0), (192, 4.2), (320, 9.0), (448, 9.4)];
    observations.extend(random.map(|(kib, ns)| fixtures::chase(Purpose::Table, ChainLayout::Random, kib * KIB, ns)));
    assert_eq!(found(&observations, Quantity::GeometryWays), Some(8.0));
    // Two strides agree on nothing that a third has not bounded.
    observations.retain(|o| !matches!(o.labels.layout(), Some("stride:64" | "stride:1024" | "stride:4096")));
    assert_eq!(crate::geometry::of_table(&observations, &Machine::default()), Vec::new());
}

/// A table of a guest (Zen 4: L1d 32 KiB of 8 ways, L2 1 MiB) whose other cpu was busy: ns by layout and KiB.
#[rustfmt::skip]
const BUSY: [(&str, &[(u64, f64)]); 6] = [
    ("random", &[
        (1, 1.08), (4, 1.08), (16, 1.08), (32, 1.24), (36, 3.85), (48, 3.8), (52, 3.8), (64, 3.79), (72, 3.79), (96,
        3.8), (128, 3.8), (160, 3.8), (192, 3.8), (256, 3.8), (320, 4.03), (448, 4.6), (512, 5.07), (576, 5.41),
        (768, 7.3), (1024, 9.49), (1280, 20.34), (1536, 18.07), (2048, 15.14), (3072, 63.28), (4096, 97.42), (8192,
        123.48)
    ]),
    ("stride:64", &[
        (1, 1.08), (4, 1.08), (16, 1.08), (32, 1.08), (36, 1.28), (48, 1.24), (52, 1.23), (64, 1.21), (72, 1.2),
        (96, 1.18), (128, 1.17), (160, 1.16), (192, 1.15), (256, 1.14), (320, 1.11), (448, 1.1), (512, 1.15), (576,
        1.14), (768, 1.18), (1024, 1.22), (1280, 1.21), (1536, 1.18), (2048, 1.19), (3072, 1.15), (4096, 1.24),
        (8192, 1.21)
    ]),
    ("stride:1024", &[
        (4, 1.08), (16, 1.08), (32, 2.24), (36, 2.51), (48, 2.03), (52, 1.96), (64, 1.87), (72, 1.72), (96, 1.68),
        (128, 1.48), (160, 1.38), (192, 1.32), (256, 1.3), (320, 1.54), (448, 1.73), (512, 1.69), (576, 1.67), (768,
        1.77), (1024, 1.75), (1280, 1.86), (1536, 1.82), (2048, 1.87), (3072, 1.87), (4096, 1.85), (8192, 1.81)
    ]),
    ("stride:4096", &[
        (16, 1.08), (32, 1.08), (36, 7.99), (48, 4.61), (52, 4.61), (64, 4.61), (72, 4.61), (96, 4.61), (128, 4.62),
        (160, 4.67), (192, 5.09), (256, 5.76), (320, 5.58), (448, 6.49), (512, 6.62), (576, 6.53), (768, 6.62),
        (1024, 6.74), (1280, 6.68), (1536, 6.71), (2048, 6.73), (3072, 6.83), (4096, 6.83), (8192, 6.93)
    ]),
    ("stride:8192", &[
        (16, 1.08), (32, 1.08), (36, 1.08), (48, 1.08), (52, 1.08), (64, 1.08), (72, 8.12), (96, 4.6), (128, 4.61),
        (160, 4.61), (192, 4.61), (256, 4.64), (320, 4.8), (448, 5.01), (512, 5.97), (576, 5.75), (768, 5.89),
        (1024, 6.69), (1280, 6.67), (1536, 6.68), (2048, 6.69), (3072, 6.85), (4096, 6.77), (8192, 6.87)
    ]),
    ("stride:16384", &[
        (32, 1.08), (36, 1.08), (48, 1.08), (52, 1.08), (64, 1.08), (72, 1.08), (96, 1.08), (128, 1.08), (160,
        4.57), (192, 4.61), (256, 4.61), (320, 4.61), (448, 4.61), (512, 4.62), (576, 4.73), (768, 4.77), (1024,
        5.97), (1280, 6.02), (1536, 5.89), (2048, 6.51), (3072, 6.68), (4096, 6.71), (8192, 6.81)
    ]),
];

#[test]
fn a_footprint_that_fills_a_cache_has_no_room_for_a_line_of_others() {
    let all: Vec<Observation> = BUSY
        .into_iter()
        .flat_map(|(layout, points)| {
            let layout: ChainLayout = layout.parse().unwrap();
            points.iter().map(move |(kib, ns)| fixtures::chase(Purpose::Table, layout, kib * KIB, *ns))
        })
        .collect();
    let cache = |level, bytes| testing::cache(level, bytes, [1]);
    let caches = vec![cache(1, 32 * KIB), cache(2, MIB), cache(3, 32 * MIB)];
    let machine = Machine { caches, ..Machine::default() };
    let found = crate::geometry::of_table(&all, &machine);
    let of = |quantity: Quantity, tier: &str| {
        let mut here = found.iter().filter(|f| f.quantity == quantity && f.labels.tier_name() == Some(tier));
        here.next().and_then(|f| f.value)
    };
    let size = of(Quantity::GeometrySize, "L1").unwrap();
    assert!((32.0..36.0).contains(&(size / KIB as f64)), "{size}");
    assert_eq!(of(Quantity::GeometryWays, "L1"), Some(8.0));
    // Some accesses that miss are no level of their own.
    let second = of(Quantity::GeometryLatency, "L2");
    assert!(second.is_none_or(|ns| ns > 3.0), "{second:?}");
    // Nor does a level reach to where ten accesses of a hundred go to memory.
    let second = of(Quantity::GeometrySize, "L2");
    assert!(second.is_none_or(|bytes| bytes < 1.2 * MIB as f64), "{second:?}");
}

/// Where no plateau of L3 shows, the end of L2 is sought on a climb that goes to memory: a guest (L2 of 1 MiB) was said
/// to have 2.3 MiB.
#[test]
fn the_cache_of_a_core_is_not_half_as_large_again_as_declared() {
    let random = [
        (16, 1.08),
        (32, 1.27),
        (48, 3.79),
        (256, 3.8),
        (512, 5.01),
        (768, 6.78),
        (1024, 9.29),
        (1536, 12.4),
        (2048, 13.8),
        (4096, 35.3),
        (8192, 48.4),
        (16384, 109.0),
        (131_072, 147.0),
    ];
    let random = random.map(|(kib, ns)| fixtures::chase(Purpose::Table, ChainLayout::Random, kib * KIB, ns));
    let cache = |level, bytes| Cache { ways: Some(8), ..testing::cache(level, bytes, [1]) };
    let caches = vec![cache(1, 32 * KIB), cache(2, MIB)];
    let machine = Machine { caches, page_bytes: 4096, ..Machine::default() };
    let mut seen = GeometryCurves::of_table(&random, &machine);
    let ends = Count { value: 1336 * KIB, low: 1147 * KIB, high: Some(1536 * KIB) };
    let level = |size, ns, next_ns| Level { size, ns, next_ns };
    let first = level(Count { value: 32 * KIB, low: 30 * KIB, high: Some(36 * KIB) }, 1.08, 3.8);
    seen.levels = vec![(Tier::Cache(1), first), (Tier::Cache(2), level(ends, 3.8, 109.0))];
    let found = crate::geometry::findings::geometry(&seen, &machine);
    let of = |quantity: Quantity| {
        found.iter().find(|f| f.quantity == quantity && f.labels.tier_name() == Some("L2")).unwrap()
    };
    let size = of(Quantity::GeometrySize);
    assert!(size.value > Some(1.5 * MIB as f64) && size.verdict.grade == Grade::Suspect, "{size:#?}");
    // The largest footprint that the declared cache holds, as in the table of levels.
    assert_eq!(of(Quantity::GeometryLatency).value, Some(6.78));
}

/// Strides of a core with 48 KiB of 12 ways in L1: prefetchers help short strides, and end at pages. That step is no
/// line.
#[test]
fn a_page_is_no_line() {
    let chase = |layout, kib: u64, ns: f64| fixtures::chase(Purpose::Table, layout, kib * KIB, ns);
    let footprints = [4, 16, 32, 48, 64, 128, 192, 256, 448];
    let curve =
        |layout, beyond: f64| footprints.map(move |kib| chase(layout, kib, if kib > 48 { beyond } else { 1.2 }));
    let strides = [(64, 1.5), (1024, 2.1), (4096, 5.0), (8192, 5.1), (16384, 5.0)];
    let rows = strides.into_iter().flat_map(|(stride, ns)| curve(ChainLayout::Stride(stride), ns));
    let mut observations: Vec<Observation> = rows.chain(curve(ChainLayout::Random, 5.0)).collect();
    let line = |observations: &[Observation]| {
        let all = crate::geometry::of_table(observations, &Machine::default());
        all.into_iter().find(|f| f.quantity == Quantity::GeometryLine).and_then(|f| f.value)
    };
    assert_eq!(line(&observations), None);
    // Words that pay as much as random ones bound it.
    observations.extend(curve(ChainLayout::Stride(256), 4.9));
    assert_eq!(line(&observations), Some(256.0));
}

/// A cache that replaces the least recently used line of each set.
struct Lru {
    sets: u64,
    ways: usize,
    ns: f64,
}

/// Mean time of lines visited round and round in one order: a set that holds more lines than it has ways misses all.
fn visit(lines: &[u64], caches: &[Lru], memory_ns: f64) -> f64 {
    let mut left: Vec<u64> = lines.to_vec();
    let mut total = 0.0;
    for cache in caches {
        let mut sets: BTreeMap<u64, usize> = BTreeMap::new();
        for line in lines {
            *sets.entry(line % cache.sets).or_default() += 1;
        }
        let hits = |line: &u64| sets[&(line % cache.sets)] <= cache.ways;
        total += left.iter().filter(|line| hits(line)).count() as f64 * cache.ns;
        left.retain(|line| !hits(line));
    }
    (total + left.len() as f64 * memory_ns) / lines.len() as f64
}

fn machine(l1: (u64, usize), l2: (u64, usize)) -> Vec<Lru> {
    let cache = |(bytes, ways): (u64, usize), ns| Lru { sets: bytes / 64 / ways as u64, ways, ns };
    vec![cache(l1, 1.33), cache(l2, 4.67)]
}

fn strided(caches: &[Lru], noise: f64, rng: &mut Rng) -> Vec<Strided> {
    let strides = (6..=20).map(|shift| 1u64 << shift);
    strides
        .map(|stride| {
            let point = |nodes: u64| {
                let lines: Vec<u64> = (0..nodes).map(|i| i * stride / 64).collect();
                (nodes * stride, visit(&lines, caches, 16.7) * (1.0 + noise * rng.normal()))
            };
            Strided { stride, points: (2..=34).map(point).collect() }
        })
        .collect()
}

#[test]
fn ways_are_exact_under_noise() {
    // 48 KiB of 12 ways over 1.25 MiB of 20; 32 KiB of 8 over 1.75 MiB of 14; 64 KiB of 4 over 640 KiB of 10.
    for (l1, l2) in [
        ((48 * KIB, 12), (1280 * KIB, 20)),
        ((32 * KIB, 8), (1792 * KIB, 14)),
        ((64 * KIB, 4), (640 * KIB, 10)),
        ((80 * KIB, 5), (MIB, 16)),
    ] {
        for seed in 0..20 {
            let curves = strided(&machine(l1, l2), 0.01, &mut Rng::new(seed));
            for ((bytes, count), level, next) in [(l1, 1.33, 4.67), (l2, 4.67, 16.7)] {
                let found = ways(&curves, level, next).unwrap_or_else(|| panic!("{bytes} bytes, seed {seed}"));
                assert_eq!((found.ways.value, found.ways.exact()), (count as u64, true), "{bytes}, seed {seed}");
                assert_eq!(found.size(), Some(bytes), "seed {seed}: {found:?}");
            }
        }
    }
}

/// A footprint curve with hits in proportion to capacity over footprint (soft), or with everything missing beyond the
/// capacity (sharp).
fn footprints(sizes: &[u64], soft: bool, noise: f64, rng: &mut Rng) -> Vec<(u64, f64)> {
    let times = [1.33, 4.67, 16.7, 95.0];
    let mut points = Vec::new();
    let mut bytes = 4096.0;
    while bytes < 512e6 {
        let mut held = 0.0;
        let mut ns = 0.0;
        for (size, time) in sizes.iter().zip(times) {
            let share = *size as f64 / bytes;
            let fits = if share >= 1.0 {
                1.0
            } else if soft {
                share
            } else {
                0.0
            };
            ns += (fits - held).max(0.0) * time;
            held = fits.max(held);
        }
        ns += (1.0 - held) * times[3];
        points.push((bytes as u64, ns * (1.0 + noise * rng.normal())));
        bytes *= 2f64.powf(1.0 / 6.0);
    }
    points
}

#[test]
fn sizes_lie_within_their_bounds_under_noise() {
    let machines =
        [[48 * KIB, 1280 * KIB, 28 * MIB], [32 * KIB, 1792 * KIB, 36 * MIB], [96 * KIB, 3000 * KIB, 33_333 * KIB]];
    for sizes in machines {
        for seed in 0..20 {
            for soft in [true, false] {
                let found = levels(&footprints(&sizes, soft, 0.01, &mut Rng::new(seed)));
                assert_eq!(found.len(), 3, "{sizes:?} soft {soft} seed {seed}: {found:?}");
                for (level, size) in found.iter().zip(sizes) {
                    let Count { low, high, value } = level.size;
                    assert!(low <= size && size <= high.unwrap(), "{size} soft {soft} seed {seed}: {:?}", level.size);
                    assert!((value as f64 / size as f64 - 1.0).abs() < 0.15, "{size} soft {soft}: {value}");
                }
            }
        }
    }
}

#[test]
fn pages_at_random_miss_before_the_capacity() {
    // Simulated: 1 MiB of 16 ways, 16 colours, pages drawn by lot; the share of pages in colours with more than 16.
    for (ways, colours) in [(16, 16), (8, 128)] {
        let pages = (placed_at_random(ways as u64) * (ways * colours) as f64).round() as usize;
        let mut rng = Rng::new(5);
        let mut crowded = 0;
        for _ in 0..2000 {
            let mut held = vec![0; colours];
            (0..pages).for_each(|_| held[rng.below(colours)] += 1);
            crowded += held.iter().filter(|k| **k > ways).sum::<usize>();
        }
        let share = crowded as f64 / (2000 * pages) as f64;
        assert!((share - 0.1).abs() < 0.02, "{ways} ways: {share}");
    }
    assert!(placed_at_random(16) > placed_at_random(4) && placed_at_random(1) > 0.0 && placed_at_random(0) == 0.0);
}

#[test]
fn lines_and_their_neighbours_are_told_apart() {
    // Words of one line cost a hit for the second, lines that are fetched in pairs about half.
    let pays = |line: u64, reach: u64| -> Vec<(u64, f64)> {
        let ns = |apart: u64| match apart {
            _ if apart < line => 48.0,
            _ if apart < reach => 60.0,
            _ => 95.0,
        };
        [8, 16, 32, 64, 128, 256].map(|apart| (apart, ns(apart))).to_vec()
    };
    for long in [32, 64, 128] {
        let cached: Vec<(u64, f64)> = pays(long, long);
        assert_eq!(line(&cached), Some(Line { bytes: long, at_most: false }));
        assert_eq!(neighbours(&cached, long), None);
    }
    assert_eq!(neighbours(&pays(64, 128), 64), Some(128));
    assert_eq!(neighbours(&pays(64, 256), 64), Some(256));
    assert_eq!(line(&[(8, 1.0)]), None);
}

/// One slow time among words of one line is a disturbance, and no line of 16 bytes; times between both sides are no
/// step.
#[test]
fn a_line_is_one_step() {
    let found = |ns: [f64; 6], bounds: &[usize]| {
        let made = |(i, (apart, ns)): (usize, (u64, f64))| {
            let mut o = fixtures::chase(Purpose::Shape, ChainLayout::Pair(apart), 256 * KIB, ns);
            if bounds.contains(&i) {
                o.verdict.bound(Reason::NotSharp { share: 0.1 });
            }
            o
        };
        let observations: Vec<Observation> =
            [8, 16, 32, 64, 128, 256].into_iter().zip(ns).enumerate().map(made).collect();
        let machine = declaring(64);
        let seen = GeometryCurves::new(&observations, &machine);
        let all = crate::geometry::findings::geometry(&seen, &machine);
        all.into_iter().find(|f| f.quantity == Quantity::GeometryLine).map(|f| (f.value, f.verdict.grade))
    };
    assert_eq!(found([2.9, 2.9, 2.9, 3.7, 3.7, 3.7], &[]), Some((Some(64.0), Grade::Trusted)));
    assert_eq!(found([2.9, 3.7, 2.9, 3.7, 3.7, 3.7], &[]), Some((Some(64.0), Grade::Trusted)));
    // The clock of the first point was another, or that of all others: which distance is the line, nobody knows.
    assert_eq!(found([2.4, 3.2, 3.2, 3.7, 3.7, 3.7], &[]).map(|(value, _)| value), Some(None));
    assert_eq!(found([2.9, 2.9, 3.25, 3.7, 3.7, 3.7], &[2]), Some((Some(64.0), Grade::Bound)));
    // A slow time just before the step is a step of its own: what the system declares is another line.
    assert_eq!(found([2.9, 2.9, 3.9, 3.7, 3.7, 3.7], &[]), Some((Some(32.0), Grade::Suspect)));
}

/// A machine whose first cache has such lines.
fn declaring(line: u32) -> Machine {
    let cache = Cache { line_bytes: Some(line), ..testing::cache(1, 32 * KIB, [1]) };
    Machine { caches: vec![cache], ..Machine::default() }
}

fn translated(l1: u64, l2: u64, soft: bool, noise: f64, rng: &mut Rng) -> Vec<(u64, f64, f64)> {
    let mut points = Vec::new();
    let mut pages = 4.0;
    while pages <= 32768.0 {
        let n = pages as u64;
        let miss = |entries: u64| match n {
            _ if n <= entries => 0.0,
            _ if soft => 1.0 - entries as f64 / n as f64,
            _ => 1.0,
        };
        let packed = if n * 64 <= 32 * KIB { 1.33 } else { 4.67 };
        let apart = packed + 2.3 * miss(l1) + 12.0 * miss(l2);
        points.push((n, apart * (1.0 + noise * rng.normal()), packed * (1.0 + noise * rng.normal())));
        pages *= 2f64.powf(1.0 / 8.0);
    }
    points
}

#[test]
fn buffers_lie_within_their_bounds_under_noise() {
    for (l1, l2) in [(64, 2048), (96, 3072), (72, 1536), (48, 4096)] {
        for seed in 0..20 {
            let found = translation(&translated(l1, l2, false, 0.005, &mut Rng::new(seed)));
            assert_eq!(found.buffers.len(), 2, "{l1} {l2} seed {seed}: {found:?}");
            for (buffer, entries) in found.buffers.iter().zip([l1, l2]) {
                let Count { low, high, value } = buffer.entries;
                assert!(low <= entries && entries <= high.unwrap(), "{entries}, seed {seed}: {:?}", buffer.entries);
                assert_eq!(value, entries, "seed {seed}: {:?}", buffer.entries);
            }
            assert!((found.buffers[0].miss_ns - 2.3).abs() < 0.3, "{found:?}");
            assert!((found.walk_ns.unwrap() - 14.3).abs() < 0.5, "{found:?}");
        }
    }
}

#[test]
fn sets_that_fill_unevenly_leave_wide_bounds_around_the_capacity() {
    // As measured on a Zen 5 in a guest on a busy machine, whose second level holds 4,096: pages and what translation
    // costs.
    let bend = [(16, 0.0), (32, 0.0), (64, 0.0), (91, 0.0), (96, 0.0), (97, 0.55), (99, 1.6), (128, 1.6), (181, 1.6)];
    let bend = bend.into_iter().chain([(256, 1.6), (362, 1.6), (512, 1.6), (724, 1.6), (1024, 1.6), (1448, 1.65)]);
    let bend = bend.chain([(2048, 2.0), (2435, 2.3), (2896, 3.4), (3158, 4.7), (3444, 4.6), (4096, 7.8), (4871, 8.8)]);
    let bend = bend.chain([(5793, 10.4), (6889, 12.0), (8192, 13.2), (9742, 13.4), (11585, 13.5), (16384, 13.6)]);
    let points: Vec<(u64, f64, f64)> = bend.map(|(pages, cost)| (pages, 0.92 + cost, 0.92)).collect();
    let found = translation(&points);
    // With one page too many a third of the step is paid: 96 to 98.
    assert_eq!(found.buffers[0].entries, Count { value: 96, low: 96, high: Some(98) });
    let Count { value, low, high } = found.buffers[1].entries;
    assert!((2000..4096).contains(&low) && (4095..5000).contains(&high.unwrap()), "{:?}", found.buffers[1]);
    assert_eq!(value, roundest(low, high.unwrap()));
}

#[test]
fn buffers_larger_than_what_was_tried_are_not_made_up() {
    let points: Vec<_> = translated(64, 1 << 20, false, 0.005, &mut Rng::new(3));
    let found = translation(&points);
    assert_eq!((found.buffers.len(), found.buffers[0].entries.value), (1, 64));
    assert!(found.tried > 30_000);
    assert_eq!(translation(&[]), Translation::default());
}

#[test]
fn strides_agree_on_the_ways_that_all_of_them_allow() {
    // 12 ways of 4 KiB. The footprints differ from stride to stride; no stride was measured with both 12 and 13 lines.
    let seen = |stride: u64, nodes: &[u64]| Strided {
        stride,
        points: nodes.iter().map(|n| (n * stride, if *n <= 12 { 1.33 } else { 4.67 })).collect(),
    };
    let curves = [seen(4096, &[4, 12, 16, 32]), seen(8192, &[4, 8, 16, 20]), seen(16384, &[4, 12, 14, 16])];
    let found = ways(&curves, 1.33, 4.67).unwrap();
    assert_eq!((found.ways.value, found.ways.low, found.ways.high), (12, 12, Some(13)));
    // One capacity of 32 KiB between sparse footprints, and no sets: no ways.
    let one = |stride: u64| Strided {
        stride,
        points: [8, 24, 64, 96].iter().map(|kib| (kib * KIB, if *kib <= 32 { 1.33 } else { 4.67 })).collect(),
    };
    assert_eq!(ways(&[one(1024), one(2048), one(4096)], 1.33, 4.67), None);
    // Two strides that exclude each other's number say nothing.
    let apart = [
        seen(4096, &[8, 12, 13, 14]),
        Strided { stride: 8192, points: vec![(65536, 1.33), (81920, 4.67), (98304, 4.67)] },
    ];
    assert_eq!(ways(&apart, 1.33, 4.67), None);
}

#[test]
fn nothing_is_solved_where_nothing_conflicts() {
    // Hashed sets: every stride holds as many lines as were tried.
    let flat = |stride: u64| Strided { stride, points: (2..40).map(|n| (n * stride, 1.33)).collect() };
    assert_eq!(ways(&[flat(4096), flat(8192)], 1.33, 4.67), None);
    assert!(levels(&[]).is_empty());
    assert_eq!(edge(&[(1, 9.0), (2, 9.0)], 1.0, 4.0), None);
    // One wild point is no edge.
    let wild = [(1, 1.0), (2, 3.0), (3, 1.0), (4, 4.0), (5, 4.0)];
    assert_eq!(edge(&wild, 1.0, 4.0), Some(Edge { fits: 3, misses: Some(4) }));
}

#[test]
fn the_roundest_number_is_found() {
    for (low, high, round) in [(93, 98, 96), (70, 73, 72), (2000, 2100, 2048), (1500, 1570, 1536), (7, 7, 7), (0, 5, 4)]
    {
        assert_eq!(roundest(low, high), round);
    }
}

proptest! {
    #[test]
    fn no_input_breaks_the_solver(points in prop::collection::vec((0u64..1 << 40, 0.0f64..1e6), 0..40), stride in 0u64..1 << 22) {
        let _ = levels(&points);
        let _ = line(&points);
        let _ = neighbours(&points, 64);
        let _ = ways(&[Strided { stride, points: points.clone() }, Strided { stride: stride * 2, points: points.clone() }], 1.0, 4.0);
        let _ = translation(&points.iter().map(|(x, y)| (*x, *y, y / 2.0)).collect::<Vec<_>>());
    }
}

/// 12 ways that a stride of 4 KiB shows, of a level whose curve ends somewhere from 47 to 64 KiB: 48 KiB.
#[test]
fn ways_and_a_curve_leave_one_size() {
    let ways = Ways { ways: Count { value: 12, low: 12, high: Some(12) }, way_bytes: None, repeats: 4096 };
    assert_eq!(ways.only_size(|bytes| (42 * KIB..=70 * KIB).contains(&bytes)), Some(48 * KIB));
    assert_eq!(ways.only_size(|bytes| (20 * KIB..=70 * KIB).contains(&bytes)), None, "24 or 48 KiB");
    assert_eq!(ways.only_size(|bytes| (50 * KIB..=70 * KIB).contains(&bytes)), None);
}
