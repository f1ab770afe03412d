//! One document on a page.

use tiermark_model::capacity::Capacity;
use tiermark_model::load::LoadRun;
use tiermark_model::{Against, Check, Comparison, CurveProfile, Grade, HOST_LABEL, Run, RunLabels};
use tiermark_page::{
    Block, Detail, Ink, Page, Style, clean, escaped as text, hertz, html as elements, labelled, nanoseconds, paragraph,
    seconds,
};

use super::changes;
use super::index::sheet_id;
use super::picture::picture;
use crate::phrases::sentence;
use crate::redact::GONE;
use crate::{RUN_VIEWS, machine_line, rules};

/// Where a person signs a verdict.
const TO_SIGN: &str = "<dl class=\"sign\"><div><dt>Name</dt><dd></dd></div><div><dt>Date</dt><dd></dd></div>\
                       <div><dt>Signature</dt><dd></dd></div></dl>\n";

/// A document for a page.
#[derive(Debug)]
pub enum Sheet<'a> {
    /// A run of probes, judged by the rules of thumb.
    Run(&'a Run, &'a Check),
    /// How many tenants fit.
    Capacity(&'a Capacity),
    /// Load on servers.
    Load(&'a LoadRun),
    /// A program on the curves of a run.
    CurveProfile(&'a CurveProfile),
    /// A run compared with the first run of a comparison.
    Compared(&'a Comparison, &'a Against),
    /// A run judged by expectations, to be signed.
    Checked(&'a Check),
}

/// A document as it stands on the page.
pub(super) struct Body {
    pub(super) title: String,
    pub(super) html: String,
}

impl Sheet<'_> {
    /// The article; where there are several, its title has its number and when its run began.
    pub(super) fn body(&self, at: usize, several: bool, detail: Detail, style: &Style) -> Body {
        let report = match self {
            // The machine is among the facts.
            Self::Run(run, judged) => crate::run::run_without_machine(run, judged, detail),
            Self::Capacity(run) => crate::tenant_views::capacity(run, detail),
            Self::Load(run) => crate::tenant_views::load(run, detail),
            Self::CurveProfile(profile) => crate::curve_profile(profile),
            Self::Compared(comparison, other) => crate::judgements::against(comparison, other, detail),
            Self::Checked(check) => crate::judgements::check_of_page(check, detail),
        };
        let id = sheet_id(at);
        let mut pieces = report.into_blocks();
        let first = match self {
            Self::Compared(comparison, other) => clean(&changes::title(other, comparison)),
            Self::Checked(check) => clean(&checked_title(check)),
            _ => title(&mut pieces, style),
        };
        let title = match self {
            Self::Run(run, _) => {
                // Where there are several, the time follows.
                let day = if several { "" } else { run.started.get(..10).unwrap_or_default() };
                let day = if day.is_empty() { String::new() } else { format!(", {day}") };
                clean(&format!("tiermark {} of {}{day}", run.title, host(run)))
            }
            _ => first,
        };
        let title = match self {
            _ if !several => title,
            Self::Run(run, _) => format!("{}: {title}, {}", at + 1, clean(&run.started)),
            Self::Capacity(run) => format!("{}: {title}, {}", at + 1, clean(&run.started)),
            Self::Load(_) | Self::CurveProfile(_) | Self::Compared(..) | Self::Checked(_) => {
                format!("{}: {title}", at + 1)
            }
        };
        // What is said first stands above the picture.
        let leads = |piece: &&Block| match piece {
            Block::Paragraph(p) => p.ink != Ink::Head,
            piece => **piece == Block::Space,
        };
        let rest = pieces.split_off(pieces.iter().take_while(leads).count());
        let (facts, picture, more) = match self {
            Self::Run(run, _) => (facts(run, style), picture(run, style), more(run, &id, detail, style)),
            Self::Capacity(run) => {
                let machine = crate::machine(&run.machine, detail);
                (String::new(), String::new(), folded("Machine", &machine, &id, true, style))
            }
            Self::Load(_) | Self::CurveProfile(_) => Default::default(),
            Self::Compared(comparison, other) => {
                (String::new(), changes::changes(comparison, other, detail), String::new())
            }
            Self::Checked(check) => (checked_facts(check), String::new(), TO_SIGN.to_owned()),
        };
        let result = match self {
            Self::Run(run, judged) => crate::survey::headline(run, judged),
            _ => Page::new(),
        };
        let result = match result.is_empty() {
            true => String::new(),
            false => format!("<div class=\"result\">{}</div>\n", elements(&result, &id, style)),
        };
        let html = format!(
            "<article class=\"sheet\" id=\"{id}\" aria-labelledby=\"{id}-title\">\n\
             <header><h1 id=\"{id}-title\">{}</h1>\n\
             {result}{facts}</header>\n{}{picture}{}{more}</article>\n",
            text(&title),
            elements(&pieces.into(), &id, style),
            elements(&rest.into(), &id, style)
        );
        Body { title, html }
    }
}

/// Takes the title off: the first line of every report.
fn title(pieces: &mut Vec<Block>, style: &Style) -> String {
    let title = match pieces.first() {
        Some(Block::Paragraph(p)) if p.ink == Ink::Head => p.text.flowing(style),
        Some(Block::Heading(title)) => title.shown(style),
        _ => return "tiermark".to_owned(),
    };
    pieces.remove(0);
    title
}

/// The name of the host, else that of its processor.
fn host(run: &Run) -> &str {
    let processor = run.machine.cpu_model.name.as_deref();
    run.host().filter(|name| *name != GONE).or(processor).unwrap_or("an unknown processor")
}

/// The machine in a line.
fn machine_words(run: &Run, style: &Style) -> String {
    machine_line(&run.machine).flowing(style)
}

/// What a reader wants to know first.
fn facts(run: &Run, style: &Style) -> String {
    let numbers = crate::numbers(run);
    let count = |grade: Grade| numbers.iter().filter(|f| f.verdict.grade == grade && !f.verdict.is_refused()).count();
    let mut counted = format!("{} of {} trusted", count(Grade::Trusted), numbers.len());
    for (grade, name) in
        [(Grade::Shared, "shared"), (Grade::Bound, "bounds"), (Grade::Suspect, "suspect"), (Grade::Invalid, "withheld")]
    {
        match count(grade) {
            0 => {}
            n => counted.push_str(&format!(", {n} {name}")),
        }
    }
    let mut facts = vec![("Machine", machine_words(run, style))];
    facts.extend(run.host().map(|name| ("Host", name.to_owned())));
    facts.extend(labels(&run.labels));
    facts.extend([("Started", run.started.clone()), ("Took", seconds(run.seconds))]);
    facts.extend((!numbers.is_empty()).then_some(("Numbers", counted)));
    list(&facts)
}

/// Labels of the user but the host's name.
fn labels(labels: &RunLabels) -> impl Iterator<Item = (&str, String)> {
    labels.iter().filter(|(key, _)| *key != HOST_LABEL).map(|(key, value)| (key.as_str(), value.clone()))
}

/// `tiermark check of node07, 2026-11-30: PASSED`.
fn checked_title(check: &Check) -> String {
    let run = &check.run;
    let host = run.host.as_deref().or(run.cpu.as_deref()).unwrap_or("an unknown processor");
    let day = run.started.get(..10).unwrap_or(&run.started);
    format!("tiermark check of {host}, {day}: {}", check.verdict.headline())
}

/// What a signature is for: the server, the run, and the text of the limits.
fn checked_facts(check: &Check) -> String {
    let run = &check.run;
    let mut facts: Vec<(&str, String)> = Vec::new();
    facts.extend(run.host.iter().map(|host| ("Host", host.clone())));
    facts.extend(run.cpu.iter().map(|cpu| ("Processor", cpu.clone())));
    facts.extend(labels(&check.labels));
    facts.extend([("Measured", run.started.clone()), ("Run", run.id.clone())]);
    facts.extend([("Limits", check.expectations.clone()), ("SHA-256", check.sha256.clone())]);
    list(&facts)
}

fn list(facts: &[(&str, String)]) -> String {
    let fact = |(name, value): &(&str, String)| format!("<div><dt>{}</dt><dd>{}</dd></div>", text(name), text(value));
    format!("<dl class=\"facts\">{}</dl>\n", facts.iter().map(fact).collect::<String>())
}

/// What stands behind the report: its long views, the machine, and how it was measured.
fn more(run: &Run, id: &str, detail: Detail, style: &Style) -> String {
    let mut out = String::new();
    for view in &RUN_VIEWS {
        out.push_str(&folded(
            &sentence(view.about),
            &view.body(run, detail),
            &format!("{id}-{}", view.name),
            false,
            style,
        ));
    }
    out.push_str(&folded(
        "Machine and settings",
        &crate::machine(&run.machine, detail),
        &format!("{id}-machine"),
        true,
        style,
    ));
    out + &folded("Method and environment", &method(run), &format!("{id}-method"), true, style)
}

/// A part that can be folded away.
fn folded(title: &str, view: &Page, id: &str, open: bool, style: &Style) -> String {
    let inside = elements(view, id, style);
    if inside.trim().is_empty() {
        return String::new();
    }
    let open = if open { " open" } else { "" };
    format!("<details{open}><summary><h2>{}</h2></summary>\n{inside}</details>\n", text(title))
}

/// How the numbers came about.
fn method(run: &Run) -> Page {
    let line = |label: &str, text: &str| labelled(label, text);
    let (clock, cost) = (&run.bench.clock, &run.bench.overheads);
    let git = run.tool.git.as_ref().map_or_else(String::new, |git| format!(" ({git})"));
    let mut out = line("command", &run.command.join(" "));
    out += line("version", &format!("tiermark {}{git} {}", run.tool.version, run.tool.target));
    out += line("run", &format!("{}, seed {}", run.id, run.seed));
    if !clock.source.is_empty() {
        let resolution = nanoseconds(clock.resolution_ns);
        out += line("clock", &format!("{} at {}, resolution {resolution} ns", clock.source, hertz(clock.hz)));
    }
    out.extend(cost.core_hz.map(|hz| line("core", &hertz(hz))));
    out += line(
        "grades",
        "trusted (no mark): reached at several moments of the run. shared (no mark): others use the same cache or \
         memory, so the number is the median over the run. bound (≤, ≥ or *): measured at too few moments or not in a \
         steady state; the machine is at least so good. suspect (!): shown with the reason for the doubt. \
         withheld (✘): not shown, a proof failed.",
    );
    out += line(
        "points",
        "of a chart: filled = trusted or shared, a triangle = bound, hollow = suspect; bands are intervals, dotted lines the best \
         that was reached.",
    );
    let documented = "`tiermark help numbers` describes how numbers are estimated and judged.";
    out += paragraph("  ", documented, Ink::Dim);
    out + rules(&run.experiments)
}
