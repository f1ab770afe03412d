//! Looking and changing, on trees of files.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

#[path = "../../undo/tests/common/mod.rs"]
mod common;

use common::Fake;
use proptest::prelude::*;
use tiermark_machine::synth::{MemoryNode, Synth};
use tiermark_machine::{LiveFacts, Root, discover};
use tiermark_model::messages::undo::codes;
use tiermark_model::{ChangeOutcome, KnobRow, Reach, Standing};
use tiermark_tune::{AdviceInput, Profile, changes, knob_rows, knobs, services};
use tiermark_undo::{Asked, Journal, SystemWriter, apply, restore_all, stop_service};

const FILES: [(&str, &str); 8] = [
    ("proc/sys/vm/page-cluster", "3\n"),
    ("proc/sys/vm/watermark_scale_factor", "10\n"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
    ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"),
    ("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "performance\n"),
    ("sys/block/vda/queue/scheduler", "[none] mq-deadline kyber\n"),
    ("sys/block/vda/queue/nr_requests", "1023\n"),
];

fn rows(root: &Root, profile: Profile, named: &[&str]) -> Vec<KnobRow> {
    let machine = discover(root, &LiveFacts::default()).unwrap();
    let input = AdviceInput::new(root, &machine, named.iter().map(|n| (*n).to_owned()).collect());
    knob_rows(&input, profile, knobs())
}

fn row<'a>(rows: &'a [KnobRow], name: &str) -> &'a KnobRow {
    rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("{name}"))
}

fn snapshot(fake: &Fake) -> Vec<Option<String>> {
    FILES.iter().map(|(path, _)| fake.get(path)).collect()
}

#[test]
fn values_stand_beside_the_advice() {
    let fake = Fake::new(&FILES);
    let rows = rows(fake.root(), Profile::SwapTier, &[]);
    let cluster = row(&rows, "vm.page-cluster");
    assert_eq!(
        (cluster.value.as_deref(), cluster.advice.as_deref(), cluster.standing),
        (Some("3"), Some("0"), Standing::Differs)
    );
    let governors: Vec<&KnobRow> = rows.iter().filter(|row| row.name == "scaling_governor").collect();
    assert_eq!(governors.len(), 2, "grouped by value");
    assert_eq!((governors[0].on.as_deref(), governors[0].files.len()), (Some("cpu 0-1"), 2));
    assert_eq!((governors[1].on.as_deref(), governors[1].standing), (Some("cpu 2"), Standing::AsAdvised));
    assert_eq!(row(&rows, "lru_gen/enabled").standing, Standing::NotHere);
    // No device was named, and none holds swap.
    assert_eq!(row(&rows, "queue/scheduler").standing, Standing::NotHere);
    assert!(rows.iter().all(|row| row.standing != Standing::Differs || row.reason.is_some()));
}

#[test]
fn advice_depends_on_the_machine() {
    let slow = MemoryNode { bytes: 1 << 30, distance: 28, tier: 5, latency_ns: 250, bandwidth_mbs: 26_000 };
    let synth = Synth { memory_nodes: vec![slow], ..Synth::default() };
    let mut files = synth.files();
    for (path, text) in [
        ("proc/sys/kernel/numa_balancing", "0"),
        ("sys/kernel/mm/numa/demotion_enabled", "false"),
        ("proc/sys/vm/swappiness", "60"),
        (
            "proc/swaps",
            "Filename Type Size Used Priority\n/dev/zram0 partition 1024 0 100\n/dev/sda2 partition 1024 0 -2",
        ),
        ("sys/block/sda/sda2/size", "1"),
        ("sys/block/sda/queue/nr_requests", "128"),
        ("sys/block/sda/queue/scheduler", "none"),
        ("proc/cmdline", "quiet rcu_nocbs=0-3"),
        ("boot/config-6.12.0-synthetic", "CONFIG_RCU_NOCB_CPU=y"),
    ] {
        files.insert(path.to_owned(), format!("{text}\n"));
    }
    // Before Linux 5.8 the kernel refuses more than 100, and one refusal takes everything back.
    let mut old = files.clone();
    for text in old.values_mut().filter(|text| text.contains("6.12.0")) {
        *text = text.replace("6.12.0", "4.18.0");
    }
    let old = rows(&Root::from_files("test", old), Profile::SwapTier, &[]);
    assert_eq!(row(&old, "vm.swappiness").advice.as_deref(), Some("100"));
    let root = Root::from_files("test", files);
    let rows = rows(&root, Profile::SwapTier, &[]);
    let advice = |name: &str| row(&rows, name).advice.clone().unwrap();
    assert_eq!(advice("kernel.numa_balancing"), "2");
    assert_eq!(advice("numa/demotion_enabled"), "true");
    assert_eq!(advice("vm.swappiness"), "133");
    // A device that shows a single scheduler has no other.
    let scheduler = row(&rows, "queue/scheduler");
    assert_eq!((scheduler.value.as_deref(), scheduler.standing), (Some("none"), Standing::Unseen));
    assert_eq!(scheduler.reason.as_deref(), Some("this device does not offer mq-deadline"));
    let rcu = row(&rows, "rcu_nocbs=");
    assert_eq!((rcu.value.as_deref(), rcu.advice.as_deref(), rcu.reach), (Some("0-3"), Some("0-7"), Reach::Reboot));
    // A device that holds swap is shown, and changed only where it is named.
    let queue = row(&rows, "queue/nr_requests");
    assert_eq!((queue.on.as_deref(), queue.reach), (Some("sda"), Reach::Unnamed));
    assert!(changes(&rows, knobs()).iter().all(|change| !change.path.contains("block")));
    let priorities: Vec<&str> =
        rows.iter().filter(|r| r.name == "swap priorities").filter_map(|r| r.value.as_deref()).collect();
    assert_eq!(priorities, ["100", "-2"]);
}

#[test]
fn advice_is_on_what_is_in_use() {
    let mut files = Synth::default().files();
    for (path, text) in [
        ("proc/swaps", "Filename Type Size Used Priority"),
        ("proc/sys/vm/swappiness", "60"),
        ("sys/module/zswap/parameters/enabled", "Y"),
        ("proc/cmdline", "quiet"),
        ("sys/devices/system/cpu/cpu3/online", "0"),
    ] {
        files.insert(path.to_owned(), format!("{text}\n"));
    }
    let advice = |files: &std::collections::BTreeMap<String, String>, name: &str| {
        row(&rows(&Root::from_files("test", files.clone()), Profile::SwapTier, &[]), name).advice.clone()
    };
    assert_eq!(advice(&files, "vm.swappiness"), None, "zswap without a swap area takes no page");
    assert_eq!(advice(&files, "rcu_nocbs=").as_deref(), Some("0-2,4-7"), "cpu 3 is offline");
    let swaps = "Filename Type Size Used Priority\n/dev/sda2 partition 1024 0 -2\n";
    files.insert("proc/swaps".into(), swaps.into());
    assert_eq!(advice(&files, "vm.swappiness").as_deref(), Some("133"));
}

#[test]
fn a_service_that_works_against_the_advice_is_stopped_and_started_again() {
    const GROUP: &str = "sys/fs/cgroup/system.slice/ksmtuned.service/cgroup.procs";
    let unit = ("usr/lib/systemd/system/ksmtuned.service", "[Unit]\n");
    let mut fake = Fake::new(&[(GROUP, "612\n"), unit, ("sys/kernel/mm/ksm/run", "1\n"), ("proc/stat", "cpu 1\n")]);
    let standing = |fake: &Fake| {
        let rows = rows(fake.root(), Profile::SwapTier, &[]);
        (row(&rows, "ksmtuned").value.clone(), row(&rows, "ksmtuned").standing, services(&rows, knobs()))
    };
    assert_eq!(standing(&fake), (Some("running".into()), Standing::Differs, vec!["ksmtuned.service"]));
    let mut journal = Journal::create(&fake.state(), fake.head()).unwrap();
    let done = stop_service("ksmtuned.service", &mut fake, &mut journal).unwrap();
    assert_eq!((done.outcome, done.to.as_deref()), (ChangeOutcome::Done, Some("stopped")));
    journal.keep();
    assert_eq!(fake.log, ["run systemctl stop ksmtuned.service"]);
    fake.put(GROUP, "");
    assert_eq!(standing(&fake), (Some("stopped".into()), Standing::AsAdvised, vec![]));
    let restored = restore_all(&fake.state(), &mut fake, &Asked::default()).unwrap();
    assert_eq!(restored.rows[0].outcome, ChangeOutcome::Done, "{:?}", restored.rows);
    assert_eq!(fake.log[1..], ["run systemctl start ksmtuned.service"]);
    assert_eq!(fake.journals(), 0);
    // One that runs again needs nothing; without the service there is nothing to stop.
    let mut journal = Journal::create(&fake.state(), fake.head()).unwrap();
    stop_service("ksmtuned.service", &mut fake, &mut journal).unwrap();
    fake.put(GROUP, "700\n");
    assert_eq!(journal.start_services(&mut fake)[0].outcome, ChangeOutcome::Already);
    assert!(stop_service("x.service; reboot", &mut fake, &mut journal).is_err(), "no name of a service");
    let none = rows(Fake::new(&FILES).root(), Profile::SwapTier, &[]);
    assert_eq!(row(&none, "ksmtuned").standing, Standing::NotHere);
}

#[test]
fn everything_is_changed_and_taken_back() {
    let mut fake = Fake::new(&FILES);
    let before = snapshot(&fake);
    let wanted = changes(&rows(fake.root(), Profile::SwapTier, &["vda"]), knobs());
    assert_eq!(wanted.len(), 7, "{wanted:?}");
    let mut journal = Journal::create(&fake.state(), fake.head()).unwrap();
    let applied = apply(&wanted, &mut fake, &mut journal).unwrap();
    assert!(applied.refused.is_none() && applied.rows.iter().all(|row| row.outcome == ChangeOutcome::Done));
    journal.keep();
    assert_eq!(
        fake.get("sys/block/vda/queue/nr_requests").as_deref(),
        Some("64"),
        "after the scheduler, which sets it"
    );
    assert!(changes(&rows(fake.root(), Profile::SwapTier, &["vda"]), knobs()).is_empty(), "nothing is left to change");
    assert!(!restore_all(&fake.state(), &mut fake, &Asked::default()).unwrap().incomplete());
    let word = |text: Option<String>| {
        text.map(|t| t.split('[').nth(1).map_or(t.clone(), |r| r.split(']').next().unwrap().to_owned()))
    };
    let (before, after): (Vec<_>, Vec<_>) =
        (before.into_iter().map(word).collect(), snapshot(&fake).into_iter().map(word).collect());
    assert_eq!(before, after);
}

#[test]
fn what_fails_takes_the_rest_back_and_says_why() {
    for refused in [true, false] {
        let mut fake = Fake::new(&FILES);
        let before = snapshot(&fake);
        let third = "sys/kernel/mm/transparent_hugepage/enabled".to_owned();
        if refused {
            fake.refuse.insert(third)
        } else {
            fake.stuck.insert(third)
        };
        let wanted = changes(&rows(fake.root(), Profile::SwapTier, &[]), knobs());
        let mut journal = Journal::create(&fake.state(), fake.head()).unwrap();
        let applied = apply(&wanted, &mut fake, &mut journal).unwrap();
        journal.keep();
        let refusal = applied.refused.unwrap();
        let code = if refused { codes::knob_refused } else { codes::knob_not_kept };
        assert_eq!((&refusal.code, refusal.text("name")), (&code, Some("transparent_hugepage/enabled")));
        assert!(refused || refusal.text("found") == Some("madvise"), "{refusal}");
        assert_eq!(snapshot(&fake), before);
        assert_eq!(fake.journals(), 0, "nothing is left to take back");
        let outcomes: Vec<ChangeOutcome> = applied.rows.iter().map(|row| row.outcome).collect();
        assert_eq!(outcomes[..3], [ChangeOutcome::Done, ChangeOutcome::Done, ChangeOutcome::Failed]);
        assert!(
            outcomes[3..].iter().all(|outcome| matches!(outcome, ChangeOutcome::Done | ChangeOutcome::Already)),
            "{outcomes:?}"
        );
    }
}

#[test]
fn a_file_that_cannot_be_written_changes_nothing() {
    let mut fake = Fake::new(&FILES);
    let mut wanted = changes(&rows(fake.root(), Profile::SwapTier, &[]), knobs());
    wanted.last_mut().unwrap().path = "proc/sys/vm/absent".to_owned();
    let mut journal = Journal::create(&fake.state(), fake.head()).unwrap();
    let refusal = apply(&wanted, &mut fake, &mut journal).unwrap_err();
    journal.keep();
    assert_eq!((&refusal.code, refusal.text("path")), (&codes::knob_refused, Some("proc/sys/vm/absent")));
    assert!(fake.log.is_empty() && fake.journals() == 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever the files hold, looking does not panic, and what would be changed is a value that makes sense.
    #[test]
    fn any_tree(texts in prop::collection::vec("\\PC{0,40}|[0-9]{1,30}|a \\[b\\] c", 8), swaps in any::<String>(), line in any::<String>()) {
        let files = FILES.iter().zip(&texts).map(|((path, _), text)| ((*path).to_owned(), text.clone()));
        let more = [("proc/cpuinfo", "processor : 0"), ("proc/swaps", swaps.as_str()), ("proc/cmdline", line.as_str())];
        let all = files.chain(more.into_iter().map(|(p, t)| (p.to_owned(), t.to_owned())));
        let root = Root::from_files("test", all);
        for profile in Profile::ALL {
            for change in changes(&rows(&root, profile, &["vda"]), knobs()) {
                prop_assert!(change.syntax.parse(&change.old).is_some() && change.old != change.new);
            }
        }
    }
}
