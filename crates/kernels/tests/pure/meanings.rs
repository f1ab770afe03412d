//! What the operations mean that users name: the portable kernels, which the others are held against, beside formulas
//! that are written down apart from their files.

use std::collections::BTreeSet;

use tiermark_kernels::layout::permutation;
use tiermark_kernels::rng::fill_data;
use tiermark_kernels::{StreamArgs, stream};

/// A word of dst, src and src2 and the value, to the word that dst holds afterwards and what the checksum gains.
type Formula = fn([u64; 3], u64) -> (u64, u64);

/// A product rounded, then a sum rounded.
fn triad([_, b, c]: [u64; 3], scale: u64) -> (u64, u64) {
    ((f64::from_bits(b) + f64::from_bits(scale) * f64::from_bits(c)).to_bits(), 0)
}

/// A product, rounded.
fn scale([_, b, _]: [u64; 3], scale: u64) -> (u64, u64) {
    ((f64::from_bits(scale) * f64::from_bits(b)).to_bits(), 0)
}

/// A sum, rounded.
fn add([_, a, b]: [u64; 3], _: u64) -> (u64, u64) {
    ((f64::from_bits(a) + f64::from_bits(b)).to_bits(), 0)
}

/// Operation, words of each line that it touches, formula.
const OPERATIONS: &[(&str, usize, Formula)] = &[
    ("read", 8, |[dst, src, _], _| (dst, src)),
    ("write", 8, |_, value| (value, 0)),
    ("write.nt", 8, |_, value| (value, 0)),
    ("copy", 8, |[_, src, _], _| (src, 0)),
    ("copy.nt", 8, |[_, src, _], _| (src, 0)),
    ("update", 8, |[dst, ..], value| (dst.wrapping_add(value), 0)),
    ("scale", 8, scale),
    ("scale.nt", 8, scale),
    ("add", 8, add),
    ("add.nt", 8, add),
    ("triad", 8, triad),
    ("triad.nt", 8, triad),
    ("fill.rep", 8, |_, value| (value, 0)),
    ("copy.rep", 8, |[_, src, _], _| (src, 0)),
    ("read.line8", 1, |[dst, src, _], _| (dst, src)),
    ("read.random", 8, |[dst, src, _], _| (dst, src)),
    ("write.random", 8, |_, value| (value, 0)),
    ("read.random8", 1, |[dst, src, _], _| (dst, src)),
    ("write.random8", 1, |_, value| (value, 0)),
];

#[test]
fn each_operation_has_a_formula() {
    let known: BTreeSet<&str> = OPERATIONS.iter().map(|(op, ..)| *op).collect();
    let all: BTreeSet<&str> = tiermark_kernels::streams().iter().map(|spec| spec.info.op.name()).collect();
    assert_eq!(all, known, "write the formula of an operation into OPERATIONS");
}

#[test]
fn portable_kernels_mean_what_their_operations_say() {
    const LINES: usize = 37;
    let order = permutation(LINES, 1, &|| false).unwrap();
    for (op, touched, formula) in OPERATIONS.iter().copied() {
        let spec = stream(&format!("{op}/portable")).unwrap();
        let mut arrays = [1, 2, 3].map(|seed| {
            let mut words = vec![0u64; LINES * 8];
            fill_data(&mut words, seed);
            words
        });
        let before = arrays.clone();
        let value = 3.25f64.to_bits();
        let [dst, src, src2] = arrays.each_mut().map(|words| words.as_mut_ptr().cast::<u8>());
        let args = StreamArgs { dst, src, src2, bytes: LINES * 64, passes: 1, value, order: order.as_ptr() };
        // SAFETY: three arrays of as many bytes that do not overlap, and an order of their lines.
        let sum = unsafe { (spec.run)(&args) };
        let mut want = before[0].clone();
        let mut want_sum = 0u64;
        for at in (0..LINES * 8).filter(|at| at % 8 < touched) {
            let (word, gain) = formula([0, 1, 2].map(|array| before[array][at]), value);
            want[at] = word;
            want_sum = want_sum.wrapping_add(gain);
        }
        assert!(arrays == [want, before[1].clone(), before[2].clone()], "{op} leaves something else");
        assert_eq!(sum, want_sum, "{op}");
    }
}
