use crate::{UNUSABLE, close};
use tiermark_stats::TailSummary;

#[test]
fn quantiles_are_numpys() {
    // np.quantile(np.arange(100000), [.5, .9, .99, .999, .9999])
    let values: Vec<u32> = (0..100_000).map(|i| (i * 7919) % 100_000).collect();
    let tail = TailSummary::of_u32(&values).unwrap();
    close(tail.p50, 49999.5);
    close(tail.p90.unwrap(), 89999.1);
    close(tail.p99.unwrap(), 98999.01);
    close(tail.p99_9.unwrap(), 99899.001);
    close(tail.p99_99.unwrap(), 99989.0001);
    assert_eq!((tail.max, tail.count), (99_999.0, 100_000));
}

#[test]
fn a_quantile_without_samples_beyond_it_is_absent() {
    let of = |n: u32| TailSummary::of_u32(&(0..n).collect::<Vec<_>>()).unwrap();
    let shown = |t: TailSummary| [t.p90, t.p99, t.p99_9, t.p99_99].map(|p| p.is_some());
    assert_eq!(shown(of(99)), [false; 4]);
    assert_eq!(shown(of(100)), [true, false, false, false]);
    assert_eq!(shown(of(1_000)), [true, true, false, false]);
    assert_eq!(shown(of(9_999)), [true, true, false, false]);
    assert_eq!(shown(of(10_000)), [true, true, true, false]);
    for bad in UNUSABLE {
        assert_eq!(TailSummary::of(&mut bad.to_vec()), None);
    }
}
