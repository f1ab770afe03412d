//! Mistakes in files that people write. Each stands behind the key that it is about.

use super::rows::messages;
use crate::{near, nearest};

messages! {
    /// A line that is not TOML, in the words of its parser.
    Note not_toml(problem: &str): "{problem}";

    /// A list without its end.
    Note list_unclosed(): "a list is not closed: add ] at the end of this line or of a line above it";

    /// A mistake that only the reader of the type describes, in its words.
    Note value_refused(problem: &str): "{problem}";

    /// A key that the file does not have, with those that it has at this place.
    Note key_unknown(name: &str, known: &[&str]): { format!("unknown key{}", suggestion(name, known)) };

    /// A word that is none of a choice.
    Note choice_unknown(word: &str, known: &[&str]): { format!("'{word}' is not possible{}", suggestion(word, known)) };

    /// A value of another type; `example`: such a value as TOML, where one is known.
    Note type_wrong(wanted: &str, example: Option<&str>, found: &str):
        {
            let example = example.map_or_else(String::new, |example| format!(" such as {example}"));
            format!("{wanted}{example} is wanted, not {found}")
        };

    /// A key without which a table means nothing.
    Note key_missing(): "is missing";

    /// A text without a character.
    Note text_empty(): "is empty";

    /// A number outside its range.
    Note number_out_of_range(value: f64, least: f64, most: f64): "{value} is out of range: write {least} to {most}";

    /// A list with the same thing twice.
    Note listed_twice(what: &str): "{what} is listed twice";

    /// A value that is no text.
    Note text_wanted(): "write a text in quotes";

    /// A flag of a command with another value than a flag has.
    Note flag_wanted(): "write true or false, without quotes";

    /// A list without items, where the key could be left out.
    Note list_empty(): "the list is empty: name one at least, or leave the key out";

    /// A list of other things than an option takes.
    Note list_items_wrong(): "write a list of texts in quotes, or of numbers";

    /// A value that no option takes.
    Note option_value_wrong(): "write a text in quotes, a number, or a list of them";

    /// A value that the option of the key does not take, in the words of its parser.
    Note option_refused(value: &str, problem: &str):
        // Some reasons quote the value themselves.
        { if problem.contains(&format!("'{value}'")) { problem.to_owned() } else { format!("'{value}': {problem}") } };

    /// A value that is none of those that an option has.
    Note option_choice_unknown(value: &str, possible: Option<&str>):
        {
            match (value, possible) {
                ("", _) => "the value is empty".to_owned(),
                (value, Some(possible)) => format!("'{value}' is not one of {possible}"),
                (value, None) => format!("'{value}' is not possible"),
            }
        };

    /// Two keys that exclude each other.
    Note keys_conflict(other: Option<&str>):
        { format!("it cannot be combined with {}", other.unwrap_or("another key")) };

    /// A command that measures nothing.
    Note no_experiment(): "an experiment of a plan needs a probe; name one (`tiermark list probes`)";

    /// A key of the plan itself that it does not have.
    Note plan_key_unknown(name: &str, known: &[&str]):
        {
            match near(name, known) {
                Some(_) => format!("unknown key{}", nearest(name, known)),
                // Tables are no place for keys of the plan, which then belong to the one above them.
                None => "unknown key; a plan has name, title, about, machine and [[experiment]]".to_owned(),
            }
        };

    /// A plan without its name or title.
    Note plan_lacks(key: &str): "the plan has none; write {key} = \"...\" at its top";

    /// A plan that measures nothing.
    Note plan_without_experiments(): "the plan has none: write one [[experiment]] at least, with a probe";

    /// Experiments in another form than a list of tables.
    Note experiment_no_table(): "write each experiment as [[experiment]]";

    /// An option that is not one of an experiment.
    Note option_of_the_run(option: &str): "belongs to the whole run: `tiermark run PLAN --{option}`";

    /// An experiment without a probe.
    Note probe_missing(): "the experiment has none; write probe = \"latency\"";

    /// The name of a probe under another key.
    Note probe_under_another_key(probe: &str): "the key is probe; write probe = \"{probe}\"";

    /// A probe that this program does not have.
    Note no_such_probe(probe: &str, known: &[&str]):
        { format!("there is no probe '{probe}'{}; `tiermark list probes` shows all", nearest(probe, known)) };

    /// A key that the experiments of a probe do not have.
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
