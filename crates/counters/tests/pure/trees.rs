//! Every tree of event sources among the shared fixtures, opened against a stand-in for the kernel. The trees were made
//! from the formats that kernels document; none was captured on hardware.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{EINVAL, Fake, cpu, cpus, fixtures, intel, kind, machine, of_source, open, source};
use tiermark_counters::{CounterSource, Family, Finding, OPEN_FLAGS, PerfSource, READ_FORMAT, examine_perf, families};
use tiermark_machine::Root;
use tiermark_model::{CounterSight, CpuModel};

fn tree(name: &str) -> Option<Root> {
    Some(Root::at(fixtures("synthetic")?.join(format!("sysfs-{name}.tar.gz"))).unwrap())
}

/// An event of one source: `config`, on these cpus.
type Row = (&'static str, &'static [[u64; 4]], &'static [u32]);

const fn c(config: u64) -> [u64; 4] {
    [config, 0, 0, 0]
}

/// Opens a tree and compares the events of some of its sources, and the number of all.
fn opens(name: &str, model: CpuModel, total: usize, rows: &[Row]) -> Option<(Fake, tiermark_counters::PerfSource)> {
    let root = tree(name)?;
    let fake = Fake::default();
    let source = open(&root, model, &fake).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
    for (pmu, words, cpus) in rows {
        let expected: Vec<([u64; 4], u32)> =
            cpus.iter().flat_map(|cpu| words.iter().map(move |words| (*words, *cpu))).collect();
        assert_eq!(of_source(&fake, kind(&root, pmu)), expected, "{name} {pmu}");
    }
    let kernel = fake.0.borrow();
    assert_eq!(kernel.opened.len(), total, "{name}");
    for (event, _) in &kernel.opened {
        assert_eq!((event.read_format, event.flags), (READ_FORMAT, OPEN_FLAGS));
    }
    // A group never has events of two sources or two cpus.
    for group in &kernel.groups {
        assert_eq!(group.iter().map(|event| (event.kind, event.cpu)).collect::<BTreeSet<_>>().len(), 1, "{name}");
    }
    drop(kernel);
    Some((fake, source))
}

/// UPI from Skylake on: sent, received, clock.
const UPI: &[[u64; 4]] = &[c(0x0f02), c(0x0f03), c(0x0001)];
const SKX_IMC: &[[u64; 4]] = &[c(0x0304), c(0x0c04), c(0x0000)];
const ICX_IMC: &[[u64; 4]] = &[c(0x0f04), c(0x3004), c(0x0000)];
const SPR_IMC: &[[u64; 4]] = &[c(0xcf05), c(0xf005), c(0x0001)];
const QPI: &[[u64; 4]] = &[c(0x0200), c(0x20_0802), c(0x20_0403)];
const UMC: &[[u64; 4]] = &[c(0x010a), c(0x020a), c(0x0000)];
const SCF: &[[u64; 4]] = &[c(0x1a5), c(0x1db)];
const CLIENT: &[[u64; 4]] = &[c(1), c(2)];
const DMC: &[[u64; 4]] = &[[0, 0, 0x12 << 3 | 1 << 9, 0]];
/// The last is the fixed counter.
const GNR_IMC: &[[u64; 4]] = &[c(0xcf05), c(0xcf06), c(0xf005), c(0xf006), c(0x00ff)];

#[test]
fn intel_servers() {
    let imc = |words| ("uncore_imc_0", words, &[0, 28][..]);
    opens("skx-2s", intel(0x55), (6 * 3 + 3 * 3) * 2, &[imc(SKX_IMC), ("uncore_upi_2", UPI, &[0, 28])]);
    // Event bit 8 is bit 21 of the word.
    opens("bdx-2s-qpi", intel(0x4f), (4 * 3 + 2 * 3) * 2, &[("uncore_qpi_0", QPI, &[0, 14])]);
    opens("icx-2s", intel(0x6a), (12 * 3 + 3 * 3) * 2, &[("uncore_imc_11", ICX_IMC, &[0, 32])]);
    for name in ["spr-2s-v6.1-no-aliases", "spr-2s-v6.4+"] {
        let rows: &[Row] = &[("uncore_imc_7", SPR_IMC, &[0, 32]), ("uncore_upi_3", UPI, &[0, 32])];
        if let Some((_, source)) = opens(name, intel(0x8f), (8 * 3 + 4 * 3) * 2, rows) {
            assert_eq!(source.findings(), []);
        }
    }
    // A kernel that is older than the processor: boxes by the number of their type.
    opens("unknown-uncore-types", intel(0xcf), (8 * 3 + 4 * 3) * 2, &[("uncore_type_6_7", SPR_IMC, &[0, 16])]);
}

#[test]
fn the_names_of_granite_rapids_count_half() {
    let all = |links: usize| (8 * 5 + links * 3) * 2;
    let rows: &[Row] = &[("uncore_imc_0", GNR_IMC, &[0, 16])];
    let Some((_, trap)) = opens("gnr-2s-TRAP-half-count", intel(0xad), all(0), rows) else { return };
    let partial = |alias: &str| Finding::PartialAlias { pmu: "uncore_imc_0".to_owned(), alias: alias.to_owned() };
    assert_eq!(trap.findings(), [partial("cas_count_read"), partial("cas_count_write")]);
    let (_, fixed) = opens("gnr-2s-fixed-sch", intel(0xad), all(4), rows).unwrap();
    assert_eq!(fixed.findings(), []);
    assert!(fixed.sees().contains(&CounterSight::Utilisation));
    // Four general counters hold the four events beside the clock: no box takes turns.
    let root = tree("gnr-2s-TRAP-half-count").unwrap();
    let fake = Fake::default();
    fake.0.borrow_mut().most = Some(4);
    open(&root, intel(0xad), &fake).unwrap();
    assert!(fake.0.borrow().groups.iter().all(|group| group.len() == 5));
    // Boxes without the fixed counter, as those of older kernels: all bytes are counted.
    let fake = Fake::default();
    fake.0.borrow_mut().without_fixed = (0..8).map(|at| kind(&root, &format!("uncore_imc_{at}"))).collect();
    let source = open(&root, intel(0xad), &fake).unwrap();
    assert_eq!((source.opened().len(), source.sees().contains(&CounterSight::Utilisation)), (8 * 4 * 2, false));
    assert!(!source.findings().iter().any(|finding| matches!(finding, Finding::Absent { .. })));
}

#[test]
fn boxes_that_are_not_there_are_left_out() {
    let Some(root) = tree("icx-2s") else { return };
    let fake = Fake::default();
    // 8 of the 12 boxes have channels.
    let refused: BTreeMap<u32, i32> = (8..12).map(|at| (kind(&root, &format!("uncore_imc_{at}")), EINVAL)).collect();
    fake.0.borrow_mut().refuses = refused;
    let source = open(&root, intel(0x6a), &fake).unwrap();
    assert_eq!(source.findings(), [Finding::Absent { boxes: 8 }]);
    // Without any of them, the free-running counters serve; with one of them, they would count twice.
    let free = kind(&root, "uncore_imc_free_running_0");
    assert!(of_source(&fake, free).is_empty());
    let fake = Fake::default();
    fake.0.borrow_mut().refuses = (0..12).map(|at| (kind(&root, &format!("uncore_imc_{at}")), EINVAL)).collect();
    open(&root, intel(0x6a), &fake).unwrap();
    assert_eq!(of_source(&fake, free), [(c(0x20ff), 0), (c(0x21ff), 0), (c(0x20ff), 32), (c(0x21ff), 32)]);
}

#[test]
fn amd_counts_each_channel_on_the_cpu_of_its_socket() {
    let rows: &[Row] = &[("amd_umc_0", UMC, &[0]), ("amd_umc_12", UMC, &[96])];
    let genoa = || cpu("AuthenticAMD", 25, 0x11);
    if let Some((_, source)) = opens("zen4-2s-12ch-umc", genoa(), 22 * 3 + 8 * 2, rows) {
        let channels = |socket| {
            let of = source.opened().iter().filter(|w| w.is_memory() && w.place.socket == Some(socket));
            of.map(|w| &w.place.unit).collect::<BTreeSet<_>>().len()
        };
        assert_eq!((channels(0), channels(1)), (12, 10));
        assert!(!source.sees().contains(&CounterSight::LinkReceived));
    }
    // Before Linux 6.7: the data fabric. 0x1f + 0x40 x 11 is 0x2df; umask 0x7fe is 0xfe and 7 at bit 24.
    if let Some((fake, _)) = opens("zen4-2s-v6.1-df-only", genoa(), (12 * 4 + 8) * 2, &[]) {
        let opened: Vec<u64> = fake.0.borrow().opened.iter().map(|(event, _)| event.words[0]).collect();
        for config in [0x0700_fe1f, 0x0b00_fe1f, 0x0700_ff1f, 0x2_0b00_ffdf, 0xb_0f00_3e5f] {
            assert!(opened.contains(&config), "{config:#x} in {opened:x?}");
        }
    }
    let both: &[[u64; 4]] = &[c(0x3807), c(0x3847), c(0x3887), c(0x38c7), c(0x1_0000_3807)];
    if let Some((fake, source)) = opens("zen3-2s", cpu("AuthenticAMD", 25, 0x01), (8 + 4) * 2, &[]) {
        let opened: Vec<[u64; 4]> = fake.0.borrow().opened.iter().map(|(event, _)| event.words).collect();
        assert!(both.iter().all(|words| opened.contains(words)), "{opened:x?}");
        assert_eq!(source.sees(), [CounterSight::Total, CounterSight::Channels, CounterSight::LinkSent]);
    }
}

#[test]
fn arm_and_client_processors() {
    let none = CpuModel::default;
    opens("altra-2s-cmn-dmc620", none(), 16, &[("arm_dmc620_10008c000", DMC, &[0])]);
    opens("grace-2s", none(), 4, &[("nvidia_scf_pmu_1", SCF, &[72])]);
    opens("skl-client", intel(0x5e), 2, &[("uncore_imc", CLIENT, &[0])]);
}

#[test]
fn without_the_interface_of_the_memory_the_mesh_counts() {
    let Some(root) = tree("altra-2s-cmn-dmc620") else { return };
    let fake = Fake::default();
    let controllers = tiermark_machine::event_sources(&root).into_iter().filter(|s| s.name.starts_with("arm_dmc620"));
    fake.0.borrow_mut().refuses = controllers.map(|source| (source.kind.unwrap(), EINVAL)).collect();
    open(&root, CpuModel::default(), &fake).unwrap();
    assert_eq!(of_source(&fake, kind(&root, "arm_cmn_1")), [(c(5 | 0xd << 16), 80)]);
}

#[test]
fn guests_and_unknown_processors_say_why() {
    let why = |name: &str, model: CpuModel| -> Option<String> {
        let root = tree(name)?;
        Some(examine_perf(&root, &machine(&root, model), &families()).unwrap_err().code.to_string())
    };
    let Some(guest) = why("vm-no-uncore", intel(0x8f)) else { return };
    assert_eq!(guest, "no_pmu");
    assert_eq!(why("skx-2s", CpuModel::default()).unwrap(), "events_unknown");
    assert_eq!(why("zen4-2s-12ch-umc", cpu("AuthenticAMD", 99, 1)).unwrap(), "events_unknown");
}

#[test]
fn a_term_that_a_source_lacks_is_named() {
    let text = "name = \"mine\"\nsource = \"a manual\"\n[[unit]]\npmu = \"uncore_imc_*\"\nis = \"channel\"\ncount = [\n\
        { of = \"read\", event = { event = 5 }, bytes = 64 },\n{ of = \"write\", event = { event = 6, umaskx = 3 }, \
            bytes = 64 }]\n";
    let mut files = cpus(1, 2);
    let formats = [("event", "config:0-7"), ("umask", "config:8-15")];
    files.extend(source("uncore_imc_0", 10, "0", &formats, &[]));
    let root = Root::from_files("mine", files);
    let machine = machine(&root, intel(0x6a));
    let opened = |text: &str| {
        let family = Family::read(text).unwrap();
        PerfSource::open(&root, &machine, &[family], Box::new(Fake::default()))
    };
    let mine = opened(text).unwrap();
    let [note] = &mine.notes()[..] else { panic!("{:?}", mine.notes()) };
    assert!(note.text.contains("uncore_imc_0") && note.text.ends_with("it has no term umaskx"), "{note}");
    let refusal = opened(&text.replace("event = 5", "event = 0x500")).err().unwrap();
    assert!(refusal.why.ends_with("it has 8 bits for the value 0x500"), "{refusal}");
}
