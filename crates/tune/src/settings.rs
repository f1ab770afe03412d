//! Settings as they are, without advice: what a document records.

use tiermark_machine::Root;
use tiermark_model::Machine;
use tiermark_model::capacity::Setting;

use crate::advice_input::AdviceInput;
use crate::knob::Profile;
use crate::rows::knob_rows;
use crate::table;

/// Every setting that this system has, and those of these block devices and of the devices that are swapped to.
pub fn settings(root: &Root, machine: &Machine, devices: Vec<String>) -> Vec<Setting> {
    let input = AdviceInput::new(root, machine, devices);
    let rows = knob_rows(&input, Profile::Default, table::all());
    rows.into_iter().filter_map(|row| Some(Setting { name: row.name, on: row.on, value: row.value? })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_system_has_is_recorded_as_it_is() {
        let root = Root::from_files(
            "test",
            [
                ("proc/sys/vm/page-cluster", "3\n"),
                ("proc/sys/vm/min_free_kbytes", "67584\n"),
                ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
                ("sys/block/nvme0n1/queue/scheduler", "[none] mq-deadline\n"),
                ("sys/block/sda/queue/nr_requests", "64\n"),
                ("sys/block/sda/device/queue_depth", "32\n"),
                ("sys/block/sdb/queue/nr_requests", "128\n"),
            ],
        );
        let found = settings(&root, &Machine::default(), vec!["nvme0n1".into(), "sda".into()]);
        let of = |name: &str| {
            let rows: Vec<_> = found.iter().filter(|row| row.name == name).collect();
            rows.iter().map(|row| (row.on.as_deref(), row.value.as_str())).collect::<Vec<_>>()
        };
        assert_eq!(of("vm.page-cluster"), [(None, "3")]);
        assert_eq!(of("vm.min_free_kbytes"), [(None, "67584")]);
        assert_eq!(of("transparent_hugepage/enabled"), [(None, "madvise")]);
        assert_eq!(of("queue/scheduler"), [(Some("nvme0n1"), "none")]);
        assert_eq!(of("queue/nr_requests"), [(Some("sda"), "64")], "devices of others are not recorded");
        assert_eq!(of("device/queue_depth"), [(Some("sda"), "32")]);
        assert!(of("vm.swappiness").is_empty(), "not there");
    }
}
