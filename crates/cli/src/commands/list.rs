//! `tiermark list`: runs, probes, kernels, commands.

use clap::CommandFactory;
use tiermark_engine::Lab;
use tiermark_history::Store;
use tiermark_model::{Bench, Effort, Exit, Isa, KernelInfo, Refusal, Request, Scope};
use tiermark_report::{ProbeLine, Style};

use crate::args::{Cli, ListArgs, Listing, Simulation};
use crate::output::{Failure, print, style};
use crate::{orphans, shell, target};

/// Runs the command.
pub(crate) fn run(args: &ListArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let style = style(&args.view);
    let text = match args.what {
        Listing::Runs => runs(&shell::store())?,
        Listing::Probes => probes(simulation, &style)?,
        Listing::Kernels => kernels(&style),
        Listing::Commands => commands(),
    };
    print(&text).map(|()| Exit::Done)
}

/// One line a run, newest first.
fn runs(store: &Store) -> Result<String, Failure> {
    orphans::adopt(store, false);
    let entries = store.list()?;
    let place = store.directory().map_or_else(|| "no directory".to_owned(), |d| d.display().to_string());
    if entries.is_empty() {
        return Ok(format!("No run is saved in {place}; `tiermark survey` makes one."));
    }
    let mut text = String::new();
    for entry in entries.iter().rev() {
        let what = match store.load(&entry.path.display().to_string()) {
            Ok(run) => {
                let name = run.machine.cpu_model.name.as_deref().unwrap_or("unknown processor");
                let simulated = if run.simulated.is_some() { ", simulated" } else { "" };
                let incomplete = if run.complete { "" } else { ", incomplete" };
                format!("{:<10} {:>6.1} s  {name}{simulated}{incomplete}", run.title, run.seconds)
            }
            Err(error) => error.to_string(),
        };
        text.push_str(&format!("{}  {what}\n", entry.id));
    }
    Ok(format!("{text}In {place}; `tiermark show ID` shows one."))
}

/// Every probe, and whether it can be asked here.
fn probes(simulation: &Simulation, style: &Style) -> Result<String, Failure> {
    let machine = match &simulation.simulate {
        Some(tree) => target::captured_machine(&target::tree(tree)?)?,
        None => target::this_machine()?,
    };
    // Planning needs the kernels; clock and overheads only matter once something is measured.
    let bench = Bench { kernels: available(), ..Bench::default() };
    let lab = Lab { machine: &machine, bench: &bench };
    let lines: Vec<ProbeLine> = tiermark_probes::all()
        .iter()
        .map(|probe| {
            let about = probe.about();
            let request = Request {
                probe: about.id.into(),
                scope: Scope::default(),
                effort: Effort::Quick,
                precision: None,
                seed: 0,
                params: serde_json::Value::Null,
                part: None,
            };
            ProbeLine {
                id: about.id.into(),
                method: about.method,
                summary: about.summary.into(),
                refused: probe.plan(&request, lab).err(),
            }
        })
        .collect();
    Ok(tiermark_report::probes(&lines, style))
}

pub(super) fn available() -> Vec<KernelInfo> {
    tiermark_kernels::available().map(|spec| spec.kernel_info()).collect()
}

/// Every kernel that was built, and why some cannot run here.
fn kernels(style: &Style) -> String {
    let mut missing: Vec<Isa> =
        tiermark_kernels::streams().iter().filter(|s| !(s.available)()).map(|s| s.info.isa).collect();
    missing.sort_unstable();
    missing.dedup();
    let unavailable: Vec<Refusal> = missing.into_iter().map(unavailable).collect();
    tiermark_report::kernels(&available(), &unavailable, style)
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
    Refusal::new(
        format!("{name} kernels ({})", ids.join(", ")),
        format!("this cpu or its kernel does not offer {needs}"),
        "a virtual machine may need another cpu model (host-passthrough)",
    )
}

fn commands() -> String {
    let command = Cli::command();
    let shown = command.get_subcommands().filter(|c| !c.is_hide_set());
    shown
        .map(|c| format!("{:<12} {}\n", c.get_name(), c.get_about().map(ToString::to_string).unwrap_or_default()))
        .collect()
}
