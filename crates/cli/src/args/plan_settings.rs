//! Options of experiments that `run` takes for a whole plan.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use crate::experiments;

/// The options of experiments that built-in plans recommend. Their probes define them.
const OPTIONS: [&str; 3] = ["peak", "link-rate", "touch-cpu"];

/// Options for all experiments of a plan that take them, each with its value. The experiments read the values.
#[derive(Debug)]
pub(crate) struct PlanSettings {
    given: Vec<(&'static str, String)>,
}

impl PlanSettings {
    /// The options that are given, each with its value.
    pub(crate) fn given(&self) -> Vec<(&'static str, &str)> {
        self.given.iter().map(|(name, value)| (*name, value.as_str())).collect()
    }
}

impl Args for PlanSettings {
    fn augment_args(command: Command) -> Command {
        // What else an option has, such as its parser and its conflicts, its experiment applies.
        let of_run = |name: &'static str| {
            let known = experiments::option(name).unwrap_or_else(|| Arg::new(name));
            let arg = Arg::new(name).long(name).hide_short_help(true);
            let arg = arg.value_names(known.get_value_names().unwrap_or_default().iter().cloned());
            let arg = known.get_help().into_iter().fold(arg, |arg, help| arg.help(help.clone()));
            known.get_long_help().into_iter().fold(arg, |arg, help| arg.long_help(help.clone()))
        };
        command.args(OPTIONS.map(of_run))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for PlanSettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |name| Some((name, matches.get_one::<String>(name)?.clone()));
        Ok(Self { given: OPTIONS.into_iter().filter_map(given).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_defines_each_option() {
        for name in OPTIONS {
            let option = experiments::option(name).expect("an experiment has it");
            assert!(option.get_help().is_some() && option.get_value_names().is_some(), "{name}");
        }
    }
}
