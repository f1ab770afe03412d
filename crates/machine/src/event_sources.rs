//! The kernel's event sources (PMUs), as `/sys/bus/event_source/devices` describes them.

use std::collections::BTreeMap;

use tiermark_model::IdSet;

use crate::Root;

/// The directory of all event sources.
pub const EVENT_SOURCES: &str = "sys/bus/event_source/devices";
/// What the kernel allows users without privileges to count.
const PARANOID: &str = "proc/sys/kernel/perf_event_paranoid";

/// Event sources that one machine may have: eight sockets of 12 controllers, 6 links and their other boxes have about
/// 300 names, since Intel's boxes of all sockets share one.
const MOST_SOURCES: usize = 4096;
/// Formats or events of one source: that of a core has about 60.
const MOST_FILES: usize = 512;

/// An event source. Texts are those of the files, trimmed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventSource {
    /// Its name: `uncore_imc_0`.
    pub name: String,
    /// Number of its type, which `perf_event_open` takes; `None` where the file makes no sense.
    pub kind: Option<u32>,
    /// Cpus that it is opened on, one for each socket or die; `None` for sources without such a list, as those of
    /// cores.
    pub cpus: Option<IdSet>,
    /// Its other name, by the number of its type: `uncore_type_6_0`.
    pub alias: Option<String>,
    /// Where the value of each term of an event goes: `umask` to `config:8-15`.
    pub formats: BTreeMap<String, String>,
    /// Events that the kernel names, with their `.scale` and `.unit`.
    pub events: BTreeMap<String, String>,
}

/// All event sources of a machine, sorted by name; empty if the kernel has no event source.
pub fn event_sources(root: &Root) -> Vec<EventSource> {
    let names = root.list(EVENT_SOURCES).unwrap_or_default().into_iter().take(MOST_SOURCES);
    names.map(|name| event_source(root, name)).collect()
}

/// The number in `/proc/sys/kernel/perf_event_paranoid`; `None` if the kernel has no such file.
pub fn perf_event_paranoid(root: &Root) -> Option<i64> {
    root.value(PARANOID)
}

fn event_source(root: &Root, name: String) -> EventSource {
    let at = |file: &str| format!("{EVENT_SOURCES}/{name}/{file}");
    let texts = |directory: &str| -> BTreeMap<String, String> {
        let files = root.list(&at(directory)).unwrap_or_default().into_iter().take(MOST_FILES);
        files.filter_map(|file| Some((file.clone(), root.word(&at(&format!("{directory}/{file}")))?))).collect()
    };
    EventSource {
        kind: root.value(&at("type")),
        cpus: root.word(&at("cpumask")).and_then(|text| IdSet::from_plain_list(&text).ok()),
        alias: root.word(&at("alias")),
        formats: texts("format"),
        events: texts("events"),
        name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_says_and_nothing_else() {
        let at = |file: &str| format!("{EVENT_SOURCES}/uncore_imc_0/{file}");
        let files = [
            (at("type"), "14\n"),
            (at("cpumask"), "0,28\n"),
            (at("format/umask"), "config:8-15\n"),
            (at("events/clockticks"), "event=0x00\n"),
            (format!("{EVENT_SOURCES}/software/type"), "x\n"),
            (PARANOID.to_owned(), "-1\n"),
        ];
        let root = Root::from_files("test", files);
        let [software, imc] = &event_sources(&root)[..] else { panic!() };
        assert_eq!((software.name.as_str(), software.kind, &software.cpus), ("software", None, &None));
        assert_eq!((imc.kind, imc.cpus.as_ref().map(IdSet::len)), (Some(14), Some(2)));
        assert_eq!((imc.formats["umask"].as_str(), imc.events["clockticks"].as_str()), ("config:8-15", "event=0x00"));
        assert_eq!(perf_event_paranoid(&root), Some(-1));
        assert!(event_sources(&Root::from_files("none", [("proc/cpuinfo", "")])).is_empty());
    }

    #[test]
    fn a_capture_has_them() {
        let at = |file: &str| format!("{EVENT_SOURCES}/amd_umc_0/{file}");
        let files = [
            ("proc/cpuinfo".to_owned(), "processor : 0\n"),
            ("sys/devices/system/cpu/online".to_owned(), "0\n"),
            (at("type"), "14\n"),
            (at("cpumask"), "0\n"),
            (at("format/rdwrmask"), "config:8-9\n"),
            (PARANOID.to_owned(), "2\n"),
        ];
        let root = Root::from_files("test", files);
        let mut archive = Vec::new();
        crate::capture(&root, &crate::LiveFacts::default(), &mut archive).unwrap();
        let copy = Root::from_archive("copy", &archive).unwrap();
        assert_eq!(event_sources(&copy), event_sources(&root));
        assert_eq!((event_sources(&copy).len(), perf_event_paranoid(&copy)), (1, Some(2)));
    }
}
