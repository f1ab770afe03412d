//! Samples as CSV.

use std::collections::BTreeMap;

use tiermark_model::WatchSample;

/// The columns of a table that begins with this sample: the time, then its numbers by name. Nodes and devices that come
/// later have no column; nor have groups, which come and go.
pub fn watch_csv_columns(first: &WatchSample) -> Vec<String> {
    let columns: Vec<_> = first.figures().into_iter().filter(|figure| !figure.is_of_group()).collect();
    std::iter::once("time".to_owned()).chain(columns.iter().map(|figure| plain(&figure.name()))).collect()
}

/// A sample as a row of these columns; what it lacks is empty.
pub fn watch_csv(sample: &WatchSample, columns: &[String]) -> String {
    let figures: BTreeMap<String, f64> =
        sample.figures().into_iter().filter_map(|figure| Some((plain(&figure.name()), figure.value?))).collect();
    let cell = |column: &String| match column.as_str() {
        "time" => sample.time.clone(),
        name => figures.get(name).map(ToString::to_string).unwrap_or_default(),
    };
    columns.iter().map(cell).collect::<Vec<_>>().join(",")
}

/// A name without what separates cells: the path of a swap area may hold anything.
fn plain(name: &str) -> String {
    name.replace([',', '"', '\n', '\r'], "_")
}
