//! Probes that had another name in plans, documents and records that are kept.

/// What a probe was called before, the oldest name first, and what it is called now.
const RENAMED: [(&str, &str); 1] = [("loaded", "loaded-latency")];

/// What the probe with this id was called before, the oldest name first.
pub fn former_probe_ids(id: &str) -> impl Iterator<Item = &'static str> {
    RENAMED.iter().filter(move |(_, now)| *now == id).map(|(before, _)| *before)
}

/// What the probe is called now that has this id, or had it before.
pub fn present_probe_id(id: &str) -> &str {
    RENAMED.iter().find(|(before, _)| *before == id).map_or(id, |(_, now)| now)
}
