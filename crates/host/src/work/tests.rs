use super::*;
use std::collections::BTreeSet;
use tiermark_model::{ChainLayout, CpuModel, IdSet, Layout, Machine, PageKind, System, testing};

use crate::region::Order;

mod in_blocks;

fn region(bytes: u64, streams: usize, layout: Layout) -> Region {
    let setup = testing::region(bytes, PageKind::Base, layout);
    Region::map(&Order { setup: &setup, target: IdSet::new(), streams, note: None, offset: 0 }, &Machine::default())
        .unwrap()
}

/// Caches of which the largest has so many bytes.
fn around(cache_bytes: usize) -> Surroundings {
    Surroundings { cache_bytes, ..Surroundings::default() }
}

fn clock() -> Clock {
    Clock::choose(&CpuModel::default(), &System::default()).0
}

#[test]
fn streams_share_the_footprint_and_never_alias() {
    for bytes in [192, 16 << 10, 100_000, 1 << 20, (3 << 20) + 64] {
        for streams in 1..=3 {
            let region = region(bytes, 3, Layout::Data);
            let plan = stream_plan(&region, streams);
            assert_eq!(plan.span, bytes as usize / streams / 64 * 64);
            let offsets = &plan.offsets[..streams];
            assert!(offsets[streams - 1] + plan.span <= region.used);
            // No two share a page.
            assert!(offsets.windows(2).all(|w| (w[0] + plan.span - 1) / 4096 < w[1] / 4096));
            for (i, a) in offsets.iter().enumerate() {
                for b in &offsets[..i] {
                    let apart = (a - b) % 4096;
                    assert!(apart.min(4096 - apart) >= 20 * 64, "{offsets:?}");
                }
            }
        }
    }
}

#[test]
fn blocks_are_equal_cover_the_span_and_start_where_they_are_told() {
    let region = region(1 << 20, 1, Layout::Data);
    region.fill(0, 5, None, &|| false).unwrap();
    let spec = tiermark_kernels::stream("read/portable").unwrap();
    for index in 0..3_u8 {
        let work = Work::stream(&region, spec, None, f64::from(index) / 3.0, around(1 << 20), &clock()).unwrap();
        let Work::Stream(stream) = &work else { panic!("no stream") };
        assert!(stream.bytes * stream.blocks <= 1 << 20 && stream.bytes * stream.blocks > (1 << 20) * 9 / 10);
        // At its third of the span, to within a block.
        let third = (1 << 20) * index as usize / 3;
        assert!((stream.next * stream.bytes).abs_diff(third) <= stream.bytes + (1 << 20) / 10);
    }
}

#[test]
fn a_stream_tells_where_the_next_goes_on() {
    let region = region(1 << 20, 1, Layout::Data);
    region.fill(0, 5, None, &|| false).unwrap();
    let spec = tiermark_kernels::stream("read/portable").unwrap();
    let begin = |from| Work::stream(&region, spec, None, from, around(1 << 18), &clock()).unwrap();
    let mut work = begin(0.4);
    let Work::Stream(stream) = &work else { panic!("no stream") };
    let block = 1.0 / stream.blocks as f64;
    let at = work.next_from(&region, 1).unwrap();
    assert!((at - 0.4).abs() <= block && (0.0..1.0).contains(&begin(0.999).next_from(&region, 1).unwrap()));
    work.block();
    let after = work.next_from(&region, 1).unwrap();
    assert!((after - (at + block).fract()).abs() < 1e-9 || after < block, "{at} {after}");
    // Two streams lie elsewhere: neither begins in the quarter of the region that was just read.
    for part in 0..10 {
        let from = f64::from(part) / 10.0;
        // One work for both: a second calibration may choose other blocks.
        let work = begin(from);
        let next = work.next_from(&region, 2).unwrap();
        let Work::Stream(at) = work else { panic!("no stream") };
        let read = (at.next * at.bytes) as f64;
        let plan = stream_plan(&region, 2);
        for offset in &plan.offsets[..2] {
            let start = *offset as f64 + next * plan.span as f64;
            assert!((read - start).rem_euclid(f64::from(1 << 20)) > f64::from(1 << 18), "{from}: {next}");
        }
    }
}

#[test]
fn string_kernels_get_blocks_past_the_cache_where_their_span_is() {
    let least = |id: &str, span, cache| tiermark_kernels::stream(id).map(|spec| least_block(spec, span, cache));
    for id in ["fill.rep/portable", "copy.rep/portable", "fill.rep/stosb", "copy.rep/movsb"] {
        assert!(least(id, 512 << 20, 32 << 20).is_none_or(|bytes| bytes == 36 << 20));
        assert!(least(id, 32 << 20, 32 << 20).is_none_or(|bytes| bytes == STREAM_BLOCK_LEAST));
        // Behind a very large cache, blocks stay short; where the span fits into it, they are ordinary ones.
        assert!(least(id, 4 << 30, 512 << 20).is_none_or(|bytes| bytes == 64 << 20));
        assert!(least(id, 512 << 20, 512 << 20).is_none_or(|bytes| bytes == STREAM_BLOCK_LEAST));
    }
    assert_eq!(least("read/portable", 512 << 20, 32 << 20), Some(STREAM_BLOCK_LEAST));
}

#[test]
fn reading_leaves_the_data_as_it_was_filled() {
    let region = region(300_000, 1, Layout::Data);
    region.fill(0, 11, None, &|| false).unwrap();
    let mut expected = vec![0u64; 300_000 / 8];
    tiermark_kernels::rng::fill_data(&mut expected, 11);
    let spec = tiermark_kernels::stream("read/portable").unwrap();
    let mut work = Work::stream(&region, spec, None, 0.0, around(1 << 20), &clock()).unwrap();
    let sums: Vec<u64> = (0..10).map(|_| work.block()).collect();
    assert!(sums.iter().all(|sum| *sum != 0));
    drop(work);
    region.mapping.fill(0, 300_000, |words| assert_eq!(words, expected));
}

#[test]
fn a_chain_is_still_one_cycle_after_it_was_followed() {
    let chain = tiermark_model::ChainLayout::Random;
    let region = Arc::new(region(1 << 20, 1, Layout::Chain(chain)));
    region.fill(0, 11, None, &|| false).unwrap();
    let starts = region.starts(5, &|| false).unwrap();
    assert_eq!(starts.iter().collect::<BTreeSet<_>>().len(), 5);
    let mut work = Work::chase(&region, &starts, around(1 << 20), &clock()).unwrap();
    (0..10).for_each(|_| assert_eq!(work.block(), 0));
    let base = region.mapping.address() as u64;
    let mut words = region.mapping.chain_words(1 << 20, <[u64]>::to_vec);
    let proof = tiermark_kernels::layout::prove(&mut words, base, chain, &|| false);
    assert_eq!(proof.unwrap().nodes, (1 << 20) / 64);
}

#[test]
fn a_border_is_measured_of_chases_and_streams_and_its_work_is_known() {
    let (clock, bytes) = (clock(), 256 << 10);
    let chain = Arc::new(region(bytes, 1, Layout::Chain(ChainLayout::Random)));
    chain.fill(0, 5, None, &|| false).unwrap();
    let starts = chain.starts(1, &|| false).unwrap();
    let mut chase = Work::chase(&chain, &starts, around(1 << 20), &clock).unwrap();
    // Two pieces with borders and two in one block, each after a block of its own.
    let border = chase.border(&clock).unwrap();
    assert!(border.blocks >= 4 * 3 && border.blocks.is_multiple_of(4) && border.ns.is_finite(), "{border:?}");
    let data = region(bytes, 1, Layout::Data);
    data.fill(0, 5, None, &|| false).unwrap();
    let spec = tiermark_kernels::stream("read/portable").unwrap();
    let mut stream = Work::stream(&data, spec, None, 0.0, around(1 << 20), &clock).unwrap();
    let Work::Stream(before) = &stream else { panic!("no stream") };
    let (next, of) = (before.next, before.blocks);
    let border = stream.border(&clock).unwrap();
    let Work::Stream(after) = &stream else { panic!("no stream") };
    // A piece in one block begins anew at the end of the span, and one of the whole span ends where it began.
    assert!(border.blocks >= 4 * 3 && after.next < of && next < of, "{border:?}");
}
