//! Lists of kernels, probes, primitives, runs and commands of other tools.

use std::collections::BTreeSet;

use tiermark_model::{Bytes, KernelInfo, Metric, OsGroup, Pattern, PrimitiveInfo, Refusal, StoreKind, Sweep};
use tiermark_page::{
    Cell, Detail, Ink, Page, Table, command, heading, left, paragraph, railed, raw, seconds, space, width,
};

use crate::{RunSummary, trouble};

/// A probe in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeLine {
    /// Its id, also the subcommand.
    pub id: String,
    /// Version of its method.
    pub method: u32,
    /// One line.
    pub summary: String,
    /// Why it cannot run here; `None` when it can.
    pub refused: Option<Refusal>,
}

/// Renders the kernels that can run here, and why others cannot.
pub fn kernels(kernels: &[KernelInfo], unavailable: &[Refusal], detail: Detail) -> Page {
    let stores = |kernel: &KernelInfo| match kernel.store_kind {
        StoreKind::None => "",
        StoreKind::Cached => "cached",
        StoreKind::NonTemporal => "non-temporal",
        StoreKind::Block => "block",
    };
    let what = |kernel: &KernelInfo| {
        let walk = if kernel.pattern == Pattern::Random { "random lines: " } else { "" };
        format!("{walk}{}{}", kernel.doc, if kernel.plain { " (plain)" } else { "" })
    };
    let table = Table::of(kernels).texts("kernel", |kernel| Cell::inked(kernel.id.to_string(), Ink::Head));
    // Useful bytes of every 64-byte line of span: what turns time into a rate.
    let bytes = |kernel: &KernelInfo| format!("{}+{}", kernel.read_per_line, kernel.write_per_line);
    let table = table.numbers("bytes a|line r+w", bytes).texts("stores", stores).texts("what", what);
    let table = table.table().indent(0);
    let list = if table.is_empty() { raw("No kernel can run here.", Ink::Plain) } else { table.into() };
    list + trouble("Not available here", &unavailable.iter().collect::<Vec<_>>(), detail)
}

/// A command or an option of another tool, and what does the same here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Equivalent {
    /// As it is written there.
    pub there: String,
    /// The command of tiermark.
    pub here: String,
    /// Differences between them; may be empty.
    pub note: String,
}

/// Renders commands of another tool beside those that do the same here.
pub fn equivalents(all: &[Equivalent]) -> Page {
    let shown = |row: &Equivalent| {
        let commands = raw(&row.there, Ink::Head) + raw(&format!("    {}", row.here), Ink::Plain);
        if row.note.is_empty() { commands } else { commands + paragraph("      ", &row.note, Ink::Plain) }
    };
    all.iter().map(shown).collect()
}

/// Renders a list of probes, with what keeps some from running here.
pub fn probes(probes: &[ProbeLine], detail: Detail) -> Page {
    let table = Table::of(probes).texts("probe", |probe| Cell::inked(&probe.id, Ink::Head));
    let table = table.numbers("method", |probe| probe.method.to_string());
    let table = table.texts("what it measures", |probe| &probe.summary).table().indent(0);
    let refused: Vec<&Refusal> = probes.iter().filter_map(|p| p.refused.as_ref()).collect();
    table + trouble("Not available here", &refused, detail)
}

/// Renders the primitives of the operating system, group by group, and why some cannot be measured here.
pub fn primitives(all: &[PrimitiveInfo], detail: Detail) -> Page {
    let mut out = Page::new();
    for group in OsGroup::ALL {
        let members: Vec<&PrimitiveInfo> = all.iter().filter(|p| p.group == group).collect();
        if members.is_empty() {
            continue;
        }
        out += heading(group.name());
        let table = Table::of(&members).texts("primitive", |primitive| &primitive.id.0);
        out += table.texts("how", |primitive| primitive.described()).table();
    }
    let refused: Vec<&Refusal> = all.iter().filter_map(|p| p.refusal.as_ref()).collect();
    out + trouble("Not available here", &refused, detail)
}

/// The method page of a primitive: how it is measured, its dimensions here, and why it cannot be measured here.
pub fn primitive(info: &PrimitiveInfo) -> Page {
    let unit = match info.metric {
        Metric::Latency => "time of one operation",
        Metric::Bandwidth => "useful bytes a second",
    };
    let title = format!("{}: {unit}, in the group {} of `tiermark os`", info.id, info.group);
    let section = |title: &str, texts: &[String]| {
        let texts: Page = texts.iter().map(|text| space() + paragraph("  ", text, Ink::Plain)).collect();
        heading(title) + texts
    };
    let usage =
        format!("`tiermark os --only '{}'`; `tiermark help os` describes how primitives are measured.", info.id);
    let mut over: Vec<String> = info.sweeps.iter().map(sweep).collect();
    if over.is_empty() {
        over.push("One number, without a sweep.".to_owned());
    }
    let mut out =
        section(&title, &[format!("{}.", info.described().trim_end_matches('.'))]) + section("Measured over", &over);
    out.extend(info.refusal.as_ref().map(|refusal| section("Not available here", &[refusal.to_string()])));
    out + section("Use", &[usage])
}

/// One dimension, in words.
fn sweep(sweep: &Sweep) -> String {
    let sizes = |what: &str, all: &[u64]| {
        let mut all = all.to_vec();
        all.sort_unstable();
        let all: Vec<String> = all.into_iter().map(|bytes| Bytes(bytes).to_string()).collect();
        format!("{what}: {}", all.join(", "))
    };
    match sweep {
        Sweep::Bytes(all) => sizes("size", all),
        Sweep::Capacity(all) => sizes("capacity of the channel", all),
        Sweep::Resident(all) => sizes("memory that the process holds", all),
        Sweep::WorkingSet(all) => sizes("working set of each side", all),
        Sweep::Count(all) => {
            format!(
                "number of descriptors or processes: {}",
                all.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
            )
        }
        Sweep::Pages(all) => {
            format!("page size: {}", all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
        Sweep::Partner => "place of the other side: one cpu of each relation to this cpu, and the same cpu".to_owned(),
        Sweep::Bystanders => "threads of the process on other cpus: none, one, two, four and so on to all".to_owned(),
        Sweep::NodePairs => "pairs of nodes between which memory moves".to_owned(),
    }
}

/// A saved run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLine {
    /// Its id.
    pub id: String,
    /// What was run; what is wrong with the document where it cannot be read.
    pub what: Result<RunSummary, String>,
}

/// Renders saved runs, one line each.
pub fn runs(lines: &[RunLine]) -> Page {
    let known = |line: &RunLine, field: fn(&RunSummary) -> String| line.what.as_ref().map(field).unwrap_or_default();
    let trusted =
        |run: &RunSummary| run.trusted.map(|(trusted, all)| format!("{trusted} of {all}")).unwrap_or_default();
    let machine = |line: &RunLine| match &line.what {
        Ok(run) => Cell::new(&run.machine),
        Err(why) => Cell::inked(why, Ink::Bad),
    };
    // Ids are copied: what is flush right is never broken.
    let table = Table::of(lines).numbers("run", |line| Cell::inked(&line.id, Ink::Head));
    let table = table.texts("what", |line| known(line, |run| run.title.clone()));
    let table = table.numbers("took", |line| known(line, |run| run.seconds.map(seconds).unwrap_or_default()));
    let table = table.numbers("trusted", |line| known(line, trusted));
    // The runs of a user are most often of one host.
    let hosts: BTreeSet<&str> = lines.iter().filter_map(|line| line.what.as_ref().ok()?.host.as_deref()).collect();
    let host = |line: &RunLine| known(line, |run| run.host.clone().unwrap_or_default());
    let table = table.when(hosts.len() > 1, |table| table.texts("host", host));
    table.texts("machine", machine).table().indent(0).into()
}

/// Renders names, each with a line of text.
pub fn names(rows: &[(String, String)]) -> Page {
    padded(rows, widest(rows)).indent(0).into()
}

/// Rows of a name and a text, the names flush left in a column that is never broken.
fn padded(rows: &[(String, String)], widest: usize) -> Table {
    let table = Table::of(rows).numbers("", |(name, _)| Cell::inked(left(name, widest), Ink::Head));
    table.texts("", |(_, text)| text).table()
}

/// Names with a text each, below headings.
pub fn groups(groups: &[(&str, Vec<(String, String)>)]) -> Page {
    let widest = widest(groups.iter().flat_map(|(_, rows)| rows));
    groups.iter().map(|(title, rows)| heading(*title) + padded(rows, widest)).collect()
}

/// The width of the longest name.
fn widest<'a>(rows: impl IntoIterator<Item = &'a (String, String)>) -> usize {
    rows.into_iter().map(|(name, _)| width(name)).max().unwrap_or(0)
}

/// Renders the page of a plan: its title, what it says of itself, and the commands it stands for with their notes.
pub fn plan_page(title: &str, about: &str, commands: &[(&str, Option<&str>)]) -> Page {
    let mut out = heading(title);
    for text in about.split("\n\n").map(str::trim).filter(|text| !text.is_empty()) {
        out += space() + paragraph("", text, Ink::Plain);
    }
    for (text, note) in commands {
        out += space();
        out.extend(note.map(|note| railed("# ", "# ", note, Ink::Dim)));
        out += command(text);
    }
    out
}
