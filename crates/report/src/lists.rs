//! Lists of kernels and probes, and pages of text about a probe.

use tiermark_model::{KernelInfo, OsGroup, Pattern, PrimitiveInfo, Refusal, StoreKind};

use crate::run::trouble;
use crate::style::{Ink, Style};
use crate::table::{Align, Cell, Table};
use crate::text::{hanging, heading};

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
pub fn kernels(kernels: &[KernelInfo], unavailable: &[Refusal], style: &Style) -> String {
    let mut table = Table::new().indent(0).column("kernel", Align::Left);
    // Useful bytes of every 64-byte line of span: what turns time into a rate.
    table = table.column("bytes a|line r+w", Align::Right).column("stores", Align::Left);
    table = table.column("what", Align::Left);
    for kernel in kernels {
        let walk = if kernel.pattern == Pattern::Random { "random lines: " } else { "" };
        let plain = if kernel.plain { " (plain)" } else { "" };
        table.row(vec![
            Cell::inked(kernel.id.to_string(), Ink::Head),
            Cell::new(format!("{}+{}", kernel.read_per_line, kernel.write_per_line)),
            Cell::new(match kernel.store_kind {
                StoreKind::None => "",
                StoreKind::Cached => "cached",
                StoreKind::NonTemporal => "non-temporal",
                StoreKind::Block => "block",
            }),
            Cell::new(format!("{walk}{}{plain}", kernel.doc)),
        ]);
    }
    let list = if table.is_empty() { "No kernel can run here.\n".to_owned() } else { table.render(style) };
    list + &trouble("Not available here", &unavailable.iter().collect::<Vec<_>>(), style)
}

/// Renders a list of probes, with what keeps some from running here.
pub fn probes(probes: &[ProbeLine], style: &Style) -> String {
    let mut table = Table::new().indent(0).column("probe", Align::Left).column("method", Align::Right);
    table = table.column("what it measures", Align::Left);
    for probe in probes {
        table.row(vec![
            Cell::inked(&probe.id, Ink::Head),
            Cell::new(probe.method.to_string()),
            Cell::new(&probe.summary),
        ]);
    }
    let refused: Vec<&Refusal> = probes.iter().filter_map(|p| p.refused.as_ref()).collect();
    table.render(style) + &trouble("Not available here", &refused, style)
}

/// Renders the primitives of the operating system, group by group, and why some cannot be measured here.
pub fn primitives(all: &[PrimitiveInfo], style: &Style) -> String {
    let mut out = String::new();
    for group in OsGroup::ALL {
        let of: Vec<&PrimitiveInfo> = all.iter().filter(|p| p.group == group).collect();
        if of.is_empty() {
            continue;
        }
        out.push_str(&heading(group.name(), style));
        let mut table = Table::new().column("primitive", Align::Left).column("how", Align::Left);
        for primitive in of {
            table.row(vec![Cell::new(&primitive.id.0), Cell::new(&primitive.text)]);
        }
        out.push_str(&table.render(style));
    }
    let refused: Vec<&Refusal> = all.iter().filter_map(|p| p.refusal.as_ref()).collect();
    out.trim_start_matches('\n').to_owned() + &trouble("Not available here", &refused, style)
}

/// Renders a page of text: a title, paragraphs (apart by empty lines), then titled sections.
pub fn about(title: &str, text: &str, sections: &[(&str, &str)], style: &Style) -> String {
    let mut out = heading(title, style).trim_start_matches('\n').to_owned();
    out.push_str(&paragraphs(text, style));
    for (title, text) in sections.iter().filter(|(_, text)| !text.trim().is_empty()) {
        out.push_str(&heading(title, style));
        out.push_str(paragraphs(text, style).trim_start_matches('\n'));
    }
    out
}

fn paragraphs(text: &str, style: &Style) -> String {
    let paragraphs = text.split("\n\n").map(str::trim).filter(|p| !p.is_empty());
    // Prose beyond some 100 columns is hard to read.
    let prose = Style { width: style.width.min(100), ..*style };
    paragraphs.map(|p| format!("\n{}", hanging("  ", p, Ink::Plain, &prose))).collect()
}
