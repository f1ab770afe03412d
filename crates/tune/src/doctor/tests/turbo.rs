//! Turbo: its switches, and a limit of the clock that leaves its step out.

use super::*;

const CPU: &str = "sys/devices/system/cpu";

fn turbo(files: &[(&str, &str)]) -> (Health, String) {
    let files: Vec<(String, &str)> = files.iter().map(|(path, text)| (format!("{CPU}/{path}"), *text)).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let check = examined(&files, None)["turbo"].clone();
    (check.health, check.value)
}

#[test]
fn the_switch_of_each_frequency_domain_counts_where_that_of_all_is_on() {
    let of = |all: &'static str, own: [&'static str; 2]| {
        turbo(&[("cpufreq/boost", all), ("cpufreq/policy0/boost", own[0]), ("cpufreq/policy8/boost", own[1])])
    };
    let off = "off: by /sys/devices/system/cpu/cpufreq/policy*/boost";
    assert_eq!(of("1", ["0", "0"]), (Health::Ok, off.to_owned()));
    assert_eq!(of("1", ["1", "0"]), (Health::Note, "on in 1 of 2 frequency domains".to_owned()));
    assert_eq!(of("1", ["1", "1"]), (Health::Note, "on".to_owned()));
    assert_eq!(of("0", ["0", "0"]), (Health::Ok, "off".to_owned()));
    assert_eq!(of("0", ["1", "1"]), (Health::Ok, "off".to_owned()));
}

#[test]
fn a_limit_below_the_step_of_turbo_switches_it_off() {
    let of = |set: &'static str, steps: &'static str| {
        let files = [
            ("cpufreq/policy0/scaling_max_freq", set),
            ("cpufreq/policy0/cpuinfo_max_freq", "2401000"),
            ("cpufreq/policy0/scaling_available_frequencies", steps),
        ];
        (turbo(&files), turbo(&[&files[..], &[("cpufreq/boost", "1")]].concat()))
    };
    let off = "off: /sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq leaves out the step of turbo";
    let off = (Health::Ok, off.to_owned());
    let steps = "2401000 2400000 2200000";
    assert_eq!(of("2400000", steps), (off.clone(), off));
    let on = (Health::Note, "on".to_owned());
    assert_eq!(of("2401000", steps).1, on);
    assert_eq!(of("2200000", "2400000 2200000").1, on, "no step of turbo");
}
