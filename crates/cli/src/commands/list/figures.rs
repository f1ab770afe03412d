//! The figures that alerts of `watch` can name: each with what the schema of a sample says of its fields.

use serde_json::Value;
use tiermark_model::{WatchFigure, watch_names};
use tiermark_report::listings::FigureLine;

/// The committed schema of a sample, whose descriptions are the comments of its fields.
const SCHEMA: &str = include_str!("../../../../../schema/watch-1.json");
/// The group of a number of the sample itself.
const OF_THE_SAMPLE: &str = "The sample";

/// Every figure by the field of a sample that it is below, and by name: a figure stands before what it is compared
/// with.
pub(super) fn all() -> Vec<FigureLine> {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap_or_default();
    let line = |(name, figure): (String, WatchFigure)| {
        let mut about = match figure.about_traffic() {
            Some(about) => about.map(str::to_owned).to_vec(),
            None => about(&figure, &schema),
        };
        let group = if about.len() > 1 { about.remove(0) } else { OF_THE_SAMPLE.to_owned() };
        FigureLine { unit: figure.kind.unit(), name, group, about }
    };
    let mut figures: Vec<_> = watch_names().into_iter().map(|figure| (figure.short_name(), figure)).collect();
    figures.sort_by(|(a, one), (b, other)| (one.path.first(), a).cmp(&(other.path.first(), b)));
    figures.into_iter().map(line).collect()
}

/// What the fields that lead to a figure are, the outermost first.
fn about(figure: &WatchFigure, schema: &Value) -> Vec<String> {
    let mut at = schema;
    let mut said: Vec<String> = Vec::new();
    for field in &figure.path {
        let own = &at["properties"][field];
        said.extend(own["description"].as_str().map(first_clause));
        at = target(own, schema);
    }
    // The first heads a group, the second begins a line.
    said.iter_mut().skip(2).for_each(|text| *text = within(text));
    said
}

/// The object that a field holds, or that the items of its list are.
fn target<'a>(field: &'a Value, schema: &'a Value) -> &'a Value {
    let item = field.get("items").unwrap_or(field);
    let one = item["anyOf"].as_array().and_then(|any| any.iter().find(|one| one.get("$ref").is_some()));
    let name = one.unwrap_or(item)["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
    name.map_or(item, |name| &schema["$defs"][name])
}

/// The first sentence of a description, without what is said of absent values.
fn first_clause(text: &str) -> String {
    let text = text.replace('\n', " ");
    let end = [". ", "; "].into_iter().filter_map(|sign| text.find(sign)).min().unwrap_or(text.len());
    text[..end].trim_end_matches('.').to_owned()
}

/// The same text where a sentence goes on. Abbreviations keep their letters.
fn within(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), text.chars().nth(1)) {
        (Some(first), Some(second)) if !second.is_uppercase() => first.to_lowercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_says_what_it_is() {
        let all = all();
        let about = |name: &str| {
            let line = all.iter().find(|line| line.name == name).unwrap_or_else(|| panic!("{name}"));
            (line.group.as_str(), line.about.join("; "))
        };
        for line in &all {
            assert!(line.about.iter().all(|text| !text.is_empty() && !text.contains("`None`")), "{line:?}");
        }
        for (name, group, text) in [
            ("seconds", OF_THE_SAMPLE, "Seconds since the sample before, which its rates are over"),
            ("cpu.steal", "Use of the cpus", "Given by the hypervisor to others"),
            ("nodes.0.free_bytes", "NUMA nodes", "Memory that holds nothing"),
            ("traffic.read_bytes", "Traffic of all memory", "bytes read"),
            (
                "pings.NAME",
                "What this machine gives now, as short measurements see it (`--active`)",
                "Pairs of cpus that answer each other; time of a round trip between them, ns",
            ),
        ] {
            assert_eq!(about(name), (group, text.to_owned()), "{name}");
        }
    }
}
