//! Starting services again.

use tiermark_model::messages::undo as notes;
use tiermark_model::{ChangeOutcome, ChangeRow};

use super::row::row;
use crate::journal::{Change, Journal};
use crate::service::service_runs;
use crate::writer::SystemWriter;

/// Starts the services that were stopped and do not run.
pub(crate) fn services(journal: &mut Journal, writer: &mut dyn SystemWriter) -> Vec<ChangeRow> {
    journal.take_back(
        |change| matches!(change, Change::Service { .. }),
        |change| {
            let Change::Service { name } = change else { return row(change, ChangeOutcome::Left, None) };
            match service_runs(writer.root(), name) {
                Some(true) => row(change, ChangeOutcome::Already, None),
                None => row(change, ChangeOutcome::Gone, Some(notes::service_removed())),
                Some(false) => match writer.run(&format!("systemctl start {name}")) {
                    Ok(()) => row(change, ChangeOutcome::Done, None),
                    Err(why) => row(change, ChangeOutcome::Failed, Some(notes::system_refused(&why))),
                },
            }
        },
    )
}
