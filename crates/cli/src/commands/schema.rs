//! `tiermark schema`: the JSON Schema of run documents.

use tiermark_model::{Exit, Run};

use crate::output::{Failure, print};

/// Runs the command.
pub(crate) fn run() -> Result<Exit, Failure> {
    print(&serde_json::to_string_pretty(&Run::json_schema()).map_err(Failure::tool)?).map(|()| Exit::Done)
}
