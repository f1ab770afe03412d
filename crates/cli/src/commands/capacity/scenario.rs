//! Files that people write for `capacity`: scenarios and prices.

use std::path::Path;

use tiermark_capacity::cost::{self, Prices};
use tiermark_capacity::scenario::{Scenario, built_in};
use tiermark_config::text_of;
use tiermark_model::nearest;

use crate::output::Failure;

/// The scenarios that are built in.
pub(super) fn list() -> String {
    let mut out = String::new();
    for (name, text) in built_in() {
        let title = Scenario::read(text).map(|scenario| scenario.title).unwrap_or_default();
        out.push_str(&format!("{name:<8}{title}\n"));
    }
    out.push_str("\n`tiermark capacity --scenario NAME --dry-run` prints one as a file, to be edited.\n");
    out
}

/// A scenario by its name, or from a file.
pub(super) fn read(name: &str) -> Result<Scenario, Failure> {
    let known = built_in().iter().find(|(known, _)| *known == name);
    let text = match known {
        Some((_, text)) => (*text).to_owned(),
        None => text_of(Path::new(name)).map_err(|error| {
            let names: Vec<&str> = built_in().iter().map(|(name, _)| *name).collect();
            let near = nearest(name, &names);
            Failure::usage(format!(
                "'{name}' is neither a scenario ({}){near} nor a file that can be read: {error}",
                names.join(", ")
            ))
        })?,
    };
    Scenario::read(&text)
        .map_err(|mistakes| Failure::Mistakes(mistakes.iter().map(|mistake| format!("{name}: {mistake}")).collect()))
}

/// A file of prices.
///
/// # Errors
/// Its mistakes, a sentence each.
pub(super) fn prices(path: &str) -> Result<Prices, Vec<String>> {
    let text = text_of(Path::new(path))
        .map_err(|error| vec![format!("prices '{path}': {error}; name a readable file: --prices FILE")])?;
    cost::read(&text).map_err(|mistakes| mistakes.iter().map(|mistake| format!("{path}: {mistake}")).collect())
}
