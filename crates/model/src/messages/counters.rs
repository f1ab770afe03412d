//! Messages about counters of traffic: sources that cannot be opened, and what is wrong with their events.

use super::rows::messages;
use crate::{CounterSight, Rate, count_of};

/// Event sources that a sentence names.
const NAMED: usize = 4;
const CONTROLLERS: &str = "counters of memory controllers (perf)";
const MONITORING: &str = "memory bandwidth monitoring (resctrl)";
const PORT: &str = "host system management port (hsmp)";
const CORES: &str = "misses of cores in the last-level cache (core)";
const SEND: &str = "`tiermark machine --capture FILE` writes a description to send; docs/COUNTERS.md says where and \
    how to add the events";
const ALLOW: &str = "run as root, or `sudo setcap cap_perfmon=ep PROGRAM`, or `sudo sysctl \
    kernel.perf_event_paranoid=0` (in a container: on its host)";

messages! {
    Refusal no_pmu():
        { CONTROLLERS }, "the kernel has no event source of a memory controller in /sys/bus/event_source/devices, as \
            in virtual machines",
        "in a virtual machine, count on its host; else load the module of the processor: `sudo modprobe \
            intel_uncore` (amd_uncore, arm_cmn, arm_dmc620_pmu, nvidia_cspmu)";

    Refusal events_unknown(cpu: &str, sources: &[String]):
        { CONTROLLERS }, { format!("the events of {cpu} are not known; its sources are {}", listed(sources)) }, { SEND };

    Refusal format_lacks(source: &str, why: &str):
        { CONTROLLERS }, "{source} does not take the events that its processor's family has: it {why}", { SEND };

    Refusal denied(paranoid: Option<i64>, error: &str):
        { CONTROLLERS }, { no_events(paranoid, error) }, { ALLOW };

    Refusal none_opened(error: &str):
        { CONTROLLERS }, { format!("the kernel opened no event of memory{}", if error.is_empty() { String::new() } else { format!(": {error}") }) }, { SEND };

    Refusal not_this_machine(source: &str):
        "{source}", "this is a description of a machine, so nothing was opened", "run `tiermark list counters` on \
            the machine";

    Refusal no_bandwidth_monitoring():
        { MONITORING }, "the processor or the hypervisor has no counters of memory traffic for resctrl (cqm_mbm_total)",
        "no action is possible; Xeon from Broadwell and EPYC from Zen 2 have them outside of virtual machines";

    Refusal resctrl_not_mounted(path: &str):
        { MONITORING }, "{path} is not mounted", "`sudo mount -t resctrl resctrl {path}`";

    Refusal monitoring_group_refused(group: &str, error: &str):
        { MONITORING }, "{group}: {error}", "run as root; if all monitors are in use, another program must give up a \
            group of its own";

    Refusal group_not_made():
        { MONITORING }, "opening it makes a monitoring group, so that it was not tried", "";

    Refusal needs_a_file(program: &str, source: &str) options ["--counters-from"]:
        "the output of {program}", "it is a file that {program} writes", "name the file: `--counters-from \
            {source}=FILE`";

    Note partial_alias(source: &str, alias: &str):
        "{source}: the kernel's event {alias} counts one of two sub-channels, so that perf and tools that use it see \
            half of the traffic; tiermark counts both";

    Note alias_differs(source: &str, alias: &str):
        "{source}: the kernel's event {alias} differs from the event that tiermark counts";

    Note source_cpu_offline(source: &str, cpu: u32):
        "{source}: cpu {cpu} is offline, so that its socket is not counted";

    Note source_lacks_format(source: &str, why: &str):
        "{source} does not take an event that its processor's family has, and does not count it: it {why}";

    Note boxes_absent(boxes: u64):
        { crate::written::count_of(boxes, "event source") + " cannot be opened: this processor lacks the box behind" };

    Note other_monitor(pid: u32, name: &str):
        "{name} (process {pid}) may set the same counters, so that their counts jump";

    Note counts_come_late(program: &str):
        "{program} counts in intervals of its own: traffic within one interval cannot be separated";

    Note numbers_without_lines(source: &str, numbers: u64):
        { format!("{source} had no new counts while {} ran once more, so their traffic is not known: check that its \
            program is still running and writes this file", count_of(numbers, "number")) };

    Note intervals_too_long(source: &str, numbers: u64):
        { format!("no whole interval of {source} lies within the time of {}, so their traffic is not known: give \
            the program a shorter interval (1 s), or raise --seconds", count_of(numbers, "number")) };

    Note numbers_without_time(source: &str, numbers: u64):
        { format!("--max-time left no time for {} to run once more beside {source}, so their traffic is not known: \
            raise --max-time, or lower --seconds", count_of(numbers, "number")) };

    Note lines_of_another_clock(source: &str, lines: u64):
        { format!("{} of {source} left out: their times are not those of this machine's clock, or are minutes late",
            count_of(lines, "line")) };

    Note counts_failed_meanwhile(source: &str, numbers: u64, error: &str):
        { format!("the counts of {source} could not be read while {} ran once more: {error}", count_of(numbers, "number")) };

    Refusal hsmp_absent():
        { PORT }, "there is no /dev/hsmp", "on EPYC from Zen 3, outside of virtual machines: `sudo modprobe \
            amd_hsmp` (hsmp_acpi on newer systems)";

    Refusal hsmp_refused(error: &str):
        { PORT }, "/dev/hsmp: {error}", "update the firmware; messages 0Fh and 14h need version 3 of the port";

    Refusal hsmp_implausible(socket: u32, most: f64, clock: f64):
        { PORT }, "socket {socket} states a peak of {most} GB/s at a memory clock of {clock} MHz, which no processor \
            has",
        { SEND };

    Note rates_are_sampled():
        "the firmware states a rate, in whole GB/s, over a time that AMD does not document: counts are rates times \
            the time between readings, and mean nothing for less than a second";

    Refusal counts_of_another_program(source: &str, named: &str, found: &str) options ["--counters-from"]:
        "{source}", "it has no counts in the form of {named}; it looks like the output of {found}", "`--counters-from {found}={source}`";

    Note watch_without_traffic(why: &str):
        "there is no column of memory traffic, because no source of counters opened: {why}; `tiermark list counters` \
            shows all sources";

    Refusal nothing_came(source: &str, cause: &str) options ["--counters", "--counters-from"]:
        "counters of memory traffic", "{source} counted nothing during the watch: {cause}",
        "name another source (`tiermark list counters`), or leave out `--counters require` and `--counters-from`";

    Note watch_too_short_for_counts(source: &str):
        "{source} had no new counts during the watch, which was too short: a source writes counts about once a \
         second, or when it ends; watch for 5 s or longer";

    Note counts_stopped(source: &str, since: &str, seconds: u64):
        { format!("no new counts of {source} since {since}, for {}", ago(seconds)) };

    Note counts_resumed(source: &str):
        "{source} counts again";

    /// A file that is empty.
    Note file_is_empty(program: &str):
        "the file is empty: {program} has written nothing";

    Refusal no_core_misses(error: &str):
        { CORES }, "the kernel does not count reads that missed the last-level cache: {error}",
        "no action is possible on EPYC; in a virtual machine, the host must give it a PMU";

    Refusal cores_denied(paranoid: Option<i64>, error: &str):
        { CORES }, { no_events(paranoid, error) }, { ALLOW };

    Note only_core_misses(stores: bool):
        {
            let what = if stores { "loads and stores" } else { "loads" };
            format!("counts are a lower bound: {what} of cores that missed the last-level cache, times 64 bytes, \
                without hardware prefetches, written lines and devices; lines from caches of other sockets are \
                included")
        };

    Note counts_by_factor(of: &str, factor: f64, ratio: f64):
        "{of}: {ratio:.2} are counted for each byte of a known stream, close to {factor:.2}: the events count a \
            part, or the same traffic twice";

    Note counts_off(of: &str, ratio: f64):
        "{of}: {ratio:.2} are counted for each byte of a known stream, which has no known reason; other programs \
            used the memory, or the events are wrong";

    Note nothing_counted():
        "no counter of the socket counted a known stream to its memory";

    Note box_silent(unit: &str, socket: Option<u32>):
        { format!("{unit}{} counted nothing of a known stream although its clock ticks", on(socket)) };

    Rates boxes_stay_zero(units: Vec<String>, socket: Option<u32>, counts: CounterSight, beside: Rate):
        {
            format!(
                "{}{} counted no {} while memory moved {beside}: counters that do not work or have stopped, or no \
                    modules there; these counts are not used",
                listed(&units), on(socket), of_sight(counts)
            )
        };

    Note boxes_count_a_part(units: &[String], socket: Option<u32>, counts: CounterSight):
        { format!("{}{} counted only {}: sums of reads and writes that need these places are left out", listed(units), on(socket), of_sight(counts)) };

    Note boxes_lost(units: &[String], socket: Option<u32>):
        { format!("{}{}: the source no longer counts there, so sums that need these counts are left out", listed(units), on(socket)) };

    Note boxes_set_back(units: &[String], socket: Option<u32>):
        {
            format!(
                "{}{}: counts fell, so no rate can be computed: another program reset them, or the source restarted",
                listed(units), on(socket)
            )
        };

    Note boxes_without_turn(units: &[String], socket: Option<u32>):
        {
            format!(
                "{}{}: other programs use the counters (stop these programs); sums that need these counts are left out",
                listed(units), on(socket)
            )
        };

    Rates boxes_impossible(units: Vec<String>, socket: Option<u32>, rate: Rate):
        { format!("{}{} counted {rate}, more than it can carry: these counts are not used", listed(&units), on(socket)) };

    Note few_boxes(boxes: u64, channels: u64):
        "{boxes} of {channels} channels with modules counted a known stream";

    Note box_interrupted(unit: &str, socket: Option<u32>):
        { format!("{unit}{} did not count a known stream all the time: its counters take turns, or another program \
            sets or stops them", on(socket)) };

    Note box_phantom(unit: &str, socket: Option<u32>):
        { format!("{unit}{} counted what a known stream did not cause, or more than a channel carries", on(socket)) };

    Refusal counts_of_no_use(source: &str, faults: &str) options ["--counters", "--counters-from"]:
        "--counters require", "the counts of {source} disagree with a known stream: {faults}",
        "`--counters auto` measures all the same, and `--counters-from` names another source";

    Refusal counts_unreadable(source: &str, error: &str):
        "{source}", "{error}", "name a file that the program writes now";

    Note file_is_old(file: &str, seconds: u64, program: &str):
        { format!("{file} was last written {} ago; is {program} still running?", ago(seconds)) };

    Note file_does_not_grow(file: &str, seconds: u64, program: &str):
        { format!("no new line in {file} for {}; is {program} still running?", ago(seconds)) };

    Refusal likwid_uncounted(source: &str, metric: &str, group: &str, cell: &str):
        "{source}", "likwid could not count all channels: '{metric}' of the group {group} is '{cell}'",
        "run likwid-perfctr as root with the access daemon or direct access, and stop other programs that use the \
         counters; `likwid-perfctr -i` says which counters the processor has";

    Note no_number(column: &str, cell: &str, program: &str):
        {
            let cause = match cell.contains(',') && cell.contains('.') {
                true => format!("it has a separator of thousands: run {program} with LC_ALL=C"),
                false => format!("{program} could not read all its counters; run it as root, and stop other programs \
                    that use the counters"),
            };
            format!("'{column}' is '{cell}', which is no count: {cause}")
        };

    /// A socket whose cells are no numbers while those of others are; `cause`: of the first such column.
    Note socket_left_out(socket: u32, cause: &str): "traffic of socket {socket} is missing: {cause}";

    Note lines_skipped(lines: u64, program: &str, first: &str):
        {
            let lines = crate::written::count_of(lines, "line");
            format!("{lines} of {program} without counts: traffic of that time is missing; cause of the first: {first}")
        };

    Rates sums_differ(program: &str, stated: Rate, parts: Rate):
        "{program} states {stated} for the machine (System), but its parts add up to {parts}: a part is missing or \
            counted twice; figures are those of the parts";

    Note socket_reads_zero(program: &str, socket: u32, since: &str):
        "{program} has stated no traffic of socket {socket} since {since}, while other sockets have some: \
         the counters of that socket may have stopped, or the socket is idle";

    Note likwid_sockets_unknown(counting: u64, threads: u64):
        "{counting} of {threads} threads of likwid counted memory, one for each socket; they are not cpus of this \
         machine, so a socket whose counters do not work is not noticed";

    Note cells_empty(program: &str):
        "all cells of memory are empty: {program} could not read its counters; run it as root, and stop other \
            programs that use the counters";

    Note time_of_lines(is_older: bool):
        {
            let state = if is_older { "runs backwards" } else { "stands still" };
            format!("the time of its lines {state}, so no rate can be computed: more than one program may write them")
        };

    Note row_width(cells: usize, header: usize, program: &str):
        {
            let cause = match cells < header {
                true => "the line is cut".to_owned(),
                false => format!(
                    "the header is cut, or the decimal sign is a comma, as cells are separated: run {program} with \
                        LC_ALL=C"
                ),
            };
            format!("a line has {cells} cells, its header {header}: {cause}")
        };

    Note no_time_of_day(cell: &str, program: &str):
        "'{cell}' is no time of the day, as {program} writes it (03:04:05.123)";

    Note no_counts_yet(program: &str):
        "the file has no counts yet: counting begins with the next line that {program} writes";

    Refusal likwid_no_time(source: &str, group: &str):
        "{source}", "the time of the group {group} is 0: likwid-perfctr measured no time",
        "measure a program, or a region, that runs longer";

    Refusal likwid_row_width(source: &str, metric: &str, values: usize, threads: usize):
        "{source}",
        {
            let commas = "the decimal sign is a comma, as cells are separated";
            let cause = if values < threads { "the line is cut" } else { commas };
            format!(
                "'{metric}' has {} for {}: {cause}",
                count_of(values as u64, "value"),
                count_of(threads as u64, "thread")
            )
        },
        "use the file as `likwid-perfctr -O` writes it, with LC_ALL=C";

    Note all_zero(program: &str):
        "{program} counted nothing at all: every count of memory is 0, which no running system has; in a virtual \
         machine, or without the rights to program the counters, {program} writes zeros";

    Note other_memory_left_out(columns: &[String]):
        { format!("figures are of DRAM: the traffic of other memory ({}) is left out", listed(columns)) };

    Refusal likwid_without_memory(source: &str, groups: &str):
        "{source}", "its groups ({groups}) do not state all bytes of memory ('Memory data volume [GBytes]')", "run likwid-perfctr with `-g MEM`, or name another source";

    Note no_memory_group(groups: &str):
        "its groups ({groups}) do not state all bytes of memory ('Memory data volume [GBytes]'); run likwid-perfctr \
            with `-g MEM`";

    Note event_file_value(why: &str):
        "{why}";
}

/// Why the kernel opens no event for this process.
fn no_events(paranoid: Option<i64>, error: &str) -> String {
    let level = |level| format!(": kernel.perf_event_paranoid is {level}, and this process has no CAP_PERFMON");
    format!("{error}{}", paranoid.map_or_else(String::new, level))
}

/// The socket of a box, if it is known.
fn on(socket: Option<u32>) -> String {
    socket.map_or_else(String::new, |socket| format!(" of socket {socket}"))
}

/// What of reads and writes is counted.
fn of_sight(counts: CounterSight) -> &'static str {
    match counts {
        CounterSight::Reads => "reads",
        CounterSight::Writes => "writes",
        _ => "reads and writes",
    }
}

/// A time of seconds to days.
fn ago(seconds: u64) -> String {
    match seconds {
        0..600 => format!("{seconds} s"),
        600..36_000 => format!("{} minutes", seconds / 60),
        36_000..172_800 => format!("{} hours", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// The first names, and how many more there are.
fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let named = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}
