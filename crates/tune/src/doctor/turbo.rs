//! Turbo: whether the cores may run above their base clock, and what keeps them from it.

use super::{CheckInput, CheckResult};

const CPU: &str = "sys/devices/system/cpu";

/// The file that switches turbo off with 1.
const NO_TURBO: &str = "intel_pstate/no_turbo";

/// The file that switches turbo off with 0, for all cpus.
const BOOST: &str = "cpufreq/boost";

/// What a table of clocks has above the base clock in place of turbo, kHz: ACPI states the turbo clock as one MHz more
/// than the base clock, whatever the cores reach.
const TURBO_STEP: u32 = 1000;

/// Whether turbo is on, by the switches of the kernel; `None` without a switch.
pub(super) fn is_on(input: &CheckInput<'_>) -> Option<bool> {
    let flag = |file: &str| input.root.value::<i64>(&format!("{CPU}/{file}"));
    if let Some(no) = flag(NO_TURBO) {
        return Some(no == 0);
    }
    let all = flag(BOOST).map(|on| on != 0);
    let own = own_switches(input);
    match (all, own.is_empty()) {
        (Some(false), _) | (_, true) => all,
        (_, false) => Some(own.contains(&true)),
    }
}

/// The check: on is a note, off is as good for measurements.
pub(super) fn check(input: &CheckInput<'_>) -> CheckResult {
    let has = |file: &str| input.root.word(&format!("{CPU}/{file}")).is_some();
    match is_on(input) {
        Some(true) | None if has_no_turbo_step(input) => {
            CheckResult::ok(format!("off: /{CPU}/cpu*/cpufreq/scaling_max_freq leaves out the step of turbo"))
        }
        None => CheckResult::not_reported(),
        Some(false) if has(BOOST) && input.root.value::<i64>(&format!("{CPU}/{BOOST}")) != Some(0) => {
            CheckResult::ok(format!("off: by /{CPU}/cpufreq/policy*/boost"))
        }
        Some(false) => CheckResult::ok("off"),
        Some(true) => {
            let own = own_switches(input);
            let off = own.iter().filter(|on| !**on).count();
            let cure = match (has(NO_TURBO), has(BOOST)) {
                (true, _) => format!("echo 1 > /{CPU}/{NO_TURBO}"),
                (false, true) => format!("echo 0 > /{CPU}/{BOOST}"),
                (false, false) => format!("echo 0 | tee /{CPU}/cpufreq/policy*/boost"),
            };
            match off > 0 && !has(NO_TURBO) {
                true => {
                    CheckResult::note(format!("on in {} of {} frequency domains", own.len() - off, own.len()), cure)
                }
                false => CheckResult::note("on", cure),
            }
        }
    }
}

/// The frequency domains: their directories.
fn domains(input: &CheckInput<'_>) -> Vec<String> {
    let policies = input.root.numbered(&format!("{CPU}/cpufreq"), "policy").unwrap_or_default();
    if policies.is_empty() {
        return input.machine.cpus.iter().map(|cpu| format!("{CPU}/cpu{}/cpufreq", cpu.id)).collect();
    }
    policies.into_iter().map(|policy| format!("{CPU}/cpufreq/policy{policy}")).collect()
}

/// The switch of each frequency domain that has its own (since Linux 6.11): it counts where that of all cpus is on.
fn own_switches(input: &CheckInput<'_>) -> Vec<bool> {
    let own = |dir: String| input.root.value::<i64>(&format!("{dir}/boost")).map(|on| on != 0);
    domains(input).into_iter().filter_map(own).collect()
}

/// Whether no frequency domain may use its step of turbo.
fn has_no_turbo_step(input: &CheckInput<'_>) -> bool {
    let is_cut = |dir: String| {
        let steps = input.root.word(&format!("{dir}/scaling_available_frequencies"))?;
        let mut steps: Vec<u32> = steps.split_whitespace().filter_map(|step| step.parse().ok()).collect();
        steps.sort_unstable();
        let [.., base, turbo] = steps[..] else { return None };
        let set: u32 = input.root.value(&format!("{dir}/scaling_max_freq"))?;
        Some(turbo - base == TURBO_STEP && set <= base)
    };
    let domains: Vec<Option<bool>> = domains(input).into_iter().map(is_cut).collect();
    !domains.is_empty() && domains.into_iter().all(|cut| cut == Some(true))
}
