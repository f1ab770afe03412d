//! What the errors of Redis and Valkey servers mean. An error begins with a code; its words differ between versions.

/// The beginning of an error, what it shows, and what to do.
const ERRORS: &[(&str, &str, &str)] = &[
    ("MOVED", CLUSTER, HASH_TAG),
    ("CROSSSLOT", CLUSTER, HASH_TAG),
    ("ASK", "this node of a Redis cluster hands the slot of these keys over to another", LATER),
    ("TRYAGAIN", "this node of a Redis cluster hands the slot of these keys over to another", LATER),
    (
        "CLUSTERDOWN",
        "the Redis cluster of this node serves no keys",
        "see `redis-cli cluster info`: every slot needs a node that is up",
    ),
    (
        "READONLY",
        "the server is a replica, which takes no SET",
        "give the master's address with --target, or send GETs only: --gets 100",
    ),
    ("MASTERDOWN", "the server is a replica that has lost its master", "give the master's address with --target"),
    ("NOREPLICAS", "the server takes SETs only while it has replicas (min-replicas-to-write)", "start its replicas"),
    ("LOADING", "the server is still loading its data", "wait until the server has loaded its data"),
    ("NOAUTH", "the server requires a password", "give --password, or REDISCLI_AUTH in the environment"),
    (
        "DENIED",
        "the server is in protected mode, which serves its own host only",
        "give the server a password (requirepass) and name it with --password, or run the client on its host",
    ),
    (
        "NOPERM",
        "the user may not run the command, or not on these keys (ACL)",
        "give another user with --user, or keys that the user may use with --key-prefix",
    ),
    ("OOM", "the server has reached its maxmemory and may not evict", "use fewer keys (-k) or smaller values (-d)"),
    (
        "MISCONF",
        "the server takes no SET because its last snapshot failed",
        "see the server's log: often its disk is full",
    ),
    ("BUSY", "a slow script blocks the server", "end the script: `redis-cli script kill`"),
    (
        "ERR max number of clients",
        "the server has as many clients as maxclients allows",
        "use fewer connections (-c), or raise maxclients",
    ),
];

const CLUSTER: &str = "the server is a node of a Redis cluster, and another node has the key";
const HASH_TAG: &str = "--key-prefix '{TAG}:' keeps all keys on one node: choose a TAG whose slot (`redis-cli cluster \
    keyslot TAG`) this node has (`redis-cli cluster shards`)";
const LATER: &str =
    "wait until the move has ended, or choose keys of another slot by a hash tag: --key-prefix '{TAG}:'";

fn known(answer: &str) -> Option<(&'static str, &'static str)> {
    let follows = |code: &str| answer.strip_prefix(code).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
    ERRORS.iter().find(|(code, ..)| follows(code)).map(|(_, shows, cure)| (*shows, *cure))
}

/// An error, with what it means.
pub(super) fn explained(answer: &str) -> String {
    known(answer).map_or_else(|| answer.to_owned(), |(shows, cure)| format!("{answer}: {shows}; {cure}"))
}

/// What an error shows.
pub(super) fn shown_by(answer: &str) -> String {
    known(answer)
        .map_or_else(|| format!("the server refuses the command: {answer}"), |(shows, _)| format!("{shows}: {answer}"))
}

/// What to do about an error.
pub(super) fn cure_of(answer: &str) -> &'static str {
    known(answer).map_or("look at the server's settings", |(_, cure)| cure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_explained_by_its_code() {
        let moved = explained("MOVED 15891 10.37.32.67:6381");
        assert!(moved.contains("a node of a Redis cluster") && moved.contains("--key-prefix '{TAG}:'"), "{moved}");
        assert!(explained("ASK 3999 127.0.0.1:6381").contains("hands the slot"));
        assert!(explained("READONLY You can't write against a read only replica.").contains("--gets 100"));
        assert!(explained("-ERR max number of clients reached".trim_start_matches('-')).contains("maxclients"));
        for other in ["ERR unknown command", "ASKED", "", "WRONGTYPE Operation against a key"] {
            assert_eq!(explained(other), other);
            assert!(shown_by(other).starts_with("the server refuses the command"));
        }
        assert_eq!(cure_of("CLUSTERDOWN The cluster is down"), cure_of("CLUSTERDOWN Hash slot not served"));
    }
}
