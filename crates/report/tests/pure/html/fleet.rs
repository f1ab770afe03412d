//! The page of many hosts.

use std::collections::BTreeSet;

use tiermark_compare::fleet::Gathered;
use tiermark_model::messages::fleet as says;
use tiermark_model::{ChangedFact, FAILED_HOST_SCHEMA, Fact, FailedHost, Fleet, FleetLoss, HostFailure, Refusal, Run};
use tiermark_page::{Detail, Style, terminal};
use tiermark_report::html::fleet_page;
use tiermark_stats::Rng;

use crate::html::made::{BARE, Change, GUEST, Server, half_cache, memory_errors, record, slow_modules, without_module};

const fn server(product: &'static str, cpu: &'static str, slots: usize, scatter: [f64; 2], memory: f64) -> Server {
    Server { product, cpu, slots, scatter, memory }
}

const SERVERS: [Server; 3] = [
    server("Dell R7525", "EPYC 7343", 16, BARE, 340.0),
    server("HPE DL380", "Xeon 8358", 16, BARE, 300.0),
    server("m5.xlarge", "Xeon 8259CL", 1, GUEST, 60.0),
];

type Facts = fn(&mut Run);

/// What the hosts of some places are changed by.
const PLANTED: [(usize, &str, f64, Option<Facts>); 10] = [
    (6, "dram.bandwidth.all", 0.9, Some(without_module)),
    (13, "dram.bandwidth", 0.92, None),
    (15, "dram", 0.93, Some(slow_modules)),
    (18, "dram.bandwidth", 0.93, Some(slow_modules)),
    (21, "dram.latency", 1.19, None),
    (24, "dram.bandwidth", 0.93, Some(slow_modules)),
    (27, "l3.latency", 1.4, Some(half_cache)),
    (30, "l3.bandwidth", 1.0, Some(memory_errors)),
    (33, "none", 1.0, Some(|run| run.machine.system.kernel = Some("5.14".into()))),
    (37, "dram.bandwidth.one", 1.2, None),
];

fn failure(host: &str, how: HostFailure, message: &str) -> FailedHost {
    FailedHost {
        schema: FAILED_HOST_SCHEMA.into(),
        host: host.into(),
        how,
        exit: (how == HostFailure::Refused).then_some(4),
        message: message.into(),
        at: Some("2026-11-28T10:04:00Z".into()),
    }
}

/// A fleet of so many hosts, with planted faults; every third is of another server.
pub(crate) fn fleet(hosts: usize, name: fn(usize) -> String) -> Fleet {
    let mut rng = Rng::new(11);
    let mut gathered = Gathered::default();
    for at in 0..hosts {
        let planted = PLANTED.iter().find(|(place, ..)| *place == at);
        let change = planted.map_or_else(Change::default, |(_, figures, factor, facts)| Change {
            figures: vec![(*figures, *factor)],
            facts: *facts,
        });
        gathered.add(record(&name(at), &SERVERS[at % 3], &change, &mut rng));
    }
    gathered.add_failed(failure("lost", HostFailure::Unreachable, "ssh: connect to host lost: No route to host"));
    gathered.add_failed(failure("full", HostFailure::Refused, "one\ntwo\nthree\nfour\nfive\nsix"));
    gathered.add_unread(Refusal::new("rack7/notes.txt", "it is no document of tiermark", "remove it"));
    let mut fleet = gathered.judged(&["absent".to_owned()]);
    fleet.notes.extend([says::simulated(1), says::incomplete(&name(3))]);
    fleet
}

pub(crate) fn page(fleet: &Fleet) -> String {
    fleet_page(fleet, &Style::default())
}

pub(crate) fn node(at: usize) -> String {
    format!("node{at:04}")
}

/// Names that are markup, paths or both.
pub(crate) fn hostile(at: usize) -> String {
    ["<script>alert(1)</script>", "../../etc/passwd", "\"onclick=alert(2) x='", "a&b\u{202e}", "<img src=x>"][at % 5]
        .to_owned()
        + &at.to_string()
}

/// The text and the page say the same of what all hosts lost, and of what nobody was judged by.
#[test]
fn what_no_host_shows_is_in_the_verdict() {
    let loss = |family: &str, change: f64| FleetLoss {
        kind: 0,
        family: family.to_owned(),
        change,
        hosts: [12, 12],
        facts: vec![ChangedFact { fact: Fact::Firmware, before: "1.0".into(), now: "2.0".into(), hosts: [12, 12] }],
        documents: Some(["old/node01.json".to_owned(), "new/node01.json".to_owned()]),
    };
    let mut fleet = Fleet { hosts: Vec::new(), ..tiermark_model::testing::fleet() };
    fleet.losses = (0..8).map(|at| loss("dram.bandwidth.all", -0.2 - 0.01 * f64::from(at))).collect();
    fleet.notes = vec![says::nobody_judged(&["dram.latency"])];
    let text = terminal(&tiermark_report::judgements::fleet(&fleet, Detail::Usual), &Style::default());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = page(&fleet);
    for words in [
        "worse than before: DRAM, all cores -20.0 % (12 of 12 hosts)",
        "; 2 more; ",
        " 1.0 → 2.0",
        "no host was judged in DRAM latency",
        "Next: tiermark compare old/node01.json new/node01.json",
    ] {
        assert!(text.contains(words), "{words}: {text}");
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(page.contains("<title>tiermark fleet: worse than before</title>"), "{page}");
    assert!(page.contains("verdict bad") && !page.contains("verdict good"), "{page}");
}

#[test]
fn the_page_has_every_host_with_its_reason() {
    let fleet = fleet(120, node);
    let page = page(&fleet);
    for words in [
        "123 hosts of 3 kinds: ",
        "1 missing",
        "2 failed",
        "Dell R7525, ",
        "DIMM slots filled 15 of 16 (empty B8), peers 16 of 16",
        "Next: tiermark matrix",
        "DRAM, all cores",
        "≠ 5.14",
        "no: none of them is odd by its own figures",
        "yes: odd by this fact itself; 3 of 3 odd by figures",
        "No route to host",
        "four\nfive …",
        "refused to measure",
        "absent",
        "rack7/notes.txt: it is no document of tiermark",
        "node0003: its run was ended early",
        "<span class=\"mark\">!</span> SIMULATED: the numbers of 1 host",
        "DRAM read, all cores",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let main = page.split("</style>").nth(1).unwrap().split("<script>").next().unwrap();
    assert!(!main.contains(" --"), "a manager types no options");
    for host in &fleet.hosts {
        assert!(
            page.contains(&format!(">{}<", host.host)) || page.contains(&format!("{}</", host.host)),
            "{}",
            host.host
        );
    }
}

#[test]
fn names_are_unique_and_links_lead_to_them() {
    let page = page(&fleet(120, node));
    let of = |sign: &str| -> Vec<String> {
        page.split(sign).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
    };
    let ids = of(" id=\"");
    let unique: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "{ids:?}");
    let links = of("href=\"#");
    assert!(links.len() > 10 && links.iter().all(|link| unique.contains(link)), "{links:?}");
    assert_eq!(page.matches("<table").count(), page.matches("<caption>").count());
    assert_eq!(
        page.matches("<figure").count(),
        page.matches("<figure class=\"strip\" role=\"group\" aria-label").count()
    );
}

#[test]
fn texts_of_documents_stay_texts() {
    let mut fleet = fleet(60, hostile);
    for kind in &mut fleet.kinds {
        kind.product = Some("<script>alert(3)</script>".into());
        for fact in &mut kind.facts {
            fact.value = "</table><script>".into();
            fact.others.iter_mut().for_each(|other| other.value = "'\"><img onerror=alert(4)>".repeat(9));
        }
    }
    for host in &mut fleet.hosts {
        host.labels = [("<b>".to_owned(), "</details>".to_owned())].into();
        host.file = Some("</details><script>".into());
        for cause in &mut host.causes {
            (cause.value, cause.finding) = (Some("<script>".repeat(90)), "</td>".into());
        }
        host.failure.iter_mut().for_each(|failure| failure.message = "</pre><script>\n".repeat(90));
    }
    let page = page(&fleet);
    let markup = page.split("<script>").next().unwrap();
    assert!(!markup.contains("alert(1)<") && !markup.contains("<img") && !markup.contains('\u{202e}'), "{page}");
    // Its own two scripts, and nothing between them that a document says.
    assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (2, 2));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;0"));
}

#[test]
fn a_change_and_hosts_without_figures_make_a_page() {
    let mut rng = Rng::new(3);
    let mut changed = Gathered::default();
    for at in 0..8 {
        let figures = vec![("dram", if at == 5 { 0.8 } else { 1.1 })];
        changed.add(record(&node(at), &SERVERS[0], &Change { figures, facts: None }, &mut rng));
        changed.add_before(record(&node(at), &SERVERS[0], &Change::default(), &mut rng));
    }
    let page = page(&changed.judged(&[]));
    assert!(page.contains("Change of the fleet") && page.contains("median +1"), "{page}");
    let empty = Gathered::default().judged(&["one".to_owned()]);
    assert!(fleet_page(&empty, &Style::default()).contains("1 host: 1 missing"));
    let mut broken = fleet(12, node);
    for host in &mut broken.hosts {
        host.figures.iter_mut().for_each(|of| (of.value, of.deviation) = (f64::NAN, f64::INFINITY));
        host.families.iter_mut().for_each(|of| (of.deviation, of.is_odd) = (f64::NAN, true));
    }
    broken.kinds[0].figures.truncate(3);
    let page = fleet_page(&broken, &Style::default());
    let markup = page.split("<script>").next().unwrap();
    assert!(!markup.contains("NaN") && !markup.contains("inf "), "{markup}");
}

#[test]
fn a_page_of_a_thousand_hosts_is_small() {
    let mut fleet = fleet(1000, node);
    let page = page(&fleet);
    assert_eq!(fleet.kinds[0].figures.len(), 28);
    assert!(page.len() < 1 << 20, "{}", page.len());
    // Even if no host is alike.
    fleet
        .hosts
        .iter_mut()
        .filter(|host| host.kind.is_some())
        .for_each(|host| host.state = tiermark_model::HostState::Odd);
    let page = fleet_page(&fleet, &Style::default());
    assert!(page.len() < 4 << 20, "{}", page.len());
}
