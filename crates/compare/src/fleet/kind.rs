//! The hosts of a kind with their verdicts: which facts differ, what explains odd figures, and what could not be judged.

use std::collections::BTreeMap;

use tiermark_model::messages::fleet as says;
use tiermark_model::{
    Confidence, Fact, FleetHost, HostCause, HostFamily, HostFigure, HostKind, HostState, KindFact, KindFigure,
    MemoryFigure, Note, OtherValue, VisibleLoss,
};
use tiermark_stats::fisher_exact;

use crate::fleet::FEWEST;
use crate::fleet::catalogue::{Catalogue, of_local_memory};
use crate::fleet::causes::{Cause, Difference, OddFamily, Rates, causes_of, shown_figure};
use crate::fleet::groups::{FactGroups, Group, OddGroup};
use crate::fleet::judge::{self, Judged};
use crate::fleet::limits::{SHORT, with_unit};
use crate::fleet::record::HostRecord;

/// Share of the figures of its peers that a host needs to be judged.
const ENOUGH: f64 = 0.5;
/// A host that would be odd if this share of the odd hosts were so by chance is nearly odd. In simulated fleets with
/// losses of four deviations, three of four such hosts have a fault.
const NEAR: f64 = 0.1;

/// A host without a document.
pub(crate) fn without(host: &str, state: HostState) -> FleetHost {
    FleetHost {
        host: host.to_owned(),
        state,
        kind: None,
        file: None,
        run: None,
        started: None,
        labels: BTreeMap::new(),
        causes: Vec::new(),
        is_better: false,
        reasons: Vec::new(),
        failure: None,
        p_value: None,
        families: Vec::new(),
        figures: Vec::new(),
    }
}

/// A kind with all that its hosts are described by.
pub(crate) struct Kind<'a> {
    /// Its place in the list.
    pub(crate) at: usize,
    pub(crate) records: Vec<&'a HostRecord>,
    pub(crate) judged: &'a Judged,
    pub(crate) catalogue: &'a Catalogue,
    pub(crate) rules: &'a [Cause],
    pub(crate) rates: Rates,
    /// Its hosts by what they report of each fact.
    pub(crate) groups: &'a [FactGroups<'a>],
    /// Where the readings are changes: of each of its hosts the record from before, if there is one.
    pub(crate) before: Option<Vec<Option<&'a HostRecord>>>,
}

/// A fact over the hosts of a kind, with what odd hosts have of it.
pub(crate) struct FactOfKind<'a> {
    of: &'a FactGroups<'a>,
    /// For each of its groups.
    odd: Vec<OddHosts>,
}

/// How many hosts of a group are odd by their own figures, the p-value of that, and that of the group as a whole.
struct OddHosts {
    count: usize,
    p_value: Option<f64>,
    group_p_value: Option<f64>,
}

/// How surely a fact is a cause on some hosts: as it is on the surest; `None` if it is on none.
fn surest_cause<'h>(hosts: impl Iterator<Item = &'h FleetHost>, fact: Fact) -> Option<Confidence> {
    let of_fact = hosts.flat_map(|host| &host.causes).filter(|cause| cause.fact == Some(fact));
    of_fact.map(|cause| cause.confidence).min_by_key(|confidence| match confidence {
        Confidence::Reported => 0,
        Confidence::Counted | Confidence::Measured => 1,
        Confidence::Hint => 2,
    })
}

impl<'a> Kind<'a> {
    /// The facts of its hosts.
    pub(crate) fn facts(&self) -> Vec<FactOfKind<'a>> {
        self.groups.iter().map(|of| FactOfKind { of, odd: self.odd_hosts(of) }).collect()
    }

    /// Counts the odd hosts with each value, and tests whether they have it more often than the others.
    fn odd_hosts(&self, of: &FactGroups<'_>) -> Vec<OddHosts> {
        // Those alone: that all of a group are odd with it explains nothing.
        let odd = |group: &Group<'_>| group.hosts.iter().filter(|at| self.judged.is_odd_alone(**at)).count();
        let all: usize = of.groups.iter().map(odd).sum();
        let odd_hosts = |(place, group): (usize, &Group<'_>)| {
            let (count, holders) = (odd(group), group.hosts.len());
            let others = of.known() - holders;
            let p_value = if all > 0 && others > 0 { fisher_exact(count, holders, all - count, others) } else { None };
            let groups = self.judged.grouped.iter().filter(|group| (group.fact, group.place) == (of.fact, place));
            let group_p_value = groups.map(|group| group.p_value).reduce(f64::min);
            OddHosts { count, p_value, group_p_value }
        };
        of.groups.iter().enumerate().map(odd_hosts).collect()
    }

    /// The kind; `hosts`: its hosts with their verdicts; `tested`: how many hosts of all kinds were.
    pub(crate) fn described(&self, facts: &[FactOfKind<'_>], hosts: &[FleetHost], tested: usize) -> HostKind {
        let visible = |(family, off): (&String, f64)| {
            let figure = self.catalogue.figures.iter().find(|figure| figure.family == *family)?;
            let loss = if figure.less_is_better()? { off.exp_m1() } else { -(-off).exp_m1() };
            Some(VisibleLoss { family: family.clone(), loss })
        };
        let identity = &self.records[0].identity;
        let figure = |column: &judge::Column| {
            let entry = &self.catalogue.figures[column.figure];
            KindFigure {
                name: entry.expected(),
                family: entry.family.clone(),
                probe: entry.how.probe.clone(),
                quantity: entry.how.quantity.clone(),
                labels: entry.how.labels.clone(),
                unit: entry.unit,
                median: column.median.exp(),
                sd: column.sd,
                hosts: column.sharp as u64,
            }
        };
        let name = |at: &usize| self.records[*at].host.clone();
        let other = |fact: Fact, group: &Group<'_>, odd: &OddHosts| OtherValue {
            value: group.value.text.clone(),
            hosts: group.hosts.iter().map(name).collect(),
            odd: odd.count as u64,
            p_value: odd.p_value,
            group_p_value: odd.group_p_value,
            cause: surest_cause(group.hosts.iter().filter_map(|at| hosts.get(*at)), fact),
        };
        let fact = |of: &FactOfKind<'_>| {
            let common = of.of.groups.first()?;
            let others = of.of.groups.iter().zip(&of.odd).skip(1);
            Some(KindFact {
                fact: of.of.fact,
                value: common.value.text.clone(),
                amount: common.value.amount,
                of: common.value.of,
                hosts: common.hosts.len() as u64,
                odd: of.odd.first().map_or(0, |odd| odd.count as u64),
                others: others.map(|(group, odd)| other(of.of.fact, group, odd)).collect(),
            })
        };
        let facts: Vec<KindFact> = facts.iter().filter_map(fact).collect();
        let sockets = facts.iter().find(|of| of.fact == Fact::Sockets).and_then(|of| of.amount);
        let has_modules = |record: &&&HostRecord| record.facts.iter().any(|of| of.fact == Fact::Slots);
        let unread = self.records.len() - self.records.iter().filter(has_modules).count();
        HostKind {
            product: identity.product.clone(),
            cpu: identity.cpu.clone(),
            sockets: sockets.unwrap_or(0.0) as u64,
            hosts: self.records.len() as u64,
            figures: self.judged.columns.iter().map(figure).collect(),
            visible: self.judged.visible(tested).filter_map(visible).collect(),
            // A hypervisor makes its table of modules up.
            modules_unread: if identity.is_guest() { 0 } else { unread as u64 },
            is_guest: identity.is_guest(),
            facts,
            changed: self.changed(),
        }
    }

    /// A host of the kind with its verdict.
    pub(crate) fn host(&self, at: usize, facts: &[FactOfKind<'_>]) -> FleetHost {
        let record = self.records[at];
        let families: Vec<HostFamily> = self.families(at);
        let figures: Vec<HostFigure> = self.figures(at);
        let odd = self.odd_families(&families, &figures);
        let differences = self.differences(at, facts);
        let mut causes = causes_of(self.rules, &record.facts, &differences, &odd, self.rates, self.before.is_some());
        causes.iter_mut().for_each(|cause| self.show_figure(at, cause));
        let reasons = if causes.is_empty() { self.not_judged(at, &differences) } else { Vec::new() };
        let state = match (causes.is_empty(), reasons.is_empty()) {
            (false, _) => HostState::Odd,
            (true, true) => HostState::Alike,
            (true, false) => HostState::NotJudged,
        };
        let reported = causes.iter().filter(|cause| cause.confidence == Confidence::Reported);
        let is_better = state == HostState::Odd
            && odd.iter().all(|(_, is_worse)| !is_worse)
            && reported.map(|cause| cause.is_worse).all(|is_worse| is_worse == Some(false));
        FleetHost {
            kind: Some(self.at as u64),
            file: Some(record.file.clone()),
            run: Some(record.run.clone()),
            started: Some(record.started.clone()),
            labels: record.labels.clone(),
            causes,
            is_better,
            reasons,
            p_value: self.judged.p_values[at],
            families,
            figures,
            ..without(&record.host, state)
        }
    }

    /// Adds to a cause the figure of a host and the median of its peers, where its rule shows them. A change is one.
    fn show_figure(&self, at: usize, cause: &mut HostCause) {
        let Some(is_of) = shown_figure(self.rules, cause).filter(|_| self.before.is_none()) else { return };
        let figure = |column: &judge::Column| &self.catalogue.figures[column.figure];
        let columns = self.judged.columns.iter().filter(|column| is_of(&figure(column).family));
        let sharp =
            columns.filter_map(|column| Some((column, column.cells.get(&at).filter(|of| !of.reading.is_open)?)));
        // The one that shows the cause, not another one that differs in the other direction.
        let is_worse = cause.is_worse.unwrap_or(true);
        let shows = |(column, cell): &(&judge::Column, &judge::Cell)| {
            figure(column).less_is_better().is_none_or(|less| ((cell.off > 0.0) == less) == is_worse)
        };
        let Some((column, cell)) = sharp.filter(shows).max_by(|(_, a), (_, b)| a.off.abs().total_cmp(&b.off.abs()))
        else {
            return;
        };
        let [own, peers] = [cell.reading.ln, column.median].map(|ln| with_unit(ln.exp(), figure(column).unit, SHORT));
        (cause.value, cause.peers) = (Some(own), Some(peers));
    }

    /// The note on a host whose p-value is at most [`NEAR`], with the family of the least p-value. `None` if the p-value
    /// is larger, or if the host is better than its peers there. The caller leaves out odd hosts.
    pub(crate) fn nearly(&self, at: usize) -> Option<Note> {
        self.judged.p_values[at].filter(|p| *p <= NEAR)?;
        let (families, tested) = (self.judged.families_of(at) as f64, self.judged.tested(at) as f64);
        let means = self.judged.families.iter().filter_map(|(family, means)| Some((family, means.get(&at)?)));
        let means = means.map(|(family, mean)| (mean.p_value * families, family, mean.off));
        let cells = self.judged.columns.iter().filter_map(|column| {
            let cell = column.cells.get(&at)?;
            Some((cell.p_value * tested, &self.catalogue.figures[column.figure].family, cell.off))
        });
        let (_, family, off) = means.chain(cells).min_by(|(a, ..), (b, ..)| a.total_cmp(b))?;
        let figure = self.catalogue.figures.iter().find(|figure| figure.family == *family)?;
        let is_better = figure.less_is_better().is_some_and(|less| (off > 0.0) != less);
        (!is_better).then(|| says::nearly_odd(&self.records[at].host, family, (off.exp() - 1.0) * 100.0))
    }

    fn families(&self, at: usize) -> Vec<HostFamily> {
        let host_family = |(family, means): (&String, &BTreeMap<usize, judge::Mean>)| {
            let mean = means.get(&at)?;
            let figure = self.catalogue.figures.iter().find(|figure| figure.family == *family)?;
            Some(HostFamily {
                family: family.clone(),
                figures: mean.figures as u64,
                deviation: mean.off.exp() - 1.0,
                is_worse: figure.less_is_better().map(|less| (mean.off > 0.0) == less),
                p_value: mean.p_value,
                is_odd: self.judged.is_odd_family(at, family, mean),
            })
        };
        self.judged.families.iter().filter_map(host_family).collect()
    }

    fn figures(&self, at: usize) -> Vec<HostFigure> {
        let host_figure = |(place, column): (usize, &judge::Column)| {
            let cell = column.cells.get(&at)?;
            Some(HostFigure {
                figure: place as u64,
                value: cell.reading.ln.exp(),
                deviation: cell.off.exp() - 1.0,
                is_odd: self.judged.is_odd_figure(at, cell),
                is_bound: cell.reading.is_open || cell.reading.is_of_few,
            })
        };
        self.judged.columns.iter().enumerate().filter_map(host_figure).collect()
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

    /// Whether a figure of local memory of a host was held against those of its peers.
    fn is_judged_by(&self, at: usize, of: MemoryFigure) -> bool {
        let mut families = self.judged.families.iter();
        families.any(|(family, means)| of_local_memory(family) == Some(of) && means.contains_key(&at))
    }

    /// The facts in which a host differs from most of its kind. Where no value is that of most, only figures tell which
    /// hosts are odd.
    fn differences<'f>(&self, at: usize, facts: &'f [FactOfKind<'_>]) -> Vec<Difference<'f>> {
        let difference = |FactOfKind { of, odd }: &'f FactOfKind<'_>| {
            let place = of.place(at)?;
            let is_own = |group: &&OddGroup| (group.fact, group.place) == (of.fact, place) && group.hosts.contains(&at);
            let group = self.judged.grouped.iter().filter(is_own).min_by(|a, b| a.p_value.total_cmp(&b.p_value));
            let against = match (group, of.is_majority && place > 0) {
                (Some(group), _) => group.against,
                (None, true) => 0,
                (None, false) => return None,
            };
            let (own, odd) = (&of.groups[place], &odd[place]);
            Some(Difference {
                own: own.value,
                peers: of.groups.get(against)?.value,
                is_of_few: of.is_majority && place > 0,
                holders: own.hosts.len() as u64,
                odd: odd.count as u64,
                p_value: odd.p_value,
                group_p_value: group.map(|group| group.p_value),
            })
        };
        facts.iter().filter_map(difference).collect()
    }

    /// Why a host is not judged; nothing if it is.
    fn not_judged(&self, at: usize, differences: &[Difference<'_>]) -> Vec<Note> {
        if self.before.as_ref().is_some_and(|before| before[at].is_none()) {
            return vec![says::not_before()];
        }
        if self.records.len() < FEWEST {
            return vec![says::few_peers(self.records.len() as u64, FEWEST as u64)];
        }
        let half = self.records.len() as f64 * ENOUGH;
        let usual = self.judged.columns.iter().filter(|column| column.sharp as f64 >= half).count();
        let own = self.judged.tested(at);
        if own > 0 && own as f64 >= usual as f64 * ENOUGH {
            let [latency, bandwidth] = MemoryFigure::ALL.map(|of| !self.is_judged_by(at, of));
            let note = (latency || bandwidth).then(|| says::no_figure_of_memory(latency, bandwidth));
            return note.into_iter().collect();
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
