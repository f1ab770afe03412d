//! `tiermark list`: runs, probes, kernels, counters, commands.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde_json::Value;
use tiermark_counters::survey;
use tiermark_engine::Lab;
use tiermark_history::lines::lock_soon;
use tiermark_history::{Entry, Store};
use tiermark_kernels::StreamSpec;
use tiermark_machine::Root;
use tiermark_model::{
    Bench, CounterSourceInfo, Effort, Exit, Isa, KernelInfo, LIST_SCHEMA, List, ListItem, PrimitiveInfo, Refusal,
    Request, RunKind, Scope,
};
use tiermark_page::{Detail, Ink, Page, raw, terminal};
use tiermark_report::RunSummary;
use tiermark_report::listings::{self, ProbeLine, RunLine};

use crate::args::{ListArgs, Listing, Simulation};
use crate::counters;
use crate::output::{self, Failure, detail, print, style};
use crate::saved::{self, Kept, journals};
use crate::{command_line, environment, target};

/// Runs the command.
pub(crate) fn run(args: &ListArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let of_a_machine = [Listing::Counters, Listing::Probes, Listing::Primitives];
    if args.root.is_some() && !args.what.is_some_and(|what| of_a_machine.contains(&what)) {
        return Err(Failure::usage(
            "--root: use it with counters, probes or primitives; no other list is of a machine",
        ));
    }
    let chosen = args.counters.counters_from.is_some() || args.counters.events.is_some();
    if chosen && args.what != Some(Listing::Counters) {
        return Err(Failure::usage("--counters-from and --events: use them with counters"));
    }
    // Only lists of a machine look at its tree.
    let root = || target::root(args.root.as_deref(), simulation);
    let detail = detail(&args.view);
    let text = match args.what {
        None => listed(args, named_listings(), named_item, |rows| {
            listings::names(&rows) + raw("`tiermark list WHAT` lists one of these.", Ink::Plain)
        }),
        Some(Listing::Runs) => {
            saved::adopt(&environment::store(), false);
            listed(args, saved::all()?, run_item, runs)
        }
        Some(Listing::Capacity) => {
            listed(args, journals().into_iter().rev().collect(), |journal| capacity_item(journal.path), capacity)
        }
        Some(Listing::Probes) => listed(args, probe_lines(&root()?)?, probe_item, |all| listings::probes(&all, detail)),
        Some(Listing::Kernels) => {
            listed(args, tiermark_kernels::streams().iter().collect(), kernel_item, |_| kernels(detail))
        }
        Some(Listing::Primitives) => {
            listed(args, primitives_of(&root()?)?, ListItem::Primitive, |all| listings::primitives(&all, detail))
        }
        Some(Listing::Counters) => {
            listed(args, sources(args, &root()?)?, ListItem::Counters, |all| listings::counter_sources(&all, detail))
        }
        Some(Listing::Commands) => {
            let described = command_line::described();
            let all = described.iter().flat_map(|(_, commands)| commands.clone()).collect();
            listed(args, all, named_item, |_| listings::groups(&described))
        }
    };
    print(&text?).map(|()| Exit::Done)
}

/// A list as its document, or as its page.
fn listed<T>(
    args: &ListArgs,
    all: Vec<T>,
    item: fn(T) -> ListItem,
    page: impl FnOnce(Vec<T>) -> Page,
) -> Result<String, Failure> {
    if args.json {
        let what = args.what.and_then(|what| what.to_possible_value()).map(|value| value.get_name().to_owned());
        return output::document(LIST_SCHEMA, &List { what, items: all.into_iter().map(item).collect() });
    }
    Ok(terminal(&page(all), &style(&args.view)))
}

/// The names of all lists.
fn named_listings() -> Vec<(String, String)> {
    let values = Listing::value_variants().iter().filter_map(Listing::to_possible_value);
    let about = |value: &PossibleValue| value.get_help().map(ToString::to_string).unwrap_or_default();
    values.map(|value| (value.get_name().to_owned(), about(&value))).collect()
}

fn named_item((name, about): (String, String)) -> ListItem {
    ListItem::Named { name, about }
}

fn probe_item(ProbeLine { id, method, summary, refused }: ProbeLine) -> ListItem {
    ListItem::Probe { id, method, summary, refused }
}

fn kernel_item(spec: &StreamSpec) -> ListItem {
    ListItem::Kernel { kernel: spec.kernel_info(), available: (spec.available)() }
}

/// A saved run.
fn run_item((kind, Entry { id, path, bytes, .. }): (RunKind, Entry)) -> ListItem {
    ListItem::Run { id, kind, path: path.to_string_lossy().into_owned(), bytes }
}

/// A capacity run by its journal.
fn capacity_item(journal: PathBuf) -> ListItem {
    let id = journal.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let document = journal.with_extension("json");
    let finished = document.exists();
    let path = if finished { document } else { journal };
    ListItem::Capacity { id, path: path.to_string_lossy().into_owned(), finished }
}

/// One line a run, newest first, and how to show or continue one.
fn runs(mut entries: Vec<(RunKind, Entry)>) -> Page {
    let store = environment::store();
    entries.extend(saved::without_document());
    entries.sort_by(|(_, a), (_, b)| b.order().cmp(&a.order()));
    if entries.is_empty() {
        let place = store.directory().map_or_else(|| "no directory".to_owned(), |d| d.display().to_string());
        return raw(&format!("No run is saved in {place}; `tiermark survey` makes one."), Ink::Plain);
    }
    let lines: Vec<RunLine> = entries
        .iter()
        .map(|(kind, entry)| RunLine { id: entry.id.clone(), what: summary(*kind, entry, &store) })
        .collect();
    let places: BTreeSet<String> =
        entries.iter().filter_map(|(_, entry)| Some(entry.path.parent()?.display().to_string())).collect();
    let places = Vec::from_iter(places).join(" and ");
    let journals = entries.iter().filter(|(kind, _)| *kind == RunKind::Capacity).map(|(_, entry)| &entry.path);
    let going_on = going_on(journals.map(|path| path.with_extension("jsonl")));
    let footer = format!("In {places}; `tiermark show RUN` shows one.{going_on}");
    listings::runs(&lines) + raw(&footer, Ink::Plain)
}

/// How to go on with runs of tenants, by their journals; empty where all have an end, or go on.
fn going_on(mut journals: impl Iterator<Item = PathBuf>) -> String {
    // One command of any run: those of several would be cut into the lines of a table.
    let of_any = journals.find(|journal| is_stopped(journal)).map(|journal| journal.with_file_name("RUN.jsonl"));
    of_any.map_or_else(String::new, |any| {
        format!(
            "\nTo continue a run of capacity that was stopped or killed, put its name in place of RUN: \
             tiermark capacity --resume={}",
            environment::quoted(&any)
        )
    })
}

/// Whether a journal is of a run of tenants that can be resumed.
fn is_stopped(journal: &Path) -> bool {
    let has_end =
        matches!(Kept::read(&journal.with_extension("json")), Ok(Some(Kept::Capacity(run))) if !run.is_stopped());
    !has_end && journal.exists() && !is_being_written(journal)
}

/// A saved run in a few words, or what is wrong with its document.
fn summary(kind: RunKind, entry: &Entry, store: &Store) -> Result<RunSummary, String> {
    if kind == RunKind::Probes {
        let run = store.load(&entry.path.display().to_string());
        return run.map(|run| RunSummary::of(&run)).map_err(|error| error.to_string());
    }
    if saved::is_under_way(&entry.path) {
        let what = match Kept::read(&entry.path) {
            Ok(Some(Kept::Load(run))) => format!("load: {}", tiermark_report::tenant_views::load_workload(&run)),
            _ => saved::journal_text(&entry.path),
        };
        return Ok(RunSummary::without_document(&what, is_being_written(&entry.path)));
    }
    match Kept::read(&entry.path) {
        Ok(Some(Kept::Capacity(run))) => Ok(tiermark_report::tenant_views::capacity_summary(&run)),
        Ok(Some(Kept::Load(run))) => Ok(tiermark_report::tenant_views::load_summary(&run)),
        Ok(None) | Err(_) => Err("its document cannot be read".to_owned()),
    }
}

/// One line a run of capacity, newest first, and how to show or continue one.
fn capacity(journals: Vec<Entry>) -> Page {
    let store = environment::capacity_runs();
    let Some(directory) = store.directory() else {
        return raw("No run of capacity is saved: set TIERMARK_HOME or HOME.", Ink::Plain);
    };
    let line = |Entry { id, path, .. }: Entry| {
        let document = path.with_extension("json");
        let text = match Kept::read(&document) {
            _ if is_being_written(&path) => "running".to_owned(),
            Ok(Some(Kept::Capacity(run))) => {
                let stopped = if run.is_stopped() { ", stopped" } else { "" };
                format!("{}{stopped}", tiermark_report::tenant_views::capacity_line(&run))
            }
            _ if document.exists() => "its document cannot be read".to_owned(),
            _ => "killed, no document".to_owned(),
        };
        (id, text)
    };
    if journals.is_empty() {
        return raw(&format!("No run of capacity is saved in {}.", directory.display()), Ink::Plain);
    }
    let going_on = going_on(journals.iter().rev().map(|journal| journal.path.clone()));
    let rows: Vec<(String, String)> = journals.into_iter().map(line).collect();
    let footer = format!("In {}; `tiermark show RUN` shows one.{going_on}", directory.display());
    listings::names(&rows) + raw(&footer, Ink::Plain)
}

/// Whether a run still writes its journal, which it locks.
fn is_being_written(journal: &Path) -> bool {
    File::open(journal).is_ok_and(|file| matches!(lock_soon(&file), Err(TryLockError::WouldBlock)))
}

/// Every probe, and whether this machine can run it.
fn probe_lines(root: &Root) -> Result<Vec<ProbeLine>, Failure> {
    let machine = target::machine(root)?;
    // Planning needs kernels and primitives; clock and overheads only matter once something is measured.
    let primitives = tiermark_primitives::primitives(&machine);
    let bench = Bench { kernels: available(), primitives, ..Bench::default() };
    let lab = Lab::new(machine, bench);
    Ok(tiermark_probes::all()
        .iter()
        .map(|probe| {
            let request = Request {
                probe: probe.id.into(),
                scope: Scope::default(),
                effort: Effort::Quick,
                precision: None,
                seed: 0,
                params: Value::Null,
                part: None,
            };
            ProbeLine {
                id: probe.id.into(),
                method: probe.method,
                summary: probe.summary.into(),
                refused: probe.plan(&request, &lab).err(),
            }
        })
        .collect())
}

/// The primitives of this system, or of a captured machine, and why some cannot be measured there.
pub(super) fn primitives_of(root: &Root) -> Result<Vec<PrimitiveInfo>, Failure> {
    let machine = target::machine(root)?;
    Ok(match root.is_live() {
        true => tiermark_primitives::present_primitives(&machine),
        false => tiermark_primitives::primitives(&machine),
    })
}

/// Sources of counters. Those of this machine are opened and closed again; those of a captured machine are not. With
/// `--counters-from` only the source of that name.
fn sources(args: &ListArgs, root: &Root) -> Result<Vec<CounterSourceInfo>, Failure> {
    let machine = target::machine(root)?;
    let families = counters::events(&args.counters)?;
    let place = counters::place(root, &machine, &families);
    Ok(match &args.counters.counters_from {
        Some(from) => vec![from.examine(place)],
        None => survey(place),
    })
}

pub(super) fn available() -> Vec<KernelInfo> {
    tiermark_kernels::available().map(|spec| spec.kernel_info()).collect()
}

/// Every kernel that was built, and why some cannot run here.
fn kernels(detail: Detail) -> Page {
    let mut missing: Vec<Isa> =
        tiermark_kernels::streams().iter().filter(|s| !(s.available)()).map(|s| s.info.isa).collect();
    missing.sort_unstable();
    missing.dedup();
    let unavailable: Vec<Refusal> = missing.into_iter().map(unavailable).collect();
    listings::kernels(&available(), &unavailable, detail)
}

/// Why the kernels of an instruction set cannot run here.
fn unavailable(isa: Isa) -> Refusal {
    let ids: Vec<&str> = tiermark_kernels::streams()
        .iter()
        .filter(|s| s.info.isa == isa && !(s.available)())
        .map(|s| s.info.id)
        .collect();
    let (name, needs) = match isa {
        Isa::Avx2 => ("AVX2", "AVX2"),
        Isa::Avx512 => ("AVX-512", "AVX-512F, BW, DQ and VL, with their registers enabled"),
        Isa::Sve => ("SVE", "SVE"),
        Isa::Arm64 => ("zeroing", "dc zva"),
        Isa::X86 => ("string", "fast string instructions"),
        Isa::Sse2 => ("SSE2", "SSE2"),
        Isa::Neon => ("NEON", "NEON"),
        Isa::Portable => ("portable", "nothing"),
    };
    tiermark_model::messages::setup::kernels_unavailable(name, &ids, needs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_holds_its_journal_is_running() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("run.journal");
        let held = File::create(&journal).unwrap();
        assert!(!is_being_written(&journal));
        held.lock().unwrap();
        assert!(is_being_written(&journal));
        drop(held);
        assert!(!is_being_written(&journal) && !is_being_written(folder.path().join("none").as_path()));
    }
}
