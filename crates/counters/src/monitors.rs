//! Programs that set counters behind the kernel's back.

use tiermark_machine::Root;
use tiermark_machine::files::ProcessStat;
use tiermark_model::Note;
use tiermark_model::messages::counters as says;

use crate::sources::SOURCES;

/// Those whose files are not read here, by the first word of their names.
const OTHERS: [&str; 4] = ["vtune", "emon", "sep", "amplxe"];
/// Processes that are looked at: a large server has some ten thousand.
const MOST_PROCESSES: usize = 100_000;

/// The running programs that may set the same counters back while they are read.
pub(crate) fn other_monitors(root: &Root) -> Vec<Note> {
    let pids = root.numbered("proc", "").unwrap_or_default().into_iter().take(MOST_PROCESSES);
    let named = pids.filter_map(|pid| {
        let text = root.text(&format!("proc/{pid}/stat"))?;
        let name = ProcessStat::parse(&text)?.name;
        is_monitor(name).then(|| says::other_monitor(pid, name))
    });
    named.collect()
}

/// Whether a program of this name sets counters itself. The first word is whole: other names begin like `sep`.
fn is_monitor(name: &str) -> bool {
    let first = |name: &'static str| name.split('-').next().unwrap_or(name);
    let own = SOURCES.iter().filter_map(|kind| kind.file()).map(|form| first(form.program));
    own.chain(OTHERS).any(|monitor| {
        let rest = name.strip_prefix(monitor);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monitors_are_named() {
        let stat = |name: &str| format!("1 ({name}) S 1 1");
        let names = ["pcm-memory", "pcm", "likwid-perfctr", "pcmanfm", "sep", "separate", "bash"];
        let files = names.iter().enumerate().map(|(pid, name)| (format!("proc/{pid}/stat"), stat(name)));
        let found = other_monitors(&Root::from_files("test", files));
        let monitors: Vec<&str> = names.into_iter().filter(|name| is_monitor(name)).collect();
        assert_eq!(monitors, ["pcm-memory", "pcm", "likwid-perfctr", "sep"]);
        assert_eq!(found.len(), monitors.len());
        assert!(found.iter().zip(monitors).all(|(note, name)| note.text.contains(name)), "{found:?}");
    }
}
