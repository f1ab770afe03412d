//! The labels of a document.

use clap::Args;
use tiermark_model::{RunLabels, labels_by_key};

use crate::output::Failure;
use crate::parse;

/// The option of every command that measures which says whose the document is.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Results")]
pub(crate) struct LabelArgs {
    /// Labels of the document: host=node07,rack=3 (repeatable)
    ///
    /// The document keeps them. The label host names the host wherever its name is shown; without it, that is the
    /// system's host name. A key has letters, digits, '_', '-' and '.'; a value has no comma.
    #[arg(
        long = "label", value_name = "KEY=VALUE", value_delimiter = ',', value_parser = parse::label,
        hide_short_help = true,
    )]
    labels: Vec<(String, String)>,
}

impl LabelArgs {
    /// The labels by key.
    ///
    /// # Errors
    /// A [`Failure`] of usage for a key that is given twice.
    pub(crate) fn by_key(&self) -> Result<RunLabels, Failure> {
        labels_by_key(self.labels.iter().cloned()).map_err(Failure::usage)
    }
}
