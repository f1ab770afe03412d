//! Settings of the system that affect the numbers of a group.

use tiermark_model::{IdleState, Machine, Mitigation, OsGroup, Run};

/// The condition of a group, in words.
pub(super) fn condition(group: OsGroup, run: &Run) -> Option<String> {
    match group {
        OsGroup::Syscalls => Some(mitigations(&run.machine)),
        OsGroup::Switches => Some(idle(&run.machine)),
        OsGroup::Libc => here(run, group).map(|(_, library)| format!("Of this binary: {library}")),
        OsGroup::Faults => here(run, group).map(|(op, place)| format!("The file of {op}: {place}")),
        _ => None,
    }
}

/// What a primitive of a group is of on this system, with its name.
fn here(run: &Run, group: OsGroup) -> Option<(&str, &str)> {
    let primitives = run.bench.primitives.iter().filter(|p| p.group == group);
    primitives.filter_map(|p| Some((p.id.0.as_str(), p.here.as_deref()?))).next()
}

/// Idle states of the cpus, which a wake-up has to leave.
fn idle(machine: &Machine) -> String {
    let Some(idle) = &machine.system.idle else {
        return "Idle states: the system chooses none (a hypervisor may)".to_owned();
    };
    let state = |state: &IdleState| {
        let latency = state.latency_us.map_or_else(String::new, |us| format!(" {us} µs"));
        format!("{}{latency}{}", state.name, if state.disabled { " (off)" } else { "" })
    };
    let states: Vec<String> = idle.states.iter().map(state).collect();
    let word = |name: &Option<String>| name.clone().unwrap_or_else(|| "unknown".to_owned());
    let states = if states.is_empty() { "none of its own".to_owned() } else { states.join(", ") };
    format!(
        "Idle states, with the declared time to leave them: {states}; driver {}, chosen by {}",
        word(&idle.driver),
        word(&idle.governor)
    )
}

/// Mitigations of processor faults: part of every entry to the kernel.
fn mitigations(machine: &Machine) -> String {
    let known = &machine.system.mitigations;
    if known.is_empty() {
        return "Mitigations: not reported by this system (/sys/devices/system/cpu/vulnerabilities)".to_owned();
    }
    let (mut on, mut partial, mut off) = (Vec::new(), Vec::new(), Vec::new());
    for (name, state) in known {
        match Mitigation::of(state) {
            Some(Mitigation::Active("")) => on.push(name.clone()),
            Some(Mitigation::Active(how)) => on.push(format!("{name} ({how})")),
            Some(Mitigation::Partial(how)) => partial.push(format!("{name} ({how})")),
            Some(Mitigation::None) => off.push(name.clone()),
            None => {}
        }
    }
    let unaffected = known.values().filter(|state| Mitigation::is_unneeded(state)).count();
    let list = |names: Vec<String>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let (on, partial, off) = (list(on), list(partial), list(off));
    format!(
        "Mitigations, which add time to every call: {on}. Partly mitigated: {partial}. Not mitigated: {off}. Not \
affected by {unaffected} others"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::PrimitiveInfo;

    #[test]
    fn what_a_primitive_is_of_here_stands_under_its_group() {
        let mut run: Run = serde_json::from_str(include_str!("../../../history/tests/fixtures/run-4.json")).unwrap();
        let row = |op: &str, group: &str, here: Option<&str>| {
            let json = serde_json::json!({ "id": op, "group": group, "metric": "latency", "text": "", "sweeps": [] });
            PrimitiveInfo { here: here.map(str::to_owned), ..serde_json::from_value(json).unwrap() }
        };
        run.bench.primitives = vec![
            row("zeroing", "faults", None),
            row("major fault", "faults", Some("ext4 on /dev/vda (253:0), in /tmp")),
            row("memcpy", "libc", Some("glibc 2.36")),
        ];
        let told = [OsGroup::Faults, OsGroup::Libc, OsGroup::Numa].map(|group| condition(group, &run));
        let file = "The file of major fault: ext4 on /dev/vda (253:0), in /tmp";
        assert_eq!(told, [Some(file.to_owned()), Some("Of this binary: glibc 2.36".to_owned()), None]);
    }

    #[test]
    fn mitigations_are_told_by_what_is_on_and_what_is_not() {
        let mut machine = Machine::default();
        let unknown = mitigations(&machine);
        let states = [
            ("meltdown", "Not affected"),
            ("spectre_v2", "Mitigation: Retpolines; STIBP: disabled"),
            ("spec_store_bypass", "Vulnerable"),
            ("spec_rstack_overflow", "Vulnerable: Safe RET, no microcode"),
        ];
        machine.system.mitigations = states.map(|(name, state)| (name.to_owned(), state.to_owned())).into();
        assert_ne!(mitigations(&machine), unknown);
        assert_eq!(
            mitigations(&machine),
            "Mitigations, which add time to every call: spectre_v2 (Retpolines; STIBP: disabled). Partly mitigated: \
spec_rstack_overflow (Safe RET, no microcode). Not mitigated: spec_store_bypass. Not affected by 1 others"
        );
    }

    #[test]
    fn idle_states_are_told_with_what_leaving_them_takes() {
        let mut machine = Machine::default();
        let unknown = idle(&machine);
        let state = |name: &str, us, disabled| IdleState { name: name.to_owned(), latency_us: Some(us), disabled };
        machine.system.idle = Some(tiermark_model::Idle {
            driver: Some("intel_idle".to_owned()),
            governor: Some("menu".to_owned()),
            states: vec![state("POLL", 0, false), state("C6", 133, true)],
        });
        let said = idle(&machine);
        insta::assert_snapshot!([unknown, said].join("\n"));
    }
}
