//! Golden values from SciPy 1.17.1 and NumPy 2.4.6, and properties. Each golden names the call that made it.

mod change;
mod edge;
mod joint;
mod knee;
mod ks;
mod order;
mod outlier;
mod pile;
mod plateau;
mod quantum;
mod rng;
mod spread;
mod transition;

/// Equal to a relative error of 1e-9.
#[track_caller]
fn close(got: f64, want: f64) {
    assert!((got - want).abs() <= 1e-9 * want.abs().max(1e-300), "got {got}, want {want}");
}

/// Ten values without order, used by several goldens.
const A: [f64; 10] = [3.1, 1.2, 7.7, 4.4, 5.0, 2.2, 9.1, 3.3, 8.6, 6.05];

/// What no function may accept.
const UNUSABLE: [&[f64]; 4] = [&[], &[f64::NAN], &[1.0, f64::INFINITY, 2.0], &[1.0, f64::NEG_INFINITY]];
