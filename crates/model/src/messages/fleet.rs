//! What is to be known of the documents of many hosts.

use super::rows::messages;
use crate::{count_of, family_words};

messages! {
    /// A host that has too few peers.
    Note few_peers(hosts: u64, fewest: u64):
        { format!("{} of its kind: {fewest} are needed to judge one by the others", count_of(hosts, "host")) };

    /// A host of which too few figures can be held against those of its peers.
    Note few_figures(judged: u64, of: u64):
        "{judged} of {of} figures of its peers are trusted here and comparable with theirs";

    /// A host of which no latency, or no bandwidth, of local memory can be held against those of its peers.
    Note no_figure_of_memory(latency: bool, bandwidth: bool):
        {
            let what = match (latency, bandwidth) {
                (true, true) => "neither latency nor bandwidth of local memory",
                (true, false) => "no latency of local memory",
                _ => "no bandwidth of local memory",
            };
            format!("{what} could be compared with its peers': not measured, or neither trusted nor shared")
        };

    /// Families of figures that no host was judged in.
    Note nobody_judged(families: &[&str]):
        {
            const NAMED: usize = 6;
            let more = families.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let words: Vec<String> = families.iter().take(NAMED).map(|family| family_words(family)).collect();
            format!("no host was judged in {}{more}", words.join("; "))
        };

    /// A host whose figures were measured under another setting; `value`: its setting.
    Note other_setting(fact: &str, value: &str, peers: &str):
        "{fact} {value}, peers {peers}: its figures are not comparable";

    /// Older documents of a host; the newest counts.
    Note older_documents(host: &str, used: &str, older: &[String]):
        { format!("{host}: the newest of {} documents counts, {used}; not {}", older.len() + 1, older.join(", ")) };

    /// Files whose documents have one name of a host.
    Note name_of_several(host: &str):
        "several files name their host '{host}': each counts as a host with the name of its file (`--label host=NAME`)";

    /// A host that has both a document and a row of a failure.
    Note failed_and_measured(host: &str, used: &str):
        "{host}: it has a document and a failure; the newer one counts, {used}";

    /// A host whose clock disagrees with those of the others; `started`: what its document says.
    Note other_clock(host: &str, started: &str):
        "{host}: its document was started at {started}, more than a day after the documents of all others: check its clock";

    /// Documents of machines that are not there.
    Note simulated(hosts: u64):
        { format!("SIMULATED: the numbers of {} are from a model, nothing was measured", count_of(hosts, "host")) };

    /// A run that was ended early, or lacks numbers.
    Note incomplete(host: &str):
        "{host}: its run was ended early, or lacks requested numbers";

    /// A host that is odd only at a less strict level. `family`: the one that is worse; `percent`: how it differs.
    Note nearly_odd(host: &str, family: &str, percent: f64):
        { format!("{host}: nearly odd, {family} {percent:+.1} % from its peers: measure this host again") };

    /// An expected name that is that of a host but for its domain, where another host or name may be meant too.
    Note domain_unclear(host: &str, like: &[&str]):
        {
            let like = like.join(", ");
            format!("{host}: expected; {like} may be this host or another: give --hosts the names in the documents")
        };

    /// A host that was not measured before the change.
    Note not_before(): "no document from before the change";
}
