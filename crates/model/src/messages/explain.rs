//! Messages of `explain`: why a rule could not be judged.

use super::rows::messages;
use crate::written::count_of;

messages! {
    /// A rule without a subject in the run.
    Note nothing_to_judge(): "the run has nothing that this rule is about";

    /// A rule that needs hardware counters.
    Note no_counts(): "the run has no counts of memory traffic: `tiermark list counters` says what is missing";

    /// Counts that disagree with a stream of known bytes.
    Note counts_wrong(source: &str, why: &str):
        "the counts of {source} are not used: they disagree with a stream of known bytes ({why})";

    /// Counts that were not compared with a stream of known bytes.
    Note counts_unchecked(source: &str):
        "the counts of {source} are not used: the run did not compare them with a stream of known bytes";

    /// Counts of a source that sees a part of the traffic.
    Note counts_partial(source: &str):
        "the counts of {source} are not used: that source sees only a part of the traffic";

    /// A number that is not known at any place.
    Note number_not_known(name: &str, what: &str, command: &str):
        {
            let cure = if command.is_empty() { String::new() } else { format!(": `{command}`") };
            format!("{name} ({what}) is not known for any place of this run, or in doubt{cure}")
        };

    /// The most that something carries is not known.
    Note limit_not_known(what: &str, command: &str):
        "the peak rate of the {what} is not known: state it with `{command}`";

    /// Something that the run did not measure.
    Note scene_not_measured(what: &str, command: &str): "the run has {what}: `{command}`";

    /// Channels or links of a socket that are too few to compare.
    Note boxes_few(seen: u64, what: &str, needed: u64):
        { format!("the counters saw {} of a socket at most, and a comparison needs {needed}", count_of(seen, what)) };

    /// Channels of a split socket whose nodes no source says.
    Note boxes_without_node(): "the counters do not say to which node of its socket a channel belongs";

    /// What another command finds.
    Note otherwise_by(why: &str, command: &str): "{why}; by other means: `{command}`";

    /// Something that neither the run nor its system reports.
    Note not_reported(what: &str): "the run has {what}: its system does not report it, or nothing was measured that \
        shows it";
}
