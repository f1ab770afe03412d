//! Whether each kernel in blocks, less the cost of stamps, takes as long as in one block. Times this machine:
//! `cargo test --release -p tiermark-host --lib in_blocks -- --ignored`. If one does not, it shows all.

use tiermark_model::ChainLayout;

use super::*;

/// Blocks of a visit; the one block beside them is as long.
const BLOCKS: usize = 16;
/// Visits of each kind: their median is then known to 0.1 % where they scatter by 3 %. Less where they take longer than
/// this together: string instructions have blocks of milliseconds, of which a stamp is nothing.
const ROUNDS: usize = 1_000;
const SECONDS: f64 = 2.0;
/// A footprint of each tier; the percentile of visits that is compared: in a core's own caches of undisturbed ones,
/// elsewhere of all, since interruptions take the same share of both kinds; and how far the ratio may be from 1.
const TIERS: [(&str, u64, f64, f64); 3] =
    [("L1", 16 << 10, 0.1, 0.002), ("L2", 256 << 10, 0.1, 0.002), ("memory", 256 << 20, 0.5, 0.005)];

/// Blocks of a visit in blocks, or in one: their time, ns, and their number.
fn visit(work: &mut Work, is_in_one: bool, clock: &Clock) -> (f64, usize) {
    std::hint::black_box(work.ramp());
    let mut stamps = [clock.now(); BLOCKS + 1];
    if is_in_one {
        let blocks = work.in_one(BLOCKS);
        return (clock.between(stamps[0], clock.now()), blocks);
    }
    for stamp in &mut stamps[1..] {
        std::hint::black_box(work.block());
        *stamp = clock.now();
    }
    (clock.between(stamps[0], stamps[BLOCKS]), BLOCKS)
}

/// The time of a block over that in one, borders taken out, of visits in the order A B B A; and the border, ns.
fn ratio(work: &mut Work, q: f64, clock: &Clock, stamp_ns: f64) -> (f64, f64) {
    let mut times = [Vec::new(), Vec::new()];
    let mut borders = Vec::new();
    let end = clock.now() + clock.ticks(SECONDS * 1e9);
    // Whole comparisons, A B B A.
    for round in (0..2 * ROUNDS).take_while(|round| !round.is_multiple_of(4) || clock.now() < end) {
        let is_in_one = matches!(round % 4, 1 | 2);
        times[usize::from(is_in_one)].push(visit(work, is_in_one, clock));
        borders.extend(work.border(clock).map(|border| border.ns));
    }
    borders.sort_unstable_by(f64::total_cmp);
    let border = borders.get(borders.len() / 2).copied().unwrap_or(stamp_ns);
    // Each block of a visit in blocks ends with a border; the one block does, too.
    let at = |times: &[(f64, usize)], borders: fn(usize) -> usize| {
        let left = |(ns, blocks): &(f64, usize)| (ns - border * borders(*blocks) as f64) / *blocks as f64;
        let mut left: Vec<f64> = times.iter().map(left).collect();
        left.sort_unstable_by(f64::total_cmp);
        left[(q * left.len() as f64) as usize]
    };
    (at(&times[0], |blocks| blocks) / at(&times[1], |_| 1), border)
}

#[test]
#[ignore = "times each kernel on this machine"]
fn kernels_take_as_long_in_blocks_as_in_one() {
    let clock = clock();
    let (overheads, _) = crate::overheads::measure(&Machine::default(), &clock, 1.0);
    let around = Surroundings { second_level_bytes: 512 << 10, ..around(32 << 20) };
    let (mut all, mut wrong) = (Vec::new(), 0);
    let mut judge = |name: &str, mut work: Work, (tier, _, q, tolerance): (&str, u64, f64, f64)| {
        let (ratio, border) = ratio(&mut work, q, &clock, overheads.stamp_ns);
        let off = 100.0 * (ratio - 1.0);
        let mark = if off.abs() > 100.0 * tolerance { " !" } else { "" };
        wrong += mark.len();
        all.push(format!("{name} in {tier}: {off:+.2} %, border {border:.0} ns of {:.0}{mark}", work.block_ns()));
    };
    for tier in TIERS {
        let chain = Arc::new(region(tier.1, 1, Layout::Chain(ChainLayout::Random)));
        chain.fill(0, 5, None, &|| false).unwrap();
        let starts = chain.starts(1, &|| false).unwrap();
        judge("chase", Work::chase(&chain, &starts, around, &clock).unwrap(), tier);
        let data = region(tier.1, 3, Layout::Data);
        data.fill(0, 5, None, &|| false).unwrap();
        for spec in tiermark_kernels::available() {
            let lines = stream_plan(&data, usize::from(spec.info.op.streams())).span / SPAN_QUANTUM;
            let is_random = spec.info.op.pattern() == Pattern::Random;
            let order = is_random.then(|| LineOrder::new(lines, 1, &|| false).unwrap());
            judge(spec.info.id, Work::stream(&data, spec, order, 0.0, around, &clock).unwrap(), tier);
        }
    }
    assert!(wrong == 0, "stamps of {:.1} ns; further off than allowed (!): {all:#?}", overheads.stamp_ns);
}
