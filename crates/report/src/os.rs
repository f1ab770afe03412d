//! What the operating system adds: a table of plain numbers for each group, and one for each primitive that is measured over something.

use tiermark_model::{Bytes, Finding, Grade, IdleState, Interval, Label, Labels, Machine, OsGroup, Run, Unit};

use crate::findings::quantile;
use crate::ladder::Shown;
use crate::number::{graded, unit_name, with_interval};
use crate::reasons::Reasons;
use crate::shapes::Pivot;
use crate::style::{Ink, Style};
use crate::table::{Align, Cell, Table};
use crate::text::{hanging, heading};

/// Where the curve of a channel bends: told in words.
const KNEE: &str = "os.knee";
/// How single operations are distributed: a table of its own.
const TAIL: &str = "os.tail";

/// The numbers that tell one point of a primitive from another.
const NUMBERS: [&str; 5] = [Labels::SIZE, Labels::RESIDENT, Labels::CAPACITY, Labels::WORKING_SET, Labels::THREADS];

/// Whether a finding of this name is a number of this view.
fn is_number(metric: &str) -> bool {
    metric.starts_with("os.")
}

/// The view; empty where nothing of it was found.
pub(crate) fn os(shown: &mut Shown<'_>, run: &Run, style: &Style) -> String {
    let findings = shown.take_all(|f| is_number(&f.metric));
    let (tails, findings): (Vec<&Finding>, Vec<&Finding>) = findings.into_iter().partition(|f| f.metric == TAIL);
    shown.count(&findings.iter().copied().filter(|f| f.metric != KNEE).collect::<Vec<_>>());
    let group = |group: OsGroup| {
        let mut out = of_group(group, &findings, style);
        if let Some(condition) = condition(group, run).filter(|_| !out.is_empty()) {
            out.push_str(&hanging("  ", &condition, Ink::Dim, style));
        }
        let tails = tails.iter().copied().filter(|f| f.labels.is(Labels::GROUP, group.name()));
        out + &distribution(group, &tails.collect::<Vec<_>>(), style)
    };
    OsGroup::ALL.into_iter().map(group).collect()
}

/// How single operations are distributed. What is measured over something has many such rows: they come with everything else.
fn distribution(group: OsGroup, tails: &[&Finding], style: &Style) -> String {
    let plain = |f: &Finding| row(f).is_empty() && column(f).is_empty();
    let tails: Vec<&Finding> = tails.iter().copied().filter(|f| style.verbose || plain(f)).collect();
    if tails.is_empty() {
        return String::new();
    }
    let statistic = |f: &Finding| f.labels.get(Labels::STATISTIC).unwrap_or_default().to_owned();
    let mut points = tails;
    points.sort_by(|a, b| quantile(&statistic(a)).total_cmp(&quantile(&statistic(b))));
    let pivot = Pivot::new(&points, &name, &statistic);
    let title = format!("{}: single operations, disturbed ones included", title(group));
    heading(&title, style) + &pivot.table("", &|finding| cell(finding, style)).render(style)
}

/// What is so on this system and part of the numbers of a group.
fn condition(group: OsGroup, run: &Run) -> Option<String> {
    match group {
        OsGroup::Syscalls => Some(mitigations(&run.machine)),
        OsGroup::Switches => Some(idle(&run.machine)),
        OsGroup::Libc => {
            let text = run.bench.primitives.iter().find(|p| p.group == group).map(|p| p.text.as_str())?;
            let (_, library) = text.rsplit_once("(here: ")?;
            Some(format!("Of this binary: {}", library.trim_end_matches(')')))
        }
        _ => None,
    }
}

/// What idle cpus do: what a wake-up has to leave.
fn idle(machine: &Machine) -> String {
    let Some(idle) = &machine.system.idle else {
        return "Idle states: none that the system chooses (a hypervisor may)".to_owned();
    };
    let state = |state: &IdleState| {
        let latency = state.latency_us.map_or_else(String::new, |us| format!(" {us} µs"));
        format!("{}{latency}{}", state.name, if state.disabled { " (off)" } else { "" })
    };
    let states: Vec<String> = idle.states.iter().map(state).collect();
    let word = |name: &Option<String>| name.clone().unwrap_or_else(|| "unknown".to_owned());
    let states = if states.is_empty() { "none of its own".to_owned() } else { states.join(", ") };
    format!(
        "Idle states, and what leaving them is declared to take: {states}; driver {}, chosen by {}",
        word(&idle.driver),
        word(&idle.governor)
    )
}

/// What the system does against faults of the processor: part of every entry to the kernel.
fn mitigations(machine: &Machine) -> String {
    let known = &machine.system.mitigations;
    if known.is_empty() {
        return "Mitigations: the system does not say (/sys/devices/system/cpu/vulnerabilities)".to_owned();
    }
    let begin = |word: &str| {
        let found = known.iter().filter_map(|(name, state)| Some((name, state.strip_prefix(word)?)));
        let found = found.map(|(name, how)| match how.trim_start_matches(':').trim() {
            "" => name.clone(),
            how => format!("{name} ({how})"),
        });
        found.collect::<Vec<String>>()
    };
    let (on, off) = (begin("Mitigation"), begin("Vulnerable"));
    let unaffected = known.values().filter(|state| state.starts_with("Not affected")).count();
    let list = |names: Vec<String>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let (on, off) = (list(on), list(off));
    format!(
        "Mitigations, a part of every call: {on}. Vulnerable, without one: {off}. Not affected by {unaffected} others"
    )
}

/// What a group is called in a heading.
fn title(group: OsGroup) -> &'static str {
    match group {
        OsGroup::Syscalls => "System calls",
        OsGroup::Processes => "Processes and threads",
        OsGroup::Switches => "Context switches, there and back, and wake-ups",
        OsGroup::Channels => "Pipes and local channels",
        OsGroup::Faults => "Page faults and mappings",
        OsGroup::Numa => "Moving memory between nodes",
        OsGroup::Libc => "The C library",
    }
}

fn of_group(group: OsGroup, findings: &[&Finding], style: &Style) -> String {
    let findings: Vec<&Finding> =
        findings.iter().copied().filter(|f| f.labels.is(Labels::GROUP, group.name())).collect();
    if findings.is_empty() {
        return String::new();
    }
    let (knees, findings): (Vec<&Finding>, Vec<&Finding>) = findings.into_iter().partition(|f| f.metric == KNEE);
    let mut names: Vec<&str> = Vec::new();
    for name in findings.iter().filter_map(|f| f.labels.get(Labels::OP)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of =
        |name: &str| -> Vec<&Finding> { findings.iter().copied().filter(|f| f.labels.is(Labels::OP, name)).collect() };
    let (single, several): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| of(name).len() == 1);
    let mut out = heading(title(group), style);
    let mut table = Table::new().column("operation", Align::Left).column("each ", Align::Right);
    for finding in single.iter().flat_map(|name| of(name)) {
        table.row(vec![Cell::new(name(finding)), cell(finding, style)]);
    }
    if !table.is_empty() {
        out.push_str(&table.render(style));
    }
    for (index, name) in several.into_iter().enumerate() {
        let mut points = of(name);
        points.sort_by_key(|f| NUMBERS.map(|key| f.labels.number(key)));
        let pivot = Pivot::new(&points, &row, &column);
        if index > 0 || !table.is_empty() {
            out.push('\n');
        }
        out.push_str(&pivot.table(name, &|finding| cell(finding, style)).render(style));
    }
    let mut reasons = Reasons::default();
    for finding in &findings {
        reasons.add(&name(finding).replace(", ", " "), &finding.verdict);
    }
    out + &reasons.render(style) + &knees.iter().filter_map(|found| knee(found, style)).collect::<String>()
}

/// Where a channel's curve bends, in words.
fn knee(finding: &Finding, style: &Style) -> Option<String> {
    let at = finding.value.map_or_else(String::new, |bytes| format!("knee at {}: ", Bytes(bytes as u64)));
    let text = format!("{}: {at}{}", name(finding), finding.note.as_ref()?);
    let doubted = finding.value.is_some() && finding.verdict.grade != Grade::Trusted;
    let mark = if doubted { style.mark(finding.verdict.grade) } else { "" };
    Some(hanging("  ", format!("{text} {mark}").trim_end(), Ink::Plain, style))
}

/// A time with its own unit, since one table reaches from ns to ms; a rate in the style's.
fn cell(finding: &Finding, style: &Style) -> Cell {
    let text = finding.value.map(|value| match finding.unit {
        Unit::Ns => {
            let (scale, unit) = match value {
                v if v < 1e3 => (1.0, "ns"),
                v if v < 1e6 => (1e3, style.glyph("µs", "us")),
                v if v < 1e9 => (1e6, "ms"),
                _ => (1e9, "s"),
            };
            let interval = finding.interval.map(|i| Interval { low: i.low / scale, high: i.high / scale, ..i });
            format!("{} {unit}", with_interval(value / scale, interval, Unit::Ns, style))
        }
        unit => format!("{} {}", with_interval(value, finding.interval, unit, style), unit_name(unit, style)),
    });
    graded(text, &finding.verdict, style)
}

/// What tells a number from all others.
fn name(finding: &Finding) -> String {
    let words = [finding.labels.get(Labels::OP).unwrap_or_default().to_owned(), row(finding), column(finding)];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The numbers that tell a point from others.
fn row(finding: &Finding) -> String {
    let bytes = |key: &str, before: &str| {
        let text = finding.labels.number(key).map(|n| format!("{before}{}", Bytes(n)))?;
        Some(text)
    };
    let words = [
        bytes(Labels::SIZE, ""),
        bytes(Labels::RESIDENT, ""),
        bytes(Labels::CAPACITY, "holding "),
        bytes(Labels::WORKING_SET, "on "),
        finding
            .labels
            .number(Labels::THREADS)
            .map(|n| if n == 1 { "1 other thread".to_owned() } else { format!("{n} other threads") }),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The words that tell it.
fn column(finding: &Finding) -> String {
    let word = |key: &str| match finding.labels.0.get(key) {
        Some(Label::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let nodes =
        word(Labels::FROM).zip(finding.labels.number(Labels::NODE)).map(|(from, to)| format!("node {from} to {to}"));
    [word(Labels::RELATION), word(Labels::PAGE), nodes].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Verdict;

    #[test]
    fn mitigations_are_told_by_what_is_on_and_what_is_not() {
        let mut machine = Machine::default();
        assert!(mitigations(&machine).contains("does not say"));
        let states = [
            ("meltdown", "Not affected"),
            ("spectre_v2", "Mitigation: Retpolines; STIBP: disabled"),
            ("spec_store_bypass", "Vulnerable"),
            ("spec_rstack_overflow", "Vulnerable: Safe RET, no microcode"),
        ];
        machine.system.mitigations = states.map(|(name, state)| (name.to_owned(), state.to_owned())).into();
        assert_eq!(
            mitigations(&machine),
            "Mitigations, a part of every call: spectre_v2 (Retpolines; STIBP: disabled). Vulnerable, without one: \
spec_rstack_overflow (Safe RET, no microcode), spec_store_bypass. Not affected by 1 others"
        );
    }

    #[test]
    fn idle_states_are_told_with_what_leaving_them_takes() {
        let mut machine = Machine::default();
        assert!(idle(&machine).contains("a hypervisor may"));
        let state = |name: &str, us, disabled| IdleState { name: name.to_owned(), latency_us: Some(us), disabled };
        machine.system.idle = Some(tiermark_model::Idle {
            driver: Some("intel_idle".to_owned()),
            governor: Some("menu".to_owned()),
            states: vec![state("POLL", 0, false), state("C6", 133, true)],
        });
        let said = idle(&machine);
        assert!(said.contains("POLL 0 µs, C6 133 µs (off); driver intel_idle, chosen by menu"), "{said}");
    }

    #[test]
    fn a_knee_is_told_in_words_and_is_no_cell_of_a_table() {
        let labels = Labels::new().text(Labels::OP, "pipe").text(Labels::GROUP, OsGroup::Channels);
        let finding = |metric: &str, labels: Labels, value, unit, note: Option<&str>| Finding {
            metric: metric.to_owned(),
            labels,
            value,
            unit,
            interval: None,
            samples: 6,
            verdict: Verdict::trusted(),
            evidence: Vec::new(),
            note: note.map(str::to_owned),
        };
        let rate = |size: u64, rate: f64| {
            finding("os.bandwidth", labels.clone().whole(Labels::SIZE, size), Some(rate), Unit::BytesPerSecond, None)
        };
        let found =
            finding("os.knee", labels.clone(), Some(65_536.0), Unit::Bytes, Some("blocks of 64 KiB reach 4 GB/s"));
        let all = [rate(4096, 1e9), rate(65_536, 4e9), found.clone()];
        let shown = of_group(OsGroup::Channels, &all.iter().collect::<Vec<_>>(), &Style::default());
        assert!(shown.contains("pipe: knee at 64 KiB: blocks of 64 KiB reach 4 GB/s"), "{shown}");
        // Two sizes and the knee: had it been a cell, there would be a third row.
        assert_eq!(shown.matches("64 KiB").count(), 3, "{shown}");
        let none = Finding { value: None, note: Some("no knee".to_owned()), ..found };
        assert!(of_group(OsGroup::Channels, &[&none], &Style::default()).contains("pipe: no knee"));
    }
}
