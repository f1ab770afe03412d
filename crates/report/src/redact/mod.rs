//! Copies of documents without the names in them, so that they can be shared. Hosts have pseudonyms instead, so that
//! documents of one host stay together.

mod pseudonyms;
mod tenants;

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tiermark_model::{
    HOST_LABEL, Label, Labels, Machine, Note, Reason, Refusal, Run, RunHealth, RunLabels, Verdict, Warning,
};

pub use pseudonyms::Pseudonyms;
pub use tenants::{redact_capacity, redact_load, without_commands};

/// What stands in place of a removed text.
pub const GONE: &str = "(redacted)";

/// A copy without names of other programs, cgroup path, command-line paths, and user names in any path, and with
/// pseudonyms as host name and values of labels; numbers stay as they are.
pub fn redact(run: &Run, names: Pseudonyms) -> Run {
    let scrub = Scrub::new(&run.machine, &run.labels, names);
    let mut run = run.clone();
    let kernels: Vec<String> = run.bench.kernels.iter().map(|k| k.id.to_string()).collect();
    scrub.command(&mut run.command, &kernels);
    names.labels(&mut run.labels);
    scrub.machine(&mut run.machine);
    scrub.text(&mut run.id);
    scrub.text(&mut run.title);
    if let Some(plan) = &mut run.plan {
        scrub.text(&mut plan.title);
        scrub.text(&mut plan.about);
    }
    run.simulated.iter_mut().for_each(|name| scrub.text(name));
    for primitive in &mut run.bench.primitives {
        primitive.here.iter_mut().for_each(|here| scrub.text(here));
        primitive.refusal.iter_mut().for_each(|refusal| scrub.refusal(refusal));
    }
    if let Some(counters) = &mut run.counters {
        // Those about other programs that count name them.
        counters.notes.retain(|note| note.code != tiermark_model::messages::counters::codes::other_monitor);
        counters.notes.iter_mut().for_each(|note| scrub.note(note));
        counters.passed_over.iter_mut().for_each(|own| scrub.refusal(&mut own.refusal));
        let faults = counters.check.iter_mut().flat_map(|check| &mut check.faults);
        faults.for_each(|fault| scrub.note(fault));
    }
    health(&mut run.health);
    for problem in run.problems.iter_mut().flatten() {
        scrub.text(&mut problem.value);
        problem.cure.iter_mut().for_each(|cure| scrub.text(cure));
    }
    run.warnings.iter_mut().for_each(|warning| scrub.warning(warning));
    for experiment in &mut run.experiments {
        if let Some(part) = &mut experiment.request.part {
            let words = part.command.split(' ').map(|word| scrub.argument(word, &kernels));
            part.command = words.collect::<Vec<_>>().join(" ");
            part.note.iter_mut().for_each(|note| scrub.text(note));
        }
        scrub.value(&mut experiment.request.params);
        experiment.plan.rules.iter_mut().for_each(|rule| scrub.note(rule));
        experiment.plan.refused.iter_mut().for_each(|refusal| scrub.refusal(refusal));
        for finding in &mut experiment.findings {
            scrub.labels(&mut finding.labels);
            scrub.verdict(&mut finding.verdict);
            finding.notes.iter_mut().for_each(|note| scrub.note(note));
        }
        for observation in &mut experiment.observations {
            scrub.labels(&mut observation.labels);
            scrub.verdict(&mut observation.verdict);
            observation.refusal.iter_mut().for_each(|refusal| scrub.refusal(refusal));
            if let Some(proof) = &mut observation.placement {
                scrub.note(&mut proof.how);
                proof.notes.iter_mut().for_each(|note| scrub.note(note));
            }
        }
    }
    run
}

/// The words to take out of texts.
struct Scrub {
    /// Each with what stands in its place, the longest first.
    words: Vec<(String, String)>,
    names: Pseudonyms,
}

/// Takes the path of the control group out of what the system counted.
fn health(counted: &mut Option<RunHealth>) {
    let quota = counted.iter_mut().filter_map(|health| health.quota.as_mut());
    quota.for_each(|stops| stops.file = GONE.to_owned());
}

impl Scrub {
    fn new(machine: &Machine, labels: &RunLabels, names: Pseudonyms) -> Self {
        let hosts = machine.system.hostname.iter().chain(labels.get(HOST_LABEL));
        let hosts = hosts.flat_map(|host| {
            let short = host.split('.').next().unwrap_or(host);
            [host.as_str(), short].map(|word| (word.to_owned(), names.host(host)))
        });
        let groups = machine.system.cgroup.iter().flat_map(|group| {
            let files = group.clone().files_mut().map(|file| file.clone()).collect::<Vec<_>>();
            std::iter::once(group.path.clone()).chain(files)
        });
        let groups = groups.map(|group| (group, GONE.to_owned()));
        // The root group has no name.
        let mut words: Vec<_> = hosts.chain(groups).filter(|(word, _)| !matches!(word.as_str(), "" | "/")).collect();
        words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
        Self { words, names }
    }

    fn machine(&self, machine: &mut Machine) {
        let system = &mut machine.system;
        if let Some(host) = &mut system.hostname {
            *host = self.names.host(host);
        }
        if let Some(group) = &mut system.cgroup {
            group.path = GONE.to_owned();
            group.files_mut().for_each(|file| *file = GONE.to_owned());
        }
        // Whoever builds a kernel may name a host in it.
        system.kernel.iter_mut().for_each(|kernel| self.text(kernel));
        for swap in &mut system.swaps {
            // Devices name no user; swap files may lie anywhere.
            if !swap.path.starts_with("/dev/") {
                swap.path = GONE.to_owned();
            }
        }
        machine.unseen.iter_mut().for_each(|refusal| self.refusal(refusal));
    }

    /// A command line with its paths and the values of its labels taken out.
    fn command(&self, words: &mut [String], kernels: &[String]) {
        const LABEL: &str = "--label";
        let labels =
            |typed: &str| typed.split(',').map(|one| self.names.typed_label(one)).collect::<Vec<_>>().join(",");
        let mut is_label = false;
        for word in words {
            let typed = word.strip_prefix(LABEL).and_then(|rest| rest.strip_prefix('='));
            *word = match typed {
                Some(typed) => format!("{LABEL}={}", labels(typed)),
                None if is_label => labels(word),
                None => self.argument(word, kernels),
            };
            // Its value may be the next word.
            is_label = word == LABEL;
        }
    }

    /// An argument with its paths taken out; kernel names look like paths and are none.
    fn argument(&self, argument: &str, kernels: &[String]) -> String {
        const FILES: [&str; 8] = [".json", ".jsonl", ".csv", ".html", ".txt", ".toml", ".gz", ".journal"];
        let (option, value) = match argument.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (format!("{option}="), value),
            _ => (String::new(), argument),
        };
        let names_kernels = value.split(',').all(|part| kernels.iter().any(|k| k == part));
        let is_path = value.contains('/') && !names_kernels || FILES.iter().any(|end| value.ends_with(end));
        let mut value = if is_path { GONE.to_owned() } else { value.to_owned() };
        self.text(&mut value);
        option + &value
    }

    fn refusal(&self, refusal: &mut Refusal) {
        programs(&mut refusal.data, [&mut refusal.why]);
        [&mut refusal.what, &mut refusal.why, &mut refusal.cure].into_iter().for_each(|text| self.text(text));
        refusal.data.values_mut().for_each(|datum| self.value(datum));
    }

    fn warning(&self, warning: &mut Warning) {
        programs(&mut warning.data, [&mut warning.state, &mut warning.text]);
        [&mut warning.state, &mut warning.text].into_iter().chain(&mut warning.cure).for_each(|text| self.text(text));
        warning.data.values_mut().for_each(|datum| self.value(datum));
    }

    fn note(&self, note: &mut Note) {
        self.text(&mut note.text);
        note.data.values_mut().for_each(|datum| self.value(datum));
    }

    fn verdict(&self, verdict: &mut Verdict) {
        for reason in &mut verdict.reasons {
            match reason {
                Reason::Refused { refusal } => self.refusal(refusal),
                Reason::PlaceUnseen { how } | Reason::PagesUnseen { how } => self.note(how),
                Reason::Broken { fault: text } => self.text(text),
                _ => {}
            }
        }
    }

    /// A document from elsewhere may have any text in its labels. As short as this are tiers (`L1`).
    fn labels(&self, labels: &mut Labels) {
        for label in labels.values_mut() {
            if let Label::Text(text) = label
                && text.len() > 2
            {
                self.text(text);
            }
        }
    }

    fn value(&self, value: &mut Value) {
        walk(value, &messages_programs, &|text| self.text(text));
    }

    fn text(&self, text: &mut String) {
        for (word, instead) in &self.words {
            if text.contains(word.as_str()) {
                *text = without_word(text, word, instead);
            }
        }
        for home in ["/home/", "/Users/", "/root/", "/run/user/"] {
            *text = without_paths(text, home);
        }
    }
}

/// The datum of a message that names other programs of the machine.
const PROGRAMS: &str = "programs";

/// Takes the names of other programs out of a message, where its data has them.
fn programs<const N: usize>(data: &mut BTreeMap<String, Value>, texts: [&mut String; N]) {
    let Some(Value::String(named)) = data.get_mut(PROGRAMS) else { return };
    let named = std::mem::replace(named, GONE.to_owned());
    if !named.is_empty() {
        texts.into_iter().for_each(|text| *text = text.replace(&named, GONE));
    }
}

/// The same of a message that is no more than data.
fn messages_programs(fields: &mut Map<String, Value>) {
    let Some(Value::String(named)) = fields.get("data").and_then(|data| data.get(PROGRAMS)) else { return };
    let named = Vec::from_iter(Some(named.clone()).filter(|named| !named.is_empty()));
    take_out(&named, fields.values_mut());
}

/// Passes each object to one function, before its members, and each text to another.
fn walk(value: &mut Value, object: &dyn Fn(&mut Map<String, Value>), text: &dyn Fn(&mut String)) {
    match value {
        Value::String(own) => text(own),
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, object, text)),
        Value::Object(fields) => {
            object(fields);
            fields.values_mut().for_each(|field| walk(field, object, text));
        }
        _ => {}
    }
}

/// Takes secrets out of each text.
fn take_out<'a>(secrets: &[String], values: impl Iterator<Item = &'a mut Value>) {
    let clean = |text: &mut String| secrets.iter().for_each(|secret| *text = text.replace(secret.as_str(), GONE));
    values.for_each(|value| walk(value, &|_| {}, &clean));
}

/// The text with a word replaced where it stands by itself: a host called "a" is in every text.
fn without_word(text: &str, word: &str, instead: &str) -> String {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let (begins, ends) = (is_letter(word.chars().next()), is_letter(word.chars().next_back()));
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let last = before.chars().next_back().or_else(|| out.chars().next_back());
        let is_part = begins && is_letter(last) || ends && is_letter(after.chars().next());
        out.push_str(before);
        out.push_str(if is_part { word } else { instead });
        rest = after;
    }
    out + rest
}

/// The text with every path below a directory cut to a marker, up to the next space or quote.
fn without_paths(text: &str, home: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(home) {
        let path = &rest[at..];
        let end =
            path.find(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | ',' | ';' | ')')).unwrap_or(path.len());
        out.push_str(&rest[..at]);
        out.push_str(GONE);
        rest = &path[end..];
    }
    out + rest
}
