//! Messages of a run: steps that were skipped, and disturbances.

use super::rows::messages;
use crate::units::Share;
use crate::written::count_of;

messages! {
    Refusal no_time_left(step: &str) options ["--max-time"]:
        "{step}", "time budget used up", "raise --max-time";

    /// Figures that a plan chooses when its curve has shown where the tiers are.
    Refusal figures_not_reached(what: &str) options ["--max-time"]:
        "{what}", "the latency curve, which shows where to measure, was not finished in time", "raise --max-time";

    Refusal curve_point_skipped(step: &str) options ["--max-time"]:
        "{step}", "time budget used up: left out of the curve", "raise --max-time";

    Refusal run_stopped(step: &str):
        "{step}", "the run was stopped", "let it run to its end";

    /// A moment of `--at` that had passed when the run was ready.
    Warning start_missed(at: &str, late_seconds: f64):
        "the time of --at, {at}, had passed {late_seconds:.1} s before the run was ready",
        "the run started at once, after other hosts with this time",
        "give a later time";

    /// A word of `--label` without `=`.
    Refusal label_without_value(text: &str):
        "label '{text}'", "it has no value", "write KEY=VALUE, such as rack=7";

    /// A key that no label can have; `most`: its characters at most.
    Refusal label_key(key: &str, most: usize):
        "the key '{key}'", "a key has 1 to {most} characters: letters (A to Z), digits, '_', '-' and '.'",
        "choose another key";

    /// A value that no label can have; `most`: its characters at most.
    Refusal label_value(key: &str, most: usize):
        "the value of '{key}'", "a value has 1 to {most} characters, and no control characters", "shorten it, or \
            leave the label out";

    Refusal label_twice(key: &str):
        "label '{key}'", "it is given twice", "give it once";

    Refusal cpus_busy(busy: f64, cpus: u64, named: &str, programs: &str, stolen: Option<f64>)
        options ["--wait", "--cpus", "--force", "--run"]:
        "the run was not started",
        {
            let programs = if programs.is_empty() { String::new() } else { format!(": {programs}") };
            let steal = stolen.map(|share| format!("; {}", steals("gives", share))).unwrap_or_default();
            format!(
                "other work keeps {busy:.1} of {} ({named}) busy{programs}{steal}; a run would measure that work and \
                    slow it down",
                count_of(cpus, "cpu")
            )
        },
        "stop that work or wait until it ends (--wait), choose idle cpus with --cpus, or measure anyway with --force \
         (behind `--` of `check --run`); \
         `tiermark doctor` shows what is running";

    /// A run that takes long, before it begins: its steps, and the option that measures fewer of them where there is
    /// one.
    Warning long_run(seconds: f64, steps: usize, sample: Option<&str>):
        { format!("the run is expected to take {}", long(seconds)) },
        { count_of(steps as u64, "step") },
        {
            let sample = sample.map_or_else(String::new, |sample| format!(", or fewer steps: {sample}"));
            format!("limit the time (headline figures come first): --max-time 15m{sample}")
        };

    Warning busy(busy: f64, cpus: u64, programs: &str, stolen: Option<f64>):
        {
            format!("other work kept {busy:.1} of {} busy during the run", count_of(cpus, "cpu"))
        },
        {
            let steal = stolen.map(|share| steals("gave", share));
            let named = Some(programs.to_owned()).filter(|programs| !programs.is_empty());
            named.into_iter().chain(steal).collect::<Vec<_>>().join("; ")
        },
        "measure on a quiet machine: `tiermark doctor` shows what is running";

    Warning steal(share: f64):
        { format!("{} during the run", steals("gave", share)) },
        "",
        "measure at another time, or on a guest with cpus of its own";

    Warning journal_damaged(line: usize, path: &str, error: &str):
        "line {line} of the journal {path} is damaged ({error})", "that line and all lines after it are lost", "";
}

fn long(seconds: f64) -> String {
    if seconds < 7200.0 { format!("{:.0} min", seconds / 60.0) } else { format!("{:.1} h", seconds / 3600.0) }
}

fn steals(gives: &str, share: f64) -> String {
    format!("the hypervisor {gives} {} of the cpus' time to other guests", Share(share))
}
