//! Tenant capacity: what a search cannot do here, and what makes its answers worth less.

use super::rows::messages;

messages! {
    /// Searches that have no answer since the run ended before.
    Warning unfinished(open: &[String]):
        { format!("the run was ended before its end: no answer yet for {}", open.join("; ")) },
        "go on with it: tiermark capacity --resume";

    /// Other programs beside the tenants.
    Warning others_busy(share: f64):
        {
            let percent = share * 100.0;
            format!("other programs, and the kernel for them, took up to {percent:.0} % of the cpus' time during a trial")
        },
        "measure on a quiet machine: tiermark doctor";

    /// Requests that the client sent after they were due.
    Warning late(share: f64):
        {
            let percent = share * 100.0;
            format!("the client sent up to {percent:.1} % of a trial's requests late: it is part of those response times")
        },
        "give it cpus of its own: --client-cpus";

    /// What ended a run that has some results.
    Warning ended(refusal: &str):
        "{refusal}", "";

    /// A remark of a run as it goes on.
    Warning remark(about: &str, text: &str):
        "{text}", "";
}
