//! Plans: experiments composed in a file. A built-in plan is one file in `plans/` and one row here.

mod file;
mod keys;
mod published;

use std::path::Path;

pub(crate) use file::{PlanFile, Planned, read};
pub(crate) use keys::page as keys;

use crate::names::nearest;
use crate::output::Failure;

/// The built-in plans, in the order they are listed.
const BUILT_IN: [(&str, &str); 7] = [
    ("quick", include_str!("../../plans/quick.toml")),
    ("standard", include_str!("../../plans/standard.toml")),
    ("full", include_str!("../../plans/full.toml")),
    ("link-saturation", include_str!("../../plans/link-saturation.toml")),
    ("placement-matrix", include_str!("../../plans/placement-matrix.toml")),
    ("hierarchy", include_str!("../../plans/hierarchy.toml")),
    ("numa-latency", include_str!("../../plans/numa-latency.toml")),
];

/// The texts of the built-in plans, by name.
pub(crate) fn built_in() -> &'static [(&'static str, &'static str)] {
    &BUILT_IN
}

/// The text of a built-in plan or of a file.
///
/// # Errors
/// A [`Failure`] of usage for a name that is neither, or a file that cannot be read.
pub(crate) fn text(name: &str) -> Result<String, Failure> {
    if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return Ok((*text).to_owned());
    }
    let path = Path::new(name);
    let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    if !path.exists() && path.extension().is_none() {
        return Err(Failure::usage(format!(
            "there is no plan '{name}'{}; built in are {}, or give a file",
            nearest(name, &names),
            names.join(", ")
        )));
    }
    tiermark_history::config::text_of(path)
        .map_err(|e| Failure::usage(format!("the plan '{name}' cannot be read: {e}")))
}

/// Loads a built-in plan or a file, with other options for the experiments that take them and do not set their own.
///
/// # Errors
/// A [`Failure`] of usage that names file, line and key of every mistake, and each option that no experiment takes.
pub(crate) fn load(name: &str, settings: &[(&str, &str)]) -> Result<PlanFile, Failure> {
    let message = |mistake: tiermark_history::config::Mistake| match mistake.line {
        0 => format!("plan {name}: {mistake}"),
        _ => format!("plan {name}, {mistake}"),
    };
    read(&text(name)?, settings).map_err(|mistakes| Failure::Mistakes(mistakes.into_iter().map(message).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Exit;

    #[test]
    fn every_built_in_plan_is_one() {
        for (name, text) in BUILT_IN {
            let plan = read(text, &[]).unwrap_or_else(|mistakes| panic!("{name}: {mistakes:?}"));
            assert_eq!(plan.name, name);
            assert!(!plan.title.is_empty() && plan.about.len() > 100, "{name} explains itself");
        }
    }

    #[test]
    fn a_plan_that_is_not_there_is_told_with_those_that_are() {
        let Err(Failure::Exit(Exit::Usage, text)) = load("hierachy", &[]) else { panic!("found") };
        assert!(text.contains("'hierarchy'") && text.contains("numa-latency"), "{text}");
        assert!(matches!(load("no/such/file.toml", &[]), Err(Failure::Exit(Exit::Usage, _))));
    }
}
