//! Why a host is odd: rules as data.

use serde::Deserialize;
use tiermark_model::{Confidence, DailyRate, Fact, HostCause, explains};

use crate::fleet::facts::HostFact;

/// A rule.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Cause {
    name: String,
    pub(crate) fact: Option<Fact>,
    /// Whether a host with another value is odd by that.
    #[serde(default)]
    alone: bool,
    /// Whether a host with a larger number is better.
    #[serde(default)]
    more_is_better: bool,
    /// A host whose number is above this is odd by that.
    above: Option<Above>,
    /// Whether figures under another value are others.
    #[serde(default)]
    pub(crate) incomparable: bool,
    figures: Vec<String>,
    #[serde(default)]
    direction: Direction,
    finding: String,
    /// What may be behind it.
    hint: Option<String>,
    /// Whether its figure is shown with that of the peers.
    #[serde(default)]
    shows_figure: bool,
    /// Causes beside which this one is not news.
    #[serde(default)]
    implied_by: Vec<String>,
    #[serde(rename = "try")]
    advice: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Direction {
    #[default]
    Worse,
    Better,
}

/// What numbers are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Above {
    /// Any.
    Zero,
    /// What the user allows in a day.
    ErrorsADay,
    ThrottlesADay,
}

/// How often in a day something may happen on a sound host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Corrected memory errors. Default: 10, as mcelog's `ce-error-threshold` of a module (mcelog.conf).
    pub errors: f64,
    /// Times that a cpu is throttled for heat. Default: 24, one an hour: a cooled server has none.
    pub throttles: f64,
}

impl Default for Rates {
    fn default() -> Self {
        Self { errors: 10.0, throttles: 24.0 }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CauseFile {
    cause: Vec<Cause>,
}

/// The built-in rules; none if the file is wrong, which a test forbids.
pub(crate) fn causes() -> Vec<Cause> {
    toml::from_str(include_str!("causes.toml")).map(|file: CauseFile| file.cause).unwrap_or_default()
}

/// A family that a host is odd in, and whether it is worse there.
pub(crate) type OddFamily<'a> = (&'a str, bool);

/// A fact in which a host differs from its peers.
pub(crate) struct Difference<'a> {
    pub(crate) own: &'a HostFact,
    /// What most peers have, or those that the host's group was held against.
    pub(crate) peers: &'a HostFact,
    /// Whether most peers have another value: only then is a host odd by the fact itself.
    pub(crate) is_of_few: bool,
    /// Hosts of the kind with the same value, how many of them are odd by their own figures, and the p-value of that.
    pub(crate) holders: u64,
    pub(crate) odd: u64,
    pub(crate) p_value: Option<f64>,
    /// The p-value of the host's group, where that is worse than its peers.
    pub(crate) group_p_value: Option<f64>,
}

impl Difference<'_> {
    /// How surely it explains odd figures, with the p-value of that; `None` if it does not.
    fn explains(&self) -> Option<(Confidence, f64)> {
        let of_group = self.group_p_value.map(|p_value| (Confidence::Measured, p_value));
        let of_hosts = explains(self.odd, self.holders, self.p_value);
        of_group.or_else(|| Some((of_hosts?, self.p_value.unwrap_or(1.0))))
    }
}

impl Cause {
    /// Whether one of its figures is odd, in its direction. A fact may make figures better or worse.
    fn fits(&self, odd: &[OddFamily<'_>]) -> bool {
        let wanted = |is_worse: bool| self.fact.is_some() || is_worse == (self.direction == Direction::Worse);
        odd.iter()
            .any(|(family, is_worse)| wanted(*is_worse) && self.figures.iter().any(|pattern| matches(pattern, family)))
    }

    /// How often the fact may happen in a day; `None` of one that is not counted by the day.
    fn limit(&self, rates: Rates) -> Option<f64> {
        match self.above? {
            Above::Zero => None,
            Above::ErrorsADay => Some(rates.errors),
            Above::ThrottlesADay => Some(rates.throttles),
        }
    }

    /// Whether a host is odd by a fact alone.
    fn is_odd_by(&self, own: &HostFact, differs: bool, rates: Rates) -> bool {
        match self.above {
            None => self.alone && differs,
            Some(_) => own.amount.is_some_and(|count| count > self.limit(rates).unwrap_or(0.0)),
        }
    }

    /// Whether a host is worse by it than its peers; `None` where neither more nor less is better.
    fn is_worse(&self, fact: Option<(&HostFact, Option<&HostFact>)>) -> Option<bool> {
        match fact {
            None => Some(self.direction == Direction::Worse),
            Some(_) if self.above.is_some() => Some(true),
            Some((own, peers)) => {
                let (own, peers) = own.amount.zip(peers?.amount).filter(|(own, peers)| own != peers)?;
                self.more_is_better.then_some(own < peers)
            }
        }
    }

    fn found(&self, fact: Option<(&HostFact, Option<&HostFact>)>, confidence: Confidence, rates: Rates) -> HostCause {
        let rate = |(own, _): (&HostFact, _)| Some(DailyRate { a_day: own.amount?, limit: self.limit(rates)? });
        HostCause {
            rule: self.name.clone(),
            fact: fact.map(|(own, _)| own.fact),
            value: fact.map(|(own, _)| own.exact.as_ref().unwrap_or(&own.text).clone()),
            rate: fact.and_then(rate),
            peers: fact.and_then(|(_, peers)| peers).map(|peers| peers.text.clone()),
            is_worse: self.is_worse(fact),
            finding: self.finding.clone(),
            hint: self.hint.clone(),
            advice: self.advice.clone(),
            confidence,
        }
    }
}

/// The rule of a cause, if the figure that it is about is shown, and whether a family is that of the figure.
pub(crate) fn shown_figure<'r>(rules: &'r [Cause], cause: &HostCause) -> Option<impl Fn(&str) -> bool + use<'r>> {
    let rule = rules.iter().find(|rule| rule.shows_figure && rule.name == cause.rule)?;
    Some(|family: &str| rule.figures.iter().any(|pattern| matches(pattern, family)))
}

/// The causes of a host, the likeliest first; none of one that is like its peers.
///
/// Of a change, facts alone make no host odd: it had them before.
pub(crate) fn causes_of(
    rules: &[Cause],
    facts: &[HostFact],
    differences: &[Difference<'_>],
    odd: &[OddFamily<'_>],
    rates: Rates,
    is_change: bool,
) -> Vec<HostCause> {
    let mut of_facts: Vec<(bool, f64, HostCause)> = Vec::new();
    for rule in rules {
        let Some(fact) = rule.fact else { continue };
        let Some(own) = facts.iter().find(|own| own.fact == fact) else { continue };
        let differs = differences.iter().find(|difference| difference.own.fact == fact);
        let fits = rule.fits(odd);
        let is_news = |name: &String| of_facts.iter().all(|(.., cause)| cause.rule != *name);
        if !rule.implied_by.iter().all(is_news) {
            continue;
        }
        if rule.is_odd_by(own, differs.is_some_and(|of| of.is_of_few), rates) && (!is_change || fits) {
            let peers = differs.map(|of| of.peers).filter(|_| rule.above.is_none());
            of_facts.push((!fits && !odd.is_empty(), 0.0, rule.found(Some((own, peers)), Confidence::Reported, rates)));
        } else if let Some(differs) = differs.filter(|_| fits && rule.above.is_none())
            && let Some((confidence, p_value)) = differs.explains()
        {
            of_facts.push((false, p_value, rule.found(Some((own, Some(differs.peers))), confidence, rates)));
        }
    }
    // Those that explain the figures come first, of those the ones that explain them best; else in the order of the file.
    of_facts.sort_by(|(a, p, _), (b, q, _)| a.cmp(b).then(p.total_cmp(q)));
    let is_explained = of_facts.iter().any(|(is_beside, ..)| !is_beside);
    let mut found: Vec<HostCause> = of_facts.into_iter().map(|(.., cause)| cause).collect();
    if !is_explained && let Some(rule) = rules.iter().find(|rule| rule.fact.is_none() && rule.fits(odd)) {
        // After faults that the system counts, which are sure.
        let is_counted = |cause: &&HostCause| rules.iter().any(|of| of.name == cause.rule && of.above.is_some());
        let counted = found.iter().take_while(is_counted).count();
        found.insert(counted, rule.found(None, Confidence::Hint, rates));
    }
    found
}

/// Whether a name is that of a pattern, in which one `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((before, after)) => {
            name.strip_prefix(before).is_some_and(|rest| rest.len() >= after.len() && rest.ends_with(after))
        }
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(fact: Fact, text: &str, amount: Option<f64>) -> HostFact {
        HostFact::new(fact, text.to_owned(), amount)
    }

    fn names(facts: &[HostFact], differences: &[Difference<'_>], odd: &[OddFamily<'_>]) -> Vec<String> {
        causes_of(&causes(), facts, differences, odd, Rates::default(), false)
            .into_iter()
            .map(|cause| cause.rule)
            .collect()
    }

    #[test]
    fn the_file_is_sound() {
        let file: CauseFile = toml::from_str(include_str!("causes.toml")).unwrap();
        for cause in &file.cause {
            assert!(cause.figures.iter().all(|pattern| pattern.matches('*').count() <= 1), "{}", cause.name);
            let earlier =
                |name: &String| file.cause.iter().take_while(|of| of.name != cause.name).any(|of| of.name == *name);
            assert!(cause.implied_by.iter().all(earlier), "{}: implied by what comes later", cause.name);
            assert!(cause.fact.is_none() || !cause.shows_figure, "{}", cause.name);
            assert!(
                cause.fact.is_some() || !(cause.alone || cause.above.is_some() || cause.incomparable),
                "{}",
                cause.name
            );
        }
        let last: Vec<&str> = file.cause.iter().rev().take(2).map(|cause| cause.name.as_str()).collect();
        assert_eq!(last, ["faster", "slow"], "every odd host has a cause");
    }

    #[test]
    fn hardware_is_blamed_and_another_kernel_is_not() {
        let facts = [fact(Fact::Slots, "15 of 16", Some(15.0)), fact(Fact::Kernel, "5.14", None)];
        let peers = [fact(Fact::Slots, "16 of 16", Some(16.0)), fact(Fact::Kernel, "6.8", None)];
        let differences = |odd: u64| -> Vec<Difference<'_>> {
            let of = |(own, peers)| Difference {
                own,
                peers,
                is_of_few: true,
                holders: 10,
                odd,
                p_value: Some(0.5),
                group_p_value: None,
            };
            facts.iter().zip(&peers).map(of).collect()
        };
        let slow = [("dram.bandwidth.all", true)];
        assert_eq!(names(&facts, &differences(1), &slow), ["modules"]);
        // Hardware alone is odd, whatever the figures say; what it does not explain has a cause of its own.
        assert_eq!(names(&facts, &differences(0), &[]), ["modules"]);
        assert_eq!(names(&facts, &differences(0), &[("clock", true)]), ["slow-clock", "modules"]);
        // A kernel that nearly all odd hosts have is.
        assert_eq!(names(&facts[1..], &differences(9)[1..], &slow), ["kernel"]);
        assert_eq!(names(&facts[1..], &differences(1)[1..], &slow), ["slow-memory"]);
        assert!(names(&facts[1..], &differences(0)[1..], &[]).is_empty());
    }

    #[test]
    fn errors_count_whatever_the_peers_have() {
        let facts = [fact(Fact::CorrectedErrors, "1243, mc0", Some(1243.0)), fact(Fact::Throttling, "0", Some(0.0))];
        assert_eq!(names(&facts, &[], &[]), ["corrected-errors"]);
        assert_eq!(
            names(&facts, &[], &[("clock", true)]),
            ["corrected-errors", "slow-clock"],
            "what is counted is sure"
        );
        // One since the system started is none; throttled all the time is something.
        let facts = [fact(Fact::CorrectedErrors, "1 in 30 days", Some(1.0 / 30.0))];
        assert!(names(&facts, &[], &[]).is_empty());
        assert_eq!(names(&[fact(Fact::ThrottledBefore, "25000 a cpu", Some(833.0))], &[], &[]), ["throttled-before"]);
        assert_eq!(names(&[], &[], &[("l3.latency", false)]), ["faster"]);
    }
}
