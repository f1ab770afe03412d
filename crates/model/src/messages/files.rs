//! Mistakes in files that people write. Each stands behind the key that it is about.

use super::rows::messages;
use crate::{near, nearest};

messages! {
    Note not_toml(problem: &str): "{problem}";

    Note list_unclosed(): "a list is not closed: add ] at the end of this line or of a line above it";

    Note value_refused(problem: &str): "{problem}";

    Note key_unknown(name: &str, known: &[&str]): { format!("unknown key{}", suggestion(name, known)) };

    Note choice_unknown(word: &str, known: &[&str]): { format!("'{word}' is not possible{}", suggestion(word, known)) };

    /// A value of another type; `example`: such a value as TOML, where one is known.
    Note type_wrong(wanted: &str, example: Option<&str>, found: &str):
        {
            let example = example.map_or_else(String::new, |example| format!(" such as {example}"));
            format!("{wanted}{example} is wanted, not {found}")
        };

    Note key_missing(): "is missing";

    Note text_empty(): "is empty";

    Note number_out_of_range(value: f64, least: f64, most: f64): "{value} is out of range: write {least} to {most}";

    Note listed_twice(what: &str): "{what} is listed twice";

    Note text_wanted(): "write a text in quotes";

    Note flag_wanted(): "write true or false, without quotes";

    Note list_empty(): "the list is empty: name one at least, or leave the key out";

    Note list_items_wrong(): "write a list of texts in quotes, or of numbers";

    Note option_value_wrong(): "write a text in quotes, a number, or a list of them";

    Note option_refused(value: &str, problem: &str):
        // Some reasons quote the value themselves.
        { if problem.contains(&format!("'{value}'")) { problem.to_owned() } else { format!("'{value}': {problem}") } };

    Note option_choice_unknown(value: &str, possible: Option<&str>):
        {
            match (value, possible) {
                ("", _) => "the value is empty".to_owned(),
                (value, Some(possible)) => format!("'{value}' is not one of {possible}"),
                (value, None) => format!("'{value}' is not possible"),
            }
        };

    Note keys_conflict(other: Option<&str>):
        { format!("it cannot be combined with {}", other.unwrap_or("another key")) };

    Note no_experiment(): "an experiment of a plan needs a probe; name one (`tiermark list probes`)";

    Note plan_key_unknown(name: &str, known: &[&str]):
        {
            match near(name, known) {
                Some(_) => format!("unknown key{}", nearest(name, known)),
                // Tables are no place for keys of the plan, which then belong to the one above them.
                None => "unknown key; a plan has name, title, about, machine and [[experiment]]".to_owned(),
            }
        };

    Note plan_lacks(key: &str): "the plan has none; write {key} = \"...\" at its top";

    Note plan_without_experiments(): "the plan has none: write one [[experiment]] at least, with a probe";

    Note experiment_no_table(): "write each experiment as [[experiment]]";

    Note option_of_the_run(option: &str): "belongs to the whole run: `tiermark run PLAN --{option}`";

    Note no_experiment_takes(option: &str, probes: &[&str]):
        {
            let commands: Vec<String> = probes.iter().map(|probe| format!("`tiermark {probe} --{option}`")).collect();
            format!("no experiment of the plan takes it; {} does", commands.join(" or "))
        };

    Note experiments_have_their_own(): "each experiment of the plan sets its own; `tiermark plan show PLAN --toml > \
        mine.toml` writes the plan as a file to change";

    Note probe_missing(): "the experiment has none; write probe = \"latency\"";

    Note probe_under_another_key(probe: &str): "the key is probe; write probe = \"{probe}\"";

    Note no_such_probe(probe: &str, known: &[&str]):
        { format!("there is no probe '{probe}'{}; `tiermark list probes` shows all", nearest(probe, known)) };

    Note probe_key_unknown(name: &str, probe: &str, known: &[&str]):
        {
            match near(name, known) {
                Some(_) => format!("unknown key{}", nearest(name, known)),
                None => format!("unknown key; those of {probe} are {}", known.join(", ")),
            }
        };
}

/// The nearest of some words, or else all of them.
fn suggestion(word: &str, known: &[&str]) -> String {
    match near(word, known) {
        Some(_) => nearest(word, known),
        None => format!("; possible are {}", known.join(", ")),
    }
}
