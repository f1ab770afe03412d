//! How long planning a survey takes on a machine of 8 sockets and 2,048 cpus, discovery and output left out.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use tiermark_engine::{Lab, Probe};
use tiermark_machine::synth::Synth;
use tiermark_model::{Bench, Effort, Scope};
use tiermark_probes::survey;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine = Synth::largest().machine()?;
    let kernels = tiermark_kernels::streams().iter().map(|spec| spec.kernel_info()).collect();
    let bench = Bench { kernels, ..Bench::default() };
    let lab = &Lab::new(machine.clone(), bench.clone());
    let mut milliseconds: Vec<f64> = Vec::new();
    let (mut steps, mut seconds) = (0, 0.0);
    for _ in 0..9 {
        let start = Instant::now();
        let requests = [survey::request(Effort::Standard, Scope::default(), None, 1)];
        let plans: Vec<_> = requests
            .iter()
            .filter_map(|request| tiermark_probes::find(&request.probe).map(|probe: &Probe| probe.plan(request, lab)))
            .filter_map(Result::ok)
            .collect();
        milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
        steps = plans.iter().map(|plan| plan.steps.len()).sum();
        seconds = plans.iter().map(|plan| plan.expected_seconds()).sum();
    }
    milliseconds.sort_unstable_by(f64::total_cmp);
    let cpus = machine.cpus.len();
    println!(
        "{cpus} cpus: {steps} steps planned in {:.1} ms (median of 9); they would take {seconds:.0} s",
        milliseconds[4]
    );
    Ok(())
}
