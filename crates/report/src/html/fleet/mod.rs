//! Many hosts on one page: how many are alike, which are not and why, and every figure of every host. The page is whole
//! without its script, which sorts tables.

mod facts;
mod hosts;
mod strips;

use tiermark_model::messages::fleet::codes;
use tiermark_model::{Fleet, FleetHost, FleetLoss, HostKind, HostState, KindFigure, count_of};
use tiermark_page::{ABSENT, Number, Style, Text, escaped as text, number};

use super::{Frame, PAGE_SCRIPT};
use crate::judgements::{kind_figure_names, kind_words, losses, plain, signed, tally, unseen};

const FLEET_STYLE: &str = include_str!("fleet.css");
const FLEET_SCRIPT: &str = include_str!("fleet.js");
/// Notes and files that are listed; more are counted.
const LISTED: usize = 40;

/// What comes last.
const REST: &str = "Hosts without a document, and notes";

/// A page of hosts that were judged by their peers. It refers to nothing outside itself.
#[must_use]
pub fn fleet_page(fleet: &Fleet, style: &Style) -> String {
    let style = style.of_a_file();
    let of_kind = |at: usize| fleet.hosts.iter().filter(move |host| host.kind == Some(at as u64)).collect();
    let kinds = fleet.kinds.iter().enumerate();
    let kinds: Vec<Kind<'_>> = kinds
        .map(|(at, kind)| Kind { at, fleet, kind, hosts: of_kind(at), names: kind_figure_names(kind), style: &style })
        .collect();
    let all: Vec<&FleetHost> = fleet.hosts.iter().collect();
    let worse = (!fleet.losses.is_empty()).then(|| "worse than before".to_owned());
    let title: Vec<String> = worse.into_iter().chain(tally(fleet, &all)).collect();
    let title = format!("tiermark fleet: {}", title.join(", "));
    let articles: String = kinds.iter().map(Kind::article).collect();
    let rest = rest(fleet);
    Frame {
        title: &title,
        style: FLEET_STYLE,
        contents: "",
        layout: "sheets",
        articles: &format!("{}{articles}{rest}", verdict(fleet, &all, &kinds, !rest.is_empty())),
        footer: "<p>Made by tiermark.</p>",
        scripts: &format!("<script>{PAGE_SCRIPT}</script>\n<script>{FLEET_SCRIPT}</script>\n"),
    }
    .page()
}

/// A kind of hosts, with what its parts are drawn from.
struct Kind<'a> {
    /// Its place among the kinds.
    at: usize,
    fleet: &'a Fleet,
    kind: &'a HostKind,
    hosts: Vec<&'a FleetHost>,
    /// Names of its figures.
    names: Vec<String>,
    style: &'a Style,
}

impl Kind<'_> {
    fn article(&self) -> String {
        article(
            &format!("kind-{}", self.at),
            &kind_words(self.kind),
            &format!(
                "<p>{}</p>\n{}{}{}{}",
                text(&format!(
                    "{}: {}",
                    count_of(self.hosts.len() as u64, "host"),
                    tally(self.fleet, &self.hosts).join(", ")
                )),
                self.not_alike(),
                self.strips(),
                self.facts(),
                self.each_host()
            ),
        )
    }

    /// A value of a figure, with its unit.
    fn value(&self, value: f64, figure: &KindFigure) -> String {
        self.shown(value, number(value, figure.unit).with_unit())
    }

    /// A number; of a change, the change.
    fn shown(&self, value: f64, number: Number) -> String {
        match self.fleet.is_change {
            true if value.is_finite() => signed(value - 1.0),
            true => ABSENT.to_owned(),
            false => Text::from(number).shown(self.style),
        }
    }

    /// The id of what the page has of a host.
    fn id(&self, host: usize) -> String {
        format!("kind-{}-host-{host}", self.at)
    }
}

/// The host's figures are not those of its peers, or could not be judged.
fn is_listed(host: &FleetHost) -> bool {
    host.state != HostState::Alike
}

fn count(hosts: &[&FleetHost], state: HostState) -> usize {
    hosts.iter().filter(|host| host.state == state).count()
}

/// What the reader wants to know first.
fn verdict(fleet: &Fleet, all: &[&FleetHost], kinds: &[Kind<'_>], has_rest: bool) -> String {
    let hosts = count_of(all.len() as u64, "host");
    let of = if kinds.len() > 1 { format!(" of {} kinds", kinds.len()) } else { String::new() };
    let has = |state| count(all, state) > 0;
    let (class, mark) = match () {
        () if has(HostState::Odd) || has(HostState::Failed) || !fleet.losses.is_empty() => ("bad", "✘"),
        () if has(HostState::Missing) || has(HostState::NotJudged) || !fleet.unread.is_empty() => ("warn", "–"),
        () => ("good", "✔"),
    };
    let change = if fleet.is_change {
        "<p>Each host is compared with its own document from before the change, and its change with those of its \
         peers.</p>\n"
    } else {
        ""
    };
    let rule = format!(
        "A host is odd if its figures differ from the median of its peers by more than {} and by more than chance \
         explains, or if a fact of it costs performance. At most {} of the hosts that are odd by their figures are \
         expected to be so by chance.",
        plain(fleet.threshold),
        plain(fleet.level)
    );
    let simulated = fleet.notes.iter().filter(|note| note.code == codes::simulated);
    let simulated =
        simulated.map(|note| format!("<p class=\"warn\"><span class=\"mark\">!</span> {}</p>\n", text(&note.text)));
    let simulated: String = simulated.collect();
    let counted = format!("{hosts}{of}: {}", tally(fleet, all).join(", "));
    let found = losses(fleet).into_iter().chain([counted]).chain(unseen(fleet).map(str::to_owned));
    let next = fleet.losses.first().and_then(FleetLoss::advice);
    let next = next.map_or_else(String::new, |next| format!("<p>Next: {}</p>\n", text(&next)));
    let link = if has_rest { format!("<p><a href=\"#rest\">{REST}</a></p>\n") } else { String::new() };
    let body = format!(
        "<p class=\"verdict {class}\"><span class=\"mark\">{mark}</span> {}</p>\n{next}{simulated}{change}{}{link}\
         <p class=\"dim\">{}</p>\n",
        text(&found.collect::<Vec<_>>().join("; ")),
        kinds_table(kinds),
        text(&rule)
    );
    article("verdict", if fleet.is_change { "Change of the fleet" } else { "Fleet" }, &body)
}

/// The kinds with links, where there are several.
fn kinds_table(kinds: &[Kind<'_>]) -> String {
    if kinds.len() < 2 {
        return String::new();
    }
    let row = |kind: &Kind<'_>| {
        let states = [HostState::Alike, HostState::Odd, HostState::NotJudged];
        let counts = states.map(|state| count(&kind.hosts, state));
        let cell = |(at, of): (usize, &usize)| match (at, of) {
            (_, 0) => "<td class=\"number dim\">0</td>".to_owned(),
            (1, of) => format!("<td class=\"number bad\">✘ {of}</td>"),
            (_, of) => format!("<td class=\"number\">{of}</td>"),
        };
        let cells: String = counts.iter().enumerate().map(cell).collect();
        let (at, hosts) = (kind.at, kind.hosts.len());
        let name = text(&kind_words(kind.kind));
        format!(
            "<tr><th scope=\"row\"><a href=\"#kind-{at}\">{name}</a></th>\
             <td class=\"number\">{hosts}</td>{cells}</tr>\n"
        )
    };
    let heads = [("kind", ""), ("hosts", "number"), ("alike", "number"), ("odd", "number"), ("not judged", "number")];
    let heads: String = heads.map(|(name, class)| head(name, class, "")).concat();
    table("Kinds of hosts", "sorts", &heads, &kinds.iter().map(row).collect::<String>())
}

/// What is left: hosts without a document, files that could not be read, notes.
fn rest(fleet: &Fleet) -> String {
    let mut out = hosts::failed(fleet);
    let missing: Vec<&str> =
        fleet.hosts.iter().filter(|host| host.state == HostState::Missing).map(|host| host.host.as_str()).collect();
    if !missing.is_empty() {
        let names = text(&missing.join(", "));
        out += &format!("<h3>Missing: expected, and without a document</h3>\n<p class=\"names\">{names}</p>\n");
    }
    let unread: Vec<String> = fleet.unread.iter().map(ToString::to_string).collect();
    let notes = fleet.notes.iter().filter(|note| note.code != codes::simulated);
    let notes: Vec<String> = notes.map(ToString::to_string).collect();
    out += &list("Files that are no document of a host", &unread);
    out += &list("Notes", &notes);
    if out.is_empty() { out } else { article("rest", REST, &out) }
}

fn list(title: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let more = items.len().saturating_sub(LISTED);
    let more = if more > 0 { format!("<li>{more} more</li>\n") } else { String::new() };
    let items: String = items.iter().take(LISTED).map(|item| format!("<li>{}</li>\n", text(item))).collect();
    format!("<h3>{title}</h3>\n<ul>\n{items}{more}</ul>\n")
}

fn article(id: &str, title: &str, body: &str) -> String {
    let level = if id == "verdict" { "h1" } else { "h2" };
    format!(
        "<article class=\"sheet\" id=\"{id}\" aria-labelledby=\"{id}-title\">\n\
         <{level} id=\"{id}-title\">{}</{level}>\n{body}</article>\n",
        text(title)
    )
}

/// A table that scrolls by itself. `title` is text, `heads` and `rows` are markup.
fn table(title: &str, class: &str, heads: &str, rows: &str) -> String {
    let title = text(title);
    format!(
        "<div class=\"scroll\" role=\"region\" aria-label=\"{title}\" tabindex=\"0\"><table class=\"fleet {class}\">\
         <caption>{title}</caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )
}

/// A head of a column: its name, and what stands below it.
fn head(name: &str, class: &str, below: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let below = if below.is_empty() { String::new() } else { format!("<small>{}</small>", text(below)) };
    format!("<th scope=\"col\"{class}><span>{}</span>{below}</th>", text(name))
}

/// A text of at most so many characters, the whole as its title where it is longer.
fn shortened(whole: &str, most: usize) -> String {
    if whole.chars().count() <= most {
        return text(whole);
    }
    const LONGEST_TITLE: usize = 600;
    let first = |most: usize| text(&whole.chars().take(most).collect::<String>());
    format!("<span title=\"{}\">{}…</span>", first(LONGEST_TITLE), first(most - 1))
}
