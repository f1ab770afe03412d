//! Families of figures of hosts, in words.

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
    let (tier, metric) = match rest.split_once('.') {
        Some((place @ ("remote" | "far"), metric)) => (format!("{place} {tier}"), metric),
        _ => (tier, rest),
    };
    match metric {
        "bandwidth.all" => format!("{tier}, all cores"),
        "bandwidth.one" => format!("{tier}, one core"),
        _ => {
            // A figure without a tier has the name of its probe there, with which its quantity may begin too.
            let metric = metric.strip_prefix(&format!("{tier}.")).unwrap_or(metric).replace(['.', '_'], " ");
            format!("{tier} {metric}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_words() {
        for (family, words) in [
            ("dram.bandwidth.all", "DRAM, all cores"),
            ("l3.bandwidth.one", "L3, one core"),
            ("dram.latency", "DRAM latency"),
            ("dram.remote.latency", "remote DRAM latency"),
            ("dram.remote.bandwidth.one", "remote DRAM, one core"),
            ("dram.far.bandwidth.all", "far DRAM, all cores"),
            ("clock", "core clock"),
            ("dram.latency.tail", "DRAM latency tail"),
            ("c2c.c2c.pair", "c2c pair"),
            ("odd", "odd"),
        ] {
            assert_eq!(family_words(family), words);
        }
    }
}
