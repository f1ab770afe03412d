//! The page for a browser: it has all that the texts have, refers to nothing, and no text of a document is markup.

use std::collections::BTreeSet;
use std::process::Command;

use crate::common::*;
use proptest::prelude::*;
use tiermark_model::*;
use tiermark_page::{Detail, Style};
use tiermark_report::html::{Sheet, html};

/// A script in the disguises that texts of documents may have.
const EVIL: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u{2028}\u{1}\u{202e}";

fn page(runs: &[&Run]) -> String {
    let judged: Vec<Check> = runs.iter().map(|run| tiermark_expect::check_by_rules_of_thumb(run)).collect();
    let sheets: Vec<Sheet<'_>> = runs.iter().zip(&judged).map(|(run, judged)| Sheet::Run(run, judged)).collect();
    html(&sheets, &[], Detail::Usual, &Style::default())
}

/// A page's texts, without its tags, its styles and its scripts.
fn texts(page: &str) -> String {
    let mut out = String::new();
    let mut rest = page;
    while let Some((before, tag)) = rest.split_once('<') {
        out.push_str(before);
        let (inside, after) = tag.split_once('>').unwrap();
        let skipped = ["style", "script"].iter().find(|name| inside.split([' ', '>']).next() == Some(**name));
        rest = match skipped {
            Some(name) => after.split_once(&format!("</{name}>")).unwrap().1,
            None => after,
        };
        let is_in_line = inside.contains("abbr") || inside.starts_with("b>") || inside.ends_with("\"whole\"");
        out.push(if is_in_line || inside == "/span" { '\u{0}' } else { '\n' });
    }
    out.push_str(rest);
    let out = out.replace('\u{0}', "");
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
        .iter()
        .fold(out, |out, (code, sign)| out.replace(code, sign))
}

/// What a page is made of, without what its documents say.
fn skeleton(page: &str) -> BTreeSet<String> {
    let tags = page.split("<script>").next().unwrap().split('<').skip(1).filter(|tag| !tag.starts_with('/'));
    tags.map(|tag| tag.split([' ', '>', '\n']).next().unwrap().to_owned()).collect()
}

#[test]
fn every_word_of_the_report_is_on_the_page() {
    for run in [vm_run(), cxl_run(), huge_run(), table_run(), rates_run(), troubled_run(), empty_run()] {
        let page = texts(&page(&[&run])).replace('\u{a0}', " ");
        let style = Style { width: 120, ..Style::default() };
        let report = crate::page(&run, Detail::Usual, &style);
        // A page has another title, and omits the next commands: its reader may have no terminal.
        let mut is_next = false;
        let shown = |line: &&str| {
            is_next = line.starts_with("Next") || is_next && !line.starts_with("Run");
            !is_next
        };
        let words = report
            .lines()
            .skip(1)
            .filter(shown)
            .flat_map(str::split_whitespace)
            .filter(|word| word.contains(|c: char| c.is_alphanumeric()));
        let missing: BTreeSet<&str> = words.filter(|word| !page.contains(word)).collect();
        assert!(missing.is_empty(), "{missing:?}\n{report}\n{page}");
        assert!(!page.contains("tiermark show --"), "{page}");
    }
}

/// The name of the format that a saved picture is in: no address.
const SVG_NAMES: &str = "xmlns=\"http://www.w3.org/2000/svg\"";

#[test]
fn a_page_refers_to_nothing_outside_itself() {
    let page = page(&[&vm_run(), &cxl_run(), &table_run()]);
    let (code, notice) = (
        page.replace("/*! https://github.com/leeoniya/uPlot (v1.6.32) */", "")
            .replace(SVG_NAMES, "")
            .replace("url(#", ""),
        "<pre>uPlot 1.6.32",
    );
    let (before, after) = code.split_once(notice).unwrap();
    let code = before.to_owned() + after.split_once("</pre>").unwrap().1;
    for sign in ["http://", "https://", "src=", "@import", "url(", "<link", "<iframe", "fetch(", "XMLHttpRequest"] {
        assert!(!code.contains(sign), "{sign}");
    }
    let links: Vec<&str> = code.split("href=\"").skip(1).filter(|link| !link.starts_with('#')).collect();
    assert!(links.is_empty(), "{links:?}");
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn texts_of_documents_stay_texts() {
    let named = || Labels::new().with_purpose(Purpose::Curve).with_tier_name(EVIL).with_op(EVIL);
    let mut run = vm_run();
    let tame = skeleton(&page(&[&run]));
    run.title = EVIL.into();
    run.machine.system.hostname = Some(EVIL.into());
    run.machine.cpu_model.name = Some(EVIL.into());
    run.command = vec![EVIL.into()];
    run.warnings.push(Warning {
        code: Code::default(),
        data: Default::default(),
        state: String::new(),
        text: EVIL.into(),
        cure: Some(EVIL.into()),
    });
    for o in run.experiments.iter_mut().flat_map(|e| &mut e.observations) {
        o.labels = std::mem::take(&mut o.labels).with_layout(EVIL);
    }
    let mut finding = finding("latency", named(), Unit::Ns, 4.0);
    finding.notes = vec![Note { text: EVIL.into(), ..Note::default() }];
    run.experiments[0].findings.push(finding);
    let page = page(&[&run, &run]);
    let evil = skeleton(&page);
    assert!(evil.is_subset(&tame.union(&["nav", "ol", "li"].map(str::to_owned).into()).cloned().collect()), "{evil:?}");
    assert!(
        !page.contains("<img")
            && !page.contains("alert(1)</script>")
            && !page.contains(['\u{2028}', '\u{202e}', '\u{1}'])
    );
    assert!(page.contains("&lt;img src=x onerror"));
}

#[test]
fn the_chart_library_is_the_one_that_was_published() {
    let vendor = concat!(env!("CARGO_MANIFEST_DIR"), "/src/html/vendor");
    let wanted = "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f  uPlot.iife.min.js\n\
                  df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04  uPlot.min.css\n";
    let sums =
        Command::new("sha256sum").args(["uPlot.iife.min.js", "uPlot.min.css"]).current_dir(vendor).output().unwrap();
    assert_eq!(String::from_utf8(sums.stdout).unwrap(), wanted);
    let notice = std::fs::read_to_string(format!("{vendor}/NOTICE")).unwrap();
    assert!(notice.contains("1.6.32") && notice.contains("The MIT License") && notice.contains("Leon Sorokin"));
    assert!(page(&[&vm_run()]).contains("The MIT License"), "the notice goes with the library");
}

#[test]
fn a_page_can_be_read_without_its_script_and_by_a_screen_reader() {
    let page = page(&[&vm_run(), &cxl_run()]);
    for sign in
        ["<html lang=\"en\">", "<main id=\"main\"", "<nav aria-label", "<h1 id=\"sheet-1-title\"", "class=\"skip\""]
    {
        assert!(page.contains(sign), "{sign}");
    }
    let tables = page.matches("<table").count();
    assert!(tables > 4 && page.matches("<caption>").count() == tables);
    let charts = page.matches("<figure class=\"chart\"").count();
    assert!(charts > 0 && page.matches("<pre class=\"drawn\">").count() == charts);
    assert!(
        page.contains("<svg role=\"img\"")
            && page.contains("prefers-color-scheme:dark")
            && page.contains("@media print")
    );
}

#[test]
fn the_result_of_a_survey_is_the_headline() {
    let page = page(&[&vm_run()]);
    let (_, after) = page.split_once("</h1>").unwrap();
    assert!(after.trim_start().starts_with("<div class=\"result\"><p"), "{}", &after[..200]);
    assert_eq!(page.matches("RESULT").count(), 1);
}

/// A guest's node may not count memory that was added while it ran.
#[test]
fn an_only_node_has_the_memory_of_its_machine_everywhere() {
    let mut run = vm_run();
    run.machine.nodes.truncate(1);
    (run.machine.system.memory_bytes, run.machine.nodes[0].memory_bytes) = (Some(25_276_502_016), Some(8_686_000_000));
    let page = page(&[&run]);
    assert!(page.contains("Node 0: memory, 23.54 GiB") && !page.contains("8.09 GiB"), "{page}");
}

/// The tiers as the ladder names them.
#[test]
fn the_picture_shows_memory_of_nodes_without_cpus() {
    for tier in [Tier::Far(4), Tier::Hbm(4), Tier::Faster(4)] {
        let mut run = cxl_run();
        for finding in &mut run.experiments[0].findings {
            if finding.labels.tier() == Some(Tier::Far(4)) {
                finding.labels = finding.labels.clone().with_tier(tier);
            }
        }
        let page = page(&[&run]);
        let (_, node) = page.split_once("Node 4: memory without cpus").expect("the box of the node");
        let (own, _) = node.split_once("<rect").unwrap_or((node, ""));
        assert!(own.contains("255 ns") && own.contains("52.8"), "{tier}: {}", &own[..own.len().min(300)]);
    }
}

#[test]
fn a_page_of_a_large_machine_is_small() {
    let page = page(&[&huge_run()]);
    assert!(page.len() < 2 << 20, "{}", page.len());
}

/// A run of `c2c` on many cpus, some pairs measured.
#[test]
fn a_matrix_without_a_pattern_is_a_list() {
    let cell = |at: u32| {
        let labels = Labels::new().with_purpose(Purpose::Matrix).with_from(format!("cpu {at}")).with_op("latency");
        finding("latency", labels.with_node(at), Unit::Ns, 100.0)
    };
    let page = page(&[&run_of(machines::huge(), "matrix", Vec::new(), (0..600).map(cell).collect())]);
    assert!(page.len() < 1 << 20, "{} bytes", page.len());
    assert!(page.contains("cpu 599") && page.contains("node 599"));
}

fn pairs_run(cpus: u64) -> Run {
    let pair = |n: u64| {
        // The finisher of SplitMix64 (Steele, Lea and Flood, 2014) scatters them.
        let mixed = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let (from, to) = ((mixed >> 20) % cpus, (mixed >> 44) % cpus);
        let labels = Labels::new().with_op("cas").with_from_cpu(from.min(to) as u32).with_to_cpu(from.max(to) as u32);
        finding("c2c.pair", labels, Unit::Ns, 40.0 + (from / 64).abs_diff(to / 64) as f64)
    };
    run_of(machines::huge(), "c2c", Vec::new(), (1..20_000).map(pair).collect())
}

#[test]
fn pairs_of_two_thousand_cpus_are_a_map_that_a_browser_can_hold() {
    let page = page(&[&pairs_run(2048)]);
    assert!(page.len() < 1 << 20, "{}", page.len());
    let map = page.split_once("<figure class=\"map\"").unwrap().1;
    let data = map.split_once("application/json\">").unwrap().1.split_once("</script>").unwrap().0;
    let map: serde_json::Value = serde_json::from_str(data).unwrap();
    let rows = map["rows"].as_array().unwrap();
    // A seventh of 512 by 512 cells would have a value.
    assert_eq!((map["names"].as_array().unwrap().len(), rows.len()), (256, 256));
    assert_eq!(map["names"][1], "8\u{2026}15");
    assert!(rows.iter().enumerate().all(|(at, row)| row.as_array().unwrap().len() == at + 1));
    let values = rows.iter().flat_map(|row| row.as_array().unwrap()).filter_map(|v| v.as_f64()).filter(|v| *v > 0.0);
    assert!(values.clone().count() > 1000 && values.clone().all(|v| (40.0..72.1).contains(&v)));
    if let Some(directory) = std::env::var_os("TIERMARK_SCREENSHOTS") {
        std::fs::write(std::path::Path::new(&directory).join("pairs.html"), &page).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_text_and_number_makes_a_page(
        number in prop::num::f64::ANY,
        text in "\\PC{0,40}|[\\x00-\\x1f]{0,9}|[<>&\"']{0,9}",
    ) {
        let mut run = vm_run();
        let tame = skeleton(&page(&[&run]));
        run.machine.system.hostname = Some(text.clone());
        run.seconds = number;
        for o in run.experiments.iter_mut().flat_map(|e| &mut e.observations) {
            o.value = o.value.map(|_| number);
            o.labels = std::mem::take(&mut o.labels).with_layout(&text);
        }
        for f in run.experiments.iter_mut().flat_map(|e| &mut e.findings) {
            f.value = f.value.map(|_| number);
        }
        let evil = skeleton(&page(&[&run]));
        prop_assert!(evil.is_subset(&tame), "{evil:?}");
    }
}
