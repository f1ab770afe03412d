//! From records of hosts to hosts judged by their peers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tiermark_compare::THRESHOLD;
use tiermark_model::messages::fleet as says;
use tiermark_model::{
    FailedHost, Fleet, FleetHost, HostFamily, HostFigure, HostKind, HostState, KindFact, KindFigure, Note, OtherValue,
    Refusal,
};
use tiermark_stats::fisher_exact;

use crate::catalogue::{Catalogue, Reading};
use crate::causes::{Cause, Difference, OddFamily, causes, causes_of};
use crate::facts::{HostFact, most_common};
use crate::judge::{self, Judged};
use crate::kinds::kinds;
use crate::record::{HostRecord, printable};
use crate::{FEWEST, LEVEL};

/// Share of the figures of its peers that a host needs to be judged.
const ENOUGH: f64 = 0.5;
/// Days by which a document may be newer than those of all others.
const LATER: f64 = 1.0;

/// Records of hosts, the newest of each.
#[derive(Debug, Default)]
pub struct Gathered {
    catalogue: Catalogue,
    hosts: BTreeMap<String, Measured>,
    /// The readings of hosts before a change.
    before: Option<HashMap<String, (String, Vec<Reading>)>>,
    failed: BTreeMap<String, FailedHost>,
    older: BTreeMap<String, Vec<String>>,
    unread: Vec<Refusal>,
}

/// A record with its figures as readings.
#[derive(Debug)]
struct Measured {
    record: HostRecord,
    readings: Vec<Reading>,
}

impl Gathered {
    /// Adds the record of a host; of two of one host, the newer counts.
    pub fn add(&mut self, mut record: HostRecord) {
        let readings = self.readings(&mut record);
        let host = record.host.clone();
        if let Some(known) = self.hosts.get(&host) {
            let is_newer = record.started > known.record.started;
            let older = if is_newer { &known.record.file } else { &record.file };
            self.older.entry(host.clone()).or_default().push(older.clone());
            if !is_newer {
                return;
            }
        }
        self.hosts.insert(host, Measured { record, readings });
    }

    /// Adds the record of a host from before a change: the hosts are then judged by how they changed.
    pub fn add_before(&mut self, mut record: HostRecord) {
        let readings = self.readings(&mut record);
        let all = self.before.get_or_insert_default();
        if all.get(&record.host).is_none_or(|(started, _)| *started < record.started) {
            all.insert(record.host, (record.started, readings));
        }
    }

    /// Adds what stands in place of the document of a host that failed.
    pub fn add_failed(&mut self, mut failed: FailedHost) {
        failed.host = printable(&failed.host);
        self.failed.insert(failed.host.clone(), failed);
    }

    /// Adds a file that is no document of a host.
    pub fn add_unread(&mut self, refusal: Refusal) {
        self.unread.push(refusal);
    }

    /// Whether there is neither a host nor a failure.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.failed.is_empty()
    }

    fn readings(&mut self, record: &mut HostRecord) -> Vec<Reading> {
        std::mem::take(&mut record.figures).into_iter().map(|figure| self.catalogue.read(figure)).collect()
    }

    /// Judges all hosts. `expected`: the names of hosts that ought to have a document.
    #[must_use]
    pub fn judged(mut self, expected: &[String]) -> Fleet {
        let mut notes = self.notes();
        self.one_of_both(&mut notes);
        let records: Vec<&HostRecord> = self.hosts.values().map(|host| &host.record).collect();
        let changes = self.before.as_ref().map(|before| self.changes(before));
        let readings: Vec<&[Reading]> = match &changes {
            Some(changes) => changes.iter().map(Vec::as_slice).collect(),
            None => self.hosts.values().map(|host| host.readings.as_slice()).collect(),
        };
        let kinds = kinds(&records);
        let runs = if changes.is_some() { 2.0 } else { 1.0 };
        let judged = |members: &Vec<usize>| {
            let own: Vec<&[Reading]> = members.iter().map(|at| readings[*at]).collect();
            judge::judged(&own, &self.catalogue, records[members[0]].identity.is_guest(), runs)
        };
        let mut all: Vec<Judged> = kinds.iter().map(judged).collect();
        judge::select(&mut all);
        let rules = causes();
        let (mut described, mut hosts) = (Vec::new(), Vec::new());
        for (at, (members, judged)) in kinds.iter().zip(&all).enumerate() {
            let records: Vec<&HostRecord> = members.iter().map(|at| records[*at]).collect();
            let kind = Kind { at, records, judged, catalogue: &self.catalogue, rules: &rules };
            let facts = kind.facts();
            hosts.extend((0..kind.records.len()).map(|host| kind.host(host, &facts)));
            described.push(kind.described(facts));
        }
        hosts.extend(self.failed.into_values().map(failed));
        let known: BTreeSet<&str> = hosts.iter().map(|host| host.host.as_str()).collect();
        let missing: BTreeSet<&String> = expected.iter().filter(|name| !known.contains(name.as_str())).collect();
        let missing: Vec<FleetHost> = missing.into_iter().map(|name| without(name, HostState::Missing)).collect();
        hosts.extend(missing);
        hosts.sort_by(|a, b| a.state.cmp(&b.state).then(b.damage().total_cmp(&a.damage())).then(a.host.cmp(&b.host)));
        Fleet {
            threshold: THRESHOLD,
            level: LEVEL,
            is_change: changes.is_some(),
            kinds: described,
            hosts,
            unread: self.unread,
            notes,
        }
    }

    /// The changes of each host since it was measured before; without a figure for those that were not.
    fn changes(&self, before: &HashMap<String, (String, Vec<Reading>)>) -> Vec<Vec<Reading>> {
        let change = |now: &Reading, before: &[Reading]| {
            let then = before.iter().find(|then| self.catalogue.are_comparable(now.figure, then.figure))?;
            let (ln, variance) = (now.ln - then.ln, now.variance + then.variance);
            Some(Reading { figure: now.figure, ln, variance, is_open: now.is_open || then.is_open })
        };
        let of = |host: &Measured| match before.get(&host.record.host) {
            Some((_, before)) => host.readings.iter().filter_map(|now| change(now, before)).collect(),
            None => Vec::new(),
        };
        self.hosts.values().map(of).collect()
    }

    /// What is to be known of the documents.
    fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        for (host, older) in &self.older {
            notes.extend(self.hosts.get(host).map(|used| says::older_documents(host, &used.record.file, older)));
        }
        let mut days: Vec<f64> = self.hosts.values().filter_map(|host| host.record.day).collect();
        days.sort_by(f64::total_cmp);
        for record in self.hosts.values().map(|host| &host.record) {
            // The clock of a single host that is far behind looks like an old document.
            let others = days.iter().rev().find(|day| record.day != Some(**day));
            if record.day.zip(others).is_some_and(|(day, others)| day > others + LATER) {
                notes.push(says::other_clock(&record.host, &record.started));
            }
            if !record.complete {
                notes.push(says::incomplete(&record.host));
            }
        }
        let is_new = |host: &&String| self.before.as_ref().is_some_and(|before| !before.contains_key(*host));
        notes.extend(self.hosts.keys().filter(is_new).map(|host| says::not_before(host)));
        notes
    }

    /// Of a document and a failure of one host, keeps the newer.
    fn one_of_both(&mut self, notes: &mut Vec<Note>) {
        let both: Vec<String> = self.failed.keys().filter(|host| self.hosts.contains_key(*host)).cloned().collect();
        for host in both {
            let failed_later = {
                let started = &self.hosts[&host].record.started;
                self.failed[&host].at.as_ref().is_some_and(|at| at > started)
            };
            let used = if failed_later { "the failure" } else { "the document" };
            notes.push(says::failed_and_measured(&host, used));
            if failed_later {
                self.hosts.remove(&host);
            } else {
                self.failed.remove(&host);
            }
        }
    }
}

/// A host without a document.
fn without(host: &str, state: HostState) -> FleetHost {
    FleetHost {
        host: host.to_owned(),
        state,
        kind: None,
        file: None,
        run: None,
        started: None,
        labels: BTreeMap::new(),
        causes: Vec::new(),
        reasons: Vec::new(),
        failure: None,
        p_value: None,
        families: Vec::new(),
        figures: Vec::new(),
    }
}

fn failed(failure: FailedHost) -> FleetHost {
    let host = without(&failure.host, HostState::Failed);
    FleetHost { failure: Some(failure), ..host }
}

/// A kind with all that its hosts are described by.
struct Kind<'a> {
    /// Its place in the list.
    at: usize,
    records: Vec<&'a HostRecord>,
    judged: &'a Judged,
    catalogue: &'a Catalogue,
    rules: &'a [Cause],
}

/// A fact over the hosts of a kind.
struct FactOfKind<'a> {
    common: &'a HostFact,
    hosts: usize,
    /// The hosts with each other value.
    others: Vec<OtherHosts<'a>>,
}

struct OtherHosts<'a> {
    value: &'a HostFact,
    hosts: Vec<usize>,
    odd: usize,
    p_value: Option<f64>,
}

impl<'a> Kind<'a> {
    fn is_odd_by_figures(&self, host: usize) -> bool {
        self.judged.levels[host].is_some()
    }

    /// The facts of its hosts, those first that odd hosts differ in.
    fn facts(&self) -> Vec<FactOfKind<'a>> {
        let names: BTreeSet<_> = self.records.iter().flat_map(|record| &record.facts).map(|own| own.fact).collect();
        let of = |fact| -> Option<FactOfKind<'a>> {
            let own = self.records.iter().enumerate();
            let own = own.filter_map(|(at, record)| Some((at, record.facts.iter().find(|own| own.fact == fact)?)));
            let (common, hosts) = most_common(own.clone().map(|(_, fact)| fact))?;
            let mut others: Vec<OtherHosts<'a>> = Vec::new();
            for (at, fact) in own.clone().filter(|(_, fact)| !fact.is_same(common)) {
                match others.iter_mut().find(|other| other.value.is_same(fact)) {
                    Some(other) => other.hosts.push(at),
                    None => others.push(OtherHosts { value: fact, hosts: vec![at], odd: 0, p_value: None }),
                }
            }
            let known: Vec<usize> = own.map(|(at, _)| at).collect();
            others.iter_mut().for_each(|other| self.explained(other, &known));
            Some(FactOfKind { common, hosts, others })
        };
        names.into_iter().filter_map(of).collect()
    }

    /// Counts the odd hosts with a value, and tests whether they have it more often than the others.
    fn explained(&self, other: &mut OtherHosts<'_>, known: &[usize]) {
        let odd_of = |hosts: &[usize]| hosts.iter().filter(|at| self.is_odd_by_figures(**at)).count();
        let (all_odd, holders) = (odd_of(known), other.hosts.len());
        other.odd = odd_of(&other.hosts);
        if all_odd > 0 && holders < known.len() {
            other.p_value = fisher_exact(other.odd, holders, all_odd - other.odd, known.len() - holders);
        }
    }

    fn described(&self, facts: Vec<FactOfKind<'_>>) -> HostKind {
        let identity = &self.records[0].identity;
        let figure = |column: &judge::Column| {
            let of = &self.catalogue.figures[column.figure];
            KindFigure {
                name: of.expected(),
                family: of.family.clone(),
                probe: of.how.probe.clone(),
                metric: of.how.metric.clone(),
                labels: of.how.labels.clone(),
                unit: of.unit,
                median: column.median.exp(),
                sd: column.sd,
                hosts: column.sharp as u64,
            }
        };
        let name = |at: &usize| self.records[*at].host.clone();
        let other = |other: OtherHosts<'_>| OtherValue {
            value: other.value.text.clone(),
            hosts: other.hosts.iter().map(name).collect(),
            odd: other.odd as u64,
            p_value: other.p_value,
        };
        let sockets = facts.iter().find(|of| of.common.fact == tiermark_model::Fact::Sockets);
        HostKind {
            product: identity.product.clone(),
            cpu: identity.cpu.clone(),
            sockets: sockets.and_then(|of| of.common.amount).unwrap_or(0.0) as u64,
            hosts: self.records.len() as u64,
            figures: self.judged.columns.iter().map(figure).collect(),
            facts: facts
                .into_iter()
                .map(|of| KindFact {
                    fact: of.common.fact,
                    value: of.common.text.clone(),
                    hosts: of.hosts as u64,
                    others: of.others.into_iter().map(other).collect(),
                })
                .collect(),
        }
    }

    /// A host of the kind with its verdict.
    fn host(&self, at: usize, facts: &[FactOfKind<'_>]) -> FleetHost {
        let record = self.records[at];
        let families: Vec<HostFamily> = self.families(at);
        let figures: Vec<HostFigure> = self.figures(at);
        let odd = self.odd_families(&families, &figures);
        let differences = if self.records.len() < FEWEST { Vec::new() } else { differences(at, facts) };
        let causes = causes_of(self.rules, &record.facts, &differences, &odd);
        let reasons = if causes.is_empty() { self.not_judged(at, &differences) } else { Vec::new() };
        let state = match (causes.is_empty(), reasons.is_empty()) {
            (false, _) => HostState::Odd,
            (true, true) => HostState::Alike,
            (true, false) => HostState::NotJudged,
        };
        FleetHost {
            kind: Some(self.at as u64),
            file: Some(record.file.clone()),
            run: Some(record.run.clone()),
            started: Some(record.started.clone()),
            labels: record.labels.clone(),
            causes,
            reasons,
            p_value: self.judged.p_values[at],
            families,
            figures,
            ..without(&record.host, state)
        }
    }

    fn families(&self, at: usize) -> Vec<HostFamily> {
        let of = |(family, means): (&String, &BTreeMap<usize, judge::Mean>)| {
            let mean = means.get(&at)?;
            let figure = self.catalogue.figures.iter().find(|figure| figure.family == *family)?;
            Some(HostFamily {
                family: family.clone(),
                figures: mean.figures as u64,
                deviation: mean.off.exp() - 1.0,
                is_worse: figure.less_is_better().map(|less| (mean.off > 0.0) == less),
                p_value: mean.p_value,
                is_odd: self.judged.is_odd_family(at, mean),
            })
        };
        self.judged.families.iter().filter_map(of).collect()
    }

    fn figures(&self, at: usize) -> Vec<HostFigure> {
        let of = |(place, column): (usize, &judge::Column)| {
            let cell = column.cells.get(&at)?;
            Some(HostFigure {
                figure: place as u64,
                value: cell.reading.ln.exp(),
                deviation: cell.off.exp() - 1.0,
                is_odd: self.judged.is_odd_figure(at, cell),
                is_bound: cell.reading.is_open,
            })
        };
        self.judged.columns.iter().enumerate().filter_map(of).collect()
    }

    /// The families that a host is odd in, by their means or by single figures, the largest difference first.
    fn odd_families<'f>(&'f self, families: &'f [HostFamily], figures: &'f [HostFigure]) -> Vec<OddFamily<'f>> {
        let of_means = families.iter().filter(|family| family.is_odd);
        let of_means = of_means.map(|of| (of.deviation, of.family.as_str(), of.is_worse.unwrap_or(true)));
        let of_figures = figures.iter().filter(|figure| figure.is_odd).map(|of| {
            let figure = &self.catalogue.figures[self.judged.columns[of.figure as usize].figure];
            let is_worse = figure.less_is_better().is_none_or(|less| (of.deviation > 0.0) == less);
            (of.deviation, figure.family.as_str(), is_worse)
        });
        let mut all: Vec<(f64, &str, bool)> = of_means.chain(of_figures).collect();
        all.sort_by(|(a, ..), (b, ..)| b.abs().total_cmp(&a.abs()));
        all.into_iter().map(|(_, family, is_worse)| (family, is_worse)).collect()
    }

    /// Why a host is not judged; nothing if it is.
    fn not_judged(&self, at: usize, differences: &[Difference<'_>]) -> Vec<Note> {
        if self.records.len() < FEWEST {
            return vec![says::few_peers(self.records.len() as u64, FEWEST as u64)];
        }
        let half = self.records.len() as f64 * ENOUGH;
        let usual = self.judged.columns.iter().filter(|column| column.sharp as f64 >= half).count();
        let own = self.judged.tested(at);
        if own > 0 && own as f64 >= usual as f64 * ENOUGH {
            return Vec::new();
        }
        let setting = differences
            .iter()
            .find(|differs| self.rules.iter().any(|rule| rule.incomparable && rule.fact == Some(differs.own.fact)));
        match setting {
            Some(of) => vec![says::other_setting(of.own.fact.name(), &of.own.text, &of.peers.text)],
            None => vec![says::few_figures(own as u64, usual as u64)],
        }
    }
}

/// The facts in which a host differs from most of its kind.
fn differences<'f>(at: usize, facts: &'f [FactOfKind<'_>]) -> Vec<Difference<'f>> {
    let of = |fact: &'f FactOfKind<'_>| {
        let other = fact.others.iter().find(|other| other.hosts.contains(&at))?;
        Some(Difference {
            own: other.value,
            peers: fact.common,
            holders: other.hosts.len() as u64,
            odd: other.odd as u64,
            p_value: other.p_value,
        })
    };
    facts.iter().filter_map(of).collect()
}
