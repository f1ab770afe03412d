//! All probes.
//!
//! # To add a probe
//!
//! `granularity.rs` is the shortest, `mlp.rs` one with steps for each tier. What is not listed here, the compiler or a
//! test names.
//!
//! Its parts:
//!
//! * `probes/src/NAME.rs` or a folder: `PROBE` (`engine/src/probe.rs` explains its fields) and its study; `lib.rs`: the
//!   module; below: the row.
//! * `docs/methods/NAME.md`: its page, which `tiermark help NAME` prints.
//! * Its parameters, `…Params`: each field is an option, whose help is the comment of the field. `#[arg(skip)]`: a
//!   field without an option, such as `pages`, which the cli sets from `--pages`.
//! * `cli/src/experiments/rows.rs`: its row, with examples, and the lines of `--quick` and `--full` if those of
//!   `ProbeCommand::of` do not fit; `mod.rs` there: its place in the list. Options that are no parameters (`--csv` of
//!   `loaded-latency`) make a file there.
//! * Its name in texts: README.md, `docs/methods/README.md`, `cli/plans/full.toml` (all probes but `scan`,
//!   `soak` and `survey`; its `title` and `about` too), `cli/src/other_tools.toml` (commands of other programs that it
//!   replaces). If it plans from the latency curve: `docs/methods/runs.md`, "Tiers". If it takes `--memory`: the cure of `memory_file_elsewhere`
//!   in `model/src/messages/setup.rs`. If it compares page sizes: the help of `--pages` in `cli/src/args/common.rs`.
//! * Its name in tests that list probes: `shapes.rs` and `tier_sizes.rs` in `probes/tests/pure`, `simulated.rs` and
//!   `plans.rs` in `cli/tests/pure`.
//!
//! Its study: `Task::new` reads parameters, node and cpus.
//!
//! * `plan` makes the steps. A probe of tiers begins with `Finder::begin` (a latency curve, and the time of the steps
//!   that will follow), and `refine` adds the steps of the tiers with `Finder::next`. A probe of memory alone has the
//!   footprint of `Task::dram_bytes`, and ends `plan` with `Task::limit`, which sets the time.
//! * `derive` makes the findings. `ladder::measured`: the value of one observation. `ladder::derived`: another number
//!   from one observation. `chasing::resting_on`: a number from several, with the worst of their verdicts.
//!   `ladder::with_range` gives a computed number its interval (`quotient`, `product`). `ladder::description` is the
//!   verdict of a number that describes a load. Whether a value is an edge or a middle follows from the roles
//!   (`engine/src/accounting.rs`).
//! * A step that is compared with the machine's record needs labels that name it on every machine (tier or size,
//!   operation), not cpu numbers. A change of the estimate raises `method`.
//!
//! A step that only draws a shape:
//!
//! * `StopRule` says how often it is visited: `Task::curve_point`, for a number `Task::headline`.
//! * `Purpose::is_point`, in every probe: if time is short, it comes after the numbers, and it compares no kernels.
//! * `Purpose::draws_a_curve`: the run is complete without those that `refine` adds. `Probe::aids`, in this probe: it is
//!   complete without any of them.
//! * `Step::phase`: a lower phase gets its first visits before a higher one.
//!
//! New names:
//!
//! * `model/src/quantity.rs`: a kind of number. `less_is_better` follows from the unit: of bytes, counts, ratios and
//!   frequencies neither is better, so that `compare` and `history` do not judge them. `is_over_a_range`,
//!   `is_of_the_hour`. `report/src/shapes.rs`: a row of `VIEWS` if the table of findings is not enough, and the words
//!   of `subject`.
//! * `model/src/purpose.rs`: a purpose. `model/src/labels.rs`: a label; `report/src/findings.rs` (`words`) if its value
//!   alone does not say what it is.
//!
//! Its truth on simulated machines: `sim/src/model.rs` (times and rates) and `caches.rs`. What tests vary is a field of
//! `SimOptions` or of one of its parts; if commands vary it, an option `--sim-…` in `cli/src/args.rs`, which
//! `cli/src/target.rs` reads.
//!
//! Work that no `Role` of `model/src/setup.rs` does: a variant there, and in `host/src` the worker's loop (`work`,
//! `worker.rs`). A new call of a rig is a method of `Rig` in `engine/src/host.rs`, for `host/src/rig.rs` and
//! `sim/src/rig.rs`; `engine/src/run/visit.rs` makes the calls. Work without visits, as that of `soak`, has a rig of its
//! own: a method of `Host`, and its caller in `engine/src/run.rs`.

use tiermark_engine::Probe;

use crate::{
    bandwidth, c2c, geometry, granularity, latency, loaded, matrix, mlp, os, residency, scale, scan, soak, survey, tlb,
};

/// Every probe, in the order they are listed.
static PROBES: [&Probe; 15] = [
    &survey::PROBE,
    &latency::PROBE,
    &bandwidth::PROBE,
    &matrix::PROBE,
    &loaded::PROBE,
    &scale::PROBE,
    &c2c::PROBE,
    &geometry::PROBE,
    &tlb::PROBE,
    &mlp::PROBE,
    &granularity::PROBE,
    &residency::PROBE,
    &scan::PROBE,
    &soak::PROBE,
    &os::PROBE,
];

/// Every probe.
pub fn all() -> &'static [&'static Probe] {
    &PROBES
}

/// The probe with this id.
pub fn find(id: &str) -> Option<&'static Probe> {
    PROBES.iter().copied().find(|probe| probe.id == id)
}
