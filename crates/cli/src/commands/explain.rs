//! `tiermark explain`: what limits a saved run, what costs, and what is wrong with its machine.

use tiermark_explain::{explain, rules};
use tiermark_model::{EXPLAIN_RULES_SCHEMA, EXPLANATION_SCHEMA, Exit, ExplainRules, nearest};

use crate::args::compare::ExplainArgs;
use crate::kept::run_of_probes;
use crate::output::{Failure, complain, document, print, style};

/// Runs the command.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    if let Some(name) = &args.rules {
        let rules = named(rules(), name.as_deref())?;
        let text = if args.json {
            document(EXPLAIN_RULES_SCHEMA, &rules)?
        } else {
            tiermark_report::explain_rules(&rules, &style(&args.view))
        };
        return print(&text).map(|()| Exit::Done);
    }
    let run = run_of_probes(&args.run)?;
    let found = explain(&args.run, &run);
    let text = if args.json {
        document(EXPLANATION_SCHEMA, &found)?
    } else {
        tiermark_report::explanation(&found, &style(&args.view))
    };
    let exit = if found.is_empty() {
        complain("no rule could be judged: measure memory (`tiermark survey`, `tiermark matrix`)");
        Exit::Refused
    } else {
        Exit::Done
    };
    match print(&text) {
        // A reader that closed the pipe has not seen all of it, and the result is as it was.
        Ok(()) | Err(Failure::BrokenPipe) => Ok(exit),
        Err(failure) => Err(failure),
    }
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
