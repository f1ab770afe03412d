//! `tiermark explain`: what limits a saved run, what costs, and what is wrong with its machine.

use tiermark_expect::explain::{explain, explain_capacity, explain_load, rests_on_figures, rules};
use tiermark_history::Entry;
use tiermark_model::{
    ComparedRun, EXPLAIN_RULES_SCHEMA, EXPLANATION_SCHEMA, Exit, ExplainRules, Explanation, count_of, nearest,
};

use crate::args::compare::ExplainArgs;
use crate::output::{Failure, complain, show, tell, whoever_reads};
use crate::saved::{self, Kept, SavedDocument};

/// Runs the command.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    if let Some(name) = &args.rules {
        let rules = named(rules(), name.as_deref())?;
        let page = |rules: &ExplainRules, _| tiermark_report::judgements::explain_rules(rules);
        return show(&rules, args.json, EXPLAIN_RULES_SCHEMA, &args.view, page).map(|()| Exit::Done);
    }
    let found = match &args.run {
        Some(name) => explained(name)?,
        None => newest()?,
    };
    let exit = if found.is_empty() {
        complain(
            "no rule could be judged: measure memory (`tiermark survey`, `tiermark matrix`) or tenants (`tiermark \
                capacity`)",
        );
        Exit::Refused
    } else {
        Exit::Done
    };
    whoever_reads(
        show(&found, args.json, EXPLANATION_SCHEMA, &args.view, tiermark_report::judgements::explanation),
        exit,
    )
}

/// A document explained, by what a user calls it.
fn explained(name: &str) -> Result<Explanation, Failure> {
    Ok(match SavedDocument::load(name)? {
        SavedDocument::Run(run) => explain(name, &run),
        SavedDocument::Other(Kept::Capacity(run)) => explain_capacity(name, &run),
        SavedDocument::Other(Kept::Load(run)) => explain_load(name, &run),
    })
}

/// Runs that are looked at: older ones are of another day.
const NEWEST: usize = 20;

/// The newest run with figures that rules are about; the last one, where there is none.
fn newest() -> Result<Explanation, Failure> {
    let all = saved::all()?;
    for (at, (_, Entry { id, path, .. })) in all.iter().take(NEWEST).enumerate() {
        // A document that cannot be read is no reason to explain none.
        let Ok(found) = explained(&path.display().to_string()) else { continue };
        if rests_on_figures(&found) {
            saved::tell_of_newer(all.first().map(|(_, newest)| newest));
            if at > 0 {
                let newer = count_of(at as u64, "newer run");
                tell(format_args!("tiermark: explaining {id}; {newer} skipped: no rule uses their figures"));
            }
            return Ok(Explanation { run: ComparedRun { name: id.clone(), ..found.run }, ..found });
        }
    }
    explained("last")
}

/// The rules of a name, which are alternatives; all of them without a name.
fn named(all: ExplainRules, name: Option<&str>) -> Result<ExplainRules, Failure> {
    let Some(name) = name else { return Ok(all) };
    let names: Vec<&str> = all.rules.iter().map(|rule| rule.name.as_str()).collect();
    if !names.contains(&name) {
        return Err(Failure::usage(format!(
            "--rules '{name}': no rule has that name{}; `tiermark explain --rules` prints all, and a run stands alone: \
             tiermark explain RUN",
            nearest(name, &names)
        )));
    }
    Ok(ExplainRules { rules: all.rules.into_iter().filter(|rule| rule.name == name).collect() })
}
