//! The table of knobs: `data/knobs.toml`. A new knob is one row there.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::knob::Knob;

const TABLE: &str = include_str!("../data/knobs.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    knob: Vec<Knob>,
}

/// Every knob, in the order in which they are shown and changed.
pub fn all() -> impl Iterator<Item = &'static Knob> {
    static KNOBS: LazyLock<Vec<Knob>> = LazyLock::new(|| {
        // A test reads the table.
        let read: Result<File, _> = toml::from_str(TABLE);
        read.unwrap_or_else(|error| unreachable!("data/knobs.toml: {error}")).knob
    });
    KNOBS.iter()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::knob::{Advice, KnobSource, Profile};

    #[test]
    fn the_table_is_read() {
        assert_eq!(all().count(), TABLE.matches("[[knob]]").count());
        toml::from_str::<File>(TABLE).unwrap();
    }

    #[test]
    fn rows_are_whole() {
        let mut names = BTreeSet::new();
        let mut places = BTreeSet::new();
        for knob in all() {
            assert!(names.insert(&knob.name), "{} twice", knob.name);
            assert!(places.insert(format!("{:?}", knob.source)), "{:?} twice", knob.source);
            assert!(!knob.about.is_empty() && !knob.about.ends_with('.'), "{}", knob.name);
            if let KnobSource::File(path) = &knob.source {
                assert!(path.starts_with("proc/sys/") || path.starts_with("sys/"), "{path}");
                assert!(path.matches('*').count() <= 1, "{path}");
            }
            for profile in Profile::ALL {
                match knob.advice(profile) {
                    Some(Advice::To { to: values, why }) => {
                        assert!(!values.is_empty() && !why.is_empty(), "{}", knob.name);
                        // A written value must differ from other values when the file is read again.
                        assert!(
                            values.iter().all(|v| knob.syntax.parse(v).is_some_and(|r| r.value == *v)),
                            "{}",
                            knob.name
                        );
                    }
                    Some(Advice::Keep { keep: why }) => assert!(!why.is_empty(), "{}", knob.name),
                    None | Some(Advice::By { .. }) => {}
                }
            }
        }
    }

    #[test]
    fn every_knob_of_the_published_set_up_has_its_row() {
        let names: BTreeSet<&str> = all().map(|knob| knob.name.as_str()).collect();
        for name in [
            "scaling_governor",
            "swap priorities",
            "vm.page-cluster",
            "vm.watermark_scale_factor",
            "queue/max_sectors_kb",
            "nvme io_queue_depth",
            "queue/nr_requests",
            "queue/nomerges",
            "queue/scheduler",
            "transparent_hugepage/enabled",
            "transparent_hugepage/defrag",
            "ksm/run",
            "kernel.numa_balancing",
            "rcu_nocbs=",
            "nohz=",
            "highres=",
            "lapic=",
            "device node",
        ] {
            assert!(names.contains(name), "{name}");
        }
    }
}
