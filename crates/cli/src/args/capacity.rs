//! Arguments of `capacity`: a scenario, and what of it is to be otherwise.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tiermark_capacity::level::Limit;
use tiermark_capacity::scenario::{Backend, Pacing, Scenario, Size, Tier};
use tiermark_load::{Address, KeyDist};
use tiermark_model::{Bytes, IdSet};

use super::load::{above_zero, count, pacing, percentage, rate, seconds_or_none, value_size};
use super::{LabelArgs, View};
use crate::inventory::InventoryArgs;
use crate::parse;
use crate::start::{StartArgs, WaitArgs};

pub(crate) const EXAMPLES: &str = "\
Examples:
  tiermark capacity --list
  sudo tiermark capacity --scenario mini
  sudo tiermark capacity --scenario mini --tiers dram,zram:lz4,swap:/var/tmp --level 'p99 < 10ms' --prices prices.toml
  sudo tiermark capacity --scenario mini --backend qemu --tiers dram
  sudo tiermark capacity --scenario brief --tenants 108 --tiers dram,swap:/dev/nvme1n1+/dev/nvme2n1
  tiermark capacity --scenario brief --backend external --target host1:6379,host2:6379 --most-tenants 2
  tiermark capacity --scenario brief --backend external --inventory hosts.ini --group cache
  sudo tiermark capacity --scenario mini --set load.connections=4 --set load.mixes='[50, 90]'
  sudo tiermark capacity --resume
Each tenant is a Redis server in its own control group, so root is needed. With --backend external, root is not needed: the run writes
the keys 0, 1, 2 … to the named servers and does not delete them; a server that already holds keys is refused without --overwrite.
Every change is written to a journal first and taken back at the end; after a kill the next run or `tiermark tune --restore` does so.
Exit codes: 0 every search has one answer, 4 refused and nothing measured, 5 some searches failed or have no single answer.";

/// Kind of the tenants' servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendChoice {
    /// A server process for each tenant, in its own control group
    Process,
    /// A virtual machine for each tenant, with server and client inside, in its own control group
    Qemu,
    /// Running servers at the addresses of --target or --inventory
    External,
}

/// Files and options with which a run was begun, and is resumed.
const BEGUN_WITH: [&str; 12] = [
    "scenario",
    "settings",
    "dry_run",
    "TenantArgs",
    "InventoryArgs",
    "AskedArgs",
    "SearchArgs",
    "LabelArgs",
    "threads",
    "client_cpus",
    "timeout",
    "prices",
];

/// Arguments of `capacity`.
#[derive(Debug, Args)]
pub(crate) struct CapacityArgs {
    /// The scenario: brief, mini, cache, or a file (`tiermark help scenario`)
    #[arg(long, value_name = "SCENARIO", required_unless_present_any = ["list", "resume", "dry_run"])]
    pub(crate) scenario: Option<String>,
    /// Set a key of the scenario, as in load.connections=4 (repeatable)
    ///
    /// `tiermark help scenario` lists the keys. VALUE is TOML, such as ["dram", "zram"], or text without quotes. If
    /// --set names a key twice, the last value applies. An option for the same key overrides --set.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse::setting, requires = "scenario")]
    pub(crate) settings: Vec<(String, String)>,
    /// List the scenarios that are built in
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
    /// Print the scenario with all options applied, the changes and the time; run nothing
    ///
    /// Without --scenario: the built-in scenarios.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Continue the newest run that was stopped, or the one in this file
    ///
    /// The run keeps the options that it was begun with.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, conflicts_with_all = BEGUN_WITH)]
    pub(crate) resume: Option<Option<PathBuf>>,
    /// With --resume: accept a file of another user. The run starts the programs that it names: read it first
    #[arg(hide_short_help = true, long, requires = "resume")]
    pub(crate) trust: bool,
    /// Run although other work keeps more than half of the cpus busy
    #[arg(long, hide_short_help = true)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) waiting: WaitArgs,
    /// Password of the servers of --target; it is never saved. The environment hides it from other users
    #[arg(hide_short_help = true, long, value_name = "WORD", env = "REDISCLI_AUTH", hide_env_values = true)]
    pub(crate) password: Option<String>,
    #[command(flatten)]
    pub(crate) start: StartArgs,
    // Not within the tenants' options: a struct that has another within it has no group, and `resume` names its group.
    #[command(flatten)]
    pub(crate) inventory: InventoryArgs,
    #[command(flatten)]
    pub(crate) tenants: TenantArgs,
    #[command(flatten)]
    pub(crate) asked: AskedArgs,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    /// Threads of the client, which share the tenants [default: one for each of --client-cpus, else 1]
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = above_zero, help_heading = "Client")]
    pub(crate) threads: Option<usize>,
    /// Cpus of the client, as 0-3,8 [default: any]
    #[arg(hide_short_help = true, long, value_name = "LIST", value_parser = parse::cpu_list, help_heading = "Client")]
    pub(crate) client_cpus: Option<IdSet>,
    /// Longest wait for an answer, in seconds; after it the client stops sending to the tenant
    #[arg(
        hide_short_help = true, long, value_name = "SECONDS", default_value = "60", value_parser = parse::seconds,
        help_heading = "Client",
    )]
    pub(crate) timeout: f64,
    /// Price file, to compute the cost of a tenant; `tiermark help prices` shows an example
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) prices: Option<PathBuf>,
    /// Write the document as JSON [default: to standard output]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    #[arg(help_heading = "Results")]
    pub(crate) json: Option<String>,
    #[command(flatten)]
    pub(crate) labels: LabelArgs,
    /// Show only results and errors, no progress
    #[arg(short, long, help_heading = "Results")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) view: View,
}

/// The tenants, and where they run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tenants and memory")]
pub(crate) struct TenantArgs {
    /// Where tenants run
    #[arg(long, value_name = "BACKEND")]
    pub(crate) backend: Option<BackendChoice>,
    /// Running servers, for --backend external
    ///
    /// host:port, a path or unix:path.
    #[arg(long = "target", value_name = "ADDRESS", value_delimiter = ',')]
    pub(crate) targets: Vec<Address>,
    /// Command that starts a server of --target before it is used, where {N} is its number from 1: 'ssh host{N}
    /// systemctl start redis', 'virsh start vm{N}'
    #[arg(hide_short_help = true, long, value_name = "COMMAND", requires = "stop")]
    pub(crate) start: Option<String>,
    /// Command that fails if a server of --target runs already: run before --start, and before --stop after a killed
    /// run
    #[arg(hide_short_help = true, long, value_name = "COMMAND", requires = "start")]
    pub(crate) check: Option<String>,
    /// Virtual machines of libvirt, started before and destroyed after each trial: vm{N}
    ///
    /// Their servers are those of --target; without it, they listen on port 6379 of the address that `virsh domifaddr`
    /// shows.
    #[arg(hide_short_help = true, long, value_name = "DOMAIN", conflicts_with_all = ["check", "start", "stop", "inventory"])]
    pub(crate) libvirt: Option<String>,
    /// A virtual machine of libvirt (shut off) that is cloned for each tenant; the clones are removed with their disks
    #[arg(
        hide_short_help = true, long, value_name = "DOMAIN",
        conflicts_with_all = ["check", "start", "stop", "libvirt", "targets", "inventory"],
    )]
    pub(crate) libvirt_base: Option<String>,
    /// Command that stops the server of --start, so that each trial begins with empty servers: 'virsh destroy vm{N}'
    #[arg(hide_short_help = true, long, value_name = "COMMAND", requires = "start")]
    pub(crate) stop: Option<String>,
    /// Use servers of --target that hold keys already
    #[arg(hide_short_help = true, long)]
    pub(crate) overwrite: bool,
    /// The server's program, a name or a path: redis-server, valkey-server
    #[arg(hide_short_help = true, long, value_name = "PROGRAM")]
    pub(crate) server: Option<String>,
    /// Run each server in a container of this image, by podman, in the tenant's control group
    #[arg(hide_short_help = true, long, value_name = "IMAGE", conflicts_with = "wrap")]
    pub(crate) podman: Option<String>,
    /// Command in front of the server's command, as in 'numactl -i all'; {N} is the tenant's number. The server must
    /// stay in its control group
    #[arg(hide_short_help = true, long, value_name = "WORDS")]
    pub(crate) wrap: Option<String>,
    /// Port of the first tenant, the others follow [default: free ports]
    #[arg(hide_short_help = true, long, value_name = "PORT", value_parser = parse::within::<u16>(1..=u64::MAX))]
    pub(crate) first_port: Option<u16>,
    /// Memory of each virtual machine, for --backend qemu [default: enough for the records, and 192M]
    #[arg(hide_short_help = true, long, value_name = "SIZE", value_parser = parse::size)]
    pub(crate) vm_memory: Option<Bytes>,
    /// More parameters of the virtual machines' kernel: 'nohz=off highres=off lapic=notscdeadline'
    #[arg(hide_short_help = true, long, value_name = "WORDS")]
    pub(crate) vm_append: Option<String>,
    /// Kernel of the virtual machines [default: the newest /boot/vmlinuz-*, one for clouds first]
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    pub(crate) guest_kernel: Option<PathBuf>,
    /// The tiermark program (x86-64) that runs in the virtual machines [default: this program]
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    pub(crate) guest_agent: Option<PathBuf>,
    /// Memory to compare: dram, zram, zswap, swap:DEVICE, node:N …
    ///
    /// dram, swap:DEVICE, swap:DIRECTORY, swap:DEVICE+DEVICE (filled in turn), zram[:ALGORITHM], zswap, node:N (whole
    /// tenants), demotion:N (by the kernel, page by page), or several in one as zram+swap:/dev/sdb.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) tiers: Vec<Tier>,
    /// Memory of all tenants together, in place of the server's DRAM
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    pub(crate) dram_budget: Option<Bytes>,
    /// Part of the budget that is reserved for system and clients
    #[arg(hide_short_help = true, long, value_name = "SIZE", value_parser = parse::amount)]
    pub(crate) reserve: Option<Bytes>,
    /// Size of the zram device and of swap files [default: four times the budget]
    #[arg(hide_short_help = true, long, value_name = "SIZE", value_parser = parse::size)]
    pub(crate) tier_size: Option<Bytes>,
    /// Records of each tenant
    ///
    /// K, M, G are powers of 1000.
    #[arg(long, value_name = "N", value_parser = count)]
    pub(crate) records: Option<u64>,
    /// Size of values
    #[arg(short = 'd', long, value_name = "SIZE", visible_alias = "data-size", value_parser = value_size)]
    pub(crate) value_size: Option<Bytes>,
}

/// The load of the tenants, and the service level.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load and service level")]
pub(crate) struct AskedArgs {
    /// Requests a second of each tenant
    #[arg(long, value_name = "RATE", visible_alias = "rate", value_parser = rate)]
    pub(crate) rps: Option<f64>,
    /// Whether requests are sent at their times (open loop), or one at a time (closed loop)
    ///
    /// A closed loop, as that of the published test, leaves out the requests that are due while it waits.
    #[arg(hide_short_help = true, long, value_name = "LOOP", value_parser = pacing())]
    pub(crate) pacing: Option<Pacing>,
    /// Percent of GETs, the others are SETs; one or several
    ///
    /// Each percentage has its own search.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = percentage)]
    pub(crate) gets: Vec<f64>,
    /// Distribution of the requested keys: uniform, brief:WIDTH, normal[:SIGMA[,MEAN]], zipf:EXPONENT,
    /// hotspot:KEYS,REQUESTS or sequential; repeatable, one search for each
    #[arg(hide_short_help = true, long, value_name = "DIST")]
    pub(crate) key_dist: Vec<KeyDist>,
    /// A limit to keep, such as 'p99 < 300us' (repeatable)
    ///
    /// 'average < 50us', 'p99 < 300us', 'max < 1s', 'rate > 99.5%', 'hit rate > 90%' (of the GETs).
    #[arg(long, value_name = "LIMIT")]
    pub(crate) level: Vec<Limit>,
    /// Warm-up under load before each measurement, in seconds
    #[arg(hide_short_help = true, long, value_name = "SECONDS", value_parser = seconds_or_none)]
    pub(crate) warmup: Option<f64>,
    /// Longest wait after the warm-up until the system is steady, in seconds; 0: no wait
    #[arg(hide_short_help = true, long, value_name = "SECONDS", value_parser = seconds_or_none)]
    pub(crate) settle: Option<f64>,
    /// Time of one iteration, in seconds
    #[arg(hide_short_help = true, long, value_name = "SECONDS", value_parser = parse::seconds)]
    pub(crate) measure: Option<f64>,
    /// Iterations of a full trial
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = parse::within::<u32>(1..=100))]
    pub(crate) iterations: Option<u32>,
    /// Seed of every random choice [default: from the clock; the document records it]
    #[arg(hide_short_help = true, long, value_name = "NUMBER", value_parser = parse::whole::<u64>)]
    pub(crate) seed: Option<u64>,
}

/// Limits of a search.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub(crate) struct SearchArgs {
    /// Measure only this number of tenants on each tier: no search
    #[arg(
        long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000),
        conflicts_with = "most_tenants",
    )]
    pub(crate) tenants: Option<u32>,
    /// Most tenants of a trial
    #[arg(long, value_name = "N", value_parser = parse::within::<u32>(1..=u64::MAX))]
    pub(crate) most_tenants: Option<u32>,
    /// Longest time of one trial, its fill included
    #[arg(hide_short_help = true, long, value_name = "SECONDS", value_parser = parse::seconds)]
    pub(crate) trial_time: Option<f64>,
    /// Longest time of the whole run, in equal parts for the searches; unfinished searches can be resumed
    #[arg(long, value_name = "SECONDS", value_parser = parse::seconds)]
    pub(crate) max_time: Option<f64>,
    /// Memory of the machine that must stay free
    #[arg(hide_short_help = true, long, value_name = "SIZE", value_parser = parse::size)]
    pub(crate) memory_floor: Option<Bytes>,
}

/// Puts a value that was given in place of another.
fn put<T>(place: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *place = given;
    }
}

fn put_list<T: Clone>(place: &mut Vec<T>, given: &[T]) {
    if !given.is_empty() {
        *place = given.to_vec();
    }
}

impl CapacityArgs {
    /// Changes a scenario as options say.
    pub(crate) fn change(&self, scenario: &mut Scenario) {
        self.tenants.change(scenario);
        self.asked.change(scenario);
        let (search, limits) = (&self.search, &mut scenario.limits);
        put(&mut limits.tenants, search.tenants.map(Some));
        put(&mut limits.most_tenants, search.most_tenants);
        put(&mut limits.trial_seconds, search.trial_time);
        put(&mut limits.total_seconds, search.max_time.map(Some));
        put(&mut limits.memory_floor, search.memory_floor.map(|size| Size(size.0)));
        put(&mut scenario.prices, self.prices.as_ref().map(|path| Some(path.display().to_string())));
    }
}

impl TenantArgs {
    fn change(&self, scenario: &mut Scenario) {
        let size = |bytes: Option<Bytes>| bytes.map(|bytes| Size(bytes.0));
        put(
            &mut scenario.backend,
            self.backend.map(|backend| match backend {
                BackendChoice::Process => Backend::Process,
                BackendChoice::Qemu => Backend::Qemu,
                BackendChoice::External => Backend::External,
            }),
        );
        let targets: Vec<String> = self.targets.iter().map(ToString::to_string).collect();
        put_list(&mut scenario.targets, &targets);
        put(&mut scenario.tenant.server, self.server.clone());
        put_list(&mut scenario.tiers, &self.tiers);
        put(&mut scenario.dram_budget, size(self.dram_budget));
        put(&mut scenario.reserve, size(self.reserve));
        put(&mut scenario.tier_size, size(self.tier_size).map(Some));
        put(&mut scenario.tenant.records, self.records);
        put(&mut scenario.tenant.value, size(self.value_size));
        put(&mut scenario.tenant.vm_memory, size(self.vm_memory).map(Some));
        put(&mut scenario.tenant.vm_append, self.vm_append.clone().map(Some));
    }
}

impl AskedArgs {
    fn change(&self, scenario: &mut Scenario) {
        let (load, time) = (&mut scenario.load, &mut scenario.time);
        put(&mut load.rate, self.rps);
        put(&mut load.pacing, self.pacing);
        put_list(&mut load.mixes, &self.gets);
        put_list(&mut load.keys, &self.key_dist);
        put_list(&mut scenario.level.limits, &self.level);
        put(&mut time.warm_up, self.warmup);
        put(&mut time.settle, self.settle);
        put(&mut time.measure, self.measure);
        put(&mut time.iterations, self.iterations);
        put(&mut scenario.seed, self.seed.map(Some));
    }
}
