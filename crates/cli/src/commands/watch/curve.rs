//! The command on the loaded-latency curves of a saved run.

use tiermark_machine::Root;
use tiermark_model::messages::curve_profile as says;
use tiermark_model::{PLACED_SCHEMA, WatchSample};
use tiermark_probes::curve_profile::ProfiledCommand;
use tiermark_report::html::Sheet;
use tiermark_session::counted::IDLE;

use super::counted::Counting;
use super::plain;
use crate::args::Simulation;
use crate::args::watch::WatchArgs;
use crate::commands::report::open_page;
use crate::output::{Destination, Failure, detail, document, style, tell};
use crate::{saved, target};

/// The command on the curves so far, and where the result goes.
pub(super) struct OnCurve {
    profiled: ProfiledCommand,
    json: Option<Destination>,
    page: Option<Destination>,
}

impl OnCurve {
    /// Reads the run, and opens the files for the result.
    ///
    /// # Errors
    /// A [`Failure`] if there is no such run, the run has no curve, or no counters are open; of usage for files that
    /// cannot be written.
    pub(super) fn open(
        args: &WatchArgs,
        root: &Root,
        simulation: &Simulation,
        counting: &mut Counting,
    ) -> Result<Option<Self>, Failure> {
        let Some(name) = &args.curve else { return Ok(None) };
        // Without counters no run will do.
        let Some(counted) = &mut counting.counted else {
            let why = counting.refused.first().map(|refusal| format!("{}: {}", refusal.what, refusal.why));
            return Err(says::curve_without_counters(&why.unwrap_or_default()).into());
        };
        let (run, simulated) = (saved::run_of_probes(name)?, simulation.simulate.is_some());
        let mut profiled =
            ProfiledCommand::new(&run, target::machine(root)?, simulated, counted.id(), &counted.sees())?;
        if let Some(note) = profiled.warning() {
            tell(format_args!("tiermark: warning: {note}"));
        }
        profiled.idle_is(counted.idle(IDLE));
        let json = args.curve_json.as_deref().map(Destination::open).transpose()?;
        let page = args.curve_html.as_deref().map(open_page).transpose()?;
        Ok(Some(Self { profiled, json, page }))
    }

    /// Takes in a sample.
    pub(super) fn add(&mut self, sample: &WatchSample) {
        self.profiled.add(sample);
    }

    /// Prints the result on standard error, and writes the files.
    ///
    /// # Errors
    /// A [`Failure`] that names a file that cannot be written.
    pub(super) fn finish(self, command: &str, args: &WatchArgs) -> Result<(), Failure> {
        let profile = self.profiled.finish(command);
        if !args.quiet {
            tell(format_args!("\n{}", plain(args, &tiermark_report::curve_profile(&profile))));
        }
        if let Some(json) = self.json {
            json.write(&document(PLACED_SCHEMA, &profile)?)?;
        }
        let html = || {
            tiermark_report::html::html(&[Sheet::CurveProfile(&profile)], &[], detail(&args.view), &style(&args.view))
        };
        self.page.map_or(Ok(()), |page| page.write(&html()))
    }
}
