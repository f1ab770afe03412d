//! `tiermark schema`: the JSON Schemas of documents.

use tiermark_model::capacity::Capacity;
use tiermark_model::load::LoadRun;
use tiermark_model::{Exit, Run};

use crate::args::{Document, SchemaArgs};
use crate::output::{Failure, print};

/// Runs the command.
pub(crate) fn run(args: &SchemaArgs) -> Result<Exit, Failure> {
    let schema = match args.of {
        Document::Run => Run::json_schema(),
        Document::Capacity => Capacity::json_schema(),
        Document::Load => LoadRun::json_schema(),
    };
    print(&serde_json::to_string_pretty(&schema).map_err(Failure::tool)?).map(|()| Exit::Done)
}
