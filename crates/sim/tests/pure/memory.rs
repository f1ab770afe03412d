//! Memory beyond its speed: filling, what was left alone, kernels that differ.

use tiermark_engine::host::Host;
use tiermark_model::*;
use tiermark_sim::{LeftAlone, SimOptions, StoreRates};

use crate::made::*;

#[test]
fn memory_that_was_freed_is_paid_for_again_and_cpus_fill_it_together() {
    let mut host = host(SimOptions { first_touch: Some(0.4e9), ..quiet() });
    let mut filling = |setup: &Setup| {
        let (before, used) = (host.now(), host.cpu_seconds().unwrap());
        let rig = host.prepare(setup).unwrap();
        drop(rig);
        (host.now() - before, host.cpu_seconds().unwrap() - used)
    };
    // 2.5 s a GB for what the host must find, and half a second to fill it.
    let expected = 3.0 * GIB as f64 / 1e9;
    for _ in 0..3 {
        let (wall, cpu) = filling(&chase(GIB, 1));
        assert!((wall / expected - 1.0).abs() < 1e-6 && (cpu / expected - 1.0).abs() < 1e-6, "{wall} {cpu}");
    }
    let (wall, cpu) = filling(&chase(GIB / 2, 2));
    assert!((wall / expected - 0.5).abs() < 1e-6 && (cpu / expected - 1.0).abs() < 1e-6, "{wall} {cpu}");
    assert_eq!(host.filled_bytes(), 4 * GIB);
}

/// Share of the time of the first pass over 128 MiB that stalls take, and of the second, after so many seconds; and how
/// many there are.
fn stalled(seconds: f64, touched_first: bool, seed: u64) -> ([f64; 2], usize, f64) {
    let left_alone = Some(LeftAlone { touched_first, ..LeftAlone::default() });
    let mut host = host(SimOptions { seed, left_alone, ..quiet() });
    let setup = stream("read/plain", 128 * MIB, 1);
    let mut rig = host.prepare(&setup).unwrap();
    host.rest(seconds);
    let shot = rig.shot(std::time::Duration::from_millis(60)).unwrap();
    let thread = &shot.threads[0];
    let clean = median(blocks(thread));
    let in_pass = (128.0 * MIB as f64 / thread.per_block).ceil() as usize;
    let (first, rest) = (&blocks(thread)[..in_pass], &blocks(thread)[in_pass..]);
    let of =
        |blocks: &[f64]| blocks.iter().map(|block| (block - clean).max(0.0)).sum::<f64>() / blocks.iter().sum::<f64>();
    let stalls = first.iter().filter(|block| (clean + 99e3..clean + 141e3).contains(*block)).count();
    ([of(first), of(rest)], stalls, thread.settling.ns)
}

#[test]
fn memory_left_alone_stalls_in_the_first_pass() {
    // As recorded: 6 to 21 %, 24 to 35 %, 45 to 50 % of the time of a pass at 14.7 GB/s. This memory is faster.
    for (seconds, pages) in [(0.3, 12.0), (1.0, 32.0), (2.5, 53.0)] {
        let (mut all, mut share) = (0.0, 0.0);
        for seed in 0..20 {
            let ([first, second], stalls, settling) = stalled(seconds, false, seed);
            assert!(second < 1e-9 && settling == 0.0, "{second} {settling}");
            (all, share) = (all + stalls as f64 / 20.0, share + first / 20.0);
        }
        assert!((all - pages).abs() < 1.0, "{seconds}: {all}");
        let clean = 128.0 * MIB as f64 / 20.2;
        let expected = pages * 120e3 / (pages * 120e3 + clean);
        assert!((share - expected).abs() < 0.02, "{seconds}: {share} {expected}");
    }
}

#[test]
fn memory_that_is_touched_first_stalls_while_it_settles() {
    let ([first, second], stalls, settling) = stalled(2.5, true, 1);
    assert!(first < 1e-9 && second < 1e-9 && stalls == 0, "{first} {second} {stalls}");
    // Recorded: 3.3 to 6.1 ms.
    assert!((5.5e6..7.5e6).contains(&settling), "{settling}");
    assert!(stalled(0.0, true, 1).2 < 0.4e6);
}

#[test]
fn a_chase_comes_to_absent_memory_too_and_caches_do_not() {
    // Each access of a chase may come to another page: most of a block is stalls.
    let longest = |bytes| {
        let left_alone = Some(LeftAlone { touched_first: false, ..LeftAlone::default() });
        let mut host = host(SimOptions { left_alone, ..quiet() });
        let mut rig = host.prepare(&chase(bytes, 1)).unwrap();
        host.rest(1.0);
        blocks(&rig.shot(VISIT).unwrap().threads[0]).into_iter().fold(0.0, f64::max)
    };
    assert!(longest(256 * MIB) > 1e6 && longest(8 * MIB) < 5e3, "{}", longest(256 * MIB));
}

#[test]
fn kernels_differ_in_memory_as_planted_and_not_in_caches() {
    let kernels = ["write/plain", "write.nt/plain"];
    let rates = |options: &SimOptions, bytes| {
        kernels.map(|kernel| {
            let visits = visits(&mut host(options.clone()), &stream(kernel, bytes, 1), 20);
            1.0 / pace(visits.iter().map(|shot| &shot.threads[0]))
        })
    };
    let options = SimOptions { stores: Some(StoreRates::default()), ..quiet() };
    let [through, around] = rates(&options, 256 * MIB);
    assert!((through - 9.6).abs() < 0.05 && (around - 25.3).abs() < 0.15, "{through} {around}");
    let [through, around] = rates(&options, 16 * KIB);
    assert!((through / around - 1.0).abs() < 0.001, "{through} {around}");
    let copy = |store_kind| KernelInfo {
        id: "copy".into(),
        store_kind,
        read_per_line: 64,
        streams: 2,
        ..testing::kernel("write/plain")
    };
    for (kind, expected) in [(StoreKind::Cached, 14.0), (StoreKind::NonTemporal, 20.0)] {
        let host = tiermark_sim::SimHost::new(testing::small_machine(2), vec![copy(kind)], options.clone());
        let rate = host.planted(&stream("copy", 256 * MIB, 1)).unwrap()[0];
        assert!((rate - expected).abs() < 0.01, "{rate}");
    }
    assert!("9.6:25.3:14".parse::<StoreRates>().is_err() && "9.6:25.3:14:0".parse::<StoreRates>().is_err());
    assert_eq!("9.6:25.3:14:20".parse(), Ok(StoreRates::default()));
}
