//! A run explained: problems first, then what limits and what costs, each with its numbers and what to try.

use tiermark_model::{
    Confidence, ExplainRules, Explained, ExplainedKind, ExplainedNumber, ExplainedUnit, Explanation, count_of,
};

use tiermark_model::messages::explain::codes::no_counts;
use tiermark_page::{
    ABSENT, Detail, Ink, Page, Text, bullet, heading, labelled, nanoseconds, paragraph, percent, rate, space, text,
};

use crate::judgements::compare::{described, simulated};

/// Lessons that are shown without `-v`: with problems, they fit a screen.
const LESSONS: usize = 6;
/// Commands for more rules that are named without `-v`.
const COMMANDS: usize = 2;
/// Other places that are named without `-v`.
const ALSO: usize = 2;

/// Renders an explanation.
pub fn explanation(explanation: &Explanation, detail: Detail) -> Page {
    let mut out = labelled("run", described(&explanation.run)) + simulated(&explanation.run);
    // Only of a run that counters could explain better.
    let lacks_counts = explanation.unjudged.iter().any(|one| one.why.code == no_counts);
    let counters = match (explanation.counters, &explanation.counts_unused) {
        (Some(source), _) => Some(format!("traffic of memory counted by {}", source.name())),
        (None, Some(why)) => Some(why.to_string()),
        (None, None) => lacks_counts.then(|| "none: explanations rest on rates and on the system's reports".to_owned()),
    };
    out.extend(counters.map(|counters| labelled("counters", &counters)));
    let problems: Vec<&Explained> = explanation.of(ExplainedKind::Problem).collect();
    let lessons: Vec<&Explained> = explanation.of(ExplainedKind::Lesson).collect();
    let ink = match problems.is_empty() {
        false => Ink::Bad,
        // What few rules looked at is no sign of health.
        true if 2 * explanation.judged() < explanation.judged() + explanation.unjudged.len() => Ink::Plain,
        true => Ink::Good,
    };
    out += space() + paragraph("RESULT  ", result(explanation, problems.len()), ink);
    out += more(explanation, detail);
    if !problems.is_empty() {
        out += heading("Problems");
        out += problems.iter().map(|one| shown(one, detail)).collect::<Page>();
    }
    let most = if detail.is_all() { usize::MAX } else { LESSONS };
    if !lessons.is_empty() {
        out += heading("What limits, and what costs");
        out += lessons.iter().take(most).map(|one| shown(one, detail)).collect::<Page>();
    }
    if let Some(more) = lessons.len().checked_sub(most).filter(|more| *more > 0) {
        out += paragraph("  ", format!("{more} more with -v"), Ink::Dim);
    }
    if detail.is_all() {
        out += rest(explanation);
    }
    out
}

fn result(explanation: &Explanation, problems: usize) -> String {
    let lessons = explanation.of(ExplainedKind::Lesson).count();
    let (judged, unjudged) = (explanation.judged(), explanation.unjudged.len());
    let by = match unjudged {
        0 => format!("by all {judged} rules"),
        _ => format!("by the {judged} of {} rules that this run lets judge", judged + unjudged),
    };
    let found = match problems {
        0 => "no problem".to_owned(),
        n => count_of(n as u64, "problem"),
    };
    format!("{found} found {by}; {} on what limits and costs", count_of(lessons as u64, "lesson"))
}

/// The commands whose runs would let more rules be judged.
fn more(explanation: &Explanation, detail: Detail) -> Page {
    let commands = explanation.commands();
    let most = if detail.is_all() { usize::MAX } else { COMMANDS };
    let shown = |(command, rules): &(&str, usize)| format!("`{command}` ({})", count_of(*rules as u64, "rule"));
    let named: Vec<String> = commands.iter().take(most).map(shown).collect();
    if named.is_empty() {
        return Page::new();
    }
    let others = if commands.len() > named.len() { ", … (-v)" } else { "" };
    paragraph("        ", format!("to judge more: {}{others}", named.join(", ")), Ink::Plain)
}

/// What was found, the place with its numbers, and what to try.
fn shown(one: &Explained, detail: Detail) -> Page {
    let (mark, ink) = match one.kind {
        ExplainedKind::Problem => ("✘", Ink::Bad),
        ExplainedKind::Lesson => ("·", Ink::Head),
    };
    let mut out = bullet(mark, ink, &one.found, None);
    let numbers = Text::joined(one.numbers.iter().map(shown_number), ", ");
    let place = one.place.iter().filter(|place| !place.is_empty()).map(Text::from);
    let numbers = Some(numbers).filter(|numbers| !numbers.is_empty());
    let evidence: Vec<Text> = place.chain(numbers).collect();
    let after = if evidence.is_empty() { "" } else { "; " };
    let text = text![Text::joined(evidence, ": "), after, confidence(one.confidence), also(one, detail)];
    out += paragraph("    ", text, Ink::Dim);
    out += paragraph(&format!("    {} ", "→"), &one.advice, Ink::Plain);
    if detail.is_all() {
        let steps: Vec<&str> = one.numbers.iter().flat_map(|number| &number.steps).map(String::as_str).collect();
        let mut named: Vec<&str> = Vec::new();
        for step in steps {
            if !named.contains(&step) {
                named.push(step);
            }
        }
        let steps = if named.is_empty() { String::new() } else { format!("; steps: {}", named.join(", ")) };
        out += paragraph("    ", format!("rule {}; source: {}{steps}", one.rule, one.source), Ink::Dim);
    }
    out
}

/// Other places of the same.
fn also(one: &Explained, detail: Detail) -> String {
    let most = if detail.is_all() { usize::MAX } else { ALSO };
    let named: Vec<&str> = one.also.iter().take(most).map(String::as_str).collect();
    let more = one.others.saturating_sub(named.len() as u64);
    match (named.is_empty(), more) {
        (true, 0) => String::new(),
        (true, more) => format!("; also at {}", count_of(more, "other place")),
        (false, 0) => format!("; also: {}", named.join("; ")),
        (false, more) => format!("; also: {}; and {more} more", named.join("; ")),
    }
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Counted => "counted by hardware",
        Confidence::Measured => "measured",
        Confidence::Reported => "reported by the system",
        Confidence::Hint => "a hint",
    }
}

fn shown_number(number: &ExplainedNumber) -> Text {
    let value: Text = match number.unit {
        ExplainedUnit::Ns => format!("{} ns", nanoseconds(number.value)).into(),
        ExplainedUnit::BytesPerSecond => rate(number.value).with_unit().into(),
        ExplainedUnit::TransfersPerSecond => format!("{:.0} MT/s", number.value / 1e6).into(),
        ExplainedUnit::Share => percent(number.value).into(),
        ExplainedUnit::Number if number.value.fract() == 0.0 && number.value.abs() < 1e15 => {
            format!("{:.0}", number.value).into()
        }
        ExplainedUnit::Number if number.value.abs() < 1e7 => format!("{:.2}", number.value).into(),
        ExplainedUnit::Number => format!("{:.2e}", number.value).into(),
    };
    let is_one = value.plain() == "1" && number.unit == ExplainedUnit::Number;
    text![value, " ", if is_one { singular(&number.what) } else { number.what.clone() }]
}

/// Words that begin with what is counted, for one of it: `bytes read` is `byte read`.
fn singular(words: &str) -> String {
    let (first, rest) = words.split_once(' ').unwrap_or((words, ""));
    let one = match first {
        "bytes" | "lines" | "threads" | "cores" | "nodes" | "steps" | "faults" => first.trim_end_matches('s'),
        _ => first,
    };
    if rest.is_empty() { one.to_owned() } else { format!("{one} {rest}") }
}

/// Rules that found nothing, and those that were not judged.
fn rest(explanation: &Explanation) -> Page {
    let mut out = Page::new();
    if !explanation.clear.is_empty() {
        out += heading("Judged, and nothing found");
        out += paragraph("  ", explanation.clear.join(", "), Ink::Plain);
    }
    if !explanation.unjudged.is_empty() {
        out += heading("Not judged");
        let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
        for one in &explanation.unjudged {
            let why = one.why.to_string();
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, rules)) => rules.push(&one.rule),
                None => reasons.push((why, vec![&one.rule])),
            }
        }
        for (why, rules) in reasons {
            out += bullet(ABSENT, Ink::Dim, format!("{}: {why}", rules.join(", ")), None);
        }
    }
    out
}

/// The rules as a list to read: what each looks at, its limits and their source, and what to try.
pub fn explain_rules(rules: &ExplainRules) -> Page {
    let mut out = Page::new();
    let mut kind = None;
    for rule in &rules.rules {
        if kind != Some(rule.kind) {
            kind = Some(rule.kind);
            let title = match rule.kind {
                ExplainedKind::Problem => "Problems: something costs performance that the machine could have",
                ExplainedKind::Lesson => "Lessons: what limits and what costs, on any healthy machine",
            };
            out += heading(title);
        }
        out += space() + paragraph("  ", &rule.name, Ink::Head);
        out += paragraph("    ", &rule.finds, Ink::Plain);
        let limits = if rule.expects { "expects" } else { "where" };
        let counted = rule.needs_counters.then_some("counted by hardware");
        let rests = rule.at_best.map(confidence).or(counted).unwrap_or_default();
        let lines = [
            ("looks at", rule.looks_at.clone().unwrap_or_default()),
            (limits, rule.limits.join(" and ")),
            ("rests on", rests.to_owned()),
            ("source", rule.source.clone()),
            ("measured", rule.command.as_ref().map(|command| format!("by `{command}`")).unwrap_or_default()),
            ("try", rule.advice.clone()),
            ("or", rule.advice_if_full.clone().unwrap_or_default()),
        ];
        for (label, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
            out += paragraph(&format!("    {label:<10}"), text, Ink::Dim);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use tiermark_model::messages::explain as says;
    use tiermark_model::{ComparedRun, CounterSourceId, UnjudgedRule};

    use super::*;
    use tiermark_page::{Style, terminal};

    fn number(name: &str, what: &str, value: f64, unit: ExplainedUnit) -> ExplainedNumber {
        ExplainedNumber {
            name: name.to_owned(),
            what: what.to_owned(),
            value,
            unit,
            steps: vec![format!("step/{name}")],
        }
    }

    fn made() -> Explanation {
        let problem = Explained {
            rule: "modules-below-rated-speed".to_owned(),
            kind: ExplainedKind::Problem,
            found: "Memory modules run below their rated speed".to_owned(),
            confidence: Confidence::Reported,
            place: Some("DIMM_A1".to_owned()),
            numbers: vec![
                number("dimms.speed", "(dimms.speed)", 2.6667e9, ExplainedUnit::TransfersPerSecond),
                number("limit", "at least expected (rated)", 3.2e9, ExplainedUnit::TransfersPerSecond),
            ],
            also: Vec::new(),
            others: 11,
            advice: "look up the speed that the processor supports".to_owned(),
            source: "DMTF DSP0134".to_owned(),
        };
        let lesson = Explained {
            rule: "remote-writes-amplified".to_owned(),
            kind: ExplainedKind::Lesson,
            found: "Remote stores write more to memory than local ones".to_owned(),
            confidence: Confidence::Counted,
            place: Some("write.cached, cpus of node 0, memory of node 1, 20 threads".to_owned()),
            numbers: vec![
                number("writes.per.read", "bytes written for each byte read", 2.0, ExplainedUnit::Number),
                number("link.share", "of the link's peak", 0.87, ExplainedUnit::Share),
                number("used", "used (local memory)", 42.2e9, ExplainedUnit::BytesPerSecond),
                number("latency", "idle latency", 143.0, ExplainedUnit::Ns),
            ],
            also: ["node 2", "node 3", "node 4"].map(str::to_owned).to_vec(),
            others: 5,
            advice: "keep written data on the node of its threads".to_owned(),
            source: "a data sheet".to_owned(),
        };
        let run = ComparedRun {
            name: "last".to_owned(),
            id: "20260102".to_owned(),
            title: "matrix".to_owned(),
            started: "2026-01-02T03:04:05Z".to_owned(),
            host: Some("node07".to_owned()),
            cpu: Some("A processor".to_owned()),
            complete: true,
            simulated: false,
            guest: false,
        };
        let unjudged = ["link-down", "link-slow"].map(|rule| UnjudgedRule {
            rule: rule.to_owned(),
            why: says::no_counts(),
            command: None,
        });
        let command = "tiermark granularity";
        let why = says::scene_not_measured("no accesses to words", command);
        let missing = UnjudgedRule { rule: "partial-lines".to_owned(), why, command: Some(command.to_owned()) };
        Explanation {
            run,
            counters: Some(CounterSourceId::Perf),
            counts_unused: None,
            found: vec![problem, lesson],
            clear: vec!["missing-channels".to_owned()],
            unjudged: unjudged.into_iter().chain([missing]).collect(),
        }
    }

    #[test]
    fn problems_come_first_and_numbers_stand_with_their_place() {
        insta::assert_snapshot!(terminal(&explanation(&made(), Detail::Usual), &Style::default()));
        insta::assert_snapshot!(terminal(
            &explanation(&made(), Detail::All),
            &Style { unicode: false, ..Style::default() }
        ));
    }

    #[test]
    fn one_of_something_is_no_plural() {
        let shown = |what: &str, value| shown_number(&number("n", what, value, ExplainedUnit::Number)).plain();
        assert_eq!(
            shown("bytes read from memory for each byte used", 1.0),
            "1 byte read from memory for each byte used"
        );
        assert_eq!(
            shown("bytes read from memory for each byte used", 1.06),
            "1.06 bytes read from memory for each byte used"
        );
        assert_eq!(
            (shown("threads", 1.0), shown("times the rate", 1.0)),
            ("1 thread".into(), "1 times the rate".into())
        );
    }

    #[test]
    fn counts_that_could_not_be_trusted_are_not_called_absent() {
        let why = says::counts_wrong("perf", "a channel is silent");
        let wrong = Explanation { counters: None, counts_unused: Some(why), ..made() };
        let text = terminal(&explanation(&wrong, Detail::Usual), &Style::default());
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("counts of perf are not used") && text.contains("a channel is silent"), "{text}");
        assert!(!text.contains("counters none"), "{text}");
    }

    #[test]
    fn counters_are_named_only_where_a_rule_needs_them() {
        let none = Explanation { counters: None, ..made() };
        assert!(
            terminal(&explanation(&none, Detail::Usual), &Style::default())
                .contains("none: explanations rest on rates")
        );
        let of_tenants = Explanation { unjudged: Vec::new(), ..none };
        assert!(
            !terminal(&explanation(&of_tenants, Detail::Usual), &Style::default()).contains("counters"),
            "{of_tenants:?}"
        );
    }

    #[test]
    fn a_run_has_a_screen_of_lessons_and_the_rest_if_asked() {
        let mut many = made();
        many.found.retain(|one| one.kind == ExplainedKind::Lesson);
        many.found = vec![many.found[0].clone(); 9];
        let text = terminal(&explanation(&many, Detail::Usual), &Style::default());
        assert!(
            text.contains("no problem found by the 10 of 13 rules")
                && text.contains("`tiermark granularity` (1 rule)")
                && text.contains("3 more with -v"),
            "{text}"
        );
        assert_eq!(text.matches("Remote stores").count(), LESSONS);
        let text = terminal(&explanation(&many, Detail::All), &Style::default());
        assert_eq!(text.matches("Remote stores").count(), 9);
    }
}
