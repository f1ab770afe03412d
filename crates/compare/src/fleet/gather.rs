//! From records of hosts to hosts judged by their peers.

use std::collections::{BTreeMap, BTreeSet};

use tiermark_model::messages::fleet as says;
use tiermark_model::{
    Confidence, Fact, FailedHost, Fleet, FleetHost, HostFailure, HostState, MemoryFigure, Note, Refusal,
};

use crate::THRESHOLD;
use crate::fleet::catalogue::{Catalogue, Reading, of_local_memory};
use crate::fleet::causes::{Rates, causes};
use crate::fleet::facts::HostFact;
use crate::fleet::groups::{FactGroups, groups, mark};
use crate::fleet::judge::{self, Judged};
use crate::fleet::kind::{Kind, without};
use crate::fleet::kinds::kinds;
use crate::fleet::loss::{ALLOWED, losses};
use crate::fleet::names::absent;
use crate::fleet::record::{HostRecord, printable};
use crate::fleet::{FEWEST, LEVEL};

/// The families of latency and bandwidth of local memory that a survey measures.
const USUAL: [&str; MemoryFigure::ALL.len()] = ["dram.latency", "dram.bandwidth.all"];
/// Days by which a document may be newer than those of all others.
const LATER: f64 = 1.0;

/// Hosts that were measured, and those that failed.
#[derive(Debug, Default)]
pub struct Gathered {
    catalogue: Catalogue,
    hosts: Newest,
    /// The hosts before a change; `None` where none is judged.
    before: Option<Newest>,
    failed: BTreeMap<String, FailedHost>,
    unread: Vec<Refusal>,
    /// By how much the median host may be worse than before; `None` for [`ALLOWED`].
    allowed: Option<f64>,
    rates: Rates,
}

/// A record with its figures as readings.
#[derive(Debug)]
struct Measured {
    record: HostRecord,
    readings: Vec<Reading>,
}

/// The newest record of each host.
#[derive(Debug, Default)]
struct Newest {
    hosts: BTreeMap<String, Measured>,
    /// Files of older records, by their hosts.
    older: BTreeMap<String, Vec<String>>,
    /// Names that several hosts have, as clones of one image do; and labels that several have.
    shared: BTreeSet<String>,
    mislabelled: BTreeSet<String>,
}

impl Newest {
    fn add(&mut self, measured: Measured) {
        let name = measured.record.host.clone();
        let known = self.hosts.get(&name).map(|known| &known.record);
        let is_other = known.is_some_and(|known| known.is_other_host(&measured.record));
        let is_mislabelled = known.is_some_and(|known| known.is_mislabelled(&measured.record));
        if is_other || is_mislabelled {
            if is_other { &mut self.shared } else { &mut self.mislabelled }.insert(name.clone());
            if let Some(known) = self.hosts.remove(&name) {
                self.keep(known);
            }
        }
        self.keep(measured);
    }

    /// The records of the same hosts, where there are some.
    fn of(&self, records: &[&HostRecord]) -> Vec<Option<&HostRecord>> {
        records.iter().map(|other| self.hosts.get(&other.host).map(|own| &own.record)).collect()
    }

    /// Keeps a record under the name of its host; under that of its file, where several hosts have the name.
    fn keep(&mut self, mut measured: Measured) {
        let record = &mut measured.record;
        let shared = if record.is_labelled() { &self.mislabelled } else { &self.shared };
        if shared.contains(&record.host) {
            record.host.clone_from(&record.stem);
        }
        let host = record.host.clone();
        let Some(known) = self.hosts.remove(&host) else {
            self.hosts.insert(host, measured);
            return;
        };
        let (newer, older) =
            if known.record.started >= measured.record.started { (known, measured) } else { (measured, known) };
        // A soak adds what it found to the survey of the host.
        let (mut kept, other) = match newer.record.is_soak && !older.record.is_soak {
            true => (older, newer),
            false => (newer, older),
        };
        if other.record.is_soak && !kept.record.is_soak {
            let is_new = |fact: &&HostFact| {
                matches!(fact.fact, Fact::WrongMemory | Fact::SlowedDown)
                    && kept.record.facts.iter().all(|own| own.fact != fact.fact)
            };
            let facts: Vec<HostFact> = other.record.facts.iter().filter(is_new).cloned().collect();
            kept.record.facts.extend(facts);
        } else {
            self.older.entry(host.clone()).or_default().push(other.record.file);
        }
        self.hosts.insert(host, kept);
    }
}

impl Gathered {
    /// Adds the record of a host; of two of one host, the newer counts.
    pub fn add(&mut self, record: HostRecord) {
        let measured = self.measured(record);
        self.hosts.add(measured);
    }

    /// Adds the record of a host from before a change: the hosts are then judged by how they changed.
    pub fn add_before(&mut self, record: HostRecord) {
        let measured = self.measured(record);
        self.before.get_or_insert_default().add(measured);
    }

    /// Adds what stands in place of the document of a host that failed.
    pub fn add_failed(&mut self, mut failed: FailedHost) {
        failed.host = printable(&failed.host);
        let known = self.failed.get(&failed.host);
        // A row of the engine says more than what standard error happens to hold.
        if known.is_none_or(|known| {
            (known.how == HostFailure::Failed, &known.at) <= (failed.how == HostFailure::Failed, &failed.at)
        }) {
            self.failed.insert(failed.host.clone(), failed);
        }
    }

    /// Allows the median host to be worse than before by this share.
    pub fn allow(&mut self, share: f64) {
        self.allowed = Some(share);
    }

    /// Allows errors and throttling as often as this.
    pub fn allow_rates(&mut self, rates: Rates) {
        self.rates = rates;
    }

    /// Adds a file that is no document of a host.
    pub fn add_unread(&mut self, refusal: Refusal) {
        self.unread.push(refusal);
    }

    /// The files that are no document of a host.
    #[must_use]
    pub fn unread(&self) -> &[Refusal] {
        &self.unread
    }

    /// Whether there is neither a host nor a failure.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.hosts.is_empty() && self.failed.is_empty()
    }

    fn measured(&mut self, mut record: HostRecord) -> Measured {
        let figures = std::mem::take(&mut record.figures);
        Measured { record, readings: figures.into_iter().map(|figure| self.catalogue.read(figure)).collect() }
    }

    /// Judges all hosts. `expected`: the names of hosts that ought to have a document.
    #[must_use]
    pub fn judged(mut self, expected: &[String]) -> Fleet {
        let mut notes = self.notes();
        let shared_names: BTreeSet<&String> = self.hosts.shared.union(&self.hosts.mislabelled).collect();
        let shared_names = shared_names.into_iter().cloned().collect();
        self.one_of_both(&mut notes);
        let records: Vec<&HostRecord> = self.hosts.hosts.values().map(|host| &host.record).collect();
        let changes = self.before.as_ref().map(|before| self.changes(before));
        let readings: Vec<&[Reading]> = match &changes {
            Some(changes) => changes.iter().map(Vec::as_slice).collect(),
            None => self.hosts.hosts.values().map(|host| host.readings.as_slice()).collect(),
        };
        let kinds = kinds(&records);
        let runs = if changes.is_some() { 2.0 } else { 1.0 };
        let judged = |members: &Vec<usize>| {
            let own: Vec<&[Reading]> = members.iter().map(|at| readings[*at]).collect();
            judge::judged(&own, &self.catalogue, records[members[0]].identity.is_guest(), runs)
        };
        let mut all: Vec<Judged> = kinds.iter().map(judged).collect();
        judge::select(&mut all);
        let of_kind = |members: &Vec<usize>| -> Vec<&HostRecord> { members.iter().map(|at| records[*at]).collect() };
        let facts: Vec<Vec<FactGroups<'_>>> = kinds.iter().map(|members| groups(&of_kind(members))).collect();
        mark(&mut all, &facts, &self.catalogue);
        judge::select(&mut all);
        let tested = all.iter().flat_map(|kind| kind.p_values.iter().flatten()).count();
        let rules = causes();
        let (mut described, mut hosts, mut near) = (Vec::new(), Vec::new(), Vec::new());
        let mut lost_together = Vec::new();
        for (at, ((members, judged), groups)) in kinds.iter().zip(&all).zip(&facts).enumerate() {
            let records = of_kind(members);
            let before = self.before.as_ref().map(|before| before.of(&records));
            let (catalogue, rules, rates) = (&self.catalogue, &rules, self.rates);
            let kind = Kind { at, records, judged, catalogue, rules, rates, groups, before };
            let facts = kind.facts();
            let own: Vec<FleetHost> = (0..kind.records.len()).map(|at| kind.host(at, &facts)).collect();
            for (at, host) in own.iter().enumerate() {
                near.extend(kind.nearly(at).filter(|_| host.state == HostState::Alike));
            }
            lost_together.extend(losses(&kind, self.allowed.unwrap_or(ALLOWED)));
            described.push(kind.described(&facts, &own, tested));
            hosts.extend(own);
        }
        notes.splice(0..0, near);
        let unseen = self.unseen(&kinds, &readings, &all);
        if !unseen.is_empty() {
            notes.insert(0, says::nobody_judged(&unseen));
        }
        hosts.extend(self.failed.into_values().map(failed));
        let of_records = records.iter().map(|record| vec![record.host.as_str(), record.stem.as_str()]);
        let failed = hosts.iter().filter(|host| host.failure.is_some()).map(|host| vec![host.host.as_str()]);
        let known: Vec<Vec<&str>> = of_records.chain(failed).collect();
        let before = self.before.iter().flat_map(|before| before.hosts.keys());
        let (missing, unclear) = absent(&expected.iter().chain(before).collect(), &known);
        notes.extend(unclear);
        let missing: Vec<FleetHost> = missing.into_iter().map(|name| without(name, HostState::Missing)).collect();
        hosts.extend(missing);
        // What the system reports is sure, and may not show in figures yet.
        let is_guess = |host: &FleetHost| host.causes.iter().all(|cause| cause.confidence != Confidence::Reported);
        // A host that loses data goes first, whatever it costs the others in speed.
        let is_safe = |host: &FleetHost| {
            let loses_data = |fact: Option<Fact>| matches!(fact, Some(Fact::WrongMemory | Fact::UncorrectedErrors));
            !host.causes.iter().any(|cause| loses_data(cause.fact))
        };
        let rank = |host: &FleetHost| (host.state, is_safe(host), is_guess(host));
        hosts.sort_by(|a, b| rank(a).cmp(&rank(b)).then(b.damage().total_cmp(&a.damage())).then(a.host.cmp(&b.host)));
        Fleet {
            threshold: THRESHOLD,
            level: LEVEL,
            is_change: changes.is_some(),
            kinds: described,
            hosts,
            losses: lost_together,
            shared_names,
            unread: self.unread,
            notes,
        }
    }

    /// The families that no host was judged in: those that enough hosts of a kind measured, and those of local memory.
    fn unseen(&self, kinds: &[Vec<usize>], readings: &[&[Reading]], judged: &[Judged]) -> Vec<&str> {
        // Few hosts are not judged by anything.
        let with_peers = || kinds.iter().filter(|members| members.len() >= FEWEST);
        if with_peers().next().is_none() {
            return Vec::new();
        }
        let families = |at: &usize| -> BTreeSet<&str> {
            readings[*at].iter().map(|reading| self.catalogue.figures[reading.figure].family.as_str()).collect()
        };
        let mut all: BTreeSet<&str> = BTreeSet::new();
        for members in with_peers() {
            let mut hosts: BTreeMap<&str, usize> = BTreeMap::new();
            members.iter().flat_map(families).for_each(|family| *hosts.entry(family).or_default() += 1);
            all.extend(hosts.into_iter().filter(|(_, hosts)| *hosts >= FEWEST).map(|(family, _)| family));
        }
        for (of, usual) in MemoryFigure::ALL.into_iter().zip(USUAL) {
            if all.iter().all(|family| of_local_memory(family) != Some(of)) {
                all.insert(usual);
            }
        }
        all.into_iter().filter(|family| judged.iter().all(|kind| !kind.families.contains_key(*family))).collect()
    }

    /// The changes of each host since it was measured before; without a figure for those that were not.
    fn changes(&self, before: &Newest) -> Vec<Vec<Reading>> {
        let change = |now: &Reading, before: &[Reading]| {
            let then = before.iter().find(|then| self.catalogue.are_comparable(now.figure, then.figure))?;
            let (ln, variance) = (now.ln - then.ln, now.variance + then.variance);
            let is_of_few = now.is_of_few && then.is_of_few;
            Some(Reading { figure: now.figure, ln, variance, is_open: now.is_open || then.is_open, is_of_few })
        };
        let changes = |host: &Measured| match before.hosts.get(&host.record.host) {
            Some(before) => host.readings.iter().filter_map(|now| change(now, &before.readings)).collect(),
            None => Vec::new(),
        };
        self.hosts.hosts.values().map(changes).collect()
    }

    /// What is to be known of the documents.
    fn notes(&self) -> Vec<Note> {
        let Newest { hosts, older, shared, mislabelled } = &self.hosts;
        let simulated = hosts.values().filter(|host| host.record.is_simulated).count() as u64;
        let mut notes: Vec<Note> = (simulated > 0).then(|| says::simulated(simulated)).into_iter().collect();
        for (host, older) in older.iter().filter(|(_, older)| !older.is_empty()) {
            notes.extend(hosts.get(host).map(|used| says::older_documents(host, &used.record.file, older)));
        }
        notes.extend(shared.union(mislabelled).map(|name| says::name_of_several(name)));
        let mut days: Vec<f64> = hosts.values().filter_map(|host| host.record.day).collect();
        days.sort_by(f64::total_cmp);
        for record in hosts.values().map(|host| &host.record) {
            // The clock of a single host that is far behind looks like an old document.
            let others = days.iter().rev().find(|day| record.day != Some(**day));
            if record.day.zip(others).is_some_and(|(day, others)| day > others + LATER) {
                notes.push(says::other_clock(&record.host, &record.started));
            }
            if !record.complete {
                notes.push(says::incomplete(&record.host));
            }
        }
        notes
    }

    /// Of a document and a failure of one host, keeps the newer.
    fn one_of_both(&mut self, notes: &mut Vec<Note>) {
        let both: Vec<String> =
            self.failed.keys().filter(|host| self.hosts.hosts.contains_key(*host)).cloned().collect();
        for host in both {
            let failed_later = {
                let started = &self.hosts.hosts[&host].record.started;
                self.failed[&host].at.as_ref().is_some_and(|at| at > started)
            };
            let used = if failed_later { "the failure" } else { "the document" };
            notes.push(says::failed_and_measured(&host, used));
            if failed_later {
                self.hosts.hosts.remove(&host);
            } else {
                self.failed.remove(&host);
            }
        }
    }
}

fn failed(failure: FailedHost) -> FleetHost {
    let host = without(&failure.host, HostState::Failed);
    FleetHost { failure: Some(failure), ..host }
}
