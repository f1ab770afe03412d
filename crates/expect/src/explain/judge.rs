//! Judges a run by the rules.

use std::collections::BTreeSet;

use tiermark_model::capacity::Capacity;
use tiermark_model::load::LoadRun;
use tiermark_model::messages::explain as says;
use tiermark_model::{ComparedRun, ExplainRules, Explanation, Machine, Note, Run, UnjudgedRule};

use crate::explain::boxes::{Few, boxes};
use crate::explain::cells::{Cell, cells};
use crate::explain::curves::curves;
use crate::explain::distances::distances;
use crate::explain::expected::{does_fail, fails};
use crate::explain::facts::{
    FactName, LIMIT, LINK_OPTION, NAMED, OPEN, PEAK_OPTION, PROBLEM, Scene, SceneKind, Source, Whose,
};
use crate::explain::figures::figures;
use crate::explain::findings::{Input, Judged, found, holding};
use crate::explain::machine::{counts, scenes};
use crate::explain::measured::Bounds;
use crate::explain::pairs::{Measured, pairs};
use crate::explain::rules::{self, Condition, Holds, Rule};
use crate::explain::tenants;

/// Explains a run of probes. `name` is the user's name of the run.
#[must_use]
pub fn explain(name: &str, run: &Run) -> Explanation {
    let counts = counts(run);
    let (all, few) = all_scenes(run, counts.is_ok());
    let explanation = Explanation {
        counters: run.counters.as_ref().map(|own| own.source).filter(|_| counts.is_ok()),
        counts_unused: counts.as_ref().err().filter(|why| why.code != says::codes::no_counts).cloned(),
        ..nothing_yet(ComparedRun::of(name, run))
    };
    let input = Input { run: Some(run), machine: &run.machine, all, counts: counts.err(), few };
    judged(explanation, Source::Probes, input)
}

/// Explains a run of `capacity`: what limited the tenants of each search.
#[must_use]
pub fn explain_capacity(name: &str, run: &Capacity) -> Explanation {
    let about = ComparedRun {
        name: name.to_owned(),
        id: run.id.clone(),
        title: format!("capacity {}", run.scenario),
        started: run.started.clone(),
        host: run.host().map(str::to_owned),
        cpu: run.machine.cpu_model.name.clone(),
        complete: true,
        simulated: false,
        guest: run.machine.system.hypervisor.is_some(),
    };
    let all = tenants::of_capacity(run);
    let input = Input { run: None, machine: &run.machine, all, counts: None, few: Few::default() };
    judged(nothing_yet(about), Source::Capacity, input)
}

/// Explains a run of `load`: whether the client or the servers delayed requests.
#[must_use]
pub fn explain_load(name: &str, run: &LoadRun) -> Explanation {
    let about = ComparedRun {
        name: name.to_owned(),
        id: run.id.clone(),
        title: "load".to_owned(),
        started: run.started.clone(),
        host: run.host().map(str::to_owned),
        cpu: None,
        complete: run.complete,
        simulated: false,
        guest: false,
    };
    let machine = Machine::default();
    let all = tenants::of_load(run);
    let input = Input { run: None, machine: &machine, all, counts: None, few: Few::default() };
    judged(nothing_yet(about), Source::Load, input)
}

/// Whether an explanation rests on figures that the run measured, and not on facts of its machine alone.
#[must_use]
pub fn rests_on_figures(explanation: &Explanation) -> bool {
    let rules = rules::all();
    let judged = explanation.found.iter().map(|found| &found.rule).chain(&explanation.clear);
    let is_measured = |name: &String| {
        let measures = |rule: &Rule| rule.command.is_some() || rule.source() != Source::Probes;
        rules.iter().any(|rule| rule.name == *name && measures(rule))
    };
    judged.into_iter().any(is_measured)
}

/// An explanation before any rule is judged.
fn nothing_yet(run: ComparedRun) -> Explanation {
    Explanation { run, counters: None, counts_unused: None, found: Vec::new(), clear: Vec::new(), unjudged: Vec::new() }
}

/// Judges all rules of a kind of document.
fn judged(mut explanation: Explanation, source: Source, mut input: Input<'_>) -> Explanation {
    // Steps whose rate a rule named the limiter of.
    let mut limited: BTreeSet<String> = BTreeSet::new();
    let mut rules = rules::all();
    rules.retain(|rule| rule.source() == source);
    for alternatives in rules.chunk_by(|one, next| one.name == next.name) {
        let Some(first) = alternatives.first() else { continue };
        if alternatives.iter().any(Rule::is_of_open) {
            mark_limited(&mut input.all, &limited);
        }
        limited.extend(alternatives.iter().flat_map(|rule| names_limiter_of(rule, &input)));
        let mut judged: Vec<Judged> = alternatives.iter().map(|rule| judge(rule, &input)).collect();
        let found = judged.iter().position(|one| matches!(one, Judged::Found(_)));
        match found.map(|at| judged.swap_remove(at)) {
            Some(Judged::Found(found)) => explanation.found.push(*found),
            _ if judged.iter().any(|one| matches!(one, Judged::Clear)) => explanation.clear.push(first.name.clone()),
            _ => {
                let (why, command) = reason(judged);
                explanation.unjudged.push(UnjudgedRule { rule: first.name.clone(), why, command });
            }
        }
    }
    for found in &mut explanation.found {
        // The advice is about this run, which may not be the last one.
        found.advice = found.advice.replace("{run}", &explanation.run.name);
    }
    explanation
}

/// The rules, for those who read them.
#[must_use]
pub fn rules() -> ExplainRules {
    ExplainRules { rules: rules::all().iter().map(Rule::shown).collect() }
}

/// Every scene of a run, and what the counters see too few of.
fn all_scenes(run: &Run, has_counts: bool) -> (Vec<Scene>, Few) {
    let bounds = Bounds::of(run, has_counts);
    let measured: Vec<Measured<'_>> = cells(run)
        .into_iter()
        .map(|cell| {
            let scene = bounds.scene(&cell);
            (cell, scene)
        })
        .collect();
    let plain: Vec<&Cell<'_>> = measured.iter().map(|(cell, _)| cell).collect();
    let mut all = pairs(&measured, run);
    all.extend(scenes(run, &plain));
    all.extend(curves(run));
    all.extend(distances(run));
    all.extend(figures(measured.iter().map(|(_, scene)| scene), run));
    let mut few = Few::default();
    if has_counts {
        let is_split = run.machine.nodes_per_socket() > 1;
        all.extend(boxes(&plain, is_split));
        few = Few::of(&plain, is_split);
    }
    all.extend(measured.into_iter().map(|(_, scene)| scene));
    (all, few)
}

/// Says of each bandwidth whether a rule named its limiter.
fn mark_limited(all: &mut [Scene], limited: &BTreeSet<String>) {
    let is_rate = |scene: &&mut Scene| matches!(scene.kind, SceneKind::Rate | SceneKind::Mixed | SceneKind::Threads);
    for scene in all.iter_mut().filter(is_rate) {
        let is_named = scene.steps_of(Whose::Own).any(|step| limited.contains(step));
        scene.set_word(LIMIT, if is_named { NAMED } else { OPEN });
    }
}

/// The steps whose rates a rule names the limiter of.
fn names_limiter_of(rule: &Rule, input: &Input<'_>) -> Vec<String> {
    let holds = match (&rule.condition, &rule.figures) {
        (Condition::Holds(holds), _) => holds,
        (Condition::Fails(entry), Some(figures)) if input.run.is_some_and(|run| does_fail(entry, run)) => figures,
        (Condition::Fails(_), _) => return Vec::new(),
    };
    if holds.limited.is_empty() || rule.needs.iter().any(|need| need.lacks(input.machine).is_some()) {
        return Vec::new();
    }
    let steps = holding(holds, input).into_iter();
    let steps = steps.flat_map(|(_, scene)| holds.limited.iter().flat_map(|whose| scene.steps_of(*whose)));
    steps.map(str::to_owned).collect()
}

/// Why no alternative of a rule was judged, and the command whose run would let it be judged: what can be had without
/// counters is said first.
fn reason(judged: Vec<Judged>) -> (Note, Option<String>) {
    let mut reasons: Vec<(Note, Option<String>)> = judged
        .into_iter()
        .filter_map(|one| if let Judged::Unjudged(why, command) = one { Some((why, command)) } else { None })
        .collect();
    let few = reasons.iter().find(|(why, _)| why.code == says::codes::boxes_few).map(|(why, _)| why.to_string());
    // That no scene has a problem says less than why the problem is not known.
    reasons.sort_by_key(|(why, command)| (command.is_none(), why.code == says::codes::not_reported));
    match (reasons.into_iter().next(), few) {
        (Some((_, Some(command))), Some(few)) => (says::otherwise_by(&few, &command), Some(command)),
        (first, _) => first.unwrap_or_else(|| (says::nothing_to_judge(), None)),
    }
}

fn judge(rule: &Rule, input: &Input<'_>) -> Judged {
    if let Some(why) = rule.needs.iter().find_map(|need| need.lacks(input.machine)) {
        return Judged::Unjudged(why, None);
    }
    match &rule.condition {
        Condition::Fails(entry) => match input.run {
            Some(run) => fails(rule, entry, run, input),
            None => Judged::Unjudged(says::nothing_to_judge(), None),
        },
        Condition::Holds(holds) => scene(rule, holds, input),
    }
}

/// A rule that compares numbers of scenes.
fn scene(rule: &Rule, holds: &Holds, input: &Input<'_>) -> Judged {
    let is_judged = is_healthy(holds, input) || input.all.iter().any(|scene| is_otherwise_limited(holds, scene));
    let (mut is_judged, mut missing): (bool, Option<FactName>) = (is_judged, None);
    for scene in input.all.iter().filter(|scene| holds.fits(scene)) {
        // One comparison that fails decides, whatever else is not known.
        match holds.results(scene).collect::<Vec<_>>() {
            results if results.contains(&Some(false)) => is_judged = true,
            results if results.contains(&None) => missing = missing.or_else(|| lacking(holds, scene)),
            _ => {}
        }
    }
    let best = holding(holds, input);
    match (best.split_first(), is_judged) {
        (Some(((_, first), others)), _) => Judged::Found(Box::new(found(rule, holds, first, others))),
        (None, true) => Judged::Clear,
        (None, false) => unjudged(rule, holds, missing, input),
    }
}

/// Whether a rule is about problems that the check-up looked for and did not find.
fn is_healthy(holds: &Holds, input: &Input<'_>) -> bool {
    let found = input.run.and_then(|run| run.problems.as_ref());
    let has_none = |names: &Vec<String>| found.is_some_and(|found| !found.iter().any(|row| names.contains(&row.name)));
    let has_figure = || input.all.iter().any(|scene| scene.kind == holds.of);
    holds.words.get(PROBLEM).is_some_and(has_none) && has_figure()
}

/// Whether a scene is what a rule looks at, and was found to be limited by something else: that decides.
fn is_otherwise_limited(holds: &Holds, scene: &Scene) -> bool {
    let fits = |(key, words): (&String, &Vec<String>)| match key == LIMIT {
        true => scene.word_of(key).is_some_and(|own| !words.iter().any(|word| word == own)),
        false => scene.is_one_of(key, words),
    };
    scene.kind == holds.of && holds.words.contains_key(LIMIT) && holds.words.iter().all(fits)
}

/// Why a rule was not judged: what its scenes lack, or that there is none.
fn unjudged(rule: &Rule, holds: &Holds, missing: Option<FactName>, input: &Input<'_>) -> Judged {
    let is_counted = missing.map_or_else(|| holds.needs_counters(), |name| name.is_counted_in(holds.of));
    // No other run has what this machine does not count.
    if let Some(why) = input.counts.as_ref().filter(|_| is_counted) {
        return Judged::Unjudged(why.clone(), None);
    }
    if let Some(why) = input.few.why(holds.of) {
        return Judged::Unjudged(why.clone(), None);
    }
    let command = rule.command.as_ref().map(|command| with_limits(command, holds, input.machine));
    let why = match (missing, &command) {
        (Some(name), command) => name.unknown(command.as_deref()),
        (None, Some(command)) => says::scene_not_measured(holds.of.absent(), command),
        (None, None) => says::not_reported(holds.of.absent()),
    };
    Judged::Unjudged(why, command)
}

/// A command with the options that state the limits which a rule needs and the machine does not report.
fn with_limits(command: &str, holds: &Holds, machine: &Machine) -> String {
    let names = || holds.all.iter().flat_map(crate::Comparison::names);
    let needs = |option: &str| names().any(|name| name.stated_by() == Some(option) && !name.is_counted_in(holds.of));
    let mut command = command.to_owned();
    for (option, is_known) in
        [(PEAK_OPTION, machine.real_peak().is_some()), (LINK_OPTION, machine.real_link().is_some())]
    {
        if needs(option) && !is_known {
            command.push_str(&format!(" {option} RATE"));
        }
    }
    command
}

/// A number that the comparisons need and a scene lacks.
fn lacking(holds: &Holds, scene: &Scene) -> Option<FactName> {
    holds.all.iter().flat_map(crate::Comparison::names).find(|name| scene.get(**name).is_none()).copied()
}
