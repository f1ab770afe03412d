//! Texts in layouts of other tools, made of a finished run beside its document.

use tiermark_model::Run;
use tiermark_page::{Detail, Style};
use tiermark_report::html::Sheet;

/// Something to write from a finished run beside its document.
#[derive(Clone, Copy)]
pub(crate) struct Export<'a> {
    /// The layout to write.
    pub(crate) layout: &'static Layout,
    /// A file, or `-` for standard output in place of the report.
    pub(crate) place: &'a str,
}

/// A layout in which other tools read runs.
pub(crate) struct Layout {
    /// The option that writes it.
    pub(crate) option: &'static str,
    /// The experiments that it needs, for the message if there are none.
    pub(crate) needs: &'static str,
    /// Makes its text from a run.
    pub(crate) text: fn(&Run, Detail, &Style) -> String,
    /// Doubts about the numbers that the layout does not show.
    pub(crate) doubts: fn(&Run) -> Option<String>,
}

/// Curves of loaded latency, as the Mess benchmark writes them.
pub(crate) static MESS: Layout = Layout {
    option: "csv",
    needs: "experiment of loaded latency, whose curves it would hold",
    text: |run, _, _| tiermark_exports::mess(run),
    doubts: tiermark_exports::mess_doubts,
};

/// A page for a browser.
pub(crate) static HTML: Layout = Layout {
    option: "html",
    needs: "number, which the page would show",
    text: |run, detail, style| tiermark_report::html::html(&[Sheet::Run(run)], &[], detail, style),
    doubts: |_| None,
};
