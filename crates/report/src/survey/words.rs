//! Names of states and reasons, and their cures: the one place for these words.

use crate::remark;
use tiermark_model::{Machine, Reason, ReasonCode, Run, State, StateKind};
use tiermark_page::{Text, percent};

/// A share of the time that is all of it but for rounding.
const NEARLY_ALL: f64 = 0.9999;

/// The name of the last-level cache (`L3`), or `last-level cache` where none is declared.
pub(crate) fn last_cache(machine: &Machine) -> String {
    let level = machine.data_caches().map(|cache| cache.level).max();
    level.map_or_else(|| "last-level cache".to_owned(), |level| format!("L{level}"))
}

/// A state in words.
pub(crate) fn state(kind: &StateKind, machine: &Machine) -> String {
    let cache = last_cache(machine);
    match kind {
        StateKind::Near => format!("cpus on cores that share an {cache}"),
        StateKind::Apart { apart, of } if apart < of => {
            format!("cpus on different {cache}s, {apart} of {of} pairs")
        }
        StateKind::Apart { .. } => format!("cpus on different {cache}s"),
        StateKind::Unmoved => "cpus in one placement".to_owned(),
        StateKind::OneCore => "cpus on one core".to_owned(),
        StateKind::OwnCores => "cpus on different cores".to_owned(),
        StateKind::Sibling => "neighbour on the other hardware thread".to_owned(),
        StateKind::Shared => "memory shared with others".to_owned(),
    }
}

/// Whether a state is about where the cpus are.
pub(crate) fn is_of_cpus(kind: &StateKind) -> bool {
    matches!(kind, StateKind::Near | StateKind::Apart { .. } | StateKind::Unmoved | StateKind::OneCore)
}

/// A duration rounded to what matters: at most two digits.
fn duration(seconds: f64) -> (String, &'static str) {
    match seconds {
        s if !s.is_finite() => ("?".to_owned(), "s"),
        s if s < 0.00095 => ("<1".to_owned(), "ms"),
        s if s < 0.0995 => (format!("{:.0}", s * 1e3), "ms"),
        s if s < 0.995 => (format!("{:.0}", (s * 100.0).round() * 10.0), "ms"),
        s if s < 9.95 => (format!("{s:.1}").trim_end_matches(".0").to_owned(), "s"),
        s if s < 120.0 => (format!("{s:.0}"), "s"),
        s => (format!("{:.0}", s / 60.0), "min"),
    }
}

/// A range of durations: `50 to 430 ms`, `70 ms to 1 s`.
pub(crate) fn durations([from, to]: [f64; 2]) -> String {
    let ((low, low_unit), (high, high_unit)) = match (duration(from), duration(to)) {
        // Tenths of a second read better than hundreds of milliseconds beside seconds.
        (_, high @ (_, "s")) if (0.0995..0.995).contains(&from) => ((format!("{from:.1}"), "s"), high),
        pair => pair,
    };
    match (low == high, low_unit == high_unit) {
        (true, true) => format!("{high} {high_unit}"),
        (false, true) => format!("{low} to {high} {high_unit}"),
        _ => format!("{low} {low_unit} to {high} {high_unit}"),
    }
}

/// How long a state lasts each time.
pub(crate) fn stays(state: &State) -> String {
    match state.lasts {
        Some(lasts) => durations(lasts),
        None if state.share > NEARLY_ALL => "the whole run".to_owned(),
        None => "too few stays".to_owned(),
    }
}

/// A share of the time without needless digits.
pub(crate) fn share(share: f64) -> String {
    match share * 100.0 {
        p if !p.is_finite() => "?".to_owned(),
        p if p > 0.0 && p < 1.0 => "<1 %".to_owned(),
        p if (99.5..100.0).contains(&p) => ">99 %".to_owned(),
        p => format!("{p:.0} %"),
    }
}

/// A relative change with its direction: `rose by 5 %`.
pub(crate) fn changed(change: f64) -> String {
    let way = if change < 0.0 { "fell" } else { "rose" };
    let percent = percent(change.abs());
    format!("{way} by {}", percent.replace(".0 %", " %"))
}

/// Why a figure is not trusted, from what weighs most to what weighs least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Why {
    Withheld,
    Unmeasured,
    InDoubt,
    BelowRecord,
    Contradicted,
    NotSharp,
    NotReproduced,
    NotSettled,
    TooFew,
    Scattered,
    Otherwise,
}

impl Why {
    /// The group of a reason that makes a bound.
    pub(crate) fn of_bound(reason: &Reason) -> Self {
        match reason.code() {
            ReasonCode::BelowRecord => Self::BelowRecord,
            ReasonCode::Contradicted => Self::Contradicted,
            ReasonCode::NotReproduced => Self::NotReproduced,
            ReasonCode::NotSettled => Self::NotSettled,
            ReasonCode::TooFew => Self::TooFew,
            _ if matches!(reason, Reason::Scattered { .. }) => Self::Scattered,
            ReasonCode::NotSharp => Self::NotSharp,
            _ if matches!(reason, Reason::MostlyInterrupted { .. } | Reason::Stalled { .. }) => Self::NotSharp,
            _ => Self::Otherwise,
        }
    }

    /// Whether it is a group of figures that are shared, which no bound is.
    pub(crate) fn is_of_shared(self) -> bool {
        matches!(self, Self::NotSharp | Self::Scattered)
    }

    /// Heading of a list of figures.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Withheld => "Withheld: a proof failed, so there is no figure",
            Self::Unmeasured => "Not measured",
            Self::InDoubt => "In doubt: a property of the figure could not be proven",
            Self::BelowRecord => "Below this machine's record",
            Self::Contradicted => "Figures that mean the same differ",
            Self::NotSharp => {
                "Shared: others use the same cache, memory or core, so the figure is the median over the run"
            }
            Self::NotReproduced => "Bounds: measured at too few moments (3 at least 1 s apart needed)",
            Self::NotSettled => "Bounds: not in steady state, the values still changed within visits",
            Self::TooFew => "Bounds: too few visits",
            Self::Scattered => "Shared: visits differ too much",
            Self::Otherwise => "Bounds for other reasons",
        }
    }

    /// The cure.
    pub(crate) fn help(self, run: &Run) -> String {
        let longer = longer(run);
        match self {
            Self::Withheld | Self::InDoubt => "`tiermark doctor` names what to change; then measure again".to_owned(),
            Self::Unmeasured => longer,
            Self::BelowRecord => format!(
                "a neighbour may have been there all the time: run again at another hour; if it stays low, {}",
                "run `tiermark doctor`"
            ),
            Self::Contradicted => {
                "the machine may have changed between the two: run again when less else runs; if they still differ, \
                    it is a bug"
                    .to_owned()
            }
            Self::NotSharp if run.machine.system.hypervisor.is_some() => format!(
                "other programs or guests use the same cache or memory nearly all the time: {longer}, at a quieter \
                    hour, or on {}",
                "dedicated cores"
            ),
            Self::NotSharp => format!("stop other programs (`tiermark doctor` names them), or {longer}"),
            Self::NotSettled => "other work may evict the caches all the time: measure at a quieter hour".to_owned(),
            Self::NotReproduced | Self::TooFew | Self::Scattered | Self::Otherwise => longer,
        }
    }
}

/// What to do where a slower clock explains most of what a figure lacks of its record.
pub(crate) fn slower_clock([then, now]: [f64; 2]) -> String {
    let [then, now] = [then, now].map(|hz| hz / 1e9);
    format!(
        "the core clock was {then:.1} GHz with the record and is {now:.1} GHz now, which explains most of it: \
            `tiermark doctor` names settings that lower it"
    )
}

/// How to measure longer than a run did.
pub(crate) fn longer(run: &Run) -> String {
    let efforts = run.experiments.iter().map(|e| e.request.effort);
    match (super::is_survey(run), efforts.max()) {
        (true, Some(tiermark_model::Effort::Quick)) => "run again without --quick",
        (true, Some(tiermark_model::Effort::Standard)) => "run again with --full",
        _ => "run again with a longer --max-time",
    }
    .to_owned()
}

/// The reason that decided the grade of a figure withheld or in doubt, in the words of the document: what the estimate
/// itself says of such a figure, that it is a bound, comes last.
pub(crate) fn main_reason(reasons: &[Reason]) -> Text {
    let main = reasons.iter().min_by_key(|reason| reason.is_of_estimate());
    let text = |reason: &Reason| match reason.refused() {
        Some(refusal) => refusal.to_string().into(),
        None => remark::reason(reason),
    };
    main.map_or_else(|| "no reason was recorded".into(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_to_what_matters() {
        for (lasts, said) in [
            ([0.05, 0.43], "50 to 430 ms"),
            ([0.0699, 1.0249], "70 ms to 1 s"),
            ([0.0126, 0.1567], "13 to 160 ms"),
            ([0.00276, 0.1208], "3 to 120 ms"),
            ([0.5, 5.0], "0.5 to 5 s"),
            ([0.0001, 0.0002], "<1 ms"),
            ([12.3, 300.0], "12 s to 5 min"),
            ([f64::NAN, f64::INFINITY], "? s"),
        ] {
            assert_eq!(durations(lasts), said);
        }
    }

    #[test]
    fn a_state_always_says_how_long_it_lasts() {
        let state = |share, lasts| State { state: StateKind::Shared, share, visits: 30, lasts, ping_ns: None };
        for (share, lasts, said) in
            [(0.4, Some([0.05, 0.43]), "50 to 430 ms"), (1.0, None, "the whole run"), (0.6, None, "too few stays")]
        {
            assert_eq!(stays(&state(share, lasts)), said);
        }
    }

    #[test]
    fn shares_have_no_needless_digits() {
        assert_eq!(
            [0.0, 0.004, 0.086, 0.413, 0.9978, 1.0].map(share),
            ["0 %", "<1 %", "9 %", "41 %", ">99 %", "100 %"]
        );
        assert_eq!((changed(0.0539), changed(-0.2)), ("rose by 5.4 %".to_owned(), "fell by 20 %".to_owned()));
    }
}
