//! The figures that others published, as a plan file has them.

use tiermark_history::config::Mistakes;
use tiermark_model::messages::files as says;
use tiermark_model::{Label, Labels, Metric, Published, PublishedFigure, PublishedPoint, parse_size};
use toml::Spanned;
use toml::de::DeValue;

use super::keys::string;

/// The key of a plan, and the list of figures in it.
pub(super) const PUBLISHED: &str = "published";
const FIGURE: &str = "figure";
const KEYS: [&str; 7] = ["by", "lines", "name", "points", "unit", "value", "with"];

/// Units of published figures: the metric, and the factor to its base unit.
const UNITS: [(&str, Metric, f64); 6] = [
    ("ns", Metric::Latency, 1.0),
    ("us", Metric::Latency, 1e3),
    ("ms", Metric::Latency, 1e6),
    ("MB/s", Metric::Bandwidth, 1e6),
    ("GB/s", Metric::Bandwidth, 1e9),
    ("GiB/s", Metric::Bandwidth, (1u64 << 30) as f64),
];

/// The figures under the key; `None` after a mistake.
pub(super) fn read(mistakes: &mut Mistakes<'_>, value: &Spanned<DeValue<'_>>) -> Option<Published> {
    let DeValue::Table(table) = value.get_ref() else {
        mistakes.add_at(&value.span(), PUBLISHED, says::type_wrong("a table", Some("[published]"), "a value"));
        return None;
    };
    let before = mistakes.count();
    let (mut machine, mut figures) = (None, Vec::new());
    for (key, value) in table {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("machine", value) => machine = string(value),
            (FIGURE, DeValue::Array(list)) => {
                figures = list.iter().filter_map(|figure| one(mistakes, figure)).collect();
            }
            (other, _) => mistakes.add_at(&key.span(), other, says::key_unknown(other, &[FIGURE, "machine"])),
        }
    }
    if machine.is_none() {
        mistakes.add_at(&value.span(), "published.machine", says::key_missing());
    }
    (mistakes.count() == before).then(|| Published { machine: machine.unwrap_or_default(), figures })
}

/// One figure, or the points of one.
fn one(mistakes: &mut Mistakes<'_>, value: &Spanned<DeValue<'_>>) -> Option<PublishedFigure> {
    let DeValue::Table(table) = value.get_ref() else {
        mistakes.add_at(&value.span(), FIGURE, says::type_wrong("a table", Some("[[published.figure]]"), "a value"));
        return None;
    };
    let before = mistakes.count();
    for (key, _) in table.iter().filter(|(key, _)| !KEYS.contains(&key.get_ref().as_ref())) {
        mistakes.add_at(&key.span(), key.get_ref().as_ref(), says::key_unknown(key.get_ref(), &KEYS));
    }
    let get = |name: &str| table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value);
    let mut text = |name: &'static str| {
        let text = get(name).and_then(|value| string(value.get_ref()));
        if text.is_none() {
            mistakes.add_at(&value.span(), name, says::text_wanted());
        }
        text
    };
    let (name, unit) = (text("name")?, text("unit")?);
    let Some((_, metric, factor)) = UNITS.iter().find(|(known, ..)| *known == unit) else {
        mistakes.add_at(&value.span(), "unit", says::choice_unknown(&unit, &UNITS.map(|(known, ..)| known)));
        return None;
    };
    let labels = get("with").and_then(|with| labels(with.get_ref()));
    let lines = get("lines").is_some_and(|lines| matches!(lines.get_ref(), DeValue::Boolean(true)));
    let by = get("by").and_then(|by| string(by.get_ref()));
    let points = match (get("value"), get("points"), &by) {
        (Some(value), None, None) => number(value.get_ref()).map(|value| vec![(None, value)]),
        (None, Some(points), Some(_)) => points_of(points.get_ref()),
        _ => None,
    };
    let example = "value = 1.5, or by = \"size\" with points = [[\"4K\", 1.5], [\"8K\", 2.5]]";
    if points.is_none() {
        mistakes.add_at(
            &value.span(),
            "points",
            says::type_wrong("a number or a list of points", Some(example), "this"),
        );
    }
    if labels.is_none() {
        let example = Some("with = { op = \"read\", threads = 1 }");
        mistakes.add_at(&value.span(), "with", says::type_wrong("a table of labels", example, "this"));
    }
    let point = |(at, value): (Option<u64>, f64)| PublishedPoint { at, value: value * factor };
    let points = points?.into_iter().map(point).collect();
    (mistakes.count() == before).then_some(PublishedFigure {
        name,
        metric: *metric,
        labels: labels?,
        by,
        lines,
        points,
    })
}

/// Labels: words and whole numbers.
fn labels(value: &DeValue<'_>) -> Option<Labels> {
    let DeValue::Table(table) = value else { return None };
    table
        .iter()
        .try_fold(Labels::new(), |labels, (key, value)| Some(labels.with_named(key.get_ref(), label(value.get_ref())?)))
}

fn label(value: &DeValue<'_>) -> Option<Label> {
    match value {
        DeValue::Integer(_) => whole(value).map(Label::Whole),
        _ => string(value).map(Label::Text),
    }
}

/// Pairs of a coordinate and a value: the coordinate is a size, or a whole number.
fn points_of(value: &DeValue<'_>) -> Option<Vec<(Option<u64>, f64)>> {
    let DeValue::Array(list) = value else { return None };
    let point = |point: &Spanned<DeValue<'_>>| {
        let DeValue::Array(pair) = point.get_ref() else { return None };
        let [at, value] = &pair[..] else { return None };
        let at = whole(at.get_ref()).or_else(|| Some(parse_size(&string(at.get_ref())?).ok()?.0))?;
        Some((Some(at), number(value.get_ref())?))
    };
    list.iter().map(point).collect()
}

fn whole(value: &DeValue<'_>) -> Option<u64> {
    let DeValue::Integer(whole) = value else { return None };
    u64::from_str_radix(whole.as_str(), whole.radix()).ok()
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    let value = match value {
        DeValue::Integer(_) => whole(value)? as f64,
        DeValue::Float(float) => float.as_str().parse().ok()?,
        _ => return None,
    };
    (value.is_finite() && value > 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::de::DeTable;

    fn read_text(text: &str) -> Result<Published, usize> {
        let (table, mut mistakes) = tiermark_history::config::parse(text).map_err(|mistakes| mistakes.len())?;
        let value: &DeTable<'_> = table.get_ref();
        let (_, value) = value.iter().find(|(key, _)| key.get_ref() == PUBLISHED).ok_or(0usize)?;
        read(&mut mistakes, value).ok_or_else(|| mistakes.count())
    }

    const HEAD: &str = "[published]\nmachine = \"a server\"\n[[published.figure]]\nname = \"read\"\nunit = \"GB/s\"\n";

    #[test]
    fn figures_have_their_base_unit_and_their_coordinates() {
        let text = format!(
            "{HEAD}with = {{ op = \"read\", threads = 2 }}\nby = \"size\"\npoints = [[\"4K\", 74.5], [8192, 75]]\n"
        );
        let read = read_text(&text).unwrap();
        let figure = &read.figures[0];
        assert_eq!(
            (read.machine.as_str(), figure.metric, figure.by.as_deref()),
            ("a server", Metric::Bandwidth, Some("size"))
        );
        let points: Vec<(Option<u64>, f64)> = figure.points.iter().map(|p| (p.at, p.value)).collect();
        assert_eq!(points, [(Some(4096), 74.5e9), (Some(8192), 75e9)]);
        assert_eq!(figure.labels, Labels::new().with_op("read").with_threads(2));
    }

    #[test]
    fn mistakes_are_told() {
        for wrong in [
            "with = { op = \"read\" }\n",
            "with = { op = \"read\" }\nvalue = -1\n",
            "with = { op = \"read\" }\nvalue = 1\npoints = [[1, 2]]\n",
            "with = { op = \"read\" }\nvalue = 1\nunits = \"ns\"\n",
            "with = 5\nvalue = 1\n",
            "value = 1\n",
            "with = { op = \"read\" }\nby = \"size\"\npoints = [[\"4Q\", 2]]\n",
        ] {
            assert!(read_text(&format!("{HEAD}{wrong}")).is_err_and(|count| count > 0), "{wrong}");
        }
        assert!(read_text("[published]\n").is_err(), "it is of some machine");
        assert!(read_text("published = 5\n").is_err());
    }
}
