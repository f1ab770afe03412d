//! Messages of `explain`: why a rule could not be judged.

use super::rows::messages;

messages! {
    /// A rule without a subject in the run.
    Note nothing_to_judge(): "the run has nothing that this rule is about";

    /// A rule that needs hardware counters.
    Note no_counts(): "the run has no counts of memory traffic: `tiermark list counters` says what is missing";

    /// A number that is not known at any place.
    Note number_not_known(name: &str, what: &str): "{name} ({what}) is not known for any place of this run";

    /// The most that something carries is not known.
    Note limit_not_known(what: &str, option: &str):
        "the peak rate of the {what} is not known: state it with `tiermark matrix {option} RATE`";

    /// Something that the run did not measure.
    Note scene_not_measured(what: &str, command: &str): "the run has {what}: `{command}`";
}
