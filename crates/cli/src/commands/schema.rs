//! `tiermark schema`: the JSON Schemas of documents, as they are committed; tests hold them against the types.

use tiermark_model::Exit;

use crate::args::{Document, SchemaArgs};
use crate::output::{Failure, print};

/// Runs the command.
pub(crate) fn run(args: &SchemaArgs) -> Result<Exit, Failure> {
    let schema = match args.of {
        Document::Run => include_str!("../../../../schema/run-4.json"),
        Document::Capacity => include_str!("../../../../schema/capacity-1.json"),
        Document::Load => include_str!("../../../../schema/load-1.json"),
        Document::Events => include_str!("../../../../schema/events-1.json"),
        Document::Machine => include_str!("../../../../schema/machine-1.json"),
        Document::Doctor => include_str!("../../../../schema/doctor-1.json"),
        Document::Tune => include_str!("../../../../schema/tune-1.json"),
        Document::TuneChanges => include_str!("../../../../schema/tune-changes-1.json"),
        Document::List => include_str!("../../../../schema/list-1.json"),
        Document::Check => include_str!("../../../../schema/check-1.json"),
        Document::Checks => include_str!("../../../../schema/checks-1.json"),
        Document::Explanation => include_str!("../../../../schema/explanation-1.json"),
        Document::ExplainRules => include_str!("../../../../schema/explain-rules-1.json"),
        Document::History => include_str!("../../../../schema/history-1.json"),
        Document::Watch => include_str!("../../../../schema/watch-1.json"),
        Document::WatchRecording => include_str!("../../../../schema/watch-recording-1.json"),
        Document::Placed => include_str!("../../../../schema/placed-1.json"),
        Document::Fleet => include_str!("../../../../schema/fleet-1.json"),
        Document::FailedHost => include_str!("../../../../schema/failed-host-1.json"),
        Document::Compare => include_str!("../../../../schema/compare-1.json"),
    };
    print(schema.trim_end()).map(|()| Exit::Done)
}
