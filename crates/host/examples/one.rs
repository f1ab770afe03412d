//! One measurement by hand: `one chase SIZE [PAGE] [LAYOUT] [CHAINS]` or `one KERNEL SIZE [THREADS] [PAGE]`.
//!
//! Prints medians over blocks straight from the stamps, without the engine: a check that rig and engine agree.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::{Duration, Instant};

use tiermark_engine::{Host, ThreadShot};
use tiermark_host::{LinuxHost, Options};
use tiermark_machine::{Root, discover};
use tiermark_model::{
    Bytes, ChainLayout, IdSet, KernelId, Layout, MemPolicy, PageKind, RegionSetup, Role, Setup, ThreadSetup, parse_size,
};
use tiermark_system::live_facts;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let arg = |i: usize, default: &'static str| args.get(i).map_or(default.to_owned(), Clone::clone);
    let what = arg(0, "chase");
    let bytes = parse_size(&arg(1, "256M"))?;
    let setup = if what == "chase" {
        chase(bytes, arg(2, "thp").parse()?, arg(3, "random").parse()?, arg(4, "1").parse()?)
    } else {
        stream(&what, bytes, arg(2, "1").parse()?, arg(3, "thp").parse()?)
    };

    let begun = Instant::now();
    let mut host = LinuxHost::new(discover(&Root::live(), &live_facts())?, Options::default())?;
    let made = begun.elapsed();
    println!("host made in {made:.1?}: {:?}\n{:?}", host.bench().clock, host.bench().overheads);
    let stamp_ns = host.bench().overheads.stamp_ns;
    let begun = Instant::now();
    let mut rig = host.prepare(&setup)?;
    println!("prepared in {:.1?}; {:?}", begun.elapsed(), rig.placement());
    for _ in 0..5 {
        let shot = rig.shot(Duration::from_millis(50))?;
        for thread in &shot.threads {
            println!("{}", line(thread, stamp_ns, what == "chase"));
        }
    }
    println!("{:?}", rig.placement());
    Ok(())
}

fn chase(bytes: Bytes, page: PageKind, layout: ChainLayout, chains: u8) -> Setup {
    let region = region(bytes, page, Layout::Chain(layout));
    Setup { regions: vec![region], threads: vec![ThreadSetup::new(0, Role::Chase { chains }, 0)], seed: 1 }
}

fn stream(kernel: &str, bytes: Bytes, threads: u32, page: PageKind) -> Setup {
    let layout = if kernel.contains("random") { Layout::Permuted } else { Layout::Data };
    let role = Role::Stream { kernel: KernelId::from(kernel), rivals: Vec::new() };
    let thread = |cpu| ThreadSetup::new(cpu, role.clone(), cpu as usize);
    Setup {
        regions: (0..threads).map(|_| region(bytes, page, layout)).collect(),
        threads: (0..threads).map(thread).collect(),
        seed: 1,
    }
}

fn region(bytes: Bytes, page: PageKind, layout: Layout) -> RegionSetup {
    RegionSetup { bytes, policy: MemPolicy::Bind, nodes: IdSet::new(), page, layout }
}

/// The median block of one thread, and how much of the time went into blocks much longer than it.
fn line(thread: &ThreadShot, stamp_ns: f64, latency: bool) -> String {
    let mut blocks: Vec<f64> = thread.stamps_ns.windows(2).map(|w| w[1] - w[0]).collect();
    let total: f64 = blocks.iter().sum();
    blocks.sort_by(f64::total_cmp);
    let median = blocks[blocks.len() / 2] - stamp_ns;
    let lost: f64 = blocks.iter().filter(|b| **b > 4.0 * median).sum();
    let value = if latency {
        format!("{:.3} ns/access", median / thread.per_block)
    } else {
        format!(
            "{:.2} GB/s median, {:.2} mean",
            thread.per_block / median,
            thread.per_block * blocks.len() as f64 / total
        )
    };
    let (blocks, first, work) = (blocks.len(), thread.stamps_ns[0], thread.per_block);
    let guard = &thread.guard;
    format!(
        "cpu {} {value}; {blocks} blocks of {median:.0} ns ({work}), first after {first:.0} ns, long {:.1} %; \
            cpu/wall {:.4}, {:?} switches {} faults {}+{} delay {:?} clock {:.3?} GHz",
        guard.cpu,
        lost / total * 100.0,
        guard.cpu_ns / guard.wall_ns,
        guard.seen_on,
        guard.involuntary_switches,
        guard.minor_faults,
        guard.major_faults,
        guard.run_delay_ns,
        thread.looks.iter().map(|look| look.hz.map(|hz| hz / 1e9)).collect::<Vec<_>>(),
    )
}
