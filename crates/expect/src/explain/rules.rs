//! The rules: data, with conditions in the language of expectations.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::Deserialize;
use tiermark_model::{Confidence, ExplainRule, ExplainedKind};

use crate::explain::facts::{FactName, LIMIT, OPEN, Scene, SceneKind, Source, Whose};
use crate::{Comparison, Entry, Expectation, Named, Need};

/// The file of the rules.
const RULES: &str = include_str!("rules.toml");

/// A rule.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    /// Its name. Rules of one name are alternatives: the first that finds something is reported.
    pub(crate) name: String,
    pub(crate) kind: ExplainedKind,
    /// What it finds, in a sentence.
    pub(crate) finding: String,
    pub(crate) condition: Condition,
    /// The figures that a fault of the machine limits: of a rule whose condition is an expectation.
    pub(crate) figures: Option<Holds>,
    /// What a machine must be for its condition to say anything.
    pub(crate) needs: Vec<Need>,
    /// What its conclusion rests on at best; `None` for what its numbers rest on.
    pub(crate) at_best: Option<Confidence>,
    pub(crate) advice: String,
    /// What to try where every core is in use already.
    pub(crate) advice_if_full: Option<String>,
    /// Its limits, as the file has them.
    limits: Vec<String>,
    /// The command whose run has its numbers; `None` for what the system reports and for what every run has.
    pub(crate) command: Option<String>,
    pub(crate) source: String,
}

/// When a rule finds something.
#[derive(Debug, Clone)]
pub(crate) enum Condition {
    /// An expectation fails.
    Fails(Entry),
    /// All comparisons hold in a scene that has the words; without comparisons the words alone decide.
    Holds(Holds),
}

/// Comparisons over the numbers of a scene.
#[derive(Debug, Clone)]
pub(crate) struct Holds {
    pub(crate) of: SceneKind,
    /// The words that the scene must have: any of those under each key.
    pub(crate) words: BTreeMap<String, Vec<String>>,
    pub(crate) all: Vec<Comparison<FactName>>,
    /// Numbers that are shown, those of the comparisons first.
    pub(crate) numbers: Vec<FactName>,
    /// Whose rates it names the limiter of.
    pub(crate) limited: Vec<Whose>,
}

/// A rule as the file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleRow {
    name: String,
    kind: ExplainedKind,
    finding: String,
    /// Fires where this expectation fails.
    unless: Option<String>,
    of: Option<SceneKind>,
    #[serde(default, rename = "where")]
    words: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    when: Vec<String>,
    /// Whose rates it names the limiter of.
    #[serde(default)]
    limits: Vec<Whose>,
    /// More numbers to show.
    #[serde(default)]
    show: Vec<String>,
    confidence: Option<Confidence>,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(rename = "try")]
    advice: String,
    #[serde(rename = "try-if-full")]
    advice_if_full: Option<String>,
    command: Option<String>,
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    /// Limits that several rules share, by name.
    #[serde(default)]
    limits: BTreeMap<String, String>,
    rule: Vec<RuleRow>,
}

/// Advice without a run and its nodes.
fn of_any_run(advice: &str) -> String {
    advice.replace("{run}", "last").replace("{nodes}", "N,M")
}

/// The rules, in the order of the file. A test reads them, so that no mistake in one is handled.
pub(crate) fn all() -> Vec<Rule> {
    let file: RuleFile = sound(toml::from_str(RULES));
    let shared =
        |text: String| file.limits.iter().fold(text, |text, (name, limit)| text.replace(&format!("{{{name}}}"), limit));
    let whole = |row: RuleRow| rule(RuleRow { when: row.when.into_iter().map(&shared).collect(), ..row });
    file.rule.into_iter().map(whole).collect()
}

/// A part of the file.
fn sound<T>(read: Result<T, impl Display>) -> T {
    read.unwrap_or_else(|error| unreachable!("rules.toml: {error}"))
}

fn rule(row: RuleRow) -> Rule {
    let figures = row.of.map(|of| holds(of, &row));
    let (condition, figures) = match &row.unless {
        Some(that) => {
            let that = sound(Expectation::parse(that));
            (Condition::Fails(Entry { that, needs: Vec::new(), required: false, why: None, source: None }), figures)
        }
        None => (Condition::Holds(sound(figures.ok_or("neither `unless` nor `of`"))), None),
    };
    let needs = row.needs.iter().map(|name| sound(Need::named(name).ok_or(name))).collect();
    Rule {
        condition,
        figures,
        limits: row.unless.map_or(row.when, |that| vec![that]),
        needs,
        name: row.name,
        kind: row.kind,
        finding: row.finding,
        at_best: row.confidence,
        advice: row.advice,
        advice_if_full: row.advice_if_full,
        command: row.command,
        source: row.source,
    }
}

fn holds(of: SceneKind, row: &RuleRow) -> Holds {
    let all: Vec<Comparison<FactName>> = row.when.iter().map(|text| sound(Comparison::parse(text))).collect();
    let mut numbers: Vec<FactName> = Vec::new();
    let shown: Vec<FactName> = row.show.iter().map(|text| sound(FactName::read(text, 1))).collect();
    for name in all.iter().flat_map(Comparison::names).chain(&shown) {
        if !numbers.contains(name) {
            numbers.push(*name);
        }
    }
    Holds { of, words: row.words.clone(), all, numbers, limited: row.limits.clone() }
}

impl Rule {
    /// Whether it looks at bandwidths whose limiter no rule before named.
    pub(crate) fn is_of_open(&self) -> bool {
        matches!(&self.condition, Condition::Holds(holds) if holds.words.get(LIMIT).is_some_and(|words| words == &[OPEN]))
    }

    /// The documents that it is for.
    pub(crate) fn source(&self) -> Source {
        match &self.condition {
            Condition::Fails(_) => Source::Probes,
            Condition::Holds(holds) => holds.of.source(),
        }
    }

    /// For those who read the rules.
    pub(crate) fn shown(&self) -> ExplainRule {
        let (looks_at, needs_counters) = match &self.condition {
            Condition::Fails(_) => (None, false),
            Condition::Holds(holds) => (Some(holds.subject()), holds.needs_counters()),
        };
        ExplainRule {
            name: self.name.clone(),
            kind: self.kind,
            finds: self.finding.clone(),
            looks_at,
            expects: matches!(self.condition, Condition::Fails(_)),
            limits: self.limits.clone(),
            needs_counters,
            command: self.command.clone(),
            at_best: self.at_best,
            advice: of_any_run(&self.advice),
            advice_if_full: self.advice_if_full.as_deref().map(of_any_run),
            source: self.source.clone(),
        }
    }
}

impl Holds {
    /// Whether a scene is what it looks at.
    pub(crate) fn fits(&self, scene: &Scene) -> bool {
        scene.kind == self.of && self.words.iter().all(|(key, words)| scene.is_one_of(key, words))
    }

    /// Whether each comparison holds in a scene; `None` of one whose numbers it lacks.
    pub(crate) fn results(&self, scene: &Scene) -> impl Iterator<Item = Option<bool>> {
        self.all.iter().map(|one| one.holds(|name: &FactName| scene.get(*name).map(|found| found.value)))
    }

    /// Whether only counters have its numbers.
    pub(crate) fn needs_counters(&self) -> bool {
        let is_counted = |name: &FactName| name.is_counted_in(self.of);
        self.of.is_counted() || self.all.iter().flat_map(Comparison::names).any(is_counted)
    }

    /// What it is about, in words.
    fn subject(&self) -> String {
        let words = |(key, words): (&String, &Vec<String>)| format!("{key} {}", words.join(" or "));
        let words: Vec<String> = self.words.iter().map(words).collect();
        let kind = self.of.words();
        if words.is_empty() { kind.to_owned() } else { format!("{kind}: {}", words.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_read_and_each_has_a_source_and_advice() {
        let rules = all();
        assert!(rules.len() > 30);
        for rule in &rules {
            assert!(rule.source.len() > 15 && rule.advice.len() > 10, "{}", rule.name);
            assert!(rule.finding.chars().next().is_some_and(|c| !c.is_lowercase()), "{}", rule.finding);
            assert!(!rule.finding.ends_with('.') && !rule.advice.ends_with('.'), "{}", rule.name);
            // Where no core is free, more threads are no advice.
            let more_threads = rule.advice.replace("no more threads", "").contains("more threads");
            assert!(!more_threads || rule.advice_if_full.is_some(), "{}", rule.name);
            assert!(!rule.advice_if_full.iter().any(|text| text.contains("more threads")), "{}", rule.name);
        }
        // Problems first: the order of the file is that of a report.
        let kinds: Vec<ExplainedKind> = rules.iter().map(|rule| rule.kind).collect();
        assert!(kinds.is_sorted(), "{kinds:?}");
        // Alternatives stand together and are of one kind.
        for pair in rules.windows(2).filter(|pair| pair[0].name != pair[1].name) {
            let again = rules.iter().filter(|rule| rule.name == pair[0].name).count();
            let run = rules.iter().skip_while(|rule| rule.name != pair[0].name);
            assert_eq!(run.take_while(|rule| rule.name == pair[0].name).count(), again, "{}", pair[0].name);
        }
    }

    #[test]
    fn a_scene_of_a_rule_is_compared() {
        let file: RuleFile = toml::from_str(RULES).unwrap();
        for row in &file.rule {
            assert_eq!(row.of.is_some(), !row.when.is_empty() || !row.words.is_empty(), "{}", row.name);
        }
    }
}
