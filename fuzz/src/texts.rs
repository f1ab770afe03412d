//! Texts that people write, and what servers answer.

use tiermark_capacity::{cost, scenario::Scenario};
use tiermark_counters::{CounterSource, Family, Field, LikwidFile, PCM, PCM_MEMORY, PcmTable, Snapshot, terms};

/// Curves of latency over bandwidth: `show FILE.csv`.
pub(crate) fn curves(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let read = tiermark_exports::read_mess(&text);
    if let Err(error) = &read {
        assert!(error.line >= 1 && !error.why.is_empty(), "a refusal without a place");
    }
    if let Ok(points) = read {
        assert!(points.iter().all(|point| point.latency_ns > 0.0 && point.bandwidth.is_finite()));
        for width in [40, 120] {
            let style = tiermark_page::Style { width, ..Default::default() };
            let page = tiermark_report::loaded_curves("curves", &points, tiermark_page::Detail::Usual);
            let _ = tiermark_page::terminal(&page, &style);
        }
    }
}

/// Plans of experiments.
pub(crate) fn plan(bytes: &[u8]) {
    let _ = tiermark_cli::testing::plan_mistakes(&String::from_utf8_lossy(bytes));
}

/// Files of expectations, and a run judged by what they hold.
pub(crate) fn expectations(bytes: &[u8]) {
    let Ok(expected) = tiermark_expect::Expectations::read("fuzzed", &String::from_utf8_lossy(bytes)) else { return };
    let run = include_bytes!("../../crates/history/tests/fixtures/run-4.json");
    let run = tiermark_history::parse(run, "the seed").expect("the seed is a run");
    let found = tiermark_expect::check("fuzzed", &run, &expected, false);
    assert_eq!(found.results.len(), expected.entries.len(), "each expectation has a result");
    let page = tiermark_report::judgements::check(&found, tiermark_page::Detail::Usual);
    let _ = tiermark_page::terminal(&page, &tiermark_page::Style::default());
}

/// Files of traffic by groups of threads; what one holds reads back what it prints.
pub(crate) fn traffic(bytes: &[u8]) {
    for group in tiermark_probes::ThreadGroup::list(&String::from_utf8_lossy(bytes)).unwrap_or_default() {
        assert_eq!(group.to_string().parse(), Ok(group), "a group that does not read back");
    }
}

/// Scenarios, and prices of tiers. What a scenario asks for is found out without a machine.
pub(crate) fn tenants(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(scenario) = Scenario::read(&text) {
        assert!(scenario.problems().is_empty(), "read and still wrong");
        let _ = (
            scenario.searches().len(),
            scenario.tenants_dram(),
            scenario.tier_bytes(),
            scenario.vm_memory(),
            scenario.workload(),
        );
    }
    if let Ok(prices) = cost::read(&text) {
        let _ = (prices.aged("2026-11-24"), prices.of_server("dram"), prices.table(&[], "2026-11-24"));
    }
}

/// Inventories as Ansible prints them: a group, and the output, which is the seed with values changed or bytes.
pub(crate) fn inventory(bytes: &[u8]) {
    let mut input = super::input::Input(bytes);
    let seed = serde_json::from_str(include_str!("../seeds/inventory.json")).expect("the seed is JSON");
    let (is_changed, group) = (input.byte() < 128, input.text());
    let output =
        if is_changed { super::input::edited(seed, &mut input).to_string().into_bytes() } else { input.0.into() };
    for (_, address) in tiermark_load::servers_of(&output, &group).unwrap_or_default() {
        assert_eq!(address.to_string().parse(), Ok(address), "an address that does not read back");
    }
}

/// Answers of a server, in the pieces that a socket may cut them into.
pub(crate) fn resp(bytes: &[u8]) {
    let mut input = super::input::Input(bytes);
    let keep = input.below(4096);
    let size = input.below(bytes.len()).max(1);
    let rest = input.0;
    let whole = tiermark_load::testing::replies(keep, &[rest]);
    let pieces: Vec<&[u8]> = rest.chunks(size).collect();
    assert_eq!(whole, tiermark_load::testing::replies(keep, &pieces), "pieces of {size} bytes say something else");
}

/// The output of pcm-memory, whole and in pieces, as it is read while it is written.
pub(crate) fn pcm(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut whole = PcmTable::new(&PCM_MEMORY);
    let rows = whole.feed(&text);
    let mut pieces = PcmTable::new(&PCM_MEMORY);
    let mut read = 0;
    let mut before = pieces.snapshot();
    for character in text.chars() {
        read += pieces.feed(character.encode_utf8(&mut [0; 4]));
        if character == '\n' {
            let after = pieces.snapshot();
            let _ = tiermark_counters::traffic(&before, &after).whole();
            before = after;
        }
    }
    assert_eq!((rows, whole.snapshot()), (read, pieces.snapshot()), "pieces say something else");
}

/// The output of pcm, whole and in pieces. Its last line counts without its end, so that pieces may end lines earlier.
pub(crate) fn pcmcsv(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut csv = PcmTable::new(&PCM);
    let mut before = csv.snapshot();
    for line in text.split_inclusive('\n') {
        csv.feed(line);
        let after = csv.snapshot();
        let _ = tiermark_counters::traffic(&before, &after).whole();
        before = after;
    }
    let mut whole = PcmTable::new(&PCM);
    whole.feed(&text);
    let _ = whole.snapshot();
}

/// The output of likwid-perfctr.
pub(crate) fn likwid(bytes: &[u8]) {
    if let Ok(counted) = LikwidFile::new(bytes, [(0, 0), (36, 1)].into()).read() {
        let _ = tiermark_counters::traffic(&Snapshot::default(), &counted).whole();
    }
}

/// Formats and events of event sources, and a file with the events of a processor family.
pub(crate) fn events(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = Family::read(&text);
    let (format, event) = text.split_once('\n').unwrap_or((&text, ""));
    let values = terms(event).unwrap_or_default();
    if let Ok(field) = Field::parse(format) {
        for (_, value) in values {
            let mut words = [0; 4];
            let fits = field.put(value, &mut words).is_ok();
            assert!(!fits || words.iter().map(|word| word.count_ones()).sum::<u32>() == value.count_ones());
        }
    }
}
