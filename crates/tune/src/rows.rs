//! Rows of knobs: their values now, beside what a profile advises.

use tiermark_machine::Root;
use tiermark_machine::excerpt;
use tiermark_model::{IdSet, KnobRow, Reach, Standing};
use tiermark_undo::service_runs;

use crate::advice_input::AdviceInput;
use crate::knob::{Advice, Knob, KnobSource, Profile};

/// Files of one knob that are read: 16,384 cpus are more than any machine has.
const MOST_FILES: usize = 16_384;

/// One file, or one fact, of a knob.
struct KnobFile {
    on: Option<String>,
    path: String,
    /// The text, or why it cannot be read.
    text: Result<String, String>,
}

/// The rows of some knobs under a profile: one for each value that a knob's files have.
pub fn knob_rows<'k>(
    input: &AdviceInput<'_>,
    profile: Profile,
    knobs: impl IntoIterator<Item = &'k Knob>,
) -> Vec<KnobRow> {
    knobs.into_iter().flat_map(|knob| rows(input, profile, knob)).collect()
}

fn rows(input: &AdviceInput<'_>, profile: Profile, knob: &Knob) -> Vec<KnobRow> {
    let files = files(input, knob);
    let mut rows: Vec<(KnobRow, Vec<String>)> = Vec::new();
    for file in files {
        let row = judged(input, profile, knob, &file);
        let alike = |known: &&mut (KnobRow, Vec<String>)| {
            (&known.0.value, &known.0.standing, known.0.reach) == (&row.value, &row.standing, row.reach)
        };
        match rows.iter_mut().find(alike) {
            Some((known, on)) => {
                known.files.push(file.path);
                on.extend(file.on);
            }
            None => rows.push((KnobRow { files: vec![file.path], ..row }, file.on.into_iter().collect())),
        }
    }
    if rows.is_empty() {
        let (advice, reason) = wanted(input, profile, knob);
        return vec![absent(knob, &advice, reason)];
    }
    rows.into_iter().map(|(row, on)| KnobRow { on: together(&on), ..row }).collect()
}

/// Numbers as a list of ranges, names as they are.
fn together(on: &[String]) -> Option<String> {
    let numbers = |prefix: &str| -> Option<IdSet> { on.iter().map(|o| o.strip_prefix(prefix)?.parse().ok()).collect() };
    match on.first()?.trim_end_matches(|c: char| c.is_ascii_digit()) {
        prefix if on.len() > 1 && !prefix.is_empty() => {
            numbers(prefix).map_or_else(|| Some(on.join(", ")), |ids| Some(format!("{prefix}{ids}")))
        }
        _ => Some(on.join(", ")),
    }
}

/// Every file of a knob that is there.
fn files(input: &AdviceInput<'_>, knob: &Knob) -> Vec<KnobFile> {
    let read = |path: String, on: Option<String>| match input.root.read(&path) {
        Ok(None) => None,
        Ok(Some(text)) => Some(KnobFile { on, path, text: Ok(text) }),
        Err(why) => Some(KnobFile { on, path, text: Err(why.to_string()) }),
    };
    match &knob.source {
        KnobSource::File(path) if path.contains('*') => {
            starred(input.root, path).into_iter().filter_map(|(path, on)| read(path, Some(on))).collect()
        }
        KnobSource::File(path) => read(path.clone(), None).into_iter().collect(),
        KnobSource::Block(path) => {
            let file = |device: String| read(format!("sys/block/{device}/{path}"), Some(device));
            input.devices().into_iter().filter_map(file).collect()
        }
        KnobSource::Service(unit) => {
            let text = service_runs(input.root, unit).map(|runs| if runs { "running" } else { "stopped" });
            let file = |text: &str| KnobFile { on: None, path: unit.clone(), text: Ok(text.to_owned()) };
            text.map(file).into_iter().collect()
        }
        KnobSource::Boot(name) => {
            let Ok(Some(_)) = input.root.read("proc/cmdline") else { return Vec::new() };
            let text = input.parameter(name).unwrap_or_else(|| "not set".to_owned());
            vec![KnobFile { on: None, path: "proc/cmdline".to_owned(), text: Ok(text) }]
        }
        KnobSource::Fact { path, of } => {
            of.values(input).into_iter().map(|(on, text)| KnobFile { on, path: path.clone(), text: Ok(text) }).collect()
        }
    }
}

/// The files that a path with a star stands for, each with the name that took the star's place, numbers in their order.
fn starred(root: &Root, path: &str) -> Vec<(String, String)> {
    let Some((before, after)) = path.split_once('*') else { return Vec::new() };
    let (dir, prefix) = before.rsplit_once('/').unwrap_or(("", before));
    let (suffix, rest) = after.split_at(after.find('/').unwrap_or(after.len()));
    let mut names: Vec<(u64, String)> = root
        .list(dir)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|name| {
            let middle = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
            Some((middle.parse().ok()?, name))
        })
        .collect();
    names.sort_unstable();
    names.truncate(MOST_FILES);
    let label =
        |number: u64, name: &str| if suffix.is_empty() { format!("{prefix} {number}") } else { name.to_owned() };
    names.into_iter().map(|(n, name)| (format!("{dir}/{name}{rest}"), label(n, &name))).collect()
}

/// The row of a knob of which no file is there.
fn absent(knob: &Knob, advice: &[String], reason: Option<String>) -> KnobRow {
    KnobRow {
        name: knob.name.clone(),
        about: knob.about.clone(),
        on: None,
        files: Vec::new(),
        value: None,
        options: Vec::new(),
        advice: advice.first().cloned(),
        reason,
        reach: knob.reach(),
        standing: Standing::NotHere,
    }
}

fn judged(input: &AdviceInput<'_>, profile: Profile, knob: &Knob, file: &KnobFile) -> KnobRow {
    let (advice, reason) = wanted(input, profile, knob);
    let unnamed =
        matches!(knob.source, KnobSource::Block(_)) && !file.on.as_ref().is_some_and(|d| input.named.contains(d));
    let reach = if unnamed && knob.reach() == Reach::Live { Reach::Unnamed } else { knob.reach() };
    let row = KnobRow { on: file.on.clone(), reach, standing: Standing::Unseen, ..absent(knob, &advice, reason) };
    // Parameters and facts are words of this program or of a person; only files have a form.
    let reading = match (&file.text, &knob.source) {
        (Err(why), _) => return KnobRow { reason: Some(why.clone()), ..row },
        (Ok(text), KnobSource::Service(_) | KnobSource::Boot(_) | KnobSource::Fact { .. }) => {
            (text.clone(), Vec::new())
        }
        (Ok(text), _) => match knob.syntax.parse(text) {
            Some(reading) => (reading.value, reading.options),
            None => return KnobRow { reason: Some(format!("'{}' makes no sense", excerpt(text))), ..row },
        },
    };
    let (value, options) = reading;
    let met = advice.iter().any(|wanted| knob.syntax.same(wanted, &value));
    // A value that the kernel does not offer is not advised.
    let offered = options.is_empty() || advice.iter().any(|wanted| options.contains(wanted));
    let standing = match advice.is_empty() {
        true => Standing::Free,
        false if met => Standing::AsAdvised,
        false if !offered => Standing::Unseen,
        false => Standing::Differs,
    };
    let reason = match (standing, &row.advice) {
        (Standing::Unseen, Some(advice)) => {
            let whose = if matches!(knob.source, KnobSource::Block(_)) { "device" } else { "kernel" };
            Some(format!("this {whose} does not offer {advice}"))
        }
        _ => row.reason,
    };
    KnobRow { value: Some(value), options, standing, reason, ..row }
}

/// The values a profile accepts, the one to write first, and why.
fn wanted(input: &AdviceInput<'_>, profile: Profile, knob: &Knob) -> (Vec<String>, Option<String>) {
    match knob.advice(profile) {
        None => (Vec::new(), None),
        Some(Advice::To { to, why }) => (to, Some(why)),
        Some(Advice::Keep { keep }) => (Vec::new(), Some(keep)),
        Some(Advice::By { by }) => by.advice(input).map_or((Vec::new(), None), |(value, why)| (vec![value], Some(why))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::advice_input::parameter;

    #[test]
    fn stars_stand_for_numbers() {
        let files = ["cpu10/g", "cpu2/g", "cpufreq/g", "cpu/g"].map(|f| (format!("sys/cpu/{f}"), "x"));
        let root = Root::from_files("test", files);
        let found = starred(&root, "sys/cpu/cpu*/g");
        let found: Vec<(&str, &str)> = found.iter().map(|(p, on)| (p.as_str(), on.as_str())).collect();
        assert_eq!(found, [("sys/cpu/cpu2/g", "cpu 2"), ("sys/cpu/cpu10/g", "cpu 10")]);
        let root = Root::from_files("test", [("t/hugepages-64kB/enabled", "x"), ("t/hugepages-kB/enabled", "x")]);
        assert_eq!(starred(&root, "t/hugepages-*kB/enabled")[0].1, "hugepages-64kB");
        let on: Vec<String> = (0..64).map(|n| format!("cpu {n}")).collect();
        assert_eq!(together(&on).as_deref(), Some("cpu 0-63"));
        assert_eq!(together(&["vda".to_owned(), "vdb".to_owned()]).as_deref(), Some("vda, vdb"));
        assert_eq!(together(&[]), None);
    }

    proptest! {
        #[test]
        fn any_command_line(text in any::<String>(), name in "[a-z]{0,3}") {
            let _ = parameter(&text, &name);
        }
    }
}
