//! Whether each kernel in blocks, less the cost of stamps, takes as long as in one block. Times this machine:
//! `cargo test --release -p tiermark-host --lib in_blocks -- --ignored --nocapture`

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

/// Does the work of at least a visit without a stamp in between. Returns the blocks that this would have been.
fn in_one(work: &mut Work) -> usize {
    match work {
        Work::Chase(work) => work.call.run(work.steps * BLOCKS),
        Work::Stream(work) if work.blocks > BLOCKS => {
            if work.next + BLOCKS > work.blocks {
                work.next = 0;
            }
            std::hint::black_box(work.call.run(work.next * work.bytes, work.bytes * BLOCKS, 1));
            work.next = (work.next + BLOCKS) % work.blocks;
        }
        Work::Stream(work) => {
            let rounds = BLOCKS.div_ceil(work.blocks);
            std::hint::black_box(work.call.run(0, work.bytes * work.blocks, work.passes * rounds));
            return work.blocks * rounds;
        }
        _ => panic!("neither a chase nor a stream"),
    }
    BLOCKS
}

/// A block, ns, of a visit in blocks, or in one.
fn visit(work: &mut Work, is_in_one: bool, clock: &Clock, stamp_ns: f64) -> f64 {
    std::hint::black_box(work.ramp());
    let mut stamps = [clock.now(); BLOCKS + 1];
    if is_in_one {
        let blocks = in_one(work);
        return (clock.between(stamps[0], clock.now()) - stamp_ns) / blocks as f64;
    }
    for stamp in &mut stamps[1..] {
        std::hint::black_box(work.block());
        *stamp = clock.now();
    }
    clock.between(stamps[0], stamps[BLOCKS]) / BLOCKS as f64 - stamp_ns
}

/// The time in blocks over that in one, of visits in the order A B B A.
fn ratio(work: &mut Work, q: f64, clock: &Clock, stamp_ns: f64) -> f64 {
    let mut times = [Vec::new(), Vec::new()];
    let end = clock.now() + clock.ticks(SECONDS * 1e9);
    // Whole comparisons, A B B A.
    for round in (0..2 * ROUNDS).take_while(|round| !round.is_multiple_of(4) || clock.now() < end) {
        let is_in_one = matches!(round % 4, 1 | 2);
        times[usize::from(is_in_one)].push(visit(work, is_in_one, clock, stamp_ns));
    }
    let [blocks, one] = times.map(|mut times| {
        times.sort_unstable_by(f64::total_cmp);
        times[(q * times.len() as f64) as usize]
    });
    blocks / one
}

#[test]
#[ignore = "times each kernel on this machine"]
fn kernels_take_as_long_in_blocks_as_in_one() {
    let clock = clock();
    let (overheads, _) = crate::overheads::measure(&Machine::default(), &clock, 1.0);
    let around = Surroundings { second_level_bytes: 512 << 10, ..around(32 << 20) };
    let mut wrong = Vec::new();
    let mut judge = |name: &str, mut work: Work, (tier, _, q, tolerance): (&str, u64, f64, f64)| {
        let off = ratio(&mut work, q, &clock, overheads.stamp_ns) - 1.0;
        if off.abs() > tolerance {
            wrong.push(format!("{name} in {tier}: {:+.2} %", off * 100.0));
        }
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
    assert!(wrong.is_empty(), "stamps of {:.1} ns; further from 1 than allowed: {wrong:#?}", overheads.stamp_ns);
}
