//! The table of knobs, a file a group. A new knob is one row.

mod block;
mod boot;
mod cpu;
mod memory;
mod pages;
mod tiers;

use crate::knob::Knob;

/// Every knob. In this order they are shown and changed: a queue's scheduler comes before its length, which it sets.
pub fn all() -> impl Iterator<Item = &'static Knob> {
    [memory::KNOBS, pages::KNOBS, tiers::KNOBS, block::KNOBS, cpu::KNOBS, boot::KNOBS].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::knob::{Advice, KnobSource, Profile};

    #[test]
    fn rows_are_whole() {
        let mut names = BTreeSet::new();
        let mut places = BTreeSet::new();
        for knob in all() {
            assert!(names.insert(knob.name), "{} twice", knob.name);
            assert!(places.insert(format!("{:?}", knob.source)), "{:?} twice", knob.source);
            assert!(!knob.about.is_empty() && !knob.about.ends_with('.'), "{}", knob.name);
            if let KnobSource::File(path) = knob.source {
                assert!(path.starts_with("proc/sys/") || path.starts_with("sys/"), "{path}");
                assert!(path.matches('*').count() <= 1, "{path}");
            }
            for profile in Profile::ALL {
                match knob.advice(profile) {
                    Advice::To(values, why) => {
                        assert!(!values.is_empty() && !why.is_empty(), "{}", knob.name);
                        // A written value must differ from other values when the file is read again.
                        assert!(
                            values.iter().all(|v| knob.syntax.parse(v).is_some_and(|r| r.value == *v)),
                            "{}",
                            knob.name
                        );
                    }
                    Advice::Keep(why) => assert!(!why.is_empty(), "{}", knob.name),
                    Advice::Free | Advice::By(_) => {}
                }
            }
        }
    }

    #[test]
    fn every_knob_of_the_published_set_up_has_its_row() {
        let names: BTreeSet<&str> = all().map(|knob| knob.name).collect();
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
