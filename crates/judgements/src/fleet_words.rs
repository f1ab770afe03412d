//! The words of hosts that are judged by their peers, which a text and a page share.

use tiermark_model::HostCause;

/// A family of figures in words, from its name in documents: `dram.bandwidth.all` is "DRAM, all cores".
#[must_use]
pub fn family_words(family: &str) -> String {
    let Some((tier, rest)) = family.split_once('.') else {
        return if family == "clock" { "core clock".to_owned() } else { family.to_owned() };
    };
    let tier = match tier {
        "dram" | "l1" | "l2" | "l3" | "l4" => tier.to_uppercase(),
        _ => tier.to_owned(),
    };
    let (place, metric) = match rest.split_once('.') {
        Some(("remote", metric)) => (" of another node", metric),
        Some(("far", metric)) => (" of a node without cpus", metric),
        _ => ("", rest),
    };
    match metric {
        "bandwidth.all" => format!("{tier}{place}, all cores"),
        "bandwidth.one" => format!("{tier}{place}, one core"),
        "latency" if place.is_empty() => format!("{tier} latency"),
        _ => {
            // A figure without a tier has the name of its probe there, with which its quantity may begin too.
            let metric = metric.strip_prefix(&format!("{tier}.")).unwrap_or(metric).replace(['.', '_'], " ");
            format!("{tier}{place}{} {metric}", if place.is_empty() { "" } else { "," })
        }
    }
}

/// Why a host is odd: the fact with the value that its peers have, or what the figures point to.
#[must_use]
pub fn cause_words(cause: &HostCause) -> String {
    let Some((fact, value)) = cause.fact.zip(cause.value.as_deref()) else { return cause.finding.clone() };
    let peers = cause.peers.as_ref().map_or_else(String::new, |peers| format!(", peers {peers}"));
    format!("{} {value}{peers}", fact.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Confidence, Fact};

    #[test]
    fn families_have_words() {
        for (family, words) in [
            ("dram.bandwidth.all", "DRAM, all cores"),
            ("l3.bandwidth.one", "L3, one core"),
            ("dram.latency", "DRAM latency"),
            ("dram.remote.latency", "DRAM of another node, latency"),
            ("dram.remote.bandwidth.one", "DRAM of another node, one core"),
            ("dram.far.bandwidth.all", "DRAM of a node without cpus, all cores"),
            ("clock", "core clock"),
            ("dram.latency.tail", "DRAM latency tail"),
            ("c2c.c2c.pair", "c2c pair"),
            ("odd", "odd"),
        ] {
            assert_eq!(family_words(family), words);
        }
    }

    #[test]
    fn a_cause_names_what_the_peers_have() {
        let of = |fact: Option<Fact>, peers: Option<&str>| {
            let (value, peers) = (fact.map(|_| "15 of 16".to_owned()), peers.map(str::to_owned));
            let (finding, confidence) = ("slow".to_owned(), Confidence::Hint);
            cause_words(&HostCause {
                rule: String::new(),
                fact,
                value,
                peers,
                finding,
                hint: None,
                advice: String::new(),
                confidence,
            })
        };
        assert_eq!(of(Some(Fact::Slots), Some("16 of 16")), "DIMM slots filled 15 of 16, peers 16 of 16");
        assert_eq!((of(Some(Fact::Slots), None), of(None, None)), ("DIMM slots filled 15 of 16".into(), "slow".into()));
    }
}
