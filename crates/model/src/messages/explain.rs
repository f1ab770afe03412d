//! Messages of `explain`: why a rule could not be judged.

use super::rows::messages;
use crate::written::count_of;

messages! {
    Note nothing_to_judge(): "the run has nothing that this rule is about";

    Note no_counts(): "the run has no counts of memory traffic: `tiermark list counters` says what is missing";

    Note counts_wrong(source: &str, why: &str):
        "the counts of {source} are not used: they disagree with a stream of known bytes ({why})";

    Note counts_unchecked(source: &str):
        "the counts of {source} are not used: the run did not compare them with a stream of known bytes";

    Note counts_partial(source: &str):
        "the counts of {source} are not used: that source sees only a part of the traffic";

    Note number_not_known(name: &str, what: &str, command: &str):
        {
            let cure = if command.is_empty() { String::new() } else { format!(": `{command}`") };
            format!("{name} ({what}) is not known for any place of this run, or in doubt{cure}")
        };

    Note limit_not_known(what: &str, command: &str):
        "the peak rate of the {what} is not known: state it with `{command}`";

    Note scene_not_measured(what: &str, command: &str): "the run has {what}: `{command}`";

    Note boxes_few(seen: u64, what: &str, needed: u64):
        { format!("the counters saw {} of a socket at most, and a comparison needs {needed}", count_of(seen, what)) };

    Note boxes_without_node(): "the counters do not say to which node of its socket a channel belongs";

    Note otherwise_by(why: &str, command: &str): "{why}; by other means: `{command}`";

    Note not_reported(what: &str): "the run has {what}: its system does not report it, or nothing was measured that \
        shows it";
}
